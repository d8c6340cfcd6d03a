//! The parent of a supervised program: it adopts the processes that the program leaves behind, and kills them when the
//! program has ended.
//!
//! It stays in the session and process group of metier, so that the program can use the terminal and receives its
//! signals.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::{Failure, confine, cover, endings, take_streams};
use crate::control;
use crate::plan::{Raw, Step};
use crate::supervised::wire::{END, Order, SIGNAL, Said};
use crate::sys::{self, Fork};

/// How often remaining processes are checked, how often before they are killed, and the maximum.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
const GRACE: u32 = 200;
const MOST: u32 = 2_000;

/// Starts the program of an order, and stays until no process of it is left.
pub(super) fn run() -> io::Result<()> {
    let socket = sys::own(0);
    let message = control::receive(&socket)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let [file, streams @ ..]: [OwnedFd; 4] =
        message.descriptors.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes)?;
    let order: Order = postcard::from_bytes(&bytes).map_err(|_| io::ErrorKind::InvalidData)?;
    let control = take_streams(socket, streams, None)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let (begun, begins) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    match sys::fork()? {
        Fork::Child => {
            drop(begun);
            let Err(failure) = become_program(&order);
            say(control.as_fd(), &failed(&failure));
            let _ = File::from(begins).write_all(b".");
            sys::leave(127)
        }
        Fork::Parent(program) => {
            drop((begins, order));
            // Terminal signals are for the program; metier's requests to stop come over the socket.
            sys::ignore_signals(&[libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP]);
            // The pipe closes when the program has started.
            if File::from(begun).read(&mut [0])? > 0 {
                let _ = rustix::process::waitpid(Some(program), WaitOptions::empty());
                return Ok(());
            }
            for number in 0..3 {
                drop(sys::own(number));
            }
            say(control.as_fd(), &Said::Started);
            let status = watch(program, control.as_fd());
            let left = end_all();
            let code = status.and_then(WaitStatus::exit_status);
            let signal = status.and_then(WaitStatus::terminating_signal);
            say(control.as_fd(), &Said::Ended { code, signal, left });
            Ok(())
        }
    }
}

fn say(control: BorrowedFd<'_>, said: &Said) {
    if let Ok(bytes) = postcard::to_stdvec(said) {
        // A killed metier does not read it.
        let _ = control::send(control, &bytes, &[]);
    }
}

fn failed(failure: &Failure) -> Said {
    Said::Failed {
        step: failure.step,
        what: failure.what.clone(),
        path: failure.path.clone(),
        source: failure.source.raw_os_error().ok_or_else(|| failure.source.to_string()),
    }
}

/// Covers paths, and becomes the program.
fn become_program(order: &Order) -> Result<Infallible, Failure> {
    let mut command = Command::new(order.program.text());
    command.args(order.arguments.iter().map(Raw::text)).env_clear();
    command.envs(order.environment.iter().map(|(name, value)| (name.text(), value.text())));
    if let Some(covered) = &order.covered {
        cover::cover(covered)?;
        confine::drop_powers()?;
    }
    // By its path, and only now: an open directory would still be in the file tree without the covers.
    let directory = order.directory.path();
    std::env::set_current_dir(directory)
        .map_err(|error| Failure::at(Step::Path, "entering the working directory", directory, error))?;
    // Without a supervisor, nobody would end it. It comes last, because changing credentials resets it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failure::new(Step::Program, "binding the program to its supervisor", error))?;
    Err(Failure::new(Step::Program, "running the program", command.exec()))
}

/// Waits until the program has ended; returns how.
fn watch(program: Pid, control: BorrowedFd<'_>) -> Option<WaitStatus> {
    let ended = sys::child_signals().ok();
    let mut listens = true;
    loop {
        match reap(program) {
            Reaped::Program(status) => return Some(status),
            Reaped::Others => {}
            Reaped::Nothing => return None,
        }
        let mut open: Vec<PollFd<'_>> = ended.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        if listens {
            open.push(PollFd::from_borrowed_fd(control, PollFlags::IN));
        }
        // Without a descriptor for children, it polls.
        let patience = ended.is_none().then_some(&MOMENT);
        let _ = poll(&mut open, patience);
        let is_told = listens && open.last().is_some_and(|socket| !socket.revents().is_empty());
        if let Some(ended) = &ended {
            let _ = rustix::io::read(ended, &mut [0_u8; 512]);
        }
        if is_told {
            listens = obey(program, control);
        }
    }
}

/// Handles metier's messages; returns whether more can come. If metier was killed, the program continues.
fn obey(program: Pid, control: BorrowedFd<'_>) -> bool {
    match control::receive(control) {
        Ok(Some(message)) => {
            match message.bytes.as_slice() {
                [SIGNAL, number] => {
                    if let Some(signal) = Signal::from_named_raw(i32::from(*number)) {
                        let _ = rustix::process::kill_process(program, signal);
                    }
                }
                [END] => {
                    let _ = rustix::process::kill_process(program, Signal::KILL);
                }
                _ => {}
            }
            true
        }
        _ => false,
    }
}

enum Reaped {
    Program(WaitStatus),
    Others,
    Nothing,
}

fn reap(program: Pid) -> Reaped {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == program => return Reaped::Program(status),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Reaped::Others,
            Err(_) => return Reaped::Nothing,
        }
    }
}

/// Stops all processes that the program has left: first with a request, then by force. Returns how many remain.
///
/// Orphans are adopted by this process, so that each round reaches more of them. A process of another user cannot be
/// killed.
fn end_all() -> usize {
    let mut asked = Vec::new();
    for round in 0..MOST {
        let left = endings::below();
        let is_alone = matches!(reap_all(), Err(rustix::io::Errno::CHILD))
            || (left.is_empty() && endings::below().is_empty());
        if is_alone {
            return 0;
        }
        for pid in left {
            if round >= GRACE {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            } else if !asked.contains(&pid) {
                let _ = rustix::process::kill_process(pid, Signal::TERM);
                // A stopped process receives the signal only after it continues.
                let _ = rustix::process::kill_process(pid, Signal::CONT);
                asked.push(pid);
            }
        }
        let _ = rustix::thread::nanosleep(&MOMENT);
    }
    endings::below().len()
}

/// Reaps ended processes; an error once there are no children.
fn reap_all() -> Result<(), rustix::io::Errno> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
