//! `metier audit archive`, and archives in the other commands.

use std::fs;
use std::process::Output;

use crate::support::Place;

/// Differences between runs: times, days, ids, hashes, sizes, directories.
const CHANGING: [(&str, &str); 8] = [
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{6}Z)?", "[time]"),
    (r"\d{4}-\d\d-\d\d", "[day]"),
    (r"journal-[0-9a-f]{8}", "journal-[id]"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "[id]"),
    (r"sha256:[0-9a-f]{64}", "[hash]"),
    (r"\[time\]Z  \S+ +", "[time]Z  [who]  "),
    (r"/\S*/(archives|me|kept|journal-)", "[..]/$1"),
    (r#""bytes": \d+"#, r#""bytes": [bytes]"#),
];

macro_rules! assert_transcript {
    ($name:expr, $transcript:expr) => {
        insta::with_settings!({ filters => CHANGING }, { insta::assert_snapshot!($name, $transcript) })
    };
}

fn approve(place: &Place, answer: &str) {
    let arguments = ["approve", "pdf", "--root", "skills", "--script", "scripts/fill.sh", answer];
    let output = place.at_home(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A place with a skill, and three records about it.
fn recorded() -> Place {
    let place = Place::new();
    place.skill("skills/pdf", "Fill in PDF forms");
    place.write("skills/pdf/scripts/fill.sh", "echo filled\n");
    approve(&place, "--yes");
    approve(&place, "--refuse");
    place
}

fn run(place: &Place, arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = place.at_home(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// The archives in a directory, oldest first.
fn archives(place: &Place, directory: &str) -> Vec<String> {
    let found = fs::read_dir(place.path().join(directory)).unwrap();
    let mut paths: Vec<String> =
        found.map(|entry| entry.unwrap().path().to_str().unwrap().to_owned()).collect();
    paths.sort();
    paths
}

const STATE: &str = "me/.local/state/metier/archives";

#[test]
fn archives_are_written_verified_and_read() {
    let place = recorded();
    assert_transcript!("audit archive unset", place.transcript_at_home(&["audit", "archive"]));
    assert_transcript!(
        "audit archive nothing",
        place.transcript_at_home(&["audit", "archive", "--before", "2020-01-01"])
    );
    assert_transcript!(
        "audit archive dry run",
        place.transcript_at_home(&["audit", "archive", "--before", "now", "--dry-run"])
    );
    assert!(!place.path().join(STATE).exists());
    let before = run(&place, &["audit", "log", "--json", "--all"]).1;
    assert_transcript!(
        "audit archive",
        place.transcript_at_home(&["audit", "archive", "--before", "now", "--to", "kept"])
    );
    approve(&place, "--yes");
    assert_transcript!("audit archive verify live", place.transcript_at_home(&["audit", "verify"]));
    assert_transcript!(
        "audit archive verify together",
        place.transcript_at_home(&["audit", "verify", "--archives", "kept"])
    );
    let [archive] = &archives(&place, "kept")[..] else { unreachable!() };
    assert_transcript!("audit archive verify alone", place.transcript_at_home(&["audit", "verify", archive]));
    assert_eq!(run(&place, &["audit", "log", "--json", "--all", "--journal", archive]).1, before);
    assert_transcript!("audit archive log", place.transcript_at_home(&["audit", "log"]));
    assert_transcript!("audit archive show", place.transcript_at_home(&["audit", "show", "1"]));
    let first = before.lines().nth(1).unwrap();
    let shown = run(&place, &["audit", "show", "1", "--journal", archive]).1;
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(parse(&shown), parse(first));
    let (code, stats, note) = run(&place, &["audit", "stats"]);
    assert!(code == Some(0) && note.contains("records before 3 are in archives"), "{stats}{note}");
    // What is exported from both joins.
    assert_eq!(run(&place, &["audit", "export", "--output", "live.jsonl"]).0, Some(0));
    let (code, out, error) = run(&place, &["audit", "verify", archive, "live.jsonl"]);
    assert!(code == Some(0) && out.starts_with("OK: 5 records intact, "), "{out}{error}");
    let (code, _, error) = run(&place, &["audit", "checkpoint", "--record", "1"]);
    assert!(code == Some(4) && error.contains("record 1 is in an archive"), "{error}");
    assert_eq!(run(&place, &["audit", "checkpoint", "--record", "4"]).0, Some(0));
}

#[test]
fn a_missing_or_edited_archive_is_found() {
    let place = recorded();
    for answer in ["--yes", "--refuse"] {
        assert_eq!(run(&place, &["audit", "archive", "--before", "now"]).0, Some(0));
        approve(&place, answer);
    }
    assert_eq!(run(&place, &["audit", "archive", "--before", "now"]).0, Some(0));
    let paths = archives(&place, STATE);
    assert_eq!(paths.len(), 3);
    let (code, out, _) = run(&place, &["audit", "verify", "--archives", STATE]);
    assert!(code == Some(0) && out.starts_with("OK: 8 records intact, 1 checkpoint matched"), "{out}");
    let kept = fs::read(&paths[1]).unwrap();
    fs::remove_file(&paths[1]).unwrap();
    assert_transcript!(
        "audit archive missing",
        place.transcript_at_home(&["audit", "verify", "--archives", STATE])
    );
    let mut changed = kept.clone();
    changed[kept.len() / 2] ^= 1;
    fs::write(&paths[1], changed).unwrap();
    let (code, out, error) = run(&place, &["audit", "verify", "--archives", STATE]);
    let name = paths[1].rsplit('/').next().unwrap();
    assert!(code == Some(1) && out.starts_with("FAILED") && error.contains(name), "{out}{error}");
    fs::write(&paths[1], kept).unwrap();
    assert_eq!(run(&place, &["audit", "verify", "--archives", STATE]).0, Some(0));
    fs::create_dir(place.path().join("none")).unwrap();
    let (code, _, error) = run(&place, &["audit", "verify", "--archives", "none"]);
    assert!(code == Some(2) && error.contains("none has no archives of this journal"), "{error}");
}

#[test]
fn settings_say_what_is_due() {
    let place = recorded();
    let due = |place: &Place| {
        let checks = place.json_at_home(&["doctor", "--root", "skills", "--json"])["checks"].clone();
        checks.as_array().unwrap().iter().find(|check| check["check"] == "archives").cloned()
    };
    assert_eq!(due(&place), None);
    let config = "me/.config/metier/config.toml";
    place.write(config, "[archive]\nkeep = \"90d\"\nby = \"month\"\ndirectory = \"kept\"\n");
    assert_eq!(due(&place).unwrap()["status"], "ok");
    let (_, out, _) = run(&place, &["config"]);
    assert!(out.contains("older than 90d to ") && out.contains(".config/metier/kept, by month"), "{out}");
    place.write(config, "[archive]\nkeep = \"0h\"\n");
    let check = due(&place).unwrap();
    assert_eq!((&check["status"], &check["fix"]), (&"notice".into(), &"`metier audit archive`".into()));
    assert!(run(&place, &["audit", "stats"]).2.contains("run `metier audit archive`"));
    assert_eq!(run(&place, &["audit", "archive"]).0, Some(0));
    assert_eq!(archives(&place, STATE).len(), 1);
    for (wrong, said) in [
        ("keep = \"soon\"", "use a duration such as 90d"),
        ("keep = \"90d\"\nby = \"week\"", "unknown variant `week`"),
        ("directory = \"kept\"", "missing field `keep`"),
    ] {
        place.write(config, format!("[archive]\n{wrong}\n"));
        let (code, _, error) = run(&place, &["audit", "archive"]);
        assert!(code == Some(2) && error.contains(said), "{error}");
    }
    // It is the person's to say, not a project's.
    place.write(config, "");
    place.write("metier.toml", "[archive]\nkeep = \"0h\"\n");
    assert_eq!(run(&place, &["trust", "."]).0, Some(0));
    let (code, _, error) = run(&place, &["audit", "archive"]);
    assert!(code == Some(2) && error.contains("`keep` in `[archive]`"), "{error}");
}

/// Skills that only archived records mention are kept as well, as long as the archive is there.
#[test]
fn skills_of_archived_records_are_kept() {
    let place = recorded();
    assert_eq!(run(&place, &["activate", "pdf", "--root", "skills"]).0, Some(0));
    assert_eq!(run(&place, &["audit", "archive", "--before", "now"]).0, Some(0));
    let archive = archives(&place, STATE).remove(0);
    let (code, out, error) = run(&place, &["audit", "replay", "--journal", &archive]);
    assert!(code == Some(0) && out.contains("1 activation"), "{out}{error}");
    let (code, _, error) = run(&place, &["gc", "--json"]);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    fs::rename(&archive, place.path().join("elsewhere")).unwrap();
    let (code, _, error) = run(&place, &["gc", "--dry-run"]);
    assert!(code == Some(0) && error.contains(&format!("the archive {archive} was not found")), "{error}");
}
