//! `metier gateway`: the tools of other MCP servers behind the policy, beside the skills.

use std::path::PathBuf;

use metier_host::{Metier, ServerSetting};
use metier_mcp::GatewayOptions;

use super::serve;
use crate::exit::{Exit, UsageError};
use crate::output::Output;

/// Offer the tools of other MCP servers beside the skills; every call is checked and recorded
///
/// The servers are those of the settings (`[servers.NAME]`), of a file of another client, or the one of the command
/// line. Clients get their tools as `mcp__server__tool`, and their resources and prompts.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = "\
A server in the settings:

  [servers.db]
  command = \"npx\"
  args = [\"-y\", \"@example/db-server\"]
  env = { DB_TOKEN = \"${DB_TOKEN}\" }     or: url = \"https://…\" with headers = { … }

Examples:
  metier gateway                                    serve one client on standard input and output
  metier gateway --print-config claude              print the settings for Claude Code
  metier gateway --import .mcp.json                 print the servers of another client as settings
  metier gateway --servers-from .mcp.json           use them at once, and print what is started
  metier gateway --http 7800 -- npx -y @example/db-server")]
pub(crate) struct Args {
    /// Use only this server of the settings. Can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    server: Vec<String>,

    /// Use the servers in the settings file of another client: `.mcp.json`, `claude_desktop_config.json`, or one of VS Code or
    /// Cursor. Prints what is started
    #[arg(long, value_name = "FILE")]
    servers_from: Option<PathBuf>,

    /// Print the servers in such a file as settings, and exit
    #[arg(long, value_name = "FILE")]
    import: Option<PathBuf>,

    /// Name of the server of the command line
    #[arg(long, value_name = "NAME", default_value = "server", requires = "command")]
    name: String,

    #[command(flatten)]
    serve: serve::Args,

    /// A program that is an MCP server on standard input and output, instead of those of the settings
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    if let Some(file) = &args.import {
        let metier = args.serve.catalog.open(output)?;
        let servers = metier.servers_of(file)?;
        let texts: Vec<String> = servers.iter().map(ServerSetting::to_toml).collect();
        output.text(&texts.join("\n"))?;
        return Ok(Exit::Done);
    }
    serve::run_with(&args.serve, output, |metier, output| args.gateway(metier, output).map(Some))
}

impl Args {
    fn gateway(&self, metier: &Metier, output: &mut Output) -> anyhow::Result<GatewayOptions> {
        let mut servers: Vec<ServerSetting> = Vec::new();
        if let Some(file) = &self.servers_from {
            servers = metier.servers_of(file)?;
            for server in &servers {
                output.note(format_args!("note: {}: {}: {}", file.display(), server.name, server.shown()))?;
            }
        }
        if let Some((command, words)) = self.command.split_first() {
            servers.push(metier.server_of(&self.name, command, words)?);
        } else if self.servers_from.is_none() {
            servers.clone_from(&metier.settings().servers);
        }
        for name in &self.server {
            if !servers.iter().any(|server| server.name == *name) {
                let known: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(UsageError(format!("unknown server `{name}`; in the settings: {known}")).into());
            }
        }
        servers.retain(|server| self.server.is_empty() || self.server.contains(&server.name));
        if servers.is_empty() {
            let what = "no MCP servers; add `[servers.NAME]` to the settings, or name a program after `--`";
            return Err(UsageError(what.to_owned()).into());
        }
        Ok(metier.gateway(&servers)?)
    }
}
