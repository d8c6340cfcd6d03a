//! Where telemetry is sent, with timeouts and limits.

use std::fmt;
use std::time::Duration;

/// Settings for sending traces and metrics over OTLP.
///
/// ```
/// use metier_journal::TelemetrySettings;
///
/// let mut settings = TelemetrySettings::new("http://localhost:4318");
/// settings.headers.push(("x-api-key".to_owned(), "secret".to_owned()));
/// assert!(!format!("{settings:?}").contains("secret"));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct TelemetrySettings {
    /// The base address, such as `http://localhost:4318`; `/v1/traces` and `/v1/metrics` are appended.
    pub endpoint: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// The value of `service.name`.
    pub service: String,
    /// PEM certificates of the authorities to trust instead of the system's.
    pub authorities: Option<String>,
    /// How long one request may take, and how long closing may.
    pub timeout: Duration,
    /// How long a span waits at most before it is sent.
    pub interval: Duration,
    /// How long to wait before the first retry; doubled for each further one.
    pub retry_wait: Duration,
    /// The maximum number of queued spans.
    pub queue: usize,
}

impl TelemetrySettings {
    /// Settings for this base address, with defaults for the rest.
    pub fn new<S: Into<String>>(endpoint: S) -> Self {
        Self {
            endpoint: endpoint.into(),
            headers: Vec::new(),
            service: "metier".to_owned(),
            authorities: None,
            timeout: Duration::from_secs(5),
            interval: Duration::from_secs(5),
            retry_wait: Duration::from_millis(500),
            queue: 4096,
        }
    }
}

impl fmt::Debug for TelemetrySettings {
    /// Without the values of headers, which often are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("TelemetrySettings")
            .field("endpoint", &self.endpoint)
            .field("headers", &names)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}
