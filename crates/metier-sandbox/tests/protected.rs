//! What other programs obey, in the work directory: it stays as it was, or what is new is moved aside and said.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(
    clippy::print_stdout,
    reason = "a helper talks to the test that started it; counts are for people to read"
)]

#[path = "protected/addresses.rs"]
mod addresses;
#[path = "protected/armed.rs"]
mod armed;
#[path = "support/common.rs"]
mod common;
#[path = "missing/filter.rs"]
mod filter;
#[path = "protected/git.rs"]
mod git;
#[path = "protected/hidden.rs"]
mod hidden;
#[path = "protected/led.rs"]
mod led;
#[path = "protected/nested.rs"]
mod nested;
#[path = "protected/notes.rs"]
mod notes;
#[path = "protected/overlapping.rs"]
mod overlapping;
#[path = "leftovers/processes.rs"]
mod processes;
#[path = "protected/replaced.rs"]
mod replaced;

use std::fs;
use std::path::Path;

use crate::filter::{Lacking, Only};

use metier_sandbox::{Ending, Executor as _, Job, OBEYED, PinnedPath, RunOutcome, Strictness};
use metier_skill::Coded as _;

/// Lays a work directory out, runs a shell script in it, and looks at what it is afterwards.
fn after(lay_out: impl FnOnce(&Path), script: &str, look: impl FnOnce(&Path, &RunOutcome)) {
    let work = common::work();
    lay_out(work.path());
    let outcome = common::sh(common::profile(work.path()), script);
    look(work.path(), &outcome);
}

/// What is reported, in order: the path, whether it was moved, and whether it was left on purpose.
fn planted(outcome: &RunOutcome, work: &Path) -> Vec<(String, bool, bool)> {
    let base = work.canonicalize().unwrap();
    let of = |one: &metier_sandbox::PlantedItem| {
        let path = one.path.strip_prefix(&base).unwrap().display().to_string();
        (path, one.moved_to.is_some(), one.stays)
    };
    let mut all: Vec<_> = outcome.planted.iter().map(of).collect();
    all.sort();
    all
}

/// Something that was moved, and something that was left.
fn moved(path: &str) -> (String, bool, bool) {
    (path.to_owned(), true, false)
}

fn left(path: &str) -> (String, bool, bool) {
    (path.to_owned(), false, true)
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
        assert_eq!(error.code(), "sandbox-protected-link", "{link}: {error}");
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
}

/// Every row of the table, by the file that its program reads.
#[test]
fn everything_in_the_table_is_set_aside_where_it_is_new_and_stays_where_it_is_not() {
    let rows = || OBEYED.iter().filter(|row| !row.path.starts_with(".git/"));
    let examples: Vec<&str> = rows().map(|row| row.example).collect();
    let script =
        "for path; do mkdir -p \"$(dirname \"$path\")\"; echo evil > \"$path\"; done 2>/dev/null; exit 0";
    let run = |work: &Path| {
        let arguments = [&["-c", script, "sh"], &examples[..]].concat();
        common::run(common::profile(work), "/bin/sh", &arguments)
    };
    let work = common::work();
    let outcome = run(work.path());
    let base = work.path().canonicalize().unwrap();
    for row in rows() {
        let planted = outcome.planted.iter().find(|one| one.path == base.join(row.path));
        let planted = planted.unwrap_or_else(|| panic!("{} is not reported", row.path));
        assert_eq!(planted.obeyed_by, row.by);
        assert!(
            planted.moved_to.is_some() && !planted.changed && !base.join(row.path).exists(),
            "{planted:?}"
        );
    }
    let work = common::work();
    for example in &examples {
        fs::create_dir_all(work.path().join(example).parent().unwrap()).unwrap();
        fs::write(work.path().join(example), "mine").unwrap();
    }
    assert_eq!(run(work.path()).planted, []);
    for example in examples {
        assert_eq!(fs::read_to_string(work.path().join(example)).unwrap(), "mine", "{example}");
    }
}

#[test]
fn what_agents_obey_anywhere_is_reported_below() {
    let lay_out = |work: &Path| {
        fs::create_dir_all(work.join("old/node_modules/x")).unwrap();
        fs::write(work.join("old/CLAUDE.md"), "mine").unwrap();
        fs::write(work.join("old/AGENTS.md"), "mine").unwrap();
    };
    let script = "mkdir -p new/.claude; echo x > new/.claude/settings.json; echo x > new/.claude/CLAUDE.md
        echo x > old/CLAUDE.md; echo x > old/node_modules/x/AGENTS.md; d=$(printf 'b\\377d'); mkdir $d; echo x > $d/.envrc";
    after(lay_out, script, |work, outcome| {
        let mut reported: Vec<_> = outcome
            .planted
            .iter()
            .map(|one| (one.path.strip_prefix(work.canonicalize().unwrap()).unwrap().to_string_lossy(), one))
            .map(|(path, one)| (path.into_owned(), one.obeyed_by.as_str(), one.changed, one.stays))
            .collect();
        reported.sort();
        let expected = [
            ("b\u{fffd}d/.envrc".to_owned(), "direnv", false, true),
            ("new/.claude".to_owned(), "Claude Code", false, true),
            ("old/CLAUDE.md".to_owned(), "Claude Code", true, true),
        ];
        assert_eq!(reported, expected);
    });
}

#[test]
fn other_programs_that_keep_versions_editors_and_shells_are_in_the_table() {
    let script = "for p in .hg/hgrc .jj/repo/config.toml .sl/config .helix/languages.toml new/.hg/hgrc new/.jj/x new/.sl/x \\
        new/.dir-locals.el new/.dir-locals-2.el new/.autoenv new/.autoenv.leave new/.autoenv.zsh new/.autoenv_leave.zsh
        do mkdir -p $(dirname $p); echo x > $p; done";
    after(
        |_| {},
        script,
        |work, outcome| {
            let base = work.canonicalize().unwrap();
            let of = |is_moved: bool| {
                let planted = outcome.planted.iter().filter(|one| one.moved_to.is_some() == is_moved);
                let paths = planted.map(|one| one.path.strip_prefix(&base).unwrap().to_str().unwrap());
                paths.collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(of(true), [".hg", ".jj", ".sl", ".helix"].into());
            let names = [".hg", ".jj", ".sl", ".dir-locals.el", ".dir-locals-2.el"];
            let shells = [".autoenv", ".autoenv.leave", ".autoenv.zsh", ".autoenv_leave.zsh"];
            let below: Vec<_> = names.iter().chain(&shells).map(|name| format!("new/{name}")).collect();
            assert_eq!(of(false), below.iter().map(String::as_str).collect());
        },
    );
}

/// What installing packages and working with toolchains writes is not taken away; what others load is.
#[test]
fn packages_can_be_installed_beside_what_is_protected() {
    let script = "for p in .yarn/cache/x.zip .yarn/install-state.gz .yarn/releases/yarn.cjs .bundle/ruby/x .bundle/config .pnp.cjs \\
        docs/agents.md docs/gemini.md agents.md rust-toolchain.toml sub/rust-toolchain.toml .pdbrc sub/.pdbrc Jenkinsfile
        do mkdir -p $(dirname $p); echo x > $p; done";
    after(
        |_| {},
        script,
        |work, outcome| {
            let expected = [
                moved(".bundle/config"),
                moved(".pdbrc"),
                moved(".yarn/releases"),
                moved("Jenkinsfile"),
                moved("agents.md"),
                moved("rust-toolchain.toml"),
                left("sub/.pdbrc"),
            ];
            assert_eq!(planted(outcome, work), expected);
        },
    );
}

/// As on file systems that rename only in the old way.
#[test]
fn what_is_new_is_moved_aside_where_a_name_cannot_be_claimed() {
    for error in [libc::EINVAL, libc::ENOSYS, libc::EOPNOTSUPP] {
        let work = common::work();
        fs::write(work.path().join("CLAUDE.md.set-aside"), "mine").unwrap();
        let lacking = Lacking::new(libc::SYS_renameat2, Only::Some(4), error);
        let outcome = lacking.during(|| common::sh(common::profile(work.path()), "echo evil > CLAUDE.md"));
        assert!(outcome.planted[0].moved_to.is_some(), "{outcome:?}");
        assert!(!work.path().join("CLAUDE.md").exists());
        assert_eq!(fs::read_to_string(work.path().join("CLAUDE.md.set-aside")).unwrap(), "mine");
    }
}

/// Without protections nothing is read-only; what is changed is reported all the same.
#[test]
fn changes_are_reported_where_nothing_is_read_only() {
    let work = common::work();
    fs::create_dir_all(work.path().join(".claude/commands")).unwrap();
    fs::write(work.path().join(".claude/commands/x.md"), "mine").unwrap();
    fs::write(work.path().join("CLAUDE.md"), "mine").unwrap();
    repository(work.path());
    let mut profile = common::profile(work.path());
    profile.strictness = Strictness::Unprotected;
    let script = "echo evil > .claude/commands/x.md; echo evil > .git/hooks/pre-commit; echo x > file";
    let outcome = common::sh(profile.clone(), script);
    let changed: Vec<_> =
        outcome.planted.iter().map(|one| (one.path.file_name().unwrap(), one.changed)).collect();
    assert!(changed.contains(&(".claude".as_ref(), true)), "{changed:?}");
    assert!(
        changed.contains(&("pre-commit".as_ref(), true)) || changed.contains(&("hooks".as_ref(), true)),
        "{changed:?}"
    );
    assert!(!changed.iter().any(|(name, _)| *name == "CLAUDE.md"), "{changed:?}");
    assert_eq!(common::sh(profile, "cat CLAUDE.md; echo y > file").planted, []);
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
        profile.add_skill(PinnedPath::pin(work.path().join("skills/pdf")).unwrap());
        common::sh(profile, script);
        assert_eq!(fs::read_to_string(work.path().join("skills/pdf/a")).unwrap(), "good", "{script}");
    }
}

#[test]
fn what_is_kept_cannot_be_written_to_as_well() {
    let work = common::work();
    let mut profile = common::profile(work.path());
    profile.add_skill(PinnedPath::pin(work.path()).unwrap());
    let error = common::local().run(&Job::new(profile, "true", Vec::new()), &mut ()).unwrap_err();
    assert_eq!(error.code(), "sandbox-path-too-wide");
}

#[test]
fn as_an_ordinary_user() {
    common::again_as_ordinary_user();
}
