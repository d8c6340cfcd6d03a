//! The address of a server, and the stream on it. Displayed addresses never contain a password.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::failure::chain;

/// The stream of an address that names none.
const DEFAULT: &str = "default";

/// What may stand behind the `?` besides our own: what the driver knows.
const PARAMETERS: [&str; 18] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "sslnegotiation",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// A stream on a server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(super) config: Config,
    pub(super) stream: String,
    /// Whom to trust instead of those whom the operating system trusts.
    pub(super) certificates: Option<PathBuf>,
}

impl Address {
    /// Reads a url; what is wrong with it, in words that have nothing of the url in them.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or("it is not a URL")?;
        let rest = check_credentials(rest)?;
        let (server, query) = rest.split_once('?').unwrap_or((rest, ""));
        let own = Own::parse(query)?;
        let credentials = &url[scheme.len() + 3..url.len() - rest.len()];
        let mut config: Config = format!("postgres://{credentials}{server}?{}", own.others.join("&"))
            .parse()
            .map_err(|error| chain(&error))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err("the host is missing".to_owned());
        }
        patient(&mut config);
        Ok(Self {
            config,
            stream: own.stream.unwrap_or_else(|| DEFAULT.to_owned()),
            certificates: own.certificates,
        })
    }

    /// `host:port`, for each host.
    fn hosts(&self) -> String {
        let (ports, addresses) = (self.config.get_ports(), self.config.get_hostaddrs());
        let named = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]"),
            Host::Tcp(name) => name.to_lowercase(),
            Host::Unix(path) => path.display().to_string(),
        });
        let mut hosts: Vec<String> = named.collect();
        if hosts.is_empty() {
            hosts = addresses.iter().map(ToString::to_string).collect();
        }
        let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        let hosts = hosts.iter().enumerate().map(|(index, host)| format!("{host}:{}", port(index)));
        hosts.collect::<Vec<_>>().join(",")
    }

    /// As the server does: who names no database means the one that is named like the user.
    fn database(&self) -> &str {
        self.config.get_dbname().or(self.config.get_user()).unwrap_or_default()
    }

    /// A text that identifies the stream. It is the same for all users.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}/{}", self.hosts(), self.database(), self.stream)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        write!(f, "{}/{}?stream={}", self.hosts(), self.database(), self.stream)
    }
}

/// What is behind the user and the password. Where it is not plain where these end, part of a password would be taken for something to show.
fn check_credentials(rest: &str) -> Result<&str, String> {
    let Some((credentials, rest)) = rest.split_once('@') else { return Ok(rest) };
    let server = rest.split('?').next().unwrap_or_default();
    if credentials.contains(['/', '?', '#']) || server.contains(['@', '#']) {
        return Err(
            "write `/` as %2F, `?` as %3F, `#` as %23 and `@` as %40 in a user or password".to_owned()
        );
    }
    Ok(rest)
}

/// What stands behind the `?`: what is ours, and the others.
#[derive(Default)]
struct Own<'a> {
    stream: Option<String>,
    certificates: Option<PathBuf>,
    others: Vec<&'a str>,
}

impl<'a> Own<'a> {
    fn parse(query: &'a str) -> Result<Self, String> {
        let mut own = Self::default();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("stream", name)) => own.stream = Some(check_stream(name)?),
                Some(("sslrootcert", path)) => own.certificates = Some(PathBuf::from(path)),
                // Whoever we talk to in secret has shown who it is, whichever of these was asked for.
                Some(("sslmode", "require" | "verify-ca" | "verify-full")) => {
                    own.others.push("sslmode=require");
                }
                Some(("sslmode", "disable" | "prefer")) => own.others.push(parameter),
                Some(("sslmode", _)) => {
                    return Err("invalid `sslmode`; use disable, prefer, require, verify-ca or verify-full"
                        .to_owned());
                }
                Some((name, _)) if PARAMETERS.contains(&name) => own.others.push(parameter),
                // It is not said which: it may be the rest of a password with an `&` in it.
                _ => {
                    return Err("it has an unknown parameter; write `&` in a value as %26".to_owned());
                }
            }
        }
        Ok(own)
    }
}

fn check_stream(name: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let starts = name.bytes().next().is_some_and(is_plain);
    if starts && name.len() <= 63 && name.bytes().all(|byte| is_plain(byte) || b"._-".contains(&byte)) {
        return Ok(name.to_owned());
    }
    Err("the name of a stream must be 1 to 63 characters of a-z, 0-9, `.`, `_` and `-`, and begin with a letter or digit"
        .to_owned())
}

/// A lost connection is detected within about a minute, unless the URL sets other times.
fn patient(config: &mut Config) {
    if config.get_application_name().is_none() {
        config.application_name("metier");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(10));
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(30));
    }
    // The driver's own is two hours, which nobody asks for.
    if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
        config.keepalives_idle(Duration::from_secs(30));
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(Duration::from_secs(10));
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(3);
    }
}
