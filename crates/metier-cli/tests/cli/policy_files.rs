//! Files of settings and policies that are something else.

use std::fs;
use std::process::Command;

use crate::policy::can_be_organisation;
use crate::support::Place;

/// A process that reads from such a pipe waits for ever.
#[test]
fn a_pipe_in_the_place_of_a_file_of_settings_is_named() {
    let place = Place::new();
    place.skill("me/.claude/skills/pdf", "Fills in forms.");
    let in_time = |command: &[&str]| {
        let mut all = Command::new("timeout");
        all.args(["20", env!("CARGO_BIN_EXE_metier")]).args(command).current_dir(place.path()).env_clear();
        all.env("HOME", fs::canonicalize(place.path()).unwrap().join("me")).env("PATH", "/usr/bin:/bin");
        let output = all.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (path, command) in [
        ("me/.config/metier/config.toml", &["list"][..]),
        ("metier.lock", &["install", "--locked"]),
        ("me/.config/metier/trusted-keys.toml", &["install", "me/.claude/skills/pdf"]),
    ] {
        let path = place.write(path, "");
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        fs::create_dir_all(place.path().join(".git")).unwrap();
        let (code, said) = in_time(command);
        assert!(matches!(code, Some(2 | 5)), "{command:?}: {code:?} {said}");
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(said.contains(name) && said.contains("is not a regular file"), "{command:?}: {said}");
        fs::remove_file(&path).unwrap();
    }
}

/// Nothing is decided as if there were no policy.
#[test]
fn a_pipe_in_the_place_of_the_organisation_s_policy_is_named() {
    if !can_be_organisation() {
        return;
    }
    let place = Place::new();
    let set_up =
        "mount -t tmpfs tmpfs /etc && mkdir /etc/metier && mkfifo /etc/metier/policy.toml && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", set_up, "sh", "timeout", "20"]);
    command.arg(env!("CARGO_BIN_EXE_metier")).args(["policy", "check", "--tool", "Read", "--input", "x"]);
    command.current_dir(place.path()).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let output = command.env("HOME", place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("policy.toml") && said.contains("is not a regular file"), "{said}");
}
