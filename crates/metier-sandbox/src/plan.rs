//! The messages between metier and its launcher.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::executor::Limit;

/// A text as the kernel has it: any bytes except NUL. (Serde requires paths to be UTF-8.)
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Raw(Vec<u8>);

impl Raw {
    pub(crate) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    pub(crate) fn text(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }
}

impl From<&Path> for Raw {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl From<PathBuf> for Raw {
    fn from(path: PathBuf) -> Self {
        Self(path.into_os_string().into_vec())
    }
}

impl From<&OsStr> for Raw {
    fn from(text: &OsStr) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<OsString> for Raw {
    fn from(text: OsString) -> Self {
        Self(text.into_vec())
    }
}

/// How the script is isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mode {
    /// Namespaces, Landlock, filters.
    Full,
    /// Only Landlock and filters.
    Core,
    /// Nothing.
    Unprotected,
}

/// An outer path that is visible inside, at the same path, and possibly at others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Bind {
    pub(crate) path: Raw,
    /// Device and inode, if it must be exactly the chosen file.
    pub(crate) identity: Option<(u64, u64)>,
    pub(crate) kind: Kind,
    /// The outer user and group whose files appear as the script's own.
    pub(crate) owner: Option<(u32, u32)>,
    /// Other paths at which it is visible, read-only.
    pub(crate) aliases: Vec<Raw>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// To read and run.
    Read,
    /// To change.
    Write,
    /// `/dev/null` and similar devices.
    Device,
}

/// The user of the script: inside, and for the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The ids that it sees.
    pub(crate) inner: (u32, u32),
    /// The corresponding ids in metier's user namespace.
    pub(crate) outer: (u32, u32),
    /// Whether metier is root and the launcher has to become `outer`.
    pub(crate) from_root: bool,
}

/// Which network is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Net {
    None,
    Loopback,
    /// Loopback, with a listener that is passed to metier.
    Proxy,
    Host,
}

/// What init checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    /// A fallback: normally metier enforces the time limit.
    pub(crate) wall_ms: u64,
    pub(crate) cpu_ms: u64,
    /// If no cgroup limits it.
    pub(crate) memory: Option<u64>,
    /// If no cgroup limits it.
    pub(crate) processes: Option<u64>,
    pub(crate) file: u64,
    pub(crate) disk: u64,
    pub(crate) files: u64,
    pub(crate) tmp: u64,
    pub(crate) open_files: u64,
    /// For the kernel's limit, which counts per user namespace.
    pub(crate) processes_of_user: u64,
}

/// Everything the launcher needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) mode: Mode,
    pub(crate) identity: Identity,
    pub(crate) binds: Vec<Bind>,
    /// Links in the new root: path and target.
    pub(crate) links: Vec<(Raw, Raw)>,
    /// Files in the new root, with their contents.
    pub(crate) files: Vec<(Raw, Vec<u8>)>,
    /// Paths in writable binds that are read-only if they exist.
    pub(crate) protected: Vec<Raw>,
    pub(crate) network: Net,
    pub(crate) bounds: Bounds,
    pub(crate) landlock_abi: i32,
    /// Each instruction of each filter as one number.
    pub(crate) filters: Vec<Vec<u64>>,
    /// The filter that reports calls that could write; empty if nothing is reported.
    pub(crate) observer: Vec<u64>,
    pub(crate) program: Raw,
    pub(crate) arguments: Vec<Raw>,
    pub(crate) environment: Vec<(Raw, Raw)>,
    pub(crate) directory: Raw,
}

/// What failed, by category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Namespaces: unsharing, mapping ids, mounting.
    UserNamespace,
    MountNamespace,
    ProcessNamespace,
    NetworkNamespace,
    IpcNamespace,
    HostnameNamespace,
    Landlock,
    Seccomp,
    UnprivilegedUser,
    /// A path that cannot be opened.
    Path,
    /// A path that is not the chosen file.
    Swapped,
    /// A protected path that is a link.
    ProtectedLink,
    /// A file system that does not support mapped owners.
    Owner,
    /// The program cannot be run.
    Program,
    /// Anything else.
    Other,
}

/// Messages from the launcher's processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// A step failed; nothing was run.
    Failed { step: Step, what: String, path: Option<Raw>, source: Result<i32, String> },
    /// From the first process inside, if metier is root: metier has to write its id mappings.
    MapIds,
    /// From the first process inside, before the script's process is created.
    Init,
    /// The script waits to start. The sender is the script's process.
    Ready { landlock: bool, seccomp: bool },
    /// The listener for the proxy comes with this.
    Listener,
    /// The descriptor for reports of calls that could write comes with this.
    Observer,
    /// The script's first process has ended, and with it all others.
    Ended {
        code: Option<i32>,
        signal: Option<i32>,
        hit: Option<Limit>,
        cpu_ms: u64,
        memory: u64,
        written: u64,
    },
}

/// Metier's message to continue.
pub(crate) const GO: u8 = b'g';
/// Metier's message to stop the script, and to report its resource use.
pub(crate) const END: u8 = b'e';
