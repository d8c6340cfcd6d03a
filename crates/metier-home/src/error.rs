//! What keeps skills from being mounted, or a home from being made.

use std::io;
use std::path::{Path, PathBuf};

use metier_skill::{Diagnostic, NameError, SkillError};

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
    /// The agent would find other skills, and that is not to be.
    #[error(
        "{agent} would find skills that were not given to it: {}; keeping them out needs `unshare` and `mount`, and for others than root \
         user namespaces: run it as root, in another directory, or without `--hermetic`",
        list(found)
    )]
    Leaks {
        /// The agent.
        agent: &'static str,
        /// Where.
        found: Vec<PathBuf>,
    },
}

impl HomeError {
    /// A name that does not change.
    pub const fn code(&self) -> &'static str {
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
            Self::AlreadyMounted { .. } => "mount-twice",
            Self::Inside { .. } => "mount-inside",
            Self::Occupied { .. } => "mount-occupied",
            Self::Copy { .. } => "mount-copy",
            Self::Io { .. } => "home-io",
            Self::Auth { .. } => "home-auth",
            Self::Workspace { .. } => "home-workspace",
            Self::Leaks { .. } => "home-leaks",
        }
    }

    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().take(5).map(|path| path.display().to_string()).collect();
    let more = paths.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}
