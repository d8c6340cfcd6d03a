//! Skills of an organisation and of a project, each in a directory of the agent's workspace.
//!
//! `cargo run -p metier --features openai --example several_directories -- claude`, at the top of the repository

#![expect(clippy::print_stdout, reason = "the answer is the result")]
#![expect(clippy::disallowed_methods, reason = "a program of its own may look at the clock")]

mod agent;

use std::error::Error;
use std::path::Path;
use std::time::SystemTime;

use metier::Metier;
use metier::harness::evaluate;
use metier::prompt::{AgentSkillsSection, ListFormat, Prompt, Section};
use metier::session::{discovered, scan_directory};
use metier::skill::Tier;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Message {
    subject: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    metier::launch_if_asked();
    let skills = |tier: Tier, wanted: &str, mount: &str| {
        let catalog = scan_directory(Path::new("examples/skills"), tier, SystemTime::now());
        AgentSkillsSection::new(discovered(&catalog))
            .allow([wanted])
            .mount_path(mount)
            .format(ListFormat::Markdown)
    };
    let organisation = skills(Tier::Org, "incident-*", "skills/org");
    let project = skills(Tier::User, "commit-*", "skills/project");
    let prompt = Prompt::builder("multi", "skills")
        .output::<Message>()
        .section(Section::new("task", "Task").body("Write a commit message: the disk is watched now."))
        .section(organisation.key("org").title("Skills of the organisation"))
        .section(project.key("project").title("Skills of the project"))
        .build()?;

    let metier = Metier::open()?;
    let agent = agent::chosen(&metier)?;
    let mut session = metier.session().start()?;
    let response = evaluate(&*agent, prompt.rendering()).run(&mut session)?;
    println!("{}", response.output.subject);
    for skill in &response.skills {
        println!("used: {}", skill.name);
    }
    Ok(session.end()?)
}
