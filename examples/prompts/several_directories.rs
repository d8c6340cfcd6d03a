//! An organisation's skills and a project's, each in a directory of the workspace.
//!
//! `cargo run -p metier --example several_directories -- ORGANISATION PROJECT`

#![expect(clippy::print_stdout, reason = "what it renders is what it shows")]
#![expect(clippy::disallowed_methods, reason = "a program of its own may look at the clock")]

use std::error::Error;
use std::path::PathBuf;
use std::time::SystemTime;

use metier::prompt::{AgentSkillsSection, ListFormat, Prompt, SessionView};
use metier::session::{discovered, scan_directory};
use metier::skill::Tier;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let mut next = || arguments.next().ok_or("wants two directories of skills");
    let section = |directory: PathBuf, tier: Tier, mount: &str| {
        let catalog = scan_directory(&directory, tier, SystemTime::now());
        AgentSkillsSection::new(discovered(&catalog)).mount_path(mount).format(ListFormat::Markdown)
    };
    let prompt = Prompt::builder("multi", "skills")
        .section(section(next()?, Tier::Org, "skills/org").key("org").title("Skills of the organisation"))
        .section(section(next()?, Tier::User, "skills/project").key("project").title("Skills of the project"))
        .build()?;
    let rendered = prompt.render(&SessionView::default())?;
    println!("{}\n", rendered.text);
    for skill in &rendered.skills {
        println!("mounted: {}/{}", skill.mount_path.as_deref().unwrap_or_default(), skill.name);
    }
    Ok(())
}
