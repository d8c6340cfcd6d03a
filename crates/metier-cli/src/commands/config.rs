//! `metier config`: every setting and where its value comes from.

use metier_host::{Metier, organisation, organisation_file};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::host::Flags;
use crate::output::Output;
use crate::table::{counted, one_line, pad};

/// Show every setting and where its value comes from
///
/// Settings are read from `/etc/metier/config.toml`, `~/.config/metier/config.toml` (or the file in `METIER_CONFIG`) and
/// the project's `metier.toml`, then from environment variables (`METIER_ROOTS`, `METIER_BUILTIN`, `METIER_PROFILE`,
/// `METIER_INDEX`, `METIER_JOURNAL`, `METIER_OTLP_ENDPOINT`), then from options. Later ones win. A project that is not
/// trusted can only add roots.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example of a metier.toml:
  roots = [\"skills\", \"vendor/skills:third_party\"]
  profile = \"lenient\"
  tool_names = \"dotted\"                 tools of `metier serve`: skills.read, not load_skill

  [[skills]]
  name = \"deploy-*\"
  state = \"user-only\"

  [[policy.rules]]
  skill = \"release-notes\"
  scripts = \"allow\"

Example of a config.toml, which can also configure the journal:
  journal = \"~/audit/journal.db\"        a file, or postgres://user@host/database?stream=name
  durability = \"full\"                   or \"batched\"
  record_text = false                     record digests of arguments and outputs, not texts
  keep_skills = true                      store used skills, so that the journal can be replayed

  [telemetry]
  endpoint = \"http://localhost:4318\"    traces and metrics, over OTLP

  [archive]
  keep = \"90d\"                           what `metier audit archive` leaves in the journal
  directory = \"~/audit/archives\"
  by = \"month\"                           one archive for each month

Examples:
  metier config
  metier config --json | jq '.settings'")]
pub(crate) struct Args {
    #[command(flatten)]
    catalog: Flags,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let metier = args.catalog.open(output)?;
    let config = metier.settings();
    let policies = policies(&metier)?;
    let mut settings = settings(&metier);
    settings.extend(policies);
    if args.json {
        let settings = settings.iter();
        let settings =
            settings.map(|(key, value, source)| json!({"key": key, "value": value, "source": source}));
        let rules =
            config.states.iter().flatten().map(
                |rule| json!({"skills": rule.text, "state": rule.state, "source": rule.origin.to_string()}),
            );
        let files = config
            .files
            .iter()
            .map(|(path, exists)| json!({"path": path.to_string_lossy(), "exists": exists}));
        output.json(&json!({
            "settings": settings.collect::<Vec<_>>(),
            "rules": rules.collect::<Vec<_>>(),
            "files": files.collect::<Vec<_>>(),
        }))?;
        return Ok(Exit::Done);
    }
    for (key, value, source) in &settings {
        let lines = match value {
            Value::Array(items) if items.is_empty() => vec!["none".to_owned()],
            Value::Array(items) => items.iter().map(text).collect(),
            other => vec![text(other)],
        };
        for (index, line) in lines.iter().enumerate() {
            let (key, source) = if index == 0 { (*key, format!("({source})")) } else { ("", String::new()) };
            let line = format!("{}  {}  {source}", pad(key, 12), one_line(line));
            output.line(line.trim_end())?;
        }
    }
    for rule in config.states.iter().flatten() {
        let line = format!("{}: {}", one_line(&rule.text), rule.state);
        output.line(format_args!("{}  {line}  ({})", pad("skills", 12), rule.origin))?;
    }
    for (path, exists) in &config.files {
        let exists = if *exists { "" } else { "  (does not exist)" };
        output.line(format_args!("{}  {}{exists}", pad("file", 12), one_line(&path.to_string_lossy())))?;
    }
    Ok(Exit::Done)
}

/// The policy settings of all files, the organisation's first.
fn policies(metier: &Metier) -> anyhow::Result<Vec<(&'static str, Value, String)>> {
    let path = organisation_file();
    let organisation = organisation(&path)?.map(|settings| (path, settings));
    let mut rows = vec![("policy.mode", json!(metier.policy()?.mode()), "all files combined".to_owned())];
    for (path, settings) in organisation.iter().chain(&metier.settings().policies) {
        let source = path.display().to_string();
        rows.extend(settings.mode.map(|mode| ("policy.mode", json!(mode), source.clone())));
        if !settings.deny.is_empty() {
            rows.push(("policy.deny", json!(settings.deny), source.clone()));
        }
        if !settings.rules.is_empty() {
            rows.push(("policy.rules", json!(counted(settings.rules.len(), "rule")), source));
        }
    }
    Ok(rows)
}

fn text(value: &Value) -> String {
    if value.is_null() {
        return "none".to_owned();
    }
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn settings(metier: &Metier) -> Vec<(&'static str, Value, String)> {
    let config = metier.settings();
    let tiers = config.precedence.value.tiers().iter().map(|tier| tier.as_str());
    let roots = config.roots.iter().map(|root| {
        let text = format!("{}:{}", root.value.path.display(), root.value.tier);
        ("root", json!(text), root.origin.to_string())
    });
    let others = [
        (
            "require_compatible",
            json!(config.require_compatible.value),
            config.require_compatible.origin.to_string(),
        ),
        ("usual_roots", json!(config.usual_roots.value), config.usual_roots.origin.to_string()),
        ("builtin", json!(config.builtin.value), config.builtin.origin.to_string()),
        ("profile", json!(config.profile.value.as_str()), config.profile.origin.to_string()),
        ("precedence", json!(tiers.collect::<Vec<_>>()), config.precedence.origin.to_string()),
        ("index", json!(config.index.value), config.index.origin.to_string()),
        ("scan.depth", json!(config.depth.value), config.depth.origin.to_string()),
        ("scan.entries", json!(config.entries.value), config.entries.origin.to_string()),
        ("git_host", json!(config.git_host.value), config.git_host.origin.to_string()),
        ("private_hosts", json!(config.private_hosts.value), config.private_hosts.origin.to_string()),
        ("tool_names", json!(config.tool_names.value), config.tool_names.origin.to_string()),
    ];
    let recording = &config.recording;
    let journal = metier.journal_address().ok().map(|address| address.to_string());
    let telemetry = recording.telemetry.value.as_ref().map(|table| &table.endpoint);
    let archive = recording.archive.value.as_ref().map(|setting| {
        let directory = metier.archive_directory().ok().map(|path| path.display().to_string());
        let by = setting.by.map(|_| ", by month").unwrap_or_default();
        format!("older than {} to {}{by}", setting.keep, directory.unwrap_or_default())
    });
    let recording = [
        ("journal", json!(journal), recording.journal.origin.to_string()),
        ("durability", json!(recording.durability.value), recording.durability.origin.to_string()),
        ("record_text", json!(recording.texts.value), recording.texts.origin.to_string()),
        ("keep_skills", json!(recording.keep_skills.value), recording.keep_skills.origin.to_string()),
        ("telemetry", json!(telemetry), recording.telemetry.origin.to_string()),
        ("archive", json!(archive), recording.archive.origin.to_string()),
    ];
    roots.chain(others).chain(recording).collect()
}
