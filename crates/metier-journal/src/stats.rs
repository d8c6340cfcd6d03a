//! Usage statistics per skill, computed from records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{EvaluationEnd, Event, RecordedAnswer, ScriptOutcome};
use crate::record::RecordRef;

/// Usage statistics of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JournalStats {
    /// The number of records.
    pub records: u64,
    /// The number of records of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// The number of sessions.
    pub sessions: u64,
    /// The statistics of each skill, by name.
    pub skills: BTreeMap<String, SkillStats>,
    /// Prompts that agents answered, by agent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub evaluations: BTreeMap<String, EvaluationStats>,
    #[serde(skip)]
    seen: std::collections::BTreeSet<String>,
}

/// What the evaluations of one agent used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvaluationStats {
    /// How many ended.
    pub evaluations: u64,
    /// How many of these ended with an error.
    pub failures: u64,
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Cost in millionths of a US dollar, where agents reported it.
    pub cost_microdollars: u64,
    /// Time in microseconds.
    pub duration_us: u64,
}

/// Usage statistics of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SkillStats {
    /// How often its body was returned.
    pub activations: u64,
    /// How often activating it failed.
    pub activation_failures: u64,
    /// Tokens of its entries in skill lists.
    pub catalogue_tokens: u64,
    /// Tokens of returned bodies.
    pub body_tokens: u64,
    /// Tokens of returned resources.
    pub resource_tokens: u64,
    /// How often a resource was read.
    pub reads: u64,
    /// How often a script was started.
    pub script_runs: u64,
    /// How many of these did not end with exit code 0.
    pub script_failures: u64,
    /// How often the policy or a person refused a script.
    pub script_denials: u64,
    /// How often a script could not be started because of an error.
    pub script_errors: u64,
    /// The total run time of scripts, in microseconds.
    pub script_duration_us: u64,
    /// How often a person approved a request.
    pub approvals: u64,
    /// How often a person refused a request.
    pub refusals: u64,
    /// The time of its last record.
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
        if let Event::EvaluationEnded(ended) = &event {
            self.evaluations.entry(ended.agent.clone()).or_default().add(ended);
        }
        let Some(name) = event.skill() else { return };
        let skill = self.skills.entry(name.to_owned()).or_default();
        skill.last = skill.last.take().max(Some(row.time.to_owned()));
        skill.add(&event);
    }
}

impl EvaluationStats {
    fn add(&mut self, ended: &EvaluationEnd) {
        self.evaluations += 1;
        self.failures += u64::from(ended.code.is_some());
        self.input = self.input.saturating_add(ended.input);
        self.output = self.output.saturating_add(ended.output);
        self.cost_microdollars =
            self.cost_microdollars.saturating_add(ended.cost_microdollars.unwrap_or_default());
        self.duration_us = self.duration_us.saturating_add(ended.duration_us);
    }
}

impl SkillStats {
    /// Adds an event.
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
