//! Where a skill applies, and which of two with one name wins.

use std::fmt;

use metier_skill::Tier;
use serde::{Deserialize, Serialize};

use crate::CatalogError;

/// Where the skills of a root apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// In one project.
    Project,
    /// For one person, everywhere.
    User,
    /// For everybody on the machine.
    System,
}

impl Scope {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::System => "system",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which tier wins where two skills have one name: each tier once, the winning one first.
///
/// ```
/// use metier_catalog::{Precedence, Tier};
///
/// assert!(Precedence::default().rank(Tier::Builtin) < Precedence::default().rank(Tier::User));
/// let own_first: Precedence = Precedence::new(&[Tier::User])?;
/// assert!(own_first.rank(Tier::User) < own_first.rank(Tier::Builtin));
/// # Ok::<(), metier_catalog::CatalogError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Precedence([Tier; 4]);

impl Precedence {
    /// The tiers given first, in that order; those not given after them in the default order.
    pub fn new(first: &[Tier]) -> Result<Self, CatalogError> {
        let mut order = Vec::with_capacity(Tier::ALL.len());
        for tier in first {
            if order.contains(tier) {
                return Err(CatalogError::TierTwice { tier: *tier });
            }
            order.push(*tier);
        }
        order.extend(Tier::ALL.into_iter().filter(|tier| !first.contains(tier)));
        // Each of the four once: exactly four.
        order.try_into().map(Self).map_err(|_| CatalogError::TierTwice { tier: Tier::ThirdParty })
    }

    /// The place of a tier, from 0; a lower one wins.
    pub fn rank(&self, tier: Tier) -> usize {
        self.0.iter().position(|other| *other == tier).unwrap_or(self.0.len())
    }

    /// The tiers, the winning one first.
    pub fn tiers(&self) -> &[Tier] {
        &self.0
    }
}

impl Default for Precedence {
    fn default() -> Self {
        Self(Tier::ALL)
    }
}
