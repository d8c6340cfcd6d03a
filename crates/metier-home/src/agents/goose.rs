//! Goose and Copilot: variables are nearly all that they need.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{HostCopy, Plan, pair};
use crate::env::{HostVariables, pick};
use crate::isolation::IsolationConfig;

pub(super) fn goose(host: &HostVariables, config: &IsolationConfig, home: &Path, is_hermetic: bool) -> Plan {
    let mut plan = Plan::default();
    plan.own.extend([
        pair("XDG_CONFIG_HOME", home.join(".config").to_string_lossy()),
        pair("XDG_DATA_HOME", home.join(".local/share").to_string_lossy()),
        pair("XDG_STATE_HOME", home.join(".local/state").to_string_lossy()),
        pair("GOOSE_DISABLE_KEYRING", "1"),
        pair("GOOSE_TELEMETRY_OFF", "1"),
    ]);
    if is_hermetic {
        // Neither `.goosehints` nor `AGENTS.md`.
        plan.own.extend([pair("CONTEXT_FILE_NAMES", "[]")]);
    }
    let names = ["GOOSE_PROVIDER", "GOOSE_MODEL", "OPENAI_HOST", "OPENAI_BASE_PATH", "ANTHROPIC_HOST"];
    plan.authentication.extend(pick(host, &names));
    match &config.api_key {
        Some(key) => {
            let variable = match host.var("GOOSE_PROVIDER") {
                Some("anthropic") => "ANTHROPIC_API_KEY",
                Some("google") => "GOOGLE_API_KEY",
                _ => "OPENAI_API_KEY",
            };
            plan.authentication.extend([pair(variable, key.expose())]);
        }
        None => {
            let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"];
            plan.authentication.extend(pick(host, &keys));
            let own = host.var("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| host.at_home(".config"));
            let own = own.map(|own| own.join("goose/config.yaml"));
            if let Some(from) = own.filter(|path| path.is_file()) {
                plan.copies.push(HostCopy { from, to: ".config/goose/config.yaml".into(), needed_for: None });
            }
        }
    }
    plan
}

/// Skills that Copilot brings along.
const BUNDLED: &[&str] = &["customize-cloud-agent", "github-pr-media"];

pub(super) fn copilot(host: &HostVariables, config: &IsolationConfig, home: &Path) -> Plan {
    let mut plan = Plan::default();
    plan.own.extend([pair("XDG_CONFIG_HOME", home.join(".config").to_string_lossy())]);
    // It unpacks itself there, hundreds of megabytes at a time.
    let cache = host.var("XDG_CACHE_HOME").map(str::to_owned);
    let cache = cache.or_else(|| host.at_home(".cache").map(|path| path.to_string_lossy().into_owned()));
    plan.own.extend(cache.map(|cache| pair("XDG_CACHE_HOME", cache)));
    plan.own.extend([pair("COPILOT_AUTO_UPDATE", "false")]);
    let settings = json!({ "disabledSkills": BUNDLED });
    plan.files.push((".copilot/settings.json".into(), settings.to_string().into_bytes()));
    let names = [
        "COPILOT_PROVIDER_BASE_URL",
        "COPILOT_PROVIDER_TYPE",
        "COPILOT_PROVIDER_API_KEY",
        "COPILOT_MODEL",
        "COPILOT_OFFLINE",
    ];
    plan.authentication.extend(pick(host, &names));
    match &config.api_key {
        Some(key) => plan.authentication.extend([pair("COPILOT_PROVIDER_API_KEY", key.expose())]),
        None => plan.authentication.extend(pick(host, &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"])),
    }
    plan
}
