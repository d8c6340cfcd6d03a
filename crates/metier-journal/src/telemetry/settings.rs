//! Where telemetry goes, and how much trouble is taken over it.

use std::fmt;
use std::time::Duration;

/// Where traces and metrics go.
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
    /// The base address, as `http://localhost:4318`; `/v1/traces` and `/v1/metrics` are appended.
    pub endpoint: String,
    /// Headers that every request gets.
    pub headers: Vec<(String, String)>,
    /// What `service.name` is.
    pub service: String,
    /// Certificates of the authorities to trust, as PEM, in place of the system's.
    pub authorities: Option<String>,
    /// How long one request may take, and how long closing may.
    pub timeout: Duration,
    /// How long something waits at most before it is sent.
    pub interval: Duration,
    /// How long to wait before trying again for the first time; each further time is twice as long.
    pub retry_wait: Duration,
    /// The most spans that wait to be sent.
    pub queue: usize,
}

impl TelemetrySettings {
    /// Settings for this base address, the rest as it usually is.
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
    /// Without the headers' values, which are keys most of the time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("TelemetrySettings")
            .field("endpoint", &self.endpoint)
            .field("headers", &names)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}
