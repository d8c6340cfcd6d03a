//! Skills that others look after: directories that a prompt refers to, copied whole into the agent's home.
//!
//! `cargo run -p metier --example referenced_skills -- DIRECTORY [compliance]`

#![expect(clippy::print_stdout, reason = "what it renders is what it shows")]

use std::error::Error;
use std::path::PathBuf;

use metier::prompt::{MountSource, Prompt, Section, SessionView, SkillRef, SkillsSection};
use metier::session::SkillsOnDisk;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let skills = PathBuf::from(arguments.next().ok_or("wants a directory of skills")?);
    let is_audited = arguments.next().as_deref() == Some("compliance");

    let section = SkillsSection::new()
        // By its whole path.
        .reference(SkillRef::new(skills.join("incident-review")))
        // Relative to where the project is.
        .reference(SkillRef::new("commit-message").base(&skills))
        // Only sometimes; until then it need not even be there.
        .reference(SkillRef::new("/opt/skills/compliance").enabled(move || is_audited));
    let prompt = Prompt::builder("review", "referenced")
        .skill_reader(SkillsOnDisk::new(&skills))
        .section(Section::new("task", "Task").body("Write the review of last night's outage."))
        .section(section)
        .build()?;

    let rendered = prompt.rendering().install_skills(true).render(&SessionView::default())?;
    println!("{}\n", rendered.text);
    for skill in &rendered.skills {
        if let MountSource::Path(path) = skill.mount.source() {
            let from = path.strip_prefix(skills.canonicalize()?).unwrap_or(path);
            println!("copied: {} -> .claude/skills/{}", from.display(), skill.name);
        }
    }
    Ok(())
}
