//! All in one section: a skill with tools, one that is somewhere else, and one that is written here.
//!
//! `cargo run -p metier --example inline_and_referenced_skills -- DIRECTORY`

#![expect(clippy::print_stdout, reason = "what it renders is what it shows")]

use std::error::Error;

use metier::prompt::{
    InlineSkill, Prompt, SessionView, SkillRef, SkillsSection, Tool, ToolAnswer, ToolContext, ToolResult,
};
use metier::session::SkillsOnDisk;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("wants a directory of skills")?;
    let run_tests = Tool::new("run_tests", "Runs all tests", |_: Nothing, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message("12 passed"))
    });
    let section = SkillsSection::new()
        .inline(
            InlineSkill::new("testing", "Testing workflows with execution tools.")
                .title("Testing")
                .body("Run the tests before and after.")
                .tool(run_tests),
        )
        .reference(SkillRef::new("release-notes"))
        .inline(
            InlineSkill::new("naming", "Naming conventions guide.")
                .title("Naming")
                .body("A name says what a thing is."),
        );
    let prompt = Prompt::builder("review", "all")
        .skill_reader(SkillsOnDisk::new(directory))
        .section(section)
        .build()?;

    let rendered = prompt.rendering().install_skills(true).render(&SessionView::default())?;
    println!("{}\n", rendered.text);
    for skill in &rendered.skills {
        println!("{}: {:?}", skill.name, skill.kind);
    }
    Ok(())
}
