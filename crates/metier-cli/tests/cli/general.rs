//! Help, version, completions, manual pages, wrong use.

use crate::support::Place;

#[test]
fn help_is_as_shown() {
    let place = Place::new();
    for command in [
        "",
        "list",
        "show",
        "prompt",
        "validate",
        "new",
        "trust",
        "approve",
        "approvals",
        "policy",
        "policy check",
        "sandbox",
        "sandbox run",
        "audit",
        "audit log",
        "audit verify",
        "audit export",
        "audit stats",
        "audit checkpoint",
        "config",
        "doctor",
        "digest",
        "ref",
        "completions",
        "man",
    ] {
        let args: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        insta::assert_snapshot!(format!("help {command}").trim(), place.transcript(&args));
    }
}

#[test]
fn version_is_the_crate_s() {
    let place = Place::new();
    let expected = format!("$ metier --version\nmetier {}\nexit: 0\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(place.transcript(&["--version"]), expected);
}

#[test]
fn completions_know_the_commands_in_every_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = place.run(&["completions", shell]);
        assert!(output.status.success());
        let script = String::from_utf8(output.stdout).unwrap();
        for word in ["validate", "digest", "lenient"] {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
    }
}

#[test]
fn manual_pages_are_printed_and_written() {
    let place = Place::new();
    let page = String::from_utf8(place.run(&["man"]).stdout).unwrap();
    assert!(page.starts_with(".ie") && page.contains(".TH metier 1"), "{page}");
    assert!(place.run(&["man", "--out", "pages"]).status.success());
    assert!(place.read("pages/metier-validate.1").contains("\\-\\-strict"));
}

#[test]
fn wrong_use_ends_with_2_and_says_what_is_right() {
    let place = Place::new();
    for args in [&["valdate"][..], &["validate", "--strict", "--lenient"], &["digest"], &[]] {
        let output = place.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("Usage: metier"), "{args:?}");
    }
}
