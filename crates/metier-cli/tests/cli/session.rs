//! `metier activate`, `read`, `exec`, `audit replay` and `tour`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::{Place, skips_namespaces};
use crate::terminal::at_terminal;

/// What changes from run to run: times, ids, digests, directories for a moment.
const CHANGING: [(&str, &str); 6] = [
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{6}Z)?", "[time]"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "[id]"),
    (r"sha256:[0-9a-f]{64}", "[digest]"),
    (r"metier-(skill|work|tour)-\w{6}", "[temporary]"),
    (r"\[time\]Z  \S+ +", "[time]Z  [who]  "),
    (r#""(user|host)":"[^"]*"|"uid":\d+"#, "[who]"),
];

macro_rules! assert_transcript {
    ($name:expr, $transcript:expr) => {
        insta::with_settings!({ filters => CHANGING }, { insta::assert_snapshot!($name, $transcript) })
    };
}

/// A place with a skill that has one file of each kind.
fn place() -> Place {
    let place = Place::new();
    place.skill("skills/pdf", "Fill in PDF forms");
    place.write("skills/pdf/references/guide.md", "one\ntwo\nthree\n");
    place.write("skills/pdf/logo.bin", b"\0\x01\x02");
    place.write("skills/pdf/scripts/hello.sh", "echo \"hello $*\"; cat; ls \"$METIER_SKILL_DIR\"\n");
    place.write("work/notes.txt", "mine\n");
    place
}

const ROOT: [&str; 2] = ["--root", "skills"];

fn with_root<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec![arguments[0], ROOT[0], ROOT[1]];
    all.extend(&arguments[1..]);
    all
}

/// Runs something; its exit code and both streams.
fn run(place: &Place, arguments: &[&str]) -> (i32, String, String) {
    let output = place.at_home(&with_root(arguments)).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The events that `metier audit log` has with these arguments.
fn events(place: &Place, arguments: &[&str]) -> Vec<Value> {
    let output = place.at_home(&[&["audit", "log", "--json"], arguments].concat()).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].take()).collect()
}

#[test]
fn activating() {
    let place = place();
    assert_transcript!("activate", place.transcript_at_home(&with_root(&["activate", "pdf"])));
    assert_transcript!("activate json", place.transcript_at_home(&with_root(&["activate", "pdf", "--json"])));
    assert_transcript!("activate unknown", place.transcript_at_home(&with_root(&["activate", "pfd"])));
    assert_transcript!("activate without a home", place.transcript(&with_root(&["activate", "pdf"])));
    let off = with_root(&["activate", "pdf", "--state", "pdf=off"]);
    assert_transcript!("activate off", place.transcript_at_home(&off));
    let hidden = with_root(&["activate", "pdf", "--state", "pdf=user-only", "--trigger", "model"]);
    assert_transcript!("activate not for models", place.transcript_at_home(&hidden));
}

#[test]
fn a_session_goes_on() {
    let place = place();
    let session = ["--session", "work on\nforms/1"];
    let of_session = |arguments: &[&str]| run(&place, &[arguments, &session].concat());
    assert!(of_session(&["activate", "pdf"]).1.contains("Do it."));
    assert!(of_session(&["activate", "pdf"]).1.contains("already active"));
    assert!(of_session(&["activate", "pdf", "--force"]).1.contains("Do it."));
    // What has changed since the session began is not quietly something else.
    place.write("skills/pdf/references/guide.md", "four\n");
    let (code, _, error) = of_session(&["read", "pdf", "references/guide.md"]);
    assert!(code == 1 && error.contains("has changed since this session first used it"), "{error}");
    assert_eq!(
        run(&place, &["read", "pdf", "references/guide.md"]).1,
        "four\n",
        "another session begins anew"
    );
    assert!(of_session(&["activate", "pdf"]).1.contains("Do it."));
    assert_eq!(of_session(&["read", "pdf", "references/guide.md"]).1, "four\n");
    let events = events(&place, &["--session", session[1]]);
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "session.started",
            "skill.activated",
            "skill.activated",
            "check.failed",
            "skill.activated",
            "skill.resource_read"
        ]
    );
    // A session that was tampered with is not gone on with.
    let saved = fs::read_dir(place.path().join("me/.local/state/metier/sessions")).unwrap();
    let saved = saved
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "json"));
    fs::write(saved.unwrap(), "{}").unwrap();
    let (code, _, error) = of_session(&["activate", "pdf"]);
    assert!(code == 1 && error.contains("cannot restore the session"), "{error}");
}

#[test]
fn reading() {
    let place = place();
    let read = |arguments: &[&str]| run(&place, &[&["read", "pdf"], arguments].concat());
    assert_eq!(read(&["references/guide.md"]).1, "one\ntwo\nthree\n");
    assert_eq!(read(&["references/guide.md", "--lines", "2-3"]).1, "two\nthree\n");
    assert_eq!(read(&["references/guide.md", "--lines", "3"]).1, "three\n");
    assert_eq!(read(&["references/guide.md", "--offset", "4", "--length", "3"]).1, "two");
    assert_eq!(read(&["logo.bin"]).1, "\0\u{1}\u{2}");
    assert_transcript!(
        "read json",
        place.transcript_at_home(&with_root(&["read", "pdf", "logo.bin", "--json"]))
    );
    for (name, path) in
        [("up", "../../work/notes.txt"), ("absolute", "/etc/passwd"), ("missing", "references/Guide.md")]
    {
        assert_transcript!(
            format!("read {name}"),
            place.transcript_at_home(&with_root(&["read", "pdf", path]))
        );
    }
    assert_eq!(read(&["references/guide.md", "--lines", "x"]).0, 2);
    assert_eq!(read(&["references/guide.md", "--lines", "9"]).0, 2);
}

#[test]
fn running() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (code, _, error) = run(&place, &["exec", "pdf", "scripts/hello.sh", "--work", "work"]);
    assert!(code == 3 && error.contains("--approve once"), "{error}");
    let yes = ["exec", "pdf", "scripts/hello.sh", "--work", "work", "--approve", "once"];
    let (code, out, _) = run(&place, &[&yes[..], &["--", "a b", "--json"]].concat());
    assert_eq!((code, out.as_str()), (0, "hello a b --json\nSKILL.md\nlogo.bin\nreferences\nscripts\n"));
    let (code, _, _) = run(&place, &["exec", "pdf", "scripts/hello.sh", "--work", "work"]);
    assert_eq!(code, 3, "once is once");
    let report = place.json_at_home(&with_root(&[&yes[..], &["--json"]].concat()));
    assert_eq!((&report["skill_id"], &report["ending"]["exited"]), (&"user/pdf".into(), &0.into()));
    assert_eq!(
        report["stdout"]["text"],
        "hello 
SKILL.md
logo.bin
references
scripts
"
    );
    let script = fs::read(place.path().join("skills/pdf/scripts/hello.sh")).unwrap();
    assert_eq!(report["script_digest"], metier_skill::Digest::of(&script).to_string());
    assert!(report["protections"].as_array().unwrap().len() > 10 && report["session"].is_string());
    assert_transcript!(
        "exec unknown script",
        place.transcript_at_home(&with_root(&["exec", "pdf", "scripts/none.sh"]))
    );
    // As long as the session lasts, and not in another.
    let in_session = |arguments: &[&str]| {
        run(&place, &[&["exec", "pdf", "scripts/hello.sh", "--work", "work"], arguments].concat())
    };
    assert_eq!(in_session(&["--session", "s", "--approve", "session"]).0, 0);
    assert_eq!(in_session(&["--session", "s"]).0, 0);
    assert_eq!(in_session(&["--session", "t"]).0, 3);
    // What was approved elsewhere for the next time is used up by it.
    let approve = ["approve", "pdf", "--script", "scripts/hello.sh", "--once", "--yes"];
    assert_eq!(run(&place, &approve).0, 0);
    assert_eq!(in_session(&[]).0, 0);
    assert_eq!(in_session(&[]).0, 3);
}

#[test]
fn the_exit_code_is_the_script_s() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    place.write("skills/pdf/scripts/seven.sh", "exit 7\n");
    place.write("skills/pdf/scripts/slow.sh", "sleep 60\n");
    let exec = |script: &str, more: &[&str]| {
        run(&place, &[&["exec", "pdf", script, "--work", "work", "--approve", "once"], more].concat())
    };
    assert_eq!(exec("scripts/seven.sh", &[]).0, 7);
    let (code, _, error) = exec("scripts/slow.sh", &["--wall", "0.3"]);
    assert!(code == 124 && error.contains("too long"), "{error}");
    // Asking for the network is asked about for itself, and recorded with what was meant.
    assert_eq!(exec("scripts/seven.sh", &["--network", "proxy", "--allow-host", "Example.org:443"]).0, 7);
    let last = events(&place, &["--kind", "skill.approval"]).pop().unwrap();
    assert_eq!(
        (&last["access"], &last["network"]),
        (&Value::from("network"), &Value::from("example.org:443"))
    );
}

#[test]
fn replaying() {
    let place = place();
    assert_eq!(run(&place, &["activate", "pdf"]).0, 0);
    assert_eq!(run(&place, &["read", "pdf", "references/guide.md", "--lines", "2"]).0, 0);
    assert_transcript!("replay", place.transcript_at_home(&["audit", "replay"]));
    let objects = place.path().join("me/.local/share/metier/store/objects");
    let files = fs::read_dir(objects).unwrap().flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
    let guide = files
        .map(|file| file.unwrap().path())
        .find(|path| fs::read(path).unwrap() == b"one\ntwo\nthree\n")
        .unwrap();
    fs::set_permissions(&guide, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&guide, "one\ntwo\nthreE\n").unwrap();
    let output = place.at_home(&["audit", "replay"]).output().unwrap();
    let (code, out) = (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap());
    assert!(code == 1 && out.starts_with("record 2 (") && out.contains("skill.activated, pdf"), "{out}");
    let found = place.json_at_home(&["audit", "replay", "--json"]);
    assert_eq!(
        (&found["divergence"]["sequence"], &found["divergence"]["code"]),
        (&2.into(), &"store-changed".into())
    );
}

#[test]
fn what_is_not_to_be_kept_is_not_kept() {
    let place = place();
    place.write("me/.config/metier/config.toml", "keep_skills = false\nrecord_text = true\n");
    assert_eq!(run(&place, &["read", "pdf", "references/guide.md"]).0, 0);
    assert!(!place.path().join("me/.local/share/metier").exists());
    assert_transcript!("replay of what was not kept", place.transcript_at_home(&["audit", "replay"]));
    let read = events(&place, &["--kind", "skill.resource_read"]);
    assert_eq!(read[0]["content"]["text"], "one\ntwo\nthree\n", "texts, where they are wanted");
}

#[test]
fn the_tour() {
    if skips_namespaces() {
        return;
    }
    let place = Place::new();
    let output = place.run(&["tour"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "read /etc/shadow        refused",
        "   allow  metier list --json",
        "   deny   metier list; rm -rf ~",
        "   OK: ",
        " records intact; every activation and run can be replayed.",
        "one `deny` was changed to `allow`. Detected: record ",
    ] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    let (seen, _) = at_terminal(place.at_home(&["tour", "--fast"]), 100);
    assert!(seen.lines().all(|line| line.chars().count() <= 100), "{seen}");
    let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["me"], "nothing is left behind");
}

/// What a script is given is part of what a person decides; secrets are not shown over a shoulder.
#[test]
fn a_question_at_a_terminal_shows_variables() {
    let place = Place::new();
    place.skill("me/.claude/skills/pdf", "Fills in forms.");
    place.write("me/.claude/skills/pdf/scripts/fill.sh", "#!/bin/sh\ntrue\n");
    let set = ["--env", "FOO=EVIL VALUE", "--env", "API_TOKEN=hunter2hunter2"];
    let args = [&["exec", "pdf", "scripts/fill.sh"][..], &set].concat();
    let (seen, output) = crate::policy::at_terminal(&place, &args, "n\n");
    assert_eq!(output.status.code(), Some(3), "{seen}");
    assert!(seen.contains("variables  API_TOKEN=(withheld) FOO='EVIL VALUE'\n"), "{seen}");
    assert!(seen.contains("input      none\n") && !seen.contains("hunter2"), "{seen}");
}
