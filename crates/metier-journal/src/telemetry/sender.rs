//! The thread that sends: it takes what waits, writes messages and tries again where that helps.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;

use super::TelemetrySettings;
use super::attributes::{Attributes, cut};
use super::messages::{
    Metric, MetricsRequest, Resource, ResourceMetrics, ResourceSpans, Response, Scope, ScopeMetrics,
    ScopeSpans, Span, TraceRequest,
};
use super::names;
use super::queue::Queue;
use super::transport::{Failure, Signal, Transport};

/// How often a message is sent before it is given up.
const MAX_ATTEMPTS: u32 = 6;

/// The longest wait before something is tried again, whatever a server asks for.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// What the thread has.
#[derive(Debug)]
pub(super) struct Sender {
    queue: Arc<Queue>,
    transport: Transport,
    service: String,
    interval: Duration,
    retry_wait: Duration,
    takes_metrics: bool,
}

impl Sender {
    pub(super) fn new(queue: Arc<Queue>, transport: Transport, settings: TelemetrySettings) -> Self {
        let TelemetrySettings { service, interval, retry_wait, .. } = settings;
        Self { queue, transport, service, interval, retry_wait, takes_metrics: true }
    }

    /// Sends until there is no more.
    pub(super) fn run(mut self) {
        while let Some(work) = self.queue.next(self.interval) {
            let resource = self.resource(&work.instance);
            if !work.spans.is_empty() {
                self.send_spans(resource.clone(), work.spans);
            }
            if !work.metrics.is_empty() && self.takes_metrics && !self.queue.is_over() {
                self.send_metrics(resource, work.metrics);
            }
        }
    }

    fn send_spans(&self, resource: Resource, spans: Vec<Span>) {
        let count = spans.len() as u64;
        let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans }];
        let resource = Some(resource);
        let resource_spans = vec![ResourceSpans { resource, scope_spans }];
        let message = TraceRequest { resource_spans };
        match self.deliver(Signal::Traces, &message.encode_to_vec()) {
            Ok(answer) => {
                let answer = Response::decode(&*answer).unwrap_or_default();
                let partial = answer.partial_success.unwrap_or_default();
                let rejected = u64::try_from(partial.rejected).unwrap_or(0).min(count);
                self.queue.arrived(count - rejected);
                if rejected > 0 {
                    self.queue.lost(rejection(rejected, "spans", &partial.error_message));
                }
            }
            Err(failure) => self.queue.lost(failure.reason()),
        }
    }

    fn send_metrics(&mut self, resource: Resource, metrics: Vec<Metric>) {
        let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics }];
        let resource = Some(resource);
        let resource_metrics = vec![ResourceMetrics { resource, scope_metrics }];
        let message = MetricsRequest { resource_metrics };
        match self.deliver(Signal::Metrics, &message.encode_to_vec()) {
            Ok(answer) => {
                let answer = Response::decode(&*answer).unwrap_or_default();
                let partial = answer.partial_success.unwrap_or_default();
                if let Ok(rejected @ 1..) = u64::try_from(partial.rejected) {
                    self.queue.lost(rejection(rejected, "metric points", &partial.error_message));
                }
            }
            // Services for traces alone have nothing there; that is no failure, and asking again is no use.
            Err(Failure::Unknown(_)) => self.takes_metrics = false,
            Err(failure) => {
                self.queue.lost(failure.reason());
                self.queue.keep_metrics();
            }
        }
    }

    /// Sends a message until it is accepted, or until retrying is useless.
    fn deliver(&self, signal: Signal, message: &[u8]) -> Result<Vec<u8>, Failure> {
        let mut wait = self.retry_wait;
        let mut attempt = 1;
        loop {
            let was_open = self.queue.is_open();
            let failure = match self.transport.post(signal, message) {
                Ok(answer) => {
                    self.queue.delivered();
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            let (reason, asked) = match &failure {
                Failure::Unreachable(reason) if was_open => (reason, None),
                Failure::Unreachable(reason) => {
                    // Whoever closes should not wait for a collector that is not there.
                    self.queue.give_up(reason);
                    return Err(failure);
                }
                Failure::Busy { reason, after } => (reason, *after),
                Failure::Unknown(_) | Failure::Refused(_) => return Err(failure),
            };
            self.queue.delayed(reason.clone());
            let pause = asked.unwrap_or(wait).min(MAX_WAIT);
            if attempt == MAX_ATTEMPTS || !self.queue.pause(pause, was_open) {
                return Err(failure);
            }
            wait = wait.saturating_mul(2);
            attempt += 1;
        }
    }

    fn resource(&self, instance: &str) -> Resource {
        let attributes = Attributes::default()
            .text(names::SERVICE_NAME, &self.service)
            .text(names::SERVICE_INSTANCE, instance)
            .into_list();
        Resource { attributes }
    }
}

fn scope() -> Scope {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Scope { name: "metier".to_owned(), version }
}

/// What a server said, without anything that a terminal would obey.
fn rejection(count: u64, what: &str, message: &str) -> String {
    let message: String = cut(message).chars().filter(|letter| !letter.is_control()).collect();
    format!("the server rejected {count} {what}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_shown_without_control_characters() {
        assert_eq!(rejection(2, "spans", "too \u{1b}[31mold\n"), "the server rejected 2 spans: too [31mold");
    }
}
