//! Errors in building and rendering prompts.

use std::path::PathBuf;

use metier_skill::Coded;

use crate::path::SectionPath;

/// Why a prompt could not be built or rendered. Sections are named by their paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// The text is not a valid key or path of keys.
    #[error(
        "invalid key `{}`: use up to 64 letters a to z, digits, `-` and `_`, with a letter or digit first",
        shown(key)
    )]
    Key {
        /// The given text.
        key: String,
    },
    /// Two siblings have the same key.
    #[error("two sections have the path `{path}`; change the key of one of them")]
    DuplicateKey {
        /// Their path.
        path: SectionPath,
    },
    /// A section has no title.
    #[error("section `{path}` has no title")]
    Title {
        /// The section.
        path: SectionPath,
    },
    /// A template is invalid.
    #[error("the {part} of section `{path}` is not a valid template: {reason}")]
    Template {
        /// The section.
        path: SectionPath,
        /// `body` or `summary`.
        part: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A placeholder has no matching field.
    #[error("the {part} of section `{path}` uses `{name}`, but {}", no_field(*params))]
    Placeholder {
        /// The section.
        path: SectionPath,
        /// `body` or `summary`.
        part: &'static str,
        /// The placeholder's name.
        name: String,
        /// The params type.
        params: Option<&'static str>,
    },
    /// The params type has no named fields.
    #[error("the params `{params}` of section `{path}` must be a struct with named fields")]
    ParamsShape {
        /// The section.
        path: SectionPath,
        /// The params type.
        params: &'static str,
    },
    /// No value is bound, and there is no default.
    #[error("section `{path}` needs a value of type `{params}`; bind one, or give the section a default")]
    MissingParams {
        /// The section.
        path: SectionPath,
        /// The params type.
        params: &'static str,
    },
    /// Two values of the same type are bound.
    #[error("two values of type `{params}` are bound, but only one is possible")]
    BoundTwice {
        /// The params type.
        params: &'static str,
    },
    /// A bound value that no section uses.
    #[error("no section of this prompt uses a `{params}`")]
    UnexpectedParams {
        /// The params type.
        params: &'static str,
    },
    /// The fields of a value cannot be read.
    #[error("the fields of `{params}` cannot be read: {reason}")]
    Fields {
        /// The params type.
        params: &'static str,
        /// The reason.
        reason: String,
    },
    /// A predicate failed.
    #[error("the predicate of section `{path}` failed: {reason}")]
    Predicate {
        /// The section.
        path: SectionPath,
        /// Its error.
        reason: String,
    },
    /// A section without a summary is shown as a summary.
    #[error("section `{path}` should be shown as a summary, but has none")]
    MissingSummary {
        /// The section.
        path: SectionPath,
    },
    /// The tool's name is invalid.
    #[error(
        "invalid tool name `{}` in section `{path}`: use 1 to 64 letters a to z, digits, `-` and `_`",
        shown(name)
    )]
    ToolName {
        /// The section.
        path: SectionPath,
        /// The name.
        name: String,
    },
    /// The tool's description is invalid.
    #[error("the description of tool `{name}` in section `{path}` must be 1 to 200 ASCII characters")]
    ToolDescription {
        /// The section.
        path: SectionPath,
        /// The tool.
        name: String,
    },
    /// Two tools have the same name, or one has the name of a built-in tool.
    #[error("the tool `{name}` in section `{path}` already exists in {other}")]
    DuplicateTool {
        /// The section of the second tool.
        path: SectionPath,
        /// The name.
        name: String,
        /// Where the first tool is.
        other: String,
    },
    /// A skill is invalid.
    #[error("the skill `{}` in section `{path}` is not valid: {reason}", shown(name))]
    InvalidSkill {
        /// The section.
        path: SectionPath,
        /// The skill's name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// Two skills have the same name.
    #[error("the skill `{name}` in section `{path}` already exists in section `{other}`")]
    DuplicateSkill {
        /// The section of the second skill.
        path: SectionPath,
        /// The name.
        name: String,
        /// The section of the first skill.
        other: SectionPath,
    },
    /// A referenced skill cannot be used.
    #[error("{}: {}{}", source_path.display(), reason.words(), details_of(details.as_deref()))]
    SkillRef {
        /// The path of the skill.
        source_path: PathBuf,
        /// The reason.
        reason: RefReason,
        /// Details.
        details: Option<String>,
    },
    /// A section references a skill, but there is no skill reader.
    #[error("section `{path}` references a skill, but the prompt has no skill reader")]
    NoReader {
        /// The section.
        path: SectionPath,
    },
    /// A mount path is outside the workspace.
    #[error(
        "`{}` in section `{path}` must be a path inside the workspace: relative, without `..`",
        shown(mount)
    )]
    MountPath {
        /// The given path.
        path: SectionPath,
        /// What was given.
        mount: String,
    },
    /// A name pattern is invalid.
    #[error("invalid pattern `{}` in section `{path}`: {reason}", shown(pattern))]
    Pattern {
        /// The section.
        path: SectionPath,
        /// The given pattern.
        pattern: String,
        /// The reason.
        reason: String,
    },
    /// An override does not fit the prompt.
    #[error("the override of `{target}` cannot be applied: {reason}")]
    Override {
        /// The section's path, or the tool's name.
        target: String,
        /// The reason.
        reason: String,
    },
}

/// Why a referenced skill cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefReason {
    /// The path does not exist.
    NotFound,
    /// The path is not a directory.
    NotDirectory,
    /// The directory has no `SKILL.md`.
    MissingSkillMd,
    /// Its `SKILL.md` is not valid.
    InvalidFrontmatter,
}

impl RefReason {
    /// A stable code.
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
            Self::NotFound => "the path does not exist",
            Self::NotDirectory => "a referenced skill must be a directory",
            Self::MissingSkillMd => "the directory has no SKILL.md",
            Self::InvalidFrontmatter => "the SKILL.md is invalid",
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
            Self::SkillRef { .. } => "check the path; a skill is a directory that contains a SKILL.md",
            Self::NoReader { .. } => "give the builder a `skill_reader`",
            Self::Override { .. } => "recreate the override from the prompt's current descriptor",
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

/// A text of unknown origin for a message, short and on one line.
fn shown(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut short: String = clean.take(80).collect();
    if text.chars().count() > 80 {
        short.push('…');
    }
    short
}
