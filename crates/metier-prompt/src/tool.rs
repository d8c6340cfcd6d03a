//! Tools: what a model can call, with typed arguments and a handler that cannot leave things half done.

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

/// What a handler is told of the session that it is called in.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolContext<'a> {
    /// The session.
    pub session: &'a str,
    /// The task, inside the session.
    pub task: Option<&'a str>,
    /// This call: what the agent calls it, else an id of its own.
    pub call: &'a str,
    /// The active skills' ids with the digests of their trees.
    pub skills: &'a BTreeMap<String, Digest>,
    /// What the session still may spend.
    pub allowance: Allowance,
    /// What the handler may change. If it fails, everything is as it was.
    pub state: &'a mut SessionState,
    /// What the handler wants to have in the journal, in the record of this call.
    pub notes: Vec<String>,
}

impl<'a> ToolContext<'a> {
    /// A call in a session that says nothing else about itself.
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

/// What a session still may spend. `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Allowance {
    /// Until its deadline; nothing once that is past.
    pub time: Option<Duration>,
    /// Tokens that a model is given.
    pub input: Option<u64>,
    /// Tokens that it produces.
    pub output: Option<u64>,
    /// Both together.
    pub total: Option<u64>,
}

/// What a tool gives back, beside its message.
pub trait ToolValue: Serialize + JsonSchema {
    /// As a model reads it: JSON, unless a type knows better. Where it is empty, the model reads the message.
    fn render(&self) -> String {
        // What cannot be written has nothing to say.
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

/// What a handler answers with.
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
    /// A value, and a message for where it says nothing by itself.
    pub fn new(message: impl Into<String>, value: R) -> Self {
        Self { message: message.into(), value: Some(value), is_shown: true }
    }

    /// The model reads only the message; the value is for programs.
    #[must_use]
    pub fn value_hidden(self) -> Self {
        Self { is_shown: false, ..self }
    }
}

/// Why a handler did not do what it was asked, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFailure(pub String);

/// Handlers can use `?` on any error. (So this is none itself.)
impl<E: std::error::Error> From<E> for ToolFailure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl ToolFailure {
    /// The words.
    pub fn new(words: impl fmt::Display) -> Self {
        Self(words.to_string())
    }
}

/// What handlers end with.
pub type ToolResult<R = ()> = Result<ToolAnswer<R>, ToolFailure>;

/// What a model reads after a call, and what programs do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolText {
    /// For the model.
    pub text: String,
    /// The value, where there is one.
    pub value: Option<Value>,
}

/// Why a call came to nothing. The state is as before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The arguments are not what the tool takes; its handler was not called.
    #[error("Validation error: {0}")]
    Arguments(String),
    /// The handler said so.
    #[error("Error: {0}")]
    Failed(String),
    /// The handler panicked.
    #[error("Error: the tool stopped unexpectedly: {0}")]
    Panicked(String),
    /// It is declared for others to handle.
    #[error("`{0}` has no handler here")]
    NoHandler(String),
}

impl ToolError {
    /// What a panic said, where it said something.
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

/// The longest text that a model is given for one call.
const TEXT_MAX: usize = 1 << 20;

/// Something that a model can call.
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
    /// A tool with its handler. What it is called with and what it answers with are known by their types.
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

    /// A tool that somebody else handles: it is listed, and cannot be called here.
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

    /// Whether stored overrides may change how it is described.
    #[must_use]
    pub fn accepts_overrides(self, accepts: bool) -> Self {
        Self { accepts_overrides: accepts, ..self }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does, for the model.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON schema of what it is called with. Unknown members are not allowed, however deep.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }

    /// The JSON schema of its value; `null` where it is not known.
    pub fn result(&self) -> &Value {
        &self.result
    }

    /// Whether it can be called here.
    pub fn has_handler(&self) -> bool {
        self.handler.is_some()
    }

    /// Calls it. Where that fails, for whatever reason, the session's state is as it was before.
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

    /// What overrides of it are bound to: what it says and takes.
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

/// Decides about calls of a section's tools and those below it, beside the policy of the session.
pub trait ToolPolicy: Send + Sync {
    /// Whether the tool may be called with that; an error has the reason, for the model.
    fn check(&self, tool: &str, arguments: &Value, state: &SessionState) -> Result<(), String>;

    /// Told after a call that succeeded.
    fn on_result(&self, tool: &str, arguments: &Value, answer: &ToolText, state: &mut SessionState) {
        let _ = (tool, arguments, answer, state);
    }
}

/// The arguments as the handler wants them; what it would not look at is an error, too.
fn parsed<P: DeserializeOwned>(arguments: &Value, schema: &Value) -> Result<P, String> {
    let parsed = P::deserialize(arguments).map_err(|error| error.to_string())?;
    strict::check(schema, arguments)?;
    Ok(parsed)
}

/// Cuts what is too long for a model to be given at once, and says so.
pub fn cut(text: &mut String) {
    if text.len() > TEXT_MAX {
        let whole = text.len();
        text.truncate(text.floor_char_boundary(TEXT_MAX));
        let _ = write!(text, "\n[cut here: this is the first MiB of {whole} bytes]");
    }
}

fn text_of<R: ToolValue>(answer: &ToolAnswer<R>) -> ToolText {
    let shown = answer.value.as_ref().filter(|_| answer.is_shown).map(ToolValue::render);
    let mut text = shown.filter(|text| !text.is_empty()).unwrap_or_else(|| answer.message.clone());
    cut(&mut text);
    let value = answer.value.as_ref().and_then(|value| serde_json::to_value(value).ok());
    ToolText { text, value: value.filter(|value| !value.is_null()) }
}

/// What a panic said, where it said something.
fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("nothing was said")
}
