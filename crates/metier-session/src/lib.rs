//! One agent conversation: connects catalog, policy, sandbox, journal and store.
//!
//! A [`Session`] activates skills, returns their files, runs their scripts and decides about tool calls. Everything it
//! returns or runs matches the digest that it records: a skill is identified by the digest of its content at first use,
//! and later changes are an error. An operation that cannot be recorded is not performed.
//!
//! [`replay`] checks later that the recorded operations match the stored skills.
//!
//! *Architecture invariant:* this crate has no rules about what is allowed; they are all in the policy. The clock, ids,
//! directories and the approver are passed in.

mod activate;
mod active_skill;
mod approvals;
mod budget;
mod bus;
mod check;
mod content;
mod disclose;
mod error;
mod evaluation;
mod mutation;
mod offered;
mod propose;
mod replay;
mod report;
mod resource;
mod script;
mod script_run;
mod server_call;
mod session;
mod shown;
mod skill_script;
mod source;
mod state;
mod tool_call;
pub mod tools;
mod work;

pub use activate::{Activation, approval_event};
pub use active_skill::ActiveSkill;
pub use approvals::{ApprovalProblem, ApprovalStore, StoredApproval};
pub use budget::{Budget, BudgetBreach, BudgetError, ModelUsage};
pub use bus::{EmittedEvent, HandlerFailure, HandlerResult};
pub use disclose::{OverrideStore, SkillsOnDisk, ToolReply, Turn, discovered, scan_directory};
pub use error::{PathProblem, SessionError};
pub use evaluation::AgentSkill;
pub use mutation::{
    DocumentChange, DocumentFailure, DocumentVersion, FailureReason, FileGateway, MutationEnvelope,
    MutationError, MutationGateway, MutationLimits, MutationOutcome, NoGateway, Precondition, RejectCode,
};
pub use offered::OfferedSkills;
pub use propose::Proposal;
pub use replay::{Divergence, ReplayReport, replay};
pub use report::{RunReport, ScriptOutput, ScriptReport};
pub use resource::{Resource, ResourcePart, mime_type};
pub use script::{FinishedScript, PreparedScript, ScriptCall};
pub use script_run::ScriptRun;
pub use server_call::{CallContext, PermittedCall, ServerCall};
pub use session::{Recording, Session, SessionOptions};
pub use source::{SkillFiles, skill_files};
pub use tool_call::follow_links;
pub use tools::{SkillTool, SkillToolAnswer, SkillToolError, SkillToolOptions};
