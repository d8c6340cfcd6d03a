//! How far an agent is kept apart: what it may reach, what it runs in, what it gets of the host's environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use metier_prompt::SkillMount;

use crate::agents::{BedrockConfig, KEYS, host_settings_env};
use crate::env::HostVariables;
use crate::error::HomeError;

/// What of the network an agent's commands may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkPolicy {
    /// Hosts by name; none by default.
    pub allowed_domains: Vec<String>,
    /// Unix sockets by path.
    pub unix_sockets: Vec<PathBuf>,
    /// Any unix socket.
    pub all_unix_sockets: bool,
    /// Whether ports may be listened on.
    pub local_binding: bool,
    /// The port of a proxy for HTTP.
    pub http_proxy: Option<u16>,
    /// The port of a SOCKS proxy.
    pub socks_proxy: Option<u16>,
}

impl NetworkPolicy {
    /// Nothing.
    pub fn no_network() -> Self {
        Self::default()
    }

    /// These hosts alone.
    pub fn domains<T: Into<String>>(domains: impl IntoIterator<Item = T>) -> Self {
        Self { allowed_domains: domains.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// What an agent's own sandbox is told, where it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the agent's settings")]
pub struct AgentSandbox {
    /// Whether commands run in it.
    pub is_enabled: bool,
    /// Whether commands in it need no approval.
    pub allows_bash: bool,
    /// Whether commands may run without it when it stops them.
    pub allows_unsandboxed: bool,
    /// Whether the agent refuses to start where it has none.
    pub fails_if_unavailable: bool,
    /// Commands that always run without it.
    pub excluded_commands: Vec<String>,
    /// What can be written to beside the working directory.
    pub writable: Vec<PathBuf>,
    /// What cannot be written to.
    pub unwritable: Vec<PathBuf>,
    /// What cannot be read.
    pub unreadable: Vec<PathBuf>,
    /// Whether a weaker one will do inside a container.
    pub allows_weaker_nested: bool,
    /// Violations that are not spoken of, by command: of files.
    pub ignored_files: BTreeMap<String, Vec<String>>,
    /// Violations that are not spoken of, by command: of the network.
    pub ignored_network: BTreeMap<String, Vec<String>>,
}

impl Default for AgentSandbox {
    fn default() -> Self {
        Self {
            is_enabled: true,
            allows_bash: true,
            allows_unsandboxed: false,
            fails_if_unavailable: false,
            excluded_commands: Vec::new(),
            writable: Vec::new(),
            unwritable: Vec::new(),
            unreadable: Vec::new(),
            allows_weaker_nested: false,
            ignored_files: BTreeMap::new(),
            ignored_network: BTreeMap::new(),
        }
    }
}

/// How far an agent is kept apart from the host.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IsolationConfig {
    /// What its commands may reach.
    pub network: NetworkPolicy,
    /// What its own sandbox is told.
    pub sandbox: AgentSandbox,
    /// Variables that it gets, whatever else it would get.
    pub env: BTreeMap<String, String>,
    /// A key to authenticate with, instead of what the host has.
    pub api_key: Option<Secret>,
    /// Whether it gets the host's environment, without what is or looks like somebody's secret.
    pub include_host_env: bool,
    /// Skills that are mounted before all others.
    pub skills: Vec<SkillMount>,
    /// Whether skills are mounted at all.
    pub install_skills: bool,
    /// A directory with settings for AWS, instead of `~/.aws`.
    pub aws_config: Option<PathBuf>,
}

impl Default for IsolationConfig {
    fn default() -> Self {
        Self {
            network: NetworkPolicy::default(),
            sandbox: AgentSandbox::default(),
            env: BTreeMap::new(),
            api_key: None,
            include_host_env: false,
            skills: Vec::new(),
            install_skills: true,
            aws_config: None,
        }
    }
}

impl IsolationConfig {
    /// With a key of its own.
    pub fn with_api_key(key: impl Into<String>) -> Result<Self, HomeError> {
        let key = key.into();
        if key.trim().is_empty() {
            return Err(HomeError::Auth { reason: "the API key is empty".to_owned() });
        }
        Ok(Self { api_key: Some(Secret::new(key)), ..Self::default() })
    }

    /// As the host authenticates for Claude Code, whichever way that is; an error where it does not.
    pub fn inherit_host_auth(host: &HostVariables) -> Result<Self, HomeError> {
        let has_key =
            KEYS.iter().any(|name| host.var(name).is_some() || host_settings_env(host).contains_key(*name));
        if has_key || BedrockConfig::detect(host).is_some() {
            return Ok(Self::default());
        }
        let reason = "the host has no way to authenticate: set ANTHROPIC_API_KEY, or CLAUDE_CODE_USE_BEDROCK=1 with AWS_REGION";
        Err(HomeError::Auth { reason: reason.to_owned() })
    }

    /// With the host's key for Anthropic's API, from its variables.
    pub fn for_anthropic_api(host: &HostVariables) -> Result<Self, HomeError> {
        let missing = || HomeError::Auth { reason: "ANTHROPIC_API_KEY is not set".to_owned() };
        Self::with_api_key(host.var("ANTHROPIC_API_KEY").ok_or_else(missing)?)
    }

    /// With Amazon Bedrock, as the host is set up for it.
    pub fn for_bedrock(host: &HostVariables, aws_config: Option<PathBuf>) -> Result<Self, HomeError> {
        let reason = "Bedrock is not configured: set CLAUDE_CODE_USE_BEDROCK=1 and AWS_REGION";
        BedrockConfig::detect(host).ok_or_else(|| HomeError::Auth { reason: reason.to_owned() })?;
        Ok(Self { aws_config, ..Self::default() })
    }
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// What it is.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}
