//! What commands that run a program have in common: its options, its end and the report about it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Read as _};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context as _;
use metier_journal::PlantedFile;
use metier_sandbox::{Cancel, Destination, Ending, Limit, Network, RunLimits, Sink, Stream};
use metier_session::RunReport;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::exit::{Exit, UsageError};
use crate::output::{Output, clean};

/// What a program gets.
#[derive(Debug, clap::Args)]
pub(crate) struct GivenArgs {
    /// Network access: none, loopback (its own), proxy or host
    #[arg(long, value_name = "WHICH", default_value = "loopback", hide_possible_values = true)]
    network: Which,

    /// Host that the proxy may connect to; `*.example.org:443` covers its subdomains. Can be repeated
    #[arg(long, value_name = "HOST:PORT")]
    allow_host: Vec<String>,

    /// Set a variable. Can be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,

    /// Pass standard input on to it
    #[arg(long)]
    stdin: bool,

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

impl GivenArgs {
    pub(crate) fn network(&self) -> anyhow::Result<Network> {
        if self.network == Which::Proxy && self.allow_host.is_empty() {
            return Err(UsageError(
                "`--network proxy` reaches nothing without `--allow-host HOST:PORT`".into(),
            )
            .into());
        }
        if self.network != Which::Proxy && !self.allow_host.is_empty() {
            return Err(UsageError("`--allow-host` needs `--network proxy`".into()).into());
        }
        Ok(match self.network {
            Which::None => Network::None,
            Which::Loopback => Network::Loopback,
            Which::Host => Network::Host,
            Which::Proxy => {
                let allowed = self.allow_host.iter().map(|text| Destination::parse(text));
                Network::Proxy(allowed.collect::<Result<_, _>>()?)
            }
        })
    }

    pub(crate) fn variables(&self) -> Result<BTreeMap<String, String>, UsageError> {
        let wrong = || UsageError("`--env` needs NAME=VALUE".into());
        let each = self.env.iter().map(|variable| {
            let pair = variable.to_str().and_then(|text| text.split_once('='));
            let (name, value) = pair.filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
            Ok((name.to_owned(), value.to_owned()))
        });
        each.collect()
    }

    /// Its standard input: empty without `--stdin`.
    pub(crate) fn input(&self) -> anyhow::Result<Vec<u8>> {
        let mut input = Vec::new();
        if self.stdin {
            io::stdin().lock().read_to_end(&mut input).context("reading standard input")?;
        }
        Ok(input)
    }

    pub(crate) fn limits(&self) -> RunLimits {
        self.limits.limits()
    }
}

/// Limits. Reaching one ends the command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Time that it may take [default: 120]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    wall: Option<Duration>,
    /// CPU time of all its processes [default: 120]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    cpu: Option<Duration>,
    /// Memory of all its processes [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// Processes and threads at the same time [default: 256]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    processes: Option<u64>,
    /// Size of one file [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    file: Option<u64>,
    /// Bytes written to disk [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    disk: Option<u64>,
    /// New files on the disk of the work directory [default: 100000]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    files: Option<u64>,
    /// Size of its /tmp and of its /dev/shm, each [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    tmp: Option<u64>,
    /// Open files of one process, at least 16 [default: 1024]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(16..))]
    open_files: Option<u64>,
    /// Bytes printed on each output stream [default: 4M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    output: Option<u64>,
}

/// Longer than any run, and short enough to be added to a time.
const CENTURY: Duration = Duration::from_hours(24 * 36_500);

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "use a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|time| !time.is_zero() && *time < CENTURY)
        .ok_or_else(|| "use a number of seconds that is greater than 0".into())
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err("use a number of bytes, optionally with K, M or G".into()),
    };
    let number: u64 =
        digits.parse().map_err(|_| "use a number of bytes, optionally with K, M or G".to_owned())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(|| "out of range".into())
}

/// On the first signal, metier ends the command and then looks at the files that it left. On a second one, metier ends at
/// once, and the launcher ends the command.
pub(crate) fn cancel_by_signals(cancel: &Cancel) -> io::Result<()> {
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))?;
        flag::register(signal, Arc::clone(&again))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let trigger = cancel.clone();
    let waiting = std::thread::Builder::new().name("signals".into());
    waiting.spawn(move || signals.forever().for_each(|_| trigger.cancel()))?;
    Ok(())
}

impl LimitArgs {
    fn limits(&self) -> RunLimits {
        let mut all = RunLimits::default();
        let limits = &mut all;
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
        all
    }
}

/// Passes output on as it arrives; on a terminal without control characters.
pub(crate) struct Through {
    is_silent: bool,
    is_cut: bool,
    /// Whether the last output did not end with a line feed.
    is_open_line: bool,
    cancel: Cancel,
}

impl Through {
    pub(crate) const fn new(is_silent: bool, cancel: Cancel) -> Self {
        Self { is_silent, is_cut: false, is_open_line: false, cancel }
    }

    /// Reports how it ended.
    pub(crate) fn report(&self, run: &RunReport, output: &mut Output) -> io::Result<()> {
        // Messages of metier begin on a line of their own.
        if self.is_open_line && says_something(run) {
            output.complaint("");
        }
        report(run, output)
    }
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
        // The reader has gone, and the rest is not wanted.
        if done.is_err() {
            self.is_cut = true;
            self.cancel.cancel();
        }
    }
}

fn says_something(run: &RunReport) -> bool {
    let facts = &run.facts;
    matches!(run.ending, Ending::Limit(_) | Ending::Cancelled)
        || !facts.planted.is_empty()
        || !facts.missing_protections.is_empty()
}

fn report(run: &RunReport, output: &mut Output) -> io::Result<()> {
    if let Ending::Limit(limit) = run.ending {
        output.complaint(&format!("stopped at a limit: {}", explain(limit)));
    }
    if run.ending == Ending::Cancelled {
        output.complaint("interrupted");
    }
    for planted in &run.facts.planted {
        let PlantedFile { path, obeyed_by, .. } = planted;
        let whose = match planted.by.as_str() {
            "overlapping_run" => " by this run or one at the same time",
            "interrupted_run" => " by an earlier run that was interrupted",
            _ => "",
        };
        let done = format!("{}{whose}", if planted.changed { "changed" } else { "created" });
        match &planted.moved_to {
            Some(to) => {
                output.complaint(&format!("`{path}` was {done}, which {obeyed_by} obeys; moved to `{to}`"));
            }
            None if planted.stays => output.complaint(&format!(
                "`{path}` was {done}, which {obeyed_by} obeys: look at it before you use it"
            )),
            None => output.complaint(&format!(
                "`{path}` was {done}, which {obeyed_by} obeys, and could NOT be moved away: remove it before you continue"
            )),
        }
    }
    if run.facts.planted_left_out > 0 {
        let more = run.facts.planted_left_out;
        output.complaint(&format!(
            "{more} more such files were created or changed; look for them before you continue"
        ));
    }
    for connection in &run.facts.connections {
        if let Some(reason) = &connection.refused {
            output.note(format_args!("no connection to {}: {reason}", connection.to))?;
        }
    }
    if !run.facts.missing_protections.is_empty() {
        output.complaint(&format!("it ran without {}", run.facts.missing_protections.join(", ")));
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
        Limit::Files => "it created too many files (`--files`)",
        Limit::Tmp => "it filled its /tmp or /dev/shm (`--tmp`)",
        Limit::Output => "it printed too much (`--output`)",
        _ => "it reached one of its limits",
    }
}

pub(crate) fn exit(ending: Ending) -> Exit {
    let code = match ending {
        Ending::Exited(code) => code,
        Ending::Killed(signal) => 128 + signal,
        Ending::Limit(_) => 124,
        _ => 130,
    };
    Exit::Program(u8::try_from(code).unwrap_or(255))
}
