//! `metier policy check`, `approve`, `approvals`: what is decided here, and who decides.

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::Place;

/// A skill with a script, as the person's own.
fn with_skill() -> Place {
    let place = Place::new();
    let text = "---\nname: pdf\ndescription: Use when there is a form.\nallowed-tools: Bash(git log *) Read(${CLAUDE_SKILL_DIR}/**)\n\
                disallowed-tools: Bash(git log --all *)\n---\nRun scripts/fill.sh.\n";
    place.write("me/.claude/skills/pdf/SKILL.md", text);
    place.write("me/.claude/skills/pdf/scripts/fill.sh", "#!/bin/sh\necho filled\n");
    place
}

fn check(place: &Place, args: &[&str]) -> Value {
    let mut all = vec!["policy", "check", "--json"];
    all.extend(args);
    place.json_at_home(&all)
}

fn verdict(decision: &Value) -> (&str, &str) {
    (decision["decision"].as_str().unwrap(), decision["code"].as_str().unwrap())
}

#[test]
fn a_decision_and_its_reason() {
    let place = Place::new();
    let rules = "Bash(git log *) B*";
    for (name, input) in [("allowed", "git log -3"), ("denied", "git log; rm x")] {
        let args = ["policy", "check", "--allowed-tools", rules, "--tool", "Bash", "--input", input];
        insta::assert_snapshot!(format!("policy check {name}"), place.transcript_at_home(&args));
    }
    let decision = check(
        &place,
        &["--allowed-tools", rules, "--tool", "exec_command", "--input", r#"{"cmd":"git log"}"#],
    );
    assert_eq!(
        decision,
        json!({
            "decision": "allow",
            "code": "rule-matched",
            "reason": "`Bash(git log *)` allows it",
            "rule": "Bash(git log *)",
            "warnings": [{
                "rule": "B*",
                "code": "rule-never-matches",
                "message": "a tool must be named in full; only `mcp__SERVER__*` may contain a `*`",
            }],
        })
    );
    let exit = |args: &[&str]| place.at_home(args).output().unwrap().status.code();
    assert_eq!(
        exit(&["policy", "check", "--allowed-tools", "Read", "--tool", "Read", "--input", "x"]),
        Some(0)
    );
    assert_eq!(
        exit(&[
            "policy",
            "check",
            "--allowed-tools",
            "Read",
            "--tool",
            "Bash",
            "--input",
            "x",
            "--mode",
            "pre-approve"
        ]),
        Some(1)
    );
    assert_eq!(
        exit(&["policy", "check", "--allowed-tools", "Read", "--tool", "Bash", "--input", "x"]),
        Some(3)
    );
    assert_eq!(exit(&["policy", "check", "--allowed-tools", "[1]", "--tool", "Bash"]), Some(2));
    assert_eq!(
        exit(&["policy", "check", "--allowed-tools", "Read", "--tier", "x", "--tool", "Bash"]),
        Some(2)
    );
    assert_eq!(exit(&["policy", "check", "--skill", "nobody", "--tool", "Bash"]), Some(4));
}

#[test]
fn lists_add_up_and_deny_rules_win() {
    let place = Place::new();
    let both =
        ["--allowed-tools", r#"["Bash(git *)"]"#, "--allowed-tools", "Bash(git log *)", "--tool", "Bash"];
    let of = |input: &str, more: &[&str]| {
        let mut args = both.to_vec();
        args.extend(["--input", input]);
        args.extend(more);
        check(&place, &args)
    };
    assert_eq!(verdict(&of("git log", &[])), ("allow", "rule-matched"));
    assert_eq!(verdict(&of("git push", &[])), ("deny", "outside-list"));
    assert_eq!(of("git push", &[])["reason"], "`list 2`: no rule allows `git push`");
    assert_eq!(
        verdict(&of("git log --all", &["--deny", "Bash(git log --all *)"])),
        ("deny", "denied-by-rule")
    );
}

#[test]
fn rules_that_can_never_match_are_found_when_a_skill_is_looked_at() {
    let place = Place::new();
    let text = "---\nname: odd\ndescription: Use when odd.\nallowed-tools: [BashOutput, Bas, 'Bash(git:* push)', Read]\ndisallowed-tools: rm\n---\nDo it.\n";
    place.write("odd/SKILL.md", text);
    insta::assert_snapshot!("validate rules", place.transcript(&["validate", "odd"]));
    let shown = place.json(&["show", "--json", "./odd"]);
    assert_eq!(shown["warnings"], 2);
    let sarif = place.json(&["validate", "--format", "sarif", "odd"]);
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "rule-never-matches");
}

#[test]
fn links_on_this_machine_are_followed() {
    let place = Place::new();
    place.write("project/src/a", "");
    place.write("secret/key", "");
    std::os::unix::fs::symlink("../../secret", place.path().join("project/src/link")).unwrap();
    let project = place.path().join("project");
    let read = |path: &str| {
        check(
            &place,
            &[
                "--allowed-tools",
                "Read(src/**)",
                "--tool",
                "Read",
                "--input",
                path,
                "--cwd",
                project.to_str().unwrap(),
            ],
        )
    };
    assert_eq!(verdict(&read("src/a")).0, "allow");
    assert_eq!(verdict(&read("src/new")).0, "allow");
    assert_eq!(verdict(&read("src/link/key")).0, "deny");
    assert_eq!(verdict(&read("src/link/new")).0, "deny");
    // The system follows the link before it goes up.
    place.write("outside", "");
    assert_eq!(verdict(&read("src/link/../outside")).0, "deny");
    std::os::unix::fs::symlink("/nowhere/at/all", project.join("src/dangling")).unwrap();
    assert_eq!(verdict(&read("src/dangling")).0, "deny");
    std::os::unix::fs::symlink("loop", project.join("src/loop")).unwrap();
    assert_eq!(verdict(&read("src/loop")).0, "deny");
    // The directory itself may be reached by a link.
    std::os::unix::fs::symlink("project", place.path().join("other")).unwrap();
    let other = place.path().join("other");
    let other = other.to_str().unwrap();
    let allowed = ["--allowed-tools", "Read(src/**)", "--tool", "Read", "--input", "src/a", "--cwd", other];
    assert_eq!(verdict(&check(&place, &allowed)).0, "allow");
    let secret = fs::canonicalize(project.join("src/a")).unwrap();
    let denied =
        ["--deny", "Read(./src/a)", "--tool", "Read", "--input", secret.to_str().unwrap(), "--cwd", other];
    assert_eq!(verdict(&check(&place, &denied)).0, "deny");
}

#[test]
fn skills_of_the_catalog_bring_their_rules() {
    let place = with_skill();
    let of = |tool: &str, input: &str| check(&place, &["--skill", "pdf", "--tool", tool, "--input", input]);
    assert_eq!(verdict(&of("Bash", "git log")), ("allow", "rule-matched"));
    assert_eq!(verdict(&of("Bash", "git log --all")), ("deny", "denied-by-rule"));
    assert_eq!(verdict(&of("Bash", "ls")), ("deny", "outside-list"));
    let own = place.path().join("me/.claude/skills/pdf/x");
    assert_eq!(
        verdict(&of("Read", fs::canonicalize(place.path()).unwrap().join(own).to_str().unwrap())).0,
        "allow"
    );
    assert_eq!(verdict(&of("Read", "/etc/passwd")).0, "deny");
    assert_eq!(verdict(&check(&place, &["--skill", "using-metier"])), ("allow", "tier-allows"));
}

#[test]
fn an_approval_of_the_network_is_for_what_was_named() {
    let place = with_skill();
    let script = ["--skill", "pdf", "--script", "scripts/fill.sh", "--network"];
    let decided = |hosts: &[&str]| {
        let hosts: Vec<&str> = hosts.iter().flat_map(|host| ["--allow-host", host]).collect();
        check(&place, &[&script[..], &hosts].concat())
    };
    let approve = |more: &[&str]| {
        let args = ["approve", "pdf", "--script", "scripts/fill.sh", "--yes"];
        place.at_home(&[&args, more].concat()).output().unwrap()
    };
    assert!(approve(&[]).status.success());
    let said = approve(&["--network", "--allow-host", "PyPI.org", "--allow-host", "*.example.org:8443"]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("may reach `*.example.org:8443`, `pypi.org:443` (scripts/fill.sh)"), "{said}");
    for hosts in [&["pypi.org:443"][..], &["a.example.org:8443", "pypi.org"]] {
        assert_eq!(verdict(&decided(hosts)), ("allow", "approved"), "{hosts:?}");
    }
    for hosts in [&[][..], &["pypi.org:80"], &["example.org:8443"], &["pypi.org", "evil.org"]] {
        assert_eq!(verdict(&decided(hosts)), ("ask", "network-asks"), "{hosts:?}");
    }
    let kept = place.json_at_home(&["approvals", "--json"]);
    let networks: Vec<&Value> =
        kept["approvals"].as_array().unwrap().iter().filter_map(|row| row.get("network")).collect();
    assert_eq!(networks, ["*.example.org:8443,pypi.org:443"]);
    let log = place.at_home(&["audit", "log", "--json"]).output().unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    assert!(log.contains("*.example.org:8443,pypi.org:443"), "{log}");

    // The whole network is another question, with an answer of its own.
    assert!(approve(&["--network"]).status.success());
    assert_eq!(verdict(&decided(&[])), ("allow", "approved"));
    assert_eq!(place.json_at_home(&["approvals", "--json"])["approvals"].as_array().unwrap().len(), 3);
    assert_eq!(approve(&["--network", "--allow-host", "a b"]).status.code(), Some(2));
    assert_eq!(approve(&["--allow-host", "a.org"]).status.code(), Some(2));
}

/// The names of answers did not cover the answer once. Such a file could be a no that was edited into a yes.
#[test]
fn an_approval_under_an_old_name_does_not_count() {
    let place = with_skill();
    let args = ["approve", "pdf", "--script", "scripts/fill.sh", "--yes"];
    assert!(place.at_home(&args).output().unwrap().status.success());
    let directory = place.path().join("me/.local/state/metier/approvals");
    let file = fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
    let kept: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let key = json!([kept["digest"], kept["script"], kept["access"], kept["lifetime"]]).to_string();
    let name = metier_skill::Digest::of(key.as_bytes()).hex()[..12].to_owned();
    let (digest, _) = file.file_name().unwrap().to_str().unwrap().split_once('-').unwrap();
    for old in [format!("{digest}-{name}.json"), format!("{name}.json")] {
        let old = directory.join(old);
        fs::rename(&file, &old).unwrap();
        let check = ["policy", "check", "--skill", "pdf", "--script", "scripts/fill.sh"];
        let output = place.at_home(&check).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("its name does not match its content"), "{said}");
        assert_eq!(output.status.code(), Some(5));
        fs::rename(&old, &file).unwrap();
    }
}

/// What the policy takes for a host the sandbox does too, and the other way round.
#[test]
fn a_destination_is_the_same_to_policy_and_sandbox() {
    for text in [
        "a.org",
        "A.org:80",
        "*.a.org:1",
        "1.2.3.4:5",
        "[::1]:80",
        "::1:80",
        "a_b-c.org:0443",
        "",
        ":1",
        "a:",
        "a:0",
        "a:65536",
        "a b",
        "*.",
        "*",
        "[::1",
        "[::1]",
        "[::1]80",
        "a/b",
        "u@a",
        "\u{e4}.org",
        "a,b",
        "a:+80",
    ] {
        let by_policy = metier_policy::Reach::hosts([text]).map(|reach| reach.to_string());
        let by_sandbox = metier_sandbox::Destination::parse(text).map(|destination| destination.to_string());
        assert_eq!(by_policy.ok(), by_sandbox.ok(), "{text}");
    }
}

#[test]
fn what_is_approved_is_remembered_until_the_skill_changes() {
    let place = with_skill();
    let script = ["--skill", "pdf", "--script", "scripts/fill.sh"];
    let decided = |more: &[&str]| check(&place, &[&script, more].concat());
    assert_eq!(verdict(&decided(&[])), ("ask", "tier-asks"));
    let approve = ["approve", "pdf", "--script", "./scripts/fill.sh"];
    // Nobody sits at a terminal here.
    insta::assert_snapshot!("approve nobody", place.transcript_at_home(&approve));
    insta::assert_snapshot!(
        "approve",
        redacted(&place.transcript_at_home(&[&approve[..], &["--yes"]].concat()))
    );
    assert_eq!(verdict(&decided(&[])), ("allow", "approved"));
    assert_eq!(verdict(&decided(&["--network"])), ("ask", "network-asks"));
    let refused = place
        .at_home(&[&approve[..], &["--network", "--refuse", "--session", "s1"]].concat())
        .output()
        .unwrap();
    assert!(refused.status.success());
    assert_eq!(verdict(&decided(&["--network", "--session", "s1"])), ("deny", "refused"));
    assert_eq!(verdict(&decided(&["--network", "--session", "s2"])), ("ask", "network-asks"));
    insta::assert_snapshot!("approvals", redacted(&place.transcript_at_home(&["approvals"])));

    let kept = place.json_at_home(&["approvals", "--json"]);
    let row = &kept["approvals"][0];
    let fields: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        ["skill", "digest", "script", "access", "network", "granted", "lifetime", "how", "on", "id"]
    );

    place.write("me/.claude/skills/pdf/scripts/fill.sh", "#!/bin/sh\necho changed\n");
    assert_eq!(verdict(&decided(&[])), ("ask", "tier-asks"));
    let id = row["id"].as_str().unwrap();
    assert!(place.at_home(&["approvals", "--revoke", id]).output().unwrap().status.success());
    assert_eq!(place.at_home(&["approvals", "--revoke", id]).output().unwrap().status.code(), Some(4));
    assert_eq!(place.json_at_home(&["approvals", "--json"])["approvals"].as_array().unwrap().len(), 1);
}

/// What a person at a terminal sees and gets who types an answer.
pub(crate) fn at_terminal(place: &Place, args: &[&str], typed: &str) -> (String, Output) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::{Read as _, Write as _};
    let mut terminal = fs::File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let other_end = fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    terminal.write_all(typed.as_bytes()).unwrap();
    let mut command = place.at_home(args);
    command.stdin(other_end.try_clone().unwrap()).stderr(other_end.try_clone().unwrap());
    let output = command.output().unwrap();
    // What was written stays in the terminal until its other end is closed, and comes in pieces.
    let end = "\u{4}the end\n";
    (&other_end).write_all(end.as_bytes()).unwrap();
    let mut seen = String::new();
    while !seen.contains(end) {
        let mut piece = vec![0; 4_096];
        let count = terminal.read(&mut piece).unwrap();
        seen.push_str(&String::from_utf8_lossy(&piece[..count]).replace('\r', ""));
    }
    drop(other_end);
    (seen.replace(end, ""), output)
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    let place = with_skill();
    let script = ["--skill", "pdf", "--script", "scripts/fill.sh"];
    let approve = ["approve", "pdf", "--script", "scripts/fill.sh"];
    let (seen, output) = at_terminal(&place, &approve, "what?\nhm\n\n");
    assert_eq!(verdict(&check(&place, &script)), ("ask", "tier-asks"), "that was no answer");
    assert!(seen.contains("Allow `pdf` (your own skill) to run `scripts/fill.sh`?"), "{seen}");
    for fact in [
        "arguments  any",
        "directory  any",
        "network    none",
        "variables  any",
        "input      any",
        "[y]es, with any arguments, variables and input, in any directory, until the skill changes",
        "[n]o",
        "[v]iew",
    ] {
        assert!(seen.contains(fact), "{fact}: {seen}");
    }
    assert_eq!(output.status.code(), Some(5));
    let (seen, output) = at_terminal(&place, &approve, "no\n");
    assert_eq!(output.status.code(), Some(3));
    assert!(seen.contains("cancelled; nothing was stored"), "{seen}");
    assert_eq!(verdict(&check(&place, &script)), ("ask", "tier-asks"), "a no cancels");
    let (seen, _) = at_terminal(&place, &approve, "view\nn\n");
    assert!(seen.contains("   1  #!/bin/sh"), "{seen}");
    let (_, output) = at_terminal(&place, &approve, "y\n");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(verdict(&check(&place, &script)), ("allow", "approved"));
    // The end of input is no answer at all.
    let (_, output) = at_terminal(&place, &[&approve[..], &["--network"]].concat(), "\u{4}");
    assert_eq!(output.status.code(), Some(5));
    // What needs no approval is not asked about.
    let (seen, output) = at_terminal(&place, &["approve", "pdf"], "n\n");
    assert!(!seen.contains("[n]o") && output.status.success(), "{seen}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("no approval is needed: `pdf` (tier `user`) may be loaded"), "{said}");
    assert_eq!(verdict(&check(&place, &["--skill", "pdf"])), ("allow", "tier-allows"));
}

#[test]
fn what_is_refused_is_seen_and_undone() {
    let place = with_skill();
    let before = place.at_home(&["list"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&before.stderr).contains("refused"));
    assert!(place.at_home(&["approve", "pdf", "--refuse"]).output().unwrap().status.success());
    let id = place.json_at_home(&["approvals", "--json"])["approvals"][0]["id"].as_str().unwrap().to_owned();
    let undo = format!("undo with `metier approvals --revoke {id}`");
    let listed = place.at_home(&["list"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stderr);
    assert!(listed.contains("`pdf` will not be loaded until its content changes: refused on 20"), "{listed}");
    assert!(listed.contains(&undo), "{listed}");
    let shown = place.at_home(&["show", "pdf"]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).replace('\n', " ");
    assert!(shown.contains("refused") && shown.contains(&id), "{shown}");
    for args in [&["list", "--json"][..], &["show", "pdf", "--json"]] {
        let refused = &place.json_at_home(args)["refusals"][0];
        assert_eq!((&refused["id"], &refused["skill"]), (&json!(id), &json!("pdf")), "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(&undo), "{refused}");
    }
    let denied = place.at_home(&["activate", "pdf"]).output().unwrap();
    assert_eq!(denied.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&denied.stderr).contains(&undo), "{denied:?}");
    assert!(place.at_home(&["approvals", "--revoke", &id]).output().unwrap().status.success());
    assert!(place.at_home(&["activate", "pdf"]).output().unwrap().status.success());
    // A refusal is about one content.
    assert!(place.at_home(&["approve", "pdf", "--refuse"]).output().unwrap().status.success());
    place.write("me/.claude/skills/pdf/more.md", "more");
    let listed = place.at_home(&["list"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&listed.stderr).contains("refused"));
}

/// Ids and digests are other ones wherever the skill's files have other run bits.
fn redacted(transcript: &str) -> String {
    let is_hex = |word: &str| word.len() == 12 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words = transcript.split_inclusive([' ', '\n', '[', ']']);
    words
        .map(|word| {
            if is_hex(word.trim_end_matches([' ', '\n', ']'])) {
                word.replacen(&word[..12], "<12 digits>", 1)
            } else {
                word.to_owned()
            }
        })
        .collect()
}

#[test]
fn approving_what_is_not_there_says_so() {
    let place = with_skill();
    let code = |args: &[&str]| place.at_home(args).output().unwrap().status.code();
    assert_eq!(code(&["approve", "nobody", "--yes"]), Some(4));
    assert_eq!(code(&["approve", "pdf", "--script", "../x", "--yes"]), Some(4));
    assert_eq!(code(&["approve", "pdf", "--script", "scripts/other.sh", "--yes"]), Some(4));
    assert_eq!(code(&["approve", "pdf", "--network", "--yes"]), Some(2));
}

#[test]
fn a_refusal_holds_and_names_cannot_pass_for_more() {
    let place = with_skill();
    assert!(place.at_home(&["approve", "pdf", "--refuse"]).output().unwrap().status.success());
    assert_eq!(verdict(&check(&place, &["--skill", "pdf"])), ("deny", "refused"));
    // What must not be loaded must not run either.
    let script = ["--skill", "pdf", "--script", "scripts/fill.sh"];
    assert_eq!(verdict(&check(&place, &script)), ("deny", "refused"));
    let odd = "e\u{1b}[31m`?\n  why     because";
    place.write(&format!("me/.claude/skills/pdf/{odd}"), "");
    let output = place.at_home(&["approve", "pdf", "--script", odd, "--yes"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "such a path is no file's that anybody could mean");
    assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
}

/// A path is accepted where a name is.
#[test]
fn a_skill_can_be_given_by_its_directory() {
    let place = with_skill();
    let by_name = check(&place, &["--skill", "pdf", "--script", "scripts/fill.sh"]);
    let by_path = check(&place, &["--skill", "me/.claude/skills/pdf", "--script", "scripts/fill.sh"]);
    assert_eq!(by_name, by_path);
    let by_name = check(&place, &["--skill", "pdf", "--tool", "Bash", "--input", "ls"]);
    let by_path = check(&place, &["--skill", "./me/.claude/skills/pdf", "--tool", "Bash", "--input", "ls"]);
    assert_eq!(by_name, by_path);
}

#[test]
fn what_is_off_is_not_decided_about() {
    let place = with_skill();
    for args in [&["policy", "check", "--skill", "pdf"][..], &["approve", "pdf", "--yes"]] {
        let output = place.at_home(&[args, &["--state", "pdf=off"]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
    }
}

#[test]
fn without_a_home_rules_about_it_still_hold() {
    let place = Place::new();
    let home = fs::read_to_string("/etc/passwd").unwrap();
    let uid = fs::metadata(place.path()).map(|meta| std::os::unix::fs::MetadataExt::uid(&meta)).unwrap();
    let home =
        home.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|line| line[2] == uid.to_string());
    let Some(home) = home.map(|line| line[5].to_owned()) else { return };
    let secret = format!("{home}/.ssh/id");
    let args =
        ["policy", "check", "--json", "--deny", "Read(~/.ssh/**)", "--tool", "Read", "--input", &secret];
    assert_eq!(place.json(&args)["decision"], "deny");
}

#[test]
fn an_approval_that_cannot_be_read_stops_decisions() {
    let place = with_skill();
    assert!(
        place
            .at_home(&["approve", "pdf", "--script", "scripts/fill.sh", "--refuse"])
            .output()
            .unwrap()
            .status
            .success()
    );
    let kept = place.path().join("me/.local/state/metier/approvals");
    let file = fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    // A no that somebody turned into a yes for another script is under the wrong name.
    fs::write(&file, text.replace("fill.sh", "other.sh")).unwrap();
    let output = place
        .at_home(&["policy", "check", "--skill", "pdf", "--script", "scripts/fill.sh"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("its name does not match its content"), "{said}");
    assert!(said.contains(file.to_str().unwrap()), "{said}");
    fs::write(&file, "{").unwrap();
    let listed = place.at_home(&["approvals"]).output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stderr).contains("it is not an approval"));
}

#[test]
fn settings_count_as_far_as_the_project_is_trusted() {
    let place = with_skill();
    fs::create_dir(place.path().join(".git")).unwrap();
    let script = ["--skill", "pdf", "--script", "scripts/fill.sh"];
    place.write("me/.config/metier/config.toml", "[[policy.rules]]\nscripts = \"deny\"\n");
    assert_eq!(verdict(&check(&place, &script)), ("deny", "policy-denies"));
    place.write(
        "metier.toml",
        "[policy]\nmode = \"advisory\"\n[[policy.rules]]\nskill = \"pdf\"\nscripts = \"allow\"\n",
    );
    assert_eq!(verdict(&check(&place, &script)), ("deny", "policy-denies"), "the project is not trusted");
    let call = ["--allowed-tools", "Read", "--tool", "Bash", "--input", "ls"];
    assert_eq!(verdict(&check(&place, &call)), ("deny", "outside-list"));
    assert!(place.at_home(&["trust", "."]).output().unwrap().status.success());
    assert_eq!(verdict(&check(&place, &script)), ("allow", "policy-allows"));
    assert_eq!(verdict(&check(&place, &call)), ("allow", "advisory"));
    place.write("metier.toml", "[policy]\ndeny = [\"bash(x)\"]\n");
    let wrong = place.at_home(&["policy", "check", "--tool", "Bash", "--input", "ls"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("did you mean `Bash`?"));
}

/// `metier` on a machine whose organisation has a policy: the same, with an `/etc` of its own.
pub(crate) fn under_organisation(place: &Place, policy: &str, args: &[&str]) -> Output {
    let policy = place.write("policy.toml", policy);
    let set_up = "mount -t tmpfs tmpfs /etc && mkdir /etc/metier && cp \"$1\" /etc/metier/policy.toml && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", set_up, "sh"]).arg(policy);
    command.arg(env!("CARGO_BIN_EXE_metier")).args(args).current_dir(place.path()).env_clear();
    command
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", fs::canonicalize(place.path()).unwrap().join("me"));
    command.output().unwrap()
}

/// Whether this machine lets a process have an `/etc` of its own; `scripts/test` says so when it does not.
pub(crate) fn can_be_organisation() -> bool {
    !crate::support::skips_namespaces()
}

#[test]
fn nothing_on_the_command_line_gets_past_the_organisation() {
    if !can_be_organisation() {
        return;
    }
    let place = with_skill();
    let policy =
        "mode = \"allowlist\"\ndeny = [\"Bash(curl *)\"]\n[[rules]]\nskill = \"pdf\"\nscripts = \"deny\"\n";
    place.write(
        "me/.config/metier/config.toml",
        "[policy]\nmode = \"advisory\"\n[[policy.rules]]\nscripts = \"allow\"\n",
    );
    place.write("config.toml", "[policy]\nmode = \"advisory\"\n[[policy.rules]]\nscripts = \"allow\"\n");
    let decide = |args: &[&str]| -> Value {
        let mut all = vec!["policy", "check", "--json"];
        all.extend(args);
        let output = under_organisation(&place, policy, &all);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
    };
    let forbidden = ("deny", "organisation-forbids");
    let call = ["--tool", "Bash", "--input", "curl x"];
    for more in [
        &[][..],
        &["--mode", "advisory"],
        &["--mode", "pre-approve"],
        &["--allowed-tools", "Bash"],
        &["--allowed-tools", "Bash(curl x)", "--tier", "builtin"],
        &["--cwd", "/", "--home", "/"],
        &["--no-index", "--lenient"],
    ] {
        assert_eq!(verdict(&decide(&[&call, more].concat())), forbidden, "{more:?}");
    }
    assert_eq!(
        verdict(&decide(&["--tool", "Write", "--allowed-tools", "Read", "--mode", "advisory"])),
        ("deny", "outside-list")
    );
    let script = ["--skill", "pdf", "--script", "scripts/fill.sh"];
    assert_eq!(verdict(&decide(&script)), forbidden);
    assert_eq!(
        verdict(&decide(&[&script[..], &["--root", "me/.claude/skills:builtin"]].concat())),
        forbidden
    );
    let approve = ["approve", "pdf", "--script", "scripts/fill.sh", "--yes"];
    let output = under_organisation(&place, policy, &approve);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("it cannot be approved"), "{output:?}");
    let network = ["approve", "pdf", "--script", "scripts/fill.sh", "--network", "--yes"];
    assert_eq!(under_organisation(&place, policy, &network).status.code(), Some(3));
    // An approval from before does not help either.
    fs::remove_file(place.path().join("me/.config/metier/config.toml")).unwrap();
    assert!(place.at_home(&approve).output().unwrap().status.success());
    assert_eq!(verdict(&decide(&script)), forbidden);
}

#[test]
fn an_organisation_s_policy_that_cannot_be_read_stops_everything() {
    if !can_be_organisation() {
        return;
    }
    let place = with_skill();
    for wrong in [
        "[[rules]]\nscripst = \"deny\"\n",
        "deny = [\"bash(rm *)\"]\n",
        "[[rules]]\ntier = \"user\"\n",
        "\"",
        "mode = 1",
    ] {
        let output =
            under_organisation(&place, wrong, &["policy", "check", "--tool", "Read", "--input", "x"]);
        assert_eq!(output.status.code(), Some(5), "{wrong:?}: {output:?}");
        assert!(output.stdout.is_empty());
    }
}

/// The library by which a test can have accounts of its own, as a directory service has them.
fn accounts_library() -> Option<std::path::PathBuf> {
    let own = std::env::vars_os().find(|(name, _)| name == "METIER_NSS_WRAPPER").map(|(_, path)| path.into());
    let usual = ["x86_64", "aarch64"].map(|cpu| format!("/usr/lib/{cpu}-linux-gnu/libnss_wrapper.so").into());
    own.into_iter().chain(usual).find(|path: &std::path::PathBuf| path.is_file())
}

#[test]
fn the_home_of_an_account_that_is_not_in_a_file_is_known() {
    let Some(library) = accounts_library() else {
        crate::skips::skip("libnss_wrapper is not installed; accounts of directory services are not tested");
        return;
    };
    let place = Place::new();
    let home = std::fs::canonicalize(place.path()).unwrap().join("people/alex");
    let uid = rustix::process::getuid().as_raw();
    let accounts = place.write("accounts", format!("alex:x:{uid}:{uid}::{}:/bin/sh\n", home.display()));
    let groups = place.write("groups", format!("alex:x:{uid}:\n"));
    let key = format!("{{\"file_path\":\"{}/.ssh/id_rsa\"}}", home.display());
    let mut command =
        place.at_home(&["policy", "check", "--tool", "Read", "--input", &key, "--deny", "Read(~/.ssh/**)"]);
    command.env_remove("HOME").env("LD_PRELOAD", library);
    let output =
        command.env("NSS_WRAPPER_PASSWD", accounts).env("NSS_WRAPPER_GROUP", groups).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("decision        deny"), "{output:?}");
}
