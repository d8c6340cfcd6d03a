//! Programs run in turns and measured: how long each takes, and how much memory it takes at most.
//!
//! Knows nothing of what the programs do.

#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Nothing is waited for longer.
pub const LIMIT: Duration = Duration::from_mins(5);

/// What takes longer takes part in three rounds only.
const SLOW: Duration = Duration::from_secs(1);

/// What takes longer than this takes part in one round, and need not be tried with more skills.
pub const VERY_SLOW: Duration = Duration::from_mins(1);

/// What is there when a program starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing that the program keeps from one run to the next.
    None,
    /// A directory that is emptied before every run.
    Cold(PathBuf),
    /// What the run before left behind; there is one run that does not count.
    Warm,
}

/// A program with its arguments.
#[derive(Debug)]
pub struct Program {
    /// What the row in the table is called.
    pub title: String,
    /// How it is called.
    pub command: Command,
    /// What it finds.
    pub state: State,
}

/// How a program did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded; the best time.
    Done(Duration),
    /// It did not succeed, and this is the last thing that it said.
    Failed(String),
    /// It was ended after [`LIMIT`].
    TooLong,
}

impl Outcome {
    /// The best time, if it succeeded.
    pub const fn time(&self) -> Option<Duration> {
        if let Self::Done(time) = self { Some(*time) } else { None }
    }
}

impl Program {
    /// A program that keeps nothing from one run to the next.
    pub fn new(title: impl Into<String>, command: Command) -> Self {
        Self { title: title.into(), command, state: State::None }
    }

    fn prepare(&self) -> io::Result<()> {
        let State::Cold(directory) = &self.state else { return Ok(()) };
        match fs::remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir_all(directory)
    }
}

/// The best time of each, run one after the other in every round, so that a busy moment hits all of them. Slow
/// ones take part in fewer rounds.
pub fn in_turns(programs: &mut [Program], rounds: usize) -> io::Result<Vec<Outcome>> {
    let mut best = Vec::new();
    for program in programs.iter_mut().filter(|program| program.state == State::Warm) {
        once(&mut program.command)?;
    }
    for round in 0..rounds.max(1) {
        for (index, program) in programs.iter_mut().enumerate() {
            let before = best.get(index).map(Outcome::time);
            let enough = match before {
                None => false,
                Some(None) => true,
                Some(Some(time)) => time > VERY_SLOW || (time > SLOW && round >= 3),
            };
            if enough {
                continue;
            }
            program.prepare()?;
            let outcome = once(&mut program.command)?;
            match (best.get_mut(index), outcome) {
                (None, outcome) => best.push(outcome),
                (Some(Outcome::Done(best)), Outcome::Done(time)) => *best = time.min(*best),
                (Some(best), worse) => *best = worse,
            }
        }
    }
    Ok(best)
}

/// One run: its output is thrown away, what it says on standard error is kept in case it fails.
fn once(command: &mut Command) -> io::Result<Outcome> {
    let mut said = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone()?);
    own_group(command);
    let start = Instant::now();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Outcome::Failed(format!("cannot run {command:?}: {error}"))),
    };
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, ended) = mpsc::channel::<(io::Result<ExitStatus>, Duration)>();
    let waiter = thread::spawn(move || sender.send((child.wait(), start.elapsed())));
    let result = ended.recv_timeout(LIMIT);
    if result.is_err()
        && let Some(group) = group
    {
        kill_process_group(group, Signal::KILL)?;
    }
    let _ = waiter.join();
    let Ok((status, time)) = result else { return Ok(Outcome::TooLong) };
    let status = status?;
    if status.success() {
        return Ok(Outcome::Done(time));
    }
    Ok(Outcome::Failed(format!("{status}: {}", last_line(&mut said)?)))
}

/// A group of its own, so that whatever it starts can be ended with it.
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
}

fn last_line(said: &mut File) -> io::Result<String> {
    use std::io::{Read as _, Seek as _};
    let mut bytes = Vec::new();
    said.rewind()?;
    said.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned())
}

/// The most memory that a program had resident, in bytes; `None` if it did not succeed. `helper` is the program
/// `metier-bench`: what a process is started from counts as its memory, so it is started from a small one.
pub fn peak(program: &mut Program, helper: &Path) -> io::Result<Option<u64>> {
    let result = tempfile::NamedTempFile::new()?;
    let command = &program.command;
    let mut wrapped = Command::new(helper);
    wrapped.arg("peak").arg(result.path()).arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(key, value),
            None => wrapped.env_remove(key),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        wrapped.current_dir(directory);
    }
    program.prepare()?;
    let outcome = once(&mut wrapped)?;
    let text = fs::read_to_string(result.path())?;
    Ok(outcome.time().and_then(|_| text.trim().parse().ok()))
}

/// Builds the binary `metier` for release, and says where it is. `cargo` and `helper` are where this benchmark's
/// own are.
pub fn build_metier(cargo: &str, helper: &Path) -> io::Result<PathBuf> {
    let status = Command::new(cargo).args(["build", "--release", "--quiet", "-p", "metier-cli"]).status()?;
    if !status.success() {
        return Err(io::Error::other("metier does not build"));
    }
    Ok(helper.with_file_name("metier"))
}
