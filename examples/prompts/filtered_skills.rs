//! Only some of a directory's skills, within a budget, the ones that fit the task first.
//!
//! `cargo run -p metier --features search --example filtered_skills -- DIRECTORY`

#![expect(clippy::print_stdout, reason = "what it renders is what it shows")]
#![expect(clippy::disallowed_methods, reason = "a program of its own may look at the clock")]

use std::error::Error;
use std::path::PathBuf;
use std::time::SystemTime;

use metier::prompt::{AgentSkillsSection, Prompt, SessionView};
use metier::search::Search;
use metier::session::{discovered, scan_directory};
use metier::skill::Tier;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).ok_or("wants a directory of skills")?);
    let catalog = scan_directory(&directory, Tier::User, SystemTime::now());
    let search = Search::open(&catalog, None)?;
    let count = catalog.skills().count();
    let skills = AgentSkillsSection::new(discovered(&catalog))
        .deny(["*-message"])
        .mount_path("skills")
        .budget(140)
        .ranked_by(move |task| {
            search.ranked(task, count).into_iter().map(|entry| entry.name().to_owned()).collect()
        });
    let prompt = Prompt::builder("pipeline", "filtered").section(skills).build()?;
    for task in ["prepare version 2", "say what went wrong last night"] {
        let session = SessionView { task: Some(task.to_owned()), ..SessionView::default() };
        let rendered = prompt.render(&session)?;
        let left_out: usize = rendered.sections.iter().map(|section| section.omitted).sum();
        println!("task: {task}\n\n{}\n\nleft out: {left_out}\n", rendered.text);
    }
    Ok(())
}
