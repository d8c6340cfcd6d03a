//! Skills with and without tools side by side: the one is installed, the other stays in the prompt, where its tools are.

#![expect(clippy::print_stdout, reason = "what it renders is what it shows")]

use metier::prompt::{
    InlineSkill, Prompt, PromptError, SessionView, SkillsSection, Tool, ToolAnswer, ToolContext, ToolResult,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn tool(name: &str, description: &str, answer: &'static str) -> Tool {
    Tool::new(name, description, move |_: Nothing, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message(answer))
    })
}

fn main() -> Result<(), PromptError> {
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
    let prompt = Prompt::builder("review", "mixed").section(skills).build()?;
    let session = SessionView::default();

    let rendered = prompt.rendering().install_skills(true).render(&session)?;
    let installed: Vec<&str> = rendered.skills.iter().map(|skill| &*skill.name).collect();
    println!("{}\n\ninstalled: {}\n", rendered.text, installed.join(", "));

    // An agent without a home of its own: everything stays in the prompt, and somebody is told.
    let rendered = prompt.render(&session)?;
    println!("{}\n", rendered.text);
    for warning in &rendered.warnings {
        println!("warning: {}", warning.message);
    }
    Ok(())
}
