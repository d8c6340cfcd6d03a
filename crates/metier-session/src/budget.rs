//! The budget of a session: time and tokens.

use std::collections::BTreeMap;

use std::time::Duration;

use metier_journal::Time;
use metier_prompt::Allowance;
use metier_skill::Coded;
use serde::{Deserialize, Serialize};

/// The limits of a session. An unset value means no limit; reaching a limit exactly does not exceed it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// The deadline.
    pub deadline: Option<Time>,
    /// Maximum input tokens.
    pub input: Option<u64>,
    /// Maximum output tokens.
    pub output: Option<u64>,
    /// Maximum total tokens.
    pub total: Option<u64>,
}

/// Used tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
}

impl ModelUsage {
    /// Input and output tokens together.
    pub const fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// A limit that was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetBreach {
    /// The deadline has passed.
    #[error("the deadline {deadline} has passed; it is now {now}")]
    Deadline {
        /// The deadline.
        deadline: Time,
        /// The current time.
        now: Time,
    },
    /// Too many input tokens.
    #[error("used {used} input tokens; the limit is {limit}")]
    Input {
        /// The limit.
        limit: u64,
        /// The tokens used.
        used: u64,
    },
    /// Too many output tokens.
    #[error("used {used} output tokens; the limit is {limit}")]
    Output {
        /// The limit.
        limit: u64,
        /// The tokens used.
        used: u64,
    },
    /// Too many tokens in total.
    #[error("used {used} tokens; the limit is {limit}")]
    Total {
        /// The limit.
        limit: u64,
        /// The tokens used.
        used: u64,
    },
}

impl Coded for BudgetBreach {
    fn code(&self) -> &'static str {
        match self {
            Self::Deadline { .. } => "budget-deadline",
            Self::Input { .. } => "budget-input",
            Self::Output { .. } => "budget-output",
            Self::Total { .. } => "budget-total",
        }
    }
}

/// Why a budget is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// It has no limits.
    #[error("a budget needs at least one limit; for no limits, omit the budget")]
    NoLimit,
    /// A limit is 0.
    #[error("the limit of {0} tokens must be greater than 0")]
    NoTokens(&'static str),
    /// The deadline is too close or past.
    #[error("the deadline {deadline} must be at least one second after now ({now})")]
    DeadlineTooNear {
        /// The deadline.
        deadline: Time,
        /// The current time.
        now: Time,
    },
}

impl Coded for BudgetError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoLimit => "budget-no-limit",
            Self::NoTokens(_) => "budget-no-tokens",
            Self::DeadlineTooNear { .. } => "budget-deadline-too-near",
        }
    }
}

/// The minimum time until a deadline, in microseconds.
const SECOND: i64 = 1_000_000;

impl Budget {
    /// Whether a session can start with it.
    pub fn check_limits(&self, now: Time) -> Result<(), BudgetError> {
        let tokens = [("input", self.input), ("output", self.output), ("all", self.total)];
        if self.deadline.is_none() && tokens.iter().all(|(_, limit)| limit.is_none()) {
            return Err(BudgetError::NoLimit);
        }
        if let Some((what, _)) = tokens.iter().find(|(_, limit)| *limit == Some(0)) {
            return Err(BudgetError::NoTokens(what));
        }
        match self.deadline {
            Some(deadline) if deadline.as_micros() < now.as_micros().saturating_add(SECOND) => {
                Err(BudgetError::DeadlineTooNear { deadline, now })
            }
            _ => Ok(()),
        }
    }

    /// Microseconds until the deadline; negative once it has passed.
    pub fn remaining(&self, now: Time) -> Option<i64> {
        self.deadline.map(|deadline| deadline.as_micros().saturating_sub(now.as_micros()))
    }

    /// The remaining budget.
    pub(crate) fn allowance(&self, used: ModelUsage, now: Time) -> Allowance {
        let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
        let mut allowance = Allowance::default();
        let micros = |left: i64| Duration::from_micros(u64::try_from(left).unwrap_or(0));
        allowance.time = self.remaining(now).map(micros);
        allowance.input = left(self.input, used.input);
        allowance.output = left(self.output, used.output);
        allowance.total = left(self.total, used.total());
        allowance
    }

    /// The first exceeded limit: time, input, output, total.
    pub fn check(&self, used: ModelUsage, now: Time) -> Result<(), BudgetBreach> {
        if let Some(deadline) = self.deadline.filter(|deadline| now > *deadline) {
            return Err(BudgetBreach::Deadline { deadline, now });
        }
        let passed =
            |limit: Option<u64>, used: u64| limit.filter(|limit| used > *limit).map(|limit| (limit, used));
        if let Some((limit, used)) = passed(self.input, used.input) {
            return Err(BudgetBreach::Input { limit, used });
        }
        if let Some((limit, used)) = passed(self.output, used.output) {
            return Err(BudgetBreach::Output { limit, used });
        }
        match passed(self.total, used.total()) {
            Some((limit, used)) => Err(BudgetBreach::Total { limit, used }),
            None => Ok(()),
        }
    }
}

/// Used tokens by evaluation: each evaluation repeatedly reports its total so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Spent(BTreeMap<String, ModelUsage>);

impl Spent {
    /// Sets what an evaluation has used so far. Late reports with smaller numbers are ignored.
    pub(crate) fn record(&mut self, evaluation: &str, so_far: ModelUsage) {
        let known = self.0.entry(evaluation.to_owned()).or_default();
        known.input = known.input.max(so_far.input);
        known.output = known.output.max(so_far.output);
    }

    pub(crate) fn total(&self) -> ModelUsage {
        self.0.values().fold(ModelUsage::default(), |sum, one| ModelUsage {
            input: sum.input.saturating_add(one.input),
            output: sum.output.saturating_add(one.output),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_limit_is_no_breach_and_the_order_is_fixed() {
        let now = Time::from_micros(1_000);
        let budget = Budget { deadline: Some(now), input: Some(10), output: Some(5), total: Some(15) };
        let used = |input, output| ModelUsage { input, output };
        assert_eq!(budget.check(used(10, 5), now), Ok(()));
        let later = Time::from_micros(1_001);
        assert_eq!(budget.check(used(11, 6), later).unwrap_err().code(), "budget-deadline");
        assert_eq!(budget.check(used(11, 6), now).unwrap_err().code(), "budget-input");
        assert_eq!(budget.check(used(10, 6), now).unwrap_err().code(), "budget-output");
        let total = Budget { total: Some(14), ..Budget::default() };
        assert_eq!(total.check(used(10, 5), now).unwrap_err(), BudgetBreach::Total { limit: 14, used: 15 });
        assert_eq!(Budget::default().check(used(u64::MAX, 1), later), Ok(()));
    }

    #[test]
    fn a_budget_limits_something_and_leaves_room_to_begin() {
        let now = Time::from_micros(5_000_000);
        let budget = |deadline, total| Budget { deadline, total, ..Budget::default() };
        assert_eq!(budget(None, None).check_limits(now).unwrap_err().code(), "budget-no-limit");
        assert_eq!(budget(None, Some(0)).check_limits(now).unwrap_err().code(), "budget-no-tokens");
        let at = |micros| budget(Some(Time::from_micros(micros)), None);
        assert_eq!(at(5_999_999).check_limits(now).unwrap_err().code(), "budget-deadline-too-near");
        assert_eq!(at(6_000_000).check_limits(now), Ok(()));
        assert_eq!(at(4_000_000).remaining(now), Some(-1_000_000));
    }

    #[test]
    fn usage_is_cumulative_within_an_evaluation_and_added_between_them() {
        let mut spent = Spent::default();
        spent.record("one", ModelUsage { input: 10, output: 1 });
        spent.record("one", ModelUsage { input: 25, output: 3 });
        spent.record("one", ModelUsage { input: 20, output: 2 });
        spent.record("two", ModelUsage { input: 5, output: 5 });
        assert_eq!(spent.total(), ModelUsage { input: 30, output: 8 });
    }
}
