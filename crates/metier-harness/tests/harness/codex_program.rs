//! Codex as a program, which is a shell script here: what its conversation needs beyond the meaning of frames.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use metier_harness::{AgentEvent, Codex, HarnessError, evaluate};
use metier_home::Agent;

use crate::ground::{Ground, prompt, story};

/// Answers the first requests, which must come in this order.
const OPENS: &str = r#"
frame() { printf '%s\n' "$1"; }
next() { read -r line; case $line in *"$1"*) ;; *) echo "$1 was expected, not $line" >&2; exit 1;; esac; }
next '"method":"initialize"'
frame '{"id":1,"result":{"userAgent":"metier/0.169.0 (Debian)"}}'
next '"method":"initialized"'
next '"method":"thread/start"'
"#;

const OPEN: &str = r#"
frame '{"id":2,"result":{"thread":{"id":"t1"},"model":"fake-model"}}'
next '"method":"turn/start"'
"#;

fn codex(ground: &Ground, script: &str) -> Codex {
    let path = ground.write("codex", &format!("#!/bin/sh\n{OPENS}{script}\ncat >/dev/null\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut setup = ground.setup();
    (setup.agent, setup.program) = (Agent::Codex, path);
    Codex::new(setup)
}

#[test]
fn a_prompt_is_sent_again_to_an_overloaded_server() {
    let ground = Ground::new();
    let again = r#"
frame '{"id":3,"error":{"code":-32001,"message":"Server overloaded; retry later."}}'
next '"id":4,"method":"turn/start"'
frame '{"id":4,"result":{"turn":{"id":"u1"}}}'
frame '{"method":"item/completed","params":{"threadId":"t1","item":{"type":"agentMessage","id":"m1","text":"Hello."}}}'
frame '{"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1","status":"completed"}}}'
"#;
    let agent = codex(&ground, &format!("{OPEN}{again}"));
    let mut events: Vec<AgentEvent> = Vec::new();
    let builder = evaluate(&agent, prompt("Go.")).on_event(|event| events.push(event.clone()));
    let answer = builder.run(&mut ground.session()).unwrap();
    assert_eq!((answer.text.as_str(), answer.version.as_deref()), ("Hello.", Some("0.169.0")));
    assert_eq!((answer.session_id.as_deref(), answer.model.as_deref()), (Some("t1"), Some("fake-model")));
    let notice = "Codex is overloaded; trying again in 0.2 s".to_owned();
    assert!(story(&events).contains(&notice), "{:?}", story(&events));
    assert!(ground.left().is_empty());
}

#[test]
fn a_conversation_that_cannot_be_opened_is_an_error_at_once() {
    let ground = Ground::new();
    let agent =
        codex(&ground, r#"frame '{"id":2,"error":{"code":-32600,"message":"no rollout found for t0"}}'"#);
    let error = evaluate(&agent, prompt("Go.")).run(&mut ground.session()).unwrap_err();
    assert!(matches!(&error, HarnessError::Agent { .. }), "{error:?}");
    assert_eq!(error.to_string(), "Codex reported an error: no rollout found for t0");
    assert!(ground.left().is_empty());
}
