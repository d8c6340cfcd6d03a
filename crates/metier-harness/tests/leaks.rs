//! What many evaluations at once leave behind: nothing. It counts what the whole process holds, so it is alone in it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(dead_code, reason = "other tests use the rest of what they share")]

#[path = "../../../tests/shared/clock.rs"]
mod clock;
#[path = "harness/ground.rs"]
mod ground;
#[path = "../../../tests/shared/launcher.rs"]
mod launcher;
#[path = "harness/scripted.rs"]
mod scripted;

use std::fs;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use metier_harness::{AgentEventKind, evaluate};
use metier_session::Session;

use crate::ground::{Ground, prompt};
use crate::scripted::ScriptedAgent;

const AT_ONCE: usize = 50;

/// How many there are of: threads, file descriptors, processes of agents, homes.
fn held(ground: &Ground) -> [usize; 4] {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    let place = ground.path("homes").display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let parent = format!("PPid:\t{}\n", std::process::id());
        status.contains(&parent) || String::from_utf8_lossy(&environment).contains(&place)
    });
    [count("/proc/self/task"), count("/proc/self/fd"), processes.count(), ground.left().len()]
}

/// One evaluation that waits for the others while its agent runs.
fn run(agent: &ScriptedAgent, session: &mut Session, barriers: &[&Barrier]) {
    let builder = evaluate(agent, prompt("Go.")).on_event(|event| {
        if matches!(event.kind, AgentEventKind::Text { .. }) {
            for barrier in barriers {
                barrier.wait();
            }
        }
    });
    assert_eq!(builder.run(session).unwrap().text, "done");
}

#[test]
fn many_evaluations_at_once_leave_nothing() {
    let ground = Ground::new();
    let agent = ground.answering("say working; used 1 1 0; end done");
    let session = |name: &str| Session::with_id(ground.options(), name).unwrap();
    // The journal and the store have what they keep after this.
    run(&agent, &mut session("first"), &[]);
    let settles = |wanted: Option<[usize; 4]>| {
        // Threads that watched an agent end soon after it; nobody waits for them.
        let mut last = held(&ground);
        for _ in 0..200 {
            thread::sleep(Duration::from_millis(25));
            let now = held(&ground);
            if wanted.map_or(now == last, |wanted| now == wanted) {
                break;
            }
            last = now;
        }
        held(&ground)
    };
    let before = settles(None);
    // One more than there are evaluations: this thread looks while all agents run.
    let (all_run, go_on) = (Barrier::new(AT_ONCE + 1), Barrier::new(AT_ONCE + 1));
    thread::scope(|scope| {
        for number in 0..AT_ONCE {
            let (agent, barriers, mut session) = (&agent, [&all_run, &go_on], session(&format!("s{number}")));
            scope.spawn(move || run(agent, &mut session, &barriers));
        }
        all_run.wait();
        let [.., processes, homes] = held(&ground);
        assert!(processes >= 2 * AT_ONCE && homes == 2 * AT_ONCE, "{processes} processes, {homes} homes");
        go_on.wait();
    });
    assert_eq!(settles(Some(before)), before, "threads, file descriptors, processes, homes");
}
