//! Agents that are programs with a home: what their harnesses have in common.

use std::fmt;

use metier_home::Agent;

use crate::error::HarnessError;
use crate::harness::{AsksPermission, Conversation, Harness, Interrupts, Opening, PromptTools, Resume};
use crate::setup::{AgentPlace, AgentSetup};

/// How a program is started.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) setup: AgentSetup,
    /// Arguments of the caller.
    pub(crate) arguments: Vec<String>,
}

impl Launch {
    pub(crate) const fn new(setup: AgentSetup) -> Self {
        Self { setup, arguments: Vec::new() }
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch").field("program", &self.setup.program).finish_non_exhaustive()
    }
}

/// An agent that is a program with a home, and that can do nearly everything: a [`Harness`] with all abilities.
pub(crate) trait ProgramAgent: fmt::Debug + Send + Sync {
    /// How the program is started.
    fn launch(&self) -> &Launch;

    /// The agent.
    fn agent(&self) -> Agent;

    /// Starts a new conversation, or one that is resumed by its id.
    fn start(
        &self,
        opening: &Opening<'_>,
        place: &AgentPlace,
        resumed: Option<&str>,
    ) -> Result<Box<dyn Conversation>, HarnessError>;

    /// See [`PromptTools::called_as`].
    fn called_as(&self, tool: &str) -> String;

    /// See [`AsksPermission::asks_for`].
    fn asks_for(&self) -> &'static str;

    /// Whether it can continue a conversation of an earlier process.
    fn can_resume(&self) -> bool {
        true
    }
}

fn start(
    agent: &impl ProgramAgent,
    opening: &Opening<'_>,
    resumed: Option<&str>,
) -> Result<Box<dyn Conversation>, HarnessError> {
    let title = agent.agent().title().to_owned();
    let unsupported = || HarnessError::Unsupported { agent: title, what: "running without a home" };
    agent.start(opening, opening.place.ok_or_else(unsupported)?, resumed)
}

impl<A: ProgramAgent> Harness for A {
    fn name(&self) -> &str {
        self.agent().name()
    }

    fn title(&self) -> &str {
        self.agent().title()
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Conversation>, HarnessError> {
        start(self, opening, None)
    }

    fn home(&self) -> Option<&AgentSetup> {
        Some(&self.launch().setup)
    }

    fn tools(&self) -> Option<&dyn PromptTools> {
        Some(self)
    }

    fn resume(&self) -> Option<&dyn Resume> {
        self.can_resume().then_some(self)
    }

    fn permissions(&self) -> Option<&dyn AsksPermission> {
        Some(self)
    }

    fn interrupt(&self) -> Option<&dyn Interrupts> {
        Some(self)
    }
}

impl<A: ProgramAgent> PromptTools for A {
    fn called_as(&self, tool: &str) -> String {
        ProgramAgent::called_as(self, tool)
    }
}

impl<A: ProgramAgent> Resume for A {
    fn resume(
        &self,
        opening: &Opening<'_>,
        conversation: &str,
    ) -> Result<Box<dyn Conversation>, HarnessError> {
        start(self, opening, Some(conversation))
    }
}

impl<A: ProgramAgent> AsksPermission for A {
    fn asks_for(&self) -> &str {
        ProgramAgent::asks_for(self)
    }
}

impl<A: ProgramAgent> Interrupts for A {}
