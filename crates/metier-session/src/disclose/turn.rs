//! One turn of a model on a rendered prompt: its calls and their results.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use metier_journal::{Event, Time, ToolInvoked, ToolOutcome};
use metier_prompt::{
    Allowance, ExpansionRequired, OpenSections, ReadSection, RenderedPrompt, RenderedTool, Rendering,
    ToolContext, ToolError,
};
use metier_skill::Coded as _;
use serde::Deserialize as _;
use serde_json::Value;

use super::calls::bare;
use crate::error::SessionError;
use crate::session::{Session, shortened};

/// A rendered prompt, and its session.
#[derive(Debug)]
pub struct Turn<'a> {
    session: &'a mut Session,
    rendering: &'a Rendering,
    rendered: RenderedPrompt,
    expansion: Option<ExpansionRequired>,
    deadline: Option<Time>,
}

/// The answer to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolReply {
    /// The text for the model.
    pub text: String,
    /// The tool's value, for programs.
    pub value: Option<Value>,
    /// Whether the call failed. The session's state is then unchanged.
    pub is_error: bool,
    /// The call, as it is recorded.
    pub call_id: String,
}

/// The result of a call.
struct Done {
    text: String,
    value: Option<Value>,
    outcome: ToolOutcome,
    code: Option<&'static str>,
    notes: Vec<String>,
}

impl Done {
    fn well(text: String) -> Self {
        Self { text, value: None, outcome: ToolOutcome::Done, code: None, notes: Vec::new() }
    }

    fn badly(outcome: ToolOutcome, code: &'static str, text: String) -> Self {
        Self { text, value: None, outcome, code: Some(code), notes: Vec::new() }
    }
}

impl<'a> Turn<'a> {
    /// Starts a turn: renders the prompt for the current state of the session.
    pub fn new(session: &'a mut Session, rendering: &'a Rendering) -> Result<Self, SessionError> {
        let rendered = session.render(rendering)?;
        Ok(Self { session, rendering, rendered, expansion: None, deadline: None })
    }

    /// The prompt.
    pub const fn prompt(&self) -> &RenderedPrompt {
        &self.rendered
    }

    /// The session.
    pub const fn session(&mut self) -> &mut Session {
        self.session
    }

    /// The sections that the model wants to see expanded in the next turn.
    pub const fn expansion(&self) -> Option<&ExpansionRequired> {
        self.expansion.as_ref()
    }

    /// Sets how much time the turn has left, for its tools: [`Allowance::time`] is never more.
    pub fn limit_time(&mut self, left: Duration) {
        let left = i64::try_from(left.as_micros()).unwrap_or(i64::MAX);
        let now = self.session.options.clock.now();
        self.deadline = Some(Time::from_micros(now.as_micros().saturating_add(left)));
    }

    /// What the tools of this turn may spend.
    fn allowance(&self) -> Allowance {
        let mut allowance = self.session.allowance();
        if let Some(deadline) = self.deadline {
            let now = self.session.options.clock.now();
            let left = deadline.as_micros().saturating_sub(now.as_micros());
            let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
            allowance.time = Some(allowance.time.map_or(left, |time| time.min(left)));
        }
        allowance
    }

    pub(super) fn into_expansion(self) -> Option<ExpansionRequired> {
        self.expansion
    }

    /// Calls a tool of the prompt, if the active skills, the policy and the tool's sections allow it. Changes to the
    /// session's state are kept only if the tool succeeds. `call_id` is the agent's id of this call, if known.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        call_id: Option<&str>,
    ) -> Result<ToolReply, SessionError> {
        self.session.check_budget()?;
        let start = self.session.options.clock.now();
        let announced = self.session.calls.take(tool, arguments, call_id);
        let call_id = call_id.map(str::to_owned).or(announced);
        let call_id = call_id.unwrap_or_else(|| self.session.options.clock.id().to_string());
        let (before, expansion) = (self.session.state.clone(), self.expansion.clone());
        let mut done = self.try_call(tool, arguments, &call_id)?;
        metier_prompt::cut(&mut done.text);
        let privacy = &self.session.options.privacy;
        let content = |text: &str| privacy.content(text.as_bytes());
        let event = Event::ToolInvoked(Box::new(ToolInvoked {
            tool: shortened(tool),
            call_id: shortened(&call_id),
            arguments: content(&arguments.to_string()),
            outcome: done.outcome,
            code: done.code.map(str::to_owned),
            answer: content(&done.text),
            notes: done.notes.iter().take(MOST_NOTES).map(|note| content(note)).collect(),
            skills: self.session.active_digests(),
            duration_us: self.session.since(start),
        }));
        if let Err(error) = self.session.record(&event) {
            (self.session.state, self.expansion) = (before, expansion);
            return Err(match error {
                SessionError::Journal(source) => SessionError::Unrecorded { source },
                other => other,
            });
        }
        let is_error = done.outcome != ToolOutcome::Done;
        Ok(ToolReply { text: done.text, value: done.value, is_error, call_id })
    }

    fn try_call(&mut self, called: &str, arguments: &Value, call_id: &str) -> Result<Done, SessionError> {
        let name = bare(called);
        let Some(tool) = self.rendered.tool(name).cloned() else {
            let text = format!("The tool `{}` is not available now", shortened(name));
            return Ok(Done::badly(ToolOutcome::Refused, "tool-unknown", text));
        };
        // By its full name with the server's prefix, because rules may use it.
        let decision = self.session.check_tool_call(called, arguments)?;
        if !decision.is_allowed() {
            return Ok(Done::badly(ToolOutcome::Denied, decision.code.as_str(), decision.reason));
        }
        match guarded(|| tool.check(arguments, &self.session.state)) {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => return Ok(Done::badly(ToolOutcome::Denied, "tool-denied", reason)),
            Err(error) => return Ok(Done::badly(ToolOutcome::Denied, error.code(), error.to_string())),
        }
        Ok(match (tool.is_disclosure(), name) {
            (true, "open_sections") => self.open_sections(arguments),
            (true, _) => self.read_section(arguments),
            (false, _) => self.handle(&tool, arguments, call_id),
        })
    }

    fn handle(&mut self, tool: &RenderedTool, arguments: &Value, call_id: &str) -> Done {
        let view = self.session.view();
        let allowance = self.allowance();
        let mut context = ToolContext::new(&view.id, call_id, &view.skills, &mut self.session.state);
        context.task = view.task.as_deref();
        context.allowance = allowance;
        let before = context.state.clone();
        let answer = tool.tool.call(arguments, &mut context).and_then(|answer| {
            let told = guarded(|| tool.tell(arguments, &answer, context.state));
            told.inspect_err(|_| *context.state = before).map(|()| answer)
        });
        let notes = context.notes;
        match answer {
            Ok(answer) => Done { value: answer.value, notes, ..Done::well(answer.text) },
            Err(error) => {
                let outcome = match error {
                    ToolError::Arguments(_) | ToolError::NoHandler(_) => ToolOutcome::Refused,
                    _ => ToolOutcome::Failed,
                };
                Done { notes, ..Done::badly(outcome, error.code(), error.to_string()) }
            }
        }
    }

    /// Expanding takes effect in the next turn; the first call of a turn counts.
    fn open_sections(&mut self, arguments: &Value) -> Done {
        let call = match OpenSections::deserialize(arguments) {
            Ok(call) => call,
            Err(error) => return refused(&ToolError::Arguments(error.to_string())),
        };
        match self.rendering.open_sections(&self.session.view(), &call) {
            Ok(expansion) => {
                if self.expansion.is_some() {
                    let text = "Other sections are expanded first; request these again in the next turn";
                    return Done::well(text.to_owned());
                }
                let text = expansion.to_string();
                self.expansion = Some(expansion);
                Done::well(text)
            }
            Err(error) => Done::badly(ToolOutcome::Refused, error.code(), error.to_string()),
        }
    }

    fn read_section(&self, arguments: &Value) -> Done {
        let call = match ReadSection::deserialize(arguments) {
            Ok(call) => call,
            Err(error) => return refused(&ToolError::Arguments(error.to_string())),
        };
        match self.rendering.read_section(&self.session.view(), &call) {
            Ok(text) => Done::well(text),
            Err(error) => Done::badly(ToolOutcome::Refused, error.code(), error.to_string()),
        }
    }
}

/// Runs a host's code; a panic in it is an error of the tool.
fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| ToolError::panicked(&*panic))
}

/// The maximum number of notes of a tool in one record.
const MOST_NOTES: usize = 16;

fn refused(error: &ToolError) -> Done {
    Done::badly(ToolOutcome::Refused, error.code(), error.to_string())
}
