//! Hooks added to settings of every form and removed again.

use std::fs;
use std::path::PathBuf;

use metier_guard::{
    GuardContent, HookProgram, InstalledHook, MergeTrace, add_hooks, find_hooks, guard_files, has_hooks,
    hooks_of, read_jsonc, remove_hooks,
};
use metier_home::Agent;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The agents whose settings are shared with the person's.
const MERGED: [Agent; 3] = [Agent::ClaudeCode, Agent::Codex, Agent::Gemini];

fn hooks(agent: Agent, program: &str) -> Value {
    match guard_files(agent, &HookProgram::new(program).unwrap(), "x").remove(0).content {
        GuardContent::Merged(value) => value,
        GuardContent::Whole(_) => unreachable!(),
    }
}

/// Settings as people have them.
fn examples() -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/guard/settings");
    let mut all: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap())
        })
        .collect();
    all.sort();
    let rules: Vec<String> =
        (0..40_000).map(|at| format!("    \"Bash(make target-{at})\", // {at}\n")).collect();
    let huge = format!("{{\n  \"permissions\": {{\n    \"allow\": [\n{}    ],\n  }},\n}}\n", rules.concat());
    all.push(("huge".to_owned(), huge));
    all.push(("crlf".to_owned(), all[0].1.replace('\n', "\r\n")));
    all.push(("bom".to_owned(), format!("\u{feff}{}", all[0].1)));
    all
}

/// What a person's settings say beside the guard.
fn without_hooks(text: &str) -> Value {
    let mut value = read_jsonc(text).unwrap();
    value.as_object_mut().unwrap().remove("hooks");
    value
}

fn check(name: &str, text: &str, agent: Agent) {
    let wanted = hooks(agent, "/opt/my tools/metier");
    let (added, trace) = add_hooks(text, &wanted).unwrap();
    assert!(has_hooks(&added, agent, &wanted).unwrap(), "{name}: {added}");
    assert_eq!(find_hooks(&added, agent).unwrap().len(), hooks_of(agent).count(), "{name}");
    assert_eq!(without_hooks(&added), without_hooks(text), "{name}");
    // Nothing of the person's was replaced: without what is added, in order, it is the same.
    let mut rest = added.chars();
    assert!(text.chars().all(|c| rest.any(|other| other == c)), "{name}: {added}");
    // What is remembered is stored as JSON.
    let trace: MergeTrace = serde_json::from_value(serde_json::to_value(&trace).unwrap()).unwrap();
    assert_eq!(remove_hooks(&added, agent, &trace).unwrap(), text, "{name}: {added}");
}

#[test]
fn adding_and_removing_leaves_every_settings_file_as_it_was() {
    let examples = examples();
    assert!(examples.len() >= 20, "{}", examples.len());
    for (name, text) in &examples {
        for agent in MERGED {
            check(name, text, agent);
        }
    }
}

#[test]
fn a_file_is_written_in_its_own_style() {
    let one = json!({ "hooks": { "Stop": [{ "hooks": [] }] } });
    let added = |text: &str| add_hooks(text, &one).unwrap().0;
    assert_eq!(
        added(""),
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": []\n      }\n    ]\n  }\n}\n"
    );
    assert_eq!(added("{\"a\":1}"), "{\"a\":1,\"hooks\":{\"Stop\":[{\"hooks\":[]}]}}");
    assert_eq!(
        added("{\r\n\t\"a\": 1, // x\r\n}"),
        "{\r\n\t\"a\": 1, // x\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{\r\n\t\t\t\t\"hooks\": []\r\n\t\t\t}\r\n\t\t]\r\n\t},\r\n}"
    );
    assert_eq!(
        added("{\n  \"hooks\": { \"Stop\": [ ] /* none */ }\n}\n"),
        "{\n  \"hooks\": { \"Stop\": [\n    {\n      \"hooks\": []\n    }\n   ] /* none */ }\n}\n"
    );
}

#[test]
fn what_a_person_changes_in_between_stays() {
    let mine = "{\n  \"model\": \"a\" // mine\n}\n";
    let wanted = hooks(Agent::ClaudeCode, "/usr/bin/metier");
    let (added, trace) = add_hooks(mine, &wanted).unwrap();
    let edited =
        added.replace("\"a\" ,", "\"b\",").replace("\"a\",", "\"b\",").replace("// mine", "// still mine");
    let after = remove_hooks(&edited, Agent::ClaudeCode, &trace).unwrap();
    assert_eq!(after, "{\n  \"model\": \"b\" // still mine\n}\n");
    // A hook of one's own beside ours keeps its list.
    let own = r#"{ "type": "command", "command": "mine" }"#;
    let beside = added.replacen(
        "\"PostToolUse\": [",
        &format!("\"PostToolUse\": [\n      {{ \"hooks\": [{own}] }},"),
        1,
    );
    let after = remove_hooks(&beside, Agent::ClaudeCode, &trace).unwrap();
    assert_eq!(
        read_jsonc(&after).unwrap()["hooks"],
        json!({ "PostToolUse": [{ "hooks": [{ "type": "command", "command": "mine" }] }] })
    );
    // And in the same group.
    let within = added.replacen(
        "\"hooks\": [\n          {",
        &format!("\"hooks\": [\n          {own},\n          {{"),
        1,
    );
    assert_ne!(within, added);
    let after = remove_hooks(&within, Agent::ClaudeCode, &trace).unwrap();
    let events = read_jsonc(&after).unwrap()["hooks"].clone();
    assert_eq!(events.as_object().unwrap().len(), 1, "{after}");
    assert!(after.contains("\"mine\"") && !after.contains("metier"), "{after}");
}

#[test]
fn an_older_entry_is_removed_without_what_was_remembered() {
    let (added, _) = add_hooks("{\n  \"hooks\": {}\n}", &hooks(Agent::Codex, "/old/metier")).unwrap();
    let after = remove_hooks(&added, Agent::Codex, &MergeTrace::default()).unwrap();
    assert!(!after.contains("metier"), "{after}");
    assert!(!has_hooks(&added, Agent::Codex, &hooks(Agent::Codex, "/new/metier")).unwrap());
}

#[test]
fn hooks_that_a_later_key_replaces_do_not_count() {
    let (added, _) = add_hooks("{}", &hooks(Agent::ClaudeCode, "/m/metier")).unwrap();
    let replaced = added.trim_end().strip_suffix('}').unwrap().to_owned() + ", \"hooks\": {} }";
    assert!(find_hooks(&replaced, Agent::ClaudeCode).unwrap().is_empty());
    let after = remove_hooks(&replaced, Agent::ClaudeCode, &MergeTrace::default()).unwrap();
    assert!(!after.contains("metier"));
}

#[test]
fn hooks_of_others_are_not_ours() {
    for line in [
        "metier hook claude PreToolUse",
        "o=$(timeout 3 metier hook emacs PreToolUse) && printf '%s' \"$o\" || :",
        "o=$(timeout 3 metier hook claude Other) && printf '%s' \"$o\" || :",
        "o=$(timeout 3 rm -rf / ; metier hook claude PreToolUse) && printf '%s' \"$o\" || :",
        "",
    ] {
        assert_eq!(InstalledHook::parse(line), None, "{line}");
    }
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_place() {
    let wanted = hooks(Agent::ClaudeCode, "/m/metier");
    let deep = "[".repeat(300);
    for (text, message) in [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: expected `,` or `}`, found `\"`"),
        ("{\"a\": 1", "line 1, column 8: expected `,` or `}`, found the end of the file"),
        ("{'a': 1}", "line 1, column 2: expected a key in double quotes, found `'`"),
        ("{\"a\" 1}", "line 1, column 6: expected `:`, found `1`"),
        ("{\"a\": tru}", "line 1, column 7: expected a value, found `tru`"),
        ("{\"a\": 01}", "line 1, column 7: expected a value, found `01`"),
        ("{\"a\": ,}", "line 1, column 7: expected a value, found `,`"),
        ("{,}", "line 1, column 2: expected a key in double quotes, found `,`"),
        ("{\"é\": \"x}", "line 1, column 7: this string does not end"),
        ("{ /* x }", "line 1, column 3: this comment does not end"),
        ("{}{}", "line 1, column 3: expected the end of the file, found `{`"),
        ("{\"a\": \"\\x\"}", "line 1, column 7: this string is not valid: invalid escape"),
        ("[]", "line 1, column 1: the settings are not an object"),
        ("\u{feff}{\"hooks\": []}", "line 1, column 11: `hooks` is not an object"),
        ("{\"hooks\": {\"PreToolUse\": {}}}", "line 1, column 26: the hooks of `PreToolUse` are not a list"),
        (deep.as_str(), "line 1, column 201: nested deeper than 200 levels"),
    ] {
        assert_eq!(add_hooks(text, &wanted).unwrap_err().to_string(), message, "{text}");
    }
}

/// White space and comments.
fn trivia() -> impl Strategy<Value = String> {
    let part =
        prop::sample::select(vec!["", " ", "\n", "\t", "\r\n", "/* c, { */", "// l \" ]\n", "// m\r\n"]);
    prop::collection::vec(part, 0..3).prop_map(|parts| parts.concat())
}

/// Some settings as text: values with any white space and comments between, and trailing commas.
fn settings() -> impl Strategy<Value = String> {
    let scalar =
        prop::sample::select(vec!["1", "-2.5e3", "true", "null", "\"s\"", "\"\\\"{\\u00e9\"", "1e999"]);
    let value = scalar.prop_map(str::to_owned).prop_recursive(4, 24, 4, |inner| {
        let names = vec!["hooks", "PreToolUse", "PostToolUse", "a", "b"];
        let member = (prop::sample::select(names), trivia(), trivia(), inner.clone(), trivia());
        let member = member.prop_map(|(key, a, b, value, c)| format!("\"{key}\"{a}:{b}{value}{c}"));
        let list = |open: char, close: char| {
            move |(items, end, is_trailing): (Vec<(String, String)>, String, bool)| {
                let comma = if is_trailing && !items.is_empty() { "," } else { "" };
                let items: Vec<String> = items.into_iter().map(|(before, item)| before + &item).collect();
                format!("{open}{}{comma}{end}{close}", items.join(","))
            }
        };
        let members = (prop::collection::vec((trivia(), member), 0..4), trivia(), any::<bool>());
        let elements = (prop::collection::vec((trivia(), inner), 0..4), trivia(), any::<bool>());
        prop_oneof![members.prop_map(list('{', '}')), elements.prop_map(list('[', ']'))]
    });
    (trivia(), value, trivia(), any::<bool>()).prop_map(|(before, value, after, bom)| {
        format!("{}{before}{value}{after}", if bom { "\u{feff}" } else { "" })
    })
}

/// Nothing follows such a comment, not even the end of its line.
#[test]
fn a_text_that_ends_with_a_comment_is_restored() {
    let wanted = hooks(Agent::ClaudeCode, "/usr/bin/metier");
    for text in ["//", "// mine", "{} // mine", "\u{feff}//", "/* */ //", "// mine\r"] {
        let (added, trace) = add_hooks(text, &wanted).unwrap();
        assert!(has_hooks(&added, Agent::ClaudeCode, &wanted).unwrap(), "{added}");
        assert_eq!(remove_hooks(&added, Agent::ClaudeCode, &trace).unwrap(), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_settings_are_restored(text in settings(), agent in prop::sample::select(MERGED.to_vec())) {
        let wanted = hooks(agent, "/usr/bin/metier");
        if let Ok((added, trace)) = add_hooks(&text, &wanted) {
            prop_assert!(has_hooks(&added, agent, &wanted).unwrap(), "{}", added);
            prop_assert_eq!(remove_hooks(&added, agent, &trace).unwrap(), text);
        } else {
            prop_assert!(read_jsonc(&text).is_ok(), "generated settings are JSON: {}", text);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:/*\\\\\\n 0-9a-e\u{feff}é]{0,40}") {
        let wanted = hooks(Agent::ClaudeCode, "/usr/bin/metier");
        if let Ok((added, trace)) = add_hooks(&text, &wanted) {
            prop_assert_eq!(remove_hooks(&added, Agent::ClaudeCode, &trace).unwrap(), text);
        }
    }
}
