//! Jobs and their outcomes, for every kind of executor.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::SandboxError;
use crate::profile::SandboxProfile;
use crate::protection::Protections;

/// Runs jobs. [`Local`](crate::Local) is metier's own implementation. A host may provide another one, for example for
/// another machine or a container engine, and is responsible for what it reports.
///
/// ```
/// use metier_sandbox::{Ending, Executor, MeasuredProtection, Job, RunOutcome, Protection, SandboxError, Sink};
///
/// /// Runs nothing, and says that it did well.
/// struct Pretends;
///
/// impl Executor for Pretends {
///     fn run(&self, job: &Job, _: &mut dyn Sink) -> Result<RunOutcome, SandboxError> {
///         let mut outcome = RunOutcome::new(Ending::Exited(0));
///         outcome.output.bytes = job.program.as_encoded_bytes().to_vec();
///         outcome.protections = [MeasuredProtection::new(Protection::Seccomp, false, "nothing ran")].into_iter().collect();
///         Ok(outcome)
///     }
/// }
/// ```
pub trait Executor {
    /// Runs one job to its end and returns its outcome. Output is passed to `sink` while the job runs.
    ///
    /// An error means that nothing was run.
    fn run(&self, job: &Job, sink: &mut dyn Sink) -> Result<RunOutcome, SandboxError>;
}

/// Receives output while a job runs.
pub trait Sink {
    /// Receives bytes of a stream.
    fn take(&mut self, stream: Stream, bytes: &[u8]);
}

/// Ignores the output; the outcome contains it as well.
impl Sink for () {
    fn take(&mut self, _: Stream, _: &[u8]) {}
}

/// An output stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// A program to run, and its permissions.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Job {
    /// Its permissions.
    pub profile: SandboxProfile,
    /// A path in the sandbox, or a name to look up in the profile's `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its standard input; empty by default.
    pub input: Vec<u8>,
    /// Stops it early.
    pub cancel: Cancel,
}

impl Job {
    /// A program with its arguments and without input.
    pub fn new(profile: SandboxProfile, program: impl Into<OsString>, arguments: Vec<OsString>) -> Self {
        Self { profile, program: program.into(), arguments, input: Vec::new(), cancel: Cancel::never() }
    }
}

/// Stops jobs from another thread.
#[derive(Debug, Clone)]
pub struct Cancel(Option<Arc<(PipeReader, PipeWriter)>>);

impl Cancel {
    /// A handle that can be triggered.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        // Cancelling must not block, even if it was done before and nothing has been read.
        rustix::io::ioctl_fionbio(&writer, true)?;
        Ok(Self(Some(Arc::new((reader, writer)))))
    }

    /// A handle that is never triggered.
    pub const fn never() -> Self {
        Self(None)
    }

    /// Stops every job with this handle, now and later.
    pub fn cancel(&self) {
        if let Some(pipe) = &self.0 {
            // Nothing reads the bytes; it is enough that the pipe is readable. More bytes change nothing.
            let _ = (&pipe.1).write(b".");
        }
    }

    /// The descriptor that becomes readable when the job is cancelled. `None` if it cannot be cancelled.
    pub fn event(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|pipe| pipe.0.as_fd())
    }
}

/// The outcome of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunOutcome {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output.
    pub output: CapturedOutput,
    /// Its standard error.
    pub errors: CapturedOutput,
    /// The resources it used, as far as measured.
    pub usage: ResourceUsage,
    /// The protections that were active.
    pub protections: Protections,
    /// Files that it left in the work directory and that other programs load.
    pub planted: Vec<PlantedItem>,
    /// Connections that it requested from the proxy, each destination once; successful ones come first.
    pub connections: Vec<Connection>,
    /// The number of further requests, after the maximum number of destinations was recorded.
    pub connections_left_out: u64,
    /// Files of the work directory that changed; `None` if this was not observed.
    pub touched: Option<TouchedFiles>,
    /// Writes that were refused; `None` if they could not be observed.
    pub refused_writes: Option<PathSample>,
}

/// What changed in the work directory while a job ran. Paths are relative to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TouchedFiles {
    /// New files.
    pub created: PathSample,
    /// Changed files.
    pub changed: PathSample,
    /// Deleted files.
    pub deleted: PathSample,
    /// Files that were created and removed again, in directories that existed before, as far as the kernel reported
    /// them. A directory stands for everything that was in it.
    pub temporary: PathSample,
    /// Whether only a part of the directory was examined.
    pub incomplete: bool,
}

/// The number of paths, and the first hundred of them in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathSample {
    /// The number of paths.
    pub count: u64,
    /// The first paths.
    pub first: Vec<std::path::PathBuf>,
}

impl RunOutcome {
    /// An outcome without output, usage or protections, for a host's executor to fill in.
    pub fn new(ending: Ending) -> Self {
        Self {
            ending,
            output: CapturedOutput::default(),
            errors: CapturedOutput::default(),
            usage: ResourceUsage::default(),
            protections: Protections::default(),
            planted: Vec::new(),
            connections: Vec::new(),
            connections_left_out: 0,
            touched: None,
            refused_writes: None,
        }
    }
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// It exited with this code.
    Exited(i32),
    /// A signal killed it.
    Killed(i32),
    /// It reached a limit.
    Limit(Limit),
    /// It was cancelled with [`Cancel`].
    Cancelled,
}

/// A limit that stopped a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// It took too long.
    Wall,
    /// It used too much CPU time.
    Cpu,
    /// It used too much memory.
    Memory,
    /// It had too many processes.
    Processes,
    /// It wrote a file that is too large.
    File,
    /// It wrote too much to disk.
    Disk,
    /// It created too many files.
    Files,
    /// It filled its `/tmp` or `/dev/shm`.
    Tmp,
    /// It printed too much.
    Output,
}

impl Limit {
    /// The name of the limit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::File => "file",
            Self::Disk => "disk",
            Self::Files => "files",
            Self::Tmp => "tmp",
            Self::Output => "output",
        }
    }
}

/// The output of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapturedOutput {
    /// The bytes, up to the limit.
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub cut: bool,
}

/// The resources that a job used, as far as measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ResourceUsage {
    /// How long it took.
    pub wall: Duration,
    /// CPU time of all its processes.
    pub cpu: Duration,
    /// The highest memory use that was measured.
    pub memory: u64,
    /// Bytes written to disks.
    pub written: u64,
}

/// A file or directory that other programs load, and that was created or changed while a job ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlantedItem {
    /// Its path, or its path before it was moved.
    #[serde(with = "as_text")]
    pub path: PathBuf,
    /// The program that loads it, for example `git` or `Claude Code`.
    pub obeyed_by: String,
    /// Whether it existed before and was changed. Otherwise it is new.
    pub changed: bool,
    /// The path that it was moved to, so that no program loads it.
    #[serde(with = "as_text::optional")]
    pub moved_to: Option<PathBuf>,
    /// Whether it was left in place on purpose. Otherwise, without [`moved_to`](Self::moved_to), moving it failed.
    pub stays: bool,
    /// The run that left it, as far as known.
    pub by: PlantedBy,
    /// Whether it makes a program run a command. Otherwise it changes how a program works, or gives an agent
    /// instructions.
    #[serde(default)]
    pub runs_commands: bool,
}

/// How soon the user should look at a file that a run left. The most urgent value is the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Urgency {
    /// It could not be moved, so programs load it.
    NotMoved,
    /// It was left in place, and makes a program run a command.
    RunsCommands,
    /// It was moved, so no program loads it.
    Moved,
    /// It was left in place, and runs nothing by itself.
    Left,
}

impl PlantedItem {
    /// How soon the user should look at it.
    pub const fn urgency(&self) -> Urgency {
        match (&self.moved_to, self.stays) {
            (Some(_), _) => Urgency::Moved,
            (None, false) => Urgency::NotMoved,
            (None, true) if self.runs_commands => Urgency::RunsCommands,
            (None, true) => Urgency::Left,
        }
    }

    /// The order for a list that may be cut: by urgency, then changed files first, because a script cannot create more
    /// of those to push other entries out.
    pub fn by_urgency(&self, other: &Self) -> std::cmp::Ordering {
        let key = |one: &Self| (one.urgency(), !one.changed);
        key(self).cmp(&key(other)).then_with(|| self.path.cmp(&other.path))
    }
}

/// One line for users and models.
impl fmt::Display for PlantedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, by) = (self.path.display(), &self.obeyed_by);
        write!(f, "{} `{path}`, which {by} loads", if self.changed { "changed" } else { "created" })?;
        match &self.moved_to {
            Some(to) => write!(f, "; it was moved to `{}`", to.display())?,
            None if self.stays => f.write_str("; it was left in place: review it before you use it")?,
            None => f.write_str("; it could NOT be moved away: remove it before you continue")?,
        }
        match self.by {
            PlantedBy::ThisRun => Ok(()),
            PlantedBy::OverlappingRun => f.write_str(" (by this run or another one at the same time)"),
            PlantedBy::InterruptedRun if self.stays => {
                f.write_str(" (by an earlier run that was interrupted, or after it)")
            }
            PlantedBy::InterruptedRun => f.write_str(" (by an earlier run that was interrupted)"),
        }
    }
}

/// The run that left a file that other programs load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlantedBy {
    /// This run: no other one worked in the directory.
    ThisRun,
    /// This run or another one that worked in the same directory at the same time.
    OverlappingRun,
    /// An earlier run whose metier process was killed before it could check.
    InterruptedRun,
}

/// Files that killed runs left in a work directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnsettledRuns {
    /// The directory.
    #[serde(with = "as_text")]
    pub work: PathBuf,
    /// The files that were found. They were moved away, unless they may have been created later.
    pub planted: Vec<PlantedItem>,
}

/// Paths as text. A script chooses their bytes, and a path that is not UTF-8 must not prevent serialising the rest.
mod as_text {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) use metier_skill::lossy_path as serialize;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        String::deserialize(deserializer).map(PathBuf::from)
    }

    pub(super) mod optional {
        use serde::Serialize as _;

        use super::{Deserialize, Deserializer, PathBuf, Serializer};

        #[expect(clippy::ref_option, reason = "serde passes the field by reference")]
        pub(in super::super) fn serialize<S: Serializer>(
            path: &Option<PathBuf>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            path.as_deref().map(|path| path.to_string_lossy()).serialize(serializer)
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<PathBuf>, D::Error> {
            Option::<String>::deserialize(deserializer).map(|path| path.map(PathBuf::from))
        }
    }
}

/// A requested connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Connection {
    /// The destination, as requested.
    pub to: String,
    /// Why it was refused, if it was.
    pub refused: Option<String>,
    /// The number of requests.
    pub times: u64,
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn cancelling_again_and_again_waits_for_nobody() {
        let cancel = Cancel::new().unwrap();
        let (done, is_done) = channel();
        // More than any pipe holds.
        let again = move || {
            (0..(2 << 20)).for_each(|_| cancel.cancel());
            done.send(()).unwrap();
        };
        std::thread::spawn(again);
        is_done.recv_timeout(Duration::from_mins(1)).unwrap();
    }

    #[test]
    fn what_could_not_be_moved_comes_first_and_what_runs_nothing_last() {
        let one = |path: &str, moved: bool, stays: bool, runs_commands: bool, changed: bool| PlantedItem {
            path: path.into(),
            obeyed_by: "git".to_owned(),
            changed,
            moved_to: moved.then(|| "x".into()),
            stays,
            by: PlantedBy::ThisRun,
            runs_commands,
        };
        let mut all = [
            one("left", false, true, false, false),
            one("moved", true, false, true, false),
            one("a new one", false, true, true, false),
            one("b changed", false, true, true, true),
            one("not moved", false, false, false, false),
        ];
        all.sort_by(PlantedItem::by_urgency);
        let order: Vec<_> = all.iter().map(|one| one.path.to_str().unwrap()).collect();
        assert_eq!(order, ["not moved", "b changed", "a new one", "moved", "left"]);
    }

    #[test]
    fn a_path_that_is_not_text_can_be_written_all_the_same() {
        use std::os::unix::ffi::OsStrExt as _;

        let planted = PlantedItem {
            path: std::ffi::OsStr::from_bytes(b"a\xff/CLAUDE.md").into(),
            obeyed_by: "Claude Code".to_owned(),
            changed: false,
            moved_to: None,
            stays: true,
            by: PlantedBy::ThisRun,
            runs_commands: false,
        };
        let text = serde_json::to_string(&planted).unwrap();
        assert_eq!(
            serde_json::from_str::<PlantedItem>(&text).unwrap().path,
            PathBuf::from("a\u{fffd}/CLAUDE.md")
        );
    }
}
