//! Codex: a `CODEX_HOME` of its own, so that no skill of the host's comes along.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{HostCopy, Plan, pair};
use crate::env::{HostVariables, pick};
use crate::home::HomeOptions;
use crate::isolation::IsolationConfig;

pub(super) fn plan(
    host: &HostVariables,
    config: &IsolationConfig,
    home: &Path,
    options: &HomeOptions,
) -> Plan {
    let mut plan = Plan::default();
    plan.own.extend([pair("CODEX_HOME", home.join(".codex").to_string_lossy())]);
    match &config.api_key {
        Some(key) => plan.authentication.extend([pair("CODEX_API_KEY", key.expose())]),
        None => {
            plan.authentication.extend(pick(host, &["CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"]));
            let own = host.var("CODEX_HOME").map(PathBuf::from).or_else(|| host.at_home(".codex"));
            if let Some(from) = own.map(|own| own.join("auth.json")).filter(|path| path.is_file()) {
                plan.copies.push(HostCopy { from, to: ".codex/auth.json".into(), needed_for: None });
            }
        }
    }
    plan.files.push((".codex/config.toml".into(), settings(options).to_string().into_bytes()));
    plan
}

/// No bundled skills, nothing that phones anywhere, and none of the skills that are to stay out: Codex has no switch for all of
/// a working directory's, but one for each.
fn settings(options: &HomeOptions) -> Table {
    let hidden = &options.hidden;
    let table = |pairs: Vec<(&str, Value)>| -> Value {
        Value::Table(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    };
    let off = || table(vec![("enabled", false.into())]);
    let hide = |path: &PathBuf| {
        table(vec![("path", path.to_string_lossy().into_owned().into()), ("enabled", false.into())])
    };
    let mut skills = vec![("bundled", off())];
    if !hidden.is_empty() {
        skills.push(("config", Value::Array(hidden.iter().map(hide).collect())));
    }
    let all = [
        ("check_for_update_on_startup", Value::from(false)),
        ("analytics", off()),
        ("feedback", off()),
        ("otel", table(vec![("exporter", "none".into())])),
        ("skills", table(skills)),
        ("features", table(vec![("plugins", false.into())])),
    ];
    // No `AGENTS.md`.
    let no_instructions = options.is_hermetic.then(|| ("project_doc_max_bytes", Value::from(0)));
    all.into_iter().chain(no_instructions).map(|(name, value)| (name.to_owned(), value)).collect()
}
