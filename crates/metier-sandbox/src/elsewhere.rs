//! The implementation for systems without a supported sandbox: the same names, and every script is refused.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};

use crate::SandboxError;
use crate::executor::{Executor, Job, RunOutcome, Sink, UnsettledRuns};
use crate::protection::Protections;
use crate::supervised::{Program, ProgramEnd, ProgramPipes};

/// Runs nothing on this system. A host can provide its own [`Executor`].
#[derive(Debug, Clone, Default)]
pub struct Local;

impl Local {
    /// The executor of this machine.
    pub const fn new() -> Self {
        Self
    }

    /// The same.
    pub fn with_launcher(_: impl Into<PathBuf>) -> Self {
        Self
    }

    /// The same.
    #[must_use]
    pub fn with_notes(self, _: impl Into<PathBuf>) -> Self {
        self
    }

    /// The same.
    #[must_use]
    pub const fn without_touched_files(self) -> Self {
        self
    }

    /// Starts a program outside of the sandbox. Files cannot be covered on this system.
    pub fn start(&self, program: &Program) -> Result<SupervisedProgram, SandboxError> {
        Self::spawn(program, Command::new(&program.path))
    }

    /// The same with pipes as the program's standard streams.
    pub fn start_piped(&self, program: &Program) -> Result<(SupervisedProgram, ProgramPipes), SandboxError> {
        let failed = |source| SandboxError::Start { program: program.path.clone(), source };
        let (pipes, (input, output, errors)) = ProgramPipes::new().map_err(failed)?;
        let mut command = Command::new(&program.path);
        command.stdin(input).stdout(output).stderr(errors);
        Ok((Self::spawn(program, command)?, pipes))
    }

    fn spawn(program: &Program, mut command: Command) -> Result<SupervisedProgram, SandboxError> {
        if program.covered.is_some() {
            return Err(SandboxError::Unsupported);
        }
        let child = command
            .args(&program.arguments)
            .env_clear()
            .envs(program.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&program.directory)
            .spawn();
        let child = child.map_err(|source| SandboxError::Start { program: program.path.clone(), source })?;
        Ok(SupervisedProgram(child))
    }
}

/// A running program.
#[derive(Debug)]
pub struct SupervisedProgram(Child);

impl SupervisedProgram {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends signals to the program, from any thread.
    pub fn signals(&self) -> io::Result<Signals> {
        i32::try_from(self.0.id()).map(Signals).map_err(io::Error::other)
    }

    /// Waits until the program has ended.
    pub fn wait(&mut self) -> io::Result<ProgramEnd> {
        let status = self.0.wait()?;
        Ok(ProgramEnd { code: status.code(), signal: status.signal(), left: 0 })
    }

    /// Stops the program.
    pub fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for SupervisedProgram {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sends signals to a program.
#[derive(Debug)]
pub struct Signals(i32);

impl Signals {
    /// Sends a signal by its number.
    pub fn send(&self, signal: u8) -> io::Result<()> {
        let pid = rustix::process::Pid::from_raw(self.0).ok_or(io::ErrorKind::NotFound)?;
        let signal = rustix::process::Signal::from_named_raw(i32::from(signal));
        Ok(rustix::process::kill_process(pid, signal.ok_or(io::ErrorKind::InvalidInput)?)?)
    }
}

impl Executor for Local {
    fn run(&self, _: &Job, _: &mut dyn Sink) -> Result<RunOutcome, SandboxError> {
        Err(SandboxError::Unsupported)
    }
}

/// Does nothing: there is no launcher on this system.
pub const fn is_own_launcher() -> bool {
    false
}

/// Always false: there is no launcher on this system.
pub const fn launch_if_asked() {}

/// No protection is available on this system.
pub const fn probe(_: &Local) -> Result<Protections, SandboxError> {
    Err(SandboxError::Unsupported)
}

/// Does nothing: nothing runs here, so nothing is left over.
pub const fn settle_notes(_: &std::path::Path) -> std::io::Result<Vec<UnsettledRuns>> {
    Ok(Vec::new())
}

/// Empty: nothing of this system is visible to scripts.
pub const fn system_paths() -> Vec<PathBuf> {
    Vec::new()
}

/// Does nothing on this system.
pub const fn return_freed_memory() {}
