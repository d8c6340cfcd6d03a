//! The errors of a host, each with a stable code and a hint.

use std::io;
use std::path::PathBuf;

use metier_catalog::{CatalogError, ProblemCode};
use metier_policy::PolicyError;
use metier_skill::{Coded, SkillError, Tier, did_you_mean};

/// An error of a host: invalid settings, a missing skill, or an error of one of its parts.
///
/// Tell errors apart by their variant or their [`code`](Coded::code); errors of the parts keep theirs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A file or directory cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: `read`, `write`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The settings file that a variable names does not exist.
    #[error("METIER_CONFIG names {}, which does not exist", path.display())]
    NoSettingsFile {
        /// The file.
        path: PathBuf,
    },
    /// A settings file is not valid.
    #[error("{}: {reason}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A variable has an invalid value.
    #[error("{name} {reason}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// An override of the host is not valid: a root, a state, a journal.
    #[error("{reason}")]
    Override {
        /// What is wrong.
        reason: String,
    },
    /// A project gives its roots more trust than a project may give.
    #[error("{}: a project cannot give its roots the tier `{tier}`; use `user`", path.display())]
    RaisedTier {
        /// The project's settings file.
        path: PathBuf,
        /// The tier.
        tier: Tier,
    },
    /// There is no home directory to keep something in.
    #[error("there is no home directory {purpose}; set {variables}")]
    NoHome {
        /// What it is needed for, such as `to keep sessions in`.
        purpose: &'static str,
        /// The variables that name one.
        variables: &'static str,
    },
    /// A directory that rules refer to is not known.
    #[error("no {what} directory is known; name one with --{what}")]
    NoDirectory {
        /// `cwd` or `home`.
        what: &'static str,
    },
    /// The current directory was removed.
    #[error("the current directory no longer exists")]
    NoWorkingDirectory,
    /// A skill root that was named does not exist.
    #[error("the skill root {} does not exist; correct `--root`", path.display())]
    NoRoot {
        /// The root.
        path: PathBuf,
    },
    /// A folder is to be trusted that is everything on the machine.
    #[error("that would trust everything on this machine; name a project")]
    TrustsAll,
    /// A folder that is to be trusted does not exist.
    #[error("{} does not exist", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A path that is to be trusted is not a directory.
    #[error("{} is not a directory", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// There is no skill of this name.
    #[error("there is no skill `{name}`{}", did_you_mean(near, "`metier list --all` shows every skill"))]
    NoSkill {
        /// The name or id.
        name: String,
        /// Names that differ by a letter or two.
        near: Vec<String>,
    },
    /// No skill has this name, but a directory has: a directory must be given as a path.
    #[error("there is no skill named `{given}` here; write `./{given}` for the directory")]
    NotAName {
        /// The given text.
        given: String,
    },
    /// There is no skill at the given path.
    #[error("there is no skill at {}: {}", path.display(), if path.exists() { "it has no SKILL.md" } else { "it does not exist" })]
    NoSkillAt {
        /// The path.
        path: PathBuf,
    },
    /// The skill exists and cannot be used.
    #[error("`{name}` cannot be used: {code}: {message}; `metier validate {}` says more", path.display())]
    UnusableSkill {
        /// The name or id.
        name: String,
        /// What is wrong.
        code: ProblemCode,
        /// The same for people.
        message: String,
        /// Its directory.
        path: PathBuf,
    },
    /// The skill is switched off by a setting.
    #[error("`{name}` is switched off{}; change that rule to use the skill", by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default())]
    SkillOff {
        /// The skill.
        name: String,
        /// The rule that does it.
        by: Option<String>,
    },
    /// The skill has no such file.
    #[error("`{skill}` has no file `{path}`; see `metier show {skill}`")]
    NoFile {
        /// The skill.
        skill: String,
        /// The path in it.
        path: String,
    },
    /// All skills of some roots are wanted, and the roots have none.
    #[error("the directories that `--root` names contain no skills")]
    NoSkills,
    /// A skill inside metier cannot be written out without a cache directory.
    #[error("there is no directory to unpack `{name}` into; set HOME")]
    NoCache {
        /// The skill.
        name: String,
    },
    /// The organisation's policy cannot be read. Without it nothing is allowed.
    #[error("cannot read the organisation's policy {}", path.display())]
    OrganisationFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The organisation's policy file cannot be parsed.
    #[error("the organisation's policy {} is not valid: {reason}", path.display())]
    OrganisationSyntax {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The organisation's policy has invalid rules.
    #[error("the organisation's policy is not valid")]
    OrganisationPolicy {
        /// What is wrong.
        source: PolicyError,
    },
    /// A policy in the settings has invalid rules.
    #[error(transparent)]
    Policy(PolicyError),
    /// An MCP server of the settings cannot be used.
    #[error("cannot use the MCP server `{name}`: {reason}")]
    Server {
        /// The server.
        name: String,
        /// What is missing.
        reason: String,
    },
    /// A skill cannot be read.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// An error of the catalog.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The catalog cannot be searched.
    #[cfg(feature = "search")]
    #[error(transparent)]
    Search(#[from] metier_search::SearchError),
    /// The directory of the journal does not exist.
    #[cfg(feature = "session")]
    #[error(
        "the directory `{0}` of the journal does not exist ({origin}); create it with `mkdir -p {0}`, or correct the setting",
        directory.display()
    )]
    NoJournalDirectory {
        /// The directory.
        directory: PathBuf,
        /// Where the setting is.
        origin: crate::SettingOrigin,
    },
    /// The setting `telemetry` is not valid.
    #[cfg(feature = "session")]
    #[error("the setting `telemetry` is not valid")]
    Telemetry {
        /// Why.
        source: metier_journal::JournalError,
    },
    /// An error of the journal.
    #[cfg(feature = "session")]
    #[error(transparent)]
    Journal(#[from] metier_journal::JournalError),
    /// A change was made, but could not be recorded.
    #[cfg(feature = "session")]
    #[error("the change was made, but could not be recorded")]
    NotRecorded {
        /// Why.
        source: metier_journal::JournalError,
    },
    /// A step of a session was not done.
    #[cfg(feature = "session")]
    #[error(transparent)]
    Session(#[from] metier_session::SessionError),
    /// A saved session cannot be continued.
    #[cfg(feature = "session")]
    #[error("cannot continue session `{id}`; remove {} to start it again", path.display())]
    Resume {
        /// The session.
        id: String,
        /// Where it is saved.
        path: PathBuf,
        /// Why.
        source: Box<metier_session::SessionError>,
    },
    /// The file of a saved session contains another session.
    #[cfg(feature = "session")]
    #[error("{} contains session `{other}` instead of `{id}`; remove it to start again", path.display())]
    OtherSession {
        /// The expected session.
        id: String,
        /// The file.
        path: PathBuf,
        /// The session in the file.
        other: String,
    },
    /// An error of the sandbox.
    #[cfg(feature = "session")]
    #[error(transparent)]
    Sandbox(#[from] metier_sandbox::SandboxError),
    /// An error of the store.
    #[cfg(feature = "session")]
    #[error(transparent)]
    Store(#[from] metier_store::StoreError),
    /// A file of trusted keys is not valid.
    #[cfg(feature = "session")]
    #[error("{} cannot be used", path.display())]
    TrustedKeys {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: metier_store::TrustError,
    },
    /// The thread that opens the journal panicked.
    #[cfg(feature = "mcp")]
    #[error("the journal could not be opened")]
    NotOpened,
    /// Skills cannot be mounted, or a home cannot be created.
    #[cfg(feature = "home")]
    #[error(transparent)]
    Home(#[from] metier_home::HomeError),
    /// A skill inside metier has no directory that a link could lead to.
    #[cfg(feature = "home")]
    #[error("`{name}` is inside metier and cannot be linked; copy it: `metier mount --add {} {name}`", directory.display())]
    LinkInside {
        /// The skill.
        name: String,
        /// The agent's directory for skills.
        directory: PathBuf,
    },
    /// A link that is to be removed, and that metier did not make as far as the journal says.
    #[cfg(feature = "home")]
    #[error("{0} was not removed: the journal does not say that metier made this link; to remove it: rm '{0}'", link.display())]
    LinkNotRecorded {
        /// The link.
        link: PathBuf,
    },
    /// The program that was named for an agent was not found.
    #[cfg(feature = "home")]
    #[error("cannot run {title}: program `{program}` not found")]
    NoProgram {
        /// The agent.
        title: &'static str,
        /// The program.
        program: String,
    },
    /// The agent is not installed.
    #[cfg(feature = "home")]
    #[error(
        "{title} is not installed (`{program}` not found in PATH); install it, or name it with `--program`"
    )]
    NoAgent {
        /// The agent.
        title: &'static str,
        /// Its program.
        program: String,
    },
    /// The guard cannot be installed, removed or looked at.
    #[cfg(feature = "guard")]
    #[error(transparent)]
    Guard(#[from] crate::guarding::GuardInstallError),
    /// Network and sandbox were set for an agent whose commands do not run in a sandbox of its own.
    #[cfg(feature = "harness")]
    #[error("{title} has no sandbox that metier can configure; supported: Claude Code")]
    NoAgentSandbox {
        /// The agent.
        title: &'static str,
    },
    /// Prompts cannot run on the agent.
    #[cfg(feature = "harness")]
    #[error("prompts cannot run on {title}")]
    NoHarness {
        /// The agent.
        title: &'static str,
    },
    /// A hook of an agent cannot be answered.
    #[cfg(feature = "guard")]
    #[error(transparent)]
    Hook(metier_guard::GuardError),
    /// `OpenAI` is to be asked, and there is no API key.
    #[cfg(feature = "openai")]
    #[error(
        "there is no API key for OpenAI; set `OPENAI_API_KEY`, name a file with the key, or name another server"
    )]
    NoKey,
    /// The file that an API key should be in is empty.
    #[cfg(feature = "openai")]
    #[error("{} has no API key in it", path.display())]
    EmptyKey {
        /// The file.
        path: PathBuf,
    },
}

impl HostError {
    pub(crate) fn read(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { action: "read", path: path.into(), source }
    }

    pub(crate) fn write(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { action: "write", path: path.into(), source }
    }

    pub(crate) fn given(reason: impl std::fmt::Display) -> Self {
        Self::Override { reason: reason.to_string() }
    }
}

impl Coded for HostError {
    fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "host-io",
            Self::NoSettingsFile { .. } => "settings-file-not-found",
            Self::Settings { .. } => "settings-invalid",
            Self::Variable { .. } => "variable-invalid",
            Self::Override { .. } => "override-invalid",
            Self::RaisedTier { .. } => "settings-raised-tier",
            Self::NoHome { .. } => "no-home",
            Self::NoDirectory { .. } => "no-directory",
            Self::NoWorkingDirectory => "no-working-directory",
            Self::NoRoot { .. } => "root-not-found",
            Self::TrustsAll => "trust-everything",
            Self::NoFolder { .. } => "folder-not-found",
            Self::NotAFolder { .. } => "not-a-directory",
            Self::NoSkill { .. } | Self::NoSkillAt { .. } => "skill-not-found",
            Self::NotAName { .. } => "skill-name-expected",
            Self::UnusableSkill { .. } => "skill-unusable",
            Self::SkillOff { .. } => "skill-off",
            Self::NoFile { .. } => "skill-file-not-found",
            Self::NoSkills => "no-skills",
            Self::NoCache { .. } => "no-cache",
            Self::OrganisationFile { .. }
            | Self::OrganisationSyntax { .. }
            | Self::OrganisationPolicy { .. } => "organisation-policy-invalid",
            Self::Policy(error) => error.code(),
            Self::Server { .. } => "server-invalid",
            Self::Skill(error) => error.code(),
            Self::Catalog(error) => error.code(),
            #[cfg(feature = "search")]
            Self::Search(error) => error.code(),
            #[cfg(feature = "session")]
            Self::NoJournalDirectory { .. } => "journal-directory-not-found",
            #[cfg(feature = "session")]
            Self::Telemetry { .. } => "telemetry-invalid",
            #[cfg(feature = "session")]
            Self::Journal(error) => error.code(),
            #[cfg(feature = "session")]
            Self::NotRecorded { .. } => "not-recorded",
            #[cfg(feature = "session")]
            Self::Session(error) => error.code(),
            #[cfg(feature = "session")]
            Self::Resume { .. } => "session-resume",
            #[cfg(feature = "session")]
            Self::OtherSession { .. } => "session-mixed-up",
            #[cfg(feature = "session")]
            Self::Sandbox(error) => error.code(),
            #[cfg(feature = "session")]
            Self::Store(error) => error.code(),
            #[cfg(feature = "session")]
            Self::TrustedKeys { .. } => "trusted-keys-invalid",
            #[cfg(feature = "mcp")]
            Self::NotOpened => "journal-not-opened",
            #[cfg(feature = "home")]
            Self::Home(error) => error.code(),
            #[cfg(feature = "home")]
            Self::LinkInside { .. } => "link-inside-metier",
            #[cfg(feature = "home")]
            Self::LinkNotRecorded { .. } => "link-not-recorded",
            #[cfg(feature = "home")]
            Self::NoProgram { .. } | Self::NoAgent { .. } => "agent-not-found",
            #[cfg(feature = "guard")]
            Self::Guard(error) => error.code(),
            #[cfg(feature = "harness")]
            Self::NoHarness { .. } => "agent-without-harness",
            #[cfg(feature = "harness")]
            Self::NoAgentSandbox { .. } => "agent-without-sandbox",
            #[cfg(feature = "guard")]
            Self::Hook(error) => error.code(),
            #[cfg(feature = "openai")]
            Self::NoKey => "no-api-key",
            #[cfg(feature = "openai")]
            Self::EmptyKey { .. } => "empty-api-key",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Settings { .. } | Self::RaisedTier { .. } => Some(
                "correct the file; `metier config` shows every setting and where it came from".to_owned(),
            ),
            Self::OrganisationFile { .. }
            | Self::OrganisationSyntax { .. }
            | Self::OrganisationPolicy { .. } => Some(
                "ask the administrator of this machine; nothing is allowed until the file is corrected"
                    .to_owned(),
            ),
            Self::Server { name, .. } => Some(format!("correct `[servers.{name}]` in the settings")),
            Self::Skill(error) => error.hint(),
            #[cfg(feature = "session")]
            Self::Session(error) => error.hint(),
            #[cfg(feature = "session")]
            Self::Sandbox(error) => error.hint(),
            #[cfg(feature = "home")]
            Self::Home(error) => error.hint(),
            #[cfg(feature = "guard")]
            Self::Guard(error) => error.hint(),
            #[cfg(feature = "guard")]
            Self::Hook(error) => error.hint(),
            #[cfg(feature = "session")]
            Self::TrustedKeys { path, .. } => Some(format!("correct {} or remove it", path.display())),
            _ => None,
        }
    }
}
