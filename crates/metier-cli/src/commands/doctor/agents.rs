//! The agents of this machine: where they are, which version, and what they would find beside the skills they are given.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use metier_home::{Agent, Leak, leaks};
use metier_host::Environment;
use serde_json::{Value, json};

use crate::output::Output;
use crate::table::{counted, one_line};

/// An agent may take ten seconds to say its version.
const MOMENT: Duration = Duration::from_millis(20);
const MOST_LOOKS: usize = 500;

/// An agent that is there.
pub(super) struct Found {
    agent: Agent,
    program: PathBuf,
    version: Option<String>,
    leaks: Vec<Leak>,
}

/// Every agent on the path.
pub(super) fn find(environment: &Environment) -> Vec<Found> {
    let there = |agent: Agent| {
        let program = environment.program(Path::new(agent.program()))?;
        let here = environment.working.as_deref();
        let leaks = here.map(|here| leaks(agent, here, Path::new("/"))).unwrap_or_default();
        Some(Found { version: version(&program, environment), agent, program, leaks })
    };
    Agent::ALL.into_iter().filter_map(there).collect()
}

/// What an agent says that it is. It gets a home to write to, and no more time than it should need.
fn version(program: &Path, environment: &Environment) -> Option<String> {
    let home = tempfile::Builder::new().prefix("metier-doctor-").tempdir().ok()?;
    let mut child = Command::new(program)
        .arg("--version")
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", &environment.path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut looks = 0;
    while child.try_wait().ok()?.is_none() {
        looks += 1;
        if looks > MOST_LOOKS {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(MOMENT);
    }
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(one_line(line).chars().take(60).collect())
}

pub(super) fn print(found: &[Found], output: &mut Output) -> anyhow::Result<()> {
    if found.is_empty() {
        output.row("agents", "none is on the path")?;
    }
    for (index, one) in found.iter().enumerate() {
        let key = if index == 0 { "agents" } else { "" };
        let version = one.version.as_deref().unwrap_or("says no version");
        let program = one.program.display();
        output.row(key, &one_line(&format!("{}: {version} ({program})", one.agent.title())))?;
        for leak in &one.leaks {
            let count = counted(leak.skills.len(), "skill");
            output.row("", &one_line(&format!("also finds {count} in {}", leak.directory.display())))?;
        }
    }
    Ok(())
}

pub(super) fn as_json(found: &[Found]) -> Value {
    let leak = |leak: &Leak| json!({ "directory": leak.directory, "skills": leak.skills, "can_be_closed": leak.can_be_closed });
    let one = |found: &Found| {
        let leaks: Vec<Value> = found.leaks.iter().map(leak).collect();
        json!({ "agent": found.agent.name(), "program": found.program, "version": found.version, "leaks": leaks })
    };
    Value::Array(found.iter().map(one).collect())
}
