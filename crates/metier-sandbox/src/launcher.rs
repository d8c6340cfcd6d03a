//! The launcher: metier's own binary, started again as a small process with one thread, an empty environment and no
//! open file except a socket. It sets up the sandbox and never runs the script's program itself.
//!
//! ```text
//! metier ──socket── launcher ─▶ init (PID 1 inside: reaps, watches limits) ─▶ script
//! ```
//!
//! The launcher exits when init has ended, and kills init when metier is gone.

mod confine;
mod cover;
mod endings;
mod growth;
mod init;
mod memory;
mod root;
mod supervisor;
mod usage;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use rustix::thread::UnshareFlags;

pub(crate) use self::confine::pack;

use crate::control;
use crate::plan::{GO, Identity, Mode, Net, Plan, Raw, Reply, Step};
use crate::sys::{self, Fork};

/// The program name (`argv[0]`) with which the binary is started as the launcher.
pub(crate) const NAME: &str = "metier-launcher";

/// The program name with which it is started to supervise a program outside of the sandbox.
pub(crate) const SUPERVISOR: &str = "metier-supervisor";

/// The number of processes that a user may start beside a script, where both are counted together.
const ROOM: u64 = 64;

/// How many more processes the script's user may have by its limit. Not needed if a control group sets the limit.
fn room(plan: &Plan) -> u64 {
    if plan.bounds.processes.is_some() { ROOM + plan.bounds.processes_of_user } else { 0 }
}

/// The descriptor of the socket while the sandbox is set up.
const CONTROL: i32 = 3;
/// The descriptor that marks the run as active for as long as it is open: here and in init, never in the script.
const HELD: i32 = 4;

/// A step that failed before the script started.
#[derive(Debug)]
pub(crate) struct Failure {
    step: Step,
    what: String,
    path: Option<Raw>,
    source: io::Error,
}

impl Failure {
    fn new(step: Step, what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self { step, what: what.into(), path: None, source: source.into() }
    }

    fn at(step: Step, what: impl Into<String>, path: &std::path::Path, source: impl Into<io::Error>) -> Self {
        Self { path: Some(path.into()), ..Self::new(step, what, source) }
    }
}

/// Adds the failed step to an error.
trait During<T> {
    fn during(self, step: Step, what: &str) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, step: Step, what: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(step, what, error))
    }
}

/// Becomes the launcher if this process was started as one, and then never returns.
///
/// A program that runs scripts with [`Local`](crate::Local) must call this first in `main`, before it starts threads.
pub fn launch_if_asked() {
    IS_CALLED.store(true, Ordering::Relaxed);
    let name = std::env::args_os().next();
    if name.as_deref() == Some(OsStr::new(NAME)) {
        launch(start);
    }
    if name.as_deref() == Some(OsStr::new(SUPERVISOR)) {
        launch(supervisor::run);
    }
}

/// Whether this program has called [`launch_if_asked`], so that it can be its own launcher.
pub fn is_own_launcher() -> bool {
    IS_CALLED.load(Ordering::Relaxed)
}

/// Whether this program can be its own launcher.
pub(crate) static IS_CALLED: AtomicBool = AtomicBool::new(false);

fn launch(start: fn() -> io::Result<()>) -> ! {
    // If a user starts this by hand, there is no socket, and it exits.
    let code = match start() {
        Ok(()) => 0,
        Err(_) => 1,
    };
    sys::leave(code)
}

fn start() -> io::Result<()> {
    let (plan, control) = take_over()?;
    if let Err(failure) = supervise(&plan, control.as_fd()) {
        tell(control.as_fd(), &failure);
    }
    Ok(())
}

fn tell(control: BorrowedFd<'_>, failure: &Failure) {
    let reply = Reply::Failed {
        step: failure.step,
        what: failure.what.clone(),
        path: failure.path.clone(),
        source: failure.source.raw_os_error().ok_or_else(|| failure.source.to_string()),
    };
    control::reply(control, &reply, &[]);
}

/// Reads the plan, sets up the script's streams, and closes everything else.
fn take_over() -> io::Result<(Plan, OwnedFd)> {
    // The socket replaces standard input, so that nothing else need be inherited.
    let socket = sys::own(0);
    // Input at the terminal, ignored signals and the umask belong to metier, not to the script.
    rustix::process::setsid()?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    sys::reset_signals();
    let message = control::receive(&socket)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut descriptors = message.descriptors;
    if descriptors.len() < 5 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // Enters the control groups first, so that everything that follows is counted.
    for door in descriptors.drain(5..) {
        File::from(door).write_all(b"0")?;
    }
    let [file, input, output, errors, held]: [OwnedFd; 5] =
        descriptors.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes)?;
    let plan = postcard::from_bytes(&bytes).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok((plan, take_streams(socket, [input, output, errors], Some(held))?))
}

/// Sets up the standard streams and the descriptors that are held until this process ends, and closes everything else.
/// Returns the socket at its new number.
fn take_streams(socket: OwnedFd, streams: [OwnedFd; 3], held: Option<OwnedFd>) -> io::Result<OwnedFd> {
    // Moves it away from the numbers that are about to be used; its own is the first of them.
    let first = socket;
    let socket = rustix::io::fcntl_dupfd_cloexec(&first, 64)?;
    std::mem::forget(first);
    let held = held.into_iter().map(|held| rustix::io::fcntl_dupfd_cloexec(&held, 64)).next().transpose()?;
    let streams = streams.map(|stream| rustix::io::fcntl_dupfd_cloexec(&stream, 64));
    for (number, stream) in (0..).zip(streams) {
        sys::place(stream?, number)?;
    }
    sys::place(&socket, CONTROL)?;
    drop(socket);
    if let Some(held) = held {
        sys::place(&held, HELD)?;
        drop(held);
        sys::close_from(HELD + 1)?;
        let held = sys::own(HELD);
        rustix::io::fcntl_setfd(&held, rustix::io::FdFlags::CLOEXEC)?;
        // Stays open until this process ends.
        std::mem::forget(held);
    } else {
        sys::close_from(CONTROL + 1)?;
    }
    let control = sys::own(CONTROL);
    rustix::io::fcntl_setfd(&control, rustix::io::FdFlags::CLOEXEC)?;
    Ok(control)
}

/// Sets up namespaces, starts init in them, and waits until it has ended.
fn supervise(plan: &Plan, control: BorrowedFd<'_>) -> Result<(), Failure> {
    // Opened while the outer /proc is still visible.
    let mut owners = root::Owners::default();
    if plan.mode == Mode::Full {
        // Without namespaces it must stay alive to kill processes that nothing else would kill; the socket reports when
        // metier is gone.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .during(Step::Other, "tying the launcher to metier")?;
        if plan.identity.from_root {
            owners = root::Owners::prepare(plan)?;
            unshare(plan.network, false)?;
        } else {
            unshare(plan.network, true)?;
            map_own_ids(plan.identity).during(Step::UserNamespace, "mapping user ids")?;
        }
    } else {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .during(Step::Other, "adopting orphans")?;
    }
    let parent = rustix::process::getpid();
    match sys::fork().during(Step::ProcessNamespace, "starting the first process")? {
        Fork::Child => {
            let code = init::run(plan, control, parent, owners);
            sys::leave(code)
        }
        Fork::Parent(init) => {
            drop(owners);
            let waited = wait(init, control);
            if plan.mode != Mode::Full {
                endings::kill_descendants(room(plan), plan.identity);
            }
            waited.during(Step::Other, "waiting for the first process")
        }
    }
}

/// Waits until init has ended, and kills it when metier is gone.
fn wait(init: Pid, control: BorrowedFd<'_>) -> io::Result<()> {
    let handle = rustix::process::pidfd_open(init, PidfdFlags::empty())?;
    // The script's streams must be closed when the script closes them.
    for number in 0..3 {
        drop(sys::own(number));
    }
    loop {
        let mut open = [
            PollFd::new(&handle, PollFlags::IN),
            // Nothing is read here: the messages are for the processes inside.
            PollFd::from_borrowed_fd(control, PollFlags::RDHUP),
        ];
        match poll(&mut open, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let gone = !open[1].revents().is_empty();
        if gone {
            let _ = rustix::process::pidfd_send_signal(&handle, Signal::KILL);
        }
        if gone || !open[0].revents().is_empty() {
            // Init is reaped only after every process of its namespace is gone.
            while matches!(
                rustix::process::waitpid(Some(init), WaitOptions::empty()),
                Err(rustix::io::Errno::INTR)
            ) {}
            return Ok(());
        }
    }
}

/// Enters new namespaces; the error names the one that is not available.
fn unshare(network: Net, user: bool) -> Result<(), Failure> {
    let all = [
        (UnshareFlags::NEWUSER, Step::UserNamespace, user),
        (UnshareFlags::NEWNS, Step::MountNamespace, true),
        (UnshareFlags::NEWPID, Step::ProcessNamespace, true),
        (UnshareFlags::NEWNET, Step::NetworkNamespace, network != Net::Host),
        (UnshareFlags::NEWIPC, Step::IpcNamespace, true),
        (UnshareFlags::NEWUTS, Step::HostnameNamespace, true),
        (UnshareFlags::NEWCGROUP, Step::MountNamespace, true),
    ];
    let wanted = || all.iter().filter(|(_, _, wanted)| *wanted);
    let Err(first) = sys::unshare(wanted().map(|(flag, _, _)| *flag).collect()) else { return Ok(()) };
    // One call for all namespaces is fast, but does not report which of them failed.
    for (flag, step, _) in wanted() {
        sys::unshare(*flag).during(*step, "unsharing")?;
    }
    Err(Failure::new(Step::UserNamespace, "creating all namespaces at once", first))
}

/// Maps the only id that an ordinary user may map: their own.
fn map_own_ids(identity: Identity) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{} {} 1", identity.inner.0, identity.outer.0))?;
    std::fs::write("/proc/self/gid_map", format!("{} {} 1", identity.inner.1, identity.outer.1))
}

/// Waits for metier's signal to continue.
fn wait_for_go(control: BorrowedFd<'_>) -> io::Result<()> {
    match control::receive(control)? {
        Some(message) if message.bytes == [GO] => Ok(()),
        _ => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}
