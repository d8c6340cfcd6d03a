//! Prompts in a session: what behaviour.md says of opening sections, of tools, of budgets and of stored overrides.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use metier_journal::{Event, Time, ToolInvoked, ToolOutcome};
use metier_prompt::{
    AgentSkillsSection, InlineSkill, Prompt, PromptError, RefReason, Rendering, Section, SectionOverride,
    SectionPath, SessionState, SkillReader as _, SkillRef, SkillsSection, Tool, ToolAnswer, ToolContext,
    ToolFailure, ToolPolicy, ToolResult, ToolText, Visibility,
};
use metier_session::{
    Budget, ModelUsage, OverrideStore, Session, SessionError, SkillsOnDisk, Turn, discovered, scan_directory,
};
use metier_skill::{Coded as _, Tier};
use serde_json::{Value, json};
use std::time::SystemTime;

use crate::common::Ground;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Set {
    to: u64,
}

fn path(text: &str) -> SectionPath {
    SectionPath::new(text).unwrap()
}

/// A tool that sets a value, then ends as `end` says.
fn setting(name: &str, end: fn(u64) -> ToolResult) -> Tool {
    Tool::new(name, "Sets the value", move |set: Set, context: &mut ToolContext<'_>| {
        context.state.values.insert("value".to_owned(), set.to.into());
        context.state.set_visibility(path("notes"), Visibility::Full);
        context.notes.push("a note".to_owned());
        end(set.to)
    })
}

/// A task, notes that are a summary, and a skill with a tool.
fn prompt() -> Prompt {
    let notes = Section::new("notes", "Notes").body("All notes.").summary("Some notes.");
    let notes = notes.visibility(Visibility::Summary);
    let set = setting("set", |to| Ok(ToolAnswer::message(format!("set to {to}"))));
    let task = Section::new("task", "Task").body("Do it.").tool(set);
    let lint = Tool::new("lint", "Checks the code", |_: Nothing, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::new("done", "no errors".to_owned()))
    });
    let skill = InlineSkill::new("linting", "Lints code.").body("Use `lint`.").tool(lint);
    Prompt::builder("demo", "loop")
        .section(task)
        .section(notes)
        .section(SkillsSection::new().inline(skill))
        .build()
        .unwrap()
}

fn invoked(ground: &Ground) -> Vec<ToolInvoked> {
    let calls = ground.events().into_iter().filter_map(|event| match event {
        Event::ToolInvoked(call) => Some(*call),
        _ => None,
    });
    calls.collect()
}

fn open(keys: &[&str]) -> Value {
    json!({ "section_keys": keys, "reason": "to see more" })
}

#[test]
fn d22_overrides_are_there_from_the_beginning_and_forks_go_their_own_way() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    assert_eq!(session.state(), &SessionState::default());
    session.state_mut().set_visibility(path("a"), Visibility::Full);
    session.state_mut().set_visibility(path("a.b"), Visibility::Summary);
    let mut fork = session.fork_with_id("s2").unwrap();
    assert_eq!(fork.state().visibility(&path("a.b")), Some(Visibility::Summary), "a fork begins where it is");
    fork.state_mut().clear_visibility(&path("a"));
    assert_eq!(session.state().visibility(&path("a")), Some(Visibility::Full), "what it does is its own");
    let restored = Session::restore(ground.options(Tier::User), &session.save()).unwrap();
    assert_eq!(restored.state(), session.state(), "what was saved is what there was");
    fork.state_mut().clear_all_visibility();
    assert_eq!(fork.state(), &SessionState::default());
}

#[test]
fn d23_what_is_opened_is_there_in_the_next_turn_within_the_same_budget() {
    let ground = Ground::with_pdf();
    let mut options = ground.options(Tier::User);
    options.budget = Some(Budget { total: Some(100), ..Budget::default() });
    let mut session = Session::with_id(options, "s1").unwrap();
    let mut turns = Vec::new();
    let answer = session
        .evaluate(&prompt().rendering(), |turn: &mut Turn<'_>| {
            let tools: Vec<String> =
                turn.prompt().tools.iter().map(|tool| tool.tool.name().to_owned()).collect();
            turns.push((turn.prompt().text.clone(), tools));
            let count = turns.len() as u64;
            turn.session()
                .record_usage(&format!("turn-{count}"), ModelUsage { input: 30, output: 1 })
                .unwrap();
            match turns.len() {
                1 => drop(turn.call("open_sections", &open(&["skills.linting"]), None)?),
                2 => assert_eq!(turn.call("lint", &json!({}), None)?.text, "no errors"),
                _ => panic!("nothing more was opened"),
            }
            Ok::<_, SessionError>(count)
        })
        .unwrap();
    assert_eq!((answer, session.usage().total()), (2, 62), "both turns are paid for");
    assert_eq!(turns[0].1, ["set", "open_sections", "read_section"]);
    assert_eq!(turns[1].1, ["set", "lint", "read_section"], "the skill's tool came with it");
    assert!(!turns[0].0.contains("Use `lint`.") && turns[1].0.contains("Use `lint`."));
    let expanded = ground.events().into_iter().filter_map(|event| match event {
        Event::SkillExpanded { name, prompt, section, tokens } => Some((name, prompt, section, tokens)),
        _ => None,
    });
    let (name, prompt, section, tokens) = { expanded }.next_back().unwrap();
    assert_eq!(
        (name.unwrap(), prompt.unwrap(), section),
        ("linting".into(), "demo/loop".into(), "skills.linting".into())
    );
    assert!(tokens > 5);
}

#[test]
fn d23_opening_without_end_is_an_error() {
    let ground = Ground::with_pdf();
    let mut top = Prompt::builder("demo", "deep");
    for key in 0..12 {
        let section = Section::new(&format!("s{key}"), "S").body("b").summary("s").skill(mount(key));
        top = top.section(section.visibility(Visibility::Summary));
    }
    let rendering = top.build().unwrap().rendering();
    for (most, is_fine) in [(10, true), (11, false)] {
        let (mut session, mut count) = (ground.session(Tier::User), 0);
        let done = session.evaluate(&rendering, |turn| {
            if count < most {
                let reply = turn.call("open_sections", &open(&[&format!("s{count}")]), None)?;
                assert!(!reply.is_error, "{}", reply.text);
            }
            count += 1;
            Ok::<_, SessionError>(())
        });
        assert_eq!(done.is_ok(), is_fine, "{most} times");
        if let Err(error) = done {
            assert!(matches!(error, SessionError::Expansions { most: 10 }), "{error}");
        }
    }
}

fn mount(number: usize) -> metier_prompt::SkillMount {
    metier_prompt::SkillMount::new(format!("/skills/skill-{number}"))
}

#[test]
fn whoever_runs_a_model_fails_with_errors_of_their_own() {
    let ground = Ground::with_pdf();
    let done: Result<(), Box<dyn std::error::Error>> =
        ground.session(Tier::User).evaluate(&prompt().rendering(), |_| Err("the model is away".into()));
    assert_eq!(done.unwrap_err().to_string(), "the model is away");
}

#[test]
fn d24_opening_is_no_error_changes_nothing_yet_and_the_first_call_counts() {
    let (ground, rendering) = (Ground::with_pdf(), prompt().rendering());
    let mut session = ground.session(Tier::User);
    let before = session.state().clone();
    let mut turn = Turn::new(&mut session, &rendering).unwrap();
    let reply = turn.call("mcp__metier__open_sections", &open(&["skills.linting"]), None).unwrap();
    assert_eq!(
        (reply.is_error, reply.text.as_str()),
        (false, "Sections expanded: skills.linting. Reason: to see more")
    );
    let second = turn.call("open_sections", &open(&["notes"]), None).unwrap();
    assert!(!second.is_error && second.text.contains("in the next turn"), "{}", second.text);
    assert_eq!(turn.expansion().unwrap().section_keys, ["skills.linting"], "the first one counts");
    for (keys, code) in [(vec![], "section-no-keys"), (vec!["nowhere"], "section-unknown")] {
        let reply = turn.call("open_sections", &open(&keys), None).unwrap();
        assert!(reply.is_error, "{}", reply.text);
        assert_eq!(invoked(&ground).last().unwrap().code.as_deref(), Some(code));
    }
    let reply = turn.call("read_section", &json!({ "section_key": "notes" }), None).unwrap();
    assert_eq!(reply.text, "Content of section 'notes':\n\n## 2. Notes (notes)\n\nAll notes.");
    assert!(turn.call("open_sections", &json!({ "section_keys": ["notes"] }), None).unwrap().is_error);
    assert_eq!(session.state(), &before, "whoever runs the model says when");
}

/// Lets a tool be called once, and counts what it is told.
struct Once(Arc<AtomicUsize>);

impl ToolPolicy for Once {
    fn check(&self, _: &str, arguments: &Value, state: &SessionState) -> Result<(), String> {
        if arguments["to"] == 13 || state.values.contains_key("called") {
            return Err("once is enough".to_owned());
        }
        Ok(())
    }

    fn on_result(&self, _: &str, _: &Value, answer: &ToolText, state: &mut SessionState) {
        assert_eq!(answer.text, "set to 7");
        state.values.insert("called".to_owned(), true.into());
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn t06_what_is_denied_never_reaches_the_handler_and_is_recorded() {
    let ground = Ground::new();
    ground.skill("reader", "allowed-tools: Read\n", "Read.\n");
    let (told, ran) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let counting = Arc::clone(&ran);
    let set = Tool::new("set", "Sets the value", move |set: Set, _: &mut ToolContext<'_>| {
        counting.fetch_add(1, Ordering::Relaxed);
        if set.to == 0 {
            Err(ToolFailure::new("zero"))
        } else {
            Ok(ToolAnswer::message(format!("set to {}", set.to)))
        }
    });
    let inner = Section::new("inner", "Inner").body("x").tool(set);
    let outer = Section::new("outer", "Outer").policy(Once(Arc::clone(&told))).child(inner);
    let rendering = Prompt::builder("demo", "policies").section(outer).build().unwrap().rendering();
    let mut session = ground.session(Tier::User);
    let call = |session: &mut Session, to: u64| {
        let mut turn = Turn::new(session, &rendering).unwrap();
        let reply = turn.call("set", &json!({ "to": to }), None).unwrap();
        (reply.is_error, reply.text, ran.load(Ordering::Relaxed), told.load(Ordering::Relaxed))
    };
    assert_eq!(call(&mut session, 13), (true, "once is enough".into(), 0, 0), "a section above said no");
    assert_eq!(call(&mut session, 0), (true, "Error: zero".into(), 1, 0), "it failed, and nobody is told");
    assert_eq!(call(&mut session, 7), (false, "set to 7".into(), 2, 1));
    assert_eq!(call(&mut session, 7), (true, "once is enough".into(), 2, 1));
    session.state_mut().values.clear();
    session.activate("reader").unwrap();
    let (is_error, text, ran, _) = call(&mut session, 7);
    assert!(is_error && ran == 2 && text.contains("reader"), "an active skill's list said no: {text}");
    let outcomes: Vec<ToolOutcome> = invoked(&ground).iter().map(|call| call.outcome).collect();
    let denied = ToolOutcome::Denied;
    assert_eq!(outcomes, [denied, ToolOutcome::Failed, ToolOutcome::Done, denied, denied]);
}

/// Panics at what it does not like.
struct Touchy;

impl ToolPolicy for Touchy {
    fn check(&self, _: &str, arguments: &Value, _: &SessionState) -> Result<(), String> {
        assert_ne!(arguments["to"], 1);
        Ok(())
    }

    fn on_result(&self, _: &str, arguments: &Value, _: &ToolText, state: &mut SessionState) {
        state.values.insert("told".to_owned(), true.into());
        assert_ne!(arguments["to"], 2);
    }
}

#[test]
fn t06_a_policy_that_panics_changes_nothing() {
    let ground = Ground::with_pdf();
    let set = setting("set", |to| Ok(ToolAnswer::message(format!("set to {to}"))));
    let section = Section::new("task", "Task").body("x").tool(set).policy(Touchy);
    let rendering = Prompt::builder("demo", "touchy").section(section).build().unwrap().rendering();
    let mut session = ground.session(Tier::User);
    for to in [1, 2] {
        let reply =
            Turn::new(&mut session, &rendering).unwrap().call("set", &json!({ "to": to }), None).unwrap();
        assert!(reply.is_error, "{}", reply.text);
        assert_eq!(session.state(), &SessionState::default());
    }
    assert!(
        !Turn::new(&mut session, &rendering)
            .unwrap()
            .call("set", &json!({ "to": 3 }), None)
            .unwrap()
            .is_error
    );
    assert_eq!(invoked(&ground).len(), 3, "each is recorded");
}

#[test]
fn t06_rules_hold_for_the_name_that_a_tool_is_called_by() {
    let ground = Ground::new();
    ground.skill("linter", "allowed-tools: mcp__metier__set\n", "Lint.\n");
    ground.skill("other", "disallowed-tools: mcp__metier__set\n", "No.\n");
    let rendering = prompt().rendering();
    let mut session = ground.session(Tier::User);
    let call = |session: &mut Session| {
        let reply =
            Turn::new(session, &rendering).unwrap().call("mcp__metier__set", &json!({ "to": 1 }), None);
        !reply.unwrap().is_error
    };
    session.activate("linter").unwrap();
    assert!(call(&mut session), "its list names it");
    session.activate("other").unwrap();
    assert!(!call(&mut session), "it is denied by that name");
}

#[test]
fn texts_that_a_model_is_given_have_an_end() {
    let ground = Ground::with_pdf();
    let failing = setting("failing", |_| Err(ToolFailure::new("x".repeat(5 << 20))));
    let section = Section::new("task", "Task").body("x").tool(failing);
    let rendering = Prompt::builder("demo", "long").section(section).build().unwrap().rendering();
    let mut session = ground.session(Tier::User);
    let reply =
        Turn::new(&mut session, &rendering).unwrap().call("failing", &json!({ "to": 1 }), None).unwrap();
    assert!(reply.is_error && reply.text.len() < (1 << 20) + 200 && reply.text.ends_with("bytes]"));
}

#[test]
fn t08_a_failure_restores_the_state_and_no_record() {
    let ground = Ground::with_pdf();
    let failing = setting("failing", |_| Err(ToolFailure::new("no luck")));
    let panicking = setting("panicking", |to| panic!("at {to}"));
    let section = Section::new("task", "Task").body("x").tool(failing).tool(panicking);
    let declared = Tool::declared::<Nothing>("elsewhere", "Somebody else's");
    let rendering =
        Prompt::builder("demo", "failing").section(section.tool(declared)).build().unwrap().rendering();
    let mut session = ground.session(Tier::User);
    session.state_mut().values.insert("value".to_owned(), 1.into());
    let before = session.state().clone();
    let mut turn = Turn::new(&mut session, &rendering).unwrap();
    for (tool, arguments, text, outcome, code) in [
        ("failing", json!({ "to": 2 }), "Error: no luck", ToolOutcome::Failed, "tool-failed"),
        (
            "panicking",
            json!({ "to": 3 }),
            "Error: the tool stopped unexpectedly: at 3",
            ToolOutcome::Failed,
            "tool-panicked",
        ),
        (
            "failing",
            json!({ "to": 2, "and": 3 }),
            "Validation error: unknown argument `and`",
            ToolOutcome::Refused,
            "tool-arguments",
        ),
        (
            "failing",
            json!({ "to": "2" }),
            "Validation error: invalid type: string \"2\", expected u64",
            ToolOutcome::Refused,
            "tool-arguments",
        ),
        (
            "nothing",
            json!({}),
            "The tool `nothing` is not available now",
            ToolOutcome::Refused,
            "tool-unknown",
        ),
        ("elsewhere", json!({}), "`elsewhere` has no handler here", ToolOutcome::Refused, "tool-no-handler"),
    ] {
        let reply = turn.call(tool, &arguments, None).unwrap();
        assert_eq!((reply.is_error, reply.text.as_str()), (true, text));
        assert_eq!(turn.session().state(), &before, "{tool}");
        let last = invoked(&ground).pop().unwrap();
        assert_eq!((last.tool.as_str(), last.outcome, last.code.as_deref()), (tool, outcome, Some(code)));
        let runs = usize::from(outcome == ToolOutcome::Failed);
        assert_eq!(last.notes.len(), runs, "what it noted until then is recorded");
    }
    assert_eq!(invoked(&ground).len(), 6, "no record is taken back");
}

#[test]
fn t09_calls_are_known_by_what_the_agent_calls_them() {
    let (ground, rendering) = (Ground::with_pdf(), prompt().rendering());
    let mut session = ground.session(Tier::User);
    session.announce_call("mcp__metier__set", &json!({ "to": 1 }), "one");
    session.announce_call("set", &json!({ "to": 2 }), "two");
    session.announce_call("set", &json!({ "to": 1 }), "three");
    let mut turn = Turn::new(&mut session, &rendering).unwrap();
    let mut id = |to: u64, given| turn.call("mcp__metier__set", &json!({ "to": to }), given).unwrap().call_id;
    assert_eq!([id(2, None), id(1, None), id(1, None)], ["two", "one", "three"]);
    assert_eq!(id(1, Some("given")), "given");
    assert_eq!(id(1, None).len(), 36, "one of its own");
    let recorded: Vec<String> = invoked(&ground).into_iter().map(|call| call.call_id).collect();
    assert_eq!(recorded[..4], ["two", "one", "three", "given"]);
    id(1, Some(&"x".repeat(100_000)));
    assert_eq!(invoked(&ground).pop().unwrap().call_id.len(), 100, "names that somebody made up are cut");
}

#[test]
fn t10_a_budget_limits_something_and_is_kept() {
    let ground = Ground::with_pdf();
    let start = |budget| {
        let mut options = ground.options(Tier::User);
        options.budget = Some(budget);
        Session::with_id(options, "s1")
    };
    let code = |budget| start(budget).unwrap_err().code();
    assert_eq!(code(Budget::default()), "budget-no-limit");
    assert_eq!(code(Budget { input: Some(0), ..Budget::default() }), "budget-no-tokens");
    let mut session = start(Budget { total: Some(10), output: Some(3), ..Budget::default() }).unwrap();
    session.record_usage("one", ModelUsage { input: 4, output: 1 }).unwrap();
    session.record_usage("one", ModelUsage { input: 5, output: 2 }).unwrap();
    session.record_usage("two", ModelUsage { input: 2, output: 1 }).unwrap();
    assert_eq!(session.usage(), ModelUsage { input: 7, output: 3 }, "exactly the limit is within it");
    let seen = Arc::new(Mutex::new(None));
    let look = {
        let seen = Arc::clone(&seen);
        Tool::new("look", "Looks around", move |_: Nothing, context: &mut ToolContext<'_>| {
            let told = (context.session.to_owned(), context.task.map(str::to_owned), context.skills.len());
            *seen.lock().unwrap() = Some((told, context.allowance));
            ToolResult::Ok(ToolAnswer::message("seen"))
        })
    };
    let section = Section::new("task", "Task").body("x").tool(look);
    let rendering: Rendering = Prompt::builder("demo", "look").section(section).build().unwrap().rendering();
    session.set_task(Some("t1".to_owned()));
    Turn::new(&mut session, &rendering).unwrap().call("look", &json!({}), None).unwrap();
    let (told, allowance) = seen.lock().unwrap().take().unwrap();
    assert_eq!(told, ("s1".to_owned(), Some("t1".to_owned()), 0));
    assert_eq!((allowance.total, allowance.output, allowance.input), (Some(0), Some(0), None));
    let breach = session.record_usage("two", ModelUsage { input: 2, output: 2 }).unwrap_err();
    assert_eq!(breach.code(), "budget-output", "before the total, which is passed as well");
    let error = Turn::new(&mut session, &rendering).unwrap().call("look", &json!({}), None).unwrap_err();
    assert_eq!(error.code(), "budget-output");
    let done = session.evaluate(&rendering, |_| Ok::<_, SessionError>(()));
    assert!(matches!(done, Err(SessionError::Budget(_))));
}

#[test]
fn t11_a_deadline_is_ahead_when_a_session_begins() {
    let ground = Ground::with_pdf();
    let mut options = ground.options(Tier::User);
    let begin = 1_800_000_000_000_000;
    let deadline = Some(Time::from_micros(begin + 900_000));
    options.budget = Some(Budget { deadline, ..Budget::default() });
    assert_eq!(Session::start(options).unwrap_err().code(), "budget-deadline-too-near");
}

#[test]
fn x03_overrides_are_files_that_are_replaced_whole() {
    let (ground, prompt) = (Ground::with_pdf(), prompt());
    let store = OverrideStore::new(ground.path("overrides"));
    assert_eq!(store.load(&prompt, OverrideStore::LATEST).unwrap(), None);
    let digests = prompt.descriptor().sections;
    let notes = SectionOverride {
        expected: digests[&path("notes")],
        body: Some("Other notes.".to_owned()),
        summary: Some("Fewer notes.".to_owned()),
        visibility: None,
    };
    store.change(&prompt, "latest", |all| drop(all.sections.insert(path("notes"), notes.clone()))).unwrap();
    let file = ground.path("overrides/demo/loop/latest.json");
    let stored = store.load(&prompt, "latest").unwrap().unwrap();
    assert_eq!(stored.sections[&path("notes")], notes);
    let mut session = ground.session(Tier::User);
    let rendered = session.render(&prompt.rendering().overrides(stored)).unwrap();
    assert!(rendered.text.contains("Fewer notes.") && !rendered.text.contains("Some notes."));

    let before = std::fs::read(&file).unwrap();
    let stale = SectionOverride { expected: digests[&path("task")], ..notes.clone() };
    for (key, change) in [("notes", &stale), ("nowhere", &notes)] {
        let error =
            store.change(&prompt, "latest", |all| drop(all.sections.insert(path(key), change.clone())));
        assert_eq!(error.unwrap_err().code(), "prompt-override", "{key}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), before, "what does not fit is not stored");
    for tag in ["../up", "a/b", "", "a.b"] {
        assert!(store.change(&prompt, tag, |_| ()).is_err(), "{tag}");
    }
    std::fs::write(&file, "{ broken").unwrap();
    let error = store.load(&prompt, "latest").unwrap_err();
    assert!(error.code() == "prompt-overrides" && error.to_string().contains("latest.json"), "{error}");
    assert!(store.change(&prompt, "latest", |_| ()).is_err(), "what cannot be read is not lost");
}

#[test]
fn x03_a_projects_links_and_pipes_lead_nowhere() {
    let (ground, prompt) = (Ground::with_pdf(), prompt());
    let store = OverrideStore::new(ground.path("overrides"));
    ground.write("precious", "keep me");
    ground.write("overrides/demo/loop/readme", "");
    std::os::unix::fs::symlink(ground.path("precious"), ground.path("overrides/demo/loop/latest.lock"))
        .unwrap();
    assert!(store.change(&prompt, "latest", |_| ()).is_err());
    assert_eq!(std::fs::read_to_string(ground.path("precious")).unwrap(), "keep me");
    let pipe = ground.path("overrides/demo/loop/other.json");
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe, rustix::fs::Mode::RWXU).unwrap();
    assert!(store.load(&prompt, "other").is_err(), "nobody waits for a writer");
}

#[test]
fn x03_what_is_stale_is_in_nobodys_way() {
    let ground = Ground::with_pdf();
    let store = OverrideStore::new(ground.path("overrides"));
    let build = |body: &str| {
        let sections = [Section::new("a", "A").body(body), Section::new("b", "B").body("b")];
        let [a, b] = sections;
        Prompt::builder("demo", "stale").section(a).section(b).build().unwrap()
    };
    let change = |prompt: &Prompt, key: &str, body: &str| {
        let change = SectionOverride::new(prompt.descriptor().sections[&path(key)]).body(body);
        store.change(prompt, "latest", |all| drop(all.sections.insert(path(key), change)))
    };
    change(&build("before"), "a", "other").unwrap();
    change(&build("after"), "b", "other").unwrap();
    let long = change(&build("after"), "b", &"x".repeat(5 << 20)).unwrap_err();
    assert_eq!(long.code(), "prompt-overrides", "what could not be read again is not stored: {long}");
    assert_eq!(store.load(&build("after"), "latest").unwrap().unwrap().sections.len(), 2);
}

#[test]
fn x03_two_who_change_at_once_lose_nothing() {
    let ground = Ground::with_pdf();
    let mut builder = Prompt::builder("demo", "many");
    for number in 0..16 {
        builder = builder.section(Section::new(&format!("s{number}"), "S").body("x"));
    }
    let prompt = builder.build().unwrap();
    let (store, digests) = (OverrideStore::new(ground.path("overrides")), prompt.descriptor().sections);
    thread::scope(|scope| {
        for number in 0..16 {
            let (store, prompt, digests) = (&store, &prompt, &digests);
            scope.spawn(move || {
                let path = path(&format!("s{number}"));
                let body = Some(format!("body {number}"));
                let one = SectionOverride { expected: digests[&path], body, summary: None, visibility: None };
                store.change(prompt, "latest", |all| drop(all.sections.insert(path, one))).unwrap();
            });
        }
    });
    assert_eq!(store.load(&prompt, "latest").unwrap().unwrap().sections.len(), 16);
}

#[test]
fn references_are_read_from_the_disk_and_say_what_is_wrong() {
    let ground = Ground::with_pdf();
    ground.write("skills/empty/readme.md", "nothing");
    ground.write("skills/other/SKILL.md", "---\nname: another\ndescription: x\n---\nBody.\n");
    std::os::unix::fs::symlink(ground.path("skills/pdf"), ground.path("skills/alias")).unwrap();
    let reader = SkillsOnDisk::new(ground.path("skills"));
    for (path, reason) in [
        ("nowhere", RefReason::NotFound),
        ("pdf/logo.bin", RefReason::NotDirectory),
        ("empty", RefReason::MissingSkillMd),
        ("other", RefReason::InvalidFrontmatter),
    ] {
        assert_eq!(reader.read(path.as_ref()).unwrap_err().reason, reason, "{path}");
    }
    for path in ["pdf", "pdf/SKILL.md", "alias"] {
        let skill = reader.read(path.as_ref()).unwrap();
        assert_eq!((skill.name.as_str(), skill.body.trim()), ("pdf", "Fill in forms."));
        assert_eq!(skill.directory, ground.path("skills/pdf").canonicalize().unwrap());
    }
    let section = |skill| SkillsSection::new().reference(skill);
    let build =
        |skill| Prompt::builder("demo", "refs").skill_reader(reader.clone()).section(section(skill)).build();
    assert!(build(SkillRef::new("pdf")).is_ok());
    let error = build(SkillRef::new("nowhere")).unwrap_err();
    assert!(matches!(error, PromptError::SkillRef { reason: RefReason::NotFound, .. }), "{error}");
    assert!(build(SkillRef::new("nowhere").enabled(|| false)).is_ok(), "what is off is not looked at");
}

#[test]
fn skills_of_a_directory_or_a_catalog_are_listed_and_warnings_recorded_once() {
    let ground = Ground::with_pdf();
    ground.skill("csv", "", "Read tables.\n");
    ground.write("skills/broken/SKILL.md", "no frontmatter");
    let catalog = scan_directory(ground.path("skills"), Tier::ThirdParty, SystemTime::UNIX_EPOCH);
    assert_eq!(catalog.problems().len(), 1, "what cannot be used is said");
    let found = discovered(&catalog);
    assert_eq!(found.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["csv", "pdf"]);
    let list = AgentSkillsSection::new(found).mount_path("skills");
    let inline = SkillsSection::new().inline(InlineSkill::new("naming", "Names things.").body("Short."));
    let prompt = Prompt::builder("demo", "found").section(list).section(inline).build().unwrap();
    let mut session = ground.session(Tier::User);
    for _ in 0..2 {
        let rendered = session.render(&prompt.rendering()).unwrap();
        assert!(rendered.text.contains("<location>skills/csv/SKILL.md</location>"), "{}", rendered.text);
        assert!(
            rendered.text.contains("[Skill: naming] Names things."),
            "nothing is installed, and so it stays"
        );
        assert_eq!(rendered.skills.len(), 2);
    }
    let warnings = ground.kinds().iter().filter(|kind| *kind == "prompt.warning").count();
    assert_eq!(warnings, 1, "once is enough");
}
