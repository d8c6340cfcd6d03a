//! The permissions of a script: paths, network, environment, limits. Plain data; nothing is enforced here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use metier_skill::Tier;

use rustix::fs::OFlags;

use crate::SandboxError;
use crate::links::open_without_links;
use crate::protection::Strictness;
use crate::work::WorkDirectory;

/// A file or directory, pinned to its identity when it was chosen.
///
/// A path alone can name another file a moment later. The file that is put into the sandbox is compared with this. The
/// handle is kept open, so that no other file can get the same inode number meanwhile.
///
/// ```
/// # fn main() -> Result<(), metier_sandbox::SandboxError> {
/// let place = metier_sandbox::PinnedPath::pin("/usr")?;
/// assert_eq!(place.path(), std::path::Path::new("/usr"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct PinnedPath {
    path: PathBuf,
    handle: Arc<OwnedFd>,
    device: u64,
    inode: u64,
    owner: (u32, u32),
    /// The other paths at which it is visible.
    aliases: Vec<PathBuf>,
}

impl PinnedPath {
    /// Pins the current file at `path`, with every link resolved.
    pub fn pin(path: impl AsRef<Path>) -> Result<Self, SandboxError> {
        let path = path.as_ref();
        let error = |source: io::Error| SandboxError::Path { path: path.to_owned(), source };
        let resolved = path.canonicalize().map_err(error)?;
        let handle = open_without_links(&resolved, OFlags::empty()).map_err(|errno| error(errno.into()))?;
        Self::held(resolved, handle).map_err(error)
    }

    /// Pins an open handle, which was opened at this path.
    pub(crate) fn held(path: PathBuf, handle: OwnedFd) -> io::Result<Self> {
        let stat = rustix::fs::fstat(&handle)?;
        let owner = (stat.st_uid, stat.st_gid);
        let (device, inode) = (stat.st_dev, stat.st_ino);
        Ok(Self { path, handle: Arc::new(handle), device, inode, owner, aliases: Vec::new() })
    }

    /// Makes it also visible at another path inside, read-only there as well: for example a private copy of a skill, at
    /// the path that the author of the script knows. Only for entries of [`SandboxProfile::readable`]; can be called
    /// several times.
    ///
    /// At that path it covers what is there, for example the skill itself in the work directory. If the path is inside
    /// another entry of the profile and nothing exists there, it is left out, because a mount point would have to be
    /// created outside. Without namespaces there is no such path, so rely on [`path`](Self::path).
    ///
    /// A path that would cover the system, or another entry or its parent, is refused with
    /// [`TooWide`](SandboxError::TooWide) when the job is run. Files in the system's directories
    /// ([`system_paths`](crate::system_paths)) need no alias: they are already visible.
    #[must_use]
    pub fn also_at(mut self, path: impl Into<PathBuf>) -> Self {
        // Normalised, without a slash at its end.
        let path: PathBuf = path.into().components().collect();
        if path != self.path && !self.aliases.contains(&path) {
            self.aliases.push(path);
        }
        self
    }

    /// Its path, the same inside and outside.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The other paths at which it is visible, if there are namespaces.
    pub fn aliases(&self) -> &[PathBuf] {
        &self.aliases
    }

    /// Whether an open file is this file or directory.
    pub fn is(&self, opened: &Metadata) -> bool {
        (opened.dev(), opened.ino()) == (self.device, self.inode)
    }

    #[cfg(target_os = "linux")]
    pub(crate) const fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// The user and group that own it.
    pub(crate) const fn owner(&self) -> (u32, u32) {
        self.owner
    }
}

/// The handle gives no access to the content.
impl AsFd for PinnedPath {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl PartialEq for PinnedPath {
    fn eq(&self, other: &Self) -> bool {
        (&self.path, self.device, self.inode, &self.aliases)
            == (&other.path, other.device, other.inode, &other.aliases)
    }
}

impl Eq for PinnedPath {}

/// The network access of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Network {
    /// None, and no network sockets.
    None,
    /// Only its own loopback.
    #[default]
    Loopback,
    /// Its own loopback, and a proxy there that connects only to these destinations.
    Proxy(Vec<Destination>),
    /// The network of this machine.
    Host,
}

/// A host and a port that may be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Destination {
    /// Parses `host:port`, `host` (port 443), `*.host:port`, `1.2.3.4:port` or `[::1]:port`.
    pub fn parse(text: &str) -> Result<Self, SandboxError> {
        let error = || SandboxError::Destination { text: text.to_owned() };
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(error)?;
                (host, rest.strip_prefix(':').map(str::to_owned))
            }
            None => match text.rsplit_once(':') {
                Some((host, port)) => (host, Some(port.to_owned())),
                None => (text, None),
            },
        };
        let port = port.as_deref().unwrap_or("443").parse().map_err(|_| error())?;
        let name = host.strip_prefix("*.").unwrap_or(host);
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
        if name.is_empty() || port == 0 || !name.chars().all(fits) {
            return Err(error());
        }
        Ok(Self { host: host.to_ascii_lowercase(), port })
    }

    /// Whether it was written as an address and not as a name.
    pub(crate) fn is_address(&self) -> bool {
        self.host.parse::<std::net::IpAddr>().is_ok()
    }

    /// Whether it matches `host` and `port`, as a script requests them.
    pub(crate) fn covers(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.port == port
            && match self.host.strip_prefix("*.") {
                Some(domain) => {
                    host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
                }
                None => self.host == host,
            }
    }
}

/// `host:port`, as it is read.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// Limits. Reaching one stops the script, and the outcome names it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunLimits {
    /// How long it may take.
    pub wall: Duration,
    /// The CPU time of all its processes.
    pub cpu: Duration,
    /// The memory of all its processes, in bytes.
    pub memory: u64,
    /// The number of processes and threads at a time.
    pub processes: u64,
    /// The size of one file, in bytes.
    pub file: u64,
    /// The bytes that all its processes may write to disk.
    pub disk: u64,
    /// The number of new files and directories on the file system of the work directory.
    pub files: u64,
    /// The size of the private `/tmp` in bytes, and the same for `/dev/shm`.
    pub tmp: u64,
    /// The number of open files of one process.
    pub open_files: u64,
    /// The bytes of output, on each of its two streams.
    pub output: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            wall: Duration::from_mins(2),
            cpu: Duration::from_mins(2),
            memory: 1024 * MIB,
            processes: 256,
            file: 1024 * MIB,
            disk: 1024 * MIB,
            files: 100_000,
            tmp: 256 * MIB,
            open_files: 1024,
            output: 4 * MIB,
        }
    }
}

/// The permissions of a script, and the protections it requires.
///
/// ```no_run
/// use metier_sandbox::{Network, PinnedPath, SandboxProfile, ReservedPaths, WorkDirectory};
/// use metier_skill::Tier;
///
/// # fn main() -> Result<(), metier_sandbox::SandboxError> {
/// let reserved = ReservedPaths::default().home("/home/ada");
/// let mut profile = SandboxProfile::new(Tier::ThirdParty, WorkDirectory::open("work", &reserved)?);
/// profile.add_skill(PinnedPath::pin("skills/pdf")?);
/// profile.network = Network::None;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SandboxProfile {
    /// The required protections.
    pub strictness: Strictness,
    /// What it may read and run, in addition to the system's programs.
    pub readable: Vec<PinnedPath>,
    /// What it may change. The work directory is the first.
    pub writable: Vec<WorkDirectory>,
    /// Where it starts.
    pub directory: PathBuf,
    /// Paths in each writable directory that are protected: files that other programs load ([`OBEYED`](crate::OBEYED)).
    /// Files that metier loads are in [`WorkDirectory::kept`].
    pub protected: Vec<PathBuf>,
    /// Its network access.
    pub network: Network,
    /// Its environment: these variables and no others.
    pub environment: BTreeMap<OsString, OsString>,
    /// Its limits.
    pub limits: RunLimits,
}

/// The `PATH` inside.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl SandboxProfile {
    /// The default for a script of a skill of this tier: `work` is writable and the current directory; nothing else is
    /// accessible.
    pub fn new(tier: Tier, work: WorkDirectory) -> Self {
        let own = [
            ("PATH", PATH),
            ("HOME", "/tmp"),
            ("TMPDIR", "/tmp"),
            ("LANG", "C.UTF-8"),
            ("USER", "skill"),
            ("LOGNAME", "skill"),
            ("SHELL", "/bin/sh"),
        ];
        Self {
            strictness: Strictness::of_tier(tier),
            readable: Vec::new(),
            directory: work.path().to_owned(),
            writable: vec![work],
            protected: crate::obeyed::protected(),
            network: Network::default(),
            environment: own.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            limits: RunLimits::default(),
        }
    }

    /// Adds a copy of the script's skill. If namespaces allow it, and nothing else would be covered, it is also visible
    /// at the path of the skill itself; `original` may lead there through links.
    pub fn add_skill_copy(&mut self, copy: PinnedPath, original: &Path) {
        self.add_skill(copy);
        let real = original.canonicalize().unwrap_or_else(|_| original.to_owned());
        let mut given = self.readable.iter().chain(self.writable.iter().map(WorkDirectory::place));
        let is_given = given.any(|place| original.starts_with(place.path()));
        // A link in the work directory exists inside too, and leads to the path of the copy.
        let by_links = (original != real && !is_given).then(|| original.to_owned());
        for path in [Some(real), by_links].into_iter().flatten() {
            let Some(copy) = self.readable.pop() else { return };
            self.readable.push(copy.clone().also_at(path));
            if crate::width::check_aliases(self).is_err() {
                self.readable.pop();
                self.readable.push(copy);
            }
        }
    }

    /// The protected paths of one of the writable directories.
    #[cfg(target_os = "linux")]
    pub(crate) fn protected_in(&self, work: &WorkDirectory) -> Vec<PathBuf> {
        let mut all = self.protected.clone();
        all.extend(work.kept().iter().filter(|path| !self.protected.contains(path)).cloned());
        all
    }

    /// Adds the script's skill: readable, and named in the environment.
    pub fn add_skill(&mut self, skill: PinnedPath) {
        for name in ["METIER_SKILL_DIR", "CLAUDE_SKILL_DIR"] {
            self.environment.insert(name.into(), skill.path().into());
        }
        self.readable.push(skill);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations() {
        let covers =
            |allowed: &str, host: &str, port| Destination::parse(allowed).unwrap().covers(host, port);
        assert!(covers("example.org", "example.org", 443));
        assert!(covers("Example.org:80", "EXAMPLE.ORG.", 80));
        assert!(!covers("example.org", "example.org", 80));
        assert!(!covers("example.org", "notexample.org", 443));
        assert!(!covers("example.org", "example.org.evil.test", 443));
        assert!(covers("*.example.org", "a.b.example.org", 443));
        assert!(!covers("*.example.org", "example.org", 443));
        assert!(!covers("*.example.org", "evilexample.org", 443));
        assert!(!covers("*.example.org", ".example.org", 443));
        assert!(covers("[::1]:8080", "::1", 8080));
        for bad in ["", ":443", "host:", "host:0", "host:99999", "ho st", "[::1", "a/b", "*.", "user@host"] {
            assert!(Destination::parse(bad).is_err(), "{bad}");
        }
        for text in ["example.org:443", "*.example.org:80", "127.0.0.1:8080", "[::1]:8080"] {
            assert_eq!(Destination::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_place_is_what_a_link_leads_to() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink("real", directory.path().join("link")).unwrap();
        let place = PinnedPath::pin(directory.path().join("link")).unwrap();
        assert_eq!(place, PinnedPath::pin(real).unwrap());
        assert!(PinnedPath::pin(directory.path().join("none")).is_err());
    }
}
