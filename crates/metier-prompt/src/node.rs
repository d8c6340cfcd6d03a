//! A checked section: templates parsed, position known, skills identified.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use metier_skill::{Digest, Origin, Rules, Skill, SkillName, read};

use crate::discovered::{Discovered, ListOptions};
use crate::error::PromptError;
use crate::mount::{ReadSkill, RenderedSkill, SkillKind, SkillMount, SkillReader};
use crate::params::{Binding, ParamsType};
use crate::path::{SectionKey, SectionPath};
use crate::section::{Draft, Predicate, Role, VisibilityRule};
use crate::skill_ref::SkillRef;
use crate::template::Template;
use crate::tool::{Tool, ToolPolicy};
use crate::view::Visibility;
use crate::workspace::WorkspaceFiles;

/// A section at its position.
pub(crate) struct Node {
    pub(crate) key: SectionKey,
    pub(crate) path: SectionPath,
    pub(crate) title: String,
    /// The heading line with its number and path. The number depends only on its position, not on which
    /// sections are enabled.
    pub(crate) heading: String,
    pub(crate) body: Template,
    pub(crate) summary: Option<Template>,
    pub(crate) params: Option<ParamsType>,
    pub(crate) default: Option<Binding>,
    pub(crate) enabled: Option<Predicate>,
    pub(crate) visibility: VisibilityRule,
    pub(crate) tools: Vec<Tool>,
    /// The attached skills that are enabled.
    pub(crate) skills: Vec<RenderedSkill>,
    pub(crate) policies: Vec<Arc<dyn ToolPolicy>>,
    pub(crate) accepts_overrides: bool,
    pub(crate) children: Vec<Node>,
    pub(crate) content: Content,
}

/// What a section contains besides its text.
pub(crate) enum Content {
    /// Nothing.
    Plain,
    /// Skills.
    Skills,
    /// It is a skill itself.
    Inline { name: String, description: String },
    /// It references a skill in a directory.
    Reference(Reference),
    /// A list of discovered skills.
    Discovered(Found),
    /// Files that the agent works on.
    Workspace(WorkspaceFiles),
}

/// A referenced skill, once it was read.
pub(crate) struct Reference {
    pub(crate) skill: SkillRef,
    read: OnceLock<(ReadSkill, Template, Template)>,
}

/// Discovered skills, without the excluded ones.
pub(crate) struct Found {
    pub(crate) skills: Vec<FoundSkill>,
    pub(crate) is_mounted: bool,
    pub(crate) options: ListOptions,
    /// The positions of skills by name, for ranking.
    pub(crate) places: HashMap<Arc<str>, usize>,
}

pub(crate) struct FoundSkill {
    pub(crate) name: Arc<str>,
    pub(crate) description: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) wanted: RenderedSkill,
}

/// The position of a new section.
pub(crate) struct Spot<'a> {
    pub(crate) parent: Option<&'a SectionPath>,
    /// The number of the parent, such as `2.1.`.
    pub(crate) number: &'a str,
    pub(crate) depth: usize,
    pub(crate) reader: Option<&'a dyn SkillReader>,
}

impl Node {
    pub(crate) fn new(draft: Draft, place: usize, spot: &Spot<'_>) -> Result<Self, PromptError> {
        let key = SectionKey::new(&draft.key)?;
        let path = SectionPath::below(spot.parent, &key);
        let title = draft.title.trim().to_owned();
        if title.is_empty() {
            return Err(PromptError::Title { path });
        }
        let number = format!("{}{}.", spot.number, place + 1);
        let heading = format!("{} {number} {title} ({path})", "#".repeat(spot.depth + 2));
        let (body, summary) = templates(&draft, &path)?;
        check_params(draft.params.as_ref(), &body, summary.as_ref(), &path)?;
        let content = content(&draft, &path, spot.reader)?;
        let is_summary = matches!(draft.visibility, VisibilityRule::Always(Visibility::Summary));
        if is_summary && summary.is_none() && !content.has_summary() {
            return Err(PromptError::MissingSummary { path });
        }
        for tool in &draft.tools {
            check_tool(tool, &path)?;
        }
        let skills = attached(draft.skills, &path)?;
        let below = Spot { parent: Some(&path), number: &number, depth: spot.depth + 1, reader: spot.reader };
        let children = nodes(draft.children, &below)?;
        Ok(Self {
            key,
            title,
            heading,
            body,
            summary,
            params: draft.params,
            default: draft.default,
            enabled: draft.enabled,
            visibility: draft.visibility,
            tools: draft.tools,
            skills,
            policies: draft.policies,
            accepts_overrides: draft.accepts_overrides,
            children,
            content,
            path,
        })
    }

    /// The section and everything below it, in order.
    pub(crate) fn all(&self) -> Vec<&Self> {
        let mut all = vec![self];
        all.extend(self.children.iter().flat_map(Self::all));
        all
    }

    /// The digest that overrides of the section are bound to. It covers the templates of the body and the
    /// summary, separated by a zero byte.
    pub(crate) fn digest(&self) -> Digest {
        match &self.summary {
            None => Digest::of(self.body.text().as_bytes()),
            Some(summary) => Digest::of(format!("{}\0{}", self.body.text(), summary.text()).as_bytes()),
        }
    }

    /// Whether it is a skill.
    pub(crate) fn is_skill(&self) -> bool {
        matches!(self.content, Content::Inline { .. } | Content::Reference(_))
    }

    /// Whether it is a skill or a list of skills.
    pub(crate) fn is_or_lists_skills(&self) -> bool {
        self.is_skill() || matches!(&self.content, Content::Discovered(found) if !found.skills.is_empty())
    }

    /// Whether it is a skill, lists skills, or has attached skills or files: opening it does more than reading it.
    pub(crate) fn brings_more(&self) -> bool {
        let has_files = matches!(&self.content, Content::Workspace(files) if !files.mounts.is_empty());
        self.is_or_lists_skills() || !self.skills.is_empty() || has_files
    }

    /// The skill's name, if this is a skill and its name is known.
    pub(crate) fn skill_name(&self) -> Option<&str> {
        match &self.content {
            Content::Inline { name, .. } => Some(name),
            Content::Reference(reference) => reference.known().map(|skill| skill.name.as_str()),
            _ => None,
        }
    }

    /// The names of the skills that it brings, with the workspace directory that each is mounted in.
    pub(crate) fn skill_names(&self) -> impl Iterator<Item = (Option<&str>, &str)> {
        let attached = self.skills.iter().map(|skill| (None, &*skill.name));
        let own = self.skill_name().map(|name| (None, name));
        let found = match &self.content {
            Content::Discovered(found) if found.is_mounted => found.skills.as_slice(),
            _ => &[],
        };
        let found = found.iter().map(|skill| (skill.wanted.mount_path.as_deref(), &*skill.name));
        attached.chain(own).chain(found)
    }
}

/// The sections at one level. Their keys must differ.
pub(crate) fn nodes(drafts: Vec<Draft>, spot: &Spot<'_>) -> Result<Vec<Node>, PromptError> {
    let mut nodes: Vec<Node> = Vec::with_capacity(drafts.len());
    for (place, draft) in drafts.into_iter().enumerate() {
        let node = Node::new(draft, place, spot)?;
        if nodes.iter().any(|other| other.key == node.key) {
            return Err(PromptError::DuplicateKey { path: node.path });
        }
        nodes.push(node);
    }
    Ok(nodes)
}

impl Content {
    /// Whether it has a summary.
    pub(crate) fn has_summary(&self) -> bool {
        !matches!(self, Self::Plain | Self::Skills)
    }
}

impl Reference {
    /// The skill, if it was already read.
    pub(crate) fn known(&self) -> Option<&ReadSkill> {
        self.read.get().map(|(skill, _, _)| skill)
    }

    /// The skill with its parsed instructions and summary. It is read once.
    pub(crate) fn get(
        &self,
        reader: Option<&dyn SkillReader>,
        path: &SectionPath,
    ) -> Result<&(ReadSkill, Template, Template), PromptError> {
        if let Some(known) = self.read.get() {
            return Ok(known);
        }
        let reader = reader.ok_or_else(|| PromptError::NoReader { path: path.clone() })?;
        let skill = self.skill.read(reader)?;
        let body = Template::verbatim(&skill.body);
        let summary = Template::verbatim(&summary_of(&skill.name, &skill.description));
        Ok(self.read.get_or_init(|| (skill, body, summary)))
    }
}

/// The text that stands for a skill until it is opened.
pub(crate) fn summary_of(name: &str, description: &str) -> String {
    format!("[Skill: {name}] {description}")
}

fn templates(draft: &Draft, path: &SectionPath) -> Result<(Template, Option<Template>), PromptError> {
    let template = |part, text: &str| {
        Template::new(text).map_err(|reason| PromptError::Template { path: path.clone(), part, reason })
    };
    let body = template("body", &draft.body)?;
    let summary = match (&draft.summary, &draft.role) {
        (Some(summary), _) => Some(template("summary", summary)?),
        // Not a template, because a description may contain dollar signs.
        (None, Role::Inline { name, description }) => {
            Some(Template::verbatim(&summary_of(name, description)))
        }
        (None, _) => None,
    };
    Ok((body, summary))
}

fn check_params(
    params: Option<&ParamsType>,
    body: &Template,
    summary: Option<&Template>,
    path: &SectionPath,
) -> Result<(), PromptError> {
    if let Some(params) = params.filter(|params| params.fields.is_none()) {
        return Err(PromptError::ParamsShape { path: path.clone(), params: params.short_name() });
    }
    let mut missing = check_names(params, "body", body);
    if let (None, Some(summary)) = (&missing, summary) {
        missing = check_names(params, "summary", summary);
    }
    match missing {
        None => Ok(()),
        Some((part, name)) => {
            let params = params.map(ParamsType::short_name);
            Err(PromptError::Placeholder { path: path.clone(), part, name, params })
        }
    }
}

/// The first placeholder in a template without a matching field.
pub(crate) fn check_names(
    params: Option<&ParamsType>,
    part: &'static str,
    template: &Template,
) -> Option<(&'static str, String)> {
    let fields = params.and_then(|params| params.fields.as_ref());
    let is_missing = |name: &&str| fields.is_none_or(|fields| !fields.contains(*name));
    template.names().into_iter().find(is_missing).map(|name| (part, name.to_owned()))
}

fn check_tool(tool: &Tool, path: &SectionPath) -> Result<(), PromptError> {
    let is_name = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'_';
    let (name, description) = (&tool.name, &tool.description);
    if !(1..=64).contains(&name.len()) || !name.bytes().all(is_name) {
        return Err(PromptError::ToolName { path: path.clone(), name: name.clone() });
    }
    if !(1..=200).contains(&description.len()) || !description.is_ascii() || description.trim().is_empty() {
        return Err(PromptError::ToolDescription { path: path.clone(), name: name.clone() });
    }
    Ok(())
}

fn attached(mounts: Vec<SkillMount>, path: &SectionPath) -> Result<Vec<RenderedSkill>, PromptError> {
    let on = mounts.into_iter().filter(SkillMount::is_enabled);
    let mount = |mount: SkillMount| {
        let name = mount.effective_name().unwrap_or_default();
        let checked = SkillName::new(name.as_str());
        checked.map_err(|error| invalid(path, &name, &error.to_string()))?;
        let (section, name) = (path.clone(), name.into());
        let mount = Arc::new(mount);
        Ok(RenderedSkill { name, section, kind: SkillKind::Attached, mount, mount_path: None })
    };
    on.map(mount).collect()
}

fn invalid(path: &SectionPath, name: &str, reason: &str) -> PromptError {
    PromptError::InvalidSkill { path: path.clone(), name: name.to_owned(), reason: reason.to_owned() }
}

fn content(
    draft: &Draft,
    path: &SectionPath,
    reader: Option<&dyn SkillReader>,
) -> Result<Content, PromptError> {
    Ok(match &draft.role {
        Role::Plain => Content::Plain,
        Role::Skills => Content::Skills,
        Role::Inline { name, description } => {
            if draft.body.trim().is_empty() {
                return Err(invalid(path, name, "it has no instructions"));
            }
            skill_md(name, description, "x").map_err(|reason| invalid(path, name, &reason))?;
            Content::Inline { name: name.clone(), description: description.clone() }
        }
        Role::Reference(skill) => {
            let reference = Reference { skill: skill.clone(), read: OnceLock::new() };
            if skill.is_enabled() {
                reference.get(reader, path)?;
            }
            Content::Reference(reference)
        }
        Role::Discovered => Content::Discovered(found(&draft.discovered, path)?),
        Role::Workspace => {
            draft.workspace.check(path)?;
            Content::Workspace(draft.workspace.clone())
        }
    })
}

/// The text of a `SKILL.md`, if it is a valid skill.
pub(crate) fn skill_md(name: &str, description: &str, body: &str) -> Result<String, String> {
    let checked = SkillName::new(name).map_err(|error| error.to_string())?;
    let mut skill = Skill::new(checked, description);
    skill.body = format!("\n{body}\n").into();
    let text = skill.to_skill_md();
    let reading =
        read(text.as_bytes(), Origin { file: "SKILL.md", directory: Some(name) }, &Rules::standard());
    match reading.diagnostics.iter().find(|found| found.is_error()) {
        Some(error) => Err(error.message.clone()),
        None => Ok(text),
    }
}

fn found(discovered: &Discovered, path: &SectionPath) -> Result<Found, PromptError> {
    let wanted = discovered.wanted(path)?;
    let mount_path = match &discovered.mount_path {
        Some(mount) => Some(workspace_path(mount, path)?),
        None => None,
    };
    // A mounted skill becomes a directory with this name.
    for skill in wanted.iter().filter(|_| mount_path.is_some()) {
        SkillName::new(skill.name.as_str())
            .map_err(|error| invalid(path, &skill.name, &error.to_string()))?;
    }
    let skills: Vec<FoundSkill> = wanted
        .into_iter()
        .map(|skill| {
            let name: Arc<str> = skill.name.as_str().into();
            let location = match (&discovered.options.activation_tool, &mount_path) {
                (Some(_), _) => None,
                (None, Some(mount)) => Some(format!("{mount}/{name}/SKILL.md")),
                (None, None) => Some(skill.skill_md.to_string_lossy().into_owned()),
            };
            let wanted = RenderedSkill {
                name: Arc::clone(&name),
                section: path.clone(),
                kind: SkillKind::Discovered,
                mount: Arc::new(SkillMount::new(&skill.skill_md).named(&*name)),
                mount_path: mount_path.clone(),
            };
            FoundSkill { name, description: skill.description.clone(), location, wanted }
        })
        .collect();
    Ok(Found {
        places: skills.iter().enumerate().map(|(place, skill)| (Arc::clone(&skill.name), place)).collect(),
        skills,
        is_mounted: mount_path.is_some(),
        options: discovered.options.clone(),
    })
}

/// A normalized path inside the workspace.
pub(crate) fn workspace_path(mount: &str, path: &SectionPath) -> Result<Arc<str>, PromptError> {
    let mut parts = Vec::new();
    for part in mount.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            "" | ".." => return Err(PromptError::MountPath { path: path.clone(), mount: mount.to_owned() }),
            part if part.contains(['\\', '\0']) => {
                return Err(PromptError::MountPath { path: path.clone(), mount: mount.to_owned() });
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() {
        return Err(PromptError::MountPath { path: path.clone(), mount: mount.to_owned() });
    }
    Ok(parts.join("/").into())
}
