//! The directory that scripts may change: which ones are refused, by every command alike, and what stays as it is in the others.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::Place;

/// A home with what people and metier keep there, and a project in it.
fn home() -> Place {
    let place = Place::new();
    for directory in [
        ".ssh",
        ".config/metier",
        ".local/bin",
        ".local/state/metier/approvals",
        ".local/share/metier/store",
        ".cache/metier",
        ".claude",
        "project",
    ] {
        fs::create_dir_all(place.path().join("me").join(directory)).unwrap();
    }
    place.skill("skills/pdf", "Use when testing.");
    place.write("skills/pdf/scripts/run.sh", "echo \"ran in $(basename \"$PWD\")\"\n");
    place
}

/// `metier exec` and `metier sandbox run`, which do the same in a directory.
fn both(place: &Place, work: &str) -> [String; 2] {
    let exec = ["exec", "--root", "skills:org", "pdf", "scripts/run.sh", "--approve", "once", "--work", work];
    let run = ["sandbox", "run", "--work", work, "--", "sh", "skills/pdf/scripts/run.sh"];
    [place.transcript_at_home(&exec), place.transcript_at_home(&run)]
}

#[test]
fn what_is_the_person_s_or_metier_s_is_refused_by_every_command() {
    let place = home();
    let mut text = String::new();
    for work in [
        ".",
        "me",
        "me/.ssh",
        "me/.config",
        "me/.local/bin",
        "me/.claude",
        "me/.local/state/metier",
        "me/.local/state/metier/approvals",
        "me/.local/share/metier/store",
        "me/.cache/metier",
        "me/.config/metier",
        "skills",
        "skills/pdf",
    ] {
        let [exec, run] = both(&place, work);
        // `--root` is an option of `exec` alone.
        if !work.starts_with("skills") {
            let error = |said: &str| said.lines().find(|line| line.contains("error:")).map(str::to_owned);
            assert_eq!(error(&exec), error(&run), "{work}");
        }
        text.push_str(&exec);
        text.push('\n');
    }
    insta::assert_snapshot!("reserved", text);
}

#[test]
fn a_link_is_followed_only_where_the_person_says_so() {
    let place = home();
    symlink("me/project", place.path().join("out")).unwrap();
    symlink("me/.ssh", place.path().join("keys")).unwrap();
    let mut text = String::new();
    for (work, flag) in
        [("out", ""), ("out", "--follow-links"), ("keys", "--follow-links"), ("me/../me/project", "")]
    {
        let mut words = vec!["sandbox", "run", "--work", work, flag, "--", "pwd"];
        words.retain(|word| !word.is_empty());
        if flag.is_empty() || work == "keys" || !crate::support::skips_namespaces() {
            text.push_str(&place.transcript_at_home(&words));
            text.push('\n');
        }
    }
    insta::assert_snapshot!("links", text);
    let [exec, _] = both(&place, "out");
    assert!(exec.contains("--follow-links") && exec.ends_with("exit: 2\n"), "{exec}");
    let serve = place.transcript_at_home(&["serve", "--root", "skills", "--work", "out"]);
    assert!(serve.contains("--follow-links") && serve.ends_with("exit: 2\n"), "{serve}");
}

#[test]
fn state_and_journal_in_a_directory_keep_it_from_scripts() {
    let place = home();
    fs::create_dir(place.path().join("me/project/deep")).unwrap();
    let args = ["sandbox", "run", "--work", "me/project", "--", "sh", "-c", ": > deep/journal.db"];
    for (name, below) in [
        ("METIER_JOURNAL", "me/project/deep/journal.db"),
        ("XDG_STATE_HOME", "me/project/state"),
        ("XDG_CACHE_HOME", "me/project/cache"),
        ("XDG_DATA_HOME", "me/project/data"),
        ("XDG_CONFIG_HOME", "me/project/settings"),
    ] {
        let value = fs::canonicalize(place.path()).unwrap().join(below);
        let output = place.at_home(&args).env(name, value).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("contains"), "{name}: {said}");
    }
}

#[test]
fn settings_of_a_project_are_not_made_or_changed_by_scripts() {
    if crate::support::skips_namespaces() {
        return;
    }
    let place = home();
    let project = place.path().join("me/project");
    fs::create_dir_all(project.join("trusted")).unwrap();
    for folder in ["me/project", "me/project/trusted"] {
        let trusted = place.at_home(&["trust", folder]).output().unwrap();
        assert!(trusted.status.success(), "{}", String::from_utf8_lossy(&trusted.stderr));
    }
    let plant = "for d in . sub trusted; do mkdir -p $d; for f in metier.toml metier.lock; do \
                 echo 'builtin = false' > $d/$f; done; done";
    let run = |line: &str| {
        place.json_at_home(&["sandbox", "run", "--work", "me/project", "--json", "--", "sh", "-c", line])
    };
    let found = run(plant);
    assert_eq!(found["planted"].as_array().unwrap().len(), 4, "{found}");
    for name in ["metier.toml", "metier.lock", "trusted/metier.toml", "trusted/metier.lock"] {
        assert!(!project.join(name).exists(), "{name}");
        fs::write(project.join(name), "index = true\n").unwrap();
    }
    let found = run(plant);
    assert!(found["stderr"]["text"].as_str().unwrap().contains("Read-only"), "{found}");
    assert_eq!(place.read("me/project/metier.toml"), "index = true\n");
    fs::create_dir(project.join(".git")).unwrap();
    // What is further down is not taken for the person's: neither obeyed nor in the place of what is.
    let config = place.at_home(&["config"]).current_dir(project.join("sub")).output().unwrap();
    let config = String::from_utf8_lossy(&config.stdout).into_owned();
    assert!(config.contains("me/project/metier.toml") && !config.contains("sub/metier.toml"), "{config}");
}

/// Skill directories of a trusted project that a script makes further down are not taken for the person's.
#[test]
fn skills_that_a_script_makes_further_down_are_not_the_person_s() {
    let place = home();
    fs::create_dir_all(place.path().join("me/project/.git")).unwrap();
    for skill in [".claude/skills/top", "sub/.claude/skills/deep-claude", "sub/.agents/skills/deep-agents"] {
        place.skill(&format!("me/project/{skill}"), "Use.");
    }
    let tiers = || {
        let mut list = place.at_home(&["list", "--json"]);
        let output = list.current_dir(place.path().join("me/project/sub")).output().unwrap();
        let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let skills = list["skills"].as_array().unwrap();
        ["top", "deep-claude", "deep-agents"].map(|name| {
            let skill = skills.iter().find(|skill| skill["name"] == name).unwrap();
            skill["tier"].as_str().unwrap().to_owned()
        })
    };
    assert_eq!(tiers(), ["third_party", "third_party", "third_party"]);
    let trust = |folder: &str| place.at_home(&["trust", folder]).output().unwrap();
    assert!(trust("me/project").status.success());
    assert_eq!(tiers(), ["user", "third_party", "third_party"]);
    assert!(trust("me/project/sub").status.success());
    assert_eq!(tiers(), ["user", "user", "user"]);
    if crate::support::skips_namespaces() {
        return;
    }
    // What is trusted now stays as it is, from wherever a script is run.
    fs::remove_dir_all(place.path().join("me/project/sub/.agents")).unwrap();
    let plant = "mkdir -p sub/.agents/skills/new; echo x > sub/.claude/skills/deep-claude/SKILL.md";
    let run = ["sandbox", "run", "--work", "me/project", "--json", "--", "sh", "-c", plant];
    let found = place.json_at_home(&run);
    assert!(found["stderr"]["text"].as_str().unwrap().contains("Read-only"), "{found}");
    assert!(!place.path().join("me/project/sub/.agents/skills").exists(), "{found}");
}

/// Without `--work` it is said which directory is not given, why, and what becomes of the files.
#[test]
fn a_current_directory_that_is_not_given_is_named_with_the_reason() {
    if crate::support::skips_namespaces() {
        return;
    }
    let place = home();
    let tree = "me/.cursor/worktrees/app/x1";
    place.write(&format!("{tree}/.git"), "gitdir: /elsewhere\n");
    place.write("skills/pdf/scripts/make.sh", "echo made > result\n");
    let skills = format!("{}:org", fs::canonicalize(place.path()).unwrap().join("skills").display());
    let exec = |directory: &str| {
        let args = ["exec", "--root", &skills, "pdf", "scripts/make.sh", "--approve", "once"];
        let output = place.at_home(&args).current_dir(place.path().join(directory)).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said
    };
    let said = exec("me");
    assert!(said.contains("cannot be given to a script: it is a home directory"), "{said}");
    assert!(said.contains("removed afterwards") && said.contains("`--work DIR`"), "{said}");
    let said = exec(tree);
    assert!(!said.contains("removed afterwards"), "{said}");
    assert_eq!(place.read(&format!("{tree}/result")), "made\n");
}

/// A directory that is mounted at a second path holds the same skill root there.
#[test]
fn a_skill_root_that_is_inside_by_another_path_keeps_the_directory_from_scripts() {
    // Only root can mount something and start metier as an ordinary one would.
    if crate::support::skips_namespaces() || !rustix::process::geteuid().is_root() {
        return;
    }
    let place = home();
    place.skill("me/project/skills/own", "Use.");
    let real = fs::canonicalize(place.path()).unwrap();
    let settings = format!("roots = [\"{}:user\"]\n", real.join("me/project/skills").display());
    place.write("me/.config/metier/config.toml", settings);
    let line = "set -e; mkdir second; mount --bind me/project second\n\
                exec \"$0\" sandbox run --work second -- sh -c 'echo x > skills/own/SKILL.md'";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", line, env!("CARGO_BIN_EXE_metier")]).current_dir(place.path());
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", real.join("me"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("contains a skill root"), "{said}");
    assert_ne!(place.read("me/project/skills/own/SKILL.md"), "x\n");
}

#[test]
fn private_copies_are_made_where_no_script_writes_and_a_killed_metier_s_are_removed() {
    if crate::support::skips_namespaces() {
        return;
    }
    let place = home();
    place
        .write("skills/pdf/scripts/where.sh", "echo \"$METIER_SKILL_DIR\"; [ -z \"$1\" ] || exec sleep 60\n");
    fs::create_dir(place.path().join("me/project/tmp")).unwrap();
    let exec = ["exec", "--root", "skills:org", "pdf", "scripts/where.sh", "--work", "me/project"];
    let metier = |more: &[&str]| {
        let mut command = place.at_home(&[&exec[..], more].concat());
        command.env("TMPDIR", place.path().join("me/project/tmp"));
        command
    };
    let mut killed = metier(&["--", "wait"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut copy = String::new();
    BufReader::new(killed.stdout.take().unwrap()).read_line(&mut copy).unwrap();
    let copy = Path::new(copy.trim_end());
    assert!(
        copy.is_dir() && !copy.starts_with(fs::canonicalize(place.path()).unwrap()),
        "{}",
        copy.display()
    );
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(copy.is_dir(), "nobody was there to remove it");
    // While it ran it was somebody's; now it is nobody's.
    let next = metier(&[]).output().unwrap();
    assert!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
    assert!(!copy.exists(), "{}", copy.display());
    assert!(fs::read_dir(place.path().join("me/project/tmp")).unwrap().next().is_none());
    let its = String::from_utf8(next.stdout).unwrap();
    assert!(!Path::new(its.trim_end()).exists(), "{its}");
}

#[test]
fn what_is_mounted_below_the_work_directory_does_not_come_along() {
    // Only root can mount something and start metier as an ordinary one would.
    if crate::support::skips_namespaces() || !rustix::process::geteuid().is_root() {
        return;
    }
    let place = home();
    place.write("me/.ssh/key", "SECRET\n");
    place.write("me/project/with space/file", "");
    let inside = "find . -type f | sort; cat */key */file; touch 'with space/new' 2> /dev/null && echo written; echo here > own; true";
    let line = format!(
        "set -e; cd me/project; mount --bind ../.ssh 'with space'; touch file; mount --bind ../.ssh/key file\n\
         exec \"$0\" sandbox run --work . -- sh -c \"{inside}\""
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &line, env!("CARGO_BIN_EXE_metier")]).current_dir(place.path());
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", place.path().join("me"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.contains("./file"), "{said}");
    assert!(!said.contains("SECRET") && !said.contains("written"), "{said}");
    assert!(!place.path().join("me/.ssh/new").exists());
    assert_eq!(place.read("me/project/own"), "here\n");
}

/// Runs a script in a directory, with the skill that the test brings and whatever else is said.
fn run_in(place: &Place, cwd: &str, work: &str, variables: &[(&str, &str)], script: &str) -> String {
    place.write("skills/pdf/scripts/run.sh", format!("{script}\n"));
    let root = format!("{}:org", fs::canonicalize(place.path().join("skills")).unwrap().display());
    let args = ["exec", "pdf", "scripts/run.sh", "--approve", "once", "--work", work];
    let mut command = place.at_home(&args);
    command.current_dir(place.path().join(cwd));
    if variables.is_empty() {
        command.args(["--root", &root]);
    }
    for (name, value) in variables {
        command.env(name, if *name == "METIER_ROOTS" { root.as_str() } else { value });
    }
    let output = command.output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Roots of a project stay as they are also if other roots are used for the moment, and from wherever metier is started.
#[test]
fn roots_that_others_took_the_place_of_stay_as_they_are() {
    if crate::support::skips_namespaces() {
        return;
    }
    let plant = "mkdir -p own/pwn late/pwn; echo x > own/pwn/SKILL.md; echo x > late/pwn/SKILL.md; echo x >> own/good/SKILL.md";
    let ways: [(&str, &[(&str, &str)]); 3] =
        [("me/project", &[]), ("me/other", &[]), ("me/project", &[("METIER_ROOTS", "")])];
    for (cwd, variables) in ways {
        let place = home();
        fs::create_dir_all(place.path().join("me/other")).unwrap();
        place.skill("me/project/own/good", "Use when good.");
        place.write("me/project/metier.toml", "roots = [\"own:user\", \"late:user\"]\n");
        assert!(place.at_home(&["trust", "me/project"]).output().unwrap().status.success());
        let project = fs::canonicalize(place.path().join("me/project")).unwrap();
        let said = run_in(&place, cwd, project.to_str().unwrap(), variables, plant);
        assert!(said.contains("Read-only file system"), "{cwd} {variables:?}: {said}");
        assert!(said.contains("late") && !project.join("late").exists(), "{cwd} {variables:?}: {said}");
        assert!(!place.read("me/project/own/good/SKILL.md").ends_with("x\n"), "{cwd} {variables:?}");
        assert!(!project.join("own/pwn").exists());
    }
}

/// What a script puts in the place of a link to a root or to settings is set aside; links to what is metier's own are not given.
#[test]
fn links_to_what_metier_obeys_are_not_replaced() {
    if crate::support::skips_namespaces() {
        return;
    }
    for (target, replace) in [
        ("../shared", "rm own; mkdir -p own/pwn; echo x > own/pwn/SKILL.md"),
        ("packages/skills", "rm own; mkdir -p own/pwn; echo x > own/pwn/SKILL.md"),
        ("../shared", "mkdir -p evil/pwn; echo x > evil/pwn/SKILL.md; rm own; ln -s evil own"),
    ] {
        let place = home();
        for directory in ["me/shared", "me/project/packages/skills"] {
            fs::create_dir_all(place.path().join(directory)).unwrap();
        }
        symlink(target, place.path().join("me/project/own")).unwrap();
        place.write("me/project/metier.toml", "roots = [\"own:user\"]\n");
        assert!(place.at_home(&["trust", "me/project"]).output().unwrap().status.success());
        let said = run_in(&place, "me/project", ".", &[], replace);
        let left = fs::symlink_metadata(place.path().join("me/project/own"));
        let is_as_before =
            fs::read_link(place.path().join("me/project/own")).is_ok_and(|to| to == Path::new(target));
        assert!(left.is_err() || is_as_before, "{replace}: {said}");
        assert!(is_as_before || said.contains("own"), "{replace}: {said}");
        assert!(!place.path().join("me/project/own/pwn/SKILL.md").exists(), "{replace}: {said}");
    }
    let place = home();
    fs::create_dir_all(place.path().join("me/real")).unwrap();
    symlink("../real", place.path().join("me/project/st")).unwrap();
    let state = fs::canonicalize(place.path()).unwrap().join("me/project/st");
    for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HOME"] {
        let args = ["sandbox", "run", "--work", "me/project", "--", "true"];
        let output = place.at_home(&args).env(name, &state).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("contains a link to"), "{name}: {said}");
    }
}

#[test]
fn hooks_that_git_is_told_of_by_variables_are_set_aside() {
    if crate::support::skips_namespaces() {
        return;
    }
    for (name, value) in [
        ("XDG_CONFIG_HOME", "me/xdg"),
        ("GIT_CONFIG_GLOBAL", "me/xdg/git/config"),
        ("GIT_CONFIG_SYSTEM", "me/xdg/git/config"),
    ] {
        let place = home();
        place.write("me/xdg/git/config", "[core]\n\thooksPath = .my-hooks\n");
        fs::create_dir(place.path().join("me/project/.git")).unwrap();
        let script = "mkdir .my-hooks; echo evil > .my-hooks/pre-commit";
        let mut command =
            place.at_home(&["sandbox", "run", "--work", "me/project", "--", "sh", "-c", script]);
        let output = command.env(name, place.path().join(value)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(place.path().join("me/project/.my-hooks.set-aside").is_dir(), "{name}: {said}");
        assert!(said.contains("which git obeys"), "{name}: {said}");
    }
}

/// Nothing is made before the answer, so that a signal at the question leaves nothing behind.
#[test]
fn a_run_that_is_interrupted_at_the_question_leaves_nothing() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let place = home();
    let mut terminal = fs::File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let other_end = fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut command = place.at_home(&["exec", "pdf", "scripts/run.sh", "--root", "skills"]);
    command.stdin(other_end.try_clone().unwrap()).stderr(other_end).env("TMPDIR", place.temporary());
    let mut child = command.spawn().unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("[v]iew") {
        let mut piece = [0; 4_096];
        let count = terminal.read(&mut piece).unwrap();
        seen.extend_from_slice(&piece[..count]);
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    let left: Vec<_> = fs::read_dir(place.temporary()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}
