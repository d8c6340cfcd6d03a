//! Where git pushes to: a repository on this machine runs its hooks, so a script must neither make one for it nor lead git there.

use std::fs;
use std::path::Path;

use crate::{after, common, left, moved, planted, repository};

/// Makes a bare repository whose hook would be run by a push.
const EVIL: &str = "evil() { mkdir -p $1/objects $1/refs $1/hooks; echo 'ref: refs/heads/main' > $1/HEAD
    printf '#!/bin/sh\\n' > $1/hooks/pre-receive; chmod +x $1/hooks/pre-receive; }; ";

/// A repository with a remote at the top, and one below.
fn lay_out(work: &Path) {
    for top in [work.to_owned(), work.join("app")] {
        fs::create_dir_all(&top).unwrap();
        repository(&top);
        let config = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://good.example/x.git\n";
        fs::write(top.join(".git/config"), config).unwrap();
    }
}

#[test]
fn a_bare_repository_with_hooks_inside_of_git_s_directory_is_set_aside() {
    for place in
        [".git/evil", ".git/objects/ab/evil", ".git/refs/heads/x", "app/.git/evil", "app/.git/logs/a/b"]
    {
        let script = format!("{EVIL} evil {place}");
        after(lay_out, &script, |work, outcome| {
            assert_eq!(planted(outcome, work), [moved(&format!("{place}/HEAD"))], "{place}");
            assert!(!work.join(place).join("HEAD").exists());
        });
    }
    // In one that the script made, and where it belongs: as a submodule, but deeper than those are looked for.
    for place in ["new/.git/evil", "new/.git/modules/a/b/c/d/e/f"] {
        let script = format!(
            "{EVIL} mkdir -p new/.git/objects new/.git/refs; echo 'ref: x' > new/.git/HEAD; evil {place}"
        );
        after(lay_out, &script, |work, outcome| {
            assert_eq!(
                planted(outcome, work),
                [left("new/.git"), moved(&format!("{place}/HEAD"))],
                "{place}"
            );
        });
    }
    // As a work tree of the repository.
    let script = format!("{EVIL} evil app/.git/worktrees/x");
    after(lay_out, &script, |work, outcome| {
        assert_eq!(planted(outcome, work), [moved("app/.git/worktrees/x/HEAD")]);
    });
}

#[test]
fn remotes_in_the_old_form_are_set_aside() {
    for (file, reported) in [
        (".git/remotes/origin", ".git/remotes"),
        (".git/branches/origin", ".git/branches"),
        ("app/.git/remotes/origin", "app/.git/remotes/origin"),
        ("app/.git/branches/origin", "app/.git/branches/origin"),
    ] {
        let script = format!("mkdir -p $(dirname {file}); echo 'URL: ../evil' > {file}");
        after(lay_out, &script, |work, outcome| {
            assert_eq!(planted(outcome, work), [moved(reported)], "{file}");
            assert!(outcome.planted[0].runs_commands && !work.join(file).exists());
        });
    }
    // At the top of a bare repository.
    let bare = |work: &Path| {
        for directory in ["objects", "refs"] {
            fs::create_dir(work.join(directory)).unwrap();
        }
        fs::write(work.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    };
    after(bare, "mkdir remotes; echo 'URL: ../evil' > remotes/origin", |work, outcome| {
        assert_eq!(planted(outcome, work), [moved("remotes")]);
    });
}

#[test]
fn other_addresses_in_a_repository_that_existed_are_reported() {
    let add = |text: &str| format!("printf '{text}' >> app/.git/config");
    for (script, runs_commands) in [
        ("sed -i s/good/evil/ app/.git/config".to_owned(), false),
        (add("\\tpushurl = https://evil.example/x.git\\n"), false),
        (add("\\tpushurl = /work/app/.git/evil\\n"), true),
        (add("\\tpushurl = file:///evil\\n"), true),
        (add("[branch \"main\"]\\n\\tpushRemote = https://evil.example/x.git\\n"), false),
        (add("[branch \"main\"]\\n\\tremote = ../evil\\n"), true),
        (add("[remote \"other\"]\\n\\turl = https://evil.example/x.git\\n"), false),
    ] {
        after(lay_out, &script, |work, outcome| {
            assert_eq!(planted(outcome, work), [left("app/.git/config")], "{script}");
            assert!(outcome.planted[0].changed, "{script}");
            assert_eq!(outcome.planted[0].runs_commands, runs_commands, "{script}");
        });
    }
    // What every branch has that follows another.
    let follows = add(
        "[branch \"x\"]\\n\\tremote = origin\\n\\tmerge = refs/heads/x\\n[branch \"y\"]\\n\\tremote = .\\n",
    );
    after(lay_out, &follows, |work, outcome| assert_eq!(planted(outcome, work), []));
}

/// As `git clone` and `git submodule add` do.
#[test]
fn addresses_of_what_a_script_made_are_no_news() {
    let module = "mkdir -p app/.git/modules/x; echo 'ref: x' > app/.git/modules/x/HEAD
        printf '[remote \"origin\"]\\n\\turl = ../y\\n' > app/.git/modules/x/config";
    after(lay_out, module, |work, outcome| assert_eq!(planted(outcome, work), []));
    let clone = "mkdir -p new/.git/objects new/.git/refs; echo 'ref: x' > new/.git/HEAD
        printf '[remote \"origin\"]\\n\\turl = ../app\\n[branch \"main\"]\\n\\tremote = origin\\n' > new/.git/config";
    after(lay_out, clone, |work, outcome| {
        assert_eq!(planted(outcome, work), [left("new/.git")]);
        assert!(!outcome.planted[0].runs_commands);
    });
}

/// The whole of it, with git: nothing that a script leaves is run by a push.
#[test]
fn a_push_runs_no_hook_of_a_script() {
    let git = |work: &Path, arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "safe.directory=*", "-c", "user.name=x", "-c", "user.email=x@example.org"]);
        git.args(arguments).current_dir(work).env("HOME", work).env("GIT_CONFIG_NOSYSTEM", "1").output()
    };
    let work = common::work();
    let Ok(_) = git(work.path(), &["init", "-q", "-b", "main"]) else { return };
    git(work.path(), &["commit", "-q", "--allow-empty", "-m", "1"]).unwrap();
    let script = format!(
        "{EVIL} evil .git/evil; printf '#!/bin/sh\\ntouch obeyed' > .git/evil/hooks/pre-receive
        printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = true\\n' > .git/evil/config
        mkdir .git/remotes; printf 'URL: %s/.git/evil\\nPush: refs/heads/main\\n' \"$PWD\" > .git/remotes/origin"
    );
    let outcome = common::sh(common::profile(work.path()), &script);
    assert_eq!(planted(&outcome, work.path()), [moved(".git/evil/HEAD"), moved(".git/remotes")]);
    for address in ["origin", ".git/evil"] {
        let pushed = git(work.path(), &["push", "-q", address, "main"]).unwrap();
        assert!(!pushed.status.success() && !work.path().join(".git/evil/obeyed").exists(), "{pushed:?}");
    }
}
