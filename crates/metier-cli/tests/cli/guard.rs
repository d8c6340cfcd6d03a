//! `metier guard`: what a person sees of installing, looking at and removing it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Output};

use crate::support::Place;

/// A home with some agents, each of which prints a version.
fn place(agents: &[(&str, &str)]) -> Place {
    let place = Place::new();
    for (program, version) in agents {
        let path = place.write(&format!("bin/{program}"), format!("#!/bin/sh\necho '{version}'\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir_all(place.path().join("project")).unwrap();
    place
}

const CLAUDE: (&str, &str) = ("claude", "2.1.326 (Claude Code)");
const CODEX: (&str, &str) = ("codex", "codex-cli 0.169.0");
const GOOSE: (&str, &str) = ("goose", " 1.52.0");

fn command(place: &Place, args: &[&str]) -> Command {
    let mut command = place.at_home(args);
    command.env("PATH", place.path().join("bin")).env("TMPDIR", place.temporary());
    command.current_dir(place.path().join("project"));
    command
}

/// The transcript, with the program by its name.
fn seen(place: &Place, args: &[&str]) -> String {
    let output: Output = command(place, args).output().unwrap();
    let text = place.transcript_of(args, &output);
    let program = fs::canonicalize(env!("CARGO_BIN_EXE_metier")).unwrap();
    let text =
        text.replace(env!("CARGO_BIN_EXE_metier"), "METIER").replace(program.to_str().unwrap(), "METIER");
    // A name that is random.
    let digits = regex::Regex::new("metier-[0-9a-f]{12}").unwrap();
    digits.replace_all(&text, "metier-NAME").into_owned()
}

fn is_fine(place: &Place, args: &[&str]) {
    let output = command(place, args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_guard_is_installed_looked_at_and_removed() {
    let place = place(&[CLAUDE]);
    let mine = "{\n  // My settings.\n  \"model\": \"opus\"\n}\n";
    place.write("me/.claude/settings.json", mine);
    insta::assert_snapshot!("guard install dry", seen(&place, &["guard", "install", "claude", "--dry-run"]));
    assert_eq!(place.read("me/.claude/settings.json"), mine);
    insta::assert_snapshot!(
        "guard install",
        seen(&place, &["-q", "guard", "install", "claude", "--suggest"])
    );
    insta::assert_snapshot!(
        "guard install again",
        seen(&place, &["guard", "install", "claude", "--suggest"])
    );
    insta::assert_snapshot!("guard status", seen(&place, &["guard", "status"]));
    place.write("project/.claude/settings.json", "{ \"disableAllHooks\": true }");
    insta::assert_snapshot!("guard status broken", seen(&place, &["guard", "status", "claude"]));
    insta::assert_snapshot!("guard status json", seen(&place, &["guard", "status", "claude", "--json"]));
    insta::assert_snapshot!(
        "guard remove dry",
        seen(&place, &["-q", "guard", "remove", "claude", "--dry-run"])
    );
    is_fine(&place, &["guard", "remove", "claude"]);
    assert_eq!(place.read("me/.claude/settings.json"), mine);
    insta::assert_snapshot!("guard remove again", seen(&place, &["guard", "remove", "claude"]));
    insta::assert_snapshot!("guard status nothing", seen(&place, &["guard", "status"]));
    let log = command(&place, &["audit", "log", "--kind", "guard.changed", "--json"]).output().unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    assert_eq!(log.matches("\"installed\":true").count(), 1, "{log}");
    assert_eq!(log.matches("\"installed\":false").count(), 1, "{log}");
}

#[test]
fn files_of_its_own_and_what_there_is_to_do_are_shown() {
    let place = place(&[CODEX, GOOSE]);
    insta::assert_snapshot!(
        "guard install codex",
        seen(&place, &["guard", "install", "codex", "--project", "--json"])
    );
    let goose = seen(&place, &["guard", "install", "goose", "--suggest"]);
    assert!(goose.contains("+++ PLACE/me/.agents/plugins/metier-NAME/plugin.json"), "{goose}");
    assert!(goose.contains("note: Goose shows its model nothing of what a hook says"), "{goose}");
    assert!(goose.contains("  - calls of subagents (`delegate`) reach no hook"), "{goose}");
    insta::assert_snapshot!("guard status all", seen(&place, &["guard", "status"]));
}

#[test]
fn what_cannot_be_done_is_an_error_that_says_why() {
    let place = place(&[("claude", "2.0.1 (Claude Code)"), CODEX, ("gemini", "0.61.0"), ("goose", "1.52.0")]);
    place.write("me/.codex/hooks.json", "{\n  \"hooks\": {\n    \"Stop\": [}\n  }\n}\n");
    fs::create_dir_all(place.path().join("me/.gemini")).unwrap();
    symlink("gone.json", place.path().join("me/.gemini/settings.json")).unwrap();
    let all: Vec<String> = [
        &["guard", "install", "claude"][..],
        &["guard", "install", "copilot"],
        &["guard", "install", "codex"],
        &["guard", "install", "gemini"],
        &["guard", "install", "emacs"],
        &["guard", "install", "codx"],
        &["guard", "install", "codex", "--user", "--project"],
        &["guard", "remove", "codex"],
    ]
    .map(|args| seen(&place, args))
    .into_iter()
    .collect();
    insta::assert_snapshot!("guard errors", all.join("\n"));
}

#[test]
fn several_at_once_install_one_guard() {
    let place = place(&[CLAUDE]);
    place.write("me/.claude/settings.json", "{}\n");
    let running: Vec<_> =
        (0..6).map(|_| command(&place, &["guard", "install", "claude"]).spawn().unwrap()).collect();
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    let text = place.read("me/.claude/settings.json");
    assert_eq!(text.matches("hook claude PreToolUse").count(), 1, "{text}");
    is_fine(&place, &["guard", "remove", "claude"]);
    assert_eq!(place.read("me/.claude/settings.json"), "{}\n");
}

#[test]
fn decisions_are_shown_from_the_journal() {
    let place = place(&[]);
    place.skill("me/.agents/skills/pdf", "Fills in forms. Use when there is one.");
    is_fine(&place, &["activate", "pdf"]);
    let log = seen(&place, &["guard", "log"]);
    assert!(log.contains("note: no record has the kind `skill.tool_call_decided`"), "{log}");
    assert!(log.ends_with("exit: 0\n"), "{log}");
}

#[test]
fn doctor_reports_a_guard_that_does_not_work() {
    let place = place(&[CLAUDE]);
    is_fine(&place, &["guard", "install", "claude"]);
    let doctor = seen(&place, &["doctor"]);
    assert!(doctor.contains("the guard is installed in Claude Code"), "{doctor}");
    place.write("project/.claude/settings.json", "{ \"disableAllHooks\": true }");
    let doctor = seen(&place, &["doctor"]);
    assert!(doctor.contains("FAILED: the guard of Claude Code does not work"), "{doctor}");
}
