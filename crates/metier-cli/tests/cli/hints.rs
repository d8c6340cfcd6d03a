//! Notes about what a person probably did not mean.

use crate::support::Place;

/// What a command prints on standard error.
fn told(place: &Place, args: &[&str]) -> String {
    String::from_utf8(place.at_home(args).output().unwrap().stderr).unwrap()
}

#[test]
fn a_call_that_no_agent_makes_is_noted() {
    let place = Place::new();
    let check = |tool: &str, input: &[&str]| {
        let args = [&["policy", "check", "--allowed-tools", "Bash(git *)", "--tool", tool], input].concat();
        told(&place, &args)
    };
    assert_eq!(check("Bsh", &["--input", "git log"]), "note: unknown tool `Bsh`; did you mean `Bash`?\n");
    assert_eq!(check("Bash", &[]), "note: the call of `Bash` has no command; give it with `--input`\n");
    assert_eq!(check("Bash", &["--input", "git log"]), "");
    assert_eq!(check("mcp__github__get_issue", &[]), "", "tools of MCP servers have any name");
    assert_eq!(check("Bsh", &["--quiet"]), "");
}

#[test]
fn a_project_s_broken_settings_are_noted_wherever_they_are_ignored() {
    let place = Place::new();
    place.write("metier.toml", "roots = ['skills']\n[policy\n");
    let note = "note: ignoring the project's settings: ";
    let reason = "metier.toml: line 2, column 8: unclosed table, expected `]`\n  | [policy\n  |        ^\n";
    for args in [&["list"][..], &["policy", "check", "--tool", "Read", "--input", "x"]] {
        let told = told(&place, args);
        assert!(told.starts_with(note) && told.contains(reason), "{args:?}: {told}");
        assert_eq!(told.matches(note).count(), 1, "{args:?}: {told}");
    }
    place.skill("me/.agents/skills/own", "Use it.");
    let with_skill = told(&place, &["policy", "check", "--skill", "own", "--tool", "Read", "--input", "x"]);
    assert_eq!(with_skill.matches(note).count(), 1, "{with_skill}");
    let checkup = place.json_at_home(&["doctor", "--json"]);
    let about: Vec<(&str, &str)> = checkup["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["check"] == "settings")
        .map(|check| (check["status"].as_str().unwrap(), check["message"].as_str().unwrap()))
        .collect();
    let [("ok", read), ("notice", ignored)] = about[..] else { panic!("{about:?}") };
    assert!(read.starts_with("0 files read"), "{read}");
    assert!(ignored.starts_with("ignored: ") && ignored.contains("unclosed table"), "{ignored}");
    assert!(!told(&place, &["doctor"]).contains(note), "doctor has a check for it");
}
