//! Skills that are there or not, by what is reviewed, by an environment variable, and by name.
//!
//! `cargo run -p metier --features openai --example conditional_skills -- claude`, at the top of the repository

#![expect(clippy::print_stdout, reason = "the answer is the result")]
#![expect(clippy::disallowed_methods, reason = "a program of its own may read its environment")]

mod agent;

use std::error::Error;

use metier::Metier;
use metier::harness::evaluate;
use metier::prompt::{EnabledSkills, InlineSkill, Prompt, Section, SkillRef, SkillsSection};
use metier::session::SkillsOnDisk;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, JsonSchema)]
struct Code {
    language: String,
}

fn review(language: &'static str) -> InlineSkill<Code> {
    let description = format!("Review guidance for {language}.");
    InlineSkill::new(&format!("{language}-review"), &description)
        .params::<Code>()
        .body("Review the $language code.")
        .enabled(move |code, _| code.language == language)
}

#[derive(Deserialize, JsonSchema)]
struct Verdict {
    verdict: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    metier::launch_if_asked();
    let is_audited = || std::env::var("SECURITY_REVIEW").is_ok_and(|value| value == "1");
    let skills = SkillsSection::new()
        .inline(review("python"))
        .inline(review("typescript"))
        .inline(InlineSkill::new("style", "Style guide.").body("Short names for short lives."))
        .reference(SkillRef::new("examples/skills/incident-review").enabled(is_audited));
    let prompt = Prompt::builder("review", "conditional")
        .output::<Verdict>()
        .skill_reader(SkillsOnDisk::new(std::env::current_dir()?))
        .section(Section::new("task", "Task").body("Review this: `print(1)`"))
        .section(skills)
        .build()?;

    let metier = Metier::open()?;
    let agent = agent::chosen(&metier)?;
    let mut session = metier.session().start()?;
    let rendering = prompt.with(Code { language: "python".into() });
    let response = evaluate(&*agent, rendering.clone()).run(&mut session)?;
    println!("{}", response.output.verdict);

    // Fewer skills, for an agent with little room.
    let rendering = rendering.bind(EnabledSkills::only(["style"]));
    let response = evaluate(&*agent, rendering).run(&mut session)?;
    println!("{}", response.output.verdict);
    Ok(session.end()?)
}
