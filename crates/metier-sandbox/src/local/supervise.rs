//! One run: messages from the launcher, output, deadlines. It ends only when no process is left.

use std::fs::File;
use std::io::{self, Write};
use std::mem::take;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::net::Shutdown;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::cgroup::Group;
use super::launch;
use super::measure::{Tried, measure};
use super::notes::{self, BEAT};
use super::observe::Observer;
use super::touched::Touches;
use crate::SandboxError;
use crate::capture::Capture;
use crate::control::{self, Received};
use crate::error::MissingProtection;
use crate::executor::{Ending, Job, Limit, ResourceUsage, RunOutcome, Sink};
use crate::plan::{END, GO, Mode, Plan, Reply, Step};
use crate::profile::Network;
use crate::protection::{Protection, Protections};
use crate::proxy::Proxy;
use crate::stopwatch::Stopwatch;

/// How often cgroups are checked, and the time limit for setting up.
const TICK: Duration = Duration::from_millis(25);
const SETUP: Duration = Duration::from_secs(30);
/// How long a launcher may take to exit by itself.
const GENTLE: Duration = Duration::from_secs(3);
/// How long processes may take to end after they are killed.
const STUCK: Duration = Duration::from_secs(10);
/// How long to wait at a time; the kernel does not accept every number.
const LONGEST: Duration = Duration::from_hours(1);

/// Why an attempt failed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// Protections that are not available; the script may be able to run without them.
    Missing(Vec<MissingProtection>),
    /// Anything else.
    Error(SandboxError),
}

impl Failed {
    pub(super) fn into_error(self) -> SandboxError {
        match self {
            Self::Missing(missing) => SandboxError::Missing { missing },
            Self::Error(error) => error,
        }
    }
}

impl From<SandboxError> for Failed {
    fn from(error: SandboxError) -> Self {
        Self::Error(error)
    }
}

/// A job that has run.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) outcome: RunOutcome,
    /// Whether no process of it is left. Otherwise the kernel has not ended all in time.
    pub(super) is_gone: bool,
}

/// A job that runs, or is about to run.
pub(super) struct Run<'a> {
    job: &'a Job,
    plan: Plan,
    control: OwnedFd,
    child: Child,
    group: Option<Group>,
    capture: Option<Capture>,
    input: Option<(File, usize)>,
    init: Option<OwnedFd>,
    proxy: Option<Proxy>,
    touches: Option<Touches>,
    observer: Option<Observer>,
    protections: Protections,
    failed: Option<Failed>,
    ending: Option<Ending>,
    usage: ResourceUsage,
    /// Whether init has reported how it ended.
    is_told: bool,
    started: Option<Stopwatch>,
    begun: Stopwatch,
    /// Marks this run as active, and the time of the last update.
    held: Option<&'a File>,
    beat: Stopwatch,
}

impl<'a> Run<'a> {
    /// Sends the plan and the streams. The launcher does nothing before it has them.
    pub(super) fn start(
        job: &'a Job,
        plan: Plan,
        control: OwnedFd,
        child: Child,
        group: Option<Group>,
        held: Option<&'a File>,
        touches: Option<Touches>,
    ) -> Result<Self, Failed> {
        let mut run = Self {
            job,
            plan,
            control,
            child,
            group,
            capture: None,
            input: None,
            init: None,
            proxy: None,
            touches,
            observer: None,
            protections: Protections::default(),
            failed: None,
            ending: None,
            usage: ResourceUsage::default(),
            is_told: false,
            started: None,
            begun: Stopwatch::start(),
            held,
            beat: Stopwatch::start(),
        };
        if let Err(error) = run.hand_over() {
            run.stop();
            return Err(launch("sending the plan", error).into());
        }
        Ok(run)
    }

    /// Held descriptors stay open as long as the launcher lives.
    fn hand_over(&mut self) -> io::Result<()> {
        let doors = self.group.as_ref().map_or_else(|| Ok(Vec::new()), Group::doors)?;
        let bytes = postcard::to_stdvec(&self.plan).map_err(io::Error::other)?;
        let mut file = File::from(rustix::fs::memfd_create("plan", MemfdFlags::CLOEXEC)?);
        file.write_all(&bytes)?;
        io::Seek::rewind(&mut file)?;

        let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC);
        let (output, errors) = (pipe()?, pipe()?);
        let (inner_input, outer_input) = if self.job.input.is_empty() {
            (File::open("/dev/null")?.into(), None)
        } else {
            let (reader, writer) = pipe()?;
            (reader, Some(writer))
        };
        if self.plan.identity.from_root {
            // Otherwise `/dev/stderr`, which opens it again, is refused.
            for end in [&output.1, &errors.1].into_iter().chain(outer_input.is_some().then_some(&inner_input))
            {
                let (user, group) = self.plan.identity.outer;
                let ids = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(group));
                rustix::fs::fchown(end, Some(ids.0), Some(ids.1))?;
            }
        }
        let nothing = File::open("/dev/null")?;
        let held = self.held.unwrap_or(&nothing).as_fd();
        let streams = [file.as_fd(), inner_input.as_fd(), output.1.as_fd(), errors.1.as_fd(), held];
        let all: Vec<BorrowedFd<'_>> = streams.into_iter().chain(doors.iter().map(AsFd::as_fd)).collect();
        control::send(&self.control, b"plan", &all)?;
        self.capture = Some(Capture::new(output.0, errors.0, self.job.profile.limits.output)?);
        if let Some(end) = outer_input {
            rustix::io::ioctl_fionbio(&end, true)?;
            self.input = Some((end.into(), 0));
        }
        Ok(())
    }

    /// Kills everything that is left of it, and waits until it has ended, up to a limit: a process that hangs in the
    /// kernel cannot be killed. Returns whether nothing is left.
    fn stop(&mut self) -> bool {
        let _ = rustix::net::shutdown(&self.control, Shutdown::Both);
        // Without namespaces, it has to find every process that the script has started, and may take longer.
        let patience = if self.plan.mode == Mode::Full { GENTLE } else { STUCK };
        let mut is_gone = end_in_time(&mut self.child, patience);
        if let Some(init) = self.init.take() {
            // Nothing is left when init is gone, and the launcher waits for that; but the launcher may have been
            // killed.
            let _ = rustix::process::pidfd_send_signal(&init, Signal::KILL);
            is_gone &= ends_in_time(&init, STUCK);
        }
        is_gone
    }

    /// Runs it to its end.
    pub(super) fn finish(mut self, sink: &mut dyn Sink) -> Result<Finished, Failed> {
        let talked = self.talk(sink);
        // A limit of the group may have been reached after the last check.
        let late = self.group.as_ref().and_then(Group::hit);
        if let Some(group) = self.group.as_ref().filter(|_| self.plan.mode != Mode::Full) {
            // Without a namespace that kills all, no process may escape into a new one.
            group.stop_forking();
        }
        self.ask_what_was_used();
        let is_gone = self.stop();
        if let Some(capture) = &mut self.capture {
            capture.drain(sink);
        }
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        talked.map_err(|error| launch("talking to the launcher", error))?;
        if self.started.is_none() && self.ending.is_none() {
            let status = match self.child.try_wait() {
                Ok(Some(status)) => status.to_string(),
                Ok(None) => "it could not be stopped".to_owned(),
                Err(error) => error.to_string(),
            };
            return Err(SandboxError::LauncherGone { status }.into());
        }
        if let Some(most) = self.group.as_ref().and_then(Group::most_memory) {
            self.usage.memory = most;
        }
        let by_itself = matches!(self.ending, None | Some(Ending::Exited(_) | Ending::Killed(_)));
        if let Some(hit) = late.filter(|_| by_itself) {
            self.ending = Some(Ending::Limit(hit));
        }
        let (output, errors) = self.capture.as_mut().map(Capture::take).unwrap_or_default();
        let (connections, connections_left_out) = self.proxy.take().map(Proxy::finish).unwrap_or_default();
        let mut protections = take(&mut self.protections);
        if !is_gone {
            let detail =
                format!("processes of it were still running {} s after it was killed", STUCK.as_secs());
            protections.replace(Protection::EndsTogether, false, detail);
        }
        let ending = self.ending.unwrap_or(Ending::Killed(libc::SIGKILL));
        let touched = self.touches.take().and_then(Touches::finish);
        let refused_writes = self.observer.take().and_then(Observer::finish);
        let usage = self.usage;
        let outcome = RunOutcome { connections_left_out, touched, refused_writes, ..RunOutcome::new(ending) };
        let outcome = RunOutcome { output, errors, usage, protections, connections, ..outcome };
        Ok(Finished { outcome, is_gone })
    }

    /// Lets init stop the script, because init knows what it used; waits only briefly.
    fn ask_what_was_used(&mut self) {
        let ending = self.ending;
        if self.started.is_none()
            || self.is_told
            || ending.is_none()
            || control::send(&self.control, &[END], &[]).is_err()
        {
            return;
        }
        let patience = Timespec { tv_sec: 3, tv_nsec: 0 };
        let is_answered = |run: &Self| {
            let mut open = [PollFd::new(&run.control, PollFlags::IN)];
            poll(&mut open, Some(&patience)).is_ok_and(|ready| ready > 0)
        };
        while !self.is_told && is_answered(self) {
            let Ok(Some(message)) = control::receive(&self.control) else { break };
            if self.answer(message).is_err() {
                break;
            }
        }
        // The reason for stopping counts, not how it ended.
        self.ending = ending;
    }

    /// Runs until it has ended, or must be stopped.
    fn talk(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        loop {
            let ready = self.wait()?;
            if let Some(held) = self.held.filter(|_| self.beat.elapsed() >= BEAT) {
                notes::beat(held);
                self.beat = Stopwatch::start();
            }
            if ready.cancelled {
                self.ending = Some(Ending::Cancelled);
                return Ok(());
            }
            self.write_input();
            if let Some(capture) = &mut self.capture {
                capture.read_once(sink);
            }
            if self.capture.as_ref().is_some_and(Capture::is_cut) {
                self.ending = Some(Ending::Limit(Limit::Output));
                return Ok(());
            }
            if ready.control {
                match control::receive(&self.control)? {
                    Some(message) => self.answer(message)?,
                    None => return Ok(()),
                }
            }
            if self.failed.is_some() || self.ending.is_some() {
                return Ok(());
            }
            self.check_time();
            if self.failed.is_some() || self.ending.is_some() {
                return Ok(());
            }
        }
    }

    fn check_time(&mut self) {
        let Some(started) = self.started else {
            if self.begun.elapsed() > SETUP {
                self.failed = Some(launch("it took too long", io::ErrorKind::TimedOut).into());
            }
            return;
        };
        self.usage.wall = started.elapsed();
        if self.usage.wall >= self.job.profile.limits.wall {
            self.ending = Some(Ending::Limit(Limit::Wall));
        } else if let Some(hit) = self.group.as_ref().and_then(Group::hit) {
            self.ending = Some(Ending::Limit(hit));
        }
    }

    fn wait(&self) -> io::Result<Ready> {
        let mut open: Vec<PollFd<'_>> = vec![PollFd::new(&self.control, PollFlags::IN)];
        let cancel = self.job.cancel.event();
        open.extend(cancel.map(|event| PollFd::from_borrowed_fd(event, PollFlags::IN)));
        open.extend(self.capture.iter().flat_map(Capture::ends));
        open.extend(self.input.as_ref().map(|(end, _)| PollFd::new(end, PollFlags::OUT)));
        let wall = self.job.profile.limits.wall;
        let left = self.started.map_or(TICK, |started| wall.saturating_sub(started.elapsed())).min(LONGEST);
        let left = if self.held.is_some() { left.min(BEAT) } else { left };
        let timeout = if self.group.is_some() { left.min(TICK) } else { left };
        let timeout =
            Timespec { tv_sec: timeout.as_secs().cast_signed(), tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut open, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |index: usize| open.get(index).is_some_and(|one| !one.revents().is_empty());
        Ok(Ready { control: is_ready(0), cancelled: cancel.is_some() && is_ready(1) })
    }

    fn write_input(&mut self) {
        let Some((end, written)) = &mut self.input else { return };
        match end.write(&self.job.input[*written..]) {
            Ok(length) => *written += length,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return;
            }
            // The script does not read more.
            Err(_) => *written = self.job.input.len(),
        }
        if *written == self.job.input.len() {
            self.input = None;
        }
    }

    fn answer(&mut self, message: Received) -> io::Result<()> {
        let reply = postcard::from_bytes(&message.bytes).map_err(io::Error::other)?;
        match reply {
            Reply::Failed { step, what, path, source } => {
                let path = path.map(|path| path.path().to_owned());
                let source = source.map_or_else(io::Error::other, io::Error::from_raw_os_error);
                self.failed = Some(self.explain(step, &what, path, source));
            }
            Reply::MapIds => match self.map_ids(message.sender) {
                Ok(()) => control::send(&self.control, &[GO], &[])?,
                Err(error) => {
                    self.failed = Some(self.explain(Step::UserNamespace, "mapping user ids", None, error));
                }
            },
            Reply::Init => self.init = message.sender.and_then(|sender| self.child_of_launcher(sender)),
            Reply::Listener => {
                if let (Network::Proxy(allowed), Some(listener)) =
                    (&self.job.profile.network, message.descriptors.into_iter().next())
                {
                    self.proxy = Some(Proxy::start(listener, allowed.clone())?);
                }
            }
            Reply::Observer => {
                let work = self.job.profile.writable.first().map(|work| work.path().to_owned());
                if let Some(listener) = message.descriptors.into_iter().next() {
                    self.observer = Some(Observer::start(listener, work.unwrap_or_default())?);
                }
            }
            Reply::Ready { landlock, seccomp } => {
                if let Some(sender) = message.sender {
                    self.check_and_go(sender, Tried { landlock, seccomp })?;
                }
            }
            Reply::Ended { code, signal, hit, cpu_ms, memory, written } => {
                let started = self.started.unwrap_or(self.begun);
                self.is_told = true;
                self.usage = ResourceUsage {
                    wall: started.elapsed(),
                    cpu: Duration::from_millis(cpu_ms),
                    memory,
                    written,
                };
                self.ending = Some(match (hit, code, signal) {
                    (Some(hit), _, _) => Ending::Limit(hit),
                    (None, Some(code), _) => Ending::Exited(code),
                    (None, None, signal) => Ending::Killed(signal.unwrap_or(libc::SIGKILL)),
                });
            }
        }
        Ok(())
    }

    /// A handle on a child of the launcher, if it still exists; its number may have been reused.
    fn child_of_launcher(&self, process: Pid) -> Option<OwnedFd> {
        let handle = rustix::process::pidfd_open(process, PidfdFlags::empty()).ok()?;
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).ok()?;
        let parent =
            status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse::<u32>().ok()?;
        (parent == self.child.id()).then_some(handle)
    }

    /// Sets the ids of a process that root has put into a user namespace.
    fn map_ids(&self, process: Option<Pid>) -> io::Result<()> {
        let (inner, outer) = (self.plan.identity.inner, self.plan.identity.outer);
        let process = process.ok_or(io::ErrorKind::NotFound)?.as_raw_nonzero();
        std::fs::write(format!("/proc/{process}/uid_map"), format!("{} {} 1", inner.0, outer.0))?;
        std::fs::write(format!("/proc/{process}/gid_map"), format!("{} {} 1", inner.1, outer.1))
    }

    /// Measures the active protections; starts the script if they are sufficient.
    fn check_and_go(&mut self, script: Pid, tried: Tried) -> io::Result<()> {
        let limits = &self.job.profile.limits;
        // If memory runs out, the kernel should kill the script and not its supervisor.
        let _ = std::fs::write(format!("/proc/{}/oom_score_adj", script.as_raw_nonzero()), "1000");
        self.protections = measure(script, &self.plan, limits, self.group.as_ref(), tried);
        let strictness = self.job.profile.strictness;
        let lacking = self.protections.missing().filter(|found| strictness.needs(found.protection));
        let missing: Vec<MissingProtection> =
            lacking.map(|found| MissingProtection::new(found.protection, found.detail.clone())).collect();
        if missing.is_empty() {
            if let Some(touches) = &self.touches {
                touches.is_ready();
            }
            self.started = Some(Stopwatch::start());
            return control::send(&self.control, &[GO], &[]);
        }
        self.failed = Some(Failed::Error(SandboxError::Missing { missing }));
        Ok(())
    }

    fn explain(&self, step: Step, what: &str, path: Option<PathBuf>, source: io::Error) -> Failed {
        let protection = match step {
            Step::UserNamespace => Protection::UserNamespace,
            Step::MountNamespace => Protection::MountNamespace,
            Step::ProcessNamespace => Protection::ProcessNamespace,
            Step::NetworkNamespace => Protection::NetworkNamespace,
            Step::IpcNamespace => Protection::IpcNamespace,
            Step::HostnameNamespace => Protection::HostnameNamespace,
            Step::Landlock => Protection::Landlock,
            Step::Seccomp => Protection::Seccomp,
            Step::UnprivilegedUser => Protection::UnprivilegedUser,
            Step::Path | Step::Swapped | Step::ProtectedLink | Step::Owner | Step::Program | Step::Other => {
                return Failed::Error(self.explain_other(step, what, path, source));
            }
        };
        let place = path.map(|path| format!(" `{}`", path.display())).unwrap_or_default();
        Failed::Missing(vec![MissingProtection::new(protection, format!("{what}{place}: {source}"))])
    }

    fn explain_other(
        &self,
        step: Step,
        what: &str,
        path: Option<PathBuf>,
        source: io::Error,
    ) -> SandboxError {
        let path = path.unwrap_or_default();
        match step {
            Step::Path => SandboxError::Path { path, source },
            Step::Swapped => SandboxError::Swapped { path },
            Step::ProtectedLink => SandboxError::ProtectedLink { path },
            Step::Owner => SandboxError::NotWritable { path },
            Step::Program => {
                SandboxError::Program { program: self.job.program.to_string_lossy().into_owned(), source }
            }
            _ => launch(what, source),
        }
    }
}

/// Waits until a child has ended; kills one that does not, and gives up on one that cannot be killed. Returns whether
/// it has ended.
fn end_in_time(child: &mut Child, patience: Duration) -> bool {
    let process = Pid::from_raw(child.id().cast_signed());
    let handle = process.and_then(|process| rustix::process::pidfd_open(process, PidfdFlags::empty()).ok());
    // A child that has been waited for has no handle any more; without handles, waiting is the only way.
    let is_over = handle.is_none_or(|handle| {
        ends_in_time(&handle, patience) || (child.kill().is_ok() && ends_in_time(&handle, STUCK))
    });
    is_over && child.wait().is_ok()
}

/// Waits until a process has ended, up to a limit.
fn ends_in_time(process: &OwnedFd, patience: Duration) -> bool {
    let begun = Stopwatch::start();
    loop {
        let left = patience.saturating_sub(begun.elapsed());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => {}
            other => return other.is_ok_and(|ready| ready > 0),
        }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Ready {
    control: bool,
    cancelled: bool,
}
