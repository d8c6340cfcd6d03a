//! Skills for models without files: loaded through tools of the session, or part of the instructions from the start.

use std::fs;

use metier_fake_model::{Server, Step};
use metier_harness::{AgentEvent, HarnessError, InjectedSkills, OpenAi, OpenAiApi, evaluate};
use metier_policy::{Policy, PolicySettings};
use metier_prompt::{
    InlineSkill, Prompt, Rendering, Section, SkillMount, SkillsSection, Tool, ToolAnswer, ToolContext,
    ToolResult,
};
use metier_session::Session;
use metier_skill::{Coded as _, Folder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::canned::{Canned, answers, calls, harness, settings};
use crate::ground::{Ground, story};

const BODY: &str = "The codeword is Quokka. Details are in references/more.md.";

/// A prompt with the skill `notes`.
fn with_notes(ground: &Ground) -> Rendering {
    let directory = ground.skill("notes", "", BODY);
    ground.write("skills/notes/references/more.md", "The second word is Wombat.\n");
    ground.write("skills/notes/scripts/run.sh", "#!/bin/sh\necho ran\n");
    let section = Section::new("task", "Task").body("Write notes.").skills([SkillMount::new(directory)]);
    Prompt::builder("tests", "notes").section(section).build().unwrap().rendering()
}

fn load() -> Step {
    Step::call("load_skill", json!({ "skill_name": "notes" }))
}

/// A policy with one rule.
fn rule(action: &str, decision: &str) -> Policy {
    let settings: PolicySettings =
        serde_json::from_value(json!({ "rules": [{ action: decision }] })).unwrap();
    Policy::new(None, &[("tests", &settings)]).unwrap()
}

#[test]
fn the_model_loads_a_skill_and_reads_its_files() {
    for api in OpenAiApi::ALL {
        let ground = Ground::new();
        let read = json!({ "skill_name": "notes", "resource_name": "references/more.md" });
        let steps = vec![load(), Step::call("read_skill_resource", read), Step::text("Done.")];
        let server = Server::start(steps).unwrap();
        let mut session = ground.session();
        let mut events: Vec<AgentEvent> = Vec::new();
        let agent = harness(&ground, server.url(), api);
        let asked = evaluate(&agent, with_notes(&ground)).on_event(|event| events.push(event.clone()));
        let answer = asked.run(&mut session).unwrap();
        assert_eq!((answer.text.as_str(), answer.turns, answer.tool_calls), ("Done.", 3, 2));
        let requests = server.requests();
        assert!(requests[0].contains("Use when testing."), "the description is there from the start");
        assert!(!requests[0].contains("Quokka"), "the instructions are not");
        assert!(requests[1].contains("Quokka") && !requests[1].contains("Wombat"));
        assert!(requests[2].contains("Wombat"));
        let digest = Folder::open(&ground.path("skills/notes"))
            .unwrap()
            .manifest(&metier_skill::Limits::default())
            .unwrap()
            .digest();
        assert_eq!(answer.skills.len(), 1);
        assert_eq!((answer.skills[0].name.as_str(), answer.skills[0].digest), ("notes", Some(digest)));
        assert!(story(&events).contains(&"skill_activated".to_owned()));
        // It does not apply to what comes later, and the copies are gone.
        assert_eq!(session.active().count(), 0);
        assert!(ground.left().is_empty(), "{:?}", ground.left());
        session.end().unwrap();
        let activated = &ground.recorded("skill.activated")[0];
        assert_eq!((&activated["name"], &activated["trigger"]), (&json!("notes"), &json!("model")));
        assert_eq!(activated["tree_digest"], json!(digest));
        assert_eq!(ground.recorded("skills.installed")[0]["attached"], json!(["notes"]));
        assert_eq!(ground.recorded("skill.resource_read").len(), 1);
        assert!(ground.replay().divergence.is_none());
    }
}

#[test]
fn without_the_skill_there_are_no_tools() {
    let ground = Ground::new();
    ground.skill("notes", "", BODY);
    let server = Canned::new([answers(OpenAiApi::Chat, "Done.")]);
    let agent = harness(&ground, server.url(), OpenAiApi::Chat);
    evaluate(&agent, crate::ground::prompt("Write notes.")).run(&mut ground.session()).unwrap();
    let request = server.requests()[0].to_string();
    assert!(!request.contains("load_skill") && !request.contains("testing"), "{request}");
}

/// A second conversation does not have what the first one loaded.
#[test]
fn each_conversation_loads_for_itself() {
    let ground = Ground::new();
    let rendering = with_notes(&ground);
    let mut session = ground.session();
    // Also if the program has it.
    session.activate("notes").unwrap();
    for _ in 0..2 {
        let server = Server::start(vec![load(), load(), Step::text("Done.")]).unwrap();
        let agent = harness(&ground, server.url(), OpenAiApi::Responses);
        let answer = evaluate(&agent, rendering.clone()).run(&mut session).unwrap();
        assert_eq!(answer.skills.len(), 1, "it was loaded once");
        let requests = server.requests();
        assert!(requests[1].contains("Quokka"));
        assert!(requests[2].contains("already active"));
    }
    let active: Vec<_> = session.active().map(|skill| skill.directory.clone()).collect();
    assert_eq!(active, [ground.path("skills/notes")], "the program still has it");
    assert!(session.read("notes", "references/more.md").is_ok());
}

#[test]
fn the_policy_decides_about_loading_and_scripts() {
    for api in OpenAiApi::ALL {
        let ground = Ground::new();
        let server = Server::start(vec![load(), Step::text("I may not.")]).unwrap();
        let mut options = ground.options();
        options.policy = rule("activate", "deny");
        let mut session = Session::with_id(options, "s1").unwrap();
        let agent = harness(&ground, server.url(), api);
        let answer = evaluate(&agent, with_notes(&ground)).run(&mut session).unwrap();
        assert!(answer.skills.is_empty());
        assert!(!server.requests()[1].contains("Quokka"));
        assert_eq!(ground.recorded("skill.activation_failed")[0]["code"], "permission-denied");

        let run = json!({ "skill_name": "notes", "script_name": "scripts/run.sh" });
        let server =
            Server::start(vec![Step::call("run_skill_script", run), Step::text("I may not.")]).unwrap();
        let mut options = ground.options();
        options.policy = rule("scripts", "deny");
        let mut session = Session::with_id(options, "s2").unwrap();
        let agent = harness(&ground, server.url(), api);
        evaluate(&agent, with_notes(&ground)).run(&mut session).unwrap();
        let said = server.requests()[1].body.clone();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("Do not try to do the same in another way"), "{said}");
    }
}

/// A copy is not trusted more than its original.
#[test]
fn a_third_party_skill_stays_one() {
    let ground = Ground::new();
    let mut options = ground.options();
    let root = metier_catalog::Root::new(
        ground.path("skills"),
        metier_skill::Tier::ThirdParty,
        metier_catalog::Scope::Project,
    );
    let rendering = with_notes(&ground);
    let scanner = metier_catalog::CatalogOptions::new(vec![root]);
    options.catalog = metier_catalog::Scanner::new(scanner).scan(std::time::SystemTime::UNIX_EPOCH);
    options.policy = Policy::default();
    let mut session = Session::with_id(options, "s1").unwrap();
    let server = Server::start(vec![load(), Step::text("Done.")]).unwrap();
    let agent = harness(&ground, server.url(), OpenAiApi::Chat);
    evaluate(&agent, rendering).run(&mut session).unwrap();
    let records = ground.recorded("skill.activated");
    let failed = ground.recorded("skill.activation_failed");
    let tier = records.first().map(|record| record["tier"].clone());
    assert!(tier == Some(json!("third_party")) || failed.len() == 1, "{records:?}");
    assert!(records.iter().all(|record| record["tier"] == "third_party"), "{records:?}");
}

#[test]
fn injected_skills_are_in_the_first_request_and_recorded() {
    for api in OpenAiApi::ALL {
        for injected in [InjectedSkills::All, InjectedSkills::These(vec!["notes".to_owned()])] {
            let ground = Ground::new();
            let server = Canned::new([answers(api, "Quokka.")]);
            let mut settings = settings(&ground, server.url(), api);
            settings.skills.injected = injected;
            let mut session = ground.session();
            let answer = evaluate(&OpenAi::new(settings), with_notes(&ground)).run(&mut session).unwrap();
            assert_eq!(answer.skills[0].name, "notes");
            let request = &server.requests()[0];
            let told = match api {
                OpenAiApi::Chat => &request["messages"][0]["content"],
                _ => &request["instructions"],
            };
            let told = told.as_str().unwrap();
            assert!(told.contains("Quokka") && told.contains("<skill_content name=\"notes\""), "{told}");
            assert!(!told.contains("Use when testing."), "it is not listed as well: {told}");
            session.end().unwrap();
            let activated = &ground.recorded("skill.activated");
            assert_eq!((activated.len(), &activated[0]["trigger"]), (1, &json!("user")));
            assert_eq!(activated[0]["tree_digest"], json!(answer.skills[0].digest));
            assert!(ground.replay().divergence.is_none());
        }
    }
}

#[test]
fn a_skill_that_cannot_be_injected_is_an_error() {
    let ground = Ground::new();
    let server = Canned::new([]);
    let mut settings = settings(&ground, server.url(), OpenAiApi::Chat);
    settings.skills.injected = InjectedSkills::These(vec!["noets".to_owned()]);
    let agent = OpenAi::new(settings);
    let error = evaluate(&agent, with_notes(&ground)).run(&mut ground.session()).unwrap_err();
    assert_eq!(error.to_string(), "unknown skill `noets`; did you mean `notes`?");
    fs::remove_dir_all(ground.path("skills/notes")).unwrap();
    let section =
        Section::new("task", "Task").body("Go.").skills([SkillMount::new(ground.path("skills/notes"))]);
    let rendering = Prompt::builder("tests", "missing").section(section).build().unwrap().rendering();
    let error = evaluate(&agent, rendering).run(&mut ground.session()).unwrap_err();
    assert!(matches!(error, HarnessError::Home(_)), "{error}");
    assert!(server.requests().is_empty() && ground.left().is_empty());
}

/// Skills that are written in a prompt are offered like others.
#[test]
fn an_inline_skill_is_loaded_by_name() {
    let ground = Ground::new();
    let skill = InlineSkill::new("linting", "Lints code.").body("The codeword is Quokka.");
    let prompt =
        Prompt::builder("tests", "inline").section(SkillsSection::new().inline(skill)).build().unwrap();
    let load = json!({ "skill_name": "linting" });
    let api = OpenAiApi::Responses;
    let server = Canned::new([calls(api, "load_skill", load), answers(api, "Done.")]);
    let mut session = ground.session();
    let agent = harness(&ground, server.url(), api);
    let answer = evaluate(&agent, prompt.rendering()).run(&mut session).unwrap();
    assert_eq!(answer.skills[0].name, "linting");
    let requests: Vec<String> = server.requests().iter().map(Value::to_string).collect();
    assert!(requests[0].contains("Lints code.") && !requests[0].contains("Quokka"), "{}", requests[0]);
    assert!(requests[1].contains("Quokka"));
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[test]
fn a_tool_of_the_prompt_cannot_hide_a_skill_tool() {
    let ground = Ground::new();
    let directory = ground.skill("notes", "", BODY);
    let tool = Tool::new("load_skill", "Mine", |_: Nothing, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message("mine"))
    });
    let section = Section::new("task", "Task").body("Go.").tool(tool).skills([SkillMount::new(directory)]);
    let rendering = Prompt::builder("tests", "same").section(section).build().unwrap().rendering();
    let server = Canned::new([]);
    let agent = harness(&ground, server.url(), OpenAiApi::Chat);
    let error = evaluate(&agent, rendering).run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "harness-unsupported");
}
