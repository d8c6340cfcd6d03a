//! Only some of a directory's skills, within a budget of tokens: those that fit the task come first, and the list says how many were
//! left out.
//!
//! `cargo run -p metier --features openai,search --example filtered_skills -- claude`, at the top of the repository

#![expect(clippy::print_stdout, reason = "the answer is the result")]
#![expect(clippy::disallowed_methods, reason = "a program of its own may look at the clock")]

mod agent;

use std::error::Error;
use std::path::Path;
use std::time::SystemTime;

use metier::Metier;
use metier::harness::evaluate;
use metier::prompt::{AgentSkillsSection, Prompt, Section};
use metier::search::Search;
use metier::session::{discovered, scan_directory};
use metier::skill::Tier;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Answer {
    text: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    metier::launch_if_asked();
    let catalog = scan_directory(Path::new("examples/skills"), Tier::User, SystemTime::now());
    let search = Search::open(&catalog, None)?;
    let count = catalog.skills().count();
    let skills = AgentSkillsSection::new(discovered(&catalog))
        .allow(["incident-*", "release-*", "commit-*"])
        .deny(["*-message"])
        .mount_path("skills")
        .budget(140)
        .ranked_by(move |task| {
            search.ranked(task, count).into_iter().map(|entry| entry.name().to_owned()).collect()
        });
    let prompt = Prompt::builder("pipeline", "filtered")
        .output::<Answer>()
        .section(Section::new("task", "Task").body("Do the task."))
        .section(skills)
        .build()?;

    let metier = Metier::open()?;
    let agent = agent::chosen(&metier)?;
    for task in ["prepare version 2", "say what went wrong last night"] {
        let mut session = metier.session().task(task).start()?;
        let response = evaluate(&*agent, prompt.rendering()).run(&mut session)?;
        println!("{task}: {}", response.output.text);
        session.end()?;
    }
    Ok(())
}
