//! A program that runs as its user, outside of the sandbox, together with everything it starts. When it ends, its
//! remaining processes are stopped too. Files that it must not see can be covered by empty ones.
//!
//! This is for programs that the user trusts, for example agents. Covering prevents accidental pickup; it is not a
//! security boundary.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter};
use std::path::PathBuf;

/// A program to start with [`Local::start`](crate::Local::start).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Program {
    /// The program's file.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// All its environment variables.
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub directory: PathBuf,
    /// The files it does not see. With `Some`, even with an empty list, the program also gets no capabilities and can
    /// gain none.
    pub covered: Option<Vec<CoveredPath>>,
}

impl Program {
    /// A program without arguments and variables that sees all files.
    pub fn new(path: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: directory.into(),
            covered: None,
        }
    }
}

/// The other ends of a program's standard streams: see [`Local::start_piped`](crate::Local::start_piped).
#[derive(Debug)]
#[non_exhaustive]
pub struct ProgramPipes {
    /// What is written here is the program's standard input. Dropping it closes that.
    pub input: PipeWriter,
    /// Its standard output.
    pub output: PipeReader,
    /// Its standard error.
    pub errors: PipeReader,
}

impl ProgramPipes {
    /// Three pipes, and the ends for the program: input, output, errors.
    pub(crate) fn new() -> io::Result<(Self, (PipeReader, PipeWriter, PipeWriter))> {
        let ((its_input, input), (output, its_output), (errors, its_errors)) =
            (io::pipe()?, io::pipe()?, io::pipe()?);
        Ok((Self { input, output, errors }, (its_input, its_output, its_errors)))
    }
}

/// A path that is covered: a directory appears empty, a link is broken, anything else is a file with this text. All are
/// read-only. A path that does not exist is skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredPath {
    /// The path. A link is covered itself, not its target.
    pub path: PathBuf,
    /// The text of a file, for example `{}` for JSON.
    pub text: &'static str,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramEnd {
    /// Its exit code, unless a signal killed it.
    pub code: Option<i32>,
    /// The signal that killed it.
    pub signal: Option<i32>,
    /// How many processes that it started could not be stopped.
    pub left: usize,
}

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(crate) mod wire;

#[cfg(target_os = "linux")]
pub use linux::{Signals, SupervisedProgram};
