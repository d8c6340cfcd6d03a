//! What other programs obey, in the work directory: it stays as it was, or what is new is moved aside and said.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/common.rs"]
mod common;

use std::fs;
use std::path::Path;

use metier_sandbox::{Ending, Executor as _, Job, Outcome, Place};

/// Lays a work directory out, runs a shell script in it, and looks at what it is afterwards.
fn after(lay_out: impl FnOnce(&Path), script: &str, look: impl FnOnce(&Path, &Outcome)) {
    let work = common::work();
    lay_out(work.path());
    let outcome = common::sh(common::profile(work.path()), script);
    look(work.path(), &outcome);
}

fn repository(work: &Path) {
    for directory in [".git/hooks", ".git/info", ".git/objects", ".git/refs"] {
        fs::create_dir_all(work.join(directory)).unwrap();
    }
    fs::write(work.join(".git/config"), "[core]\n").unwrap();
    fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
}

#[test]
fn a_repository_s_hooks_and_settings_stay() {
    for script in [
        "echo evil > .git/hooks/pre-commit",
        "echo evil >> .git/config",
        "rm -r .git/hooks; mkdir .git/hooks && echo evil > .git/hooks/pre-commit",
        "mv .git/hooks .git/old; mkdir .git/hooks && echo evil > .git/hooks/pre-commit",
        "mv .git old; mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
        "mv .git/info old; mkdir evil; ln -s ../evil .git/info",
        "ln -f /etc/hostname .git/config; cp /etc/hostname new; mv -f new .git/config",
        "echo evil > .git/info/attributes",
    ] {
        after(repository, script, |work, _| {
            assert_eq!(fs::read_to_string(work.join(".git/config")).unwrap(), "[core]\n", "{script}");
            assert_eq!(fs::read_dir(work.join(".git/hooks")).unwrap().count(), 0, "{script}");
            assert_eq!(fs::read_dir(work.join(".git/info")).unwrap().count(), 0, "{script}");
            assert!(!work.join(".git/info").is_symlink(), "{script}");
        });
    }
}

#[test]
fn a_repository_can_be_worked_in() {
    after(repository, "echo x > .git/refs/x && echo ref > .git/HEAD && echo y > file", |work, outcome| {
        assert_eq!(outcome.ending, Ending::Exited(0));
        assert_eq!(fs::read_to_string(work.join(".git/HEAD")).unwrap(), "ref\n");
    });
}

#[test]
fn what_would_lead_git_elsewhere_is_moved_aside() {
    after(repository, "mkdir evil; echo ../evil > .git/commondir", |work, outcome| {
        assert!(!work.join(".git/commondir").exists());
        assert!(work.join(".git/commondir.set-aside").exists());
        assert_eq!(outcome.planted.len(), 1);
    });
    let file = |work: &Path| fs::write(work.join(".git"), "gitdir: elsewhere\n").unwrap();
    after(file, "echo 'gitdir: evil' > .git; mv .git old; rm -f .git", |work, _| {
        assert_eq!(fs::read_to_string(work.join(".git")).unwrap(), "gitdir: elsewhere\n");
    });
}

#[test]
fn a_link_that_cannot_be_kept_is_refused() {
    for link in [".git", ".claude", ".git/hooks"] {
        let work = common::work();
        if link.contains('/') {
            repository(work.path());
            fs::remove_dir(work.path().join(link)).unwrap();
        }
        std::os::unix::fs::symlink("elsewhere", work.path().join(link)).unwrap();
        let job = Job::new(common::profile(work.path()), "touch", vec!["ran".into()]);
        let error = common::local().run(&job, &mut ()).unwrap_err();
        assert_eq!(error.code(), "sandbox_protected_link", "{link}: {error}");
        assert!(!work.path().join("ran").exists());
    }
}

#[test]
fn a_link_to_what_is_protected_is_watched() {
    let lay_out = |work: &Path| {
        fs::write(work.join("AGENTS.md"), "rules").unwrap();
        std::os::unix::fs::symlink("AGENTS.md", work.join("CLAUDE.md")).unwrap();
    };
    after(lay_out, "cat CLAUDE.md; echo evil > CLAUDE.md", |work, outcome| {
        assert_eq!(outcome.output.bytes, b"rules");
        assert_eq!(fs::read_to_string(work.join("CLAUDE.md")).unwrap(), "rules");
        assert!(outcome.planted.is_empty());
    });
    after(lay_out, "rm CLAUDE.md; echo evil > CLAUDE.md", |work, outcome| {
        assert!(!work.join("CLAUDE.md").exists());
        assert_eq!(outcome.planted.len(), 1);
    });
}

#[test]
fn what_is_new_is_moved_aside_however_hard_that_is_made() {
    let blocked = "for n in '' -1 -2 -99; do echo x > CLAUDE.md.set-aside$n; done; echo evil > CLAUDE.md";
    for script in [
        "echo evil > CLAUDE.md",
        blocked,
        "echo evil > CLAUDE.md; mkdir .claude; chmod 555 .",
        "mkfifo CLAUDE.md",
        "ln -s /etc/passwd CLAUDE.md",
    ] {
        after(
            |_| {},
            script,
            |work, outcome| {
                assert!(work.join("CLAUDE.md").symlink_metadata().is_err(), "{script}: {outcome:?}");
                assert!(outcome.planted.iter().all(|one| one.moved_to.is_some()), "{script}");
            },
        );
    }
    after(
        |_| {},
        "mkdir .git; echo evil > .git/config",
        |work, outcome| {
            assert!(work.join(".git").exists() && outcome.planted.len() == 1 && outcome.planted[0].stays);
        },
    );
}

#[test]
fn a_skill_in_the_work_directory_stays() {
    for script in [
        "echo evil > skills/pdf/a",
        "mv skills x; mkdir -p skills/pdf; echo evil > skills/pdf/a",
        "mv skills/pdf x; mkdir skills/pdf; echo evil > skills/pdf/a",
        "rm -rf skills; mkdir -p skills/pdf; echo evil > skills/pdf/a",
    ] {
        let work = common::work();
        fs::create_dir_all(work.path().join("skills/pdf")).unwrap();
        fs::write(work.path().join("skills/pdf/a"), "good").unwrap();
        let mut profile = common::profile(work.path());
        profile.add_skill(Place::pin(work.path().join("skills/pdf")).unwrap());
        common::sh(profile, script);
        assert_eq!(fs::read_to_string(work.path().join("skills/pdf/a")).unwrap(), "good", "{script}");
    }
}

#[test]
fn what_is_kept_cannot_be_written_to_as_well() {
    let work = common::work();
    let mut profile = common::profile(work.path());
    profile.add_skill(Place::pin(work.path()).unwrap());
    let error = common::local().run(&Job::new(profile, "true", Vec::new()), &mut ()).unwrap_err();
    assert_eq!(error.code(), "sandbox_path_too_wide");
}

#[test]
fn as_an_ordinary_user() {
    common::again_as_ordinary_user();
}
