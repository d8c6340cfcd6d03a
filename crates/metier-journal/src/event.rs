//! What can happen: the events that a journal keeps, with the names of their members. Nothing here writes them.

mod script;

use std::collections::BTreeMap;

use metier_skill::{Digest, Tier};
use serde::{Deserialize, Serialize};

pub use self::script::{
    ConnectionRecord, NetworkUse, PathList, PlantedFile, RunApproval, RunFacts, RunUsage, ScriptExecuted,
    ScriptOutcome, TouchedPaths,
};
use crate::privacy::RecordedContent;
pub use crate::privacy::Variable;

/// Something that happened. In JSON, `kind` says what.
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
        /// What runs it, as `claude-code`.
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
        /// How far it is trusted.
        tier: Tier,
        /// What it costs in the catalogue.
        tokens: u64,
    },
    /// The catalog changed.
    #[serde(rename = "skills.changed")]
    SkillsChanged {
        /// Names that are new.
        added: Vec<String>,
        /// Names whose skill has changed.
        changed: Vec<String>,
        /// Names that are gone.
        removed: Vec<String>,
    },
    /// Skills were installed.
    #[serde(rename = "skills.installed")]
    SkillsInstalled {
        /// Each name with the digest of its tree.
        skills: BTreeMap<String, Digest>,
        /// Where they came from.
        source: String,
        /// Those of them that a scan would have stopped, had nobody accepted the risk.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        accepted: Vec<String>,
    },
    /// Skills were copied into a directory, such as an agent's home.
    #[serde(rename = "skills.mounted")]
    SkillsMounted {
        /// Each name with the digest of the copy.
        skills: BTreeMap<String, Digest>,
        /// The directory, or the agent whose home it is.
        place: String,
    },
    /// A person marked a folder as trusted, or took the mark off.
    #[serde(rename = "trust.changed")]
    TrustChanged {
        /// Its real path.
        folder: String,
        /// Whether it is trusted from now on.
        trusted: bool,
    },
    /// A skill's body was handed out.
    #[serde(rename = "skill.activated")]
    SkillActivated {
        /// Its id in the catalog.
        skill_id: String,
        /// Its name.
        name: String,
        /// How far it is trusted.
        tier: Tier,
        /// Of the bytes that were handed out.
        skill_md_digest: Digest,
        /// Of the whole skill.
        tree_digest: Digest,
        /// Who asked for it.
        trigger: Trigger,
        /// What the body costs.
        tokens: u64,
        /// How long it took.
        #[serde(default)]
        duration_us: u64,
    },
    /// A skill's body was not handed out.
    #[serde(rename = "skill.activation_failed")]
    SkillActivationFailed {
        /// What was asked for.
        name: String,
        /// Who asked for it.
        trigger: Trigger,
        /// The error's code.
        code: String,
        /// The rule of the policy that asked or denied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    /// The section of a skill was switched from its summary to its full text.
    #[serde(rename = "skill.expanded")]
    SkillExpanded {
        /// The skill, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The prompt, as `namespace/key`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// Which.
        section: String,
        /// What the text costs.
        tokens: u64,
    },
    /// A tool of a prompt was called.
    #[serde(rename = "tool.invoked")]
    ToolInvoked(Box<ToolInvoked>),
    /// A prompt was not rendered quite as it was asked for.
    #[serde(rename = "prompt.warning")]
    PromptWarning {
        /// The prompt, as `namespace/key`.
        prompt: String,
        /// The section or the tool.
        target: String,
        /// The warning's code.
        code: String,
    },
    /// A resource was handed out.
    #[serde(rename = "skill.resource_read")]
    SkillResourceRead {
        /// The skill.
        name: String,
        /// The digest of the whole skill.
        tree_digest: Digest,
        /// The resource, inside the skill.
        path: String,
        /// What was handed out.
        content: RecordedContent,
        /// Which part of it, where it was not all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<ByteRange>,
        /// What it costs.
        tokens: u64,
        /// How long it took.
        #[serde(default)]
        duration_us: u64,
    },
    /// A script ran, or was kept from running.
    #[serde(rename = "skill.script_executed")]
    SkillScriptExecuted(Box<ScriptExecuted>),
    /// The policy decided on a call of a tool.
    #[serde(rename = "skill.tool_call_decided")]
    SkillToolCallDecided {
        /// The tool.
        tool: String,
        /// What it was called with.
        arguments: RecordedContent,
        /// `allow`, `ask` or `deny`.
        decision: String,
        /// The decision's code.
        code: String,
        /// The rule that asked or denied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The skills that were active.
        skills: Vec<String>,
    },
    /// A person, or a host for them, answered a question.
    #[serde(rename = "skill.approval")]
    SkillApproval {
        /// The skill.
        name: String,
        /// The digest of the whole skill.
        tree_digest: Digest,
        /// The script, if it is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<String>,
        /// What it is about: `activate`, `scripts`, `network`, `destructive`.
        access: String,
        /// What of the network, if it is about that: `host` for the whole, or `host:port` with commas between.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        network: Option<String>,
        /// What they said.
        answer: RecordedAnswer,
        /// How long it holds: `once`, `session`, `digest`.
        lifetime: String,
        /// Whose answer it is, where that is not the person whose machine this is: the holder of a token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// How it was given: `terminal`, `command`, `flag`, `client`, or by a `host`'s own means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<String>,
    },
    /// A check failed, and what depended on it was not done: something is not what it should be.
    #[serde(rename = "check.failed")]
    CheckFailed(Box<CheckReport>),
    /// A check that ran a program was passed.
    #[serde(rename = "check.passed")]
    CheckPassed(Box<CheckReport>),
    /// A skill's rules no longer apply.
    #[serde(rename = "skill.deactivated")]
    SkillDeactivated {
        /// Its name.
        name: String,
    },
    /// Somebody wants to change a protected document.
    #[serde(rename = "mutation.proposed")]
    MutationProposed {
        /// The request.
        request_id: String,
        /// The document.
        target: String,
        /// What it would become.
        payload: RecordedContent,
        /// The active skills with the digests of their trees.
        skills: BTreeMap<String, Digest>,
    },
    /// What became of that.
    #[serde(rename = "mutation.decided")]
    MutationDecided {
        /// The request.
        request_id: String,
        /// `applied`, `conflict`, `rejected` or `unavailable`.
        outcome: String,
        /// Why.
        code: String,
    },
    /// The journal's first record.
    #[serde(rename = "journal.created")]
    JournalCreated {
        /// Which journal this is, among all.
        journal: uuid::Uuid,
        /// The format of its records.
        format: u64,
    },
    /// The Merkle root over all records before this one.
    #[serde(rename = "journal.checkpoint")]
    JournalCheckpoint {
        /// How many they are.
        size: u64,
        /// The root.
        root: Digest,
        /// The roots of the full trees that it is made of, the largest first.
        nodes: Vec<Digest>,
    },
}

impl Event {
    /// The skill that it is about, where it is about one.
    pub fn skill(&self) -> Option<&str> {
        match self {
            Self::SkillDiscovered { name, .. }
            | Self::SkillActivated { name, .. }
            | Self::SkillActivationFailed { name, .. }
            | Self::SkillResourceRead { name, .. }
            | Self::SkillApproval { name, .. }
            | Self::SkillDeactivated { name } => Some(name),
            Self::SkillScriptExecuted(run) => Some(&run.name),
            Self::CheckFailed(check) | Self::CheckPassed(check) => Some(&check.name),
            Self::SkillExpanded { name, .. } => name.as_deref(),
            _ => None,
        }
    }
}

/// A check, and what it found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The skill.
    pub name: String,
    /// What was checked: `installed`, `session`, `verify`, `signature`, `lock`, `dependencies`.
    pub check: String,
    /// What the skill should be, or is, by its digest, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_digest: Option<Digest>,
    /// The code of what was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What was found, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Some bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// Where they begin.
    pub offset: u64,
    /// How many they are.
    pub length: u64,
}

/// Who asked for a skill.
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

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecordedAnswer {
    /// Yes.
    Granted,
    /// No.
    Refused,
    /// What they had said no longer counts.
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

/// A call of a tool that a prompt brought along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolInvoked {
    /// The tool.
    pub tool: String,
    /// The call: what the agent calls it, else an id of its own.
    pub call_id: String,
    /// What it was called with.
    pub arguments: RecordedContent,
    /// What came of it.
    pub outcome: ToolOutcome,
    /// The code of the refusal or of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What the model was answered.
    pub answer: RecordedContent,
    /// What the tool wanted to have recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<RecordedContent>,
    /// The skills that were active.
    pub skills: Vec<String>,
    /// How long it took.
    pub duration_us: u64,
}

/// What came of a call of a tool. Only where it is done has the session's state changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolOutcome {
    /// It did what it was asked.
    Done,
    /// It did not, or stopped unexpectedly; the state was put back.
    Failed,
    /// It was never called: the arguments were not what it takes, or there is no such tool.
    Refused,
    /// It was never called: the policy or a section said no.
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
