//! The environment variables that an agent gets. It inherits no others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier_skill::is_secret_name;

use crate::home::TEMPORARY;
use crate::isolation::IsolationConfig;

/// Environment variables by name.
pub type Variables = BTreeMap<String, String>;

/// The environment of the host. The caller passes it in; it is not read from the process.
#[derive(Debug, Clone, Default)]
pub struct HostVariables {
    /// The variables.
    pub env: Variables,
    /// The home of the person who runs the agent.
    pub home: Option<PathBuf>,
    /// Whether that person is root.
    pub is_root: bool,
}

impl HostVariables {
    /// A host with these variables; its home is `HOME`.
    pub fn new(env: Variables) -> Self {
        let home = env.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        Self { env, home, is_root: false }
    }

    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A path below the host's home.
    pub(crate) fn at_home(&self, path: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(path))
    }
}

/// What every program needs to find others, to talk to a terminal and to get out of a company's network.
const AMBIENT: &[&str] = &[
    "PATH",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "COLUMNS",
    "LINES",
    "LANG",
    "LANGUAGE",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// Prefixes of host variables with credentials or with an agent's directories.
const WITHHELD: &[&str] = &["HOME", "CLAUDE_", "ANTHROPIC_", "AWS_", "GOOGLE_", "AZURE_", "OPENAI_"];

/// The same, of agents that came later.
const WITHHELD_TOO: &[&str] =
    &["CODEX_", "GEMINI_", "GOOSE_", "OPENCODE_", "COPILOT_", "GH_", "GITHUB_", "XDG_", "METIER_"];

/// Whether a text is an address with a password in it, as in `postgres://me:secret@host/db`.
fn has_password(value: &str) -> bool {
    let authority = value.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    authority.and_then(|authority| authority.rsplit_once('@')).is_some_and(|(person, _)| person.contains(':'))
}

/// The variables for an agent: the host's where that is wanted, the home's, those to authenticate with, then what was asked for.
pub(crate) fn compute(
    host: &HostVariables,
    config: &IsolationConfig,
    home: &Path,
    own: Variables,
    authentication: Variables,
) -> Variables {
    let is_ambient = |name: &str| AMBIENT.contains(&name) || name.starts_with("LC_");
    let is_withheld = |name: &str, value: &str| {
        WITHHELD.iter().chain(WITHHELD_TOO).any(|prefix| name.starts_with(prefix))
            || is_secret_name(name)
            || has_password(value)
    };
    let wanted = host
        .env
        .iter()
        .filter(|(name, value)| is_ambient(name) || (config.include_host_env && !is_withheld(name, value)));
    let mut env: Variables = wanted.map(|(name, value)| (name.clone(), value.clone())).collect();
    env.insert("HOME".to_owned(), home.to_string_lossy().into_owned());
    // What agents leave in a directory for temporary files goes with the home.
    env.insert("TMPDIR".to_owned(), home.join(TEMPORARY).to_string_lossy().into_owned());
    env.extend(own);
    env.extend(authentication);
    env.extend(config.env.clone());
    env
}

/// The variables for display: the values of secrets and of addresses with a password are replaced.
pub fn redacted(env: &Variables) -> Variables {
    let is_secret = |name: &str, value: &str| is_secret_name(name) || may_have_password(value);
    let shown =
        |name: &str, value: &str| if is_secret(name, value) { "…".to_owned() } else { value.to_owned() };
    env.iter().map(|(name, value)| (name.clone(), shown(name, value))).collect()
}

/// Whether a text may be or contain an address with a password, also without a scheme (`me:secret@proxy:8080`), or with a password that
/// should have been escaped. Too much is hidden rather than too little.
fn may_have_password(value: &str) -> bool {
    value.split(|c: char| c.is_whitespace() || c == ',').any(|part| {
        let rest = part.split_once("://").map_or(part, |(_, rest)| rest);
        rest.rsplit_once('@').is_some_and(|(person, _)| person.contains(':'))
    })
}

/// Those of the host's variables that are named, as far as they are there.
pub(crate) fn pick(host: &HostVariables, names: &[&str]) -> Variables {
    let there = names.iter().filter_map(|name| Some(((*name).to_owned(), host.var(name)?.to_owned())));
    there.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_addresses_are_not_shown() {
        let shown = |name: &str, value: &str| {
            redacted(&Variables::from([(name.to_owned(), value.to_owned())])).remove(name).unwrap()
        };
        for value in [
            "http://me:pa55@proxy:8080",
            "me:pa55@proxy:8080",
            "http://me:pa/55@proxy:8080/",
            "http://one, socks5://me:pa55@two",
        ] {
            assert_eq!(shown("HTTPS_PROXY", value), "…", "{value}");
        }
        for value in ["http://proxy:8080", "localhost,127.0.0.1:80", "me@example.org", "/usr/bin:/bin"] {
            assert_eq!(shown("HTTPS_PROXY", value), value);
        }
        assert_eq!(shown("API_KEY", "x"), "…");
    }
}
