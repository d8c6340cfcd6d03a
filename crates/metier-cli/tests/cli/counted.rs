//! What is counted and recorded by skill and by task, from the command line and from clients of `metier serve`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::serve::{Client, log, place};
use crate::support::{Place, skips_namespaces};

fn stats(place: &Place) -> Value {
    place.json_at_home(&["audit", "stats", "--json"])["skills"].clone()
}

/// The recorded events of one kind, without those of other sessions.
fn recorded(place: &Place, kind: &str) -> Vec<Value> {
    let lines = log(place);
    let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.map(|record| record["event"].clone()).filter(|event| event["kind"] == kind).collect()
}

#[test]
fn what_a_client_is_shown_and_does_is_counted_by_skill() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    let script = place.write("skills/tally/scripts/fail.sh", "#!/bin/sh\nexit 3\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    place.write("me/.config/metier/config.toml", "[[policy.rules]]\ntier = \"user\"\nscripts = \"allow\"\n");
    let mut client = Client::old(&place, &json!({}));
    client.call("load_skill", &json!({ "skill_name": "tally" }));
    client.call(
        "read_skill_resource",
        &json!({ "skill_name": "tally", "resource_name": "references/guide.md" }),
    );
    for script in ["scripts/run.sh", "scripts/fail.sh"] {
        client.call("run_skill_script", &json!({ "skill_name": "tally", "script_name": script }));
    }
    for _ in 0..2 {
        client.call("list_skills", &json!({}));
    }
    client.leave();
    let counted = stats(&place);
    let of = |skill: &str, name: &str| counted[skill][name].as_u64().unwrap();
    let counts = ["activations", "reads", "script_runs", "script_failures", "activation_failures"];
    assert_eq!(counts.map(|name| of("tally", name)), [1, 1, 2, 1, 0], "{counted}");
    for name in ["catalogue_tokens", "body_tokens", "resource_tokens"] {
        assert!(of("tally", name) > 0, "{name}: {counted}");
    }
    // The other one was only shown, and each of them once.
    assert_eq!((of("plain", "activations"), of("plain", "catalogue_tokens") > 0), (0, true));
    let shown = recorded(&place, "skill.discovered");
    let mine = shown.iter().filter(|event| event["tier"] == "user");
    let mut names: Vec<&str> = mine.map(|event| event["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["plain", "tally"]);
}

#[test]
fn a_client_that_only_lists_is_recorded_too() {
    let place = place();
    let mut client = Client::new(&place, &json!({}));
    client.call("list_skills", &json!({ "query": "tally words" }));
    client.leave();
    assert!(stats(&place)["tally"]["catalogue_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn a_task_is_in_the_records_of_the_command_line_and_of_clients() {
    let place = place();
    let arguments = ["activate", "tally", "--root", "skills:user"];
    place.at_home(&arguments).env("METIER_TASK", "ticket-7").output().unwrap();
    place.at_home(&arguments).output().unwrap();
    let mut client = Client::old(&place, &json!({}));
    let call = |meta: Value| json!({ "name": "load_skill", "arguments": { "skill_name": "plain", "force": true }, "_meta": meta });
    client.ask("tools/call", call(json!({ "io.metier/task": "ticket-8" })));
    client.ask("tools/call", call(json!({})));
    client.leave();
    let tasks: Vec<Value> =
        recorded(&place, "skill.activated").into_iter().map(|event| event["task_id"].clone()).collect();
    assert_eq!(tasks, [json!("ticket-7"), Value::Null, json!("ticket-8"), Value::Null]);
}

#[test]
fn requirements_can_be_made_binding() {
    let place = Place::new();
    place.write(
        "skills/app/SKILL.md",
        "---\nname: app\ndescription: Use when testing.\nmetadata:\n  requires: gone\n---\nText.\n",
    );
    let activate = ["activate", "app", "--root", "skills:user"];
    let output = place.at_home(&activate).output().unwrap();
    let told =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("gone"), "{told}");
    place.write("me/.config/metier/config.toml", "require_compatible = true\n");
    // A project may not take it back.
    place.write("metier.toml", "require_compatible = false\n");
    let output = place.at_home(&activate).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("missing requirements of `app`"), "{error}");
    assert_eq!(recorded(&place, "skill.activation_failed")[0]["code"], "skill-incompatible");
}

#[test]
fn a_markdown_file_without_frontmatter_can_be_mounted() {
    let place = Place::new();
    place.write("test-skill.md", "# Test Skill\n\nDoes testing.");
    let mount =
        |more: &[&str]| place.at_home(&[&["mount", "out", "test-skill.md"], more].concat()).output().unwrap();
    assert!(!mount(&[]).status.success());
    let output = mount(&["--synthesize-frontmatter"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        place
            .read("out/test-skill/SKILL.md")
            .starts_with("---\nname: test-skill\ndescription: Does testing.\n---\n")
    );
}
