//! Calls to tools, as they are on this machine: links are followed, and what a skill refuses is refused however it is written.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use metier_policy::{Anchors, Verdict};
use metier_session::Session;
use metier_skill::Tier;
use serde_json::json;

use crate::common::Ground;

/// A session whose working directory is `work`, and whose home is `home`.
fn session(ground: &Ground) -> Session {
    let mut options = ground.options(Tier::User);
    let root = fs::canonicalize(ground.path(".")).unwrap();
    options.places = Anchors::new(root.join("work"), root.join("home"));
    Session::start(options).unwrap()
}

#[test]
fn redirections_and_directories_through_links_are_followed() {
    let ground = Ground::new();
    ground.skill("writer", "allowed-tools: Bash(echo *) Bash(npm test *) Edit(out/**)\n", "Write.\n");
    ground.write("home/.bashrc", "");
    ground.write("work/out/plain", "");
    ground.write("work/sub/package.json", "{}");
    symlink(ground.path("home/.bashrc"), ground.path("work/out/x")).unwrap();
    symlink("plain", ground.path("work/out/inside")).unwrap();
    symlink("../sub", ground.path("work/out/sub")).unwrap();
    symlink(ground.path("home"), ground.path("work/away")).unwrap();
    let mut session = session(&ground);
    session.activate("writer").unwrap();
    let mut code = |input: serde_json::Value| {
        let decision = session.check_tool_call("Bash", &input).unwrap();
        (decision.verdict, decision.code.as_str())
    };
    let allowed = (Verdict::Allow, "rule-matched");
    assert_eq!(code(json!({ "command": "echo y > out/plain" })), allowed);
    assert_eq!(code(json!({ "command": "echo y > out/inside" })), allowed);
    assert_eq!(code(json!({ "command": "echo y > out/new" })), allowed);
    assert_eq!(code(json!({ "command": "echo y > out/x" })), (Verdict::Deny, "redirect-outside"));
    assert_eq!(code(json!({ "command": "cd sub && npm test" })), allowed);
    assert_eq!(code(json!({ "command": "cd out/sub && npm test" })), allowed);
    assert_eq!(code(json!({ "command": "npm test", "workdir": "sub" })), allowed);
    assert_eq!(code(json!({ "command": "cd away && npm test" })).0, Verdict::Deny);
    assert_eq!(code(json!({ "command": "npm test", "workdir": "away" })), (Verdict::Deny, "not-judged"));
}

/// A session with a skill, and the verdict of every call.
fn verdicts(ground: &Ground, skill: &str) -> impl FnMut(serde_json::Value) -> Verdict {
    let mut session = session(ground);
    session.activate(skill).unwrap();
    move |input| session.check_tool_call("Bash", &input).unwrap().verdict
}

#[test]
fn links_are_followed_in_long_lines_and_up_from_where_they_lead() {
    let ground = Ground::new();
    let rules = "Bash(echo *) Bash(npm test *) Bash(git log *) Edit(out/**)";
    ground.skill("writer", &format!("allowed-tools: {rules}\n"), "Write.\n");
    ground.write("home/.bashrc", "");
    ground.write("home/sub/x", "");
    ground.write("work/out/plain", "");
    symlink(ground.path("home/.bashrc"), ground.path("work/out/x")).unwrap();
    symlink(ground.path("home/sub"), ground.path("work/out/link")).unwrap();
    symlink(ground.path("home"), ground.path("work/zz")).unwrap();
    let mut verdict = verdicts(&ground, "writer");
    let words = (0..1500).map(|at| format!("a{at}")).collect::<Vec<_>>().join(" ");
    let mut line = |line: String| verdict(json!({ "command": line }));
    assert_eq!(line(format!("echo {words} > out/plain")), Verdict::Allow);
    assert_eq!(line(format!("echo {words} > out/x")), Verdict::Deny);
    assert_eq!(line(format!("cd out && npm test {words}")), Verdict::Allow);
    assert_eq!(line(format!("cd zz && npm test {words}")), Verdict::Deny);
    assert_eq!(line("echo y > out/../out/plain".to_owned()), Verdict::Allow);
    assert_eq!(line("echo y > out/link/../.bashrc".to_owned()), Verdict::Deny);
    assert_eq!(verdict(json!({ "command": "git log", "workdir": "out/.." })), Verdict::Allow);
    assert_eq!(verdict(json!({ "command": "git log", "workdir": "zz/.." })), Verdict::Deny);
}

#[test]
fn rules_that_deny_follow_links_and_nothing_else() {
    let ground = Ground::new();
    ground.skill("careful", "disallowed-tools: Read(~/.ssh/**)\n", "No.\n");
    ground.write("home/.ssh/id", "");
    ground.write("work/sub/x", "");
    symlink(ground.path("home/.ssh"), ground.path("work/keys")).unwrap();
    symlink(ground.path("home/.ssh/id"), ground.path("work/sub/k")).unwrap();
    let mut verdict = verdicts(&ground, "careful");
    let words = (0..300).map(|at| format!("a{at}")).collect::<Vec<_>>().join(" ");
    for line in [
        &format!("cat {words} keys/id"),
        "bash -c \"cat keys/id\"",
        "dd if=keys/id",
        "for f in keys/id; do cat \"$f\"; done",
        "cd sub && cat k",
        "cat sub/x/../../keys/id",
    ] {
        assert_eq!(verdict(json!({ "command": line })), Verdict::Deny, "{line}");
    }
    assert_eq!(verdict(json!({ "command": "cat k", "workdir": "sub" })), Verdict::Deny);
    assert_eq!(verdict(json!({ "command": "cat k", "workdir": "." })), Verdict::Allow);
}

#[test]
fn a_name_that_is_too_long_for_a_file_leads_nowhere() {
    let ground = Ground::new();
    ground.skill("careful", "disallowed-tools: Read(~/.ssh/**)\n", "No.\n");
    ground.write("home/.ssh/id", "");
    ground.write("work/sub/x", "");
    symlink(ground.path("home/.ssh"), ground.path("work/keys")).unwrap();
    let mut verdict = verdicts(&ground, "careful");
    for message in ["x".repeat(340), "word/ ".repeat(1000), format!("{}/y", "x".repeat(5000))] {
        let line = format!("git commit -m '{message}'");
        assert_eq!(verdict(json!({ "command": line })), Verdict::Allow, "{}", message.len());
    }
    assert_eq!(verdict(json!({ "command": format!("cat {}/../keys/id", "x".repeat(340)) })), Verdict::Deny);
}

#[test]
fn what_this_user_cannot_enter_is_judged_by_its_name() {
    let ground = Ground::new();
    ground.skill("careful", "disallowed-tools: Read(~/.ssh/**)\n", "No.\n");
    ground.write("home/.ssh/id", "");
    ground.write("work/closed/x", "");
    ground.write("home/shut/x", "");
    symlink(ground.path("home/shut"), ground.path("work/link")).unwrap();
    let set = |mode: u32| {
        for path in ["work/closed", "home/shut"] {
            fs::set_permissions(ground.path(path), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o000);
    let is_root = fs::symlink_metadata(ground.path("work/closed/x")).is_ok();
    let mut verdict = verdicts(&ground, "careful");
    let mut line = |line: &str| verdict(json!({ "command": line }));
    let found = ["scp a host:closed/x", "cat closed/x/../../x", "cat link/x"].map(|text| (text, line(text)));
    set(0o755);
    // Root enters everything.
    let unclear = if is_root { Verdict::Allow } else { Verdict::Deny };
    assert_eq!(found.map(|(_, verdict)| verdict), [Verdict::Allow, unclear, unclear], "{found:?}");
}

#[test]
fn what_a_skill_refuses_is_refused_however_it_is_written() {
    let ground = Ground::new();
    ground.skill("plain", "disallowed-tools: Bash(rm *)\n", "No.\n");
    ground.skill("escaped", "\"dis\\u0061llowed-tools\": Bash(rm *)\n", "No.\n");
    for name in ["plain", "escaped"] {
        let mut session = session(&ground);
        session.activate(name).unwrap();
        let decision = session.check_tool_call("Bash", &json!({ "command": "rm x" })).unwrap();
        assert_eq!(decision.code.as_str(), "denied-by-rule", "{name}");
    }
}
