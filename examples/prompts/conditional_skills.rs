//! Skills that are there or not, by what is reviewed and by who asks.

#![expect(clippy::print_stdout, reason = "what it renders is what it shows")]

use metier::prompt::{
    EnabledSkills, InlineSkill, Prompt, PromptError, RenderedPrompt, SessionView, SkillsSection,
};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
struct Review {
    language: String,
}

fn review(language: &'static str) -> InlineSkill<Review> {
    let description = format!("Review guidance for {language}.");
    InlineSkill::new(&format!("{language}-review"), &description)
        .params::<Review>()
        .body("Review the $language code.")
        .enabled(move |review, _| review.language == language)
}

fn names(rendered: &RenderedPrompt) -> String {
    let names: Vec<&str> = rendered.skills.iter().map(|skill| &*skill.name).collect();
    names.join(", ")
}

fn main() -> Result<(), PromptError> {
    let security = InlineSkill::new("security", "Security review.").body("Look for secrets.");
    let urgent = InlineSkill::new("urgent", "What to leave for later.")
        .body("Only what is broken.")
        .enabled(|_, session| session.task.as_deref().is_some_and(|task| task.contains("urgent")));
    let skills = SkillsSection::new()
        .inline(review("python"))
        .inline(review("typescript"))
        .inline(security)
        .inline(urgent);
    let prompt = Prompt::builder("review", "conditional").section(skills).build()?;

    let rendering = prompt.with(Review { language: "python".into() }).install_skills(true);
    let mut session = SessionView::default();
    println!("python: {}", names(&rendering.render(&session)?));

    let other = rendering.clone().bind(Review { language: "typescript".into() });
    println!("typescript: {}", names(&other.render(&session)?));

    session.task = Some("an urgent fix".into());
    println!("python, urgent: {}", names(&rendering.render(&session)?));

    let only = rendering.bind(EnabledSkills::only(["security"]));
    println!("only security: {}", names(&only.render(&session)?));
    Ok(())
}
