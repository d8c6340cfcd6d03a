//! `metier new`.

use std::fs;

use crate::support::Place;

#[test]
fn a_new_skill_passes_strict_without_a_word() {
    let place = Place::new();
    insta::assert_snapshot!("new", place.transcript(&["new", "code-review"]));
    assert!(place.run(&["new", "release-notes", "--script", "collect.sh", "--in", "a/b"]).status.success());
    assert!(
        place
            .run(&["new", "yes", "--description", "Answers: yes. Use when \"asked\" \\ told."])
            .status
            .success()
    );
    for path in ["code-review", "a/b/release-notes", "yes"] {
        let transcript = place.transcript(&["validate", "--strict", path]);
        assert!(transcript.contains("1 valid, 0 not; 0 errors, 0 warnings"), "{transcript}");
    }
    insta::assert_snapshot!("new SKILL.md", place.read("a/b/release-notes/SKILL.md"));
}

#[test]
fn nothing_is_overwritten_and_nothing_left_behind() {
    let place = Place::new();
    place.write("taken/keep.txt", "mine");
    for args in [
        &["new", "taken"][..],
        &["new", "Bad Name"],
        &["new", "../up"],
        &["new", "ok", "--script", "../x"],
        &["new", "ok", "--description", " "],
    ] {
        let output = place.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
    insta::assert_snapshot!("new refused", place.transcript(&["new", "Bad Name"]));
    let names: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["taken"]);
    assert_eq!(place.read("taken/keep.txt"), "mine");
}
