//! Stored changes to a prompt: other texts for sections, other descriptions for tools. An override applies only
//! while what it was made for is unchanged.

use std::collections::{BTreeMap, HashMap};

use metier_skill::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::PromptError;
use crate::node::{Content, Node, check_names, skill_md};
use crate::path::SectionPath;
use crate::prompt::Prompt;
use crate::render::RenderWarning;
use crate::template::Template;
use crate::tool::Tool;
use crate::view::Visibility;

/// What can be overridden in a prompt, with the digests that overrides are bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PromptDescriptor {
    /// The prompt's namespace.
    pub namespace: String,
    /// Its name.
    pub key: String,
    /// The digest of each section's template, including its summary.
    pub sections: BTreeMap<SectionPath, Digest>,
    /// The digest of each tool's description, parameters and result.
    pub tools: BTreeMap<String, Digest>,
}

/// Overrides for one prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PromptOverrides {
    /// Overrides of sections.
    pub sections: BTreeMap<SectionPath, SectionOverride>,
    /// Overrides of tools.
    pub tools: BTreeMap<String, ToolOverride>,
}

/// An override of a section. Fields that are `None` change nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SectionOverride {
    /// The digest of the template that it was made for.
    pub expected: Digest,
    /// The new body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The new summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The new visibility.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
}

impl SectionOverride {
    /// An empty override for a section with this digest, taken from [`Prompt::descriptor`].
    pub const fn new(expected: Digest) -> Self {
        Self { expected, body: None, summary: None, visibility: None }
    }

    /// Sets the new body.
    #[must_use]
    pub fn body(self, template: impl Into<String>) -> Self {
        Self { body: Some(template.into()), ..self }
    }

    /// Sets the new summary.
    #[must_use]
    pub fn summary(self, template: impl Into<String>) -> Self {
        Self { summary: Some(template.into()), ..self }
    }

    /// Sets the new visibility.
    #[must_use]
    pub fn visibility(self, visibility: Visibility) -> Self {
        Self { visibility: Some(visibility), ..self }
    }
}

/// An override of a tool's description. Its parameters and behaviour stay the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolOverride {
    /// The digest of the tool that it was made for.
    pub expected: Digest,
    /// The new description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// New descriptions of its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

impl<Output> Prompt<Output> {
    /// What can be overridden in the prompt.
    pub fn descriptor(&self) -> PromptDescriptor {
        let open = || self.nodes().iter().flat_map(Node::all).filter(|node| node.accepts_overrides);
        let tools = self.nodes().iter().flat_map(Node::all).flat_map(|node| &node.tools);
        let tools = tools.filter(|tool| tool.accepts_overrides);
        PromptDescriptor {
            namespace: self.namespace().to_owned(),
            key: self.key().to_owned(),
            sections: open().map(|node| (node.path.clone(), node.digest())).collect(),
            tools: tools.map(|tool| (tool.name().to_owned(), tool.contract())).collect(),
        }
    }

    /// Checks that all overrides apply. Do not store overrides that fail this check.
    pub fn check_overrides(&self, overrides: &PromptOverrides) -> Result<(), PromptError> {
        match Applied::new(self, overrides).warnings.into_iter().next() {
            None => Ok(()),
            Some(RenderWarning { target, message, .. }) => {
                Err(PromptError::Override { target, reason: message })
            }
        }
    }
}

/// The overrides that apply.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) sections: HashMap<SectionPath, AppliedSection>,
    pub(crate) tools: HashMap<String, Tool>,
    /// Warnings about those that do not.
    pub(crate) warnings: Vec<RenderWarning>,
}

#[derive(Debug, Default)]
pub(crate) struct AppliedSection {
    pub(crate) body: Option<Template>,
    pub(crate) summary: Option<Template>,
    pub(crate) visibility: Option<Visibility>,
}

impl Applied {
    pub(crate) fn new<Output>(prompt: &Prompt<Output>, overrides: &PromptOverrides) -> Self {
        let mut applied = Self::default();
        let warning = |target: &str, message| {
            let target = target.to_owned();
            RenderWarning { code: "override-ignored", target, message }
        };
        for (path, change) in &overrides.sections {
            match section(prompt, path, change) {
                Ok(section) => {
                    applied.sections.insert(path.clone(), section);
                }
                Err(message) => applied.warnings.push(warning(path.as_str(), message)),
            }
        }
        for (name, change) in &overrides.tools {
            match tool(prompt, name, change) {
                Ok(tool) => {
                    applied.tools.insert(name.clone(), tool);
                }
                Err(message) => applied.warnings.push(warning(name, message)),
            }
        }
        applied
    }
}

fn section<Output>(
    prompt: &Prompt<Output>,
    path: &SectionPath,
    change: &SectionOverride,
) -> Result<AppliedSection, String> {
    let node = prompt.way_to(path).and_then(|way| way.last().copied()).ok_or("there is no such section")?;
    if !node.accepts_overrides {
        return Err("the section does not accept overrides".to_owned());
    }
    if node.digest() != change.expected {
        return Err(
            "the section has changed since the override was made; remove or recreate the override".to_owned()
        );
    }
    let template = |part, text: &Option<String>| -> Result<Option<Template>, String> {
        let Some(text) = text else { return Ok(None) };
        let template = Template::new(text)?;
        match check_names(node.params.as_ref(), part, &template) {
            None => Ok(Some(template)),
            Some((part, name)) => Err(format!("its {part} uses `{name}`, but there is no such field")),
        }
    };
    let (body, summary) = (template("body", &change.body)?, template("summary", &change.summary)?);
    let has_summary = summary.is_some() || node.summary.is_some() || node.content.has_summary();
    if change.visibility == Some(Visibility::Summary) && !has_summary {
        return Err("the section has no summary to show".to_owned());
    }
    if let (Content::Inline { name, description }, Some(body)) = (&node.content, &body) {
        if body.is_empty() {
            return Err("a skill must have instructions".to_owned());
        }
        skill_md(name, description, body.text())?;
    }
    Ok(AppliedSection { body, summary, visibility: change.visibility })
}

fn tool<Output>(prompt: &Prompt<Output>, name: &str, change: &ToolOverride) -> Result<Tool, String> {
    let mut tools = prompt.nodes().iter().flat_map(Node::all).flat_map(|node| &node.tools);
    let tool = tools.find(|tool| tool.name() == name).ok_or("there is no such tool")?;
    if !tool.accepts_overrides {
        return Err("the tool does not accept overrides".to_owned());
    }
    if tool.contract() != change.expected {
        return Err(
            "the tool has changed since the override was made; remove or recreate the override".to_owned()
        );
    }
    let mut tool = tool.clone();
    if let Some(description) = &change.description {
        if description.trim().is_empty() || description.len() > 200 || !description.is_ascii() {
            return Err("its description must be 1 to 200 ASCII characters".to_owned());
        }
        tool.description.clone_from(description);
    }
    for (parameter, description) in &change.parameters {
        let schema = tool.parameters.pointer_mut("/properties").and_then(|all| all.get_mut(parameter));
        let schema = schema.ok_or_else(|| format!("the tool has no parameter `{parameter}`"))?;
        // A schema that accepts anything is `true` and cannot have a description.
        if !schema.is_object() {
            *schema = Value::Object(Map::new());
        }
        schema["description"] = description.clone().into();
    }
    Ok(tool)
}
