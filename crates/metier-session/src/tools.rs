//! The four tools that give a model its skills: what they are called, what they take and what they answer.
//!
//! A host with a model API of its own passes [`Session::tools`] to the model and each call to [`Session::dispatch`]. A host that
//! serves the tools otherwise, such as over MCP, uses the functions here: every text that a model reads is written in one place.

mod error;
mod excerpt;
mod list;
mod load;
mod read;
mod report;
mod run;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use metier_catalog::{Catalog, Entry};
use metier_journal::Trigger;
use metier_prompt::ToolNames;
use metier_sandbox::WorkDirectory;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use error::{SkillToolError, ToolSubject, quoted_word};
pub use excerpt::SHOWN_BYTES;
pub use list::list;
pub use read::{ResourceCall, output_answer, resource_call};
pub use report::{LeftOutput, script_answer};
pub use run::script_call;

use crate::session::Session;

/// Up to so many skills are named in the tools' schemas, so that a model cannot name another.
pub const NAMED_SKILLS: usize = 50;

/// One of the four tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillToolKind {
    /// Lists and searches skills.
    List,
    /// Loads a skill's instructions.
    Load,
    /// Reads a skill's files.
    Read,
    /// Runs a skill's scripts.
    Run,
}

impl SkillToolKind {
    /// All of them, in the order in which models see them.
    pub const ALL: [Self; 4] = [Self::List, Self::Load, Self::Read, Self::Run];

    /// What it is called.
    pub const fn name(self, names: ToolNames) -> &'static str {
        match self {
            Self::List => names.list(),
            Self::Load => names.load(),
            Self::Read => names.read(),
            Self::Run => names.run(),
        }
    }

    /// The tool of a name.
    pub fn find(name: &str, names: ToolNames) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name(names) == name)
    }
}

/// A tool as a model API takes it: a name, a description and a JSON schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillTool {
    /// What the model calls it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// Whether it changes nothing: true for all but the one that runs scripts.
    pub read_only: bool,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillToolAnswer {
    /// What the model reads.
    pub text: String,
    /// What programs may want to know beside it: ids, digests, how a script ended. It does not repeat the text.
    pub facts: Value,
}

/// Finds the skills that fit a query, the best first: of this catalog, for this query, at most so many.
pub type RankSkills =
    Arc<dyn Fn(&Catalog, &str, usize) -> Result<Vec<Entry>, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// How the tools are offered.
#[derive(Clone)]
#[non_exhaustive]
pub struct SkillToolOptions {
    /// What they are called.
    pub names: ToolNames,
    /// The directory that scripts start in and may change; without it, each gets an empty one that is removed afterwards.
    pub work: Option<WorkDirectory>,
    /// Where scripts work, in words that follow "in"; without it, what `work` says.
    pub place: Option<String>,
    /// The command by which a person allows something, before the name of a skill.
    pub approve: String,
    /// What ranks skills for a query; without it, words are looked for in names and descriptions.
    pub rank: Option<RankSkills>,
}

impl Default for SkillToolOptions {
    /// Plain names, and an empty directory for each script.
    fn default() -> Self {
        Self {
            names: ToolNames::Plain,
            work: None,
            place: None,
            approve: "metier approve".to_owned(),
            rank: None,
        }
    }
}

impl SkillToolOptions {
    fn place(&self) -> String {
        self.place.clone().unwrap_or_else(|| place(self.work.as_ref()))
    }
}

impl fmt::Debug for SkillToolOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillToolOptions").field("names", &self.names).finish_non_exhaustive()
    }
}

/// Where scripts work that are given this directory, or an empty one, in words that follow "in".
pub fn place(work: Option<&WorkDirectory>) -> String {
    work.map_or_else(
        || "an empty temporary directory, which is removed afterwards".to_owned(),
        |work| format!("the directory {}, which they may change", work.path().display()),
    )
}

impl Session {
    /// The four tools that give a model its skills, for any model API; none where there are no skills.
    ///
    /// They change with the catalog: ask again after [`Session::set_catalog`].
    pub fn tools(&self) -> Vec<SkillTool> {
        definitions(&self.catalog, &self.options.tools)
    }

    /// Does what a model called one of [`Session::tools`] for, with the arguments as the model gave them.
    ///
    /// A script runs to its end before this returns. Give the model [`SkillToolError::text`] where it is an error: it says what
    /// to do next.
    ///
    /// ```no_run
    /// # fn run(session: &mut metier_session::Session) {
    /// let answer = session.dispatch("load_skill", serde_json::json!({ "skill_name": "pdf" }));
    /// let text = answer.map_or_else(|error| error.text(), |answer| answer.text);
    /// # }
    /// ```
    pub fn dispatch(&mut self, tool: &str, arguments: Value) -> Result<SkillToolAnswer, SkillToolError> {
        let options = Arc::clone(&self.options);
        let subject = ToolSubject::of(&arguments);
        // Whoever else works in the session, a model called this.
        let own = std::mem::replace(&mut self.trigger, Trigger::Model);
        let done = self.try_dispatch(tool, arguments, &options.tools);
        self.trigger = own;
        done.map_err(|error| error.advised(&options.tools, &subject))
    }

    fn try_dispatch(
        &mut self,
        tool: &str,
        arguments: Value,
        options: &SkillToolOptions,
    ) -> Result<SkillToolAnswer, SkillToolError> {
        let unknown =
            || SkillToolError::Unknown { tool: tool.chars().take(100).collect(), names: options.names };
        match SkillToolKind::find(tool, options.names).ok_or_else(unknown)? {
            SkillToolKind::List => list(&self.catalog, arguments, options),
            SkillToolKind::Load => load::load(self, arguments, options),
            SkillToolKind::Read => read::read(self, arguments, options.names),
            SkillToolKind::Run => run::run(self, arguments, options),
        }
    }
}

/// The tools as models see them, in an order that does not change; none where there are no skills.
pub fn definitions(catalog: &Catalog, options: &SkillToolOptions) -> Vec<SkillTool> {
    let names: Vec<&str> = catalog.for_models().map(|skill| skill.entry.name()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let skill = skill_schema(&names);
    let tool = |kind: SkillToolKind| {
        let Schema { title, description, takes } = match kind {
            SkillToolKind::List => list::schema(),
            SkillToolKind::Load => load::schema(&skill, options.names),
            SkillToolKind::Read => read::schema(&skill),
            SkillToolKind::Run => run::schema(&skill, &options.place()),
        };
        let input_schema = match takes {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        let (name, title) = (kind.name(options.names).to_owned(), title.to_owned());
        SkillTool { name, title, description, input_schema, read_only: kind != SkillToolKind::Run }
    };
    SkillToolKind::ALL.into_iter().map(tool).collect()
}

/// What a tool is shown as.
struct Schema {
    title: &'static str,
    description: String,
    /// The schema of its arguments.
    takes: Value,
}

fn skill_schema(names: &[&str]) -> Value {
    if names.len() > NAMED_SKILLS {
        return json!({ "type": "string", "description": "Name or id of the skill" });
    }
    json!({ "type": "string", "description": "Name of the skill", "enum": names })
}

/// What a tool was called with, as its type.
fn arguments<T: DeserializeOwned>(tool: &'static str, given: Value) -> Result<T, SkillToolError> {
    let given = if given.is_null() { Value::Object(Map::new()) } else { given };
    T::deserialize(given).map_err(|error| SkillToolError::Arguments { tool, reason: error.to_string() })
}

/// What programs are told of something, without the members that only repeat the text.
fn facts(of: &impl Serialize, repeated: &[&str]) -> Value {
    // Plain data with text for keys is always JSON.
    let mut facts = serde_json::to_value(of).unwrap_or_default();
    if let Some(members) = facts.as_object_mut() {
        members.retain(|name, _| !repeated.contains(&name.as_str()));
    }
    facts
}
