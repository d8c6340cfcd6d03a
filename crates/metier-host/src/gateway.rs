//! The gateway's servers: from the settings and from the files of other clients to what is started and connected to.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use metier_mcp::{GatewayOptions, ServerToolNames, UpstreamServer, UpstreamTransport};
use metier_sandbox::{Local, Program};

use crate::environment::since_start;
use crate::error::HostError;
use crate::host::Metier;
use crate::settings::{ServerNaming, ServerSetting, foreign_servers, read_named, with_variables};

/// The variables that every program gets: where things are, and which language. All others are in the settings.
const USUAL: [&str; 7] = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER"];

impl Metier {
    /// The servers in the settings file of another client: `.mcp.json`, `claude_desktop_config.json`, or those of VS Code
    /// and Cursor. Nothing is started.
    pub fn servers_of(&self, file: &Path) -> Result<Vec<ServerSetting>, HostError> {
        let path = self.environment().absolute(file);
        let text = read_named(&path).map_err(|error| HostError::read(&path, error))?;
        foreign_servers(&text, &path, self.environment())
            .map_err(|reason| HostError::Settings { path: path.clone(), reason })
    }

    /// A server that is a program, as on a command line.
    pub fn server_of(&self, name: &str, command: &str, words: &[String]) -> Result<ServerSetting, HostError> {
        ServerSetting::program(name, command, words, self.environment())
            .map_err(|reason| HostError::Server { name: name.to_owned(), reason })
    }

    /// The gateway to these servers. Fails if a program or variable is missing.
    pub fn gateway(&self, servers: &[ServerSetting]) -> Result<GatewayOptions, HostError> {
        let servers = servers.iter().map(|server| self.upstream(server)).collect::<Result<_, _>>()?;
        let mut options = GatewayOptions::new(servers, Local::new(), Arc::new(since_start));
        options.names = match self.settings().server_tool_names.value {
            ServerNaming::Qualified => ServerToolNames::Qualified,
            ServerNaming::Plain => ServerToolNames::Plain,
        };
        options.pins = self.environment().state_directory().map(|state| state.join("server-tools"));
        Ok(options)
    }

    fn upstream(&self, server: &ServerSetting) -> Result<UpstreamServer, HostError> {
        let environment = self.environment();
        let wrong = |reason: String| HostError::Server { name: server.name.clone(), reason };
        let filled = |text: &String| with_variables(text, environment).map_err(wrong);
        let transport = if let Some(url) = &server.url {
            let headers = server.headers.iter().map(|(name, value)| Ok((name.clone(), filled(value)?)));
            UpstreamTransport::Http { url: filled(url)?, headers: headers.collect::<Result<_, HostError>>()? }
        } else {
            let command = filled(server.command.as_ref().unwrap_or(&String::new()))?;
            let path = environment
                .program(&environment.at_home(Path::new(&command)))
                .ok_or_else(|| wrong(format!("`{command}` is not installed (not found in PATH)")))?;
            let directory = server.cwd.clone().or_else(|| environment.working.clone());
            let mut program = Program::new(path, directory.unwrap_or_else(|| "/".into()));
            let words = server.args.iter().map(filled).collect::<Result<Vec<_>, _>>()?;
            program.arguments = words.into_iter().map(OsString::from).collect();
            let usual = USUAL.iter().filter(|name| !server.env.contains_key(**name));
            program.environment =
                usual.filter_map(|name| Some((name.into(), environment.variable(name)?.into()))).collect();
            for (name, value) in &server.env {
                program.environment.push((name.into(), filled(value)?.into()));
            }
            UpstreamTransport::Program(program)
        };
        let mut upstream = UpstreamServer::new(&server.name, transport);
        upstream.patience = Duration::from_secs(server.timeout);
        Ok(upstream)
    }
}
