//! A prompt: sections that were checked together and can be rendered repeatedly.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::disclosure;
use crate::error::PromptError;
use crate::mount::SkillReader;
use crate::node::{Node, Spot, nodes};
use crate::params::{Binding, Params};
use crate::path::{SectionKey, SectionPath};
use crate::render::Rendering;
use crate::section::{AnySection, Draft};

/// A prompt whose keys, placeholders, tool and skill names and summaries were checked.
///
/// `Output` is the type of the answer: text, unless [`PromptBuilder::output`] sets another.
///
/// ```
/// use metier_prompt::{Prompt, PromptError, Section, SessionView};
///
/// let prompt = Prompt::builder("demo", "hello")
///     .section(Section::new("task", "Task").body("Say hello."))
///     .section(Section::new("notes", "Notes").body("Be brief.").child(Section::new("tone", "Tone").body("Be kind.")))
///     .build()?;
/// let text = prompt.render(&SessionView::default())?.text;
/// assert!(text.ends_with("## 2. Notes (notes)\n\nBe brief.\n\n### 2.1. Tone (notes.tone)\n\nBe kind."));
///
/// let twice = Prompt::builder("demo", "twice").section(Section::new("a", "A")).section(Section::new("a", "B"));
/// assert!(matches!(twice.build(), Err(PromptError::DuplicateKey { .. })));
/// # Ok::<(), PromptError>(())
/// ```
pub struct Prompt<Output = String>(Arc<Built>, PhantomData<fn() -> Output>);

// Not derived, because deriving would require `Output: Clone` although no value of it is stored.
impl<Output> Clone for Prompt<Output> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0), PhantomData)
    }
}

struct Built {
    namespace: SectionKey,
    key: SectionKey,
    nodes: Vec<Node>,
    /// The first default of each params type; `None` if no section has one.
    params: HashMap<TypeId, Option<Binding>>,
    reader: Option<Arc<dyn SkillReader>>,
}

/// Builds a prompt from sections.
pub struct PromptBuilder<Output = String> {
    namespace: String,
    key: String,
    drafts: Vec<Draft>,
    reader: Option<Arc<dyn SkillReader>>,
    output: PhantomData<fn() -> Output>,
}

impl<Output> PromptBuilder<Output> {
    /// Sets the type of the answer. An agent is shown its JSON schema, and its answer is read into it.
    #[must_use]
    pub fn output<Other>(self) -> PromptBuilder<Other> {
        let Self { namespace, key, drafts, reader, output: _ } = self;
        PromptBuilder { namespace, key, drafts, reader, output: PhantomData }
    }

    /// Appends a section.
    #[must_use]
    pub fn section(mut self, section: impl Into<AnySection>) -> Self {
        self.drafts.push(section.into().0);
        self
    }

    /// Sets the reader for skills that sections reference.
    #[must_use]
    pub fn skill_reader(mut self, reader: impl SkillReader + 'static) -> Self {
        self.reader = Some(Arc::new(reader));
        self
    }

    /// Builds the prompt, or returns the first error that can be found before rendering.
    pub fn build(self) -> Result<Prompt<Output>, PromptError> {
        let (namespace, key) = (SectionKey::new(&self.namespace)?, SectionKey::new(&self.key)?);
        let top = Spot { parent: None, number: "", depth: 0, reader: self.reader.as_deref() };
        let nodes = nodes(self.drafts, &top)?;
        check_tools(&nodes)?;
        check_skills(&nodes)?;
        let mut params: HashMap<TypeId, Option<Binding>> = HashMap::new();
        for node in nodes.iter().flat_map(Node::all) {
            if let Some(kind) = &node.params {
                let first = params.entry(kind.id).or_default();
                *first = first.take().or_else(|| node.default.clone());
            }
        }
        Ok(Prompt(Arc::new(Built { namespace, key, nodes, params, reader: self.reader }), PhantomData))
    }
}

impl<Output> fmt::Debug for PromptBuilder<Output> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptBuilder").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Prompt {
    /// Starts a prompt with this key in a namespace. Both follow the rules for section keys.
    pub fn builder(namespace: &str, key: &str) -> PromptBuilder {
        let (namespace, key) = (namespace.to_owned(), key.to_owned());
        PromptBuilder { namespace, key, drafts: Vec::new(), reader: None, output: PhantomData }
    }
}

impl<Output> Prompt<Output> {
    /// The same prompt with text as its answer.
    #[must_use]
    pub fn untyped(&self) -> Prompt {
        Prompt(Arc::clone(&self.0), PhantomData)
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        self.0.namespace.as_str()
    }

    /// The key in its namespace.
    pub fn key(&self) -> &str {
        self.0.key.as_str()
    }

    /// Renders with this value for every section with params of its type.
    pub fn with<P: Params>(&self, params: P) -> Rendering<Output> {
        self.rendering().bind(params)
    }

    /// Starts rendering, with further options.
    pub fn rendering(&self) -> Rendering<Output> {
        Rendering::new(self.untyped())
    }

    /// The paths of all sections, in order.
    pub fn paths(&self) -> impl Iterator<Item = &SectionPath> {
        self.nodes().iter().flat_map(Node::all).map(|node| &node.path)
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.0.nodes
    }

    pub(crate) fn reader(&self) -> Option<&dyn SkillReader> {
        self.0.reader.as_deref()
    }

    /// The first default for this params type; `None` if no section uses the type.
    pub(crate) fn default_of(&self, id: TypeId) -> Option<&Option<Binding>> {
        self.0.params.get(&id)
    }

    /// The sections from the top to a path.
    pub(crate) fn way_to(&self, path: &SectionPath) -> Option<Vec<&Node>> {
        let mut level = self.nodes();
        let mut way = Vec::new();
        for key in path.keys() {
            let node = level.iter().find(|node| node.key.as_str() == key)?;
            level = &node.children;
            way.push(node);
        }
        Some(way)
    }
}

impl<Output> fmt::Debug for Prompt<Output> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prompt({}/{})", self.namespace(), self.key())
    }
}

fn check_tools(nodes: &[Node]) -> Result<(), PromptError> {
    let mut seen: HashMap<&str, &SectionPath> = HashMap::new();
    for node in nodes.iter().flat_map(Node::all) {
        for tool in &node.tools {
            let first = seen.insert(&tool.name, &node.path);
            let other = match first {
                Some(first) => format!("section `{first}`"),
                None if disclosure::TOOLS.contains(&tool.name.as_str()) => "every prompt".to_owned(),
                None => continue,
            };
            return Err(PromptError::DuplicateTool {
                path: node.path.clone(),
                name: tool.name.clone(),
                other,
            });
        }
    }
    Ok(())
}

/// Skills that an agent finds in the same directory need different names. Each skill list with a mount path has
/// its own directory.
pub(crate) fn check_skills(nodes: &[Node]) -> Result<(), PromptError> {
    let mut seen: HashMap<(Option<&str>, &str), &SectionPath> = HashMap::new();
    for node in nodes.iter().flat_map(Node::all) {
        for (directory, name) in node.skill_names() {
            if let Some(other) = seen.insert((directory, name), &node.path) {
                let (path, other) = (node.path.clone(), other.clone());
                return Err(PromptError::DuplicateSkill { path, name: name.to_owned(), other });
            }
        }
    }
    Ok(())
}
