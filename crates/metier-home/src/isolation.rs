//! How an agent is isolated: its network, its own sandbox, and the environment variables of the host.

use std::collections::BTreeMap;
use std::path::PathBuf;

use metier_prompt::SkillMount;

use crate::agents::{BedrockConfig, KEYS, host_settings_env};
use crate::env::HostVariables;
use crate::error::HomeError;

/// The network access of an agent's commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkPolicy {
    /// Allowed hosts by name; none by default.
    pub allowed_domains: Vec<String>,
    /// Allowed Unix sockets by path.
    pub unix_sockets: Vec<PathBuf>,
    /// Whether all Unix sockets are allowed.
    pub all_unix_sockets: bool,
    /// Whether commands may listen on ports.
    pub local_binding: bool,
    /// The port of an HTTP proxy.
    pub http_proxy: Option<u16>,
    /// The port of a SOCKS proxy.
    pub socks_proxy: Option<u16>,
}

impl NetworkPolicy {
    /// No network access.
    pub fn no_network() -> Self {
        Self::default()
    }

    /// Access to these hosts only.
    pub fn domains<T: Into<String>>(domains: impl IntoIterator<Item = T>) -> Self {
        Self { allowed_domains: domains.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// Settings for an agent's own sandbox, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the agent's settings")]
pub struct AgentSandbox {
    /// Whether commands run in it.
    pub is_enabled: bool,
    /// Whether commands in it need no approval.
    pub allows_bash: bool,
    /// Whether a command that the sandbox blocks may run outside of it.
    pub allows_unsandboxed: bool,
    /// Whether the agent refuses to start if its sandbox is not available.
    pub fails_if_unavailable: bool,
    /// Commands that always run outside of it.
    pub excluded_commands: Vec<String>,
    /// Paths that can be written to, in addition to the working directory.
    pub writable: Vec<PathBuf>,
    /// Paths that cannot be written to.
    pub unwritable: Vec<PathBuf>,
    /// Paths that cannot be read.
    pub unreadable: Vec<PathBuf>,
    /// Whether a weaker sandbox is accepted inside a container.
    pub allows_weaker_nested: bool,
    /// File violations that are not reported, by command.
    pub ignored_files: BTreeMap<String, Vec<String>>,
    /// Network violations that are not reported, by command.
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

/// How an agent is isolated from the host.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IsolationConfig {
    /// The network access of its commands.
    pub network: NetworkPolicy,
    /// Settings for its own sandbox.
    pub sandbox: AgentSandbox,
    /// Additional environment variables. They replace others of the same name.
    pub env: BTreeMap<String, String>,
    /// An API key to use instead of the host's credentials.
    pub api_key: Option<Secret>,
    /// Whether it gets the host's environment variables, except those that are or look like secrets.
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
    /// With this API key.
    pub fn with_api_key(key: impl Into<String>) -> Result<Self, HomeError> {
        let key = key.into();
        if key.trim().is_empty() {
            return Err(HomeError::Auth { reason: "the API key is empty".to_owned() });
        }
        Ok(Self { api_key: Some(Secret::new(key)), ..Self::default() })
    }

    /// With the credentials that the host has for Claude Code; an error if it has none.
    pub fn inherit_host_auth(host: &HostVariables) -> Result<Self, HomeError> {
        let has_key =
            KEYS.iter().any(|name| host.var(name).is_some() || host_settings_env(host).contains_key(*name));
        if has_key || BedrockConfig::detect(host).is_some() {
            return Ok(Self::default());
        }
        let reason = "the host has no way to authenticate: set ANTHROPIC_API_KEY, or CLAUDE_CODE_USE_BEDROCK=1 with AWS_REGION";
        Err(HomeError::Auth { reason: reason.to_owned() })
    }

    /// With the host's key for the Anthropic API, from its environment variables.
    pub fn for_anthropic_api(host: &HostVariables) -> Result<Self, HomeError> {
        let missing = || HomeError::Auth { reason: "ANTHROPIC_API_KEY is not set".to_owned() };
        Self::with_api_key(host.var("ANTHROPIC_API_KEY").ok_or_else(missing)?)
    }

    /// With the host's settings for Amazon Bedrock.
    pub fn for_bedrock(host: &HostVariables, aws_config: Option<PathBuf>) -> Result<Self, HomeError> {
        let reason = "Bedrock is not configured: set CLAUDE_CODE_USE_BEDROCK=1 and AWS_REGION";
        BedrockConfig::detect(host).ok_or_else(|| HomeError::Auth { reason: reason.to_owned() })?;
        Ok(Self { aws_config, ..Self::default() })
    }
}

/// A secret text. Debug output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}
