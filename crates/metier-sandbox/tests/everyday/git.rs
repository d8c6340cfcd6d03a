//! Git, in a new repository and in one that was there before.

use std::path::Path;
use std::process::Command;

use metier_sandbox::{Ending, RunOutcome};

use crate::{common, text};

const GIT: &[&str] = &["/usr/bin/git", "/usr/local/bin/git"];

/// Whether git can be found inside; says so if not.
fn there_is_git() -> bool {
    let found = GIT.iter().any(|path| Path::new(path).exists());
    if !found {
        common::skip("git is not installed in /usr; it is not run in the sandbox");
    }
    found
}

fn assert_prints(outcome: &RunOutcome, expected: &str) {
    let errors = text(&outcome.errors.bytes);
    assert_eq!(outcome.ending, Ending::Exited(0), "{errors}");
    assert_eq!(text(&outcome.output.bytes).trim_end(), expected, "{errors}");
}

#[test]
fn new_repository() {
    if !there_is_git() {
        return;
    }
    let work = common::work();
    let script = "set -e
        git init -q -b main .
        echo one >file; git add file; git commit -qm one
        git checkout -qb side; echo two >other; git add .; git commit -qm two
        git checkout -q main; echo three >>file; git commit -qam three
        git merge -q --no-edit side
        git tag v1; git stash list; git gc -q; git fsck --no-progress 2>/dev/null
        git log --format='%an <%ae> %s' --topo-order; git status --short; git rev-list --count HEAD
        git clone -q . /tmp/clone; ls /tmp/clone; git -C /tmp/clone worktree add -q /tmp/tree v1; cat /tmp/tree/file";
    let outcome = common::sh(common::profile(work.path()), script);
    let by = "Skill <skill@sandbox.invalid>";
    let merged =
        format!("{by} Merge branch 'side'\n{by} two\n{by} three\n{by} one\n4\nfile\nother\none\nthree");
    assert_prints(&outcome, &merged);
    let planted: Vec<_> = outcome.planted.iter().map(|one| (&one.path, &one.moved_to)).collect();
    assert_eq!(planted, [(&work.path().join(".git"), &None)]);
}

#[test]
fn existing_repository() {
    if !there_is_git() {
        return;
    }
    let work = common::work();
    let outside = |arguments: &[&str]| {
        let done = Command::new("git")
            .args([
                "-c",
                "user.name=Outer",
                "-c",
                "user.email=outer@example.org",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(arguments)
            .env("HOME", work.path().join("none"))
            .current_dir(work.path())
            .output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout)
    };
    outside(&["init", "-q"]);
    std::fs::write(work.path().join("file"), "one\n").unwrap();
    outside(&["add", "."]);
    outside(&["commit", "-qm", "one"]);

    let script = "set -e; echo two >>file; git commit -qam two; git checkout -qb side; echo x >new; git add .
        git commit -qm three; git log --format='%an %s'; git diff --stat HEAD~2 | tail -1";
    let outcome = common::sh(common::profile(work.path()), script);
    let changed = "Skill three\nSkill two\nOuter one\n 2 files changed, 2 insertions(+)";
    assert_prints(&outcome, changed);
    assert_eq!(outcome.planted, []);
    assert_eq!(outside(&["log", "--format=%s", "side"]), "three\ntwo\none\n");
    assert_eq!(outside(&["status", "--short"]), "");

    let refused = common::sh(common::profile(work.path()), "git config core.pager evil");
    assert!(matches!(refused.ending, Ending::Exited(1..)), "{:?}", refused.ending);
    let refused = text(&refused.errors.bytes);
    assert!(refused.contains("could not"), "{refused}");
}
