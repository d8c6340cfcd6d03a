//! Runs prompts on real agents, and returns their answers: as text or typed, streamed as events, governed by the policy,
//! recorded in the journal.
//!
//! [`evaluate`] takes a [`Harness`] (an agent that can be driven) and a rendering of a prompt. It makes a fresh home with
//! the prompt's skills, starts the agent, answers its permission requests and calls of the prompt's tools through the
//! [`Session`](metier_session::Session), and ends it with everything it started. The result is an [`Evaluation`].
//!
//! To drive another agent, implement [`Harness`]. For a program that talks in lines, implement [`Protocol`], which does
//! no I/O, and let [`ProgramConversation`] do the rest.
//!
//! *Architecture invariant:* nothing here decides what an agent may do; the policy of the session and the
//! [`PermissionHandler`] of the caller do. Codecs do no I/O. Everything blocks: call it on a thread that may wait.

mod acp;
mod claude;
mod codex;
mod error;
mod evaluate;
mod evaluation;
mod event;
mod frame;
mod guard;
mod harness;
mod lane;
mod lines;
mod mcp;
mod message;
mod mounted;
mod offered;
#[cfg(feature = "openai")]
mod openai;
mod output;
mod permission;
mod program;
mod program_agent;
mod protocol;
mod run;
mod setup;
mod stopwatch;
mod tool_server;
mod usage;
mod watchdog;

pub use acp::{Acp, AcpOptions, AcpProtocol};
pub use claude::{ClaudeCode, ClaudeProtocol};
pub use codex::{Codex, CodexOptions, CodexProtocol};
pub use error::HarnessError;
pub use evaluate::{EvaluationBuilder, evaluate};
pub use evaluation::{Evaluation, LoadedSkill, StopReason, Walls};
pub use event::{AgentEvent, AgentEventKind};
pub use guard::{GuardedHome, HomeGuard, HomeHooks, ToolRun};
pub use harness::{
    AgentStopper, Answered, AsksPermission, Capabilities, Conversation, Harness, Interrupts, Opening,
    PromptTools, Resume,
};
pub use lines::{AgentLine, LINE_MAX, LineSplitter};
pub use message::{AgentMessage, PromptToolCall, ToolAnswered, TurnEnd};
pub use offered::{InjectedSkills, SkillTools};
#[cfg(feature = "openai")]
pub use openai::{
    ModelCall, ModelReply, OPENAI_BASE_URL, OpenAi, OpenAiApi, OpenAiDecoder, OpenAiSettings, Prices,
    ReplyProblem, Retries, ServerEvent, SseSplitter,
};
pub use permission::{PermissionAnswer, PermissionHandler, PermissionRequest, Permissions};
pub use program::{ProgramConversation, ToolBridge};
pub use protocol::{Outbox, ProgramEnding, Protocol};
pub use setup::{AgentPlace, AgentSetup};
pub use usage::{Cost, TokenUsage, UsageSoFar};
