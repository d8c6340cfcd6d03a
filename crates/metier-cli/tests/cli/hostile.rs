//! Skills and files that somebody made to do harm, or that a disk made odd.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::process::Command;

use crate::support::Place;

/// Pieces of text that have meaning to YAML, markdown, terminals or line counting.
const PIECES: &[&str] = &[
    "---\n",
    "name: x\n",
    "description: Use when: x\n",
    "\r",
    "\r\n",
    "\n",
    "\t",
    "[a](b.md)",
    "](",
    "é",
    "\u{1b}[31m",
    "\u{feff}",
    "\u{2028}",
    "\u{202e}",
    "<b>",
    "```\n",
    "scripts/x.sh ",
    "metadata:\n  v: 1\n",
    "Allowed_Tools: x\n",
    "k: |\n  a\n",
    "\"",
    "'",
    "\u{85}",
    "\0",
    "::error::x\n",
    "- a\n",
    ": ",
    "&a ",
    "*b ",
    "!t ",
];

#[test]
fn no_text_breaks_any_format() {
    let place = Place::new();
    let mut state = 1_u64;
    let mut next = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    for index in 0..600 {
        let mut text =
            String::from(if index % 5 == 0 { "" } else { "---\nname: x\ndescription: Use when x\n" });
        for _ in 0..next(25) {
            text.push_str(PIECES[next(PIECES.len())]);
        }
        place.write(&format!("all/s{index}/SKILL.md"), text);
    }
    for format in ["text", "json", "sarif", "github"] {
        for profile in ["--strict", "--lenient"] {
            let output = place.run(&["validate", profile, "--format", format, "all"]);
            assert_eq!(
                output.status.code(),
                Some(1),
                "{format}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            let shown = String::from_utf8(output.stdout).unwrap();
            assert!(!shown.contains('\x1b'), "{format} lets an escape through");
            assert!(!shown.lines().any(|line| line.starts_with("::error::x")), "{format} starts a command");
        }
    }
    assert_eq!(place.run(&["validate", "--fix", "all"]).status.code(), Some(1));
}

#[test]
fn escapes_in_names_do_not_reach_the_terminal() {
    let place = Place::new();
    place.write("x/SKILL.md", "---\nname: \"e\\e[31m\\rFAKE\"\ndescription: Use when x\n---\nX\n");
    place.write("y/SKILL.md", "---\n\"\\e[31mk\": 1\n\"\\e[31mk\": 2\n---\nX\n");
    place.write("z\u{1b}[31m/SKILL.md", "---\nname: z\ndescription: Use when x\n---\nX\n");
    for args in [
        &["show", "x"][..],
        &["show", "y"],
        &["show", "z\u{1b}[31m"],
        &["digest", "z\u{1b}[31m"],
        &["ref", "validate", "x"],
        &["ref", "validate", "z\u{1b}[31m"],
        &["validate", "--format", "github", "."],
    ] {
        let output = place.run(args);
        let all = [output.stdout, output.stderr].concat();
        assert!(!all.contains(&0x1b), "{args:?}: {}", String::from_utf8_lossy(&all));
    }
}

#[test]
fn a_search_passes_over_nothing_that_is_broken() {
    let place = Place::new();
    place.write("s/ok/SKILL.md", "---\nname: ok\ndescription: Use when x\n---\nX\n");
    place.write("s/directory/SKILL.md/x", "");
    fs::create_dir_all(place.path().join("s/dangling")).unwrap();
    symlink("gone", place.path().join("s/dangling/SKILL.md")).unwrap();
    fs::create_dir_all(place.path().join("s/pipe")).unwrap();
    let made = Command::new("mkfifo").arg(place.path().join("s/pipe/SKILL.md")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo is part of every system");
    let report = place.json(&["validate", "--json", "s"]);
    let row = |skill: &serde_json::Value| {
        let code = skill["diagnostics"][0]["code"].as_str().unwrap_or("valid");
        format!("{} {code}", skill["path"].as_str().unwrap())
    };
    let rows: Vec<String> = report["skills"].as_array().unwrap().iter().map(row).collect();
    let expected = [
        "s/dangling skill-md-link",
        "s/directory skill-md-not-file",
        "s/ok valid",
        "s/pipe skill-md-not-file",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_file_that_cannot_be_mended_does_not_hide_the_others() {
    let place = Place::new();
    let slip = |name: &str| format!("---\nname: {name}\ndescription: Use when: x\n---\nX\n");
    place.write("s/a/SKILL.md", slip("a"));
    let linked = place.write("s/b/SKILL.md", slip("b"));
    place.write("s/c/SKILL.md", slip("c"));
    fs::hard_link(&linked, place.path().join("other-name")).unwrap();
    let output = place.run(&["validate", "--fix", "s"]);
    assert_eq!(output.status.code(), Some(5));
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(out.contains("3 skills: 2 valid, 1 not"), "{out}");
    assert!(
        err.contains("made 1 fix in s/a/SKILL.md")
            && err.contains("made 1 fix in s/c/SKILL.md")
            && err.contains("cannot fix s/b/SKILL.md: it has hard links"),
        "{err}"
    );
    assert_eq!(fs::metadata(&linked).unwrap().nlink(), 2);
    assert_eq!(place.read("other-name"), slip("b"));
}

#[test]
fn quiet_leaves_out_the_sum_and_a_closed_pipe_is_not_all_is_well() {
    let place = Place::new();
    place.write("ok/SKILL.md", "---\nname: ok\ndescription: Use when x\n---\nX\n");
    assert_eq!(place.transcript(&["-q", "validate", "ok"]), "$ metier -q validate ok\nexit: 0\n");
    for index in 0..400 {
        place.write(&format!("many/s{index}/SKILL.md"), "x");
    }
    let script = format!("'{}' validate many | true; exit ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_metier"));
    let status = Command::new("bash").args(["-c", &script]).current_dir(place.path()).status().unwrap();
    assert_ne!(status.code(), Some(0));
}
