//! Limits while an agent works: each ends it with everything it started, and says what was used.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use metier_harness::{AgentEventKind, HarnessError, Permissions, evaluate};
use metier_prompt::{Prompt, Rendering, Section, Tool, ToolAnswer, ToolContext, ToolResult};
use metier_sandbox::Cancel;
use metier_session::{Budget, Session};
use metier_skill::Coded as _;
use schemars::JsonSchema;
use serde::Deserialize;

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

/// Blocks until the process is gone, like a handler that waits for something that never comes. Says whether it went.
fn waits_for_its_end(pids: &Path) -> bool {
    let pid = fs::read_to_string(pids).unwrap();
    // Much longer than any limit here.
    (0..2_000).any(|_| {
        thread::park_timeout(Duration::from_millis(10));
        !is_alive(&pid)
    })
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A prompt with a tool that blocks.
fn blocking(pids: PathBuf, ended: Arc<AtomicBool>) -> Rendering {
    let wait = Tool::new("wait", "Waits", move |_: Nothing, _: &mut ToolContext<'_>| {
        ended.store(waits_for_its_end(&pids), Ordering::Relaxed);
        ToolResult::Ok(ToolAnswer::message("waited"))
    });
    let section = Section::new("task", "Task").body("Wait.").tool(wait);
    Prompt::builder("tests", "blocking").section(section).build().unwrap().rendering()
}

/// Whatever code of the caller blocks, the agent and all that it started end at the deadline, before that code returns.
#[test]
fn at_its_deadline_it_is_ended_while_the_callers_code_blocks() {
    let calls = ["tool 1 wait {}", "say block", "ask 1 Bash '{\"command\":\"ls\"}'"];
    for call in calls {
        let ground = Ground::new();
        let script = endless(&ground).replace("say started; sleep 1000", &format!("{call}; sleep 1000"));
        let agent = ground.answering(&script);
        let (pids, ended) = (ground.path("pids"), Arc::new(AtomicBool::new(false)));
        let (said, asked) = ((pids.clone(), Arc::clone(&ended)), (pids.clone(), Arc::clone(&ended)));
        let builder = evaluate(&agent, blocking(pids, Arc::clone(&ended)))
            .deadline(Duration::from_millis(700))
            .on_event(move |event| {
                if matches!(event.kind, AgentEventKind::Text { .. }) {
                    said.1.store(waits_for_its_end(&said.0), Ordering::Relaxed);
                }
            })
            .permissions(Permissions::from_fn(move |_, _| {
                asked.1.store(waits_for_its_end(&asked.0), Ordering::Relaxed);
                None
            }));
        let error = builder.run(&mut ground.session()).unwrap_err();
        assert_eq!(error.code(), "harness-deadline", "{call}: {error}");
        assert!(ended.load(Ordering::Relaxed), "{call}: the agent outlived its deadline");
        assert_eq!(spent(&error), (10, 1_000));
        assert_nothing_is_left(&ground);
    }
}

#[test]
fn when_it_is_cancelled_while_a_tool_blocks_it_is_ended() {
    let ground = Ground::new();
    let script = endless(&ground).replace("say started; sleep 1000", "tool 1 wait {}; sleep 1000");
    let agent = ground.answering(&script);
    let (pids, ended) = (ground.path("pids"), Arc::new(AtomicBool::new(false)));
    let cancel = Cancel::new().unwrap();
    let (cancelling, done) = (cancel.clone(), Arc::clone(&ended));
    let wait = Tool::new("wait", "Waits", move |_: Nothing, _: &mut ToolContext<'_>| {
        cancelling.cancel();
        done.store(waits_for_its_end(&pids), Ordering::Relaxed);
        ToolResult::Ok(ToolAnswer::message("waited"))
    });
    let section = Section::new("task", "Task").body("Wait.").tool(wait);
    let prompt = Prompt::builder("tests", "blocking").section(section).build().unwrap().rendering();
    let error = evaluate(&agent, prompt).cancel(cancel).run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "harness-cancelled", "{error}");
    assert!(ended.load(Ordering::Relaxed), "the agent was not ended");
    assert_nothing_is_left(&ground);
    // The call was made, and is recorded.
    assert_eq!(ground.recorded("tool.invoked")[0]["outcome"], "done");
}

#[test]
fn a_tool_is_told_how_much_time_is_left() {
    let ground = Ground::new();
    let agent =
        ground.answering("tool 1 left {}; case $answer in *'in time'*) end right;; *) end wrong;; esac");
    let left =
        Tool::new("left", "Says how much time is left", |_: Nothing, context: &mut ToolContext<'_>| {
            let is_less = context.allowance.time.is_some_and(|time| time <= Duration::from_secs(50));
            ToolResult::Ok(ToolAnswer::message(if is_less { "in time" } else { "no limit" }))
        });
    let section = Section::new("task", "Task").body("Go.").tool(left);
    let prompt = Prompt::builder("tests", "left").section(section).build().unwrap().rendering();
    let builder = evaluate(&agent, prompt).deadline(Duration::from_secs(50));
    assert_eq!(builder.run(&mut ground.session()).unwrap().text, "right");
}
