//! Repositories below the top that are armed bit by bit: harmless when they are made, and told later what to run.

use std::fs;
use std::path::{Path, PathBuf};

use metier_sandbox::{Executor as _, Job, Local, RunOutcome, settle_notes};

use crate::{after, common, planted, repository};

const MAKE: &str = "mkdir -p sub/.git/objects sub/.git/refs; echo 'ref: refs/heads/main' > sub/.git/HEAD
    printf '[core]\\n\\tbare = false\\n' > sub/.git/config";
const ARM: &str = "printf '[core]\\n\\tfsmonitor = evil\\n' >> sub/.git/config";

fn sh(local: &Local, work: &Path, script: &str) -> RunOutcome {
    let job = Job::new(common::profile(work), "/bin/sh", ["-c", script].map(Into::into).to_vec());
    local.run(&job, &mut ()).unwrap()
}

/// Executors that remember in different places.
fn locals(notes: &Path) -> [Local; 2] {
    [common::local(), common::local().with_notes(notes.join("notes"))]
}

#[test]
fn a_repository_that_a_run_made_cannot_be_told_later_what_to_run() {
    let notes = common::work();
    for local in locals(notes.path()) {
        let work = common::work();
        let made = sh(&local, work.path(), MAKE);
        assert_eq!(planted(&made, work.path()), [("sub/.git".into(), false, true)]);
        // Settings that only keep versions are no news.
        let harmless = "printf '[remote \"x\"]\\n\\turl = https://example.org/x\\n' >> sub/.git/config";
        assert_eq!(sh(&local, work.path(), harmless).planted, []);
        let armed = sh(&local, work.path(), ARM);
        assert_eq!(planted(&armed, work.path()), [("sub/.git/config".into(), true, false)]);
        assert!(!work.path().join("sub/.git/config").exists());
        assert!(work.path().join("sub/.git/HEAD").exists(), "the rest may be somebody's work");
    }
}

/// A name that is not text hides nothing.
#[test]
fn nor_can_one_whose_name_is_not_text() {
    let work = common::work();
    let (make, arm) = (MAKE.replace("sub/", "$d/"), ARM.replace("sub/", "$d/"));
    let name = "d=$(printf 'b\\377d%%41'); ";
    sh(&common::local(), work.path(), &format!("{name}{make}"));
    let armed = sh(&common::local(), work.path(), &format!("{name}{arm}"));
    assert_eq!(armed.planted.len(), 1, "{armed:?}");
    assert!(
        armed.planted[0].path.ends_with(".git/config") && armed.planted[0].moved_to.is_some(),
        "{armed:?}"
    );
}

/// Once a person has changed its settings it is theirs, and nothing of it is taken away.
#[test]
fn a_repository_that_a_person_took_over_is_left() {
    let notes = common::work();
    for local in locals(notes.path()) {
        let work = common::work();
        sh(&local, work.path(), MAKE);
        let config = work.path().join("sub/.git/config");
        fs::write(&config, "[user]\n\tname = Ada\n").unwrap();
        let armed = sh(&local, work.path(), ARM);
        assert_eq!(planted(&armed, work.path()), [("sub/.git/config".into(), false, true)]);
        assert!(armed.planted[0].changed && config.exists());
    }
}

/// Another one in its place is not the one that a run made.
#[test]
fn a_repository_of_a_person_in_the_place_of_one_that_a_run_made_is_left() {
    let notes = common::work();
    for local in locals(notes.path()) {
        let work = common::work();
        sh(&local, work.path(), MAKE);
        let config = fs::read(work.path().join("sub/.git/config")).unwrap();
        fs::rename(work.path().join("sub"), work.path().join("old")).unwrap();
        fs::create_dir(work.path().join("sub")).unwrap();
        repository(&work.path().join("sub"));
        fs::write(work.path().join("sub/.git/config"), config).unwrap();
        let armed = sh(&local, work.path(), ARM);
        assert_eq!(planted(&armed, work.path()), [("sub/.git/config".into(), false, true)]);
    }
}

/// What is remembered does not outlive the directory.
#[test]
fn nothing_is_remembered_of_what_is_gone() {
    let notes = common::work();
    let directory = notes.path().join("notes");
    let local = common::local().with_notes(&directory);
    let files =
        || fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<PathBuf>>();
    let work = common::work();
    sh(&local, work.path(), MAKE);
    assert!(!files().is_empty());
    assert_eq!(settle_notes(&directory).unwrap(), []);
    assert!(!files().is_empty(), "it is still there");
    // It goes with the repository,
    fs::remove_dir_all(work.path().join("sub")).unwrap();
    sh(&local, work.path(), "true");
    assert_eq!(files(), Vec::<PathBuf>::new());
    // and with the work directory.
    sh(&local, work.path(), MAKE);
    drop(work);
    assert_eq!(settle_notes(&directory).unwrap(), []);
    assert_eq!(files(), Vec::<PathBuf>::new());
}

#[test]
fn new_files_that_run_commands_in_somebody_s_repository_are_moved_aside() {
    let lay_out = |work: &Path| {
        fs::create_dir(work.join("sub")).unwrap();
        repository(&work.join("sub"));
        fs::write(work.join("sub/.git/hooks/pre-commit"), "mine").unwrap();
        fs::write(work.join("sub/.git/hooks/update.sample"), "git's").unwrap();
        fs::create_dir_all(work.join("sub/src")).unwrap();
        fs::write(work.join("sub/src/main"), "mine").unwrap();
    };
    for (script, path) in [
        ("echo evil > sub/.git/hooks/post-checkout", "sub/.git/hooks/post-checkout"),
        ("mv sub/.git/hooks/update.sample sub/.git/hooks/update", "sub/.git/hooks/update"),
        ("echo .. > sub/.git/commondir", "sub/.git/commondir"),
        ("echo '[core] fsmonitor = evil' > sub/.git/config.worktree", "sub/.git/config.worktree"),
        ("mkdir evil; mv sub/.git/hooks x; ln -s ../../evil sub/.git/hooks", "sub/.git/hooks"),
        (
            "mkdir -p sub/.git/modules/m/hooks; echo x > sub/.git/modules/m/HEAD; echo evil > sub/.git/modules/m/hooks/update",
            "sub/.git/modules/m/hooks/update",
        ),
    ] {
        after(lay_out, script, |work, outcome| {
            assert_eq!(planted(outcome, work), [(path.into(), true, false)], "{script}");
            assert!(work.join(path).symlink_metadata().is_err() && work.join("sub/.git/HEAD").exists());
            assert!(!outcome.planted[0].changed, "{script}: it is new");
        });
    }
    // What was there before, and what a script names itself, is left: it could be somebody's.
    for (script, paths) in [
        ("echo evil > sub/.git/hooks/pre-commit", vec!["sub/.git/hooks/pre-commit"]),
        ("echo '[core] fsmonitor = evil' >> sub/.git/config", vec!["sub/.git/config"]),
        ("echo '[core] hooksPath = src' >> sub/.git/config", vec!["sub/.git/config", "sub/src/main"]),
    ] {
        after(lay_out, script, |work, outcome| {
            let expected: Vec<_> = paths.iter().map(|path| ((*path).to_owned(), false, true)).collect();
            assert_eq!(planted(outcome, work), expected, "{script}");
            assert!(outcome.planted.iter().all(|one| one.changed));
        });
    }
    // A file that was there and harmless is changed, not new.
    let worktree = |work: &Path| {
        lay_out(work);
        fs::write(work.join("sub/.git/config.worktree"), "[core]\n\tsparseCheckout = true\n").unwrap();
    };
    after(worktree, "echo '[core] fsmonitor = evil' >> sub/.git/config.worktree", |work, outcome| {
        assert_eq!(planted(outcome, work), [("sub/.git/config.worktree".into(), false, true)]);
    });
}

/// What was moved is not known from then on: the same again is moved again.
#[test]
fn the_same_again_is_moved_again() {
    let work = common::work();
    fs::create_dir(work.path().join("sub")).unwrap();
    repository(&work.path().join("sub"));
    let script = "echo evil > sub/.git/hooks/update; echo '[core] fsmonitor = evil' >> sub/.git/config";
    for round in 0..2 {
        let outcome = sh(&common::local(), work.path(), script);
        let moved: Vec<_> = planted(&outcome, work.path()).into_iter().filter(|one| one.1).collect();
        assert_eq!(moved, [("sub/.git/hooks/update".into(), true, false)], "{round}");
    }
}
