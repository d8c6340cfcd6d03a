//! One request: OTLP over HTTP, in protobuf. What is done about a failure is decided elsewhere.

use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue, Response, Uri, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

use super::TelemetrySettings;
use crate::error::JournalError;

/// How much of an answer is read.
const MAX_ANSWER: u64 = 64 << 10;

/// Headers that say how the message is written, which is not a matter of settings.
const OUR_HEADERS: [HeaderName; 5] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::HOST,
    header::TRANSFER_ENCODING,
];

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Traces,
    Metrics,
}

impl Signal {
    const fn path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Metrics => "/v1/metrics",
        }
    }
}

/// Why a message was not taken.
#[derive(Debug)]
pub(super) enum Failure {
    /// There was no answer.
    Unreachable(String),
    /// It may be taken later.
    Busy { reason: String, after: Option<Duration> },
    /// The server has nothing at this address.
    Unknown(String),
    /// It will not be taken.
    Refused(String),
}

impl Failure {
    pub(super) fn reason(self) -> String {
        match self {
            Self::Unreachable(reason)
            | Self::Busy { reason, .. }
            | Self::Unknown(reason)
            | Self::Refused(reason) => reason,
        }
    }
}

/// The way to the collector.
#[derive(Debug)]
pub(super) struct Transport {
    agent: Agent,
    base: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Transport {
    pub(super) fn new(settings: &TelemetrySettings) -> Result<Self, JournalError> {
        let (base, is_secure) = base(&settings.endpoint)?;
        let headers = settings.headers.iter().map(|(name, value)| checked_header(name, value));
        let headers = headers.collect::<Result<_, _>>()?;
        // A redirection would carry keys elsewhere, a proxy from the environment was not asked for, and a connection that was kept may be
        // closed when it is needed.
        let mut config = Agent::config_builder()
            .timeout_global(Some(settings.timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .max_idle_connections(0)
            .user_agent(concat!("metier/", env!("CARGO_PKG_VERSION")));
        if is_secure {
            config = config.tls_config(tls(settings.authorities.as_deref())?);
        }
        Ok(Self { agent: config.build().new_agent(), base, headers })
    }

    /// Sends a message, once. The answer's body comes back.
    pub(super) fn post(&self, signal: Signal, message: &[u8]) -> Result<Vec<u8>, Failure> {
        let address = format!("{}{}", self.base, signal.path());
        let mut request = self.agent.post(&address).header(header::CONTENT_TYPE, "application/x-protobuf");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let unreachable = |error| Failure::Unreachable(format!("`{address}` cannot be reached: {error}"));
        let mut response = request.send(message).map_err(unreachable)?;
        let status = response.status().as_u16();
        let reason = format!("`{address}` answered {status}");
        match status {
            // What is sent twice is worse than an answer that is not understood.
            200..=299 => {
                Ok(response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec().unwrap_or_default())
            }
            404 => Err(Failure::Unknown(reason)),
            429 | 502..=504 => Err(Failure::Busy { reason, after: retry_after(&response) }),
            _ => Err(Failure::Refused(reason)),
        }
    }
}

fn retry_after<T>(response: &Response<T>) -> Option<Duration> {
    let seconds = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn refused<S: Into<String>>(reason: S) -> JournalError {
    JournalError::Telemetry { reason: reason.into() }
}

/// The address without a slash at its end, and whether it is one of https.
fn base(endpoint: &str) -> Result<(String, bool), JournalError> {
    let wrong = |what: &str| refused(format!("the endpoint `{endpoint}` {what}"));
    if endpoint.contains('@') {
        // Not shown: what is before it is a password.
        return Err(refused("the endpoint contains a user name or password; use a header instead"));
    }
    let uri: Uri = endpoint.parse().map_err(|error| wrong(&format!("is not a valid URL: {error}")))?;
    let is_secure = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(wrong("must begin with `http://` or `https://`")),
    };
    if uri.host().is_none_or(str::is_empty) {
        return Err(wrong("has no host"));
    }
    if endpoint.contains(['?', '#']) {
        return Err(wrong("must not have a `?` or `#`, since `/v1/traces` is appended"));
    }
    Ok((endpoint.trim_end_matches('/').to_owned(), is_secure))
}

fn checked_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), JournalError> {
    let checked: HeaderName =
        name.parse().map_err(|_| refused(format!("`{name}` is not a valid header name")))?;
    if OUR_HEADERS.contains(&checked) {
        return Err(refused(format!("the header `{name}` cannot be set")));
    }
    // Its value is not shown: it is a key most of the time.
    let mut value: HeaderValue = value
        .parse()
        .map_err(|_| refused(format!("the value of the header `{name}` contains an invalid character")))?;
    value.set_sensitive(true);
    Ok((checked, value))
}

fn tls(authorities: Option<&str>) -> Result<TlsConfig, JournalError> {
    let certificates = match authorities {
        Some(text) => pem_certificates(text)?,
        None => system_certificates()?,
    };
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&certificates))
        .build())
}

fn pem_certificates(text: &str) -> Result<Vec<Certificate<'static>>, JournalError> {
    let mut certificates = Vec::new();
    for item in parse_pem(text.as_bytes()) {
        let item = item
            .map_err(|error| refused(format!("the authorities' certificates are not valid PEM: {error}")))?;
        if let PemItem::Certificate(certificate) = item {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err(refused("the authorities' PEM contains no certificate"));
    }
    Ok(certificates)
}

fn system_certificates() -> Result<Vec<Certificate<'static>>, JournalError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reason = found.errors.first().map_or_else(|| "none were found".to_owned(), ToString::to_string);
        return Err(refused(format!("the system's certificates cannot be read: {reason}")));
    }
    Ok(found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use metier_skill::Coded as _;

    use super::*;

    #[test]
    fn slashes_at_the_end_do_not_matter() {
        for endpoint in ["http://localhost:4318", "http://localhost:4318/", "http://localhost:4318//"] {
            assert_eq!(base(endpoint).unwrap(), ("http://localhost:4318".to_owned(), false));
        }
        let langsmith = "https://api.smith.langchain.com/otel";
        assert_eq!(base(langsmith).unwrap(), (langsmith.to_owned(), true));
    }

    #[test]
    fn bad_endpoints_are_errors_that_say_why() {
        let cases = [
            ("", "is not a valid URL"),
            ("localhost:4318", "must begin with"),
            ("/v1", "must begin with"),
            ("ftp://localhost", "must begin with"),
            ("http://", "is not a valid URL"),
            ("http://:4318", "has no host"),
            ("http://a b", "is not a valid URL"),
            ("http://localhost/?key=1", "must not have"),
            ("http://localhost/#x", "must not have"),
            ("http://me:hunter2@localhost", "use a header instead"),
        ];
        for (endpoint, expected) in cases {
            let error = base(endpoint).unwrap_err();
            assert_eq!(error.code(), "journal-telemetry");
            assert!(error.to_string().contains(expected), "{endpoint}: {error}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn bad_headers_are_errors_without_their_values() {
        for (name, value) in [
            ("a b", "secret"),
            ("", "secret"),
            ("key", "sec\nret"),
            ("Content-Type", "secret"),
            ("host", "secret"),
        ] {
            let error = checked_header(name, value).unwrap_err().to_string();
            assert!(error.contains(name) && !error.contains("sec"), "{name}: {error}");
        }
        assert!(checked_header("x-api-key", "secret").is_ok());
    }

    #[test]
    fn authorities_must_be_certificates() {
        for text in ["", "no PEM at all", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            assert_eq!(tls(Some(text)).unwrap_err().code(), "journal-telemetry");
        }
    }
}
