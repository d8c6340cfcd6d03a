//! `metier` alone, and what is said after installing: what is here, and what to do next.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::Place;

/// A place with the programs of some agents in `bin`.
fn with_agents(names: &[&str]) -> Place {
    let place = Place::new();
    for name in names {
        let program = place.write(&format!("bin/{name}"), "#!/bin/sh\nexit 1\n");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    place
}

/// What a person sees who has these agents.
fn transcript(place: &Place, args: &[&str]) -> String {
    let output = place.at_home(args).env("PATH", place.path().join("bin")).output().unwrap();
    place.transcript_of(args, &output)
}

#[test]
fn alone_it_shows_what_is_here_and_the_next_step() {
    let place = with_agents(&["claude", "codex"]);
    insta::assert_snapshot!("nothing yet", transcript(&place, &[]));
    place.skill("source/pdf", "Fills in forms. Use when there is a form.");
    insta::assert_snapshot!("install", transcript(&place, &["install", "./source/pdf"]));
    place.skill("me/.claude/skills/commit-message", "Use when you commit.");
    place.skill("me/.claude/skills/Broken", "Use never.");
    insta::assert_snapshot!("some skills", transcript(&place, &[]));
    let log = place.json_at_home(&["audit", "stats", "--json"]);
    assert!(!log.to_string().contains("commit-message"), "looking is not recorded: {log}");
    place.write("me/.config/metier/config.toml", "profile = 'strikt'\n");
    insta::assert_snapshot!("wrong settings", transcript(&place, &[]));
}

#[test]
fn alone_without_home_and_agents_it_still_answers() {
    let place = Place::new();
    insta::assert_snapshot!("no home", place.transcript(&[]));
    let quiet = place.run(&["--quiet"]);
    assert!(String::from_utf8_lossy(&quiet.stdout).starts_with("skills "), "{quiet:?}");
}

#[test]
fn links_of_removed_skills_can_be_undone() {
    let place = with_agents(&["claude"]);
    place.skill("source/pdf", "Fills in forms. Use when there is a form.");
    place.skill("source/ocr", "Reads scans. Use when there is a scan.");
    let done = |args: &[&str]| {
        let output = place.at_home(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    done(&["install", "source", "--all"]);
    done(&["link", "claude", "pdf", "ocr"]);
    let foreign = place.path().join("me/.claude/skills/foreign");
    std::os::unix::fs::symlink("/nowhere", &foreign).unwrap();
    done(&["remove", "pdf", "ocr"]);
    assert!(done(&["link", "claude", "pdf", "--undo"]).contains("1 link removed"));
    assert!(done(&["link", "claude", "--all", "--undo"]).contains("1 link removed"));
    let left: Vec<_> =
        fs::read_dir(foreign.parent().unwrap()).unwrap().flatten().map(|link| link.path()).collect();
    assert_eq!(left, [foreign], "links of others stay");
}

#[test]
fn a_link_that_raises_the_trust_is_reported() {
    let place = with_agents(&["claude"]);
    place.skill(".agents/skills/theirs", "Use it.");
    place.skill("me/.agents/skills/own", "Use it.");
    let linked = place.at_home(&["link", "claude", "theirs"]).output().unwrap();
    let notes = String::from_utf8_lossy(&linked.stderr).into_owned();
    assert!(linked.status.success() && notes.contains("`theirs` is a third-party skill"), "{linked:?}");
    let linked = place.at_home(&["link", "claude", "own"]).output().unwrap();
    assert!(
        linked.status.success() && !String::from_utf8_lossy(&linked.stderr).contains("third-party"),
        "{linked:?}"
    );
}

#[test]
fn links_are_recorded_also_those_before_a_failure() {
    let place = with_agents(&["claude"]);
    place.skill("me/.agents/skills/own", "Use it.");
    place.skill("me/.agents/skills/zoo", "Use it.");
    place.write("me/.claude/skills/zoo/notes.txt", "");
    let code = |args: &[&str]| place.at_home(args).output().unwrap().status.code();
    assert_eq!(code(&["link", "claude", "own", "zoo"]), Some(2), "another directory has the name");
    assert_eq!(code(&["link", "claude", "own"]), Some(0), "nothing changes, nothing is recorded");
    assert_eq!(code(&["link", "claude", "own", "--undo"]), Some(0));
    let log = place.at_home(&["audit", "log", "--json"]).output().unwrap();
    let events: Vec<serde_json::Value> = String::from_utf8(log.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].clone())
        .filter(|event| event["kind"].as_str().unwrap().ends_with("linked"))
        .collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["skills.linked", "skills.unlinked"]);
    for event in &events {
        assert!(event["skills"]["own"].as_str().unwrap().ends_with("me/.agents/skills/own"), "{event}");
        assert!(event["place"].as_str().unwrap().ends_with("me/.claude/skills"), "{event}");
    }
    let broken =
        place.at_home(&["link", "claude", "own"]).env("METIER_JOURNAL", "nosuch/journal.db").output();
    assert!(!broken.unwrap().status.success());
    assert!(!place.path().join("me/.claude/skills/own").exists(), "what cannot be recorded is not done");
}

#[test]
fn skills_inside_metier_are_not_linked() {
    let place = with_agents(&["claude"]);
    place.skill("me/.agents/skills/own", "Use it.");
    insta::assert_snapshot!(
        "link one inside metier",
        transcript(&place, &["link", "claude", "using-metier"])
    );
    insta::assert_snapshot!("link all, some inside metier", transcript(&place, &["link", "claude", "--all"]));
}

#[test]
fn what_is_installed_becomes_visible_and_is_trusted_no_further() {
    let place = with_agents(&["claude"]);
    place.skill("source/pdf", "Fills in forms. Use when there is a form.");
    assert!(place.at_home(&["install", "./source/pdf"]).output().unwrap().status.success());
    let linked = place.at_home(&["link", "claude", "pdf"]).output().unwrap();
    assert!(linked.status.success(), "{linked:?}");
    let link = place.path().join("me/.claude/skills/pdf");
    assert!(fs::read_to_string(link.join("SKILL.md")).unwrap().contains("Fills in forms."));
    let list = place.json_at_home(&["list", "--json"]);
    let pdf = list["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == "pdf").unwrap();
    assert_eq!(pdf["tier"], "third_party", "a link does not raise the tier: {list}");
    // An update reaches the agent.
    place.skill("source/pdf", "Fills in forms better. Use when there is a form.");
    assert!(place.at_home(&["update", "--yes"]).output().unwrap().status.success());
    assert!(fs::read_to_string(link.join("SKILL.md")).unwrap().contains("better"));
    // All of them, twice, and all away again; nothing that is not a link goes.
    place.skill("me/.agents/skills/own", "Use it.");
    place.skill("me/.claude/skills/real", "Use it.");
    for (args, said) in [
        (&["link", "claude", "--all"][..], "1 link created, 2 already visible"),
        (&["link", "claude", "--all"], "0 links created, 3 already visible"),
        (&["link", "claude", "--all", "--undo"], "2 links removed"),
    ] {
        let output = place.at_home(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(said), "{args:?}: {text} {output:?}");
    }
    let left: Vec<_> = fs::read_dir(place.path().join("me/.claude/skills")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn skills_are_named_without_a_flag() {
    let place = Place::new();
    for name in ["one", "two"] {
        place.skill(&format!("me/.claude/skills/{name}"), "Use it.");
    }
    for (args, made) in [
        (&["mount", "a", "one", "two=three"][..], &["one", "three"][..]),
        (&["mount", "b", "me/.claude/skills/two"], &["two"]),
        (&["mount", "c", "--all"], &["one", "two", "using-metier", "writing-skills"]),
    ] {
        let output = place.at_home(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut names: Vec<_> = fs::read_dir(place.path().join(args[1])).unwrap().flatten().collect();
        names.sort_by_key(fs::DirEntry::file_name);
        let names: Vec<String> = names.iter().map(|entry| entry.file_name().into_string().unwrap()).collect();
        assert_eq!(names, made, "{args:?}");
    }
    let ran = place
        .at_home(&["run", "claude", "one", "--program", "/bin/sh", "--", "-c", "ls $HOME/.claude/skills"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "one\n", "{ran:?}");
}

/// A skill that is only known by its link, because it was linked by its path or from a root.
#[test]
fn links_by_path_are_undone_by_name_and_all_together() {
    let place = with_agents(&["claude"]);
    for name in ["one", "two", "three"] {
        place.skill(&format!("work/{name}"), "Use it.");
    }
    let said = |args: &[&str]| {
        let output = place.at_home(args).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let all = ["link", "claude", "--all", "--undo"];
    assert!(said(&["link", "claude", "./work/one"]).1.contains("1 link created"));
    assert!(said(&["link", "claude", "one", "--undo"]).1.contains("1 link removed"));
    assert!(said(&["link", "claude", "./work/one"]).1.contains("1 link created"));
    assert!(said(&["link", "claude", "./work/one", "--undo"]).1.contains("1 link removed"));
    assert!(said(&["link", "claude", "--root", "work"]).1.contains("3 links created"));
    assert!(said(&["link", "claude", "two", "--undo"]).1.contains("1 link removed"));
    // Links that metier did not make stay.
    let foreign = place.path().join("me/.claude/skills/foreign");
    place.skill("work/foreign", "Use it.");
    std::os::unix::fs::symlink(place.path().join("work/foreign"), &foreign).unwrap();
    assert!(said(&all).1.contains("2 links removed"));
    let (code, told) = said(&["link", "claude", "foreign", "--undo"]);
    assert!(
        code != Some(0) && told.contains("the journal does not say that metier made this link"),
        "{told}"
    );
    assert!(told.contains("rm '") && foreign.is_symlink(), "{told}");
}

#[test]
fn removing_a_linked_skill_names_the_command_for_its_broken_link() {
    let place = with_agents(&["claude"]);
    place.skill("source/pdf", "Fills in forms. Use when there is a form.");
    for args in [&["install", "./source/pdf"][..], &["link", "claude", "pdf"]] {
        assert!(place.at_home(args).output().unwrap().status.success());
    }
    let told = String::from_utf8(place.at_home(&["remove", "pdf"]).output().unwrap().stderr).unwrap();
    assert!(told.contains("metier link claude pdf --undo"), "{told}");
    let undone = place.at_home(&["link", "claude", "pdf", "--undo"]).output().unwrap();
    assert!(
        undone.status.success() && !place.path().join("me/.claude/skills/pdf").is_symlink(),
        "{undone:?}"
    );
}

/// The source of an installed third-party skill, linked by its path, counts as the user's own.
#[test]
fn linking_the_source_of_an_installed_skill_reports_the_raised_trust() {
    let place = with_agents(&["claude"]);
    place.skill("source/pdf", "Fills in forms. Use when there is a form.");
    assert!(place.at_home(&["install", "./source/pdf"]).output().unwrap().status.success());
    let linked = place.at_home(&["link", "claude", "./source/pdf"]).output().unwrap();
    let told = String::from_utf8(linked.stderr).unwrap();
    assert!(
        told.contains("`third_party/pdf` is a third-party skill") && told.contains("tier `user`"),
        "{told}"
    );
}
