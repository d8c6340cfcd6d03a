//! Runs programs in turns and measures their time and peak memory.
//!
//! This module does not know what the programs do.

#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The maximum time of a run.
pub const LIMIT: Duration = Duration::from_mins(5);

/// Slower programs run in three rounds only.
const SLOW: Duration = Duration::from_secs(1);

/// Slower programs run in one round, and need not be tried with more skills.
pub const VERY_SLOW: Duration = Duration::from_mins(1);

/// The stored data that a program starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// None: the program stores nothing between runs.
    None,
    /// A directory that is emptied before every run.
    Cold(PathBuf),
    /// The data of the previous run. One extra run is not measured.
    Warm,
}

/// A command to measure.
#[derive(Debug)]
pub struct Program {
    /// The title of its row in the table.
    pub title: String,
    /// The command.
    pub command: Command,
    /// The stored data that it starts with.
    pub state: State,
}

/// The result of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded, with this best time.
    Done(Duration),
    /// It failed, with this last line of output.
    Failed(String),
    /// It was stopped after [`LIMIT`].
    TooLong,
}

impl Outcome {
    /// The best time, if it succeeded.
    pub const fn time(&self) -> Option<Duration> {
        if let Self::Done(time) = self { Some(*time) } else { None }
    }
}

impl Program {
    /// A program that stores nothing between runs.
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

/// The best time of each program. All run once per round, so that a busy moment affects all of them. Slow
/// programs run in fewer rounds.
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

/// One run. Its output is discarded; standard error is kept in case it fails.
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

/// Starts it in its own process group, so that its children can be stopped with it.
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

/// The peak resident memory of a program in bytes; `None` if it failed. `helper` is the program `metier-bench`.
/// A process counts the memory of its parent, so the program is started from a small one.
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

/// Builds the release binary of `metier` and returns its path. `cargo` and `helper` are those of this
/// benchmark.
pub fn build_metier(cargo: &str, helper: &Path) -> io::Result<PathBuf> {
    let status = Command::new(cargo).args(["build", "--release", "--quiet", "-p", "metier-cli"]).status()?;
    if !status.success() {
        return Err(io::Error::other("metier does not build"));
    }
    Ok(helper.with_file_name("metier"))
}
