//! `metier ask`: one question to an agent, which is a shell script here that speaks Claude Code's protocol.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use metier_fake_model::{Request, Server, Step};
use serde_json::Value;

use crate::support::Place;
use crate::terminal::watched;

/// Ready, then prompted. A call whose result is shown must have called the hook in the settings first.
const BEGINS: &str = r#"
frame() { printf '%s\n' "$1"; }
hooked() {
  command=$(sed -n 's/^ *"command": "\(.* PreToolUse).*\)",*$/\1/p' "$HOME/.claude/settings.json" | sed 's/\\"/"/g')
  printf '{"session_id":"c1","tool_name":"%s","tool_input":%s,"tool_use_id":"%s"}' "$2" "$3" "$1" | sh -c "$command" >/dev/null
}
read -r hello
frame '{"type":"control_response","response":{"subtype":"success","request_id":"metier-1","response":{}}}'
read -r prompt
frame '{"type":"system","subtype":"init","claude_code_version":"2.1","model":"fake-model","session_id":"c1"}'
"#;

/// An answer, with what it used.
const HELLO: &str = r#"
frame '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Hello."}]}}'
frame '{"type":"result","subtype":"success","stop_reason":"end_turn","result":"Hello.","num_turns":2,"model_usage_since_last_result":{"fake-model":{"inputTokens":30,"outputTokens":15,"costUSD":0.00042}}}'
"#;

fn ask(place: &Place, script: &str, more: &[&str]) -> Command {
    let path = place.write("agent", format!("#!/bin/sh\n{BEGINS}\n{script}\ncat >/dev/null\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut args = vec!["ask", "claude", "--program", path.to_str().unwrap()];
    args.extend(more);
    let mut command = place.at_home(&args);
    command.env("PATH", "/usr/bin:/bin").env("TMPDIR", place.temporary());
    command
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_answer_is_printed_and_the_rest_is_told() {
    let place = Place::new();
    place.skill("skills/one", "Use one.");
    let loads = r#"
frame '{"type":"assistant","message":{"id":"m0","content":[{"type":"tool_use","id":"t1","name":"Skill","input":{"skill":"one"}}]}}'
hooked t1 Skill '{"skill":"one"}'
frame '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"Launching"}]}}'
frame '{"type":"assistant","message":{"id":"m0","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"git log"}}]}}'
"#;
    let mut command =
        ask(&place, &format!("{loads}{HELLO}"), &["--skill", "skills/one", "What", "is $this?"]);
    let output = command.output().unwrap();
    let (out, err) = said(&output);
    assert_eq!((output.status.code(), out.as_str()), (Some(0), "Hello.\n"), "{err}");
    let lines: Vec<&str> = err.lines().collect();
    assert!(lines[0].starts_with("skill: one (sha256:"), "{err}");
    assert_eq!(lines[1], "tool: Bash git log");
    let used =
        "fake-model: 2 model requests, 30 input tokens, 15 output tokens, $0.00042, 2 tool calls, 1 skill, ";
    assert!(lines[2].starts_with(used) && lines[2].ends_with(" s"), "{err}");
    assert_eq!(fs::read_dir(place.temporary()).unwrap().count(), 0, "the home is gone");
    let stats = said(&place.at_home(&["audit", "stats"]).output().unwrap()).0;
    assert!(
        stats.contains("claude: 1 evaluation, 0 failed, 30 input tokens, 15 output tokens, $0.000420"),
        "{stats}"
    );
    let log = said(&place.at_home(&["audit", "log", "--json"]).output().unwrap()).0;
    for kind in ["evaluation.started", "skills.installed", "skill.activated", "evaluation.ended"] {
        assert_eq!(log.matches(&format!("\"kind\":\"{kind}\"")).count(), 1, "{kind}: {log}");
    }
}

#[test]
fn events_are_lines_of_json_and_the_result_is_the_last() {
    let place = Place::new();
    let output = ask(&place, HELLO, &["--json", "Hi"]).output().unwrap();
    let (out, err) = said(&output);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["other", "started", "text", "other", "usage", "result"], "{err}");
    let last = lines.last().unwrap();
    assert_eq!((last["text"].as_str(), last["stop"].as_str()), (Some("Hello."), Some("end_turn")));
    assert_eq!(
        (last["usage"]["input"].as_u64(), last["cost"]["microdollars"].as_u64()),
        (Some(30), Some(420))
    );
}

#[test]
fn an_answer_can_be_held_to_a_schema() {
    let place = Place::new();
    place.write("schema.json", r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#);
    let good = r#"frame '{"type":"result","subtype":"success","result":"{\"n\": 3}"}'"#;
    let output = ask(&place, good, &["--schema", "schema.json", "Count"]).output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["n"], 3);
    let bad = r#"frame '{"type":"result","subtype":"success","result":"three"}'; read -r again; frame '{"type":"result","subtype":"success","result":"3"}'"#;
    let output = ask(&place, bad, &["--schema", "schema.json", "Count"]).output().unwrap();
    let (out, err) = said(&output);
    assert_eq!((output.status.code(), out.as_str()), (Some(1), ""));
    assert!(
        err.contains("error: the answer does not match the expected type: the answer must be \"object\""),
        "{err}"
    );
    assert!(err.contains("the answer was: 3"), "{err}");
    let output = ask(&place, good, &["--schema", "missing.json", "Count"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn without_a_terminal_tools_that_need_permission_are_denied() {
    let place = Place::new();
    let asks = r#"
frame '{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"make"}}}'
read -r answer
case $answer in
*'"behavior":"allow","updatedInput":{"command":"make"}'*) frame '{"type":"result","subtype":"success","result":"allowed"}';;
*) frame '{"type":"result","subtype":"success","result":"denied"}';;
esac
"#;
    let output = ask(&place, asks, &["--json", "Build"]).output().unwrap();
    assert!(said(&output).0.contains(r#""text":"denied""#));
    let output = ask(&place, asks, &["--json", "--permissions", "allow", "Build"]).output().unwrap();
    assert!(said(&output).0.contains(r#""text":"allowed""#));
    let output = ask(&place, asks, &["Build"]).output().unwrap();
    assert!(said(&output).1.contains("denied: approval is needed, and no person can be asked"));
}

#[test]
fn errors_say_what_is_wrong_and_have_exit_codes() {
    let place = Place::new();
    let run = |script: &str, more: &[&str]| {
        let output = ask(&place, script, more).output().unwrap();
        (output.status.code(), said(&output).1)
    };
    let (code, err) = run("echo 'no model' >&2; exit 3", &["Hi"]);
    assert_eq!(code, Some(5));
    assert!(
        err.contains("error: Claude Code ended before it answered: exit code 3; its last message: no model"),
        "{err}"
    );
    let (code, err) = run("sleep 1000", &["--deadline", "1", "Hi"]);
    assert_eq!(code, Some(5));
    assert!(err.contains("error: Claude Code did not answer within 1 s"), "{err}");
    let (code, err) = run(HELLO, &["--budget", "40", "Hi"]);
    assert_eq!(code, Some(3));
    assert!(err.contains("error: the budget is used up: used 45 tokens; the limit is 40"), "{err}");
    let failed = r#"frame '{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529"}'"#;
    let (code, err) = run(failed, &["Hi"]);
    assert_eq!(code, Some(5));
    assert!(err.contains("error: Claude Code reported an error: API Error: 529"), "{err}");
    assert_eq!(fs::read_dir(place.temporary()).unwrap().count(), 0, "the homes are gone");
    let output = place.at_home(&["ask", "claude", "--program", "./nowhere", "Hi"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
}

/// Ctrl-C ends the agent, and its home is gone.
#[test]
fn an_interrupted_question_leaves_nothing() {
    let place = Place::new();
    let started = place.path().join("started");
    let script = format!("echo $$ >{0}.new; mv {0}.new {0}; sleep 1000", started.display());
    let mut child = ask(&place, &script, &["Hi"]).spawn().unwrap();
    while !started.exists() {
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let agent = fs::read_to_string(&started).unwrap();
    assert!(!std::path::Path::new("/proc").join(agent.trim()).exists(), "{agent} is still there");
    assert_eq!(fs::read_dir(place.temporary()).unwrap().count(), 0, "the home is gone");
}

/// Codex, which is a shell script here that speaks the protocol of `codex app-server`.
#[test]
fn codex_is_asked_over_its_app_server() {
    let place = Place::new();
    let script = r#"#!/bin/sh
[ "$1" = app-server ] || exit 1
frame() { read -r line; printf '%s\n' "$1"; }
frame '{"id":1,"result":{"userAgent":"metier/0.169.0 (Debian)"}}'
read -r initialized
frame '{"id":2,"result":{"thread":{"id":"t1"},"model":"fake-model"}}'
frame '{"id":3,"result":{"turn":{"id":"u1"}}}'
echo '{"method":"item/agentMessage/delta","params":{"threadId":"t1","itemId":"m1","delta":"Hello."}}'
echo '{"method":"item/completed","params":{"threadId":"t1","item":{"type":"agentMessage","id":"m1","text":"Hello."}}}'
echo '{"method":"thread/tokenUsage/updated","params":{"threadId":"t1","turnId":"u1","tokenUsage":{"total":{"inputTokens":10,"outputTokens":5},"last":{"inputTokens":10,"outputTokens":5}}}}'
echo '{"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1","status":"completed"}}}'
cat >/dev/null
"#;
    let path = place.write("codex", script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = place.at_home(&["ask", "codex", "--program", path.to_str().unwrap(), "Hello?"]);
    let output = command.env("PATH", "/usr/bin:/bin").env("TMPDIR", place.temporary()).output().unwrap();
    let (out, err) = said(&output);
    assert_eq!((output.status.code(), out.as_str()), (Some(0), "Hello.\n"), "{err}");
    assert!(err.contains("fake-model: 1 model request, 10 input tokens, 5 output tokens, "), "{err}");
    assert_eq!(fs::read_dir(place.temporary()).unwrap().count(), 0, "the home is gone");
}

/// A model server, which is the fake model here.
fn ask_server(place: &Place, steps: Vec<Step>, more: &[&str]) -> (Output, Vec<Request>) {
    let server = Server::start_without_tools(steps).unwrap();
    let url = format!("{}/v1", server.url());
    let mut args = vec!["ask", "openai", "--base-url", &url, "--model", "fake-model"];
    args.extend(more);
    let mut command = place.at_home(&args);
    command.env("TMPDIR", place.temporary()).env("OPENAI_API_KEY", "sk-secret-0123456789");
    let output = command.output().unwrap();
    (output, server.requests())
}

#[test]
fn a_model_server_loads_skills_through_tools() {
    for api in ["responses", "chat"] {
        let place = Place::new();
        place.skill("skills/one", "Use one.");
        let load = Step::call("load_skill", serde_json::json!({ "skill_name": "one" }));
        let more = ["--api", api, "--skill", "skills/one", "What is $this?"];
        let (output, requests) = ask_server(&place, vec![load, Step::text("Hello.")], &more);
        let (out, err) = said(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(0), "Hello.\n"), "{err}");
        let lines: Vec<&str> = err.lines().collect();
        assert_eq!(lines[0], "tool: load_skill one");
        assert!(lines[1].starts_with("skill: one (sha256:"), "{err}");
        let used = "fake-model: 2 model requests, 20 input tokens, 10 output tokens, 1 tool call, 1 skill, ";
        assert!(lines[2].starts_with(used), "{err}");
        assert!(requests[0].contains("What is $this?"));
        assert!(!requests[0].contains("Text of one.") && requests.len() == 2);
        assert_eq!(fs::read_dir(place.temporary()).unwrap().count(), 0, "the copies are gone");
        let log = said(&place.at_home(&["audit", "log", "--json"]).output().unwrap()).0;
        for kind in ["evaluation.started", "skills.installed", "skill.activated", "evaluation.ended"] {
            assert_eq!(log.matches(&format!("\"kind\":\"{kind}\"")).count(), 1, "{kind}: {log}");
        }
        assert!(!format!("{out}{err}{log}").contains("sk-secret"));
        let verified = place.at_home(&["audit", "replay"]).output().unwrap();
        assert_eq!(verified.status.code(), Some(0), "{}", said(&verified).1);
    }
}

#[test]
fn injected_skills_are_in_the_first_request() {
    let place = Place::new();
    place.skill("skills/one", "Use one.");
    place.skill("skills/two", "Use two.");
    let more = ["--skill", "skills/one", "--inject", "skills/two", "Hello?"];
    let (output, requests) = ask_server(&place, vec![Step::text("Hello.")], &more);
    let (out, err) = said(&output);
    assert_eq!((output.status.code(), out.as_str()), (Some(0), "Hello.\n"), "{err}");
    assert!(err.starts_with("skill: two (sha256:"), "{err}");
    assert!(requests[0].contains("<skill_content name=\\\"two\\\"") && requests[0].contains("Use one."));
    assert!(!requests[0].contains("<skill_content name=\\\"one\\\""));
}

#[test]
fn errors_of_model_servers_have_exit_codes() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let output = place.at_home(args).output().unwrap();
        (output.status.code(), said(&output).1)
    };
    let (code, err) = run(&["ask", "openai", "--model", "m", "Hi"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("error: there is no API key for OpenAI; set `OPENAI_API_KEY`"), "{err}");
    let (code, err) = run(&["ask", "openai", "--base-url", "http://127.0.0.1:9", "Hi"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("error: The model server cannot be asked: no model is named"), "{err}");
    let (code, err) = run(&["ask", "openai", "--workspace", "--base-url", "http://127.0.0.1:9", "Hi"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("`openai` runs no program on this machine"), "{err}");
    let (code, err) = run(&["ask", "claude", "--api", "chat", "Hi"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("are for `openai`"), "{err}");
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let url = format!("http://{free}");
    let (code, err) = run(&["ask", "openai", "--model", "m", "--base-url", &url, "Hi"]);
    assert_eq!(code, Some(5));
    assert!(err.contains("cannot be reached: io: Connection refused"), "{err}");
    let (output, _) = ask_server(&place, vec![Step::text("Hello.")], &["--budget", "12", "Hi"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output).1.contains("used 15 tokens; the limit is 12"));
}

#[test]
fn a_model_server_answers_with_a_schema() {
    let place = Place::new();
    place.write("schema.json", r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#);
    let steps = vec![Step::each(["three", r#"{"n": 3}"#])];
    let (output, requests) = ask_server(&place, steps, &["--schema", "schema.json", "Count"]);
    let (out, err) = said(&output);
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["n"], 3, "{err}");
    assert!(requests[0].contains("json_schema") && requests.len() == 2);
    assert!(err.contains("asking again"), "{err}");
}

#[test]
fn a_conversation_that_is_kept_can_be_resumed() {
    let place = Place::new();
    let keeps = r#"mkdir -p "$HOME/.claude/projects/p" && echo words >"$HOME/.claude/projects/p/c1.jsonl""#;
    let output = ask(&place, &format!("{keeps}{HELLO}"), &["--keep", "Hi"]).output().unwrap();
    let (_, err) = said(&output);
    assert!(err.ends_with("\ncontinue with --resume c1\n"), "{err}");
    let resumes = r#"
case "$*" in *--resume=c1*) found=$(cat "$HOME/.claude/projects/p/c1.jsonl");; esac
frame "{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"$found\"}"
"#;
    let output = ask(&place, resumes, &["--resume", "c1", "More"]).output().unwrap();
    assert_eq!(said(&output).0, "words\n", "{}", said(&output).1);
    // Without being asked for, nothing is kept.
    let place = Place::new();
    assert!(ask(&place, &format!("{keeps}{HELLO}"), &["Hi"]).output().unwrap().status.success());
    assert!(!place.path().join("me/.local/state/metier/conversations").exists());
    let output = place.at_home(&["ask", "openai", "--model", "m", "--keep", "Hi"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output).1);
}

#[test]
fn a_result_without_its_hook_ends_the_evaluation() {
    let place = Place::new();
    let runs = r#"
frame '{"type":"assistant","message":{"id":"m0","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}'
frame '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"a"}]}}'
"#;
    let output = ask(&place, &format!("{runs}{HELLO}"), &["Hi"]).output().unwrap();
    let (out, err) = said(&output);
    assert_eq!((output.status.code(), out.as_str()), (Some(5), ""), "{err}");
    assert!(err.contains("Claude Code used tools that the guard had not allowed: Bash"), "{err}");
    let calls = "hooked t1 Bash '{\"command\":\"ls\"}'";
    let output = ask(&place, &format!("{calls}{runs}{HELLO}"), &["--json", "Hi"]).output().unwrap();
    let (out, err) = said(&output);
    assert!(output.status.success() && out.contains("\"hooks\":true"), "{out}{err}");
}

/// The agent waits at a pipe until the terminal shows that a command runs.
#[test]
fn a_narrow_terminal_shows_one_line_for_each_call_and_what_is_waited_for() {
    let place = Place::new();
    let pipe = place.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!(
        r#"
frame '{{"type":"assistant","message":{{"id":"m0","content":[{{"type":"text","text":"I look."}},{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":"git log --oneline --decorate --graph --all"}}}}]}}}}'
read -r go <{}
hooked t1 Bash '{{"command":"git log"}}'
frame '{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"fatal: not a git repository\nmore"}}]}}}}'
{HELLO}"#,
        pipe.display()
    );
    let (mut go, opened) = (None, pipe.clone());
    let (seen, status) = watched(ask(&place, &script, &["--deadline", "60", "Hi"]), 40, move |screen| {
        if go.is_none() && screen.contains("running Bash… ") {
            go = Some(fs::write(&opened, "go\n"));
        }
    });
    assert!(status.success(), "{seen}");
    let plain = seen.replace("\r\n", "\n");
    // What was waited for is erased.
    let lines: Vec<&str> = plain.lines().map(|line| line.rsplit("\r\u{1b}[2K").next().unwrap()).collect();
    let all = lines.join("\n");
    for line in [
        "I look.",
        "tool: Bash git log --oneline --decorate…",
        "failed: fatal: not a git repository",
        "Hello.",
    ] {
        assert!(lines.contains(&line), "{line}: {all:?}");
    }
    assert!(lines.iter().all(|line| line.chars().count() <= 40), "{all:?}");
    assert!(all.contains("fake-model: 2 model requests,"), "{all:?}");
}
