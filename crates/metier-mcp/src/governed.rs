//! Work in a client's session that may need the user's approval first.
//!
//! No thread and no lock is held while the user is asked: the work stops at the question, and starts again from the
//! beginning once there is an answer.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use metier_policy::{Approver, NoApprover};
use metier_session::{Session, SessionError};
use rmcp::model::{ClientCapabilities, InputRequiredResult};
use rmcp::service::{ElicitationMode, RequestContext, RoleServer};
use serde_json::Value;

use crate::answer::Refusal;
use crate::approval::{self, Answered, Continuation, Known, Open, Person, Unanswered};
use crate::connection::{McpConnection, client_name, holder, is_modern, is_stateless};
use crate::http::Holder;
use crate::library::{AskMode, Library};

/// The maximum number of questions for one call.
const QUESTIONS: usize = 8;

/// The state and answers that a client sends when it calls again.
#[derive(Debug)]
pub(crate) struct Brought {
    call: Vec<u8>,
    pub(crate) known: Known,
    /// What is left of a call that has begun.
    pub(crate) rest: Option<Continuation>,
}

impl Brought {
    /// Opens the state that a client sends.
    pub(crate) fn open(
        library: &Library,
        call: Vec<u8>,
        state: Option<&str>,
        responses: Option<&BTreeMap<String, Value>>,
    ) -> Result<Self, Refusal> {
        let (known, rest) = approval::brought(library, &call, state, responses)?;
        Ok(Self { call, known, rest })
    }
}

/// The result of work that may need approval.
pub(crate) enum Governed<T> {
    Done(T),
    /// The client has to ask the user, and to call again.
    Asks(InputRequiredResult),
}

impl<T> Governed<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Governed<U> {
        match self {
            Self::Done(done) => Governed::Done(change(done)),
            Self::Asks(question) => Governed::Asks(question),
        }
    }
}

/// How the user is asked through a client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Not possible.
    Nobody,
    /// By a request to the client while its call waits.
    Back,
    /// By a result that makes the client call again.
    Along,
}

impl McpConnection {
    fn way(&self, context: &RequestContext<RoleServer>) -> Way {
        let can_form = |capabilities: &ClientCapabilities| {
            capabilities.elicitation.as_ref().is_some_and(|how| how.form.is_some() || how.url.is_none())
        };
        let can_along = || context.client_capabilities().as_ref().is_some_and(can_form);
        let can_back = || context.peer.supported_elicitation_modes().contains(&ElicitationMode::Form);
        match (self.library.options.ask, is_modern(context)) {
            (AskMode::Client, true) if can_along() => Way::Along,
            (AskMode::Client, false) if can_back() => Way::Back,
            _ => Way::Nobody,
        }
    }

    /// Runs work in this client's session. If approval is needed, the user is asked through the client, and the work is
    /// repeated with the answer.
    pub(crate) async fn in_session<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        brought: Brought,
        work: impl Fn(&mut Session) -> Result<T, Refusal> + Send + Sync + 'static,
    ) -> Result<Governed<T>, Refusal> {
        let done = self.in_session_with(context, brought, |_| std::future::ready(Ok(())), work).await?;
        Ok(done.map(|((), done)| done))
    }

    /// The same for work that needs a limited resource. `hold` acquires it before the work starts and before an answer
    /// is used; it is not held while the user is asked, and is returned with the result. `hold` is told whether the
    /// user was asked.
    pub(crate) async fn in_session_with<H: Send, T: Send + 'static, F>(
        &self,
        context: &RequestContext<RoleServer>,
        brought: Brought,
        hold: impl Fn(bool) -> F + Send + Sync,
        work: impl Fn(&mut Session) -> Result<T, Refusal> + Send + Sync + 'static,
    ) -> Result<Governed<(H, T)>, Refusal>
    where
        F: Future<Output = Result<H, Refusal>> + Send,
    {
        let mut held = hold(false).await?;
        self.conversation.introduce(holder(context), client_name(context));
        if !is_stateless(context) {
            self.conversation.has_list();
        }
        let task = task(context);
        let (way, work) = (self.way(context), Arc::new(work));
        // A script with network access can reach a server without tokens, and could approve itself permanently.
        let is_lasting = holder(context).is_none_or(|holder| holder != Holder::WITHOUT_TOKEN);
        let mut known = brought.known;
        for _ in 0..QUESTIONS {
            let (work, open, answers) = (Arc::clone(&work), Open::default(), known.clone());
            let (asking, task) = (Arc::clone(&open), task.clone());
            let done = self.conversation.with(&context.ct, move |session| {
                session.set_approver(approver(way, answers, asking, is_lasting, session.id()));
                let Some(task) = task else { return work(session) };
                let own = session.set_task(Some(task));
                let done = work(session);
                session.set_task(own);
                done
            });
            let question = match done.await {
                Err(Refusal::Asked) => open.lock().unwrap_or_else(PoisonError::into_inner).take(),
                Err(refusal) => return Err(declined(refusal, &known, context)),
                Ok(done) => return Ok(Governed::Done((held, done))),
            };
            drop(held);
            let question = question.ok_or_else(|| Refusal::Broken("no question was asked".to_owned()))?;
            if way == Way::Along {
                return approval::send_along(&self.library, &brought.call, known, question, brought.rest)
                    .map(Governed::Asks);
            }
            let answered = self.ask_back(&question, context).await?;
            known.insert(question.key, answered);
            held = hold(true).await?;
        }
        Err(Refusal::Broken("the call led to too many approval questions".to_owned()))
    }

    /// Asks the client, as long as the call is not cancelled and the server is not shutting down.
    async fn ask_back(
        &self,
        question: &Unanswered,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answered, Refusal> {
        tokio::select! {
            answered = approval::elicit(question, &context.peer, self.library.options.patience) => Ok(answered),
            () = context.ct.cancelled() => Err(Refusal::Gone),
            () = self.library.turns.stop.cancelled() => Err(Refusal::Gone),
        }
    }
}

/// The task that a call belongs to, where its client says so.
fn task(context: &RequestContext<RoleServer>) -> Option<String> {
    let task = context.meta.get("io.metier/task")?.as_str()?;
    Some(task.chars().take(100).collect())
}

fn approver(way: Way, known: Known, open: Open, is_lasting: bool, session: &str) -> Box<dyn Approver + Send> {
    match way {
        Way::Nobody => Box::new(NoApprover),
        Way::Back | Way::Along => Box::new(Person { known, open, is_lasting, session: session.to_owned() }),
    }
}

/// Marks a refusal that came from the client, and possibly not from the user.
fn declined(refusal: Refusal, known: &Known, context: &RequestContext<RoleServer>) -> Refusal {
    let is_declined = known.values().any(|answered| *answered == Answered::Declined);
    let is_denied = matches!(refusal.session(), Some(SessionError::Denied { .. }));
    if is_denied && is_declined { Refusal::Declined { client: client_name(context) } } else { refusal }
}
