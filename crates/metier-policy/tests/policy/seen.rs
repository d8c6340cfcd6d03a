//! Calls are seen for what they are: directories that contradict each other, redirections through links, hosts written as
//! numbers, and what would destroy a home however it is written.

use std::path::PathBuf;

use metier_policy::{Allowlist, Anchors, Denylist, Policy, ToolCall, Verdict};
use metier_skill::ToolRules;
use serde_json::{Value, json};

fn places() -> Anchors {
    Anchors::new("/repo", "/me")
}

fn allows(rules: &str, call: &ToolCall) -> bool {
    Allowlist::new(&ToolRules::split(rules), &places()).find(call).is_ok()
}

fn denies(rules: &str, call: &ToolCall) -> bool {
    Denylist::new(&ToolRules::split(rules), &places()).find(call).is_some()
}

fn shell(input: Value) -> ToolCall {
    ToolCall::new("Bash", input)
}

#[test]
fn every_directory_of_a_call_counts() {
    let with = |more: Value| {
        let mut input = json!({ "command": "git log" });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        allows("Bash(git log *)", &shell(input))
    };
    assert!(with(json!({})));
    assert!(with(json!({ "workdir": "/repo" })) && with(json!({ "workdir": null, "cwd": "." })));
    assert!(with(json!({ "workdir": "/repo", "cwd": "/repo/." })));
    assert!(with(json!({ "Cwd": "/repo", "options": { "path": ".", "timeout": 5, "root": null } })));
    for elsewhere in [
        json!({ "workdir": null, "cwd": "/other" }),
        json!({ "workdir": "/repo", "cwd": "/other" }),
        json!({ "cwd": "/other", "directory": "/repo" }),
        json!({ "workdir": "/repo", "dir_path": "/repo/sub" }),
        json!({ "workdir": "/repo", "workingDirectory": "/other" }),
        json!({ "workdir": 1 }),
        json!({ "Cwd": "/other" }),
        json!({ "WorkDir": "/other" }),
        json!({ "working_dir": "/other" }),
        json!({ "working-directory": "/other" }),
        json!({ "current_dir": "/other" }),
        json!({ "currentWorkingDirectory": "/other" }),
        json!({ "chdir": "/other" }),
        json!({ "pwd": "/other" }),
        json!({ "path": "/other" }),
        json!({ "root": "/other" }),
        json!({ "workspace": "/other" }),
        json!({ "options": { "cwd": "/other" } }),
        json!({ "options": [{ "more": { "CWD": "/other" } }] }),
        json!({ "cwd": "/repo", "options": { "cwd": "/other" } }),
        json!({ "workspace": { "root": "/other" } }),
        json!({ "cwd": { "is": "/other" } }),
        json!({ "cwd": ["/repo"] }),
    ] {
        assert!(!with(elsewhere.clone()), "{elsewhere}");
    }
    let below = json!({ "command": "npm test", "workdir": "sub" });
    let two = json!({ "command": "npm test", "workdir": "sub", "cwd": "other" });
    assert!(allows("Bash(npm test *)", &shell(below.clone())) && !allows("Bash(npm test *)", &shell(two)));
    // A link may lead out.
    let call = shell(below);
    let named = ["/repo/sub", "/repo/test", "/repo/sub/test"].map(PathBuf::from);
    assert_eq!(call.shell_paths(&places()), named);
    let out = call.clone().following("/repo/sub".into(), Some("/other".into()));
    let inside = call.clone().following("/repo/sub".into(), Some("/repo/real".into()));
    let lost = call.following("/repo/sub".into(), None);
    assert!(allows("Bash(npm test *)", &inside));
    assert!(!allows("Bash(npm test *)", &out) && !allows("Bash(npm test *)", &lost));
}

#[test]
fn rules_that_deny_look_in_every_directory_of_a_call() {
    let call = |command: &str, directory: &str| {
        shell(json!({ "command": command, "workdir": null, "cwd": directory }))
    };
    assert!(denies("Read(//etc/shadow)", &call("cat shadow", "/etc")));
    assert!(denies("Read(./.env)", &call("cat ../.env", "/repo/sub")));
    assert!(denies("Edit(~/.bashrc)", &call("echo x >> .bashrc", "/me")));
    assert!(!denies("Read(//etc/shadow)", &call("cat shadows", "/etc")));
    assert!(!denies("Read(./.env)", &call("cat x", "/repo")));
}

#[test]
fn links_are_followed_where_a_command_goes_and_what_it_opens() {
    let out = PathBuf::from("/repo/out/x");
    let write = shell(json!("echo y > out/x"));
    let rules = "Bash(echo *) Bash(cat *) Edit(out/**)";
    assert!(allows(rules, &write));
    let linked = write.clone().following(out.clone(), Some("/me/.bashrc".into()));
    assert!(!allows(rules, &linked) && denies("Edit(~/.bashrc)", &linked));
    assert!(!denies("Edit(~/.bashrc)", &write));
    assert!(!allows(rules, &write.clone().following(out.clone(), None)));
    assert!(allows(rules, &write.following(out.clone(), Some("/repo/out/y".into()))));
    let read = shell(json!("cat < out/x"));
    assert!(allows(rules, &read));
    assert!(!allows(rules, &read.clone().following(out.clone(), Some("/me/.ssh/id".into()))));
    assert!(!allows(rules, &read.following(out.clone(), Some("/proc/self/environ".into()))));
    // A word is a link as well as a redirection's target.
    let word = shell(json!("cat out/x")).following(out, Some("/me/.ssh/id".into()));
    assert!(denies("Read(~/.ssh/**)", &word));
    // In quotes a `~` is a directory of that name.
    let quoted = shell(json!("echo y > 'out/~/x'; echo y > '~/x'"));
    assert!(quoted.shell_paths(&places()).contains(&PathBuf::from("/repo/~/x")));
    let moved = shell(json!("cd sub && npm test"));
    assert!(allows("Bash(npm test *)", &moved));
    assert!(!allows("Bash(npm test *)", &moved.following("/repo/sub".into(), Some("/other".into()))));
}

#[test]
fn hosts_are_one_host_however_they_are_written() {
    let fetch = |url: &str| ToolCall::new("WebFetch", json!({ "url": url }));
    for metadata in [
        "http://169.254.169.254/",
        "http://2852039166/",
        "http://0xA9FEA9FE/",
        "http://169.254.43518/",
        "http://0251.0376.0251.0376/",
        "http://0xa9.254.0251.254/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::ffff:a9fe:a9fe]:80/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::]/",
        "http://[::ffff:0:169.254.169.254]/",
        "http://[2001:db8::5efe:169.254.169.254]/",
        "http://[2001:0:a9fe:a9fe::1]/",
        "http://169.254.169.254./",
    ] {
        assert!(denies("WebFetch(domain:169.254.169.254)", &fetch(metadata)), "{metadata}");
        assert!(denies("WebFetch(domain:[::ffff:a9fe:a9fe])", &fetch(metadata)), "{metadata}");
        assert!(!allows("WebFetch(domain:example.com)", &fetch(metadata)), "{metadata}");
    }
    assert!(!denies("WebFetch(domain:169.254.169.254)", &fetch("http://169.254.169.253/")));
    assert!(!denies("WebFetch(domain:169.254.169.254)", &fetch("https://4chan.org/")));
    assert!(allows("WebFetch(domain:169.254.169.254)", &fetch("http://[::ffff:169.254.169.254]/")));
    assert!(allows("WebFetch(domain:[::1])", &fetch("http://[0:0::1]/x")));
    assert!(!allows("WebFetch(domain:10.0.0.1)", &fetch("http://10.1/")));
}

#[test]
fn nothing_destroys_a_home_or_a_system_whatever_the_rules() {
    let at = |directory: &str, line: &str| {
        let places = Anchors::new(directory, "/me");
        let list = Allowlist::new(&ToolRules::split("Bash"), &places);
        list.find(&ToolCall::new("Bash", line)).is_ok()
    };
    for line in [
        "find / -delete",
        "find -L / -delete",
        "find -H -L / -delete",
        "find -O3 / -delete",
        "find -D tree / -delete",
        "find . / -delete",
        "find src ~ -name '*.o' -delete",
        "find -f / -delete",
        "find -- / -delete",
        "find \"$x\" -delete",
        "find . \"$x\" -delete",
        "find -files0-from list -delete",
        "find / -exec rm {} +",
        "find / -execdir /bin/rm -rf {} \\;",
        "find ~ -exec sh -c 'rm x' rm \\;",
        "cd / && find -delete",
        "cd && find . -delete",
        "cd ~ && rm -rf *",
        "cd / && rm -rf *",
        "timeout 5 find -L / -delete",
        "sudo find . / -delete",
    ] {
        assert!(!at("/repo", line), "{line}");
    }
    for line in [
        "find . -delete",
        "find -delete",
        "find -name '*.o' -delete",
        "find src tests -name '*.pyc' -delete",
        "find . -name \"$x\" -delete",
        "find / -name x",
        "find ~ -exec grep x {} +",
        "cd sub && rm -rf build",
    ] {
        assert!(at("/repo", line), "{line}");
    }
    assert!(
        !at("/me", "find -delete") && !at("/me", "find -L -delete") && !at("/me", "find -name x -delete")
    );
    assert!(!at("/", "find -delete"));
    let list = Allowlist::new(&ToolRules::split("Bash"), &places());
    let there = json!({ "command": "find -delete", "workdir": "/repo", "cwd": "/me" });
    assert!(list.find(&ToolCall::new("Bash", there)).is_err());
}

#[test]
fn without_a_list_only_what_nobody_means_is_denied() {
    let guard = Policy::default().guard(Vec::new(), &places());
    let verdict = |line: &str| {
        let decision = guard.decide(&ToolCall::new("Bash", line));
        (decision.verdict, decision.code.as_str())
    };
    assert_eq!(verdict("rm -rf /"), (Verdict::Deny, "critical-path"));
    assert_eq!(verdict("bash -c 'rm -rf ~'"), (Verdict::Deny, "critical-path"));
    for line in ["rm -rf build", "rm -rf \"$tmp\"", "ls \"", "curl x | sh"] {
        assert_eq!(verdict(line), (Verdict::Allow, "no-list"), "{line}");
    }
}
