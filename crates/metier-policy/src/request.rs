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
    /// Calling the tools of an MCP server.
    Tools,
}

impl Access {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Activate, Self::Resources, Self::Scripts, Self::Network, Self::Destructive, Self::Tools];

    /// The name of the kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Activate => "activate",
            Self::Resources => "resources",
            Self::Scripts => "scripts",
            Self::Network => "network",
            Self::Destructive => "destructive",
            Self::Tools => "tools",
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
            Self::Tools => "have its tools called",
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
    /// Call a tool of an MCP server.
    Call {
        /// The server's name in the settings.
        server: &'a str,
        /// The tool, as the server calls it.
        tool: &'a str,
        /// Why it needs approval even if no rule of the policy asks for it.
        concern: Option<ToolConcern>,
    },
}

/// Why a tool call needs approval even if no rule of the policy asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolConcern {
    /// In the mode `pre_approve`, no rule of an active skill approves it.
    NotPreApproved,
    /// The server has changed the tool's definition since it was first seen.
    Changed,
}

/// A skill, and what is to be done with it; or an MCP server, and which of its tools is to be called.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The skill's tier.
    pub tier: Tier,
    /// Its name, or that of the server.
    pub skill: &'a str,
    /// The digest of its files, or of the tool's definition. Approvals are bound to it.
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
    /// The script's arguments, if known; for a tool, its arguments as one JSON text.
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

    /// A request to call a tool of an MCP server. The digest is that of the tool's definition, in which the server is
    /// named.
    pub const fn to_call(
        server: &'a str,
        tool: &'a str,
        definition: Digest,
        concern: Option<ToolConcern>,
    ) -> Self {
        Self::new(Tier::User, server, definition, Action::Call { server, tool, concern })
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
            Action::Call { .. } => Access::Tools,
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

    /// The tool, if one is called.
    pub(crate) const fn tool(&self) -> Option<&'a str> {
        match self.action {
            Action::Call { tool, .. } => Some(tool),
            _ => None,
        }
    }

    /// The script, if one is run, with its path in normalised form.
    pub(crate) fn script(&self) -> Option<String> {
        match self.action {
            Action::Run { script } => Some(plain_path(script)),
            _ => None,
        }
    }

    /// The part of the skill or server that answers are about, if any: the script that is run, or the tool that is
    /// called.
    pub(crate) fn part(&self) -> Option<String> {
        self.script().or_else(|| self.tool().map(str::to_owned))
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
