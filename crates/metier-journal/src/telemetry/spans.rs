//! Spans of records: their ids, names, times and attributes. Ids are derived from the records alone, so that
//! all processes of a session add to the same trace.

use sha2::{Digest as _, Sha256};

use super::attributes::{Attributes, cut};
use super::messages::{KIND_INTERNAL, STATUS_ERROR, Span, Status};
use super::names;
use super::seen::{Seen, nanoseconds, outcome_word, script_error, trigger_word};
use crate::event::{
    EvaluationEnd, Event, ScriptExecuted, ServerCallOutcome, ServerToolCalled, ToolInvoked, ToolOutcome,
    Trigger,
};

/// A session that began here and has not ended.
#[derive(Debug)]
pub(super) struct OpenSession {
    agent: Option<String>,
    started: i64,
    /// The time of its last record.
    last: i64,
    discovered: u64,
}

impl OpenSession {
    pub(super) fn begin(seen: &Seen<'_>, agent: Option<&str>) -> Self {
        let agent = agent.map(|agent| cut(agent).to_owned());
        Self { agent, started: seen.time, last: seen.time, discovered: 0 }
    }

    pub(super) fn went_on(&mut self, seen: &Seen<'_>) {
        self.last = self.last.max(seen.time);
        if let Some(Event::SkillDiscovered { .. }) = seen.event {
            self.discovered += 1;
        }
    }

    /// The span over the whole session, up to its last record.
    pub(super) fn root(self, session: &str, ended: bool) -> Span {
        let name = match &self.agent {
            Some(agent) => format!("{} {agent}", names::INVOKE_AGENT),
            None => names::INVOKE_AGENT.to_owned(),
        };
        let attributes = Attributes::default()
            .text(names::OPERATION, names::INVOKE_AGENT)
            .text(names::CONVERSATION, session)
            .optional_text(names::AGENT, self.agent.as_deref())
            .flag(names::SESSION_ENDED, ended)
            .count(names::SKILLS_DISCOVERED, self.discovered);
        Span {
            trace_id: session_trace(session),
            id: root_id(session),
            name,
            kind: KIND_INTERNAL,
            start_time_unix_nano: nanoseconds(self.started),
            end_time_unix_nano: nanoseconds(self.last),
            attributes: attributes.into_list(),
            ..Span::default()
        }
    }
}

/// What a record's span has beside what all have.
struct Shape {
    name: String,
    duration_us: u64,
    error: Option<String>,
    attributes: Attributes,
}

impl Shape {
    fn new(name: String, attributes: Attributes) -> Self {
        Self { name, duration_us: 0, error: None, attributes }
    }
}

/// The span of one record, below its session's. Nothing for what only begins a session, for each of the many skills that a model is shown, and for
/// what the journal does for itself.
pub(super) fn of_record(seen: &Seen<'_>) -> Option<Span> {
    let shape = match &seen.event {
        Some(event) => shape(event, &seen.kind)?,
        None => Shape::new(seen.kind.clone(), Attributes::default()),
    };
    let start = seen.time.saturating_sub_unsigned(shape.duration_us);
    let about_record = Attributes::default()
        .text(names::EVENT_KIND, &seen.kind)
        .text(names::RECORD_ID, seen.id)
        .count(names::RECORD_SEQUENCE, seen.sequence)
        .optional_text(names::CONVERSATION, seen.session)
        .optional_text(names::TASK_ID, seen.task.as_deref())
        .optional_text(names::ERROR_TYPE, shape.error.as_deref());
    let (trace_id, parent_span_id) = match seen.session {
        Some(session) => (session_trace(session), root_id(session)),
        None => (first_bytes(&["metier-record\0", seen.id], 16), Vec::new()),
    };
    Some(Span {
        trace_id,
        id: first_bytes(&[seen.id], 8),
        parent_span_id,
        name: cut(&shape.name).to_owned(),
        kind: KIND_INTERNAL,
        start_time_unix_nano: nanoseconds(start),
        end_time_unix_nano: nanoseconds(seen.time),
        attributes: shape.attributes.followed_by(about_record).into_list(),
        status: shape.error.map(|error| Status { message: cut(&error).to_owned(), code: STATUS_ERROR }),
    })
}

fn shape(event: &Event, kind: &str) -> Option<Shape> {
    match event {
        Event::SessionStarted { .. }
        | Event::SkillDiscovered { .. }
        | Event::EvaluationStarted(_)
        | Event::JournalCreated { .. }
        | Event::JournalCheckpoint { .. }
        | Event::JournalArchived(_) => None,
        Event::SkillActivated {
            skill_id,
            name,
            tier,
            skill_md_digest,
            tree_digest,
            trigger,
            tokens,
            duration_us,
            path: _,
        } => {
            let shape = activation(name, *trigger);
            let attributes = Attributes::default()
                .text(names::SKILL_ID, skill_id)
                .digest(names::SKILL_DIGEST, tree_digest)
                .text(names::SKILL_TIER, tier.as_str())
                .digest(names::BODY_DIGEST, skill_md_digest)
                .count(names::TOKENS, *tokens);
            let attributes = shape.attributes.followed_by(attributes);
            Some(Shape { attributes, duration_us: *duration_us, ..shape })
        }
        Event::SkillActivationFailed { name, trigger, code, .. } => {
            Some(Shape { error: Some(code.clone()), ..activation(name, *trigger) })
        }
        Event::SkillResourceRead { name, tree_digest, path, content, tokens, duration_us, range: _ } => {
            let attributes = Attributes::default()
                .text(names::SKILL_NAME, name)
                .digest(names::SKILL_DIGEST, tree_digest)
                .text(names::RESOURCE_PATH, path)
                .content(names::RESOURCE_DIGEST, Some(content))
                .count(names::RESOURCE_BYTES, content.bytes)
                .count(names::TOKENS, *tokens);
            let shape = Shape::new(format!("{} {name}", names::READ_RESOURCE), attributes);
            Some(Shape { duration_us: *duration_us, ..shape })
        }
        Event::SkillScriptExecuted(script) => Some(script_run(script)),
        Event::ToolInvoked(call) => Some(tool_call(call)),
        Event::ServerToolCalled(call) => Some(server_call(call)),
        Event::EvaluationEnded(ended) => Some(evaluation(ended)),
        Event::SkillToolCallDecided { tool, arguments, decision, code, skills, .. } => {
            let attributes = Attributes::default()
                .text(names::TOOL_NAME, tool)
                .content(names::TOOL_CALL_ARGUMENTS, Some(arguments))
                .text(names::TOOL_CALL_DECISION, decision)
                .text(names::TOOL_CALL_CODE, code)
                .list(names::SKILLS_ACTIVE, skills.keys());
            Some(Shape::new(format!("{} {tool}", names::CHECK_TOOL_CALL), attributes))
        }
        _ => Some(Shape::new(kind.to_owned(), point(event))),
    }
}

fn activation(name: &str, trigger: Trigger) -> Shape {
    let attributes =
        Attributes::default().text(names::SKILL_NAME, name).text(names::SKILL_TRIGGER, trigger_word(trigger));
    Shape::new(format!("{} {name}", names::ACTIVATE_SKILL), attributes)
}

fn script_run(script: &ScriptExecuted) -> Shape {
    let tool = format!("{}/{}", script.name, script.script);
    let attributes = Attributes::default()
        .text(names::OPERATION, names::EXECUTE_TOOL)
        .text(names::TOOL_NAME, &tool)
        .text(names::TOOL_TYPE, "function")
        .text(names::SKILL_NAME, &script.name)
        .digest(names::SKILL_DIGEST, &script.tree_digest)
        .text(names::SCRIPT_PATH, &script.script)
        .digest(names::SCRIPT_DIGEST, &script.script_digest)
        .content(names::SCRIPT_ARGUMENTS, Some(&script.arguments))
        .content(names::SCRIPT_INPUT, script.input.as_ref())
        .content(names::SCRIPT_STDOUT, script.stdout.as_ref())
        .content(names::SCRIPT_STDERR, script.stderr.as_ref())
        .optional_number(names::SCRIPT_EXIT_CODE, script.exit)
        .text(names::SCRIPT_OUTCOME, outcome_word(script.outcome))
        .list(names::PROTECTIONS, &script.protections);
    Shape {
        name: format!("{} {tool}", names::EXECUTE_TOOL),
        duration_us: script.duration_us,
        error: script_error(script).map(str::to_owned),
        attributes,
    }
}

fn tool_call(call: &ToolInvoked) -> Shape {
    let attributes = Attributes::default()
        .text(names::OPERATION, names::EXECUTE_TOOL)
        .text(names::TOOL_NAME, &call.tool)
        .text(names::TOOL_TYPE, "function")
        .text(names::TOOL_CALL_ID, &call.call_id)
        .content(names::TOOL_CALL_ARGUMENTS, Some(&call.arguments))
        .content(names::TOOL_CALL_ANSWER, Some(&call.answer))
        .text(names::TOOL_CALL_OUTCOME, call.outcome.as_str())
        .list(names::SKILLS_ACTIVE, call.skills.keys());
    let is_error = matches!(call.outcome, ToolOutcome::Failed | ToolOutcome::Refused);
    Shape {
        name: format!("{} {}", names::EXECUTE_TOOL, call.tool),
        duration_us: call.duration_us,
        error: is_error.then(|| call.code.clone().unwrap_or_else(|| call.outcome.as_str().to_owned())),
        attributes,
    }
}

fn server_call(call: &ServerToolCalled) -> Shape {
    let tool = format!("{}/{}", call.server, call.tool);
    let skills: Vec<String> = call.skills.keys().cloned().collect();
    let attributes = Attributes::default()
        .text(names::OPERATION, names::EXECUTE_TOOL)
        .text(names::TOOL_NAME, &tool)
        .text(names::TOOL_TYPE, "extension")
        .content(names::TOOL_CALL_ARGUMENTS, Some(&call.arguments))
        .content(names::TOOL_CALL_ANSWER, Some(&call.answer))
        .text(names::TOOL_CALL_OUTCOME, call.outcome.as_str())
        .list(names::SKILLS_ACTIVE, &skills);
    let is_error = !matches!(call.outcome, ServerCallOutcome::Done | ServerCallOutcome::Asks);
    Shape {
        name: format!("{} {tool}", names::EXECUTE_TOOL),
        duration_us: call.duration_us,
        error: is_error.then(|| call.code.clone().unwrap_or_else(|| call.outcome.as_str().to_owned())),
        attributes,
    }
}

fn evaluation(ended: &EvaluationEnd) -> Shape {
    let attributes = Attributes::default()
        .text(names::AGENT, &ended.agent)
        .optional_text(names::AGENT_VERSION, ended.version.as_deref())
        .optional_text(names::RESPONSE_MODEL, ended.model.as_deref())
        .count(names::INPUT_TOKENS, ended.input)
        .count(names::OUTPUT_TOKENS, ended.output)
        .count(names::EVALUATION_TURNS, ended.turns)
        .text(names::EVALUATION_STOP, &ended.stop);
    let attributes = match ended.cost_microdollars {
        Some(cost) => attributes.count(names::EVALUATION_COST, cost),
        None => attributes,
    };
    Shape {
        name: format!("{} {}", names::EVALUATE, ended.agent),
        duration_us: ended.duration_us,
        error: ended.code.clone(),
        attributes,
    }
}

/// What is known of something that takes no time.
fn point(event: &Event) -> Attributes {
    let attributes = Attributes::default();
    match event {
        Event::SkillApproval { name, tree_digest, script, access, answer, lifetime, .. } => attributes
            .text(names::SKILL_NAME, name)
            .digest(names::SKILL_DIGEST, tree_digest)
            .optional_text(names::SCRIPT_PATH, script.as_deref())
            .text(names::APPROVAL_ACCESS, access)
            .text(names::APPROVAL_ANSWER, answer.as_str())
            .text(names::APPROVAL_LIFETIME, lifetime),
        Event::SkillDeactivated { name } => attributes.text(names::SKILL_NAME, name),
        Event::SkillExpanded { name, section, tokens, prompt: _ } => attributes
            .optional_text(names::SKILL_NAME, name.as_deref())
            .text(names::SECTION, section)
            .count(names::TOKENS, *tokens),
        Event::PromptWarning { target, code, prompt: _ } => {
            attributes.text(names::SECTION, target).text(names::WARNING_CODE, code)
        }
        Event::SkillsChanged { added, changed, removed } => attributes
            .count(names::SKILLS_ADDED, added.len() as u64)
            .count(names::SKILLS_CHANGED, changed.len() as u64)
            .count(names::SKILLS_REMOVED, removed.len() as u64),
        Event::SkillsMounted { skills, .. } => attributes.count(names::SKILLS_MOUNTED, skills.len() as u64),
        Event::SkillsLinked { skills, .. } => attributes.count(names::SKILLS_LINKED, skills.len() as u64),
        Event::SkillsUnlinked { skills, .. } => attributes.count(names::SKILLS_UNLINKED, skills.len() as u64),
        Event::TrustChanged { trusted, .. } => attributes.flag(names::TRUSTED, *trusted),
        Event::GuardChanged { agent, .. } => attributes.text(names::AGENT, agent),
        // Where they came from may be an address with a password in it.
        Event::SkillsInstalled { skills, .. } => {
            attributes.count(names::SKILLS_INSTALLED, skills.len() as u64)
        }
        Event::MutationProposed { request_id, target, payload, skills } => attributes
            .text(names::MUTATION_REQUEST, request_id)
            .text(names::MUTATION_TARGET, target)
            .content(names::MUTATION_PAYLOAD, Some(payload))
            .list(names::SKILLS_ACTIVE, skills.keys()),
        Event::MutationDecided { request_id, outcome, code } => attributes
            .text(names::MUTATION_REQUEST, request_id)
            .text(names::MUTATION_OUTCOME, outcome)
            .text(names::MUTATION_CODE, code),
        _ => attributes,
    }
}

fn session_trace(session: &str) -> Vec<u8> {
    first_bytes(&["metier-session\0", session], 16)
}

fn root_id(session: &str) -> Vec<u8> {
    first_bytes(&["metier-root\0", session], 8)
}

fn first_bytes(parts: &[&str], count: usize) -> Vec<u8> {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
    }
    hasher.finalize().iter().copied().take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(session: Option<&'static str>, event: Option<Event>) -> Seen<'static> {
        let kind = "host.event".to_owned();
        Seen { id: "record-1", sequence: 7, session, time: 2_000_000, kind, task: None, event }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }

    #[test]
    fn ids_are_those_of_the_documentation() {
        // printf 'metier-session\0s1' | sha256sum, and so on.
        let span = of_record(&seen(Some("s1"), None)).unwrap();
        assert_eq!(hex(&span.trace_id), TRACE);
        assert_eq!(hex(&span.parent_span_id), ROOT);
        assert_eq!(hex(&span.id), RECORD);
    }

    const TRACE: &str = "f74b371464b636dcd41e2bafd19023a8";
    const ROOT: &str = "7a5751bd86f9a4ec";
    const RECORD: &str = "b7462d6ced2c15ad";

    #[test]
    fn what_has_no_session_is_a_trace_of_its_own() {
        let span = of_record(&seen(None, None)).unwrap();
        assert_eq!(span.trace_id.len(), 16);
        assert_ne!(hex(&span.trace_id), TRACE);
        assert_eq!(span.parent_span_id, Vec::<u8>::new());
        assert_eq!(span.name, "host.event");
    }

    #[test]
    fn no_span_begins_before_1970() {
        let event: Event = serde_json::from_value(serde_json::json!({
            "kind": "skill.resource_read", "name": "pdf", "path": "a.md", "tokens": 1, "duration_us": 1_u64 << 52,
            "tree_digest": metier_skill::Digest::of(b""),
            "content": {"digest": metier_skill::Digest::of(b""), "bytes": 0},
        }))
        .unwrap();
        let span = of_record(&seen(Some("s1"), Some(event))).unwrap();
        assert_eq!((span.start_time_unix_nano, span.end_time_unix_nano), (0, 2_000_000_000));
    }

    #[test]
    fn the_journals_own_records_are_no_spans() {
        let event = Event::JournalCreated { journal: uuid::Uuid::nil(), format: 1 };
        assert_eq!(of_record(&seen(None, Some(event))), None);
    }

    #[test]
    fn a_session_that_is_still_open_ends_with_its_last_record() {
        let mut open = OpenSession::begin(&seen(Some("s1"), None), None);
        open.went_on(&Seen { time: 5_000_000, ..seen(Some("s1"), None) });
        open.went_on(&Seen { time: 3_000_000, ..seen(Some("s1"), None) });
        let root = open.root("s1", false);
        assert_eq!((root.start_time_unix_nano, root.end_time_unix_nano), (2_000_000_000, 5_000_000_000));
        assert_eq!((root.name.as_str(), hex(&root.id).as_str()), ("invoke_agent", ROOT));
        assert_eq!(root.parent_span_id, Vec::<u8>::new());
    }
}
