//! The run that an agent belongs to, where metier started it: in a home of its own, variables and directories say nothing
//! about the person.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier_skill::{Digest, Tier};
use serde::{Deserialize, Serialize};

use crate::error::GuardError;

/// What `metier hook --context` must know of the run that it works for. The run writes it as JSON to a file that the agent
/// cannot change, and removes it at its end.
///
/// ```
/// use metier_guard::GuardContext;
///
/// let mut context = GuardContext::default();
/// context.session = Some("01a1ea0c".to_owned());
/// context.records_all = true;
/// let read = GuardContext::parse("context.json".as_ref(), &context.to_json())?;
/// assert_eq!(read, context);
/// # Ok::<(), metier_guard::GuardError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GuardContext {
    /// The session of the run: decisions are recorded under it.
    pub session: Option<String>,
    /// Variables that replace those of the agent's home, such as `HOME`: settings, policy and journal are the person's.
    pub variables: BTreeMap<String, String>,
    /// The journal of the run, if it is not that of the settings.
    pub journal: Option<String>,
    /// The directory of the project, which settings and trust belong to.
    pub working: Option<PathBuf>,
    /// The skills that the agent sees. No others can be active.
    pub skills: Vec<ContextSkill>,
    /// Whether every decision is recorded, also while no skill is active. A run that proves its guard needs that.
    pub records_all: bool,
}

/// A skill in the agent's home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContextSkill {
    /// Its directory, where the agent reads it.
    pub directory: PathBuf,
    /// Its trust tier.
    pub tier: Tier,
    /// The digest of what was mounted.
    pub tree_digest: Digest,
}

impl ContextSkill {
    /// A skill that was mounted there.
    pub fn new(directory: impl Into<PathBuf>, tier: Tier, tree_digest: Digest) -> Self {
        Self { directory: directory.into(), tier, tree_digest }
    }
}

impl GuardContext {
    /// The context as JSON, for a file.
    pub fn to_json(&self) -> String {
        // Plain data with text keys always serialises to JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads it again. The path is for the error.
    pub fn parse(path: &Path, text: &str) -> Result<Self, GuardError> {
        serde_json::from_str(text)
            .map_err(|error| GuardError::Context { path: path.to_owned(), reason: error.to_string() })
    }
}
