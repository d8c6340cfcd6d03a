//! What is run and what became of it, whoever runs it.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::SandboxError;
use crate::profile::Profile;
use crate::protection::Protections;

/// Runs jobs. A host may bring its own: a container engine, another machine, an MCP server with a shell tool.
pub trait Executor {
    /// Runs one job to its end and says what became of it. Output is handed to `sink` as it comes.
    ///
    /// An error means that nothing was run.
    fn run(&self, job: &Job, sink: &mut dyn Sink) -> Result<Outcome, SandboxError>;
}

/// Takes output while a job runs.
pub trait Sink {
    /// Some bytes of a stream.
    fn take(&mut self, stream: Stream, bytes: &[u8]);
}

/// Takes nothing: the outcome has the output too.
impl Sink for () {
    fn take(&mut self, _: Stream, _: &[u8]) {}
}

/// One of the two ways out of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Its results.
    Output,
    /// Its messages.
    Errors,
}

/// A program to run, and what it may.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Job {
    /// What it may.
    pub profile: Profile,
    /// A path inside, or a name to look for in the profile's `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What it reads; nothing by default.
    pub input: Vec<u8>,
    /// What ends it early.
    pub cancel: Cancel,
}

impl Job {
    /// A program with its arguments and no input.
    pub fn new(profile: Profile, program: impl Into<OsString>, arguments: Vec<OsString>) -> Self {
        Self { profile, program: program.into(), arguments, input: Vec::new(), cancel: Cancel::never() }
    }
}

/// Ends jobs from another thread.
#[derive(Debug, Clone)]
pub struct Cancel(Option<Arc<(PipeReader, PipeWriter)>>);

impl Cancel {
    /// One that can be triggered.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Some(Arc::new(io::pipe()?))))
    }

    /// One that never is.
    pub const fn never() -> Self {
        Self(None)
    }

    /// Ends every job that has this, now and later.
    pub fn cancel(&self) {
        if let Some(pipe) = &self.0 {
            // Nobody reads it; that there is something to read is enough. Once there is, more changes nothing.
            let _ = (&pipe.1).write(b".");
        }
    }

    /// What can be read from once it is triggered.
    pub(crate) fn event(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|pipe| pipe.0.as_fd())
    }
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// What it printed.
    pub output: Captured,
    /// Its messages.
    pub errors: Captured,
    /// What it used, as far as was seen.
    pub usage: Usage,
    /// What kept it from doing harm.
    pub protections: Protections,
    /// What it did in the work directory that other programs would obey.
    pub planted: Vec<Planted>,
    /// Connections that it asked the proxy for, with whether they were made.
    pub connections: Vec<Connection>,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// At a limit.
    Limit(Limit),
    /// By [`Cancel`].
    Cancelled,
}

/// A limit that ended a job.
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
    /// It wrote too large a file.
    File,
    /// It wrote too much to disk.
    Disk,
    /// It made too many files.
    Files,
    /// It filled its `/tmp` or `/dev/shm`.
    Tmp,
    /// It printed too much.
    Output,
}

impl Limit {
    /// The word for it.
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

/// What came out of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Captured {
    /// The bytes, as many as the limit allows.
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub cut: bool,
}

/// What a job used, as far as was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Usage {
    /// How long it took.
    pub wall: Duration,
    /// CPU time of all its processes.
    pub cpu: Duration,
    /// The most memory that was seen at a time.
    pub memory: u64,
    /// Bytes that it wrote to disks.
    pub written: u64,
}

/// Something new at a protected path, where nothing was before the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Planted {
    /// Where it was made.
    pub path: std::path::PathBuf,
    /// Where it was moved, so that no program obeys it.
    pub moved_to: Option<std::path::PathBuf>,
    /// Whether it is left where it is because it may well be wanted: a whole new repository.
    pub stays: bool,
}

/// A connection that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Connection {
    /// To where, as it was asked for.
    pub to: String,
    /// Why it was refused, if it was.
    pub refused: Option<String>,
}
