//! Which addresses a download may connect to. The check is part of the only lookup, so the connection goes to the address
//! that was checked.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Turns the name of a host and a port into addresses.
pub type HostLookup = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// How long a lookup may take.
const LOOKUP: Duration = Duration::from_secs(20);

/// As many addresses as are tried.
const ADDRESSES: usize = 8;

/// The system's lookup.
pub(super) fn system_lookup(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let (host, (sender, receiver)) = (host.to_owned(), mpsc::channel());
    // The system's lookup has no time limit of its own.
    thread::spawn(move || sender.send((host.as_str(), port).to_socket_addrs().map(Iterator::collect)));
    receiver.recv_timeout(LOOKUP).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Resolves names, and refuses those with private addresses.
pub(super) struct CheckedResolver {
    private_hosts: Vec<String>,
    lookup: Arc<HostLookup>,
}

impl CheckedResolver {
    pub(super) fn new(private_hosts: Vec<String>, lookup: Arc<HostLookup>) -> Self {
        Self { private_hosts, lookup }
    }
}

impl fmt::Debug for CheckedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedResolver").field("private_hosts", &self.private_hosts).finish_non_exhaustive()
    }
}

impl Resolver for CheckedResolver {
    fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let shown = uri.host().unwrap_or_default();
        let host = shown.trim_matches(['[', ']']);
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
        let found = (self.lookup)(host, port)?;
        // One private address is enough: which one is used would be chance.
        let is_named =
            self.private_hosts.iter().any(|named| named.trim_matches(['[', ']']).eq_ignore_ascii_case(host));
        let private = found.iter().find(|found| !is_public(found.ip())).filter(|_| !is_named);
        if let Some(private) = private {
            let what = format!(
                "`{shown}` has the private address {}; if you trust it, add it to `private_hosts` in your settings",
                private.ip()
            );
            return Err(ureq::Error::Io(io::Error::new(io::ErrorKind::PermissionDenied, what)));
        }
        let mut addresses = self.empty();
        found.into_iter().take(ADDRESSES).for_each(|address| addresses.push(address));
        if addresses.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(addresses) }
    }
}

/// Whether an address is on the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        (0 | 240..=255, ..) | (100, 64..=127, _) | (192, 0, 0) | (192, 88, 99) | (198, 18 | 19, _)
    );
    !(is_special
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // Mapped, compatible and translated IPv4.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => embedded(high, low),
        // Only this block is in use on the internet; parts of it are not.
        [first, second, ..] => {
            let is_special = first == 0x2001 && (second < 0x200 || second == 0xdb8);
            (0x2000..0x4000).contains(&first) && !is_special
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "1.1.1.1",
            "100.128.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "64:ff9b::1.1.1.1",
            "2a00::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}
