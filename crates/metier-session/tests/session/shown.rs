//! What a model is shown before it loads anything, and what it is told that a skill lacks.

use std::time::SystemTime;

use metier_catalog::{Machine, Os};
use metier_journal::Event;
use metier_prompt::{AgentSkillsSection, Prompt, Section};
use metier_session::{Session, discovered, scan_directory};
use metier_skill::{Coded as _, Tier};
use semver::Version;
use serde_json::json;

use crate::common::{Ground, Says};

/// The names of the skills that were recorded as shown, with their tokens.
fn shown(ground: &Ground) -> Vec<(String, u64)> {
    let events = ground.events().into_iter();
    let found = events.filter_map(|event| match event {
        Event::SkillDiscovered { name, tokens, .. } => Some((name, tokens)),
        _ => None,
    });
    found.collect()
}

#[test]
fn skills_that_the_list_tool_shows_are_recorded_once() {
    let ground = Ground::with_pdf();
    ground.skill("csv", "", "Sum columns.\n");
    let mut session = ground.session(Tier::Org);
    let answer = session.dispatch("list_skills", json!({ "query": "csv" })).unwrap();
    assert_eq!(shown(&ground), [("csv".to_owned(), answer.text.len().div_ceil(4) as u64)]);
    for _ in 0..2 {
        session.dispatch("list_skills", json!({})).unwrap();
        let names: Vec<String> = shown(&ground).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["csv", "pdf"]);
    }
    assert!(session.stats()["csv"].catalogue_tokens > 0);
    // What has changed is another thing to be shown.
    ground.skill("csv", "", "Sum rows.\n");
    session.set_catalog(ground.catalog(Tier::Org)).unwrap();
    session.dispatch("list_skills", json!({})).unwrap();
    assert_eq!(shown(&ground).len(), 3);
}

#[test]
fn skills_that_are_off_are_not_shown() {
    let ground = Ground::with_pdf();
    ground.skill("hidden", "disable-model-invocation: true\n", "Text.\n");
    let mut session = ground.session(Tier::Org);
    session.dispatch("list_skills", json!({ "include_disabled": true })).unwrap();
    assert_eq!(shown(&ground).len(), 1, "{:?}", shown(&ground));
}

#[test]
fn skills_in_the_list_of_a_prompt_are_recorded_with_their_tier() {
    let ground = Ground::with_pdf();
    ground.write("other/far/SKILL.md", "---\nname: far\ndescription: Use when far.\n---\nText.\n");
    let list = |directory: &str, key: &str| {
        let catalog = scan_directory(ground.path(directory), Tier::User, SystemTime::UNIX_EPOCH);
        AgentSkillsSection::new(discovered(&catalog)).key(key)
    };
    let prompt = Prompt::builder("tests", "lists")
        .section(Section::new("task", "Task").body("Do it."))
        .section(list("skills", "near"))
        .section(list("other", "away"))
        .build()
        .unwrap();
    let mut session = ground.session(Tier::Org);
    for _ in 0..2 {
        session.render(&prompt.rendering()).unwrap();
    }
    let ids = ground.events().into_iter().filter_map(|event| match event {
        Event::SkillDiscovered { skill_id, tier, tokens, .. } if tokens > 0 => Some((skill_id, tier)),
        _ => None,
    });
    // One is of the session's catalog; the other is known to the prompt alone.
    let expected = [("org/pdf".to_owned(), Tier::Org), ("prompt/far".to_owned(), Tier::User)];
    assert_eq!(ids.collect::<Vec<_>>(), expected);
}

#[test]
fn the_list_tool_has_what_programs_want_to_know() {
    let ground = Ground::new();
    let more = "license: MIT\ncompatibility: Needs git\nmetadata:\n  author: acme\nallowed-tools: Read Bash(git *)\n";
    ground.skill("full", more, "Text.\n");
    ground.skill("plain", "", "Text.\n");
    let mut session = ground.session(Tier::Org);
    let facts = session.dispatch("list_skills", json!({})).unwrap().facts;
    let full = &facts["skills"][0];
    assert_eq!((&full["license"], &full["compatibility"]), (&json!("MIT"), &json!("Needs git")));
    assert_eq!(full["metadata"], json!({ "author": "acme" }));
    assert_eq!(full["allowed_tools"], json!(["Read", "Bash(git *)"]));
    let modified = std::fs::metadata(ground.path("skills/full/SKILL.md")).unwrap().modified().unwrap();
    let micros = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
    let time = metier_journal::Time::from_micros(i64::try_from(micros).unwrap());
    assert_eq!(full["last_modified"], time.to_string());
    let plain = facts["skills"][1].as_object().unwrap();
    assert!(!plain.contains_key("license") && plain.contains_key("last_modified"), "{plain:?}");
}

/// A machine without any program.
struct Bare;

impl Machine for Bare {
    fn os(&self) -> Os {
        Os::Linux
    }

    fn has_program(&self, _: &str) -> bool {
        false
    }

    fn version_of(&self, _: &str) -> Option<Version> {
        None
    }
}

#[test]
fn what_a_skill_lacks_is_said_or_refused() {
    let ground = Ground::new();
    ground.skill("dep", "metadata:\n  version: \"1.0\"\n", "Text.\n");
    ground.skill("app", "compatibility: Requires jq\nmetadata:\n  requires: dep@^2, gone\n", "Text.\n");
    let mut options = ground.options(Tier::Org);
    options.machine = Some(std::sync::Arc::new(Bare));
    let mut session = Session::start(options.clone()).unwrap();
    let notes = session.activate("app").unwrap().notes.join("\n");
    for word in ["jq", "dep", "gone"] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
    let text = session.dispatch("load_skill", json!({ "skill_name": "app", "force": true })).unwrap().text;
    assert!(text.contains("gone") && text.contains("jq"), "{text}");
    options.require_compatible = true;
    let mut session = Session::start(options).unwrap();
    let error = session.activate("app").unwrap_err();
    assert_eq!(error.code(), "skill-incompatible");
    assert!(error.to_string().contains("gone") && error.to_string().contains("jq"), "{error}");
    session.activate("dep").unwrap();
    let failed = ground.events().into_iter().any(
        |event| matches!(event, Event::SkillActivationFailed { code, .. } if code == "skill-incompatible"),
    );
    assert!(failed);
}

#[test]
fn a_model_can_say_that_a_call_cannot_be_undone() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::Org);
    let says = Says::no();
    session.set_approver(Box::new(says.clone()));
    let call = |destructive: bool| json!({ "skill_name": "pdf", "script_name": "scripts/hello.sh", "destructive": destructive });
    session.dispatch("run_skill_script", call(false)).unwrap();
    assert_eq!(says.asked(), Vec::<String>::new());
    let error = session.dispatch("run_skill_script", call(true)).unwrap_err();
    assert_eq!(error.code(), "permission-denied");
    assert!(says.asked()[0].contains("destructive"), "{:?}", says.asked());
}
