//! Skills of a directory, listed for an agent that reads files. It loads one by reading its `SKILL.md`.
//!
//! `cargo run -p metier --example discovered_skills -- DIRECTORY`

#![expect(clippy::print_stdout, reason = "what it renders is what it shows")]
#![expect(clippy::disallowed_methods, reason = "a program of its own may look at the clock")]

use std::error::Error;
use std::path::PathBuf;
use std::time::SystemTime;

use metier::prompt::{AgentSkillsSection, Prompt, Section, SessionView, Visibility};
use metier::session::{discovered, scan_directory};
use metier::skill::Tier;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).ok_or("wants a directory of skills")?);
    let catalog = scan_directory(&directory, Tier::User, SystemTime::now());
    let skills =
        AgentSkillsSection::new(discovered(&catalog)).allow(["incident-*", "release-*"]).mount_path("skills");
    let prompt = Prompt::builder("review", "security")
        .section(Section::new("task", "Task").body("Review `repo/` for security issues. Use the skills."))
        .section(skills.clone())
        .build()?;
    let rendered = prompt.render(&SessionView::default())?;
    println!("{}\n", rendered.text);
    for skill in &rendered.skills {
        println!("mounted: {}/{}", skill.mount_path.as_deref().unwrap_or_default(), skill.name);
    }

    // To save room: only the names, until the model asks for more.
    let prompt =
        Prompt::builder("review", "short").section(skills.visibility(Visibility::Summary)).build()?;
    println!("\n{}", prompt.render(&SessionView::default())?.text);
    Ok(())
}
