//! Hooks of agents, answered: the person's settings and policy, the state of the conversation, a session that decides and records.

mod conversation;
#[cfg(feature = "harness")]
mod harness;
mod known;
mod run;
#[cfg(feature = "search")]
mod suggest;

use std::error::Error;
use std::path::{Path, PathBuf};

use metier_guard::{
    ConversationState, GuardContext, GuardError, GuardStates, HookAnswer, HookEvent, HookInput,
};
use metier_home::Agent;

use self::conversation::{Conversation, guard_states};
pub use self::run::{GuardProof, RunGuard};
use crate::environment::Environment;
use crate::error::HostError;
use crate::host::Metier;
use crate::settings::read_bounded;

/// A hook that an agent called.
#[derive(Debug, Clone, Copy)]
pub struct HookRequest<'a> {
    /// The agent.
    pub agent: Agent,
    /// The event's name.
    pub event: &'a str,
    /// What the agent passed on standard input.
    pub input: &'a [u8],
    /// The file with a [`GuardContext`], where metier started the agent.
    pub context: Option<&'a Path>,
    /// Whether skills that fit a prompt are named to the model.
    pub suggests: bool,
}

/// Answers a hook, in the agent's own words. Whatever fails is answered with a refusal; an event that cannot be refused any more is
/// answered with no opinion.
pub fn answer_hook(environment: Environment, request: &HookRequest<'_>) -> String {
    let answer = decided(environment, request).unwrap_or_else(|error| {
        let mut reasons = vec![error.to_string()];
        let mut cause = error.source();
        while let Some(error) = cause {
            reasons.push(error.to_string());
            cause = error.source();
        }
        HookAnswer::Deny(format!("metier could not decide, so this is refused: {}", reasons.join(": ")))
    });
    answer.to_json(request.agent, request.event)
}

fn decided(environment: Environment, request: &HookRequest<'_>) -> Result<HookAnswer, HostError> {
    let input = HookInput::read(request.agent, request.event, request.input)?;
    let Some(id) = input.conversation.clone().filter(|_| input.event != HookEvent::Other) else {
        return Ok(HookAnswer::NoOpinion);
    };
    let context = request.context.map(read_context).transpose()?;
    let agent_home = environment.home.clone();
    let working = input.working.clone().or_else(|| environment.working.clone());
    let environment = match &context {
        Some(context) => environment
            .replacing(&context.variables)
            .working_in(context.working.clone().or_else(|| working.clone())),
        None => environment.working_in(working.clone()),
    };
    let states = match (&context, request.context) {
        (Some(_), Some(path)) => GuardStates::new(run::states_of(path)),
        _ => guard_states(&environment)?,
    };
    // Most conversations have no skill, and most results need no answer.
    let is_over = matches!(input.event, HookEvent::AfterTool(_) | HookEvent::SessionStart(_));
    if is_over && context.is_none() && states.find(input.agent, &id)?.is_none() && input.parent.is_none() {
        return Ok(HookAnswer::NoOpinion);
    }
    let mut builder = Metier::builder().environment(environment);
    if let Some(journal) = context.as_ref().and_then(|context| context.journal.as_ref()) {
        builder = builder.journal(journal);
    }
    let metier = builder.build()?;
    let places = metier.anchors(working.as_deref(), agent_home.as_deref())?;
    let owner = match &input.parent {
        Some(parent) => states.owner(input.agent, parent)?,
        None => states.owner(input.agent, &id)?,
    };
    let conversation = Conversation {
        metier: &metier,
        agent: input.agent,
        id: owner,
        places,
        states,
        context: context.as_ref(),
        suggests: request.suggests,
    };
    conversation.answer(&input.event)
}

fn read_context(path: &Path) -> Result<GuardContext, HostError> {
    let text = read_bounded(path).map_err(|error| HostError::read(path, error))?;
    Ok(GuardContext::parse(path, &text)?)
}

/// Conversations with agents: those in which skills are active.
impl Metier {
    /// The conversations of the person's own agents about which something is kept.
    pub fn guarded_conversations(&self) -> Result<Vec<ConversationState>, HostError> {
        Ok(guard_states(self.environment())?.list()?)
    }

    /// Ends the rules of a skill in the conversations of the person's own agents: of all skills, unless one is named, in all
    /// conversations, unless one is named. States that cannot be read are removed if nothing is named. Returns each conversation
    /// with the skills that ended there.
    pub fn deactivate_guarded(
        &self,
        skill: Option<&str>,
        conversation: Option<&str>,
    ) -> Result<Vec<(ConversationState, Vec<String>)>, HostError> {
        let states = guard_states(self.environment())?;
        if skill.is_none() && conversation.is_none() {
            states.remove_damaged()?;
        }
        let mut ended = Vec::new();
        for state in states.list()? {
            let Some(agent) = Agent::find(&state.agent) else { continue };
            if conversation.is_some_and(|wanted| wanted != state.conversation) {
                continue;
            }
            let places = self.anchors(None, None)?;
            let conversation = Conversation {
                metier: self,
                agent,
                id: state.conversation.clone(),
                places,
                states: states.clone(),
                context: None,
                suggests: false,
            };
            let names = conversation.deactivate(skill)?;
            if !names.is_empty() {
                ended.push((state, names));
            }
        }
        Ok(ended)
    }
}

impl From<GuardError> for HostError {
    fn from(error: GuardError) -> Self {
        Self::Hook(error)
    }
}

/// The directory with the states of the person's own agents.
fn states_directory(environment: &Environment) -> Result<PathBuf, HostError> {
    let purpose = "to keep the state of conversations in";
    let state = environment.state_directory();
    Ok(state.ok_or(HostError::NoHome { purpose, variables: "HOME or XDG_STATE_HOME" })?.join("guard"))
}
