//! The programs in `examples/prompts`, run on a model server or on an agent that is a shell script.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![cfg(all(feature = "openai", feature = "search"))]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use metier_fake_model::{Server, Step};
use serde_json::json;
use tempfile::TempDir;

/// A home for a person, and what a program printed and asked there.
struct Ran {
    place: TempDir,
    out: String,
    /// What the model was told, request by request.
    told: Vec<String>,
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn command(place: &TempDir, example: &str, agent: &str) -> Command {
    let program = std::env::current_exe().unwrap().parent().unwrap().join("../examples").join(example);
    let mut command = Command::new(program);
    command.arg(agent).env_clear().env("HOME", place.path()).env("PATH", "/usr/bin:/bin").current_dir(top());
    command
}

fn output(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a program on a model server.
fn run_with(example: &str, steps: Vec<Step>, variables: &[(&str, &str)]) -> Ran {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(steps).unwrap();
    let mut command = command(&place, example, "openai");
    command.env("OPENAI_BASE_URL", format!("{}/v1", server.url())).env("OPENAI_API_KEY", "sk-fake");
    command.envs(variables.iter().copied());
    let out = output(command);
    let text = |body: &[u8]| String::from_utf8(body.to_vec()).unwrap();
    let told = server.requests().iter().map(|request| text(&request.body)).collect();
    Ran { place, out, told }
}

fn run(example: &str, steps: Vec<Step>) -> Ran {
    run_with(example, steps, &[])
}

impl Ran {
    /// Whether a request has a word.
    fn told(&self, request: usize, word: &str) -> bool {
        self.told[request].contains(word)
    }

    /// The recorded events of one kind.
    fn recorded(&self, kind: &str) -> Vec<serde_json::Value> {
        use metier::journal::{JournalAddress, JournalReader, RecordQuery};
        let path = self.place.path().join(".local/state/metier/journal.db");
        let mut reader = JournalReader::open(&JournalAddress::file(path)).unwrap();
        let events = reader.query(&RecordQuery::default()).unwrap().into_iter().map(|record| record.event);
        events.filter(|event| event["kind"] == kind).collect()
    }
}

fn load(skill: &str) -> Step {
    Step::call("load_skill", json!({ "skill_name": skill }))
}

fn open(section: &str) -> Step {
    Step::call("open_sections", json!({ "section_keys": [section], "reason": "it fits the task" }))
}

#[test]
fn skills_without_tools_are_installed_and_loaded_on_demand() {
    let answer = r#"{"summary":"Not safe.","findings":["eval runs any text"]}"#;
    let ran = run("native_skills", vec![load("code-review"), Step::text(answer)]);
    assert_eq!(ran.out, "Not safe.\n- eval runs any text\nused: code-review\n");
    assert!(ran.told(0, "Safe refactoring patterns") && !ran.told(0, "no SQL put together from text"));
    assert!(ran.told(1, "no SQL put together from text") && !ran.told(1, "One step at a time"));
    let installed = &ran.recorded("skills.installed")[0];
    assert_eq!(installed["inline"], json!(["code-review", "refactoring"]));
    assert_eq!(
        (&installed["prompt_ns"], &installed["prompt_key"]),
        (&json!("review"), &json!("python-review"))
    );
}

#[test]
fn a_skill_with_tools_is_opened_and_its_tool_runs_in_the_program() {
    let lint = Step::call("lint_code", json!({ "paths": ["src"] }));
    let ran = run("skill_with_tools", vec![open("skills.linting"), lint, Step::text(r#"{"unfixed":2}"#)]);
    assert_eq!(ran.out, "to look at: 2\nsections opened: 1\n");
    assert!(ran.told(0, "open_sections") && !ran.told(0, "Runs the linter on these paths"));
    assert!(ran.told(1, "Runs the linter on these paths") && ran.told(1, "changed files first"));
    assert!(ran.told.last().unwrap().contains("Found 5 issues, fixed 3"), "{:?}", ran.told.last());
    let call = ran.recorded("tool.invoked").into_iter().find(|call| call["tool"] == "mcp__metier__lint_code");
    let call = call.as_ref().unwrap();
    assert_eq!((&call["outcome"], call["notes"].as_array().map(Vec::len)), (&json!("done"), Some(1)));
    assert_eq!(ran.recorded("skill.expanded")[0]["name"], "linting");
}

#[test]
fn mixed_skills_go_where_they_belong() {
    let tests = Step::call("run_tests", json!({}));
    let answer = Step::text(r#"{"is_sound":true,"tests_passed":12}"#);
    let ran = run("mixed_skills", vec![open("skills.testing"), tests, answer]);
    assert_eq!(ran.out, "sound: true, tests passed: 12\n");
    assert!(ran.told(0, "[Skill: testing]") && !ran.told(0, "[Skill: architecture]"));
    assert!(ran.told(0, "System architecture principles."), "it can be loaded");
    assert!(ran.told.last().unwrap().contains("12 passed"));
    assert_eq!(ran.recorded("skills.installed")[0]["inline"], json!(["architecture"]));
}

#[test]
fn references_are_copied_whole() {
    let read = json!({ "skill_name": "release-notes", "resource_name": "scripts/collect.sh" });
    let steps = || {
        let answer = r#"{"cause":"a full disk","actions":["watch it"]}"#;
        vec![load("incident-review"), Step::call("read_skill_resource", read.clone()), Step::text(answer)]
    };
    let ran = run("referenced_skills", steps());
    assert_eq!(ran.out, "cause: a full disk\n- watch it\nused: incident-review\n");
    assert!(ran.told(2, "git log"), "{}", ran.told[2]);
    let referenced = ran.recorded("skills.installed").remove(0)["referenced"].clone();
    assert_eq!(
        referenced,
        json!(["incident-review", "release-notes"]),
        "a disabled reference is not looked at"
    );
    let place = tempfile::tempdir().unwrap();
    let mut missing = command(&place, "referenced_skills", "openai");
    let output = missing.env("ENABLE_COMPLIANCE", "1").output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("/opt/skills/compliance"));
}

#[test]
fn all_kinds_of_skills_fit_into_one_section() {
    let answer = Step::text(r#"{"notes":"1.4 is faster.","is_ready":true}"#);
    let tests = Step::call("run_tests", json!({}));
    let ran = run(
        "inline_and_referenced_skills",
        vec![open("skills.testing"), load("release-notes"), tests, answer],
    );
    assert_eq!(ran.out, "1.4 is faster.\nready: true\nused: release-notes\n");
    let installed = &ran.recorded("skills.installed")[0];
    assert_eq!(
        (&installed["inline"], &installed["referenced"]),
        (&json!(["naming"]), &json!(["release-notes"]))
    );
}

#[test]
fn skills_are_there_by_params_by_environment_and_by_name() {
    let answers = || vec![Step::text(r#"{"verdict":"fine"}"#)];
    let installed = |ran: &Ran| {
        let names = |event: serde_json::Value| {
            event["skills"].as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
        };
        ran.recorded("skills.installed").into_iter().map(names).collect::<Vec<_>>()
    };
    let ran = run("conditional_skills", answers());
    assert_eq!(ran.out, "fine\nfine\n");
    assert_eq!(installed(&ran), ["python-review style", "style"]);
    let ran = run_with("conditional_skills", answers(), &[("SECURITY_REVIEW", "1")]);
    assert_eq!(installed(&ran), ["incident-review python-review style", "style"]);
}

/// Claude Code's protocol: ready, prompted, one file read, the answer.
const AGENT: &str = r#"#!/bin/sh
frame() { printf '%s\n' "$1"; }
read -r hello
frame '{"type":"control_response","response":{"subtype":"success","request_id":"metier-1","response":{}}}'
read -r prompt
printf '%s\n' "$prompt" >>SAW
ls repo skills skills/* >>SAW 2>/dev/null
frame '{"type":"system","subtype":"init","claude_code_version":"2.1","model":"fake","session_id":"c1"}'
frame '{"type":"assistant","message":{"id":"m0","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"READ"}}]}}'
frame '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"…"}]}}'
frame '{"type":"result","subtype":"success","result":"ANSWER"}'
cat >/dev/null
"#;

/// Runs a program on Claude Code, which reads a file and answers: what was printed, and what the agent saw.
fn run_on_claude(example: &str, read: &str, answer: &serde_json::Value) -> (String, String) {
    let place = tempfile::tempdir().unwrap();
    let (bin, saw) = (place.path().join("bin"), place.path().join("saw"));
    fs::create_dir(&bin).unwrap();
    let answer = answer.to_string().replace('"', "\\\"");
    let script = AGENT.replace("SAW", saw.to_str().unwrap()).replace("READ", read).replace("ANSWER", &answer);
    fs::write(bin.join("claude"), script).unwrap();
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = command(&place, example, "claude");
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).env("ANTHROPIC_API_KEY", "sk-fake");
    let out = output(command);
    (out, fs::read_to_string(saw).unwrap())
}

#[test]
fn a_workspace_and_the_skills_of_a_directory_are_copied_for_the_agent() {
    let answer = json!({ "summary": "Sound.", "findings": [] });
    let (out, saw) = run_on_claude("discovered_skills", "skills/incident-review/SKILL.md", &answer);
    assert_eq!(out, "Sound.\nused: incident-review\n");
    for word in ["<available_skills>", "skills/release-notes/SKILL.md", "`repo`", "agent.rs"] {
        assert!(saw.contains(word), "{word}: {saw}");
    }
    assert!(!saw.contains("/commit-message"), "{saw}");
}

#[test]
fn several_directories_each_have_a_place() {
    let answer = json!({ "subject": "watch the disk" });
    let (out, saw) = run_on_claude("several_directories", "skills/project/commit-message/SKILL.md", &answer);
    assert_eq!(out, "watch the disk\nused: commit-message\n");
    for word in ["skills/org:\\nincident-review", "skills/project:\\ncommit-message"] {
        assert!(saw.contains(&word.replace("\\n", "\n")), "{word}: {saw}");
    }
}

#[test]
fn what_fits_the_task_is_shown_and_the_rest_is_said_to_be_left_out() {
    let (out, saw) = run_on_claude("filtered_skills", "skills/none", &json!({ "text": "done" }));
    assert_eq!(out, "prepare version 2: done\nsay what went wrong last night: done\n");
    let prompts: Vec<&str> = saw.lines().filter(|line| line.contains("available_skills")).collect();
    for (prompt, name, other) in
        [(prompts[0], "release-notes", "incident-review"), (prompts[1], "incident-review", "release-notes")]
    {
        assert!(prompt.contains(&format!("<name>{name}</name>")), "{prompt}");
        assert!(prompt.contains("1 more skill") && !prompt.contains("commit-message"), "{prompt}");
        assert!(!prompt.contains(&format!("<name>{other}</name>")), "{prompt}");
    }
}
