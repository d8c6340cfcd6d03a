//! `metier prompt` beside the list itself: what it costs, where skills are said to be, and what agents are told.

use serde_json::json;

use crate::support::Place;
use crate::terminal::at_terminal;

/// A project with skills that are shown and skills that are not, for every reason but one.
fn project() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path().join(".git")).unwrap();
    place.skill(".agents/skills/release-notes", "Use when the project is released.");
    place.skill(".claude/skills/pdf", "Use when the project has forms to fill in.");
    place.skill(
        "me/.claude/skills/pdf",
        &format!("Use when you have a PDF. {}", "It does a lot. ".repeat(20)),
    );
    place.skill("me/.agents/skills/commit-message", "Use when you commit.");
    place.skill("me/.agents/skills/mine", "Use for yourself.");
    place.skill("me/.agents/skills/gone", "Use never.");
    place.write("me/.claude/skills/broken/SKILL.md", "---\nname: broken\n---\nDo it.\n");
    place
}

const STATES: [&str; 6] =
    ["--state", "mine=user-only", "--state", "gone=off", "--state", "commit-message=name-only"];

fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
    // Without locations: how long they are differs from place to place, and so does what fits.
    ["prompt", "--explain", "--location", "none"]
        .into_iter()
        .chain(STATES)
        .chain(more.iter().copied())
        .collect()
}

#[test]
fn an_explanation_is_a_table_that_adds_up() {
    let place = project();
    insta::assert_snapshot!("explain", place.transcript_at_home(&args(&[])));
    insta::assert_snapshot!("explain budget", place.transcript_at_home(&args(&["--budget", "150"])));
    insta::assert_snapshot!("explain nothing fits", place.transcript_at_home(&args(&["--budget", "3"])));
    // Without a home there is nowhere to unpack what is inside metier.
    insta::assert_snapshot!("explain homeless", place.transcript(&["prompt", "--explain"]));
    let nothing = Place::new();
    insta::assert_snapshot!("explain none", nothing.transcript(&["prompt", "--explain", "--root", "."]));
}

#[test]
fn an_explanation_fits_the_terminal() {
    let place = Place::new();
    place.skill(&format!("many/{}", "n".repeat(64)), &"Use a long name. ".repeat(20));
    place.skill(&format!("more/{}", "n".repeat(64)), "Use never.");
    place.write(&format!("many/{}/SKILL.md", "x".repeat(80)), "nothing");
    let args = ["prompt", "--explain", "--budget", "150", "--root", "many", "--root", "more"];
    let (text, _) = at_terminal(place.at_home(&args), 120);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    assert!(text.contains("shortened from 339 to") && text.contains("shadowed by"), "{text}");
    assert!(text.contains("not usable: frontmatter-missing"), "{text}");
}

#[test]
fn an_explanation_as_json_has_the_documented_shape() {
    let place = project();
    let explained = place.json_at_home(&args(&["--json", "--budget", "210"]));
    let (real, path) = (std::fs::canonicalize(place.path()).unwrap(), |id: &str| {
        let row = explained["not_shown"].as_array().unwrap().iter().find(|row| row["id"] == id);
        row.cloned().unwrap_or_default()
    });
    assert_eq!(
        path("user/mine"),
        json!({ "id": "user/mine", "path": real.join("me/.agents/skills/mine"), "reason": "user-only" })
    );
    assert_eq!(path("user/gone")["reason"], "off");
    assert_eq!(path("third_party/pdf")["by"], "user/pdf");
    let broken = explained["not_shown"].as_array().unwrap().last().unwrap();
    assert_eq!((&broken["id"], &broken["code"]), (&json!(null), &json!("description-missing")));
    assert!(broken["message"].as_str().unwrap().contains("description"));
    let skills = explained["skills"].as_array().unwrap();
    let sum: u64 = skills.iter().map(|skill| skill["tokens"].as_u64().unwrap()).sum();
    let tokens = &explained["tokens"];
    assert_eq!(tokens["skills"], sum);
    assert_eq!(tokens["introduction"].as_u64().unwrap() + sum, tokens["total"].as_u64().unwrap());
    assert_eq!(tokens["budget"], 210);
    let find = |name: &str| skills.iter().find(|skill| skill["name"] == name).unwrap();
    assert_eq!(find("commit-message")["shown"], "name-only");
    assert_eq!((&find("pdf")["shown"], &find("pdf")["from"]), (&json!("shortened"), &json!(324)));
    // What is explained is what is printed, in each format.
    for format in ["xml", "markdown", "json"] {
        let more = ["--json", "--format", format];
        let total = place.json_at_home(&args(&more))["tokens"]["total"].as_u64().unwrap();
        let mut plain = vec!["prompt", "--location", "none", "--format", format];
        plain.extend(STATES);
        let printed = place.at_home(&plain).output().unwrap().stdout;
        assert_eq!(total, printed.len().div_ceil(4) as u64, "{format}");
    }
    let same = place.json_at_home(&args(&["--format", "json"]));
    assert_eq!(same, place.json_at_home(&args(&["--format", "json", "--json"])));
}

#[test]
fn locations_and_instructions_are_what_the_agent_can_use() {
    let place = project();
    let states = ["--state", "*-*=off", "--state", "mine=off", "--state", "gone=off"];
    place.skill(".claude/skills/here", "Use here.");
    for (name, more) in [
        ("prompt relative", &["--location", "relative"][..]),
        ("prompt directory", &["--location", "directory"]),
        ("prompt none", &["--location", "none"]),
        ("prompt tool", &["--location", "none", "--activation", "tool:load_skill"]),
        ("prompt name", &["--activation", "name", "--format", "markdown"]),
    ] {
        let args: Vec<&str> = ["prompt"].into_iter().chain(states).chain(more.iter().copied()).collect();
        insta::assert_snapshot!(name, place.transcript_at_home(&args));
    }
    for (how, said) in
        [("tool:find", "; find them with the tool `find`."), ("none", "left out to save room.")]
    {
        let text = place.transcript_at_home(&["prompt", "-q", "--budget", "160", "--search", how]);
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn wrong_ways_are_refused() {
    let place = project();
    for wrong in [
        &["--activation", "tool:"][..],
        &["--activation", "tool:a`b"],
        &["--activation", "write"],
        &["--search", "somewhere"],
        &["--location", "none", "--activation", "read"],
        &["--json", "--format", "xml"],
    ] {
        let args: Vec<&str> = ["prompt"].into_iter().chain(wrong.iter().copied()).collect();
        assert_eq!(place.at_home(&args).output().unwrap().status.code(), Some(2), "{wrong:?}");
    }
    insta::assert_snapshot!(
        "prompt nothing to read",
        place.transcript_at_home(&["prompt", "--location", "none", "--activation", "read"])
    );
}

#[test]
fn what_hides_in_a_skill_is_seen() {
    let place = Place::new();
    place.skill("skills/odd", "\"Use \\u202Ethis\\u200B <b>\\r\\n now\\U000E0041\"");
    for (format, seen) in [
        ("xml", "Use &#x202E;this&#x200B; &lt;b&gt;&#xD;\n now&#xE0041;"),
        ("markdown", "Use \\u{202E}this\\u{200B} <b> now\\u{E0041}"),
        ("json", "Use \\u202Ethis\\u200B <b>\\r\\n now\\uDB40\\uDC41"),
    ] {
        let text = place.transcript_at_home(&["prompt", "--root", "skills", "--format", format]);
        assert!(text.contains(seen), "{text}");
    }
}
