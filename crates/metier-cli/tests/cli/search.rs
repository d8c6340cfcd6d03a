//! `metier search`.

use serde_json::json;

use crate::support::Place;
use crate::terminal::at_terminal;

fn library() -> Place {
    let place = Place::new();
    // Fewer are not kept on disk.
    for number in 0..40 {
        place.skill(&format!("skills/filler-{number}"), "Zzyzx.");
    }
    for (name, description) in [
        ("release-notes", "Turns commits into notes for users. Use when a version is released."),
        ("pdf-forms", "Fills in forms and merges documents. Use when the user has a PDF."),
        ("code-review", "Reviews changes for defects. Use when the user wants a second pair of eyes."),
        ("sql-tuning", "Makes slow database queries fast. Use when a report takes minutes."),
        ("watering", "Plans when to water plants. Use in summer."),
    ] {
        place.skill(&format!("skills/{name}"), description);
    }
    place.write(
        "skills/elsewhere/SKILL.md",
        "---\nname: gardening\ndescription: Looks after a garden. Use in spring.\n---\nDig.\n",
    );
    place
}

fn first(place: &Place, query: &str) -> String {
    let found = place.json_at_home(&["search", "--json", "--root", "skills", query]);
    found["hits"][0]["name"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn words_errors_beginnings_and_meanings_find() {
    let place = library();
    for (query, name) in [
        ("release notes", "release-notes"),
        ("code revew", "code-review"),
        ("sq", "sql-tuning"),
        ("databse", "sql-tuning"),
        ("filling form", "pdf-forms"),
        ("PDF", "pdf-forms"),
        ("find bugs in my patch", "code-review"),
        ("irrigation for my flowers", "watering"),
    ] {
        assert_eq!(first(&place, query), name, "{query}");
    }
}

/// A terminal shows close matches; programs, and people who give a number, get the rest as well.
#[test]
fn a_terminal_is_not_filled_up_with_other_skills() {
    let place = library();
    let args = ["search", "--root", "skills", "tune a slow database query"];
    let all = String::from_utf8(place.at_home(&args).output().unwrap().stdout).unwrap();
    let (seen, status) = at_terminal(place.at_home(&args), 80);
    assert!(status.success() && seen.starts_with("sql-tuning"), "{seen}");
    let (hits, notes): (Vec<&str>, Vec<&str>) = seen.lines().partition(|line| line.contains("  user  "));
    assert!(hits.len() < all.lines().count(), "{seen}");
    let left = all.lines().count() - hits.len();
    let noun = if left == 1 { "skill" } else { "skills" };
    assert_eq!(notes, [format!("{left} less relevant {noun} not shown; `-n 10` shows up to 10")]);
    let (seen, _) = at_terminal(place.at_home(&[&args[..], &["-n", "10"]].concat()), 80);
    assert_eq!(seen.lines().count(), all.lines().count(), "{seen}");
}

#[test]
fn the_answer_has_the_documented_shape() {
    let place = library();
    let found = place.json_at_home(&["search", "--json", "--root", "skills", "pdf"]);
    let hit = &found["hits"][0];
    assert_eq!(hit["id"], "user/pdf-forms");
    assert!(hit["score"].as_f64().unwrap() > 0.5);
    assert_eq!(hit["snippet"], "Use when the user has a PDF.");
    let args = ["search", "--json", "--root", "skills", "gardening"];
    assert_eq!(place.json_at_home(&args)["hits"][0]["problem"], json!(null));
    let broken = place.json_at_home(&[&args[..], &["--profile", "standard"]].concat());
    assert_eq!(broken["hits"][0]["name"], "gardening");
    assert_eq!(broken["hits"][0]["problem"]["code"], "name-mismatch");
}

#[test]
fn people_see_a_table() {
    let place = library();
    insta::assert_snapshot!(
        "search",
        place.transcript_at_home(&["search", "--root", "skills", "-n", "2", "garden"])
    );
    insta::assert_snapshot!(
        "search nothing",
        place.transcript_at_home(&["search", "--root", "skills", "0x7f3a"])
    );
}

#[test]
fn changes_are_found_by_the_next_search() {
    let place = library();
    assert_eq!(first(&place, "release notes"), "release-notes");
    place.skill("skills/knitting", "Knits socks. Use in winter.");
    assert_eq!(first(&place, "socks"), "knitting");
    place.skill("skills/knitting", "Knits scarves. Use in winter.");
    assert_eq!(first(&place, "scarves"), "knitting");
    std::fs::remove_dir_all(place.path().join("skills/knitting")).unwrap();
    assert_ne!(first(&place, "scarves"), "knitting");
}

#[test]
fn a_damaged_search_index_is_made_again() {
    let place = library();
    assert_eq!(first(&place, "release notes"), "release-notes");
    let count = state(&place).len();
    assert!(count > 0, "nothing is kept");
    for at in 0..count {
        for cut in [true, false] {
            // What was made again has other names, but as many files of the same kinds.
            let files = state(&place);
            let file = files.get(at).or(files.last()).unwrap();
            let mut bytes = std::fs::read(file).unwrap();
            if cut {
                bytes.truncate(bytes.len() / 2);
            } else {
                for byte in &mut bytes {
                    *byte ^= 0x40;
                }
            }
            std::fs::write(file, bytes).unwrap();
            assert_eq!(first(&place, "code revew"), "code-review", "{}", file.display());
        }
    }
}

/// The files of the search index, by kind.
fn state(place: &Place) -> Vec<std::path::PathBuf> {
    let mut files = walk(&place.path().join("me/.cache/metier/search"));
    files.sort_by_key(|path| (path.extension().map(ToOwned::to_owned), path.clone()));
    files
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}
