//! Downloads over HTTPS, with limits on size, time and redirects. A connection goes only to an address that was checked.
//!
//! Plain HTTP is refused, except to this machine. Credentials belong to an origin, so no redirect takes them elsewhere.

mod address;

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls_native_certs::load_native_certs;
use ureq::http::{Response, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body};
use url::Url;

use self::address::CheckedResolver;
pub use self::address::HostLookup;
use crate::StoreError;
use crate::source::{FetchContext, is_this_machine};

/// How many redirects are followed.
const REDIRECTS: usize = 5;

/// What downloads may reach, and within which limits.
#[derive(Clone)]
#[non_exhaustive]
pub struct DownloadAccess {
    /// Hosts that may have private addresses.
    pub private_hosts: Vec<String>,
    /// What is sent to which origin.
    pub credentials: Vec<DownloadCredential>,
    /// The most bytes of one download: 128 MiB.
    pub bytes: u64,
    /// The longest time for one download with its redirects and retries: five minutes.
    pub patience: Duration,
    /// The longest time without a byte: 30 seconds.
    pub silence: Duration,
    /// How often a request is made if the server answers 429 or 5xx: three times.
    pub attempts: u32,
    /// Waits before the next attempt.
    pub pause: fn(Duration),
    /// How names become addresses.
    pub lookup: Arc<HostLookup>,
}

/// A value of the header `Authorization` for one origin.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DownloadCredential {
    /// The origin: `https://host` or `https://host:port`.
    pub origin: String,
    /// The value.
    pub authorization: String,
}

impl DownloadCredential {
    /// A value for an origin.
    pub fn new(origin: impl Into<String>, authorization: impl Into<String>) -> Self {
        Self { origin: origin.into(), authorization: authorization.into() }
    }
}

impl fmt::Debug for DownloadCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DownloadCredential").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Default for DownloadAccess {
    fn default() -> Self {
        Self {
            private_hosts: Vec::new(),
            credentials: Vec::new(),
            bytes: 128 << 20,
            patience: Duration::from_mins(5),
            silence: Duration::from_secs(30),
            attempts: 3,
            pause: std::thread::sleep,
            lookup: Arc::new(address::system_lookup),
        }
    }
}

impl fmt::Debug for DownloadAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hosts, credentials) = (&self.private_hosts, &self.credentials);
        f.debug_struct("DownloadAccess")
            .field("private_hosts", hosts)
            .field("credentials", credentials)
            .finish_non_exhaustive()
    }
}

/// An answer with its whole body.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The URL after redirects.
    pub(crate) url: Url,
    pub(crate) status: u16,
    pub(crate) bytes: Vec<u8>,
}

/// Downloads for one source.
pub(crate) struct Http<'n> {
    network: &'n DownloadAccess,
    agent: Agent,
    /// Why no encrypted connection can be made, if that is so.
    no_tls: Option<String>,
    began: Instant,
    /// How long all of it may take.
    patience: Duration,
    /// How many bytes are left for all of it.
    left: Cell<u64>,
}

impl<'n> Http<'n> {
    /// `named` is a host that the user typed as an address of its own.
    pub(crate) fn new(fetching: &'n FetchContext<'_>, named: Option<&str>) -> Self {
        let network = &fetching.network;
        let mut config = Agent::config_builder()
            .timeout_connect(Some(network.silence))
            .timeout_recv_response(Some(network.silence))
            .timeout_per_read(Some(network.silence))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .max_idle_connections(0)
            .user_agent(concat!("metier/", env!("CARGO_PKG_VERSION")));
        let mut no_tls = None;
        match tls() {
            Ok(tls) => config = config.tls_config(tls),
            Err(reason) => no_tls = Some(reason),
        }
        let private_hosts = network.private_hosts.iter().cloned().chain(named.map(str::to_owned)).collect();
        let resolver = CheckedResolver::new(private_hosts, Arc::clone(&network.lookup));
        let agent = Agent::with_parts(config.build(), DefaultConnector::default(), resolver);
        let left = Cell::new(fetching.limits.archive_bytes);
        Self { network, agent, no_tls, began: now(), patience: fetching.patience, left }
    }

    /// The file at a URL; every status but 200 is an error.
    pub(crate) fn get(&self, url: &Url, most: u64) -> Result<Answer, StoreError> {
        let answer = self.ask(url, most)?;
        if answer.status == 200 {
            return Ok(answer);
        }
        Err(failed(url, format!("the server answered {}", answer.status)))
    }

    /// The answer for a URL, whatever its status is. Redirects are followed, and some failures are tried again.
    pub(crate) fn ask(&self, url: &Url, most: u64) -> Result<Answer, StoreError> {
        let began = now();
        let most = most.min(self.network.bytes).min(self.left.get());
        let mut attempt = 1;
        loop {
            let (answer, wait) = self.follow(url, most, began)?;
            self.left.set(self.left.get().saturating_sub(answer.bytes.len() as u64));
            let is_busy = answer.status == 429 || answer.status >= 500;
            let wait = wait.unwrap_or_else(|| Duration::from_millis(250) * 4_u32.saturating_pow(attempt - 1));
            let has_time = wait < self.remaining(began);
            if !is_busy || attempt >= self.network.attempts || !has_time {
                return Ok(answer);
            }
            attempt += 1;
            (self.network.pause)(wait);
        }
    }

    /// The time that is left for a download.
    fn remaining(&self, began: Instant) -> Duration {
        let all = self.patience.saturating_sub(self.began.elapsed());
        all.min(self.network.patience.saturating_sub(began.elapsed()))
    }

    fn follow(&self, url: &Url, most: u64, began: Instant) -> Result<(Answer, Option<Duration>), StoreError> {
        let mut at = url.clone();
        for _ in 0..=REDIRECTS {
            check_secure(url, &at)?;
            let response = self.once(url, &at, self.remaining(began))?;
            let status = response.status().as_u16();
            let text = |name: header::HeaderName| {
                response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
            };
            if let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, text(header::LOCATION)) {
                let wrong = || failed(url, "it redirects to an invalid address".to_owned());
                let next = at.join(&location).map_err(|_| wrong())?;
                if next.host().is_none() || next.username() != "" || next.password().is_some() {
                    return Err(wrong());
                }
                at = next;
                continue;
            }
            let wait = text(header::RETRY_AFTER).and_then(|wait| wait.trim().parse().ok());
            let bytes = if status == 200 { body(url, response, most)? } else { Vec::new() };
            return Ok((Answer { url: at, status, bytes }, wait.map(Duration::from_secs)));
        }
        Err(failed(url, format!("it redirects more than {REDIRECTS} times")))
    }

    fn once(&self, asked: &Url, at: &Url, time: Duration) -> Result<Response<Body>, StoreError> {
        if let Some(reason) = self.no_tls.as_ref().filter(|_| at.scheme() == "https") {
            return Err(StoreError::Certificates { reason: reason.clone() });
        }
        if time.is_zero() {
            return Err(failed(asked, "it took too long".to_owned()));
        }
        let mut request = self.agent.get(at.as_str()).config().timeout_global(Some(time)).build();
        let origin = at.origin().ascii_serialization();
        let known = self.network.credentials.iter().find(|known| known.origin == origin);
        if let Some(known) = known {
            request = request.header(header::AUTHORIZATION, &known.authorization);
        }
        request.call().map_err(|error| failed(asked, reason(&error)))
    }
}

impl fmt::Debug for Http<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}

fn body(url: &Url, response: Response<Body>, most: u64) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let mut reader = response.into_body().into_reader().take(most.saturating_add(1));
    reader.read_to_end(&mut bytes).map_err(|error| failed(url, io_reason(&error)))?;
    if bytes.len() as u64 > most {
        return Err(failed(url, format!("it is larger than {most} bytes")));
    }
    Ok(bytes)
}

/// Checks that a hop is encrypted, or stays on this machine as the request did.
fn check_secure(asked: &Url, at: &Url) -> Result<(), StoreError> {
    let is_local = |url: &Url| url.scheme() == "http" && url.host_str().is_some_and(is_this_machine);
    if at.scheme() == "https" || (is_local(asked) && is_local(at)) {
        return Ok(());
    }
    let shown = at.host_str().unwrap_or_default();
    let reason = match at.scheme() {
        "http" => format!("it leads to plain HTTP at `{shown}`, which anyone on the way can change"),
        scheme => format!("it leads to an address with the scheme `{scheme}:`"),
    };
    Err(failed(asked, reason))
}

/// The error about a download. Its query may contain a secret, so it is left out.
pub(crate) fn failed(url: &Url, reason: String) -> StoreError {
    StoreError::Download { url: shown(url), reason }
}

pub(crate) fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    shown.to_string()
}

fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => io_reason(error),
        ureq::Error::Timeout(_) => "the server did not answer in time".to_owned(),
        ureq::Error::HostNotFound => "the host was not found".to_owned(),
        error => error.to_string(),
    }
}

fn io_reason(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
    if let Some(inner) = inner {
        return reason(inner);
    }
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "the server did not answer in time".to_owned(),
        io::ErrorKind::UnexpectedEof => "the connection ended before the file was complete".to_owned(),
        _ => error.to_string(),
    }
}

/// The time, for limits.
#[expect(clippy::disallowed_methods, reason = "how long something takes cannot be told otherwise")]
fn now() -> Instant {
    Instant::now()
}

/// The system's certificates, or why they cannot be read.
fn tls() -> Result<TlsConfig, String> {
    let found = load_native_certs();
    if found.certs.is_empty() {
        return Err(found.errors.first().map_or_else(|| "none were found".to_owned(), ToString::to_string));
    }
    let certificates: Vec<Certificate<'static>> =
        found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&certificates))
        .build())
}
