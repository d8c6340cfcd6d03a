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

const NAMED: &str = "\
[[rules]]
name = 'reviewed scripts only'
message = 'ask the platform team to review it'
skill = 'publish*'
scripts = 'deny'
";

/// A rule is known by its name and says why, in decisions, errors and records.
#[test]
fn a_rule_has_a_name_and_a_message() {
    let place = Place::new();
    place.skill("me/.claude/skills/publish", "Publishes. Use it to publish.");
    place.write("me/.claude/skills/publish/scripts/go.sh", "echo gone\n");
    place.write("me/.config/metier/config.toml", NAMED.replace("[[rules]]", "[[policy.rules]]"));
    let check = ["policy", "check", "--skill", "publish", "--script", "scripts/go.sh"];
    insta::assert_snapshot!("policy rule with a name", place.transcript_at_home(&check));
    let output = place.at_home(&["exec", "publish", "scripts/go.sh"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("rule `reviewed scripts only`") && said.contains("platform team"), "{said}");
    let log = place.at_home(&["audit", "log"]).output().unwrap();
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    let run = log.lines().find(|line| line.contains("skill.script_executed")).unwrap();
    assert!(run.contains("rule `reviewed scripts only`"), "{log}");
    // What is refused by a name that no line has room for.
    place.write("me/.config/metier/config.toml", "[[policy.rules]]\nname = ''\nscripts = 'deny'\n");
    let output = place.at_home(&check).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// A policy is tried before it is used, and its own alone decides then.
#[test]
fn a_policy_file_is_tried_and_checked() {
    let place = Place::new();
    place.skill("me/.claude/skills/publish", "Publishes. Use it to publish.");
    place.write("me/.claude/skills/publish/scripts/go.sh", "echo gone\n");
    place.write("new.toml", NAMED);
    place.write("settings.toml", NAMED.replace("[[rules]]", "[[policy.rules]]"));
    let check = |file: &str| {
        let args = [
            "policy",
            "check",
            "--policy",
            file,
            "--skill",
            "publish",
            "--script",
            "scripts/go.sh",
            "--json",
        ];
        place.json_at_home(&args)["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (check("new.toml").as_str(), check("settings.toml").as_str()),
        ("organisation-forbids", "policy-denies")
    );
    place.write("empty.toml", "");
    assert_eq!(check("empty.toml"), "tier-asks");
    place.write(
        "slips.toml",
        "[policy]\ndeny = ['bash(curl *)', 'Bash(wget *)']\n[[policy.rules]]\nskill = 'a'\nscripts = 'allow'\n[[policy.rules]]\nname = 'all'\nscripts = 'deny'\n\
         [[policy.rules]]\nskill = '['\nscripts = 'ask'\n[[policy.rules]]\ntier = 'third_party'\nnetwork = 'allow'\n[[policy.rules]]\nname = 'all'\n",
    );
    // Of an organisation's rules the strictest decides, wherever it stands.
    place.write(
        "organisation.toml",
        "[[rules]]\nscripts = 'deny'\n[[rules]]\nskill = 'a'\nscripts = 'allow'\n[[rules]]\nskill = 'b'\nactivate = 'ask'\n",
    );
    place.write("typing.toml", "[[rules]]\nscript = 'x'\nnetwrk = 'deny'\n");
    for (name, args) in [
        ("policy lint", &["policy", "lint", "slips.toml"][..]),
        ("policy lint typing", &["policy", "lint", "typing.toml", "new.toml"]),
        ("policy lint organisation", &["policy", "lint", "organisation.toml"]),
        ("policy lint nothing", &["policy", "lint"]),
        ("policy lint missing", &["policy", "lint", "nowhere.toml"]),
        ("policy lint json", &["policy", "lint", "--json", "slips.toml"]),
    ] {
        insta::assert_snapshot!(name, place.transcript_at_home(args));
    }
}

#[test]
fn a_word_for_a_key_of_a_rule_names_the_key() {
    let place = Place::new();
    for (word, key) in [("run", "scripts"), ("load", "activate"), ("read", "resources")] {
        place.write("policy.toml", format!("[[rules]]\n{word} = \"deny\"\n"));
        let told = place.transcript(&["policy", "lint", "policy.toml"]);
        assert!(told.contains(&format!("unknown field `{word}`; did you mean `{key}`?")), "{told}");
    }
}
