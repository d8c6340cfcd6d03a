//! Sessions whose answers can be fetched later: what was sent in answer to a call is kept for a while, also after the call has ended.
//!
//! The sessions of `rmcp` forget an answer as soon as it is on its way, and a client whose connection broke just then would never get
//! it. Here every stream is read to its end, and clients follow what was read. Events get ids of ours, which depend on nothing in `rmcp`.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{self, Stream, StreamExt as _};
use rmcp::model::{
    ClientJsonRpcMessage, ErrorData, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::sync::watch;

/// How long an answer is kept after it was given.
const KEPT: Duration = Duration::from_mins(1);

/// How many answers of all sessions are kept, how many bytes, and how many events of one.
const ANSWERS: usize = 256;
const BYTES: usize = 32 << 20;
const EVENTS: usize = 1_024;

/// When a client that was cut off should come back.
const RETRY: Duration = Duration::from_secs(3);

/// What was sent in answer to one call.
struct Answer {
    session: SessionId,
    /// The request that it answers.
    request: Option<RequestId>,
    /// What its events' ids have in common.
    id: u64,
    sent: watch::Sender<Sent>,
}

#[derive(Default)]
struct Sent {
    events: VecDeque<ServerSseMessage>,
    /// How many there were before the first of them.
    forgotten: usize,
    /// How large those are that are kept.
    bytes: usize,
    ended: Option<Instant>,
}

/// Sessions of clients.
#[derive(Default)]
pub(super) struct Sessions {
    pub(super) inner: LocalSessionManager,
    answers: Arc<Mutex<Vec<Arc<Answer>>>>,
    /// How many streams there have been.
    streams: AtomicU64,
    /// The revision that each session speaks.
    versions: Mutex<HashMap<SessionId, ProtocolVersion>>,
}

impl Sessions {
    /// Sessions that end after they have not been used for so long.
    pub(super) fn new(idle: Duration) -> Self {
        let mut sessions = Self::default();
        sessions.inner.session_config.keep_alive = Some(idle);
        // Which client can take such an event is decided here.
        sessions.inner.session_config.sse_retry = None;
        sessions
    }

    /// How many there are.
    pub(super) async fn count(&self) -> usize {
        self.inner.sessions.read().await.len()
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Answer>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, session: &SessionId, id: u64) -> Option<Arc<Answer>> {
        self.answers().iter().find(|answer| answer.session == *session && answer.id == id).cloned()
    }

    /// Adds an answer, unless a request of the same session and id is still being answered. Both in one step: two requests can come at
    /// the same time.
    fn begin(&self, answer: &Arc<Answer>) -> bool {
        let mut answers = self.answers();
        let is_same = |other: &Arc<Answer>| {
            other.session == answer.session
                && other.request.is_some()
                && other.request == answer.request
                && other.sent.borrow().ended.is_none()
        };
        if answers.iter().any(is_same) {
            return false;
        }
        answers.push(Arc::clone(answer));
        true
    }

    /// Whether a session's client can take an event without a message, which tells it how to come back. Those before 2025-11-25 take it
    /// for a broken message.
    fn is_primed(&self, session: &SessionId) -> bool {
        let versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.get(session).is_some_and(|version| *version >= ProtocolVersion::V_2025_11_25)
    }
}

/// The id of an event: its number, and the stream that it is of.
fn event_id(number: usize, stream: u64) -> String {
    format!("{number}/{stream}")
}

/// The number of an event and its stream, if it belongs to the answer to a call.
fn parse(event: &str) -> Option<(usize, u64)> {
    let (number, stream) = event.split_once('/')?;
    Some((number.parse().ok()?, stream.parse().ok()?))
}

/// How many bytes a message is.
fn size(event: &ServerSseMessage) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    if let Some(message) = &event.message {
        // Counting does not fail.
        let _ = serde_json::to_writer(&mut count, &**message);
    }
    count.0
}

impl Sent {
    fn push(&mut self, mut event: ServerSseMessage, stream: u64) {
        event.event_id = Some(event_id(self.forgotten + self.events.len(), stream));
        if self.events.len() == EVENTS
            && let Some(first) = self.events.pop_front()
        {
            self.forgotten += 1;
            self.bytes -= size(&first);
        }
        self.bytes += size(&event);
        self.events.push_back(event);
    }
}

/// Listens to the end, whether a client does or not.
async fn listen(
    answer: Arc<Answer>,
    events: impl Stream<Item = ServerSseMessage>,
    answers: Arc<Mutex<Vec<Arc<Answer>>>>,
) {
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        answer.sent.send_modify(|sent| sent.push(event, answer.id));
    }
    #[expect(clippy::disallowed_methods, reason = "how long ago something was cannot be told otherwise")]
    let now = Instant::now();
    answer.sent.send_modify(|sent| sent.ended = Some(now));
    forget(&mut answers.lock().unwrap_or_else(PoisonError::into_inner), now, ANSWERS, BYTES);
}

/// Forgets what is too old, then the oldest of what is too much.
fn forget(answers: &mut Vec<Arc<Answer>>, now: Instant, most: usize, most_bytes: usize) {
    let ended = |answer: &Arc<Answer>| answer.sent.borrow().ended;
    answers.retain(|answer| ended(answer).is_none_or(|ended| now.duration_since(ended) < KEPT));
    let mut kept = Kept {
        count: answers.iter().filter(|answer| ended(answer).is_some()).count(),
        bytes: answers.iter().map(|answer| answer.sent.borrow().bytes).sum(),
    };
    answers.retain(|answer| {
        let is_gone = (kept.count > most || kept.bytes > most_bytes) && ended(answer).is_some();
        if is_gone {
            kept.remove(answer.sent.borrow().bytes);
        }
        !is_gone
    });
}

/// How much is kept: answers that have ended, and the bytes of all.
#[derive(Debug, PartialEq, Eq)]
struct Kept {
    count: usize,
    bytes: usize,
}

impl Kept {
    /// Takes off one answer. It may have grown or ended since it was counted: another task writes to it meanwhile.
    fn remove(&mut self, bytes: usize) {
        self.count = self.count.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
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
        let answer = self.inner.initialize_session(id, message).await?;
        if let ServerJsonRpcMessage::Response(response) = &answer
            && let ServerResult::InitializeResult(agreed) = &response.result
        {
            let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
            versions.insert(id.clone(), agreed.protocol_version.clone());
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.answers().retain(|answer| answer.session != *id);
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let number = self.streams.fetch_add(1, Ordering::Relaxed);
        let sent = watch::Sender::new(Sent::default());
        let answer = Arc::new(Answer { session: id.clone(), request: request.clone(), id: number, sent });
        if self.is_primed(id) {
            answer.sent.send_modify(|sent| sent.push(ServerSseMessage::retry(RETRY), number));
        }
        // Before it is sent: a second request of the same id must find it.
        if let (false, Some(request)) = (self.begin(&answer), request) {
            let words = format!("invalid request: a request with the id {request} is already under way");
            let error = ServerJsonRpcMessage::error(ErrorData::invalid_request(words, None), Some(request));
            return Ok(stream::iter([ServerSseMessage::from_message(error)]).left_stream());
        }
        let events = match self.inner.create_stream(id, message).await {
            Ok(events) => events,
            Err(error) => {
                self.answers().retain(|other| other.id != number);
                return Err(error);
            }
        };
        let followed = follow(answer.sent.subscribe(), 0);
        tokio::spawn(listen(answer, events, Arc::clone(&self.answers)));
        Ok(followed.right_stream())
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let events = self.inner.create_standalone_stream(id).await?;
        let first = self.is_primed(id).then(|| ServerSseMessage::priming("0", RETRY));
        Ok(stream::iter(first).chain(events))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let Some((number, stream)) = parse(&last_event_id) else {
            return Ok(self.inner.resume(id, last_event_id).await?.right_stream());
        };
        // What is no longer kept is an error: another stream's events would be taken for this one's.
        let gone = || LocalSessionManagerError::SessionError(SessionError::InvalidEventId);
        let answer = self.find(id, stream).ok_or_else(gone)?;
        Ok(follow(answer.sent.subscribe(), number.saturating_add(1)).left_stream())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: u64, ended: Option<Instant>, bytes: usize) -> Arc<Answer> {
        let sent = Sent { bytes, ended, ..Sent::default() };
        Arc::new(Answer { session: "one".into(), request: None, id, sent: watch::Sender::new(sent) })
    }

    #[test]
    fn of_requests_at_the_same_time_with_one_id_only_one_begins() {
        let sessions = Sessions::default();
        let begun = std::sync::atomic::AtomicUsize::new(0);
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for id in 0..8 {
                let (sessions, begun, barrier) = (&sessions, &begun, &barrier);
                scope.spawn(move || {
                    let request = Some(RequestId::Number(1));
                    let sent = watch::Sender::new(Sent::default());
                    let answer = Arc::new(Answer { session: "one".into(), request, id, sent });
                    barrier.wait();
                    begun.fetch_add(usize::from(sessions.begin(&answer)), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(begun.into_inner(), 1);
    }

    #[test]
    fn only_our_own_ids_are_of_an_answer() {
        assert_eq!(parse(&event_id(3, 17)), Some((3, 17)));
        for other in ["", "3", "3/", "/17", "3/x", "x/17", "3/17/1", "-1/2"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any moment will do")]
    fn answers_are_kept_within_a_number_of_bytes() {
        let now = Instant::now();
        let kept = |answers: &[Arc<Answer>]| answers.iter().map(|answer| answer.id).collect::<Vec<_>>();
        let mut answers: Vec<_> = (0..4).map(|id| answer(id, (id != 1).then_some(now), 10)).collect();
        forget(&mut answers, now, 9, 40);
        assert_eq!(kept(&answers), [0, 1, 2, 3]);
        forget(&mut answers, now, 9, 25);
        assert_eq!(kept(&answers), [1, 3], "what has not ended stays");
        forget(&mut answers, now + KEPT, 9, 25);
        assert_eq!(kept(&answers), [1]);
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "any moment will do")]
    async fn an_answer_that_ends_makes_the_oldest_go_where_there_is_too_much() {
        let now = Instant::now();
        for (count, bytes, left) in [(2, BYTES / 2, 2), (2, BYTES, 1), (ANSWERS + 1, 0, ANSWERS)] {
            let last = answer(u64::MAX, None, bytes);
            let mut answers: Vec<_> = (1..count).map(|id| answer(id as u64, Some(now), bytes)).collect();
            answers.push(Arc::clone(&last));
            let answers = Arc::new(Mutex::new(answers));
            listen(last, stream::empty(), Arc::clone(&answers)).await;
            let answers = answers.lock().unwrap();
            assert_eq!(answers.len(), left, "{count} of {bytes} bytes");
            assert_eq!(answers.last().unwrap().id, u64::MAX);
        }
    }

    #[test]
    fn an_answer_that_grew_after_it_was_counted_is_taken_off() {
        let mut kept = Kept { count: 0, bytes: 10 };
        kept.remove(11);
        assert_eq!(kept, Kept { count: 0, bytes: 0 });
    }

    #[test]
    fn events_are_numbered_and_counted() {
        let mut sent = Sent::default();
        let message = || {
            let error = ErrorData::invalid_request("x".repeat(100), None);
            ServerSseMessage::from_message(ServerJsonRpcMessage::error(error, None))
        };
        for _ in 0..EVENTS + 2 {
            sent.push(message(), 7);
        }
        let ids: Vec<_> = sent.events.iter().filter_map(|event| event.event_id.as_deref()).collect();
        assert_eq!((ids[0], *ids.last().unwrap()), ("2/7", "1025/7"));
        assert_eq!(sent.bytes, EVENTS * size(&message()));
        assert!(size(&message()) > 100);
    }
}
