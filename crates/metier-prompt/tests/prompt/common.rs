//! Short ways to write prompts, sessions and calls, and a shelf of skills that are not on a disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier_prompt::{
    AnySection, ExpansionRequired, OpenSections, Prompt, PromptBuilder, PromptError, ReadSection, ReadSkill,
    RefProblem, RefReason, RenderedPrompt, Rendering, Section, SectionPath, SessionView, SkillReader, Tool,
    ToolAnswer, ToolContext, ToolResult, Visibility,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Params with a field or two.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Review {
    pub(crate) language: String,
    pub(crate) depth: u8,
}

impl Review {
    pub(crate) fn of(language: &str) -> Self {
        Self { language: language.to_owned(), depth: 1 }
    }
}

/// Params of another type.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Author {
    pub(crate) name: String,
}

/// What tools of these tests take.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Paths {
    /// Which files.
    #[expect(dead_code, reason = "nothing is done with them")]
    pub(crate) paths: Vec<String>,
}

pub(crate) fn path(text: &str) -> SectionPath {
    SectionPath::new(text).unwrap()
}

/// A prompt of these sections, if it can be built.
pub(crate) fn build<const N: usize>(sections: [AnySection; N]) -> Result<Prompt, PromptError> {
    sections.into_iter().fold(Prompt::builder("tests", "prompt"), PromptBuilder::section).build()
}

/// A prompt of one section, if it can be built.
pub(crate) fn build_one(section: impl Into<AnySection>) -> Result<Prompt, PromptError> {
    build([section.into()])
}

/// A prompt of these sections.
pub(crate) fn prompt<const N: usize>(sections: [AnySection; N]) -> Prompt {
    build(sections).unwrap()
}

/// A prompt of one section.
pub(crate) fn one(section: impl Into<AnySection>) -> Prompt {
    build_one(section).unwrap()
}

/// A section whose title is its key and whose body is `Body of …`.
pub(crate) fn plain(key: &str) -> Section {
    Section::new(key, key).body(&format!("Body of {key}."))
}

/// The same with a summary, shown as that.
pub(crate) fn folded(key: &str) -> Section {
    plain(key).summary(&format!("Summary of {key}.")).visibility(Visibility::Summary)
}

/// A tool that answers with its name.
pub(crate) fn tool(name: &str) -> Tool {
    let answer = format!("{name} is done");
    Tool::new(name, format!("Does {name}"), move |_: Paths, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message(answer.clone()))
    })
}

pub(crate) fn session() -> SessionView {
    SessionView::default()
}

/// A session that remembers this.
pub(crate) fn session_with(name: &str, value: impl Into<Value>) -> SessionView {
    let mut session = session();
    session.state.values.insert(name.to_owned(), value.into());
    session
}

/// A session that says this about a section.
pub(crate) fn session_shows(section: &str, visibility: Visibility) -> SessionView {
    let mut session = session();
    session.state.set_visibility(path(section), visibility);
    session
}

pub(crate) fn text(prompt: &Prompt) -> String {
    prompt.render(&session()).unwrap().text
}

pub(crate) fn tool_names(rendered: &RenderedPrompt) -> Vec<&str> {
    rendered.tools.iter().map(|tool| tool.tool.name()).collect()
}

pub(crate) fn skill_names(rendered: &RenderedPrompt) -> Vec<&str> {
    rendered.skills.iter().map(|skill| &*skill.name).collect()
}

pub(crate) fn shown(rendered: &RenderedPrompt) -> Vec<&str> {
    rendered.sections.iter().map(|section| section.path.as_str()).collect()
}

pub(crate) fn open(keys: &[&str]) -> OpenSections {
    let section_keys = keys.iter().map(|key| (*key).to_owned()).collect();
    OpenSections { section_keys, reason: "it is needed".to_owned() }
}

pub(crate) fn read(key: &str) -> ReadSection {
    ReadSection { section_key: key.to_owned() }
}

/// What a session does once sections are to be opened.
pub(crate) fn apply(session: &mut SessionView, expansion: ExpansionRequired) {
    for (path, visibility) in expansion.overrides {
        session.state.set_visibility(path, visibility);
    }
}

/// Opens these sections, and everything that hides them.
pub(crate) fn opened(rendering: &Rendering, session: &mut SessionView, keys: &[&str]) {
    let expansion = rendering.open_sections(session, &open(keys)).unwrap();
    apply(session, expansion);
}

/// Skills by the path that they are referred to with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf(BTreeMap<PathBuf, Result<ReadSkill, RefProblem>>);

impl Shelf {
    /// With one more skill, in a directory of its name.
    pub(crate) fn with(mut self, directory: &str, name: &str, body: &str) -> Self {
        let (name, body, description) = (name.to_owned(), body.to_owned(), format!("What {name} does."));
        let skill = ReadSkill { name, description, body, directory: directory.into() };
        self.0.insert(directory.into(), Ok(skill));
        self
    }

    /// With a place where there is none, for this reason.
    pub(crate) fn without(mut self, place: &str, reason: RefReason, details: Option<&str>) -> Self {
        let problem = RefProblem { path: place.into(), reason, details: details.map(str::to_owned) };
        self.0.insert(place.into(), Err(problem));
        self
    }
}

impl SkillReader for Shelf {
    fn read(&self, path: &Path) -> Result<ReadSkill, RefProblem> {
        let nothing = || RefProblem { path: path.to_owned(), reason: RefReason::NotFound, details: None };
        self.0.get(path).cloned().unwrap_or_else(|| Err(nothing()))
    }
}
