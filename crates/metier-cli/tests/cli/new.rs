//! `metier new`.

use std::fs;

use crate::support::Place;

#[test]
fn a_new_skill_passes_strict_and_its_placeholder_is_found() {
    let place = Place::new();
    insta::assert_snapshot!("new", place.transcript(&["new", "code-review"]));
    assert!(place.run(&["new", "release-notes", "--script", "collect.sh", "--in", "a/b"]).status.success());
    assert!(
        place
            .run(&["new", "yes", "--description", "Answers: yes. Use when \"asked\" \\ told."])
            .status
            .success()
    );
    for (path, warnings) in
        [("code-review", "1 warning"), ("a/b/release-notes", "1 warning"), ("yes", "0 warnings")]
    {
        let transcript = place.transcript(&["validate", "--strict", path]);
        assert!(transcript.contains(&format!("1 valid, 0 not; 0 errors, {warnings}")), "{transcript}");
        assert_eq!(transcript.contains("description-placeholder"), warnings == "1 warning", "{transcript}");
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

#[test]
fn a_full_disk_is_named_with_what_could_not_be_made() {
    let test = "new::a_full_disk_is_named_with_what_could_not_be_made";
    let Some(small) = crate::small_disk::in_small_file_system(test, 1) else { return };
    let place = Place::new();
    let mut size = 1 << 20;
    while size > 0 {
        let written = fs::write(small.join(format!("fill-{size}")), vec![0; size]);
        size = if written.is_ok() { size } else { size / 2 };
        if written.is_ok() {
            fs::rename(
                small.join(format!("fill-{size}")),
                small.join(format!("full-{size}-{}", fs::read_dir(&small).unwrap().count())),
            )
            .unwrap();
        }
    }
    let output = place.run(&["new", "code-review", "--in", small.to_str().unwrap()]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(told.contains(&format!("cannot make {}/code-review: ", small.display())), "{told}");
}
