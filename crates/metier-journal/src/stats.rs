//! What was used how often: the metrics of each skill, from its records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Event, RecordedAnswer, ScriptOutcome};
use crate::record::RecordRef;

/// What was used how often.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JournalStats {
    /// How many records there are.
    pub records: u64,
    /// How many of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// How many sessions.
    pub sessions: u64,
    /// Each skill by its name.
    pub skills: BTreeMap<String, SkillStats>,
    #[serde(skip)]
    seen: std::collections::BTreeSet<String>,
}

/// How a skill was used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SkillStats {
    /// How often its body was handed out.
    pub activations: u64,
    /// How often it was not.
    pub activation_failures: u64,
    /// Tokens of its lines in catalogues.
    pub catalogue_tokens: u64,
    /// Tokens of its bodies.
    pub body_tokens: u64,
    /// Tokens of its resources.
    pub resource_tokens: u64,
    /// How often a resource was read.
    pub reads: u64,
    /// How often a script was started.
    pub script_runs: u64,
    /// How many of these did not end with exit code 0.
    pub script_failures: u64,
    /// How often a script was not started because the policy or a person said no.
    pub script_denials: u64,
    /// How often a script was not started because something was missing or wrong.
    pub script_errors: u64,
    /// How long scripts ran.
    pub script_duration_us: u64,
    /// Yes from a person.
    pub approvals: u64,
    /// No from a person.
    pub refusals: u64,
    /// When it was last in a record.
    pub last: Option<String>,
}

impl JournalStats {
    pub(crate) fn add(&mut self, row: &RecordRef<'_>) {
        self.records += 1;
        if let Some(session) = row.session
            && self.seen.insert(session.to_owned())
        {
            self.sessions += 1;
        }
        *self.kinds.entry(row.kind()).or_default() += 1;
        let Some(event) = row.to_event() else { return };
        let Some(name) = event.skill() else { return };
        let skill = self.skills.entry(name.to_owned()).or_default();
        skill.last = skill.last.take().max(Some(row.time.to_owned()));
        skill.add(&event);
    }
}

impl SkillStats {
    /// Counts what happened.
    pub fn add(&mut self, event: &Event) {
        match event {
            Event::SkillDiscovered { tokens, .. } => self.catalogue_tokens += tokens,
            Event::SkillActivated { tokens, .. } => {
                self.activations += 1;
                self.body_tokens += tokens;
            }
            Event::SkillExpanded { tokens, .. } => self.body_tokens += tokens,
            Event::SkillActivationFailed { .. } => self.activation_failures += 1,
            Event::SkillResourceRead { tokens, .. } => {
                self.reads += 1;
                self.resource_tokens += tokens;
            }
            Event::SkillScriptExecuted(run) => {
                match run.outcome {
                    ScriptOutcome::Denied => self.script_denials += 1,
                    ScriptOutcome::Failed => self.script_errors += 1,
                    outcome => {
                        self.script_runs += 1;
                        self.script_failures +=
                            u64::from(outcome != ScriptOutcome::Exited || run.exit != Some(0));
                    }
                }
                self.script_duration_us += run.duration_us;
            }
            Event::SkillApproval { answer: RecordedAnswer::Granted, .. } => self.approvals += 1,
            Event::SkillApproval { answer: RecordedAnswer::Refused, .. } => self.refusals += 1,
            _ => {}
        }
    }
}
