//! The events that a journal records, with the names of their members.

mod evaluation;
mod script;
mod server_call;

use std::collections::BTreeMap;

use metier_skill::{Digest, Tier};
use serde::{Deserialize, Serialize};

pub use self::evaluation::{EvaluationEnd, EvaluationStart, PromptSkills};
pub use self::script::{
    ConnectionRecord, NetworkUse, PathList, PlantedFile, RunApproval, RunFacts, RunUsage, ScriptExecuted,
    ScriptOutcome, TouchedPaths,
};
pub use self::server_call::{ServerCallOutcome, ServerToolCalled};
use crate::privacy::RecordedContent;
pub use crate::privacy::Variable;
use crate::time::Time;

/// An event. In JSON, `kind` names its kind. Hosts can record other kinds with [`PendingRecord::of_value`](crate::PendingRecord::of_value).
///
/// ```
/// use metier_journal::Event;
///
/// let event = Event::SkillDeactivated { name: "pdf".to_owned() };
/// assert_eq!(serde_json::to_string(&event).unwrap(), r#"{"kind":"skill.deactivated","name":"pdf"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
#[non_exhaustive]
pub enum Event {
    /// A session began.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The agent, such as `claude-code`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// A session ended.
    #[serde(rename = "session.ended")]
    SessionEnded {},
    /// A skill was shown to a model by name and description.
    #[serde(rename = "skill.discovered")]
    SkillDiscovered {
        /// Its id in the catalog.
        skill_id: String,
        /// Its name.
        name: String,
        /// Its trust tier.
        tier: Tier,
        /// The tokens of its entry in the skill list.
        tokens: u64,
    },
    /// The catalog changed.
    #[serde(rename = "skills.changed")]
    SkillsChanged {
        /// Added names.
        added: Vec<String>,
        /// Names of changed skills.
        changed: Vec<String>,
        /// Removed names.
        removed: Vec<String>,
    },
    /// Skills were installed.
    #[serde(rename = "skills.installed")]
    SkillsInstalled {
        /// Each name with the digest of its tree.
        skills: BTreeMap<String, Digest>,
        /// Their source.
        source: String,
        /// Those with scan findings that a person accepted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        accepted: Vec<String>,
        /// The prompt that brought them into an agent's home, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none", flatten)]
        prompt: Option<Box<PromptSkills>>,
    },
    /// Skills were copied into a directory, such as an agent's home.
    #[serde(rename = "skills.mounted")]
    SkillsMounted {
        /// Each name with the digest of the copy.
        skills: BTreeMap<String, Digest>,
        /// The directory, or the agent whose home it is.
        place: String,
    },
    /// Skills were made visible to an agent by links in the user's home.
    #[serde(rename = "skills.linked")]
    SkillsLinked {
        /// Each name with the directory that its link leads to.
        skills: BTreeMap<String, String>,
        /// The directory of the links.
        place: String,
    },
    /// Such links were removed.
    #[serde(rename = "skills.unlinked")]
    SkillsUnlinked {
        /// Each name with the directory that its link led to.
        skills: BTreeMap<String, String>,
        /// The directory of the links.
        place: String,
    },
    /// A person marked a folder as trusted, or removed the mark.
    #[serde(rename = "trust.changed")]
    TrustChanged {
        /// Its real path.
        folder: String,
        /// Whether it is trusted from now on.
        trusted: bool,
    },
    /// The guard was installed into a person's own agent, or removed.
    #[serde(rename = "guard.changed")]
    GuardChanged {
        /// The agent.
        agent: String,
        /// The home or the project.
        place: String,
        /// Whether it is installed from now on.
        installed: bool,
    },
    /// The body of a skill was returned.
    #[serde(rename = "skill.activated")]
    SkillActivated {
        /// Its id in the catalog.
        skill_id: String,
        /// Its name.
        name: String,
        /// Its trust tier.
        tier: Tier,
        /// The digest of the bytes that were returned.
        skill_md_digest: Digest,
        /// The digest of the whole skill.
        tree_digest: Digest,
        /// Who requested it.
        trigger: Trigger,
        /// The tokens of the body.
        tokens: u64,
        /// The duration in microseconds.
        #[serde(default)]
        duration_us: u64,
        /// The `SKILL.md` that an agent read by itself, where it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// Activating a skill failed.
    #[serde(rename = "skill.activation_failed")]
    SkillActivationFailed {
        /// The requested name.
        name: String,
        /// Who requested it.
        trigger: Trigger,
        /// The error's code.
        code: String,
        /// The rule of the policy that asked or denied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    /// A section of a prompt was switched from its summary to its full text.
    #[serde(rename = "skill.expanded")]
    SkillExpanded {
        /// The skill, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The prompt, as `namespace/key`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// The section.
        section: String,
        /// The tokens of the text.
        tokens: u64,
    },
    /// A prompt was given to an agent.
    #[serde(rename = "evaluation.started")]
    EvaluationStarted(Box<EvaluationStart>),
    /// An agent answered a prompt, or failed to.
    #[serde(rename = "evaluation.ended")]
    EvaluationEnded(Box<EvaluationEnd>),
    /// A tool of a prompt was called.
    #[serde(rename = "tool.invoked")]
    ToolInvoked(Box<ToolInvoked>),
    /// A prompt was not rendered exactly as requested.
    #[serde(rename = "prompt.warning")]
    PromptWarning {
        /// The prompt, as `namespace/key`.
        prompt: String,
        /// The section or the tool.
        target: String,
        /// The warning's code.
        code: String,
    },
    /// A resource was returned.
    #[serde(rename = "skill.resource_read")]
    SkillResourceRead {
        /// The skill.
        name: String,
        /// The digest of the whole skill.
        tree_digest: Digest,
        /// The path of the resource in the skill.
        path: String,
        /// The content that was returned.
        content: RecordedContent,
        /// The part that was returned; `None` for the whole file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<ByteRange>,
        /// Its tokens.
        tokens: u64,
        /// The duration in microseconds.
        #[serde(default)]
        duration_us: u64,
    },
    /// A script ran, or was refused.
    #[serde(rename = "skill.script_executed")]
    SkillScriptExecuted(Box<ScriptExecuted>),
    /// The policy decided on a tool call.
    #[serde(rename = "skill.tool_call_decided")]
    SkillToolCallDecided {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: RecordedContent,
        /// `allow`, `ask` or `deny`.
        decision: String,
        /// The decision's code.
        code: String,
        /// The rule that asked or denied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The skills that were active, with the digests of their trees.
        skills: BTreeMap<String, Digest>,
    },
    /// A tool of an MCP server was called, after the policy had allowed that.
    #[serde(rename = "server.tool_called")]
    ServerToolCalled(Box<ServerToolCalled>),
    /// A person, or the host on their behalf, answered a question.
    #[serde(rename = "skill.approval")]
    SkillApproval {
        /// The skill, or the MCP server.
        name: String,
        /// The digest of the whole skill, or of the tool's definition.
        tree_digest: Digest,
        /// The script or the tool, if the question is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<String>,
        /// The requested access: `activate`, `scripts`, `network`, `destructive`, `tools`.
        access: String,
        /// The requested network access: `host` for all of it, or a comma-separated list of `host:port`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        network: Option<String>,
        /// The answer.
        answer: RecordedAnswer,
        /// How long it is valid: `once`, `session`, `digest`.
        lifetime: String,
        /// Who answered, if not the user of this machine: the holder of a token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// How it was given: `terminal`, `command`, `flag`, `client` or `host`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<String>,
    },
    /// A check failed, and the action that depended on it was not performed.
    #[serde(rename = "check.failed")]
    CheckFailed(Box<CheckReport>),
    /// A check that ran a program passed.
    #[serde(rename = "check.passed")]
    CheckPassed(Box<CheckReport>),
    /// The rules of a skill no longer apply.
    #[serde(rename = "skill.deactivated")]
    SkillDeactivated {
        /// Its name.
        name: String,
    },
    /// A change of a protected document was requested.
    #[serde(rename = "mutation.proposed")]
    MutationProposed {
        /// The request.
        request_id: String,
        /// The document.
        target: String,
        /// The proposed content.
        payload: RecordedContent,
        /// The active skills with the digests of their trees.
        skills: BTreeMap<String, Digest>,
    },
    /// The result of such a request.
    #[serde(rename = "mutation.decided")]
    MutationDecided {
        /// The request.
        request_id: String,
        /// `applied`, `conflict`, `rejected` or `unavailable`.
        outcome: String,
        /// The reason as a code.
        code: String,
    },
    /// The journal's first record.
    #[serde(rename = "journal.created")]
    JournalCreated {
        /// The id of the journal.
        journal: uuid::Uuid,
        /// The format of its records.
        format: u64,
    },
    /// The Merkle root over all records before this one.
    #[serde(rename = "journal.checkpoint")]
    JournalCheckpoint {
        /// The number of these records.
        size: u64,
        /// The root.
        root: Digest,
        /// The roots of the full subtrees, the largest first.
        nodes: Vec<Digest>,
    },
    /// The oldest records were moved into an archive.
    #[serde(rename = "journal.archived")]
    JournalArchived(Box<ArchivedRecords>),
}

impl Event {
    /// The skill that the event is about, if it is about one.
    pub fn skill(&self) -> Option<&str> {
        match self {
            Self::SkillDiscovered { name, .. }
            | Self::SkillActivated { name, .. }
            | Self::SkillActivationFailed { name, .. }
            | Self::SkillResourceRead { name, .. }
            | Self::SkillDeactivated { name } => Some(name),
            // Answers about tools name a server.
            Self::SkillApproval { name, access, .. } => (access != "tools").then_some(name),
            Self::SkillScriptExecuted(run) => Some(&run.name),
            Self::CheckFailed(check) | Self::CheckPassed(check) => Some(&check.name),
            Self::SkillExpanded { name, .. } => name.as_deref(),
            _ => None,
        }
    }
}

/// Records that were moved into an archive, and how to recognise it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedRecords {
    /// The id of the journal.
    pub journal: uuid::Uuid,
    /// Where the archive was written.
    pub path: String,
    /// The SHA-256 of the file.
    pub digest: Digest,
    /// The size of the file.
    pub bytes: u64,
    /// The sequence of its first record.
    pub first: u64,
    /// The number of its records.
    pub records: u64,
    /// The hash of the record before its first one; all zeros if there is none.
    pub previous: Digest,
    /// The hash of its last record, which the journal's first record follows.
    pub hash: Digest,
    /// The Merkle root over all records of the journal up to its last one.
    pub root: Digest,
    /// The time of its first record.
    pub oldest: Time,
    /// The time of its last record.
    pub newest: Time,
}

/// A check and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The skill.
    pub name: String,
    /// The check: `installed`, `session`, `verify`, `signature`, `lock`, `dependencies`, `guard`.
    pub check: String,
    /// The expected or actual digest of the skill, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_digest: Option<Digest>,
    /// The code of the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The finding as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A range of bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
}

/// Who requested a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trigger {
    /// The model.
    Model,
    /// The person.
    User,
    /// Another skill.
    Nested,
}

/// The answer of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecordedAnswer {
    /// Approved.
    Granted,
    /// Refused.
    Refused,
    /// An earlier answer was revoked.
    Revoked,
}

impl RecordedAnswer {
    /// As it is recorded.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Refused => "refused",
            Self::Revoked => "revoked",
        }
    }
}

/// A call of a tool that a prompt provides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolInvoked {
    /// The tool.
    pub tool: String,
    /// The id of the call: that of the agent, or a new one.
    pub call_id: String,
    /// Its arguments.
    pub arguments: RecordedContent,
    /// The outcome.
    pub outcome: ToolOutcome,
    /// The code of the refusal or of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The answer to the model.
    pub answer: RecordedContent,
    /// Notes that the tool added to the record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<RecordedContent>,
    /// The skills that were active, with the digests of their trees.
    pub skills: BTreeMap<String, Digest>,
    /// The duration in microseconds.
    pub duration_us: u64,
}

/// The outcome of a tool call. Only `Done` changes the state of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolOutcome {
    /// It succeeded.
    Done,
    /// It failed or panicked; the state was restored.
    Failed,
    /// It was not called: the arguments are invalid, or the tool does not exist.
    Refused,
    /// It was not called: the policy or a section denied it.
    Denied,
}

impl ToolOutcome {
    /// As it is recorded.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Denied => "denied",
        }
    }
}
