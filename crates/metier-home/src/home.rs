//! A temporary home for one run of an agent, with exactly the given skills.

use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use metier_prompt::SkillMount;
use metier_sandbox::{Leftovers, Owner, is_own_directory};
use metier_skill::{Origin, Rules, read};
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::agent::Agent;
use crate::agents::{self, HostCopy, Plan};
use crate::env::{self, HostVariables, Variables, redacted};
use crate::error::HomeError;
use crate::isolation::IsolationConfig;
use crate::leaks::{Leak, leaks};
use crate::mount::{MountOptions, MountedSkill, add_skills, mount_skills};
use crate::staging;

/// The file in a home that names its owner.
pub(crate) const OWNER: &str = ".metier-home";

/// Where an agent puts what it needs for a while.
pub(crate) const TEMPORARY: &str = "tmp";

/// A temporary home. Dropping this value removes it.
pub struct Home {
    agent: Agent,
    path: PathBuf,
    env: Variables,
    skills: Vec<SkillMount>,
    installs_skills: bool,
    warnings: Vec<HomeError>,
    is_mounted: bool,
    is_kept: bool,
}

/// Options for creating a home.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HomeOptions {
    /// The directory in which homes are created.
    pub base: PathBuf,
    /// The prefix of the home's name; `None` for the agent's own.
    pub prefix: Option<String>,
    /// How the agent is isolated from the host.
    pub isolation: IsolationConfig,
    /// Whether the agent is configured not to look for skills elsewhere, if it has a switch for that.
    pub is_hermetic: bool,
    /// Skills elsewhere that the agent is configured to ignore one by one, if it can be (Codex can).
    pub hidden: Vec<PathBuf>,
    /// The directory that the agent will work in, if it is known. The agent is configured to trust it unless its files can
    /// start programs.
    pub working_directory: Option<PathBuf>,
    /// Whether the agent is configured to ask for permission before it uses its tools, as far as it can be: for programs that
    /// answer such requests.
    pub asks_permission: bool,
    /// Where conversations are kept, so that the agent can resume them in a later home. Without it they are removed with the home.
    pub conversations: Option<PathBuf>,
}

impl HomeOptions {
    /// The default options, with homes in this directory.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        let isolation = IsolationConfig::default();
        let (base, hidden) = (base.into(), Vec::new());
        Self {
            base,
            prefix: None,
            isolation,
            is_hermetic: false,
            hidden,
            working_directory: None,
            conversations: None,
            asks_permission: false,
        }
    }
}

impl Home {
    /// Creates a home for an agent. Homes whose processes have ended are removed first.
    pub fn new(agent: Agent, host: &HostVariables, options: &HomeOptions) -> Result<Self, HomeError> {
        fs::create_dir_all(&options.base).map_err(HomeError::io("make", &options.base))?;
        remove_leftovers(&options.base);
        let prefix = options.prefix.as_deref().unwrap_or(agent.facts().prefix);
        let path = make_directory(&options.base, prefix)?;
        // From here on it is removed, whatever goes wrong.
        let mut home = Self {
            agent,
            path,
            env: Variables::new(),
            skills: options.isolation.skills.clone(),
            installs_skills: options.isolation.install_skills,
            warnings: Vec::new(),
            is_mounted: false,
            is_kept: false,
        };
        home.write(Path::new(OWNER), format!("{}\n", Owner::own()).as_bytes())?;
        let plan = agents::plan(agent, host, options, &home.path)?;
        home.furnish(&plan)?;
        if let Some(kept) = &options.conversations {
            home.keep_conversations(kept)?;
        }
        home.warnings.extend(plan.warnings);
        home.env = env::compute(host, &options.isolation, &home.path, plan.own, plan.authentication);
        Ok(home)
    }

    fn furnish(&mut self, plan: &Plan) -> Result<(), HomeError> {
        let skills = Path::new(self.agent.skills_directory());
        self.make(skills.parent().unwrap_or(skills))?;
        self.make(Path::new(TEMPORARY))?;
        for (path, bytes) in &plan.files {
            self.write(path, bytes)?;
        }
        plan.copies.iter().try_for_each(|copy| self.copy(copy))
    }

    /// The agent writes its conversations through a link into a directory of its own, because other agents have other files.
    fn keep_conversations(&self, kept: &Path) -> Result<(), HomeError> {
        let Some(place) = self.agent.facts().conversations else {
            return Err(HomeError::Conversations { agent: self.agent.title() });
        };
        let kept = kept.join(self.agent.name());
        let make =
            || DirBuilder::new().recursive(true).mode(0o700).create(&kept).and_then(|()| kept.canonicalize());
        let kept = make().map_err(HomeError::io("make", &kept))?;
        let link = self.path.join(place);
        self.make(Path::new(place).parent().unwrap_or(Path::new("")))?;
        std::os::unix::fs::symlink(kept, &link).map_err(HomeError::io("make", &link))
    }

    fn copy(&mut self, copy: &HostCopy) -> Result<(), HomeError> {
        // What the host has moved elsewhere is copied all the same: the agent must not write through a link.
        let copied =
            fs::canonicalize(&copy.from).and_then(|from| copy_host(&from, &self.path.join(&copy.to)));
        match (copied, copy.needed_for) {
            (Ok(()), _) => {}
            (Err(error), Some(what)) => {
                let reason = format!("failed to copy {} for {what}: {error}", copy.from.display());
                return Err(HomeError::Auth { reason });
            }
            // The agent says itself what it cannot do without.
            (Err(error), None) => self.warnings.push(HomeError::io("copy", &copy.from)(error)),
        }
        Ok(())
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

    /// The agent that it is for.
    pub const fn agent(&self) -> Agent {
        self.agent
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether skills are mounted at all: one switch, `install_skills` of the isolation.
    pub const fn installs_skills(&self) -> bool {
        self.installs_skills
    }

    /// The directory for its skills. It exists once skills were mounted.
    pub fn skills_directory(&self) -> PathBuf {
        self.path.join(self.agent.skills_directory())
    }

    /// Every variable that the agent gets.
    pub const fn env(&self) -> &Variables {
        &self.env
    }

    /// Mounts skills, all of them or none. Can be called once. The skills of [`IsolationConfig`] come first.
    pub fn mount(
        &mut self,
        mounts: &[SkillMount],
        options: &MountOptions,
    ) -> Result<Vec<MountedSkill>, HomeError> {
        if self.is_mounted {
            return Err(HomeError::AlreadyMounted { path: self.skills_directory() });
        }
        self.is_mounted = true;
        if !self.installs_skills {
            return Ok(Vec::new());
        }
        let all: Vec<SkillMount> = self.skills.iter().chain(mounts).cloned().collect();
        let mounted = mount_skills(&all, &self.skills_directory(), options)?;
        let agent = self.agent;
        self.warnings.extend(mounted.iter().filter_map(|skill| ignores(agent, skill)));
        Ok(mounted)
    }

    /// Adds one skill, also while the agent is running. Agents that watch the directory find it.
    pub fn inject(&self, mount: &SkillMount, options: &MountOptions) -> Result<MountedSkill, HomeError> {
        let mut added = add_skills(std::slice::from_ref(mount), &self.skills_directory(), options)?;
        let nothing = || HomeError::NotFound { path: mount.effective_name().unwrap_or_default().into() };
        added.pop().ok_or_else(nothing)
    }

    /// Other skills that the agent would find, in a working directory and on this machine.
    pub fn leaks(&self, working_directory: &Path) -> Vec<Leak> {
        leaks(self.agent, working_directory, Path::new("/"))
    }

    /// The arguments that make the agent ignore files of the working directory; empty if it has none.
    pub fn hermetic_arguments(&self) -> &'static [&'static str] {
        agents::hermetic_arguments(self.agent)
    }

    /// Marks the home as used by a process. While that process runs, no other process removes the home, even if this one is
    /// killed.
    pub fn lend_to(&self, pid: u32) -> Result<(), HomeError> {
        lend(&self.path, pid)
    }

    /// Warnings to show before the agent starts: files that could not be copied, skills that it ignores, directories that it does
    /// not trust.
    pub fn warnings(&self) -> &[HomeError] {
        &self.warnings
    }

    /// Keeps the directory and returns its path.
    pub fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        // It has no owner now, so it is not a leftover.
        let _ = fs::remove_file(self.path.join(OWNER));
        self.path.clone()
    }

    /// Removes the home now. Use this instead of dropping it to get the error.
    pub fn remove(mut self) -> Result<(), HomeError> {
        self.is_kept = true;
        staging::retire(&self.path)
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

/// Whether an agent silently ignores a skill.
fn ignores(agent: Agent, skill: &MountedSkill) -> Option<HomeError> {
    let limit = agent.facts().description_units?;
    let text = fs::read(skill.path.join("SKILL.md")).ok()?;
    let origin = Origin { file: "SKILL.md", directory: None };
    let units = read(text, origin, &Rules::standard()).skill?.description.encode_utf16().count();
    let (agent, name) = (agent.title(), skill.name.clone());
    (units > limit).then_some(HomeError::DescriptionUnits { agent, name, units, limit })
}

/// A directory that other users cannot read.
pub(crate) fn make_directory(base: &Path, prefix: &str) -> Result<PathBuf, HomeError> {
    let owner = Owner::own();
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

/// Says in a directory's mark that a process uses it.
pub(crate) fn lend(directory: &Path, pid: u32) -> Result<(), HomeError> {
    let Some(owner) = Owner::of(pid) else { return Ok(()) };
    let mark = directory.join(OWNER);
    let write = || {
        let mut file = OpenOptions::new().append(true).open(&mark)?;
        file.write_all(format!("{owner}\n").as_bytes())
    };
    write().map_err(HomeError::io("write", &mark))
}

/// Homes and workspaces in a directory whose processes have ended, and skills that were not completely mounted. Lists only
/// directories of the current user.
pub fn leftovers(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let is_dead = |path: &PathBuf| {
        let owners = owners_of(path);
        !owners.is_empty() && !owners.iter().any(Owner::is_alive)
    };
    let mut found = staging::leftovers(base);
    found.extend(entries.map(|entry| entry.path()).filter(is_dead));
    found
}

/// Removes what [`leftovers`] lists.
pub fn remove_leftovers(base: &Path) -> Leftovers {
    Leftovers::remove(leftovers(base))
}

/// The owners of a home directory, from its name and from its mark, which also has the processes it was lent
/// to. A kept home has no mark. If a process is killed before it writes the mark, the home is empty or the mark
/// incomplete. Empty if the directory is not a home.
fn owners_of(path: &Path) -> Vec<Owner> {
    let Some(named) = path.file_name().and_then(|name| Owner::of_name(name.to_str()?)) else {
        return Vec::new();
    };
    let is_private = fs::symlink_metadata(path).is_ok_and(|meta| meta.permissions().mode() % 0o100 == 0);
    if !is_private || !is_own_directory(path) {
        return Vec::new();
    }
    let Some(mark) = read_mark(&path.join(OWNER)) else {
        let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        return if is_empty { vec![named] } else { Vec::new() };
    };
    let name = named.to_string();
    let mut lines = mark.lines();
    match lines.next().unwrap_or_default() {
        first if first == name => [named].into_iter().chain(lines.filter_map(Owner::parse)).collect(),
        first if name.starts_with(first) => vec![named],
        _ => Vec::new(),
    }
}

/// The content of a mark; `None` if it is not a regular file.
fn read_mark(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(openat(CWD, path, flags, Mode::empty()).ok()?);
    let mut text = String::new();
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    file.take(1_000).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Copies a file or directory of the host. Links stay links, and other users cannot read the copy.
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
