//! The executor for this machine: starts the launcher, checks what it set up, and stays until no process is left.

mod armed;
mod aside;
mod beneath;
mod cgroup;
mod git;
mod gitconfig;
mod gitfile;
mod ids;
mod led;
mod measure;
mod named;
mod notes;
mod observe;
mod planted;
mod supervise;
mod survey;
mod system;
mod touched;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::error::MissingProtection;
use crate::executor::{Executor, Job, RunOutcome, Sink};
use crate::launcher::{IS_CALLED, NAME, SUPERVISOR, pack};
use crate::plan::{Bind, Bounds, Kind, Mode, Net, Plan};
use crate::private::{PrivateDirectory, Purpose};
use crate::profile::{Network, PinnedPath, SandboxProfile};
use crate::protection::{Protection, Strictness};
use crate::seccomp::{self, Needs};
use crate::supervised::{Program, ProgramPipes, SupervisedProgram};
use crate::work::WorkDirectory;
use crate::{SandboxError, control, sys, width};

use self::cgroup::Group;
use self::notes::Notes;
pub use self::planted::settle_notes;
use self::planted::{Watch, keep_unreported};
pub(crate) use self::supervise::Failed;
use self::supervise::{Finished, Run};
pub use self::system::system_paths;
use self::touched::Touches;

/// Runs jobs on this machine, in a sandbox of the kernel.
///
/// ```no_run
/// use metier_sandbox::{Ending, Executor, Job, Local, SandboxProfile, ReservedPaths, WorkDirectory};
/// use metier_skill::Tier;
///
/// fn main() -> Result<(), metier_sandbox::SandboxError> {
///     metier_sandbox::launch_if_asked();
///     let reserved = ReservedPaths::default().home("/home/ada");
///     let profile = SandboxProfile::new(Tier::ThirdParty, WorkDirectory::open("work", &reserved)?);
///     let outcome = Local::new().run(&Job::new(profile, "true", Vec::new()), &mut ())?;
///     assert_eq!(outcome.ending, Ending::Exited(0));
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Local {
    launcher: PathBuf,
    notes: Notes,
    touched: bool,
}

/// The current program.
const OWN: &str = "/proc/self/exe";

impl Default for Local {
    fn default() -> Self {
        Self::new()
    }
}

impl Local {
    /// An executor whose launcher is the current program, which must call [`launch_if_asked`](crate::launch_if_asked).
    pub fn new() -> Self {
        Self::with_launcher(OWN)
    }

    /// An executor whose launcher is another program that calls [`launch_if_asked`](crate::launch_if_asked).
    pub fn with_launcher(program: impl Into<PathBuf>) -> Self {
        Self { launcher: program.into(), notes: Notes::Process, touched: true }
    }

    /// Sets a directory for notes about runs: which files in a work directory other programs loaded before them, and
    /// which runs have not ended. It is created if needed. It must not be inside a directory that scripts can write to.
    ///
    /// With notes, files that a script plants are found even if runs of several processes overlap in one work
    /// directory, and by the next run there, or by [`settle_notes`](crate::settle_notes), if metier was killed. Without
    /// notes, only runs of this process know of each other.
    #[must_use]
    pub fn with_notes(mut self, directory: impl Into<PathBuf>) -> Self {
        self.notes = Notes::Disk(directory.into());
        self
    }

    /// Disables observing which files of the work directory a job creates, changes and deletes: [`RunOutcome::touched`]
    /// is then `None`. For hosts with very large work directories, and for measuring the cost.
    #[must_use]
    pub const fn without_touched_files(mut self) -> Self {
        self.touched = false;
        self
    }

    /// Starts a program outside of the sandbox, and stays responsible for all processes that it starts.
    pub fn start(&self, program: &Program) -> Result<SupervisedProgram, SandboxError> {
        self.check_launcher()?;
        let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
        SupervisedProgram::start(&self.launcher, program, [input.as_fd(), output.as_fd(), errors.as_fd()])
    }

    /// [`Local::start`] with pipes as the program's standard streams, for a program that is talked to.
    pub fn start_piped(&self, program: &Program) -> Result<(SupervisedProgram, ProgramPipes), SandboxError> {
        self.check_launcher()?;
        let (pipes, (input, output, errors)) =
            ProgramPipes::new().map_err(|error| launch("opening pipes", error))?;
        let streams = [input.as_fd(), output.as_fd(), errors.as_fd()];
        Ok((SupervisedProgram::start(&self.launcher, program, streams)?, pipes))
    }

    /// Whether the launcher calls `launch_if_asked`: otherwise its `main` would run a second time.
    fn check_launcher(&self) -> Result<(), SandboxError> {
        let name = std::env::args_os().next();
        let is_launcher = [NAME, SUPERVISOR].iter().any(|own| name.as_deref() == Some(OsStr::new(own)));
        let cannot_launch = self.launcher == Path::new(OWN) && !IS_CALLED.load(Ordering::Relaxed);
        if is_launcher || cannot_launch {
            let reason = "no launcher: call `launch_if_asked` first in `main`, or install `metier-launcher` or `metier` beside the program or in PATH";
            return Err(launch(reason, io::ErrorKind::Unsupported));
        }
        Ok(())
    }

    /// One attempt in one mode.
    pub(crate) fn attempt(&self, job: &Job, mode: Mode, sink: &mut dyn Sink) -> Result<RunOutcome, Failed> {
        let profile = &job.profile;
        self.check_launcher()?;
        if mode == Mode::Core {
            check_core(profile)?;
        }
        // Examines the work directory while other things are prepared.
        let touches = self.touches(profile);
        let watch = Watch::begin(profile, mode, &self.notes)?;
        // Files of an earlier run were just moved; that does not count as this run's change.
        let touches = if watch.has_moved() { self.touches(profile) } else { touches };
        let finished = self.run_watched(job, mode, &watch, touches, sink);
        // Also after an error: the script may have started.
        let is_gone = finished.as_ref().map_or(true, |finished| finished.is_gone);
        let planted = if is_gone { watch.end() } else { watch.abandon() };
        match finished {
            Ok(finished) => Ok(RunOutcome { planted, ..finished.outcome }),
            Err(failed) => {
                keep_unreported(profile, &self.notes, planted);
                Err(failed)
            }
        }
    }

    /// Starts to observe the work directory, if requested.
    fn touches(&self, profile: &SandboxProfile) -> Option<Touches> {
        let observed = profile.writable.first().filter(|_| self.touched)?;
        Touches::start(observed.place()).ok()
    }

    fn run_watched(
        &self,
        job: &Job,
        mode: Mode,
        watch: &Watch,
        touches: Option<Touches>,
        sink: &mut dyn Sink,
    ) -> Result<Finished, Failed> {
        let profile = &job.profile;
        let group = if mode == Mode::Unprotected { None } else { Group::create(&profile.limits) };
        let temporary = temporary(mode, profile)?;
        let mut plan = plan(job, mode, group.as_ref(), temporary.as_ref().map(PrivateDirectory::path))?;
        plan.protected = watch.present.iter().map(|path| path.as_path().into()).collect();
        let (child, control) = control::start(&self.launcher, NAME)?;
        Run::start(job, plan, control, child, group, watch.held(), touches).and_then(|run| run.finish(sink))
    }
}

impl Executor for Local {
    fn run(&self, job: &Job, sink: &mut dyn Sink) -> Result<RunOutcome, SandboxError> {
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

/// The protections that every script requires and this kernel lacks.
fn unavailable() -> Vec<MissingProtection> {
    let mut missing = Vec::new();
    if sys::landlock_abi().is_none() {
        missing.push(MissingProtection::new(
            Protection::Landlock,
            "the kernel does not support it, or it is disabled",
        ));
    }
    if !sys::has_seccomp_filters() {
        missing.push(MissingProtection::new(Protection::Seccomp, "the kernel does not support filters"));
    }
    missing
}

/// The first version of Landlock that prevents signals to other processes.
const SIGNALS: i32 = 6;

/// Protections that are impossible without namespaces.
fn check_core(profile: &SandboxProfile) -> Result<(), Failed> {
    let within =
        |place: &&PinnedPath| profile.writable.iter().any(|other| place.path().starts_with(other.path()));
    if let Some(place) = profile.readable.iter().find(within) {
        let reason = "it is in a writable directory, and cannot be protected without namespaces";
        return Err(SandboxError::TooWide { path: place.path().to_owned(), reason }.into());
    }
    let own =
        |work: &WorkDirectory| work.kept().iter().map(|path| work.path().join(path)).collect::<Vec<_>>();
    if let Some(path) = profile.writable.iter().flat_map(own).find(|path| path.symlink_metadata().is_ok()) {
        let reason =
            "it is in the work directory and metier loads it, and it cannot be protected without namespaces";
        return Err(SandboxError::TooWide { path, reason }.into());
    }
    let version = sys::landlock_abi().unwrap_or(0);
    if version < SIGNALS {
        let reason = format!(
            "version {version} does not block signals to other processes, and namespaces are not available"
        );
        return Err(Failed::Missing(vec![MissingProtection::new(Protection::Landlock, reason)]));
    }
    Ok(())
}

/// Without its own file tree, a script needs a directory in place of `/tmp`.
fn temporary(mode: Mode, profile: &SandboxProfile) -> Result<Option<PrivateDirectory>, SandboxError> {
    if mode == Mode::Full
        || profile.environment.get(&OsString::from("TMPDIR")).is_none_or(|path| path != "/tmp")
    {
        return Ok(None);
    }
    let made = PrivateDirectory::make(Purpose::Temporary)?;
    let identity = ids::identity();
    if identity.from_root && mode == Mode::Core {
        std::os::unix::fs::chown(made.path(), Some(identity.outer.0), Some(identity.outer.1))
            .map_err(|error| launch("creating a temporary directory", error))?;
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
    let own = |place: &PinnedPath, kind| Bind {
        path: place.path().into(),
        identity: Some(place.identity()),
        kind,
        owner: identity.from_root.then_some(place.owner()),
        aliases: place.aliases().iter().map(|path| path.as_path().into()).collect(),
    };
    tree.binds.extend(profile.readable.iter().map(|place| own(place, Kind::Read)));
    tree.binds.extend(profile.writable.iter().map(|work| own(work.place(), Kind::Write)));
    let mut environment = profile.environment.clone();
    if let Some(path) = temporary {
        let place = PinnedPath::pin(path)?;
        for name in ["TMPDIR", "HOME"] {
            environment.insert(name.into(), place.path().into());
        }
        tree.binds.push(own(&place, Kind::Write));
    }
    let network = match &profile.network {
        Network::Host => Net::Host,
        Network::Loopback if mode == Mode::Full => Net::Loopback,
        // A separate loopback needs a network namespace.
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
        // More than the limit that init enforces, so that init sees which script exceeds it.
        processes_of_user: limits.processes.saturating_add(8),
    };
    let filters = if mode == Mode::Unprotected { Vec::new() } else { filters(network, mode, group)? };
    // Refused writes are detected by mounts, so this needs a separate file tree.
    let observer =
        if mode == Mode::Full && !profile.writable.is_empty() { seccomp::observer() } else { Ok(Vec::new()) };
    let observer = observer.unwrap_or_default().iter().map(pack).collect();
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
        observer,
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
        let reason = format!("cannot create a filter for this processor: {error}");
        SandboxError::Missing { missing: vec![MissingProtection::new(Protection::Seccomp, reason)] }
    })?;
    Ok(filters.iter().map(|filter| filter.iter().map(pack).collect()).collect())
}
