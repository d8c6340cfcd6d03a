//! Gemini CLI: settings, that the working directory is trusted, and that skills may be activated.

use std::path::Path;

use serde_json::json;

use super::{Plan, pair};
use crate::env::{Host, pick};
use crate::isolation::IsolationConfig;

/// Skills that it brings along.
const BUNDLED: &[&str] = &["skill-creator", "antigravity-support"];

/// Without a terminal, what it would ask about is not there at all.
const POLICY: &str = "[[rule]]\ntoolName = \"activate_skill\"\ndecision = \"allow\"\npriority = 500\n";

pub(super) fn plan(host: &Host, config: &IsolationConfig, home: &Path) -> Plan {
    let mut plan = Plan::default();
    plan.own.extend([
        pair("GEMINI_CLI_HOME", home.to_string_lossy()),
        pair("GEMINI_CLI_TRUST_WORKSPACE", "true"),
    ]);
    match &config.api_key {
        Some(key) => {
            plan.authentication.extend([pair("GEMINI_API_KEY", key.expose())]);
            plan.authentication.extend(pick(host, &["GOOGLE_GEMINI_BASE_URL"]));
        }
        None => {
            let keys =
                ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"];
            plan.authentication.extend(pick(host, &keys));
        }
    }
    let settings = json!({
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
        "skills": { "enabled": true, "disabled": BUNDLED },
    });
    plan.files.push((".gemini/policies/metier.toml".into(), POLICY.as_bytes().to_vec()));
    // A value of plain data is always JSON.
    plan.files
        .push((".gemini/settings.json".into(), serde_json::to_vec_pretty(&settings).unwrap_or_default()));
    plan
}
