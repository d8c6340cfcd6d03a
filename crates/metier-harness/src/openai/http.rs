//! HTTP to a model server: one request at a time, on a thread of its own, whose answer arrives in a queue.

use std::io::Read as _;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ureq::http::{HeaderName, HeaderValue, Response, Uri, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Body};

use super::OpenAiSettings;
use crate::lane::Lane;

/// How many bytes of an answer can wait to be looked at. After that the server waits.
const WAITING: usize = 4 << 20;
/// How long it may take to connect.
const CONNECT: Duration = Duration::from_secs(30);

/// What arrives of an answer, in this order.
#[derive(Debug)]
pub(super) enum Arrived {
    Head(Head),
    Bytes(Vec<u8>),
    /// The end, or why there is no more.
    End(Result<(), String>),
}

/// The head of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Whether the body is a stream of events.
    pub(super) is_stream: bool,
    /// How long the server asks to wait before the next request.
    pub(super) retry_after: Option<Duration>,
    /// The cost of the request in dollars, as `LiteLLM` says it.
    pub(super) cost: Option<f64>,
}

/// The way to a model server. Dropping it ends a request that is under way.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    pub(super) address: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Client {
    /// The error says what is wrong with the settings, without any value that may be a key.
    pub(super) fn new(settings: &OpenAiSettings) -> Result<Self, String> {
        let (address, is_secure) = address(&settings.base_url, settings.api.path())?;
        let mut headers = Vec::new();
        for (name, value) in &settings.headers {
            headers.push(checked_header(name, value.expose())?);
        }
        if let Some(key) = &settings.key {
            let value = format!("Bearer {}", key.expose());
            headers.push(
                checked_header("authorization", &value)
                    .map_err(|_| "the API key has a character that keys cannot have")?,
            );
        }
        // A redirection would carry the key elsewhere, a proxy was not asked for, and a connection that was kept may be closed when it is
        // needed.
        let mut config = Agent::config_builder()
            .timeout_connect(Some(CONNECT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .max_idle_connections(0)
            .user_agent(concat!("metier/", env!("CARGO_PKG_VERSION")));
        if is_secure {
            config = config.tls_config(tls()?);
        }
        Ok(Self { agent: config.build().new_agent(), address, headers })
    }

    /// Sends a request. The answer arrives in the queue; closing that ends it.
    pub(super) fn send(&self, body: Vec<u8>) -> std::io::Result<Arc<Lane<Arrived>>> {
        let lane = Arc::new(Lane::new(WAITING));
        let (agent, address, headers) = (self.agent.clone(), self.address.clone(), self.headers.clone());
        let answers = Arc::clone(&lane);
        thread::Builder::new().name("model-request".to_owned()).spawn(move || {
            let end = exchange(&agent, &address, &headers, &body, &answers);
            answers.push(Arrived::End(end), 0);
        })?;
        Ok(lane)
    }

    /// Ends a request that is under way; there can be no other.
    pub(super) fn stop(&self) {
        self.agent.clone().shutdown();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stop();
    }
}

fn exchange(
    agent: &Agent,
    address: &str,
    headers: &[(HeaderName, HeaderValue)],
    body: &[u8],
    answers: &Lane<Arrived>,
) -> Result<(), String> {
    let mut request = agent
        .post(address)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "text/event-stream");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let response = request.send(body).map_err(|error| error.to_string())?;
    answers.push(Arrived::Head(head(&response)), 0);
    let mut reader = response.into_body().into_reader();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.to_string()),
        };
        if !answers.push(Arrived::Bytes(buffer[..count].to_vec()), count) {
            return Ok(());
        }
    }
}

fn head(response: &Response<Body>) -> Head {
    let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let number = |name: &str| text(name).and_then(|value| value.trim().parse::<f64>().ok());
    let wait = number("retry-after-ms").map(|wait| wait / 1e3).or_else(|| number("retry-after"));
    Head {
        status: response.status().as_u16(),
        is_stream: text("content-type").is_none_or(|kind| !kind.contains("json")),
        retry_after: wait.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        cost: number("x-litellm-response-cost"),
    }
}

/// The address of an API, and whether it is one of https. A query in the base URL stays at the end.
fn address(base: &str, path: &str) -> Result<(String, bool), String> {
    if base.contains('@') {
        // Not shown: what is before it is a password.
        return Err("the base URL contains a user name or password; use a key instead".to_owned());
    }
    let wrong = |what: &str| format!("the base URL `{base}` {what}");
    let uri: Uri = base.parse().map_err(|error| wrong(&format!("is not valid: {error}")))?;
    let is_secure = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(wrong("must begin with `http://` or `https://`")),
    };
    if uri.host().is_none_or(str::is_empty) {
        return Err(wrong("has no host"));
    }
    let (place, query) = base.split_once('?').map_or((base, None), |(place, query)| (place, Some(query)));
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Ok((format!("{}{path}{query}", place.trim_end_matches('/')), is_secure))
}

/// Headers that say how the message is written, which is not a matter of settings.
const OUR_HEADERS: [HeaderName; 6] = [
    header::ACCEPT,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::HOST,
    header::TRANSFER_ENCODING,
];

fn checked_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let checked: HeaderName = name.parse().map_err(|_| format!("`{name}` is not a valid header name"))?;
    if OUR_HEADERS.contains(&checked) {
        return Err(format!("the header `{name}` cannot be set"));
    }
    // Its value is not shown: it may be a key.
    let mut value: HeaderValue = value
        .parse()
        .map_err(|_| format!("the value of the header `{name}` contains an invalid character"))?;
    value.set_sensitive(true);
    Ok((checked, value))
}

fn tls() -> Result<TlsConfig, String> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reason = found.errors.first().map_or_else(|| "none were found".to_owned(), ToString::to_string);
        return Err(format!("the system's certificates cannot be read: {reason}"));
    }
    let certificates: Vec<Certificate<'static>> =
        found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&certificates))
        .build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_api_follows_the_base_url() {
        let of = |base| address(base, "/responses").unwrap();
        assert_eq!(of("https://api.openai.com/v1"), ("https://api.openai.com/v1/responses".to_owned(), true));
        assert_eq!(of("http://127.0.0.1:4000//").0, "http://127.0.0.1:4000/responses");
        assert_eq!(of("http://h/openai?api-version=1").0, "http://h/openai/responses?api-version=1");
        for (base, reason) in [
            ("", "is not valid"),
            ("localhost:4000", "must begin with"),
            ("ftp://localhost", "must begin with"),
            ("http://:4000", "has no host"),
            ("http://me:hunter2@localhost", "use a key instead"),
        ] {
            let error = address(base, "/responses").unwrap_err();
            assert!(error.contains(reason) && !error.contains("hunter2"), "{base}: {error}");
        }
    }

    #[test]
    fn bad_headers_are_errors_without_their_values() {
        for (name, value) in [("a b", "secret"), ("key", "sec\nret"), ("Content-Type", "secret")] {
            let error = checked_header(name, value).unwrap_err();
            assert!(error.contains(name) && !error.contains("sec"), "{name}: {error}");
        }
    }
}
