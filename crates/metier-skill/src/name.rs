//! Skill names: the rule, the type of valid names, and the nearest valid name for invalid ones.

use std::fmt;

use serde::{Serialize, Serializer};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

use crate::{Code, Coded};

/// The maximum number of characters in a name.
pub const NAME_MAX: usize = 64;

/// Longer texts are never names, even after normalization.
const LONG: usize = 4_096;

/// A valid name: lower-case letters and digits in groups joined by single hyphens, at most [`NAME_MAX`]
/// characters. It is safe as a directory name on every file system.
///
/// ```
/// use metier_skill::SkillName;
///
/// assert_eq!(SkillName::new("code-review").unwrap().as_str(), "code-review");
/// assert!(SkillName::new("Code Review").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(String);

/// Why a name is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty.
    #[error("a skill's name cannot be empty")]
    Empty,
    /// White space at the start or end.
    #[error("a skill's name cannot start or end with white space")]
    Blanks,
    /// More than [`NAME_MAX`] characters.
    #[error("a skill's name exceeds 64 characters ({0})")]
    TooLong(usize),
    /// Upper-case letters.
    #[error("a skill's name must be lower case")]
    NotLowercase,
    /// A hyphen at the start or end.
    #[error("a skill's name cannot start or end with a hyphen")]
    EdgeHyphen,
    /// `--`.
    #[error("a skill's name cannot have two hyphens in a row")]
    DoubleHyphen,
    /// Something other than a letter, a digit or a hyphen.
    #[error("a skill's name cannot contain `{}`; use letters a to z, digits and hyphens", .0.escape_debug())]
    InvalidCharacter(char),
}

/// Uses the codes of the diagnostics that report the same problem in a `SKILL.md`.
impl Coded for NameError {
    fn code(&self) -> &'static str {
        let code = match self {
            Self::Empty => Code::NameEmpty,
            Self::Blanks => Code::NameBlanks,
            Self::TooLong(_) => Code::NameTooLong,
            Self::NotLowercase => Code::NameNotLowercase,
            Self::EdgeHyphen => Code::NameEdgeHyphen,
            Self::DoubleHyphen => Code::NameDoubleHyphen,
            Self::InvalidCharacter(_) => Code::NameInvalidCharacter,
        };
        code.as_str()
    }

    fn hint(&self) -> Option<String> {
        Some(format!("use up to {NAME_MAX} letters a to z, digits and single hyphens, such as `code-review`"))
    }
}

/// Checks that `name` is valid: `[a-z0-9]+(-[a-z0-9]+)*` over the whole string, at most 64 characters.
///
/// ```
/// use metier_skill::{NameError, validate_skill_name};
///
/// assert_eq!(validate_skill_name("my-skill-v2"), Ok(()));
/// assert_eq!(validate_skill_name("skill--v2"), Err(NameError::DoubleHyphen));
/// ```
pub fn validate_skill_name(name: &str) -> Result<(), NameError> {
    check(name, false).first().map_or(Ok(()), |first| Err(*first))
}

impl SkillName {
    /// Checks a name against the rule of the standard.
    pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
        let name = name.into();
        validate_skill_name(&name).map(|()| Self(name))
    }

    /// Checks a name that may contain letters and digits of any script. It is stored in NFKC.
    pub fn new_unicode(name: &str) -> Result<Self, NameError> {
        let name = normalize(name);
        check(&name, true).first().map_or(Ok(Self(name)), |first| Err(*first))
    }

    /// The nearest valid name; `None` if no character of `text` can be kept.
    ///
    /// ```
    /// use metier_skill::SkillName;
    ///
    /// assert_eq!(SkillName::slug("My Skill: v2!").unwrap().as_str(), "my-skill-v2");
    /// assert_eq!(SkillName::slug("技能"), None);
    /// ```
    pub fn slug(text: &str) -> Option<Self> {
        let mut slug = String::new();
        for c in text.nfkc().flat_map(char::to_lowercase).take(LONG) {
            if c.is_ascii_alphanumeric() {
                slug.push(c);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
            if slug.len() == NAME_MAX {
                break;
            }
        }
        let slug = slug.trim_end_matches('-');
        (!slug.is_empty()).then(|| Self(slug.to_owned()))
    }

    /// A name derived from a digest, for texts without a usable character.
    pub(crate) fn numbered(text: &str) -> Self {
        Self(format!("skill-{}", &crate::Digest::of(text.as_bytes()).hex()[..8]))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// All problems of a name, each kind once, in the order of [`NameError`].
pub(crate) fn check(name: &str, unicode: bool) -> Vec<NameError> {
    let core = name.trim();
    if core.is_empty() {
        return vec![NameError::Empty];
    }
    let mut errors = Vec::new();
    if core.len() != name.len() {
        errors.push(NameError::Blanks);
    }
    let length = core.chars().count();
    if length > NAME_MAX {
        errors.push(NameError::TooLong(length));
    }
    if !is_lowercase(core) {
        errors.push(NameError::NotLowercase);
    }
    if core.starts_with('-') || core.ends_with('-') {
        errors.push(NameError::EdgeHyphen);
    }
    if core.contains("--") {
        errors.push(NameError::DoubleHyphen);
    }
    let allowed = |c: char| match c {
        '-' => true,
        _ if c.is_ascii() => c.is_ascii_alphanumeric(),
        _ => unicode && is_letter_or_digit(c),
    };
    if let Some(other) = core.chars().find(|c| !allowed(*c)) {
        errors.push(NameError::InvalidCharacter(other));
    }
    errors
}

fn is_lowercase(text: &str) -> bool {
    if text.is_ascii() {
        !text.bytes().any(|byte| byte.is_ascii_uppercase())
    } else {
        text.to_lowercase() == text
    }
}

/// Letters and numbers by general category. `char::is_alphanumeric` would also accept the vowel signs and marks
/// of some scripts.
fn is_letter_or_digit(c: char) -> bool {
    matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

/// The NFKC form, in which names are compared. Texts that are far too long stay unchanged: one character can
/// become eighteen, so normalizing hostile text would be expensive.
pub(crate) fn normalize(text: &str) -> String {
    if text.len() > LONG || text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        text.to_owned()
    } else {
        text.nfkc().collect()
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for SkillName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Serialize for SkillName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
