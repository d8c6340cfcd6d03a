//! Protections: what each is, which a profile needs, and which were really active.

use std::fmt;

use metier_skill::Tier;
use serde::{Deserialize, Serialize};

/// One thing that keeps a script from doing harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Protection {
    /// Ids of its own: what it may do is worth nothing outside.
    UserNamespace,
    /// A file tree of its own, in which nothing is that was not put there.
    MountNamespace,
    /// Processes of its own: it sees no others, and all end together.
    ProcessNamespace,
    /// A network of its own, with nothing in it but its own loopback.
    NetworkNamespace,
    /// Shared memory, semaphores and message queues of its own.
    IpcNamespace,
    /// A host name of its own.
    HostnameNamespace,
    /// Files in the work directory that others act on cannot be changed.
    ProtectedPaths,
    /// It does not run as root, whoever started it.
    UnprivilegedUser,
    /// It has none of root's powers and can gain none.
    NoCapabilities,
    /// Set-user-id programs give it nothing.
    NoNewPrivileges,
    /// The kernel checks each file and socket against a list.
    Landlock,
    /// The kernel refuses system calls that scripts do not need.
    Seccomp,
    /// Bounds for each process: CPU time, file size, open files.
    ResourceLimits,
    /// A bound for the memory of all its processes together.
    MemoryLimit,
    /// A bound for the number of its processes.
    ProcessLimit,
    /// A session of its own, without a terminal.
    NoTerminal,
    /// No open files of metier's.
    NoDescriptors,
    /// Every process it starts ends with it.
    EndsTogether,
}

impl Protection {
    /// Every one, in the order in which they are shown.
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

    /// The word for it.
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

    /// What it does, as part of a table.
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::UserNamespace => "ids of its own",
            Self::MountNamespace => "a file tree of its own",
            Self::ProcessNamespace => "sees no other processes",
            Self::NetworkNamespace => "no network but its own loopback",
            Self::IpcNamespace => "no shared memory with others",
            Self::HostnameNamespace => "a host name of its own",
            Self::ProtectedPaths => "cannot change hooks and agents' settings",
            Self::UnprivilegedUser => "never runs as root",
            Self::NoCapabilities => "none of root's powers",
            Self::NoNewPrivileges => "set-user-id programs give nothing",
            Self::Landlock => "files checked against a list",
            Self::Seccomp => "system calls checked against a list",
            Self::ResourceLimits => "bounds for each process",
            Self::MemoryLimit => "a bound for all its memory",
            Self::ProcessLimit => "a bound for its processes",
            Self::NoTerminal => "no terminal",
            Self::NoDescriptors => "no open files of others",
            Self::EndsTogether => "all its processes end with it",
        }
    }

    /// What would enable it where it is missing.
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
            Self::Landlock => "boot a kernel of 5.13 or newer with `landlock` in `lsm=`",
            Self::Seccomp => "use a kernel built with CONFIG_SECCOMP_FILTER",
            Self::UnprivilegedUser => "let root map another user id, or start metier as an ordinary user",
            Self::MemoryLimit | Self::ProcessLimit => {
                "mount /proc, or make a cgroup with the memory and pids controllers writable for this user"
            }
            Self::NoCapabilities
            | Self::NoNewPrivileges
            | Self::ResourceLimits
            | Self::NoTerminal
            | Self::NoDescriptors => "this is a defect of metier: please report it",
        }
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which protections a script does not run without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strictness {
    /// None: it runs as any program of this user would. Only ever by an explicit wish for that run.
    Unprotected,
    /// Those that need no namespaces: Landlock, the system call filter and what goes with them.
    Core,
    /// Every one.
    Every,
}

impl Strictness {
    /// What scripts of a tier need, unless someone has approved less.
    pub const fn of_tier(tier: Tier) -> Self {
        match tier {
            Tier::Builtin | Tier::Org => Self::Core,
            Tier::User | Tier::ThirdParty => Self::Every,
        }
    }

    /// The least that an approval can bring it down to.
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

/// One protection as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MeasuredProtection {
    /// Which.
    pub protection: Protection,
    /// Whether it was in force.
    pub active: bool,
    /// How it is done, or why it is not.
    pub detail: String,
}

impl MeasuredProtection {
    /// One protection, whether it was in force, and how or why not.
    pub fn new(protection: Protection, active: bool, detail: impl Into<String>) -> Self {
        Self { protection, active, detail: detail.into() }
    }
}

/// Every protection as it was measured while the script waited to start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Protections {
    findings: Vec<MeasuredProtection>,
}

impl Protections {
    /// What was found, in the order of [`Protection::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = &MeasuredProtection> {
        self.findings.iter()
    }

    /// Whether one was in force.
    pub fn has(&self, protection: Protection) -> bool {
        self.findings.iter().any(|found| found.protection == protection && found.active)
    }

    /// Those that were not in force.
    pub fn missing(&self) -> impl Iterator<Item = &MeasuredProtection> {
        self.findings.iter().filter(|found| !found.active)
    }

    /// What was found, with `protection` as said here.
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
