//! What an evaluation used: tokens, money, model requests.

use std::fmt;
use std::ops::Add;

use metier_session::ModelUsage;
use serde::{Deserialize, Serialize};

/// Tokens that a model read and wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// Input tokens that were not in a cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens that came from a cache.
    pub cache_read: u64,
    /// Input tokens that were written to a cache.
    pub cache_written: u64,
}

impl TokenUsage {
    /// The tokens that count towards a budget: all input, also from and into caches, and the output.
    pub const fn counted(&self) -> ModelUsage {
        let input = self.input.saturating_add(self.cache_read).saturating_add(self.cache_written);
        ModelUsage { input, output: self.output }
    }

    /// The larger of two reports, member by member: late reports can have smaller numbers.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_written: self.cache_written.max(other.cache_written),
        }
    }
}

impl Add for TokenUsage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_written: self.cache_written.saturating_add(other.cache_written),
        }
    }
}

/// Money, in millionths of a US dollar.
///
/// ```
/// use metier_harness::Cost;
///
/// assert_eq!(Cost::from_dollars(0.00042), Some(Cost { microdollars: 420 }));
/// assert_eq!(Cost { microdollars: 1_204_200 }.to_string(), "$1.2042");
/// assert_eq!(Cost::from_dollars(f64::NAN), None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cost {
    /// The amount.
    pub microdollars: u64,
}

impl Cost {
    /// An amount in dollars; `None` if it is not an amount.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is checked to be in the range of the type"
    )]
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let microdollars = (dollars * 1e6).round();
        (0.0..1e15).contains(&microdollars).then_some(Self { microdollars: microdollars as u64 })
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { microdollars: self.microdollars.saturating_add(other.microdollars) }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.microdollars / 1_000_000, self.microdollars % 1_000_000);
        let part = format!("{part:06}");
        // Cents are always shown, and more where there is more.
        let digits = part.trim_end_matches('0').len().max(2);
        write!(f, "${whole}.{}", &part[..digits])
    }
}

/// What an evaluation has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageSoFar {
    /// Tokens.
    pub usage: TokenUsage,
    /// Money, where the agent says so.
    pub cost: Option<Cost>,
    /// How many requests the agent made to a model, as it counts them.
    pub turns: u64,
}

impl Add for UsageSoFar {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let cost = match (self.cost, other.cost) {
            (Some(one), Some(two)) => Some(one + two),
            (one, two) => one.or(two),
        };
        Self { usage: self.usage + other.usage, cost, turns: self.turns.saturating_add(other.turns) }
    }
}
