//! Sessions with resumable answers: the events of a call are stored for a while, also after the call has ended.
//!
//! The sessions of `rmcp` drop an answer as soon as it is sent, so a client whose connection broke at that moment would
//! never get it. Here every stream is read to its end, and clients read from the stored events. Event ids are our own
//! and do not depend on `rmcp`.

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

/// How long an answer is stored after the call has ended.
const KEPT: Duration = Duration::from_mins(1);

/// The limits for stored answers of all sessions, for their bytes, and for the events of one answer.
const ANSWERS: usize = 256;
const BYTES: usize = 32 << 20;
const EVENTS: usize = 1_024;

/// When a disconnected client should reconnect.
const RETRY: Duration = Duration::from_secs(3);

/// The events of the answer to one call.
struct Answer {
    session: SessionId,
    /// The request that it answers.
    request: Option<RequestId>,
    /// The common part of its event ids.
    id: u64,
    sent: watch::Sender<Sent>,
}

#[derive(Default)]
struct Sent {
    events: VecDeque<ServerSseMessage>,
    /// The number of events that were dropped before the first stored one.
    forgotten: usize,
    /// The size of the stored events.
    bytes: usize,
    ended: Option<Instant>,
}

/// The sessions of clients.
#[derive(Default)]
pub(super) struct Sessions {
    pub(super) inner: LocalSessionManager,
    answers: Arc<Mutex<Vec<Arc<Answer>>>>,
    /// The number of streams so far.
    streams: AtomicU64,
    /// The protocol revision of each session.
    versions: Mutex<HashMap<SessionId, ProtocolVersion>>,
}

impl Sessions {
    /// Creates sessions that end after being idle for this long.
    pub(super) fn new(idle: Duration) -> Self {
        let mut sessions = Self::default();
        sessions.inner.session_config.keep_alive = Some(idle);
        // Whether a client accepts such an event is decided here.
        sessions.inner.session_config.sse_retry = None;
        sessions
    }

    /// The number of sessions.
    pub(super) async fn count(&self) -> usize {
        self.inner.sessions.read().await.len()
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Answer>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, session: &SessionId, id: u64) -> Option<Arc<Answer>> {
        self.answers().iter().find(|answer| answer.session == *session && answer.id == id).cloned()
    }

    /// Adds an answer, unless a request with the same session and id is still in progress. Check and insertion are one
    /// step, because two requests can arrive at the same time.
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

    /// Whether a session's client accepts an event without a message, which tells it how to reconnect. Clients before
    /// 2025-11-25 read it as a broken message.
    fn is_primed(&self, session: &SessionId) -> bool {
        let versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.get(session).is_some_and(|version| *version >= ProtocolVersion::V_2025_11_25)
    }
}

/// The id of an event: its number and its stream.
fn event_id(number: usize, stream: u64) -> String {
    format!("{number}/{stream}")
}

/// The number and the stream of an event id, if it belongs to the answer to a call.
fn parse(event: &str) -> Option<(usize, u64)> {
    let (number, stream) = event.split_once('/')?;
    Some((number.parse().ok()?, stream.parse().ok()?))
}

/// The size of a message in bytes.
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
        // Counting cannot fail.
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

/// Reads the stream to its end, with or without a client.
async fn listen(
    answer: Arc<Answer>,
    events: impl Stream<Item = ServerSseMessage>,
    answers: Arc<Mutex<Vec<Arc<Answer>>>>,
) {
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        answer.sent.send_modify(|sent| sent.push(event, answer.id));
    }
    #[expect(clippy::disallowed_methods, reason = "the age of an answer needs the clock")]
    let now = Instant::now();
    answer.sent.send_modify(|sent| sent.ended = Some(now));
    forget(&mut answers.lock().unwrap_or_else(PoisonError::into_inner), now, ANSWERS, BYTES);
}

/// Removes expired answers, then the oldest ones that exceed the limits.
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

/// How much is stored: the number of finished answers, and the bytes of all.
#[derive(Debug, PartialEq, Eq)]
struct Kept {
    count: usize,
    bytes: usize,
}

impl Kept {
    /// Removes one answer. It may have grown or ended since it was counted, because another task writes to it.
    fn remove(&mut self, bytes: usize) {
        self.count = self.count.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// The stored and future events, starting at a number.
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
                // The session may have been ended in the meantime.
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
        // Before it is sent: a second request with the same id must find it.
        if let (false, Some(request)) = (self.begin(&answer), request) {
            let words = format!("invalid request: a request with the id {request} is already in progress");
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
        // Events that are no longer stored are an error; otherwise, events of another stream could be mistaken for
        // them.
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
