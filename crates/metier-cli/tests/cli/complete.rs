//! What a shell completes: `metier complete` and the scripts of `metier completions`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::Place;

/// Skills in the home, one of them switched off, one with a script whose name a shell would run.
fn place() -> Place {
    let place = Place::new();
    place.skill("me/.claude/skills/pdf", "Fills in forms.");
    place.skill("me/.claude/skills/pdf-merge", "Merges documents.");
    place.skill("me/.claude/skills/zoom", "Starts calls.");
    place.write("me/.claude/skills/pdf/references/guide.md", "Read this.\n");
    let script = place.write("me/.claude/skills/pdf/scripts/fill $(touch ran).sh", "echo filled\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    place.write("me/.config/metier/config.toml", "[[skills]]\nname = \"zoom\"\nstate = \"off\"\n");
    place
}

/// The words that complete the last one of a line.
fn completed(place: &Place, line: &str) -> Vec<String> {
    let (before, word) = line.rsplit_once(' ').unwrap_or(("", line));
    let word = format!("--word={word}");
    let args: Vec<&str> = ["complete", &word, "--"].into_iter().chain(before.split_whitespace()).collect();
    let output = place.at_home(&args).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().skip(1).map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn names_of_skills_files_and_agents_are_completed() {
    let place = place();
    for (line, expected) in [
        ("activate pd", &["pdf", "pdf-merge"][..]),
        ("activate zo", &[]),
        ("show zo", &["zoom"]),
        ("show user/pdf", &["user/pdf", "user/pdf-merge"]),
        ("exec pdf scripts/", &["scripts/fill $(touch ran).sh"]),
        ("exec using-metier ", &["scripts/look-around.sh"]),
        ("approve pdf --script ", &["scripts/fill $(touch ran).sh"]),
        ("read pdf ref", &["references/guide.md"]),
        ("link claude pdf pdf-", &["pdf-merge"]),
        ("run cl", &["claude"]),
        ("activate --root empty pd", &[]),
        ("audit log --skill using", &["using-metier"]),
    ] {
        fs::create_dir_all(place.path().join("empty")).unwrap();
        assert_eq!(completed(&place, line), expected, "{line}");
    }
    let output = place.at_home(&["complete", "--word=pdf-", "--", "show"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "none\npdf-merge\tMerges documents.\n");
}

#[test]
fn sessions_kinds_and_answers_are_completed_from_what_was_recorded() {
    let place = place();
    assert!(completed(&place, "audit log --session ").is_empty(), "nothing was recorded yet");
    assert!(!place.path().join("me/.local/state/metier/journal.db").exists(), "completing records nothing");
    for session in ["morning", "evening"] {
        let output = place.at_home(&["activate", "pdf", "--session", session]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(completed(&place, "read pdf x --session "), ["evening", "morning"]);
    assert_eq!(completed(&place, "audit log --kind skill.act"), ["skill.activated"]);
    let output = place.at_home(&["approve", "pdf", "--refuse", "--json"]).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(completed(&place, "approvals --revoke "), [answer["id"].as_str().unwrap()]);
}

#[test]
fn a_broken_setting_completes_nothing_and_prints_nothing() {
    let place = place();
    place.write("me/.config/metier/config.toml", "roots = 3\n");
    assert!(completed(&place, "show pd").is_empty());
}

/// What bash would complete a line with.
fn bash(place: &Place, line: &[&str]) -> String {
    let script = "source <(metier completions bash) && COMP_WORDS=(metier \"$@\") && COMP_CWORD=$# && _metier && \
                  printf '%s\\n' \"${COMPREPLY[@]}\"";
    let program = Path::new(env!("CARGO_BIN_EXE_metier")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", program.display());
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash"]).args(line).current_dir(place.path()).env_clear();
    command.env("PATH", path).env("HOME", fs::canonicalize(place.path().join("me")).unwrap());
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[test]
fn bash_completes_commands_options_and_skills() {
    let place = place();
    for (line, completed) in [
        (&["vali"][..], "validate"),
        (&["validate", "--strict", "--fi"], "--fix"),
        (&["audit", "ver"], "verify"),
        (&["validate", "--format", "=", "sar"], "sarif"),
        (&["show", "pdf-"], "pdf-merge"),
        // Accepting this does not run it.
        (&["exec", "pdf", "scr"], r"scripts/fill\ \$\(touch\ ran\).sh"),
    ] {
        assert_eq!(bash(&place, line), completed, "{line:?}");
    }
}

#[test]
fn other_shells_ask_metier_too() {
    let place = Place::new();
    for (shell, hook) in [("zsh", "compdef _metier metier"), ("fish", "complete -c metier")] {
        let script = String::from_utf8(place.run(&["completions", shell]).stdout).unwrap();
        assert!(script.contains("metier complete --word=") && script.contains(hook), "{script}");
    }
}
