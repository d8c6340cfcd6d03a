//! Repositories that a script makes or changes: they stay where they only keep versions, and otherwise git is kept from them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use metier_sandbox::{ReservedPaths, SandboxProfile, WorkDirectory};
use metier_skill::Tier;

use crate::{after, common, planted, repository};

const MAKE: &str = "make() { mkdir -p $1/objects $1/refs; echo 'ref: refs/heads/main' > $1/HEAD; }; ";

/// What `git` obeys in a directory would make a file `obeyed` beside the work directory.
const EVIL: &str = "printf '[core]\\n\\tfsmonitor = touch ../obeyed; false\\n'";

/// The same for one without a work tree of its own.
const EVIL_BARE: &str = "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n\\t\
                         fsmonitor = touch ../obeyed; false\\n'";

/// Runs git in a directory of the work directory and sees whether it obeys what lies there.
fn is_obeyed(work: &Path, below: &str) -> bool {
    let outside = tempfile::tempdir().unwrap();
    let marker = outside.path().join("obeyed");
    let script = format!("touch {}; false", marker.display());
    // Whatever name was given to it, the command is replaced by one that can be seen.
    for config in ["config", ".git/config"] {
        let path = work.join(below).join(config);
        if let Ok(text) = fs::read_to_string(&path) {
            fs::write(&path, text.replace("touch ../obeyed; false", &script)).unwrap();
        }
    }
    let mut git = std::process::Command::new("git");
    git.args(["status", "--short"]).current_dir(work.join(below));
    git.env("GIT_CEILING_DIRECTORIES", work.parent().unwrap()).env("HOME", outside.path());
    git.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "safe.directory").env("GIT_CONFIG_VALUE_0", "*");
    let _ = git.output().unwrap();
    marker.exists()
}

fn there_is_git() -> bool {
    std::process::Command::new("git").arg("--version").output().is_ok()
}

#[test]
fn a_new_repository_with_commands_is_set_aside_wherever_it_is() {
    for (script, below, path) in [
        (format!("{MAKE} make .git; {EVIL} > .git/config"), "", ".git"),
        (format!("{MAKE} make .; {EVIL_BARE} > config"), "", "HEAD"),
        (format!("{MAKE} mkdir -p a/b; make a/b/.git; {EVIL} > a/b/.git/config"), "a/b", "a/b/.git"),
        (format!("{MAKE} mkdir -p a/b; make a/b; {EVIL_BARE} > a/b/config"), "a/b", "a/b/HEAD"),
    ] {
        // It would be obeyed, were it left.
        if there_is_git() {
            let bare = common::work();
            let mut sh = std::process::Command::new("/bin/sh");
            assert!(sh.args(["-c", &script]).current_dir(bare.path()).status().unwrap().success());
            assert!(is_obeyed(bare.path(), below), "git does not obey {path} anyway");
        }
        after(
            |_| {},
            &script,
            |work, outcome| {
                assert_eq!(planted(outcome, work), [(path.to_owned(), true, false)], "{script}");
                assert!(!there_is_git() || !is_obeyed(work, below), "{script}");
                if path == ".git" {
                    // Nor when somebody enters what was moved.
                    assert!(!there_is_git() || !is_obeyed(work, ".git.set-aside"));
                }
            },
        );
    }
}

#[test]
fn a_new_repository_that_only_keeps_versions_stays_and_is_reported() {
    let config =
        "printf '[core]\\n\\tbare = false\\n[remote \"origin\"]\\n\\turl = https://example.org/x\\n'";
    for (script, path) in [
        (
            format!(
                "{MAKE} make .git; mkdir .git/hooks; echo x > .git/hooks/pre-push.sample; {config} > .git/config"
            ),
            ".git",
        ),
        (format!("{MAKE} make sub/.git; {config} > sub/.git/config"), "sub/.git"),
        (format!("{MAKE} make sub.git; {config} > sub.git/config"), "sub.git"),
    ] {
        after(
            |_| {},
            &script,
            |work, outcome| {
                assert_eq!(planted(outcome, work), [(path.to_owned(), false, true)], "{script}");
                assert_eq!(outcome.planted[0].obeyed_by, "git");
            },
        );
    }
}

#[test]
fn whatever_else_makes_git_run_commands_is_set_aside() {
    for script in [
        "mkdir .git/hooks; echo evil > .git/hooks/post-checkout",
        "echo '[alias] st = !evil' > .git/config",
        "echo '[include] path = ../x' > .git/config",
        "echo '[core' > .git/config",
        "echo '[remote \"x\"] url = ext::evil' > .git/config",
        "ln -s ../config .git/config",
        "echo .. > .git/commondir",
        "mkdir -p .git/modules/x; echo x > .git/modules/x/HEAD; echo '[core] fsmonitor = evil' > .git/modules/x/config",
        "mkdir .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo",
        "mkdir .git/rebase-merge; echo '  x evil' > .git/rebase-merge/git-rebase-todo",
    ] {
        let script = format!("{MAKE} make .git; {script}");
        after(
            |_| {},
            &script,
            |work, outcome| {
                assert_eq!(planted(outcome, work), [(".git".to_owned(), true, false)], "{script}");
            },
        );
    }
    after(
        |_| {},
        "mkdir sub; echo 'gitdir: /elsewhere' > sub/.git",
        |work, outcome| assert_eq!(planted(outcome, work), [("sub/.git".to_owned(), true, false)]),
    );
}

#[test]
fn commands_in_what_git_is_still_to_do_are_set_aside() {
    let todo = ".git/rebase-merge/git-rebase-todo";
    let exec = format!("mkdir .git/rebase-merge; printf 'pick 1234 x\\nexec evil\\n' > {todo}");
    after(repository, &exec, |work, outcome| {
        assert_eq!(planted(outcome, work), [(todo.to_owned(), true, false)]);
        assert!(!work.join(todo).exists());
    });
    // One that only picks is what every rebase has.
    let pick = format!("mkdir .git/rebase-merge; printf 'pick 1234 x\\n# exec\\n' > {todo}");
    after(repository, &pick, |work, outcome| assert_eq!(planted(outcome, work), []));
}

#[test]
fn hooks_and_settings_that_a_repository_names_stay() {
    let lay_out = |work: &Path| {
        repository(work);
        let config = "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../more\n[includeIf \"gitdir:/\"]\n\tpath = absent\n";
        fs::write(work.join(".git/config"), config).unwrap();
        fs::create_dir_all(work.join("tools/hooks")).unwrap();
        fs::write(work.join("more"), "[core]\n").unwrap();
    };
    let script = "echo evil > tools/hooks/pre-commit; echo evil > more; mv tools x; mkdir -p tools/hooks; echo evil > .git/absent";
    after(lay_out, script, |work, outcome| {
        assert_eq!(fs::read_dir(work.join("tools/hooks")).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(work.join("more")).unwrap(), "[core]\n");
        assert_eq!(planted(outcome, work), [(".git/absent".to_owned(), true, false)]);
    });
    // Where they are not there yet, they are not to be.
    let absent = |work: &Path| {
        repository(work);
        fs::write(work.join(".git/config"), "[core]\n\thooksPath = hooks\n").unwrap();
    };
    let script = format!("{MAKE} make .; mkdir hooks; echo evil > hooks/pre-commit");
    after(absent, &script, |work, outcome| {
        assert!(!work.join("hooks").exists(), "{outcome:?}");
        assert!(outcome.planted.iter().any(|one| one.path.ends_with("hooks") && one.obeyed_by == "git"));
    });
}

/// A profile whose host has named a home.
fn at_home(work: &Path, home: &Path) -> SandboxProfile {
    let reserved = ReservedPaths::default().home(home);
    SandboxProfile::new(
        Tier::ThirdParty,
        WorkDirectory::open(work.canonicalize().unwrap(), &reserved).unwrap(),
    )
}

/// `git config --global core.hooksPath .hooks` holds in every repository, also in one that a script makes.
#[test]
fn hooks_that_a_person_s_own_settings_name_are_set_aside() {
    for (value, file) in
        [(".hooks", ".gitconfig"), ("./.hooks/", ".config/git/config"), ("~/work/.hooks", ".gitconfig")]
    {
        let home = common::work();
        let work = home.path().join("work");
        fs::create_dir_all(work.join("app")).unwrap();
        fs::create_dir_all(home.path().join(".config/git")).unwrap();
        fs::set_permissions(home.path().join(".config/git"), Permissions::from_mode(0o755)).unwrap();
        fs::write(home.path().join(file), format!("[core]\n\thooksPath = {value}\n")).unwrap();
        repository(&work);
        repository(&work.join("app"));
        let script = "for d in . app; do mkdir $d/.hooks; echo evil > $d/.hooks/pre-commit; done";
        let outcome = common::sh(at_home(&work, home.path()), script);
        let expected = if value.starts_with('~') { vec![".hooks"] } else { vec![".hooks", "app/.hooks"] };
        let expected: Vec<_> = expected.iter().map(|path| ((*path).to_owned(), true, false)).collect();
        assert_eq!(planted(&outcome, &work), expected, "{value}");
        assert!(outcome.planted.iter().all(|one| one.obeyed_by == "git"));
        // Where they are there already they are read-only.
        fs::create_dir(work.join(".hooks")).unwrap();
        let outcome = common::sh(at_home(&work, home.path()), "echo evil > .hooks/pre-commit");
        assert_eq!(
            (planted(&outcome, &work), fs::read_dir(work.join(".hooks")).unwrap().count()),
            (Vec::new(), 0)
        );
    }
}

/// As with `GIT_CONFIG_GLOBAL` and `XDG_CONFIG_HOME`, which the host reads.
#[test]
fn hooks_that_other_configuration_of_the_person_names_are_set_aside() {
    let place = common::work();
    let work = place.path().join("work");
    fs::create_dir(&work).unwrap();
    repository(&work);
    let outside = place.path().join("config");
    fs::write(&outside, "[core]\n\thooksPath = .hooks\n").unwrap();
    let inside = work.canonicalize().unwrap().join("xdg/git/config");
    let reserved = ReservedPaths::default().git_config(&outside).git_config(&inside);
    let work_directory = WorkDirectory::open(work.canonicalize().unwrap(), &reserved).unwrap();
    let profile = SandboxProfile::new(Tier::ThirdParty, work_directory);
    let script = "mkdir -p .hooks xdg/git; echo evil > .hooks/pre-commit; echo evil > xdg/git/config";
    let outcome = common::sh(profile, script);
    let moved = [".hooks", "xdg/git/config"].map(|path| (path.to_owned(), true, false));
    assert_eq!(planted(&outcome, &work), moved);
}

/// As where `/home` leads to `/var/home`.
#[test]
fn hooks_that_are_named_by_way_of_a_link_are_set_aside() {
    let place = common::work();
    let work = place.path().join("real/work");
    fs::create_dir_all(&work).unwrap();
    std::os::unix::fs::symlink("real", place.path().join("link")).unwrap();
    repository(&work);
    let named = place.path().join("link/work/.hooks");
    fs::write(work.join(".git/config"), format!("[core]\n\thooksPath = {}\n", named.display())).unwrap();
    let outcome = common::sh(common::profile(&work), "mkdir .hooks; echo evil > .hooks/pre-commit");
    assert_eq!(planted(&outcome, &work), [(".hooks".to_owned(), true, false)]);
}

/// What a script names itself is not believed: it could have metier move what is somebody's.
#[test]
fn a_new_repository_cannot_name_what_is_to_be_moved() {
    let lay_out = |work: &Path| {
        fs::create_dir(work.join("src")).unwrap();
        fs::write(work.join("src/main"), "mine").unwrap();
    };
    let script = format!("{MAKE} make .git; printf '[core]\\n\\thooksPath = src\\n' > .git/config");
    after(lay_out, &script, |work, outcome| {
        assert_eq!(fs::read_to_string(work.join("src/main")).unwrap(), "mine");
        assert_eq!(planted(outcome, work), [(".git".to_owned(), true, false)]);
    });
}

#[test]
fn a_repository_below_is_looked_at_again() {
    let lay_out = |work: &Path| {
        fs::create_dir(work.join("sub")).unwrap();
        repository(&work.join("sub"));
        fs::write(work.join("sub/.git/hooks/pre-commit"), "mine").unwrap();
    };
    // Working in it is fine, and so are settings that only keep versions.
    after(
        lay_out,
        "echo '[branch \"x\"] merge = y' >> sub/.git/config; echo ref > sub/.git/HEAD",
        |work, outcome| {
            assert_eq!(planted(outcome, work), []);
        },
    );
    // Whoever it belongs to may have done this while the script ran: it is not broken for them.
    for (script, path) in [
        ("echo '[core] fsmonitor = evil' >> sub/.git/config", "sub/.git/config"),
        ("echo evil > sub/.git/hooks/pre-commit", "sub/.git/hooks/pre-commit"),
    ] {
        after(lay_out, script, |work, outcome| {
            assert_eq!(planted(outcome, work), [(path.to_owned(), false, true)], "{script}");
            assert!(outcome.planted[0].changed);
            assert!(work.join("sub/.git/HEAD").exists());
        });
    }
}

#[test]
fn a_repository_in_place_of_a_file_is_a_new_one() {
    let lay_out = |work: &Path| {
        fs::create_dir(work.join("sub")).unwrap();
        fs::write(work.join("sub/.git"), "gitdir: ../elsewhere\n").unwrap();
    };
    let script = format!("{MAKE} rm sub/.git; make sub/.git; {EVIL} > sub/.git/config");
    after(lay_out, &script, |work, outcome| {
        assert_eq!(planted(outcome, work), [("sub/.git/HEAD".to_owned(), true, false)]);
        assert!(!there_is_git() || !is_obeyed(work, "sub"));
    });
}

/// As `git worktree add` and `git submodule add` make them.
#[test]
fn a_file_that_leads_to_a_repository_that_was_there_stays() {
    let lay_out = |work: &Path| {
        fs::create_dir(work.join("main")).unwrap();
        repository(work);
        repository(&work.join("main"));
    };
    let tree = "tree() { mkdir -p $1/worktrees/tree tree; echo 'ref: x' > $1/worktrees/tree/HEAD
        echo ../.. > $1/worktrees/tree/commondir; echo \"gitdir: ${2:-$PWD/}$1/worktrees/tree\" > tree/.git; }; ";
    let module = "mkdir -p sub main/.git/modules/sub; echo x > main/.git/modules/sub/HEAD; echo 'gitdir: ../main/.git/modules/sub' > sub/.git";
    for (script, expected) in [
        (format!("{tree} tree main/.git"), vec!["tree/.git"]),
        (format!("{tree} tree main/.git ../"), vec!["tree/.git"]),
        (format!("{tree} tree .git"), vec![".git/worktrees", "tree/.git"]),
        (module.to_owned(), vec!["sub/.git"]),
    ] {
        after(lay_out, &script, |work, outcome| {
            let expected: Vec<_> = expected.iter().map(|path| ((*path).to_owned(), false, true)).collect();
            assert_eq!(planted(outcome, work), expected, "{script}");
        });
    }
    // What such a part of it says must not lead elsewhere or run anything.
    for (script, file) in [
        (format!("{tree} tree main/.git; echo /elsewhere > main/.git/worktrees/tree/commondir"), "tree/.git"),
        (format!("{tree} tree main/.git; rm main/.git/worktrees/tree/commondir"), "tree/.git"),
        (format!("{tree} tree main/.git; {EVIL} > main/.git/worktrees/tree/config.worktree"), "tree/.git"),
        (format!("{tree} {MAKE} make new/.git; tree new/.git"), "tree/.git"),
        (
            format!(
                "{tree} tree main/.git; mkdir x y; ln -s ../x y/z; echo 'gitdir: ../y/z/../main/.git' > tree/.git"
            ),
            "tree/.git",
        ),
        (format!("{module}; {EVIL} > main/.git/modules/sub/config"), "main/.git/modules/sub/config"),
    ] {
        after(lay_out, &script, |work, outcome| {
            let planted = planted(outcome, work);
            assert!(planted.contains(&(file.to_owned(), true, false)), "{script}: {planted:?}");
        });
    }
}

/// In another work tree, what such a repository's settings name is a script's.
#[test]
fn a_file_that_leads_to_a_repository_with_hooks_in_its_work_tree_is_set_aside() {
    let with = |config: &'static str| {
        move |work: &Path| {
            repository(work);
            fs::write(work.join(".git/config"), config).unwrap();
            fs::write(work.join("clean.sh"), "mine").unwrap();
        }
    };
    let hooks = "[core]\n\thooksPath = tools/hooks\n";
    let direct = "mkdir -p sub/tools/hooks; echo 'gitdir: ../.git' > sub/.git; echo evil > sub/tools/hooks/post-index-change";
    let tree = "mkdir -p .git/worktrees/sub sub; echo 'ref: x' > .git/worktrees/sub/HEAD
        echo ../.. > .git/worktrees/sub/commondir; echo 'gitdir: ../.git/worktrees/sub' > sub/.git";
    let armed = format!("{tree}; mkdir -p sub/tools/hooks; echo evil > sub/tools/hooks/pre-commit");
    for (config, script, is_moved) in [
        (hooks, direct, true),
        ("[include]\n\tpath = more\n[filter \"x\"]\n\tclean = ./clean.sh\n", direct, true),
        ("[core]\n\thooksPath = /usr/share/hooks\n", direct, false),
        ("[remote \"x\"]\n\turl = https://example.org/x\n", direct, false),
        (hooks, &*armed, true),
        (hooks, tree, false),
    ] {
        after(with(config), script, |work, outcome| {
            let expected = ("sub/.git".to_owned(), is_moved, !is_moved);
            assert!(planted(outcome, work).contains(&expected), "{config} {script}: {outcome:?}");
        });
    }
}

#[test]
fn a_file_that_says_the_same_as_before_is_the_same() {
    let lay_out = |work: &Path| {
        fs::create_dir(work.join("sub")).unwrap();
        fs::write(work.join("sub/.git"), "gitdir: ../elsewhere\n").unwrap();
        std::os::unix::fs::symlink("elsewhere", work.join("elsewhere")).unwrap();
    };
    let script = "chmod -R go-w .; touch sub/.git; cp sub/.git x; mv x sub/.git";
    after(lay_out, script, |work, outcome| assert_eq!(planted(outcome, work), []));
    after(lay_out, "echo 'gitdir: ../evil' > sub/.git", |work, outcome| {
        assert_eq!(planted(outcome, work), [("sub/.git".to_owned(), true, false)]);
    });
}

#[test]
fn a_bare_repository_can_be_worked_in_but_not_told_what_to_run() {
    let lay_out = |work: &Path| {
        for directory in ["hooks", "objects", "refs"] {
            fs::create_dir(work.join(directory)).unwrap();
        }
        fs::write(work.join("config"), "[core]\n\tbare = true\n").unwrap();
        fs::write(work.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    };
    let script = "echo evil > hooks/update; echo evil > config; echo x > refs/x; echo .. > commondir";
    after(lay_out, script, |work, outcome| {
        assert_eq!(fs::read_dir(work.join("hooks")).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(work.join("config")).unwrap(), "[core]\n\tbare = true\n");
        assert!(work.join("refs/x").exists());
        assert_eq!(planted(outcome, work), [("commondir".to_owned(), true, false)]);
    });
}

/// Who may not list a directory can still use what is in it by name, as git does.
#[test]
fn what_cannot_be_listed_is_not_taken_for_empty() {
    let hook =
        format!("{MAKE} make sub/.git; mkdir sub/.git/hooks; echo evil > sub/.git/hooks/post-checkout");
    for (script, path) in [
        (format!("{hook}; chmod 0311 sub/.git/hooks"), "sub/.git"),
        (format!("{hook}; chmod 0311 sub/.git"), "sub/.git"),
        (format!("{hook}; chmod 0311 sub"), "sub/.git"),
        (format!("{hook}; chmod 0 sub"), "sub/.git"),
        (format!("{MAKE} mkdir sub; make sub; {EVIL_BARE} > sub/config; chmod 0311 sub"), "sub/HEAD"),
        (format!("{hook}; mkdir top; mv sub top; chmod 0 top"), "top"),
    ] {
        after(
            |_| {},
            &script,
            |work, outcome| {
                let is_moved = path != "top" || common::is_root();
                let path = if path == "top" && common::is_root() { "top/sub/.git" } else { path };
                let planted = planted(outcome, work);
                // So that it can be removed.
                let open_up = ["-R", "u+rwx", "."];
                std::process::Command::new("chmod").args(open_up).current_dir(work).status().unwrap();
                assert_eq!(planted, [(path.to_owned(), is_moved, !is_moved)], "{script}");
            },
        );
    }
}

/// It was closed by whoever it belongs to, and stays so.
#[test]
fn what_could_not_be_listed_before_is_no_news() {
    let lay_out = |work: &Path| {
        fs::create_dir_all(work.join("closed/below")).unwrap();
        fs::set_permissions(work.join("closed"), Permissions::from_mode(0o200)).unwrap();
    };
    after(lay_out, "true", |work, outcome| {
        let mode = work.join("closed").metadata().unwrap().permissions().mode() & 0o777;
        fs::set_permissions(work.join("closed"), Permissions::from_mode(0o700)).unwrap();
        assert_eq!((mode, planted(outcome, work)), (0o200, Vec::new()));
    });
}
