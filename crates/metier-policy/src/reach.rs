//! Network destinations, in normalised form.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::PolicyError;
use crate::host;

/// The network destinations of a script: everything that this machine can reach, or a list of hosts.
///
/// Its text is `host` for the whole network, or else the sorted list of `host:port`, separated by commas. Equal
/// destinations have equal texts, however they were written.
///
/// ```
/// use metier_policy::Reach;
///
/// # fn main() -> Result<(), metier_policy::PolicyError> {
/// let reach = Reach::hosts(["pypi.org", "Example.org:80", "pypi.org:443"])?;
/// assert_eq!(reach.to_string(), "example.org:80,pypi.org:443");
/// assert_eq!(reach, reach.to_string().parse()?);
/// assert_eq!(Reach::WHOLE.to_string(), "host");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Reach(Extent);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Extent {
    Whole,
    /// Never empty.
    Hosts(BTreeSet<Host>),
}

/// One host, or with `*.` before it all its subdomains, and a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Host {
    name: String,
    port: u16,
}

/// The maximum number of hosts in one approval question; users do not read longer lists.
const MOST: usize = 32;

/// The maximum length of a name.
const LONGEST: usize = 253;

/// The text for the whole network. It cannot be a host, because each host has a port.
const WHOLE: &str = "host";

impl Reach {
    /// The whole network of this machine.
    pub const WHOLE: Self = Self(Extent::Whole);

    /// A list of hosts, each as `host:port`, `host` (port 443), `*.host:port`, `1.2.3.4:port` or `[::1]:port`.
    pub fn hosts(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, PolicyError> {
        let hosts = texts.into_iter().map(|text| Host::parse(text.as_ref()));
        let hosts: BTreeSet<Host> = hosts.collect::<Result<_, _>>()?;
        match hosts.len() {
            0 => Err(PolicyError::Destination { text: String::new() }),
            1..=MOST => Ok(Self(Extent::Hosts(hosts))),
            count => Err(PolicyError::Destinations { count, most: MOST }),
        }
    }

    /// Whether it is the whole network.
    pub fn is_whole(&self) -> bool {
        matches!(self.0, Extent::Whole)
    }

    /// Whether it certainly includes all destinations of another. An approval applies if so.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Extent::Whole, _) => true,
            (_, Extent::Whole) => false,
            (Extent::Hosts(own), Extent::Hosts(others)) => {
                others.iter().all(|other| own.iter().any(|host| host.covers(other)))
            }
        }
    }

    /// Whether it shares a destination with another. A refusal applies if so.
    pub(crate) fn touches(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Extent::Whole, _) | (_, Extent::Whole) => true,
            (Extent::Hosts(own), Extent::Hosts(others)) => {
                let meet = |one: &Host, other: &Host| one.covers(other) || other.covers(one);
                others.iter().any(|other| own.iter().any(|host| meet(host, other)))
            }
        }
    }

    /// The access as a phrase that follows "may" or "to".
    pub(crate) fn verb(&self) -> String {
        match &self.0 {
            Extent::Whole => "reach the whole network".to_owned(),
            Extent::Hosts(hosts) => {
                let hosts: Vec<String> = hosts.iter().map(|host| format!("`{host}`")).collect();
                format!("reach {}", hosts.join(", "))
            }
        }
    }
}

impl Host {
    /// Parses the same syntax as the sandbox, so that every approved destination can be used. Ambiguous numbers are
    /// rejected.
    fn parse(text: &str) -> Result<Self, PolicyError> {
        let error = || PolicyError::Destination { text: text.to_owned() };
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(error)?;
                (host, rest.strip_prefix(':'))
            }
            None => text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = port.unwrap_or("443").parse().map_err(|_| error())?;
        let below = host.strip_prefix("*.");
        // A subdomain is never an address.
        let name =
            host::canonical(below.unwrap_or(host)).filter(|name| below.is_none() || !name.contains(':'));
        match name {
            Some(name) if port != 0 && host.len() <= LONGEST => {
                Ok(Self { name: if below.is_some() { format!("*.{name}") } else { name }, port })
            }
            _ => Err(error()),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        let is_below = |domain: &str| {
            other.name.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        };
        self.port == other.port
            && (self.name == other.name || self.name.strip_prefix("*.").is_some_and(is_below))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, port } = self;
        if name.contains(':') { write!(f, "[{name}]:{port}") } else { write!(f, "{name}:{port}") }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Extent::Whole => f.write_str(WHOLE),
            Extent::Hosts(hosts) => {
                let hosts: Vec<String> = hosts.iter().map(Host::to_string).collect();
                f.write_str(&hosts.join(","))
            }
        }
    }
}

impl FromStr for Reach {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        if text == WHOLE { Ok(Self::WHOLE) } else { Self::hosts(text.split(',')) }
    }
}

impl TryFrom<String> for Reach {
    type Error = PolicyError;

    fn try_from(text: String) -> Result<Self, PolicyError> {
        text.parse()
    }
}

impl From<Reach> for String {
    fn from(reach: Reach) -> Self {
        reach.to_string()
    }
}

#[cfg(test)]
mod tests {
    use metier_skill::Coded as _;

    use super::*;

    fn hosts(text: &str) -> Reach {
        Reach::hosts(text.split(' ')).unwrap()
    }

    #[test]
    fn one_text_for_the_same_hosts() {
        for (written, text) in [
            ("b.org a.org", "a.org:443,b.org:443"),
            ("A.ORG:443 a.org a.org:0443", "a.org:443"),
            ("a.org:9 a.org:80", "a.org:9,a.org:80"),
            ("*.A.org:80", "*.a.org:80"),
            ("[::1]:80 ::1:80 [0:0::1]:80", "[::1]:80"),
            ("[::ffff:10.0.0.1]:80 10.0.0.1:80", "10.0.0.1:80"),
            ("host", "host:443"),
        ] {
            assert_eq!(hosts(written).to_string(), text);
            assert_eq!(text.parse::<Reach>().unwrap(), hosts(written));
            assert!(!hosts(written).is_whole());
        }
    }

    #[test]
    fn what_is_no_host() {
        let long = format!("{}.org", "a".repeat(250));
        for bad in [
            "",
            ":443",
            "a:",
            "a:0",
            "a:99999",
            "a b",
            "[::1",
            "a/b",
            "*.",
            "*",
            "a*.b",
            "u@a",
            "`a`",
            "2852039166",
            "0x7f.1",
            "127.1",
            "[64:ff9b::1]",
            &long,
        ] {
            assert_eq!(Reach::hosts([bad]).unwrap_err().code(), "policy-destination", "{bad}");
        }
        assert!(Reach::hosts(Vec::<String>::new()).is_err());
        assert!("".parse::<Reach>().is_err() && "a.org:443, b.org:443".parse::<Reach>().is_err());
        let many = |count: usize| Reach::hosts((0..count).map(|number| format!("h{number}.org")));
        assert!(many(MOST).is_ok() && many(MOST + 1).is_err());
    }

    #[test]
    fn a_yes_is_to_what_is_within_and_a_no_to_what_meets() {
        let whole = Reach::WHOLE;
        for (one, other, covers, touches) in [
            (&whole, &whole, true, true),
            (&whole, &hosts("a.org"), true, true),
            (&hosts("a.org"), &whole, false, true),
            (&hosts("a.org b.org"), &hosts("b.org"), true, true),
            (&hosts("a.org"), &hosts("a.org b.org"), false, true),
            (&hosts("a.org"), &hosts("b.org"), false, false),
            (&hosts("a.org:80"), &hosts("a.org"), false, false),
            (&hosts("*.a.org"), &hosts("x.y.a.org"), true, true),
            (&hosts("*.a.org"), &hosts("*.y.a.org"), true, true),
            (&hosts("*.y.a.org"), &hosts("*.a.org"), false, true),
            (&hosts("x.a.org"), &hosts("*.a.org"), false, true),
            (&hosts("*.a.org"), &hosts("a.org"), false, false),
            (&hosts("*.a.org"), &hosts("xa.org"), false, false),
        ] {
            assert_eq!((one.covers(other), one.touches(other)), (covers, touches), "{one}, {other}");
        }
    }
}
