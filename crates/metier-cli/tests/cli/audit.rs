//! `metier audit`, and what other commands record.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Output, Stdio};

use crate::support::Place;

/// What changes from run to run: times, ids, hashes.
const CHANGING: [(&str, &str); 6] = [
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{6}Z)?", "[time]"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "[id]"),
    (r"sha256:[0-9a-f]{64}", "[hash]"),
    (r#""proof":\[[^]]*\]"#, r#""proof":[..]"#),
    (r"\[time\]Z  \S+ +", "[time]Z  [who]  "),
    (r#""(user|host)":"[^"]*"|"uid":\d+"#, "[who]"),
];

macro_rules! assert_transcript {
    ($name:expr, $transcript:expr) => {
        insta::with_settings!({ filters => CHANGING }, { insta::assert_snapshot!($name, $transcript) })
    };
}

/// A place with a skill, and three records about it.
fn recorded() -> Place {
    let place = Place::new();
    place.skill("skills/pdf", "Fill in PDF forms");
    place.write("skills/pdf/scripts/fill.sh", "echo filled\n");
    for answer in ["--yes", "--refuse"] {
        let output = approve(&place, answer);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    place
}

fn approve(place: &Place, answer: &str) -> Output {
    place
        .at_home(&["approve", "pdf", "--root", "skills", "--script", "scripts/fill.sh", answer])
        .output()
        .unwrap()
}

fn run(place: &Place, arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = place.at_home(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn nothing_was_recorded() {
    let place = Place::new();
    assert_transcript!("audit without a journal", place.transcript_at_home(&["audit", "log"]));
    assert_transcript!("audit without a home", place.transcript(&["audit", "log"]));
    assert_transcript!("doctor's row", {
        let (_, out, _) = run(&place, &["doctor", "--root", "."]);
        out.lines()
            .find(|line| line.starts_with("journal"))
            .unwrap()
            .replace(place.path().to_str().unwrap(), "PLACE")
    });
}

#[test]
fn log() {
    let place = recorded();
    assert_transcript!("audit log", place.transcript_at_home(&["audit", "log"]));
    assert_transcript!(
        "audit log kind",
        place.transcript_at_home(&["audit", "log", "--kind", "skill.", "-n", "1"])
    );
    assert_transcript!(
        "audit log json",
        place.transcript_at_home(&["audit", "log", "--json", "--skill", "pdf", "-n", "1"])
    );
    assert_transcript!(
        "audit log wrong time",
        place.transcript_at_home(&["audit", "log", "--since", "yesterday"])
    );
    let (_, out, _) = run(&place, &["audit", "log", "--json", "--until", "2020-01-01"]);
    assert_eq!(out, "");
}

/// Ended by Ctrl-C, which a test sends as a signal.
#[test]
fn log_follows_new_records() {
    let place = recorded();
    let mut following = place
        .at_home(&["audit", "log", "-f", "--json", "--kind", "skill.approval", "-n", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<serde_json::Value>(&lines.next().unwrap().unwrap()).unwrap();
    let first = next();
    assert_eq!((&first["sequence"], &first["event"]["answer"]), (&2.into(), &"refused".into()));
    // It waits; what is recorded now is printed now, each record once.
    assert!(approve(&place, "--yes").status.success());
    let second = next();
    assert_eq!((&second["sequence"], &second["event"]["answer"]), (&3.into(), &"granted".into()));
    assert_eq!(second["previous"], first["hash"]);
    // Of another kind, so it is not shown.
    assert!(place.at_home(&["trust", "skills"]).output().unwrap().status.success());
    assert!(approve(&place, "--refuse").status.success());
    assert_eq!(next()["sequence"], 5);
    let process = rustix::process::Pid::from_child(&following);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    assert_eq!(following.wait().unwrap().signal(), Some(2));
    assert!(lines.next().is_none());
}

#[test]
fn log_cannot_follow_up_to_a_time() {
    let (code, _, err) = run(&recorded(), &["audit", "log", "--follow", "--until", "today"]);
    assert_eq!(code, Some(2), "{err}");
}

#[test]
fn revoking_is_recorded() {
    let place = recorded();
    let (_, out, _) = run(&place, &["approvals", "--json"]);
    let id = serde_json::from_str::<serde_json::Value>(&out).unwrap()["approvals"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(run(&place, &["approvals", "--revoke", &id]).0, Some(0));
    let (_, out, _) = run(&place, &["audit", "log", "-n", "1"]);
    assert!(out.contains("skill.approval  pdf  revoked  scripts/fill.sh  scripts"), "{out}");
}

#[test]
fn verify() {
    let place = recorded();
    assert_transcript!("audit verify", place.transcript_at_home(&["audit", "verify"]));
    assert_transcript!("audit verify json", place.transcript_at_home(&["audit", "verify", "--json"]));
    let journal = place.path().join("me/.local/state/metier/journal.db");
    let bytes = fs::read(&journal).unwrap();
    let at = bytes.windows(7).rposition(|window| window == b"refused").unwrap();
    let mut changed = bytes.clone();
    changed[at] = b'R';
    fs::write(&journal, &changed).unwrap();
    assert_transcript!("audit verify changed", place.transcript_at_home(&["audit", "verify"]));
    assert_transcript!("audit verify changed json", place.transcript_at_home(&["audit", "verify", "--json"]));
    fs::write(&journal, "no database at all").unwrap();
    assert_transcript!("audit verify nonsense", place.transcript_at_home(&["audit", "verify"]));
    // Nothing is added to what somebody took away.
    fs::remove_file(&journal).unwrap();
    assert_transcript!("audit verify removed", place.transcript_at_home(&["audit", "verify"]));
    let output = approve(&place, "--yes");
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("nothing is added to it"), "{error}");
    assert!(error.contains("delete nothing") && error.contains("docs/journal.md"), "{error}");
    let (_, alone, _) = run(&place, &[]);
    assert!(alone.contains("the journal is damaged, so nothing is added to it"), "{alone}");
}

#[test]
fn showing_a_forged_record_fails() {
    let place = recorded();
    let journal = place.path().join("me/.local/state/metier/journal.db");
    let mut bytes = fs::read(&journal).unwrap();
    let at = bytes.windows(7).rposition(|window| window == b"refused").unwrap();
    bytes[at] = b'R';
    assert_eq!(run(&place, &["audit", "show", "2"]).0, Some(0));
    fs::write(&journal, &bytes).unwrap();
    let changed = (0..3).filter(|number| run(&place, &["audit", "show", &number.to_string()]).0 != Some(0));
    let changed: Vec<i32> = changed.collect();
    assert_eq!(changed, [1, 2], "the record before the changed one is suspect as well");
    let (code, out, err) = run(&place, &["audit", "show", "2"]);
    assert_eq!(code, Some(1));
    assert!(out.contains("Refused") && err.contains("was changed after it was written"), "{out} {err}");
    let (_, verified, told) = run(&place, &["audit", "verify"]);
    assert!(verified.contains("FAILED") && told.contains("When the journal is damaged"), "{told}");
}

#[test]
fn an_answer_that_cannot_be_recorded_does_not_count() {
    let place = recorded();
    place.write("me/blocked/file", "");
    let blocked = place.path().join("me/blocked/file/journal.db");
    let output = place
        .at_home(&["approve", "pdf", "--root", "skills", "--script", "scripts/fill.sh", "--yes"])
        .env("METIER_JOURNAL", blocked)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    let (_, out, _) = run(&place, &["approvals"]);
    assert!(out.contains("  no   pdf"), "{out}");
}

#[test]
fn export_checkpoint_and_proofs() {
    let place = recorded();
    assert_transcript!("audit export", place.transcript_at_home(&["audit", "export"]));
    assert_transcript!(
        "audit export file",
        place.transcript_at_home(&["audit", "export", "--output", "j.jsonl"])
    );
    assert_transcript!(
        "audit export again",
        place.transcript_at_home(&["audit", "export", "--output", "j.jsonl"])
    );
    assert_transcript!("audit verify export", place.transcript_at_home(&["audit", "verify", "j.jsonl"]));
    assert_transcript!("audit checkpoint", place.transcript_at_home(&["audit", "checkpoint"]));
    place.write("c.json", run(&place, &["audit", "checkpoint"]).1);
    assert!(approve(&place, "--yes").status.success());
    assert_transcript!("audit verify short export", {
        place.write("d.json", run(&place, &["audit", "checkpoint"]).1);
        place.transcript_at_home(&["audit", "verify", "j.jsonl", "--since", "d.json"])
    });
    assert_transcript!(
        "audit verify since",
        place.transcript_at_home(&["audit", "verify", "--since", "c.json"])
    );
    for (option, value, checkpoint) in [("--record", "1", "d.json"), ("--extends", "c.json", "c.json")] {
        let (code, proof, _) = run(&place, &["audit", "checkpoint", option, value]);
        assert_eq!(code, Some(0));
        place.write("p.json", &proof);
        assert_transcript!(
            format!("audit proof {option}"),
            place.transcript_at_home(&["audit", "verify", "--proof", "p.json", "--since", checkpoint])
        );
        let (code, out, _) = run(&place, &["audit", "verify", "--proof", "p.json", "--json"]);
        assert!(code == Some(0) && out.contains("\"holds\": true"), "{out}");
        // Another hash, or another checkpoint.
        let at = proof.find("\"proof\":[\"sha256:").unwrap() + 18;
        let other = if proof[at..].starts_with('0') { "1" } else { "0" };
        place.write("q.json", format!("{}{other}{}", &proof[..at], &proof[at + 1..]));
        let (code, out, _) = run(&place, &["audit", "verify", "--proof", "q.json"]);
        assert!(code == Some(1) && out.starts_with("NOT proven"), "{out}");
    }
    // From a pipe, whose first bytes can be had only once; and the journal itself, which is no export.
    let journal = place.path().join("me/.local/state/metier/journal.db");
    let piped = format!("cat j.jsonl | {} audit verify /dev/stdin", env!("CARGO_BIN_EXE_metier"));
    let output =
        std::process::Command::new("sh").args(["-c", &piped]).current_dir(place.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let (code, _, error) = run(&place, &["audit", "verify", journal.to_str().unwrap()]);
    assert!(code == Some(2) && error.contains("--journal"), "{error}");
    place.write("wrong.json", "{}");
    assert_transcript!(
        "audit no proof",
        place.transcript_at_home(&["audit", "verify", "--proof", "wrong.json"])
    );
    assert_transcript!(
        "audit no checkpoint",
        place.transcript_at_home(&["audit", "verify", "--since", "wrong.json"])
    );
    assert_transcript!(
        "audit no record",
        place.transcript_at_home(&["audit", "checkpoint", "--record", "99"])
    );
}

#[test]
fn stats() {
    let place = recorded();
    assert_transcript!("audit stats", place.transcript_at_home(&["audit", "stats"]));
    assert_transcript!("audit stats json", place.transcript_at_home(&["audit", "stats", "--json"]));
}

/// What is recorded where is the person's and the organisation's to say, not a project's.
#[test]
fn a_project_cannot_move_the_journal() {
    let place = recorded();
    place.write("metier.toml", "journal = \"elsewhere.db\"\n");
    assert_eq!(run(&place, &["trust", "."]).0, Some(0));
    let (_, out, err) = run(&place, &["config"]);
    assert!(out.contains("me/.local/state/metier/journal.db"), "{out}");
    assert!(err.contains("a project cannot set what is recorded"), "{err}");
    place.write("me/.config/metier/config.toml", "journal = \"mine.db\"\ndurability = \"batched\"\n");
    let (_, out, _) = run(&place, &["config"]);
    assert!(out.contains("me/.config/metier/mine.db") && out.contains("batched"), "{out}");
    let wrong =
        place.at_home(&["audit", "log"]).env("METIER_JOURNAL", "mysql://me:secret@host/db").output().unwrap();
    let error = String::from_utf8(wrong.stderr).unwrap();
    assert!(wrong.status.code() == Some(2) && !error.contains("secret"), "{error}");
}

/// Two sessions with records of a skill.
fn activated() -> Place {
    let place = recorded();
    for _ in 0..2 {
        assert_eq!(run(&place, &["activate", "pdf", "--root", "skills"]).0, Some(0));
    }
    place
}

fn lines(place: &Place, arguments: &[&str]) -> Vec<serde_json::Value> {
    let (_, out, _) = run(place, &[&["audit", "log", "--json"], arguments].concat());
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_record_says_who() {
    let place = activated();
    let uid = rustix::process::getuid().as_raw();
    for record in lines(&place, &["--kind", "skill."]) {
        assert_eq!(record["event"]["uid"], uid, "{record}");
        assert!(record["event"]["host"].is_string(), "{record}");
    }
    let user = lines(&place, &["-n", "1"])[0]["event"]["user"].as_str().unwrap().to_owned();
    let (_, out, _) = run(&place, &["audit", "log", "-n", "1"]);
    assert!(out.contains(&format!("Z  {user}  ")), "{out}");
}

#[test]
fn an_id_that_is_shown_can_be_given_back() {
    let place = activated();
    let (_, out, _) = run(&place, &["audit", "log", "-n", "1"]);
    let shown = out.split("  ").nth(3).unwrap().trim().to_owned();
    assert_eq!(shown.len(), 8, "{out}");
    let found = lines(&place, &["--session", &shown]);
    assert_eq!(found.len(), 3, "{found:?}");
    let id = found[0]["session"].as_str().unwrap();
    assert!(id.ends_with(&shown), "{id}");
    assert_eq!(lines(&place, &["--session", id]).len(), 3);
    // Ids begin with the time, so that these begin alike.
    let (code, _, error) = run(&place, &["audit", "log", "--session", &id[..3]]);
    assert!(
        code == Some(2) && error.contains("matches several session ids") && error.contains(id),
        "{error}"
    );
    let (code, out, error) = run(&place, &["audit", "log", "--session", "nosuch"]);
    assert_eq!((code, out.as_str()), (Some(0), "0 records of 9\n"), "{error}");
    assert!(error.contains("no session has the id `nosuch`"), "{error}");
}

#[test]
fn one_record_in_full() {
    let place = recorded();
    let records = lines(&place, &["--all"]);
    assert_eq!(records.len(), 3);
    for (number, record) in records.iter().enumerate() {
        let (code, shown, _) = run(&place, &["audit", "show", &number.to_string()]);
        assert_eq!(code, Some(0));
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown, *record);
    }
    let (code, shown, said) = run(&place, &["audit", "show", "99"]);
    assert_eq!((code, shown.as_str()), (Some(4), ""));
    assert!(said.contains("record 99 does not exist; the last record is 2"), "{said}");
}

#[test]
fn what_no_record_has_is_told() {
    let place = recorded();
    let (_, _, error) = run(&place, &["audit", "log", "--kind", "script"]);
    assert!(error.contains("no record has the kind `script`") && error.contains("skill.approval"), "{error}");
    let (_, _, error) = run(&place, &["audit", "log", "--skill", "nosuch"]);
    assert!(error.contains("no record is about a skill named `nosuch`"), "{error}");
    assert_eq!(run(&place, &["audit", "log", "--kind", "skill.", "--skill", "pdf"]).2, "");
}

#[test]
fn times_as_people_say_them() {
    let place = recorded();
    for (since, count) in
        [("1h", 3), ("30m", 3), ("2d", 3), ("yesterday", 3), ("2020-01-01", 3), ("2020-01-01 14:00", 3)]
    {
        assert_eq!(lines(&place, &["--since", since]).len(), count, "{since}");
    }
    assert_eq!(lines(&place, &["--until", "1h"]).len(), 0);
    assert_eq!(lines(&place, &["--since", "2999-01-01T09:30Z"]).len(), 0);
    let (code, _, error) = run(&place, &["audit", "log", "--since", "soon"]);
    assert!(code == Some(2) && error.contains("invalid time `soon`; use 1h, yesterday"), "{error}");
}

#[test]
fn refusals_are_not_runs() {
    let place = recorded();
    place.write("work/notes.txt", "mine\n");
    for _ in 0..3 {
        let (code, _, error) =
            run(&place, &["exec", "pdf", "scripts/fill.sh", "--root", "skills", "--work", "work"]);
        assert_eq!(code, Some(3), "{error}");
    }
    let (_, out, _) = run(&place, &["audit", "stats", "--json"]);
    let stats = &serde_json::from_str::<serde_json::Value>(&out).unwrap()["skills"]["pdf"];
    assert_eq!(
        (&stats["script_runs"], &stats["script_failures"], &stats["script_denials"]),
        (&0.into(), &0.into(), &3.into()),
        "{stats}"
    );
}

#[test]
fn an_export_is_overwritten_only_on_purpose() {
    let place = recorded();
    place.write("j.jsonl", "mine\n");
    let (code, _, error) = run(&place, &["audit", "export", "--output", "j.jsonl"]);
    assert!(code == Some(2) && error.contains("already exists; `--force` overwrites it"), "{error}");
    assert_eq!(place.read("j.jsonl"), "mine\n");
    assert_eq!(run(&place, &["audit", "export", "--output", "j.jsonl", "--force"]).0, Some(0));
    assert_eq!(place.read("j.jsonl").lines().count(), 3);
}

#[test]
fn a_journal_in_a_directory_that_does_not_exist_is_an_error() {
    let place = recorded();
    let mut command = place.at_home(&["activate", "pdf", "--root", "skills"]);
    let output = command.env("METIER_JOURNAL", place.path().join("nosuch/j.db")).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(2) && error.contains("nosuch` of the journal does not exist"),
        "{error}"
    );
    assert!(!place.path().join("nosuch").exists());
}
