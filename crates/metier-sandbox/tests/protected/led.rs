//! Protected places that lead to files which are not: links in them, and programs that git's settings name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::{after, left, moved, planted, repository};

/// What is reported, with who obeys it and whether it runs commands.
fn effects(outcome: &metier_sandbox::RunOutcome) -> Vec<(&str, bool)> {
    outcome.planted.iter().map(|one| (one.obeyed_by.as_str(), one.runs_commands)).collect()
}

#[test]
fn what_links_in_protected_places_lead_to_is_protected() {
    let lay_out = |work: &Path| {
        repository(work);
        for directory in [".claude", ".vscode", "cfg/cmds", "tools"] {
            fs::create_dir_all(work.join(directory)).unwrap();
        }
        fs::write(work.join("tools/pc.sh"), "mine").unwrap();
        fs::write(work.join("cfg/settings.json"), "mine").unwrap();
        symlink("../../tools/pc.sh", work.join(".git/hooks/pre-commit")).unwrap();
        symlink("../cfg/settings.json", work.join(".claude/settings.json")).unwrap();
        symlink("../cfg/cmds", work.join(".claude/commands")).unwrap();
        symlink("../cfg/tasks.json", work.join(".vscode/tasks.json")).unwrap();
    };
    let script = "echo evil > tools/pc.sh; echo evil > cfg/settings.json; echo evil > cfg/cmds/evil.md; mv cfg x; mv tools y
        echo evil > cfg/tasks.json; echo x > cfg/other && echo x > tools/other && echo done";
    after(lay_out, script, |work, outcome| {
        assert_eq!(outcome.output.bytes, b"done\n", "the rest can be worked with");
        assert_eq!(fs::read_to_string(work.join("tools/pc.sh")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(work.join("cfg/settings.json")).unwrap(), "mine");
        assert_eq!(fs::read_dir(work.join("cfg/cmds")).unwrap().count(), 0);
        assert_eq!(planted(outcome, work), [moved("cfg/tasks.json")]);
        assert_eq!(effects(outcome), [("Visual Studio Code", true)]);
    });
}

/// A link that is not protected itself can be led elsewhere, and that is found.
#[test]
fn links_on_the_way_are_watched() {
    let lay_out = |work: &Path| {
        for directory in [".claude", "one", "two"] {
            fs::create_dir_all(work.join(directory)).unwrap();
        }
        fs::write(work.join("one/rules.md"), "mine").unwrap();
        symlink("one", work.join("current")).unwrap();
        symlink("../current/rules.md", work.join(".claude/rules.md")).unwrap();
    };
    after(lay_out, "echo evil > one/rules.md; echo evil > current/rules.md", |work, outcome| {
        assert_eq!(fs::read_to_string(work.join("one/rules.md")).unwrap(), "mine");
        assert_eq!(planted(outcome, work), []);
    });
    for script in [
        "echo evil > two/rules.md; ln -sfn two current",
        "rm current; cp -r two current; echo evil > current/rules.md",
    ] {
        after(lay_out, script, |work, outcome| {
            assert_eq!(planted(outcome, work), [moved("current")], "{script}");
            assert_eq!(effects(outcome), [("Claude Code", true)]);
            assert!(!work.join(".claude/rules.md").exists());
        });
    }
}

/// A link to all that is worked in protects nothing more: a script could not do its work.
#[test]
fn a_link_to_the_work_directory_or_a_repository_changes_nothing() {
    let lay_out = |work: &Path| {
        fs::create_dir_all(work.join(".claude/a")).unwrap();
        fs::create_dir_all(work.join("app")).unwrap();
        repository(&work.join("app"));
        symlink("../..", work.join(".claude/a/top")).unwrap();
        symlink("..", work.join(".claude/a/up")).unwrap();
        symlink("../../app", work.join(".claude/a/app")).unwrap();
        symlink("/etc/hostname", work.join(".claude/a/outside")).unwrap();
        symlink("itself", work.join(".claude/a/itself")).unwrap();
    };
    after(lay_out, "echo x > file && echo x > app/file && echo done", |work, outcome| {
        assert_eq!(outcome.output.bytes, b"done\n");
        assert_eq!(planted(outcome, work), []);
    });
}

#[test]
fn programs_that_git_s_settings_name_are_protected() {
    let lay_out = |work: &Path| {
        repository(work);
        fs::create_dir(work.join("tools")).unwrap();
        for file in ["clean.sh", "tools/smudge.py", "tools/real", "notes"] {
            fs::write(work.join(file), "mine").unwrap();
        }
        symlink("real", work.join("tools/link")).unwrap();
        let config = "[filter \"x\"]\n\tclean = ./clean.sh %f\n\tsmudge = python3 tools/smudge.py\n\
                      [alias]\n\tx = !tools/link notes\n";
        fs::write(work.join(".git/config"), config).unwrap();
    };
    let script = "for f in clean.sh tools/smudge.py tools/real notes; do echo evil > $f; done; exit 0";
    after(lay_out, script, |work, outcome| {
        for (file, text) in
            [("clean.sh", "mine"), ("tools/smudge.py", "mine"), ("tools/real", "mine"), ("notes", "evil\n")]
        {
            assert_eq!(fs::read_to_string(work.join(file)).unwrap(), text, "{file}");
        }
        assert_eq!(planted(outcome, work), []);
    });
    after(lay_out, "ln -sf ../notes tools/link", |work, outcome| {
        assert_eq!(planted(outcome, work), [moved("tools/link")]);
        assert_eq!(effects(outcome), [("git", true)]);
    });
    // Below the top the repository is looked at itself.
    let nested = |work: &Path| {
        fs::create_dir(work.join("app")).unwrap();
        lay_out(&work.join("app"));
    };
    after(nested, "echo '[alias] y = !z' >> app/.git/config", |work, outcome| {
        assert_eq!(planted(outcome, work), [left("app/.git/config")]);
    });
}
