//! Where an agent program runs: its program, a fresh home and a working directory, made anew for every start.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_home::{
    Agent, Enclosure, Home, HomeError, HomeOptions, HostVariables, InstalledPrompt, MountOptions,
    MountedSkill, WorkingDirectory, Workspace, install_prompt,
};
use metier_journal::PromptSkills;
use metier_prompt::{HostMount, Prompt, RenderedPrompt, SkillKind, SkillMount, WorkspaceFiles};
use metier_sandbox::{CoveredPath, Local, Program, ProgramPipes, SandboxError, SupervisedProgram};
use metier_session::{AgentSkill, Session};

use crate::error::HarnessError;
use crate::guard::{GuardedHome, HomeGuard, HomeHooks};

/// How an agent is set up: everything that its home, its working directory and its process are made from.
///
/// Programs that read the environment for this should use `metier-host`; here everything is passed in.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AgentSetup {
    /// The agent.
    pub agent: Agent,
    /// Its program: a path, or a name that is looked up in the `PATH` of `host`.
    pub program: PathBuf,
    /// Arguments before all others, for example a script for an interpreter.
    pub leading: Vec<OsString>,
    /// The variables that the home is made from: authentication, proxies, `PATH`.
    pub host: HostVariables,
    /// How the home is made. `isolation.install_skills` is the one switch for installing skills.
    pub home: HomeOptions,
    /// How skills are mounted.
    pub mount: MountOptions,
    /// The working directory. Without it, the agent works in a fresh directory that is removed afterwards.
    pub working: Option<PathBuf>,
    /// What is copied into the fresh working directory.
    pub copies: Vec<HostMount>,
    /// The directories that may be copied from.
    pub allowed_roots: Vec<PathBuf>,
    /// Whether everything else that agents read is kept out: skills, instructions, hooks and settings of the working
    /// directory and the machine.
    pub is_hermetic: bool,
    /// What starts the process, and ends it with everything it started.
    pub executor: Local,
    /// What puts hooks between the agent and its own tools.
    pub guard: Option<Arc<dyn HomeGuard>>,
}

impl AgentSetup {
    /// An agent with a home below `base`, in a fresh working directory.
    pub fn new(agent: Agent, host: HostVariables, base: impl Into<PathBuf>, executor: Local) -> Self {
        Self {
            agent,
            program: agent.program().into(),
            leading: Vec::new(),
            host,
            home: HomeOptions::new(base),
            mount: MountOptions::default(),
            working: None,
            copies: Vec::new(),
            allowed_roots: Vec::new(),
            is_hermetic: false,
            executor,
            guard: None,
        }
    }

    /// The program's file.
    pub fn find_program(&self) -> Result<PathBuf, HarnessError> {
        let missing = || HarnessError::NotInstalled {
            agent: self.agent.title().to_owned(),
            program: self.program.display().to_string(),
        };
        if self.program.components().count() > 1 {
            return self.program.is_file().then(|| self.program.clone()).ok_or_else(missing);
        }
        let path = self.host.env.get("PATH").map(String::as_str).unwrap_or_default();
        let places = path.split(':').filter(|place| place.starts_with('/'));
        places
            .map(|place| Path::new(place).join(&self.program))
            .find(|file| file.is_file())
            .ok_or_else(missing)
    }

    /// Makes a home without skills, and a working directory with these files in addition to those of the setup. They
    /// are not copied into a directory that was named: that is an error.
    pub fn make(&self, files: &WorkspaceFiles) -> Result<AgentPlace, HarnessError> {
        let program = self.find_program()?;
        let base = &self.home.base;
        let workspace = match (&self.working, files.mounts.first()) {
            (None, _) => {
                let copies = [&self.copies[..], &files.mounts].concat();
                let roots = [&self.allowed_roots[..], &files.allowed_roots].concat();
                Some(Workspace::new(base, &copies, &roots)?)
            }
            (Some(_), None) => None,
            (Some(path), Some(mount)) => {
                let (path, mount) = (path.clone(), mount.target().display().to_string());
                return Err(HomeError::NoWorkspace { path, mount }.into());
            }
        };
        let working = WorkingDirectory::choose(self.working.clone(), workspace, base)?;
        let enclosure = self
            .is_hermetic
            .then(|| Enclosure::of(self.agent, &program, working.path(), Path::new("/")))
            .transpose()?;
        let mut options = self.home.clone();
        options.working_directory = Some(working.path().to_owned());
        if let Some(enclosure) = &enclosure {
            options.is_hermetic = true;
            options.hidden.clone_from(&enclosure.hidden);
        }
        let home = Home::new(self.agent, &self.host, &options)?;
        let (leading, executor, mount) = (self.leading.clone(), self.executor.clone(), self.mount.clone());
        let (agent, guard) = (self.agent, self.guard.clone());
        Ok(AgentPlace {
            home,
            working,
            agent,
            program,
            leading,
            enclosure,
            executor,
            mount,
            guard,
            installed: None,
        })
    }
}

/// A home that an agent runs in, and the directory that it works in. Both are removed when it is dropped, unless the
/// directory is the person's own.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentPlace {
    /// The home.
    pub home: Home,
    /// The working directory.
    pub working: WorkingDirectory,
    agent: Agent,
    program: PathBuf,
    leading: Vec<OsString>,
    enclosure: Option<Enclosure>,
    executor: Local,
    mount: MountOptions,
    guard: Option<Arc<dyn HomeGuard>>,
    /// The hooks in the home, once the skills are there.
    installed: Option<Box<dyn HomeHooks>>,
}

impl AgentPlace {
    /// The agent.
    pub const fn agent(&self) -> Agent {
        self.agent
    }

    /// Whether everything else that agents read is kept out.
    pub const fn is_hermetic(&self) -> bool {
        self.enclosure.is_some()
    }

    /// Installs the skills of a rendered prompt and the hooks of the guard, and records which skills with their digests.
    pub fn install(
        &mut self,
        session: &mut Session,
        prompt: &Prompt,
        rendered: &RenderedPrompt,
    ) -> Result<InstalledPrompt, HarnessError> {
        let installed = install_prompt(rendered, &mut self.home, &self.working, &self.mount)?;
        let skills = agent_skills(installed.skills.iter().map(|skill| &skill.mounted));
        if !skills.is_empty() {
            let record = prompt_skills(prompt, |kind| installed.names(kind), &installed.directory);
            session.prompt_skills_installed(&skills, record)?;
        }
        if let Some(guard) = &self.guard {
            let home = GuardedHome::new(session.id(), self.home.path(), &skills);
            self.installed = Some(guard.install(&home)?);
        }
        Ok(installed)
    }

    /// Whether hooks of a guard are between the agent and its tools.
    pub const fn is_guarded(&self) -> bool {
        self.installed.is_some()
    }

    /// An error if the agent used a tool of its own that the hooks had not allowed, as far as they saw it themselves.
    pub fn check_guard(&self) -> Result<(), HarnessError> {
        let tools = self.installed.as_ref().map_or(Ok(Vec::new()), |guard| guard.unguarded(&[]))?;
        if tools.is_empty() {
            return Ok(());
        }
        let agent = self.agent.title().to_owned();
        Err(HarnessError::Unguarded { agent, tools, spent: Box::default() })
    }

    /// The hooks, for who compares them with the results.
    pub(crate) fn take_guard(&mut self) -> Option<Box<dyn HomeHooks>> {
        self.installed.take()
    }

    /// Adds one skill, also while the agent is running, and records it. Agents that watch their directory for skills
    /// find it.
    pub fn inject(&self, session: &mut Session, skill: &SkillMount) -> Result<MountedSkill, HarnessError> {
        let mounted = self.home.inject(skill, &self.mount)?;
        session.skills_mounted(&agent_skills([&mounted]), &self.home.skills_directory())?;
        Ok(mounted)
    }

    /// Starts the agent with the standard streams of this process, as a person would. If it keeps out what else agents
    /// read, the arguments for that come before the given ones. Those of the guard do too, unless the program is
    /// another one that starts the agent, such as `node`: its own arguments must come first.
    pub fn run(
        &self,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<SupervisedProgram, HarnessError> {
        let own = if self.is_hermetic() { self.home.hermetic_arguments() } else { &[] };
        let guard: &[&str] = self.installed.as_ref().map_or(&[], |guard| guard.arguments());
        let is_agent = self.program.file_name().is_some_and(|name| name == self.agent.name());
        let (first, last) = if is_agent { (guard, &[][..]) } else { (&[][..], guard) };
        let own = own.iter().chain(first).map(OsString::from);
        let arguments =
            own.chain(arguments.into_iter().map(Into::into)).chain(last.iter().map(OsString::from));
        let running = self.executor.start(&self.program(arguments));
        let running = running.map_err(|error| self.refusal(error))?;
        self.lend_to(&running)?;
        Ok(running)
    }

    /// Starts the agent with its standard streams as pipes.
    pub fn start(
        &self,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<(SupervisedProgram, ProgramPipes), HarnessError> {
        let what = self.program(arguments.into_iter().map(Into::into));
        let (running, pipes) = self.executor.start_piped(&what).map_err(|error| self.refusal(error))?;
        self.lend_to(&running)?;
        Ok((running, pipes))
    }

    /// The agent, with what it gets and what it does not see.
    fn program(&self, arguments: impl IntoIterator<Item = OsString>) -> Program {
        let mut what = Program::new(&self.program, self.working.path());
        what.arguments = self.leading.iter().cloned().chain(arguments).collect();
        what.environment = self.home.env().iter().map(|(name, value)| (name.into(), value.into())).collect();
        what.covered = self
            .enclosure
            .as_ref()
            .map(|enclosure| enclosure.covered.iter().map(|path| cover(path)).collect());
        what
    }

    fn lend_to(&self, running: &SupervisedProgram) -> Result<(), HarnessError> {
        self.home.lend_to(running.id())?;
        Ok(self.working.lend_to(running.id())?)
    }

    fn refusal(&self, error: SandboxError) -> HarnessError {
        let agent = self.agent.title();
        match error {
            SandboxError::Start { program, source } if source.kind() == io::ErrorKind::NotFound => {
                HarnessError::NotInstalled { agent: agent.to_owned(), program: program.display().to_string() }
            }
            SandboxError::Start { source, .. } => HarnessError::NotStarted {
                agent: agent.to_owned(),
                reason: source.to_string(),
                errors: String::new(),
            },
            SandboxError::Covering { is_refused: true, step, source, .. } => {
                let reason = format!(
                    "keeping out what agents read here needs a mount namespace, and the system refused it ({step}: {source}); \
                     run it as root, allow user namespaces, or use a fresh working directory"
                );
                HomeError::Leaks { agent, reason }.into()
            }
            other => other.into(),
        }
    }
}

/// Mounted skills, as a session records them.
pub(crate) fn agent_skills<'a>(mounted: impl IntoIterator<Item = &'a MountedSkill>) -> Vec<AgentSkill> {
    let skill = |skill: &MountedSkill| AgentSkill::new(&skill.name, &skill.path, skill.tree_digest);
    mounted.into_iter().map(skill).collect()
}

/// Which skills a prompt brought, as they are recorded: their names by how they came into it.
pub(crate) fn prompt_skills(
    prompt: &Prompt,
    names: impl Fn(SkillKind) -> Vec<String>,
    directory: &Path,
) -> PromptSkills {
    PromptSkills {
        prompt_ns: prompt.namespace().to_owned(),
        prompt_key: prompt.key().to_owned(),
        inline: names(SkillKind::Inline),
        referenced: names(SkillKind::Referenced),
        attached: names(SkillKind::Attached),
        discovered: names(SkillKind::Discovered),
        skills_dir: directory.display().to_string(),
    }
}

/// A file of settings must still be one.
fn cover(path: &Path) -> CoveredPath {
    let is_json = path.extension().is_some_and(|end| end == "json" || end == "jsonc");
    CoveredPath { path: path.to_owned(), text: if is_json { "{}\n" } else { "" } }
}
