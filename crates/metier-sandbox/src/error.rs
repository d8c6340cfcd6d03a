//! Why a script was not started. What happens to a script that runs is a [`RunOutcome`](crate::RunOutcome).

use std::io;
use std::path::{Path, PathBuf};

use metier_skill::Coded;

use crate::protection::Protection;

/// Why a script was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// A protection that the profile requires is not available.
    #[error("this machine lacks protections that the script requires: {}", name(missing))]
    Missing {
        /// The missing protections, with the reasons.
        missing: Vec<MissingProtection>,
    },
    /// A path of the profile cannot be used.
    #[error("cannot put `{}` into the sandbox", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A path names another file or directory than when it was chosen.
    #[error("`{}` has changed since it was approved: it was replaced or became a link", path.display())]
    Swapped {
        /// The path.
        path: PathBuf,
    },
    /// A path would give access to too much.
    #[error("`{}` cannot be given to a script: {reason}; choose a directory for this task only", path.display())]
    TooWide {
        /// The path.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// A directory of the user or of metier that scripts must not change.
    #[error("`{}` cannot be given to a script: it {how} {what} (`{}`); choose a directory for this task only", path.display(), place.display())]
    Reserved {
        /// The path.
        path: PathBuf,
        /// `is`, `is in` or `contains`.
        how: &'static str,
        /// What is there, for example `a home directory`.
        what: &'static str,
        /// The path of that.
        place: PathBuf,
    },
    /// No private directory for a run could be created.
    #[error(
        "cannot create a private directory in {}; make one of them writable, with mode 1777",
        listed(paths)
    )]
    Private {
        /// The directories that were tried.
        paths: Vec<PathBuf>,
        /// The last error.
        source: io::Error,
    },
    /// The note about earlier runs in a work directory cannot be read.
    #[error(
        "cannot read `{}`, which records what scripts may have left in the work directory: it is damaged or from another version of metier; check the directory for unknown hooks, settings and agent instructions, then remove the file",
        path.display()
    )]
    Note {
        /// The file.
        path: PathBuf,
    },
    /// The path of a work directory contains a link.
    #[error("`{}` is a link to {}; pass that directory itself, if that is what you mean", path.display(), shown(target.as_deref()))]
    Link {
        /// The path.
        path: PathBuf,
        /// Its target, if it exists.
        target: Option<PathBuf>,
    },
    /// A protected path is a link, so its target would not be protected.
    #[error("`{}` is a link and cannot be protected from the script; replace it with its target", path.display())]
    ProtectedLink {
        /// The path.
        path: PathBuf,
    },
    /// A directory of root cannot be mapped to the script's user.
    #[error("the script's user cannot write to `{}`: metier started as root runs scripts as another user, and this file system does not support mapped owners; use a directory on ext4, xfs, btrfs or tmpfs, or start metier as an ordinary user", path.display())]
    NotWritable {
        /// The path.
        path: PathBuf,
    },
    /// Another step of the launcher failed.
    #[error("cannot set up the sandbox: {step}")]
    Launch {
        /// The step that failed.
        step: String,
        /// The cause.
        source: io::Error,
    },
    /// The launcher exited without a report.
    #[error("the sandbox launcher exited before the script started ({status})")]
    LauncherGone {
        /// Its exit status.
        status: String,
    },
    /// The program does not exist in the sandbox, or cannot be run.
    #[error(
        "cannot run `{program}` in the sandbox; only programs in the system's directories, the skill and the work directory are available"
    )]
    Program {
        /// The program.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// A program outside of the sandbox cannot be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A path cannot be covered.
    #[error("cannot hide {}: {step}", path.as_ref().map_or_else(|| "files".to_owned(), |path| path.display().to_string()))]
    Covering {
        /// The step that failed.
        step: String,
        /// The path, if the step was about one.
        path: Option<PathBuf>,
        /// Whether the machine does not allow the required namespaces.
        is_refused: bool,
        /// The cause.
        source: io::Error,
    },
    /// There is no known way to run this file.
    #[error("cannot tell how to run `{}`: {reason}", path.display())]
    NotAScript {
        /// The file, relative to its skill.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Declared dependencies of a script are not installed.
    #[error("missing dependencies of `{}`: {}; install them for the system's Python, for example with `apt-get install python3-…`", path.display(), missing.join(", "))]
    Dependencies {
        /// The script, relative to its skill.
        path: PathBuf,
        /// The missing dependencies, as the script names them.
        missing: Vec<String>,
    },
    /// The dependencies of a script could not be checked.
    #[error("cannot check the dependencies of `{}`: {reason}", path.display())]
    DependencyCheck {
        /// The script, relative to its skill.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A text is not a host with a port.
    #[error("invalid destination `{text}`; use `example.org:443`, `*.example.org:443` or `127.0.0.1:8080`")]
    Destination {
        /// The text as written.
        text: String,
    },
    /// This system is not supported.
    #[error("the sandbox requires Linux; on other systems the host program must provide its own executor")]
    Unsupported,
}

impl Coded for SandboxError {
    fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "sandbox-protection-missing",
            Self::Path { .. } => "sandbox-path",
            Self::Swapped { .. } => "sandbox-path-swapped",
            Self::TooWide { .. } | Self::Reserved { .. } => "sandbox-path-too-wide",
            Self::Private { .. } => "sandbox-private",
            Self::Note { .. } => "sandbox-note",
            Self::Link { .. } => "sandbox-path-link",
            Self::ProtectedLink { .. } => "sandbox-protected-link",
            Self::NotWritable { .. } => "sandbox-not-writable",
            Self::Launch { .. } => "sandbox-launch",
            Self::LauncherGone { .. } => "sandbox-launcher-gone",
            Self::Program { .. } => "sandbox-program",
            Self::Start { .. } => "sandbox-start",
            Self::Covering { .. } => "sandbox-covering",
            Self::NotAScript { .. } => "sandbox-not-a-script",
            Self::Dependencies { .. } => "sandbox-dependencies",
            Self::DependencyCheck { .. } => "sandbox-dependency-check",
            Self::Destination { .. } => "sandbox-destination",
            Self::Unsupported => "sandbox-unsupported",
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Missing { .. } => {
                "run `metier doctor` to see which protections this machine has, and how to enable the others"
            }
            Self::Swapped { .. } => "check what replaced it, then run the script again",
            Self::LauncherGone { .. } | Self::Launch { .. } => {
                "run `metier doctor` to test the sandbox on this machine"
            }
            Self::Program { .. } => {
                "install it in one of the system's directories, for example /usr/bin or /usr/local/bin"
            }
            Self::NotAScript { .. } => {
                "start the script with a `#!` line, or use the extension .sh, .py or .js"
            }
            // Their messages already contain the fix, or there is none.
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// A missing protection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingProtection {
    /// The protection.
    pub protection: Protection,
    /// Why it is missing.
    pub reason: String,
}

impl MissingProtection {
    pub(crate) fn new(protection: Protection, reason: impl Into<String>) -> Self {
        Self { protection, reason: reason.into() }
    }
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(" or ")
}

fn shown(target: Option<&Path>) -> String {
    target.map_or_else(|| "nothing".to_owned(), |target| format!("`{}`", target.display()))
}

fn name(missing: &[MissingProtection]) -> String {
    missing.iter().map(|one| format!("{} ({})", one.protection, one.reason)).collect::<Vec<_>>().join(", ")
}
