//! `metier hook` as agents call it: as a program, many at once, killed, and from the command line in their settings.

use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};

use metier_guard::{HookProgram, hook_row};
use metier_home::Agent;
use serde_json::{Value, json};

use crate::support::Place;

fn with_skill() -> Place {
    let place = Place::new();
    let text = "---\nname: history\ndescription: Use when there is history.\nallowed-tools: Bash(git log *) Read\n---\nLook.\n";
    place.write("me/.claude/skills/history/SKILL.md", text);
    place
}

fn bash(command: &str) -> Value {
    json!({ "session_id": "s1", "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": command })
}

fn load() -> Value {
    json!({ "session_id": "s1", "tool_name": "Skill", "tool_input": { "skill": "history" }, "tool_use_id": "load" })
}

fn start(mut command: Command, input: &str) -> Child {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that does not read its input is not an error here.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child
}

fn hook(place: &Place, args: &[&str], input: &str) -> Output {
    let mut all = vec!["hook"];
    all.extend(args);
    start(place.at_home(&all), input).wait_with_output().unwrap()
}

fn answer(place: &Place, input: &Value) -> Value {
    let output = hook(place, &["claude", "PreToolUse"], &input.to_string());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn is_denied(answer: &Value) -> bool {
    answer["hookSpecificOutput"]["permissionDecision"] == "deny"
}

#[test]
fn a_hook_answers_on_standard_output_and_ends_well() {
    let place = with_skill();
    assert_eq!(answer(&place, &bash("git push")), json!({}));
    assert_eq!(answer(&place, &load()), json!({}));
    assert!(is_denied(&answer(&place, &bash("git push"))));
    assert_eq!(answer(&place, &bash("git log")), json!({}));
    let log =
        place.at_home(&["audit", "log", "--json", "--kind", "skill.tool_call_decided"]).output().unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    assert!(log.contains("\"history\":\"sha256:") || log.contains("\"history\": \"sha256:"), "{log}");
    for input in ["", "garbage", "{\"session_id\":1}", &"[".repeat(1_000_000)] {
        let output = hook(&place, &["claude", "PreToolUse"], input);
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(output.status.success() && is_denied(&said), "{output:?}");
    }
}

#[test]
fn what_is_no_agent_is_refused_without_an_answer() {
    let place = Place::new();
    for args in [&["emacs", "PreToolUse"][..], &["claude"], &["claude", "PreToolUse", "--nonsense"]] {
        let output = hook(&place, args, "{}");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    // An event that nobody knows yet is not refused.
    let output = hook(&place, &["claude", "Elicitation"], "{}");
    assert_eq!(output.stdout, b"{}\n");
}

#[test]
fn many_at_once_in_one_conversation_are_all_decided_and_kept() {
    let place = with_skill();
    answer(&place, &load());
    let children: Vec<(bool, Child)> = (0..12)
        .map(|number| {
            let is_allowed = number % 2 == 0;
            let command = if is_allowed { format!("git log -{number}") } else { format!("rm {number}") };
            (is_allowed, start(place.at_home(&["hook", "claude", "PreToolUse"]), &bash(&command).to_string()))
        })
        .collect();
    for (is_allowed, child) in children {
        let output = child.wait_with_output().unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(is_denied(&said), !is_allowed, "{said}");
    }
    let stats = place.at_home(&["audit", "verify"]).output().unwrap();
    assert!(stats.status.success(), "{stats:?}");
    let log =
        place.at_home(&["audit", "log", "--kind", "skill.tool_call_decided", "--json"]).output().unwrap();
    let decided = String::from_utf8(log.stdout).unwrap().matches("sha256:").count();
    assert!(decided >= 12, "{decided}");
}

#[test]
fn whenever_a_hook_is_killed_the_next_one_decides_by_the_state_before_or_after() {
    let place = with_skill();
    answer(&place, &load());
    for number in 0..40_u64 {
        let mut child =
            start(place.at_home(&["hook", "claude", "PreToolUse"]), &bash("git log -1").to_string());
        std::thread::sleep(std::time::Duration::from_micros(number * 700));
        child.kill().unwrap();
        child.wait().unwrap();
        if number % 8 == 0 {
            assert!(is_denied(&answer(&place, &bash("git push"))), "{number}");
            assert_eq!(answer(&place, &bash("git log -2")), json!({}), "{number}");
        }
    }
    let end = json!({ "session_id": "s1", "reason": "other" });
    hook(&place, &["claude", "SessionEnd"], &end.to_string());
    let states = place.path().join("me/.local/state/metier/guard");
    assert_eq!(std::fs::read_dir(states).unwrap().count(), 0);
}

#[test]
fn a_person_ends_the_rules_of_a_skill() {
    let place = with_skill();
    answer(&place, &load());
    assert!(is_denied(&answer(&place, &bash("git push"))));
    let none = place.at_home(&["guard", "deactivate", "pdf"]).output().unwrap();
    assert_eq!(none.status.code(), Some(4), "{none:?}");
    let ended = place.at_home(&["guard", "deactivate"]).output().unwrap();
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "claude s1: history\n");
    assert_eq!(answer(&place, &bash("git push")), json!({}));
    let again = place.at_home(&["guard", "deactivate"]).output().unwrap();
    assert!(again.status.success() && again.stdout.is_empty());
}

#[test]
fn the_command_line_of_the_settings_runs_it() {
    let place = with_skill();
    let program = HookProgram::new(env!("CARGO_BIN_EXE_metier")).unwrap();
    let line = program.command_line(hook_row(Agent::ClaudeCode, "PreToolUse").unwrap());
    let run = |input: &Value| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(place.path()).env_clear();
        shell.env("PATH", "/usr/bin:/bin").env("HOME", place.path().join("me"));
        start(shell, &input.to_string()).wait_with_output().unwrap()
    };
    run(&load());
    let denied = run(&bash("git push"));
    assert!(
        denied.status.success() && is_denied(&serde_json::from_slice(&denied.stdout).unwrap()),
        "{denied:?}"
    );
    assert_eq!(run(&bash("git log")).stdout, b"{}");
}
