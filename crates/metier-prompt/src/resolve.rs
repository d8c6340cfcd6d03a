//! The state of sections in one rendering: their values, whether they exist, and how much is shown.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::{Map, Value};

use crate::error::PromptError;
use crate::mount::SkillReader;
use crate::node::{Content, Node};
use crate::overrides::Applied;
use crate::params::{Binding, Erased, NoParams};
use crate::render::{RenderOptions, RenderWarning};
use crate::section::{EnabledSkills, VisibilityRule};
use crate::template::Template;
use crate::tool::Tool;
use crate::view::{SessionView, Visibility};

/// Answers questions about sections, for one rendering of a session.
pub(crate) struct Resolver<'a> {
    pub(crate) rendering: &'a RenderOptions,
    pub(crate) session: &'a SessionView,
    applied: Applied,
    /// The fields of values that templates used. Many sections share few values.
    fields: RefCell<HashMap<usize, Map<String, Value>>>,
}

/// What opening a section provides besides its text.
#[derive(Debug, Default)]
pub(crate) struct Unlocks {
    /// The tools that become available.
    pub(crate) tools: Vec<String>,
    /// Whether there are any tools or skills in it or below it, so that opening it does more than reading it.
    pub(crate) has_more: bool,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(rendering: &'a RenderOptions, session: &'a SessionView) -> Result<Self, PromptError> {
        for bound in rendering.bindings.iter() {
            if rendering.prompt.default_of(bound.id()).is_none() {
                return Err(PromptError::UnexpectedParams { params: bound.short_name() });
            }
        }
        let applied = match &rendering.overrides {
            Some(overrides) => Applied::new(&rendering.prompt, overrides),
            None => Applied::default(),
        };
        Ok(Self { rendering, session, applied, fields: RefCell::default() })
    }

    pub(crate) fn reader(&self) -> Option<&'a dyn SkillReader> {
        self.rendering.prompt.reader()
    }

    pub(crate) fn take_warnings(&mut self) -> Vec<RenderWarning> {
        std::mem::take(&mut self.applied.warnings)
    }

    /// The tool as it is described here.
    pub(crate) fn tool(&self, tool: &Tool) -> Tool {
        self.applied.tools.get(tool.name()).unwrap_or(tool).clone()
    }

    /// The value that a section's predicates and templates use.
    fn params(&self, node: &'a Node) -> Result<Option<&'a Binding>, PromptError> {
        let Some(kind) = &node.params else { return Ok(None) };
        let bound = self.rendering.bindings.get(kind.id).or(node.default.as_ref());
        let first = || self.rendering.prompt.default_of(kind.id).and_then(Option::as_ref);
        let missing = || PromptError::MissingParams { path: node.path.clone(), params: kind.short_name() };
        bound.or_else(first).ok_or_else(missing).map(Some)
    }

    fn with_params<T>(&self, node: &'a Node, ask: impl FnOnce(&Erased) -> T) -> Result<T, PromptError> {
        Ok(match self.params(node)? {
            Some(bound) => ask(bound.value()),
            None => ask(&NoParams {}),
        })
    }

    /// Whether a section exists by itself. Its parent may still be disabled.
    pub(crate) fn is_enabled(&self, node: &'a Node) -> Result<bool, PromptError> {
        if matches!(&node.content, Content::Reference(reference) if !reference.skill.is_enabled()) {
            return Ok(false);
        }
        let Some(predicate) = &node.enabled else { return Ok(true) };
        let answer = self.with_params(node, |params| predicate(params, self.session))?;
        answer.map_err(|reason| PromptError::Predicate { path: node.path.clone(), reason })
    }

    /// The enabled child sections.
    pub(crate) fn children(&self, node: &'a Node) -> Result<Vec<&'a Node>, PromptError> {
        let mut children = Vec::with_capacity(node.children.len());
        for child in &node.children {
            if self.is_enabled(child)? && self.is_chosen(node, child)? {
                children.push(child);
            }
        }
        Ok(children)
    }

    /// The same without those whose predicate fails. That is an error only once they are shown, not in a
    /// summary.
    pub(crate) fn known_children(&self, node: &'a Node) -> Vec<&'a Node> {
        let is_there = |child: &&'a Node| {
            self.is_enabled(child).unwrap_or(false) && self.is_chosen(node, child).unwrap_or(false)
        };
        node.children.iter().filter(is_there).collect()
    }

    /// Whether a container of skills has this one enabled.
    pub(crate) fn is_chosen(&self, parent: &'a Node, child: &'a Node) -> Result<bool, PromptError> {
        if !matches!(parent.content, Content::Skills) {
            return Ok(true);
        }
        let name = match &child.content {
            Content::Reference(reference) => &reference.get(self.reader(), &child.path)?.0.name,
            Content::Inline { name, .. } => name,
            _ => return Ok(true),
        };
        self.with_params(parent, |params| {
            params.downcast_ref::<EnabledSkills>().is_none_or(|enabled| enabled.has(name))
        })
    }

    /// Everything below a section that is enabled.
    pub(crate) fn enabled_below(&self, node: &'a Node) -> Result<Vec<&'a Node>, PromptError> {
        let mut below = Vec::new();
        for child in self.children(node)? {
            below.push(child);
            below.extend(self.enabled_below(child)?);
        }
        Ok(below)
    }

    /// How much of a section is shown. The rendering decides first, then the session, an override, and the
    /// section itself.
    pub(crate) fn visibility(&self, node: &'a Node) -> Result<Visibility, PromptError> {
        let explicit = self.rendering.explicit.get(&node.path).copied();
        let said = explicit.or_else(|| self.session.state.visibility(&node.path));
        let applied = || self.applied.sections.get(&node.path).and_then(|section| section.visibility);
        match (said.or_else(applied), &node.visibility) {
            (Some(visibility), _) => Ok(visibility),
            (None, VisibilityRule::Always(visibility)) => Ok(*visibility),
            (None, VisibilityRule::By(choose)) => {
                self.with_params(node, |params| choose(params, self.session))
            }
        }
    }

    /// Whether a section is a skill that is installed in the agent's home instead.
    pub(crate) fn is_native(&self, node: &'a Node) -> Result<bool, PromptError> {
        Ok(self.rendering.installs_skills && self.can_be_native(node)?)
    }

    /// Whether it would be if the agent had a home.
    pub(crate) fn can_be_native(&self, node: &'a Node) -> Result<bool, PromptError> {
        Ok(match &node.content {
            Content::Reference(_) => true,
            // Tools are called through the session, and the skills below it are found there, so it stays in the
            // text.
            Content::Inline { .. } => {
                let stays = |below: &&Node| !below.tools.is_empty() || below.is_or_lists_skills();
                node.tools.is_empty() && !self.enabled_below(node)?.iter().any(stays)
            }
            _ => false,
        })
    }

    /// What opening a section would provide.
    pub(crate) fn unlocks(&self, node: &'a Node) -> Unlocks {
        let mut unlocks = Unlocks::default();
        self.unlock(node, true, &mut unlocks);
        unlocks
    }

    fn unlock(&self, node: &'a Node, is_shown: bool, unlocks: &mut Unlocks) {
        let tools = node.tools.iter().map(|tool| tool.name().to_owned());
        unlocks.tools.extend(tools.filter(|_| is_shown));
        unlocks.has_more |= !node.tools.is_empty() || node.brings_more();
        for child in self.known_children(node) {
            let is_shown = is_shown && matches!(self.visibility(child), Ok(Visibility::Full));
            self.unlock(child, is_shown, unlocks);
        }
    }

    pub(crate) fn body(&self, node: &'a Node) -> Result<Cow<'_, str>, PromptError> {
        let applied = self.applied.sections.get(&node.path).and_then(|section| section.body.as_ref());
        self.fill(node, applied.unwrap_or(&node.body))
    }

    pub(crate) fn summary(&self, node: &'a Node) -> Result<Cow<'_, str>, PromptError> {
        let applied = self.applied.sections.get(&node.path).and_then(|section| section.summary.as_ref());
        match applied.or(node.summary.as_ref()) {
            Some(summary) => self.fill(node, summary),
            None => Err(PromptError::MissingSummary { path: node.path.clone() }),
        }
    }

    fn fill<'t>(&self, node: &'a Node, template: &'t Template) -> Result<Cow<'t, str>, PromptError> {
        let Some(bound) = self.params(node)?.filter(|_| template.has_names()) else {
            return Ok(template.render(None));
        };
        let mut known = self.fields.borrow_mut();
        let id = std::ptr::from_ref(bound.value()).cast::<()>().addr();
        let fields = match known.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let wrong = |reason| PromptError::Fields { params: bound.short_name(), reason };
                new.insert(bound.fields().map_err(wrong)?)
            }
        };
        Ok(template.render(Some(fields)))
    }
}
