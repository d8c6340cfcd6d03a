//! What is wrong with a prompt, or keeps it from being rendered.

use std::path::PathBuf;

use metier_skill::Coded;

use crate::path::SectionPath;

/// Why a prompt was not built or not rendered. Sections are named by their paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// A text that is no key, or no path of keys.
    #[error(
        "`{}` is no key: use up to 64 letters a to z, digits, `-` and `_`, with a letter or digit first",
        shown(key)
    )]
    Key {
        /// What was given.
        key: String,
    },
    /// Two siblings are called the same.
    #[error("two sections are called `{path}`; give one of them another key")]
    DuplicateKey {
        /// Where.
        path: SectionPath,
    },
    /// A section has no title.
    #[error("section `{path}` has no title")]
    Title {
        /// The section.
        path: SectionPath,
    },
    /// A template that cannot be read.
    #[error("the {part} of section `{path}` is no template: {reason}")]
    Template {
        /// The section.
        path: SectionPath,
        /// `body` or `summary`.
        part: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A placeholder without a field.
    #[error("the {part} of section `{path}` has a place for `{name}`, and {}", no_field(*params))]
    Placeholder {
        /// The section.
        path: SectionPath,
        /// `body` or `summary`.
        part: &'static str,
        /// What it wants.
        name: String,
        /// The type of its params.
        params: Option<&'static str>,
    },
    /// Params that have no fields by name.
    #[error("the params `{params}` of section `{path}` must be a struct with named fields")]
    ParamsShape {
        /// The section.
        path: SectionPath,
        /// Their type.
        params: &'static str,
    },
    /// Nothing was bound, and there is no default.
    #[error("section `{path}` needs a value of `{params}`; bind one, or give the section a default")]
    MissingParams {
        /// The section.
        path: SectionPath,
        /// Their type.
        params: &'static str,
    },
    /// Two values of one type.
    #[error("two values of `{params}` are bound at once; one of them would be lost")]
    BoundTwice {
        /// Their type.
        params: &'static str,
    },
    /// A value that nobody looks at.
    #[error("no section of this prompt takes a `{params}`")]
    UnexpectedParams {
        /// Its type.
        params: &'static str,
    },
    /// A value whose fields cannot be read.
    #[error("the fields of `{params}` cannot be read: {reason}")]
    Fields {
        /// Its type.
        params: &'static str,
        /// Why.
        reason: String,
    },
    /// A predicate that failed.
    #[error("whether section `{path}` is enabled cannot be told: {reason}")]
    Predicate {
        /// The section.
        path: SectionPath,
        /// What it said.
        reason: String,
    },
    /// A section that is to be shown as a summary has none.
    #[error("section `{path}` is to be shown as a summary, and has none")]
    MissingSummary {
        /// The section.
        path: SectionPath,
    },
    /// A name that no tool can have.
    #[error(
        "`{}` in section `{path}` is no name for a tool: use 1 to 64 letters a to z, digits, `-` and `_`",
        shown(name)
    )]
    ToolName {
        /// The section.
        path: SectionPath,
        /// The name.
        name: String,
    },
    /// A description that no tool can have.
    #[error("the description of tool `{name}` in section `{path}` must be 1 to 200 ASCII characters")]
    ToolDescription {
        /// The section.
        path: SectionPath,
        /// The tool.
        name: String,
    },
    /// Two tools are called the same, or like one of the prompt's own.
    #[error("the tool `{name}` in section `{path}` is there already, in {other}")]
    DuplicateTool {
        /// The section of the second.
        path: SectionPath,
        /// The name.
        name: String,
        /// Where the first is.
        other: String,
    },
    /// A skill that is none.
    #[error("the skill `{}` in section `{path}` is not valid: {reason}", shown(name))]
    InvalidSkill {
        /// The section.
        path: SectionPath,
        /// What it is called.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// Two skills are called the same.
    #[error("the skill `{name}` in section `{path}` is there already, in section `{other}`")]
    DuplicateSkill {
        /// The section of the second.
        path: SectionPath,
        /// The name.
        name: String,
        /// The section of the first.
        other: SectionPath,
    },
    /// A reference to a skill that leads to none.
    #[error("{}: {}{}", source_path.display(), reason.words(), details_of(details.as_deref()))]
    SkillRef {
        /// Where it leads.
        source_path: PathBuf,
        /// What is wrong there.
        reason: RefReason,
        /// More about it.
        details: Option<String>,
    },
    /// A reference, and nothing to read it with.
    #[error("section `{path}` refers to a skill, and the prompt was given nothing to read skills with")]
    NoReader {
        /// The section.
        path: SectionPath,
    },
    /// A mount path that leads out of the workspace.
    #[error(
        "`{}` in section `{path}` must be a path inside the workspace: relative, without `..`",
        shown(mount)
    )]
    MountPath {
        /// The section.
        path: SectionPath,
        /// What was given.
        mount: String,
    },
    /// A pattern for names that cannot be read.
    #[error("`{}` in section `{path}` is no pattern: {reason}", shown(pattern))]
    Pattern {
        /// The section.
        path: SectionPath,
        /// What was given.
        pattern: String,
        /// What is wrong.
        reason: String,
    },
    /// An override that does not fit the prompt.
    #[error("the override of `{target}` does not fit: {reason}")]
    Override {
        /// The section's path, or the tool.
        target: String,
        /// Why.
        reason: String,
    },
}

/// What is wrong where a reference leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefReason {
    /// There is nothing.
    NotFound,
    /// It is no directory.
    NotDirectory,
    /// The directory has no `SKILL.md`.
    MissingSkillMd,
    /// Its `SKILL.md` is not valid.
    InvalidFrontmatter,
}

impl RefReason {
    /// A name that does not change.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::NotDirectory => "not_directory",
            Self::MissingSkillMd => "missing_skill_md",
            Self::InvalidFrontmatter => "invalid_frontmatter",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::NotFound => "there is no skill",
            Self::NotDirectory => "a skill that is referred to must be a directory",
            Self::MissingSkillMd => "the directory has no SKILL.md",
            Self::InvalidFrontmatter => "the SKILL.md is not valid",
        }
    }
}

impl Coded for PromptError {
    fn code(&self) -> &'static str {
        match self {
            Self::Key { .. } => "prompt-key",
            Self::DuplicateKey { .. } => "prompt-duplicate-key",
            Self::Title { .. } => "prompt-title",
            Self::Template { .. } => "prompt-template",
            Self::Placeholder { .. } => "prompt-placeholder",
            Self::ParamsShape { .. } => "prompt-params-shape",
            Self::MissingParams { .. } => "prompt-missing-params",
            Self::BoundTwice { .. } => "prompt-bound-twice",
            Self::UnexpectedParams { .. } => "prompt-unexpected-params",
            Self::Fields { .. } => "prompt-fields",
            Self::Predicate { .. } => "prompt-predicate",
            Self::MissingSummary { .. } => "prompt-missing-summary",
            Self::ToolName { .. } => "prompt-tool-name",
            Self::ToolDescription { .. } => "prompt-tool-description",
            Self::DuplicateTool { .. } => "prompt-duplicate-tool",
            Self::InvalidSkill { .. } => "prompt-skill",
            Self::DuplicateSkill { .. } => "prompt-duplicate-skill",
            Self::SkillRef { .. } => "prompt-skill-ref",
            Self::NoReader { .. } => "prompt-no-reader",
            Self::MountPath { .. } => "prompt-mount-path",
            Self::Pattern { .. } => "prompt-pattern",
            Self::Override { .. } => "prompt-override",
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Title { .. } => "give the section a title",
            Self::Template { .. } => "write `${name}` for a value and `$$` for a dollar sign",
            Self::Placeholder { .. } => "add the field to the params, or write `$$` for a dollar sign",
            Self::BoundTwice { .. } => "bind one value of each type",
            Self::UnexpectedParams { .. } => "remove the binding, or add a section with these params",
            Self::MissingSummary { .. } => "give the section a summary, or show it in full",
            Self::DuplicateTool { .. } | Self::DuplicateSkill { .. } => "rename one of them",
            Self::SkillRef { .. } => "check the path; a skill is a directory with a SKILL.md",
            Self::NoReader { .. } => "give the builder a `skill_reader`",
            Self::Override { .. } => "make the override again from the prompt's current descriptor",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

fn no_field(params: Option<&'static str>) -> String {
    match params {
        Some(params) => format!("`{params}` has no such field"),
        None => "it has no params".to_owned(),
    }
}

fn details_of(details: Option<&str>) -> String {
    details.map(|details| format!(": {details}")).unwrap_or_default()
}

/// What somebody made up, short and on one line.
fn shown(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut short: String = clean.take(80).collect();
    if text.chars().count() > 80 {
        short.push('…');
    }
    short
}
