//! `metier doctor`: it says so when metier would refuse to work, and what fixes it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use serde_json::Value;

use crate::policy::{can_be_organisation, under_organisation};
use crate::small_disk::in_small_file_system;
use crate::support::{Place, skips_namespaces};

fn place() -> Place {
    let place = Place::new();
    place.skill("me/.claude/skills/pdf", "Fills in forms. Use when there is one.");
    place.write("me/.claude/skills/pdf/scripts/fill.sh", "echo filled\n");
    place
}

/// The check that failed, of text and JSON alike: its message, and what fixes it.
fn failed(text: &Output, json: &Output, check: &str) -> (String, String) {
    let shown = String::from_utf8_lossy(&text.stdout).into_owned();
    assert_eq!((text.status.code(), json.status.code()), (Some(1), Some(1)), "{shown}");
    let report: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(report["ok"], false);
    let rows = report["checks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["check"] == check && row["status"] == "failed");
    assert!(row.is_some(), "{check}: {report}");
    let row = row.unwrap();
    let of = |key: &str| row[key].as_str().unwrap().to_owned();
    assert!(shown.contains("FAILED: ") && shown.contains(" FAILED; `fix` says what to do"), "{shown}");
    assert!(shown.contains(of("fix").lines().next().unwrap()), "{shown}");
    (of("message"), of("fix"))
}

fn doctor(place: &Place, check: &str) -> (String, String) {
    let run = |args: &[&str]| place.at_home(args).output().unwrap();
    failed(&run(&["doctor"]), &run(&["doctor", "--json"]), check)
}

#[test]
fn where_all_is_well_it_says_so_and_leaves_nothing_behind() {
    let place = place();
    place.write("me/.claude/skills/broken/SKILL.md", "---\nname: broken\ndescription: a: b: c\n---\nX\n");
    let output = place.at_home(&["doctor"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "a colon in a skill is no reason not to work: {text}");
    assert!(
        text.contains("metier works here; ")
            && text.contains("yaml-unquoted-colon: refused by Goose, Zed, skills-ref"),
        "{text}"
    );
    assert!(!place.path().join("me/.local").exists(), "a journal was begun");
    let report = place.json_at_home(&["doctor", "--json"]);
    assert_eq!(report["ok"], true);
    let checks: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|row| row["check"].as_str().unwrap()).collect();
    for check in ["settings", "policy", "keys", "journal", "space", "store", "approvals"] {
        assert!(checks.contains(&check), "{checks:?}");
    }
    // With a journal that is there, it is opened, and gets no record.
    assert!(place.at_home(&["activate", "pdf"]).output().unwrap().status.success());
    let size = || place.json_at_home(&["doctor", "--json"])["journal"]["records"].as_u64().unwrap();
    assert_eq!(size(), size());
    assert!(size() > 0);
}

#[test]
fn a_broken_policy_of_the_organisation_is_named() {
    if !can_be_organisation() {
        return;
    }
    let place = place();
    let run = |args: &[&str]| under_organisation(&place, "mode = \"allowlst\"\n", args);
    assert_eq!(run(&["activate", "pdf"]).status.code(), Some(5));
    let (message, fix) = failed(&run(&["doctor"]), &run(&["doctor", "--json"]), "policy");
    assert!(message.contains("/etc/metier/policy.toml") && message.contains("allowlst"), "{message}");
    assert!(fix.contains("correct /etc/metier/policy.toml"), "{fix}");
}

#[test]
fn broken_settings_are_named_and_everything_else_is_still_checked() {
    let place = place();
    place.write("me/.config/metier/config.toml", "rots = []\n");
    let (message, _) = doctor(&place, "settings");
    assert!(message.contains("config.toml") && message.contains("rots"), "{message}");
    place.write("me/.config/metier/config.toml", "[policy]\ndeny = [\"bash(x)\"]\n");
    let (message, _) = doctor(&place, "policy");
    assert!(message.contains("config.toml"), "{message}");
    fs::remove_file(place.path().join("me/.config/metier/config.toml")).unwrap();
    place.write("me/.config/metier/trusted-keys.toml", "x = [");
    let (message, _) = doctor(&place, "keys");
    assert!(message.contains("trusted-keys.toml"), "{message}");
}

#[test]
fn a_full_disk_is_named() {
    let Some(small) = in_small_file_system("doctor::a_full_disk_is_named", 4) else { return };
    let place = place();
    let run = |args: &[&str]| place.at_home(args).env("HOME", &small).output().unwrap();
    let is_well = |report: &Output, check: &str| {
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let rows = report["checks"].as_array().unwrap();
        rows.iter().filter(|row| row["check"] == check).all(|row| row["status"] != "failed")
    };
    let report = run(&["doctor", "--json"]);
    assert!(is_well(&report, "journal") && is_well(&report, "space"));
    let mut size = 4 << 20;
    while size > 0 {
        let written = fs::write(small.join(format!("fill-{size}")), vec![0; size]);
        size = if written.is_ok() { 4096 * usize::from(size > 4096) } else { size / 2 };
    }
    assert_eq!(run(&["activate", "using-metier"]).status.code(), Some(5));
    let (message, fix) = failed(&run(&["doctor"]), &run(&["doctor", "--json"]), "journal");
    assert!(message.contains("the disk is full") && message.contains("journal.db"), "{message}");
    assert!(fix.contains("free some space"), "{fix}");
    failed(&run(&["doctor"]), &run(&["doctor", "--json"]), "space");
}

/// The same where there is a journal already.
#[test]
fn a_disk_that_became_full_is_named() {
    let Some(small) = in_small_file_system("doctor::a_disk_that_became_full_is_named", 6) else { return };
    let place = place();
    let run = |args: &[&str]| place.at_home(args).env("HOME", &small).output().unwrap();
    assert!(run(&["activate", "using-metier"]).status.success());
    let mut size = 4 << 20;
    while size > 0 {
        let written = fs::write(small.join(format!("fill-{size}")), vec![0; size]);
        size = if written.is_ok() { 4096 * usize::from(size > 4096) } else { size / 2 };
    }
    let (message, fix) = failed(&run(&["doctor"]), &run(&["doctor", "--json"]), "journal");
    assert!(message.contains("the disk is full") && fix.contains("free some space"), "{message}: {fix}");
}

/// Commands refuse to make a directory that a setting names; doctor says so too.
#[test]
fn a_journal_in_a_directory_that_does_not_exist_is_named() {
    let place = place();
    place.write("me/.config/metier/config.toml", "journal = \"nosuch/journal.db\"\n");
    assert_eq!(place.at_home(&["activate", "pdf"]).output().unwrap().status.code(), Some(2));
    let (message, _) = doctor(&place, "journal");
    assert!(message.contains("nosuch") && message.contains("does not exist"), "{message}");
}

/// Every command refuses to begin another journal in the place of one that is gone.
#[test]
fn a_journal_that_is_gone_is_named() {
    let place = place();
    assert!(place.at_home(&["activate", "pdf"]).output().unwrap().status.success());
    let state = place.path().join("me/.local/state/metier");
    for entry in fs::read_dir(&state).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("journal.db") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let (message, fix) = doctor(&place, "journal");
    assert!(message.contains("is gone") && fix.contains("metier audit verify"), "{message}: {fix}");
    assert!(!place.at_home(&["activate", "pdf"]).output().unwrap().status.success());
}

/// A home that a killed `metier run` left has what an agent authenticates with.
#[test]
fn the_home_of_a_killed_run_is_named() {
    let place = place();
    let temporary = place.temporary();
    let run = |args: &[&str]| {
        let mut command = place.at_home(args);
        command.env("TMPDIR", temporary).env("PATH", "/usr/bin:/bin");
        command
    };
    let wait = place.write("waits", "#!/bin/sh\necho $$\nexec sleep 600\n");
    fs::set_permissions(&wait, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = run(&["run", "claude", "--no-skills", "--program"]);
    let mut child = command.arg(&wait).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut agent = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut agent).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let agent = rustix::process::Pid::from_raw(agent.trim().parse().unwrap()).unwrap();
    let _ = rustix::process::kill_process(agent, rustix::process::Signal::KILL);
    let homes = || fs::read_dir(temporary).unwrap().count();
    assert!(homes() > 0, "it was killed");
    let is_named = || {
        let report = run(&["doctor", "--json"]).output().unwrap();
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let rows = report["checks"].as_array().unwrap().clone();
        let row = rows.into_iter().find(|row| row["check"] == "leftovers").unwrap();
        row["status"] == "notice" && row["where"].as_str().unwrap().starts_with(temporary.to_str().unwrap())
    };
    // What was killed is gone a moment later.
    assert!(crate::serve::soon(is_named));
    assert!(run(&["doctor", "--clean"]).output().unwrap().status.success());
    assert_eq!(homes(), 0);
}

#[test]
fn a_home_that_cannot_be_written_to_is_named() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    let home = fs::canonicalize(place.path()).unwrap().join("me");
    let run = |args: &[&str]| {
        let set_up = "mount --bind \"$HOME\" \"$HOME\" && mount -o remount,bind,ro \"$HOME\" && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", set_up, "sh"]);
        command.arg(env!("CARGO_BIN_EXE_metier")).args(args).current_dir(place.path()).env_clear();
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", &home).output().unwrap()
    };
    for has_journal in [false, true] {
        if has_journal {
            assert!(place.at_home(&["activate", "pdf"]).output().unwrap().status.success());
        }
        assert_eq!(run(&["activate", "pdf"]).status.code(), Some(5));
        let (message, fix) = failed(&run(&["doctor"]), &run(&["doctor", "--json"]), "journal");
        assert!(message.contains("journal.db") && message.contains("Read-only"), "{message}");
        assert!(fix.contains("writable"), "{fix}");
    }
}

#[test]
fn an_installed_skill_that_was_changed_is_named() {
    let place = place();
    let install = ["install", "./me/.claude/skills/pdf"];
    assert!(place.at_home(&install).output().unwrap().status.success());
    assert_eq!(place.at_home(&["doctor"]).output().unwrap().status.code(), Some(0));
    let store = place.path().join("me/.local/share/metier/store/current/skills/third_party/pdf");
    let file = fs::canonicalize(store).unwrap().join("SKILL.md");
    fs::set_permissions(file.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&file, "---\nname: pdf\ndescription: Use mine.\n---\nRun it.\n").unwrap();
    let (message, fix) = doctor(&place, "store");
    assert!(message.contains("`pdf` is not what was installed") && message.contains("SKILL.md"), "{message}");
    assert!(fix.contains("metier verify pdf"), "{fix}");
}

#[test]
fn a_forged_approval_is_named_and_so_is_a_refusal() {
    let place = place();
    let refuse = ["approve", "pdf", "--script", "scripts/fill.sh", "--refuse"];
    assert!(place.at_home(&refuse).output().unwrap().status.success());
    let report = place.json_at_home(&["doctor", "--json"]);
    let rows = report["checks"].as_array().unwrap();
    let refused = rows.iter().find(|row| row["check"] == "approvals" && row["status"] == "notice").unwrap();
    let directory = place.path().join("me/.local/state/metier/approvals");
    let file = fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    let id = place.json_at_home(&["approvals", "--json"])["approvals"][0]["id"].as_str().unwrap().to_owned();
    assert!(refused["message"].as_str().unwrap().contains("`pdf`"), "{refused}");
    assert!(refused["fix"].as_str().unwrap().contains(&format!("--revoke {id}")), "{refused}");
    // What is printed can be given back, the beginning of it as well.
    let text = fs::read_to_string(&file).unwrap();
    assert!(place.at_home(&["approvals", "--revoke", &id[..6]]).output().unwrap().status.success());
    assert!(!file.exists());
    for forged in [text.replace("fill.sh", "other.sh"), "{".to_owned()] {
        fs::write(&file, forged).unwrap();
        let (message, fix) = doctor(&place, "approvals");
        assert!(message.contains(file.file_name().unwrap().to_str().unwrap()), "{message}");
        assert!(fix.contains("rm "), "{fix}");
    }
}

/// Users who may write to the directory can approve.
#[test]
fn approvals_that_others_could_write_are_named() {
    let place = place();
    let approve = ["approve", "pdf", "--script", "scripts/fill.sh", "--yes"];
    assert!(place.at_home(&approve).output().unwrap().status.success());
    let directory = place.path().join("me/.local/state/metier/approvals");
    for mode in [0o770, 0o702] {
        fs::set_permissions(&directory, fs::Permissions::from_mode(mode)).unwrap();
        let (message, fix) = doctor(&place, "approvals");
        assert!(message.contains("others may write"), "{message}");
        assert!(fix.contains("chmod go-w"), "{fix}");
    }
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(place.at_home(&["doctor"]).output().unwrap().status.code(), Some(0));
}

/// What is printed as a fix works as it stands, whatever a file is called.
#[test]
fn the_fix_for_an_odd_name_can_be_pasted() {
    let place = place();
    let directory = place.path().join("me/.local/state/metier/approvals");
    let name = std::ffi::OsStr::from_bytes(b"a\n'b\\\x1b\xff\xe2\x80\xae c.json");
    place.write("me/.local/state/metier/approvals/x.txt", "");
    fs::write(directory.join(name), "{").unwrap();
    let report = place.at_home(&["doctor"]).output().unwrap();
    let text = String::from_utf8(report.stdout).unwrap();
    let fix = text.lines().find_map(|line| line.split_once("`rm ")?.1.split_once('`')).unwrap().0;
    let removed = Command::new("bash").args(["-c", &format!("rm {fix}")]).output().unwrap();
    assert!(removed.status.success() && !directory.join(name).exists(), "{fix}: {removed:?}");
}

#[test]
fn protections_that_are_missing_are_named() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    // No user namespace can be made below this one, and root's powers are gone.
    let set_up = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", set_up, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_metier")).args(["doctor", "--json"]).current_dir(place.path());
    command.env_clear().env("PATH", "/usr/bin:/bin");
    let output = command.env("HOME", fs::canonicalize(place.path()).unwrap().join("me")).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = report["checks"].as_array().unwrap().iter().find(|row| row["check"] == "scripts").unwrap();
    assert_eq!((&row["status"], output.status.code()), (&"failed".into(), Some(1)), "{row}");
    let text = |key: &str| row[key].as_str().unwrap().to_owned();
    assert!(text("message").contains("no script can be run"), "{row}");
    assert!(text("message").contains("user_namespace") && text("fix").contains("user namespaces"), "{row}");
}

#[test]
fn a_journal_that_was_cut_off_is_named() {
    let place = place();
    for _ in 0..3 {
        assert!(place.at_home(&["activate", "pdf"]).output().unwrap().status.success());
    }
    fs::remove_file(place.path().join("me/.local/state/metier/journal.db")).unwrap();
    let (message, fix) = doctor(&place, "journal");
    assert!(message.contains("records and now has 0"), "{message}");
    assert!(fix.contains("metier audit verify"), "{fix}");
}
