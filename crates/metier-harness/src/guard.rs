//! Hooks between an agent and its own tools: put into its home before it starts, and asked afterwards what they saw.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use metier_session::AgentSkill;

use crate::error::HarnessError;
use crate::event::AgentEventKind;

/// Puts hooks into homes, which decide about every call of an agent's own tools. `metier-host` has one.
pub trait HomeGuard: fmt::Debug + Send + Sync {
    /// Puts the hooks into a home, before the agent starts.
    fn install(&self, home: &GuardedHome<'_>) -> Result<Box<dyn HomeHooks>, HarnessError>;
}

/// A home that hooks are put into.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct GuardedHome<'a> {
    /// The session that decisions are recorded under.
    pub session: &'a str,
    /// The directory of the home.
    pub path: &'a Path,
    /// The skills that the agent sees.
    pub skills: &'a [AgentSkill],
}

/// The hooks of one home.
pub trait HomeHooks: fmt::Debug + Send + Sync {
    /// The tools of these results that no hook had allowed, and those whose results were not as decided.
    fn unguarded(&self, results: &[ToolRun]) -> Result<Vec<String>, HarnessError>;

    /// What a program that a person talks to must be called with, so that nothing switches the hooks off.
    fn arguments(&self) -> &'static [&'static str];
}

impl<'a> GuardedHome<'a> {
    pub(crate) const fn new(session: &'a str, path: &'a Path, skills: &'a [AgentSkill]) -> Self {
        Self { session, path, skills }
    }
}

/// A result of one of the agent's own tools.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolRun {
    /// The agent's id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// Whether it failed or was denied.
    pub is_error: bool,
}

impl ToolRun {
    /// A result.
    pub fn new(call: impl Into<String>, tool: impl Into<String>, is_error: bool) -> Self {
        Self { call: call.into(), tool: tool.into(), is_error }
    }
}

/// What begins a result of Claude Code for a call that it does not run, and asks no hook about: of a tool that does not exist, or with
/// an input that does not fit. No tool's output begins so.
const NOT_RUN: &str = "<tool_use_error>";

/// Compares each result in a conversation with what the hooks saw.
#[derive(Debug)]
pub(crate) struct GuardWatch {
    guard: Box<dyn HomeHooks>,
    /// What the names of the prompt's tools begin with: the session decides about them.
    own: Option<String>,
    tools: HashMap<String, String>,
    ran: Vec<ToolRun>,
}

impl GuardWatch {
    pub(crate) fn new(guard: Box<dyn HomeHooks>, own: Option<String>) -> Self {
        Self { guard, own, tools: HashMap::new(), ran: Vec::new() }
    }

    /// Looks at an event. Returns the tools that ran without their hook.
    pub(crate) fn unguarded(&mut self, event: &AgentEventKind) -> Result<Vec<String>, HarnessError> {
        match event {
            AgentEventKind::ToolCall { id, tool, .. } => {
                self.tools.insert(id.clone(), tool.clone());
                Ok(Vec::new())
            }
            AgentEventKind::ToolResult { id, text, is_error } => {
                let tool = self.tools.get(id).cloned().unwrap_or_else(|| "unknown".to_owned());
                let is_own = self.own.as_ref().is_some_and(|own| tool.starts_with(own));
                if is_own || *is_error && text.starts_with(NOT_RUN) {
                    return Ok(Vec::new());
                }
                self.ran.push(ToolRun::new(id, tool, *is_error));
                self.guard.unguarded(&self.ran)
            }
            _ => Ok(Vec::new()),
        }
    }
}
