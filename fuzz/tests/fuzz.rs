//! Runs the fuzzer with a small count. `scripts/fuzz` runs the same program for longer. Cargo builds it with
//! the tests because this test needs it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    // An input that fails is written to the working directory.
    let place = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_metier-fuzz");
    Command::new(program).args(arguments).current_dir(place.path()).output().unwrap()
}

#[test]
fn every_target_holds_for_some_inputs() {
    let output = run(&["100", "2"]);
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{report}");
    let lines: Vec<_> = report.lines().collect();
    assert!(lines.len() >= 11 && lines.iter().all(|line| line.contains("inputs, no panic")), "{report}");
}

#[test]
fn targets_can_be_named() {
    let output = run(&["100", "2", "claude", "openai"]);
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{report}");
    let names: Vec<_> = report.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    assert_eq!(names, ["claude", "openai"]);
}

#[test]
fn what_is_no_count_or_target_is_refused() {
    for arguments in [&["many"][..], &["1", "1", "no-such-target"]] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}
