//! The list of settings: what each is called in files, variables and flags, what it is if nothing sets it, and what it means.

/// One setting, as documentation and messages have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingInfo {
    /// The key in a settings file, with dots before keys of tables.
    pub key: &'static str,
    /// What kind of value it takes.
    pub kind: &'static str,
    /// The value if nothing sets it; empty if there is none.
    pub default: &'static str,
    /// The variable that sets it.
    pub variable: Option<&'static str>,
    /// The flag of commands that sets it.
    pub flag: Option<&'static str>,
    /// What it does.
    pub meaning: &'static str,
}

/// A setting that only files have.
const fn file(
    key: &'static str,
    kind: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> SettingInfo {
    SettingInfo { key, kind, default, variable: None, flag: None, meaning }
}

impl SettingInfo {
    const fn variable(mut self, name: &'static str) -> Self {
        self.variable = Some(name);
        self
    }

    const fn flag(mut self, name: &'static str) -> Self {
        self.flag = Some(name);
        self
    }
}

/// Variables that do not correspond to a setting.
pub const OTHER_VARIABLES: &[(&str, &str)] = &[
    ("METIER_CONFIG", "the settings file to read instead of `~/.config/metier/config.toml`"),
    ("METIER_TASK", "the task that a session belongs to, as its records name it (`task_id`)"),
    ("METIER_OTLP_HEADERS", "headers for `METIER_OTLP_ENDPOINT`, as `name=value,name=value`"),
];

/// Every setting, in the order in which documentation shows them.
pub const SETTINGS: &[SettingInfo] = &[
    file("roots", "list of `DIR` or `DIR:TIER`", "", "Skill roots beside the usual ones. A path is relative to the file, or begins with `~`. The variable separates roots with commas; variable and flag replace all other roots.")
        .variable("METIER_ROOTS")
        .flag("--root"),
    file("require_compatible", "`true` or `false`", "false", "Whether a skill is refused if this machine, or a skill that it needs, does not fit its requirements. Without it, the model is told. A project can only switch it on."),
    file("usual_roots", "`true` or `false`", "true", "Whether the usual roots are searched."),
    file("builtin", "`true` or `false`", "true", "Whether the skills inside metier are in the catalog.")
        .variable("METIER_BUILTIN"),
    file("profile", "`strict`, `standard` or `lenient`", "lenient", "Which rules the skills of the catalog are checked against.")
        .variable("METIER_PROFILE")
        .flag("--profile"),
    file("precedence", "list of tiers", "builtin, org, user, third_party", "Which tier wins if several skills have one name. Tiers that are not named follow in the usual order."),
    file("index", "`true` or `false`", "true", "Whether an index of the catalog is kept.")
        .variable("METIER_INDEX")
        .flag("--no-index"),
    file("scan.depth", "number", "6", "How many directories deep a root is searched."),
    file("scan.entries", "number", "1000000", "How many directory entries of a root are read at most."),
    file("git_host", "address", "https://github.com", "Where `metier install owner/repository` looks."),
    file("private_hosts", "list of hosts", "", "Hosts that may have private addresses when skills are downloaded from them. A project cannot set this."),
    file("tool_names", "`plain` or `dotted`", "plain", "What the tools for models are called: `load_skill` or `skills.read`.")
        .flag("--tool-names"),
    file("skills", "list of tables", "", "Rules for the states of skills: `name`, `tier` and `path` (globs) say which skills, `state` is `on`, `name-only`, `user-only` or `off`. The last rule that matches decides within one file.")
        .flag("--state"),
    file("policy.mode", "`allowlist`, `pre_approve` or `advisory`", "allowlist", "How `allowed-tools` is enforced."),
    file("policy.deny", "list of rules", "", "Tool calls that are denied, whatever skills declare. The rules are written as in `allowed-tools`."),
    file("policy.only_through_skills", "list of rules", "", "Tools that can be called only while a skill that declares them in `allowed-tools` is active, such as `mcp__db__*`. The rules are written as in `allowed-tools`."),
    file("policy.rules", "list of tables", "", "What skills may do, and which tools of MCP servers may be called: `name`, `message`, `tier`, `skill`, `script`, `server`, `tool` and `digest` say when a rule applies, `activate`, `resources`, `scripts`, `network`, `destructive` and `tools` are `allow`, `ask` or `deny`."),
    file("servers", "tables", "", "MCP servers behind `metier gateway`. `[servers.NAME]` has `command`, `args`, `env` and `cwd`, or `url` and `headers`, and `timeout` in seconds. `${NAME}` stands for a variable."),
    file("server_tool_names", "`qualified` or `plain`", "qualified", "What the tools of these servers are called: `mcp__server__tool`, or as the server calls them unless two are the same."),
    file("journal", "path or `postgres://` address", "~/.local/state/metier/journal.db", "Where the journal is. A project cannot set this.")
        .variable("METIER_JOURNAL")
        .flag("--journal"),
    file("durability", "`full` or `batched`", "full", "Whether a record is on the disk before the answer, or about a second later. A project cannot set this."),
    file("record_text", "`true` or `false`", "false", "Whether arguments, inputs and outputs are recorded as text, not only as digests. A project cannot set this."),
    file("keep_skills", "`true` or `false`", "true", "Whether every skill that is used is kept by its digest, so that a journal can be replayed. A project cannot set this."),
    file("telemetry.endpoint", "address", "", "The OTLP collector for traces and metrics. A project cannot set this.")
        .variable("METIER_OTLP_ENDPOINT"),
    file("telemetry.headers", "table", "", "Headers for the collector. A project cannot set this."),
    file("telemetry.service", "text", "metier", "The name of this service at the collector. A project cannot set this."),
    file("archive.keep", "duration such as `90d`, `12w` or `36h`", "", "How long records stay in the journal. `metier audit archive` archives older ones, and `metier doctor` reports when it is due. A project cannot set this."),
    file("archive.directory", "path", "", "Where archives are written; without it, `archives` beside the journal. A project cannot set this."),
    file("archive.by", "`month`", "", "Whether there is one archive for each complete month. A project cannot set this."),
];

/// Every variable that metier reads, beside those of the system.
pub(crate) fn variables() -> Vec<&'static str> {
    let settings = SETTINGS.iter().filter_map(|setting| setting.variable);
    settings.chain(OTHER_VARIABLES.iter().map(|(name, _)| *name)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::settings::file::File;

    /// The keys that a table takes, as the error about an unknown one lists them.
    fn keys(before: &str) -> BTreeSet<String> {
        let error = toml::from_str::<File>(&format!("{before}no_such_key = 1")).unwrap_err();
        let prefix = before.trim().trim_matches(['[', ']']).to_owned();
        let names = error.message().split('`').skip(1).step_by(2).skip(1);
        names
            .map(|name| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") })
            .collect()
    }

    #[test]
    fn the_list_has_every_key_of_a_settings_file_and_no_other() {
        let mut wanted = BTreeSet::new();
        for key in keys("") {
            let inner = if ["scan", "policy", "telemetry", "archive"].contains(&key.as_str()) {
                keys(&format!("[{key}]\n"))
            } else {
                BTreeSet::from([key])
            };
            wanted.extend(inner);
        }
        let listed: BTreeSet<String> = SETTINGS.iter().map(|setting| setting.key.to_owned()).collect();
        assert_eq!(listed, wanted);
        assert_eq!(listed.len(), SETTINGS.len(), "a setting is listed twice");
    }
}
