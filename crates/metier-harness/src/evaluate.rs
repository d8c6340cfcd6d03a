//! Runs a prompt on an agent: what the caller chooses, and the result in the type that was asked for.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use metier_journal::{EvaluationEnd, EvaluationStart};
use metier_prompt::Rendering;
use metier_sandbox::Cancel;
use metier_session::Session;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::HarnessError;
use crate::evaluation::Evaluation;
use crate::event::AgentEvent;
use crate::harness::Harness;
use crate::output::OutputType;
use crate::permission::{PermissionHandler, Permissions};
use crate::run::{Answer, Run};

/// How long an agent may send nothing, unless said otherwise.
const SILENCE: Duration = Duration::from_mins(10);

/// A prompt that is to run on an agent: see [`evaluate`].
pub struct EvaluationBuilder<'a, Output = String> {
    options: EvaluationOptions<'a>,
    output: PhantomData<fn() -> Output>,
}

/// What the caller chose, whatever the type of the answer.
pub(crate) struct EvaluationOptions<'a> {
    pub(crate) harness: &'a dyn Harness,
    pub(crate) rendering: Rendering,
    pub(crate) model: Option<String>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) silence: Duration,
    pub(crate) cancel: Cancel,
    pub(crate) resumed: Option<String>,
    pub(crate) handler: Box<dyn FnMut(&AgentEvent) + 'a>,
    pub(crate) permissions: Box<dyn PermissionHandler + 'a>,
}

/// A prompt that is to run on an agent. Choose options, then call [`run`](EvaluationBuilder::run). The answer has the
/// type of the prompt.
///
/// ```no_run
/// # fn example(claude: &dyn metier_harness::Harness, session: &mut metier_session::Session) -> Result<(), Box<dyn std::error::Error>> {
/// use metier_harness::evaluate;
/// use metier_prompt::{Prompt, Section};
///
/// #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
/// struct Review {
///     verdict: String,
///     issues: Vec<String>,
/// }
///
/// let prompt = Prompt::builder("docs", "review")
///     .section(Section::new("task", "Task").body("Review src/."))
///     .output::<Review>()
///     .build()?;
/// let answer = evaluate(claude, prompt.rendering())
///     .deadline(std::time::Duration::from_secs(300))
///     .on_event(|event| println!("{event:?}"))
///     .run(session)?;
/// println!("{}: {} issues", answer.output.verdict, answer.output.issues.len());
/// # Ok(())
/// # }
/// ```
pub fn evaluate<Output>(
    harness: &dyn Harness,
    rendering: Rendering<Output>,
) -> EvaluationBuilder<'_, Output> {
    let options = EvaluationOptions {
        harness,
        rendering: rendering.untyped(),
        model: None,
        deadline: None,
        silence: SILENCE,
        cancel: Cancel::never(),
        resumed: None,
        handler: Box::new(|_| {}),
        permissions: Box::new(Permissions::deny()),
    };
    EvaluationBuilder { options, output: PhantomData }
}

impl<'a, Output> EvaluationBuilder<'a, Output> {
    /// Asks for this model; without it, the agent chooses.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.options.model = Some(model.into());
        self
    }

    /// The time that the whole evaluation may take. The deadline of the session's budget applies as well.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// The time after which an agent that sends nothing is considered to hang: 10 minutes by default.
    #[must_use]
    pub fn silence(mut self, silence: Duration) -> Self {
        self.options.silence = silence;
        self
    }

    /// Ends the evaluation from another thread, for example at Ctrl-C.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.options.cancel = cancel;
        self
    }

    /// Continues a conversation of the agent, by the [`session_id`](Evaluation::session_id) of an earlier
    /// evaluation, in the same working directory. The agent must still have it: set `home.conversations` of the
    /// [`AgentSetup`](crate::AgentSetup) in both evaluations.
    #[must_use]
    pub fn resume(mut self, conversation: impl Into<String>) -> Self {
        self.options.resumed = Some(conversation.into());
        self
    }

    /// Calls a function with every event, while the agent works. The agent waits when it takes long.
    #[must_use]
    pub fn on_event(mut self, handler: impl FnMut(&AgentEvent) + 'a) -> Self {
        self.options.handler = Box::new(handler);
        self
    }

    /// Who answers permission requests that the policy leaves open; by default they are denied.
    #[must_use]
    pub fn permissions(mut self, permissions: impl PermissionHandler + 'a) -> Self {
        self.options.permissions = Box::new(permissions);
        self
    }

    /// Runs the prompt. The answer is read into the type of the prompt; for `String` it is the text itself. An agent that
    /// is asked for another type is shown its JSON schema, and is asked once to repair an answer that does not match.
    pub fn run(self, session: &mut Session) -> Result<Evaluation<Output>, HarnessError>
    where
        Output: DeserializeOwned + JsonSchema + 'static,
    {
        let output = OutputType::of::<Output>();
        let Answer { evaluation, value } = self.options.run(session, output.as_ref())?;
        let value = value.unwrap_or_else(|| Value::String(evaluation.text.clone()));
        // It was checked, so this reads it a second time.
        match Output::deserialize(value) {
            Ok(value) => Ok(evaluation.with_output(value)),
            Err(error) => {
                let spent = Box::new(evaluation.used());
                Err(HarnessError::Output { reason: error.to_string(), text: evaluation.text, spent })
            }
        }
    }

    /// Runs the prompt; the answer is read into this type instead of the prompt's.
    pub fn run_typed<T>(self, session: &mut Session) -> Result<Evaluation<T>, HarnessError>
    where
        T: DeserializeOwned + JsonSchema + 'static,
    {
        EvaluationBuilder { options: self.options, output: PhantomData }.run(session)
    }

    /// Runs the prompt; the answer is JSON that matches a schema. Of the schema, `type`, `enum`, `required`,
    /// `properties`, `additionalProperties: false` and `items` are checked.
    pub fn run_json(self, schema: Value, session: &mut Session) -> Result<Evaluation<Value>, HarnessError> {
        let output = OutputType::json(schema);
        let Answer { evaluation, value } = self.options.run(session, Some(&output))?;
        Ok(evaluation.with_output(value.unwrap_or_default()))
    }
}

impl EvaluationOptions<'_> {
    fn run(self, session: &mut Session, output: Option<&OutputType>) -> Result<Answer, HarnessError> {
        let installs = self.harness.home().is_some_and(|setup| setup.home.isolation.install_skills)
            || self.harness.skill_tools().is_some();
        let rendering = self.rendering.clone().install_skills(installs);
        if self.resumed.is_some() && self.harness.resume().is_none() {
            let agent = self.harness.title().to_owned();
            return Err(HarnessError::Unsupported { agent, what: "resuming a conversation" });
        }
        let prompt = rendering.prompt();
        let start = EvaluationStart {
            evaluation: session.new_id(),
            agent: self.harness.name().to_owned(),
            prompt: format!("{}/{}", prompt.namespace(), prompt.key()),
            model: self.model.clone(),
            resumed: self.resumed.clone(),
        };
        let mut run = Run::new(self, start.evaluation.clone());
        session.evaluation_started(start)?;
        let result = session.evaluate(&rendering, |turn| run.turn(turn, output));
        let result = result.map_err(|error: HarnessError| error.after(run.used()));
        let end = run.end(result.as_ref().err().map(metier_skill::Coded::code));
        session.evaluation_ended(end)?;
        result
    }
}

impl<Output> fmt::Debug for EvaluationBuilder<'_, Output> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvaluationBuilder")
            .field("harness", &self.options.harness.name())
            .field("prompt", self.options.rendering.prompt())
            .finish_non_exhaustive()
    }
}

impl Run<'_> {
    /// The record of the end.
    fn end(&self, code: Option<&'static str>) -> EvaluationEnd {
        let used = self.used();
        let counted = used.usage.counted();
        let facts = &self.facts;
        EvaluationEnd {
            evaluation: self.id.clone(),
            agent: self.options.harness.name().to_owned(),
            version: facts.version.clone(),
            model: facts.model.clone(),
            conversation: facts.conversation.clone(),
            input: counted.input,
            output: counted.output,
            cost_microdollars: used.cost.map(|cost| cost.microdollars),
            turns: used.turns,
            stop: facts.stop.as_ref().map_or_else(|| "error".to_owned(), ToString::to_string),
            code: code.map(str::to_owned),
            walls: self.walls().names(),
            duration_us: u64::try_from(self.watch.elapsed().as_micros()).unwrap_or(u64::MAX),
        }
    }
}
