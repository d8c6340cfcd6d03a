//! Decides what skills and tools may do: a request in, a [`Decision`] out, with a code, a reason and the rule that
//! decided.
//!
//! There are two kinds of decisions. A [`Guard`] decides whether a tool may be called while skills are active, by their
//! [`Allowlist`]s and all [`Denylist`]s. A [`Policy`] decides whether a skill may be loaded, read or run, by its tier,
//! the settings of users and organisations, and stored approvals.
//!
//! *Architecture invariant:* decisions only. No disk, no network, no clock, no terminal: everything is passed in, and
//! approvals are requested through an [`Approver`]. Nothing here panics on any input.

mod allowlist;
mod approval;
mod awk;
mod call;
mod critical;
mod decision;
mod denylist;
mod directories;
mod domain;
mod error;
mod glob;
mod guard;
mod host;
mod invocation;
mod lint;
mod mentions;
mod moves;
mod oddity;
mod own;
mod parsed;
mod paths;
mod policy;
mod powershell;
mod programs;
mod reach;
mod readers;
mod request;
mod rule;
mod sed;
mod settings;
mod settings_lint;
mod shell;
mod suspicion;
mod tools;
mod wildcard;

pub use allowlist::{Allowlist, AllowlistMiss};
pub use approval::{Answer, Approval, Approvals, Approver, Lifetime, NoApprover, Question};
pub use call::ToolCall;
pub use decision::{Decision, DecisionCode, Verdict};
pub use denylist::Denylist;
pub use error::PolicyError;
pub use guard::{Guard, GuardMode, GuardedSkill};
pub use lint::lint;
pub use oddity::CallOddity;
pub use own::{CommandEffect, OWN_COMMANDS, OwnCommand};
pub use paths::Anchors;
pub use policy::{Policy, Settlement};
pub use reach::Reach;
pub use request::{Access, Action, Request, ToolConcern};
pub use rule::RuleNote;
pub use settings::{PolicyRule, PolicySettings};
pub use settings_lint::PolicyFinding;
pub use tools::is_own_tool;
