//! The executor for container engines: `docker` or `podman`, by their command line.
//!
//! For machines whose kernel gives too little, and for systems that have no Linux kernel of their own. What the engine
//! enforces is asked of it and said as that: nothing here can look into its containers.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::SandboxError;
use crate::capture::Capture;
use crate::executor::{Ending, Executor, Job, Limit, Outcome, Sink, Usage};
use crate::profile::{Network, Place, Profile};
use crate::protection::{Protection, Protections};
use crate::stopwatch::Stopwatch;
use crate::width;

/// Runs jobs in containers of an image that has the programs they need.
#[derive(Debug, Clone)]
pub struct Container {
    engine: PathBuf,
    options: Vec<OsString>,
    image: OsString,
}

/// How long to wait at a time; the kernel does not take every number.
const LONGEST: Duration = Duration::from_hours(1);

/// What an engine ends with when it could not run the program at all.
const ENGINE_FAILED: i32 = 125;

impl Container {
    /// Runs jobs in containers of `image` by `engine`: `docker`, `podman` or a path to one.
    pub fn new(engine: impl Into<PathBuf>, image: impl Into<OsString>) -> Self {
        Self { engine: engine.into(), options: Vec::new(), image: image.into() }
    }

    /// The same with options for the engine itself, such as `--runtime=runc` or `--host=…`.
    #[must_use]
    pub fn with_options(mut self, options: impl IntoIterator<Item = OsString>) -> Self {
        self.options.extend(options);
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.engine);
        command.args(&self.options);
        command
    }

    fn error(&self, reason: impl Into<String>) -> SandboxError {
        SandboxError::Engine { engine: self.engine.display().to_string(), reason: reason.into() }
    }

    /// The arguments that make a container as close to [`Local`](crate::Local) as engines can.
    fn arguments(&self, job: &Job, name: &str) -> Result<Vec<OsString>, SandboxError> {
        let profile = &job.profile;
        let limits = &profile.limits;
        width::check_aliases(profile)?;
        let mut words: Vec<OsString> = vec!["run".into(), "--rm".into(), format!("--name={name}").into()];
        if !job.input.is_empty() {
            words.push("--interactive".into());
        }
        let network = match profile.network {
            // Engines give every container a loopback of its own.
            Network::None | Network::Loopback => "none",
            Network::Host => "host",
            Network::Proxy(_) => return Err(self.error("it has no proxy; use `none`, `loopback` or `host`")),
        };
        let (user, group) = profile.writable.first().map_or((65_534, 65_534), Place::owner);
        // Never root inside, also where root owns the work directory.
        let user = if user == 0 { 65_534 } else { user };
        let seconds = limits.cpu.as_secs().max(1);
        words.extend(
            [
                format!("--network={network}"),
                "--read-only".into(),
                "--cap-drop=ALL".into(),
                "--security-opt=no-new-privileges".into(),
                format!("--user={user}:{group}"),
                format!("--pids-limit={}", limits.processes),
                format!("--memory={}", limits.memory),
                format!("--memory-swap={}", limits.memory),
                format!("--tmpfs=/tmp:rw,nosuid,nodev,size={}", limits.tmp),
                format!("--shm-size={}", limits.tmp),
                format!("--ulimit=fsize={0}:{0}", limits.file),
                format!("--ulimit=nofile={0}:{0}", limits.open_files),
                format!("--ulimit=nproc={0}:{0}", limits.processes),
                format!("--ulimit=cpu={seconds}:{seconds}"),
                "--ulimit=core=0:0".into(),
                "--hostname=sandbox.invalid".into(),
            ]
            .map(OsString::from),
        );
        for place in &profile.readable {
            words.push(self.mount(place.path(), place.path(), true)?);
            words.extend(self.show_elsewhere(profile, place)?);
        }
        for place in &profile.writable {
            words.push(self.mount(place.path(), place.path(), false)?);
            words.extend(self.protect(profile, place)?);
        }
        for (name, value) in &profile.environment {
            let mut word = OsString::from("--env=");
            word.push(name);
            word.push("=");
            word.push(value);
            words.push(word);
        }
        let mut word = OsString::from("--workdir=");
        word.push(&profile.directory);
        words.push(word);
        // So that a program whose name begins with a dash is still a program.
        let mut entry = OsString::from("--entrypoint=");
        entry.push(&job.program);
        words.push(entry);
        words.push(self.image.clone());
        words.extend(job.arguments.iter().cloned());
        Ok(words)
    }

    fn mount(&self, source: &Path, target: &Path, read_only: bool) -> Result<OsString, SandboxError> {
        // The engines take a list with commas, and none of them has a way to write one in a path.
        let written = |path: &Path| {
            let text = path.to_str().filter(|path| !path.contains([',', '"', '\n'])).map(str::to_owned);
            text.ok_or_else(|| self.error(format!("`{}` cannot be written as a mount", path.display())))
        };
        let (source, target) = (written(source)?, written(target)?);
        let end = if read_only { ",readonly" } else { "" };
        Ok(format!("--mount=type=bind,source={source},target={target}{end}").into())
    }

    /// The other paths of a place. In what is shown of the outside, engines would make a directory where there is none, and
    /// follow links.
    fn show_elsewhere(&self, profile: &Profile, place: &Place) -> Result<Vec<OsString>, SandboxError> {
        let mut words = Vec::new();
        for path in place.aliases() {
            let mut places = profile.readable.iter().chain(&profile.writable);
            if places.any(|other| path.starts_with(other.path())) {
                match path.canonicalize() {
                    Ok(real) if real == *path => {}
                    Err(_) if path.symlink_metadata().is_err() => continue,
                    _ => return Err(SandboxError::Swapped { path: path.clone() }),
                }
            }
            words.push(self.mount(place.path(), path, true)?);
        }
        Ok(words)
    }

    /// The protected paths that there are, read-only.
    fn protect(&self, profile: &Profile, place: &Place) -> Result<Vec<OsString>, SandboxError> {
        let mut words = Vec::new();
        for path in profile.protected.iter().map(|path| place.path().join(path)) {
            match path.symlink_metadata() {
                Ok(found) if found.is_symlink() => return Err(SandboxError::ProtectedLink { path }),
                Ok(_) => words.push(self.mount(&path, &path, true)?),
                Err(_) => {}
            }
        }
        Ok(words)
    }

    /// Ends a container, whatever it does.
    fn kill(&self, name: &str, child: &mut Child) {
        let quiet = |command: &mut Command| {
            let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        };
        // First whoever could still start it; then what it has started.
        let _ = child.kill();
        let _ = child.wait();
        quiet(self.command().args(["kill", name]));
        quiet(self.command().args(["rm", "--force", name]));
    }
}

impl Executor for Container {
    fn run(&self, job: &Job, sink: &mut dyn Sink) -> Result<Outcome, SandboxError> {
        let name = name();
        let mut child = self
            .command()
            .args(self.arguments(job, &name)?)
            .stdin(if job.input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| self.error(error.to_string()))?;
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(self.error("it has no streams"));
        };
        let feeder = feed(&mut child, job);
        let limits = &job.profile.limits;
        let mut capture = Capture::new(output.into(), errors.into(), limits.output)
            .map_err(|error| self.error(error.to_string()))?;
        let watch = Stopwatch::start();
        let early = wait(job, &mut capture, sink, watch);
        if early.is_some() {
            self.kill(&name, &mut child);
        }
        let status = child.wait().map_err(|error| self.error(error.to_string()))?;
        if let Some(feeder) = feeder {
            let _ = feeder.join();
        }
        let (output, errors) = capture.take();
        let code = status.code().unwrap_or(ENGINE_FAILED);
        if early.is_none() && code == ENGINE_FAILED {
            return Err(self.error(String::from_utf8_lossy(&errors.bytes).trim().to_owned()));
        }
        let ending = early.unwrap_or(match code {
            // What engines and shells make of a signal.
            code if code > 128 && code < 165 => by_signal(code - 128),
            code => Ending::Exited(code),
        });
        let usage = Usage { wall: watch.elapsed(), ..Usage::default() };
        let protections = asked(&job.profile);
        Ok(Outcome {
            ending,
            output,
            errors,
            usage,
            protections,
            planted: Vec::new(),
            connections: Vec::new(),
        })
    }
}

/// A name that no other container has.
fn name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let random = RandomState::new().build_hasher().finish();
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("metier-{}-{number}-{:016x}", std::process::id(), random)
}

/// Hands the input over, from a thread: it may be more than a pipe holds.
fn feed(child: &mut Child, job: &Job) -> Option<std::thread::JoinHandle<()>> {
    let mut pipe = child.stdin.take()?;
    let input = job.input.clone();
    std::thread::Builder::new()
        .name("input".into())
        .spawn(move || {
            let _ = pipe.write_all(&input);
        })
        .ok()
}

/// Reads until it has ended; or says why it has to be ended.
fn wait(job: &Job, capture: &mut Capture, sink: &mut dyn Sink, watch: Stopwatch) -> Option<Ending> {
    while !capture.is_done() {
        let cancel = job.cancel.event();
        let mut open: Vec<PollFd<'_>> =
            cancel.map(|event| PollFd::from_borrowed_fd(event, PollFlags::IN)).into_iter().collect();
        open.extend(capture.ends());
        let left = job.profile.limits.wall.saturating_sub(watch.elapsed()).min(LONGEST);
        let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        let _ = poll(&mut open, Some(&timeout));
        if cancel.is_some() && open.first().is_some_and(|event| !event.revents().is_empty()) {
            return Some(Ending::Cancelled);
        }
        drop(open);
        capture.read_once(sink);
        if capture.is_cut() {
            return Some(Ending::Limit(Limit::Output));
        }
        if watch.elapsed() >= job.profile.limits.wall {
            return Some(Ending::Limit(Limit::Wall));
        }
    }
    None
}

const fn by_signal(signal: i32) -> Ending {
    match signal {
        // The same numbers on every system that engines run programs on, which is Linux.
        24 => Ending::Limit(Limit::Cpu),
        25 => Ending::Limit(Limit::File),
        signal => Ending::Killed(signal),
    }
}

/// What the engine was asked for.
fn asked(profile: &Profile) -> Protections {
    let mut found = Protections::default();
    for protection in Protection::ALL {
        let active = match protection {
            Protection::UserNamespace | Protection::Landlock => false,
            Protection::NetworkNamespace => profile.network != Network::Host,
            _ => true,
        };
        let detail =
            if active { "asked of the container engine" } else { "not asked of the container engine" };
        found.record(protection, active, detail);
    }
    found
}
