//! Prompts in a session: rendered for its current state, with their tools and sections.

mod calls;
mod on_disk;
mod overrides;
mod turn;

use metier_journal::Event;
use metier_prompt::{ExpansionRequired, Prompt, RenderedPrompt, Rendering, SessionState, SessionView};

pub(crate) use calls::Calls;
pub use on_disk::{SkillsOnDisk, discovered, scan_directory};
pub use overrides::OverrideStore;
pub use turn::{ToolReply, Turn};

use crate::error::SessionError;
use crate::session::{Session, shortened};

/// The maximum number of warnings that a session records.
const MOST_WARNINGS: usize = 1_000;

/// How often in a row a model may expand sections.
const MOST_EXPANSIONS: usize = 10;

impl Session {
    /// The session as prompts and tools see it.
    pub fn view(&self) -> SessionView {
        SessionView {
            id: self.id().to_owned(),
            task: self.context.task.clone(),
            skills: self.active().map(|held| (held.id.clone(), held.tree_digest)).collect(),
            state: self.state.clone(),
        }
    }

    /// The state that prompts depend on and tools may change: the visibility of sections, and stored values.
    pub const fn state(&self) -> &SessionState {
        &self.state
    }

    /// The same state, for the host to change.
    pub const fn state_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }

    /// Renders a prompt for the current state of the session. Warnings are recorded once per process.
    pub fn render<O>(&mut self, rendering: &Rendering<O>) -> Result<RenderedPrompt, SessionError> {
        let rendered = rendering.render(&self.view())?;
        self.record_listed(&rendered)?;
        let prompt = name_of(rendering.prompt());
        for warning in &rendered.warnings {
            // Names come from a file of unknown origin.
            let target = shortened(&warning.target);
            if self.warned.len() >= MOST_WARNINGS {
                break;
            }
            let seen = (prompt.clone(), target.clone(), warning.code);
            if self.warned.contains(&seen) {
                continue;
            }
            let code = warning.code.to_owned();
            self.record(&Event::PromptWarning { prompt: prompt.clone(), target, code })?;
            self.warned.insert(seen);
        }
        Ok(rendered)
    }

    /// Runs a model on a prompt, within the budget. Whenever the model has expanded sections, it runs again from the
    /// start on the new prompt; the last answer counts.
    pub fn evaluate<O, T, E: From<SessionError>>(
        &mut self,
        rendering: &Rendering<O>,
        mut run: impl FnMut(&mut Turn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let rendering = &rendering.clone().untyped();
        for count in 0..=MOST_EXPANSIONS {
            self.check_budget().map_err(SessionError::from)?;
            let mut turn = Turn::new(self, rendering)?;
            let answer = run(&mut turn)?;
            match turn.into_expansion() {
                Some(_) if count == MOST_EXPANSIONS => break,
                Some(expansion) => self.expand(rendering.prompt(), &expansion)?,
                None => return Ok(answer),
            }
        }
        Err(SessionError::Expansions { most: MOST_EXPANSIONS }.into())
    }

    /// Expands these sections from now on.
    pub fn expand<O>(
        &mut self,
        prompt: &Prompt<O>,
        expansion: &ExpansionRequired,
    ) -> Result<(), SessionError> {
        for skill in &expansion.skills {
            self.record(&Event::SkillExpanded {
                name: Some(skill.name.clone()),
                prompt: Some(name_of(prompt)),
                section: skill.section.to_string(),
                tokens: skill.tokens as u64,
            })?;
        }
        for (path, visibility) in &expansion.overrides {
            self.state.set_visibility(path.clone(), *visibility);
        }
        Ok(())
    }
}

fn name_of<O>(prompt: &Prompt<O>) -> String {
    format!("{}/{}", prompt.namespace(), prompt.key())
}
