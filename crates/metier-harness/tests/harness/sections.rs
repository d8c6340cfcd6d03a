//! Sections that a model opens: the agent starts again with the new prompt, within the same limits.

use std::time::Duration;

use metier_harness::{AgentEvent, evaluate};
use metier_prompt::{
    InlineSkill, Prompt, Rendering, Section, SkillsSection, Tool, ToolAnswer, ToolContext, ToolResult,
};
use metier_session::{Budget, Session};
use metier_skill::Coded as _;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::ground::{Ground, story};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A prompt with a skill that has a tool, and so stays in the prompt as a summary.
pub(crate) fn linting() -> Rendering {
    let lint = Tool::new("lint", "Lints", |_: Nothing, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message("5 issues"))
    });
    let skill = InlineSkill::new("linting", "Lints code.").body("The codeword is Quokka.").tool(lint);
    let prompt = Prompt::builder("tests", "linting")
        .section(Section::new("task", "Task").body("Lint."))
        .section(SkillsSection::new().inline(skill));
    prompt.build().unwrap().rendering()
}

/// Opens the section if its text is not there.
const OPENS: &str = r#"
case $prompt in
*Quokka*) used 7 1 0; tool 2 lint '{}'; case $answer in *'5 issues'*) end found;; *) end missing;; esac;;
*) used 10 5 0; tool 1 open_sections '{"section_keys":["skills.linting"],"reason":"to lint"}'; sleep 1000;;
esac
"#;

#[test]
fn an_opened_section_starts_the_agent_again_with_its_tools() {
    let ground = Ground::new();
    let mut events: Vec<AgentEvent> = Vec::new();
    let agent = ground.answering(OPENS);
    let mut session = ground.session();
    let builder = evaluate(&agent, linting()).on_event(|event| events.push(event.clone()));
    let answer = builder.run(&mut session).unwrap();
    assert_eq!((answer.text.as_str(), answer.expansions), ("found", 1));
    // Both conversations together.
    assert_eq!((answer.usage.input, answer.usage.output, answer.turns), (17, 6, 2));
    assert_eq!(session.usage().input, 17);
    assert_eq!(story(&events), ["started", "usage", "sections_opened", "started", "usage"]);
    session.end().unwrap();
    assert_eq!(ground.recorded("skill.expanded")[0]["name"], "linting");
    assert_eq!(ground.recorded("evaluation.started").len(), 1);
    assert!(ground.left().is_empty());
}

#[test]
fn the_budget_is_the_same_for_all_starts() {
    let ground = Ground::new();
    let mut options = ground.options();
    options.budget = Some(Budget { total: Some(20), ..Budget::default() });
    let mut session = Session::with_id(options, "s1").unwrap();
    let error = evaluate(&ground.answering(OPENS), linting()).run(&mut session).unwrap_err();
    assert_eq!(error.code(), "harness-budget", "{error}");
    assert_eq!(error.spent().unwrap().usage.input, 17);
}

#[test]
fn a_model_that_opens_sections_for_ever_is_stopped() {
    let ground = Ground::new();
    let sections = (0..12).fold(Prompt::builder("tests", "many"), |prompt, number| {
        let key = format!("part-{number}");
        let section = Section::new(&key, "Part").body("Text.").summary("Short.");
        let lint = Tool::new(format!("lint-{number}"), "Lints", |_: Nothing, _: &mut ToolContext<'_>| {
            ToolResult::Ok(ToolAnswer::message(""))
        });
        prompt.section(section.tool(lint).visibility(metier_prompt::Visibility::Summary))
    });
    // The first section that is still closed.
    let agent = ground.answering(
        "key=$(printf '%s' \"$prompt\" | grep -o 'key ..part-[0-9]*' | head -1 | grep -o 'part-.*')\n\
         tool 1 open_sections \"{\\\"section_keys\\\":[\\\"$key\\\"],\\\"reason\\\":\\\"more\\\"}\"; sleep 1000",
    );
    let rendering = sections.build().unwrap().rendering();
    let error =
        evaluate(&agent, rendering).deadline(Duration::from_mins(2)).run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "session-expansions", "{error}");
    assert_eq!(ground.recorded("evaluation.ended")[0]["code"], "session-expansions");
    assert!(ground.left().is_empty());
}
