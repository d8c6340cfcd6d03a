//! `metier serve`: skills for any client that speaks the Model Context Protocol.

mod address;
mod front;
mod project;
mod snippet;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use metier_catalog::{WatchOptions, Watcher};
use metier_journal::Trigger;
use metier_mcp::{
    AskMode, HttpOptions, HttpServer, Library, LibraryContents, LibraryOptions, McpError, SkillListPlacement,
    Token, WorkDirectories, serve_stdio,
};
use metier_prompt::ToolNames;
use metier_sandbox::WorkDirectory;
use metier_skill::Digest;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use tokio::runtime::Builder;
use tokio::signal::unix::{self, SignalKind};
use tokio_util::sync::CancellationToken;

use self::front::Front;
use self::snippet::Client;
use crate::config::Flags;
use crate::environment::Environment;
use crate::exit::{Exit, UsageError};
use crate::output::Output;
use crate::recording::Recorder;
use crate::sessions;
use crate::skills::{Settings, Skills};
use crate::work::{self, reserved};

/// A client that is shown what was shown last time gets its first answers before the skills are looked for, which takes all there is of
/// the machine.
const SOON: Duration = Duration::from_millis(50);

/// What a person is told who starts it by hand.
const TERMINAL: &str = "\
note: this is an MCP server on standard input and output, to be started by a client
hint: `metier serve --print-config claude` shows the settings for a client; Ctrl-C ends the server";

/// What a person is told who lets in everybody on a machine that is not theirs alone.
const OTHERS: &str = "\
warning: every user of this machine can use this server and run your skills
hint: `--token-file FILE` admits only clients that send a token; `openssl rand -hex 16` creates one";

/// How long whoever waits has to be told why nothing comes of it.
const WORDS: Duration = Duration::from_millis(100);

/// A client that has just come is served before anybody looks for changes.
const FIRST: Duration = Duration::from_millis(300);

/// How long what is left to do may take when a server that listens ends.
const LAST: Duration = Duration::from_secs(15);

/// Serve skills to MCP clients, on standard input and output or over HTTP
///
/// Clients get four tools (list, load, read, run), skills as resources by the Skills extension, and prompts. The policy decides what
/// they may do; scripts run in the sandbox, and everything is recorded, as with every other command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Scripts work in `--work DIR`. Without it they work in the client's root directory if it has exactly one,
else in the directory where the server was started if that is a project, else in an empty temporary one.

Examples:
  metier serve --print-config claude            show the settings for Claude Code
  metier serve --root skills                    serve one client on standard input and output
  metier serve --http 7800                      serve any number of clients on this machine
  metier serve --http 0.0.0.0:7800 --token-file tokens --allow-host skills.example.org")]
pub(crate) struct Args {
    /// Listen for HTTP clients at /mcp: a port of this machine, or an address and a port
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = address::parse)]
    http: Option<SocketAddr>,

    /// File with the tokens that clients have to send: one per line, optionally after the holder's name and a space
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,

    /// A host name of the server, beside localhost. May be repeated
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,

    /// The origin of a web page that may use the server, such as `https://example.org`. May be repeated
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,

    /// Maximum number of requests per client and second
    #[arg(long, value_name = "N", default_value_t = 1_000, requires = "http", value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,

    /// Maximum number of sessions at the same time
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "http")]
    max_sessions: usize,

    /// The directory that scripts work in and may change
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,

    /// Follow links in the path of that directory; where they lead is shown
    #[arg(long, requires = "work")]
    follow_links: bool,

    /// Whether a person is asked through the client where the policy wants approval: client or never. With never, only what was
    /// approved before is allowed
    #[arg(long, value_name = "WHO", default_value = "client", hide_possible_values = true)]
    ask: Asked,

    /// What the tools are called: plain (`load_skill`) or dotted (`skills.read`); the setting `tool_names`, plain without one
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    tool_names: Option<Names>,

    /// Where the skill list goes: instructions, description (of the tool that loads skills) or nowhere
    #[arg(long, value_name = "WHERE", default_value = "instructions", hide_possible_values = true)]
    catalogue: Where,

    /// Maximum size of the skill list in tokens
    #[arg(long, value_name = "N", default_value_t = 4_000)]
    catalogue_tokens: usize,

    /// Print the settings for a client and exit: claude, codex, opencode, gemini, goose, copilot, vscode, cursor
    #[arg(long, value_name = "CLIENT", hide_possible_values = true)]
    print_config: Option<Client>,

    #[command(flatten)]
    catalog: Flags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Names {
    Plain,
    Dotted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Asked {
    Client,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Where {
    Instructions,
    Description,
    Nowhere,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    if let Some(client) = args.print_config {
        return print_config(client, args, output);
    }
    metier_sandbox::return_freed_memory();
    let http = args.http.map(|address| args.http_options(address)).transpose()?;
    let settings = Settings::read(&args.catalog, output)?;
    let mut options = args.library_options(&settings, output)?;
    options.seal_key = http.as_ref().and_then(seal_key);
    if http.is_none() && io::stdin().is_terminal() {
        output.note(TERMINAL)?;
    }
    // Clients of a server that listens do not wait for its start.
    let front = if http.is_none() { Front::new(&settings, &options) } else { None };
    let shown = front.as_ref().and_then(Front::read);
    let is_known = shown.is_some();
    let library = Library::closed(options, shown.unwrap_or_default());
    let until = CancellationToken::new();
    let (opened, opening) = mpsc::sync_channel(1);
    let later: Option<Box<dyn FnOnce() + Send>> = if is_known {
        let (library, until) = (Arc::clone(&library), until.clone());
        Some(Box::new(move || {
            // Whatever goes wrong, nobody can be served any more than this.
            let ends = until.drop_guard();
            let done = open(&library, settings, front.as_ref(), &mut Output::silent());
            if let Err(error) = &done {
                library.give_up(format!("skills cannot be served: {error:#}"));
                thread::sleep(WORDS);
            }
            let is_fine = done.is_ok();
            // It is there when the guard goes, and with it the server.
            let _ = opened.send(done);
            if is_fine {
                ends.disarm();
            }
        }))
    } else {
        let done = open(&library, settings, front.as_ref(), output)?;
        let _ = opened.send(Ok(done));
        None
    };
    output.flush()?;
    let served = serve(Arc::clone(&library), http, until, later, output)?;
    // Whoever left before anything was opened has begun nothing that must come to its end.
    let opened = if library.is_open() { opening.recv().ok() } else { opening.try_recv().ok() };
    let Some(Opened { recorder, watching }) = opened.transpose()? else {
        return Ok(served.map(|()| Exit::Done)?);
    };
    drop(watching);
    served?;
    recorder.close(output)?;
    Ok(Exit::Done)
}

/// What goes on beside the serving.
struct Opened {
    recorder: Recorder,
    watching: thread::JoinHandle<Option<Watcher>>,
}

/// Looks for the skills, opens the journal, and with both the library.
fn open(
    library: &Arc<Library>,
    settings: Settings,
    front: Option<&Front>,
    output: &mut Output,
) -> anyhow::Result<Opened> {
    let (recording, environment) = (settings.config.recording.clone(), settings.environment.clone());
    // A client waits for both.
    let opening = thread::spawn(move || recording.open(&environment));
    let mut skills = Skills::scan(settings, output)?;
    skills.save(output)?;
    let recorder = opening.join().map_err(|_| anyhow::anyhow!("the journal could not be opened"))??;
    let mut session = sessions::options(&skills, &recorder)?;
    (session.trigger, session.actor, session.agent) = (Trigger::Model, None, Some("mcp".to_owned()));
    let mut stock = LibraryContents::new(session);
    stock.search = skills.search_directory();
    let shown = library.open(stock);
    // What was said of a root is said each time.
    let is_quiet = skills.catalog.roots().iter().all(|report| report.exists || report.root.is_optional);
    let scanner = skills.into_scanner();
    match front {
        Some(front) if is_quiet => front.write(&shown, &scanner),
        Some(front) => front.forget(),
        None => {}
    }
    // Changes are looked for beside everything else: a client that waits should not wait for that.
    Ok(Opened { recorder, watching: watch(scanner, Arc::clone(library)) })
}

/// Serves until the client goes, or until somebody says that it is enough. What is to be done later is not done before somebody wants it, or
/// a moment has passed.
fn serve(
    library: Arc<Library>,
    http: Option<HttpOptions>,
    until: CancellationToken,
    later: Option<Box<dyn FnOnce() + Send>>,
    output: &mut Output,
) -> anyhow::Result<Result<(), McpError>> {
    // One client needs one thread, and is answered sooner by it: nothing has to be handed from one to the next.
    let (mut builder, last) = match http {
        Some(_) => (Builder::new_multi_thread(), LAST),
        None => (Builder::new_current_thread(), Duration::ZERO),
    };
    let runtime = builder.enable_all().build().context("cannot serve")?;
    // Whoever ends it before that ends it at once: nothing has begun.
    runtime.block_on(async { end_by_signals(&until) })?;
    if let Some(later) = later {
        let (library, until) = (Arc::clone(&library), until.clone());
        runtime.spawn(async move {
            library.wait_until_wanted(SOON).await;
            if let Err(error) = thread::Builder::new().spawn(later) {
                library.give_up(format!("skills cannot be served: {error}"));
                until.cancel();
            }
        });
    }
    let served = runtime.block_on(async {
        let Some(options) = http else { return serve_stdio(library, until).await };
        let is_open = options.tokens.is_empty();
        let server = HttpServer::bind(library, options).await?;
        // Standard output stays for the client everywhere.
        let _ = output.note(format_args!("listening on http://{}/mcp", server.address()));
        if is_open && project::has_other_users() {
            let _ = output.note(OTHERS);
        }
        let _ = output.flush();
        server.serve(until).await
    });
    // At standard input somebody may still wait for a client that says nothing more.
    runtime.shutdown_timeout(last);
    Ok(served)
}

/// What clients take along is good for every server with the same tokens, so that one can stand in for another.
fn seal_key(options: &HttpOptions) -> Option<[u8; 32]> {
    let tokens: Vec<&str> = options.tokens.iter().map(|token| token.secret.as_str()).collect();
    let tokens = tokens.join("\n");
    (!tokens.is_empty()).then(|| *Digest::of(format!("metier seal\n{tokens}").as_bytes()).as_bytes())
}

fn print_config(client: Client, args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let server = match args.http {
        None => snippet::Server::Here(said(&Environment::read(), &Environment::words())),
        Some(address) => snippet::Server::At { address, has_token: args.token_file.is_some() },
    };
    let (place, settings) = snippet::of(client, &server);
    output.note(format_args!("into {place}:"))?;
    output.text(&settings)?;
    Ok(Exit::Done)
}

/// What was said on the command line, for somebody who says it from elsewhere: all of it but the question, with paths that do not begin here.
fn said(environment: &Environment, words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (flag, value) =
            word.split_once('=').map_or((word.as_str(), None), |(flag, value)| (flag, Some(value)));
        let mut value = || value.map(str::to_owned).or_else(|| words.next().cloned()).unwrap_or_default();
        match flag {
            "--print-config" => drop(value()),
            "--state" => kept.extend([flag.to_owned(), value()]),
            "--root" | "--work" => {
                let value = value();
                let path = environment.absolute(Path::new(&value));
                kept.extend([flag.to_owned(), path.to_string_lossy().into_owned()]);
            }
            _ => kept.push(word.clone()),
        }
    }
    kept
}

impl Args {
    fn http_options(&self, address: SocketAddr) -> anyhow::Result<HttpOptions> {
        let mut options = HttpOptions::new(address);
        if let Some(path) = &self.token_file {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let wrong = |error: McpError| UsageError(format!("{}: {error}", path.display()));
            options.tokens = Token::parse(&text).map_err(wrong)?;
            if options.tokens.is_empty() {
                return Err(
                    UsageError(format!("{} has no token in it; write one per line", path.display())).into()
                );
            }
        }
        options.connections = options.connections.min(project::descriptors());
        options.hosts.clone_from(&self.allow_host);
        options.origins.clone_from(&self.allow_origin);
        (options.rate, options.sessions) = (self.rate, self.max_sessions);
        Ok(options)
    }

    /// The directories that scripts may be given.
    fn choose_work(
        &self,
        work: &mut WorkDirectories,
        settings: &Settings,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let Settings { environment, config } = settings;
        let mut reserved = reserved(environment, config);
        if let Some(tokens) = &self.token_file {
            reserved = reserved.own("the tokens of clients", environment.absolute(tokens));
        }
        if let Some(named) = &self.work {
            work.named = Some(work::open(named, self.follow_links, environment, &reserved, output)?);
            return Ok(());
        }
        // Holders of tokens may be anywhere, and are not given what happens to be here.
        if self.token_file.is_some() {
            return Ok(());
        }
        let open = move |path: &Path| WorkDirectory::open(path, &reserved).ok();
        let here = environment.working.as_deref().filter(|here| project::is_project(here));
        work.project = here.and_then(&open);
        if self.http.is_none() {
            work.root = Some(Arc::new(open));
        }
        Ok(())
    }

    fn library_options(&self, settings: &Settings, output: &mut Output) -> anyhow::Result<LibraryOptions> {
        let mut options = LibraryOptions::default();
        options.tool_names = match self.tool_names {
            Some(Names::Plain) => ToolNames::Plain,
            Some(Names::Dotted) => ToolNames::Dotted,
            None => settings.config.tool_names.value,
        };
        options.skill_list = match self.catalogue {
            Where::Instructions => SkillListPlacement::Instructions,
            Where::Description => SkillListPlacement::Description,
            Where::Nowhere => SkillListPlacement::Nowhere,
        };
        options.skill_list_tokens = self.catalogue_tokens;
        options.ask = match self.ask {
            Asked::Client => AskMode::Client,
            Asked::Never => AskMode::Never,
        };
        options.approve = approve(&settings.environment, &Environment::words());
        self.choose_work(&mut options.work, settings, output)?;
        Ok(options)
    }
}

/// The command that approves something of the skills that are served here.
fn approve(environment: &Environment, words: &[String]) -> String {
    let mut command = vec!["metier".to_owned(), "approve".to_owned()];
    let mut kept = said(environment, words).into_iter();
    while let Some(word) = kept.next() {
        if word == "--lenient" {
            command.push(word);
        } else if ["--root", "--state"].contains(&word.as_str()) {
            let value = kept.next().unwrap_or_default();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
            let quoted = format!("'{}'", value.replace('\'', r"'\''"));
            command.extend([word, if value.chars().all(is_plain) { value } else { quoted }]);
        }
    }
    command.join(" ")
}

/// Tells the library of every change, as long as what comes back is kept.
fn watch(scanner: metier_catalog::Scanner, library: Arc<Library>) -> thread::JoinHandle<Option<Watcher>> {
    thread::spawn(move || {
        thread::sleep(FIRST);
        let (told, is_newer) = (Arc::clone(&library), Arc::new(Mutex::new(false)));
        let options = WatchOptions::new(Environment::time);
        let said = Arc::clone(&is_newer);
        let started = Watcher::start(scanner, options, move |change| {
            let mut is_newer = said.lock().unwrap_or_else(PoisonError::into_inner);
            *is_newer = true;
            told.set_catalog(change.catalog);
        });
        let (catalog, watcher) = started.ok()?;
        // What was found first must not take the place of what was found since.
        let is_newer = is_newer.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_newer {
            library.update(catalog);
        }
        Some(watcher)
    })
}

/// The first signal ends the serving. Whoever says so again means at once.
fn end_by_signals(until: &CancellationToken) -> io::Result<()> {
    let is_told = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let (mut told, until) = (unix::signal(SignalKind::from_raw(signal))?, until.clone());
        flag::register_conditional_default(signal, Arc::clone(&is_told))?;
        flag::register(signal, Arc::clone(&is_told))?;
        tokio::spawn(async move {
            told.recv().await;
            until.cancel();
        });
    }
    Ok(())
}
