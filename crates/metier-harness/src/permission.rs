//! Permission requests of agents, and who answers those that the policy leaves open.

use std::fmt;
use std::path::PathBuf;

use metier_policy::Decision;
use serde_json::Value;

/// An agent asks whether it may call one of its tools.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PermissionRequest {
    /// The request.
    pub id: String,
    /// The call that it is about, if the agent says so.
    pub call: Option<String>,
    /// The tool, as rules name it.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
    /// What the agent says about the call, for a person.
    pub description: Option<String>,
    /// The subagent that asks, by the id of the call that started it.
    pub subagent: Option<String>,
    /// The files that the call reads, if it only reads these files and does nothing else.
    pub reads: Vec<PathBuf>,
    /// The skill that the call loads, if it only loads this skill.
    pub loads: Option<String>,
}

impl PermissionRequest {
    /// A request about a call of a tool.
    pub fn new(id: impl Into<String>, tool: impl Into<String>, arguments: Value) -> Self {
        let (id, tool) = (id.into(), tool.into());
        Self {
            id,
            call: None,
            tool,
            arguments,
            description: None,
            subagent: None,
            reads: Vec::new(),
            loads: None,
        }
    }
}

/// The answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// The tool may be called with these arguments, this once.
    Allow,
    /// It may not.
    Deny {
        /// Why, for the model.
        reason: String,
    },
}

impl PermissionAnswer {
    /// Whether the tool may be called.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow)
    }
}

/// Answers the permission requests that the policy neither allows by a rule nor denies.
pub trait PermissionHandler {
    /// Answers a request. `decision` is what the policy says about it. `None` means that no person can be asked, which
    /// denies it.
    fn ask(&mut self, request: &PermissionRequest, decision: &Decision) -> Option<PermissionAnswer>;
}

/// Ready-made ways to answer permission requests.
///
/// ```
/// use metier_harness::{PermissionAnswer, Permissions};
///
/// let read_only = Permissions::from_fn(|request, _| match request.tool.as_str() {
///     "WebSearch" => Some(PermissionAnswer::Allow),
///     _ => Some(PermissionAnswer::Deny { reason: "only searching is allowed".to_owned() }),
/// });
/// ```
pub struct Permissions<'a>(Box<Answering<'a>>);

type Answering<'a> = dyn FnMut(&PermissionRequest, &Decision) -> Option<PermissionAnswer> + 'a;

impl<'a> Permissions<'a> {
    /// Denies everything that no rule allows. This is the default.
    pub fn deny() -> Self {
        Self::from_fn(|_, _| None)
    }

    /// Allows everything that no rule denies. Use it where the agent can do no harm, for example in a container.
    pub fn allow() -> Self {
        Self::from_fn(|_, _| Some(PermissionAnswer::Allow))
    }

    /// Answers by a function.
    pub fn from_fn(
        answer: impl FnMut(&PermissionRequest, &Decision) -> Option<PermissionAnswer> + 'a,
    ) -> Self {
        Self(Box::new(answer))
    }
}

impl PermissionHandler for Permissions<'_> {
    fn ask(&mut self, request: &PermissionRequest, decision: &Decision) -> Option<PermissionAnswer> {
        (self.0)(request, decision)
    }
}

impl fmt::Debug for Permissions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permissions")
    }
}
