//! Records failed checks: a skill that has changed, or whose requirements are missing.

use metier_journal::{CheckReport, Event, ScriptExecuted};
use metier_sandbox::SandboxError;
use metier_skill::{Coded as _, Digest};

use crate::error::SessionError;
use crate::session::{Session, shortened};

/// The maximum length of a recorded text.
const LONGEST: usize = 1000;

impl Session {
    /// Returns a result unchanged. If a check failed, that is recorded first.
    pub(crate) fn note_failed_check<T>(
        &mut self,
        asked: &str,
        result: Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let (name, check) = match &result {
            Err(SessionError::NotAsInstalled { name }) => (name.clone(), "installed"),
            Err(SessionError::Changed { name, .. }) => (name.clone(), "session"),
            Err(SessionError::Store(_)) => (shortened(asked), "store"),
            _ => return result,
        };
        if let Err(error) = &result {
            let tree_digest = self.held.values().find(|held| held.name == name).map(|held| held.tree_digest);
            let (code, detail) = (Some(error.code().to_owned()), Some(cut(&error.to_string())));
            let checked = CheckReport { name, check: check.to_owned(), tree_digest, code, detail };
            // The first error is reported, even if it cannot be recorded.
            let _ = self.record(&Event::CheckFailed(Box::new(checked)));
        }
        result
    }
}

impl Session {
    /// Records that something that an agent did was not as the guard had decided, for each active skill whose rules were to
    /// apply.
    pub fn guard_failed(&mut self, code: &str, detail: &str) -> Result<(), SessionError> {
        let mut skills: Vec<(String, Option<Digest>)> =
            self.active().map(|held| (held.name.clone(), Some(held.tree_digest))).collect();
        if skills.is_empty() {
            skills.push((String::new(), None));
        }
        for (name, tree_digest) in skills {
            let (code, detail) = (Some(code.to_owned()), Some(cut(detail)));
            let checked = CheckReport { name, check: "guard".to_owned(), tree_digest, code, detail };
            self.record(&Event::CheckFailed(Box::new(checked)))?;
        }
        Ok(())
    }
}

/// The result of checking a script's dependencies.
pub(crate) fn of_dependencies(run: &ScriptExecuted, error: Option<&SandboxError>) -> Event {
    let checked = Box::new(CheckReport {
        name: run.name.clone(),
        check: "dependencies".to_owned(),
        tree_digest: Some(run.tree_digest),
        code: error.map(|error| error.code().to_owned()),
        detail: error.map(|error| cut(&error.to_string())),
    });
    if error.is_some() { Event::CheckFailed(checked) } else { Event::CheckPassed(checked) }
}

fn cut(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}
