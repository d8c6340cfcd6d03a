//! The settings that make a client use the server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

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
    Copilot,
    #[value(name = "vscode")]
    VsCode,
    Cursor,
}

/// How a client reaches the server.
pub(super) enum Server {
    /// The client starts it, with these arguments.
    Here(Vec<String>),
    /// It listens already.
    At { address: SocketAddr, has_token: bool },
}

impl Server {
    fn url(&self) -> Option<String> {
        let Self::At { address, .. } = self else { return None };
        let mut address = *address;
        // Clients cannot connect to an unspecified address.
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        Some(format!("http://{address}/mcp"))
    }

    fn has_token(&self) -> bool {
        matches!(self, Self::At { has_token: true, .. })
    }

    fn arguments(&self) -> &[String] {
        match self {
            Self::Here(arguments) => arguments,
            Self::At { .. } => &[],
        }
    }

    /// As JSON, where `kind` is what a client calls a server that listens.
    fn json(&self, kind: Option<&str>, here: Value) -> Value {
        let Some(url) = self.url() else { return here };
        let mut server = json!({ "url": url });
        if let Some(kind) = kind {
            server["type"] = json!(kind);
        }
        if self.has_token() {
            server["headers"] = json!({ "Authorization": "Bearer TOKEN" });
        }
        server
    }
}

/// The place of a client's settings, and the settings.
pub(super) fn of(client: Client, server: &Server) -> (&'static str, String) {
    let arguments = server.arguments();
    let here = json!({ "command": "metier", "args": arguments });
    let typed = json!({ "type": "stdio", "command": "metier", "args": arguments });
    let (place, settings) = match client {
        Client::Claude => (
            ".mcp.json in a project, or `mcpServers` of ~/.claude.json",
            servers("mcpServers", &server.json(Some("http"), typed)),
        ),
        Client::Codex => return ("~/.codex/config.toml", codex(server)),
        Client::OpenCode => {
            let command: Vec<&str> =
                std::iter::once("metier").chain(arguments.iter().map(String::as_str)).collect();
            let mut server = server.json(Some("remote"), json!({ "type": "local", "command": command }));
            server["enabled"] = json!(true);
            ("opencode.json in a project, or ~/.config/opencode/opencode.json", servers("mcp", &server))
        }
        Client::Gemini => (
            ".gemini/settings.json in a project, or ~/.gemini/settings.json",
            servers("mcpServers", &server.json(Some("http"), here)),
        ),
        Client::Goose => return ("~/.config/goose/config.yaml", goose(server)),
        Client::Copilot => {
            let mut server =
                server.json(Some("http"), json!({ "type": "local", "command": "metier", "args": arguments }));
            server["tools"] = json!(["*"]);
            ("~/.copilot/mcp-config.json", servers("mcpServers", &server))
        }
        Client::VsCode => (
            ".vscode/mcp.json in a project, or the mcp.json of a profile",
            servers("servers", &server.json(Some("http"), typed)),
        ),
        Client::Cursor => (
            ".cursor/mcp.json in a project, or ~/.cursor/mcp.json",
            servers("mcpServers", &server.json(None, here)),
        ),
    };
    (place, format!("{settings:#}\n"))
}

fn servers(key: &str, server: &Value) -> Value {
    json!({ key: { "metier": server } })
}

/// JSON's texts and lists are TOML's, and YAML's as well.
fn codex(server: &Server) -> String {
    let table = "[mcp_servers.metier]\n";
    match server.url() {
        None => format!("{table}command = \"metier\"\nargs = {}\n", json!(server.arguments())),
        Some(url) if server.has_token() => {
            format!("{table}url = \"{url}\"\nbearer_token_env_var = \"METIER_TOKEN\"\n")
        }
        Some(url) => format!("{table}url = \"{url}\"\n"),
    }
}

fn goose(server: &Server) -> String {
    let how = match server.url() {
        None => format!("    type: stdio\n    cmd: metier\n    args: {}\n", json!(server.arguments())),
        Some(url) => {
            let headers =
                if server.has_token() { "    headers: { Authorization: \"Bearer TOKEN\" }\n" } else { "" };
            format!("    type: streamable_http\n    uri: {url}\n{headers}")
        }
    };
    format!("extensions:\n  metier:\n    enabled: true\n    name: metier\n{how}    timeout: 300\n")
}
