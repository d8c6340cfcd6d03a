//! Sections, as they are written down. Whether all fits together is checked when the prompt is built.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::discovered::Discovered;
use crate::mount::SkillMount;
use crate::params::{Binding, Erased, NoParams, Params, ParamsType};
use crate::tool::{Tool, ToolPolicy};
use crate::view::{SessionView, Visibility};

pub(crate) type Predicate = Arc<dyn Fn(&Erased, &SessionView) -> Result<bool, String> + Send + Sync>;
type Choice = Arc<dyn Fn(&Erased, &SessionView) -> Visibility + Send + Sync>;

/// How much of a section is shown where nobody else says.
#[derive(Clone)]
pub(crate) enum VisibilityRule {
    Always(Visibility),
    By(Choice),
}

/// A section as it was written down.
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
    /// Only for the list of skills that were found.
    pub(crate) discovered: Discovered,
}

/// What a section is.
#[derive(Clone)]
pub(crate) enum Role {
    /// Text.
    Plain,
    /// A container of skills.
    Skills,
    /// A skill that is written in the prompt.
    Inline { name: String, description: String },
    /// A skill that is somewhere else.
    Reference(SkillRef),
    /// The list of skills that were found.
    Discovered,
}

/// Marks what a [`SectionBuilder`] makes.
pub mod kind {
    /// Text.
    #[derive(Debug, Clone, Copy)]
    pub struct Text;
    /// A skill that is written in the prompt.
    #[derive(Debug, Clone, Copy)]
    pub struct Skill;
    /// A container of skills.
    #[derive(Debug, Clone, Copy)]
    pub struct Skills;
    /// The list of skills that were found.
    #[derive(Debug, Clone, Copy)]
    pub struct Discovered;
}

/// A part of a prompt: a title, text, tools, skills, and further sections.
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

/// A skill that is written in the prompt, in a [`SkillsSection`]. Its key is its name, and it is shown as a summary at first.
///
/// Without tools it is written into the agent's home as a `SKILL.md` of its own, where skills are installed.
pub type InlineSkill<P = NoParams> = SectionBuilder<P, kind::Skill>;

/// The skills of a prompt, both those that are written in it and those that it refers to.
pub type SkillsSection = SectionBuilder<EnabledSkills, kind::Skills>;

/// The list of skills that were found in a directory or a catalog. As a summary, it has only their names.
pub type AgentSkillsSection<P = NoParams> = SectionBuilder<P, kind::Discovered>;

/// What sections of all kinds are written down with.
pub struct SectionBuilder<P, K> {
    pub(crate) draft: Draft,
    types: PhantomData<fn(P, K)>,
}

// Not derived: that would ask for params that can be cloned, and there are none of them in here.
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

/// A section of any kind, ready to be put into a prompt or below another.
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
        }
    }
}

impl<K> SectionBuilder<NoParams, K> {
    /// The values that its templates and predicates take are of this type.
    #[must_use]
    pub fn params<P: Params>(self) -> SectionBuilder<P, K> {
        SectionBuilder::of(Draft { params: ParamsType::of::<P>(), ..self.draft })
    }

    /// The same, with a value for where none is bound.
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

    /// Another key than it had.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        key.clone_into(&mut self.draft.key);
        self
    }

    /// Another title than it had.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        title.clone_into(&mut self.draft.title);
        self
    }

    /// Its text: a template with `$name`, `${name}` and `$$`. Common indentation is taken away.
    #[must_use]
    pub fn body(mut self, template: &str) -> Self {
        template.clone_into(&mut self.draft.body);
        self
    }

    /// What is shown instead of it while it is not open: a template, too.
    #[must_use]
    pub fn summary(mut self, template: &str) -> Self {
        self.draft.summary = Some(template.to_owned());
        self
    }

    /// How much of it is shown, where the session does not say.
    #[must_use]
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.draft.visibility = VisibilityRule::Always(visibility);
        self
    }

    /// A tool that the model has while the section is open.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.draft.tools.push(tool);
        self
    }

    /// A skill that the agent finds while the section is open.
    #[must_use]
    pub fn skill(mut self, skill: SkillMount) -> Self {
        self.draft.skills.push(skill);
        self
    }

    /// These skills instead of those it had.
    #[must_use]
    pub fn skills(mut self, skills: impl IntoIterator<Item = SkillMount>) -> Self {
        self.draft.skills = skills.into_iter().collect();
        self
    }

    /// Decides about calls of its tools and of those below it.
    #[must_use]
    pub fn policy(mut self, policy: impl ToolPolicy + 'static) -> Self {
        self.draft.policies.push(Arc::new(policy));
        self
    }

    /// A section below it.
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
    /// Whether it is there at all, by its params and the session. Without it, what is below it is gone as well.
    #[must_use]
    pub fn enabled(self, predicate: impl Fn(&P, &SessionView) -> bool + Send + Sync + 'static) -> Self {
        self.try_enabled(move |params, session| Ok::<_, String>(predicate(params, session)))
    }

    /// The same with a predicate that can fail, and then fails the rendering.
    #[must_use]
    pub fn try_enabled<E: fmt::Display>(
        mut self,
        predicate: impl Fn(&P, &SessionView) -> Result<bool, E> + Send + Sync + 'static,
    ) -> Self {
        self.draft.enabled = Some(Arc::new(move |params, session| match params.downcast_ref::<P>() {
            Some(params) => predicate(params, session).map_err(|error| error.to_string()),
            None => Err("its params are of another type".to_owned()),
        }));
        self
    }

    /// How much of it is shown, by its params and the session, where the session does not say itself.
    #[must_use]
    pub fn visibility_by(
        mut self,
        choose: impl Fn(&P, &SessionView) -> Visibility + Send + Sync + 'static,
    ) -> Self {
        self.draft.visibility = VisibilityRule::By(Arc::new(move |params, session| {
            // Params are looked up by the same type that this is of.
            params.downcast_ref::<P>().map_or(Visibility::Summary, |params| choose(params, session))
        }));
        self
    }
}

impl Section {
    /// A section with nothing in it yet.
    pub fn new(key: &str, title: &str) -> Self {
        Self::of(Draft::new(key, title, Role::Plain))
    }
}

impl InlineSkill {
    /// A skill with nothing in it yet. Its key and title are its name, unless it gets others.
    pub fn new(name: &str, description: &str) -> Self {
        let role = Role::Inline { name: name.to_owned(), description: description.to_owned() };
        let visibility = VisibilityRule::Always(Visibility::Summary);
        Self::of(Draft { visibility, ..Draft::new(name, name, role) })
    }
}

/// Which skills of a [`SkillsSection`] are there. All of them, unless a value of this is bound.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EnabledSkills {
    /// Their names; `None` for all.
    pub only: Option<BTreeSet<String>>,
}

impl EnabledSkills {
    /// Those of these names.
    pub fn only<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Self {
        Self { only: Some(names.into_iter().map(Into::into).collect()) }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(name))
    }
}

impl SkillsSection {
    /// No skills yet. Its key is `skills`, unless it gets another.
    pub fn new() -> Self {
        Self::of(Draft {
            params: ParamsType::of::<EnabledSkills>(),
            default: Some(Binding::new(EnabledSkills::default())),
            ..Draft::new("skills", "Skills", Role::Skills)
        })
    }

    /// A skill that is written in the prompt.
    #[must_use]
    pub fn inline<P>(self, skill: InlineSkill<P>) -> Self {
        self.child(skill)
    }

    /// A skill that is somewhere else.
    #[must_use]
    pub fn reference(mut self, skill: SkillRef) -> Self {
        let name = metier_skill::effective_name(&skill.path()).unwrap_or_default();
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

/// A skill's directory somewhere else. It is read when the prompt is built, or when it is first enabled.
#[derive(Clone)]
pub struct SkillRef {
    path: PathBuf,
    base: Option<PathBuf>,
    enabled: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl SkillRef {
    /// The skill in this directory. A relative path is relative to its base, else to where the prompt's reader is.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), base: None, enabled: None }
    }

    /// What a relative path is relative to.
    #[must_use]
    pub fn base(self, base: impl Into<PathBuf>) -> Self {
        Self { base: Some(base.into()), ..self }
    }

    /// Whether it is there at all. While it is not, nobody looks whether there is a skill.
    #[must_use]
    pub fn enabled(self, predicate: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { enabled: Some(Arc::new(predicate)), ..self }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.as_ref().is_none_or(|enabled| enabled())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.base.as_ref().map_or_else(|| self.path.clone(), |base| base.join(&self.path))
    }
}

impl fmt::Debug for SkillRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillRef").field("path", &self.path()).finish_non_exhaustive()
    }
}
