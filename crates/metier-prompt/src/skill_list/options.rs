//! How a list of skills is written and for whom: formats, ways to get at a skill, forms of its location.

use std::borrow::Cow;
use std::path::Path;

/// How the list is written.
///
/// What a reader would not see, such as control characters, what turns the direction of text, or what has no width, is
/// visible in each; [`metier_skill::is_invisible`] is the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ListFormat {
    /// `<available_skills>`. It parses to exactly what was given: what is not seen is a reference, `&#x202E;`. Only what XML
    /// cannot have at all is changed, into text that shows it: `\u{1}`.
    #[default]
    Xml,
    /// A list with bold names, one line a skill; blanks and line breaks of names and descriptions are one blank each. What is
    /// not seen is text that shows it: `\u{202E}`. Locations come before descriptions, so that no description can change
    /// how they are read; of names, what would be markup is marked with `\`.
    Markdown,
    /// An object with a list. It parses to exactly what was given: what is not seen is `\u202E`.
    Json,
}

/// How an agent gets at a skill that it has chosen; it is told so before the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ActivationHint<'a> {
    /// It reads the file at the location.
    ReadFile,
    /// It reads `SKILL.md` in the directory at the location.
    ReadDirectory,
    /// It calls the tool of this name with the name of the skill.
    Tool(&'a str),
    /// It knows how to load a skill by its name.
    ByName,
}

impl ActivationHint<'_> {
    /// What the agent is told.
    pub(super) fn introduction(self) -> Cow<'static, str> {
        match self {
            Self::ReadFile => "\
These skills are instructions for special tasks. When a task fits a skill's description, read the file at its
location before you begin, and follow it. Paths in it are relative to the directory that the file is in.
"
            .into(),
            Self::ReadDirectory => "\
These skills are instructions for special tasks. When a task fits a skill's description, read `SKILL.md` in the
directory at its location before you begin, and follow it. Paths in it are relative to that directory.
"
            .into(),
            Self::Tool(name) => format!(
                "\
These skills are instructions for special tasks. When a task fits a skill's description, call the tool `{name}` with
the skill's name before you begin, and follow what it returns.
"
            )
            .into(),
            Self::ByName => "\
These skills are instructions for special tasks. When a task fits a skill's description, load that skill by its name
before you begin, and follow it.
"
            .into(),
        }
    }
}

/// The form in which a list says where skills are.
///
/// ```
/// use std::path::Path;
/// use metier_prompt::LocationStyle;
///
/// let file = Path::new("/work/skills/pdf/SKILL.md");
/// assert_eq!(LocationStyle::Relative(Path::new("/work")).text(file).unwrap(), "skills/pdf/SKILL.md");
/// assert_eq!(LocationStyle::Directory.text(file).unwrap(), "/work/skills/pdf");
/// assert_eq!(LocationStyle::Omit.text(file), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum LocationStyle<'a> {
    /// The path of `SKILL.md` as it is.
    #[default]
    Absolute,
    /// The same from this directory on; what is not below it keeps its whole path, since a way up through links could lead
    /// elsewhere.
    Relative(&'a Path),
    /// The path of the directory that `SKILL.md` is in.
    Directory,
    /// None, for agents that load skills by name.
    Omit,
}

impl LocationStyle<'_> {
    /// The location of a skill, given the path of its `SKILL.md`. What is not text in a path is `�`.
    pub fn text(self, skill_md: &Path) -> Option<Cow<'_, str>> {
        match self {
            Self::Absolute => Some(skill_md.to_string_lossy()),
            Self::Relative(to) => Some(skill_md.strip_prefix(to).unwrap_or(skill_md).to_string_lossy()),
            Self::Directory => Some(skill_md.parent().unwrap_or(skill_md).to_string_lossy()),
            Self::Omit => None,
        }
    }

    /// How an agent gets at skills whose locations have this form.
    pub const fn activation(self) -> ActivationHint<'static> {
        match self {
            Self::Absolute | Self::Relative(_) => ActivationHint::ReadFile,
            Self::Directory => ActivationHint::ReadDirectory,
            Self::Omit => ActivationHint::ByName,
        }
    }
}
