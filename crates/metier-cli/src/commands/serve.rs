//! `metier serve`: skills for any client that speaks the Model Context Protocol.

mod address;
mod snippet;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use metier_host::{Environment, HostServer, Metier};
use metier_mcp::{
    AskMode, GatewayOptions, HttpOptions, HttpServer, Library, LibraryOptions, McpError, SkillListPlacement,
    Token, serve_stdio,
};
use metier_prompt::ToolNames;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use tokio::runtime::Builder;
use tokio::signal::unix::{self, SignalKind};
use tokio_util::sync::CancellationToken;

use self::snippet::Client;
use crate::exit::{Exit, UsageError};
use crate::files::cannot_read;
use crate::host::{Flags, tell};
use crate::output::Output;
use crate::work;

/// A client that is shown what was shown last time gets its first answers before the skills are looked for, which takes all there is of
/// the machine.
const SOON: Duration = Duration::from_millis(50);

/// What a person who starts it by hand is told.
const TERMINAL: &str = "\
note: this is an MCP server on standard input and output, to be started by a client
hint: `metier serve --print-config claude` shows the settings for a client; Ctrl-C ends the server";

/// The warning for an open server on a machine that has other users.
const OTHERS: &str = "\
warning: every user of this machine can use this server and run your skills
hint: `--token-file FILE` admits only clients that send a token; `openssl rand -hex 16` creates one";

/// How long a waiting client has to be told why it fails.
const WORDS: Duration = Duration::from_millis(100);

/// How long the remaining work of a listening server may take when it ends.
const LAST: Duration = Duration::from_secs(15);

/// Serve skills to MCP clients, on standard input and output or over HTTP
///
/// Clients get four tools (list, load, read, run), skills as resources (the Skills extension), and prompts. The policy
/// applies, scripts run in the sandbox, and everything is recorded.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Scripts work in `--work DIR`. Without it, they work in the client's root directory if it has exactly
one, else in the directory where the server was started if that is a project, else in an empty
temporary directory.

Examples:
  metier serve --print-config claude            print the settings for Claude Code
  metier serve --root skills                    serve one client on standard input and output
  metier serve --http 7800                      serve any number of clients on this machine
  metier serve --http 0.0.0.0:7800 --token-file tokens --allow-host skills.example.org")]
pub(crate) struct Args {
    /// Listen for HTTP clients at /mcp, on a port of this machine or on an address and port
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = address::parse)]
    http: Option<SocketAddr>,

    /// File with the tokens that clients must send: one per line, optionally after the holder's name and a space
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,

    /// Host name of the server besides localhost. Can be repeated
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,

    /// Origin of a web page that may use the server, such as `https://example.org`. Can be repeated
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,

    /// Maximum number of requests per second of one client
    #[arg(long, value_name = "N", default_value_t = 1_000, requires = "http", value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,

    /// Maximum number of sessions at the same time
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "http")]
    max_sessions: usize,

    /// Directory that scripts work in and may change
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,

    /// Follow links in the path of that directory, and print where they lead
    #[arg(long, requires = "work")]
    follow_links: bool,

    /// Who is asked if approval is needed: client or never. With never, only what was approved before is allowed
    #[arg(long, value_name = "WHO", default_value = "client", hide_possible_values = true)]
    ask: Asked,

    /// Names of the tools: plain (`load_skill`) or dotted (`skills.read`) [default: the setting `tool_names`, else plain]
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    tool_names: Option<Names>,

    /// Where the skill list goes: instructions, description (of the tool that loads skills) or nowhere
    #[arg(
        long,
        alias = "catalogue",
        value_name = "WHERE",
        default_value = "instructions",
        hide_possible_values = true
    )]
    skill_list: Where,

    /// Maximum size of the skill list in tokens
    #[arg(long, alias = "catalogue-tokens", value_name = "N", default_value_t = 4_000)]
    skill_list_tokens: usize,

    /// Print the settings for a client and exit: claude, codex, opencode, gemini, goose, copilot, vscode, cursor
    #[arg(long, value_name = "CLIENT", hide_possible_values = true)]
    print_config: Option<Client>,

    #[command(flatten)]
    pub(super) catalog: Flags,
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
    run_with(args, output, |_, _| Ok(None))
}

/// Serves skills, and the servers of a gateway if there is one.
pub(super) fn run_with(
    args: &Args,
    output: &mut Output,
    gateway: impl FnOnce(&Metier, &mut Output) -> anyhow::Result<Option<GatewayOptions>>,
) -> anyhow::Result<Exit> {
    if let Some(client) = args.print_config {
        return print_config(client, args, output);
    }
    metier_sandbox::return_freed_memory();
    let http = args.http.map(|address| args.http_options(address)).transpose()?;
    let metier = args.catalog.open(output)?;
    let gateway = gateway(&metier, output)?;
    let mut server = metier.server();
    let mut options = args.library_options(&metier, &server, output)?;
    options.seal_key = http.as_ref().and_then(HostServer::seal_key);
    options.gateway = gateway;
    if http.is_none() && io::stdin().is_terminal() {
        output.note(TERMINAL)?;
    }
    // Clients of a server that listens do not wait for its start.
    let shown = if http.is_none() { server.greeting(&options) } else { None };
    let is_known = shown.is_some();
    let library = Library::closed(options, shown.unwrap_or_default());
    let until = CancellationToken::new();
    let (opened, opening) = mpsc::sync_channel(1);
    let later: Option<Box<dyn FnOnce() + Send>> = if is_known {
        let (library, until) = (Arc::clone(&library), until.clone());
        Some(Box::new(move || {
            // After an error, no client can be served any longer.
            let ends = until.drop_guard();
            let done = server.open(&library).map_err(anyhow::Error::new);
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
        let done = server.open(&library)?;
        tell(&done.notes, output)?;
        let _ = opened.send(Ok(done));
        None
    };
    output.flush()?;
    let served = serve(Arc::clone(&library), http, until, later, output)?;
    // A client that left before the skills were opened has started nothing that must be finished.
    let opened = if library.is_open() { opening.recv().ok() } else { opening.try_recv().ok() };
    let Some(opened) = opened.transpose()? else {
        return Ok(served.map(|()| Exit::Done)?);
    };
    served?;
    tell(&opened.close(), output)?;
    Ok(Exit::Done)
}

/// Serves until the client disconnects or a signal arrives. `later` runs once a client asks for something, or after a moment.
fn serve(
    library: Arc<Library>,
    http: Option<HttpOptions>,
    until: CancellationToken,
    later: Option<Box<dyn FnOnce() + Send>>,
    output: &mut Output,
) -> anyhow::Result<Result<(), McpError>> {
    // One client needs one thread, which answers sooner: nothing is passed between threads.
    let (mut builder, last) = match http {
        Some(_) => (Builder::new_multi_thread(), LAST),
        None => (Builder::new_current_thread(), Duration::ZERO),
    };
    let runtime = builder.enable_all().build().context("cannot serve")?;
    // A signal before this point ends the process at once: nothing has started.
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
        if is_open && HostServer::has_other_users() {
            let _ = output.note(OTHERS);
        }
        let _ = output.flush();
        server.serve(until).await
    });
    // A thread may still be reading from standard input.
    runtime.shutdown_timeout(last);
    Ok(served)
}

fn print_config(client: Client, args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let server = match args.http {
        None => snippet::Server::Here(said(&Environment::read(), &Environment::arguments())),
        Some(address) => snippet::Server::At { address, has_token: args.token_file.is_some() },
    };
    let (place, settings) = snippet::of(client, &server);
    output.note(format_args!("put this into {place}:"))?;
    output.text(&settings)?;
    Ok(Exit::Done)
}

/// The arguments of this command line without `--print-config`, with absolute paths, so that they work in any directory.
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
            let text = fs::read_to_string(path).map_err(cannot_read(path))?;
            let wrong = |error: McpError| UsageError(format!("{}: {error}", path.display()));
            options.tokens = Token::parse(&text).map_err(wrong)?;
            if options.tokens.is_empty() {
                return Err(
                    UsageError(format!("{} has no token in it; write one per line", path.display())).into()
                );
            }
        }
        options.connections = options.connections.min(HostServer::most_connections());
        options.hosts.clone_from(&self.allow_host);
        options.origins.clone_from(&self.allow_origin);
        (options.rate, options.sessions) = (self.rate, self.max_sessions);
        Ok(options)
    }

    fn library_options(
        &self,
        metier: &Metier,
        server: &HostServer,
        output: &mut Output,
    ) -> anyhow::Result<LibraryOptions> {
        let mut options = server.options();
        match self.tool_names {
            Some(Names::Plain) => options.tool_names = ToolNames::Plain,
            Some(Names::Dotted) => options.tool_names = ToolNames::Dotted,
            None => {}
        }
        options.skill_list = match self.skill_list {
            Where::Instructions => SkillListPlacement::Instructions,
            Where::Description => SkillListPlacement::Description,
            Where::Nowhere => SkillListPlacement::Nowhere,
        };
        options.skill_list_tokens = self.skill_list_tokens;
        options.ask = match self.ask {
            Asked::Client => AskMode::Client,
            Asked::Never => AskMode::Never,
        };
        options.approve = approve(metier.environment(), &Environment::arguments());
        let (work, tokens) = (self.work.as_deref(), self.token_file.as_deref());
        options.work = server
            .work_directories(work, self.follow_links, tokens, self.http.is_some())
            .map_err(work::advised)?;
        if let (Some(said), Some(work)) = (work, &options.work.named) {
            work::note(work, said, metier, output)?;
        }
        Ok(options)
    }
}

/// The command that approves something for the skills that are served here.
fn approve(environment: &Environment, words: &[String]) -> String {
    let mut command = vec!["metier".to_owned(), "approve".to_owned()];
    let mut kept = said(environment, words).into_iter();
    while let Some(word) = kept.next() {
        if word == "--lenient" {
            command.push(word);
        } else if ["--root", "--state", "--profile"].contains(&word.as_str()) {
            let value = kept.next().unwrap_or_default();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
            let quoted = format!("'{}'", value.replace('\'', r"'\''"));
            command.extend([word, if value.chars().all(is_plain) { value } else { quoted }]);
        }
    }
    command.join(" ")
}

/// The first signal ends the serving in order, a second one ends the process at once.
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
