//! All in one section: a skill with a tool, one that is in a directory, and one that is written here.
//!
//! `cargo run -p metier --features openai --example inline_and_referenced_skills -- claude`, at the top of the repository

#![expect(clippy::print_stdout, reason = "the answer is the result")]
#![expect(clippy::disallowed_methods, reason = "a program of its own may read its environment")]

mod agent;

use std::error::Error;

use metier::Metier;
use metier::harness::evaluate;
use metier::prompt::{
    InlineSkill, Prompt, Section, SkillRef, SkillsSection, Tool, ToolAnswer, ToolContext, ToolResult,
};
use metier::session::SkillsOnDisk;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Release {
    notes: String,
    is_ready: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    metier::launch_if_asked();
    let run_tests = Tool::new("run_tests", "Runs all tests", |_: Nothing, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message("12 passed"))
    });
    let section = SkillsSection::new()
        // Stays in the prompt: it has a tool.
        .inline(
            InlineSkill::new("testing", "Testing workflows with execution tools.")
                .title("Testing")
                .body("Run the tests before and after.")
                .tool(run_tests),
        )
        // Is copied.
        .reference(SkillRef::new("examples/skills/release-notes"))
        // Is written as `SKILL.md`.
        .inline(
            InlineSkill::new("naming", "Naming conventions guide.")
                .title("Naming")
                .body("A name says what a thing is."),
        );
    let prompt = Prompt::builder("release", "all-kinds")
        .output::<Release>()
        .skill_reader(SkillsOnDisk::new(std::env::current_dir()?))
        .section(Section::new("task", "Task").body("Write the notes of version 1.4. Is it ready?"))
        .section(section)
        .build()?;

    let metier = Metier::open()?;
    let agent = agent::chosen(&metier)?;
    let mut session = metier.session().start()?;
    let response = evaluate(&*agent, prompt.rendering()).run(&mut session)?;
    println!("{}\nready: {}", response.output.notes, response.output.is_ready);
    for skill in &response.skills {
        println!("used: {}", skill.name);
    }
    Ok(session.end()?)
}
