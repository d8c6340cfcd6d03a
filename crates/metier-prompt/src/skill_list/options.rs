//! Options of a skill list: its format, how an agent loads skills, and the form of their locations.

use std::borrow::Cow;
use std::path::Path;

/// The format of the list.
///
/// Each format makes invisible characters visible: control characters, characters that change the text
/// direction, and characters without width. [`metier_skill::is_invisible`] defines them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ListFormat {
    /// `<available_skills>`. It parses to exactly the given texts; invisible characters are references such as
    /// `&#x202E;`. Only characters that XML cannot contain are changed, into visible text: `\u{1}`.
    #[default]
    Xml,
    /// A list with bold names and one line per skill. Each run of white space in names and descriptions becomes
    /// one space. Invisible characters become visible text: `\u{202E}`. Locations come before descriptions, so
    /// that a description cannot change how they are read. Markup in names is escaped with `\`.
    Markdown,
    /// An object with a list. It parses to exactly the given texts; invisible characters are `\u202E`.
    Json,
}

/// How an agent loads a skill that it has chosen. The text before the list says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ActivationHint<'a> {
    /// The agent reads the file at the location.
    ReadFile,
    /// The agent reads `SKILL.md` in the directory at the location.
    ReadDirectory,
    /// The agent calls the tool with this name, with the name of the skill as argument.
    Tool(&'a str),
    /// The agent knows how to load a skill by its name.
    ByName,
}

impl ActivationHint<'_> {
    /// The text for the agent.
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

/// How a list gives the locations of skills.
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
    /// The absolute path of `SKILL.md`.
    #[default]
    Absolute,
    /// The path relative to this directory. Paths outside it stay absolute, because `..` through links could
    /// point elsewhere.
    Relative(&'a Path),
    /// The directory that contains `SKILL.md`.
    Directory,
    /// No locations, for agents that load skills by name.
    Omit,
}

impl LocationStyle<'_> {
    /// The location of a skill, given the path of its `SKILL.md`. Bytes that are not text become `�`.
    pub fn text(self, skill_md: &Path) -> Option<Cow<'_, str>> {
        match self {
            Self::Absolute => Some(skill_md.to_string_lossy()),
            Self::Relative(to) => Some(skill_md.strip_prefix(to).unwrap_or(skill_md).to_string_lossy()),
            Self::Directory => Some(skill_md.parent().unwrap_or(skill_md).to_string_lossy()),
            Self::Omit => None,
        }
    }

    /// How an agent loads skills whose locations have this form.
    pub const fn activation(self) -> ActivationHint<'static> {
        match self {
            Self::Absolute | Self::Relative(_) => ActivationHint::ReadFile,
            Self::Directory => ActivationHint::ReadDirectory,
            Self::Omit => ActivationHint::ByName,
        }
    }
}
