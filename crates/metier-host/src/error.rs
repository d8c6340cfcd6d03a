//! What stops a host from working, each with a stable code and what to do about it.

use std::io;
use std::path::PathBuf;

use metier_catalog::{CatalogError, ProblemCode};
use metier_policy::PolicyError;
use metier_skill::{Coded, SkillError, Tier, did_you_mean};

/// What stops a host: settings that cannot be used, a skill that is not there, a part that refuses.
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
    #[error("METIER_CONFIG names {}, and there is no such file", path.display())]
    NoSettingsFile {
        /// The file.
        path: PathBuf,
    },
    /// A settings file says something that cannot be used.
    #[error("{}: {reason}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A variable has a value that cannot be used.
    #[error("{name} {reason}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// An override of the host cannot be used: a root, a state, a journal.
    #[error("{reason}")]
    Override {
        /// What is wrong.
        reason: String,
    },
    /// A project gives its roots more trust than a project can.
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
    /// A directory that rules are relative to is not known.
    #[error("no {what} directory is known; name one with --{what}")]
    NoDirectory {
        /// `cwd` or `home`.
        what: &'static str,
    },
    /// The current directory was removed.
    #[error("the current directory is not there any more")]
    NoWorkingDirectory,
    /// A skill root that was named does not exist.
    #[error("there is no directory {}; correct `--root`", path.display())]
    NoRoot {
        /// The root.
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
    /// No skill has this name; a directory has, and would be meant by a path.
    #[error("there is no skill named `{given}` here; write `./{given}` for the directory")]
    NotAName {
        /// What was given.
        given: String,
    },
    /// There is no skill at the path that was given.
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
    /// There are no skills where all of some roots are wanted.
    #[error("there are no skills in what `--root` names")]
    NoSkills,
    /// A skill inside metier cannot be written out without a cache directory.
    #[error("there is nowhere to unpack `{name}`; set HOME")]
    NoCache {
        /// The skill.
        name: String,
    },
    /// The organisation's policy cannot be read. Nothing is decided without it.
    #[error("cannot read the organisation's policy {}", path.display())]
    OrganisationFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The organisation's policy is not a policy.
    #[error("the organisation's policy {} is wrong: {reason}", path.display())]
    OrganisationSyntax {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The organisation's policy has rules that cannot be used.
    #[error("the organisation's policy cannot be used")]
    OrganisationPolicy {
        /// What is wrong.
        source: PolicyError,
    },
    /// A policy in the settings has rules that cannot be used.
    #[error(transparent)]
    Policy(PolicyError),
    /// A skill cannot be read.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// The catalog cannot do something.
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
    /// The setting `telemetry` cannot be used.
    #[cfg(feature = "session")]
    #[error("the setting `telemetry` cannot be used")]
    Telemetry {
        /// Why.
        source: metier_journal::JournalError,
    },
    /// The journal refuses.
    #[cfg(feature = "session")]
    #[error(transparent)]
    Journal(#[from] metier_journal::JournalError),
    /// Something was done and could not be recorded.
    #[cfg(feature = "session")]
    #[error("it was done, and could not be recorded")]
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
    #[error("cannot go on with session `{id}`; remove {} to begin it anew", path.display())]
    Resume {
        /// The session.
        id: String,
        /// Where it is saved.
        path: PathBuf,
        /// Why.
        source: Box<metier_session::SessionError>,
    },
    /// A saved session is another one than its file should have.
    #[cfg(feature = "session")]
    #[error("{} should be session `{id}`, and is `{other}`; remove it to begin anew", path.display())]
    OtherSession {
        /// The session that is wanted.
        id: String,
        /// Where it should be.
        path: PathBuf,
        /// The session that is there.
        other: String,
    },
    /// The sandbox refuses.
    #[cfg(feature = "session")]
    #[error(transparent)]
    Sandbox(#[from] metier_sandbox::SandboxError),
    /// The store refuses.
    #[cfg(feature = "session")]
    #[error(transparent)]
    Store(#[from] metier_store::StoreError),
    /// A file of trusted keys cannot be used.
    #[cfg(feature = "store")]
    #[error("{} cannot be used", path.display())]
    TrustedKeys {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: metier_store::TrustError,
    },
    /// The thread that opens the journal ended early.
    #[cfg(feature = "mcp")]
    #[error("the journal could not be opened")]
    NotOpened,
    /// Skills cannot be mounted, or a home not be made.
    #[cfg(feature = "home")]
    #[error(transparent)]
    Home(#[from] metier_home::HomeError),
    /// The program that should run as an agent was not found.
    #[cfg(feature = "home")]
    #[error("there is no program `{program}` to run as {title}")]
    NoProgram {
        /// The agent.
        title: &'static str,
        /// The program.
        program: String,
    },
    /// The agent is not installed.
    #[cfg(feature = "home")]
    #[error("{title} is not there: `{program}` was not found; install it, or name it with `--program`")]
    NoAgent {
        /// The agent.
        title: &'static str,
        /// Its program.
        program: String,
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
            #[cfg(feature = "store")]
            Self::TrustedKeys { .. } => "trusted-keys-invalid",
            #[cfg(feature = "mcp")]
            Self::NotOpened => "journal-not-opened",
            #[cfg(feature = "home")]
            Self::Home(error) => error.code(),
            #[cfg(feature = "home")]
            Self::NoProgram { .. } | Self::NoAgent { .. } => "agent-not-found",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Settings { .. } | Self::RaisedTier { .. } => Some(
                "correct the file; `metier config` shows every setting and where it came from".to_owned(),
            ),
            Self::OrganisationFile { .. }
            | Self::OrganisationSyntax { .. }
            | Self::OrganisationPolicy { .. } => {
                Some("ask who administers this machine; nothing is decided until it is corrected".to_owned())
            }
            Self::Skill(error) => error.hint(),
            #[cfg(feature = "session")]
            Self::Session(error) => error.hint(),
            #[cfg(feature = "session")]
            Self::Sandbox(error) => error.hint(),
            #[cfg(feature = "home")]
            Self::Home(error) => error.hint(),
            #[cfg(feature = "store")]
            Self::TrustedKeys { path, .. } => Some(format!("correct {} or remove it", path.display())),
            _ => None,
        }
    }
}
