//! Sessions whose answers can be fetched later: what was sent in answer to a call is kept for a while, also after the call has ended.
//!
//! The sessions of `rmcp` forget an answer as soon as it is on its way, and a client whose connection broke just then would never get
//! it. Here somebody always listens, and clients listen to them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{self, Stream, StreamExt as _};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::sync::watch;

/// How long an answer is kept after it was given.
const KEPT: Duration = Duration::from_mins(1);

/// How many answers of all sessions are kept, and how many events of one.
const ANSWERS: usize = 256;
const EVENTS: usize = 1_024;

/// What was sent in answer to one call.
struct Answer {
    session: SessionId,
    /// The part of its events' ids that they have in common.
    id: String,
    sent: watch::Sender<Sent>,
}

#[derive(Default)]
struct Sent {
    events: VecDeque<ServerSseMessage>,
    /// How many there were before the first of them.
    forgotten: usize,
    ended: Option<Instant>,
}

/// Sessions of clients.
#[derive(Default)]
pub(super) struct Sessions {
    pub(super) inner: LocalSessionManager,
    answers: Arc<Mutex<Vec<Arc<Answer>>>>,
}

impl Sessions {
    /// Sessions that end after nobody has used them for so long.
    pub(super) fn new(idle: Duration) -> Self {
        let mut sessions = Self::default();
        sessions.inner.session_config.keep_alive = Some(idle);
        sessions
    }

    /// How many there are.
    pub(super) async fn count(&self) -> usize {
        self.inner.sessions.read().await.len()
    }

    fn find(&self, session: &SessionId, id: &str) -> Option<Arc<Answer>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.iter().find(|answer| answer.session == *session && answer.id == id).cloned()
    }
}

/// The number of an event, and what it belongs to, if it belongs to the answer to a call.
fn parse(event: &str) -> Option<(usize, &str)> {
    let (number, id) = event.split_once('/')?;
    Some((number.parse().ok()?, id))
}

/// Listens to the end, whether a client does or not.
async fn listen(
    answer: Arc<Answer>,
    events: impl Stream<Item = ServerSseMessage>,
    answers: Arc<Mutex<Vec<Arc<Answer>>>>,
) {
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        answer.sent.send_modify(|sent| {
            if sent.events.len() == EVENTS {
                sent.events.pop_front();
                sent.forgotten += 1;
            }
            sent.events.push_back(event);
        });
    }
    #[expect(clippy::disallowed_methods, reason = "how long ago something was cannot be told otherwise")]
    let now = Instant::now();
    answer.sent.send_modify(|sent| sent.ended = Some(now));
    forget(&mut answers.lock().unwrap_or_else(PoisonError::into_inner), now);
}

/// Forgets what nobody will come back for.
fn forget(answers: &mut Vec<Arc<Answer>>, now: Instant) {
    let ended = |answer: &Arc<Answer>| answer.sent.borrow().ended;
    answers.retain(|answer| ended(answer).is_none_or(|ended| now.duration_since(ended) < KEPT));
    let mut over = answers.iter().filter(|answer| ended(answer).is_some()).count().saturating_sub(ANSWERS);
    answers.retain(|answer| {
        let is_gone = over > 0 && ended(answer).is_some();
        over -= usize::from(is_gone);
        !is_gone
    });
}

/// What was and will be sent, from the event of a number on.
fn follow(
    sent: watch::Receiver<Sent>,
    from: usize,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    stream::unfold((sent, from), |(mut sent, at)| async move {
        loop {
            let (event, is_over) = {
                let now = sent.borrow_and_update();
                let place = at.saturating_sub(now.forgotten);
                (
                    now.events.get(place).map(|event| (event.clone(), place + now.forgotten)),
                    now.ended.is_some(),
                )
            };
            match event {
                Some((event, place)) => return Some((event, (sent, place + 1))),
                None if is_over => return None,
                // The session may have been ended meanwhile.
                None => sent.changed().await.ok()?,
            }
        }
    })
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.inner.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).retain(|answer| answer.session != *id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let mut events = Box::pin(self.inner.create_stream(id, message).await?);
        // The first is there at once, and says what the stream is called.
        let first = events.next().await;
        let event = first.as_ref().and_then(|first| first.event_id.as_deref());
        let name = event.and_then(parse).map(|(_, name)| name.to_owned()).unwrap_or_default();
        let sent = watch::Sender::new(Sent::default());
        let answer = Arc::new(Answer { session: id.clone(), id: name, sent });
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&answer));
        let followed = follow(answer.sent.subscribe(), 0);
        tokio::spawn(listen(answer, stream::iter(first).chain(events), Arc::clone(&self.answers)));
        Ok(followed)
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let known = parse(&last_event_id).and_then(|(number, name)| Some((number, self.find(id, name)?)));
        if let Some((number, answer)) = known {
            return Ok(follow(answer.sent.subscribe(), number.saturating_add(1)).left_stream());
        }
        Ok(self.inner.resume(id, last_event_id).await?.right_stream())
    }
}
