//! How `metier serve` starts and ends: what a client is shown before anything was looked for, and that nothing keeps a server.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::serve::{Client, place, run, says, soon, text};
use crate::support::{Place, skips_namespaces};

/// Skills that nobody has written just now.
const SKILLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/skills");

/// Starts a server; what it shows.
fn start(place: &Place, args: &[&str]) -> (Client, String) {
    let mut client = Client::serve(place, &[&["serve"], args].concat());
    let shown = client.greet(&json!({}))["instructions"].as_str().unwrap_or_default().to_owned();
    (client, shown)
}

/// What is kept for the next start.
fn kept(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.path().join("me/.cache/metier/serve")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Starts and ends servers until what they show is kept: files that were written a moment ago vouch for nothing.
fn settle(place: &Place, args: &[&str]) {
    for file in kept(place) {
        fs::remove_file(file).unwrap();
    }
    let is_kept = || {
        start(place, args).0.leave();
        !kept(place).is_empty()
    };
    assert!(soon(is_kept));
}

/// A client that starts the server gets what was shown last time at once; where that is not right any more, it is told so.
#[test]
fn what_was_shown_last_time_is_shown_at_once() {
    let place = Place::new();
    let args = ["--root", SKILLS];
    let (client, first) = start(&place, &args);
    client.leave();
    let [file] = &kept(&place)[..] else { panic!("one file is kept") };
    let (mut client, second) = start(&place, &args);
    assert_eq!(
        (&second, client.call("load_skill", &json!({ "skill_name": "release-notes" }))["isError"].clone()),
        (&first, json!(false))
    );
    assert_eq!(client.notices, [Value::Null; 0], "nothing has changed");
    client.leave();

    // Only what was kept can have said this.
    let text = fs::read_to_string(file).unwrap();
    fs::write(file, text.replace("Turns the commits", "Burns the commits")).unwrap();
    let (mut client, third) = start(&place, &args);
    assert!(third.contains("Burns the commits"), "{third}");
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    client.leave();
    let (_, fourth) = start(&place, &args);
    assert_eq!(fourth, first, "and what was wrong is kept no longer");

    for broken in ["", "{}", "[", &text[..text.len() / 2]] {
        fs::write(file, broken).unwrap();
        assert_eq!(start(&place, &args).1, first, "{broken:.20}");
    }
}

/// What somebody else could have written is not believed, and nothing is waited for.
#[test]
fn only_a_file_of_ones_own_is_believed() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    let args = ["--root", SKILLS];
    let (client, first) = start(&place, &args);
    client.leave();
    let [file] = &kept(&place)[..] else { panic!("one file is kept") };
    let text = fs::read_to_string(file).unwrap().replace("Turns the commits", "Burns the commits");
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(start(&place, &args).1, first);
    fs::remove_file(file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, file, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    assert_eq!(start(&place, &args).1, first);
    let directory = fs::metadata(file.parent().unwrap()).unwrap();
    assert_eq!(directory.permissions().mode() & 0o777, 0o700);
}

#[test]
fn what_has_changed_is_not_shown_as_it_was() {
    let place = place();
    let args = ["--root", "skills:user"];
    settle(&place, &args);
    assert!(start(&place, &args).1.contains("Does nothing much."));
    place.skill("skills/plain", "Does nothing else.");
    let (_, shown) = start(&place, &args);
    assert!(shown.contains("Does nothing else.") && !shown.contains("Does nothing much."), "{shown}");

    settle(&place, &args);
    place.write("me/.config/metier/config.toml", "[[skills]]\nname = \"plain\"\nstate = \"off\"\n");
    let (_, shown) = start(&place, &args);
    assert!(!shown.contains("plain") && shown.contains("tally"), "{shown}");

    settle(&place, &args);
    fs::remove_dir_all(place.path().join("skills/tally")).unwrap();
    assert_eq!(start(&place, &args).1, "");
    // A root that nothing can be said of is not kept, and what was is gone.
    std::os::unix::fs::symlink("nowhere", place.path().join("skills/link")).unwrap();
    start(&place, &args).0.leave();
    assert!(kept(&place).is_empty());
}

/// In a profile where skills need not be called like their folders, one can come to be in another's place.
#[test]
fn a_name_that_is_taken_over_is_noticed() {
    let place = Place::new();
    for name in ["aa", "bb"] {
        place.skill(&format!("skills/{name}"), "Is shown.");
    }
    for number in 0..60 {
        place.skill(&format!("org/z{number}"), "Is far down the list, and there is no room for it in there.");
    }
    let args = ["--lenient", "--skill-list-tokens", "400", "--root", "skills:user", "--root", "org:org"];
    settle(&place, &args);
    place.write("org/z59/SKILL.md", "---\nname: z00\ndescription: Takes the first place.\n---\n");
    assert!(start(&place, &args).1.contains("Takes the first place."), "{}", start(&place, &args).1);
}

/// A skill that was left out of the list, and gets a name in place that belongs on it: nothing that is shown is wrong, so
/// the list is shown, and the client is told at once that there is another.
#[test]
fn a_new_name_below_the_list_is_told_and_listed_next_time() {
    let place = Place::new();
    for number in 0..60 {
        place.skill(
            &format!("skills/z{number}"),
            "Is far down the list, and there is no room for it in there.",
        );
    }
    let args = ["--skill-list-tokens", "400", "--root", "skills:user"];
    settle(&place, &args);
    place.write("skills/z59/SKILL.md", "---\nname: aa\ndescription: Belongs in the first place.\n---\n");
    let (mut client, shown) = start(&place, &args);
    assert!(!shown.contains("Belongs in the first place."), "{shown}");
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    let listed = client.call("list_skills", &json!({ "query": "aa" })).to_string();
    assert!(listed.contains("Belongs in the first place."), "{listed}");
    client.leave();
    assert!(start(&place, &args).1.contains("Belongs in the first place."));
}

/// A call that waits for an answer keeps no other of the same client waiting; what is served may change meanwhile.
#[test]
fn a_question_keeps_nothing_from_being_done() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    fs::create_dir(place.path().join("org")).unwrap();
    let mut client = Client::serve(&place, &["serve", "--root", "skills:user", "--root", "org:org"]);
    client.greet(&json!({ "elicitation": {} }));
    let first = client.request("tools/call", json!({ "name": "run_skill_script", "arguments": run(&["a"]) }));
    let asked = client.receive();
    assert_eq!(asked["method"], "elicitation/create");
    let load = |client: &mut Client| {
        let loaded = client.call("load_skill", &json!({ "skill_name": "plain" }));
        text(&loaded).to_owned()
    };
    let guide = json!({ "skill_name": "tally", "resource_name": "references/guide.md" });
    assert!(text(&client.call("read_skill_resource", &guide)).starts_with("one\n"));
    place
        .write("org/plain/SKILL.md", "---\nname: plain\ndescription: Newer.\n---\nThe organisation's own.\n");
    let listed = |client: &mut Client| client.call("list_skills", &json!({})).to_string();
    // Watching begins beside everything else, and looks at what has changed before it.
    while !listed(&mut client).contains("org/plain") {}
    let loaded = load(&mut client);
    assert!(loaded.contains("The organisation's own."), "{loaded}");
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": says("once") }));
    let ran = client.wait(first)["result"].take();
    assert!(text(&ran).starts_with("got: a\n"), "{ran}");
}

/// A server that shows what it knows and then cannot open its journal says so and ends, whoever waits.
#[test]
fn a_server_that_cannot_go_on_ends() {
    let place = Place::new();
    start(&place, &["--root", SKILLS]).0.leave();
    fs::remove_dir_all(place.path().join("me/.local/state")).unwrap();
    place.write("me/.local/state", "no directory");
    let (mut client, _) = start(&place, &["--root", SKILLS]);
    let id = client.request(
        "tools/call",
        json!({ "name": "load_skill", "arguments": { "skill_name": "release-notes" } }),
    );
    let answer = client.wait(id)["result"].take();
    assert!(
        text(&answer).contains("skills cannot be served") && text(&answer).contains("journal"),
        "{answer}"
    );
    // Its input stays open: it ends by itself.
    assert_eq!(client.child.wait().unwrap().code(), Some(5));
}

/// Programs that are not started by a shell often talk to others through sockets, and those stay open.
#[test]
fn a_server_at_a_socket_ends_as_soon_as_it_should() {
    let place = Place::new();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = place.at_home(&["serve", "--root", SKILLS]);
    let mut child = command
        .stdin(std::os::fd::OwnedFd::from(theirs.try_clone().unwrap()))
        .stdout(std::os::fd::OwnedFd::from(theirs))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(command);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    std::io::Write::write_all(&mut &ours, format!("{hello}\n").as_bytes()).unwrap();
    (&ours).read_exact(&mut [0; 10]).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(ended(&mut child), Some((Some(0), None)));
}

/// How a program ended, if it did so within ten seconds: its code, or the signal.
fn ended(child: &mut Child) -> Option<(Option<i32>, Option<i32>)> {
    let child = std::cell::RefCell::new(child);
    let status = || child.borrow_mut().try_wait().unwrap();
    soon(|| status().is_some()).then(|| status().map(|status| (status.code(), status.signal()))).flatten()
}

/// A journal that does not answer keeps nobody: neither whoever ends the server nor a client that leaves.
#[test]
fn nothing_that_is_waited_for_keeps_a_server() {
    let place = Place::new();
    let args = ["--root", SKILLS];
    start(&place, &args).0.leave();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let journal = format!("journal = \"postgresql://me@{}/x\"\n", silent.local_addr().unwrap());
    place.write("me/.config/metier/config.toml", &journal);
    // One that shows what it knows.
    let (mut client, _) = start(&place, &args);
    kill_process(Pid::from_child(&client.child), Signal::TERM).unwrap();
    assert_eq!(ended(&mut client.child), Some((Some(0), None)));
    start(&place, &args).0.leave();
    // And one that knows nothing yet.
    let mut command = place.at_home(&["serve", "--no-index", "--root", SKILLS]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    silent.accept().unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(ended(&mut child), Some((None, Some(15))));
}

/// A client that starts the server starts the one that was asked about.
#[test]
fn what_a_client_is_told_is_what_was_said() {
    let place = place();
    let args = [
        "serve",
        "--state",
        "x=off",
        "--print-config",
        "claude",
        "--root=skills",
        "--lenient",
        "--tool-names",
        "dotted",
    ];
    let output = place.at_home(&args).output().unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let skills = place.path().join("skills");
    let words = json!(["serve", "--state", "x=off", "--root", skills, "--lenient", "--tool-names", "dotted"]);
    assert_eq!(printed["mcpServers"]["metier"]["args"], words, "{printed}");
}

#[test]
fn copilot_is_told_where_its_settings_go() {
    let place = place();
    let output = place.at_home(&["serve", "--print-config", "copilot", "--root=skills"]).output().unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let args = json!(["serve", "--root", place.path().join("skills")]);
    let server = json!({ "type": "local", "command": "metier", "args": args, "tools": ["*"] });
    assert_eq!(printed, json!({ "mcpServers": { "metier": server } }));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("~/.copilot/mcp-config.json") && output.status.success(), "{said}");
}

/// Whoever starts it by hand, or sends it something else, is told what it is.
#[test]
fn a_person_is_told_what_it_is() {
    use std::io::Write as _;
    let place = place();
    let mut child = place
        .at_home(&["serve", "--root", "skills"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: the input is not MCP: it starts with `hello`"), "{said}");
    assert!(said.contains("metier serve --print-config claude") && !output.status.success(), "{said}");
    // At a terminal, before anything is typed; Ctrl-D ends it.
    let (seen, output) = crate::policy::at_terminal(&place, &["serve", "--root", "skills"], "\u{4}");
    assert!(seen.contains("MCP") && seen.contains("metier serve --print-config claude"), "{seen}");
    assert!(output.status.success(), "{output:?}");
}
