//! Codex's protocol, checked against frames that version 0.169.0 sent and was sent.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::time::Duration;

use metier_harness::{
    AgentEventKind, AgentLine, AgentMessage, Answered, CodexOptions, CodexProtocol, Outbox, PermissionAnswer,
    Protocol, StopReason, TokenUsage, ToolAnswered, TurnEnd,
};
use metier_home::Secret;
use serde_json::{Value, json};

/// The recorded frames, each with its direction: `send` is what the harness sent.
fn recorded(name: &str) -> Vec<(String, Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/frames/codex-{name}.jsonl"));
    let frame = |line: &str| {
        let frame: Value = serde_json::from_str(line).unwrap();
        (frame["dir"].as_str().unwrap().to_owned(), frame["msg"].clone())
    };
    fs::read_to_string(path).unwrap().lines().map(frame).collect()
}

/// A conversation that is played again: what the agent sent is what it was, and answers are as they were.
#[derive(Default)]
struct Played {
    /// What happened in each scenario, without frames that mean nothing here.
    stories: BTreeMap<String, Vec<String>>,
    ends: BTreeMap<String, TurnEnd>,
    /// What was sent and what the recorded client sent, where that was the same kind of frame.
    compared: Vec<(Value, Value)>,
    /// Requests that were sent, until their recorded counterpart is found.
    requests: Vec<Value>,
    /// Our ids, by the recorded ones.
    ids: HashMap<u64, Value>,
    answers: HashMap<String, Value>,
}

impl Played {
    fn take(&mut self, out: &mut Outbox) {
        for line in out.take() {
            let frame: Value = serde_json::from_slice(&line).unwrap();
            if frame.get("method").is_some() {
                self.requests.push(frame);
            } else {
                let known = self.answers.insert(frame["id"].to_string(), frame);
                assert!(known.is_none(), "each request is answered once: {known:?}");
            }
        }
    }

    /// Sends what the recorded client sent.
    fn sent(&mut self, frame: &Value, protocol: &mut CodexProtocol, out: &mut Outbox) {
        let Some(method) = frame.get("method").and_then(Value::as_str) else {
            if let Some(ours) = self.answers.get(&frame["id"].to_string()) {
                self.compared.push((ours.clone(), frame.clone()));
            }
            return;
        };
        match method {
            "turn/start" => {
                protocol.prompt(frame.pointer("/params/input/0/text").unwrap().as_str().unwrap(), out);
            }
            "turn/interrupt" => protocol.interrupt(out),
            _ => {}
        }
        self.take(out);
        if let Some(found) = self.requests.iter().position(|ours| ours["method"] == method) {
            let ours = self.requests.remove(found);
            if let Some(id) = frame["id"].as_u64() {
                self.ids.insert(id, ours["id"].clone());
            }
            self.compared.push((ours, frame.clone()));
        }
    }
}

fn play(name: &str, options: CodexOptions) -> Played {
    let frames = recorded(name);
    let answer_to = |id: &str| {
        let id: Value = serde_json::from_str(id).unwrap();
        let is_it = |frame: &&(String, Value)| {
            frame.0 == "send" && frame.1.get("method").is_none() && frame.1["id"] == id
        };
        frames.iter().find(is_it).map(|(_, frame)| frame["result"].clone()).unwrap()
    };
    let (mut protocol, mut out) = (CodexProtocol::new(options), Outbox::default());
    protocol.begin(&mut out);
    let mut played = Played::default();
    played.take(&mut out);
    // In the recording, requests were sent before the answers to earlier ones came.
    let mut waiting: Vec<Value> = Vec::new();
    let mut scenario = "start".to_owned();
    for (direction, frame) in &frames {
        match direction.as_str() {
            "note" => {
                frame.as_str().unwrap().trim_start_matches("scenario: ").clone_into(&mut scenario);
            }
            "send" if frame.is_object() => {
                let count = played.compared.len();
                played.sent(frame, &mut protocol, &mut out);
                if played.compared.len() == count {
                    waiting.push(frame.clone());
                }
            }
            "recv" => {
                let mut frame = frame.clone();
                if frame.get("method").is_none() {
                    let id = frame["id"].as_u64().unwrap();
                    if !played.ids.contains_key(&id)
                        && let Some(found) = waiting.iter().position(|sent| sent["id"] == id)
                    {
                        let sent = waiting.remove(found);
                        played.sent(&sent, &mut protocol, &mut out);
                    }
                    frame["id"] = played.ids.get(&id).cloned().unwrap_or(json!(1000 + id));
                }
                for message in protocol.receive(&AgentLine::Whole(frame.to_string()), &mut out) {
                    answer(&mut protocol, &message, answer_to, &mut out);
                    played.stories.entry(scenario.clone()).or_default().extend(line_of(&message));
                    if let AgentMessage::TurnEnded(end) = message {
                        played.ends.insert(scenario.clone(), end);
                    }
                }
                played.take(&mut out);
            }
            _ => {}
        }
    }
    played
}

fn answer(
    protocol: &mut CodexProtocol,
    message: &AgentMessage,
    answer_to: impl Fn(&str) -> Value,
    out: &mut Outbox,
) {
    match message {
        AgentMessage::Permission(request) => {
            let recorded = answer_to(&request.id);
            let said = recorded.get("decision").or(recorded.get("action")).unwrap();
            let answer = match said.as_str().unwrap() {
                "accept" => PermissionAnswer::Allow,
                _ => PermissionAnswer::Deny { reason: "no".to_owned() },
            };
            protocol.answer(&Answered::Permission { id: &request.id, answer: &answer }, out);
        }
        AgentMessage::ToolCall(call) => {
            let recorded = answer_to(&call.id);
            let text = recorded.pointer("/contentItems/0/text").unwrap().as_str().unwrap().to_owned();
            protocol.answer(
                &Answered::Tool { id: &call.id, result: &ToolAnswered { text, is_error: false } },
                out,
            );
        }
        _ => {}
    }
}

fn line_of(message: &AgentMessage) -> Option<String> {
    Some(match message {
        AgentMessage::Event(event) => match &event.kind {
            AgentEventKind::Text { text } => format!("text {text}"),
            AgentEventKind::ToolCall { tool, arguments, .. } => format!("call {tool} {arguments}"),
            AgentEventKind::ToolResult { text, is_error, .. } => {
                let text: String = text.chars().take(30).collect();
                format!("{} {}", if *is_error { "failed" } else { "result" }, text.trim_end())
            }
            AgentEventKind::Started { version, model, conversation } => {
                let all = [version, model, conversation].map(|part| part.as_deref().unwrap());
                format!("started {}", all.join(" "))
            }
            AgentEventKind::Other | AgentEventKind::Notice { .. } => return None,
            kind => format!("{kind:?}"),
        },
        AgentMessage::Permission(request) => format!("asks {}", request.tool),
        AgentMessage::ToolCall(call) => format!("tool {} {}", call.tool, call.call.as_deref().unwrap()),
        AgentMessage::TurnEnded(end) => format!("end {}", end.stop),
        _ => return None,
    })
}

fn options() -> CodexOptions {
    let mut options = CodexOptions::new("<WORK>", "/home");
    options.is_sandboxed = false;
    options
}

#[test]
fn each_scenario_means_what_it_meant() {
    let played = play("session", options());
    let story = |scenario: &str| played.stories[scenario].join(" | ");
    let started = &played.stories["a request before initialize is in early.jsonl"][0];
    assert!(started.starts_with("started 0.169.0 fake-model id-"), "{started}");
    assert_eq!(
        story("PROMPT-TEXT"),
        "text Hello  | text from  | text the  | text fake  | text model. | end end_turn"
    );
    assert_eq!(
        story("PROMPT-ALLOW"),
        "call Bash {\"command\":\"touch allowed.txt && echo made\"} | asks Bash | result made | text ran  | text it | end end_turn"
    );
    assert_eq!(
        story("PROMPT-DENY"),
        "call Bash {\"command\":\"touch denied.txt\"} | asks Bash | failed declined | text was  | text denied | end end_turn"
    );
    let served = story("PROMPT-MCP");
    assert!(
        served.starts_with("call mcp__metier__load_skill {\"skill_name\":\"tally\"} | result <skill_content"),
        "{served}"
    );
    // Codex asks whether the tool may be called. What the server asks is declined: nobody here knows the answer.
    let asking = &played.stories["PROMPT-ELICIT"];
    let asked = asking.iter().filter(|line| *line == "asks mcp__metier__run_skill_script").count();
    assert_eq!(asked, 1, "{asking:?}");
    let slow = story("PROMPT-SLOW with turn/interrupt");
    assert!(slow.ends_with("end interrupted"), "{slow}");
    assert!(story("PROMPT-TEXT after the interrupt").ends_with("end end_turn"));
}

#[test]
fn a_tool_of_the_prompt_and_a_patch_are_what_they_were() {
    let played = play("tools", options());
    let patch = r#"{"patch":"*** Begin Patch\n*** Add File: <WORK>/new.txt\n+hi\n*** End Patch"}"#;
    let expected = [
        "started 0.169.0 fake-model id-1",
        "call metier_add {\"a\":1}",
        "tool add call_1",
        "result the sum is 42",
        &format!("call apply_patch {patch}"),
        "asks apply_patch",
        "result",
        "call Bash {\"command\":\"cat missing.txt\"}",
        "asks Bash",
        "failed cat: missing.txt: No such file",
        "text DONE",
        "end end_turn",
    ];
    assert_eq!(played.stories["start"].iter().map(|line| line.trim_end()).collect::<Vec<_>>(), expected);
}

#[test]
fn the_pieces_of_a_text_are_the_text() {
    let played = play("session", options());
    let ended = played.ends.iter().filter(|(_, end)| end.stop == StopReason::EndTurn);
    for (scenario, end) in ended.clone() {
        let pieces = played.stories[scenario].iter().filter_map(|line| line.strip_prefix("text "));
        assert_eq!(pieces.collect::<String>(), end.text, "{scenario}");
        assert!(!end.text.is_empty() && end.error.is_none());
    }
    assert!(ended.count() >= 6);
}

#[test]
fn usage_is_that_of_all_turns_of_this_process() {
    let played = play("session", options());
    let used = |scenario: &str| {
        let used = played.ends[scenario].used;
        (used.usage.input, used.usage.output, used.turns)
    };
    assert_eq!(used("PROMPT-TEXT"), (10, 5, 1));
    assert_eq!(used("PROMPT-ALLOW"), (30, 15, 3));
    assert_eq!(used("PROMPT-TEXT after the interrupt"), (130, 65, 13));
    let mut resumed = options();
    resumed.resumed = Some("id-1".to_owned());
    let used = play("resume", resumed).ends["PROMPT-TEXT after resume"].used;
    assert_eq!((used.usage.input, used.usage.output, used.turns), (10, 5, 1));
}

#[test]
fn what_is_sent_is_what_the_agent_accepted() {
    let mut compared = 0;
    for name in ["session", "tools", "resume"] {
        let mut options = options();
        options.resumed = (name == "resume").then(|| "id-1".to_owned());
        options.tools = vec![json!({
            "type": "function", "name": "metier_add", "description": "Adds two numbers",
            "inputSchema": { "type": "object", "properties": { "a": { "type": "integer" } } },
        })];
        for (ours, accepted) in play(name, options).compared {
            for member in ["cwd", "threadId", "turnId", "approvalPolicy", "sandbox", "input", "dynamicTools"]
            {
                let accepted = accepted.pointer(&format!("/params/{member}"));
                if accepted.is_some() {
                    assert_eq!(ours.pointer(&format!("/params/{member}")), accepted, "{member}");
                    compared += 1;
                }
            }
            // What the recorded client answered to a server's own question was written by hand.
            let is_by_hand = accepted.pointer("/result/content/answer").is_some();
            if !is_by_hand && accepted.get("result").is_some() {
                assert_eq!(ours["result"], accepted["result"]);
                compared += 1;
            }
        }
    }
    assert!(compared >= 30, "only {compared} members were compared");
}

/// A conversation that is open, after what was sent for that.
fn opened(options: CodexOptions) -> (CodexProtocol, Vec<Value>) {
    let (mut protocol, mut out) = (CodexProtocol::new(options), Outbox::default());
    protocol.begin(&mut out);
    let mut sent = Vec::new();
    while let Some(line) = out.take().pop() {
        let frame: Value = serde_json::from_slice(&line).unwrap();
        let answer = json!({ "id": frame["id"], "result": { "thread": { "id": "t1" }, "model": "m" } });
        protocol.receive(&AgentLine::Whole(answer.to_string()), &mut out);
        sent.push(frame);
    }
    assert!(protocol.is_ready());
    (protocol, sent)
}

fn received(protocol: &mut CodexProtocol, frame: &Value) -> (Vec<AgentMessage>, Outbox) {
    let mut out = Outbox::default();
    let messages = protocol.receive(&AgentLine::Whole(frame.to_string()), &mut out);
    (messages, out)
}

fn sent(out: &mut Outbox) -> Vec<Value> {
    out.take().iter().map(|line| serde_json::from_slice(line).unwrap()).collect()
}

#[test]
fn a_key_is_given_before_the_conversation_and_never_shown() {
    let mut options = options();
    options.api_key = Some(Secret::new("sk-Numbat"));
    let (mut protocol, sent) = (CodexProtocol::new(options), &mut Outbox::default());
    protocol.begin(sent);
    for method in ["initialize", "account/login/start", "thread/start"] {
        let frames: Vec<Value> =
            sent.take().iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
        let frame = frames.last().unwrap();
        assert_eq!(frame["method"], method);
        assert_eq!(frame.to_string().contains("sk-Numbat"), method == "account/login/start");
        assert!(!format!("{protocol:?}").contains("Numbat"));
        protocol.receive(&AgentLine::Whole(json!({ "id": frame["id"], "result": {} }).to_string()), sent);
    }
}

/// Otherwise Codex would start what the files of the project name.
#[test]
fn the_working_directory_is_not_trusted() {
    for resumed in [None, Some("t1".to_owned())] {
        let mut options = CodexOptions::new("/w.d/project", "/home");
        options.resumed = resumed;
        let opening = opened(options).1.pop().unwrap();
        let projects = json!({ "/w.d/project": { "trust_level": "untrusted" } });
        assert_eq!(opening["params"]["config"]["projects"], projects, "{opening}");
    }
}

#[test]
fn an_overloaded_server_is_asked_again_later_each_time() {
    let (mut protocol, _) = opened(options());
    let mut out = Outbox::default();
    protocol.prompt("Go.", &mut out);
    let first = sent(&mut out).remove(0);
    let mut id = first["id"].clone();
    let overloaded =
        |id: &Value| json!({ "id": id, "error": { "code": -32001, "message": "Server overloaded" } });
    let mut waits = Vec::new();
    let end = loop {
        let (messages, mut out) = received(&mut protocol, &overloaded(&id));
        assert!(sent(&mut out).is_empty());
        let Some((wait, line)) = out.take_later().pop() else { break messages };
        let again: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!((&again["method"], &again["params"]), (&first["method"], &first["params"]));
        id = again["id"].clone();
        waits.push(wait);
    };
    assert_eq!(waits, [200, 400, 800, 1600, 3200, 6400].map(Duration::from_millis));
    let Some(AgentMessage::TurnEnded(end)) = end.last() else { panic!("{end:?}") };
    assert_eq!(end.error.as_deref(), Some("Server overloaded"));
}

#[test]
fn an_interrupt_waits_for_the_id_of_the_turn() {
    let (mut protocol, _) = opened(options());
    let mut out = Outbox::default();
    // There is no turn.
    protocol.interrupt(&mut out);
    protocol.prompt("Go.", &mut out);
    let begin = sent(&mut out).remove(0);
    protocol.interrupt(&mut out);
    assert!(sent(&mut out).is_empty());
    let begun = json!({ "id": begin["id"], "result": { "turn": { "id": "u1" } } });
    let (_, mut out) = received(&mut protocol, &begun);
    let interrupt = sent(&mut out).remove(0);
    assert_eq!(
        (interrupt["method"].as_str(), interrupt["params"]["turnId"].as_str()),
        (Some("turn/interrupt"), Some("u1"))
    );
    // The end of another turn is not the end of this one.
    let ended = |turn: &str| json!({ "method": "turn/completed", "params": { "threadId": "t1", "turn": { "id": turn, "status": "interrupted" } } });
    let ends = |messages: Vec<AgentMessage>| {
        messages.iter().any(|message| matches!(message, AgentMessage::TurnEnded(_)))
    };
    assert!(!ends(received(&mut protocol, &ended("u0")).0));
    assert!(ends(received(&mut protocol, &ended("u1")).0));
}

#[test]
fn failures_are_errors_of_the_turn() {
    let (mut protocol, _) = opened(options());
    protocol.prompt("Go.", &mut Outbox::default());
    let turn = json!({ "id": "u1", "status": "failed", "error": { "message": "model not found" } });
    let (messages, _) = received(
        &mut protocol,
        &json!({ "method": "turn/completed", "params": { "threadId": "t1", "turn": turn } }),
    );
    let Some(AgentMessage::TurnEnded(end)) = messages.last() else { panic!("{messages:?}") };
    assert_eq!((end.error.as_deref(), end.stop.to_string().as_str()), (Some("model not found"), "failed"));
    // A conversation that cannot be opened.
    let (mut protocol, mut out) = (CodexProtocol::new(options()), Outbox::default());
    protocol.begin(&mut out);
    let (messages, _) =
        received(&mut protocol, &json!({ "id": 1, "error": { "code": -32600, "message": "no" } }));
    let Some(AgentMessage::TurnEnded(end)) = messages.last() else { panic!("{messages:?}") };
    assert_eq!(end.error.as_deref(), Some("no"));
}

#[test]
fn permissions_are_asked_by_the_names_of_rules() {
    let asked = |method: &str, params: Value| {
        let (mut protocol, _) = opened(options());
        let (messages, mut out) =
            received(&mut protocol, &json!({ "id": "x", "method": method, "params": params }));
        let [AgentMessage::Permission(request)] = &messages[..] else { panic!("{messages:?}") };
        let request = request.clone();
        let mut answered = |answer: &PermissionAnswer| {
            let mut protocol = protocol_with(method, &params);
            protocol.answer(&Answered::Permission { id: &request.id, answer }, &mut out);
            sent(&mut out).remove(0)["result"].clone()
        };
        let denied = answered(&PermissionAnswer::Deny { reason: "no".to_owned() });
        (request.clone(), answered(&PermissionAnswer::Allow), denied)
    };
    let read = json!({ "threadId": "t1", "itemId": "i", "command": "/bin/bash -lc 'cat \"$HOME/.agents/skills/a/SKILL.md\"'" });
    let (request, ..) = asked("item/commandExecution/requestApproval", read);
    assert_eq!(request.reads, [Path::new("/home/.agents/skills/a/SKILL.md")]);
    assert_eq!(request.arguments["command"], "cat \"$HOME/.agents/skills/a/SKILL.md\"");
    let network =
        json!({ "command": "curl x", "networkApprovalContext": { "host": "a.test", "protocol": "https" } });
    assert_eq!(asked("item/commandExecution/requestApproval", network).0.tool, "network_access");
    let more = json!({ "command": "git push", "additionalPermissions": { "network": { "enabled": true } } });
    let (request, ..) = asked("item/commandExecution/requestApproval", more);
    assert_eq!((request.tool.as_str(), request.reads.len()), ("request_permissions", 0));
    assert_eq!(request.arguments["permissions"]["network"]["enabled"], true);
    let typed = json!({ "kind": "writeStdin", "command": "bash" });
    assert_eq!(asked("item/commandExecution/requestApproval", typed).0.tool, "write_stdin");
    let wanted = json!({ "network": { "enabled": true } });
    let (request, allowed, denied) =
        asked("item/permissions/requestApproval", json!({ "permissions": wanted, "reason": "to fetch" }));
    assert_eq!(
        (request.tool.as_str(), request.description.as_deref()),
        ("request_permissions", Some("to fetch"))
    );
    assert_eq!(allowed, json!({ "permissions": wanted, "scope": "turn" }));
    assert_eq!(denied, json!({ "permissions": {}, "scope": "turn" }));
    // A change of files that was not announced matches no rule.
    let (request, allowed, denied) =
        asked("item/fileChange/requestApproval", json!({ "itemId": "gone", "threadId": "t2" }));
    assert_eq!((request.arguments, request.subagent.as_deref()), (json!({ "patch": "" }), Some("t2")));
    assert_eq!((&allowed["decision"], &denied["decision"]), (&json!("accept"), &json!("decline")));
    let root = json!({ "itemId": "gone", "grantRoot": "/etc" });
    let (request, ..) = asked("item/fileChange/requestApproval", root);
    assert_eq!(
        (request.tool.as_str(), &request.arguments["grantRoot"]),
        ("request_permissions", &json!("/etc"))
    );
}

/// A conversation in which something is asked.
fn protocol_with(method: &str, params: &Value) -> CodexProtocol {
    let (mut protocol, _) = opened(options());
    received(&mut protocol, &json!({ "id": "x", "method": method, "params": params }));
    protocol
}

#[test]
fn an_unknown_frame_is_kept_and_an_unknown_request_is_refused() {
    let (mut protocol, _) = opened(options());
    for frame in [
        json!({ "method": "brand/new", "params": { "x": [1, null] } }),
        json!({ "y": 1 }),
        json!({ "id": 99, "result": 1 }),
    ] {
        let (messages, mut out) = received(&mut protocol, &frame);
        let [AgentMessage::Event(event)] = &messages[..] else { panic!("{messages:?}") };
        assert_eq!((&event.kind, &**event.raw.as_ref().unwrap()), (&AgentEventKind::Other, &frame));
        assert!(sent(&mut out).is_empty());
    }
    for (method, params) in [
        ("item/tool/requestUserInput", json!({})),
        ("mcpServer/elicitation/request", json!({ "serverName": "s", "_meta": null })),
        ("item/tool/call", json!({ "tool": "not_of_the_prompt" })),
        ("dance", json!(null)),
    ] {
        let (messages, mut out) =
            received(&mut protocol, &json!({ "id": 7, "method": method, "params": params }));
        assert!(matches!(&messages[..], [AgentMessage::Event(event)] if event.kind == AgentEventKind::Other));
        let sent = sent(&mut out);
        assert_eq!(
            (&sent[0]["id"], sent[0]["error"]["code"].as_i64()),
            (&json!(7), Some(-32601)),
            "{method}"
        );
    }
}

#[test]
fn subagents_are_told_apart() {
    let (mut protocol, _) = opened(options());
    let spawned = json!({ "type": "collabAgentToolCall", "id": "call_9", "tool": "spawnAgent", "receiverThreadIds": ["t2"], "status": "completed" });
    received(
        &mut protocol,
        &json!({ "method": "item/completed", "params": { "threadId": "t1", "item": spawned } }),
    );
    let said = json!({ "type": "agentMessage", "id": "m", "text": "from below" });
    let (messages, _) = received(
        &mut protocol,
        &json!({ "method": "item/completed", "params": { "threadId": "t2", "item": said } }),
    );
    let [AgentMessage::Event(event)] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!(event.subagent.as_deref(), Some("call_9"));
    let usage = |input: u64| json!({ "inputTokens": input, "outputTokens": 1, "cachedInputTokens": 4 });
    let used = json!({ "threadId": "t2", "tokenUsage": { "total": usage(10), "last": usage(10) } });
    received(&mut protocol, &json!({ "method": "thread/tokenUsage/updated", "params": used }));
    let turn = json!({ "threadId": "t2", "turn": { "id": "u9", "status": "completed" } });
    let (messages, _) = received(&mut protocol, &json!({ "method": "turn/completed", "params": turn }));
    assert_eq!(messages.len(), 1, "the end of a subagent's turn is not the end: {messages:?}");
    let turn = json!({ "threadId": "t1", "turn": { "id": "u1", "status": "completed" } });
    let (messages, _) = received(&mut protocol, &json!({ "method": "turn/completed", "params": turn }));
    let Some(AgentMessage::TurnEnded(end)) = messages.last() else { panic!("{messages:?}") };
    assert_eq!(end.used.usage, TokenUsage { input: 6, output: 1, cache_read: 4, cache_written: 0 });
    assert_eq!(end.text, "", "what a subagent said is not the answer");
}
