//! Many at once, as threads and as processes: of those with the same base one is applied, and no update is lost.

use std::fs;
use std::path::Path;
use std::process::Command;

use metier_session::{FileGateway, MutationGateway};

use crate::common::{Place, asked, change, documents, envelope, is_applied_now};

const WRITERS: usize = 8;
const EACH: usize = 12;

#[test]
fn of_many_with_the_same_base_one_is_applied() {
    for round in 0..20 {
        let place = Place::new(&[("a", "0"), ("b", "0")]);
        let shared = place.gateway();
        let applied: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..WRITERS)
                .map(|number| {
                    let (place, shared) = (&place, &shared);
                    scope.spawn(move || {
                        let own = (number % 2 == 0).then(|| place.gateway());
                        let new = number.to_string();
                        let changes =
                            ["a", "b"].map(|name| change(name, Some("0"), Some(&format!("n{new}"))));
                        let asked = envelope(&new, changes.to_vec());
                        let outcome = own.as_ref().unwrap_or(shared).submit(&asked);
                        assert!(is_applied_now(&outcome) || outcome.as_str() == "conflict", "{outcome:?}");
                        usize::from(is_applied_now(&outcome))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        let all = place.all();
        assert_eq!((applied, &all["a"]), (1, &all["b"]), "round {round}");
    }
}

#[test]
fn the_same_request_from_many_is_applied_once() {
    let place = Place::new(&[("a", "0")]);
    let gateway = place.gateway();
    let asked = envelope("1", vec![change("a", Some("0"), Some("1"))]);
    let now: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS).map(|_| scope.spawn(|| gateway.submit(&asked))).collect();
        let outcomes = threads.into_iter().map(|thread| thread.join().unwrap());
        outcomes
            .map(|outcome| {
                assert_eq!(outcome.as_str(), "applied");
                usize::from(is_applied_now(&outcome))
            })
            .sum()
    });
    assert_eq!(now, 1);
}

/// Not a test: adds one to a number in a document, again and again.
#[test]
#[ignore = "started by other tests"]
fn adder() {
    let Some(what) = asked("METIER_ADDER") else { return };
    let [documents, state, number] = what.split('\n').collect::<Vec<_>>()[..] else { return };
    let gateway = FileGateway::open(documents, state).unwrap();
    let (mut added, mut tries) = (0, 0);
    while added < EACH {
        let old = fs::read_to_string(Path::new(documents).join("count")).unwrap();
        let new = (old.parse::<u64>().unwrap() + 1).to_string();
        let asked = envelope(&format!("{number}-{tries}"), vec![change("count", Some(&old), Some(&new))]);
        match gateway.submit(&asked) {
            outcome if is_applied_now(&outcome) => added += 1,
            outcome => assert_eq!(outcome.as_str(), "conflict", "{outcome:?}"),
        }
        tries += 1;
    }
}

#[test]
fn no_update_of_many_processes_is_lost() {
    let place = Place::new(&[("count", "0")]);
    let start = |number: usize| {
        let what = format!("{}\n{}\n{number}", place.documents().display(), place.state().display());
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crowd::adder", "--ignored", "--nocapture"])
            .env("METIER_ADDER", what)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..WRITERS).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(place.all(), documents(&[("count", &(WRITERS * EACH).to_string())]));
    assert_eq!(place.leftovers(), Vec::<String>::new());
}
