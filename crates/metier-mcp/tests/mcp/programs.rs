//! Servers that are programs: started with their own environment, restarted when they crash, ended with all they started.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use metier_mcp::{UpstreamServer, UpstreamTransport};
use metier_sandbox::Program;
use serde_json::json;

use crate::common::{Client, Ground, said};
use crate::gateway::{ask, call};
use crate::upstream::{gateway, named};

/// A server in a few lines of shell. `call` is what it does for a call; `$id` is the id of the request.
fn script(call: &str) -> String {
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    let tools = r#"{"tools":[{"name":"query","inputSchema":{"type":"object"}}]}"#;
    format!(
        r#"answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
say() {{ answer "{{\"content\":[{{\"type\":\"text\",\"text\":\"$1\"}}]}}"; }}
while IFS= read -r line; do
  id=${{line#*\"id\":}}; id=${{id%%,*}}
  case $line in
    *'"initialize"'*) answer '{greeting}' ;;
    *'"tools/list"'*) answer '{tools}' ;;
    *'"tools/call"'*) {call} ;;
  esac
done"#
    )
}

fn server(place: &Path, call: &str) -> UpstreamServer {
    let mut program = Program::new("/bin/sh", place);
    program.arguments = vec!["-c".into(), script(call).into()];
    program.environment = vec![("OWN".into(), "value".into()), ("PATH".into(), "/usr/bin:/bin".into())];
    UpstreamServer::new("shell", UpstreamTransport::Program(program))
}

async fn client(call: &str) -> (Client, tempfile::TempDir, Ground) {
    let (ground, place) = (Ground::new(), tempfile::tempdir().unwrap());
    let library = gateway(&ground, vec![server(place.path(), call)]);
    let (client, _) = Client::greeted(library, json!({})).await;
    (client, place, ground)
}

async fn text(client: &mut Client) -> String {
    let answer = call(client, "mcp__shell__query", json!({})).await;
    said(&answer["result"]).to_owned()
}

/// Waits until there is a file, or none.
async fn until(path: &Path, exists: bool) {
    for _ in 0..30_000 {
        if path.exists() == exists {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    unreachable!("{} exists: {}", path.display(), !exists);
}

#[tokio::test]
async fn a_program_gets_only_the_variables_that_are_set_for_it() {
    let (mut client, _place, _ground) = client(r#"say "$(env | cut -d= -f1 | sort | tr '\n' ' ')""#).await;
    let names = text(&mut client).await;
    let own: Vec<&str> =
        names.split_whitespace().filter(|name| !["_", "PWD", "SHLVL", "OLDPWD"].contains(name)).collect();
    assert_eq!(own, ["OWN", "PATH"]);
}

#[tokio::test]
async fn a_program_that_crashes_is_withdrawn_and_started_again() {
    let (mut client, _place, _ground) = client("echo 'no database' >&2; exit 3").await;
    let answer = text(&mut client).await;
    assert!(answer.starts_with("`shell`: the server ended: no database"), "{answer}");
    let mut told = 0;
    for _ in 0..5_000 {
        let id = client.request("tools/list", json!({})).await;
        let list = loop {
            let message = client.receive().await;
            if message["id"] == id {
                break message;
            }
            told += usize::from(message["method"] == "notifications/tools/list_changed");
        };
        if told > 0 && named(&list).contains_key("mcp__shell__query") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    unreachable!("it was not started again; told {told} times");
}

#[tokio::test]
async fn everything_that_a_program_started_ends_with_its_client() {
    // The child outlives its parent, and says that it is alive by a file that it removes at its end.
    let start = r"(trap 'rm -f alive; exit' TERM; : >alive; while :; do sleep 0.01; done) >/dev/null 2>&1 & say started; ";
    let (mut client, place, _ground) = client(start).await;
    let alive = place.path().join("alive");
    assert_eq!(text(&mut client).await, "started");
    until(&alive, true).await;
    let children = children_in(place.path());
    assert!(!children.is_empty());
    client.leave().await.unwrap();
    for _ in 0..30_000 {
        if children_in(place.path()).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    unreachable!("still running: {:?}", children_in(place.path()));
}

/// The processes that work in a directory.
fn children_in(place: &Path) -> Vec<PathBuf> {
    let place = place.canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    processes.filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == place)).collect()
}

#[tokio::test]
async fn a_line_without_an_end_ends_the_program() {
    let (mut client, _place, _ground) = client("head -c 17000000 /dev/zero | tr '\\0' x; sleep 60").await;
    let answer = text(&mut client).await;
    assert!(answer.contains("a message of more than 16777216 bytes"), "{answer}");
}

#[tokio::test]
async fn other_lines_of_a_program_are_not_messages() {
    let (mut client, _place, _ground) =
        client("echo Loading...; echo '\"text\"'; echo '[1]'; echo; say fine").await;
    assert_eq!(text(&mut client).await, "fine");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_and_no_more() {
    let (ground, place) = (Ground::new(), tempfile::tempdir().unwrap());
    let missing = Program::new("/nonexistent/server", place.path());
    let missing = UpstreamServer::new("gone", UpstreamTransport::Program(missing));
    let library = gateway(&ground, vec![missing, server(place.path(), "say here")]);
    let (mut client, _) = Client::greeted(library, json!({})).await;
    let tools = named(&ask(&mut client, "tools/list", json!({})).await);
    assert!(
        tools.contains_key("mcp__shell__query") && !tools.keys().any(|name| name.starts_with("mcp__gone"))
    );
    assert_eq!(text(&mut client).await, "here");
}
