//! Records to send: a session with one of everything, in which every text has a word that must not leave.

use std::collections::BTreeMap;

use metier_journal::{
    ConnectionRecord, EvaluationEnd, Event, Observer, PathList, Privacy, RecordRef, RecordedAnswer, RunFacts,
    ScriptExecuted, ScriptOutcome, Telemetry, Time, ToolInvoked, ToolOutcome, TouchedPaths, Trigger,
};
use metier_skill::{Digest, Tier};
use serde_json::json;

/// In everything that is somebody's own.
pub(crate) const CANARY: &str = "canary-7f3a";

/// When the first record was written, in microseconds.
pub(crate) const BEGIN: i64 = 1_790_000_000_000_000;

/// A record with this number, which is also its time in seconds after the beginning.
pub(crate) fn record(telemetry: &Telemetry, number: u32, session: Option<&str>, event: &serde_json::Value) {
    let time = Time::from_micros(BEGIN + i64::from(number) * 1_000_000).to_string();
    let id = format!("record-{number}");
    let event = event.to_string();
    let hash = Digest::of(b"");
    let sequence = u64::from(number);
    telemetry.recorded(&RecordRef { sequence, id: &id, time: &time, session, event: &event, hash });
}

/// A record of this event, in session `s1`.
pub(crate) fn record_event(telemetry: &Telemetry, number: u32, event: &Event) {
    record(telemetry, number, Some("s1"), &serde_json::to_value(event).unwrap());
}

pub(crate) fn deactivated() -> Event {
    Event::SkillDeactivated { name: "pdf".to_owned() }
}

/// What a script did, with names that no collector is told.
fn facts() -> RunFacts {
    let list = || PathList { count: 1, first: vec![CANARY.to_owned()] };
    let (created, changed, deleted, temporary) = (list(), list(), list(), list());
    let mut facts = RunFacts::default();
    facts.work_directory = Some(CANARY.to_owned());
    facts.touched = Some(TouchedPaths { created, changed, deleted, temporary, incomplete: false });
    facts.refused_writes = Some(list());
    facts.connections = vec![ConnectionRecord { to: CANARY.to_owned(), refused: None, times: 1 }];
    facts
}

/// A script that took half a second.
pub(crate) fn script(outcome: ScriptOutcome, exit: Option<i64>, code: Option<&str>) -> Event {
    let privacy = Privacy::default().with_text();
    let own = format!("{CANARY} printed");
    Event::SkillScriptExecuted(Box::new(ScriptExecuted {
        name: "pdf".to_owned(),
        tree_digest: Digest::of(b"tree"),
        script: "scripts/fill.py".to_owned(),
        script_digest: Digest::of(b"script"),
        arguments: privacy.arguments(&[CANARY]),
        input: Some(privacy.content(own.as_bytes())),
        variables: privacy.variables([(CANARY, CANARY)]),
        outcome,
        exit,
        code: code.map(str::to_owned),
        rule: None,
        duration_us: 500_000,
        protections: vec!["landlock".to_owned(), "seccomp".to_owned()],
        stdout: Some(privacy.content(own.as_bytes())),
        stderr: Some(privacy.content(own.as_bytes())),
        facts: facts(),
    }))
}

fn skill_events() -> Vec<Event> {
    let privacy = Privacy::default().with_text();
    let own = format!("{CANARY} said");
    let name = "pdf".to_owned();
    let tree_digest = Digest::of(b"tree");
    let (skill_id, tier, trigger) = ("user/pdf".to_owned(), Tier::User, Trigger::Model);
    vec![
        Event::SkillDiscovered { skill_id: skill_id.clone(), name: name.clone(), tier, tokens: 40 },
        Event::SkillActivated {
            skill_id,
            name: name.clone(),
            tier,
            skill_md_digest: Digest::of(b"body"),
            tree_digest,
            trigger,
            tokens: 900,
            duration_us: 1500,
            path: None,
        },
        Event::SkillActivationFailed {
            name: "pfd".to_owned(),
            trigger,
            code: "not-found".to_owned(),
            rule: None,
        },
        Event::SkillExpanded {
            name: Some(name.clone()),
            prompt: Some("review/code".to_owned()),
            section: "tools".to_owned(),
            tokens: 70,
        },
        Event::ToolInvoked(Box::new(ToolInvoked {
            tool: "lint".to_owned(),
            call_id: "call-1".to_owned(),
            arguments: privacy.content(own.as_bytes()),
            outcome: ToolOutcome::Failed,
            code: Some("tool-panicked".to_owned()),
            answer: privacy.content(own.as_bytes()),
            notes: vec![privacy.content(own.as_bytes())],
            skills: [(name.clone(), tree_digest)].into(),
            duration_us: 40,
        })),
        Event::PromptWarning {
            prompt: "review/code".to_owned(),
            target: "skills".to_owned(),
            code: "skills-not-installed".to_owned(),
        },
        Event::SkillResourceRead {
            name: name.clone(),
            tree_digest,
            path: "reference/forms.md".to_owned(),
            content: privacy.content(own.as_bytes()),
            range: None,
            tokens: 300,
            duration_us: 250,
        },
        Event::SkillToolCallDecided {
            tool: "Bash".to_owned(),
            arguments: privacy.content(own.as_bytes()),
            decision: "deny".to_owned(),
            code: "not-allowed".to_owned(),
            rule: None,
            skills: [(name.clone(), tree_digest)].into(),
        },
        Event::SkillApproval {
            name,
            tree_digest,
            script: Some("scripts/fill.py".to_owned()),
            access: "network".to_owned(),
            network: Some("host".to_owned()),
            answer: RecordedAnswer::Granted,
            lifetime: "once".to_owned(),
            by: None,
            how: Some("terminal".to_owned()),
        },
        script(ScriptOutcome::Exited, Some(0), None),
        script(ScriptOutcome::Exited, Some(3), None),
        script(ScriptOutcome::Limited, None, Some("limit-memory")),
        script(ScriptOutcome::Denied, None, None),
        deactivated(),
    ]
}

fn other_events() -> Vec<Event> {
    let payload = Privacy::default().with_text().content(CANARY.as_bytes());
    let skills = BTreeMap::from([("pdf".to_owned(), Digest::of(b"tree"))]);
    let request_id = "request-1".to_owned();
    let names = |count: usize| vec![CANARY.to_owned(); count];
    vec![
        Event::SkillsChanged { added: names(1), changed: names(2), removed: names(3) },
        Event::SkillsInstalled {
            skills: skills.clone(),
            source: format!("https://me:{CANARY}@example.com/skills.git"),
            accepted: names(1),
            prompt: None,
        },
        Event::SkillsMounted { skills: skills.clone(), place: CANARY.to_owned() },
        Event::SkillsLinked {
            skills: BTreeMap::from([("pdf".to_owned(), CANARY.to_owned())]),
            place: CANARY.to_owned(),
        },
        Event::SkillsUnlinked {
            skills: BTreeMap::from([("pdf".to_owned(), CANARY.to_owned())]),
            place: CANARY.to_owned(),
        },
        Event::TrustChanged { folder: CANARY.to_owned(), trusted: true },
        Event::GuardChanged { agent: "claude".to_owned(), place: CANARY.to_owned(), installed: true },
        evaluation_ended(),
        Event::MutationProposed {
            request_id: request_id.clone(),
            target: "AGENTS.md".to_owned(),
            payload,
            skills,
        },
        Event::MutationDecided { request_id, outcome: "applied".to_owned(), code: "approved".to_owned() },
        Event::JournalCheckpoint { size: 5, root: Digest::of(b"root"), nodes: vec![Digest::of(b"root")] },
    ]
}

fn evaluation_ended() -> Event {
    Event::EvaluationEnded(Box::new(EvaluationEnd {
        evaluation: "e1".to_owned(),
        agent: "claude".to_owned(),
        version: Some("2.1".to_owned()),
        model: Some("fake-model".to_owned()),
        conversation: Some(CANARY.to_owned()),
        input: 30,
        output: 15,
        cost_microdollars: Some(420),
        turns: 3,
        stop: "end_turn".to_owned(),
        code: None,
        walls: vec!["permissions".to_owned()],
        duration_us: 250_000,
    }))
}

/// One of everything. Returns how many spans that is.
pub(crate) fn whole_session(telemetry: &Telemetry) -> u64 {
    let begin = Event::SessionStarted { agent: Some("claude-code".to_owned()) };
    let events: Vec<Event> = [begin]
        .into_iter()
        .chain(skill_events())
        .chain(other_events())
        .chain([Event::SessionEnded {}])
        .collect();
    for (number, event) in (0..).zip(&events) {
        let mut event = serde_json::to_value(event).unwrap();
        event["task_id"] = json!("task-1");
        event["actor"] = json!(CANARY);
        record(telemetry, number, Some("s1"), &event);
    }
    record(telemetry, 50, Some("s2"), &json!({"kind": "host.thought", "what": CANARY}));
    // The session's begin and end are one, the skill that was shown and the checkpoint none.
    events.len() as u64 + 1 - 3
}
