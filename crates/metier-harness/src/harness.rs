//! What an agent must be able to do to run a prompt, and what it may be able to do beyond that.

use std::fmt;
use std::time::Duration;

use metier_prompt::RenderedPrompt;
use metier_session::SkillTool;
use serde::Serialize;
use serde_json::Value;

use crate::error::HarnessError;
use crate::message::{AgentMessage, ToolAnswered};
use crate::offered::SkillTools;
use crate::permission::PermissionAnswer;
use crate::setup::{AgentPlace, AgentSetup};

/// An agent, or a model server, that prompts can run on.
///
/// Only [`name`](Harness::name), [`title`](Harness::title) and [`open`](Harness::open) are required. Each further
/// ability is a value of its own, fetched as an `Option`: what a harness lacks cannot be asked for, and an evaluation
/// that needs it fails before anything is started.
pub trait Harness: fmt::Debug + Send + Sync {
    /// Its name in records, for example `claude`.
    fn name(&self) -> &str;

    /// Its name for people, for example `Claude Code`.
    fn title(&self) -> &str;

    /// Starts a new conversation. It need not wait until the agent is ready.
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Conversation>, HarnessError>;

    /// How its home is made, if it finds skills in a home. Without it, skills stay in the prompt.
    fn home(&self) -> Option<&AgentSetup> {
        None
    }

    /// How it gets the prompt's skills without a home: as tools, or in its instructions.
    fn skill_tools(&self) -> Option<&SkillTools> {
        None
    }

    /// Calling the prompt's tools.
    fn tools(&self) -> Option<&dyn PromptTools> {
        None
    }

    /// Continues a conversation of an earlier process.
    fn resume(&self) -> Option<&dyn Resume> {
        None
    }

    /// Asking for permission before it uses its own tools.
    fn permissions(&self) -> Option<&dyn AsksPermission> {
        None
    }

    /// Ending a turn without ending the agent.
    fn interrupt(&self) -> Option<&dyn Interrupts> {
        None
    }
}

/// An agent that can call the tools of a prompt.
pub trait PromptTools {
    /// What the agent calls a tool of the prompt, for rules and permission requests: for example `mcp__metier__lint`.
    fn called_as(&self, tool: &str) -> String;
}

/// An agent that can continue an earlier conversation.
pub trait Resume {
    /// Opens the conversation with this id.
    fn resume(
        &self,
        opening: &Opening<'_>,
        conversation: &str,
    ) -> Result<Box<dyn Conversation>, HarnessError>;
}

/// An agent that asks for permission before it calls some of its own tools.
pub trait AsksPermission {
    /// For which tools it asks, in words for a person.
    fn asks_for(&self) -> &str;
}

/// An agent whose turn can be interrupted.
pub trait Interrupts {
    /// How long it may take until an interrupted turn has ended. After that the agent is stopped.
    fn patience(&self) -> Duration {
        Duration::from_secs(3)
    }
}

/// What an agent is started with.
#[derive(Debug)]
#[non_exhaustive]
pub struct Opening<'a> {
    /// The prompt, with its tools. Its text is sent by [`Conversation::prompt`].
    pub prompt: &'a RenderedPrompt,
    /// The home and the working directory, for agents that have a [`Harness::home`].
    pub place: Option<&'a AgentPlace>,
    /// The model that is asked for, if any.
    pub model: Option<&'a str>,
    /// The JSON schema of the answer, if it must have one. It is also in the prompt's text, so an agent may ignore it.
    pub schema: Option<&'a Value>,
    /// Tools that load the prompt's skills, for agents that have [`Harness::skill_tools`]. Calls of them are
    /// [`AgentMessage::ToolCall`] as well.
    pub skill_tools: &'a [SkillTool],
    /// What the model is told besides the prompt, for the same agents: which skills there are, and how to load them.
    pub instructions: Option<&'a str>,
}

/// A conversation with a running agent. Dropping it stops the agent with all its processes.
pub trait Conversation: fmt::Debug {
    /// Sends a prompt. It begins a turn, which ends with [`AgentMessage::TurnEnded`].
    fn prompt(&mut self, text: &str) -> Result<(), HarnessError>;

    /// The next message of the agent; waits for one at most this long. `None` if there was none in time.
    fn receive(&mut self, wait: Duration) -> Result<Option<AgentMessage>, HarnessError>;

    /// Answers a request of the agent.
    fn answer(&mut self, answer: &Answered<'_>) -> Result<(), HarnessError>;

    /// Asks the agent to end its turn. It is only called if the harness has [`Harness::interrupt`].
    fn interrupt(&mut self) -> Result<(), HarnessError>;

    /// Ends the agent. It gets a moment to write what it must; then it is stopped.
    fn finish(&mut self) -> Result<(), HarnessError>;

    /// What stops the agent at once, from another thread. It is used at a limit that passes while the caller's own code
    /// runs, for example a tool of the prompt. Without it, such an agent is stopped when that code returns.
    fn stopper(&self) -> Option<AgentStopper> {
        None
    }
}

/// Stops an agent with everything it started, without waiting for that.
pub type AgentStopper = Box<dyn FnOnce() + Send>;

/// The answer to a request of an agent.
#[derive(Debug, Clone, Copy)]
pub enum Answered<'a> {
    /// To [`AgentMessage::Permission`].
    Permission {
        /// The request.
        id: &'a str,
        /// The answer.
        answer: &'a PermissionAnswer,
    },
    /// To [`AgentMessage::ToolCall`].
    Tool {
        /// The request.
        id: &'a str,
        /// The result.
        result: &'a ToolAnswered,
    },
}

/// What a harness can do, as data: for tables and for choosing an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "one for each ability, made from the abilities themselves")]
pub struct Capabilities {
    /// Its name.
    pub agent: String,
    /// It finds skills in its home.
    pub skills: bool,
    /// It gets the prompt's skills as tools, or in its instructions.
    pub skill_tools: bool,
    /// It can call the tools of a prompt.
    pub tools: bool,
    /// It asks for permission.
    pub permissions: bool,
    /// A turn can be interrupted.
    pub interrupt: bool,
    /// An earlier conversation can be resumed.
    pub resume: bool,
}

impl Capabilities {
    /// What this harness can do.
    pub fn of(harness: &dyn Harness) -> Self {
        Self {
            agent: harness.name().to_owned(),
            skills: harness.home().is_some(),
            skill_tools: harness.skill_tools().is_some(),
            tools: harness.tools().is_some(),
            permissions: harness.permissions().is_some(),
            interrupt: harness.interrupt().is_some(),
            resume: harness.resume().is_some(),
        }
    }
}
