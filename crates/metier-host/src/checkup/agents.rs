//! The agents of this machine: where they are, which version, and which other skills they find.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use metier_home::{Agent, Leak, leaks};
use metier_skill::{lossy_path, visible};
use serde::{Serialize, Serializer};

use crate::environment::Environment;

/// An agent may take ten seconds to print its version.
const MOMENT: Duration = Duration::from_millis(20);
const MOST_LOOKS: usize = 500;

/// An agent that is installed.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct LocalAgent {
    /// Which one.
    #[serde(serialize_with = "name")]
    pub agent: Agent,
    /// Its program.
    #[serde(serialize_with = "lossy_path")]
    pub program: PathBuf,
    /// The version that it prints, if it does.
    pub version: Option<String>,
    /// Skills that it finds beside those it is given.
    pub leaks: Vec<Leak>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn name<S: Serializer>(agent: &Agent, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(agent.name())
}

/// Every agent in `PATH`.
pub(super) fn find(environment: &Environment) -> Vec<LocalAgent> {
    let installed = |agent: Agent| {
        let program = environment.program(Path::new(agent.program()))?;
        let here = environment.working.as_deref();
        let leaks = here.map(|here| leaks(agent, here, Path::new("/"))).unwrap_or_default();
        Some(LocalAgent { version: version(&program, environment), agent, program, leaks })
    };
    Agent::ALL.into_iter().filter_map(installed).collect()
}

/// The version that an agent prints. It gets a temporary home and a limited time.
pub(crate) fn version(program: &Path, environment: &Environment) -> Option<String> {
    let home = tempfile::Builder::new().prefix("metier-doctor-").tempdir_in(&environment.temporary).ok()?;
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
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(visible(&line).chars().take(60).collect())
}
