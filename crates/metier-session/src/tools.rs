//! The four tools that give a model its skills: names, parameters and answers.
//!
//! A host with its own model API passes [`Session::tools`] to the model and each call to [`Session::dispatch`]. A host
//! that serves the tools in another way, for example over MCP, uses the functions here, so that every text for models
//! is written in one place.

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
pub(crate) use list::listed_tokens;
pub use list::{declared, list};
pub use read::{ResourceCall, output_answer, resource_call};
pub use report::{LeftOutput, script_answer};
pub use run::script_call;

use crate::session::Session;

/// Up to this number of skills, the tools' schemas list their names, so that a model cannot use another.
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

    /// Its default name.
    pub const fn name(self, names: ToolNames) -> &'static str {
        match self {
            Self::List => names.list(),
            Self::Load => names.load(),
            Self::Read => names.read(),
            Self::Run => names.run(),
        }
    }

    /// The tool with this name.
    pub fn find(name: &str, names: ToolNames) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name(names) == name)
    }
}

/// A tool for a model API: a name, a description and a JSON schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillTool {
    /// The name that the model uses.
    pub name: String,
    /// The title for users.
    pub title: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// Whether it changes nothing: true for all except the one that runs scripts.
    pub read_only: bool,
}

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillToolAnswer {
    /// The text for the model.
    pub text: String,
    /// Additional data for programs: ids, digests, how a script ended. It does not repeat the text.
    pub facts: Value,
}

/// Finds the skills that match a query, the best first: takes the catalog, the query and the maximum number.
pub type RankSkills =
    Arc<dyn Fn(&Catalog, &str, usize) -> Result<Vec<Entry>, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// How the tools are offered.
#[derive(Clone)]
#[non_exhaustive]
pub struct SkillToolOptions {
    /// Their names.
    pub names: ToolNames,
    /// The directory that scripts start in and may change; without it, each gets an empty one that is removed
    /// afterwards.
    pub work: Option<WorkDirectory>,
    /// Where scripts work, in words that follow "in"; without it, derived from `work`.
    pub place: Option<String>,
    /// The command that approves something; the name of a skill follows it.
    pub approve: String,
    /// Ranks skills for a query; without it, words are matched in names and descriptions.
    pub rank: Option<RankSkills>,
}

impl Default for SkillToolOptions {
    /// Default names, and an empty directory for each script.
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

/// Where scripts with this directory, or an empty one, work, in words that follow "in".
pub fn place(work: Option<&WorkDirectory>) -> String {
    work.map_or_else(
        || "an empty temporary directory, which is removed afterwards".to_owned(),
        |work| format!("the directory {}, which they may change", work.path().display()),
    )
}

impl Session {
    /// The four tools that give a model its skills, for any model API; empty if there are no skills.
    ///
    /// They change with the catalog: call this again after [`Session::set_catalog`].
    pub fn tools(&self) -> Vec<SkillTool> {
        definitions(&self.catalog, &self.options.tools)
    }

    /// Runs a call of one of [`Session::tools`], with the arguments from the model.
    ///
    /// A script runs to its end before this returns. On an error, give the model [`SkillToolError::text`], which says
    /// what to do next.
    ///
    /// ```no_run
    /// # fn run(session: &mut metier_session::Session) {
    /// let answer = session.dispatch("load_skill", serde_json::json!({ "skill_name": "pdf" }));
    /// let text = answer.map_or_else(|error| error.text(), |answer| answer.text);
    /// # }
    /// ```
    pub fn dispatch(&mut self, tool: &str, arguments: Value) -> Result<SkillToolAnswer, SkillToolError> {
        let options = Arc::clone(&self.options);
        self.dispatch_with(tool, arguments, &options.tools)
    }

    pub(crate) fn dispatch_with(
        &mut self,
        tool: &str,
        arguments: Value,
        options: &SkillToolOptions,
    ) -> Result<SkillToolAnswer, SkillToolError> {
        let subject = ToolSubject::of(&arguments);
        // Whoever else uses the session, this call comes from a model.
        let own = std::mem::replace(&mut self.trigger, Trigger::Model);
        let done = self.try_dispatch(tool, arguments, options);
        self.trigger = own;
        done.map_err(|error| error.advised(options, &subject))
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
            SkillToolKind::List => {
                let answer = list(&self.catalog, arguments, options)?;
                self.disclosed_by(&answer)?;
                Ok(answer)
            }
            SkillToolKind::Load => load::load(self, arguments, options),
            SkillToolKind::Read => read::read(self, arguments, options.names),
            SkillToolKind::Run => run::run(self, arguments, options),
        }
    }
}

/// The tools as models see them, in a fixed order; empty if there are no skills.
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

/// How a tool is presented.
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

/// Parses the arguments of a tool into its type.
fn arguments<T: DeserializeOwned>(tool: &'static str, given: Value) -> Result<T, SkillToolError> {
    let given = if given.is_null() { Value::Object(Map::new()) } else { given };
    T::deserialize(given).map_err(|error| SkillToolError::Arguments { tool, reason: error.to_string() })
}

/// Data for programs, without the members that only repeat the text.
fn facts(of: &impl Serialize, repeated: &[&str]) -> Value {
    // Plain data with text keys always serialises to JSON.
    let mut facts = serde_json::to_value(of).unwrap_or_default();
    if let Some(members) = facts.as_object_mut() {
        members.retain(|name, _| !repeated.contains(&name.as_str()));
    }
    facts
}
