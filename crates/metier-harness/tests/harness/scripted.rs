//! An agent that is a shell script, and the small protocol that it speaks.
//!
//! It prints `ready`, then frames; each prompt and each answer is a line that it reads.

use std::path::PathBuf;
use std::time::Duration;

use metier_harness::{
    AgentEvent, AgentEventKind, AgentLine, AgentMessage, AgentSetup, Answered, AsksPermission, Conversation,
    Cost, Harness, HarnessError, Interrupts, Opening, Outbox, PermissionRequest, ProgramConversation,
    PromptToolCall, PromptTools, Protocol, StopReason, TokenUsage, ToolBridge, TurnEnd, UsageSoFar,
};
use serde_json::{Value, json};

/// The protocol.
#[derive(Debug, Default)]
pub(crate) struct Scripted {
    is_ready: bool,
    used: UsageSoFar,
    patience: Option<Duration>,
}

impl Protocol for Scripted {
    fn begin(&mut self, out: &mut Outbox) {
        out.json(&json!({ "hello": true }));
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn prompt(&mut self, text: &str, out: &mut Outbox) {
        out.json(&json!({ "prompt": text }));
    }

    fn is_recognised(&self) -> bool {
        self.is_ready
    }

    fn receive(&mut self, line: &AgentLine, _: &mut Outbox) -> Vec<AgentMessage> {
        let AgentLine::Whole(text) = line else {
            return vec![AgentMessage::Event(AgentEvent::notice("a line was too long"))];
        };
        let Ok(frame) = serde_json::from_str::<Value>(text) else {
            return vec![AgentMessage::Event(AgentEvent::notice(text.clone()))];
        };
        vec![self.message(&frame)]
    }

    fn answer(&mut self, answer: &Answered<'_>, out: &mut Outbox) {
        out.json(&match answer {
            Answered::Permission { id, answer } => json!({ "id": id, "allowed": answer.is_allowed() }),
            Answered::Tool { id, result } => {
                json!({ "id": id, "text": result.text, "error": result.is_error })
            }
        });
    }

    fn interrupt(&mut self, out: &mut Outbox) {
        out.json(&json!({ "interrupt": true }));
    }

    fn patience(&self) -> Duration {
        self.patience.unwrap_or(Duration::from_mins(1))
    }
}

impl Scripted {
    fn message(&mut self, frame: &Value) -> AgentMessage {
        let text = |name: &str| frame[name].as_str().unwrap_or_default().to_owned();
        let event = |kind| AgentMessage::Event(AgentEvent::new(kind, Some(frame.clone().into())));
        match frame["is"].as_str().unwrap_or_default() {
            "ready" => {
                self.is_ready = true;
                let (version, model) = (Some("1.2".to_owned()), Some("fake-model".to_owned()));
                let conversation = Some("conversation-1".to_owned());
                event(AgentEventKind::Started { version, model, conversation })
            }
            "say" => event(AgentEventKind::Text { text: text("text") }),
            "call" => event(AgentEventKind::ToolCall {
                id: text("id"),
                tool: text("tool"),
                arguments: frame["arguments"].clone(),
                skill: frame["skill"].as_str().map(str::to_owned),
            }),
            "result" => event(AgentEventKind::ToolResult {
                id: text("id"),
                text: text("text"),
                is_error: frame["error"] == true,
            }),
            "ask" => {
                let arguments = frame["arguments"].clone();
                let reads = arguments["file_path"].as_str().map(PathBuf::from);
                let mut request = PermissionRequest::new(text("id"), text("tool"), arguments);
                request.reads = reads.into_iter().collect();
                AgentMessage::Permission(request)
            }
            "tool" => AgentMessage::ToolCall(PromptToolCall {
                id: text("id"),
                tool: text("tool"),
                arguments: frame["arguments"].clone(),
                call: Some(text("id")),
            }),
            "used" => {
                let usage = TokenUsage {
                    input: frame["input"].as_u64().unwrap(),
                    output: frame["output"].as_u64().unwrap(),
                    ..TokenUsage::default()
                };
                let cost = frame["cost"].as_f64().and_then(Cost::from_dollars);
                self.used = UsageSoFar { usage, cost, turns: self.used.turns + 1 };
                AgentMessage::Used(self.used)
            }
            "end" => AgentMessage::TurnEnded(TurnEnd {
                text: text("text"),
                stop: StopReason::EndTurn,
                used: self.used,
                error: frame["error"].as_str().map(str::to_owned),
            }),
            _ => event(AgentEventKind::Other),
        }
    }
}

/// What every script can call.
const WORDS: &str = r#"
ready() { read -r hello; echo '{"is":"ready"}'; }
say() { printf '{"is":"say","text":"%s"}\n' "$1"; }
end() { printf '{"is":"end","text":"%s"}\n' "$1"; }
used() { printf '{"is":"used","input":%s,"output":%s,"cost":%s}\n' "$1" "$2" "$3"; }
call() { printf '{"is":"call","id":"%s","tool":"%s","arguments":%s}\n' "$1" "$2" "$3"; }
skill() { printf '{"is":"call","id":"%s","tool":"Skill","arguments":{},"skill":"%s"}\n' "$1" "$2"; }
result() { printf '{"is":"result","id":"%s","text":"%s","error":%s}\n' "$1" "$2" "${3:-false}"; }
ask() { printf '{"is":"ask","id":"%s","tool":"%s","arguments":%s}\n' "$1" "$2" "$3"; read -r answer; }
tool() { printf '{"is":"tool","id":"%s","tool":"%s","arguments":%s}\n' "$1" "$2" "$3"; read -r answer; }
"#;

/// An agent that is a script.
#[derive(Debug)]
pub(crate) struct ScriptedAgent {
    pub(crate) setup: AgentSetup,
    pub(crate) script: String,
    pub(crate) patience: Option<Duration>,
    pub(crate) has_tools: bool,
}

impl ScriptedAgent {
    pub(crate) fn new(mut setup: AgentSetup, script: &str) -> Self {
        setup.program = PathBuf::from("/bin/sh");
        Self { setup, script: format!("{WORDS}\n{script}"), patience: None, has_tools: true }
    }
}

impl Harness for ScriptedAgent {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn title(&self) -> &'static str {
        "Scripted"
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Conversation>, HarnessError> {
        let protocol = Scripted { patience: self.patience, ..Scripted::default() };
        let arguments = ["-c", &self.script];
        let started =
            ProgramConversation::start(opening.place.unwrap(), arguments, protocol, &ToolBridge::default())?;
        Ok(Box::new(started))
    }

    fn home(&self) -> Option<&AgentSetup> {
        Some(&self.setup)
    }

    fn tools(&self) -> Option<&dyn PromptTools> {
        self.has_tools.then_some(self)
    }

    fn permissions(&self) -> Option<&dyn AsksPermission> {
        Some(self)
    }

    fn interrupt(&self) -> Option<&dyn Interrupts> {
        Some(self)
    }
}

impl PromptTools for ScriptedAgent {
    fn called_as(&self, tool: &str) -> String {
        format!("mcp__metier__{tool}")
    }
}

impl AsksPermission for ScriptedAgent {
    fn asks_for(&self) -> &'static str {
        "what its script says"
    }
}

impl Interrupts for ScriptedAgent {
    fn patience(&self) -> Duration {
        Duration::from_millis(100)
    }
}
