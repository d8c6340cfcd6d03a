//! Collectors that are busy, slow, gone or picky. Nobody who records notices, and nothing is lost uncounted.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use metier_journal::{Event, Telemetry, TelemetryReport, TelemetrySettings};
use metier_skill::Coded as _;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use serde_json::json;

use crate::collector::{Answer, Collector, Request, SOON, attribute};
use crate::records::{deactivated, record, record_event, whole_session};

const HOUR: Duration = Duration::from_hours(1);

fn settings(endpoint: &str) -> TelemetrySettings {
    let mut settings = TelemetrySettings::new(endpoint);
    settings.timeout = SOON;
    settings.retry_wait = Duration::from_millis(1);
    settings
}

/// What this gives, unless it takes far too long.
fn soon<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(what()));
    receiver.recv_timeout(SOON).expect("it should not take so long")
}

fn close_soon(telemetry: Telemetry) -> TelemetryReport {
    soon(move || telemetry.close())
}

fn failed() -> Event {
    let (name, code) = ("pdf".to_owned(), "not-found".to_owned());
    Event::SkillActivationFailed { name, trigger: metier_journal::Trigger::Model, code, rule: None }
}

fn traces(requests: &[Request]) -> usize {
    requests.iter().filter(|request| request.is_trace()).count()
}

#[test]
fn a_busy_collector_is_asked_again() {
    for status in [429, 502, 503, 504] {
        let collector =
            Collector::start(move |number, _| Answer::Status(if number < 3 { status } else { 200 }));
        let telemetry = Telemetry::new(settings(&collector.endpoint)).unwrap();
        let expected = whole_session(&telemetry);
        let report = close_soon(telemetry);
        assert_eq!((report.sent, report.dropped, report.last_error), (expected, 0, None), "{status}");
        let requests = collector.requests();
        assert_eq!(traces(&requests), 4);
        assert!(requests[..4].iter().all(|request| request.body == requests[0].body));
    }
}

#[test]
fn a_collector_says_when_to_ask_again() {
    let header = "retry-after: 0".to_owned();
    let busy = Answer::With { status: 503, header, body: Vec::new() };
    let collector =
        Collector::start(move |number, _| if number == 0 { busy.clone() } else { Answer::Status(200) });
    let mut settings = settings(&collector.endpoint);
    settings.retry_wait = HOUR;
    let telemetry = Telemetry::new(settings).unwrap();
    let expected = whole_session(&telemetry);
    assert_eq!(close_soon(telemetry).sent, expected);
}

#[test]
fn a_collector_that_stays_busy_is_left_alone_when_time_is_up() {
    let collector = Collector::start(|_, _| Answer::Status(503));
    let mut settings = settings(&collector.endpoint);
    settings.timeout = Duration::from_millis(300);
    settings.retry_wait = HOUR;
    let telemetry = Telemetry::new(settings).unwrap();
    let expected = whole_session(&telemetry);
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped), (0, expected));
    assert!(report.last_error.unwrap().ends_with("/v1/traces` answered 503"));
}

#[test]
fn a_collector_that_comes_back_gets_everything() {
    let collector =
        Collector::start(|number, _| if number < 2 { Answer::Nothing } else { Answer::Status(200) });
    let mut settings = settings(&collector.endpoint);
    settings.interval = Duration::from_millis(1);
    let telemetry = Telemetry::new(settings).unwrap();
    record_event(&telemetry, 0, &deactivated());
    collector.wait_until(|requests| requests.len() == 3);
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped, report.last_error), (1, 0, None));
}

#[test]
fn closing_does_not_sit_out_a_wait() {
    let collector = Collector::start(|number, _| Answer::Status(if number == 0 { 503 } else { 200 }));
    let mut settings = settings(&collector.endpoint);
    settings.interval = Duration::from_millis(1);
    settings.retry_wait = HOUR;
    let telemetry = Telemetry::new(settings).unwrap();
    record_event(&telemetry, 0, &deactivated());
    collector.wait_until(|requests| requests.len() == 1);
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped, report.last_error), (1, 0, None));
}

#[test]
fn a_refusal_is_final() {
    let collector = Collector::start(|_, _| Answer::Status(401));
    let telemetry = Telemetry::new(settings(&collector.endpoint)).unwrap();
    let expected = whole_session(&telemetry);
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped), (0, expected));
    assert!(report.last_error.unwrap().ends_with("answered 401"));
    assert_eq!(collector.requests().len(), 2);
}

#[test]
fn what_a_collector_rejects_is_counted() {
    let partial = ExportTracePartialSuccess { rejected_spans: 3, error_message: "too old".to_owned() };
    let body = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    let header = "content-type: application/x-protobuf".to_owned();
    let answer = Answer::With { status: 200, header, body };
    let collector = Collector::start(
        move |_, request| {
            if request.is_trace() { answer.clone() } else { Answer::Status(200) }
        },
    );
    let telemetry = Telemetry::new(settings(&collector.endpoint)).unwrap();
    let expected = whole_session(&telemetry);
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped), (expected - 3, 3));
    assert_eq!(report.last_error.unwrap(), "the server rejected 3 spans: too old");
}

#[test]
fn a_collector_that_hangs_does_not_hold_up_closing() {
    let collector = Collector::start(|_, _| Answer::Never);
    let mut settings = settings(&collector.endpoint);
    settings.timeout = Duration::from_millis(200);
    let telemetry = Telemetry::new(settings).unwrap();
    let expected = whole_session(&telemetry);
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped), (0, expected));
    assert!(report.last_error.is_some());
    assert_eq!(traces(&collector.requests()), 1);
}

#[test]
fn a_collector_that_hangs_does_not_hold_up_records() {
    let collector = Collector::start(|_, _| Answer::Never);
    let mut settings = settings(&collector.endpoint);
    settings.interval = Duration::from_millis(1);
    settings.timeout = HOUR;
    settings.queue = 100;
    let telemetry = Telemetry::new(settings).unwrap();
    record_event(&telemetry, 0, &deactivated());
    collector.wait_until(|requests| requests.len() == 1);
    // Nor does letting go of it.
    soon(move || (1..5000).for_each(|number| record_event(&telemetry, number, &deactivated())));
}

#[test]
fn without_a_collector_everything_is_counted_and_nobody_waits() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut settings = settings(&format!("http://{gone}"));
    settings.timeout = HOUR;
    settings.retry_wait = HOUR;
    settings.queue = 10;
    let telemetry = Telemetry::new(settings).unwrap();
    let report = soon(move || {
        (0..1000).for_each(|number| record_event(&telemetry, number, &deactivated()));
        telemetry.close()
    });
    assert_eq!((report.sent, report.dropped), (0, 1000));
    assert!(report.last_error.unwrap().contains("cannot be reached"));
}

#[test]
fn what_does_not_fit_is_dropped_and_the_rest_arrives() {
    let collector = Collector::fine();
    let mut settings = settings(&collector.endpoint);
    settings.queue = 10;
    settings.interval = HOUR;
    let telemetry = Telemetry::new(settings).unwrap();
    (0..25).for_each(|number| record_event(&telemetry, number, &deactivated()));
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped), (10, 15));
    assert_eq!(collector.spans().len(), 10);
}

#[test]
fn a_record_that_cannot_be_read_is_counted() {
    let collector = Collector::fine();
    let telemetry = Telemetry::new(settings(&collector.endpoint)).unwrap();
    record(&telemetry, 0, Some("s1"), &json!({"name": "without a kind"}));
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped), (0, 1));
    assert!(report.last_error.is_some());
    assert_eq!(collector.requests().len(), 0);
}

#[test]
fn a_service_without_metrics_is_not_asked_twice() {
    let collector = Collector::start(|_, request| Answer::Status(if request.is_trace() { 200 } else { 404 }));
    let mut settings = settings(&collector.endpoint);
    settings.interval = Duration::from_millis(1);
    let telemetry = Telemetry::new(settings).unwrap();
    record_event(&telemetry, 0, &failed());
    collector.wait_until(|requests| requests.len() == 2);
    record_event(&telemetry, 1, &failed());
    collector.wait_until(|requests| traces(requests) == 2);
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped, report.last_error), (2, 0, None));
    assert_eq!(collector.metrics().len(), 1);
}

#[test]
fn metrics_that_were_not_taken_are_sent_again() {
    let collector = Collector::start(|number, _| Answer::Status(if number == 1 { 500 } else { 200 }));
    let mut settings = settings(&collector.endpoint);
    settings.interval = Duration::from_millis(1);
    let telemetry = Telemetry::new(settings).unwrap();
    record_event(&telemetry, 0, &failed());
    let requests = collector.wait_until(|requests| requests.len() == 3);
    assert_eq!(traces(&requests), 1);
    assert_eq!(requests[1].body, requests[2].body);
    assert_eq!(close_soon(telemetry).sent, 1);
}

#[test]
fn many_records_are_several_messages() {
    let collector = Collector::fine();
    let telemetry = Telemetry::new(settings(&collector.endpoint)).unwrap();
    (0..1000).for_each(|number| record_event(&telemetry, number, &deactivated()));
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped), (1000, 0));
    let ids: BTreeSet<Vec<u8>> = collector.spans().into_iter().map(|span| span.span_id).collect();
    assert_eq!(ids.len(), 1000);
    assert!(traces(&collector.requests()) > 1);
}

#[test]
fn metrics_are_totals() {
    use opentelemetry_proto::tonic::metrics::v1::metric::Data;
    use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;

    let collector = Collector::fine();
    let mut settings = settings(&collector.endpoint);
    settings.interval = Duration::from_millis(1);
    let telemetry = Telemetry::new(settings).unwrap();
    record_event(&telemetry, 0, &failed());
    collector.wait_until(|requests| requests.len() == 2);
    record_event(&telemetry, 5, &failed());
    close_soon(telemetry);

    let mut found = Vec::new();
    let mut starts = Vec::new();
    for message in collector.metrics() {
        let resource = &message.resource_metrics[0];
        let instance = attribute(&resource.resource.as_ref().unwrap().attributes, "service.instance.id");
        assert_eq!(instance.as_deref(), Some("record-0"));
        let Some(Data::Sum(sum)) = &resource.scope_metrics[0].metrics[0].data else { panic!("no sum") };
        let point = &sum.data_points[0];
        found.push((point.value.unwrap(), point.time_unix_nano - point.start_time_unix_nano));
        starts.push(point.start_time_unix_nano);
    }
    assert_eq!(found, [(Value::AsInt(1), 1000), (Value::AsInt(2), 5_000_001_000)]);
    assert_eq!(starts[0], starts[1]);
}

#[test]
fn redirections_are_not_followed() {
    let elsewhere = Collector::fine();
    let header = format!("location: {}/v1/traces", elsewhere.endpoint);
    for status in [302, 307] {
        let answer = Answer::With { status, header: header.clone(), body: Vec::new() };
        let collector = Collector::start(move |_, _| answer.clone());
        let telemetry = Telemetry::new(settings(&collector.endpoint)).unwrap();
        record_event(&telemetry, 0, &deactivated());
        let report = close_soon(telemetry);
        assert!(report.last_error.unwrap().ends_with(&format!("answered {status}")));
    }
    assert_eq!(elsewhere.requests().len(), 0);
}

#[test]
fn https_works_with_an_authority_of_ones_own() {
    let collector = Collector::secure();
    let mut settings = settings(&collector.endpoint);
    settings.authorities = Some(collector.certificate.clone());
    let telemetry = Telemetry::new(settings).unwrap();
    let expected = whole_session(&telemetry);
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped, report.last_error), (expected, 0, None));
    assert_eq!(collector.spans().len() as u64, expected);
}

#[test]
fn a_collector_that_nobody_vouches_for_gets_nothing() {
    let (collector, other) = (Collector::secure(), Collector::secure());
    let mut settings = settings(&collector.endpoint);
    settings.authorities = Some(other.certificate.clone());
    let telemetry = Telemetry::new(settings).unwrap();
    record_event(&telemetry, 0, &deactivated());
    let report = close_soon(telemetry);
    assert_eq!((report.sent, report.dropped), (0, 1));
    let error = report.last_error.unwrap();
    assert!(error.contains("certificate"), "{error}");
    assert_eq!(collector.requests().len(), 0);
}

#[test]
fn bad_settings_are_errors() {
    let mut bad_header = TelemetrySettings::new("http://localhost:4318");
    bad_header.headers.push(("a key".to_owned(), "value".to_owned()));
    let mut bad_authority = TelemetrySettings::new("https://localhost:4318");
    bad_authority.authorities = Some("nothing".to_owned());
    for settings in [TelemetrySettings::new("localhost:4318"), bad_header, bad_authority] {
        let error = Telemetry::new(settings).unwrap_err();
        assert_eq!(error.code(), "journal-telemetry");
        assert!(error.to_string().starts_with("telemetry cannot be sent: "), "{error}");
    }
}
