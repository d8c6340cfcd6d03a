//! Ways to hide what other programs obey from the look afterwards: behind new links, in closed directories, in what is moved
//! aside itself, below the top, and in a long list.

use std::fs;
use std::path::Path;

use metier_sandbox::{Job, ReservedPaths, RunOutcome, SandboxProfile, Strictness, WorkDirectory};
use metier_skill::Tier;

use crate::{after, common, repository};

/// A profile whose work directory has a skill root at `root`.
fn with_root(work: &Path, root: &str) -> SandboxProfile {
    let reserved = ReservedPaths::default().kept("a skill root", work.canonicalize().unwrap().join(root));
    SandboxProfile::new(Tier::ThirdParty, WorkDirectory::open(work, &reserved).unwrap())
}

/// What was found: the path, who obeys it, whether it was moved, and whether it was left on purpose.
fn planted(outcome: &RunOutcome, work: &Path) -> Vec<(String, String, bool, bool)> {
    let base = work.canonicalize().unwrap();
    let of = |one: &metier_sandbox::PlantedItem| {
        let path = one.path.strip_prefix(&base).unwrap().display().to_string();
        (path, one.obeyed_by.clone(), one.moved_to.is_some(), one.stays)
    };
    outcome.planted.iter().map(of).collect()
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[test]
fn a_link_on_the_way_to_a_skill_root_is_set_aside() {
    for (root, lay_out, script) in [
        ("tools/skills", "tools", "mkdir -p t2/skills/evil; mv tools x; ln -s t2 tools"),
        ("tools/skills", "", "mkdir -p t2/skills/evil; ln -s t2 tools"),
        ("tools/more/skills", "tools", "mkdir -p t2/skills/evil; ln -s ../t2 tools/more"),
    ] {
        let work = common::work();
        fs::create_dir_all(work.path().join(lay_out)).unwrap();
        let outcome = common::sh(with_root(work.path(), root), script);
        assert!(!work.path().join(root).exists(), "{script}: {outcome:?}");
        let link = if root.contains("more") { "tools/more" } else { "tools" };
        assert_eq!(planted(&outcome, work.path()), [(link.into(), "metier".into(), true, false)], "{script}");
        assert!(work.path().join(format!("{link}.set-aside")).is_symlink());
        assert!(work.path().join("t2/skills/evil").exists(), "only the link is moved");
    }
}

#[test]
fn a_link_on_the_way_to_hooks_that_git_names_is_set_aside() {
    let lay_out = |work: &Path| {
        repository(work);
        fs::create_dir(work.join("tools")).unwrap();
        let config = "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../tools/more\n";
        fs::write(work.join(".git/config"), config).unwrap();
    };
    let script =
        "mkdir -p t2/hooks; echo evil > t2/hooks/pre-commit; echo x > t2/more; mv tools x; ln -s t2 tools";
    after(lay_out, script, |work, outcome| {
        assert!(!is_there(&work.join("tools")), "{outcome:?}");
        // Both are behind the same link.
        assert_eq!(planted(outcome, work), [("tools".into(), "git".into(), true, false)]);
    });
}

/// A link that was there before is somebody's. Where nothing is read-only, the script runs all the same.
#[test]
fn a_link_that_was_there_before_is_not_moved() {
    let work = common::work();
    fs::create_dir_all(work.path().join("t2/skills")).unwrap();
    std::os::unix::fs::symlink("t2", work.path().join("tools")).unwrap();
    // By its text, since a root is taken where it leads.
    let mut profile = common::profile(work.path());
    profile.protected.push("tools/skills".into());
    profile.strictness = Strictness::Unprotected;
    let outcome = common::sh(profile, "echo x > t2/skills/x");
    assert!(work.path().join("tools").is_symlink(), "{outcome:?}");
    assert_eq!(outcome.planted, []);
}

#[test]
fn what_is_new_is_moved_out_of_closed_directories() {
    let work = common::work();
    let script = "mkdir -p a/b/c/skills/evil; chmod 0 a/b/c; chmod 0 a/b; chmod 0 a";
    let outcome = common::sh(with_root(work.path(), "a/b/c/skills"), script);
    let is_there = is_there(&work.path().join("a/b/c/skills"));
    std::process::Command::new("chmod").args(["-R", "u+rwx", "a"]).current_dir(work.path()).status().unwrap();
    assert!(!is_there && !work.path().join("a/b/c/skills").exists(), "{outcome:?}");
    let moved: Vec<_> = planted(&outcome, work.path()).into_iter().filter(|one| one.2).collect();
    assert_eq!(moved, [("a/b/c/skills".into(), "metier".into(), true, false)], "{outcome:?}");
}

/// Where a file is in the way, nothing can be behind it.
#[test]
fn a_file_in_the_place_of_a_directory_is_no_news() {
    let work = common::work();
    let outcome = common::sh(with_root(work.path(), "tools/skills"), "echo x > tools");
    assert_eq!(outcome.planted, []);
}

/// One report for a directory; but a repository in it runs commands wherever it is moved.
#[test]
fn what_lies_in_something_that_is_moved_is_dealt_with_there() {
    let work = common::work();
    let script = "mkdir -p .claude/skills/evil .claude/x/.git/objects .claude/x/.git/refs .claude/y/.git/objects .claude/y/.git/refs
        for d in x y; do echo 'ref: refs/heads/main' > .claude/$d/.git/HEAD; done
        printf '[core]\\n\\tfsmonitor = evil\\n' > .claude/x/.git/config";
    let outcome = common::sh(with_root(work.path(), ".claude/skills"), script);
    let expected = [
        (".claude".into(), "Claude Code".into(), true, false),
        (".claude/x/.git".into(), "git".into(), true, false),
    ];
    assert_eq!(planted(&outcome, work.path()), expected, "{outcome:?}");
    let moved = outcome.planted[1].moved_to.clone().unwrap();
    assert!(moved.starts_with(work.path().canonicalize().unwrap().join(".claude.set-aside/x")), "{moved:?}");
    assert!(moved.join("config").exists() && !moved.join("HEAD").exists());
}

#[test]
fn what_editors_and_agents_obey_is_reported_below() {
    let script = "mkdir -p app/.vscode app/.codex app/.github/workflows; echo x > app/.vscode/tasks.json
        echo x > app/.mcp.json; echo x > app/.codex/config.toml; echo x > app/.github/workflows/x.yml; echo x > app/.env";
    after(
        |_| {},
        script,
        |work, outcome| {
            let mut all = planted(outcome, work);
            all.sort();
            let left = |path: &str, by: &str| (format!("app/{path}"), by.to_owned(), false, true);
            let expected = [
                left(".codex", "Codex"),
                left(".mcp.json", "Claude Code"),
                left(".vscode", "Visual Studio Code"),
            ];
            assert_eq!(all, expected);
            assert!(work.join("app/.vscode/tasks.json").exists());
        },
    );
}

/// Its top is where programs are started, as at the top of the work directory.
#[test]
fn every_row_is_looked_at_where_a_repository_is() {
    let lay_out = |work: &Path| {
        fs::create_dir_all(work.join("app/sub")).unwrap();
        repository(&work.join("app"));
        fs::write(work.join("app/.npmrc"), "mine").unwrap();
        fs::create_dir_all(work.join("tree")).unwrap();
        fs::write(work.join("tree/.git"), "gitdir: /elsewhere\n").unwrap();
    };
    let script = "for d in app app/sub tree; do mkdir -p $d/.husky $d/.github; echo x > $d/.husky/pre-commit; echo x > $d/.github/x
        echo x > $d/.env; echo x > $d/lefthook.yml; done; cat app/.npmrc";
    after(lay_out, script, |work, outcome| {
        let mut all: Vec<String> = planted(outcome, work).into_iter().map(|one| one.0).collect();
        all.sort();
        let names = [".env", ".github", ".husky", "lefthook.yml"];
        let expected = ["app", "tree"].map(|top| names.map(|name| format!("{top}/{name}"))).concat();
        assert_eq!(all, expected);
        assert!(outcome.planted.iter().all(|one| one.stays && !one.changed), "{outcome:?}");
    });
}

/// A list is cut where it is long, so what matters most comes first.
#[test]
fn what_runs_commands_and_stays_comes_before_what_was_moved_and_before_instructions() {
    let lay_out = |work: &Path| {
        fs::create_dir(work.join("lib")).unwrap();
        repository(&work.join("lib"));
    };
    let script =
        "for n in $(seq 101); do mkdir -p a/$n/.git/objects a/$n/.git/refs a/$n/x; echo x > a/$n/.git/HEAD
        echo '[alias] x = !evil' > a/$n/.git/config; echo x > a/$n/AGENTS.md; echo x > a/$n/x/.envrc; done
        echo '[core] fsmonitor = evil' >> lib/.git/config";
    after(lay_out, script, |work, outcome| {
        let all = planted(outcome, work);
        assert_eq!(all.len(), 304);
        assert_eq!(all[0], ("lib/.git/config".into(), "git".into(), false, true));
        let first = |part: &str| all.iter().position(|one| one.0.ends_with(part)).unwrap();
        let order = [first("x/.envrc"), first("1/.git"), first("1/AGENTS.md")];
        assert_eq!(order, [1, 102, 203]);
    });
}

/// Nothing that was dealt with keeps the next run from beginning, or is reported again.
#[test]
fn the_run_after_that_begins_and_reports_nothing() {
    let work = common::work();
    let profile = with_root(work.path(), "tools/skills");
    common::sh(
        profile.clone(),
        "mkdir -p t2/skills; ln -s t2 tools; mkdir -p app/.vscode; echo x > app/.vscode/x",
    );
    let again = common::run_job(&Job::new(profile, "true", Vec::new()));
    assert_eq!(again.planted, []);
}
