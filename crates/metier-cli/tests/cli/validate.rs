//! `metier validate`.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::Place;

const GOOD: &str = "---\nname: good\ndescription: Use when all is well.\n---\nDo it well.\n";

/// A place with one skill of every sort.
fn mixed() -> Place {
    let place = Place::new();
    place.write("skills/good/SKILL.md", GOOD);
    place.write(
        "skills/slips/SKILL.md",
        "\u{feff}---\nname: Slips\ndescription: Use when: something slips\nallowed_tools: Read\nversion: 1\n\
         metadata:\n  v: 1.0\n---\nSee [the guide](references/guide.md).\n",
    );
    place.write("skills/broken/SKILL.md", "---\nname: broken\ndescription: [x\n---\nBody\n");
    place.write("skills/bytes/SKILL.md", b"---\nname: bytes\ndescription: caf\xe9\n---\n");
    place.write(
        "skills/group/tools/SKILL.md",
        "---\nname: tools\ndescription: Use when tools are needed.\n---\nRun `scripts/run.sh`.\n",
    );
    place.write("skills/group/tools/scripts/run.sh", "echo hi\n");
    place.write("skills/group/tools/data/deep/table.csv", "a,b\n");
    place
}

#[test]
fn findings_are_underlined_in_the_source() {
    insta::assert_snapshot!("validate text", mixed().transcript(&["validate", "skills"]));
}

#[test]
fn every_profile_has_its_verdict() {
    let place = mixed();
    for (flag, valid) in [("--strict", 2), ("--format=text", 2), ("--lenient", 3)] {
        let output = String::from_utf8(place.run(&["validate", flag, "skills"]).stdout).unwrap();
        assert!(output.contains(&format!("5 skills: {valid} valid")), "{flag}: {output}");
    }
}

#[test]
fn json_has_the_documented_shape() {
    let place = mixed();
    let report = place.json(&["validate", "--json", "skills/good", "skills/slips"]);
    assert_eq!(
        report["skills"][0],
        json!({"path": "skills/good", "name": "good", "valid": true, "diagnostics": []})
    );
    insta::assert_snapshot!("validate json", serde_json::to_string_pretty(&report["skills"][1]).unwrap());
}

#[test]
fn sarif_and_github_carry_the_same_findings() {
    let place = mixed();
    let report = place.json(&["validate", "--json", "skills"]);
    let skills = report["skills"].as_array().unwrap();
    let count: usize = skills.iter().map(|skill| skill["diagnostics"].as_array().unwrap().len()).sum();
    let sarif = place.json(&["validate", "--format", "sarif", "skills"]);
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), count);
    let ids: Vec<&str> = sarif["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["id"].as_str().unwrap())
        .collect();
    assert!(
        sarif["runs"][0]["results"]
            .as_array()
            .unwrap()
            .iter()
            .all(|r| ids.contains(&r["ruleId"].as_str().unwrap()))
    );
    insta::assert_snapshot!(
        "validate sarif result",
        serde_json::to_string_pretty(&sarif["runs"][0]["results"][2]).unwrap()
    );
    let github = place.transcript(&["validate", "--format", "github", "skills"]);
    assert_eq!(github.lines().count(), count + 2);
    insta::assert_snapshot!("validate github", github);
}

#[test]
fn untrusted_text_cannot_start_a_github_command_or_reach_the_terminal() {
    let place = Place::new();
    place.write(
        "x/SKILL.md",
        "---\nname: \"x\\n::error::gotcha \\e[31mred\"\ndescription: Use when x.\n---\nX\n",
    );
    for format in ["text", "concise", "github", "json", "sarif"] {
        let output = String::from_utf8(place.run(&["validate", "--format", format, "x"]).stdout).unwrap();
        assert!(!output.lines().any(|line| line.starts_with("::error::")), "{format}: {output}");
        assert!(!output.contains('\x1b'), "{format}: {output}");
    }
}

#[test]
fn fix_makes_fixable_skills_valid_and_changes_no_other_byte() {
    let place = mixed();
    let before = place.read("skills/slips/SKILL.md");
    insta::assert_snapshot!(
        "validate fix",
        place.transcript(&["validate", "--fix", "skills/slips", "skills/good"])
    );
    let expected = before
        .strip_prefix('\u{feff}')
        .unwrap()
        .replace("name: Slips", "name: slips")
        .replace("Use when: something slips", "\"Use when: something slips\"")
        .replace("allowed_tools", "allowed-tools")
        .replace("v: 1.0", "v: \"1.0\"");
    assert_eq!(place.read("skills/slips/SKILL.md"), expected);
    assert_eq!(place.read("skills/good/SKILL.md"), GOOD);
    let names: Vec<_> =
        fs::read_dir(place.path().join("skills/slips")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["SKILL.md"], "a temporary file was left behind");
}

#[test]
fn fix_keeps_line_ends_and_permissions() {
    let place = Place::new();
    let path = place
        .write("crlf/SKILL.md", "---\r\nname: Crlf\r\ndescription: Use when \\ it: slips\r\n---\r\nBody\r\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    }
    assert!(place.run(&["validate", "--fix", "crlf"]).status.success());
    let expected = "---\r\nname: crlf\r\ndescription: 'Use when \\ it: slips'\r\n---\r\nBody\r\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}

#[test]
fn a_path_can_be_a_skill_its_file_a_single_file_or_a_tree() {
    let place = mixed();
    place.write("notes.md", "---\nname: anything\ndescription: Use when noting.\n---\nNote.\n");
    place.write("plain.txt", "hello");
    fs::create_dir(place.path().join("empty")).unwrap();
    for (path, valid) in [
        ("skills/good", true),
        ("skills/good/SKILL.md", true),
        ("skills/good/", true),
        ("notes.md", true),
        ("plain.txt", false),
        ("empty", false),
        ("gone", false),
        ("skills", false),
    ] {
        assert_eq!(place.run(&["validate", path]).status.success(), valid, "{path}");
    }
    insta::assert_snapshot!(
        "validate nothing",
        place.transcript(&["validate", "empty", "gone", "plain.txt"])
    );
}

#[test]
fn a_thousand_skills_come_in_order() {
    let place = Place::new();
    for index in 0..1000 {
        let text = format!("---\nname: s{index:04}\ndescription: Use when {index}.\n---\nDo {index}.\n");
        place.write(&format!("many/s{index:04}/SKILL.md"), text);
    }
    let report = place.json(&["validate", "--json", "many"]);
    let names: Vec<String> = report["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, (0..1000).map(|index| format!("s{index:04}")).collect::<Vec<_>>());
}

#[test]
fn warnings_can_be_denied_and_paths_are_shown_plainly() {
    let place = Place::new();
    place.write("w/SKILL.md", "---\nname: w\ndescription: Use when x\ntags: [a]\n---\nX\n");
    assert_eq!(place.run(&["validate"]).status.code(), Some(0));
    assert_eq!(place.run(&["validate", "--deny-warnings"]).status.code(), Some(1));
    let report = place.json(&["validate", "--json"]);
    assert_eq!(report["skills"][0]["path"], "w");
    assert_eq!(report["skills"][0]["diagnostics"][0]["file"], "w/SKILL.md");
}

#[test]
fn looking_at_skill_md_alone_leaves_out_the_files_around_it() {
    let place = mixed();
    let all = String::from_utf8(place.run(&["validate", "--format", "github", "skills"]).stdout).unwrap();
    let alone =
        String::from_utf8(place.run(&["validate", "--skill-md-only", "--format", "github", "skills"]).stdout)
            .unwrap();
    let around = ["resource-", "script-", "reference-", "skill-nested"];
    let expected: Vec<&str> =
        all.lines().filter(|line| !around.iter().any(|code| line.contains(code))).collect();
    assert_eq!(alone.lines().collect::<Vec<_>>(), expected);
    assert!(expected.len() < all.lines().count());
}

#[test]
fn what_is_not_searched_is_reported() {
    let place = Place::new();
    place.skill("skills/fine", "Use it.");
    place.skill("skills/target/built", "Use it.");
    place.skill("skills/.venv/installed", "Use it.");
    let deep = format!("skills/{}", vec!["d"; 34].join("/"));
    place.skill(&format!("{deep}/lost"), "Use it.");
    for command in
        [&["validate", "--json", "skills"][..], &["validate", "--skill-md-only", "--json", "skills"]]
    {
        let output = place.run(command);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let skills = report["skills"].as_array().unwrap();
        let paths: Vec<&str> = skills.iter().map(|skill| skill["path"].as_str().unwrap()).collect();
        let cut = format!("skills/{}", vec!["d"; 32].join("/"));
        assert_eq!(paths, [cut.as_str(), "skills/fine"], "the catalog does not enter the others either");
        assert_eq!(output.status.code(), Some(1));
        assert!(skills[0].to_string().contains("not searched"), "{}", skills[0]);
    }
    let scanned = place.run(&["scan", "skills"]);
    assert!(String::from_utf8_lossy(&scanned.stdout).contains("not searched"), "{scanned:?}");
    assert_ne!(scanned.status.code(), Some(0));
}

#[test]
fn a_directory_that_cannot_be_listed_is_reported() {
    let place = Place::new();
    place.skill("skills/fine", "Use it.");
    let closed = place.path().join("skills/closed");
    std::fs::create_dir(&closed).unwrap();
    crate::store_support::set_mode(&closed, 0o311);
    let mut command = if std::fs::read_dir(&closed).is_ok() {
        // Root can list every directory, so the command runs as another user.
        crate::store_support::set_mode(place.path(), 0o755);
        let copy = place.path().join("metier");
        std::fs::copy(env!("CARGO_BIN_EXE_metier"), &copy).unwrap();
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(copy);
        command
    } else {
        std::process::Command::new(env!("CARGO_BIN_EXE_metier"))
    };
    command.args(["validate", "--skill-md-only", "skills"]).current_dir(place.path());
    let output = command.env_clear().env("PATH", "/usr/bin:/bin").output().unwrap();
    crate::store_support::set_mode(&closed, 0o755);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("skills/closed"), "{output:?}");
}

/// What `metier validate` says about a text on standard input.
fn validate_text(place: &Place, args: &[&str], text: &str) -> String {
    let args = [&["validate"], args].concat();
    let mut command = place.at_home(&args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Where the arguments are wrong, nothing is read.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    place.transcript_of(&args, &child.wait_with_output().unwrap())
}

#[test]
fn concise_has_one_line_per_finding() {
    let place = mixed();
    let report = place.json(&["validate", "--json", "skills"]);
    let findings = report["skills"].as_array().unwrap().iter().flat_map(|skill| {
        skill["diagnostics"].as_array().unwrap().iter().map(|found| {
            let text = |key: &str| found[key].as_str().unwrap().to_owned();
            let (line, column) = (&found["line"], &found["column"]);
            let (file, severity) = (text("file"), text("severity"));
            format!("{file}:{line}:{column}: {severity}: {}: {}", text("code"), text("message"))
        })
    });
    let output = place.run(&["validate", "--format", "concise", "skills"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.lines().collect::<Vec<_>>(), findings.collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(
        "validate concise",
        place.transcript(&["validate", "--format", "concise", "skills/slips", "skills/good"])
    );
}

#[test]
fn a_path_cannot_start_a_github_command_in_concise_lines() {
    let place = Place::new();
    place.write("::error title=forged::x/SKILL.md", "---\nname: x\n---\n");
    for command in ["validate", "scan"] {
        let output = place.run(&[command, "--format", "concise"]);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(!printed.lines().any(|line| line.starts_with("::")), "{printed}");
    }
    let printed = place.transcript(&["validate", "--format", "concise"]);
    assert!(
        printed.contains("\n./::error title=forged::x/SKILL.md:2:1: error: description-missing: "),
        "{printed}"
    );
}

#[test]
fn findings_are_counted_per_rule_where_one_repeats() {
    let place = Place::new();
    for name in ["a", "b", "c"] {
        let text = format!("---\nname: {name}\ndescription: Use when x\ntags: [a]\nlevel: 1\n---\nX\n");
        place.write(&format!("skills/{name}/SKILL.md"), text);
    }
    place.write("skills/d/SKILL.md", "---\nname: D\ndescription: Use when x\n---\nX\n");
    let printed = place.transcript(&["validate", "skills"]);
    let counts = "\nFindings per rule\n     6  field-unknown\n     1  name-mismatch\n     1  name-not-lowercase\n\n4 skills: ";
    assert!(printed.contains(counts), "{printed}");
    assert!(!place.transcript(&["validate", "skills/d"]).contains("per rule"));
    assert!(!place.transcript(&["validate", "--quiet", "skills"]).contains("per rule"));
}

#[test]
fn a_directory_without_skills_is_no_error_where_none_was_named() {
    let place = Place::new();
    place.write("README.md", "# Nothing here\n");
    insta::assert_snapshot!("validate no skills", place.transcript(&["validate"]));
    assert_eq!(place.json(&["validate", "--json"]), json!({"skills": []}));
    fs::create_dir(place.path().join("empty")).unwrap();
    assert_eq!(place.run(&["validate", "empty"]).status.code(), Some(1), "this one was named");
}

#[test]
fn standard_input_is_checked_as_the_file_that_it_stands_for() {
    let place = Place::new();
    let text = "---\nname: Slips\ndescription: Use when: it slips\n---\nDo it.\n";
    insta::assert_snapshot!("validate stdin", validate_text(&place, &["--format", "concise", "-"], text));
    let named = ["--format", "concise", "-", "--stdin-filename", "skills/slips/SKILL.md"];
    insta::assert_snapshot!("validate stdin named", validate_text(&place, &named, text));
    let advice = validate_text(&place, &["-"], "---\nname: x\ndescription: Does it.\n---\n");
    assert!(advice.contains("description-no-trigger") && advice.contains("body-empty"), "{advice}");
    assert!(advice.ends_with("\nexit: 0\n"), "{advice}");
    let large = validate_text(&place, &["-"], &"x".repeat((1 << 20) + 10));
    assert!(large.contains("skill-md-too-large"), "{large}");
    insta::assert_snapshot!("validate stdin diff", validate_text(&place, &["--fix", "--diff", "-"], text));
    for wrong in [&["--fix", "-"][..], &["-", "-"], &["--stdin-filename", "x.md"]] {
        let refused = validate_text(&place, wrong, text);
        assert!(refused.ends_with("\nexit: 2\n"), "{refused}");
    }
}

#[test]
fn a_diff_shows_what_fix_would_change_and_changes_nothing() {
    let place = mixed();
    place.write("skills/good/SKILL.md", GOOD);
    let before = place.read("skills/slips/SKILL.md");
    insta::assert_snapshot!("validate diff", place.transcript(&["validate", "--fix", "--diff", "skills"]));
    assert_eq!(place.read("skills/slips/SKILL.md"), before);
    // The diff is what `--fix` does.
    let diff = place.run(&["validate", "--diff", "--quiet", "skills"]).stdout;
    place.write("fixes.diff", diff);
    fs::create_dir(place.path().join("copy")).unwrap();
    place.write("copy/skills/slips/SKILL.md", &before);
    let mut patch = Command::new("git");
    patch.args(["apply", "-p0", "../fixes.diff"]).current_dir(place.path().join("copy"));
    let patched = patch.env("GIT_CEILING_DIRECTORIES", place.path()).output().unwrap();
    assert!(patched.status.success(), "{patched:?}");
    place.run(&["validate", "--fix", "skills"]);
    assert_ne!(place.read("skills/slips/SKILL.md"), before);
    assert_eq!(place.read("copy/skills/slips/SKILL.md"), place.read("skills/slips/SKILL.md"));
    let none = place.transcript(&["validate", "--fix", "--diff", "skills/good"]);
    assert!(none.contains("stderr: no finding can be fixed automatically\nexit: 0"), "{none}");
}

#[test]
fn absolute_paths_below_the_working_directory_are_shown_relative() {
    let place = mixed();
    let skill = fs::canonicalize(place.path()).unwrap().join("skills/slips");
    let skill = skill.to_str().unwrap();
    for format in ["text", "concise", "github", "sarif"] {
        let output = place.run(&["validate", "--format", format, skill]);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains("skills/slips/SKILL.md") && !printed.contains(skill), "{printed}");
    }
    assert_eq!(place.json(&["validate", "--json", skill])["skills"][0]["path"], skill);
    let scanned = String::from_utf8(place.run(&["scan", "--format", "concise", skill]).stdout).unwrap();
    assert!(!scanned.contains(skill), "{scanned}");
}

#[test]
fn code_scanning_keeps_validate_and_scan_apart() {
    let place = mixed();
    for command in ["validate", "scan"] {
        let sarif = place.json(&[command, "--format", "sarif", "skills/good"]);
        assert_eq!(sarif["runs"][0]["automationDetails"]["id"], format!("metier/{command}/"));
    }
}
