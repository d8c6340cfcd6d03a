//! Starts the supervisor of a program, and communicates with it.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::Child;

use rustix::fs::MemfdFlags;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::wire::{END, Order, SIGNAL, Said};
use super::{Program, ProgramEnd};
use crate::SandboxError;
use crate::control;
use crate::launcher::SUPERVISOR;
use crate::plan::Step;

/// A running program, with everything it has started. Dropping this value stops all of it.
#[derive(Debug)]
pub struct SupervisedProgram {
    supervisor: Child,
    control: OwnedFd,
    is_over: bool,
}

impl SupervisedProgram {
    /// Starts a program whose standard streams are these: input, output, errors.
    pub(crate) fn start(
        launcher: &Path,
        program: &Program,
        streams: [BorrowedFd<'_>; 3],
    ) -> Result<Self, SandboxError> {
        let failed = |step: &str, source: io::Error| SandboxError::Launch { step: step.to_owned(), source };
        let (supervisor, control) = control::start(launcher, SUPERVISOR)?;
        let mut started = Self { supervisor, control, is_over: false };
        started
            .hand_over(program, streams)
            .map_err(|error| failed("sending the program to the supervisor", error))?;
        match started.hear().map_err(|error| failed("waiting for the supervisor", error))? {
            Some(Said::Started) => Ok(started),
            Some(Said::Failed { step, what, path, source }) => {
                let source = source.map_or_else(io::Error::other, io::Error::from_raw_os_error);
                Err(match step {
                    Step::Program => SandboxError::Start { program: program.path.clone(), source },
                    step => {
                        let path = path.map(|path| path.path().to_owned());
                        SandboxError::Covering { step: what, path, is_refused: is_refusal(step), source }
                    }
                })
            }
            Some(Said::Ended { .. }) | None => {
                let status = started.supervisor.wait().map(|status| status.to_string());
                Err(SandboxError::LauncherGone { status: status.unwrap_or_default() })
            }
        }
    }

    /// Sends the order, and the standard streams of the program.
    fn hand_over(&self, program: &Program, streams: [BorrowedFd<'_>; 3]) -> io::Result<()> {
        let covered = program.covered.as_ref().map(|covered| {
            covered.iter().map(|one| (one.path.as_path().into(), one.text.to_owned())).collect()
        });
        let order = Order {
            program: program.path.as_path().into(),
            arguments: program.arguments.iter().map(|one| one.as_os_str().into()).collect(),
            environment: program
                .environment
                .iter()
                .map(|(name, value)| (name.as_os_str().into(), value.as_os_str().into()))
                .collect(),
            directory: program.directory.as_path().into(),
            covered,
        };
        let bytes = postcard::to_stdvec(&order).map_err(io::Error::other)?;
        let mut file = File::from(rustix::fs::memfd_create("program", MemfdFlags::CLOEXEC)?);
        file.write_all(&bytes)?;
        file.rewind()?;
        let [input, output, errors] = streams;
        let descriptors = [file.as_fd(), input, output, errors];
        control::send(&self.control, b"start", &descriptors)
    }

    fn hear(&self) -> io::Result<Option<Said>> {
        let Some(message) = control::receive(&self.control)? else { return Ok(None) };
        postcard::from_bytes(&message.bytes).map(Some).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// The id of the process that stays until the program and everything it started have ended.
    pub fn id(&self) -> u32 {
        self.supervisor.id()
    }

    /// Sends signals to the program, from any thread.
    pub fn signals(&self) -> io::Result<Signals> {
        let supervisor = Pid::from_raw(self.id().cast_signed());
        // Where the kernel has none, a stopped supervisor stays stopped.
        let supervisor = supervisor.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Ok(Signals { control: self.control.try_clone()?, supervisor })
    }

    /// Waits until the program and everything it has started have ended.
    pub fn wait(&mut self) -> io::Result<ProgramEnd> {
        let ended = match self.hear()? {
            Some(Said::Ended { code, signal, left }) => ProgramEnd { code, signal, left },
            // The supervisor itself was killed; how the program ended is unknown.
            _ => ProgramEnd { code: None, signal: Some(libc::SIGKILL), left: 0 },
        };
        self.supervisor.wait()?;
        self.is_over = true;
        Ok(ended)
    }

    /// Stops the program with everything it has started.
    pub fn end(&mut self) {
        if self.is_over {
            return;
        }
        let _ = self.signals().and_then(|signals| signals.tell(&[END]));
        let _ = self.wait();
    }
}

impl Drop for SupervisedProgram {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sends signals to a supervised program.
#[derive(Debug)]
pub struct Signals {
    control: OwnedFd,
    /// The process of the supervisor.
    supervisor: Option<OwnedFd>,
}

impl Signals {
    /// Sends a signal by its number. Does nothing if the program has ended.
    pub fn send(&self, signal: u8) -> io::Result<()> {
        self.tell(&[SIGNAL, signal])
    }

    /// Tells the supervisor something, also if a process of the program has stopped it.
    fn tell(&self, message: &[u8]) -> io::Result<()> {
        control::send(&self.control, message, &[])?;
        if let Some(supervisor) = &self.supervisor {
            // An error means that it has ended.
            let _ = pidfd_send_signal(supervisor, Signal::CONT);
        }
        Ok(())
    }
}

/// Whether the machine lacks a feature, in contrast to a problem with a path.
const fn is_refusal(step: Step) -> bool {
    matches!(step, Step::UserNamespace | Step::MountNamespace)
}
