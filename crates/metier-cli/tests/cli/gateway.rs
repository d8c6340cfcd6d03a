//! `metier gateway`: servers of the settings, of another client's file, or of the command line.

use serde_json::json;

use crate::serve::{Client, log, text};
use crate::support::Place;

/// A server in a few lines of shell, which prints a variable when its tool is called.
const SERVER: &str = r#"answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *'"initialize"'*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer '{"tools":[{"name":"query","inputSchema":{"type":"object"}},{"name":"drop","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) printf '%s\n' "$line" >>calls; answer "{\"content\":[{\"type\":\"text\",\"text\":\"$GREETING\"}]}" ;;
  esac
done
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("server.sh", SERVER);
    place.skill("skills/plain", "Does nothing much.");
    place
}

fn names(client: &mut Client) -> Vec<String> {
    let tools = client.ask("tools/list", json!({}));
    tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn servers_of_the_settings_are_called_under_the_policy_and_recorded() {
    let place = place();
    let settings = "server_tool_names = 'plain'\n[servers.db]\ncommand = 'sh'\nargs = ['server.sh']\nenv = { GREETING = 'hello' }\n\
                    [[policy.rules]]\nserver = 'db'\ntool = 'drop'\ntools = 'deny'\n";
    place.write("me/.config/metier/config.toml", settings);
    let mut client = Client::serve(&place, &["gateway", "--root", "skills:user"]);
    client.greet(&json!({}));
    let names = names(&mut client);
    assert!(names.contains(&"query".to_owned()) && names.contains(&"load_skill".to_owned()), "{names:?}");
    assert_eq!(text(&client.call("query", &json!({ "a": 1 }))), "hello");
    let denied = client.call("drop", &json!({}));
    assert_eq!(denied["isError"], true);
    assert!(
        text(&denied).contains("does not allow calls of the tool `drop` of the MCP server `db`"),
        "{denied}"
    );
    client.leave();
    assert_eq!(place.read("calls").lines().count(), 1, "a denied call does not reach the server");
    let log = log(&place);
    assert_eq!(log.matches("\"server.tool_called\"").count(), 1, "{log}");
    assert!(log.contains("\"policy-denies\"") && log.contains("mcp__db__query"), "{log}");
    let stored = place.path().join("me/.local/state/metier/server-tools");
    assert_eq!(std::fs::read_dir(stored).unwrap().count(), 1, "what was seen first is remembered");
}

#[test]
fn a_file_of_another_client_is_shown_before_it_is_used() {
    let place = place();
    let file = json!({ "mcpServers": { "My DB": { "type": "stdio", "command": "sh", "args": ["server.sh"], "env": { "GREETING": "secret" } } } });
    place.write(".mcp.json", file.to_string());
    insta::assert_snapshot!("gateway import", place.transcript(&["gateway", "--import", ".mcp.json"]));
    let mut client =
        Client::serve(&place, &["gateway", "--root", "skills:user", "--servers-from", ".mcp.json"]);
    client.greet(&json!({}));
    assert_eq!(text(&client.call("mcp__My-DB__query", &json!({}))), "secret");
    client.leave();
    place.write("code.json", json!({ "servers": { "a": { "url": "http://127.0.0.1:9/mcp" } } }).to_string());
    insta::assert_snapshot!(
        "gateway import of VS Code",
        place.transcript(&["gateway", "--import", "code.json"])
    );
}

#[test]
fn a_server_of_the_command_line_has_a_name() {
    let place = place();
    let args = ["gateway", "--root", "skills:user", "--name", "shell", "--", "sh", "server.sh"];
    let mut client = Client::serve(&place, &args);
    client.greet(&json!({}));
    assert!(names(&mut client).contains(&"mcp__shell__query".to_owned()));
    client.leave();
}

#[test]
fn a_server_belongs_to_who_trusts_it() {
    let place = place();
    // A project that nobody trusts starts nothing.
    place.write("metier.toml", "[servers.evil]\ncommand = 'sh'\nargs = ['-c', 'touch started']\n");
    let shown = place.transcript_at_home(&["gateway", "--root", "skills:user"]);
    assert!(shown.contains("no MCP servers"), "{shown}");
    assert!(!place.path().join("started").exists());
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let place = place();
    let wrong = |settings: &str, args: &[&str]| {
        place.write("me/.config/metier/config.toml", settings);
        place.transcript_at_home(&[&["gateway"], args].concat())
    };
    let cases: Vec<String> = [
        ("", &[][..]),
        ("[servers.db]\ncommand = 'sh'\n", &["--server", "other"]),
        ("[servers.db]\ncommand = 'no-such-program'\n", &[]),
        ("[servers.db]\ncommand = '/bin/sh'\nenv = { T = '${NO_SUCH}' }\n", &[]),
        ("[servers.db]\ncomand = 'sh'\n", &[]),
        ("[servers.a__b]\ncommand = 'sh'\n", &[]),
        ("", &["--servers-from", "missing.json"]),
        ("", &["--import", "server.sh"]),
    ]
    .into_iter()
    .map(|(settings, args)| wrong(settings, args))
    .collect();
    insta::assert_snapshot!("gateway errors", cases.join("\n"));
}
