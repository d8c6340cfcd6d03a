//! Whether a tool may be called while skills are active.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use metier_journal::Event;
use metier_policy::{Call, Decision, Places};
use metier_prompt::SessionView;

use crate::error::SessionError;
use crate::session::{Session, shortened};

impl Session {
    /// Decides about a call to a tool, by the rules of the skills that are active and by the policy. Links in its paths are
    /// followed on this machine. The decision is recorded.
    pub fn check_tool_call(
        &mut self,
        tool: &str,
        arguments: &serde_json::Value,
    ) -> Result<Decision, SessionError> {
        let call = follow_links(Call::new(tool, arguments.clone()), &self.options.places);
        let guard = self.guard.take().unwrap_or_else(|| {
            let active = self.active().map(|held| held.as_active(&self.options.places));
            self.options.policy.guard(active.collect(), &self.options.places)
        });
        let decision = guard.decide(&call);
        self.guard = Some(guard);
        self.record_decision(tool, &arguments.to_string(), &decision)?;
        Ok(decision)
    }

    /// Calls a tool, if that is allowed: what is denied never reaches it. What a person would have to be asked about is for the
    /// host to ask; here it is denied.
    pub fn call_tool<T>(
        &mut self,
        tool: &str,
        arguments: &serde_json::Value,
        execute: impl FnOnce(&SessionView) -> T,
    ) -> Result<T, SessionError> {
        let decision = self.check_tool_call(tool, arguments)?;
        if decision.is_allowed() {
            return Ok(execute(&self.view()));
        }
        Err(SessionError::Denied { decision: Box::new(decision) })
    }

    pub(crate) fn record_decision(
        &mut self,
        tool: &str,
        arguments: &str,
        decision: &Decision,
    ) -> Result<(), SessionError> {
        self.record(&Event::SkillToolCallDecided {
            tool: shortened(tool),
            arguments: self.options.privacy.content(arguments.as_bytes()),
            decision: decision.verdict.as_str().to_owned(),
            code: decision.code.as_str().to_owned(),
            skills: self.active().map(|held| held.name.clone()).collect(),
        })
    }
}

/// The call with the paths that links on this machine lead to.
pub fn follow_links(call: Call, places: &Places) -> Call {
    let texts: Vec<String> = call.paths().iter().map(|path| (*path).to_owned()).collect();
    texts.iter().fold(call, |call, text| {
        let path = match text.strip_prefix("~/") {
            Some(below) => places.home.join(below),
            None => places.cwd.join(text),
        };
        match leads_to(&path) {
            Some(real) if real == places.absolute(text) => call,
            Some(real) => call.leading_to(real),
            None => call.leading_anywhere(),
        }
    })
}

/// Where a path leads, part by part as the system goes: links are followed before a `..` after them. What is not there
/// yet is where it would be. `None` where that cannot be told.
pub(crate) fn leads_to(path: &Path) -> Option<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut links = 0;
    let mut open: Vec<PathBuf> =
        path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect();
    let mut real = PathBuf::from("/");
    while let Some(part) = open.pop() {
        match part.components().next()? {
            Component::RootDir => real = PathBuf::from("/"),
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => {
                let next = real.join(name);
                match fs::symlink_metadata(&next) {
                    Ok(meta) if meta.is_symlink() => {
                        links += 1;
                        let target = fs::read_link(&next).ok().filter(|_| links <= MOST_LINKS)?;
                        open.extend(target.components().rev().map(|part| PathBuf::from(part.as_os_str())));
                    }
                    Ok(_) => real = next,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => real = next,
                    // A file where a directory should be: nothing can be opened there.
                    Err(error) if error.kind() == io::ErrorKind::NotADirectory => real = next,
                    Err(_) => return None,
                }
            }
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Some(real)
}
