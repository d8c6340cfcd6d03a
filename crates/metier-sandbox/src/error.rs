//! What keeps a script from being started. What happens to a script that runs is an [`Outcome`](crate::Outcome).

use std::io;
use std::path::PathBuf;

use crate::protection::Protection;

/// Why a script was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// A protection that the profile needs cannot be had here.
    #[error("this machine cannot give the script the protection it needs: {}", name(missing))]
    Missing {
        /// Which, and why.
        missing: Vec<Missing>,
    },
    /// A path of the profile cannot be used.
    #[error("`{}` cannot be put into the sandbox", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A path means another file or directory than when it was chosen.
    #[error("`{}` is not what it was when it was approved: it was replaced or has become a link", path.display())]
    Swapped {
        /// The path.
        path: PathBuf,
    },
    /// A path that would open everything.
    #[error("`{}` cannot be given to a script: {reason}; choose a directory for this work alone", path.display())]
    TooWide {
        /// The path.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// A protected path that is a link, so that what it leads to is not protected.
    #[error("`{}` is a link, so that it cannot be kept from the script; replace it by what it links to", path.display())]
    ProtectedLink {
        /// The path.
        path: PathBuf,
    },
    /// A directory of root's that cannot be shown to the script's user as its own.
    #[error("the script's user cannot write to `{}`: root does not run scripts as root, and the directory cannot be shown to another user as its own here; use one on ext4, xfs, btrfs or tmpfs, or start metier as an ordinary user", path.display())]
    NotWritable {
        /// The path.
        path: PathBuf,
    },
    /// Something else that the launcher could not do.
    #[error("the sandbox could not be set up: {step}")]
    Launch {
        /// What failed.
        step: String,
        /// Why.
        source: io::Error,
    },
    /// The launcher ended without a word.
    #[error("the sandbox's launcher ended before the script started ({status})")]
    LauncherGone {
        /// How it ended.
        status: String,
    },
    /// There is no such program inside, or it cannot be run.
    #[error(
        "`{program}` cannot be run in the sandbox: only programs in the system's directories, the skill and the work directory are there"
    )]
    Program {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// It is not known how to run this file.
    #[error("it is not known how to run `{}`: {reason}", path.display())]
    NotAScript {
        /// The file, in its skill.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// What a script says that it needs is not there.
    #[error("`{}` needs what is not installed: {}; install it for the system's Python, for example with `apt-get install python3-…`", path.display(), missing.join(", "))]
    Dependencies {
        /// The script, in its skill.
        path: PathBuf,
        /// What is missing, as the script names it.
        missing: Vec<String>,
    },
    /// Not a host and a port.
    #[error("`{text}` is no destination: write `example.org:443`, `*.example.org:443` or `127.0.0.1:8080`")]
    Destination {
        /// What was written.
        text: String,
    },
    /// The container engine could not do it.
    #[error("the container engine `{engine}` cannot be used: {reason}")]
    Engine {
        /// Its program.
        engine: String,
        /// Why not.
        reason: String,
    },
    /// This system is not supported.
    #[error("scripts can be contained only on Linux for now; use a container executor")]
    Unsupported,
}

impl SandboxError {
    /// A name that does not change.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "sandbox_protection_missing",
            Self::Path { .. } => "sandbox_path",
            Self::Swapped { .. } => "sandbox_path_swapped",
            Self::TooWide { .. } => "sandbox_path_too_wide",
            Self::ProtectedLink { .. } => "sandbox_protected_link",
            Self::NotWritable { .. } => "sandbox_not_writable",
            Self::Launch { .. } => "sandbox_launch",
            Self::LauncherGone { .. } => "sandbox_launcher_gone",
            Self::Program { .. } => "sandbox_program",
            Self::NotAScript { .. } => "sandbox_not_a_script",
            Self::Dependencies { .. } => "sandbox_dependencies",
            Self::Destination { .. } => "sandbox_destination",
            Self::Engine { .. } => "sandbox_engine",
            Self::Unsupported => "sandbox_unsupported",
        }
    }
}

/// A protection that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// Which.
    pub protection: Protection,
    /// What failed.
    pub reason: String,
}

impl Missing {
    pub(crate) fn new(protection: Protection, reason: impl Into<String>) -> Self {
        Self { protection, reason: reason.into() }
    }
}

fn name(missing: &[Missing]) -> String {
    missing.iter().map(|one| format!("{} ({})", one.protection, one.reason)).collect::<Vec<_>>().join(", ")
}
