//! Skills that others look after: directories that a prompt refers to, copied whole into the agent's home, with their scripts and
//! references.
//!
//! `cargo run -p metier --features openai --example referenced_skills -- claude`, at the top of the repository

#![expect(clippy::print_stdout, reason = "the answer is the result")]
#![expect(clippy::disallowed_methods, reason = "a program of its own may read its environment")]

mod agent;

use std::error::Error;

use metier::Metier;
use metier::harness::evaluate;
use metier::prompt::{Prompt, Section, SkillRef, SkillsSection};
use metier::session::SkillsOnDisk;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Incident {
    cause: String,
    actions: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    metier::launch_if_asked();
    let project = std::env::current_dir()?;
    let section = SkillsSection::new()
        // By its whole path.
        .reference(SkillRef::new(project.join("examples/skills/incident-review")))
        // Relative to where the project is.
        .reference(SkillRef::new("examples/skills/release-notes").base(&project))
        // Only sometimes; until then it does not need to exist.
        .reference(
            SkillRef::new("/opt/skills/compliance").enabled(|| std::env::var("ENABLE_COMPLIANCE").is_ok()),
        );
    let prompt = Prompt::builder("review", "referenced")
        .output::<Incident>()
        .skill_reader(SkillsOnDisk::new(&project))
        .section(Section::new("task", "Task").body("At 2:00 the disk was full. Review the incident."))
        .section(section)
        .build()?;

    let metier = Metier::open()?;
    let agent = agent::chosen(&metier)?;
    let mut session = metier.session().start()?;
    let response = evaluate(&*agent, prompt.rendering()).run(&mut session)?;
    println!("cause: {}", response.output.cause);
    for action in &response.output.actions {
        println!("- {action}");
    }
    for skill in &response.skills {
        println!("used: {}", skill.name);
    }
    Ok(session.end()?)
}
