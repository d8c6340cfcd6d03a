//! The errors of mounting skills and of creating homes.

use std::io;
use std::path::{Path, PathBuf};

use metier_prompt::SkillKind;
use metier_skill::{Coded, Diagnostic, NameError, SkillError};

/// Why nothing was mounted, or no home was created. Everything that was written until then is removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// There is no skill at the path.
    #[error("skill not found: {}", path.display())]
    NotFound {
        /// The given path.
        path: PathBuf,
    },
    /// The skill is not valid.
    #[error("the skill `{name}` at {} is not valid: {reason}; `metier validate {0}` says more", path.display())]
    Validation {
        /// The name that it would be mounted under.
        name: String,
        /// Where it is.
        path: PathBuf,
        /// The first error.
        reason: String,
        /// All findings.
        diagnostics: Vec<Diagnostic>,
    },
    /// A directory cannot have this name.
    #[error("{} cannot be mounted as `{}`: {problem}", path.display(), name.escape_debug())]
    Name {
        /// The name that it would be mounted under.
        name: String,
        /// Where it is.
        path: PathBuf,
        /// The problem.
        problem: NameError,
    },
    /// Two skills would be mounted under the same name.
    #[error("duplicate skill name `{name}`: {} and {}; mount one of them under another name", first.display(), second.display())]
    Duplicate {
        /// The name.
        name: String,
        /// Where the first is.
        first: PathBuf,
        /// Where the second is.
        second: PathBuf,
    },
    /// The skill has another name of its own, and [`Rename::Reject`](crate::Rename) forbids that.
    #[error("the skill at {} is named `{own}` and cannot be mounted as `{name}`", path.display())]
    Renamed {
        /// The name that it would be mounted under.
        name: String,
        /// What its frontmatter says.
        own: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A skill, a file or all skills together are too large.
    #[error("{what} exceeds the limit of {limit} bytes")]
    Size {
        /// The skill, a file of it, or all of them.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// A skill that a prompt contains or refers to could not be installed for the agent.
    #[error("cannot install the {} skill `{name}` of the prompt in {}", kind.as_str(), skills_dir.display())]
    Installation {
        /// The skill.
        name: String,
        /// How it came into the prompt.
        kind: SkillKind,
        /// Where it was to be installed.
        skills_dir: PathBuf,
        /// Why it was not.
        source: Box<Self>,
    },
    /// A symlink leads out of the skill.
    #[error("the symlink `{}` of skill `{name}` escapes the skill's directory, {}", link.display(), path.display())]
    LinkOutside {
        /// The skill.
        name: String,
        /// Where it is.
        path: PathBuf,
        /// The link, inside the skill.
        link: PathBuf,
    },
    /// `SKILL.md` is a symlink or not a regular file.
    #[error("the SKILL.md of `{name}` in {} is a symlink or not a regular file, and is not copied", path.display())]
    SkillMdLink {
        /// The skill.
        name: String,
        /// Where it is.
        path: PathBuf,
    },
    /// Only directories can be linked.
    #[error("`{name}` cannot be linked: {} is not a directory with a SKILL.md; `metier mount` also copies single files", path.display())]
    NoDirectory {
        /// What it would be linked as.
        name: String,
        /// What is there.
        path: PathBuf,
    },
    /// Its content changed after it was checked.
    #[error("`{name}` changed while it was being mounted: {} differs from what was checked; try again", path.display())]
    Changed {
        /// The name that it would be mounted under.
        name: String,
        /// Where it is.
        path: PathBuf,
    },
    /// Skills were mounted before.
    #[error("skills are already mounted in {}", path.display())]
    AlreadyMounted {
        /// Where.
        path: PathBuf,
    },
    /// The directory is inside the skill that would be mounted there.
    #[error("{} cannot be mounted into {}, which is inside it", skill.display(), directory.display())]
    Inside {
        /// The skill.
        skill: PathBuf,
        /// Where it would be.
        directory: PathBuf,
    },
    /// The directory is not empty.
    #[error("{} already exists and is not empty", path.display())]
    Occupied {
        /// Where.
        path: PathBuf,
    },
    /// Copying failed.
    #[error("failed to copy the skill `{name}` from {}", path.display())]
    Copy {
        /// The skill.
        name: String,
        /// Where it is.
        path: PathBuf,
        /// Why.
        source: SkillError,
    },
    /// A file operation failed.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// The operation, such as `read`.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There are no credentials for the agent.
    #[error("{reason}")]
    Auth {
        /// What is missing, and what to do.
        reason: String,
    },
    /// A file or directory of the host cannot be copied into the workspace.
    #[error("{} cannot be copied into the workspace as `{mount}`: {reason}", path.display())]
    Workspace {
        /// The directory.
        path: PathBuf,
        /// Where it would be.
        mount: String,
        /// Why not.
        reason: String,
    },
    /// Skills or files are to be copied into a directory that is not a temporary workspace.
    #[error("nothing can be mounted as `{mount}` in {}: it is not a temporary workspace", path.display())]
    NoWorkspace {
        /// The working directory.
        path: PathBuf,
        /// Where it would be, in the directory.
        mount: String,
    },
    /// Conversations of this agent cannot be kept apart from its home.
    #[error("conversations of {agent} cannot be kept")]
    Conversations {
        /// The agent.
        agent: &'static str,
    },
    /// The skill is valid, but the agent would ignore it.
    #[error(
        "{agent} ignores the skill `{name}`: its description has {units} UTF-16 code units, and {agent} reads at most {limit}; shorten \
         it (an emoji counts as two)"
    )]
    DescriptionUnits {
        /// The agent.
        agent: &'static str,
        /// The skill.
        name: String,
        /// How many it has.
        units: usize,
        /// How many it may have.
        limit: usize,
    },
    /// The agent is not told to trust its working directory, because the home does not know it.
    #[error(
        "{agent} is not told to trust its working directory, because the home does not know which one that is; set \
         `HomeOptions::working_directory`"
    )]
    UnknownDirectory {
        /// The agent.
        agent: &'static str,
    },
    /// A working directory that the agent is not told to trust.
    #[error(
        "{agent} is not told to trust the working directory, because {} can start programs: it asks you, or exits with 55 where it \
         cannot; `--hermetic` runs it without that file, `--env GEMINI_CLI_TRUST_WORKSPACE=true` with it",
        path.display()
    )]
    Untrusted {
        /// The agent.
        agent: &'static str,
        /// What could start programs.
        path: PathBuf,
    },
    /// The agent would find files that were not given to it, and that cannot be prevented here.
    #[error("{agent} was not started, because `--hermetic` is not possible here: {reason}")]
    Leaks {
        /// The agent.
        agent: &'static str,
        /// Why, and what to do.
        reason: String,
    },
}

impl HomeError {
    /// The skill that the error is about, if it is about one.
    pub(crate) fn skill(&self) -> Option<&str> {
        match self {
            Self::Validation { name, .. }
            | Self::Name { name, .. }
            | Self::Duplicate { name, .. }
            | Self::Renamed { name, .. }
            | Self::LinkOutside { name, .. }
            | Self::SkillMdLink { name, .. }
            | Self::Changed { name, .. }
            | Self::Copy { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The path at which there is no skill.
    pub(crate) fn missing(&self) -> Option<&PathBuf> {
        match self {
            Self::NotFound { path } => Some(path),
            _ => None,
        }
    }
}

impl Coded for HomeError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "skill-not-found",
            Self::Validation { .. } => "skill-validation",
            Self::Name { .. } => "mount-name",
            Self::Duplicate { .. } => "mount-duplicate",
            Self::Renamed { .. } => "mount-renamed",
            Self::Size { .. } => "mount-size",
            Self::Installation { .. } => "skill-installation",
            Self::LinkOutside { .. } => "mount-link-outside",
            Self::SkillMdLink { .. } => "mount-skill-md-link",
            Self::NoDirectory { .. } => "link-no-directory",
            Self::Changed { .. } => "mount-changed",
            Self::AlreadyMounted { .. } => "mount-twice",
            Self::Inside { .. } => "mount-inside",
            Self::Occupied { .. } => "mount-occupied",
            Self::Copy { .. } => "mount-copy",
            Self::Io { .. } => "home-io",
            Self::Auth { .. } => "home-auth",
            Self::Workspace { .. } => "home-workspace",
            Self::NoWorkspace { .. } => "home-no-workspace",
            Self::Conversations { .. } => "home-conversations",
            Self::DescriptionUnits { .. } => "home-description-units",
            Self::UnknownDirectory { .. } => "home-unknown-directory",
            Self::Untrusted { .. } => "home-untrusted",
            Self::Leaks { .. } => "home-leaks",
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoWorkspace { .. } => {
                "run the agent in a fresh workspace, or remove what the section mounts"
            }
            Self::Conversations { .. } => "leave out the directory for conversations",
            Self::NotFound { .. } => "name a directory with a SKILL.md, or the SKILL.md itself",
            Self::Name { .. } => "mount it under another name",
            Self::Renamed { .. } => "mount it under its own name, or change `name` in its frontmatter",
            Self::Size { .. } => "remove what the skill does not need, or raise the limit",
            Self::LinkOutside { .. } => "replace the symlink with the file that it leads to",
            Self::SkillMdLink { .. } => "replace it with the file that it leads to",
            Self::AlreadyMounted { .. } => "mount all skills at once, or create another home",
            Self::Inside { .. } => "choose a directory outside the skill",
            Self::Occupied { .. } => "choose an empty directory, or one that does not exist yet",
            Self::Copy { source, .. } => return source.hint(),
            Self::Installation { source, .. } => return source.hint(),
            // The message has it, or there is nothing to do.
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

impl HomeError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}
