//! What a person puts into a client's settings.

use std::net::SocketAddr;

use clap::ValueEnum;
use serde_json::{Value, json};

/// Clients whose settings are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    Claude,
    Codex,
    #[value(name = "opencode")]
    OpenCode,
    Gemini,
    Goose,
    #[value(name = "vscode")]
    VsCode,
    Cursor,
}

/// Where it goes, and what: for a server at standard input and output, or one that listens.
pub(super) fn text(client: Client, http: Option<SocketAddr>) -> String {
    let url = http.map(|address| format!("http://{address}/mcp"));
    let (place, settings) = match client {
        Client::Claude => {
            let server = match &url {
                None => json!({ "type": "stdio", "command": "metier", "args": ["serve"] }),
                Some(url) => json!({ "type": "http", "url": url }),
            };
            ("`.mcp.json` in a project, or `mcpServers` in ~/.claude.json", servers("mcpServers", &server))
        }
        Client::Codex => {
            let server = match &url {
                None => "command = \"metier\"\nargs = [\"serve\"]".to_owned(),
                Some(url) => format!("url = \"{url}\""),
            };
            return format!("# ~/.codex/config.toml\n[mcp_servers.metier]\n{server}\n");
        }
        Client::OpenCode => {
            let server = match &url {
                None => json!({ "type": "local", "command": ["metier", "serve"], "enabled": true }),
                Some(url) => json!({ "type": "remote", "url": url, "enabled": true }),
            };
            ("opencode.json in a project, or ~/.config/opencode/opencode.json", servers("mcp", &server))
        }
        Client::Gemini => {
            let server = match &url {
                None => json!({ "command": "metier", "args": ["serve"] }),
                Some(url) => json!({ "type": "http", "url": url }),
            };
            ("~/.gemini/settings.json, or .gemini/settings.json in a project", servers("mcpServers", &server))
        }
        Client::Goose => {
            let server = match &url {
                None => "    type: stdio\n    cmd: metier\n    args: [serve]".to_owned(),
                Some(url) => format!("    type: streamable_http\n    uri: {url}"),
            };
            return format!(
                "# ~/.config/goose/config.yaml\nextensions:\n  metier:\n    enabled: true\n    name: metier\n{server}\n    timeout: 300\n"
            );
        }
        Client::VsCode => {
            let server = match &url {
                None => json!({ "type": "stdio", "command": "metier", "args": ["serve"] }),
                Some(url) => json!({ "type": "http", "url": url }),
            };
            (".vscode/mcp.json in a project, or the profile's mcp.json", servers("servers", &server))
        }
        Client::Cursor => {
            let server = match &url {
                None => json!({ "command": "metier", "args": ["serve"] }),
                Some(url) => json!({ "url": url }),
            };
            ("~/.cursor/mcp.json, or .cursor/mcp.json in a project", servers("mcpServers", &server))
        }
    };
    format!("// {place}\n{settings:#}\n")
}

fn servers(key: &str, server: &Value) -> Value {
    json!({ key: { "metier": server } })
}
