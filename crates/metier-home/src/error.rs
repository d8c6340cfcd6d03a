//! What keeps skills from being mounted, or a home from being made.

use std::io;
use std::path::{Path, PathBuf};

use metier_skill::{Coded, Diagnostic, NameError, SkillError};

/// Why nothing was mounted, or no home was made. What was begun is gone again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// There is no skill.
    #[error("skill not found: {}", path.display())]
    NotFound {
        /// As it was given.
        path: PathBuf,
    },
    /// What is there is no valid skill.
    #[error("the skill `{name}` at {} is not valid: {reason}; `metier validate {0}` says more", path.display())]
    Validation {
        /// What it would be mounted as.
        name: String,
        /// Where it is.
        path: PathBuf,
        /// The first error.
        reason: String,
        /// All findings.
        diagnostics: Vec<Diagnostic>,
    },
    /// No directory can be called that.
    #[error("{} cannot be mounted as `{}`: {problem}", path.display(), name.escape_debug())]
    Name {
        /// What it would be mounted as.
        name: String,
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        problem: NameError,
    },
    /// Two skills are to be mounted as the same.
    #[error("duplicate skill name `{name}`: {} and {}; mount one of them as another name", first.display(), second.display())]
    Duplicate {
        /// The name.
        name: String,
        /// Where the first is.
        first: PathBuf,
        /// Where the second is.
        second: PathBuf,
    },
    /// The skill's own name is another, and that is not to be.
    #[error("{} says that it is called `{own}`, and is to be mounted as `{name}`", path.display())]
    Renamed {
        /// What it would be mounted as.
        name: String,
        /// What its frontmatter says.
        own: String,
        /// Where it is.
        path: PathBuf,
    },
    /// There is too much of it.
    #[error("{what} exceeds the limit of {limit} bytes")]
    Size {
        /// The skill, a file of it, or all of them.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// A link that leads out of the skill.
    #[error("the symlink `{}` of skill `{name}` escapes the skill's directory, {}", link.display(), path.display())]
    LinkOutside {
        /// The skill.
        name: String,
        /// Where it is.
        path: PathBuf,
        /// The link, inside the skill.
        link: PathBuf,
    },
    /// `SKILL.md` is a link.
    #[error("the SKILL.md of `{name}` in {} is a symlink or no plain file, and neither is copied", path.display())]
    SkillMdLink {
        /// The skill.
        name: String,
        /// Where it is.
        path: PathBuf,
    },
    /// Only directories can be linked.
    #[error("`{name}` cannot be linked: {} is no directory with a SKILL.md; `metier mount` copies single files as well", path.display())]
    NoDirectory {
        /// What it would be linked as.
        name: String,
        /// What is there.
        path: PathBuf,
    },
    /// Its content is not what was checked.
    #[error("`{name}` changed while it was being mounted: {} is not what was checked; try again", path.display())]
    Changed {
        /// What it would be mounted as.
        name: String,
        /// Where it is.
        path: PathBuf,
    },
    /// Something was mounted before.
    #[error("skills are already mounted in {}", path.display())]
    AlreadyMounted {
        /// Where.
        path: PathBuf,
    },
    /// The directory is inside of what is to be mounted there.
    #[error("{} cannot be mounted into {}, which is inside of it", skill.display(), directory.display())]
    Inside {
        /// The skill.
        skill: PathBuf,
        /// Where it would be.
        directory: PathBuf,
    },
    /// The directory has something in it already.
    #[error("{} is there already and not empty", path.display())]
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
    /// The system said no.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The agent has nothing to authenticate with.
    #[error("{reason}")]
    Auth {
        /// What is missing, and what to do.
        reason: String,
    },
    /// A directory of the host that is not to be mounted.
    #[error("{} cannot be copied into the workspace as `{mount}`: {reason}", path.display())]
    Workspace {
        /// The directory.
        path: PathBuf,
        /// Where it would be.
        mount: String,
        /// Why not.
        reason: String,
    },
    /// A valid skill that the agent ignores.
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
    /// The agent is not told to trust its working directory, because that is not known.
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
        "{agent} is not told to trust the working directory, because {} can start programs: it asks you, or ends with exit code 55 where \
         it cannot; `--hermetic` runs it without that file, `--env GEMINI_CLI_TRUST_WORKSPACE=true` with it",
        path.display()
    )]
    Untrusted {
        /// The agent.
        agent: &'static str,
        /// What could start programs.
        path: PathBuf,
    },
    /// The agent would find what was not given to it, and that cannot be prevented here.
    #[error("{agent} was not started, because `--hermetic` is not possible here: {reason}")]
    Leaks {
        /// The agent.
        agent: &'static str,
        /// Why, and what to do.
        reason: String,
    },
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
            Self::DescriptionUnits { .. } => "home-description-units",
            Self::UnknownDirectory { .. } => "home-unknown-directory",
            Self::Untrusted { .. } => "home-untrusted",
            Self::Leaks { .. } => "home-leaks",
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotFound { .. } => "name a directory with a SKILL.md, or the SKILL.md itself",
            Self::Name { .. } => "mount it under another name",
            Self::Renamed { .. } => "mount it under its own name, or change `name` in its frontmatter",
            Self::Size { .. } => "leave out what the skill does not need, or raise the limit",
            Self::LinkOutside { .. } => "replace the link by the file it leads to",
            Self::SkillMdLink { .. } => "replace it by the file it leads to",
            Self::AlreadyMounted { .. } => "mount all skills at once, or make another home",
            Self::Inside { .. } => "choose a directory outside of the skill",
            Self::Occupied { .. } => "choose an empty directory, or one that does not exist yet",
            Self::Copy { source, .. } => return source.hint(),
            // Their messages say it, or there is nothing to do.
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
