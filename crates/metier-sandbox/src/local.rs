//! The executor for this machine: starts the launcher, checks what it set up, and stays until nothing is left.

mod cgroup;
mod ids;
mod measure;
mod planted;
mod supervise;
mod system;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::error::Missing;
use crate::executor::{Executor, Job, Outcome, Sink};
use crate::launcher::{IS_CALLED, NAME, pack};
use crate::plan::{Bind, Bounds, Kind, Mode, Net, Plan};
use crate::profile::{Network, Place, Profile};
use crate::protection::{Protection, Strictness};
use crate::seccomp::{self, Needs};
use crate::{SandboxError, sys, width};

use self::cgroup::Group;
use self::planted::Protected;
pub(crate) use self::supervise::Failed;
use self::supervise::Run;
pub use self::system::system_paths;

/// Runs jobs on this machine, contained by the kernel.
///
/// ```no_run
/// use metier_sandbox::{Ending, Executor, Job, Local, Place, Profile};
/// use metier_skill::Tier;
///
/// fn main() -> Result<(), metier_sandbox::SandboxError> {
///     metier_sandbox::launch_if_asked();
///     let profile = Profile::new(Tier::ThirdParty, Place::pin("work")?);
///     let outcome = Local::new().run(&Job::new(profile, "true", Vec::new()), &mut ())?;
///     assert_eq!(outcome.ending, Ending::Exited(0));
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Local {
    launcher: PathBuf,
}

/// This very program.
const OWN: &str = "/proc/self/exe";

impl Default for Local {
    fn default() -> Self {
        Self::new()
    }
}

impl Local {
    /// One whose launcher is this very program, which calls [`launch_if_asked`](crate::launch_if_asked).
    pub fn new() -> Self {
        Self { launcher: OWN.into() }
    }

    /// One whose launcher is another program that calls [`launch_if_asked`](crate::launch_if_asked).
    pub fn with_launcher(program: impl Into<PathBuf>) -> Self {
        Self { launcher: program.into() }
    }

    /// One try in one mode.
    pub(crate) fn attempt(&self, job: &Job, mode: Mode, sink: &mut dyn Sink) -> Result<Outcome, Failed> {
        let profile = &job.profile;
        let is_launcher = std::env::args_os().next().as_deref() == Some(OsStr::new(NAME));
        // Otherwise all that its `main` does would be done a second time.
        let cannot_launch = self.launcher == Path::new(OWN) && !IS_CALLED.load(Ordering::Relaxed);
        if is_launcher || cannot_launch {
            let reason = "the program must call `metier_sandbox::launch_if_asked` first in `main`";
            return Err(launch(reason, io::ErrorKind::Unsupported).into());
        }
        if mode == Mode::Core {
            check_core(profile)?;
        }
        let protected = Protected::look(profile)?;
        let group = if mode == Mode::Unprotected { None } else { Group::create(&profile.limits) };
        let temporary = temporary(mode, profile)?;
        let mut plan = plan(job, mode, group.as_ref(), temporary.as_ref().map(tempfile::TempDir::path))?;
        plan.protected = protected.present.iter().map(|path| path.as_path().into()).collect();
        let (control, other) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|error| launch("opening a socket", error))?;
        rustix::net::sockopt::set_socket_passcred(&control, true)
            .map_err(|error| launch("opening a socket", error))?;
        let child = Command::new(&self.launcher)
            .arg0(NAME)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(other))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| launch("starting the launcher", error))?;
        let finished = Run::start(job, plan, control, child, group).and_then(|run| run.finish(sink));
        // Also when something went wrong on the way: it may have begun.
        let planted = protected.set_aside_new();
        finished.map(|outcome| Outcome { planted, ..outcome })
    }
}

impl Executor for Local {
    fn run(&self, job: &Job, sink: &mut dyn Sink) -> Result<Outcome, SandboxError> {
        width::check(&job.profile)?;
        let strictness = job.profile.strictness;
        if strictness == Strictness::Unprotected {
            return self.attempt(job, Mode::Unprotected, sink).map_err(Failed::into_error);
        }
        let missing = unavailable();
        if !missing.is_empty() {
            return Err(SandboxError::Missing { missing });
        }
        match self.attempt(job, Mode::Full, sink) {
            Err(Failed::Missing(missing))
                if strictness == Strictness::Core
                    && missing.iter().all(|one| !strictness.needs(one.protection)) =>
            {
                if matches!(job.profile.network, Network::Proxy(_)) {
                    return Err(SandboxError::Missing { missing });
                }
                self.attempt(job, Mode::Core, sink).map_err(Failed::into_error)
            }
            other => other.map_err(Failed::into_error),
        }
    }
}

fn launch(step: &str, source: impl Into<io::Error>) -> SandboxError {
    SandboxError::Launch { step: step.to_owned(), source: source.into() }
}

/// What no script runs without and this kernel does not have.
fn unavailable() -> Vec<Missing> {
    let mut missing = Vec::new();
    if sys::landlock_abi().is_none() {
        missing.push(Missing::new(Protection::Landlock, "the kernel has it not, or not enabled"));
    }
    if !sys::has_seccomp_filters() {
        missing.push(Missing::new(Protection::Seccomp, "the kernel takes no filters"));
    }
    missing
}

/// The first version of Landlock that keeps a script from ending processes of others.
const SIGNALS: i32 = 6;

/// What cannot be promised without namespaces.
fn check_core(profile: &Profile) -> Result<(), Failed> {
    let within = |place: &&Place| profile.writable.iter().any(|other| place.path().starts_with(other.path()));
    if let Some(place) = profile.readable.iter().find(within) {
        let reason = "it lies in a directory that may be written to, and there are no namespaces here to keep it as it is";
        return Err(SandboxError::TooWide { path: place.path().to_owned(), reason }.into());
    }
    let version = sys::landlock_abi().unwrap_or(0);
    if version < SIGNALS {
        let reason =
            format!("version {version} does not keep signals from others, and there are no namespaces here");
        return Err(Failed::Missing(vec![Missing::new(Protection::Landlock, reason)]));
    }
    Ok(())
}

/// Without a file tree of its own, a script needs a directory for what would be in `/tmp`.
fn temporary(mode: Mode, profile: &Profile) -> Result<Option<tempfile::TempDir>, SandboxError> {
    if mode == Mode::Full
        || profile.environment.get(&OsString::from("TMPDIR")).is_none_or(|path| path != "/tmp")
    {
        return Ok(None);
    }
    let made = tempfile::Builder::new().prefix("metier-").tempdir();
    let made = made.map_err(|error| launch("making a temporary directory", error))?;
    let identity = ids::identity();
    if identity.from_root && mode == Mode::Core {
        std::os::unix::fs::chown(made.path(), Some(identity.outer.0), Some(identity.outer.1))
            .map_err(|error| launch("making a temporary directory", error))?;
    }
    Ok(Some(made))
}

fn plan(
    job: &Job,
    mode: Mode,
    group: Option<&Group>,
    temporary: Option<&Path>,
) -> Result<Plan, SandboxError> {
    let profile = &job.profile;
    let limits = &profile.limits;
    let identity = ids::identity();
    let mut tree = system::tree(mode, profile.network == Network::Host);
    let own = |place: &Place, kind| Bind {
        path: place.path().into(),
        identity: Some(place.identity()),
        kind,
        owner: identity.from_root.then_some(place.owner()),
        aliases: place.aliases().iter().map(|path| path.as_path().into()).collect(),
    };
    tree.binds.extend(profile.readable.iter().map(|place| own(place, Kind::Read)));
    tree.binds.extend(profile.writable.iter().map(|place| own(place, Kind::Write)));
    let mut environment = profile.environment.clone();
    if let Some(path) = temporary {
        let place = Place::pin(path)?;
        for name in ["TMPDIR", "HOME"] {
            environment.insert(name.into(), place.path().into());
        }
        tree.binds.push(own(&place, Kind::Write));
    }
    let network = match &profile.network {
        Network::Host => Net::Host,
        Network::Loopback if mode == Mode::Full => Net::Loopback,
        // A loopback of one's own needs a network of one's own.
        Network::None | Network::Loopback => Net::None,
        Network::Proxy(_) => Net::Proxy,
    };
    let bounded = |by_group: bool, most: u64| (!by_group && mode != Mode::Unprotected).then_some(most);
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let bounds = Bounds {
        wall_ms: milliseconds(limits.wall),
        cpu_ms: milliseconds(limits.cpu),
        memory: bounded(group.is_some_and(Group::bounds_memory), limits.memory),
        processes: bounded(group.is_some_and(Group::bounds_processes), limits.processes),
        file: limits.file,
        disk: limits.disk,
        files: limits.files,
        tmp: limits.tmp,
        open_files: limits.open_files,
        // More than the watch allows, so that it sees who goes beyond.
        processes_of_user: limits.processes.saturating_add(8),
    };
    let filters = if mode == Mode::Unprotected { Vec::new() } else { filters(network, mode, group)? };
    Ok(Plan {
        mode,
        identity,
        binds: tree.binds,
        links: tree.links,
        files: tree.files,
        protected: Vec::new(),
        network,
        bounds,
        landlock_abi: sys::landlock_abi().unwrap_or(0),
        filters,
        program: job.program.as_os_str().into(),
        arguments: job.arguments.iter().map(|one| one.as_os_str().into()).collect(),
        environment: environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        directory: profile.directory.as_path().into(),
    })
}

fn filters(network: Net, mode: Mode, group: Option<&Group>) -> Result<Vec<Vec<u64>>, SandboxError> {
    let needs = Needs {
        network: network != Net::None,
        namespaces: mode == Mode::Full,
        counted_memory: group.is_some_and(Group::bounds_memory),
    };
    let filters = seccomp::filters(needs).map_err(|error| {
        let reason = format!("no filter can be made for this processor: {error}");
        SandboxError::Missing { missing: vec![Missing::new(Protection::Seccomp, reason)] }
    })?;
    Ok(filters.iter().map(|filter| filter.iter().map(pack).collect()).collect())
}
