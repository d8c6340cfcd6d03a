//! Claude Code: its settings, and the many ways in which it authenticates.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{AWS, HostCopy, Plan, pair};
use crate::env::{HostVariables, Variables, pick};
use crate::error::HomeError;
use crate::home::TEMPORARY;
use crate::isolation::{AgentSandbox, IsolationConfig, NetworkPolicy};

/// Variables with credentials for models.
pub(crate) const KEYS: &[&str] = &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// Variables with the addresses of models.
const PLACES: &[&str] =
    &["ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_CUSTOM_HEADERS"];

const BEDROCK: &str = "CLAUDE_CODE_USE_BEDROCK";
const VERTEX: &str = "CLAUDE_CODE_USE_VERTEX";
const GOOGLE: &[&str] = &[
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
];

/// Models on Amazon Bedrock, as the host is set up for them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BedrockConfig {
    /// The region.
    pub region: String,
    /// The profile, if one is named.
    pub profile: Option<String>,
    /// Where it is configured: `shell` or `host_settings`.
    pub source: &'static str,
}

impl BedrockConfig {
    /// What the host says, in its variables or in its settings for Claude Code; variables win.
    pub fn detect(host: &HostVariables) -> Option<Self> {
        let settings = host_settings_env(host);
        let find = |env: &Variables, name: &str| env.get(name).cloned().filter(|value| !value.is_empty());
        for (env, source) in [(&host.env, "shell"), (&settings, "host_settings")] {
            let value = |name: &str| find(env, name).or_else(|| find(&settings, name));
            if find(env, BEDROCK).as_deref() == Some("1") {
                let region = value("AWS_REGION")?;
                return Some(Self { region, profile: value("AWS_PROFILE"), source });
            }
        }
        None
    }
}

pub(super) fn plan(host: &HostVariables, config: &IsolationConfig, home: &Path) -> Result<Plan, HomeError> {
    let mut plan = Plan::default();
    let bedrock = BedrockConfig::detect(host).filter(|_| config.api_key.is_none());
    let mut settings_env = Map::from_iter([("DISABLE_AUTOUPDATER".to_owned(), json!("1"))]);
    let mut extra = Map::new();
    match &config.api_key {
        Some(key) => {
            plan.authentication.extend([
                pair("ANTHROPIC_API_KEY", key.expose()),
                pair(BEDROCK, "0"),
                pair("CLAUDE_USE_BEDROCK", "0"),
            ]);
            plan.authentication.extend(pick(host, &["ANTHROPIC_BASE_URL"]));
            settings_env.insert(BEDROCK.to_owned(), json!("0"));
            settings_env.insert("CLAUDE_USE_BEDROCK".to_owned(), json!("0"));
        }
        None => {
            inherit(host, config, bedrock.as_ref(), &mut plan)?;
            if bedrock.is_some() {
                settings_env.insert(BEDROCK.to_owned(), json!("1"));
            }
            if let Some(refresh) = host_settings(host).get("awsAuthRefresh") {
                extra.insert("awsAuthRefresh".to_owned(), refresh.clone());
            }
        }
    }
    plan.own.extend([
        pair("DISABLE_AUTOUPDATER", "1"),
        pair("DISABLE_TELEMETRY", "1"),
        pair("DISABLE_ERROR_REPORTING", "1"),
        pair("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        pair("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "1"),
    ]);
    if host.is_root {
        // As root it does not run without asking, unless this is explicitly allowed.
        plan.own.extend([pair("IS_SANDBOX", "1")]);
    }
    let mut settings = json!({
        "env": settings_env,
        "sandbox": sandbox(&config.sandbox, &config.network, &home.join(TEMPORARY)),
        // The list is then exactly that of the skills that were mounted.
        "disableBundledSkills": true,
        "enabledPlugins": { "plugin-authoring@builtin": false },
        // By default the agent leaves out descriptions if there are more than some dozens of skills. Mounted
        // skills should be visible.
        "skillListingBudgetFraction": 0.5,
    });
    if let Some(settings) = settings.as_object_mut() {
        settings.extend(extra);
    }
    // A value of plain data is always JSON.
    plan.files
        .push((".claude/settings.json".into(), serde_json::to_vec_pretty(&settings).unwrap_or_default()));
    Ok(plan)
}

/// What the host authenticates with.
fn inherit(
    host: &HostVariables,
    config: &IsolationConfig,
    bedrock: Option<&BedrockConfig>,
    plan: &mut Plan,
) -> Result<(), HomeError> {
    let settings = host_settings_env(host);
    let value = |name: &str| host.var(name).map(str::to_owned).or_else(|| settings.get(name).cloned());
    // Keys to a cloud are for those who have their models there.
    let of_aws = if bedrock.is_some() { AWS } else { &[] };
    let of_google = if value(VERTEX).as_deref() == Some("1") { GOOGLE } else { &[] };
    let names = KEYS.iter().chain(PLACES).chain([&BEDROCK, &VERTEX]).chain(of_aws).chain(of_google);
    for name in names {
        plan.authentication.extend(value(name).map(|value| pair(name, value)));
    }
    let credentials = directory(host).map(|own| own.join(".credentials.json"));
    if let Some(from) = credentials.filter(|path| path.is_file()) {
        let to = PathBuf::from(".claude/.credentials.json");
        plan.copies.push(HostCopy { from, to, needed_for: None });
    }
    if bedrock.is_none() {
        return Ok(());
    }
    let auth = |reason: &str| HomeError::Auth { reason: reason.to_owned() };
    let from = match &config.aws_config {
        Some(path) => path.clone(),
        None => host
            .at_home(".aws")
            .ok_or_else(|| auth("Bedrock is configured, and HOME is not set to find ~/.aws"))?,
    };
    if !from.is_dir() {
        return Err(auth(&format!("AWS config directory not found: {}; Bedrock needs it", from.display())));
    }
    plan.copies.push(HostCopy { from, to: ".aws".into(), needed_for: Some("Bedrock") });
    Ok(())
}

/// Where the host's own Claude Code has its things.
fn directory(host: &HostVariables) -> Option<PathBuf> {
    host.var("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| host.at_home(".claude"))
}

fn host_settings(host: &HostVariables) -> Map<String, Value> {
    let text = directory(host).map(|own| own.join("settings.json")).and_then(|path| fs::read(path).ok());
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

pub(crate) fn host_settings_env(host: &HostVariables) -> Variables {
    let settings = host_settings(host);
    let env = settings.get("env").and_then(Value::as_object).into_iter().flatten();
    env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// The settings that Claude Code documents for its sandbox.
fn sandbox(sandbox: &AgentSandbox, network: &NetworkPolicy, temporary: &Path) -> Value {
    let mut reach = Map::from_iter([("allowedDomains".to_owned(), json!(network.allowed_domains))]);
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            reach.insert(name.to_owned(), value);
        }
    };
    set("allowUnixSockets", (!network.unix_sockets.is_empty()).then(|| json!(network.unix_sockets)));
    set("allowAllUnixSockets", network.all_unix_sockets.then_some(Value::Bool(true)));
    set("allowLocalBinding", network.local_binding.then_some(Value::Bool(true)));
    set("httpProxyPort", network.http_proxy.map(Value::from));
    set("socksProxyPort", network.socks_proxy.map(Value::from));
    let mut settings = Map::from_iter([
        ("enabled".to_owned(), json!(sandbox.is_enabled)),
        ("autoAllowBashIfSandboxed".to_owned(), json!(sandbox.allows_bash)),
        ("allowUnsandboxedCommands".to_owned(), json!(sandbox.allows_unsandboxed)),
        ("network".to_owned(), Value::Object(reach)),
    ]);
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            settings.insert(name.to_owned(), value);
        }
    };
    set("failIfUnavailable", sandbox.fails_if_unavailable.then_some(Value::Bool(true)));
    set(
        "excludedCommands",
        (!sandbox.excluded_commands.is_empty()).then(|| json!(sandbox.excluded_commands)),
    );
    set("enableWeakerNestedSandbox", sandbox.allows_weaker_nested.then_some(Value::Bool(true)));
    let mut files = Map::new();
    let mut writable = sandbox.writable.clone();
    if sandbox.is_enabled && !writable.iter().any(|path| path == temporary) {
        writable.push(temporary.to_owned());
    }
    for (name, paths) in
        [("allowWrite", &writable), ("denyWrite", &sandbox.unwritable), ("denyRead", &sandbox.unreadable)]
    {
        if !paths.is_empty() {
            files.insert(name.to_owned(), json!(paths));
        }
    }
    set("filesystem", (!files.is_empty()).then_some(Value::Object(files)));
    let mut ignored = Map::new();
    for (name, violations) in [("file", &sandbox.ignored_files), ("network", &sandbox.ignored_network)] {
        if !violations.is_empty() {
            ignored.insert(name.to_owned(), json!(violations));
        }
    }
    set("ignoreViolations", (!ignored.is_empty()).then_some(Value::Object(ignored)));
    Value::Object(settings)
}
