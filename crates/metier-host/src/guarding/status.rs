//! Whether a guard stands: its hooks, the program that they call, and what switches them off.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use metier_guard::{
    GuardContent, HOOK_SWITCHES, HookSwitch, InstalledHook, find_hooks, hooks_of, leaks_of, read_jsonc,
};
use metier_home::Agent;
use metier_skill::{lossy_path, lossy_paths};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::files;
use super::memory::remembered;
use super::place::{GuardScope, Place};
use crate::environment::Environment;
use crate::error::HostError;
use crate::host::Metier;
use crate::settings::{chain, read_regular};

/// No settings file is longer.
const MOST: u64 = 16 << 20;

/// Whether a guard is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum GuardState {
    /// It is not installed.
    NotInstalled,
    /// It is installed, and nothing known stops it.
    Installed,
    /// It is installed and does not work.
    Broken,
    /// It was installed by metier, and something else removed it.
    Gone,
}

/// The guard of an agent, as it was found. Serialises as `metier guard status --json` prints it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct InstalledGuard {
    /// The agent.
    #[serde(serialize_with = "name")]
    pub agent: Agent,
    /// Where it was looked for.
    pub scope: GuardScope,
    /// The home or the project.
    #[serde(serialize_with = "lossy_path")]
    pub place: PathBuf,
    /// Whether it is installed.
    pub state: GuardState,
    /// The files that it is in.
    #[serde(serialize_with = "lossy_paths")]
    pub files: Vec<PathBuf>,
    /// The program that its hooks call.
    pub program: Option<String>,
    /// Whether skills that fit are named when a person sends a prompt.
    pub suggests: bool,
    /// Why it does not work, or why it is not known whether it is installed.
    pub problems: Vec<String>,
    /// What it cannot prevent; empty if it is not installed.
    pub leaks: Vec<&'static str>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn name<S: Serializer>(agent: &Agent, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(agent.name())
}

impl Metier {
    /// The guards of all agents, or of one: in the person's home, and in the current directory if that is another place.
    pub fn guards(&self, agent: Option<Agent>) -> Result<Vec<InstalledGuard>, HostError> {
        let Environment { home, working, .. } = self.environment();
        let has_project = working.is_some() && working != home;
        let scopes = home.iter().map(|_| GuardScope::User).chain(has_project.then_some(GuardScope::Project));
        let scopes: Vec<GuardScope> = scopes.collect();
        let agents = agent.map_or(Agent::ALL.to_vec(), |agent| vec![agent]).into_iter();
        agents
            .flat_map(|agent| scopes.iter().map(move |scope| (agent, *scope)))
            .map(|(agent, scope)| self.guard_status(agent, scope))
            .collect()
    }

    /// Whether the guard is installed in a person's own agent, and what stops it.
    pub fn guard_status(&self, agent: Agent, scope: GuardScope) -> Result<InstalledGuard, HostError> {
        let environment = self.environment();
        let place = Place::new(environment, agent, scope)?;
        let memory = remembered(environment, agent, &place.base)?;
        let mut look = Look { place: &place, environment, problems: Vec::new() };
        let (files, hooks) = look.hooks(memory.as_ref().and_then(|memory| memory.name.as_deref()));
        let state = match (hooks.is_empty(), &memory) {
            (true, None) => GuardState::NotInstalled,
            // In a file that cannot be read, the hooks may still be there.
            (true, Some(_)) if look.problems.is_empty() => GuardState::Gone,
            _ => {
                look.check(&files, &hooks);
                if look.problems.is_empty() { GuardState::Installed } else { GuardState::Broken }
            }
        };
        if state == GuardState::Gone {
            look.problems.push("metier installed it, and its hooks are no longer there".to_owned());
        }
        let problems = look.problems;
        let is_there = matches!(state, GuardState::Installed | GuardState::Broken);
        Ok(InstalledGuard {
            agent,
            scope,
            state,
            files: files.into_iter().map(|(path, _)| path).collect(),
            program: hooks.first().map(|hook| hook.program.clone()),
            suggests: hooks.iter().any(|hook| hook.suggests),
            problems,
            leaks: if is_there { leaks_of(agent).to_vec() } else { Vec::new() },
            place: place.base,
        })
    }
}

/// Looking at one guard.
struct Look<'a> {
    place: &'a Place,
    environment: &'a Environment,
    problems: Vec<String>,
}

/// A file with hooks, and these.
type FileHooks = (PathBuf, Vec<InstalledHook>);

impl Look<'_> {
    /// The files that have hooks of the guard, and all of these.
    fn hooks(&mut self, name: Option<&str>) -> (Vec<FileHooks>, Vec<InstalledHook>) {
        let (mut files, mut all) = (Vec::new(), Vec::new());
        for file in self.place.files(name) {
            let path = self.place.path(&file);
            let text = match self.place.real(&path).and_then(|real| files::read(&real)) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(error) => {
                    self.problems.push(chain(&error));
                    continue;
                }
            };
            let found = match file.content {
                GuardContent::Merged(_) => find_hooks(&text, self.place.agent).unwrap_or_else(|error| {
                    self.problems.push(format!("{}: {error}", path.display()));
                    Vec::new()
                }),
                GuardContent::Whole(_) => InstalledHook::all_in(&text),
            };
            if !found.is_empty() {
                all.extend(found.iter().cloned());
                files.push((path, found));
            }
        }
        (files, all)
    }

    fn check(&mut self, files: &[FileHooks], hooks: &[InstalledHook]) {
        let agent = self.place.agent;
        let found: BTreeSet<&str> = hooks.iter().map(|hook| hook.event.as_str()).collect();
        let missing: Vec<&str> =
            hooks_of(agent).map(|row| row.event).filter(|event| !found.contains(event)).collect();
        if !missing.is_empty() && !hooks.is_empty() {
            self.problems.push(format!("hooks are missing: {}", missing.join(", ")));
        }
        let programs: BTreeSet<&str> = hooks.iter().map(|hook| hook.program.as_str()).collect();
        for program in programs {
            let meta = Path::new(program).metadata();
            if !meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0) {
                self.problems
                    .push(format!("its program `{program}` cannot be run, so every call is refused"));
            }
        }
        for switch in HOOK_SWITCHES.iter().filter(|switch| switch.agent == agent) {
            self.check_switch(switch);
        }
        match agent {
            Agent::Codex => self.check_trust(files),
            Agent::OpenCode if self.environment.variable("OPENCODE_PURE").is_some() => {
                self.problems
                    .push("the variable `OPENCODE_PURE` is set, which leaves all plugins out".to_owned());
            }
            Agent::Goose => self.check_replaced(),
            _ => {}
        }
    }

    /// Whether a setting switches hooks off.
    fn check_switch(&mut self, switch: &HookSwitch) {
        let working = self.environment.working.as_deref();
        let home = Place::new(self.environment, switch.agent, GuardScope::User).ok();
        let path = home.and_then(|home| home.switch(switch.place, switch.path, working));
        let Some(path) = path else { return };
        match settings(&path) {
            Ok(Some(settings)) if switch.is_off(&settings) => {
                self.problems.push(format!(
                    "`{}` in {} switches hooks off",
                    switch.setting(),
                    path.display()
                ));
            }
            Ok(_) => {}
            Err(error) => {
                let problem = format!(
                    "{} cannot be read, so it is not known whether it switches hooks off: {error}",
                    path.display()
                );
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
            }
        }
    }

    /// Whether Codex trusts the hooks. Its state has them by their file, event and place.
    fn check_trust(&mut self, files: &[FileHooks]) {
        let home = Place::new(self.environment, Agent::Codex, GuardScope::User).ok();
        let config = home.and_then(|home| settings(&home.at(".codex/config.toml")).ok().flatten());
        let state = config.as_ref().and_then(|config| config.get("hooks")?.get("state"));
        for (path, hooks) in files {
            let real = self.place.real(path).unwrap_or_else(|_| path.clone());
            let is_trusted = |hook: &InstalledHook| {
                let (group, place) = hook.place;
                let key = |path: &Path| format!("{}:{}:{group}:{place}", path.display(), snake(&hook.event));
                let found = state.and_then(|state| state.get(key(path)).or_else(|| state.get(key(&real))));
                found.is_some_and(|entry| {
                    entry["trusted_hash"].is_string() && entry["enabled"] != Value::Bool(false)
                })
            };
            let untrusted = hooks.iter().filter(|hook| !is_trusted(hook)).count();
            if untrusted > 0 {
                self.problems.push(format!(
                    "Codex does not trust {untrusted} of {} hooks and skips them; start `codex`, enter `/hooks`, and trust them",
                    hooks.len()
                ));
            }
        }
    }

    /// Whether the project has a plugin that Goose takes instead.
    fn check_replaced(&mut self) {
        let Some(working) = self.environment.working.as_deref().filter(|here| *here != self.place.base)
        else {
            return;
        };
        for name in self.place.names() {
            let other = working.join(".agents/plugins").join(name);
            if other.symlink_metadata().is_ok() {
                self.problems.push(format!("{} replaces it, because it has the same name", other.display()));
            }
        }
    }
}

/// The settings in a file; `None` if it does not exist.
fn settings(path: &Path) -> Result<Option<Value>, String> {
    let text = match read_regular(path, MOST) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let settings = if path.extension().is_some_and(|extension| extension == "toml") {
        toml::from_str(&text).map_err(|error| error.message().to_owned())
    } else {
        read_jsonc(&text).map_err(|error| error.to_string())
    };
    settings.map(Some)
}

/// `PreToolUse` as `pre_tool_use`.
fn snake(event: &str) -> String {
    let mut text = String::new();
    for c in event.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}
