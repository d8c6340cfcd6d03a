//! Limits while an agent works: each ends it with everything it started, and says what was used.

use std::fs;
use std::time::Duration;

use metier_harness::{AgentEventKind, HarnessError, evaluate};
use metier_sandbox::Cancel;
use metier_session::{Budget, Session};
use metier_skill::Coded as _;

use crate::ground::{Ground, is_alive, prompt};

/// Starts a process that does not listen, and works until it is stopped.
fn endless(ground: &Ground) -> String {
    let pids = ground.path("pids").display().to_string();
    format!(
        "sh -c 'trap \"\" TERM HUP INT; echo $$ >{pids}; while :; do sleep 1; done' >/dev/null 2>&1 &\n\
         while [ ! -s {pids} ]; do :; done\nused 10 5 0.001; say started; sleep 1000"
    )
}

fn assert_nothing_is_left(ground: &Ground) {
    let pid = fs::read_to_string(ground.path("pids")).unwrap();
    assert!(!is_alive(&pid), "{pid} is still there");
    assert!(ground.left().is_empty(), "{:?}", ground.left());
}

fn spent(error: &HarnessError) -> (u64, u64) {
    let spent = error.spent().unwrap();
    (spent.usage.input, spent.cost.unwrap().microdollars)
}

#[test]
fn at_its_deadline_it_is_ended() {
    let ground = Ground::new();
    let agent = ground.answering(&endless(&ground));
    let builder = evaluate(&agent, prompt("Work.")).deadline(Duration::from_secs(1));
    let error = builder.run(&mut ground.session()).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("harness-deadline", "Scripted did not answer within 1 s")
    );
    assert_eq!(spent(&error), (10, 1_000));
    assert_nothing_is_left(&ground);
    assert_eq!(ground.recorded("evaluation.ended")[0]["code"], "harness-deadline");
}

#[test]
fn over_its_budget_it_is_ended() {
    let ground = Ground::new();
    let agent = ground.answering(&endless(&ground));
    let mut options = ground.options();
    options.budget = Some(Budget { input: Some(9), ..Budget::default() });
    let mut session = Session::with_id(options, "s1").unwrap();
    let error = evaluate(&agent, prompt("Work.")).run(&mut session).unwrap_err();
    assert_eq!(error.code(), "harness-budget");
    assert_eq!(error.to_string(), "the budget is used up: used 10 input tokens; the limit is 9");
    assert_eq!(spent(&error), (10, 1_000));
    assert_nothing_is_left(&ground);
    // And does not begin again.
    let error = evaluate(&agent, prompt("Work.")).run(&mut session).unwrap_err();
    assert_eq!(error.code(), "harness-budget");
}

#[test]
fn when_it_is_cancelled_it_is_ended() {
    let ground = Ground::new();
    let agent = ground.answering(&endless(&ground));
    let cancel = Cancel::new().unwrap();
    let cancelling = cancel.clone();
    let builder = evaluate(&agent, prompt("Work.")).cancel(cancel).on_event(move |event| {
        if matches!(event.kind, AgentEventKind::Text { .. }) {
            cancelling.cancel();
        }
    });
    let error = builder.run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "harness-cancelled");
    assert_eq!(spent(&error), (10, 1_000));
    assert_nothing_is_left(&ground);
}

#[test]
fn when_it_hangs_it_is_ended() {
    let ground = Ground::new();
    let agent = ground.answering(&endless(&ground));
    let builder = evaluate(&agent, prompt("Work.")).silence(Duration::from_millis(300));
    let error = builder.run(&mut ground.session()).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("harness-hung", "Scripted sent nothing for 0.3 s")
    );
    assert_nothing_is_left(&ground);
}

#[test]
fn an_interrupted_agent_reports_what_it_used() {
    let ground = Ground::new();
    let script = "used 10 5 0.001; while read -r line; do case $line in *interrupt*) used 20 9 0.002; end stopped;; esac; done";
    let builder = |deadline| {
        let agent = ground.answering(script);
        let builder = evaluate(&agent, prompt("Work.")).deadline(deadline);
        builder.run(&mut ground.session()).unwrap_err()
    };
    assert_eq!(spent(&builder(Duration::from_millis(500))), (20, 2_000));
}
