//! The script in `docs/` that was written from the documentation alone says the same as we do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use metier_journal::{Checkpoint, JournalAddress, JournalReader, Time, verify_export};

use crate::common::filled;

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify-journal.py")
}

/// What it says, and how it ends.
fn python(arguments: &[&Path]) -> (String, Option<i32>) {
    let output = Command::new("python3").arg(script()).args(arguments).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

fn checkpoint(place: &JournalAddress) -> Checkpoint {
    JournalReader::open(place).unwrap().checkpoint(Time::from_micros(0)).unwrap().unwrap()
}

#[test]
fn an_export_and_what_is_changed_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let place = filled(directory.path(), 1100);
    let mut bytes = Vec::new();
    JournalReader::open(&place).unwrap().export(&mut bytes).unwrap().unwrap();
    fs::write(path("export"), &bytes).unwrap();
    fs::write(path("checkpoint"), checkpoint(&place).to_text()).unwrap();
    let since = [path("export"), "--since".into(), path("checkpoint")];
    let since: Vec<&Path> = since.iter().map(PathBuf::as_path).collect();
    assert_eq!(python(&since), ("OK: 1102 records intact, 1 checkpoint matched\n".to_owned(), Some(0)));

    // A bit here and there; all of them are turned elsewhere.
    for step in 0..40 {
        let (at, bit) = (bytes.len() / 40 * step + step * 7 % 100, 1 << (step % 8));
        let mut changed = bytes.clone();
        changed[at] ^= bit;
        fs::write(path("changed"), &changed).unwrap();
        let ours = verify_export(&mut &changed[..], &[]).unwrap().damage.unwrap().sequence.unwrap();
        let (said, code) = python(&[&path("changed")]);
        assert!(said.starts_with(&format!("damaged: record {ours}:")), "byte {at}: {said}");
        assert_eq!(code, Some(1));
    }
    let end = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    fs::write(path("export"), &bytes[..end]).unwrap();
    let (said, code) = python(&since);
    assert!(said.starts_with("damaged: record 1101:") && code == Some(1), "{said}");
}

#[test]
fn proofs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("proof");
    for count in [1, 2, 6, 7, 20] {
        let below = tempfile::tempdir().unwrap();
        let place = filled(below.path(), count);
        let mut reader = JournalReader::open(&place).unwrap();
        let now = Time::from_micros(0);
        let mut proofs = Vec::new();
        for sequence in 0..=count {
            let proof = reader.prove_inclusion(sequence, now).unwrap().unwrap();
            assert!(proof.holds());
            proofs.push(serde_json::to_value(proof).unwrap());
        }
        for proof in proofs {
            fs::write(&path, proof.to_string()).unwrap();
            let (said, code) = python(&[Path::new("--proof"), &path]);
            assert!(said.starts_with("proven") && code == Some(0), "{said}");
            let mut wrong = proof;
            wrong["checkpoint"]["root"] = serde_json::json!(metier_skill::Digest::of(b"other"));
            fs::write(&path, wrong.to_string()).unwrap();
            let (said, code) = python(&[Path::new("--proof"), &path]);
            assert!(said.starts_with("NOT proven") && code == Some(1), "{said}");
        }
    }
}

#[test]
fn that_a_journal_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("proof");
    let old = filled(directory.path(), 12);
    let old = checkpoint(&old);
    let journal = crate::common::open(directory.path());
    let clock = crate::clock::TestClock::new(2);
    for number in 0..9 {
        journal.append(crate::common::entry(&*clock, "s", number)).unwrap();
        let mut reader = JournalReader::open(&crate::common::place(directory.path())).unwrap();
        let proof = reader.prove_consistency(old.clone(), Time::from_micros(0)).unwrap().unwrap();
        assert!(proof.holds());
        fs::write(&path, serde_json::to_string(&proof).unwrap()).unwrap();
        let (said, code) = python(&[Path::new("--proof"), &path]);
        assert!(said.starts_with("proven") && code == Some(0), "{said}");
    }
}

#[test]
fn archives_alone_and_together() {
    use crate::archives::{archives, filled, request};

    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (journal, _) = filled(directory.path(), 2100, 25);
    let early = checkpoint(&crate::common::place(directory.path()));
    journal.archive(&request(directory.path(), "2026-03-01", true)).unwrap();
    let place = crate::common::place(directory.path());
    let mut live = Vec::new();
    JournalReader::open(&place).unwrap().export(&mut live).unwrap().unwrap();
    fs::write(path("live.jsonl"), &live).unwrap();
    fs::write(path("early"), early.to_text()).unwrap();
    fs::write(path("now"), checkpoint(&place).to_text()).unwrap();
    let mut all = archives(directory.path());
    assert_eq!(all.len(), 2);
    all.push(path("live.jsonl"));
    for alone in &all {
        let (said, code) = python(&[alone]);
        assert!(said.starts_with("OK: ") && code == Some(0), "{said}");
    }
    let since =
        [Path::new("--since"), &path("early"), Path::new("--since"), &path("now")].map(Path::to_path_buf);
    let together: Vec<&Path> = all.iter().chain(&since).map(PathBuf::as_path).collect();
    let (said, code) = python(&together);
    assert_eq!((said.as_str(), code), ("OK: 2105 records intact, 2 checkpoints matched\n", Some(0)));
    // The first by name is the second of two.
    let (said, code) = python(&[&all[1], &all[2]]);
    assert!(
        said.starts_with("damaged: records 7") && said.contains("are missing") && code == Some(1),
        "{said}"
    );
    // What is changed in an archive, compressed again or not.
    let good = fs::read(&all[0]).unwrap();
    let mut changed = good.clone();
    changed[good.len() / 2] ^= 1;
    fs::write(&all[0], &changed).unwrap();
    let (said, code) = python(&together);
    assert!(said.starts_with("damaged: ") && code == Some(1), "{said}");
    fs::write(&all[0], &good[..good.len() / 2]).unwrap();
    let (said, code) = python(&together);
    assert!(said.starts_with("damaged: ") && code == Some(1), "{said}");
    fs::write(&all[0], &good).unwrap();
    let text = String::from_utf8(live).unwrap();
    for (old, new) in [("\"size\":", "\"size\":1"), ("\"nodes\":[\"sha256:", "\"nodes\":[\"sha256:0")] {
        fs::write(path("live.jsonl"), text.replacen(old, new, 1)).unwrap();
        let (said, code) = python(&together);
        assert!(said.starts_with("damaged: ") && code == Some(1), "{said}");
    }
}
