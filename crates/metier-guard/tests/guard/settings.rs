//! The settings that make agents call hooks, and the command lines in them.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};

use metier_guard::{GuardContent, HOOKS, HookKind, HookProgram, guard_files, hook_row, hooks_of};
use metier_home::Agent;
use serde_json::Value;

/// Runs a hook's command line with a program of this text in a directory with an awkward name.
fn run(program: &str, kind: HookKind) -> Output {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("it's a \"dir\" $HOME `x`");
    fs::create_dir(&directory).unwrap();
    let path = directory.join("metier");
    if !program.is_empty() {
        fs::write(&path, format!("#!/bin/sh\n{program}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let program = HookProgram::new(path).unwrap().in_context(&directory.join("a b.json")).unwrap();
    let row = HOOKS.iter().find(|row| row.kind == kind).unwrap();
    let mut shell = Command::new("sh")
        .args(["-c", &program.command_line(row)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read its input is not an error here.
    let _ = shell.stdin.take().unwrap().write_all(b"{\"in\":1}");
    shell.wait_with_output().unwrap()
}

#[test]
fn an_answer_is_passed_on() {
    let output = run("printf '%s|' \"$@\"; cat", HookKind::BeforeTool);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("hook|--context|") && text.ends_with("|claude|PreToolUse|{\"in\":1}"), "{text}");
}

#[test]
fn a_hook_that_fails_refuses_with_a_text_and_prints_no_answer() {
    for program in ["", "echo '{\"allow\":1}'; exit 1", "echo '{\"allow\":1}'; kill -SEGV $$", "exit 2"] {
        let output = run(program, HookKind::BeforeTool);
        assert_eq!(output.status.code(), Some(2), "{program}");
        assert!(output.stdout.is_empty(), "{program}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("metier: the guard failed"), "{program}");
    }
}

#[test]
fn a_hook_that_only_informs_never_fails() {
    for program in ["", "exit 1", "echo x; kill -SEGV $$"] {
        let output = run(program, HookKind::AfterTool);
        assert!(output.status.success() && output.stdout.is_empty(), "{program}");
    }
}

#[test]
fn every_agent_asks_before_each_tool() {
    let program = HookProgram::new("/m/metier").unwrap();
    for agent in Agent::ALL {
        let names: Vec<&str> = hooks_of(agent).map(|row| row.event).collect();
        assert!(hooks_of(agent).any(|row| row.kind == HookKind::BeforeTool), "{agent}: {names:?}");
        let files = guard_files(agent, &program, "metier-x");
        for name in names {
            let is_in = files.iter().any(|file| match &file.content {
                GuardContent::Merged(value) => value["hooks"][name].is_array(),
                GuardContent::Whole(text) => text.contains(&format!("\"{name}\"")),
            });
            assert!(is_in, "{agent} {name}: {files:?}");
        }
    }
}

/// The recorded settings that were seen to refuse in every failure, compared with ours: the same places for the same things.
#[test]
fn settings_have_the_form_that_was_measured() {
    let program = HookProgram::new("/m/metier").unwrap();
    let merged = |agent| match guard_files(agent, &program, "x").remove(0).content {
        GuardContent::Merged(value) => value,
        GuardContent::Whole(text) => serde_json::from_str::<Value>(&text).unwrap(),
    };
    let claude = &merged(Agent::ClaudeCode)["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!((&claude["type"], &claude["timeout"]), (&Value::from("command"), &Value::from(15)));
    let gemini = &merged(Agent::Gemini)["hooks"]["BeforeTool"][0];
    assert_eq!((&gemini["matcher"], &gemini["hooks"][0]["timeout"]), (&Value::from("*"), &15_000.into()));
    assert!(gemini["hooks"][0].get("name").is_none());
    let copilot = merged(Agent::Copilot);
    assert_eq!(
        (&copilot["version"], &copilot["hooks"]["preToolUse"][0]["timeoutSec"]),
        (&1.into(), &15.into())
    );
    assert!(copilot["hooks"]["preToolUse"][0]["bash"].is_string());
    let GuardContent::Whole(goose) = &guard_files(Agent::Goose, &program, "x")[1].content else {
        unreachable!()
    };
    let goose: Value = serde_json::from_str(goose).unwrap();
    assert_eq!(goose["hooks"]["PreToolUse"][0]["hooks"][0]["on_failure"], "block");
}

#[test]
fn suggesting_is_asked_for_where_an_agent_can_show_it() {
    let program = HookProgram::new("/m/metier").unwrap().suggesting();
    let line = |agent, event| program.command_line(hook_row(agent, event).unwrap());
    assert!(line(Agent::ClaudeCode, "UserPromptSubmit").contains(" --suggest "));
    assert!(!line(Agent::ClaudeCode, "PreToolUse").contains("--suggest"));
    assert!(!line(Agent::Goose, "UserPromptSubmit").contains("--suggest"));
}

#[test]
fn a_path_that_is_not_text_is_an_error() {
    use std::os::unix::ffi::OsStringExt as _;
    let path = std::ffi::OsString::from_vec(b"/m/\xff".to_vec());
    assert!(HookProgram::new(path).is_err());
}
