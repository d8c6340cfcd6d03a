//! Skill support for an agent: the model sees which skills exist and gets tools to load them, to read their files and to run
//! their scripts. Here the model is a list of calls; everything else is real.

#![expect(clippy::print_stdout, reason = "the conversation is what it shows")]
#![expect(
    clippy::disallowed_methods,
    reason = "a program of its own may look at the clock and at its directory"
)]

use std::error::Error;
use std::sync::Arc;
use std::time::SystemTime;

use metier::catalog::{CatalogOptions, Root, Scanner};
use metier::journal::{Clock, Journal, JournalAddress, JournalOptions, Time};
use metier::policy::Anchors;
use metier::prompt::{ListedSkill, SkillList};
use metier::session::{Recording, ScriptCall, Session, SessionOptions};
use metier::store::Store;
use serde_json::Value;

struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Time::from_micros(since.as_micros().try_into().unwrap_or(i64::MAX))
    }

    fn id(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }
}

/// What becomes of a call that the model makes.
fn call(session: &mut Session, tool: &str, with: &Value) -> Result<String, Box<dyn Error>> {
    let text = |name: &str| with[name].as_str().unwrap_or_default();
    match tool {
        "load_skill" => Ok(session.activate(text("skill_name"))?.content),
        "read_skill_resource" => Ok(session.read(text("skill_name"), text("resource_name"))?.encoded()),
        "run_skill_script" => {
            let work = session.work_directory(std::env::current_dir()?)?;
            let script = ScriptCall::new(text("skill_name"), text("script_name"), work);
            let report = session.run_script(script, &mut ())?;
            Ok(String::from_utf8_lossy(&report.run.stdout.bytes).into_owned())
        }
        // The agent's other tools, as far as the skills that are active allow them.
        _ => Ok(session.call_tool(tool, with, |_| format!("{tool} was called"))?),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    metier::sandbox::launch_if_asked();
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("wants SKILLS STATE");
    let (skills, state, here) = (next()?, next()?, std::env::current_dir()?);
    let home = std::env::home_dir().ok_or("the home directory is not known; set HOME")?;
    let mut options = CatalogOptions::new(vec![Root::parse(&skills)?]);
    options.builtin = true;
    let catalog = Scanner::new(options).scan(SystemTime::now());
    let shown: Vec<ListedSkill<'_>> = catalog
        .for_models()
        .map(|skill| ListedSkill { name: skill.entry.name(), description: skill.description, location: None })
        .collect();
    println!("system: {}", SkillList::new(&shown).render().text);

    let journal = Journal::open(
        &JournalAddress::file(format!("{state}/journal.db")),
        JournalOptions::new(Arc::new(HostClock)),
    )?;
    let (recording, places) = (Recording::Journal(Arc::new(journal)), Anchors::new(&here, &home));
    let mut options = SessionOptions::new(catalog.clone(), places, recording, Arc::new(HostClock));
    options.store = Some(Store::new(format!("{state}/store")));
    let mut session = Session::start(options)?;
    for line in std::io::stdin().lines() {
        let (tool, with): (String, Value) = serde_json::from_str(&line?)?;
        let answer = call(&mut session, &tool, &with).unwrap_or_else(|error| format!("error: {error}"));
        println!("model: {tool} {with}\n{answer}");
    }
    Ok(session.end()?)
}
