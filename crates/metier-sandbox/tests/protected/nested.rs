//! Repositories below the top that existed before: whatever would make git run something else is reported.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use metier_sandbox::{ReservedPaths, SandboxProfile, WorkDirectory};
use metier_skill::Tier;

use crate::{after, common, left, moved, planted, repository};

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A repository with a directory of hooks in its work tree, which one of these values names.
fn with_hooks_path(work: &Path, value: &str) {
    fs::create_dir_all(work.join("app/hk")).unwrap();
    repository(&work.join("app"));
    fs::write(work.join("app/hk/pre-commit"), "mine").unwrap();
    fs::write(work.join("app/.git/config"), format!("[core]\n\thooksPath = {value}\n")).unwrap();
}

#[test]
fn hooks_that_are_named_by_an_absolute_path_are_looked_at() {
    for by_home in [false, true] {
        let home = common::work();
        let work = home.path().join("work");
        fs::create_dir(&work).unwrap();
        let absolute = work.canonicalize().unwrap().join("app/hk").display().to_string();
        with_hooks_path(&work, if by_home { "~/work/app/hk" } else { &absolute });
        let reserved = ReservedPaths::default().home(home.path());
        let opened = WorkDirectory::open(work.canonicalize().unwrap(), &reserved).unwrap();
        let profile = SandboxProfile::new(Tier::ThirdParty, opened);
        let outcome = common::sh(profile, "echo evil >> app/hk/pre-commit; echo evil > app/hk/post-commit");
        assert_eq!(planted(&outcome, &work), [left("app/hk/post-commit"), left("app/hk/pre-commit")]);
    }
}

#[test]
fn settings_that_are_included_by_an_absolute_path_are_looked_at() {
    let lay_out = |work: &Path| {
        fs::create_dir(work.join("app")).unwrap();
        repository(&work.join("app"));
        let path = work.canonicalize().unwrap().join("app/more");
        fs::write(&path, "").unwrap();
        fs::write(work.join("app/.git/config"), format!("[include]\n\tpath = {}\n", path.display())).unwrap();
    };
    after(lay_out, "printf '[core]\\nfsmonitor = evil\\n' > app/more", |work, outcome| {
        assert_eq!(planted(outcome, work), [left("app/more")]);
        assert!(outcome.planted[0].runs_commands);
    });
}

#[test]
fn a_hook_that_becomes_executable_or_leads_elsewhere_is_reported() {
    let lay_out = |work: &Path| {
        fs::create_dir_all(work.join("app/tools")).unwrap();
        repository(&work.join("app"));
        let hooks = work.join("app/.git/hooks");
        for file in [hooks.join("update"), work.join("app/tools/one"), work.join("app/tools/two")] {
            fs::write(&file, "#!/bin/sh\n").unwrap();
            set(&file, 0o644);
        }
        symlink("../../tools/one", hooks.join("pre-commit")).unwrap();
    };
    for (script, path) in [
        ("chmod +x app/.git/hooks/update", "app/.git/hooks/update"),
        ("chmod +x app/tools/one", "app/.git/hooks/pre-commit"),
        ("ln -sf ../../tools/two app/.git/hooks/pre-commit", "app/.git/hooks/pre-commit"),
        ("echo evil >> app/tools/one", "app/.git/hooks/pre-commit"),
    ] {
        after(lay_out, script, |work, outcome| {
            assert_eq!(planted(outcome, work), [left(path)], "{script}");
            assert!(outcome.planted[0].changed && outcome.planted[0].runs_commands, "{script}");
        });
    }
    after(
        lay_out,
        "touch app/.git/hooks/update; chmod o-r app/.git/hooks/update; echo x > app/tools/two",
        |work, outcome| {
            assert_eq!(planted(outcome, work), []);
        },
    );
}

#[test]
fn a_directory_of_hooks_that_leads_elsewhere_is_looked_at() {
    let lay_out = |work: &Path| {
        fs::create_dir_all(work.join("app/one")).unwrap();
        fs::create_dir_all(work.join("app/two")).unwrap();
        repository(&work.join("app"));
        fs::write(work.join("app/one/pre-commit"), "mine").unwrap();
        fs::remove_dir(work.join("app/.git/hooks")).unwrap();
        symlink("../one", work.join("app/.git/hooks")).unwrap();
    };
    for (script, path) in [
        ("ln -sfn ../two app/.git/hooks", "app/.git/hooks"),
        ("echo evil > app/one/pre-commit", "app/one/pre-commit"),
        ("echo evil > app/one/post-commit", "app/one/post-commit"),
    ] {
        after(lay_out, script, |work, outcome| assert_eq!(planted(outcome, work), [left(path)], "{script}"));
    }
}

/// What a person has switched off is not switched on again unseen.
#[test]
fn a_setting_that_is_gone_is_reported() {
    let lay_out = |work: &Path| {
        fs::create_dir(work.join("app")).unwrap();
        repository(&work.join("app"));
        fs::write(work.join("app/.git/hooks/pre-commit"), "mine").unwrap();
        fs::write(work.join("app/.git/config"), "[core]\n\thooksPath = /dev/null\n\tbare = false\n").unwrap();
    };
    for script in ["sed -i /hooksPath/d app/.git/config", "rm app/.git/config"] {
        after(lay_out, script, |work, outcome| {
            assert_eq!(planted(outcome, work), [left("app/.git/config")], "{script}");
            assert!(outcome.planted[0].changed && outcome.planted[0].runs_commands, "{script}");
        });
    }
    // Without a hook there is less to run.
    after(lay_out, "rm app/.git/hooks/pre-commit; sed -i /bare/d app/.git/config", |work, outcome| {
        assert_eq!(planted(outcome, work), []);
    });
    // New hooks are still moved.
    after(
        lay_out,
        "sed -i /hooksPath/d app/.git/config; echo evil > app/.git/hooks/update",
        |work, outcome| {
            assert_eq!(planted(outcome, work), [left("app/.git/config"), moved("app/.git/hooks/update")]);
        },
    );
}

/// Relative paths in a repository's settings mean something in each of its work trees.
#[test]
fn hooks_in_a_linked_work_tree_are_read_only() {
    let lay_out = |work: &Path| {
        repository(work);
        fs::create_dir_all(work.join(".git/worktrees/tree")).unwrap();
        fs::create_dir_all(work.join("tree/hk")).unwrap();
        fs::write(
            work.join(".git/config"),
            "[core]\n\thooksPath = hk\n[filter \"x\"]\n\tclean = ./clean.sh\n",
        )
        .unwrap();
        fs::write(work.join(".git/worktrees/tree/HEAD"), "ref: refs/heads/tree\n").unwrap();
        fs::write(work.join(".git/worktrees/tree/commondir"), "../..\n").unwrap();
        fs::write(work.join("tree/.git"), "gitdir: ../.git/worktrees/tree\n").unwrap();
        fs::write(work.join("tree/hk/pre-commit"), "mine").unwrap();
        fs::write(work.join("tree/clean.sh"), "mine").unwrap();
    };
    let script = "echo evil > tree/hk/pre-commit; echo evil > tree/hk/update; echo evil > tree/clean.sh; echo x > tree/file && echo done";
    after(lay_out, script, |work, outcome| {
        assert_eq!(outcome.output.bytes, b"done\n");
        assert_eq!(fs::read_to_string(work.join("tree/hk/pre-commit")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(work.join("tree/clean.sh")).unwrap(), "mine");
        assert_eq!(fs::read_dir(work.join("tree/hk")).unwrap().count(), 1);
        assert_eq!(planted(outcome, work), []);
    });
    // A file `.git` of a script makes nothing of a person's move.
    let names = "mkdir evil; printf '[core]\\n\\thooksPath = ../tree/hk\\n' > evil/config; mkdir x; echo 'gitdir: ../evil' > x/.git";
    after(lay_out, names, |work, outcome| {
        assert!(work.join("tree/hk/pre-commit").exists());
        assert_eq!(planted(outcome, work), [moved("x/.git")]);
    });
}
