//! The machine that skills are checked against, as a host describes it.

use std::fmt;

use semver::Version;

/// A family of operating systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Os {
    /// Linux.
    Linux,
    /// Linux inside Windows (WSL).
    Wsl,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
    /// Another.
    Other,
}

impl fmt::Display for Os {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linux => "Linux",
            Self::Wsl => "Linux in Windows (WSL)",
            Self::MacOs => "macOS",
            Self::Windows => "Windows",
            Self::Other => "another system",
        })
    }
}

/// What a skill's requirements are checked against.
pub trait Machine {
    /// The operating system.
    fn os(&self) -> Os;

    /// Whether a program of this name can be run. Any name may be asked for; nothing is run.
    fn has_program(&self, name: &str) -> bool;

    /// The version of a program; `None` where it is not there or does not say. The name may come from a skill:
    /// an implementation must not run whatever it is given.
    fn version_of(&self, program: &str) -> Option<Version>;

    /// Whether the network can be reached; `None` where nobody has said.
    fn has_network(&self) -> Option<bool> {
        None
    }

    /// The agent that will use the skills, as `claude-code`; `None` where nobody has said.
    fn agent(&self) -> Option<&str> {
        None
    }
}

/// Whether `name` can be the name of a program, and not a path or an option.
pub fn is_program_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    name.len() <= 64
        && name.bytes().all(plain)
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}
