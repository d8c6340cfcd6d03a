//! What a terminal shows while a command takes long.

use std::fs::File;
use std::io::Write as _;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::support::Place;
use crate::terminal::watched;

/// The export of a journal arrives through a pipe, whose other end waits until the terminal shows that metier is waiting.
#[test]
fn a_terminal_shows_what_takes_long_and_a_program_gets_the_result_alone() {
    let place = Place::new();
    place.skill("skills/pdf", "Fills in forms.");
    assert!(place.at_home(&["activate", "pdf", "--root", "skills"]).output().unwrap().status.success());
    let records = place.at_home(&["audit", "export"]).output().unwrap().stdout;
    let pipe = place.path().join("records");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (shown, showing) = channel();
    let writer = std::thread::spawn(move || {
        let mut pipe = File::options().write(true).open(pipe).unwrap();
        let first = records.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        pipe.write_all(&records[..first]).unwrap();
        // Without the line the test fails below, and does not wait for ever.
        let _ = showing.recv_timeout(Duration::from_mins(1));
        pipe.write_all(&records[first..]).unwrap();
    });
    let (seen, status) = watched(place.at_home(&["audit", "verify", "records"]), 80, move |screen| {
        if screen.contains("checking records… ") {
            let _ = shown.send(());
        }
    });
    writer.join().unwrap();
    assert!(status.success(), "{seen}");
    let (progress, result) = seen.rsplit_once("\r\u{1b}[2K").unwrap();
    assert!(progress.starts_with("\r\u{1b}[2Kchecking records… 1 s"), "{seen:?}");
    assert!(result.starts_with("OK: "), "{seen:?}");
}
