//! The scope of a skill, and the precedence of tiers.

use std::fmt;

use metier_skill::Tier;
use serde::{Deserialize, Serialize};

use crate::CatalogError;

/// The scope in which the skills of a root apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// In one project.
    Project,
    /// For one user, in all projects.
    User,
    /// For all users of the machine.
    System,
}

impl Scope {
    /// The scope's name.
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

/// Which tier wins if two skills have the same name. Contains each tier once, the winning tier first.
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
    /// The given tiers in this order, followed by the others in the default order.
    pub fn new(first: &[Tier]) -> Result<Self, CatalogError> {
        let mut order = Vec::with_capacity(Tier::ALL.len());
        for tier in first {
            if order.contains(tier) {
                return Err(CatalogError::TierTwice { tier: *tier });
            }
            order.push(*tier);
        }
        order.extend(Tier::ALL.into_iter().filter(|tier| !first.contains(tier)));
        // Each of the four exactly once.
        order.try_into().map(Self).map_err(|_| CatalogError::TierTwice { tier: Tier::ThirdParty })
    }

    /// The position of a tier, from 0. A lower one wins.
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
