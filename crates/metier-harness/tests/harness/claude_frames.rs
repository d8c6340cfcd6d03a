//! Claude Code's protocol, checked against frames that version 2.1.326 sent and was sent.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use metier_harness::{
    AgentEventKind, AgentLine, AgentMessage, Answered, ClaudeProtocol, Cost, Outbox, PermissionAnswer,
    Protocol, StopReason, ToolAnswered, TurnEnd,
};
use serde_json::{Value, json};

/// The recorded frames, each with its direction: `send` is what the harness sent.
fn recorded(name: &str) -> Vec<(String, Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/frames/claude-{name}.jsonl"));
    // The server with the tools had another name when this was recorded.
    let text = fs::read_to_string(path).unwrap().replace("\"sdktools\"", "\"metier\"");
    let frame = |line: &str| {
        let frame: Value = serde_json::from_str(line).unwrap();
        (frame["dir"].as_str().unwrap().to_owned(), frame["msg"].clone())
    };
    text.lines().map(frame).collect()
}

/// A conversation that is played again: what the agent sent is what it was, and answers are as they were.
struct Played {
    /// What happened in each scenario, without frames that mean nothing here.
    stories: BTreeMap<String, Vec<String>>,
    ends: BTreeMap<String, TurnEnd>,
    /// What was sent, by the request that it answers.
    sent: BTreeMap<String, Value>,
}

fn play(name: &str) -> Played {
    let frames = recorded(name);
    let answer_to = |id: &str| {
        let is_it = |frame: &&(String, Value)| frame.0 == "send" && frame.1["response"]["request_id"] == id;
        frames.iter().find(is_it).map(|(_, frame)| frame["response"]["response"].clone())
    };
    let tools = vec![json!({ "name": "echo", "description": "echoes", "inputSchema": { "type": "object" } })];
    let mut protocol = ClaudeProtocol::new(tools);
    let mut out = Outbox::default();
    protocol.begin(&mut out);
    let mut played = Played { stories: BTreeMap::new(), ends: BTreeMap::new(), sent: BTreeMap::new() };
    let mut scenario = "start".to_owned();
    for (direction, frame) in &frames {
        match direction.as_str() {
            "note" => frame.as_str().unwrap().trim_start_matches("scenario: ").clone_into(&mut scenario),
            "recv" => {
                let line = AgentLine::Whole(frame.to_string().replace("\"req_1\"", "\"metier-1\""));
                for message in protocol.receive(&line, &mut out) {
                    answer(&mut protocol, &message, answer_to, &mut out);
                    let story = played.stories.entry(scenario.clone()).or_default();
                    story.extend(line_of(&message));
                    if let AgentMessage::TurnEnded(end) = message {
                        played.ends.insert(scenario.clone(), end);
                    }
                }
            }
            _ => {}
        }
        for line in out.take() {
            let frame: Value = serde_json::from_slice(&line).unwrap();
            let id = frame["response"]["request_id"].as_str().unwrap_or("own").to_owned();
            assert!(played.sent.insert(id, frame).is_none(), "each request is answered once");
        }
    }
    played
}

fn answer(
    protocol: &mut ClaudeProtocol,
    message: &AgentMessage,
    answer_to: impl Fn(&str) -> Option<Value>,
    out: &mut Outbox,
) {
    match message {
        AgentMessage::Permission(request) => {
            let recorded = answer_to(&request.id).unwrap();
            let answer = match recorded["behavior"].as_str().unwrap() {
                "allow" => PermissionAnswer::Allow,
                _ => PermissionAnswer::Deny { reason: recorded["message"].as_str().unwrap().to_owned() },
            };
            protocol.answer(&Answered::Permission { id: &request.id, answer: &answer }, out);
        }
        AgentMessage::ToolCall(call) => {
            let text = format!("SDK-ECHO {}", call.arguments["text"].as_str().unwrap());
            let result = ToolAnswered { text, is_error: false };
            protocol.answer(&Answered::Tool { id: &call.id, result: &result }, out);
        }
        _ => {}
    }
}

fn line_of(message: &AgentMessage) -> Option<String> {
    Some(match message {
        AgentMessage::Event(event) => match &event.kind {
            AgentEventKind::Text { text } => format!("text {text}"),
            AgentEventKind::ToolCall { tool, .. } => format!("call {tool}"),
            AgentEventKind::ToolResult { text, is_error, .. } => {
                let text: String = text.chars().take(30).collect();
                format!("{} {text}", if *is_error { "failed" } else { "result" })
            }
            AgentEventKind::Started { version, model, .. } => {
                format!("started {} {}", version.as_deref().unwrap(), model.as_deref().unwrap())
            }
            AgentEventKind::Notice { .. } => "notice".to_owned(),
            AgentEventKind::Other => return None,
            kind => format!("{kind:?}"),
        },
        AgentMessage::Permission(request) => format!("asks {}", request.tool),
        AgentMessage::ToolCall(call) => format!("tool {} {}", call.tool, call.call.as_deref().unwrap()),
        AgentMessage::TurnEnded(end) => format!("end {}", end.stop),
        _ => return None,
    })
}

#[test]
fn each_scenario_means_what_it_meant() {
    let played = play("session");
    let story = |scenario: &str| played.stories[scenario].join(" | ");
    let started = "started 2.1.326 claude-opus-5-5";
    assert_eq!(
        story("PROMPT-TEXT"),
        format!("{started} | text Hello  | text from  | text the  | text fake  | text model. | end end_turn")
    );
    assert_eq!(
        story("PROMPT-ALLOW"),
        format!("{started} | call Bash | asks Bash | result made | text ran  | text it | end end_turn")
    );
    assert_eq!(
        story("PROMPT-DENY"),
        format!(
            "{started} | call Bash | asks Bash | failed The person said no. | text was  | text denied | end end_turn"
        )
    );
    assert_eq!(
        story("PROMPT-SDK"),
        format!(
            "{started} | call mcp__sdktools__echo | asks mcp__sdktools__echo | tool echo toolu_fake0012 | result SDK-ECHO hi | \
             text sdk  | text tool  | text done | end end_turn"
        )
    );
    let slow = story("PROMPT-SLOW with interrupt");
    assert!(slow.ends_with("end interrupted"), "{slow}");
    assert!(story("PROMPT-TEXT again after the interrupt").ends_with("end end_turn"));
}

#[test]
fn the_pieces_of_a_text_are_the_text() {
    let played = play("session");
    for (scenario, end) in played.ends.iter().filter(|(_, end)| end.stop == StopReason::EndTurn) {
        let pieces = played.stories[scenario].iter().filter_map(|line| line.strip_prefix("text "));
        assert_eq!(pieces.collect::<String>(), end.text, "{scenario}");
        assert!(!end.text.is_empty() && end.error.is_none());
    }
}

#[test]
fn usage_and_cost_are_those_of_the_results() {
    let played = play("session");
    let used = |scenario: &str| {
        let used = played.ends[scenario].used;
        (used.usage.input, used.usage.output, used.cost.unwrap())
    };
    let cost = |microdollars| Cost { microdollars };
    assert_eq!(used("PROMPT-TEXT"), (10, 5, cost(140)));
    assert_eq!(used("PROMPT-ALLOW"), (30, 15, cost(420)));
    // An interrupted turn counts, with the model that was switched to.
    assert_eq!(used("PROMPT-SLOW with interrupt"), (160, 81, cost(2_220)));
    assert_eq!(used("PROMPT-TEXT again after the interrupt"), (170, 86, cost(2_325)));
    // A resumed conversation counts from where it was resumed.
    let resumed = play("resume").ends["PROMPT-TEXT"].used;
    assert_eq!((resumed.usage.input, resumed.cost), (10, Some(cost(140))));
}

#[test]
fn answers_are_what_the_agent_accepted() {
    let played = play("session");
    let mut compared = 0;
    for (direction, frame) in recorded("session") {
        let Some(id) = frame["response"]["request_id"].as_str().filter(|_| direction == "send") else {
            continue;
        };
        let accepted = &frame["response"]["response"];
        let ours = &played.sent[id]["response"]["response"];
        if accepted.get("behavior").is_some() {
            assert_eq!(accepted["behavior"], ours["behavior"]);
            assert_eq!(accepted["message"], ours["message"]);
            // Every permission repeats the arguments. Answers to a question were added by hand.
            let mut input = accepted["updatedInput"].clone();
            input.as_object_mut().map(|members| members.remove("answers"));
            assert_eq!(input, ours["updatedInput"]);
            compared += 1;
        } else if let Some(accepted) = accepted.get("mcp_response") {
            let ours = &ours["mcp_response"];
            assert_eq!(accepted.get("id"), ours.get("id"));
            let members =
                |value: &Value| value["result"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            let known = members(ours);
            assert!(members(accepted).iter().all(|name| known.contains(name)), "{accepted} {ours}");
            assert_eq!(accepted.pointer("/result/content"), ours.pointer("/result/content"));
            compared += 1;
        }
    }
    assert!(compared >= 8, "only {compared} answers were compared");
}

#[test]
fn a_denial_without_a_question_is_a_notice() {
    let played = play("no-permission-tool");
    let story = &played.stories["PROMPT-DENY"];
    assert!(story.contains(&"notice".to_owned()) && story.contains(&"end end_turn".to_owned()), "{story:?}");
}

fn received(frame: &Value) -> (Vec<AgentMessage>, Vec<Value>) {
    let (mut protocol, mut out) = (ClaudeProtocol::new(Vec::new()), Outbox::default());
    let messages = protocol.receive(&AgentLine::Whole(frame.to_string()), &mut out);
    (messages, out.take().iter().map(|line| serde_json::from_slice(line).unwrap()).collect())
}

#[test]
fn an_unknown_frame_is_kept_and_an_unknown_request_is_refused() {
    let frame = json!({ "type": "brand_new", "x": [1, { "y": null }] });
    let (messages, sent) = received(&frame);
    let [AgentMessage::Event(event)] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!((&event.kind, &**event.raw.as_ref().unwrap()), (&AgentEventKind::Other, &frame));
    assert!(sent.is_empty());
    let (messages, sent) = received(
        &json!({ "type": "control_request", "request_id": "r1", "request": { "subtype": "dance" } }),
    );
    assert_eq!(messages.len(), 1);
    assert_eq!(
        (&sent[0]["response"]["subtype"], &sent[0]["response"]["request_id"]),
        (&json!("error"), &json!("r1"))
    );
}

#[test]
fn a_failure_of_the_model_is_an_error() {
    let frame = json!({ "type": "result", "subtype": "success", "is_error": true, "result": "API Error: 529 overloaded" });
    let (messages, _) = received(&frame);
    let Some(AgentMessage::TurnEnded(end)) = messages.last() else { panic!("{messages:?}") };
    assert_eq!(end.error.as_deref(), Some("API Error: 529 overloaded"));
    let frame = json!({ "type": "result", "subtype": "error_max_turns", "is_error": true });
    let (messages, _) = received(&frame);
    let Some(AgentMessage::TurnEnded(end)) = messages.last() else { panic!("{messages:?}") };
    assert_eq!((&end.stop, &end.error), (&StopReason::MaxTurns, &None));
}

#[test]
fn lines_that_are_no_frames_are_notices() {
    let (mut protocol, mut out) = (ClaudeProtocol::new(Vec::new()), Outbox::default());
    for line in ["Warning: something", "{broken", "[1]", "42"] {
        let messages = protocol.receive(&AgentLine::Whole(line.to_owned()), &mut out);
        assert!(
            matches!(&messages[..], [AgentMessage::Event(event)] if matches!(event.kind, AgentEventKind::Notice { .. }))
        );
    }
    assert!(!protocol.is_recognised());
    let cut = AgentLine::Cut { head: "{\"type\":".to_owned(), bytes: 100_000_000 };
    let messages = protocol.receive(&cut, &mut out);
    let [AgentMessage::Event(event)] = &messages[..] else { panic!("{messages:?}") };
    let AgentEventKind::Notice { text } = &event.kind else { panic!("{event:?}") };
    assert!(text.contains("100000000 bytes"), "{text}");
}
