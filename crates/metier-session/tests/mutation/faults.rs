//! Every call that writes, of a process that opens a gateway and submits an envelope: killed before it and after it, failing, out of room, cut short, and
//! with somebody who changes documents by hand just before it. Everything is old or everything is new, and the request is applied once.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;

use metier_session::{FileGateway, MutationEnvelope, MutationGateway as _, MutationOutcome};
use metier_skill::Coded as _;

use crate::common::{Place, asked, change, documents, envelope, is_applied_now};

const OLD: [(&str, &str); 4] = [("a", "old a"), ("b", "old b"), ("d/e", "old e"), ("other", "o")];
const NEW: [(&str, &str); 4] = [("a", "new a"), ("d/e", "new e"), ("n/m", "new m"), ("other", "o")];

fn wanted() -> MutationEnvelope {
    let changes = vec![
        change("a", Some("old a"), Some("new a")),
        change("n/m", None, Some("new m")),
        change("b", Some("old b"), None),
        change("d/e", Some("old e"), Some("new e")),
    ];
    envelope("wanted", changes)
}

/// Not a test: opens a gateway, asks for the change, and notes what it was told.
#[test]
#[ignore = "started by other tests"]
fn writer() {
    let Some(what) = asked("METIER_FAULTY") else { return };
    let [documents, state, notes] = what.split('\n').collect::<Vec<_>>()[..] else { return };
    let told = match FileGateway::open(documents, state) {
        Ok(gateway) => serde_json::to_string(&gateway.submit(&wanted())).unwrap(),
        Err(error) => error.code().to_owned(),
    };
    fs::write(notes, told).unwrap();
}

/// The program that does it, compiled once.
fn tracer() -> &'static Path {
    static TRACER: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = TRACER.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/faults.c");
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("faults");
        let compiled = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source).status();
        assert!(compiled.unwrap().success(), "a C compiler is needed, as it is for SQLite");
        (directory, program)
    });
    path
}

struct Run {
    status: ExitStatus,
    /// What the writer was told, if it lived to note it.
    told: String,
    calls: Vec<String>,
}

impl Run {
    fn outcome(&self) -> Option<MutationOutcome> {
        serde_json::from_str(&self.told).ok()
    }
}

/// A writer with a fault, or with something that is done by hand.
fn run(place: &Place, fault: &str, by_hand: &str) -> Run {
    let (notes, log) = (place.directory.path().join("notes"), place.directory.path().join("log"));
    let _ = fs::remove_file(&notes);
    let what = format!("{}\n{}\n{}", place.documents().display(), place.state().display(), notes.display());
    let status = Command::new(tracer())
        .arg(fault)
        .args([&place.below(), &log])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "faults::writer", "--ignored", "--nocapture", "--test-threads=1"])
        .env("METIER_FAULTY", what)
        .env("METIER_BY_HAND", format!("cd '{}' && {by_hand}", place.documents().display()))
        .output()
        .unwrap()
        .status;
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    Run { status, told: read(&notes), calls: read(&log).lines().map(str::to_owned).collect() }
}

/// What holds whatever happened.
fn check(place: &Place, run: &Run, fault: &str) {
    let (old, new) = (documents(&OLD), documents(&NEW));
    let outcome = run.outcome();
    match &outcome {
        Some(outcome) if outcome.as_str() == "applied" => assert_eq!(place.all(), new, "{fault}"),
        Some(MutationOutcome::Unavailable { reason }) if reason.contains("nothing was changed") => {
            assert_eq!(place.all(), old, "{fault}: {reason}");
        }
        Some(MutationOutcome::Unavailable { .. }) | None => {}
        Some(other) => panic!("{fault}: {other:?}"),
    }
    // Whoever comes next has everything or nothing.
    let gateway = place.gateway();
    let all = place.all();
    assert!(all == old || all == new, "{fault}: {all:?}");
    let was_new = all == new;
    let outcome = gateway.submit(&wanted());
    assert_eq!(outcome.as_str(), "applied", "{fault}: {outcome:?}");
    assert_eq!(is_applied_now(&outcome), !was_new, "{fault}: applied once");
    assert_eq!(place.all(), new, "{fault}");
    assert_eq!(place.leftovers(), Vec::<String>::new(), "{fault}");
    // And goes on, and does not come back to it.
    let next = envelope("next", vec![change("a", Some("new a"), Some("old a"))]);
    assert!(is_applied_now(&gateway.submit(&next)), "{fault}");
    assert!(!is_applied_now(&gateway.submit(&wanted())), "{fault}");
    assert_eq!(place.all()["a"], "old a", "{fault}");
}

#[test]
fn every_call() {
    let calls = run(&Place::new(&OLD), "0:x", "").calls;
    assert!(calls.len() > 20, "{calls:#?}");
    let (mut unavailable, mut applied) = (0, 0);
    for (index, call) in calls.iter().enumerate() {
        for kind in ["k", "K", "e", "f", "s"] {
            let place = Place::new(&OLD);
            let fault = format!("{}:{kind} {call}", index + 1);
            let run = run(&place, &fault, "");
            let is_killed = run.status.signal() == Some(9);
            assert_eq!(is_killed, matches!(kind, "k" | "K"), "{fault}: {:?} {}", run.status, run.told);
            assert!(is_killed || run.status.success(), "{fault}: {:?}", run.status);
            let outcome = run.outcome();
            unavailable += usize::from(outcome.as_ref().is_some_and(|it| it.as_str() == "unavailable"));
            applied += usize::from(outcome.as_ref().is_some_and(is_applied_now));
            check(&place, &run, &fault);
        }
    }
    assert!(unavailable > calls.len() && applied >= calls.len(), "{unavailable} {applied}");
}

/// Whoever completes what was interrupted can be interrupted as well.
#[test]
fn every_call_of_who_comes_next() {
    let calls = run(&Place::new(&OLD), "0:x", "").calls;
    let first = calls.iter().position(|call| call.starts_with("renameat2 ")).unwrap() + 1;
    // After the first step, and after all of them.
    for first in [first, first + 3] {
        each_call_after(&format!("{first}:K"), |_| {}, check);
    }
}

/// And whoever takes it back, because somebody changed a document by hand in the meantime.
#[test]
fn every_call_of_who_takes_it_back() {
    let calls = run(&Place::new(&OLD), "0:x", "").calls;
    let third = calls.iter().position(|call| call.starts_with("renameat2 ")).unwrap() + 3;
    let change_by_hand = |place: &Place| place.write("d/e", "hand");
    each_call_after(&format!("{third}:K"), change_by_hand, |place, next, fault| {
        let mut kept = documents(&OLD);
        kept.insert("d/e".to_owned(), "hand".to_owned());
        assert!(next.outcome().is_none_or(|it| matches!(it.as_str(), "conflict" | "unavailable")), "{fault}");
        let gateway = place.gateway();
        assert_eq!(place.all(), kept, "{fault}");
        assert_eq!(gateway.submit(&wanted()).as_str(), "conflict", "{fault}");
        assert_eq!((place.all(), place.leftovers()), (kept, Vec::new()), "{fault}");
    });
}

/// A writer that is killed, something in between, and then one that is stopped at each of its calls.
fn each_call_after(first: &str, between: impl Fn(&Place), check: impl Fn(&Place, &Run, &str)) {
    for second in 1.. {
        for kind in ["K", "e"] {
            let place = Place::new(&OLD);
            assert_eq!(run(&place, first, "").status.signal(), Some(9));
            between(&place);
            let next = run(&place, &format!("{second}:{kind}"), "");
            check(&place, &next, &format!("{first}, then {second}:{kind} {:?}", next.calls.last()));
            if next.calls.len() < second {
                return;
            }
        }
    }
}

/// What is needed later is on the disk before: contents and record before the first step, all steps before the outcome, that before anything is removed.
#[test]
fn everything_is_synced_in_time() {
    let calls = run(&Place::new(&OLD), "0:x", "").calls;
    let at = |what: &str| {
        let found = calls.iter().position(|call| call == what);
        found.unwrap_or_else(|| panic!("no {what} in {calls:#?}"))
    };
    let first_step = at("renameat2 /state/staged/0");
    for slot in ["0", "1", "3"] {
        assert!(at(&format!("write /state/staged/{slot}")) < at(&format!("fsync /state/staged/{slot}")));
        assert!(at(&format!("fsync /state/staged/{slot}")) < at("fsync /state/staged"));
    }
    let announced = at("renameat /state/staged/record");
    assert!(at("fsync /state/staged/record") < at("fsync /state/staged"));
    assert!(at("mkdirat /documents/n") < at("fsync /documents") && at("fsync /documents") < announced);
    assert!(at("fsync /state/staged") < announced);
    assert!(calls[announced..first_step].contains(&"fsync /state".to_owned()), "{calls:#?}");
    let outcome = at("renameat /state/pending");
    let steps = calls.iter().rposition(|call| call.starts_with("renameat2 ")).unwrap();
    for directory in ["/documents", "/documents/n", "/documents/d", "/state/staged"] {
        assert!(calls[steps..outcome].contains(&format!("fsync {directory}")), "{directory} in {calls:#?}");
    }
    let removed = calls[outcome..].iter().position(|call| call.starts_with("unlinkat ")).unwrap() + outcome;
    for directory in ["/state", "/state/outcomes"] {
        assert!(calls[outcome..removed].contains(&format!("fsync {directory}")), "{directory} in {calls:#?}");
    }
}

/// That a change is taken back is on the disk before what could complete it is removed.
#[test]
fn taking_back_is_synced_in_time() {
    let calls = run(&Place::new(&OLD), "0:x", "").calls;
    let step = calls.iter().position(|call| call.starts_with("renameat2 ")).unwrap() + 1;
    let place = Place::new(&OLD);
    let run = run(&place, &format!("{step}:h"), "printf hand > ../h && mv ../h a");
    assert_eq!(run.outcome().unwrap().as_str(), "conflict");
    let calls = run.calls.join("\n");
    let end = "fsync /state/staged\nunlinkat /state/pending\nfsync /state\n";
    let (before, after) = calls.split_once(end).unwrap_or_else(|| panic!("{calls}"));
    assert!(before.contains("fsync /documents/d\n") && !before.contains("unlinkat "), "{calls}");
    assert!(after.contains("unlinkat /state/staged/"), "{calls}");
}

/// Somebody changes documents without the gateway, just before any of its calls. That is never lost, whatever the gateway says; and if it was too early
/// for the gateway, nothing else is changed. How often it said what.
fn by_hand(command: &str, changed: &[(&str, Option<&str>)]) -> BTreeMap<&'static str, usize> {
    let calls = run(&Place::new(&OLD), "0:x", "").calls;
    let mut told = BTreeMap::new();
    for (index, call) in calls.iter().enumerate() {
        let place = Place::new(&OLD);
        let fault = format!("{}:h {call}", index + 1);
        let run = run(&place, &fault, command);
        let outcome = run.outcome().unwrap_or_else(|| panic!("{fault}: {:?} {}", run.status, run.told));
        let mut expected = documents(if outcome.as_str() == "applied" { &NEW } else { &OLD });
        for (name, content) in changed {
            expected.remove(*name);
            expected.extend(content.map(|content| ((*name).to_owned(), content.to_owned())));
        }
        assert_eq!(place.all(), expected, "{fault}: {outcome:?}");
        assert!(!is_applied_now(&place.gateway().submit(&wanted())), "{fault}");
        assert_eq!((place.all(), place.leftovers()), (expected, Vec::new()), "{fault}: asked again");
        *told.entry(outcome.as_str()).or_insert(0) += 1;
    }
    assert!(told["conflict"] > 5 && told["applied"] > 5, "{told:?}");
    told
}

#[test]
fn documents_that_are_replaced_by_hand_keep_that() {
    let told = by_hand("printf hand > ../h && mv ../h a", &[("a", Some("hand"))]);
    assert_eq!(told.len(), 2, "{told:?}");
    // The first of them after its step, the last before: what is taken back is not what was put there.
    let both = "printf hand > ../h && mv ../h a && printf hand > ../h && mv ../h d/e";
    let told = by_hand(both, &[("a", Some("hand")), ("d/e", Some("hand"))]);
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn a_document_that_is_made_by_hand_stays() {
    // It is unavailable if the directory is made by hand when the gateway was about to.
    by_hand("mkdir -p n && printf hand > ../h && mv ../h n/m", &[("n/m", Some("hand"))]);
    let both = "mkdir -p n && printf hand > ../h && mv ../h n/m && printf hand > ../h && mv ../h d/e";
    by_hand(both, &[("n/m", Some("hand")), ("d/e", Some("hand"))]);
}

#[test]
fn documents_that_are_deleted_by_hand_stay_so() {
    let told = by_hand("rm -f a", &[("a", None)]);
    assert_eq!(told.len(), 2, "{told:?}");
    by_hand("rm -f a n/m d/e", &[("a", None), ("n/m", None), ("d/e", None)]);
}

#[test]
fn a_document_that_becomes_a_link_is_left_alone() {
    by_hand("printf outside > ../outside && ln -sf ../outside a", &[("a", Some("outside"))]);
}
