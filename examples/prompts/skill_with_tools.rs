//! A skill with a tool: it stays in the prompt, as a summary. When the model opens it, the instructions and the tool are there.

#![expect(clippy::print_stdout, reason = "the conversation is what it shows")]

use metier::prompt::{
    InlineSkill, OpenSections, Prompt, Section, SessionState, SessionView, SkillsSection, Tool, ToolAnswer,
    ToolContext, ToolFailure, ToolResult, ToolValue,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let linting = InlineSkill::new("linting", "Code linting workflows with automated fixes.")
        .title("Linting")
        .body("Use `lint_code`: changed files first, then look at what could not be fixed.")
        .tool(Tool::new("lint_code", "Runs the linter on these paths", lint));
    let prompt = Prompt::builder("review", "linting")
        .section(Section::new("task", "Task").body("Make the code clean."))
        .section(SkillsSection::new().inline(linting))
        .build()?;

    let mut session = SessionView::default();
    let rendering = prompt.rendering().install_skills(true);
    println!("{}\n", rendering.render(&session)?.text);

    let call =
        OpenSections { section_keys: vec!["skills.linting".into()], reason: "there is code to check".into() };
    let expansion = rendering.open_sections(&session, &call)?;
    println!("model: open_sections {:?}\n{expansion}\n", call.section_keys);
    for (path, visibility) in &expansion.overrides {
        session.state.set_visibility(path.clone(), *visibility);
    }

    let rendered = rendering.render(&session)?;
    println!("{}\n", rendered.text);
    let mut state = SessionState::default();
    let mut context = ToolContext::new("s1", "call-1", &session.skills, &mut state);
    let tool = &rendered.tool("lint_code").ok_or("the tool came with the skill")?.tool;
    println!("model: lint_code\n{}", tool.call(&json!({ "paths": ["src"] }), &mut context)?.text);
    Ok(())
}
