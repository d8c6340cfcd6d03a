//! `metier new`.

use std::fs;

use crate::policy::at_terminal;
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
        [("code-review", "2 warnings"), ("a/b/release-notes", "2 warnings"), ("yes", "1 warning")]
    {
        let transcript = place.transcript(&["validate", "--strict", path]);
        assert!(transcript.contains(&format!("1 valid, 0 not; 0 errors, {warnings}")), "{transcript}");
        assert_eq!(transcript.contains("description-placeholder"), path != "yes", "{transcript}");
        assert!(transcript.contains("body-placeholder"), "{transcript}");
    }
    insta::assert_snapshot!("new SKILL.md", place.read("a/b/release-notes/SKILL.md"));
}

/// A model could not choose it by its description.
#[test]
fn a_template_is_listed_but_not_offered_to_models() {
    let place = Place::new();
    for (name, more) in [("later", &[][..]), ("ready", &["--description", "Counts. Use when x."])] {
        let args = [&["new", name, "--in", "skills"], more].concat();
        assert!(place.run(&args).status.success());
    }
    let list = place.transcript(&["list", "--root", "skills"]);
    assert!(list.contains("later") && list.contains("ready"), "{list}");
    let prompt = place.transcript(&["prompt", "--root", "skills"]);
    assert!(!prompt.contains("later") && prompt.contains("ready"), "{prompt}");
}

#[test]
fn a_person_at_a_terminal_is_asked_for_name_and_description() {
    let place = Place::new();
    let typed = "Fill PDFs\nfill-pdfs\nFills in PDF forms.\nuse when the user has a form.\n";
    let (seen, output) = at_terminal(&place, &["new"], typed);
    assert_eq!(output.status.code(), Some(0), "{seen}");
    assert!(seen.contains("error: ") && seen.contains("; try `fill-pdfs`"), "{seen}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "fill-pdfs/SKILL.md\n");
    let text = place.read("fill-pdfs/SKILL.md");
    assert!(text.contains("\ndescription: Fills in PDF forms. Use when the user has a form.\n"), "{text}");
    // What is given is not asked for; Enter leaves a placeholder, which validate reports.
    let (seen, _) = at_terminal(&place, &["new", "later"], "\n");
    assert!(!seen.contains("Name") && seen.contains("What does the skill do?"), "{seen}");
    assert!(place.transcript(&["validate", "later"]).contains("description-placeholder"));
    let (seen, output) = at_terminal(&place, &["new", "given", "--description", "Use when x."], "");
    assert!(output.status.success() && !seen.contains('?'), "{seen}");
    // An end of the input, and a name that is never right, make nothing.
    for typed in ["\u{4}", "A\nB\nC\n", "gone\n\u{4}", "gone\nDoes it\n\u{4}"] {
        let (seen, output) = at_terminal(&place, &["new"], typed);
        assert_eq!(output.status.code(), Some(2), "{seen}");
        assert!(seen.contains("cancelled; nothing was created"), "{seen}");
    }
    assert_eq!(
        fs::read_dir(place.path()).unwrap().filter(|e| e.as_ref().unwrap().file_name() != "me").count(),
        3
    );
    // Without a terminal nothing is asked.
    assert!(
        place.transcript(&["new"]).ends_with("a skill needs a name: `metier new code-review`\nexit: 2\n")
    );
}

#[test]
fn a_new_script_fails_until_it_is_written() {
    let place = Place::new();
    place.run(&["new", "notes", "--script", "collect.sh"]);
    let ran = std::process::Command::new(place.path().join("notes/scripts/collect.sh")).output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
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
    assert!(told.contains(&format!("cannot create {}/code-review: ", small.display())), "{told}");
}
