//! `metier sandbox run`: one command under a profile, to try things.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context as _;
use metier_sandbox::{
    Cancel, Destination, Ending, Executor as _, Job, Limit, Local, Network, Outcome, Place, Profile, Sink,
    Stream, Strictness,
};
use metier_skill::Tier;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::environment::Environment;
use crate::exit::{Exit, UsageError};
use crate::output::{Output, clean};

/// Run a command in the sandbox that scripts of skills run in
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Run(Box<RunArgs>),
}

/// Run a command and say how it ended
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Inside there are the system's programs, the work directory, and nothing else: no home, no other
processes, no network but its own loopback, no variables but those given here.

The exit code is the command's; 124 when a limit ended it, 128 and the signal's number when a
signal did, 130 when metier was told to end. What did not start ends with 2, 4 or 5.

Examples:
  metier sandbox run -- ls -la
  metier sandbox run --skill skills/pdf --work out -- sh -c 'python3 $METIER_SKILL_DIR/scripts/fill.py'
  metier sandbox run --wall 5 --memory 256M --json -- sh -c 'sleep 60'
  metier sandbox run --network proxy --allow-host example.org:443 -- curl https://example.org")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
struct RunArgs {
    /// The tier whose profile it runs under: builtin, org, user or `third_party`
    #[arg(long, value_name = "TIER", default_value = "third_party")]
    profile: Tier,

    /// A skill to show, read-only
    #[arg(long, value_name = "DIR")]
    skill: Option<PathBuf>,

    /// The directory it works in and may change [default: this directory]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,

    /// More to read
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,

    /// More to change
    #[arg(long, value_name = "DIR")]
    write: Vec<PathBuf>,

    /// What of the network it may reach: none, loopback (its own), proxy or host
    #[arg(long, value_name = "WHICH", default_value = "loopback", hide_possible_values = true)]
    network: Which,

    /// Where the proxy may connect to; `*.example.org:443` for all below it
    #[arg(long, value_name = "HOST:PORT")]
    allow_host: Vec<String>,

    /// A variable to set
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,

    /// Give it what metier reads from standard input
    #[arg(long)]
    stdin: bool,

    /// Do with Landlock and the system call filter where there are no namespaces; not for `third_party`
    #[arg(long)]
    weaker: bool,

    /// Run it without any protection
    #[arg(long, conflicts_with = "weaker")]
    unprotected: bool,

    /// Print how it ended, what it printed and which protections were active as JSON
    #[arg(long)]
    json: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    None,
    Loopback,
    Proxy,
    Host,
}

/// Bounds; each ends the command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// How long it may take [default: 120]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    wall: Option<Duration>,
    /// CPU time of all its processes [default: 120]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    cpu: Option<Duration>,
    /// Memory of all its processes [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// Processes and threads at a time [default: 256]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    processes: Option<u64>,
    /// One file [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    file: Option<u64>,
    /// All that it writes to disk [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    disk: Option<u64>,
    /// New files on the disk of the work directory [default: 100000]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    files: Option<u64>,
    /// Its own /tmp, and its own /dev/shm [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    tmp: Option<u64>,
    /// Open files of one process, at least 16 [default: 1024]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(16..))]
    open_files: Option<u64>,
    /// What it prints, on each stream [default: 4M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    output: Option<u64>,
}

/// Longer than anybody waits, and short enough to be added to.
const CENTURY: Duration = Duration::from_hours(24 * 36_500);

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|time| !time.is_zero() && *time < CENTURY)
        .ok_or_else(|| "must be more than 0, and less than a century".into())
}

fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err("write a number of bytes, or one with K, M or G".into()),
    };
    let number: u64 =
        digits.parse().map_err(|_| "write a number of bytes, or one with K, M or G".to_owned())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(|| "out of range".into())
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Run(args) => run_command(args, output),
    }
}

fn run_command(args: &RunArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let environment = Environment::read();
    let profile = profile(args, &environment)?;
    let mut words = args.command.iter().cloned();
    let mut job = Job::new(profile, words.next().unwrap_or_default(), words.collect());
    if args.stdin {
        io::stdin().lock().read_to_end(&mut job.input).context("reading standard input")?;
    }
    output.flush()?;
    job.cancel = cancel_by_signals()?;
    let mut through =
        Through { is_silent: args.json, is_cut: false, is_open_line: false, cancel: job.cancel.clone() };
    let outcome = Local::new().run(&job, &mut through)?;
    if args.json {
        output.json(&as_json(&outcome))?;
    } else {
        // What metier says itself begins on a line of its own.
        if through.is_open_line && says_something(&outcome) {
            output.complaint("");
        }
        report(&outcome, output)?;
    }
    Ok(exit(outcome.ending))
}

/// Ended by a signal, metier still ends the command first, and looks at what it has left. By a second one it ends at once,
/// and the launcher ends the command.
fn cancel_by_signals() -> anyhow::Result<Cancel> {
    let cancel = Cancel::new().context("preparing to be ended")?;
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))?;
        flag::register(signal, Arc::clone(&again))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("preparing to be ended")?;
    let trigger = cancel.clone();
    let waiting = std::thread::Builder::new().name("signals".into());
    waiting
        .spawn(move || signals.forever().for_each(|_| trigger.cancel()))
        .context("preparing to be ended")?;
    Ok(cancel)
}

fn profile(args: &RunArgs, environment: &Environment) -> anyhow::Result<Profile> {
    let work =
        args.work.clone().or_else(|| environment.working.clone()).unwrap_or_else(|| PathBuf::from("."));
    let mut profile = Profile::new(args.profile, writable(&work, environment)?);
    if let Some(skill) = &args.skill {
        profile.add_skill(Place::pin(skill)?);
    }
    for path in &args.read {
        profile.readable.push(Place::pin(path)?);
    }
    for path in &args.write {
        profile.writable.push(writable(path, environment)?);
    }
    for variable in &args.env {
        let (name, value) = variable
            .to_str()
            .and_then(|text| text.split_once('='))
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| UsageError("`--env` wants NAME=VALUE".into()))?;
        profile.environment.insert(name.into(), value.into());
    }
    profile.network = match args.network {
        Which::None => Network::None,
        Which::Loopback => Network::Loopback,
        Which::Host => Network::Host,
        Which::Proxy => {
            let allowed = args.allow_host.iter().map(|text| Destination::parse(text));
            Network::Proxy(allowed.collect::<Result<_, _>>()?)
        }
    };
    if args.network == Which::Proxy && args.allow_host.is_empty() {
        return Err(
            UsageError("`--network proxy` reaches nothing without `--allow-host HOST:PORT`".into()).into()
        );
    }
    if args.network != Which::Proxy && !args.allow_host.is_empty() {
        return Err(UsageError("`--allow-host` needs `--network proxy`".into()).into());
    }
    if args.weaker {
        if Strictness::floor_of_tier(args.profile) == Strictness::Every {
            let tier = args.profile;
            return Err(
                UsageError(format!("skills of {tier} run with every protection or not at all")).into()
            );
        }
        profile.strictness = Strictness::Core;
    }
    if args.unprotected {
        profile.strictness = Strictness::Unprotected;
    }
    args.limits.apply(&mut profile);
    Ok(profile)
}

/// A directory that a command may change: not a home, whose files decide what everything else does.
fn writable(path: &Path, environment: &Environment) -> anyhow::Result<Place> {
    let place = Place::pin(path)?;
    let homes = [&environment.home, &environment.account_home];
    let homes = homes.into_iter().flatten().filter_map(|home| home.canonicalize().ok());
    if homes.into_iter().any(|home| home.starts_with(place.path())) {
        let path = clean(&path.display().to_string());
        return Err(UsageError(format!(
            "`{path}` holds your home directory; choose a directory for this work alone with `--work`"
        ))
        .into());
    }
    Ok(place)
}

impl LimitArgs {
    fn apply(&self, profile: &mut Profile) {
        let limits = &mut profile.limits;
        let times = [(&mut limits.wall, self.wall), (&mut limits.cpu, self.cpu)];
        for (limit, given) in times {
            *limit = given.unwrap_or(*limit);
        }
        let numbers = [
            (&mut limits.memory, self.memory),
            (&mut limits.processes, self.processes),
            (&mut limits.file, self.file),
            (&mut limits.disk, self.disk),
            (&mut limits.files, self.files),
            (&mut limits.tmp, self.tmp),
            (&mut limits.open_files, self.open_files),
            (&mut limits.output, self.output),
        ];
        for (limit, given) in numbers {
            *limit = given.unwrap_or(*limit);
        }
    }
}

/// Hands output on as it comes; on a terminal without what would change the terminal.
struct Through {
    is_silent: bool,
    is_cut: bool,
    /// Whether the last that was printed did not end its line.
    is_open_line: bool,
    cancel: Cancel,
}

impl Sink for Through {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        if self.is_silent || self.is_cut {
            return;
        }
        let write = |stream: &mut dyn io::Write, is_terminal: bool| {
            if is_terminal {
                stream.write_all(clean(&String::from_utf8_lossy(bytes)).as_bytes())?;
            } else {
                stream.write_all(bytes)?;
            }
            stream.flush()
        };
        let done = match stream {
            Stream::Output => write(&mut io::stdout().lock(), io::stdout().is_terminal()),
            Stream::Errors => write(&mut io::stderr().lock(), io::stderr().is_terminal()),
        };
        self.is_open_line = bytes.last() != Some(&b'\n');
        // Whoever read it has gone, and nobody wants the rest.
        if done.is_err() {
            self.is_cut = true;
            self.cancel.cancel();
        }
    }
}

fn says_something(outcome: &Outcome) -> bool {
    matches!(outcome.ending, Ending::Limit(_))
        || !outcome.planted.is_empty()
        || outcome.protections.missing().next().is_some()
}

fn report(outcome: &Outcome, output: &mut Output) -> io::Result<()> {
    if let Ending::Limit(limit) = outcome.ending {
        output.complaint(&format!("ended at a limit: {}", explain(limit)));
    }
    for planted in &outcome.planted {
        let path = planted.path.display();
        match &planted.moved_to {
            Some(to) => output.complaint(&format!(
                "`{path}` was made, which other programs obey; it is now `{}`",
                to.display()
            )),
            None if planted.stays => {
                output.complaint(&format!("`{path}` is new: look at its hooks and settings before you use it"));
            }
            None => output.complaint(&format!(
                "`{path}` was made, which other programs obey, and could NOT be moved away: remove it before you go on"
            )),
        }
    }
    for connection in outcome.connections.iter().filter(|one| one.refused.is_some()) {
        let reason = connection.refused.as_deref().unwrap_or_default();
        output.note(format_args!("no connection to {}: {reason}", connection.to))?;
    }
    let missing: Vec<&str> = outcome.protections.missing().map(|found| found.protection.as_str()).collect();
    if !missing.is_empty() {
        output.complaint(&format!("it ran without {}", missing.join(", ")));
    }
    Ok(())
}

/// What a limit is, and how to raise it.
const fn explain(limit: Limit) -> &'static str {
    match limit {
        Limit::Wall => "it took too long (`--wall`)",
        Limit::Cpu => "it used too much CPU time (`--cpu`)",
        Limit::Memory => "it used too much memory (`--memory`)",
        Limit::Processes => "it started too many processes (`--processes`)",
        Limit::File => "it wrote too large a file (`--file`)",
        Limit::Disk => "it wrote too much to disk (`--disk`)",
        Limit::Files => "it made too many files (`--files`)",
        Limit::Tmp => "it filled its /tmp or /dev/shm (`--tmp`)",
        Limit::Output => "it printed too much (`--output`)",
        _ => "one of its limits",
    }
}

fn exit(ending: Ending) -> Exit {
    let code = match ending {
        Ending::Exited(code) => code,
        Ending::Killed(signal) => 128 + signal,
        Ending::Limit(_) => 124,
        _ => 130,
    };
    Exit::Program(u8::try_from(code).unwrap_or(255))
}

fn as_json(outcome: &Outcome) -> serde_json::Value {
    json!({
        "ending": outcome.ending,
        "stdout": { "text": String::from_utf8_lossy(&outcome.output.bytes), "cut": outcome.output.cut },
        "stderr": { "text": String::from_utf8_lossy(&outcome.errors.bytes), "cut": outcome.errors.cut },
        "usage": {
            "wall_ms": outcome.usage.wall.as_millis(),
            "cpu_ms": outcome.usage.cpu.as_millis(),
            "memory_bytes": outcome.usage.memory,
            "written_bytes": outcome.usage.written,
        },
        "protections": outcome.protections,
        "planted": outcome.planted,
        "connections": outcome.connections,
    })
}
