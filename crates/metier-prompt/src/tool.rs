//! Tools that a model can call, with typed arguments and handlers whose changes are undone on failure.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use core::time::Duration;

use metier_skill::{Coded, Digest};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::strict;
use crate::view::SessionState;

/// What a handler knows about the session in which it is called.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolContext<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The current task.
    pub task: Option<&'a str>,
    /// The id of this call: the agent's id, or a generated one.
    pub call: &'a str,
    /// The ids of active skills with their tree digests.
    pub skills: &'a BTreeMap<String, Digest>,
    /// What the session may still spend.
    pub allowance: Allowance,
    /// State that the handler may change. Changes are undone if it fails.
    pub state: &'a mut SessionState,
    /// Notes for the journal, stored with the record of this call.
    pub notes: Vec<String>,
}

impl<'a> ToolContext<'a> {
    /// The context of a call in a session without further data.
    pub fn new(
        session: &'a str,
        call: &'a str,
        skills: &'a BTreeMap<String, Digest>,
        state: &'a mut SessionState,
    ) -> Self {
        let (task, allowance, notes) = (None, Allowance::default(), Vec::new());
        Self { session, task, call, skills, allowance, state, notes }
    }
}

/// What a session may still spend. `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Allowance {
    /// The time until its deadline, or the earlier one of the evaluation; zero if it has passed. A handler is never
    /// stopped, so one that takes long should stop by itself then.
    pub time: Option<Duration>,
    /// Input tokens of the model.
    pub input: Option<u64>,
    /// Output tokens of the model.
    pub output: Option<u64>,
    /// Input and output tokens together.
    pub total: Option<u64>,
}

/// A value that a tool returns in addition to its message.
pub trait ToolValue: Serialize + JsonSchema {
    /// The text for the model: JSON by default. If it is empty, the model reads the message.
    fn render(&self) -> String {
        // A value that cannot be serialized has no text.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl ToolValue for () {
    fn render(&self) -> String {
        String::new()
    }
}

impl ToolValue for String {
    fn render(&self) -> String {
        self.clone()
    }
}

/// The answer of a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer<R = ()> {
    message: String,
    value: Option<R>,
    is_shown: bool,
}

impl ToolAnswer {
    /// Only a message.
    pub fn message(message: impl Into<String>) -> Self {
        Self { message: message.into(), value: None, is_shown: true }
    }
}

impl<R> ToolAnswer<R> {
    /// A value, and a message that is used if the value has no text.
    pub fn new(message: impl Into<String>, value: R) -> Self {
        Self { message: message.into(), value: Some(value), is_shown: true }
    }

    /// Shows only the message to the model; the value is for programs.
    #[must_use]
    pub fn value_hidden(self) -> Self {
        Self { is_shown: false, ..self }
    }
}

/// Why a handler failed, as a text for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFailure(pub String);

/// Lets handlers use `?` on any error. For that reason the type is not an error itself.
impl<E: std::error::Error> From<E> for ToolFailure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl ToolFailure {
    /// A failure with this text.
    pub fn new(words: impl fmt::Display) -> Self {
        Self(words.to_string())
    }
}

/// The result of a handler.
pub type ToolResult<R = ()> = Result<ToolAnswer<R>, ToolFailure>;

/// The result of a call for the model and for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolText {
    /// The text for the model.
    pub text: String,
    /// The value, if there is one.
    pub value: Option<Value>,
}

/// Why a call failed. The state is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The arguments are invalid; the handler was not called.
    #[error("Validation error: {0}")]
    Arguments(String),
    /// The handler returned an error.
    #[error("Error: {0}")]
    Failed(String),
    /// The handler panicked.
    #[error("Error: the tool stopped unexpectedly: {0}")]
    Panicked(String),
    /// The tool is handled elsewhere.
    #[error("`{0}` has no handler here")]
    NoHandler(String),
}

impl ToolError {
    /// The message of a panic, if it has one.
    pub fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        Self::Panicked(said(panic).to_owned())
    }
}

impl Coded for ToolError {
    fn code(&self) -> &'static str {
        match self {
            Self::Arguments(_) => "tool-arguments",
            Self::Failed(_) => "tool-failed",
            Self::Panicked(_) => "tool-panicked",
            Self::NoHandler(_) => "tool-no-handler",
        }
    }
}

type Handler = Arc<dyn Fn(&Value, &mut ToolContext<'_>) -> Result<ToolText, ToolError> + Send + Sync>;

/// The maximum length of a text for a model per call.
const TEXT_MAX: usize = 1 << 20;

/// A tool that a model can call.
///
/// ```
/// use metier_prompt::{Tool, ToolAnswer, ToolContext, ToolResult};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Lint {
///     paths: Vec<String>,
/// }
///
/// let lint = Tool::new("lint_code", "Checks the files at these paths", |lint: Lint, _: &mut ToolContext<'_>| {
///     ToolResult::Ok(ToolAnswer::message(format!("{} files are fine", lint.paths.len())))
/// });
/// assert_eq!(lint.parameters()["required"][0], "paths");
/// ```
#[derive(Clone)]
pub struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    pub(crate) result: Value,
    pub(crate) accepts_overrides: bool,
    handler: Option<Handler>,
}

impl Tool {
    /// A tool with its handler. The schemas of arguments and value follow from the types.
    pub fn new<P, R, H>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self
    where
        P: DeserializeOwned + JsonSchema,
        R: ToolValue,
        H: Fn(P, &mut ToolContext<'_>) -> ToolResult<R> + Send + Sync + 'static,
    {
        let declared = Self::declared::<P>(name, description);
        let parameters = declared.parameters.clone();
        let handler: Handler = Arc::new(move |arguments, context| {
            let arguments = parsed(arguments, &parameters).map_err(ToolError::Arguments)?;
            let answer =
                handler(arguments, context).map_err(|ToolFailure(words)| ToolError::Failed(words))?;
            Ok(text_of(&answer))
        });
        Self { result: strict::schema_to_write::<R>(), handler: Some(handler), ..declared }
    }

    /// A tool that is handled elsewhere: it is listed, but cannot be called here.
    pub fn declared<P: JsonSchema>(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: strict::schema_to_read::<P>(),
            result: Value::Null,
            accepts_overrides: true,
            handler: None,
        }
    }

    /// Whether stored overrides may change its description.
    #[must_use]
    pub fn accepts_overrides(self, accepts: bool) -> Self {
        Self { accepts_overrides: accepts, ..self }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description for the model.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON schema of its arguments. Unknown members are rejected at any depth.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }

    /// The JSON schema of its value; `null` if unknown.
    pub fn result(&self) -> &Value {
        &self.result
    }

    /// Whether it can be called here.
    pub fn has_handler(&self) -> bool {
        self.handler.is_some()
    }

    /// Calls the tool. If that fails for any reason, the session's state is unchanged.
    pub fn call(&self, arguments: &Value, context: &mut ToolContext<'_>) -> Result<ToolText, ToolError> {
        let handler = self.handler.as_ref().ok_or_else(|| ToolError::NoHandler(self.name.clone()))?;
        let before = context.state.clone();
        let done = catch_unwind(AssertUnwindSafe(|| handler(arguments, context)))
            .unwrap_or_else(|panic| Err(ToolError::panicked(&*panic)));
        if done.is_err() {
            *context.state = before;
        }
        done
    }

    /// The digest that overrides are bound to. It covers the description and the parameters.
    pub(crate) fn contract(&self) -> Digest {
        let contract = serde_json::json!([self.description, self.parameters, self.result]);
        Digest::of(contract.to_string().as_bytes())
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A policy for calls of a section's tools and those below it, in addition to the session's policy.
pub trait ToolPolicy: Send + Sync {
    /// Whether the tool may be called with these arguments. The error is a reason for the model.
    fn check(&self, tool: &str, arguments: &Value, state: &SessionState) -> Result<(), String>;

    /// Called after a successful call.
    fn on_result(&self, tool: &str, arguments: &Value, answer: &ToolText, state: &mut SessionState) {
        let _ = (tool, arguments, answer, state);
    }
}

/// Parses the arguments for the handler. Members that it would ignore are an error.
fn parsed<P: DeserializeOwned>(arguments: &Value, schema: &Value) -> Result<P, String> {
    let parsed = P::deserialize(arguments).map_err(|error| error.to_string())?;
    strict::check(schema, arguments)?;
    Ok(parsed)
}

/// Cuts a text that is too long for a model, and says so.
pub fn cut(text: &mut String) {
    if text.len() > TEXT_MAX {
        let whole = text.len();
        text.truncate(text.floor_char_boundary(TEXT_MAX));
        let _ = write!(text, "\n[truncated: first 1 MiB of {whole} bytes]");
    }
}

fn text_of<R: ToolValue>(answer: &ToolAnswer<R>) -> ToolText {
    let shown = answer.value.as_ref().filter(|_| answer.is_shown).map(ToolValue::render);
    let mut text = shown.filter(|text| !text.is_empty()).unwrap_or_else(|| answer.message.clone());
    cut(&mut text);
    let value = answer.value.as_ref().and_then(|value| serde_json::to_value(value).ok());
    ToolText { text, value: value.filter(|value| !value.is_null()) }
}

/// The message of a panic, if it has one.
fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
