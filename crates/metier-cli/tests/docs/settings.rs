//! `docs/reference/settings.md`, made from the list of settings.

use std::fmt::Write as _;

use metier_host::{OTHER_VARIABLES, SETTINGS};

use super::generated;

const HEAD: &str = "\
# Reference: settings

```toml
# ~/.config/metier/config.toml
profile = \"standard\"
record_text = true

[policy]
mode = \"pre_approve\"
```

metier reads these files, and later ones win: `/etc/metier/config.toml`,
`~/.config/metier/config.toml` and `metier.toml` of the project. Then come variables, then flags.
`metier config` shows each value and where it came from. This page is made from the code:
`UPDATE_DOCS=1 cargo test -p metier-cli docs` writes it.

A project that is not [trusted](../cli.md#trust) only adds roots, as `third_party`. What
`/etc/metier/config.toml` says about the journal, records and telemetry cannot be changed elsewhere.
`/etc/metier/policy.toml` has the keys of `policy` without the prefix: [the policy](../policy.md#settings).
";

#[test]
fn the_page_of_settings_is_made_from_the_list() {
    let mut page = HEAD.to_owned();
    page.push_str("\n## Settings\n\n| setting | type | default | variable | flag | meaning |\n|---|---|---|---|---|---|\n");
    let code = |text: &str| if text.is_empty() { "–".to_owned() } else { format!("`{text}`") };
    for setting in SETTINGS {
        let (variable, flag) =
            (code(setting.variable.unwrap_or_default()), code(setting.flag.unwrap_or_default()));
        let (key, default) = (setting.key, code(setting.default));
        writeln!(
            page,
            "| `{key}` | {} | {default} | {variable} | {flag} | {} |",
            setting.kind, setting.meaning
        )
        .unwrap();
    }
    page.push_str("\n## Other variables\n\n| variable | meaning |\n|---|---|\n");
    for (name, meaning) in OTHER_VARIABLES {
        writeln!(page, "| `{name}` | {meaning} |").unwrap();
    }
    page.push_str("| `NO_COLOR` | no colours, whatever its value |\n| `COLUMNS` | the width of tables on a terminal |\n");
    generated("docs/reference/settings.md", &page);
}

/// The list says what `metier config` shows where nothing is set.
#[test]
fn the_defaults_of_the_list_hold() {
    let place = crate::support::Place::new();
    let shown = place.json_at_home(&["config", "--json"]);
    let rows = shown["settings"].as_array().unwrap();
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::Array(items) => {
            items.iter().filter_map(|item| item.as_str()).collect::<Vec<_>>().join(", ")
        }
        serde_json::Value::String(text) => {
            let home = std::fs::canonicalize(place.path()).unwrap().join("me");
            text.replace(home.to_str().unwrap(), "~")
        }
        other => other.to_string(),
    };
    let mut count = 0;
    for row in rows {
        let Some(setting) = SETTINGS.iter().find(|setting| row["key"] == setting.key) else { continue };
        count += 1;
        assert_eq!(text(&row["value"]), setting.default, "{}", setting.key);
    }
    assert!(count >= 14, "only {count} settings are shown");
}
