//! A review in a workspace, with the skills of a directory. The prompt lists them; the agent loads one by reading its `SKILL.md`.
//!
//! `cargo run -p metier --features openai --example discovered_skills -- claude`, at the top of the repository

#![expect(clippy::print_stdout, reason = "the answer is the result")]
#![expect(clippy::disallowed_methods, reason = "a program of its own may look at the clock")]

mod agent;

use std::error::Error;
use std::path::Path;
use std::time::SystemTime;

use metier::Metier;
use metier::harness::evaluate;
use metier::prompt::{AgentSkillsSection, HostMount, Prompt, Section, WorkspaceSection};
use metier::session::{discovered, scan_directory};
use metier::skill::Tier;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Review {
    summary: String,
    findings: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    metier::launch_if_asked();
    let project = std::env::current_dir()?;
    // A copy: the agent cannot change the original.
    let workspace = WorkspaceSection::new([HostMount::new(project.join("examples")).mounted_at("repo")])
        .allowed_roots([project]);
    let catalog = scan_directory(Path::new("examples/skills"), Tier::User, SystemTime::now());
    let skills =
        AgentSkillsSection::new(discovered(&catalog)).allow(["incident-*", "release-*"]).mount_path("skills");
    let prompt = Prompt::builder("review", "security")
        .output::<Review>()
        .section(
            Section::new("task", "Task").body("Review `repo/` for security issues. Use available skills."),
        )
        .section(workspace)
        .section(skills)
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
