//! Inputs and answers of every agent, as they were recorded from real ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use metier_guard::{
    AgentCall, HOOKS, HOST_TOOLS, HookAnswer, HookEvent, HookInput, HookKind, HostCall, hook_row,
};
use metier_home::Agent;
use serde_json::{Value, json};

fn vectors(agent: Agent, what: &str) -> Vec<(String, Value)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(agent.name()).join(what);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let named = paths.into_iter().map(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
    });
    named.filter(|(name, _): &(String, Value)| !name.starts_with('_')).collect()
}

/// The event that a file of the recordings is of.
fn event_of(agent: Agent, file: &str) -> &str {
    HOOKS
        .iter()
        .filter(|row| row.agent == agent)
        .map(|row| row.event)
        .filter(|event| file == *event || file.starts_with(&format!("{event}-")))
        .max_by_key(|event| event.len())
        .unwrap_or_else(|| file.split('-').next().unwrap())
}

/// A recorded input, as the agent's hook gets it. The recorded events of `OpenCode` are as a plugin sees them.
fn read(agent: Agent, file: &str, json: &Value) -> HookInput {
    let mut json = json.clone();
    if agent == Agent::OpenCode {
        json["directory"] = json!("/repo");
        json["servers"] = json!(["metier"]);
    }
    let event = event_of(agent, file);
    HookInput::read(agent, event, json.to_string().as_bytes()).unwrap()
}

/// The call of a recorded input: the tool and its input as rules see them.
fn call(agent: Agent, file: &str) -> (AgentCall, Vec<HostCall>) {
    let (_, json) = vectors(agent, "events").into_iter().find(|(name, _)| name == file).unwrap();
    let input = read(agent, file, &json);
    let (HookEvent::BeforeTool(call) | HookEvent::AfterTool(call) | HookEvent::Permission(call)) =
        input.event
    else {
        unreachable!("{file} is about a tool")
    };
    let seen = call.as_rules_see_it(agent);
    (call, seen)
}

#[test]
fn every_recorded_input_is_read() {
    for agent in Agent::ALL {
        let mut seen = BTreeSet::new();
        for (file, json) in vectors(agent, "events") {
            let input = read(agent, &file, &json);
            let row = hook_row(agent, event_of(agent, &file));
            assert_eq!(matches!(input.event, HookEvent::Other), row.is_none(), "{agent} {file}: {input:?}");
            if let Some(row) = row {
                assert!(input.conversation.is_some(), "{agent} {file}");
                seen.insert(row.event);
            }
        }
        // Only compaction and the end were not seen of everyone.
        for row in HOOKS.iter().filter(|row| row.agent == agent && row.is_installed) {
            let is_rare = matches!(row.kind, HookKind::Compacted | HookKind::SessionEnd);
            assert!(is_rare || seen.contains(row.event), "{agent} {}", row.event);
        }
    }
}

#[test]
fn recorded_calls_become_what_rules_check() {
    #[rustfmt::skip]
    let cases = [
        (Agent::ClaudeCode, "PreToolUse-Bash", "Bash", "command", "echo ran > shell.txt"),
        (Agent::ClaudeCode, "PermissionRequest-Bash", "Bash", "command", "echo ran > shell.txt"),
        (Agent::ClaudeCode, "PreToolUse-Skill", "Skill", "skill", "zeta-probe"),
        (Agent::ClaudeCode, "PreToolUse-Agent", "Agent", "subagent_type", "general-purpose"),
        (Agent::ClaudeCode, "PreToolUse-mcp__metier__list_skills", "mcp__metier__list_skills", "", ""),
        (Agent::Codex, "PreToolUse-Bash-codemode", "Bash", "command", "echo ran > shell.txt"),
        (Agent::Codex, "PreToolUse-apply_patch", "Edit", "file_path", "<WORK>/new.txt"),
        (Agent::Codex, "PreToolUse-mcp__metier__list_skills", "mcp__metier__list_skills", "", ""),
        (Agent::OpenCode, "tool.execute.before-bash", "Bash", "command", "echo ran > shell.txt"),
        (Agent::OpenCode, "tool.execute.before-edit", "Edit", "filePath", "<WORK>/a.txt"),
        (Agent::OpenCode, "tool.execute.before-skill", "Skill", "name", "zeta-probe"),
        (Agent::OpenCode, "tool.execute.before-metier_list_skills", "mcp__metier__list_skills", "", ""),
        (Agent::Gemini, "BeforeTool-run_shell_command", "Bash", "command", "echo ran > shell.txt"),
        (Agent::Gemini, "BeforeTool-activate_skill", "Skill", "name", "zeta-probe"),
        (Agent::Gemini, "BeforeTool-mcp_metier_list_skills", "mcp__metier__list_skills", "", ""),
        (Agent::Goose, "PreToolUse-shell", "Bash", "command", "echo ran > shell.txt"),
        (Agent::Goose, "PreToolUse-load_skill", "Skill", "skill", "zeta-probe"),
        (Agent::Goose, "PreToolUse-metier__list_skills", "mcp__metier__list_skills", "", ""),
        (Agent::Copilot, "preToolUse-bash", "Bash", "command", "echo ran > shell.txt"),
        (Agent::Copilot, "PreToolUse-Bash", "Bash", "command", "echo ran > shell.txt"),
        (Agent::Copilot, "preToolUse-create", "Write", "path", "<WORK>/new.txt"),
        (Agent::Copilot, "preToolUse-view", "Read", "path", "<WORK>/a.txt"),
        (Agent::Copilot, "preToolUse-metier-list_skills", "mcp__metier__list_skills", "", ""),
        (Agent::Copilot, "permissionRequest-metier_list_skills", "mcp__metier__list_skills", "", ""),
        (Agent::Copilot, "permissionRequest-edit", "Edit", "file_path", "<WORK>/new.txt"),
    ];
    for (agent, file, tool, member, text) in cases {
        let seen = call(agent, file).1;
        assert_eq!((seen.len(), seen[0].tool.as_str()), (1, tool), "{agent} {file}: {seen:?}");
        if !member.is_empty() {
            assert_eq!(seen[0].input[member], text, "{agent} {file}: {seen:?}");
        }
    }
    let fetch = call(Agent::Gemini, "BeforeTool-web_fetch").1.remove(0);
    assert_eq!(
        (fetch.tool.as_str(), &fetch.input["urls"][0]),
        ("WebFetch", &json!("http://127.0.0.1:<PORT>/v1/models"))
    );
}

#[test]
fn a_result_is_recognised_as_that_of_the_call() {
    let mut pairs = 0;
    for agent in Agent::ALL {
        let events = vectors(agent, "events");
        for (file, _) in &events {
            let row = hook_row(agent, event_of(agent, file));
            let Some(before) = row.filter(|row| row.kind == HookKind::BeforeTool) else { continue };
            let tool = &file[before.event.len()..];
            let after =
                HOOKS.iter().find(|row| row.agent == agent && row.kind == HookKind::AfterTool).unwrap();
            let after = format!("{}{tool}", after.event);
            if !events.iter().any(|(name, _)| *name == after) {
                continue;
            }
            let (before, after) = (call(agent, file).0, call(agent, &after).0);
            // A few were recorded from two calls.
            if before.id == after.id {
                assert_eq!(before.digest(), after.digest(), "{agent} {file}");
                pairs += 1;
            }
        }
    }
    assert!(pairs >= 30, "{pairs}");
}

#[test]
fn subagents_say_whom_they_work_for() {
    let of = |agent, file: &str| {
        let (_, json) = vectors(agent, "events").into_iter().find(|(name, _)| name == file).unwrap();
        read(agent, file, &json)
    };
    let (own, sub) =
        (of(Agent::ClaudeCode, "PreToolUse-Bash"), of(Agent::ClaudeCode, "PreToolUse-Bash-in-subagent"));
    assert_eq!(own.conversation, sub.conversation, "the same conversation");
    let (own, sub) =
        (of(Agent::Copilot, "preToolUse-bash"), of(Agent::Copilot, "preToolUse-bash-in-subagent"));
    assert_eq!(own.conversation, sub.parent, "a conversation of its own");
    let start = of(Agent::Copilot, "subagentStart");
    assert_eq!(start.conversation, own.conversation);
    assert!(
        matches!(start.event, HookEvent::SubagentStart(child) if Some(&child) == sub.conversation.as_ref())
    );
    let json = json!({ "event": { "properties": { "sessionID": "child", "info": { "id": "child", "parentID": "top" } } } });
    let start =
        HookInput::read(Agent::OpenCode, "event.session.created", json.to_string().as_bytes()).unwrap();
    assert_eq!(
        (start.conversation.as_deref(), start.event),
        (Some("top"), HookEvent::SubagentStart("child".to_owned()))
    );
}

#[test]
fn what_is_unknown_is_no_error_and_what_is_missing_is_one() {
    let read = |event: &str, json: &str| HookInput::read(Agent::ClaudeCode, event, json.as_bytes());
    assert_eq!(read("Elicitation", "{}").unwrap().event, HookEvent::Other);
    let call = r#"{"session_id":"s","tool_name":"New","tool_input":{},"later":{"x":[1]}}"#;
    assert!(
        matches!(read("PreToolUse", call).unwrap().event, HookEvent::BeforeTool(call) if call.tool == "New")
    );
    for json in [
        "",
        "[]",
        "nothing",
        "{}",
        r#"{"session_id":"s"}"#,
        r#"{"tool_name":"Bash"}"#,
        r#"{"session_id":1,"tool_name":"Bash"}"#,
    ] {
        assert!(read("PreToolUse", json).is_err(), "{json}");
    }
    let deep = format!(r#"{{"session_id":"s","tool_name":"x","tool_input":{}"#, "[".repeat(100_000));
    assert!(read("PreToolUse", &deep).is_err());
}

#[test]
fn the_examples_of_the_table_hold() {
    for row in HOST_TOOLS {
        let call = AgentCall::new(row.name, serde_json::from_str::<Value>(row.example).unwrap());
        let seen = call.as_rules_see_it(row.agent);
        let expected: Value = serde_json::from_str(row.checked).unwrap();
        assert_eq!((seen.len(), seen[0].tool.as_str(), &seen[0].input), (1, row.rule, &expected), "{row:?}");
    }
}

#[test]
fn what_can_be_read_in_several_ways_is_all_of_them() {
    let names = |agent, tool: &str, servers: &[&str]| {
        let mut call = AgentCall::new(tool, json!({}));
        call.servers = servers.iter().map(|one| (*one).to_owned()).collect();
        call.as_rules_see_it(agent).into_iter().map(|call| call.tool).collect::<Vec<_>>()
    };
    assert_eq!(
        names(Agent::Copilot, "my-server-list", &[]),
        ["mcp__my__server-list", "mcp__my-server__list"]
    );
    assert_eq!(names(Agent::OpenCode, "my_db_query", &["my_db"]), ["mcp__my_db__query"]);
    assert_eq!(names(Agent::OpenCode, "my_db_query", &["my", "my_db"]).len(), 2);
    assert_eq!(names(Agent::OpenCode, "todo_write", &["x"]), ["todo_write"]);
    assert_eq!(names(Agent::OpenCode, "load_skill", &[]), ["opencode.load_skill"], "not metier's own");
    assert_eq!(names(Agent::Goose, "a__b", &[]), ["mcp__a__b"]);
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n*** Delete File: a\n*** End Patch";
    let seen = AgentCall::new("apply_patch", json!({ "command": patch })).as_rules_see_it(Agent::Codex);
    let paths: Vec<&str> = seen.iter().map(|call| call.input["file_path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a", "b", "c"]);
    let none =
        AgentCall::new("apply_patch", json!({ "command": "*** Begin Patch" })).as_rules_see_it(Agent::Codex);
    assert_eq!(none[0].tool, "apply_patch");
    let urls = |prompt: &str| {
        AgentCall::new("web_fetch", json!({ "prompt": prompt }))
            .as_rules_see_it(Agent::Gemini)
            .remove(0)
            .input
    };
    assert_eq!(
        urls("see https://a.com/x, and b.org."),
        json!({ "urls": ["https://a.com/x,", "https://b.org"] })
    );
    assert_eq!(urls("nothing. Really."), json!({ "prompt": "nothing. Really." }));
}

/// For each agent and kind of event: what was answered, and whether the call ran then.
#[test]
fn answers_are_those_that_had_the_effect() {
    let reason = "NO-BY-GUARD: not in allowed-tools of skill x";
    for agent in Agent::ALL.into_iter().filter(|agent| *agent != Agent::OpenCode) {
        let event =
            HOOKS.iter().find(|row| row.agent == agent && row.kind == HookKind::BeforeTool).unwrap().event;
        let answers = vectors(agent, "answers");
        let recorded = |answer: &HookAnswer| {
            let json: Value = serde_json::from_str(&answer.to_json(agent, event)).unwrap();
            let found = answers.iter().find(|(_, known)| known["exit"] == 0 && known["stdout"] == json);
            found.map(|(_, known)| known["effect"]["command_ran"].clone())
        };
        assert_eq!(
            recorded(&HookAnswer::Deny(reason.to_owned())),
            Some(Value::Null),
            "{agent}: does not run"
        );
        if agent != Agent::Goose {
            assert_eq!(recorded(&HookAnswer::Allow(reason.to_owned())), Some(json!("ran")), "{agent}: runs");
        }
        let neutral = HookAnswer::NoOpinion.to_json(agent, event);
        let expected = if agent == Agent::Goose { r#"{"decision":"allow"}"# } else { "{}" };
        assert_eq!(neutral, expected, "{agent}: as without the guard");
    }
    let of = |agent, event: &str, answer: HookAnswer| {
        serde_json::from_str::<Value>(&answer.to_json(agent, event)).unwrap()
    };
    let no = || HookAnswer::Deny("no".to_owned());
    assert_eq!(
        of(Agent::OpenCode, "tool.execute.before", no()),
        json!({ "decision": "deny", "reason": "no" })
    );
    assert_eq!(of(Agent::OpenCode, "chat.message", HookAnswer::NoOpinion), json!({ "decision": "allow" }));
    assert_eq!(
        of(Agent::ClaudeCode, "UserPromptSubmit", no()),
        json!({ "decision": "block", "reason": "no" })
    );
    assert_eq!(of(Agent::Gemini, "BeforeAgent", no()), json!({ "decision": "deny", "reason": "no" }));
    assert_eq!(of(Agent::Copilot, "permissionRequest", no()), json!({ "behavior": "deny", "message": "no" }));
    assert_eq!(of(Agent::ClaudeCode, "PostToolUse", no()), json!({}), "it has happened");
    assert_eq!(of(Agent::ClaudeCode, "Unknown", no()), json!({}));
}

#[test]
fn a_text_for_the_model_has_the_recorded_form() {
    for agent in Agent::ALL.into_iter().filter(|agent| !matches!(agent, Agent::OpenCode | Agent::Goose)) {
        let (_, known) =
            vectors(agent, "answers").into_iter().find(|(name, _)| name == "prompt-context").unwrap();
        let event = known["event"].as_str().unwrap();
        let answer: Value =
            serde_json::from_str(&HookAnswer::Context("TEXT".to_owned()).to_json(agent, event)).unwrap();
        assert_eq!(answer, known["stdout"], "{agent}");
    }
    assert_eq!(
        HookAnswer::Context("x".to_owned()).to_json(Agent::Goose, "UserPromptSubmit"),
        r#"{"decision":"allow"}"#
    );
}
