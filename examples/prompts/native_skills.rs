//! Skills that are written in a program. They have no tools, so they are installed in the agent's home as `SKILL.md`, and the agent
//! loads them when it needs them.
//!
//! `cargo run -p metier --features openai --example native_skills -- claude`

#![expect(clippy::print_stdout, reason = "the answer is the result")]

mod agent;

use std::error::Error;

use metier::Metier;
use metier::harness::evaluate;
use metier::prompt::{InlineSkill, Prompt, Section, SkillsSection};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Review {
    summary: String,
    findings: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    metier::launch_if_asked();
    let code_review =
        InlineSkill::new("code-review", "Code review workflows and checklists for Python projects.")
            .title("Code Review")
            .body(
                "
            # Code Review Workflow

            1. **Security**: no secrets in the code, no SQL put together from text
            2. **Tests**: at least 80% of the lines
            3. **Style**: run ruff, look at the docstrings
            ",
            );
    let refactoring = InlineSkill::new("refactoring", "Safe refactoring patterns and techniques.")
        .title("Refactoring")
        .body("# Refactoring Patterns\n\nOne step at a time, with the tests green after each.");
    let prompt = Prompt::builder("review", "python-review")
        .output::<Review>()
        .section(Section::new("task", "Task").body("Review this: `def f(x): return eval(x)`"))
        .section(SkillsSection::new().inline(code_review).inline(refactoring))
        .build()?;

    let metier = Metier::open()?;
    let agent = agent::chosen(&metier)?;
    let mut session = metier.session().start()?;
    let response = evaluate(&*agent, prompt.rendering()).run(&mut session)?;
    println!("{}", response.output.summary);
    for finding in &response.output.findings {
        println!("- {finding}");
    }
    for skill in &response.skills {
        println!("used: {}", skill.name);
    }
    Ok(session.end()?)
}
