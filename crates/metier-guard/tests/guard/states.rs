//! What hooks keep of a conversation: locked, whole or not at all, and never believed if it is damaged.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, SystemTime};

use metier_guard::{AgentCall, CallCheck, ConversationState, GuardError, GuardStates};
use metier_home::Agent;
use proptest::prelude::*;
use serde_json::json;

const AGENT: Agent = Agent::ClaudeCode;

/// Before anything was written, so that nothing is old.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH
}

fn call(id: Option<&str>, tool: &str, command: &str) -> AgentCall {
    let mut call = AgentCall::new(tool, json!({ "command": command }));
    call.id = id.map(str::to_owned);
    call
}

fn entries(directory: &Path) -> usize {
    fs::read_dir(directory).map_or(0, Iterator::count)
}

fn keep(states: &GuardStates, conversation: &str, session: &str) {
    let mut held = states.find_or_begin(AGENT, conversation, now()).unwrap();
    held.state_mut().session = Some(session.to_owned());
    held.save().unwrap();
}

#[test]
fn a_state_is_found_again_until_it_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let states = GuardStates::new(place.path().join("deep/guard"));
    assert!(states.find(AGENT, "a").unwrap().is_none());
    keep(&states, "a", "saved");
    assert_eq!(states.find(AGENT, "a").unwrap().unwrap().state().session.as_deref(), Some("saved"));
    assert!(states.find(Agent::Codex, "a").unwrap().is_none(), "ids of another agent");
    assert_eq!(states.list().unwrap().len(), 1);
    states.find(AGENT, "a").unwrap().unwrap().remove().unwrap();
    assert!(states.find(AGENT, "a").unwrap().is_none());
    assert_eq!(entries(&place.path().join("deep/guard")), 0);
}

#[test]
fn what_was_not_saved_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let states = GuardStates::new(place.path());
    drop(states.find_or_begin(AGENT, "a", now()).unwrap());
    assert_eq!(entries(place.path()), 0);
    states.find_or_begin(AGENT, "a", now()).unwrap().save().unwrap();
    assert_eq!(entries(place.path()), 0, "nothing to keep");
}

#[test]
fn a_damaged_state_is_an_error_until_it_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let states = GuardStates::new(place.path());
    keep(&states, "a", "saved");
    let directory = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(directory.join("state")).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for bytes in [&whole[..whole.len() / 2], b"", &flipped, b"{}"] {
        fs::write(directory.join("state"), bytes).unwrap();
        assert!(matches!(states.find(AGENT, "a"), Err(GuardError::State { .. })));
        assert!(states.find_or_begin(AGENT, "a", now()).is_err());
    }
    assert_eq!(states.remove_damaged().unwrap(), 1);
    assert!(states.find(AGENT, "a").unwrap().is_none());
}

#[test]
fn a_state_of_another_conversation_is_not_taken() {
    let place = tempfile::tempdir().unwrap();
    let states = GuardStates::new(place.path());
    keep(&states, "a", "of a");
    let a = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().path();
    keep(&states, "b", "of b");
    let b =
        fs::read_dir(place.path()).unwrap().map(|one| one.unwrap().path()).find(|path| *path != a).unwrap();
    fs::copy(a.join("state"), b.join("state")).unwrap();
    assert!(matches!(states.find(AGENT, "b"), Err(GuardError::State { .. })));
}

#[test]
fn a_link_is_not_followed() {
    let place = tempfile::tempdir().unwrap();
    let states = GuardStates::new(place.path().join("guard"));
    keep(&states, "a", "saved");
    let directory = fs::read_dir(place.path().join("guard")).unwrap().next().unwrap().unwrap().path();
    fs::rename(directory.join("state"), place.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(place.path().join("elsewhere"), directory.join("state")).unwrap();
    assert!(states.find(AGENT, "a").is_err());
}

#[test]
fn what_a_killed_process_left_is_written_over() {
    let place = tempfile::tempdir().unwrap();
    let states = GuardStates::new(place.path());
    keep(&states, "a", "one");
    let directory = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().path();
    // It was killed before the replacement: the state is the one before.
    fs::write(directory.join("next"), "half").unwrap();
    assert_eq!(states.find(AGENT, "a").unwrap().unwrap().state().session.as_deref(), Some("one"));
    keep(&states, "a", "two");
    assert_eq!(states.find(AGENT, "a").unwrap().unwrap().state().session.as_deref(), Some("two"));
    // It was killed between removing the state and its directory.
    fs::remove_file(directory.join("state")).unwrap();
    assert!(states.find(AGENT, "a").unwrap().is_none());
    keep(&states, "a", "three");
    assert_eq!(states.list().unwrap().len(), 1);
}

#[test]
fn nobody_loses_what_another_wrote() {
    let place = tempfile::tempdir().unwrap();
    let (threads, rounds) = (4, 50);
    let barrier = Arc::new(Barrier::new(threads));
    let work = |number: usize| {
        let (states, barrier) = (GuardStates::new(place.path()), Arc::clone(&barrier));
        move || {
            barrier.wait();
            for round in 0..rounds {
                let mut held = states.find_or_begin(AGENT, "a", now()).unwrap();
                let id = format!("{number}-{round}");
                held.state_mut().decided(&call(Some(&id), "Bash", "ls"), true, true);
                held.save().unwrap();
                // Another conversation comes and goes.
                let other = states.find_or_begin(AGENT, "b", now()).unwrap();
                if round % 2 == 0 { drop(other) } else { other.remove().unwrap() }
            }
        }
    };
    let running: Vec<_> = (0..threads).map(|number| thread::spawn(work(number))).collect();
    for one in running {
        one.join().unwrap();
    }
    let states = GuardStates::new(place.path());
    let held = states.find(AGENT, "a").unwrap().unwrap();
    assert_eq!(held.state().calls.len(), threads * rounds);
    assert!(states.find(AGENT, "b").unwrap().is_none());
}

#[test]
fn old_states_are_removed_when_a_new_one_begins() {
    let place = tempfile::tempdir().unwrap();
    let states = GuardStates::new(place.path());
    keep(&states, "old", "x");
    let directory = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().path();
    let written = fs::metadata(directory.join("state")).unwrap().modified().unwrap();
    let day = Duration::from_hours(24);
    let mut held = states.find_or_begin(AGENT, "new", written + 29 * day).unwrap();
    assert_eq!(states.list().unwrap().len(), 1, "still kept");
    held.state_mut().session = Some("y".to_owned());
    held.save().unwrap();
    let in_use = states.find(AGENT, "new").unwrap().unwrap();
    drop(states.find_or_begin(AGENT, "third", written + 31 * day).unwrap());
    let left: Vec<String> = states.list().unwrap().into_iter().map(|state| state.conversation).collect();
    assert_eq!(left, ["new"], "what is in use stays");
    drop(in_use);
}

#[test]
fn a_subagent_works_for_the_conversation_that_started_it() {
    let place = tempfile::tempdir().unwrap();
    let states = GuardStates::new(place.path());
    for (child, parent) in [("child", "top"), ("grandchild", "child")] {
        let mut held = states.find_or_begin(AGENT, child, now()).unwrap();
        held.state_mut().parent = Some(parent.to_owned());
        held.save().unwrap();
    }
    for conversation in ["top", "child", "grandchild"] {
        assert_eq!(states.owner(AGENT, conversation).unwrap(), "top");
    }
    let mut held = states.find_or_begin(AGENT, "top", now()).unwrap();
    held.state_mut().parent = Some("grandchild".to_owned());
    held.save().unwrap();
    assert!(states.owner(AGENT, "top").is_err(), "a circle");
}

#[test]
fn a_result_is_compared_with_what_was_decided() {
    let mut state = ConversationState::new(AGENT, "a");
    state.decided(&call(Some("1"), "Bash", "ls"), true, true);
    state.decided(&call(Some("2"), "Bash", "rm"), false, true);
    state.decided(&call(Some("3"), "Bash", "git log"), true, true);
    assert_eq!(state.finished(&call(Some("1"), "Bash", "ls"), true), CallCheck::Matched);
    assert_eq!(state.finished(&call(Some("3"), "Bash", "git push"), true).code(), Some("call-changed"));
    assert_eq!(state.finished(&call(Some("2"), "Bash", "rm"), true).code(), Some("denial-ignored"));
    assert_eq!(
        state.finished(&call(Some("1"), "Bash", "ls"), true).code(),
        Some("call-without-hook"),
        "a second result"
    );
    assert_eq!(state.finished(&call(Some("9"), "Bash", "ls"), true).code(), Some("call-without-hook"));
    assert_eq!(state.failures.len(), 4);
}

#[test]
fn without_ids_the_order_counts() {
    let mut state = ConversationState::new(Agent::Gemini, "a");
    for command in ["ls", "ls", "pwd"] {
        state.decided(&call(None, "shell", command), true, true);
    }
    for command in ["pwd", "ls", "ls"] {
        assert_eq!(state.finished(&call(None, "shell", command), true), CallCheck::Matched);
    }
    assert_eq!(state.finished(&call(None, "shell", "ls"), true).code(), Some("call-without-hook"));
    state.decided(&call(None, "shell", "ls"), true, true);
    assert_eq!(state.finished(&call(None, "shell", "rm"), true).code(), Some("call-changed"));
}

#[test]
fn a_long_conversation_keeps_only_open_calls() {
    let mut state = ConversationState::new(AGENT, "a");
    for number in 0..1_000 {
        state.decided(&call(Some(&number.to_string()), "Bash", "ls"), true, false);
    }
    assert_eq!(state.calls.len(), 200);
    assert_eq!(state.finished(&call(Some("1"), "Bash", "ls"), false), CallCheck::Matched, "forgotten");
    assert_eq!(state.finished(&call(Some("999"), "Bash", "ls"), false), CallCheck::Matched);
    assert_eq!(state.calls.len(), 199);
}

proptest! {
    #[test]
    fn no_bytes_are_a_state_but_those_that_were_written(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(ConversationState::parse(&bytes).is_err());
    }

    /// Whatever happens, in whatever order: a result counts as matched only if an open call with its input was allowed.
    #[test]
    fn a_result_needs_an_allowed_call_of_its_own(steps in proptest::collection::vec((0..6u8, 0..3u8, any::<bool>(), any::<bool>()), 0..40)) {
        let mut state = ConversationState::new(AGENT, "a");
        let mut open: Vec<(u8, u8, bool)> = Vec::new();
        for (id, command, is_result, is_allowed) in steps {
            let one = call(Some(&id.to_string()), "Bash", &command.to_string());
            if is_result {
                let at = open.iter().position(|(other, _, _)| *other == id);
                let expected = at.map(|at| open.remove(at)).is_some_and(|(_, same, allowed)| same == command && allowed);
                prop_assert_eq!(state.finished(&one, true) == CallCheck::Matched, expected);
            } else {
                state.decided(&one, is_allowed, true);
                open.push((id, command, is_allowed));
            }
        }
        prop_assert_eq!(state.calls.iter().filter(|known| !known.has_result).count(), open.len());
    }
}
