//! MCP servers behind the gateway: the tables `servers`, and the settings files of other clients.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::SettingOrigin;
use crate::environment::Environment;

/// The longest name of a server.
const LONGEST: usize = 40;

/// How long a call may take without an answer or progress, in seconds.
const TIMEOUT: u64 = 300;

/// How the tools of servers are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ServerNaming {
    /// `mcp__server__tool`.
    #[default]
    Qualified,
    /// As the server names them, unless two are the same.
    Plain,
}

impl ServerNaming {
    /// As it is written in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Qualified => "qualified",
            Self::Plain => "plain",
        }
    }
}

/// An MCP server behind the gateway, as it was written.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerSetting {
    /// Its name.
    pub name: String,
    /// The program that is started.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its variables. `${NAME}` stands for a variable of metier's own environment.
    pub env: BTreeMap<String, String>,
    /// The directory that it starts in.
    pub cwd: Option<PathBuf>,
    /// The address of a server that is reached by HTTP.
    pub url: Option<String>,
    /// Headers of every request. `${NAME}` stands for a variable.
    pub headers: BTreeMap<String, String>,
    /// How long a call may take without an answer or progress, in seconds.
    pub timeout: u64,
    /// Where it was set.
    pub origin: SettingOrigin,
}

/// Without the values of variables and headers: secrets are among them.
impl fmt::Debug for ServerSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSetting")
            .field("name", &self.name)
            .field("what", &self.shown())
            .finish_non_exhaustive()
    }
}

/// One table, in settings and in the files of other clients.
#[derive(Deserialize)]
pub(super) struct ServerTable {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    timeout: Option<u64>,
    /// Whatever else there is: an error in settings, ignored in the files of others.
    #[serde(flatten)]
    #[expect(clippy::zero_sized_map_values, reason = "serde flattens into maps, not into sets")]
    more: BTreeMap<String, serde::de::IgnoredAny>,
}

impl fmt::Debug for ServerTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTable").finish_non_exhaustive()
    }
}

impl ServerTable {
    /// The server of this name; relative paths begin at `base`.
    pub(super) fn server(
        self,
        name: &str,
        base: &Path,
        environment: &Environment,
        origin: &SettingOrigin,
        is_strict: bool,
    ) -> Result<ServerSetting, String> {
        let Self { command, args, env, cwd, url, headers, timeout, more } = self;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_name = !name.is_empty() && name.len() <= LONGEST && name.chars().all(is_plain);
        // `mcp__a__b` must not be a tool of `a` and of `a__b`; `metier` means its own tools in rules.
        if !is_name || name.contains("__") || name.ends_with('_') || name == "metier" {
            return Err(format!(
                "invalid server name {name:?}; use at most {LONGEST} letters, digits, `-` and single `_`, and not `metier`"
            ));
        }
        if let (true, Some(key)) = (is_strict, more.keys().next()) {
            return Err(format!(
                "unknown key `{key}` in `[servers.{name}]`; use command, args, env, cwd, url, headers or timeout"
            ));
        }
        match (&command, &url) {
            (Some(_), None) if headers.is_empty() => {}
            (None, Some(_)) if args.is_empty() && env.is_empty() => {}
            _ => {
                return Err(format!(
                    "`[servers.{name}]` needs either `command` with `args` and `env`, or `url` with `headers`"
                ));
            }
        }
        let cwd = cwd.map(|cwd| base.join(environment.at_home(&cwd)).components().collect());
        let timeout = timeout.unwrap_or(TIMEOUT);
        if timeout == 0 {
            return Err(format!("`timeout` of `[servers.{name}]` must be at least 1 second"));
        }
        let (name, origin) = (name.to_owned(), origin.clone());
        Ok(ServerSetting { name, command, args, env, cwd, url, headers, timeout, origin })
    }
}

impl ServerSetting {
    /// A server that is a program, as on a command line.
    #[cfg(feature = "mcp")]
    #[expect(clippy::zero_sized_map_values, reason = "serde flattens into maps, not into sets")]
    pub(crate) fn program(
        name: &str,
        command: &str,
        words: &[String],
        environment: &Environment,
    ) -> Result<Self, String> {
        let table = ServerTable {
            command: Some(command.to_owned()),
            args: words.to_vec(),
            env: BTreeMap::new(),
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            timeout: None,
            more: BTreeMap::new(),
        };
        table.server(name, Path::new("/"), environment, &SettingOrigin::Flag("the command line"), true)
    }

    /// What is started or connected to, on one line, without the values of variables and headers.
    pub fn shown(&self) -> String {
        let list = |what: &str, names: &BTreeMap<String, String>| {
            let names: Vec<&str> = names.keys().map(String::as_str).collect();
            if names.is_empty() { String::new() } else { format!(" ({what}: {})", names.join(", ")) }
        };
        match (&self.command, &self.url) {
            (Some(command), _) => {
                let words: Vec<&str> =
                    std::iter::once(command).chain(&self.args).map(String::as_str).collect();
                words.join(" ") + &list("env", &self.env)
            }
            (None, url) => url.clone().unwrap_or_default() + &list("headers", &self.headers),
        }
    }

    /// The table for a settings file.
    pub fn to_toml(&self) -> String {
        let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut lines = vec![format!("[servers.{}]", self.name)];
        let mut pair = |name: &str, value: String| lines.push(format!("{name} = {value}"));
        if let Some(command) = &self.command {
            pair("command", text(command));
        }
        if !self.args.is_empty() {
            let words: Vec<String> = self.args.iter().map(|word| text(word)).collect();
            pair("args", format!("[{}]", words.join(", ")));
        }
        if let Some(url) = &self.url {
            pair("url", text(url));
        }
        if let Some(cwd) = &self.cwd {
            pair("cwd", text(&cwd.to_string_lossy()));
        }
        for (name, table) in [("env", &self.env), ("headers", &self.headers)] {
            if !table.is_empty() {
                let pairs: Vec<String> =
                    table.iter().map(|(name, value)| format!("{} = {}", text(name), text(value))).collect();
                pair(name, format!("{{ {} }}", pairs.join(", ")));
            }
        }
        lines.join("\n") + "\n"
    }
}

/// The servers in another client's file, which is JSON: below `mcpServers`, or `servers` in VS Code's.
#[cfg(feature = "mcp")]
pub(crate) fn foreign_servers(
    text: &str,
    path: &Path,
    environment: &Environment,
) -> Result<Vec<ServerSetting>, String> {
    /// What such a file has that matters here.
    #[derive(Deserialize)]
    struct Foreign {
        #[serde(rename = "mcpServers", alias = "servers")]
        servers: Option<BTreeMap<String, ServerTable>>,
    }
    let foreign: Foreign = serde_json::from_str(text)
        .map_err(|error| format!("not a settings file of an MCP client: {error}"))?;
    let missing = || "it has neither `mcpServers` nor `servers`".to_owned();
    let base = path.parent().unwrap_or(Path::new("/"));
    let origin = SettingOrigin::File { layer: super::Layer::Flags, path: path.to_owned() };
    let servers = foreign.servers.ok_or_else(missing)?.into_iter();
    let named = servers.map(|(name, table)| {
        // Other clients allow any text as a name.
        let plain: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect();
        table.server(plain.trim_matches('-'), base, environment, &origin, false)
    });
    let servers: Vec<ServerSetting> = named.collect::<Result<_, _>>()?;
    let mut names = std::collections::BTreeSet::new();
    match servers.iter().find(|server| !names.insert(&server.name)) {
        Some(twice) => Err(format!("two servers are called `{}`", twice.name)),
        None => Ok(servers),
    }
}

/// A text with the variables that `${NAME}` and `${env:NAME}` name. An error names one that is not set.
#[cfg(any(test, feature = "mcp"))]
pub(crate) fn with_variables(text: &str, environment: &Environment) -> Result<String, String> {
    let (mut filled, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        let name = name.strip_prefix("env:").unwrap_or(name);
        let value = environment.variable(name).ok_or_else(|| format!("the variable `{name}` is not set"))?;
        filled.extend([before, value]);
        rest = after;
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, text: &str) -> Result<ServerSetting, String> {
        let table: ServerTable = toml::from_str(text).map_err(|error| error.to_string())?;
        let environment = Environment::new("/home/me", "/work");
        table.server(name, Path::new("/work"), &environment, &SettingOrigin::Default, true)
    }

    #[test]
    fn a_server_is_a_command_or_an_address() {
        let db = server("db", "command = 'db'\nargs = ['-x']\nenv = { TOKEN = 's' }\ncwd = 'sub'").unwrap();
        assert_eq!((db.shown().as_str(), db.cwd), ("db -x (env: TOKEN)", Some("/work/sub".into())));
        let web = server("web", "url = 'https://x/mcp'\nheaders = { Authorization = 's' }").unwrap();
        assert_eq!(web.shown(), "https://x/mcp (headers: Authorization)");
        assert!(!format!("{web:?}").contains("'s'") && !format!("{web:?}").contains("\"s\""));
        let again: toml::Table = toml::from_str(&web.to_toml()).unwrap();
        assert_eq!(again["servers"]["web"]["headers"]["Authorization"].as_str(), Some("s"));
        for (name, text, problem) in [
            ("a", "", "needs either"),
            ("a", "command = 'x'\nurl = 'http://x'", "needs either"),
            ("a", "url = 'http://x'\nargs = ['y']", "needs either"),
            ("a", "command = 'x'\ncomand = 'y'", "unknown key `comand`"),
            ("a", "command = 'x'\ntimeout = 0", "at least 1 second"),
            ("a__b", "command = 'x'", "invalid server name"),
            ("metier", "command = 'x'", "invalid server name"),
            ("a b", "command = 'x'", "invalid server name"),
            ("", "command = 'x'", "invalid server name"),
        ] {
            let error = server(name, text).unwrap_err();
            assert!(error.contains(problem), "{name} {text}: {error}");
        }
    }

    #[test]
    fn variables_are_filled_in_or_missed() {
        let environment = Environment::new("/home/me", "/work").with_variable("TOKEN", "${X}");
        let fill = |text: &str| with_variables(text, &environment);
        assert_eq!(fill("Bearer ${TOKEN}, $X ${").unwrap(), "Bearer ${X}, $X ${");
        assert_eq!(fill("${env:TOKEN}").unwrap(), "${X}");
        assert_eq!(fill("${NONE}").unwrap_err(), "the variable `NONE` is not set");
    }
}
