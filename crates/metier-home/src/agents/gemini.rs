//! Gemini CLI: settings, whether the working directory is trusted, and that skills may be activated.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Plan, pair};
use crate::agent::Agent;
use crate::env::{HostVariables, pick};
use crate::error::HomeError;
use crate::home::HomeOptions;
use crate::isolation::IsolationConfig;
use crate::project::{ProjectFileKind, files_above, project_of};

/// Skills that it brings along.
const BUNDLED: &[&str] = &["skill-creator", "antigravity-support"];

/// Without a terminal, actions that would need approval are not available at all.
const POLICY: &str = "[[rule]]\ntoolName = \"activate_skill\"\ndecision = \"allow\"\npriority = 500\n";

/// The same where all others are asked for. Its lists of tasks change nothing but what it shows.
const ASKING: &str = "\n[[rule]]\ntoolName = [\"update_topic\", \"write_todos\"]\ndecision = \"allow\"\npriority = 500\n\
                      \n[[rule]]\ntoolName = \"*\"\ndecision = \"ask_user\"\npriority = 400\n";

pub(super) fn plan(
    host: &HostVariables,
    config: &IsolationConfig,
    home: &Path,
    options: &HomeOptions,
) -> Plan {
    let mut plan = Plan::default();
    plan.own.extend([pair("GEMINI_CLI_HOME", home.to_string_lossy())]);
    let agent = Agent::Gemini.title();
    let warning = match (options.is_hermetic, options.working_directory.as_deref()) {
        (true, _) => None,
        (false, Some(directory)) => dangerous(directory).map(|path| HomeError::Untrusted { agent, path }),
        (false, None) => Some(HomeError::UnknownDirectory { agent }),
    };
    let is_trusted = warning.is_none();
    match warning {
        None => plan.own.extend([pair("GEMINI_CLI_TRUST_WORKSPACE", "true")]),
        Some(warning) => plan.warnings.push(warning),
    }
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
        "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": !is_trusted } },
        // A `.env` of the working directory could send everything that is said to another server.
        "advanced": { "ignoreLocalEnv": true },
        "skills": { "enabled": true, "disabled": BUNDLED },
    });
    let asking = if options.asks_permission { ASKING } else { "" };
    plan.files.push((".gemini/policies/metier.toml".into(), format!("{POLICY}{asking}").into_bytes()));
    // A value of plain data is always JSON.
    plan.files
        .push((".gemini/settings.json".into(), serde_json::to_vec_pretty(&settings).unwrap_or_default()));
    plan
}

/// What of a working directory could start programs if it is trusted. Gemini CLI would ask; a home must not answer for the person.
fn dangerous(working_directory: &Path) -> Option<PathBuf> {
    use ProjectFileKind::{Hooks, Servers, Settings, Subagents};
    // What lies above the project is the person's own.
    let project = project_of(working_directory);
    let files = files_above(Agent::Gemini, working_directory).into_iter();
    let files = files.filter(|file| file.path.starts_with(project));
    let mut dangerous = files.filter(|file| matches!(file.kind, Hooks | Servers | Settings | Subagents));
    dangerous.next().map(|file| file.path)
}
