//! The address that a server listens on, in the forms that people write.

use std::net::{Ipv4Addr, SocketAddr};

/// A port of this machine, `localhost` and a port, or an address and a port.
pub(super) fn parse(text: &str) -> Result<SocketAddr, String> {
    let here = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(here(port));
    }
    text.parse()
        .map_err(|_| "use a port such as 7800, or an address and a port such as 127.0.0.1:7800".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_addresses_in_many_ways() {
        for (text, address) in [
            ("7803", Some("127.0.0.1:7803")),
            (":7803", Some("127.0.0.1:7803")),
            ("localhost:7804", Some("127.0.0.1:7804")),
            ("0.0.0.0:80", Some("0.0.0.0:80")),
            ("[::1]:80", Some("[::1]:80")),
            ("127.0.0.1", None),
            ("example.org:80", None),
            ("70000", None),
            ("", None),
        ] {
            assert_eq!(parse(text).ok().map(|address| address.to_string()).as_deref(), address, "{text}");
        }
    }
}
