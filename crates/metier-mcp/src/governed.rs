//! What a person may have to be asked about: done in the session, with whoever can be asked through the client.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use metier_policy::Nobody;
use metier_session::Session;
use rmcp::model::{ClientCapabilities, InputRequiredResult};
use rmcp::service::{ElicitationMode, RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::answer::Refusal;
use crate::approval::{self, Person};
use crate::connection::{Connection, holder, is_modern};
use crate::turns::Turn;

/// What a client brings along when it calls again with an answer.
pub(crate) struct Brought<'a> {
    pub(crate) call: Vec<u8>,
    pub(crate) state: Option<&'a str>,
    pub(crate) responses: Option<&'a BTreeMap<String, Value>>,
}

/// What became of something that a person may have to be asked about.
pub(crate) enum Governed<T> {
    Done(T),
    /// The client has to ask, and to call again.
    Asks(InputRequiredResult),
}

impl Connection {
    /// Does something in the session, with whoever can be asked through this client.
    pub(crate) async fn governed<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        brought: Brought<'_>,
        work: impl FnOnce(&mut Session) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<Governed<T>, Refusal> {
        self.conversation.set_actor(holder(context));
        let can_form = |capabilities: &ClientCapabilities| {
            capabilities.elicitation.as_ref().is_some_and(|how| how.form.is_some() || how.url.is_none())
        };
        if is_modern(context) {
            if context.client_capabilities().as_ref().is_some_and(can_form) {
                return self.asked_along(context, brought, work).await;
            }
        } else if context.peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
            return self.asked_back(context, work).await.map(Governed::Done);
        }
        let nobody = |session: &mut Session, _: &Turn| {
            session.set_approver(Box::new(Nobody));
            work(session)
        };
        self.conversation.with(&context.ct, nobody).await.map(Governed::Done)
    }

    /// The same where the client is asked back while it waits.
    async fn asked_back<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&mut Session) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (questions, mut asked) = mpsc::unbounded_channel();
        let call = self.conversation.with(&context.ct, move |session, turn| {
            let person = Person::Here { questions, session: session.id().to_owned(), turn: turn.clone() };
            session.set_approver(Box::new(person));
            work(session)
        });
        let mut call = std::pin::pin!(call);
        loop {
            tokio::select! {
                done = &mut call => return done,
                Some(asking) = asked.recv() => tokio::select! {
                    () = approval::elicit(asking, &context.peer, self.library.options.patience) => {}
                    // The question is dropped, and with it whoever waits for the answer goes on.
                    () = context.ct.cancelled() => {}
                    () = self.library.turns.stop.cancelled() => {}
                },
            }
        }
    }

    /// The same where the client calls again with the answer.
    async fn asked_along<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        brought: Brought<'_>,
        work: impl FnOnce(&mut Session) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<Governed<T>, Refusal> {
        let known = approval::brought(&self.library, &brought.call, brought.state, brought.responses)?;
        let open = approval::Open::default();
        let (asking, answers) = (Arc::clone(&open), known.clone());
        let done = self.conversation.with(&context.ct, move |session, _| {
            let person = Person::Later { known: answers, open: asking, session: session.id().to_owned() };
            session.set_approver(Box::new(person));
            work(session)
        });
        match done.await {
            Err(Refusal::Asked) => {
                let question = open.lock().unwrap_or_else(PoisonError::into_inner).take();
                let question = question.ok_or_else(|| Refusal::Broken("nothing was asked".to_owned()))?;
                approval::send_along(&self.library, &brought.call, known, question).map(Governed::Asks)
            }
            done => done.map(Governed::Done),
        }
    }
}
