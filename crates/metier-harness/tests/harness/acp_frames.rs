//! The Agent Client Protocol, checked against frames that `OpenCode` 1.18.34, Gemini CLI 0.61.0, Goose 1.52.0 and Copilot
//! 1.0.102 sent and were sent.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use metier_harness::{
    AcpOptions, AcpProtocol, AgentEventKind, AgentLine, AgentMessage, Answered, Outbox, PermissionAnswer,
    PermissionRequest, PromptToolCall, Protocol, StopReason, TurnEnd,
};
use metier_home::Agent;
use serde_json::{Value, json};

const AGENTS: [Agent; 4] = [Agent::OpenCode, Agent::Gemini, Agent::Goose, Agent::Copilot];

/// The recorded frames, each with its direction: `send` is what the client sent.
fn recorded(agent: Agent, name: &str) -> Vec<(String, Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/frames/{agent}-{name}.jsonl"));
    let frame = |line: &str| {
        let frame: Value = serde_json::from_str(line).unwrap();
        (frame["dir"].as_str().unwrap().to_owned(), frame["msg"].clone())
    };
    let text = fs::read_to_string(path).unwrap().replace("<WORK>", "/work").replace("<HOME>", "/me");
    text.lines().map(frame).collect()
}

fn options(agent: Agent) -> AcpOptions {
    let mut options = AcpOptions::new(agent, "/work");
    options.tools = ["load_skill", "run_skill_script", "add"].map(str::to_owned).into();
    options
}

/// A conversation that is played again: what the agent sent is what it was, and answers are as they were.
#[derive(Default)]
struct Played {
    /// What happened in each scenario, without frames that mean nothing here.
    stories: BTreeMap<String, Vec<String>>,
    ends: BTreeMap<String, TurnEnd>,
    asked: Vec<PermissionRequest>,
    calls: Vec<AgentEventKind>,
    /// What was sent and what the recorded client sent, where that was the same kind of frame.
    compared: Vec<(Value, Value)>,
    requests: Vec<Value>,
    answers: HashMap<String, Value>,
    /// Our ids, by the recorded ones.
    ids: HashMap<u64, Value>,
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
    fn sent(&mut self, frame: &Value, protocol: &mut AcpProtocol, out: &mut Outbox) {
        let Some(method) = frame.get("method").and_then(Value::as_str) else {
            let ours = self.answers.get(&frame["id"].to_string());
            let is_decision = frame.pointer("/result/outcome").is_some();
            self.compared.extend(ours.filter(|_| is_decision).map(|ours| (ours.clone(), frame.clone())));
            return;
        };
        match method {
            "session/prompt" if frame["params"]["sessionId"] != "none" => {
                protocol.prompt(frame.pointer("/params/prompt/0/text").unwrap().as_str().unwrap(), out);
            }
            "session/cancel" => protocol.interrupt(out),
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

    fn received(&mut self, scenario: &str, message: AgentMessage) {
        let story = self.stories.entry(scenario.to_owned()).or_default();
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let line = match &message {
            AgentMessage::Event(event) => match &event.kind {
                AgentEventKind::Text { text } => {
                    if let Some(said) = story.last_mut().filter(|line| line.starts_with("say ")) {
                        said.push_str(text);
                        return;
                    }
                    format!("say {text}")
                }
                AgentEventKind::ToolCall { tool, .. } => {
                    self.calls.push(event.kind.clone());
                    format!("call {tool}")
                }
                AgentEventKind::ToolResult { text, is_error, .. } => {
                    format!("{} {}", if *is_error { "failed" } else { "result" }, first(text))
                }
                AgentEventKind::Notice { text } => format!("note {text}"),
                AgentEventKind::Started { version, .. } => format!("started {}", version.as_ref().unwrap()),
                _ => return,
            },
            AgentMessage::Permission(request) => format!("ask {}", request.tool),
            _ => String::new(),
        };
        story.extend(Some(line).filter(|line| !line.is_empty()));
        match message {
            AgentMessage::Permission(request) => self.asked.push(request),
            AgentMessage::TurnEnded(end) => drop(self.ends.insert(scenario.to_owned(), end)),
            _ => {}
        }
    }
}

fn play(agent: Agent, name: &str, options: AcpOptions) -> (Played, AcpProtocol) {
    let frames = recorded(agent, name);
    let is_allowed = |id: &Value| {
        let is_it = |frame: &&(String, Value)| {
            frame.0 == "send" && frame.1["id"] == *id && frame.1.get("method").is_none()
        };
        let (_, answer) = frames.iter().find(is_it).unwrap();
        let option = answer.pointer("/result/outcome/optionId").unwrap().as_str().unwrap().to_owned();
        ["once", "allow_once", "proceed_once"].contains(&option.as_str())
    };
    let mut protocol = AcpProtocol::new(options).unwrap();
    let (mut out, mut played) = (Outbox::default(), Played::default());
    protocol.begin(&mut out);
    let mut scenario = "start".to_owned();
    for (direction, frame) in &frames {
        match direction.as_str() {
            "note" => frame.as_str().unwrap().trim_start_matches("scenario: ").clone_into(&mut scenario),
            "send" => played.sent(frame, &mut protocol, &mut out),
            _ => {
                let mut frame = frame.clone();
                if frame.get("method").is_none() {
                    // Answers to requests that only the recorded client sent have an id that means nothing.
                    let id = frame["id"].as_u64().and_then(|id| played.ids.remove(&id));
                    frame["id"] = id.unwrap_or(json!(999_999));
                }
                for message in protocol.receive(&AgentLine::Whole(frame.to_string()), &mut out) {
                    if let AgentMessage::Permission(request) = &message {
                        let answer = if is_allowed(&frame["id"]) {
                            PermissionAnswer::Allow
                        } else {
                            PermissionAnswer::Deny { reason: "no".to_owned() }
                        };
                        protocol.answer(&Answered::Permission { id: &request.id, answer: &answer }, &mut out);
                    }
                    played.received(&scenario, message);
                }
                played.take(&mut out);
            }
        }
    }
    (played, protocol)
}

/// What happens in a scenario with each of the four agents, in the order of [`AGENTS`].
const STORIES: &[(&str, [&[&str]; 4])] = &[
    ("PROMPT-TEXT", [&["say Hello from the fake model."]; 4]),
    (
        "PROMPT-ALLOW",
        [
            &["call bash", "ask bash", "result made", "say ran it"],
            &["call run_shell_command", "ask run_shell_command", "result ", "say ran it"],
            &["call shell", "ask shell", "result made", "say ran it"],
            &["call bash", "ask bash", "result made", "say ran it"],
        ],
    ),
    (
        "PROMPT-DENY",
        [
            &["ask bash", "call bash", "failed The user rejected permission to use this specific tool call."],
            &["call run_shell_command", "ask run_shell_command", "say was denied"],
            &[
                "call shell",
                "ask shell",
                "failed The user has declined to run this tool. DO NOT attempt to call this tool again. If there are no \
                 alternative methods to proceed, clearly explain the situation and STOP.",
                "say was denied",
            ],
            &[
                "call bash",
                "ask bash",
                "failed The user rejected this tool call.",
                "note Info: Operation cancelled by user",
            ],
        ],
    ),
    (
        "PROMPT-EDIT",
        [
            &["call write", "ask write", "result Wrote file successfully.", "say wrote it"],
            // The recorded client offered to read files, and did not find this one.
            &[
                "call write_file",
                "failed Error checking existing file: No such file or directory",
                "say wrote it",
            ],
            &["call write", "ask write", "result ", "say wrote it"],
            &[
                "call write",
                "ask write",
                "note Info: /work/new.txt",
                "result Created file /work/new.txt with 6 characters",
                "say wrote it",
            ],
        ],
    ),
    (
        "PROMPT-MCP",
        [
            &[
                "ask mcp__metier__load_skill",
                "call mcp__metier__load_skill",
                "result <skill_content name=\"tally\" directory=\"<SKILLS>/tally\" origin=\"user\">",
                "say loaded",
            ],
            &[
                "call mcp__metier__load_skill",
                "ask mcp__metier__load_skill",
                "result <skill_content name=\"tally\" directory=\"<SKILLS>/tally\" origin=\"user\">",
                "say loaded",
            ],
            &[
                "call mcp__metier__load_skill",
                "ask mcp__metier__load_skill",
                "result <skill_content name=\"tally\" directory=\"<SKILLS>/tally\" origin=\"user\">",
                "say loaded",
            ],
            &[
                "call mcp__metier__load_skill",
                "failed Tool 'metier-load_skill' does not exist.",
                "say loaded",
            ],
        ],
    ),
    ("PROMPT-SLOW with session/cancel", [&["say word0 word1 word2 word3 "]; 4]),
    ("PROMPT-TEXT after the cancel", [&["say Hello from the fake model."]; 4]),
];

#[test]
fn recorded_conversations_mean_what_they_were() {
    for (agent, number) in AGENTS.into_iter().zip(0..) {
        let (played, _) = play(agent, "session", options(agent));
        for (scenario, stories) in STORIES {
            assert_eq!(played.stories[*scenario], stories[number], "{agent}: {scenario}");
        }
        let end = |scenario: &str| (&played.ends[scenario].stop, played.ends[scenario].text.as_str());
        assert_eq!(end("PROMPT-TEXT"), (&StopReason::EndTurn, "Hello from the fake model."));
        assert_eq!(end("PROMPT-ALLOW"), (&StopReason::EndTurn, "ran it"), "{agent}");
        // Two of them end the turn there.
        let denied = match agent {
            Agent::OpenCode | Agent::Copilot => (&StopReason::Denied, ""),
            _ => (&StopReason::EndTurn, "was denied"),
        };
        assert_eq!(end("PROMPT-DENY"), denied, "{agent}");
        assert_eq!(end("PROMPT-SLOW with session/cancel").0, &StopReason::Interrupted, "{agent}");
        for (ours, theirs) in &played.compared {
            // What is offered and which tools there are is our own; so is the number of a request.
            let names: &[&str] = if ours.get("id").is_some() && ours.get("result").is_none() {
                &["jsonrpc", "method"]
            } else {
                &["jsonrpc", "method", "id", "result"]
            };
            for name in names {
                assert_eq!(ours.get(*name), theirs.get(*name), "{agent}: {ours}");
            }
            if ours["method"] == "session/prompt" || ours["method"] == "session/cancel" {
                assert_eq!(ours["params"], theirs["params"], "{agent}");
            }
        }
        assert!(played.compared.len() > 12, "{agent}: {}", played.compared.len());
    }
}

/// Ten tokens are read and five written with each request to the model.
#[test]
fn usage_is_counted_for_the_conversation() {
    for agent in AGENTS {
        let (played, _) = play(agent, "session", options(agent));
        let used = |scenario: &str| played.ends[scenario].used;
        let text = used("PROMPT-TEXT");
        assert_eq!((text.usage.input, text.usage.output, text.turns), (10, 5, 1), "{agent}");
        let allowed = used("PROMPT-ALLOW");
        assert_eq!((allowed.usage.counted().total(), allowed.turns), (45, 3), "{agent}");
        let denied = used("PROMPT-DENY");
        let requests = if matches!(agent, Agent::OpenCode | Agent::Copilot) { 4 } else { 5 };
        assert_eq!((denied.usage.counted().total(), denied.turns), (15 * requests, requests), "{agent}");
        assert_eq!(text.cost.is_some(), agent == Agent::OpenCode, "{agent}");
    }
}

#[test]
fn skills_and_reading_are_recognised() {
    for agent in AGENTS {
        let (played, _) = play(agent, "asked", options(agent));
        let loads: Vec<&String> = played
            .calls
            .iter()
            .filter_map(|call| match call {
                AgentEventKind::ToolCall { skill, .. } => skill.as_ref(),
                _ => None,
            })
            .collect();
        assert_eq!(loads, ["tally"], "{agent}: {:?}", played.calls);
        let asked = |tool: &str| played.asked.iter().find(|request| request.tool == tool);
        let reads = |tool: &str| asked(tool).unwrap().reads.clone();
        match agent {
            Agent::OpenCode => assert_eq!(reads("read"), [Path::new("/work/plain.txt")]),
            Agent::Gemini => assert_eq!(reads("read_file"), [Path::new("/work/plain.txt")]),
            Agent::Goose => {
                assert_eq!(reads("tree"), [Path::new("/work")]);
                assert_eq!(asked("load_skill").unwrap().loads.as_deref(), Some("tally"));
            }
            _ => assert!(asked("mcp__metier__add").is_none(), "its tools need no permission"),
        }
        let shell = if agent == Agent::Goose { "shell" } else { "bash" };
        if agent != Agent::Gemini {
            let request = asked(shell).unwrap();
            assert_eq!(request.arguments["command"], "echo hi", "{agent}");
            assert!(request.reads.is_empty() && request.loads.is_none());
        }
    }
}

/// What is shown while a conversation is loaded happened before.
#[test]
fn a_loaded_conversation_begins_with_nothing() {
    for agent in [Agent::OpenCode, Agent::Goose, Agent::Copilot] {
        let mut options = options(agent);
        options.resumed = Some("before".to_owned());
        let (played, protocol) = play(agent, "load", options);
        let lines: Vec<&String> = played.stories.values().flatten().collect();
        assert!(
            lines.iter().all(|line| line.starts_with("started ")) && lines.len() <= 1,
            "{agent}: {lines:?}"
        );
        assert_eq!(protocol.is_ready(), agent != Agent::Goose, "{agent}");
        assert_eq!(played.compared[1].0["params"]["sessionId"], "before");
    }
    let mut options = options(Agent::Gemini);
    options.resumed = Some("before".to_owned());
    let (played, protocol) = play(Agent::Gemini, "load", options);
    let end = played.ends.values().next().unwrap();
    let error = "Internal error: No previous sessions found for this project.";
    assert_eq!((end.error.as_deref(), protocol.is_ready()), (Some(error), false));
}

/// A conversation that is open.
fn open(agent: Agent, answer: &Value) -> (AcpProtocol, Outbox) {
    let mut protocol = AcpProtocol::new(options(agent)).unwrap();
    let mut out = Outbox::default();
    protocol.begin(&mut out);
    receive(
        &mut protocol,
        &mut out,
        &json!({ "jsonrpc": "2.0", "id": 1, "result": { "protocolVersion": 1 } }),
    );
    receive(&mut protocol, &mut out, &json!({ "jsonrpc": "2.0", "id": 2, "result": answer }));
    (protocol, out)
}

fn ready(agent: Agent) -> (AcpProtocol, Outbox) {
    let mode = if agent == Agent::Goose { "approve" } else { "default" };
    let (mut protocol, mut out) =
        open(agent, &json!({ "sessionId": "s", "modes": { "currentModeId": mode } }));
    assert!(protocol.is_ready(), "{agent}");
    protocol.prompt("Go.", &mut out);
    out.take();
    (protocol, out)
}

fn receive(protocol: &mut AcpProtocol, out: &mut Outbox, frame: &Value) -> Vec<AgentMessage> {
    protocol.receive(&AgentLine::Whole(frame.to_string()), out)
}

fn sent(out: &mut Outbox) -> Vec<Value> {
    out.take().iter().map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn update(update: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } })
}

fn ask(id: u64, call: &Value) -> Value {
    let options =
        json!([{ "optionId": "y", "kind": "allow_once" }, { "optionId": "always", "kind": "allow_always" }]);
    let params = json!({ "sessionId": "s", "toolCall": call, "options": options });
    json!({ "jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params })
}

/// The tool that a permission request is about, after a frame that announced it.
fn asked_about(agent: Agent, announced: &Value, call: &Value) -> String {
    let (mut protocol, mut out) = ready(agent);
    receive(&mut protocol, &mut out, &update(announced));
    let messages = receive(&mut protocol, &mut out, &ask(7, call));
    let Some(AgentMessage::Permission(request)) = messages.last() else { panic!("{messages:?}") };
    assert!(request.tool != "unknown" || request.reads.is_empty() && request.loads.is_none());
    request.tool.clone()
}

/// Titles are prose, and a model writes some of them.
#[test]
fn a_tool_that_is_not_certain_is_unknown() {
    let call = |id: &str, title: &str, kind: &str, input: Value| json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind, "rawInput": input });
    let command = json!({ "command": "rm -rf x" });
    let commands = json!({ "command": "rm -rf x", "commands": ["rm -rf x"] });
    // The command is the title before the tool is known.
    let prose = call("c", "metier_load_skill", "execute", command.clone());
    assert_eq!(asked_about(Agent::OpenCode, &prose, &prose), "unknown");
    // The description of a command is the name of a tool of the prompt.
    let prose = call("c", "metier-load_skill", "execute", command.clone());
    assert_eq!(asked_about(Agent::Copilot, &prose, &call("c", "x", "execute", commands)), "bash");
    assert_eq!(asked_about(Agent::Copilot, &prose, &call("c", "x", "execute", command)), "unknown");
    let prose = call("c", "metier-load_skill", "other", json!({}));
    assert_eq!(asked_about(Agent::Copilot, &prose, &prose), "unknown");
    for kind in ["edit", "read"] {
        let prose = call("c", "metier-load_skill", kind, json!({}));
        assert_eq!(asked_about(Agent::Copilot, &prose, &prose), "unknown");
    }
    let skill = call("c", "Using skill: a", "other", json!({ "skill": "a" }));
    assert_eq!(asked_about(Agent::Copilot, &skill, &skill), "unknown");
    // The prompt has no such tool: it is one of another server.
    let foreign = call("mcp_metier_push__1", "push", "other", json!({}));
    assert_eq!(asked_about(Agent::Gemini, &foreign, &foreign), "mcp_metier_push");
    // A command elsewhere than in the working directory.
    let command = |place: &str| {
        let content = json!([{ "type": "content", "content": { "type": "text", "text": place } }]);
        json!({ "toolCallId": "run_shell_command__1", "title": "ls", "kind": "execute", "content": content })
    };
    let (here, there) = (command("[current working directory /work] (x)"), command("[in /etc]"));
    assert_eq!(asked_about(Agent::Gemini, &json!({}), &here), "run_shell_command");
    assert_eq!(asked_about(Agent::Gemini, &json!({}), &there), "unknown");
    let nameless = call("c", "shell · ls", "other", json!({ "command": "ls" }));
    assert_eq!(asked_about(Agent::Goose, &nameless, &nameless), "unknown");
}

#[test]
fn what_cannot_be_asked_about_is_denied() {
    let (mut protocol, mut out) = ready(Agent::Goose);
    let meta = json!({ "goose": { "toolCall": { "toolName": "delegate" } } });
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "delegate", "rawInput": {}, "_meta": meta });
    receive(&mut protocol, &mut out, &update(&call));
    let messages = receive(&mut protocol, &mut out, &ask(7, &call));
    assert!(!messages.iter().any(|message| matches!(message, AgentMessage::Permission(_))), "{messages:?}");
    // It offers no option to refuse this once.
    assert_eq!(sent(&mut out)[0]["result"], json!({ "outcome": { "outcome": "cancelled" } }));
}

#[test]
fn cancelling_answers_what_waits() {
    for agent in AGENTS {
        let (mut protocol, mut out) = ready(agent);
        let call =
            json!({ "toolCallId": "run_shell_command__1", "title": "ls", "kind": "execute", "rawInput": {} });
        receive(&mut protocol, &mut out, &ask(7, &call));
        assert!(sent(&mut out).is_empty());
        protocol.interrupt(&mut out);
        let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
        let frames = sent(&mut out);
        assert_eq!((&frames[0]["id"], &frames[0]["result"]), (&json!(7), &cancelled), "{agent}");
        assert_eq!(frames[1]["method"], "session/cancel");
        receive(&mut protocol, &mut out, &ask(8, &call));
        let frames = sent(&mut out);
        assert_eq!((frames.len(), &frames[0]["result"]), (1, &cancelled), "{agent}");
    }
}

#[test]
fn an_agent_that_does_not_ask_is_made_to_ask() {
    for (agent, wanted) in [(Agent::Goose, "approve"), (Agent::Gemini, "default")] {
        let (mut protocol, mut out) =
            open(agent, &json!({ "sessionId": "s", "modes": { "currentModeId": "yolo" } }));
        assert!(!protocol.is_ready());
        let frames = sent(&mut out);
        let last = frames.last().unwrap();
        assert_eq!(
            (&last["method"], &last["params"]["modeId"]),
            (&json!("session/set_mode"), &json!(wanted))
        );
        let error = json!({ "jsonrpc": "2.0", "id": last["id"], "error": { "code": -32602, "message": "no such mode" } });
        let messages = receive(&mut protocol, &mut out, &error);
        assert!(matches!(&messages[1], AgentMessage::TurnEnded(end) if end.error.is_some()), "{messages:?}");
        assert!(!protocol.is_ready());
    }
}

#[test]
fn the_model_is_chosen_before_the_first_prompt() {
    let mut options = options(Agent::OpenCode);
    options.model = Some("a/b".to_owned());
    let mut protocol = AcpProtocol::new(options).unwrap();
    let mut out = Outbox::default();
    protocol.begin(&mut out);
    receive(
        &mut protocol,
        &mut out,
        &json!({ "jsonrpc": "2.0", "id": 1, "result": { "protocolVersion": 1 } }),
    );
    receive(&mut protocol, &mut out, &json!({ "jsonrpc": "2.0", "id": 2, "result": { "sessionId": "s" } }));
    let last = sent(&mut out).pop().unwrap();
    assert_eq!(last["params"], json!({ "sessionId": "s", "configId": "model", "value": "a/b" }));
    assert!(!protocol.is_ready());
    let messages = receive(&mut protocol, &mut out, &json!({ "jsonrpc": "2.0", "id": 3, "result": {} }));
    let AgentMessage::Event(event) = &messages[0] else { panic!("{messages:?}") };
    assert!(matches!(&event.kind, AgentEventKind::Started { model, .. } if model.as_deref() == Some("a/b")));
    assert!(protocol.is_ready());
}

#[test]
fn what_is_not_known_is_kept() {
    let (mut protocol, mut out) = ready(Agent::Copilot);
    for frame in [
        update(&json!({ "sessionUpdate": "something_new", "x": 1 })),
        json!({ "jsonrpc": "2.0", "method": "_vendor/thing", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": 99, "result": {} }),
        json!({}),
    ] {
        let messages = receive(&mut protocol, &mut out, &frame);
        let [AgentMessage::Event(event)] = &messages[..] else { panic!("{messages:?}") };
        assert_eq!((&event.kind, event.raw.as_deref()), (&AgentEventKind::Other, Some(&frame)));
    }
    assert!(sent(&mut out).is_empty());
    let entries =
        json!([{ "content": "look", "status": "completed" }, { "content": "fix", "status": "in_progress" }]);
    let plan = update(&json!({ "sessionUpdate": "plan", "entries": entries }));
    let messages = receive(&mut protocol, &mut out, &plan);
    let AgentMessage::Event(event) = &messages[0] else { panic!("{messages:?}") };
    let text = "plan: look (completed); fix (in progress)".to_owned();
    assert_eq!(event.kind, AgentEventKind::Notice { text });
    receive(&mut protocol, &mut out, &json!({ "jsonrpc": "2.0", "id": "x", "method": "fs/read_text_file" }));
    assert_eq!(sent(&mut out)[0]["error"]["code"], -32601);
}

#[test]
fn another_version_is_an_error() {
    let mut protocol = AcpProtocol::new(options(Agent::Goose)).unwrap();
    let mut out = Outbox::default();
    protocol.begin(&mut out);
    let messages = receive(
        &mut protocol,
        &mut out,
        &json!({ "jsonrpc": "2.0", "id": 1, "result": { "protocolVersion": 2 } }),
    );
    let AgentMessage::TurnEnded(end) = &messages[1] else { panic!("{messages:?}") };
    assert_eq!(end.error.as_deref(), Some("it speaks version 2 of its protocol; metier speaks 1"));
    assert!(AcpProtocol::new(AcpOptions::new(Agent::Codex, "/work")).is_none());
}

/// Some model servers use the ids of calls again.
#[test]
fn a_call_with_a_known_id_is_another_call() {
    let (mut protocol, mut out) = ready(Agent::OpenCode);
    let call = |title: &str, kind: &str, input: Value, status: &str| json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "title": title, "kind": kind, "rawInput": input, "status": status });
    let read = json!({ "filePath": "/work/a" });
    let mut asked = |protocol: &mut AcpProtocol, id: u64, call: &Value| {
        let messages = receive(protocol, &mut out, &ask(id, call));
        let Some(AgentMessage::Permission(request)) = messages.last() else { panic!("{messages:?}") };
        request.clone()
    };
    let first = asked(&mut protocol, 7, &call("read", "read", read.clone(), "pending"));
    assert_eq!((first.tool.as_str(), first.reads.len()), ("read", 1));
    receive(&mut protocol, &mut Outbox::default(), &update(&call("read", "read", read, "completed")));
    let second = asked(&mut protocol, 8, &call("rm x", "execute", json!({ "command": "rm x" }), "pending"));
    assert_eq!((second.tool.as_str(), second.reads.len()), ("unknown", 0));
    assert_eq!(second.arguments["input"], json!({ "command": "rm x" }));
    let (mut protocol, _) = ready(Agent::Gemini);
    for (id, command) in [(7, "ls"), (8, "rm x")] {
        let content = json!([{ "content": { "type": "text", "text": "[current working directory /work]" } }]);
        let call = json!({ "toolCallId": "run_shell_command__c", "title": command, "kind": "execute", "content": content });
        assert_eq!(asked(&mut protocol, id, &call).arguments["command"], command);
    }
}

/// Subagents have conversations of their own, in which a server can use the same ids.
#[test]
fn a_call_of_a_subagent_is_another_call() {
    let (mut protocol, mut out) = ready(Agent::OpenCode);
    let call = |title: &str, kind: &str, input: Value| json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": title, "kind": kind, "rawInput": input, "status": "in_progress" });
    receive(&mut protocol, &mut out, &update(&call("task", "other", json!({ "prompt": "Go." }))));
    let mut asked = ask(7, &call("bash", "execute", json!({ "command": "rm x" })));
    asked["params"]["sessionId"] = json!("sub");
    let messages = receive(&mut protocol, &mut out, &asked);
    let Some(AgentMessage::Permission(request)) = messages.last() else { panic!("{messages:?}") };
    assert_eq!((request.tool.as_str(), request.subagent.as_deref()), ("bash", Some("sub")));
    assert_eq!(request.arguments, json!({ "command": "rm x" }));
}

/// A call that arrives at the server is the one that the agent announced.
#[test]
fn a_call_at_the_server_is_found() {
    let (mut protocol, mut out) = ready(Agent::OpenCode);
    for (id, number) in [("a", 1), ("b", 2)] {
        let call = json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": "metier_add", "kind": "other", "status": "pending", "rawInput": {} });
        receive(&mut protocol, &mut out, &update(&call));
        let call = json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress", "rawInput": { "a": number } });
        receive(&mut protocol, &mut out, &update(&call));
    }
    let mut found = |arguments: Value| {
        let mut call = PromptToolCall { id: "1".to_owned(), tool: "add".to_owned(), arguments, call: None };
        protocol.served(&mut call);
        call.call
    };
    assert_eq!(found(json!({ "a": 2 })).as_deref(), Some("b"));
    assert_eq!(found(json!({ "a": 3 })).as_deref(), Some("a"));
    assert_eq!(found(json!({ "a": 1 })), None);
}
