//! The first process inside: it builds the file tree, starts the script, reaps orphans, and watches the limits.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Access;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::{CapabilitySet, UnshareFlags};

use super::root::{self, Owners};
use super::usage::Watch;
use super::{During, Failure, HELD, confine, endings, room, tell, wait_for_go};
use crate::control;
use crate::executor::Limit;
use crate::plan::{END, GO, Kind, Mode, Net, Plan, Reply, Step};
use crate::sys::{self, Fork};

/// How often the limits are checked.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// How long the script's process may take to read a message.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000 };

/// The variables in which programs look for a proxy.
const PROXY: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// Runs init; returns its exit code.
pub(super) fn run(plan: &Plan, control: BorrowedFd<'_>, launcher: Pid, owners: Owners) -> i32 {
    // It could not be opened later: no process may inspect this one, not even itself.
    let written = File::open("/proc/self/io").ok();
    match prepare(plan, control, launcher, owners, written) {
        Ok(Some((script, written))) => {
            let reply = watch(plan, control, script, written);
            control::reply(control, &reply, &[]);
            0
        }
        // The script's own process, which could not start the program.
        Ok(None) => 1,
        Err(failure) => {
            tell(control, &failure);
            1
        }
    }
}

fn prepare(
    plan: &Plan,
    control: BorrowedFd<'_>,
    launcher: Pid,
    owners: Owners,
    written: Option<File>,
) -> Result<Option<(Pid, Option<File>)>, Failure> {
    let mut proxy = None;
    let tie = || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .during(Step::Other, "tying init to the launcher")
    };
    if plan.mode == Mode::Full {
        tie()?;
        proxy = network(plan, control)?;
        rustix::system::sethostname(b"sandbox.invalid")
            .during(Step::HostnameNamespace, "setting the host name")?;
        rustix::system::setdomainname(b"").during(Step::HostnameNamespace, "setting the domain name")?;
        root::enter(plan, &owners)?;
        // The script must not have them open.
        drop(owners);
        if plan.identity.from_root {
            sys::unshare(UnshareFlags::NEWUSER).during(Step::UserNamespace, "unsharing")?;
            control::reply(control, &Reply::MapIds, &[]);
            wait_for_go(control).during(Step::UserNamespace, "mapping user ids")?;
            let (user, group) = plan.identity.inner;
            sys::become_user(user, group, true)
                .during(Step::UnprivilegedUser, "becoming an ordinary user")?;
            // Changing users clears the parent-death signal.
            tie()?;
        }
    } else {
        if rustix::process::getppid() != Some(launcher) {
            return Err(Failure::new(Step::Other, "the launcher is gone", io::ErrorKind::ConnectionAborted));
        }
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .during(Step::Other, "adopting orphans")?;
        if plan.identity.from_root && plan.mode == Mode::Core {
            let (user, group) = plan.identity.outer;
            sys::become_user(user, group, true)
                .during(Step::UnprivilegedUser, "becoming an ordinary user")?;
            for bind in plan.binds.iter().filter(|bind| bind.kind == Kind::Write) {
                let path = bind.path.path();
                rustix::fs::access(path, Access::WRITE_OK).map_err(|error| {
                    Failure::at(Step::Owner, "checking whether it is writable", path, error)
                })?;
            }
        }
    }
    // Metier waits for this process, whatever happens to the launcher.
    control::reply(control, &Reply::Init, &[]);
    let script = match sys::fork().during(Step::Other, "starting the script's process")? {
        Fork::Child => {
            drop(written);
            let Err(failure) = become_script(plan, control, proxy);
            tell(control, &failure);
            return Ok(None);
        }
        Fork::Parent(script) => script,
    };
    // No process inside may inspect this one, and the script's streams are not needed here.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .during(Step::Other, "hiding init")?;
    for number in 0..3 {
        drop(sys::own(number));
    }
    if plan.mode == Mode::Full {
        // To measure processes that hide from others, and directories that are closed.
        let kept = CapabilitySet::SYS_PTRACE | CapabilitySet::DAC_READ_SEARCH;
        confine::keep_only(kept).during(Step::Other, "dropping capabilities")?;
    }
    Ok(Some((script, written)))
}

/// The network inside: none, its own loopback, or loopback with a listener for the proxy.
fn network(plan: &Plan, control: BorrowedFd<'_>) -> Result<Option<u16>, Failure> {
    let step = Step::NetworkNamespace;
    if matches!(plan.network, Net::None | Net::Host) {
        return Ok(None);
    }
    let stream =
        || rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let socket = stream().during(step, "opening a socket")?;
    sys::loopback_up(socket.as_fd()).during(step, "starting the loopback interface")?;
    if plan.network == Net::Proxy {
        rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))
            .during(step, "binding the proxy")?;
        rustix::net::listen(&socket, 64).during(step, "listening for the proxy")?;
        let address = rustix::net::getsockname(&socket).during(step, "asking for the proxy's port")?;
        let address = SocketAddrV4::try_from(address).during(step, "asking for the proxy's port")?;
        control::reply(control, &Reply::Listener, &[socket.as_fd()]);
        return Ok(Some(address.port()));
    }
    Ok(None)
}

/// Applies the restrictions to this process and becomes the script.
fn become_script(
    plan: &Plan,
    control: BorrowedFd<'_>,
    proxy: Option<u16>,
) -> Result<std::convert::Infallible, Failure> {
    drop(sys::own(HELD));
    rustix::process::setsid().during(Step::Other, "starting a session")?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .during(Step::Other, "tying the script to init")?;
    let mut active = (false, false);
    let mut command = Command::new(plan.program.text());
    command.args(plan.arguments.iter().map(crate::plan::Raw::text)).env_clear();
    command.envs(plan.environment.iter().map(|(name, value)| (name.text(), value.text())));
    if let Some(port) = proxy {
        let address = format!("http://127.0.0.1:{port}");
        command.envs(PROXY.iter().map(|name| (*name, address.as_str())));
        command.envs(["NO_PROXY", "no_proxy"].map(|name| (name, "localhost,127.0.0.1,::1")));
    }
    enter(plan)?;
    let is_protected = plan.mode != Mode::Unprotected;
    if is_protected {
        confine::drop_powers()?;
        confine::landlock(plan)?;
    }
    // Only now: the allowed paths had to be opened before.
    confine::limit(plan).during(Step::Other, "setting resource limits")?;
    if is_protected {
        // Metier examines this process while it waits.
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
            .during(Step::Other, "waiting to be examined")?;
        // The first of the filters: the others would not allow installing it.
        if let Some(observer) = confine::observe(plan) {
            control::reply(control, &Reply::Observer, &[observer.as_fd()]);
        }
        confine::seccomp(plan)?;
        active = confine::try_out(plan.mode);
    }
    control::reply(control, &Reply::Ready { landlock: active.0, seccomp: active.1 }, &[]);
    wait_for_go(control).during(Step::Other, "waiting to start")?;
    Err(Failure::new(Step::Program, "running the program", command.exec()))
}

/// Enters the script's starting directory: exactly the chosen one, if it was pinned.
fn enter(plan: &Plan) -> Result<(), Failure> {
    let path = plan.directory.path();
    let at = |error| Failure::at(Step::Path, "entering", path, error);
    match plan.binds.iter().find(|bind| bind.path.path() == path).map(root::find).transpose()?.flatten() {
        Some(place) => rustix::process::fchdir(place).map_err(|error| at(error.into())),
        None => std::env::set_current_dir(path).map_err(at),
    }
}

/// Reaps and watches until the script has ended or reached a limit; then kills everything left of it.
fn watch(plan: &Plan, control: BorrowedFd<'_>, script: Pid, written: Option<File>) -> Reply {
    let signals = sys::child_signals();
    let mut watch = Watch::new(plan, written);
    let (mut code, mut signal, mut hit) = (None, None, None);
    while hit.is_none() {
        match reap(script) {
            Reaped::Others => {}
            Reaped::Script(status) => {
                code = status.exit_status();
                signal = status.terminating_signal();
                break;
            }
            Reaped::Nothing => break,
        }
        let is_told = wait(signals.as_ref().ok(), control);
        hit = watch.check();
        if is_told {
            break;
        }
    }
    if hit.is_none() && (code.is_some() || signal.is_some()) {
        hit = watch.last_check().or_else(|| by_signal(code, signal));
    }
    end_all(plan);
    let usage = watch.peak();
    Reply::Ended { code, signal, hit, cpu_ms: usage.cpu_ms, memory: usage.memory, written: usage.written }
}

/// Waits until a child has ended or it is time for the next check; returns whether metier wants to stop.
fn wait(signals: Option<&OwnedFd>, control: BorrowedFd<'_>) -> bool {
    let mut open = vec![PollFd::from_borrowed_fd(control, PollFlags::IN)];
    open.extend(signals.map(|signals| PollFd::new(signals, PollFlags::IN)));
    let _ = poll(&mut open, Some(&TICK));
    if let Some(signals) = signals {
        // Its content does not matter; it only has to be reset for the next child.
        let _ = rustix::io::read(signals, &mut [0_u8; 512]);
    }
    if open[0].revents().is_empty() {
        return false;
    }
    // Only peeked: the message to continue is for the script's process, which shares the socket until it starts.
    let mut word = [0];
    match rustix::net::recv(control, &mut word, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((length, _)) if length > 0 && word == [GO] => {
            let _ = rustix::thread::nanosleep(&MOMENT);
            false
        }
        Ok((length, _)) => length == 0 || word == [END],
        Err(_) => false,
    }
}

/// A limit that the kernel itself enforced, seen from the script's exit or from a shell's report about its child.
fn by_signal(code: Option<i32>, signal: Option<i32>) -> Option<Limit> {
    match signal.or_else(|| code.filter(|code| *code > 128).map(|code| code - 128)) {
        Some(libc::SIGXFSZ) => Some(Limit::File),
        // CPU time is measured here, unless the kernel's limit was reached, which is one second later.
        Some(libc::SIGXCPU) if signal.is_some() => Some(Limit::Cpu),
        _ => None,
    }
}

enum Reaped {
    Script(WaitStatus),
    Others,
    /// There is no child to wait for.
    Nothing,
}

/// Reaps ended processes.
fn reap(script: Pid) -> Reaped {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == script => return Reaped::Script(status),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Reaped::Others,
            Err(_) => return Reaped::Nothing,
        }
    }
}

/// Kills every process that the script has left.
fn end_all(plan: &Plan) {
    if plan.mode == Mode::Full {
        // For PID 1 this means every process of its namespace except itself.
        let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
        while matches!(rustix::process::wait(WaitOptions::empty()), Ok(_) | Err(rustix::io::Errno::INTR)) {}
    } else {
        endings::kill_descendants(room(plan), plan.identity);
    }
}
