//! Checks every request: authentication, rate limit, and the owner of its session.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use metier_skill::Digest;
use rmcp::transport::streamable_http_server::session::SessionManager as _;

use super::streams::Sessions;
use super::{HttpOptions, body};
use crate::library::Library;
use crate::renamed::renamed_with;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// The first protocol revision without sessions.
const STATELESS: &str = "2026-07-28";

/// Names of the local machine.
const OWN: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The maximum number of clients whose rates are remembered.
const CLIENTS_MAX: usize = 10_000;

/// The sender of a request: the number of their token, or 0 without tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Principal(pub(crate) usize);

/// The sender of a request, for the journal and for answers that belong to one client: the name of the token's holder,
/// a name derived from a token without one, or [`Holder::WITHOUT_TOKEN`].
#[derive(Debug, Clone)]
pub(crate) struct Holder(pub(crate) String);

impl Holder {
    /// Every client of a server without tokens.
    pub(crate) const WITHOUT_TOKEN: &str = "http";
}

/// All clients with a wrong token.
const NOBODY: Principal = Principal(usize::MAX);

pub(super) struct Gate {
    options: HttpOptions,
    /// Compared as digests, so that the time it takes reveals nothing.
    tokens: Vec<Digest>,
    library: Arc<Library>,
    sessions: Arc<Sessions>,
    /// The owner of each session.
    owners: Mutex<HashMap<String, Principal>>,
    rates: Mutex<HashMap<(IpAddr, Principal), Bucket>>,
    is_closed: AtomicBool,
    requests: AtomicU64,
    refused: AtomicU64,
}

/// How many requests a client may still send now.
struct Bucket {
    left: f64,
    seen: Instant,
}

impl Gate {
    pub(super) fn new(options: HttpOptions, library: Arc<Library>, sessions: Arc<Sessions>) -> Self {
        Self {
            tokens: options.tokens.iter().map(|token| Digest::of(token.secret.as_bytes())).collect(),
            options,
            library,
            sessions,
            owners: Mutex::default(),
            rates: Mutex::default(),
            is_closed: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// The server is shutting down.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    fn principal(&self, headers: &HeaderMap) -> Option<Principal> {
        if self.tokens.is_empty() {
            return Some(Principal(0));
        }
        let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, token) = given.split_once(' ')?;
        let digest = Digest::of(token.trim().as_bytes());
        let is_bearer = scheme.eq_ignore_ascii_case("bearer");
        self.tokens.iter().position(|known| is_bearer && *known == digest).map(|number| Principal(number + 1))
    }

    /// Never the machine's owner: approvals given over HTTP must not count as theirs.
    fn holder(&self, principal: Principal) -> Holder {
        let number = principal.0.checked_sub(1);
        let named = number.and_then(|number| self.options.tokens.get(number)?.holder.clone());
        let digest =
            || number.and_then(|number| Some(format!("token-{}", &self.tokens.get(number)?.hex()[..12])));
        Holder(named.or_else(digest).unwrap_or_else(|| Holder::WITHOUT_TOKEN.to_owned()))
    }

    /// Whether a client is within its rate limit.
    #[expect(clippy::disallowed_methods, reason = "a rate limit needs the clock")]
    fn is_in_time(&self, client: (IpAddr, Principal)) -> bool {
        let now = Instant::now();
        let rate = f64::from(self.options.rate);
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if rates.len() >= CLIENTS_MAX {
            // After a second without requests, the full limit is available again.
            rates.retain(|_, bucket| now.duration_since(bucket.seen).as_secs() < 1);
        }
        let bucket = rates.entry(client).or_insert(Bucket { left: rate, seen: now });
        bucket.left = (bucket.left + now.duration_since(bucket.seen).as_secs_f64() * rate).min(rate);
        bucket.seen = now;
        if bucket.left < 1.0 {
            return false;
        }
        bucket.left -= 1.0;
        true
    }

    /// Whether a session belongs to this client, or to no client.
    fn is_own(&self, session: &str, principal: Principal) -> bool {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.get(session).is_none_or(|owner| *owner == principal)
    }

    async fn has_room(&self) -> bool {
        self.sessions.count().await < self.options.sessions
    }

    /// Stores the owner of a new session, and removes sessions that have ended.
    async fn own(&self, session: &str, principal: Principal) {
        let known = self.sessions.inner.sessions.read().await;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if owners.len() > 2 * known.len() + 100 {
            owners.retain(|id, _| known.contains_key(id.as_str()));
        }
        owners.insert(session.to_owned(), principal);
    }

    /// The metrics in Prometheus format.
    pub(super) async fn metrics(&self) -> String {
        let sessions = self.sessions.count().await;
        let (requests, refused) =
            (self.requests.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed));
        let mut text = String::new();
        for (name, kind, help, value) in [
            ("metier_http_requests_total", "counter", "Requests received.", requests),
            ("metier_http_refused_total", "counter", "Requests rejected.", refused),
            ("metier_sessions", "gauge", "Open sessions.", sessions as u64),
            ("metier_skills", "gauge", "Skills served.", self.library.count() as u64),
            ("metier_calls_running", "gauge", "Calls in progress.", self.library.running() as u64),
        ] {
            text.push_str(
                &["# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n", name, " "].concat(),
            );
            text.push_str(&value.to_string());
            text.push('\n');
        }
        text + &self.library.metrics.text()
    }

    /// Whether a name is one of the server's host names.
    fn is_ours(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let name = host
            .rsplit_once(':')
            .filter(|(_, port)| port.parse::<u16>().is_ok())
            .map_or(host, |(name, _)| name);
        let name = name.trim_start_matches('[').trim_end_matches(']');
        OWN.contains(&name) || self.options.hosts.iter().any(|known| known == name || known == host)
    }

    async fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        address: IpAddr,
    ) -> Result<Principal, Response> {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(refusal(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down"));
        }
        if !self.is_ours(headers) {
            return Err(refusal(StatusCode::FORBIDDEN, "unknown host name; allow it with `--allow-host`"));
        }
        let Some(principal) = self.principal(headers) else {
            if !self.is_in_time((address, NOBODY)) {
                return Err(later(StatusCode::TOO_MANY_REQUESTS, "too many requests with wrong tokens"));
            }
            let is_given = headers.contains_key(header::AUTHORIZATION);
            let why =
                if is_given { "unknown token" } else { "missing token; send `Authorization: Bearer TOKEN`" };
            let mut response = refusal(StatusCode::UNAUTHORIZED, why);
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
            return Err(response);
        };
        if !self.is_in_time((address, principal)) {
            return Err(later(StatusCode::TOO_MANY_REQUESTS, "too many requests per second"));
        }
        let session = headers.get(SESSION).map(|value| value.to_str()).transpose();
        let session = session.map_err(|_| refusal(StatusCode::BAD_REQUEST, "invalid session id"))?;
        let is_stateless = headers
            .get(VERSION)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|version| version >= STATELESS);
        if session.is_some_and(|session| !self.is_own(session, principal)) {
            return Err(refusal(StatusCode::NOT_FOUND, "unknown session"));
        }
        if method == Method::POST && session.is_none() && !is_stateless && !self.has_room().await {
            return Err(later(StatusCode::SERVICE_UNAVAILABLE, "too many open sessions"));
        }
        Ok(principal)
    }
}

fn refusal(status: StatusCode, why: &'static str) -> Response {
    (status, [why, "\n"].concat()).into_response()
}

fn later(status: StatusCode, why: &'static str) -> Response {
    let mut response = refusal(status, why);
    response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    response
}

/// Passes a request on, or rejects it with a reason.
pub(super) async fn pass(
    State(gate): State<Arc<Gate>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    gate.requests.fetch_add(1, Ordering::Relaxed);
    let (mut parts, body) = request.into_parts();
    let principal = match gate.check(&parts.method, &parts.headers, address.ip()).await {
        Ok(principal) => principal,
        Err(response) => {
            gate.refused.fetch_add(1, Ordering::Relaxed);
            return response;
        }
    };
    let bytes = match body::read(body, gate.options.request_bytes, gate.options.body_patience).await {
        Ok(bytes) => bytes,
        Err(response) => {
            gate.refused.fetch_add(1, Ordering::Relaxed);
            return response;
        }
    };
    let renamed = gate.library.gateway.as_ref().and_then(|_| renamed_with(&bytes, &mut parts.headers));
    let bytes = renamed.map_or(bytes, Into::into);
    let (is_new, is_json) = (!parts.headers.contains_key(SESSION), body::is_json(&parts.headers));
    let method = parts.method.clone();
    parts.extensions.insert(principal);
    parts.extensions.insert(gate.holder(principal));
    let mut response = next.run(Request::from_parts(parts, bytes.clone().into())).await;
    // `rmcp` reports the same error for an invalid message as for a body that is not declared as JSON.
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_json {
        return body::not_a_message(&bytes);
    }
    // A session that was ended is removed: nothing is left to do.
    if method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    let session = response.headers().get(SESSION).and_then(|value| value.to_str().ok());
    let Some(session) = session.filter(|_| is_new).map(str::to_owned) else { return response };
    // A client that declares that it needs no session may have received one all the same.
    if gate.sessions.count().await > gate.options.sessions {
        let _ = gate.sessions.close_session(&session.into()).await;
        gate.refused.fetch_add(1, Ordering::Relaxed);
        return later(StatusCode::SERVICE_UNAVAILABLE, "too many open sessions");
    }
    gate.own(&session, principal).await;
    response
}

/// Rejects requests from web pages.
pub(super) async fn no_page(request: Request, next: Next) -> Response {
    if request.headers().contains_key(header::ORIGIN) {
        return refusal(StatusCode::FORBIDDEN, "not available to web pages");
    }
    next.run(request).await
}
