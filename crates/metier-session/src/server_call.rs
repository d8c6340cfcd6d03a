//! Calls of tools of MCP servers: decided and recorded in the session, performed outside of it.

use std::collections::BTreeMap;

use metier_journal::{Event, RecordedContent, ServerCallOutcome, ServerToolCalled, Time};
use metier_policy::{DecisionCode, Request, ToolConcern, Verdict};
use metier_skill::Digest;
use serde::Serialize;
use serde_json::Value;

use crate::error::SessionError;
use crate::session::Session;

/// A call of a tool of an MCP server that a client wants to make.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerCall {
    /// The server's name in the settings.
    pub server: String,
    /// The tool, as the server calls it.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The digest of the tool's definition.
    pub definition: Digest,
    /// Whether the definition differs from the one that was first seen.
    pub is_changed: bool,
}

impl ServerCall {
    /// A call of a tool with this definition.
    pub fn new(
        server: impl Into<String>,
        tool: impl Into<String>,
        arguments: Value,
        definition: Digest,
    ) -> Self {
        Self { server: server.into(), tool: tool.into(), arguments, definition, is_changed: false }
    }

    /// The tool's name as rules write it: `mcp__server__tool`.
    pub fn name(&self) -> String {
        format!("mcp__{}__{}", self.server, self.tool)
    }
}

/// A call that may be made now. Its result has to be recorded with [`Session::finish_server_call`].
#[derive(Debug, Clone)]
pub struct PermittedCall {
    call: ServerCall,
    started: Time,
    context: CallContext,
}

/// The circumstances of a call, for the server: `_meta` has it as `io.metier/skills`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CallContext {
    /// The active skills by id, with the digests of their trees.
    pub skills: BTreeMap<String, Digest>,
    /// The session.
    pub session: String,
    /// The current task, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl PermittedCall {
    /// The circumstances of the call.
    pub const fn context(&self) -> &CallContext {
        &self.context
    }
}

impl Session {
    /// Decides whether a tool of an MCP server may be called: by the rules of the active skills, the policy, and a
    /// person if approval is needed. The decision is recorded. Nothing is called here, so that the session is free
    /// while the server works.
    pub fn permit_server_call(&mut self, call: &ServerCall) -> Result<PermittedCall, SessionError> {
        let (name, text) = (call.name(), call.arguments.to_string());
        let skills = self.active_digests();
        let by_rules = self.decide_tool_call(&name, &call.arguments);
        if by_rules.verdict == Verdict::Deny {
            self.record_decision(&name, &text, &by_rules, skills)?;
            return Err(SessionError::Denied { decision: Box::new(by_rules) });
        }
        let concern = match by_rules.verdict {
            _ if call.is_changed => Some(ToolConcern::Changed),
            Verdict::Ask => Some(ToolConcern::NotPreApproved),
            _ => None,
        };
        let arguments = [text];
        let mut request = Request::to_call(&call.server, &call.tool, call.definition, concern);
        request.arguments = Some(&arguments);
        let decided = self.settle(&request);
        let [text] = &arguments;
        match decided {
            Ok(mut decision) => {
                if decision.code == DecisionCode::ToolAllowed {
                    decision = by_rules;
                }
                self.record_decision(&name, text, &decision, skills)?;
            }
            Err(SessionError::Denied { decision }) => {
                self.record_decision(&name, text, &decision, skills)?;
                return Err(SessionError::Denied { decision });
            }
            Err(other) => return Err(other),
        }
        let skills = self.active().map(|held| (held.id.clone(), held.tree_digest)).collect();
        let (session, task) = (self.id().to_owned(), self.context.task.clone());
        let context = CallContext { skills, session, task };
        Ok(PermittedCall { call: call.clone(), started: self.options.clock.now(), context })
    }

    /// Records the result of a call, with the answer as it was received.
    pub fn finish_server_call(
        &mut self,
        permitted: PermittedCall,
        outcome: ServerCallOutcome,
        code: Option<&str>,
        answer: &[u8],
    ) -> Result<(), SessionError> {
        let PermittedCall { call, started, context } = permitted;
        let content = |bytes: &[u8]| -> RecordedContent { self.options.privacy.content(bytes) };
        let called = ServerToolCalled {
            arguments: content(call.arguments.to_string().as_bytes()),
            answer: content(answer),
            server: call.server,
            tool: call.tool,
            definition: call.definition,
            outcome,
            code: code.map(str::to_owned),
            skills: context.skills,
            duration_us: self.since(started),
        };
        let recorded = self.record(&Event::ServerToolCalled(Box::new(called)));
        recorded.map_err(|error| match error {
            SessionError::Journal(source) => SessionError::Unrecorded { source },
            other => other,
        })
    }
}
