//! `metier list`, `show NAME`, `trust`, `config`, `doctor`: the catalog as people and programs see it.

use serde_json::{Value, json};

use crate::support::Place;
use crate::terminal::at_terminal;

/// A project with skills of every kind, and a home.
fn project() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path().join(".git")).unwrap();
    place.skill(".agents/skills/release-notes", "Use when the project is released.");
    place.skill(".claude/skills/pdf", "Use when the project has forms to fill in.");
    place.skill("me/.claude/skills/pdf", "Use when you have a PDF of your own.");
    place.skill("me/.agents/skills/commit-message", "Use when you commit.");
    place.write(
        "me/.claude/skills/broken/SKILL.md",
        "---\nname: Broken\ndescription: Use never.\n---\nDo it.\n",
    );
    place
}

#[test]
fn a_table_and_what_is_not_in_it() {
    let place = project();
    insta::assert_snapshot!("list", place.transcript_at_home(&["list"]));
    insta::assert_snapshot!("list all", place.transcript_at_home(&["list", "--all"]));
}

#[test]
fn with_nothing_at_all_it_says_where_skills_go() {
    let place = Place::new();
    insta::assert_snapshot!("list nothing", place.transcript_at_home(&["list"]));
    insta::assert_snapshot!("list nothing, no home", place.transcript(&["list"]));
}

#[test]
fn json_has_the_documented_shape() {
    let place = project();
    let listed = place.json_at_home(&["list", "--json"]);
    let names: Vec<&str> =
        listed["skills"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["broken", "commit-message", "pdf", "release-notes", "using-metier", "writing-skills"]);
    let pdf = &listed["skills"][2];
    let path = std::fs::canonicalize(place.path()).unwrap().join("me/.claude/skills/pdf");
    let digest = metier_skill::Digest::of(place.read("me/.claude/skills/pdf/SKILL.md").as_bytes());
    let wanted = json!({
        "id": "user/pdf",
        "name": "pdf",
        "description": "Use when you have a PDF of your own.",
        "tier": "user",
        "scope": "user",
        "path": path,
        "skill_md_digest": digest,
        "enabled": true,
        "state": "on",
        "last_modified": pdf["last_modified"],
    });
    assert!(metier_journal::Time::parse(pdf["last_modified"].as_str().unwrap()).is_some(), "{pdf}");
    assert_eq!(*pdf, wanted);
    assert_eq!(listed["shadowed"][0]["id"], "third_party/pdf");
    assert_eq!(listed["shadowed"][0]["shadowed_by"], "user/pdf");
    assert_eq!(listed["problems"], json!([]));
    let warning = &listed["warnings"][0];
    assert_eq!(warning["code"], "name-not-lowercase");
    assert!(warning["path"].as_str().unwrap().ends_with("me/.claude/skills/broken"));
    assert!(warning["message"].as_str().unwrap().contains("Broken"));
    assert_eq!(warning["refused_by"], json!(["Zed", "skills-ref"]));
}

fn state_of<'a>(listed: &'a Value, name: &str) -> Option<&'a str> {
    let row = listed["skills"].as_array().unwrap().iter().find(|row| row["name"] == name)?;
    row["state"].as_str()
}

#[test]
fn given_roots_replace_the_usual_ones() {
    let place = project();
    place.skill("vendor/tool", "Use a tool.");
    place.skill("vendor/pdf", "Use theirs.");
    let listed = place.json_at_home(&["list", "--json", "--root", "vendor:third_party"]);
    assert_eq!(listed["skills"].as_array().unwrap().len(), 2);
    assert_eq!(listed["skills"][0]["id"], "third_party/pdf");
    let two = place.json_at_home(&[
        "list",
        "--json",
        "--root",
        "vendor:org",
        "--root",
        "me/.claude/skills:builtin",
    ]);
    assert_eq!(two["skills"][1]["id"], "builtin/pdf");
    assert_eq!(two["shadowed"][0]["id"], "org/pdf");
    for command in
        ["list", "search x", "show x", "prompt", "validate nowhere", "scan nowhere", "digest nowhere"]
    {
        let words: Vec<&str> = command.split(' ').collect();
        let root = if command.ends_with("nowhere") { &[][..] } else { &["--root", "nowhere"] };
        let none = place.at_home(&[&words, root].concat()).output().unwrap();
        assert_eq!(none.status.code(), Some(4), "{command}: {none:?}");
        assert!(
            String::from_utf8([none.stdout, none.stderr].concat()).unwrap().contains("nowhere"),
            "{command}"
        );
    }
    let wrong = place.at_home(&["list", "--root", "vendor:mine"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("builtin, org, user or third_party"));
}

#[test]
fn what_other_agents_load_is_loaded_unless_another_profile_is_asked_for() {
    let place = project();
    let is_loaded = |args: &[&str]| {
        let listed = place.json_at_home(&[&["list", "--json"], args].concat());
        let is_listed = state_of(&listed, "broken") == Some("on");
        let (warnings, problems) = (&listed["warnings"], &listed["problems"]);
        let (told, other) = if is_listed { (warnings, problems) } else { (problems, warnings) };
        assert_eq!(told[0]["code"], "name-not-lowercase", "{args:?}: {listed}");
        assert_eq!(told[0]["refused_by"], json!(["Zed", "skills-ref"]), "{args:?}: {listed}");
        assert!(other.as_array().is_none_or(Vec::is_empty), "{args:?}: {listed}");
        is_listed
    };
    assert!(is_loaded(&[]) && is_loaded(&["--lenient"]) && is_loaded(&["--profile", "lenient"]));
    assert!(!is_loaded(&["--profile", "standard"]) && !is_loaded(&["--profile", "strict"]));
    place.write("me/.config/metier/config.toml", "profile = \"strict\"\n");
    assert!(!is_loaded(&[]) && is_loaded(&["--lenient"]), "a flag wins over a file");
    let both = place.at_home(&["list", "--lenient", "--profile", "strict"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn states_come_from_files_and_flags_and_what_is_off_is_left_out() {
    let place = project();
    let config = "[[skills]]\nname = \"*-message\"\nstate = \"off\"\n\n[[skills]]\ntier = \"builtin\"\nstate = \"name-only\"\n";
    place.write("me/.config/metier/config.toml", config);
    let listed =
        place.json_at_home(&["list", "--json", "--state", "pdf=user-only", "--state", "commit-message=on"]);
    assert_eq!(state_of(&listed, "pdf"), Some("user-only"));
    assert_eq!(state_of(&listed, "using-metier"), Some("name-only"));
    assert_eq!(state_of(&listed, "commit-message"), None, "what a file turned off no flag turns on");
    let all = place.json_at_home(&["list", "--json", "--all"]);
    assert_eq!(state_of(&all, "commit-message"), Some("off"));
    assert_eq!(place.at_home(&["list", "--state", "pdf"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn trust_makes_a_project_s_skills_one_s_own() {
    let place = project();
    place.write("metier.toml", "roots = [\"extra\"]\nbuiltin = false\n");
    place.skill("extra/more", "Use more.");
    insta::assert_snapshot!("list untrusted", place.transcript_at_home(&["list"]));
    insta::assert_snapshot!("trust", place.transcript_at_home(&["trust", "."]));
    insta::assert_snapshot!("list trusted", place.transcript_at_home(&["list"]));
    insta::assert_snapshot!("trust list", place.transcript_at_home(&["trust", "--list"]));
    insta::assert_snapshot!("trust remove", place.transcript_at_home(&["trust", "--remove", "."]));
    insta::assert_snapshot!("trust nothing", place.transcript_at_home(&["trust", "nowhere"]));
    assert_eq!(place.json_at_home(&["trust", "--list", "--json"]), json!({ "trusted": [] }));
    let log = place.transcript_at_home(&["audit", "log", "--kind", "trust.changed", "--json"]);
    let record = |trusted: bool| {
        let marked = log.lines().filter(|line| line.contains(&format!("\"trusted\":{trusted}")));
        marked.filter(|line| line.contains("\"folder\":\"PLACE\"")).count()
    };
    assert_eq!((record(true), record(false)), (1, 1), "{log}");
}

#[test]
fn trust_says_where_a_link_leads_and_is_worth_nothing_without_a_record() {
    let place = project();
    place.write("real/metier.toml", "");
    std::os::unix::fs::symlink("real", place.path().join("link")).unwrap();
    insta::assert_snapshot!("trust link", place.transcript_at_home(&["trust", "link"]));
    assert!(place.at_home(&["trust", "--remove", "link"]).output().unwrap().status.success());
    let mut unrecorded = place.at_home(&["trust", "real"]);
    let refused = unrecorded.env("METIER_JOURNAL", place.path().join("nowhere/j.db")).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(place.json_at_home(&["trust", "--list", "--json"]), json!({ "trusted": [] }));
    // A mark can be taken off a folder whose settings stop everything else.
    place.write("metier.toml", "roots = [\"extra:builtin\"]\n");
    assert!(place.at_home(&["trust", "."]).output().unwrap().status.success());
    assert_eq!(place.at_home(&["list"]).output().unwrap().status.code(), Some(2));
    assert!(place.at_home(&["trust", "--remove", "."]).output().unwrap().status.success());
    assert!(place.at_home(&["list"]).output().unwrap().status.success());
}

#[test]
fn a_project_cannot_raise_itself() {
    let place = project();
    place.skill("extra/using-metier", "Use the stranger's.");
    place.write("metier.toml", "roots = [\"extra:builtin\"]\nprecedence = [\"third_party\"]\n");
    let listed = place.json_at_home(&["list", "--json"]);
    assert_eq!(listed["shadowed"].as_array().unwrap().len(), 2);
    assert!(listed["skills"].as_array().unwrap().iter().any(|row| row["id"] == "builtin/using-metier"));
    assert!(place.at_home(&["trust", "."]).output().unwrap().status.success());
    let refused = place.at_home(&["list"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot give its roots the tier `builtin`"));
}

#[test]
fn config_says_where_each_value_came_from() {
    let place = project();
    place.write("me/.config/metier/config.toml", "profile = \"lenient\"\n[scan]\ndepth = 3\n");
    let mut command = place.at_home(&["config", "--state", "pdf=off"]);
    let output = command.env("METIER_INDEX", "off").env("METIER_WHAT", "1").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    let place_path = std::fs::canonicalize(place.path()).unwrap();
    insta::assert_snapshot!("config", text.replace(place_path.to_str().unwrap(), "PLACE"));
    let settings = place.json_at_home(&["config", "--json"]);
    let settings = settings["settings"].as_array().unwrap();
    assert!(settings.iter().any(|setting| setting["key"] == "profile" && setting["value"] == "lenient"));
}

#[test]
fn mistakes_in_settings_are_shown_where_they_are() {
    let place = Place::new();
    place.write("me/.config/metier/config.toml", "profile = \"standard\"\nrots = []\n");
    insta::assert_snapshot!("config mistake", place.transcript_at_home(&["list"]));
    place.write("me/.config/metier/config.toml", "[[skills]]\nstate = \"off\"\n");
    insta::assert_snapshot!("config empty rule", place.transcript_at_home(&["list"]));
}

#[test]
fn a_skill_is_shown_by_name_and_by_id() {
    let place = project();
    place.write(
        ".claude/skills/needy/SKILL.md",
        "---\nname: needy\ndescription: Use when needy.\ncompatibility: Requires no-such-program-here\nmetadata:\n  requires: release-notes\n---\nDo it.\n",
    );
    insta::assert_snapshot!("show name", place.transcript_at_home(&["show", "needy"]));
    insta::assert_snapshot!("show id", place.transcript_at_home(&["show", "third_party/pdf"]));
    let builtin = place.json_at_home(&["show", "--json", "writing-skills"]);
    assert_eq!(builtin["catalog"]["id"], "builtin/writing-skills");
    assert_eq!(builtin["path"], "builtin:writing-skills");
    assert_eq!(builtin["files"].as_array().unwrap().len(), 2);
    insta::assert_snapshot!("show unknown", place.transcript_at_home(&["show", "nobody"]));
}

#[test]
fn what_needs_something_that_is_missing_is_listed_as_usable() {
    let place = Place::new();
    place.write(
        "skills/needy/SKILL.md",
        "---\nname: needy\ndescription: Use when needy.\nmetadata:\n  requires: absent\n---\nDo it.\n",
    );
    place.write("skills/shouting/SKILL.md", "---\nname: Shouting\ndescription: Use it.\n---\nDo it.\n");
    place.write("skills/broken/SKILL.md", "nothing\n");
    insta::assert_snapshot!(
        "list unmet",
        place.transcript_at_home(&["list", "--all", "--root", "skills", "--state", "*-*=off"])
    );
    for name in ["shouting", "broken"] {
        std::fs::remove_dir_all(place.path().join("skills").join(name)).unwrap();
    }
    let doctor = place.at_home(&["doctor", "--root", "skills"]).output().unwrap();
    assert_eq!(doctor.status.code(), Some(0), "{}", String::from_utf8_lossy(&doctor.stdout));
}

#[test]
fn one_function_decides_what_models_are_shown() {
    for file in ["crates/metier-host/src/skill_list.rs", "crates/metier-cli/src/commands/tour.rs"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(".for_models()"), "{file} decides by itself what models are shown");
    }
}

#[test]
fn doctor_says_what_it_works_with() {
    let place = project();
    insta::with_settings!({filters => vec![
        (r"index \d+ kB", "index N kB"), (r"[0-9a-f]{32}\.index", "HASH.index"),
        (r"\d+\.\d [GMK]iB", "N GiB"),
        // What other tests leave is there for a moment.
        (r"(?m)^leftovers .*(\n {16}.*)*", "leftovers       LEFT"), (r"works here; \d+ notices?", "works here; N notices"), (r"user id \d+", "user id N"), (r"version \d+", "version N"), (r"\((cgroup v\d|watched)\)", "(HOW)")
    ]}, {
        insta::assert_snapshot!("doctor", place.transcript_at_home(&["doctor"]));
    });
    let report = place.json_at_home(&["doctor", "--json"]);
    let mine = report["roots"].as_array().unwrap().iter().find(|root| root["exists"] == true).unwrap();
    assert!(mine["index_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn prompts_list_what_models_may_see() {
    let place = project();
    place.write(
        ".agents/skills/mine/SKILL.md",
        "---\nname: mine\ndescription: Use <me> & 'you'.\ndisable-model-invocation: true\n---\nDo it.\n",
    );
    place.skill(".agents/skills/marked", "Use <tags> & more.");
    let args = ["prompt", "--state", "pdf=name-only", "--state", "*-*=off"];
    insta::assert_snapshot!("prompt xml", place.transcript_at_home(&args));
    insta::assert_snapshot!(
        "prompt markdown",
        place.transcript_at_home(&[&args[..], &["--format", "markdown"]].concat())
    );
    insta::assert_snapshot!("prompt json", place.transcript_at_home(&[&args[..], &["--json"]].concat()));
    insta::assert_snapshot!(
        "prompt budget",
        place.transcript_at_home(&["prompt", "--budget", "160", "--task", "write a commit message"])
    );
    let nothing = Place::new();
    insta::assert_snapshot!("prompt nothing", nothing.transcript(&["prompt", "--root", "."]));
}

#[test]
fn prompts_name_files_that_are_there() {
    let place = Place::new();
    let prompt = place.json_at_home(&["prompt", "--json"]);
    let skills = prompt["available_skills"].as_array().unwrap();
    assert_eq!(skills.len(), 2);
    for skill in skills {
        let text = std::fs::read_to_string(skill["location"].as_str().unwrap()).unwrap();
        assert!(text.contains(&format!("name: {}", skill["name"].as_str().unwrap())));
    }
}

#[test]
fn many_skills_are_a_readable_table() {
    let place = Place::new();
    for number in 0..200 {
        place.skill(
            &format!("many/skill-{number:03}"),
            "Use when there is a long story to tell about what it does and when.",
        );
    }
    place.skill(&format!("many/{}", "n".repeat(64)), "Use a long name.");
    let (seen, _) = at_terminal(place.at_home(&["list", "--root", "many"]), 100);
    assert_eq!(seen.lines().count(), 202);
    assert!(seen.lines().all(|line| line.chars().count() <= 100), "{seen}");
    assert!(seen.ends_with("\n201 skills\n"), "{seen}");
    let one = Place::new();
    one.skill("one/alone", "Use alone.");
    insta::assert_snapshot!("list one", one.transcript_at_home(&["list", "--root", "one"]));
}

#[test]
fn a_stranger_s_settings_stop_nothing_and_lead_nowhere() {
    let place = project();
    let outside = Place::new();
    outside.skill("diary", "Use never.");
    for settings in [
        "roots = [\"skills:bogus\"]\n".to_owned(),
        "roots = 7\n".to_owned(),
        format!("roots = [\"{}\", \"/\"]\n", outside.path().display()),
        format!("# {}\n", "x".repeat(2 << 20)),
    ] {
        place.write("metier.toml", &settings);
        let listed = place.json_at_home(&["list", "--json"]);
        assert_eq!(state_of(&listed, "pdf"), Some("on"), "{settings:.60}");
        assert_eq!(state_of(&listed, "diary"), None, "{settings:.60}");
    }
}

#[test]
fn paths_that_are_not_text_are_still_json() {
    use std::os::unix::ffi::OsStrExt as _;

    let place = project();
    let odd = place.path().join(".claude/skills").join(std::ffi::OsStr::from_bytes(b"x\xff"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("SKILL.md"), "nothing").unwrap();
    assert_eq!(place.json_at_home(&["list", "--json"])["problems"].as_array().unwrap().len(), 1);
    assert_eq!(place.json_at_home(&["doctor", "--json"])["problems"].as_array().unwrap().len(), 1);
}

#[test]
fn rules_for_paths_mean_what_they_say() {
    let place = project();
    let skills = std::fs::canonicalize(place.path()).unwrap().join("me/.claude/skills");
    for pattern in [
        "~/.claude/skills/*",
        "~/.claude/skills/pdf/",
        "../../.claude/skills/pdf",
        &format!("{}/p*", skills.display()),
    ] {
        let rule = format!("[[skills]]\npath = \"{pattern}\"\nstate = \"off\"\n");
        place.write("me/.config/metier/config.toml", rule);
        let listed = place.json_at_home(&["list", "--all", "--json"]);
        let pdf = listed["skills"].as_array().unwrap().iter().find(|row| row["id"] == "user/pdf");
        // Two levels up from the file is not written in a path that was found; all others match.
        let expected = if pattern.starts_with("..") { "on" } else { "off" };
        assert_eq!(pdf.unwrap()["state"], expected, "{pattern}");
    }
    // A folder whose name would be a pattern.
    place.skill("odd[x]/skills/tool", "Use.");
    place.write(
        "odd[x]/metier.toml",
        "roots = [\"skills\"]\n[[skills]]\npath = \"./skills/*\"\nstate = \"off\"\n",
    );
    assert!(place.at_home(&["trust", "odd[x]"]).output().unwrap().status.success());
    let mut command = place.at_home(&["list", "--json"]);
    let output = command.current_dir(place.path().join("odd[x]")).output().unwrap();
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(state_of(&listed, "tool"), None);
}

#[test]
fn settings_that_are_named_must_be_there_and_empty_roots_are_none() {
    let place = project();
    let named = place.at_home(&["list"]).env("METIER_CONFIG", "nowhere.toml").output().unwrap();
    assert_eq!(named.status.code(), Some(2));
    let roots =
        place.at_home(&["list", "--json"]).env("METIER_ROOTS", "me/.agents/skills,").output().unwrap();
    let listed: Value = serde_json::from_slice(&roots.stdout).unwrap();
    assert_eq!(listed["skills"].as_array().unwrap().len(), 3, "the one given, and two inside metier");
    assert_eq!(place.at_home(&["list", "--root", ""]).output().unwrap().status.code(), Some(2));
}

#[test]
fn show_takes_names_first_and_prints_instructions() {
    let place = project();
    std::fs::create_dir(place.path().join("pdf")).unwrap();
    assert_eq!(place.json_at_home(&["show", "--json", "pdf"])["catalog"]["id"], "user/pdf");
    let body = place.at_home(&["show", "--body", "writing-skills"]).output().unwrap();
    assert!(String::from_utf8(body.stdout).unwrap().contains("# Writing skills"));
    insta::assert_snapshot!("show broken", place.transcript_at_home(&["show", "broken"]));
}

#[test]
fn prompts_name_the_file_as_it_is_called() {
    let place = Place::new();
    place.write("skills/low/skill.md", "---\nname: low\ndescription: Use when low.\n---\nDo it.\n");
    let prompt = place.json_at_home(&["prompt", "--json", "--root", "skills"]);
    assert!(prompt["available_skills"][0]["location"].as_str().unwrap().ends_with("low/skill.md"));
    std::fs::create_dir(place.path().join("empty")).unwrap();
    let none = place.json_at_home(&["prompt", "--json", "--root", "empty"]);
    assert_eq!(none["available_skills"], json!([]));
}

#[test]
fn a_skill_that_is_off_is_reported_with_the_file_and_line_that_says_so() {
    let place = project();
    place.skill("vendor/pdf", "Use theirs.");
    place.skill("vendor/tool", "Use a tool.");
    place.write(
        "me/.config/metier/config.toml",
        "profile = \"standard\"\n\n[[skills]]\nname = \"pdf\"\nstate = \"on\"\n\n[[skills]]\nname = \"p*\"\nstate = \"off\"\n",
    );
    let run = |args: &[&str]| {
        let output = place.at_home(args).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code().unwrap(), text)
    };
    let rule = "me/.config/metier/config.toml:7 (name p*)";
    let (code, text) = run(&["show", "pdf"]);
    assert!(code == 0 && text.contains("state           off, set by ") && text.contains(rule), "{text}");
    assert!(
        place.json_at_home(&["show", "--json", "pdf"])["catalog"]["state_set_by"]
            .as_str()
            .unwrap()
            .contains(rule)
    );
    for args in [
        &["activate", "pdf"][..],
        &["read", "pdf", "SKILL.md"],
        &["exec", "pdf", "x.sh"],
        &["approve", "pdf", "--yes"],
        &["policy", "check", "--skill", "pdf"],
        &["mount", "out", "--skill", "pdf"],
        &["link", "claude", "--skill", "pdf"],
        &["run", "claude", "--program", "/bin/true", "--skill", "pdf"],
    ] {
        let (code, text) = run(args);
        assert!(
            code == 3 && text.contains("`pdf` is switched off by ") && text.contains(rule),
            "{args:?}: {code} {text}"
        );
    }
    for args in [
        &["mount", "out", "--root", "me/.claude/skills", "--root", "me/.agents/skills"][..],
        &["link", "claude", "--root", "vendor"],
        &[
            "run",
            "claude",
            "--program",
            "/bin/true",
            "--root",
            "me/.claude/skills",
            "--root",
            "me/.agents/skills",
        ],
    ] {
        let (code, text) = run(args);
        assert!(
            code == 0 && text.contains("left out: `pdf` is off, set by ") && text.contains(rule),
            "{args:?}: {text}"
        );
    }
    let (_, text) = run(&["link", "claude", "--undo", "--root", "vendor"]);
    assert!(!text.contains("left out"), "{text}");
    let (code, text) = run(&["search", "pdf"]);
    assert!(
        code == 0 && text.lines().any(|line| line.starts_with("pdf ") && line.contains("[off]")),
        "{text}"
    );
    let prompt = run(&["prompt", "--task", "pdf"]).1;
    assert!(!prompt.contains("PDF of your own"), "models are not shown it: {prompt}");
}

#[test]
fn a_name_that_was_mistyped_or_is_a_path_gets_a_hint() {
    let place = project();
    for args in [
        &["show", "comit-message"][..],
        &["activate", "comit-message"],
        &["read", "comit-message", "SKILL.md"],
        &["exec", "comit-message", "x.sh"],
        &["approve", "comit-message"],
        &["policy", "check", "--skill", "comit-message"],
        &["mount", "out", "--skill", "comit-message"],
        &["link", "codex", "--skill", "comit-message"],
    ] {
        let output = place.at_home(args).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{args:?}: {text}");
        assert!(text.contains("did you mean `commit-message`?"), "{args:?}: {text}");
        assert!(!text.contains("note:"), "{args:?}: {text}");
    }
    place.skill("pdf-filler", "Use it.");
    let output = place.at_home(&["activate", "pdf-filler"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("write `./pdf-filler` for the directory"), "{text}");
    for (args, meant) in [
        (&["run", "clade"][..], "did you mean `claude`?"),
        (&["link", "codx", "--all"], "did you mean `codex`?"),
        (&["run", "cursor"], "for cursor, see `metier serve --print-config cursor`"),
        (&["scan", "https://example.org/skills"], "`metier install https://example.org/skills --dry-run`"),
        (&["remove", "comit-message"], "`metier lock` lists every installed skill"),
    ] {
        let text = String::from_utf8(place.at_home(args).output().unwrap().stderr).unwrap();
        assert!(text.contains(meant), "{args:?}: {text}");
    }
    let variable = place.at_home(&["list"]).env("METIER_PROFIL", "strict").output().unwrap();
    assert!(String::from_utf8_lossy(&variable.stderr).contains("did you mean `METIER_PROFILE`?"));
    place.write("me/.config/metier/config.toml", "jounal = 'x'\n");
    let output = place.at_home(&["list"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean `journal`?"), "{output:?}");
}

#[test]
fn a_path_is_taken_wherever_a_name_is() {
    let place = project();
    place.skill("mine/pdf-filler", "Use it.");
    place.write("mine/pdf-filler/scripts/fill.sh", "echo filled\n");
    let run = |args: &[&str]| {
        let output = place.at_home(args).output().unwrap();
        let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned();
        (output.status.code().unwrap(), text)
    };
    for path in
        ["mine/pdf-filler", "./mine/pdf-filler", "mine/pdf-filler/SKILL.md", "mine/../mine/pdf-filler"]
    {
        let (code, text) = run(&["activate", path]);
        assert!(code == 0 && text.contains("# pdf-filler"), "{path}: {text}");
        let (code, text) = run(&["read", path, "scripts/fill.sh"]);
        assert!(code == 0 && text.contains("echo filled"), "{path}: {text}");
        // The person's own, as with `--root`: scripts need an approval.
        let (code, text) = run(&["exec", path, "scripts/fill.sh"]);
        assert!(code == 3 && text.contains("--approve once"), "{path}: {text}");
        let (code, text) = run(&["approve", path, "--script", "scripts/fill.sh", "--session", "x", "--yes"]);
        assert!(code == 0 && text.contains("approved: pdf-filler may run"), "{path}: {text}");
    }
    for (path, why) in [("./nowhere", "it does not exist"), ("./mine", "it has no SKILL.md")] {
        let (code, text) = run(&["activate", path]);
        assert!(code == 4 && text.contains(why), "{path}: {text}");
    }
    place.write("mine/broken/SKILL.md", "no frontmatter\n");
    let (code, text) = run(&["activate", "./mine/broken"]);
    assert!(code == 4 && text.contains("cannot be used"), "{text}");
    // A path trusts nothing further than its root does.
    place.skill(".claude/skills/theirs", "Use it.");
    let (code, text) = run(&["activate", ".claude/skills/theirs", "--json"]);
    assert!(code == 0 && text.contains("third_party"), "{text}");
}
