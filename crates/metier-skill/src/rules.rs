//! The rules that a skill is checked against: profile, severities and limits.

use serde::{Deserialize, Serialize};

use crate::{Code, Severity};

/// A named set of severities, listed in the table of [`Code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The verdict of the reference validator. Use it before publishing.
    Strict,
    /// Errors for broken rules, warnings for everything else.
    #[default]
    Standard,
    /// Loads what other clients load, and reports problems as warnings.
    Lenient,
}

impl Profile {
    /// The profile with this name, or `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Strict, Self::Standard, Self::Lenient].into_iter().find(|profile| profile.as_str() == name)
    }

    /// Whether this is the default profile.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The profile's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Standard => "standard",
            Self::Lenient => "lenient",
        }
    }

    /// The default rules of the profile.
    pub fn rules(self) -> Rules {
        match self {
            Self::Strict => Rules::strict(),
            Self::Standard => Rules::standard(),
            Self::Lenient => Rules::lenient(),
        }
    }
}

/// Limits on what is read. All are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum bytes of `SKILL.md` or of a single-file skill.
    pub skill_md_bytes: u64,
    /// Maximum bytes of the frontmatter.
    pub frontmatter_bytes: usize,
    /// Maximum nesting depth of the frontmatter.
    pub frontmatter_depth: usize,
    /// Maximum characters of `compatibility`.
    pub compatibility_chars: usize,
    /// Maximum bytes of all files of one skill together.
    pub skill_bytes: u64,
    /// Maximum number of files and directories of one skill.
    pub entries: usize,
    /// Maximum depth of directories in one skill.
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

/// How symbolic links inside a skill are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SymlinkPolicy {
    /// Links are skipped and reported. A `SKILL.md` that is a link is an error.
    #[default]
    Skip,
    /// A link to a file inside the skill is read as that file. Links that point outside the skill are refused.
    FollowWithinRoot,
}

/// The rules that a skill is checked against.
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
    /// The profile that determines severities, unless [`Rules::with`] overrides one.
    pub profile: Profile,
    /// Limits on what is read.
    pub limits: Limits,
    /// Whether names may contain letters and digits of any script. Names are compared after NFKC normalization.
    pub unicode_names: bool,
    /// How symbolic links inside the skill are handled.
    pub symlinks: SymlinkPolicy,
    /// Whether a single-file skill without frontmatter gets a name and description derived from its file name
    /// and first paragraph.
    pub synthesize_frontmatter: bool,
    overrides: Vec<(Code, Option<Severity>)>,
}

impl Rules {
    /// The default rules.
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

    /// The rules of the reference validator. It has no limit on the frontmatter; here the limit is twice that
    /// of the other profiles.
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

    /// The rules for skills that were written for other clients.
    pub fn lenient() -> Self {
        Self { profile: Profile::Lenient, ..Self::standard() }
    }

    /// Overrides the severity of one code; `None` turns it off.
    #[must_use]
    pub fn with(mut self, code: Code, severity: Option<Severity>) -> Self {
        self.overrides.retain(|(other, _)| *other != code);
        self.overrides.push((code, severity));
        self
    }

    /// The severity of a code under these rules; `None` if it is not reported.
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
