//! One agent conversation, where catalog, policy, sandbox, journal and store meet.
//!
//! A [`Session`] activates skills, hands out their files, runs their scripts and decides about calls to tools. What it hands
//! out or runs are the very bytes whose digest it records: a skill is known by the digest of its whole content from its first
//! use on, and what has changed since is an error that says so. What cannot be recorded is not done.
//!
//! [`replay`] proves later that what was recorded could have happened.
//!
//! *Architecture invariant:* no rule about what may be done lives here; the policy has them all. The clock, ids, directories
//! and who is asked come from outside.

mod activate;
mod active_skill;
mod approvals;
mod budget;
mod bus;
mod check;
mod content;
mod disclose;
mod error;
mod mutation;
mod propose;
mod replay;
mod report;
mod resource;
mod script;
mod script_run;
mod session;
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
pub use mutation::{
    DocumentChange, DocumentFailure, DocumentVersion, FailureReason, FileGateway, MutationEnvelope,
    MutationError, MutationGateway, MutationLimits, MutationOutcome, NoGateway, Precondition, RejectCode,
};
pub use propose::Proposal;
pub use replay::{Divergence, ReplayReport, replay};
pub use report::{RunReport, ScriptOutput, ScriptReport};
pub use resource::{Resource, ResourcePart, mime_type};
pub use script::{FinishedScript, PreparedScript, ScriptCall};
pub use script_run::ScriptRun;
pub use session::{Recording, Session, SessionOptions};
pub use source::{SkillFiles, skill_files};
pub use tool_call::follow_links;
pub use tools::{SkillTool, SkillToolAnswer, SkillToolError, SkillToolOptions};
