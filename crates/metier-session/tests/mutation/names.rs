//! Names that lead elsewhere, and things that are no documents.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use metier_session::{FileGateway, MutationEnvelope, MutationGateway, Precondition};
use metier_skill::{Coded as _, Digest};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::common::{Place, change, documents, envelope};

/// What a gateway says to a new document, a replaced one, a deleted one, and one that is only a precondition.
fn codes(gateway: &FileGateway, target: &str) -> Vec<&'static str> {
    let digest = Digest::of(b"secret");
    let mut asked = [
        envelope("n", vec![change(target, None, Some("y"))]),
        envelope("r", vec![change(target, Some("secret"), Some("y"))]),
        envelope("d", vec![change(target, Some("secret"), None)]),
        envelope("p", vec![change("ok", None, Some("y"))]),
    ];
    asked[3].preconditions = vec![Precondition { target_id: target.to_owned(), expected: digest }];
    let dry = asked.clone().map(|it| MutationEnvelope { dry_run: true, ..it });
    let mut codes: Vec<_> = asked.iter().chain(&dry).map(|it| gateway.submit(it).code()).collect();
    codes.dedup();
    codes
}

#[test]
fn names_that_are_not_plain_are_refused() {
    let place = Place::new(&[("a/b", "secret")]);
    fs::write(place.directory.path().join("outside"), "secret").unwrap();
    let gateway = place.gateway();
    let outside = place.directory.path().join("outside");
    let long = "x".repeat(256);
    let deep = "d/".repeat(3000) + "x";
    let names = [
        "",
        "/",
        "..",
        ".",
        "../outside",
        "a/../../outside",
        "a/../a/b",
        "./a/b",
        "a//b",
        "a/b/",
        "/etc/passwd",
        outside.to_str().unwrap(),
        "a\0b",
        "a/b\0",
        "a\nb",
        "a\\b",
        "..\\outside",
        "\u{7f}",
        &long,
        &deep,
    ];
    for name in names {
        assert_eq!(codes(&gateway, name), ["mutation-bad-request-target"], "{name:?}");
    }
    // Odd, and yet names like any other.
    for name in ["...", "-rf", " ", "日本語", "a/.b", "~", "$HOME", "%2e%2e"] {
        let outcome = gateway.submit(&envelope(&format!("odd {name}"), vec![change(name, None, Some("y"))]));
        assert_eq!(outcome.as_str(), "applied", "{name}: {outcome:?}");
    }
    assert_eq!(fs::read(outside).unwrap(), b"secret");
}

#[test]
fn links_pipes_sockets_and_directories_are_refused() {
    let place = Place::new(&[("a/b", "secret"), ("file", "secret")]);
    let (root, outside) = (place.documents(), place.directory.path().join("outside"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("b"), "secret").unwrap();
    symlink(outside.join("b"), root.join("link")).unwrap();
    symlink("a/b", root.join("inner")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink(&outside, root.join("way")).unwrap();
    symlink("a", root.join("inner-way")).unwrap();
    assert!(Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    let gateway = place.gateway();
    for name in ["link", "inner", "dangling", "way/b", "way/new", "inner-way/b", "dangling/x", "way"] {
        assert_eq!(codes(&gateway, name), ["mutation-bad-request-link"], "{name}");
    }
    for name in ["pipe", "socket", "a", "file/x", "pipe/x"] {
        assert_eq!(codes(&gateway, name), ["mutation-bad-request-not-a-file"], "{name}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::read(outside.join("b")).unwrap(), b"secret");
    let devices = FileGateway::open("/dev", place.directory.path().join("dev-state"));
    // Another file system, or a machine where both are one; in no case a device is written.
    match devices {
        Err(error) => assert_eq!(error.code(), "mutation-file-system"),
        Ok(gateway) => assert_eq!(codes(&gateway, "null"), ["mutation-bad-request-not-a-file"]),
    }
}

#[test]
fn the_state_can_be_among_the_documents_and_is_none() {
    let place = Place::new(&[("a", "x")]);
    let state = place.documents().join(".metier/state");
    let gateway = FileGateway::open(place.documents(), &state).unwrap();
    assert_eq!(gateway.submit(&envelope("1", vec![change("a", Some("x"), Some("y"))])).as_str(), "applied");
    for name in [".metier/state/pending", ".metier/state/staged/0", ".metier/state/outcomes/x"] {
        assert_eq!(codes(&gateway, name), ["mutation-bad-request-target"], "{name}");
    }
    let code = |documents: &Path| FileGateway::open(documents, &state).unwrap_err().code();
    assert_eq!(code(&state), "mutation-same-place");
    assert_eq!(code(&state.join("staged")), "mutation-same-place");
    assert_eq!(code(&place.documents().join("nowhere")), "mutation-directory");
    let gateway = FileGateway::open(place.documents(), place.documents().join("a"));
    assert_eq!(gateway.unwrap_err().code(), "mutation-state");
}

/// A change that was interrupted is not completed in a directory that it was not meant for.
#[test]
fn one_state_is_for_one_directory() {
    let place = Place::new(&[("a", "x")]);
    let other = Place::new(&[]);
    drop(place.gateway());
    let digest = Digest::of(b"");
    let record = serde_json::json!({
        "request_id": "1", "content": digest, "directory": 1, "steps": [],
        "outcome": {"outcome": "applied", "versions": {}, "dry_run": false, "repeated": false},
    });
    fs::write(place.state().join("pending"), record.to_string()).unwrap();
    let error = FileGateway::open(other.documents(), place.state()).unwrap_err();
    assert_eq!(error.code(), "mutation-interrupted");
}

/// Somebody swaps a directory for a link, again and again, while documents in it are changed.
#[test]
fn swapping_a_directory_for_a_link_leads_nowhere() {
    let place = Place::new(&[("way/a", "0")]);
    let outside = place.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a"), "0").unwrap();
    let (way, aside) = (place.documents().join("way"), place.documents().join("aside"));
    symlink(&outside, &aside).unwrap();
    let gateway = place.gateway();
    let is_over = AtomicBool::new(false);
    let (mut applied, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for _ in 0..2 {
                    renameat_with(CWD, &way, CWD, &aside, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        for number in 0..400 {
            // Whatever there is: what is asked for must not be done outside.
            let new = (applied + 1).to_string();
            let asked = change("way/a", Some(&applied.to_string()), Some(&new));
            let asked = envelope(&number.to_string(), vec![asked]);
            let mut outcome = gateway.submit(&asked);
            while outcome.as_str() == "unavailable" {
                outcome = gateway.submit(&asked);
            }
            applied += usize::from(outcome.as_str() == "applied");
            refused += usize::from(outcome.code() == "mutation-bad-request-link");
            let other = change("way/new", None, Some("n"));
            let delete = change("way/new", Some("n"), None);
            gateway.submit(&envelope(&format!("{number} new"), vec![other]));
            gateway.submit(&envelope(&format!("{number} gone"), vec![delete]));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(applied > 0 && refused > 0, "{applied} {refused}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::read(outside.join("a")).unwrap(), b"0");
    let inside = documents(&[("way/a", &applied.to_string())]);
    assert_eq!(place.all().get("way/a"), inside.get("way/a"));
}
