//! A skill with a tool. It stays in the prompt, as a summary. When the model opens it, its instructions and its tool are there; the
//! agent calls the tool over MCP, and it runs in this program.
//!
//! `cargo run -p metier --features openai --example skill_with_tools -- claude`

#![expect(clippy::print_stdout, reason = "the answer is the result")]

mod agent;

use std::error::Error;

use metier::Metier;
use metier::harness::evaluate;
use metier::prompt::{
    InlineSkill, Prompt, Section, SkillsSection, Tool, ToolAnswer, ToolContext, ToolFailure, ToolResult,
    ToolValue,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Lint {
    /// Files and directories to check.
    paths: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Issues {
    found: usize,
    fixed: usize,
}

impl ToolValue for Issues {
    fn render(&self) -> String {
        format!("Found {} issues, fixed {}", self.found, self.fixed)
    }
}

fn lint(lint: Lint, context: &mut ToolContext<'_>) -> ToolResult<Issues> {
    if lint.paths.is_empty() {
        return Err(ToolFailure::new("name at least one path"));
    }
    // What was checked is in the journal, in the record of this call.
    context.notes.extend(lint.paths);
    Ok(ToolAnswer::new("Linting complete", Issues { found: 5, fixed: 3 }))
}

#[derive(Deserialize, JsonSchema)]
struct Cleaned {
    /// Issues that a person has to look at.
    unfixed: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    metier::launch_if_asked();
    let linting = InlineSkill::new("linting", "Code linting workflows with automated fixes.")
        .title("Linting")
        .body("Use `lint_code`: changed files first, then look at what could not be fixed.")
        .tool(Tool::new("lint_code", "Runs the linter on these paths", lint));
    let prompt = Prompt::builder("review", "linting")
        .output::<Cleaned>()
        .section(Section::new("task", "Task").body("Make the code in `src` clean."))
        .section(SkillsSection::new().inline(linting))
        .build()?;

    let metier = Metier::open()?;
    let agent = agent::chosen(&metier)?;
    let mut session = metier.session().start()?;
    let response = evaluate(&*agent, prompt.rendering()).run(&mut session)?;
    println!("to look at: {}", response.output.unfixed);
    println!("sections opened: {}", response.expansions);
    Ok(session.end()?)
}
