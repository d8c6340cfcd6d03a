//! What metier tells its launcher, and what the launcher answers.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::executor::Limit;

/// A text as the kernel has it: any bytes but NUL. (Serde would have paths be UTF-8.)
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

/// How the script is contained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mode {
    /// Namespaces, Landlock, filters.
    Full,
    /// Landlock and filters alone.
    Core,
    /// Nothing.
    Unprotected,
}

/// Something of the outside that is shown inside, at the same path, and perhaps at others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Bind {
    pub(crate) path: Raw,
    /// Device and inode, where it must be one that was chosen.
    pub(crate) identity: Option<(u64, u64)>,
    pub(crate) kind: Kind,
    /// The user and group outside whose files are shown as the script's own.
    pub(crate) owner: Option<(u32, u32)>,
    /// Where else it is shown, read-only.
    pub(crate) aliases: Vec<Raw>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// To read and run.
    Read,
    /// To change.
    Write,
    /// `/dev/null` and its like.
    Device,
}

/// Who the script is: inside, and for the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The ids that it sees.
    pub(crate) inner: (u32, u32),
    /// The ids that they are in metier's user namespace.
    pub(crate) outer: (u32, u32),
    /// Whether metier is root and the launcher has to become `outer`.
    pub(crate) from_root: bool,
}

/// Which network is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Net {
    None,
    Loopback,
    /// Loopback, with a listener that is handed to metier.
    Proxy,
    Host,
}

/// What the watch inside checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    /// Metier ends it in time, unless it is held up itself.
    pub(crate) wall_ms: u64,
    pub(crate) cpu_ms: u64,
    /// Where no cgroup bounds it.
    pub(crate) memory: Option<u64>,
    /// Where no cgroup bounds it.
    pub(crate) processes: Option<u64>,
    pub(crate) file: u64,
    pub(crate) disk: u64,
    pub(crate) files: u64,
    pub(crate) tmp: u64,
    pub(crate) open_files: u64,
    /// For the limit of the kernel, which counts per user namespace.
    pub(crate) processes_of_user: u64,
}

/// Everything the launcher needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) mode: Mode,
    pub(crate) identity: Identity,
    pub(crate) binds: Vec<Bind>,
    /// Links in the new root: where, and to what.
    pub(crate) links: Vec<(Raw, Raw)>,
    /// Files in the new root, with their contents.
    pub(crate) files: Vec<(Raw, Vec<u8>)>,
    /// Paths in writable binds that are shown read-only where they exist.
    pub(crate) protected: Vec<Raw>,
    pub(crate) network: Net,
    pub(crate) bounds: Bounds,
    pub(crate) landlock_abi: i32,
    /// Each instruction of each filter as one number.
    pub(crate) filters: Vec<Vec<u64>>,
    /// The filter that tells of calls that could write; empty where nobody is told.
    pub(crate) observer: Vec<u64>,
    pub(crate) program: Raw,
    pub(crate) arguments: Vec<Raw>,
    pub(crate) environment: Vec<(Raw, Raw)>,
    pub(crate) directory: Raw,
}

/// What failed, and what that means.
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
    /// A path that is another thing than was chosen.
    Swapped,
    /// A protected path that is a link.
    ProtectedLink,
    /// A file system that cannot show files as another user's.
    Owner,
    /// The program cannot be run.
    Program,
    /// Anything else.
    Other,
}

/// What the launcher's processes say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// A step failed; nothing was run.
    Failed { step: Step, what: String, path: Option<Raw>, source: Result<i32, String> },
    /// From the first process inside, which is root's: its ids are to be written by metier.
    MapIds,
    /// From the first process inside, before the script's is made.
    Init,
    /// The script waits to be started. The sender is the script's process.
    Ready { landlock: bool, seccomp: bool },
    /// The listener for the proxy comes with this.
    Listener,
    /// Where the kernel tells of calls that could write comes with this.
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

/// What metier says to go on.
pub(crate) const GO: u8 = b'g';
/// What metier says to end the script, and to tell what it used.
pub(crate) const END: u8 = b'e';
