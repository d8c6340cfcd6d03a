//! Calls of tools of MCP servers: decided and recorded in the session, performed outside of it.

use std::sync::Arc;

use metier_journal::{Event, ServerCallOutcome, Trigger};
use metier_policy::{DecisionCode, Lifetime, Policy, PolicySettings};
use metier_session::{ApprovalStore, ServerCall, Session, SessionError};
use metier_skill::{Digest, Tier};
use serde_json::{Value, json};

use crate::common::{Ground, Says};

fn query(arguments: Value) -> ServerCall {
    ServerCall::new("db", "query", arguments, Digest::of(b"query"))
}

fn session(ground: &Ground, policy: Value) -> Session {
    let settings: PolicySettings = serde_json::from_value(policy).unwrap();
    let mut options = ground.options(Tier::User);
    options.policy = Policy::new(None, &[("metier.toml", &settings)]).unwrap();
    options.approvals = Some(ApprovalStore::new(ground.path("approvals")));
    Session::start(options).unwrap()
}

fn denied(session: &mut Session, call: &ServerCall) -> DecisionCode {
    match session.permit_server_call(call) {
        Err(SessionError::Denied { decision }) => decision.code,
        other => unreachable!("{other:?}"),
    }
}

/// The decisions about tools so far: the tool and the verdict.
fn decided(ground: &Ground) -> Vec<(String, String)> {
    let decided = ground.events().into_iter().filter_map(|event| match event {
        Event::SkillToolCallDecided { tool, decision, .. } => Some((tool, decision)),
        _ => None,
    });
    decided.collect()
}

#[test]
fn a_call_is_recorded_before_and_after_with_the_active_skills() {
    let ground = Ground::new();
    ground.skill("reports", "allowed-tools: mcp__db__query\n", "Ask the database.\n");
    let mut session = session(&ground, json!({ "only_through_skills": ["mcp__db__*"] }));
    session.set_task(Some("t7".to_owned()));
    let call = query(json!({ "sql": "select 1" }));
    assert_eq!(denied(&mut session, &call), DecisionCode::OnlyThroughSkills);
    let tree = session.activate_as("reports", Trigger::User).unwrap().tree_digest;
    let permitted = session.permit_server_call(&call).unwrap();
    let context = permitted.context().clone();
    assert_eq!((context.skills["user/reports"], context.task.as_deref()), (tree, Some("t7")));
    assert_eq!(context.session, session.id());
    let outside = ServerCall::new("db", "drop", json!({}), Digest::of(b"drop"));
    assert_eq!(denied(&mut session, &outside), DecisionCode::OnlyThroughSkills);
    // The session is free meanwhile.
    session.deactivate("reports").unwrap();
    session.finish_server_call(permitted, ServerCallOutcome::Done, None, b"{\"rows\":1}").unwrap();
    let events = ground.events();
    let called = events.iter().find_map(|event| match event {
        Event::ServerToolCalled(called) => Some(called),
        _ => None,
    });
    let called = called.unwrap();
    assert_eq!((called.server.as_str(), called.tool.as_str()), ("db", "query"));
    assert_eq!(called.skills["user/reports"], tree, "the skills that were active when it was called");
    assert_eq!((called.answer.bytes, called.outcome), (10, ServerCallOutcome::Done));
    let is = |tool: &str, decision: &str| (tool.to_owned(), decision.to_owned());
    assert_eq!(
        decided(&ground),
        [is("mcp__db__query", "deny"), is("mcp__db__query", "allow"), is("mcp__db__drop", "deny")]
    );
}

#[test]
fn an_approval_of_a_tool_holds_until_its_definition_changes() {
    let ground = Ground::with_pdf();
    let ask = json!({ "rules": [{ "server": "db", "tools": "ask" }] });
    let mut first = session(&ground, ask.clone());
    let call = query(json!({}));
    assert_eq!(denied(&mut first, &call), DecisionCode::NobodyToAsk);
    let says = Says(true, Lifetime::Digest, Arc::default());
    first.set_approver(Box::new(says.clone()));
    first.permit_server_call(&call).unwrap();
    assert!(says.asked()[0].contains("the tool `query` of the MCP server `db`"), "{:?}", says.asked());
    let mut second = session(&ground, ask);
    second.permit_server_call(&query(json!({ "sql": "select 2" }))).unwrap();
    let mut changed = ServerCall::new("db", "query", json!({}), Digest::of(b"query, and more"));
    changed.is_changed = true;
    assert_eq!(denied(&mut second, &changed), DecisionCode::NobodyToAsk);
    let mut free = session(&ground, json!({}));
    assert_eq!(denied(&mut free, &changed), DecisionCode::NobodyToAsk, "without any rule as well");
    let approvals = ground.kinds().iter().filter(|kind| *kind == "skill.approval").count();
    assert_eq!(approvals, 1);
    assert!(first.stats().is_empty(), "a server is not a skill");
}

#[test]
fn two_long_names_stay_two_in_the_record() {
    let ground = Ground::with_pdf();
    let mut session = session(&ground, json!({}));
    let long = "x".repeat(300);
    for end in ["a", "b"] {
        session.check_tool_call(&format!("mcp__db__{long}{end}"), &json!({})).unwrap();
    }
    let tools = decided(&ground);
    assert_ne!(tools[0], tools[1]);
    assert!(tools.iter().all(|(tool, _)| tool.chars().count() < 130), "{tools:?}");
}
