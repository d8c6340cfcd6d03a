//! Sections as they are defined. Consistency is checked when the prompt is built.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::discovered::Discovered;
use crate::mount::SkillMount;
use crate::params::{Binding, Erased, NoParams, Params, ParamsType};
use crate::skill_ref::SkillRef;
use crate::tool::{Tool, ToolPolicy};
use crate::view::{SessionView, Visibility};
use crate::workspace::WorkspaceFiles;

pub(crate) type Predicate = Arc<dyn Fn(&Erased, &SessionView) -> Result<bool, String> + Send + Sync>;
type Choice = Arc<dyn Fn(&Erased, &SessionView) -> Visibility + Send + Sync>;

/// How much of a section is shown by default.
#[derive(Clone)]
pub(crate) enum VisibilityRule {
    Always(Visibility),
    By(Choice),
}

/// A section as it was defined.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) key: String,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) summary: Option<String>,
    pub(crate) params: Option<ParamsType>,
    pub(crate) default: Option<Binding>,
    pub(crate) enabled: Option<Predicate>,
    pub(crate) visibility: VisibilityRule,
    pub(crate) tools: Vec<Tool>,
    pub(crate) skills: Vec<SkillMount>,
    pub(crate) policies: Vec<Arc<dyn ToolPolicy>>,
    pub(crate) accepts_overrides: bool,
    pub(crate) children: Vec<Draft>,
    pub(crate) role: Role,
    /// Only for the list of discovered skills.
    pub(crate) discovered: Discovered,
    /// Only for files of the workspace.
    pub(crate) workspace: WorkspaceFiles,
}

/// The kind of a section.
#[derive(Clone)]
pub(crate) enum Role {
    /// Text.
    Plain,
    /// A container for skills.
    Skills,
    /// A skill whose text is part of the prompt.
    Inline { name: String, description: String },
    /// A skill in a directory.
    Reference(SkillRef),
    /// The list of discovered skills.
    Discovered,
    /// Files that the agent works on.
    Workspace,
}

/// Markers for the kinds of [`SectionBuilder`].
pub mod kind {
    /// A text section.
    #[derive(Debug, Clone, Copy)]
    pub struct Text;
    /// A skill whose text is part of the prompt.
    #[derive(Debug, Clone, Copy)]
    pub struct Skill;
    /// A container for skills.
    #[derive(Debug, Clone, Copy)]
    pub struct Skills;
    /// The list of discovered skills.
    #[derive(Debug, Clone, Copy)]
    pub struct Discovered;
    /// Files that the agent works on.
    #[derive(Debug, Clone, Copy)]
    pub struct Workspace;
}

/// A part of a prompt: a title, text, tools, skills and child sections.
///
/// ```
/// use metier_prompt::{Prompt, Section, SessionView};
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Review {
///     language: String,
/// }
///
/// let task = Section::new("task", "Task").params::<Review>().body("Review the $language code.");
/// let prompt = Prompt::builder("review", "code").section(task).build()?;
/// let rendered = prompt.with(Review { language: "Rust".into() }).render(&SessionView::default())?;
/// assert_eq!(rendered.text, "## 1. Task (task)\n\nReview the Rust code.");
/// # Ok::<(), metier_prompt::PromptError>(())
/// ```
pub type Section<P = NoParams> = SectionBuilder<P, kind::Text>;

/// A skill whose text is part of the prompt, in a [`SkillsSection`]. Its key is its name, and it starts as a
/// summary.
///
/// If it has no tools and skills are installed, it is written into the agent's home as its own `SKILL.md`.
pub type InlineSkill<P = NoParams> = SectionBuilder<P, kind::Skill>;

/// A container for the skills of a prompt: skills with their text in the prompt, and references to directories.
pub type SkillsSection = SectionBuilder<EnabledSkills, kind::Skills>;

/// The list of the skills that were discovered in a directory or catalog. Its summary contains only their
/// names.
pub type AgentSkillsSection<P = NoParams> = SectionBuilder<P, kind::Discovered>;

/// Files that the agent works on: copies of them are in its workspace while the section is open, and the model is told
/// which. Its summary contains only their names.
pub type WorkspaceSection<P = NoParams> = SectionBuilder<P, kind::Workspace>;

/// Builds sections of all kinds.
pub struct SectionBuilder<P, K> {
    pub(crate) draft: Draft,
    types: PhantomData<fn(P, K)>,
}

// Not derived, because deriving would require `P: Clone` although no value of `P` is stored.
impl<P, K> Clone for SectionBuilder<P, K> {
    fn clone(&self) -> Self {
        Self::of(self.draft.clone())
    }
}

impl<P, K> fmt::Debug for SectionBuilder<P, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SectionBuilder").field("key", &self.draft.key).finish_non_exhaustive()
    }
}

/// A section of any kind, ready to be added to a prompt or to another section.
pub struct AnySection(pub(crate) Draft);

impl fmt::Debug for AnySection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnySection").field(&self.0.key).finish()
    }
}

impl<P, K> From<SectionBuilder<P, K>> for AnySection {
    fn from(section: SectionBuilder<P, K>) -> Self {
        Self(section.draft)
    }
}

impl Draft {
    pub(crate) fn new(key: &str, title: &str, role: Role) -> Self {
        Self {
            key: key.to_owned(),
            title: title.to_owned(),
            body: String::new(),
            summary: None,
            params: None,
            default: None,
            enabled: None,
            visibility: VisibilityRule::Always(Visibility::Full),
            tools: Vec::new(),
            skills: Vec::new(),
            policies: Vec::new(),
            accepts_overrides: true,
            children: Vec::new(),
            role,
            discovered: Discovered::default(),
            workspace: WorkspaceFiles::default(),
        }
    }
}

impl<K> SectionBuilder<NoParams, K> {
    /// Sets the type of the values that its templates and predicates use.
    #[must_use]
    pub fn params<P: Params>(self) -> SectionBuilder<P, K> {
        SectionBuilder::of(Draft { params: ParamsType::of::<P>(), ..self.draft })
    }

    /// Sets the type and a default value, which is used if no value is bound.
    #[must_use]
    pub fn default_params<P: Params>(self, value: P) -> SectionBuilder<P, K> {
        let default = Some(Binding::new(value));
        SectionBuilder::of(Draft { params: ParamsType::of::<P>(), default, ..self.draft })
    }
}

impl<P, K> SectionBuilder<P, K> {
    pub(crate) fn of(draft: Draft) -> Self {
        Self { draft, types: PhantomData }
    }

    /// Changes the key.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        key.clone_into(&mut self.draft.key);
        self
    }

    /// Changes the title.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        title.clone_into(&mut self.draft.title);
        self
    }

    /// Sets the text: a template with `$name`, `${name}` and `$$`. Common indentation is removed.
    #[must_use]
    pub fn body(mut self, template: &str) -> Self {
        template.clone_into(&mut self.draft.body);
        self
    }

    /// Sets the text that is shown while the section is summarized. It is a template too.
    #[must_use]
    pub fn summary(mut self, template: &str) -> Self {
        self.draft.summary = Some(template.to_owned());
        self
    }

    /// Sets how much is shown, unless the session says otherwise.
    #[must_use]
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.draft.visibility = VisibilityRule::Always(visibility);
        self
    }

    /// Adds a tool that the model has while the section is open.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.draft.tools.push(tool);
        self
    }

    /// Adds a skill that the agent finds while the section is open.
    #[must_use]
    pub fn skill(mut self, skill: SkillMount) -> Self {
        self.draft.skills.push(skill);
        self
    }

    /// Replaces the skills.
    #[must_use]
    pub fn skills(mut self, skills: impl IntoIterator<Item = SkillMount>) -> Self {
        self.draft.skills = skills.into_iter().collect();
        self
    }

    /// Sets a policy for calls of its tools and of those below it.
    #[must_use]
    pub fn policy(mut self, policy: impl ToolPolicy + 'static) -> Self {
        self.draft.policies.push(Arc::new(policy));
        self
    }

    /// Adds a child section.
    #[must_use]
    pub fn child(mut self, child: impl Into<AnySection>) -> Self {
        self.draft.children.push(child.into().0);
        self
    }

    /// Whether stored overrides may change it.
    #[must_use]
    pub fn accepts_overrides(mut self, accepts: bool) -> Self {
        self.draft.accepts_overrides = accepts;
        self
    }
}

impl<P: Params, K> SectionBuilder<P, K> {
    /// Sets a predicate on its params and the session that decides whether the section exists. If not, its
    /// children are gone as well.
    #[must_use]
    pub fn enabled(self, predicate: impl Fn(&P, &SessionView) -> bool + Send + Sync + 'static) -> Self {
        self.try_enabled(move |params, session| Ok::<_, String>(predicate(params, session)))
    }

    /// The same with a predicate that can fail. If it does, rendering fails.
    #[must_use]
    pub fn try_enabled<E: fmt::Display>(
        mut self,
        predicate: impl Fn(&P, &SessionView) -> Result<bool, E> + Send + Sync + 'static,
    ) -> Self {
        self.draft.enabled = Some(Arc::new(move |params, session| match params.downcast_ref::<P>() {
            Some(params) => predicate(params, session).map_err(|error| error.to_string()),
            None => Err("its params have a different type".to_owned()),
        }));
        self
    }

    /// Sets a function of its params and the session that decides how much is shown, unless the session says
    /// otherwise.
    #[must_use]
    pub fn visibility_by(
        mut self,
        choose: impl Fn(&P, &SessionView) -> Visibility + Send + Sync + 'static,
    ) -> Self {
        self.draft.visibility = VisibilityRule::By(Arc::new(move |params, session| {
            // Params are looked up by their type, so this has the right type.
            params.downcast_ref::<P>().map_or(Visibility::Summary, |params| choose(params, session))
        }));
        self
    }
}

impl Section {
    /// An empty section.
    pub fn new(key: &str, title: &str) -> Self {
        Self::of(Draft::new(key, title, Role::Plain))
    }
}

impl InlineSkill {
    /// An empty skill. Its key and title default to its name.
    pub fn new(name: &str, description: &str) -> Self {
        let role = Role::Inline { name: name.to_owned(), description: description.to_owned() };
        let visibility = VisibilityRule::Always(Visibility::Summary);
        Self::of(Draft { visibility, ..Draft::new(name, name, role) })
    }
}

/// Which skills of a [`SkillsSection`] are enabled. Without a bound value, all are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EnabledSkills {
    /// Their names; `None` for all.
    pub only: Option<BTreeSet<String>>,
}

impl EnabledSkills {
    /// Enables the skills with these names.
    pub fn only<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Self {
        Self { only: Some(names.into_iter().map(Into::into).collect()) }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(name))
    }
}

impl SkillsSection {
    /// An empty container. Its key defaults to `skills`.
    pub fn new() -> Self {
        Self::of(Draft {
            params: ParamsType::of::<EnabledSkills>(),
            default: Some(Binding::new(EnabledSkills::default())),
            ..Draft::new("skills", "Skills", Role::Skills)
        })
    }

    /// Adds a skill whose text is part of the prompt.
    #[must_use]
    pub fn inline<P>(self, skill: InlineSkill<P>) -> Self {
        self.child(skill)
    }

    /// Adds a reference to a skill in a directory.
    #[must_use]
    pub fn reference(mut self, skill: SkillRef) -> Self {
        let name = metier_skill::effective_name(&skill.resolved_path()).unwrap_or_default();
        let visibility = VisibilityRule::Always(Visibility::Summary);
        self.draft.children.push(Draft {
            visibility,
            accepts_overrides: false,
            ..Draft::new(&name, &name, Role::Reference(skill))
        });
        self
    }
}

impl Default for SkillsSection {
    fn default() -> Self {
        Self::new()
    }
}
