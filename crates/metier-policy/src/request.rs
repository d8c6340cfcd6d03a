//! A policy request: a skill, and what is to be done with it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use metier_skill::{Digest, Tier};
use serde::{Deserialize, Serialize};

use crate::reach::Reach;

/// The whole network, as a value to borrow.
pub(crate) static WHOLE: Reach = Reach::WHOLE;

/// A kind of access. Each kind is decided and approved separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Access {
    /// Loading the skill's instructions.
    Activate,
    /// Reading its files.
    Resources,
    /// Running its scripts.
    Scripts,
    /// Network access of a script.
    Network,
    /// Destructive operations of a script.
    Destructive,
}

impl Access {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Activate, Self::Resources, Self::Scripts, Self::Network, Self::Destructive];

    /// The name of the kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Activate => "activate",
            Self::Resources => "resources",
            Self::Scripts => "scripts",
            Self::Network => "network",
            Self::Destructive => "destructive",
        }
    }

    /// The access as a phrase that follows "may" or "to".
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Activate => "be loaded",
            Self::Resources => "have its files read",
            Self::Scripts => "run a script",
            Self::Network => "reach the network",
            Self::Destructive => "perform destructive operations",
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action<'a> {
    /// Load the skill.
    Activate,
    /// Read one of its files.
    Read {
        /// Its path in the skill.
        path: &'a str,
    },
    /// Run one of its scripts.
    Run {
        /// Its path in the skill.
        script: &'a str,
    },
}

/// A skill, and what is to be done with it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The skill's tier.
    pub tier: Tier,
    /// Its name.
    pub skill: &'a str,
    /// The digest of its files. Approvals are bound to it.
    pub digest: Digest,
    /// What is to be done.
    pub action: Action<'a>,
    /// The requested network destinations, if any.
    pub network: Option<&'a Reach>,
    /// Whether the request is marked as destructive.
    pub destructive: bool,
    /// Who makes the request, if not the machine's owner: the holder of a token. Their answers apply only to their own
    /// requests.
    pub principal: Option<&'a str>,
    /// The script's arguments, if known.
    pub arguments: Option<&'a [String]>,
    /// Its standard input, if known.
    pub input: Option<&'a [u8]>,
    /// Its environment variables, if known.
    pub variables: Option<&'a BTreeMap<String, String>>,
    /// The script's working directory, if known.
    pub work: Option<&'a Path>,
    /// The content of the script, to be shown in approval questions.
    pub content: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// A request without network access or destructive operations.
    pub const fn new(tier: Tier, skill: &'a str, digest: Digest, action: Action<'a>) -> Self {
        Self {
            tier,
            skill,
            digest,
            action,
            network: None,
            destructive: false,
            principal: None,
            arguments: None,
            input: None,
            variables: None,
            work: None,
            content: None,
        }
    }

    /// Adds access to the whole network.
    #[must_use]
    pub const fn with_network(self) -> Self {
        self.reaching(&WHOLE)
    }

    /// Adds access to these destinations.
    #[must_use]
    pub const fn reaching(mut self, reach: &'a Reach) -> Self {
        self.network = Some(reach);
        self
    }

    /// Marks the request as destructive.
    #[must_use]
    pub const fn destructive(mut self) -> Self {
        self.destructive = true;
        self
    }

    /// The request to load the same skill.
    pub(crate) const fn to_activate(self) -> Self {
        Self { action: Action::Activate, network: None, destructive: false, ..self }
    }

    /// The kind of access that the action itself needs.
    pub const fn access(&self) -> Access {
        match self.action {
            Action::Activate => Access::Activate,
            Action::Read { .. } => Access::Resources,
            Action::Run { .. } => Access::Scripts,
        }
    }

    /// All kinds of access that the request needs, that of the action first.
    pub fn accesses(&self) -> impl Iterator<Item = Access> + use<> {
        let network = self.network.map(|_| Access::Network);
        let destructive = self.destructive.then_some(Access::Destructive);
        [Some(self.access()), network, destructive].into_iter().flatten()
    }

    /// The network destinations for a question: the whole network, unless specified.
    pub(crate) fn reach(&self) -> &'a Reach {
        self.network.unwrap_or(&WHOLE)
    }

    /// The script, if one is run, with its path in normalised form.
    pub(crate) fn script(&self) -> Option<String> {
        match self.action {
            Action::Run { script } => Some(plain_path(script)),
            Action::Activate | Action::Read { .. } => None,
        }
    }

    /// The file that the request is about, if its path unambiguously names a file in the skill.
    pub(crate) fn file(&self) -> Result<Option<String>, ()> {
        let (Action::Run { script: path } | Action::Read { path }) = self.action else { return Ok(None) };
        let is_odd = |c: char| c.is_control() || c == '\\';
        let leads_out = path.starts_with('/') || path.split('/').any(|part| part == "..");
        let plain = plain_path(path);
        if leads_out || plain.is_empty() || path.contains(is_odd) { Err(()) } else { Ok(Some(plain)) }
    }
}

/// A path without empty parts and `.`.
fn plain_path(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>().join("/")
}
