//! Opening and reading summarized sections: the tools, their descriptions and their results.

use std::collections::BTreeMap;
use std::fmt;

use metier_skill::{Coded, tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PromptError;
use crate::node::Node;
use crate::path::SectionPath;
use crate::render::{RenderOptions, Rendering, Walk};
use crate::resolve::Unlocks;
use crate::tool::Tool;
use crate::view::{SessionView, Visibility};

/// The names of the two built-in tools.
pub(crate) const TOOLS: [&str; 2] = [OPEN, READ];
const OPEN: &str = "open_sections";
const READ: &str = "read_section";

/// The maximum number of characters of a reason, which is repeated to the model.
const REASON_MAX: usize = 500;

/// The arguments of `open_sections`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenSections {
    /// The keys of the sections to open, as they are given in the summaries.
    pub section_keys: Vec<String>,
    /// Why their content is needed.
    pub reason: String,
}

/// The arguments of `read_section`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadSection {
    /// The key of the section to read, as it is given in its summary.
    pub section_key: String,
}

/// Sections must be opened: update the session and render the prompt again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExpansionRequired {
    /// The visibility overrides for the session.
    pub overrides: BTreeMap<SectionPath, Visibility>,
    /// The model's reason.
    pub reason: String,
    /// The keys that the model asked for.
    pub section_keys: Vec<String>,
    /// The skills among the opened sections.
    pub skills: Vec<ExpandedSkill>,
}

impl fmt::Display for ExpansionRequired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<&str> = self.overrides.keys().map(SectionPath::as_str).collect();
        write!(f, "Sections expanded: {}. Reason: {}", paths.join(", "), self.reason)
    }
}

/// A skill whose section is opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExpandedSkill {
    /// Its section.
    pub section: SectionPath,
    /// Its name.
    pub name: String,
    /// The tokens of its text.
    pub tokens: usize,
}

/// Why no section was opened or read, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DisclosureError {
    /// The list of keys is empty.
    #[error("At least one section key is required")]
    NoKeys,
    /// The section does not exist.
    #[error("Section `{0}` does not exist")]
    Unknown(String),
    /// The section is not part of the prompt now.
    #[error("Section `{0}` is disabled")]
    Disabled(SectionPath),
    /// The section is a skill in the agent's home.
    #[error("Section `{0}` is installed as a skill of its own; use that skill")]
    Installed(SectionPath),
    /// The section is already open.
    #[error("Section `{0}` is already expanded")]
    AlreadyExpanded(SectionPath),
    /// All requested sections are already open.
    #[error("All requested sections are already expanded")]
    AllExpanded,
    /// The caller that renders the prompt fixed its visibility.
    #[error("Section `{0}` is kept summarized here")]
    Fixed(SectionPath),
    /// The section is already shown completely.
    #[error("Section `{0}` is not summarized")]
    NotSummarized(SectionPath),
    /// Reading the section would not provide its tools and skills.
    #[error("Section `{0}` provides tools or skills; open it with `open_sections` instead")]
    MustBeOpened(SectionPath),
    /// The section cannot be rendered.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

impl Coded for DisclosureError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoKeys => "section-no-keys",
            Self::Unknown(_) => "section-unknown",
            Self::Disabled(_) => "section-disabled",
            Self::Installed(_) => "section-installed",
            Self::AlreadyExpanded(_) | Self::AllExpanded => "section-expanded",
            Self::Fixed(_) => "section-fixed",
            Self::NotSummarized(_) => "section-not-summarized",
            Self::MustBeOpened(_) => "section-must-be-opened",
            Self::Prompt(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Prompt(error) => error.hint(),
            _ => None,
        }
    }
}

/// The built-in tools, as far as there are sections to open or read.
pub(crate) fn tools(opens: bool, reads: bool) -> impl Iterator<Item = Tool> {
    let open = || {
        Tool::declared::<OpenSections>(
            OPEN,
            "Expands summarized sections. Their full content, tools and skills are available in the next turn.",
        )
    };
    let read = || {
        Tool::declared::<ReadSection>(
            READ,
            "Returns the full content of a summarized section, without expanding it in the prompt.",
        )
    };
    let own = [opens.then(open), reads.then(read)];
    own.into_iter().flatten().map(|tool| tool.accepts_overrides(false))
}

/// The line that tells how to open a section.
pub(crate) fn suffix(node: &Node, unlocks: &Unlocks, children: &[&str]) -> String {
    let (tool, path) = (if unlocks.has_more { OPEN } else { READ }, &node.path);
    let line = if node.is_skill() {
        let tools = match unlocks.tools.as_slice() {
            [] => String::new(),
            tools => format!(" and access tools: {}", tools.join(", ")),
        };
        format!("This skill is summarized. Call `{tool}` with key \"{path}\" to view full workflow{tools}.")
    } else if children.is_empty() {
        format!("This section is summarized. To view full content, call `{tool}` with key \"{path}\".")
    } else {
        let children = children.join(", ");
        format!(
            "This section is summarized. Call `{tool}` with key \"{path}\" to view full content including \
             subsections: {children}."
        )
    };
    format!("---\n[{line}]")
}

/// A section found by its key.
struct Sought<'a> {
    node: &'a Node,
    /// The summarized sections that hide it: its parents, and itself if it is summarized.
    hidden_by: Vec<&'a Node>,
}

impl<Output> Rendering<Output> {
    /// Which sections must be opened to show these: the sections and their summarized parents. Sections that
    /// are already open are skipped, unless all are.
    pub fn open_sections(
        &self,
        session: &SessionView,
        call: &OpenSections,
    ) -> Result<ExpansionRequired, DisclosureError> {
        self.options.open_sections(session, call)
    }

    /// The full text of a summarized section, with its child sections as they would be shown. It does not open
    /// the section.
    pub fn read_section(&self, session: &SessionView, call: &ReadSection) -> Result<String, DisclosureError> {
        self.options.read_section(session, call)
    }
}

impl RenderOptions {
    fn open_sections(
        &self,
        session: &SessionView,
        call: &OpenSections,
    ) -> Result<ExpansionRequired, DisclosureError> {
        let walk = Walk::new(self, session)?;
        let mut overrides = BTreeMap::new();
        let mut skills = Vec::new();
        let mut expanded = Vec::new();
        for key in &call.section_keys {
            let Sought { node, hidden_by } = self.seek(&walk, key)?;
            if hidden_by.is_empty() {
                expanded.push(node.path.clone());
            }
            // An override by the session would change nothing here, and the model would ask repeatedly.
            if let Some(fixed) = hidden_by.iter().find(|node| self.explicit.contains_key(&node.path)) {
                return Err(DisclosureError::Fixed(fixed.path.clone()));
            }
            for node in hidden_by {
                if overrides.insert(node.path.clone(), Visibility::Full).is_none()
                    && let Some(name) = node.skill_name()
                {
                    let (section, name) = (node.path.clone(), name.to_owned());
                    let tokens = tokens(self.text_of(session, node)?.len());
                    skills.push(ExpandedSkill { section, name, tokens });
                }
            }
        }
        if overrides.is_empty() {
            return Err(match expanded.as_slice() {
                [] => DisclosureError::NoKeys,
                [one] => DisclosureError::AlreadyExpanded(one.clone()),
                _ => DisclosureError::AllExpanded,
            });
        }
        let (reason, section_keys) =
            (call.reason.chars().take(REASON_MAX).collect(), call.section_keys.clone());
        Ok(ExpansionRequired { overrides, reason, section_keys, skills })
    }

    fn read_section(&self, session: &SessionView, call: &ReadSection) -> Result<String, DisclosureError> {
        let walk = Walk::new(self, session)?;
        let Sought { node, hidden_by } = self.seek(&walk, &call.section_key)?;
        if hidden_by.is_empty() {
            return Err(DisclosureError::NotSummarized(node.path.clone()));
        }
        if walk.resolver.unlocks(node).has_more {
            return Err(DisclosureError::MustBeOpened(node.path.clone()));
        }
        let text = self.text_of(session, node)?;
        Ok(format!("Content of section '{}':\n\n{text}", node.path))
    }

    /// A section as it looks when it is open.
    fn text_of<'a>(&'a self, session: &'a SessionView, node: &'a Node) -> Result<String, PromptError> {
        let mut walk = Walk::new(self, session)?;
        walk.node(node, Some(Visibility::Full), &[])?;
        Ok(walk.finish().text)
    }

    fn seek<'a>(&'a self, walk: &Walk<'a>, key: &str) -> Result<Sought<'a>, DisclosureError> {
        let way = SectionPath::new(key).ok().and_then(|path| self.prompt.way_to(&path));
        let shown = || key.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
        let way = way.ok_or_else(|| DisclosureError::Unknown(shown()))?;
        let mut hidden_by = Vec::new();
        let mut above = None;
        let mut last = None;
        for node in way {
            let is_chosen = |parent| walk.resolver.is_chosen(parent, node);
            if !walk.resolver.is_enabled(node)? || !above.map_or(Ok(true), is_chosen)? {
                return Err(DisclosureError::Disabled(node.path.clone()));
            }
            if walk.resolver.is_native(node)? {
                return Err(DisclosureError::Installed(node.path.clone()));
            }
            if walk.resolver.visibility(node)? == Visibility::Summary {
                hidden_by.push(node);
            }
            (above, last) = (Some(node), Some(node));
        }
        last.map(|node| Sought { node, hidden_by }).ok_or_else(|| DisclosureError::Unknown(shown()))
    }
}
