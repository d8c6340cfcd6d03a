//! Skills without tools: written in the prompt, installed in the agent's home as `SKILL.md`, and left out of the text. The agent
//! finds them as it finds its own.

#![expect(clippy::print_stdout, reason = "what it renders is what it shows")]

use metier::prompt::{InlineSkill, MountSource, Prompt, PromptError, Section, SessionView, SkillsSection};

fn main() -> Result<(), PromptError> {
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
        .section(Section::new("task", "Task").body("Review the Python code in the workspace."))
        .section(SkillsSection::new().inline(code_review).inline(refactoring))
        .build()?;

    let rendered = prompt.rendering().install_skills(true).render(&SessionView::default())?;
    println!("{}", rendered.text);
    for skill in &rendered.skills {
        if let MountSource::SkillMd(text) = skill.mount.source() {
            println!("\n==> .claude/skills/{}/SKILL.md\n{text}", skill.name);
        }
    }
    Ok(())
}
