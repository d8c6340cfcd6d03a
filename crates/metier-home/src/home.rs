//! A temporary home for one run of an agent, with the skills that it was given and no others.

use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use metier_prompt::SkillMount;

use crate::agent::Agent;
use crate::agents::{self, HostCopy, Plan};
use crate::env::{self, Env, Host, redacted};
use crate::error::HomeError;
use crate::isolation::IsolationConfig;
use crate::leaks::{Leak, leaks};
use crate::mount::{MountOptions, MountedSkill, add_skill, mount_skills};
use crate::staging::{self, Owner};

/// Whose home a directory is: a file in it says so.
pub(crate) const OWNER: &str = ".metier-home";

/// A fresh home. It is gone when this is dropped.
pub struct Home {
    agent: Agent,
    path: PathBuf,
    env: Env,
    is_mounted: bool,
    is_kept: bool,
}

/// What a home is made with.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HomeOptions {
    /// Where homes are made.
    pub base: PathBuf,
    /// What the name of the home begins with, instead of the usual.
    pub prefix: Option<String>,
    /// How far the agent is kept apart.
    pub isolation: IsolationConfig,
    /// Skills that the agent finds elsewhere and is to leave alone, where it can be told: the files of leaks.
    pub hidden: Vec<PathBuf>,
}

impl HomeOptions {
    /// The usual, in a directory for temporary files.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        let isolation = IsolationConfig::default();
        Self { base: base.into(), prefix: None, isolation, hidden: Vec::new() }
    }
}

impl Home {
    /// A home for an agent. What was left of homes whose process is gone is removed first.
    pub fn new(agent: Agent, host: &Host, options: &HomeOptions) -> Result<Self, HomeError> {
        fs::create_dir_all(&options.base).map_err(HomeError::io("make", &options.base))?;
        remove_leftovers(&options.base);
        let prefix = options.prefix.as_deref().unwrap_or(agent.facts().prefix);
        let path = make_directory(&options.base, prefix)?;
        // From here on it is removed, whatever goes wrong.
        let mut home = Self { agent, path, env: Env::new(), is_mounted: false, is_kept: false };
        home.write(Path::new(OWNER), Owner::own().text().as_bytes())?;
        let plan = agents::plan(agent, host, &options.isolation, &home.path, &options.hidden)?;
        home.furnish(&plan)?;
        home.env = env::compute(host, &options.isolation, &home.path, plan.own, plan.authentication);
        Ok(home)
    }

    fn furnish(&self, plan: &Plan) -> Result<(), HomeError> {
        let skills = Path::new(self.agent.skills_directory());
        self.make(skills.parent().unwrap_or(skills))?;
        for (path, bytes) in &plan.files {
            self.write(path, bytes)?;
        }
        plan.copies.iter().try_for_each(|copy| self.copy(copy))
    }

    fn copy(&self, copy: &HostCopy) -> Result<(), HomeError> {
        let copied = copy_host(&copy.from, &self.path.join(&copy.to));
        match (copied, copy.needed_for) {
            (Err(error), Some(what)) => Err(HomeError::Auth {
                reason: format!("failed to copy {} for {what}: {error}", copy.from.display()),
            }),
            // The agent says itself what it lacks.
            _ => Ok(()),
        }
    }

    fn make(&self, path: &Path) -> Result<(), HomeError> {
        let path = self.path.join(path);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(HomeError::io("make", &path))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), HomeError> {
        self.make(path.parent().unwrap_or(Path::new("")))?;
        let path = self.path.join(path);
        let write = || {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            file.write_all(bytes)
        };
        write().map_err(HomeError::io("write", &path))
    }

    /// Whose home it is.
    pub const fn agent(&self) -> Agent {
        self.agent
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where its skills are, or would be.
    pub fn skills_directory(&self) -> PathBuf {
        self.path.join(self.agent.skills_directory())
    }

    /// Every variable that the agent gets.
    pub const fn env(&self) -> &Env {
        &self.env
    }

    /// Mounts skills: once, all of them or none.
    pub fn mount(
        &mut self,
        mounts: &[SkillMount],
        options: &MountOptions,
    ) -> Result<Vec<MountedSkill>, HomeError> {
        if self.is_mounted {
            return Err(HomeError::AlreadyMounted { path: self.skills_directory() });
        }
        self.is_mounted = true;
        mount_skills(mounts, &self.skills_directory(), options)
    }

    /// Adds one skill while the agent may be running already. Agents that watch the directory find it.
    pub fn inject(&self, mount: &SkillMount, options: &MountOptions) -> Result<MountedSkill, HomeError> {
        add_skill(mount, &self.skills_directory(), options)
    }

    /// The skills that the agent would find beside those, in a working directory and on this machine.
    pub fn leaks(&self, working_directory: &Path) -> Vec<Leak> {
        leaks(self.agent, working_directory, Path::new("/"))
    }

    /// The arguments that keep the working directory's skills out, where the agent has such.
    pub fn hermetic_arguments(&self) -> &'static [&'static str] {
        agents::hermetic_arguments(self.agent)
    }

    /// Keeps the directory; where it is.
    pub fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        // It is nobody's any more, and so no leftover.
        let _ = fs::remove_file(self.path.join(OWNER));
        self.path.clone()
    }

    /// Removes it now, and says if that failed.
    pub fn remove(mut self) -> Result<(), HomeError> {
        self.is_kept = true;
        staging::retire(&self.path).map_err(HomeError::io("remove", &self.path))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = staging::retire(&self.path);
        }
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (agent, env) = (self.agent, redacted(&self.env));
        f.debug_struct("Home")
            .field("agent", &agent)
            .field("path", &self.path)
            .field("env", &env)
            .finish_non_exhaustive()
    }
}

/// A directory that nobody else can look into.
pub(crate) fn make_directory(base: &Path, prefix: &str) -> Result<PathBuf, HomeError> {
    let owner = Owner::own().text();
    for number in 0..u32::MAX {
        let path = base.join(format!("{prefix}{owner}.{number}"));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(HomeError::io("make", &path)(error)),
        }
    }
    Err(HomeError::io("make", base)(io::ErrorKind::AlreadyExists.into()))
}

/// Removes the homes in a directory whose process is gone, and what it was about to mount; how many.
pub fn remove_leftovers(base: &Path) -> usize {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let mut count = staging::remove_leftovers(base);
    for path in entries.map(|entry| entry.path()) {
        if owner_of(&path).is_some_and(|owner| !owner.is_alive()) && staging::remove_all(&path).is_ok() {
            count += 1;
        }
    }
    count
}

/// Whose home a directory is: its name says so, as long as nobody has kept it. A home that is kept has no mark in it; one whose
/// process was killed before it could mark it is empty.
fn owner_of(path: &Path) -> Option<Owner> {
    if !fs::symlink_metadata(path).ok()?.is_dir() {
        return None;
    }
    let mark = path.join(OWNER);
    let said = fs::read_to_string(&mark).ok().and_then(|text| Owner::parse(&text));
    if said.is_some() {
        return said;
    }
    let is_nobodys = mark.exists() || fs::read_dir(path).ok()?.next().is_none();
    Owner::of_name(path.file_name()?.to_str()?).filter(|_| is_nobodys)
}

/// A file or directory of the host's; links stay links, and nobody else can read it.
fn copy_host(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let meta = fs::symlink_metadata(from)?;
    if meta.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    if meta.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_host(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if !meta.is_file() {
        return Ok(());
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut fs::File::open(from)?, &mut file).map(drop)
}
