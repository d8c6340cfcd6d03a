//! Trust tiers. Other crates decide the tier of a skill; the type is defined here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Coded;

/// How far a skill is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Built into metier.
    Builtin,
    /// Provided by the organisation.
    Org,
    /// The user's own.
    User,
    /// From a third party.
    ThirdParty,
}

impl Tier {
    /// All tiers, most trusted first.
    pub const ALL: [Self; 4] = [Self::Builtin, Self::Org, Self::User, Self::ThirdParty];

    /// The tier's name, as in ids and configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Org => "org",
            Self::User => "user",
            Self::ThirdParty => "third_party",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text is not a tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown tier `{text}`; use builtin, org, user or third_party")]
pub struct ParseTierError {
    text: String,
}

impl Coded for ParseTierError {
    fn code(&self) -> &'static str {
        "skill-tier"
    }
}

impl FromStr for Tier {
    type Err = ParseTierError;

    fn from_str(text: &str) -> Result<Self, ParseTierError> {
        let same =
            |tier: &Self| tier.as_str() == text || (*tier == Self::ThirdParty && text == "third-party");
        Self::ALL.into_iter().find(same).ok_or_else(|| ParseTierError { text: text.to_owned() })
    }
}
