//! `metier show` and `metier digest`.

use serde_json::json;

use crate::support::Place;

fn place() -> Place {
    let place = Place::new();
    place.write(
        "skills/full/SKILL.md",
        "---\nname: full\ndescription: >\n  Shows everything that a skill can say in its frontmatter, at a length that \
         needs more than\n  one line. Use when testing.\nlicense: MIT\ncompatibility: Needs git\nallowed-tools: Read, \
         Bash(git add *)\nmetadata:\n  version: 1.10\n  nested: {a: [b, c]}\nmodel: opus\n---\nSee `notes.md`.\n",
    );
    place.write("skills/full/notes.md", "notes\n");
    place
}

#[test]
fn a_skill_is_shown_to_people_and_programs() {
    let place = place();
    insta::assert_snapshot!("show", place.transcript(&["show", "skills/full"]));
    insta::assert_snapshot!("show json", place.transcript(&["show", "--json", "skills/full/SKILL.md"]));
}

#[test]
fn what_cannot_be_shown_says_why() {
    let place = place();
    place.write("bare/SKILL.md", "# Nothing\n");
    insta::assert_snapshot!(
        "show nothing",
        place.transcript(&["show", "gone"]) + &place.transcript(&["show", "bare"])
    );
}

#[test]
fn digests_are_printed_for_both() {
    let place = place();
    let line = place.transcript(&["digest", "skills/full"]);
    let json = place.json(&["digest", "--json", "skills/full"]);
    let digest = json["skills"][0]["tree_digest"].as_str().unwrap();
    assert_eq!(line, format!("$ metier digest skills/full\n{digest}  skills/full\nexit: 0\n"));
    assert_eq!(place.json(&["show", "--json", "skills/full"])["tree_digest"], json!(digest));
    assert_eq!(place.run(&["digest", "gone"]).status.code(), Some(4));
}

#[test]
fn only_skills_have_digests_and_one_bad_path_hides_no_other() {
    let place = place();
    place.write("empty/notes.txt", "x");
    for path in ["empty", "skills", "empty/notes.txt"] {
        let output = place.run(&["digest", path]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{path}");
    }
    let output = place.run(&["digest", "gone", "skills/full"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8(output.stdout).unwrap().ends_with("  skills/full\n"));
}
