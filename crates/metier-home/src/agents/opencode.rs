//! `OpenCode`: everything that it would keep under the XDG directories, in the home.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{AWS, HostCopy, Plan, pair};
use crate::agent::Agent;
use crate::env::{HostVariables, pick};
use crate::home::HomeOptions;
use crate::isolation::IsolationConfig;

/// Its own skill is not one that was mounted.
const SKILL: &[(&str, &str)] = &[("*", "allow"), ("customize-opencode", "deny")];

/// Its lists of tasks. They change nothing but what it shows.
const TASKS: &[&str] = &["todoread", "todowrite"];

pub(super) fn plan(
    host: &HostVariables,
    config: &IsolationConfig,
    home: &Path,
    options: &HomeOptions,
) -> Plan {
    let mut plan = Plan::default();
    for (name, path) in [
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_CACHE_HOME", ".cache"),
    ] {
        plan.own.extend([pair(name, home.join(path).to_string_lossy())]);
    }
    let mut settings = json!({
        "autoupdate": false,
        "share": "disabled",
        "permission": permission(options.asks_permission),
    });
    if options.is_hermetic {
        // Its switches close all directories that it looks in, the home's as well; so it is told of that one by its path.
        settings["skills"] = json!({ "paths": [home.join(Agent::OpenCode.skills_directory())] });
        plan.own.extend([
            pair("OPENCODE_DISABLE_EXTERNAL_SKILLS", "1"),
            pair("OPENCODE_DISABLE_CLAUDE_CODE_PROMPT", "1"),
        ]);
    }
    if options.is_hermetic || options.asks_permission {
        // Rules of the project would come after ours, and count more.
        plan.own.extend([pair("OPENCODE_DISABLE_PROJECT_CONFIG", "1")]);
    }
    plan.own.extend([
        pair("OPENCODE_CONFIG_CONTENT", settings.to_string()),
        pair("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        pair("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        pair("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        pair("OPENCODE_DISABLE_SHARE", "1"),
    ]);
    if let Some(key) = &config.api_key {
        plan.authentication.extend([pair("ANTHROPIC_API_KEY", key.expose())]);
        return plan;
    }
    let keys = [
        "OPENCODE_AUTH_CONTENT",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
    ];
    plan.authentication.extend(pick(host, &keys));
    let data = host.var("XDG_DATA_HOME").map(PathBuf::from).or_else(|| host.at_home(".local/share"));
    let auth = data.map(|data| data.join("opencode/auth.json")).filter(|path| path.is_file());
    if let Some(from) = auth.filter(|_| host.var("OPENCODE_AUTH_CONTENT").is_none()) {
        plan.copies.push(HostCopy { from, to: ".local/share/opencode/auth.json".into(), needed_for: None });
    }
    // Variables for models at Amazon.
    let aws = pick(host, AWS);
    let directory = config.aws_config.clone().or_else(|| host.at_home(".aws").filter(|_| !aws.is_empty()));
    if let Some(from) = directory.filter(|path| path.is_dir()) {
        plan.copies.push(HostCopy { from, to: ".aws".into(), needed_for: None });
    }
    plan.authentication.extend(aws);
    plan
}

/// Later rules count more, and those that ask begin with all.
fn permission(asks: bool) -> Value {
    let mut rules = Map::new();
    if asks {
        rules.insert("*".to_owned(), json!("ask"));
        rules.extend(TASKS.iter().map(|&tool| (tool.to_owned(), json!("allow"))));
    }
    let skill = SKILL.iter().map(|&(name, action)| (name.to_owned(), json!(action)));
    rules.insert("skill".to_owned(), Value::Object(skill.collect()));
    Value::Object(rules)
}
