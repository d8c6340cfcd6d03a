//! Protections: what each one is, which ones a profile requires, and which ones were really active.

use std::fmt;

use metier_skill::Tier;
use serde::{Deserialize, Serialize};

/// A protection that restricts a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Protection {
    /// A separate user namespace: its ids have no meaning outside.
    UserNamespace,
    /// A separate file tree that contains only allowed paths.
    MountNamespace,
    /// A separate process namespace: it sees no other processes, and all end together.
    ProcessNamespace,
    /// A separate network that contains only its own loopback.
    NetworkNamespace,
    /// Separate shared memory, semaphores and message queues.
    IpcNamespace,
    /// A separate host name.
    HostnameNamespace,
    /// Files in the work directory that other programs act on cannot be changed.
    ProtectedPaths,
    /// It does not run as root, even if root started it.
    UnprivilegedUser,
    /// It has no capabilities and cannot gain any.
    NoCapabilities,
    /// Set-user-id programs give it no privileges.
    NoNewPrivileges,
    /// The kernel checks each file and socket against a list (Landlock).
    Landlock,
    /// The kernel refuses system calls that scripts do not need (seccomp).
    Seccomp,
    /// Limits for each process: CPU time, file size, open files.
    ResourceLimits,
    /// A limit for the memory of all its processes together.
    MemoryLimit,
    /// A limit for the number of its processes.
    ProcessLimit,
    /// A separate session, without a terminal.
    NoTerminal,
    /// No open files of metier.
    NoDescriptors,
    /// Every process it starts ends with it.
    EndsTogether,
}

impl Protection {
    /// All protections, in the order in which they are shown.
    pub const ALL: [Self; 18] = [
        Self::UserNamespace,
        Self::MountNamespace,
        Self::ProcessNamespace,
        Self::NetworkNamespace,
        Self::IpcNamespace,
        Self::HostnameNamespace,
        Self::ProtectedPaths,
        Self::UnprivilegedUser,
        Self::NoCapabilities,
        Self::NoNewPrivileges,
        Self::Landlock,
        Self::Seccomp,
        Self::ResourceLimits,
        Self::MemoryLimit,
        Self::ProcessLimit,
        Self::NoTerminal,
        Self::NoDescriptors,
        Self::EndsTogether,
    ];

    /// The name of the protection.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserNamespace => "user_namespace",
            Self::MountNamespace => "mount_namespace",
            Self::ProcessNamespace => "process_namespace",
            Self::NetworkNamespace => "network_namespace",
            Self::IpcNamespace => "ipc_namespace",
            Self::HostnameNamespace => "hostname_namespace",
            Self::ProtectedPaths => "protected_paths",
            Self::UnprivilegedUser => "unprivileged_user",
            Self::NoCapabilities => "no_capabilities",
            Self::NoNewPrivileges => "no_new_privileges",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::ResourceLimits => "resource_limits",
            Self::MemoryLimit => "memory_limit",
            Self::ProcessLimit => "process_limit",
            Self::NoTerminal => "no_terminal",
            Self::NoDescriptors => "no_descriptors",
            Self::EndsTogether => "ends_together",
        }
    }

    /// A short description, for a table.
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::UserNamespace => "separate user ids",
            Self::MountNamespace => "separate file tree",
            Self::ProcessNamespace => "no access to other processes",
            Self::NetworkNamespace => "no network except its own loopback",
            Self::IpcNamespace => "no shared memory with other processes",
            Self::HostnameNamespace => "separate host name",
            Self::ProtectedPaths => "hooks and agent settings are read-only",
            Self::UnprivilegedUser => "never runs as root",
            Self::NoCapabilities => "no root capabilities",
            Self::NoNewPrivileges => "set-user-id programs have no effect",
            Self::Landlock => "files checked against a list",
            Self::Seccomp => "system calls checked against a list",
            Self::ResourceLimits => "limits for each process",
            Self::MemoryLimit => "memory limit for all its processes",
            Self::ProcessLimit => "limit for the number of processes",
            Self::NoTerminal => "no terminal",
            Self::NoDescriptors => "no inherited open files",
            Self::EndsTogether => "all its processes end with it",
        }
    }

    /// How to enable it if it is missing.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::UserNamespace
            | Self::MountNamespace
            | Self::ProcessNamespace
            | Self::NetworkNamespace
            | Self::IpcNamespace
            | Self::HostnameNamespace
            | Self::ProtectedPaths
            | Self::EndsTogether => {
                "allow user namespaces: `sysctl user.max_user_namespaces=10000`; on Debian also \
                 `sysctl kernel.unprivileged_userns_clone=1`, on Ubuntu `sysctl \
                 kernel.apparmor_restrict_unprivileged_userns=0`; in a container, run it with a seccomp profile \
                 that allows `unshare` and `mount`"
            }
            Self::Landlock => "boot a kernel 5.13 or newer with `landlock` in `lsm=`",
            Self::Seccomp => "use a kernel built with CONFIG_SECCOMP_FILTER",
            Self::UnprivilegedUser => "let root map another user id, or start metier as an ordinary user",
            Self::MemoryLimit | Self::ProcessLimit => {
                "mount /proc, or make a cgroup with the memory and pids controllers writable by this user"
            }
            Self::NoCapabilities
            | Self::NoNewPrivileges
            | Self::ResourceLimits
            | Self::NoTerminal
            | Self::NoDescriptors => "this is a bug in metier; please report it",
        }
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The protections that a script requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strictness {
    /// None: it runs like any program of this user. Only by an explicit request for that run.
    Unprotected,
    /// Those that need no namespaces: Landlock, the system call filter and related ones.
    Core,
    /// All of them.
    Every,
}

impl Strictness {
    /// What scripts of a tier require, unless less was approved.
    pub const fn of_tier(tier: Tier) -> Self {
        match tier {
            Tier::Builtin | Tier::Org => Self::Core,
            Tier::User | Tier::ThirdParty => Self::Every,
        }
    }

    /// The minimum that an approval can reduce it to.
    pub const fn floor_of_tier(tier: Tier) -> Self {
        match tier {
            Tier::Builtin | Tier::Org | Tier::User => Self::Core,
            Tier::ThirdParty => Self::Every,
        }
    }

    /// Whether a script must not start without `protection`.
    pub const fn needs(self, protection: Protection) -> bool {
        match self {
            Self::Unprotected => false,
            Self::Every => true,
            Self::Core => !matches!(
                protection,
                Protection::UserNamespace
                    | Protection::MountNamespace
                    | Protection::ProcessNamespace
                    | Protection::NetworkNamespace
                    | Protection::IpcNamespace
                    | Protection::HostnameNamespace
                    | Protection::ProtectedPaths
                    | Protection::EndsTogether
            ),
        }
    }
}

/// One measured protection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MeasuredProtection {
    /// The protection.
    pub protection: Protection,
    /// Whether it was active.
    pub active: bool,
    /// How it is implemented, or why it is not active.
    pub detail: String,
}

impl MeasuredProtection {
    /// A protection, whether it was active, and how or why not.
    pub fn new(protection: Protection, active: bool, detail: impl Into<String>) -> Self {
        Self { protection, active, detail: detail.into() }
    }
}

/// Every protection as measured while the script waited to start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Protections {
    findings: Vec<MeasuredProtection>,
}

impl Protections {
    /// The measurements, in the order of [`Protection::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = &MeasuredProtection> {
        self.findings.iter()
    }

    /// Whether one was active.
    pub fn has(&self, protection: Protection) -> bool {
        self.findings.iter().any(|found| found.protection == protection && found.active)
    }

    /// Those that were not active.
    pub fn missing(&self) -> impl Iterator<Item = &MeasuredProtection> {
        self.findings.iter().filter(|found| !found.active)
    }

    /// The same, with `protection` replaced.
    pub(crate) fn replace(&mut self, protection: Protection, active: bool, detail: impl Into<String>) {
        self.findings.retain(|found| found.protection != protection);
        self.record(protection, active, detail);
    }

    pub(crate) fn record(&mut self, protection: Protection, active: bool, detail: impl Into<String>) {
        self.findings.push(MeasuredProtection::new(protection, active, detail));
        self.findings.sort_by_key(|found| found.protection);
    }
}

impl FromIterator<MeasuredProtection> for Protections {
    fn from_iter<T: IntoIterator<Item = MeasuredProtection>>(findings: T) -> Self {
        let mut findings: Vec<MeasuredProtection> = findings.into_iter().collect();
        findings.sort_by_key(|found| found.protection);
        Self { findings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serde knows every variant, and names them all when it meets one that is none.
    #[test]
    fn all_is_complete_and_in_order() {
        let error = serde_json::from_str::<Protection>("\"none\"").unwrap_err().to_string();
        let known: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        assert_eq!(known, Protection::ALL.map(Protection::as_str), "{error}");
        for protection in Protection::ALL {
            assert_eq!(serde_json::to_value(protection).unwrap(), protection.as_str());
        }
    }

    #[test]
    fn third_party_needs_every_one() {
        let needs =
            |tier| Protection::ALL.iter().filter(|one| Strictness::of_tier(tier).needs(**one)).count();
        assert_eq!(needs(Tier::ThirdParty), Protection::ALL.len());
        assert_eq!(needs(Tier::User), Protection::ALL.len());
        assert_eq!(needs(Tier::Org), 10);
        assert_eq!(Strictness::floor_of_tier(Tier::ThirdParty), Strictness::Every);
        assert_eq!(Strictness::floor_of_tier(Tier::User), Strictness::Core);
    }
}
