//! What keeps a script from being started. What happens to a script that runs is an [`RunOutcome`](crate::RunOutcome).

use std::io;
use std::path::{Path, PathBuf};

use metier_skill::Coded;

use crate::protection::Protection;

/// Why a script was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// A protection that the profile needs cannot be had here.
    #[error("this machine cannot give the script the protection it needs: {}", name(missing))]
    Missing {
        /// Which, and why.
        missing: Vec<MissingProtection>,
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
    /// A place of the person's or of metier's, which no script changes.
    #[error("`{}` cannot be given to a script: it {how} {what} (`{}`); choose a directory for this work alone", path.display(), place.display())]
    Reserved {
        /// The path.
        path: PathBuf,
        /// `is`, `is in` or `contains`.
        how: &'static str,
        /// What is there, as `a home directory`.
        what: &'static str,
        /// Where that is.
        place: PathBuf,
    },
    /// There is no place for metier's own directories of a run.
    #[error(
        "no private directory could be made in {}; make one of them writable, with mode 1777",
        listed(paths)
    )]
    Private {
        /// Where it was tried.
        paths: Vec<PathBuf>,
        /// Why not, at the last.
        source: io::Error,
    },
    /// What is noted of the runs in a work directory cannot be read.
    #[error(
        "cannot read `{}`, the note of what scripts may have left in the work directory: it is damaged or from another version of metier; check the directory for hooks, settings and instructions that you do not know, then remove the note",
        path.display()
    )]
    Note {
        /// The file.
        path: PathBuf,
    },
    /// A link in the path of a directory that a script is to be given.
    #[error("`{}` leads through a link to {}; give the directory itself, if that is what you mean", path.display(), shown(target.as_deref()))]
    Link {
        /// The path.
        path: PathBuf,
        /// Where it leads, if anywhere.
        target: Option<PathBuf>,
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
    /// A program outside of the sandbox cannot be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A path cannot be covered for a program that must not see it.
    #[error("cannot cover {}: {step}", path.as_ref().map_or_else(|| "files".to_owned(), |path| path.display().to_string()))]
    Covering {
        /// What failed.
        step: String,
        /// The path, where it is about one.
        path: Option<PathBuf>,
        /// Whether the machine does not allow the namespaces that this needs.
        is_refused: bool,
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
    /// Whether what a script says that it needs is there could not be found out.
    #[error("the dependencies of `{}` could not be checked: {reason}", path.display())]
    DependencyCheck {
        /// The script, in its skill.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Not a host and a port.
    #[error("`{text}` is no destination: write `example.org:443`, `*.example.org:443` or `127.0.0.1:8080`")]
    Destination {
        /// What was written.
        text: String,
    },
    /// This system is not supported.
    #[error(
        "metier can contain scripts only on Linux; on other systems the host program must bring its own executor"
    )]
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
                "run `metier doctor` to see which protections this machine has, and what enables the others"
            }
            Self::Swapped { .. } => "check what was put in its place, then run the script again",
            Self::LauncherGone { .. } | Self::Launch { .. } => {
                "run `metier doctor` to test the sandbox on this machine"
            }
            Self::Program { .. } => {
                "install it in one of the system's directories, such as /usr/bin or /usr/local/bin"
            }
            Self::NotAScript { .. } => {
                "begin the script with a `#!` line, or give it a name that ends in .sh, .py or .js"
            }
            // Their messages say it, or there is nothing to do.
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// A protection that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingProtection {
    /// Which.
    pub protection: Protection,
    /// What failed.
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
