//! What arrives at a collector.

use std::collections::BTreeSet;

use metier_journal::{Event, Telemetry, TelemetrySettings};
use metier_skill::Digest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, NumberDataPoint};
use opentelemetry_proto::tonic::trace::v1::Span;
use sha2::{Digest as _, Sha256};

use crate::collector::{Collector, attribute};
use crate::records::{BEGIN, CANARY, deactivated, record_event, whole_session};

const DOCUMENT: &str = include_str!("../../../../docs/telemetry.md");

fn sent() -> (Collector, u64) {
    let collector = Collector::fine();
    let telemetry = Telemetry::new(TelemetrySettings::new(&collector.endpoint)).unwrap();
    let expected = whole_session(&telemetry);
    let report = telemetry.close();
    assert_eq!((report.sent, report.dropped, report.last_error), (expected, 0, None));
    (collector, expected)
}

fn first_bytes(text: &str, count: usize) -> Vec<u8> {
    Sha256::digest(text.as_bytes()).iter().copied().take(count).collect()
}

fn find<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name} in {spans:#?}"))
}

#[test]
fn a_session_is_a_trace() {
    let (collector, expected) = sent();
    let spans = collector.spans();
    assert_eq!(spans.len() as u64, expected);
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "activate_skill pdf",
            "activate_skill pfd",
            "skill.expanded",
            "execute_tool lint",
            "prompt.warning",
            "read_resource pdf",
            "check_tool_call Bash",
            "skill.approval",
            "execute_tool pdf/scripts/fill.py",
            "execute_tool pdf/scripts/fill.py",
            "execute_tool pdf/scripts/fill.py",
            "execute_tool pdf/scripts/fill.py",
            "skill.deactivated",
            "skills.changed",
            "skills.installed",
            "skills.mounted",
            "skills.linked",
            "skills.unlinked",
            "trust.changed",
            "guard.changed",
            "evaluate claude",
            "mutation.proposed",
            "mutation.decided",
            "invoke_agent claude-code",
            "host.thought",
        ]
    );

    let root = find(&spans, "invoke_agent claude-code");
    assert_eq!(root.span_id, first_bytes("metier-root\0s1", 8));
    assert_eq!(root.parent_span_id, Vec::<u8>::new());
    for span in spans.iter().filter(|span| span.name != "host.thought") {
        assert_eq!(span.trace_id, first_bytes("metier-session\0s1", 16), "{}", span.name);
        assert_eq!(attribute(&span.attributes, "gen_ai.conversation.id").unwrap(), "s1");
        if span != root {
            assert_eq!(span.parent_span_id, root.span_id, "{}", span.name);
            let id = attribute(&span.attributes, "metier.record.id").unwrap();
            assert_eq!(span.span_id, first_bytes(&id, 8));
            assert_eq!(attribute(&span.attributes, "metier.task.id").unwrap(), "task-1");
        }
    }
    assert_eq!(find(&spans, "host.thought").trace_id, first_bytes("metier-session\0s2", 16));
    let ids: BTreeSet<&[u8]> = spans.iter().map(|span| &*span.span_id).collect();
    assert_eq!(ids.len(), spans.len());
}

#[test]
fn times_are_those_of_the_records() {
    let (collector, _) = sent();
    let spans = collector.spans();
    // The number of a record is its second; the second number is how long it took, in microseconds.
    let cases = [
        ("activate_skill pdf", 2, 1500),
        ("activate_skill pfd", 3, 0),
        ("execute_tool lint", 5, 40),
        ("read_resource pdf", 7, 250),
        ("execute_tool pdf/scripts/fill.py", 10, 500_000),
        ("skill.deactivated", 14, 0),
        ("invoke_agent claude-code", 26, 26_000_000),
    ];
    for (name, second, microseconds) in cases {
        let span = find(&spans, name);
        let end = u64::try_from(BEGIN).unwrap() * 1000 + second * 1_000_000_000;
        assert_eq!(span.end_time_unix_nano, end, "{name}");
        assert_eq!(span.start_time_unix_nano, end - microseconds * 1000, "{name}");
    }
}

#[test]
fn spans_say_what_the_records_say() {
    let (collector, _) = sent();
    let spans = collector.spans();
    let tree = Digest::of(b"tree").to_string();
    let check = |span: &Span, expected: &[(&str, &str)]| {
        for (key, value) in expected {
            assert_eq!(attribute(&span.attributes, key).as_deref(), Some(*value), "{key} of {}", span.name);
        }
    };
    check(
        find(&spans, "invoke_agent claude-code"),
        &[
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.agent.name", "claude-code"),
            ("metier.session.ended", "true"),
            ("metier.skills.discovered", "1"),
        ],
    );
    check(
        find(&spans, "activate_skill pdf"),
        &[("metier.skill.digest", &tree), ("metier.skill.tier", "user"), ("metier.tokens", "900")],
    );
    check(
        find(&spans, "check_tool_call Bash"),
        &[
            ("gen_ai.tool.name", "Bash"),
            ("metier.tool_call.decision", "deny"),
            ("metier.skills.active", "pdf"),
        ],
    );
    check(
        find(&spans, "skill.approval"),
        &[("metier.approval.answer", "granted"), ("metier.approval.access", "network")],
    );
    check(find(&spans, "skills.changed"), &[("metier.skills.changed", "2"), ("metier.skills.removed", "3")]);

    let script = find(&spans, "execute_tool pdf/scripts/fill.py");
    check(
        script,
        &[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "pdf/scripts/fill.py"),
            ("gen_ai.tool.type", "function"),
            ("metier.skill.name", "pdf"),
            ("metier.skill.digest", &tree),
            ("metier.script.exit_code", "0"),
            ("metier.script.outcome", "exited"),
            ("metier.sandbox.protections", "landlock,seccomp"),
            ("metier.script.stdout.digest", &Digest::of(format!("{CANARY} printed").as_bytes()).to_string()),
        ],
    );
    assert_eq!(script.status, None);
}

#[test]
fn failures_are_errors() {
    let (collector, _) = sent();
    let spans = collector.spans();
    let errors: Vec<(&str, String)> = spans
        .iter()
        .filter_map(|span| Some((span.name.as_str(), attribute(&span.attributes, "error.type")?)))
        .collect();
    let script = "execute_tool pdf/scripts/fill.py";
    assert_eq!(
        errors,
        [
            ("activate_skill pfd", "not-found".to_owned()),
            ("execute_tool lint", "tool-panicked".to_owned()),
            (script, "nonzero_exit".to_owned()),
            (script, "limit-memory".to_owned()),
            (script, "denied".to_owned()),
        ]
    );
    for span in &spans {
        let is_error = span.status.as_ref().is_some_and(|status| status.code == 2);
        assert_eq!(is_error, attribute(&span.attributes, "error.type").is_some(), "{}", span.name);
    }
}

/// A metric, its attributes, and what it should be.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], i64);

/// The number with these attributes and no others.
fn number(points: &[NumberDataPoint], expected: &[(&str, &str)]) -> Option<i64> {
    let is_it = |attributes: &[KeyValue]| {
        attributes.len() == expected.len()
            && expected.iter().all(|(key, value)| attribute(attributes, key).as_deref() == Some(*value))
    };
    match points.iter().find(|point| is_it(&point.attributes))?.value? {
        Value::AsInt(number) => Some(number),
        Value::AsDouble(_) => None,
    }
}

#[test]
fn metrics_count_what_happened() {
    let (collector, _) = sent();
    let metrics = collector.last_metrics();
    let pdf = ("metier.skill.name", "pdf");
    let (claude, fake) = (("gen_ai.agent.name", "claude"), ("gen_ai.response.model", "fake-model"));
    let cases: &[Case<'_>] = &[
        ("metier.skill.activations", &[pdf, ("metier.skill.trigger", "model")], 1),
        ("metier.skill.activation.failures", &[("metier.skill.name", "pfd"), ("error.type", "not-found")], 1),
        ("metier.skill.reads", &[pdf], 1),
        ("metier.skill.tokens", &[pdf, ("metier.disclosure", "catalogue")], 40),
        ("metier.skill.tokens", &[pdf, ("metier.disclosure", "body")], 900),
        ("metier.skill.tokens", &[pdf, ("metier.disclosure", "resource")], 300),
        ("metier.skill.tokens", &[pdf, ("metier.disclosure", "section")], 70),
        ("metier.script.runs", &[pdf, ("metier.script.outcome", "exited")], 2),
        ("metier.script.runs", &[pdf, ("metier.script.outcome", "limited")], 1),
        ("metier.script.runs", &[pdf, ("metier.script.outcome", "denied")], 1),
        ("metier.tool_calls", &[("gen_ai.tool.name", "Bash"), ("metier.tool_call.decision", "deny")], 1),
        ("metier.evaluations", &[claude], 1),
        ("metier.evaluation.tokens", &[claude, fake, ("gen_ai.token.type", "input")], 30),
        ("metier.evaluation.tokens", &[claude, fake, ("gen_ai.token.type", "output")], 15),
        ("metier.evaluation.cost", &[claude, fake], 420),
        (
            "metier.approvals",
            &[pdf, ("metier.approval.access", "network"), ("metier.approval.answer", "granted")],
            1,
        ),
    ];
    let mut points = 0;
    for metric in &metrics {
        match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => {
                points += sum.data_points.len();
                assert!(sum.is_monotonic, "{}", metric.name);
                assert_eq!(sum.aggregation_temporality, AggregationTemporality::Cumulative as i32);
            }
            Data::Histogram(_) => assert_eq!((&*metric.name, &*metric.unit), ("metier.script.duration", "s")),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(points, cases.len(), "{metrics:#?}");
    for (name, attributes, expected) in cases {
        let metric = metrics.iter().find(|metric| metric.name == *name).unwrap();
        let Some(Data::Sum(sum)) = &metric.data else { panic!("{name} is no sum") };
        assert_eq!(number(&sum.data_points, attributes), Some(*expected), "{name} {attributes:?}: {sum:#?}");
    }
}

#[test]
fn durations_leave_out_what_never_ran() {
    let (collector, _) = sent();
    let metrics = collector.last_metrics();
    let metric = metrics.iter().find(|metric| metric.name == "metier.script.duration").unwrap();
    let Some(Data::Histogram(histogram)) = &metric.data else { panic!("{metric:?}") };
    let mut found = Vec::new();
    for point in &histogram.data_points {
        let outcome = attribute(&point.attributes, "metier.script.outcome").unwrap();
        found.push((outcome, point.count, point.sum, point.max));
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        let bucket = point.explicit_bounds.iter().position(|edge| *edge >= 0.5).unwrap();
        assert_eq!(point.bucket_counts[bucket], point.count);
    }
    let expected =
        [("exited".to_owned(), 2, Some(1.0), Some(0.5)), ("limited".to_owned(), 1, Some(0.5), Some(0.5))];
    assert_eq!(found, expected);
}

#[test]
fn no_text_leaves() {
    let (collector, _) = sent();
    let requests = collector.requests();
    let paths: BTreeSet<&str> = requests.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths, BTreeSet::from(["/v1/metrics", "/v1/traces"]));
    for request in requests {
        let has = |needle: &[u8]| request.body.windows(needle.len()).any(|window| window == needle);
        assert!(has(b"metier"), "{} has nothing in it", request.path);
        assert!(!has(CANARY.as_bytes()), "{} has a text in it", request.path);
    }
}

#[test]
fn every_name_that_is_sent_is_documented() {
    let (collector, _) = sent();
    let mut names = BTreeSet::new();
    for span in collector.spans() {
        names.extend(span.attributes.into_iter().map(|attribute| attribute.key));
        names.insert(span.name.split(' ').next().unwrap().to_owned());
    }
    for metric in collector.last_metrics() {
        let points = match metric.data.unwrap() {
            Data::Sum(sum) => sum.data_points.into_iter().flat_map(|point| point.attributes).collect(),
            Data::Histogram(all) => {
                all.data_points.into_iter().flat_map(|point| point.attributes).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        };
        names.extend(points.into_iter().map(|attribute| attribute.key));
        names.insert(metric.name);
    }
    assert!(names.remove("host.thought"));
    assert!(names.len() > 50, "{names:?}");
    for name in names {
        let (alone, with_more) = (format!("`{name}`"), format!("`{name} "));
        assert!(DOCUMENT.contains(&alone) || DOCUMENT.contains(&with_more), "{name} is not documented");
    }
}

#[test]
fn requests_carry_the_headers_and_say_who_sends() {
    let collector = Collector::fine();
    let mut settings = TelemetrySettings::new(format!("{}/otel/", collector.endpoint));
    settings.headers.push(("X-Api-Key".to_owned(), "a key".to_owned()));
    settings.service = "our-agents".to_owned();
    let telemetry = Telemetry::new(settings).unwrap();
    whole_session(&telemetry);
    telemetry.close();
    let requests = collector.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert!(request.path.starts_with("/otel/v1/"), "{}", request.path);
        assert_eq!(request.header("x-api-key"), Some("a key"));
        assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
    }
    let resource = collector.metrics()[0].resource_metrics[0].resource.clone().unwrap();
    assert_eq!(attribute(&resource.attributes, "service.name").unwrap(), "our-agents");
    assert_eq!(attribute(&resource.attributes, "service.instance.id").unwrap(), "record-0");
}

#[test]
fn processes_that_share_a_session_share_its_trace() {
    let collector = Collector::fine();
    let first = Telemetry::new(TelemetrySettings::new(&collector.endpoint)).unwrap();
    record_event(&first, 0, &Event::SessionStarted { agent: None });
    record_event(&first, 4, &deactivated());
    assert_eq!(first.close().sent, 2);
    let second = Telemetry::new(TelemetrySettings::new(&collector.endpoint)).unwrap();
    record_event(&second, 9, &Event::SessionEnded {});
    assert_eq!(second.close().sent, 1);

    let spans = collector.spans();
    let root = find(&spans, "invoke_agent");
    assert_eq!(attribute(&root.attributes, "metier.session.ended").unwrap(), "false");
    assert_eq!(root.end_time_unix_nano - root.start_time_unix_nano, 4_000_000_000);
    let end = find(&spans, "session.ended");
    assert_eq!((&end.trace_id, &end.parent_span_id), (&root.trace_id, &root.span_id));
}
