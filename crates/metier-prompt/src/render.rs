//! Renders a prompt into the text, tools and skills for a model and its agent.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::marker::PhantomData;
use std::sync::Arc;

use metier_skill::{find_tag, tokens};
use serde_json::Value;

use crate::disclosure;
use crate::error::PromptError;
use crate::listing;
use crate::mount::{RenderedSkill, SkillKind, SkillMount};
use crate::node::{Content, Node, skill_md};
use crate::overrides::PromptOverrides;
use crate::params::{Binding, Bindings, Params};
use crate::path::SectionPath;
use crate::prompt::{Prompt, check_skills};
use crate::resolve::Resolver;
use crate::tool::{Tool, ToolPolicy, ToolText};
use crate::view::{SessionState, SessionView, Visibility};
use crate::workspace::WorkspaceFiles;

/// Options for rendering a prompt: values and visibility. `Output` is the type of the answer, as of the prompt.
pub struct Rendering<Output = String> {
    pub(crate) options: RenderOptions,
    output: PhantomData<fn() -> Output>,
}

/// The same, whatever the answer is.
#[derive(Debug, Clone)]
pub(crate) struct RenderOptions {
    pub(crate) prompt: Prompt,
    pub(crate) bindings: Bindings,
    pub(crate) explicit: BTreeMap<SectionPath, Visibility>,
    pub(crate) installs_skills: bool,
    pub(crate) overrides: Option<Arc<PromptOverrides>>,
}

/// The result of rendering a prompt.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RenderedPrompt {
    /// The text for the model.
    pub text: String,
    /// The tools that the model can call, in the order of the sections. The prompt's own tools come last.
    pub tools: Vec<RenderedTool>,
    /// The skills that the agent must be able to find, in the order of the sections.
    pub skills: Vec<RenderedSkill>,
    /// The skills that lists in the text show by name and description.
    pub listed: Vec<ListedInPrompt>,
    /// The files that must be in the agent's workspace.
    pub workspace: WorkspaceFiles,
    /// The sections that were shown, in the order of the text.
    pub sections: Vec<RenderedSection>,
    /// Warnings for the user.
    pub warnings: Vec<RenderWarning>,
}

impl RenderedPrompt {
    /// The tool with this name.
    pub fn tool(&self, name: &str) -> Option<&RenderedTool> {
        self.tools.iter().find(|tool| tool.tool.name() == name)
    }

    /// The approximate number of tokens of the text.
    pub fn tokens(&self) -> usize {
        tokens(self.text.len())
    }
}

/// A skill in a list of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedInPrompt {
    /// The skill.
    pub skill: RenderedSkill,
    /// The approximate number of tokens of its entry.
    pub tokens: usize,
}

/// A section that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedSection {
    /// Its path.
    pub path: SectionPath,
    /// How much of it was shown.
    pub visibility: Visibility,
    /// The approximate number of tokens of its own text, without child sections.
    pub tokens: usize,
    /// The name of the skill, if the section is one.
    pub skill: Option<String>,
    /// For a skill list, how many descriptions were shortened to keep the budget.
    pub shortened: usize,
    /// For a skill list, how many skills were left out to keep the budget.
    pub omitted: usize,
}

/// A tool that the model can call.
#[derive(Clone)]
#[non_exhaustive]
pub struct RenderedTool {
    /// The tool as it is described here.
    pub tool: Tool,
    /// The section that it belongs to; `None` for the prompt's own tools.
    pub section: Option<SectionPath>,
    policies: Vec<Arc<dyn ToolPolicy>>,
}

impl RenderedTool {
    /// Whether the policies of its sections allow a call with these arguments.
    pub fn check(&self, arguments: &Value, state: &SessionState) -> Result<(), String> {
        self.policies.iter().try_for_each(|policy| policy.check(self.tool.name(), arguments, state))
    }

    /// Informs its sections about a successful call.
    pub fn tell(&self, arguments: &Value, answer: &ToolText, state: &mut SessionState) {
        for policy in &self.policies {
            policy.on_result(self.tool.name(), arguments, answer, state);
        }
    }

    /// Whether it is one of the two tools that open and read sections.
    pub fn is_disclosure(&self) -> bool {
        self.section.is_none()
    }
}

impl fmt::Debug for RenderedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RenderedTool").field(&self.tool.name()).finish()
    }
}

/// A requested change that was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderWarning {
    /// A stable code.
    pub code: &'static str,
    /// The section or tool.
    pub target: String,
    /// What happened, for the user.
    pub message: String,
}

impl<Output> Rendering<Output> {
    pub(crate) fn new(prompt: Prompt) -> Self {
        let (bindings, explicit) = (Bindings::default(), BTreeMap::new());
        let options = RenderOptions { prompt, bindings, explicit, installs_skills: false, overrides: None };
        Self { options, output: PhantomData }
    }

    /// Binds this value for every section with params of its type.
    #[must_use]
    pub fn bind<P: Params>(mut self, params: P) -> Self {
        self.options.bindings.bind(Binding::new(params));
        self
    }

    /// Replaces all bound values.
    #[must_use]
    pub fn bindings(mut self, bindings: Bindings) -> Self {
        self.options.bindings = bindings;
        self
    }

    /// Sets how a section is shown. Takes precedence over the session and the section.
    #[must_use]
    pub fn visibility(mut self, path: SectionPath, visibility: Visibility) -> Self {
        self.options.explicit.insert(path, visibility);
        self
    }

    /// Skills are installed in the agent's home instead of being part of the text. The caller must install the
    /// rendered skills there. By default all skills are in the text, as summaries.
    #[must_use]
    pub fn install_skills(mut self, installs_skills: bool) -> Self {
        self.options.installs_skills = installs_skills;
        self
    }

    /// Stored overrides to apply.
    #[must_use]
    pub fn overrides(mut self, overrides: impl Into<Arc<PromptOverrides>>) -> Self {
        self.options.overrides = Some(overrides.into());
        self
    }

    /// The same rendering with text as the answer.
    #[must_use]
    pub fn untyped(self) -> Rendering {
        Rendering { options: self.options, output: PhantomData }
    }

    /// The prompt.
    pub fn prompt(&self) -> &Prompt {
        &self.options.prompt
    }

    /// Renders the prompt for the current state of a session.
    pub fn render(&self, session: &SessionView) -> Result<RenderedPrompt, PromptError> {
        let mut walk = Walk::new(&self.options, session)?;
        let nodes = self.prompt().nodes();
        for node in nodes {
            if walk.resolver.is_enabled(node)? {
                walk.node(node, None, &[])?;
            }
        }
        // A skill that was enabled after the prompt was built is read now.
        check_skills(nodes)?;
        Ok(walk.finish())
    }
}

// Not derived, because deriving would require something of `Output` although no value of it is stored.
impl<Output> Clone for Rendering<Output> {
    fn clone(&self) -> Self {
        Self { options: self.options.clone(), output: PhantomData }
    }
}

impl<Output> fmt::Debug for Rendering<Output> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rendering").field(&self.options).finish()
    }
}

impl<Output> Prompt<Output> {
    /// Renders it for the current state of a session, without bound values.
    pub fn render(&self, session: &SessionView) -> Result<RenderedPrompt, PromptError> {
        self.rendering().render(session)
    }
}

/// One pass over the sections.
pub(crate) struct Walk<'a> {
    pub(crate) resolver: Resolver<'a>,
    out: RenderedPrompt,
    has_to_open: bool,
    has_to_read: bool,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(rendering: &'a RenderOptions, session: &'a SessionView) -> Result<Self, PromptError> {
        let resolver = Resolver::new(rendering, session)?;
        Ok(Self { resolver, out: RenderedPrompt::default(), has_to_open: false, has_to_read: false })
    }

    /// Renders an enabled section, with the policies of its parents.
    pub(crate) fn node(
        &mut self,
        node: &'a Node,
        forced: Option<Visibility>,
        above: &[Arc<dyn ToolPolicy>],
    ) -> Result<(), PromptError> {
        self.warn_of_markup(node);
        if forced.is_none() && self.resolver.is_native(node)? {
            return self.native(node);
        }
        let visibility = match forced {
            Some(visibility) => visibility,
            None => self.resolver.visibility(node)?,
        };
        let begin = self.out.text.len();
        let place = self.out.sections.len();
        self.out.sections.push(RenderedSection {
            path: node.path.clone(),
            visibility,
            tokens: 0,
            skill: node.skill_name().map(str::to_owned),
            shortened: 0,
            omitted: 0,
        });
        let text = match visibility {
            Visibility::Full => self.full(node, place)?,
            Visibility::Summary => self.summary(node)?,
        };
        self.block(&node.heading);
        if !text.is_empty() {
            self.block(&text);
        }
        let own = self.out.text.len();
        if visibility == Visibility::Full {
            let policies: Vec<_> = above.iter().chain(&node.policies).cloned().collect();
            self.collect(node, &policies)?;
            for child in self.resolver.children(node)? {
                self.node(child, None, &policies)?;
            }
        }
        if text.is_empty() && self.out.text.len() == own {
            // A heading without content is useless.
            self.out.text.truncate(begin);
        } else {
            self.out.sections[place].tokens = tokens(own - begin);
        }
        Ok(())
    }

    /// Adds a block, after an empty line if there is text already.
    fn block(&mut self, text: &str) {
        if !self.out.text.is_empty() {
            self.out.text.push_str("\n\n");
        }
        self.out.text.push_str(text);
    }

    fn full(&mut self, node: &'a Node, place: usize) -> Result<String, PromptError> {
        let body = match &node.content {
            Content::Reference(reference) => {
                let (skill, body, _) = reference.get(self.resolver.reader(), &node.path)?;
                // Only its files are there, and its instructions may refer to them.
                let place = skill.directory.display();
                return Ok(format!("The files of this skill are in `{place}`.\n\n{}", body.render(None)));
            }
            _ => self.resolver.body(node)?.into_owned(),
        };
        if let Content::Workspace(files) = &node.content {
            let text = files.text();
            if text.is_empty() {
                return Ok(text);
            }
            return Ok(if body.is_empty() { text } else { format!("{body}\n\n{text}") });
        }
        let Content::Discovered(found) = &node.content else { return Ok(body) };
        if found.skills.is_empty() {
            // An empty list needs no explanation.
            return Ok(String::new());
        }
        let (listed, order) = listing::full(found, self.resolver.session.task.as_deref());
        let entries = order.into_iter().zip(&listed.items);
        let entries =
            entries.map(|(skill, tokens)| ListedInPrompt { skill: skill.wanted.clone(), tokens: *tokens });
        self.out.listed.extend(entries);
        let section = &mut self.out.sections[place];
        (section.shortened, section.omitted) = (listed.shortened, listed.omitted);
        if listed.omitted > 0 && listed.omitted == found.skills.len() {
            let (code, target) = ("skills-left-out", node.path.to_string());
            let message =
                format!("none of the {} skills of section `{target}` fits into its budget", listed.omitted);
            self.out.warnings.push(RenderWarning { code, target, message });
        }
        let list = listed.text.trim_end();
        if list.is_empty() {
            return Ok(listing::left_out(found));
        }
        Ok(if body.is_empty() { list.to_owned() } else { format!("{body}\n\n{list}") })
    }

    fn summary(&mut self, node: &'a Node) -> Result<String, PromptError> {
        let text = match &node.content {
            Content::Discovered(found) if found.skills.is_empty() => return Ok(String::new()),
            Content::Discovered(found) if node.summary.is_none() => listing::names(found),
            Content::Workspace(files) if files.mounts.is_empty() => return Ok(String::new()),
            Content::Workspace(files) if node.summary.is_none() => files.names(),
            Content::Reference(reference) => {
                let (_, _, summary) = reference.get(self.resolver.reader(), &node.path)?;
                summary.render(None).into_owned()
            }
            _ => self.resolver.summary(node)?.into_owned(),
        };
        let unlocks = self.resolver.unlocks(node);
        if unlocks.has_more && self.resolver.rendering.explicit.contains_key(&node.path) {
            // The caller fixed this visibility, so no tool call could change it.
            return Ok(text);
        }
        let mut keys = Vec::new();
        for child in self.resolver.known_children(node) {
            // An installed skill is not shown below an open section.
            if !self.resolver.is_native(child)? {
                keys.push(child.key.as_str());
            }
        }
        let is_opened = unlocks.has_more;
        self.has_to_open |= is_opened;
        self.has_to_read |= !is_opened;
        let line = disclosure::suffix(node, &unlocks, &keys);
        Ok(if text.is_empty() { line } else { format!("{text}\n\n{line}") })
    }

    /// Collects a section's tools and skills.
    fn collect(&mut self, node: &'a Node, policies: &[Arc<dyn ToolPolicy>]) -> Result<(), PromptError> {
        for tool in &node.tools {
            let tool = self.resolver.tool(tool);
            let (section, policies) = (Some(node.path.clone()), policies.to_vec());
            self.out.tools.push(RenderedTool { tool, section, policies });
        }
        self.out.skills.extend(node.skills.iter().cloned());
        if let Content::Discovered(found) = &node.content
            && found.is_mounted
        {
            self.out.skills.extend(found.skills.iter().map(|skill| skill.wanted.clone()));
        }
        if let Content::Workspace(files) = &node.content {
            self.out.workspace.extend(files);
        }
        if !self.resolver.rendering.installs_skills && self.has_to_install(node)? {
            self.warn_not_installed(node);
        }
        Ok(())
    }

    /// Whether a skill of this section would be installed in the agent's home.
    fn has_to_install(&self, node: &'a Node) -> Result<bool, PromptError> {
        if !node.skills.is_empty() {
            return Ok(true);
        }
        for child in self.resolver.children(node)? {
            if self.resolver.can_be_native(child)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Descriptions are plain text: a tag could end or open a part of what a model reads.
    fn warn_of_markup(&mut self, node: &Node) {
        let Content::Inline { name, description } = &node.content else { return };
        if let Some(tag) = find_tag(description) {
            let message =
                format!("the description of skill `{name}` contains `{tag}`, which looks like an XML tag");
            let (code, target) = ("description-markup", node.path.to_string());
            self.out.warnings.push(RenderWarning { code, target, message });
        }
    }

    fn warn_not_installed(&mut self, node: &Node) {
        let path = &node.path;
        let message = if node.skills.is_empty() {
            format!("skills are not installed here; those of section `{path}` stay in the text as summaries")
        } else {
            format!("skills are not installed here; those attached to section `{path}` are missing")
        };
        let (code, target) = ("skills-not-installed", path.to_string());
        self.out.warnings.push(RenderWarning { code, target, message });
    }

    /// A skill that is installed in the agent's home and is not in the text.
    fn native(&mut self, node: &'a Node) -> Result<(), PromptError> {
        let (kind, mount) = match &node.content {
            Content::Reference(reference) => {
                let (skill, _, _) = reference.get(self.resolver.reader(), &node.path)?;
                (SkillKind::Referenced, SkillMount::new(&skill.directory).named(&skill.name))
            }
            Content::Inline { name, description } => {
                let mut body = String::new();
                self.instructions(node, 1, &mut body)?;
                let wrong = |reason| PromptError::InvalidSkill {
                    path: node.path.clone(),
                    name: name.clone(),
                    reason,
                };
                let text = skill_md(name, description, &body).map_err(wrong)?;
                (SkillKind::Inline, SkillMount::from_text(name, text))
            }
            _ => return Ok(()),
        };
        let name = node.skill_name().unwrap_or_default().into();
        let (section, mount) = (node.path.clone(), Arc::new(mount));
        self.out.skills.push(RenderedSkill { name, section, kind, mount, mount_path: None });
        for part in std::iter::once(node).chain(self.resolver.enabled_below(node)?) {
            self.out.skills.extend(part.skills.iter().cloned());
        }
        Ok(())
    }

    /// The whole text of a skill, with its child sections under further headings.
    fn instructions(&mut self, node: &'a Node, level: usize, out: &mut String) -> Result<(), PromptError> {
        let body = self.resolver.body(node)?;
        if !out.is_empty() && !body.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(&body);
        for child in self.resolver.children(node)? {
            let begin = out.len();
            let _ = write!(out, "\n\n{} {}", "#".repeat(level + 1), child.title);
            let end = out.len();
            self.instructions(child, level + 1, out)?;
            if out.len() == end {
                out.truncate(begin);
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> RenderedPrompt {
        self.out.warnings.splice(0..0, self.resolver.take_warnings());
        let own = disclosure::tools(self.has_to_open, self.has_to_read);
        self.out.tools.extend(own.map(|tool| RenderedTool { tool, section: None, policies: Vec::new() }));
        self.out
    }
}
