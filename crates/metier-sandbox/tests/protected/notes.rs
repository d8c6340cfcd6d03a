//! Notes that are damaged or cannot be written: nothing runs as if there were none, and nothing goes unreported.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use metier_sandbox::{Executor as _, Job, Local, SandboxError, Sink, Stream, settle_notes};

use crate::common;

fn job(work: &Path, script: &str) -> Job {
    Job::new(common::profile(work), "/bin/sh", ["-c", script].map(Into::into).to_vec())
}

/// Where the note of a work directory is.
fn note_of(work: &Path, notes: &Path) -> PathBuf {
    let metadata = fs::metadata(work).unwrap();
    notes.join(format!("{:x}-{:x}", metadata.dev(), metadata.ino()))
}

/// The whole message with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

#[test]
fn a_note_that_cannot_be_read_stops_the_next_run_and_is_named() {
    let (work, place) = (common::work(), common::work());
    let notes = place.path().join("notes");
    fs::create_dir(&notes).unwrap();
    let note = note_of(work.path(), &notes);
    let local = common::local().with_notes(&notes);
    // Cut off, of another kind, and nothing at all.
    for damaged in [&b"\x02\x01\x05/work"[..], b"\x03\x01", b"garbage", b""] {
        fs::write(&note, damaged).unwrap();
        let error = local.run(&job(work.path(), "echo x > ran"), &mut ()).unwrap_err();
        assert!(matches!(error, SandboxError::Note { .. }), "{error:?}");
        let text = told(&error);
        assert!(text.contains(note.to_str().unwrap()) && text.contains("remove"), "{text}");
        assert!(!work.path().join("ran").exists());
        let text = told(&settle_notes(&notes).unwrap_err());
        assert!(text.contains(note.to_str().unwrap()) && text.contains("remove"), "{text}");
        assert_eq!(fs::read(&note).unwrap(), damaged, "it is left for a person to look at");
    }
    fs::remove_file(&note).unwrap();
    local.run(&job(work.path(), "echo x > ran"), &mut ()).unwrap();
    assert!(work.path().join("ran").exists());
    assert_eq!(fs::read_dir(&notes).unwrap().count(), 0, "nothing is left of the lock either");
}

/// While the script runs, the directory of the notes is put out of reach.
struct Breaks<'a>(&'a Path, PathBuf);

impl Sink for Breaks<'_> {
    fn take(&mut self, _: Stream, _: &[u8]) {
        // The file beside the note cannot be written where a directory has its name.
        fs::create_dir_all(self.0.join(&self.1).join("in the way")).unwrap();
    }
}

/// The note cannot be removed or replaced, but what was found and moved is known.
#[test]
fn what_was_found_is_reported_where_the_note_cannot_be_written() {
    let (work, place) = (common::work(), common::work());
    let notes = place.path().join("notes");
    let local: Local = common::local().with_notes(&notes);
    let name = note_of(work.path(), &notes).file_name().unwrap().to_str().unwrap().to_owned();
    // Another run goes on there, so that the note is still needed and has to be written.
    let stays = "echo ready; while [ ! -e go ]; do sleep 0.05; done";
    let outcome = std::thread::scope(|scope| {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (first, path) = (local.clone(), work.path().to_owned());
        let goes_on = scope.spawn(move || first.run(&job(&path, stays), &mut Says(ready)).unwrap());
        is_ready.recv().unwrap();
        let script = "echo evil > CLAUDE.md; echo x";
        let outcome = local.run(&job(work.path(), script), &mut Breaks(&notes, format!("{name}.new").into()));
        fs::remove_dir_all(notes.join(format!("{name}.new"))).unwrap();
        fs::write(work.path().join("go"), "").unwrap();
        goes_on.join().unwrap();
        outcome.unwrap()
    });
    assert!(!work.path().join("CLAUDE.md").exists());
    assert_eq!(outcome.planted.len(), 1, "{outcome:?}");
    assert!(outcome.planted[0].moved_to.is_some());
}

/// Says when the script has begun.
struct Says(std::sync::mpsc::Sender<()>);

impl Sink for Says {
    fn take(&mut self, _: Stream, _: &[u8]) {
        // Whoever waited for it may have given up.
        let _ = self.0.send(());
    }
}
