//! The vectors L01 to L07, and that there is no way round them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use metier_session::{
    DocumentChange, DocumentFailure, DocumentVersion, FailureReason, FileGateway, MutationEnvelope,
    MutationGateway, MutationLimits, MutationOutcome, NoGateway, Precondition,
};
use metier_skill::{Coded as _, Digest};

use crate::common::{Place, change, documents, envelope, is_applied_now};

/// What makes an envelope a wrong one.
type Spoil = fn(&mut MutationEnvelope);

fn condition(target: &str, content: &str) -> Precondition {
    Precondition { target_id: target.to_owned(), expected: Digest::of(content.as_bytes()) }
}

fn failure(target: &str, reason: FailureReason, current: Option<&str>) -> DocumentFailure {
    let current = Some(DocumentVersion::of(current.map(str::as_bytes)));
    DocumentFailure { target: target.to_owned(), reason, current }
}

#[test]
fn l01_every_failing_precondition_is_listed() {
    let place = Place::new(&[("a", "x"), ("c", "old")]);
    let mut asked = envelope("1", vec![change("c", Some("old"), Some("new"))]);
    asked.preconditions = vec![condition("a", "hash-a"), condition("b", "hash-b"), condition("c", "old")];
    let outcome = place.gateway().submit(&asked);
    let failures = vec![
        failure("a", FailureReason::DigestMismatch, Some("x")),
        failure("b", FailureReason::Missing, None),
    ];
    assert_eq!(outcome, MutationOutcome::Conflict { failures });
}

#[test]
fn l02_a_failure_is_a_conflict_with_what_is_there_and_nothing_is_applied() {
    let place = Place::new(&[("a", "x"), ("c", "old")]);
    let before = place.all();
    let mut asked =
        envelope("1", vec![change("c", Some("older"), Some("new")), change("a", None, Some("y"))]);
    asked.preconditions = vec![condition("c", "older")];
    let outcome = place.gateway().submit(&asked);
    let failures = vec![
        // The base version and the precondition say the same.
        failure("c", FailureReason::DigestMismatch, Some("old")),
        failure("a", FailureReason::Exists, Some("x")),
    ];
    assert_eq!((outcome.as_str(), outcome.status()), ("conflict", 409));
    assert_eq!(outcome, MutationOutcome::Conflict { failures });
    assert_eq!((place.all(), place.leftovers()), (before, Vec::new()));
}

#[test]
fn l03_what_is_incomplete_is_rejected() {
    let place = Place::new(&[("a", "x")]);
    let gateway = place.gateway();
    let good = envelope("1", vec![change("a", Some("x"), Some("y"))]);
    let cases: [(Spoil, &str); 7] = [
        (|it| it.changes[0].base_version = None, "mutation-bad-request-no-base-version"),
        (|it| it.request_id.clear(), "mutation-bad-request-incomplete"),
        (|it| it.actor.clear(), "mutation-bad-request-incomplete"),
        (|it| it.intent = " \n".to_owned(), "mutation-bad-request-incomplete"),
        (|it| it.actor.push('\u{1b}'), "mutation-bad-request-incomplete"),
        (|it| it.request_id = "r".repeat(5000), "mutation-bad-request-too-large"),
        (|it| it.changes.clear(), "mutation-bad-request-incomplete"),
    ];
    for (spoil, code) in cases {
        let mut bad = good.clone();
        spoil(&mut bad);
        let outcome = gateway.submit(&bad);
        assert_eq!((outcome.as_str(), outcome.code(), outcome.status()), ("rejected", code, 400), "{bad:?}");
    }
    assert_eq!(place.all(), documents(&[("a", "x")]));
    // What was wrong in itself has not used up the id.
    assert!(is_applied_now(&gateway.submit(&good)));
}

#[test]
fn l04_bad_requests_unprocessable_ones_and_conflicts_are_told_apart() {
    let place = Place::new(&[("a", "x"), ("b", "y")]);
    let limits = MutationLimits { changes: 2, preconditions: 1, bytes: 10 };
    let gateway = place.gateway().with_limits(limits).with_check(|target, payload| match payload {
        None => Err(format!("{target} stays")),
        Some(payload) if payload.starts_with(b"?") => Err("no question".to_owned()),
        Some(_) => Ok(()),
    });
    let submit = |changes: Vec<DocumentChange>, preconditions| {
        let outcome = gateway.submit(&MutationEnvelope { preconditions, ..envelope("1", changes) });
        (outcome.status(), outcome.code())
    };
    let (a, b) = (change("a", Some("x"), Some("new")), change("b", Some("stale"), Some("new")));
    let too_large = (400, "mutation-bad-request-too-large");
    assert_eq!(submit(vec![a.clone(), b.clone(), change("c", None, None)], vec![]), too_large);
    assert_eq!(submit(vec![a.clone()], vec![condition("a", "x"), condition("b", "y")]), too_large);
    assert_eq!(submit(vec![change("a", Some("x"), Some("eleven byte"))], vec![]), too_large);
    let twice = (400, "mutation-bad-request-duplicate-target");
    assert_eq!(submit(vec![a.clone(), change("a", Some("x"), None)], vec![]), twice);
    assert_eq!(submit(vec![change("n", None, Some("1")), change("n/m", None, Some("2"))], vec![]), twice);
    let unprocessable = (422, "mutation-unprocessable");
    assert_eq!(submit(vec![a.clone(), change("b", Some("y"), Some("?"))], vec![]), unprocessable);
    assert_eq!(submit(vec![change("a", Some("x"), None)], vec![]), unprocessable);
    assert_eq!(submit(vec![a, b], vec![]), (409, "mutation-conflict"));
    assert_eq!(place.all(), documents(&[("a", "x"), ("b", "y")]));
}

#[test]
fn l05_the_same_request_is_applied_once() {
    let place = Place::new(&[("a", "x")]);
    let asked = envelope("1", vec![change("a", Some("x"), Some("y"))]);
    assert!(is_applied_now(&place.gateway().submit(&asked)));
    // Somebody goes back to the old content, so that it could be applied again.
    place.write("a", "x");
    let versions = BTreeMap::from([("a".to_owned(), DocumentVersion::of(Some(b"y")))]);
    let again = MutationOutcome::Applied { versions, dry_run: false, repeated: true };
    let gateway = place.gateway();
    assert_eq!((gateway.submit(&asked), gateway.submit(&asked)), (again.clone(), again.clone()));
    // A dry run says what the real one would get.
    assert_eq!(gateway.submit(&MutationEnvelope { dry_run: true, ..asked.clone() }), again);
    assert_eq!(place.all(), documents(&[("a", "x")]));
    let cases: [Spoil; 6] = [
        |it| it.actor.push('2'),
        |it| it.intent.push('2'),
        |it| it.changes[0].payload = None,
        |it| it.changes[0].base_version = Some(DocumentVersion::Absent),
        |it| it.skills = BTreeMap::from([("pdf".to_owned(), Digest::of(b"tree"))]),
        |it| it.preconditions = vec![condition("a", "x")],
    ];
    for spoil in cases {
        let mut other = asked.clone();
        spoil(&mut other);
        assert_eq!(gateway.submit(&other).code(), "mutation-bad-request-id-reused", "{other:?}");
    }
    // Who was told no is not applied later, when the same envelope arrives once more.
    let no = envelope("2", vec![change("a", Some("z"), Some("w"))]);
    let told = gateway.submit(&no);
    place.write("a", "z");
    assert_eq!((told.as_str(), gateway.submit(&no)), ("conflict", told));
    assert_eq!(place.all(), documents(&[("a", "z")]));
}

#[test]
fn l06_several_documents_change_together_or_not_at_all() {
    let place = Place::new(&[("a", "1"), ("b", "2"), ("d/c", "3")]);
    let changes = |b: &str| {
        vec![
            change("a", Some("1"), Some("new")),
            change("b", Some(b), None),
            change("d/c", Some("3"), Some("3")),
            change("e/f/g", None, Some("")),
        ]
    };
    let gateway = place.gateway();
    let mut stale = envelope("1", changes("stale"));
    stale.changes.push(change("h", Some("gone"), Some("back")));
    let failures = vec![
        failure("b", FailureReason::DigestMismatch, Some("2")),
        failure("h", FailureReason::Missing, None),
    ];
    assert_eq!(gateway.submit(&stale), MutationOutcome::Conflict { failures });
    assert_eq!(place.all(), documents(&[("a", "1"), ("b", "2"), ("d/c", "3")]));
    assert!(!place.documents().join("e").exists());
    let dry = gateway.submit(&MutationEnvelope { dry_run: true, ..envelope("2", changes("2")) });
    assert!(matches!(&dry, MutationOutcome::Applied { dry_run: true, repeated: false, .. }), "{dry:?}");
    assert_eq!(place.all(), documents(&[("a", "1"), ("b", "2"), ("d/c", "3")]));
    let outcome = gateway.submit(&envelope("2", changes("2")));
    let versions = [("a", Some("new")), ("b", None), ("d/c", Some("3")), ("e/f/g", Some(""))];
    let versions = versions.map(|(name, it)| (name.to_owned(), DocumentVersion::of(it.map(str::as_bytes))));
    let applied = MutationOutcome::Applied { versions: versions.into(), dry_run: false, repeated: false };
    assert_eq!(outcome, applied);
    assert_eq!(place.all(), documents(&[("a", "new"), ("d/c", "3"), ("e/f/g", "")]));
    assert_eq!(place.leftovers(), Vec::<String>::new());
}

#[test]
fn l07_without_a_gateway_nothing_is_changed() {
    let asked = envelope("1", vec![change("a", Some("x"), Some("y"))]);
    let outcome = NoGateway.submit(&asked);
    assert_eq!(
        (outcome.as_str(), outcome.code(), outcome.status()),
        ("unavailable", "mutation-unavailable", 503)
    );
    // One that cannot be reached any more.
    let place = Place::new(&[("a", "x")]);
    let gateway = place.gateway();
    fs::remove_dir_all(place.state()).unwrap();
    assert_eq!(gateway.submit(&asked).as_str(), "unavailable");
    // One whose state cannot be understood.
    let gateway = place.gateway();
    fs::write(place.state().join("pending"), "{").unwrap();
    assert_eq!(gateway.submit(&asked).as_str(), "unavailable");
    assert_eq!(FileGateway::open(place.documents(), place.state()).unwrap_err().code(), "mutation-state");
    assert_eq!(place.all(), documents(&[("a", "x")]));
}

#[test]
fn r9_no_bypass_of_the_envelope() {
    let place = Place::new(&[("a", "x"), ("guard", "closed")]);
    let gateways: [&dyn MutationGateway; 2] = [&place.gateway(), &NoGateway];
    let mut number = 0;
    for gateway in gateways {
        for base in [None, Some(DocumentVersion::Absent), Some(DocumentVersion::of(Some(b"stale")))] {
            for payload in [None, Some(b"y".to_vec())] {
                for dry_run in [true, false] {
                    number += 1;
                    let changes = vec![DocumentChange {
                        target: "a".to_owned(),
                        base_version: base,
                        payload: payload.clone(),
                    }];
                    let asked = MutationEnvelope { dry_run, ..envelope(&number.to_string(), changes) };
                    assert_ne!(gateway.submit(&asked).as_str(), "applied", "{asked:?}");
                }
            }
        }
        number += 1;
        let mut asked = envelope(&number.to_string(), vec![change("a", Some("x"), Some("y"))]);
        asked.preconditions = vec![condition("guard", "open")];
        assert_ne!(gateway.submit(&asked).as_str(), "applied");
    }
    assert_eq!(place.all(), documents(&[("a", "x"), ("guard", "closed")]));
    // A condition that somebody misspells is an error, not a condition less; and nothing is deleted by leaving something out.
    for text in [
        r#"{"request_id":"1","precondition":[]}"#,
        r#"{"changes":[{"target":"a","base_version":"absent"}]}"#,
        r#"{"changes":[{"target":"a","base_version":"latest","payload":"x"}]}"#,
    ] {
        assert!(serde_json::from_str::<MutationEnvelope>(text).is_err(), "{text}");
    }
}

#[test]
fn envelopes_and_outcomes_have_a_text() {
    let mut asked = envelope("1", vec![change("a", None, Some("é")), change("b", Some("x"), None)]);
    asked.changes.push(DocumentChange {
        target: "c".to_owned(),
        base_version: None,
        payload: Some(vec![0xff, 0]),
    });
    asked.preconditions = vec![condition("a", "x")];
    asked.skills = BTreeMap::from([("pdf".to_owned(), Digest::of(b"tree"))]);
    let text = serde_json::to_string(&asked).unwrap();
    assert!(text.contains(r#"{"target":"a","base_version":"absent","payload":"é"}"#), "{text}");
    assert!(text.contains(r#""payload":null"#) && text.contains(r#""payload":[255,0]"#), "{text}");
    assert_eq!(serde_json::from_str::<MutationEnvelope>(&text).unwrap(), asked);
    let outcome = MutationOutcome::Conflict { failures: vec![failure("a", FailureReason::Missing, None)] };
    let text = serde_json::to_string(&outcome).unwrap();
    assert_eq!(
        text,
        r#"{"outcome":"conflict","failures":[{"target":"a","reason":"missing","current":"absent"}]}"#
    );
    assert_eq!(serde_json::from_str::<MutationOutcome>(&text).unwrap(), outcome);
}

#[test]
fn permissions_stay() {
    let place = Place::new(&[("a", "x"), ("b", "x")]);
    let mode = |name: &str| fs::metadata(place.documents().join(name)).unwrap().permissions().mode() & 0o7777;
    let set = |name: &str, mode| {
        fs::set_permissions(place.documents().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("a", 0o640);
    set("b", 0o4755);
    let changes = ["a", "b"].map(|name| change(name, Some("x"), Some("y")));
    let mut asked = envelope("1", changes.to_vec());
    asked.changes.push(change("n/c", None, Some("z")));
    assert!(is_applied_now(&place.gateway().submit(&asked)));
    // Whatever the umask is here, a file that anybody makes has it as well.
    place.write("plain", "");
    assert_eq!((mode("a"), mode("b"), mode("n/c")), (0o640, 0o755, mode("plain") & 0o644));
}
