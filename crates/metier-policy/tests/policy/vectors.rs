//! The cases in `allowed-tools.json`: rules, a call, and what must come out.

use std::fs;
use std::path::Path;

use metier_policy::{Allowlist, Anchors, Denylist, ToolCall};
use metier_skill::{Code, Origin, Rules, ToolRules, read};
use serde_json::Value;

fn cases(kind: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/allowed-tools.json");
    let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let cases = file["cases"].as_array().unwrap();
    let cases: Vec<Value> = cases.iter().filter(|case| case["kind"] == kind).cloned().collect();
    assert!(!cases.is_empty(), "no cases of kind {kind}");
    cases
}

fn places() -> Anchors {
    let home = Path::new("/home").join("u");
    Anchors::new("/repo", &home).with_skill(home.join(".agents/skills/x")).with_plugin("/plug")
}

fn tools(value: &Value) -> ToolRules {
    match value {
        Value::Array(rules) => ToolRules::from_rules(rules.iter().map(|rule| rule.as_str().unwrap())),
        other => ToolRules::split(other.as_str().unwrap()),
    }
}

#[test]
fn allowlists() {
    let mut wrong = Vec::new();
    for case in cases("allowlist") {
        let list = Allowlist::new(&tools(&case["rules"]), &places());
        let outcome = list.find(&ToolCall::new(case["tool"].as_str().unwrap(), case["input"].clone()));
        let verdict = if outcome.is_ok() { "allow" } else { "deny" };
        let warns = list.notes().iter().any(|note| note.code != Code::RuleBroad);
        if verdict != case["expect"] || (outcome.is_ok() && warns != case["warns"]) {
            wrong.push(format!("{case}: {outcome:?}, {:?}", list.notes()));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn deny_rules() {
    for case in cases("deny-rule") {
        let list = Denylist::new(&tools(&case["rules"]), &places());
        let call = ToolCall::new(case["tool"].as_str().unwrap(), case["input"].clone());
        let verdict = if list.find(&call).is_some() { "deny" } else { "allow" };
        assert_eq!(verdict, case["expect"], "{case}");
    }
}

#[test]
fn values_of_the_frontmatter() {
    for case in cases("tokenize") {
        let expect = &case["expect"];
        let text = format!("---\nname: x\ndescription: y\nallowed-tools: {}\n---\n", case["raw"]);
        let reading = read(text.as_bytes(), Origin::directory("x"), &Rules::standard());
        let has_error = reading.diagnostics.iter().any(|found| found.code.as_str() == "allowed-tools-type");
        let tools = reading.skill.unwrap().allowed_tools.unwrap();
        let notes = Allowlist::new(&tools, &places()).notes().to_vec();
        match expect {
            Value::Array(rules) => {
                assert!(rules.iter().map(|rule| rule.as_str().unwrap()).eq(tools.rules()), "{case}");
                assert!(!has_error, "{case}");
            }
            Value::Object(expect) if expect.contains_key("tokens") => {
                let tokens = expect["tokens"].as_array().unwrap();
                assert!(tokens.iter().map(|rule| rule.as_str().unwrap()).eq(tools.rules()), "{case}");
                assert_eq!(notes.len(), 2, "{case}");
            }
            Value::Object(expect) if expect["error"] == "type" => assert!(has_error, "{case}"),
            Value::Object(_) => assert_eq!(notes[0].code, Code::RuleNeverMatches, "{case}"),
            _ => unreachable!("{case}"),
        }
    }
}
