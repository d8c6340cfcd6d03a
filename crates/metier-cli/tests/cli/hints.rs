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

#[test]
fn text_of_the_template_is_noted_before_others_get_it() {
    let place = Place::new();
    place.at_home(&["new", "draft"]).output().unwrap();
    let key = place.path().join("key");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key)
        .status();
    let mut commands = vec![vec!["pack", "draft"], vec!["install", "./draft"]];
    if made.is_ok_and(|status| status.success()) {
        commands.push(vec!["sign", "draft", "--key", "key"]);
    }
    for args in commands {
        let output = place.at_home(&args).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {told}");
        for finding in ["`description` is still template text", "a `TODO:` from the template is left"] {
            assert!(told.contains(finding), "{args:?}: {told}");
        }
    }
    place.skill("done", "Use it.");
    assert_eq!(told(&place, &["pack", "done"]), "");
}

#[test]
fn a_skill_that_was_refused_is_not_offered_to_models_and_noted_where_it_is_installed() {
    let place = Place::new();
    place.skill("source/pdf", "Use it.");
    place.skill("me/.agents/skills/own", "Use it.");
    let installed = place.at_home(&["install", "./source/pdf"]).output().unwrap();
    assert!(installed.status.success(), "{installed:?}");
    assert!(place.at_home(&["approve", "pdf", "--refuse"]).output().unwrap().status.success());
    let prompt = place.at_home(&["prompt"]).output().unwrap();
    let list = String::from_utf8_lossy(&prompt.stdout).into_owned();
    assert!(list.contains("<name>own</name>") && !list.contains("<name>pdf</name>"), "{list}");
    let note = "note: `pdf` will not be loaded until its content changes";
    assert!(String::from_utf8_lossy(&prompt.stderr).contains(note), "{prompt:?}");
    let explained = place.json_at_home(&["prompt", "--explain", "--json"]);
    let reasons: Vec<_> = explained["not_shown"].as_array().unwrap().iter().collect();
    assert!(
        matches!(reasons[..], [one] if one["reason"] == "refused" && one["id"] == "third_party/pdf"),
        "{explained}"
    );
    assert!(place.at_home(&["remove", "pdf"]).output().unwrap().status.success());
    assert!(told(&place, &["install", "./source/pdf"]).contains(note));
    // The answer is about one content.
    place.skill("source/pdf", "Use it better.");
    assert!(!told(&place, &["update", "--yes"]).contains(note));
    let list = place.at_home(&["prompt"]).output().unwrap();
    assert!(String::from_utf8_lossy(&list.stdout).contains("<name>pdf</name>"), "{list:?}");
}

#[test]
fn a_budget_leaves_out_the_skills_inside_metier_first_and_says_what_it_needs() {
    let place = Place::new();
    place.skill("me/.agents/skills/zebra", "Draws stripes. Use when stripes are wanted.");
    let prompt = |budget: &str| place.at_home(&["prompt", "--budget", budget]).output().unwrap();
    let small = prompt("10");
    assert_eq!((small.status.code(), small.stdout.is_empty()), (Some(1), true), "{small:?}");
    let told = String::from_utf8(small.stderr).unwrap();
    let (_, needed) = told.split_once("no skill fits into 10 tokens; use a budget of at least ").unwrap();
    let needed: usize = needed.lines().next().unwrap().parse().unwrap();
    let enough = prompt(&needed.to_string());
    let list = String::from_utf8_lossy(&enough.stdout).into_owned();
    assert!(enough.status.success() && list.contains("<name>zebra</name>"), "{list}");
    assert!(list.contains("2 more skills are left out"), "{list}");
    let almost = prompt(&(needed - 1).to_string());
    assert!(String::from_utf8_lossy(&almost.stderr).contains(&format!("at least {needed}\n")), "{almost:?}");
}

#[test]
fn a_name_in_the_place_of_a_path_is_explained() {
    let place = Place::new();
    place.skill("me/.agents/skills/own", "Use it.");
    insta::assert_snapshot!("validate a name", place.transcript_at_home(&["validate", "own"]));
    assert!(!told(&place, &["validate", "nosuch"]).contains("is a skill at"));
}

#[test]
fn metier_alone_counts_skills_by_whose_they_are() {
    let place = Place::new();
    place.skill("me/.agents/skills/own", "Use it.");
    place.skill(".agents/skills/theirs", "Use it.");
    let output = place.at_home(&[]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("skills          1 of yours, 1 third-party, 2 built in\n"), "{text}");
}
