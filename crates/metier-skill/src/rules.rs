//! What a skill is held to: the profile, its severities, and the limits.

use serde::{Deserialize, Serialize};

use crate::{Code, Severity};

/// A named set of severities. See the table in [`Code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The verdict of the reference validator; for publishing.
    Strict,
    /// Errors for what breaks a rule, warnings for the rest.
    #[default]
    Standard,
    /// Loads what other clients load, with warnings.
    Lenient,
}

impl Profile {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Strict, Self::Standard, Self::Lenient].into_iter().find(|profile| profile.as_str() == name)
    }

    /// Whether it is the one that nobody needs to name.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Standard => "standard",
            Self::Lenient => "lenient",
        }
    }

    /// The usual rules with it.
    pub fn rules(self) -> Rules {
        match self {
            Self::Strict => Rules::strict(),
            Self::Standard => Rules::standard(),
            Self::Lenient => Rules::lenient(),
        }
    }
}

/// Bounds on what is read. All are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of `SKILL.md` or of a single-file skill.
    pub skill_md_bytes: u64,
    /// Bytes of the frontmatter.
    pub frontmatter_bytes: usize,
    /// Levels of nesting in the frontmatter.
    pub frontmatter_depth: usize,
    /// Characters of `compatibility`.
    pub compatibility_chars: usize,
    /// Bytes of all files of one skill.
    pub skill_bytes: u64,
    /// Files and directories of one skill.
    pub entries: usize,
    /// Levels of directories in one skill.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            skill_md_bytes: MIB,
            frontmatter_bytes: 64 << 10,
            frontmatter_depth: 64,
            compatibility_chars: 500,
            skill_bytes: 10 * MIB,
            entries: 2_000,
            depth: 16,
        }
    }
}

/// What happens to symbolic links inside a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SymlinkPolicy {
    /// A link is left out and reported. `SKILL.md` must not be one.
    #[default]
    Skip,
    /// A link to a file inside the skill stands for that file. A target outside stays refused.
    FollowWithinRoot,
}

/// What a skill is held to.
///
/// ```
/// use metier_skill::{Code, Rules, Severity};
///
/// let rules = Rules::standard().with(Code::FieldUnknown, Some(Severity::Error));
/// assert_eq!(rules.severity(Code::FieldUnknown), Some(Severity::Error));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// Where severities come from, unless [`Rules::with`] changed one.
    pub profile: Profile,
    /// Bounds on what is read.
    pub limits: Limits,
    /// Whether a name may have letters and digits of any script, compared after NFKC.
    pub unicode_names: bool,
    /// Whether links inside the skill are followed.
    pub symlinks: SymlinkPolicy,
    /// Whether a single-file skill without frontmatter gets one made of its file name and first paragraph.
    pub synthesize_frontmatter: bool,
    overrides: Vec<(Code, Option<Severity>)>,
}

impl Rules {
    /// The default everywhere.
    pub fn standard() -> Self {
        Self {
            profile: Profile::Standard,
            limits: Limits::default(),
            unicode_names: false,
            symlinks: SymlinkPolicy::Skip,
            synthesize_frontmatter: false,
            overrides: Vec::new(),
        }
    }

    /// The verdict of the reference validator, which has no bound on the frontmatter; here it is twice that of
    /// the other profiles.
    pub fn strict() -> Self {
        let limits = Limits::default();
        Self {
            profile: Profile::Strict,
            limits: Limits { frontmatter_bytes: 2 * limits.frontmatter_bytes, ..limits },
            unicode_names: true,
            symlinks: SymlinkPolicy::FollowWithinRoot,
            ..Self::standard()
        }
    }

    /// For skills that were written for other clients.
    pub fn lenient() -> Self {
        Self { profile: Profile::Lenient, ..Self::standard() }
    }

    /// The same rules with another severity for one code; `None` switches it off.
    #[must_use]
    pub fn with(mut self, code: Code, severity: Option<Severity>) -> Self {
        self.overrides.retain(|(other, _)| *other != code);
        self.overrides.push((code, severity));
        self
    }

    /// How bad a finding is under these rules; `None` where it is not reported.
    pub fn severity(&self, code: Code) -> Option<Severity> {
        match self.overrides.iter().find(|(other, _)| *other == code) {
            Some((_, severity)) => *severity,
            None => code.severity(self.profile),
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::standard()
    }
}
