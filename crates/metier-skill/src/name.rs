//! The name of a skill: the rule, the type that keeps it, and the slug for names that break it.

use std::fmt;

use serde::{Serialize, Serializer};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

use crate::{Code, Coded};

/// The most characters a name may have.
pub const NAME_MAX: usize = 64;

/// Bytes beyond which nothing becomes a name, whatever normalization makes of it.
const LONG: usize = 4_096;

/// A name that keeps the rule: lower-case letters and digits in groups joined by single hyphens, at most
/// [`NAME_MAX`] characters. It is safe as a directory's name on every platform's file system.
///
/// ```
/// use metier_skill::SkillName;
///
/// assert_eq!(SkillName::new("code-review").unwrap().as_str(), "code-review");
/// assert!(SkillName::new("Code Review").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(String);

/// What is wrong with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// There is nothing.
    #[error("a skill's name cannot be empty")]
    Empty,
    /// White space before or after the name.
    #[error("a skill's name cannot begin or end with white space")]
    Blanks,
    /// More than [`NAME_MAX`] characters.
    #[error("a skill's name exceeds 64 characters ({0})")]
    TooLong(usize),
    /// Upper-case letters.
    #[error("a skill's name is invalid: it must be lower case")]
    NotLowercase,
    /// A hyphen first or last.
    #[error("a skill's name is invalid: it cannot begin or end with a hyphen")]
    EdgeHyphen,
    /// `--`.
    #[error("a skill's name is invalid: it cannot have two hyphens in a row")]
    DoubleHyphen,
    /// Something other than a letter, a digit or a hyphen.
    #[error("a skill's name is invalid: `{}` is no letter a to z, digit or hyphen", .0.escape_debug())]
    InvalidCharacter(char),
}

/// The codes of the findings that say the same about a `SKILL.md`.
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

/// Whether `name` keeps the rule: `[a-z0-9]+(-[a-z0-9]+)*`, at most 64 characters, over the whole string.
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
    /// A name by the standard's rule.
    pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
        let name = name.into();
        validate_skill_name(&name).map(|()| Self(name))
    }

    /// A name whose letters and digits may be of any script; it is stored in NFKC.
    pub fn new_unicode(name: &str) -> Result<Self, NameError> {
        let name = normalize(name);
        check(&name, true).first().map_or(Ok(Self(name)), |first| Err(*first))
    }

    /// The nearest name that keeps the rule; `None` where nothing of `text` can be kept.
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

    /// A name made of a digest, for texts of which no slug can be made.
    pub(crate) fn numbered(text: &str) -> Self {
        Self(format!("skill-{}", &crate::Digest::of(text.as_bytes()).hex()[..8]))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Everything that is wrong with a name, each kind once, in the order of [`NameError`].
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

/// Letters and numbers by general category: `char::is_alphanumeric` would also take the vowel signs and
/// marks that some scripts build letters with.
fn is_letter_or_digit(c: char) -> bool {
    matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

/// NFKC, in which names are compared. What is far too long to be a name stays as it is: one character can
/// become eighteen, and hostile text would be normalized at length only to be refused for it.
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
