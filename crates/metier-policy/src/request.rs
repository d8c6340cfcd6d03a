//! What is asked of a policy: a skill, and what is to be done with it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use metier_skill::{Digest, Tier};
use serde::{Deserialize, Serialize};

use crate::reach::Reach;

/// The whole network, to be lent.
pub(crate) static WHOLE: Reach = Reach::WHOLE;

/// One kind of access. Each is decided and approved for itself.
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
    /// Letting a script reach the network.
    Network,
    /// Letting a script do what cannot be undone.
    Destructive,
}

impl Access {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Activate, Self::Resources, Self::Scripts, Self::Network, Self::Destructive];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Activate => "activate",
            Self::Resources => "resources",
            Self::Scripts => "scripts",
            Self::Network => "network",
            Self::Destructive => "destructive",
        }
    }

    /// The same as part of a sentence: "may it …".
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Activate => "be loaded",
            Self::Resources => "have its files read",
            Self::Scripts => "run a script",
            Self::Network => "reach the network",
            Self::Destructive => "do what cannot be undone",
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
    /// How far the skill is trusted.
    pub tier: Tier,
    /// Its name.
    pub skill: &'a str,
    /// The digest of its tree: what is approved are these very bytes.
    pub digest: Digest,
    /// What is to be done.
    pub action: Action<'a>,
    /// What of the network is wanted, if any.
    pub network: Option<&'a Reach>,
    /// Whether it is said to do what cannot be undone.
    pub destructive: bool,
    /// Who wants it, where that is not the person whose machine this is: the holder of a token. Their answers count for
    /// nobody else.
    pub principal: Option<&'a str>,
    /// The arguments of the script, where they are known.
    pub arguments: Option<&'a [String]>,
    /// Its standard input, where it is known.
    pub input: Option<&'a [u8]>,
    /// The variables that it gets, where they are known.
    pub variables: Option<&'a BTreeMap<String, String>>,
    /// The directory that the script works in, where it is known.
    pub work: Option<&'a Path>,
    /// The script itself, to be shown to a person.
    pub content: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// A request that wants neither the network nor anything destructive.
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

    /// The same with the whole network.
    #[must_use]
    pub const fn with_network(self) -> Self {
        self.reaching(&WHOLE)
    }

    /// The same with this of the network.
    #[must_use]
    pub const fn reaching(mut self, reach: &'a Reach) -> Self {
        self.network = Some(reach);
        self
    }

    /// The same for something that cannot be undone.
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

    /// The kinds of access that must all be had, that of the action first.
    pub fn accesses(&self) -> impl Iterator<Item = Access> + use<> {
        let network = self.network.map(|_| Access::Network);
        let destructive = self.destructive.then_some(Access::Destructive);
        [Some(self.access()), network, destructive].into_iter().flatten()
    }

    /// What of the network a question about it is about: all of it, unless it is said.
    pub(crate) fn reach(&self) -> &'a Reach {
        self.network.unwrap_or(&WHOLE)
    }

    /// The script, where one is run, in the one way to write its path.
    pub(crate) fn script(&self) -> Option<String> {
        match self.action {
            Action::Run { script } => Some(plain_path(script)),
            Action::Activate | Action::Read { .. } => None,
        }
    }

    /// The file that it is about, if its path is one that can only mean that file of the skill.
    pub(crate) fn file(&self) -> Result<Option<String>, ()> {
        let (Action::Run { script: path } | Action::Read { path }) = self.action else { return Ok(None) };
        let is_odd = |c: char| c.is_control() || c == '\\';
        let leads_out = path.starts_with('/') || path.split('/').any(|part| part == "..");
        let plain = plain_path(path);
        if leads_out || plain.is_empty() || path.contains(is_odd) { Err(()) } else { Ok(Some(plain)) }
    }
}

/// A path without parts that mean nothing.
fn plain_path(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>().join("/")
}
