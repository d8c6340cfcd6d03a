//! Skills with and without tools side by side: the one is installed in the agent's home, the other stays in the prompt, where its
//! tools are.
//!
//! `cargo run -p metier --features openai --example mixed_skills -- claude`

#![expect(clippy::print_stdout, reason = "the answer is the result")]

mod agent;

use std::error::Error;

use metier::Metier;
use metier::harness::evaluate;
use metier::prompt::{
    InlineSkill, Prompt, Section, SkillsSection, Tool, ToolAnswer, ToolContext, ToolResult,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn tool(name: &str, description: &str, answer: &'static str) -> Tool {
    Tool::new(name, description, move |_: Nothing, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message(answer))
    })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Report {
    is_sound: bool,
    tests_passed: u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    metier::launch_if_asked();
    let skills = SkillsSection::new()
        .inline(
            InlineSkill::new("architecture", "System architecture principles.")
                .title("Architecture")
                .body("Dependencies point one way."),
        )
        .inline(
            InlineSkill::new("testing", "Testing workflows with execution tools.")
                .title("Testing")
                .body("Run the tests before and after.")
                .tool(tool("run_tests", "Runs all tests", "12 passed"))
                .tool(tool("coverage", "Says which lines no test runs", "82%")),
        );
    let prompt = Prompt::builder("review", "mixed")
        .output::<Report>()
        .section(Section::new("task", "Task").body("Is the project sound, and how many tests pass?"))
        .section(skills)
        .build()?;

    let metier = Metier::open()?;
    let agent = agent::chosen(&metier)?;
    let mut session = metier.session().start()?;
    let response = evaluate(&*agent, prompt.rendering()).run(&mut session)?;
    let Report { is_sound, tests_passed } = response.output;
    println!("sound: {is_sound}, tests passed: {tests_passed}");
    Ok(session.end()?)
}
