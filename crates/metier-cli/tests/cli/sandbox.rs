//! `metier sandbox run`: what a person sees of the sandbox. What it holds is tested in `metier-sandbox` and `escapes`.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use crate::support::Place;

/// Runs a shell line in the sandbox, in a directory of its own.
fn sh(options: &[&str], line: &str) -> String {
    let place = Place::new();
    place.write("work/here", "");
    let fixed = ["sandbox", "run", "--work", "work"];
    place.transcript(&[&fixed[..], options, &["--", "sh", "-c", line]].concat())
}

#[test]
fn streams_and_codes_are_the_command_s() {
    if crate::support::skips_namespaces() {
        return;
    }
    insta::assert_snapshot!("streams", sh(&[], "ls; echo message >&2; exit 7"));
    insta::assert_snapshot!("signal", sh(&[], "kill -SEGV $$"));
    insta::assert_snapshot!("limit", sh(&["--wall", "0.5"], "printf begun; sleep 100"));
    insta::assert_snapshot!("no program", {
        let place = Place::new();
        place.transcript(&["sandbox", "run", "--", "no-such-program"])
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::new();
    place.write("work/here", "");
    let mut text = String::new();
    for args in [
        &["--work", "/"][..],
        &["--work", "/usr/lib"],
        &["--work", "/tmp"],
        &["--work", "nowhere"],
        &["--work", "me"],
        &["--env", "NOVALUE"],
        &["--network", "proxy", "--allow-host", "a b"],
        &["--allow-host", "example.org"],
        &["--weaker"],
        &["--wall", "0"],
        &["--memory", "lots"],
    ] {
        let work = if args[0] == "--work" { &[][..] } else { &["--work", "work"] };
        let all = [&["sandbox", "run"][..], work, args, &["--", "true"]].concat();
        text.push_str(&place.transcript_at_home(&all));
        text.push('\n');
    }
    insta::assert_snapshot!("refused", text);
}

#[test]
fn programs_get_all_of_it() {
    if crate::support::skips_namespaces() {
        return;
    }
    let place = Place::new();
    place.write("work/.claude/settings.json", "{}");
    let line = "echo out; echo err >&2; mkdir .vscode; echo x > .claude/settings.json";
    let found = place.json(&["sandbox", "run", "--work", "work", "--json", "--", "sh", "-c", line]);
    assert_eq!(found["ending"]["exited"], 2);
    assert_eq!(found["stdout"]["text"], "out\n");
    assert!(found["stderr"]["text"].as_str().unwrap().contains("Read-only file system"), "{found}");
    assert_eq!(place.read("work/.claude/settings.json"), "{}");
    let planted = &found["planted"][0];
    assert!(planted["path"].as_str().unwrap().ends_with("work/.vscode"), "{found}");
    assert!(place.path().join("work/.vscode.set-aside").is_dir());
    assert!(!place.path().join("work/.vscode").exists());
    let protections = found["protections"].as_array().unwrap();
    assert!(protections.len() == 18 && protections.iter().all(|one| one["active"] == true), "{found}");
}

/// metier is killed while a script runs that has planted something.
fn killed(place: &Place) {
    let line = "mkdir .claude; echo x > .claude/settings.json; echo ready; sleep 600";
    let mut metier = place.at_home(&["sandbox", "run", "--work", "work", "--", "sh", "-c", line]);
    let mut child = metier.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = [0; 5];
    child.stdout.take().unwrap().read_exact(&mut said).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(place.path().join("work/.claude").exists());
}

#[test]
fn what_a_killed_metier_left_is_reported_by_the_next_run_and_by_doctor() {
    if crate::support::skips_namespaces() {
        return;
    }
    let place = Place::new();
    place.write("work/here", "");
    killed(&place);
    let next = ["sandbox", "run", "--work", "work", "--json", "--", "true"];
    let found = place.json_at_home(&next);
    assert!(found["planted"][0]["path"].as_str().unwrap().ends_with("work/.claude"), "{found}");
    assert_eq!(found["planted"][0]["obeyed_by"], "Claude Code");
    assert!(!place.path().join("work/.claude").exists());

    killed(&place);
    // Doctor leaves alone what still runs, and the launcher may need a moment to end it.
    let report = (0..100).find_map(|_| {
        let output = place.at_home(&["doctor", "--json"]).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let is_found = !report["planted"].as_array().unwrap().is_empty();
        is_found.then(|| (output.status.code(), report["planted"][0]["planted"][0].clone()))
    });
    let (code, planted) = report.unwrap();
    assert_eq!((code, &planted["by"]), (Some(1), &"interrupted_run".into()), "{planted}");
    assert!(!place.path().join("work/.claude").exists());
    assert_eq!(place.json_at_home(&next)["planted"], serde_json::json!([]));
}

#[test]
fn what_metier_reads_can_be_handed_on() {
    if crate::support::skips_namespaces() {
        return;
    }
    let place = Place::new();
    place.write("work/here", "");
    let mut metier =
        place.at_home(&["sandbox", "run", "--work", "work", "--stdin", "--", "tr", "a-z", "A-Z"]);
    let mut child = metier.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = "some text\n".repeat(100_000);
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), input.to_uppercase());
}

/// Asks the proxy for each address, and prints what it answers and what comes then.
const ASK: &str = r#"
import os, socket, sys
proxy = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
for target in sys.argv[1:]:
    with socket.create_connection((proxy[0], int(proxy[1]))) as s:
        s.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\nhello".encode())
        s.shutdown(socket.SHUT_WR)
        answer = b""
        while part := s.recv(4096):
            answer += part
        print(answer.split(b" ", 2)[1].decode(), answer.split(b"\r\n\r\n", 1)[1].decode())
"#;

#[test]
fn the_proxy_reaches_what_is_on_the_list_and_nothing_else() {
    if crate::support::skips_namespaces() {
        return;
    }
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        stream.write_all(text.to_uppercase().as_bytes()).unwrap();
    });
    let (named, other) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{}", port ^ 1));
    let (resolved, listed) = (format!("localhost:{port}"), format!("localhost:{}", port ^ 1));
    let args = [
        "sandbox",
        "run",
        "--network",
        "proxy",
        "--allow-host",
        &named,
        "--allow-host",
        &listed,
        "--json",
        "--",
        "python3",
        "-c",
        ASK,
        &named,
        &other,
        &resolved,
        &listed,
    ];
    let found = place.json(&args);
    let text = found["stdout"]["text"].as_str().unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines[0], "200 HELLO", "{found}");
    assert!(lines[1].starts_with("403") && lines[1].contains("not an allowed destination"), "{text}");
    assert!(lines[2].starts_with("403") && lines[2].contains("not an allowed destination"), "{text}");
    // On the list by name, and the name leads to this machine itself.
    assert!(lines[3].starts_with("403") && lines[3].contains("not a public address"), "{text}");
    let connections = found["connections"].as_array().unwrap();
    assert_eq!(connections.iter().filter(|one| one["refused"].is_null()).count(), 1, "{found}");
    assert_eq!(connections.len(), 4);
    server.join().unwrap();
}

/// The script of a skill of metier's own, in a place, and the shells that are here to run it.
fn look_around(place: &Place) -> (String, Vec<&'static [&'static str]>) {
    let text = include_str!("../../../metier-catalog/builtin/using-metier/scripts/look-around.sh");
    let script = place.write("skill/scripts/look-around.sh", text);
    place.write("work/here", "");
    let shells = [&["/bin/sh"][..], &["/bin/dash"], &["/bin/busybox", "sh"], &["/bin/bash"]];
    let there = shells.into_iter().filter(|shell| std::path::Path::new(shell[0]).exists());
    (std::fs::canonicalize(script).unwrap().to_str().unwrap().to_owned(), there.collect())
}

#[test]
fn a_script_that_looks_around_sees_little() {
    if crate::support::skips_namespaces() {
        return;
    }
    let place = Place::new();
    let (script, shells) = look_around(&place);
    for shell in shells {
        let fixed = ["sandbox", "run", "--work", "work", "--skill", "skill", "--"];
        let output = place.at_home(&[&fixed[..], shell, &[&script]].concat()).output().unwrap();
        let real = std::fs::canonicalize(place.path()).unwrap();
        let text = String::from_utf8(output.stdout).unwrap().replace(real.to_str().unwrap(), "PLACE");
        insta::assert_snapshot!("look around", text);
        assert!(output.status.success() && output.stderr.is_empty(), "{shell:?}");
    }
    assert_eq!(std::fs::read_dir(place.path().join("work")).unwrap().count(), 1, "something was left behind");
}

/// Each of its lines says `possible` where it is.
#[test]
fn a_script_that_looks_around_finds_what_there_is() {
    let place = Place::new();
    let (script, shells) = look_around(&place);
    place.write("me/.profile", "");
    let mut other = std::process::Command::new("setsid").args(["sleep", "60"]).spawn().unwrap();
    for shell in shells {
        let output = std::process::Command::new(shell[0])
            .args(&shell[1..])
            .arg(&script)
            .current_dir(place.path().join("work"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", place.path().join("me"))
            .env("API_KEY", "several\nlines")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        for what in ["write there", "write to the skill", "read a home", "see other processes"] {
            assert!(text.contains(&format!("{what:<24}possible\n")), "{shell:?}, {what}: {text}");
        }
        assert!(text.ends_with("variables               3, of which 1 look like secrets\n"), "{text}");
        assert!(output.status.success() && output.stderr.is_empty(), "{shell:?}");
    }
    other.kill().unwrap();
    other.wait().unwrap();
    for (directory, count) in [("work", 1), ("skill", 1)] {
        assert_eq!(std::fs::read_dir(place.path().join(directory)).unwrap().count(), count);
    }
}

/// This test program never calls `launch_if_asked`, as a plug-in or a binding would not.
#[test]
fn a_program_that_is_no_launcher_uses_the_metier_that_it_finds_in_the_path() {
    use metier_host::{Approve, Environment, Metier};

    if crate::support::skips_namespaces() {
        return;
    }
    let place = Place::new();
    place.write("skills/hello/SKILL.md", "---\nname: hello\ndescription: Use to greet.\n---\nGreet.\n");
    place.write("skills/hello/scripts/hello.sh", "#!/bin/sh\necho hello\n");
    place.write("work/here", "");
    let run = |path: &std::path::Path| {
        let mut environment = Environment::new(place.path().join("me"), place.path().join("work"));
        environment.path = path.into();
        let root = place.path().join("skills").display().to_string();
        let metier = Metier::builder().root(root).environment(environment).build().unwrap();
        let mut session = metier.session().approver(Approve::once()).start().unwrap();
        session.script("hello", "scripts/hello.sh").run()
    };
    let metier = std::path::Path::new(env!("CARGO_BIN_EXE_metier"));
    assert_eq!(run(metier.parent().unwrap()).unwrap().run.stdout.text(), "hello\n");
    let error = run(&place.path().join("work")).unwrap_err();
    assert!(error.to_string().contains("no launcher"), "{error}");
}
