//! Parses hosts: a name or an address, in the form that every client agrees on.

// IP addresses as types only; nothing here connects to them.
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The maximum length of a name.
const LONGEST: usize = 253;

/// A host in normalised form: a name in lower case, or an address as [`IpAddr`] writes it. An IPv6 address may be in
/// brackets, and has none in the result. An IPv4-mapped IPv6 address becomes the IPv4 address.
///
/// `None` if two clients could see different hosts: numbers that only some clients accept as addresses (`2852039166`,
/// `0xA9FEA9FE`, `169.254.43518`, `0251.254.169.254`), and IPv6 addresses that a gateway translates to IPv4.
pub(crate) fn canonical(host: &str) -> Option<String> {
    if host.len() > LONGEST + 2 {
        return None;
    }
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if inner.is_some() || host.contains(':') {
        let address = inner.unwrap_or(host).parse::<Ipv6Addr>().ok()?;
        return match address.to_canonical() {
            IpAddr::V4(address) => Some(address.to_string()),
            IpAddr::V6(address) => (!is_translated(address)).then(|| address.to_string()),
        };
    }
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if !is_name(&host) {
        return None;
    }
    // Clients read every host whose last part is a number as an address, in several forms.
    if ends_in_number(&host) {
        let address = host.parse::<Ipv4Addr>().ok()?;
        return (address.to_string() == host).then_some(host);
    }
    Some(host)
}

/// Non-empty labels of characters that no client converts to others.
pub(crate) fn is_name(host: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=LONGEST).contains(&host.len())
        && host.bytes().all(is_plain)
        && host.split('.').all(|label| !label.is_empty())
}

fn ends_in_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or(host);
    let is_decimal = last.bytes().all(|byte| byte.is_ascii_digit());
    is_decimal || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether packets to an address may go to an IPv4 address embedded in it: NAT64, 6to4, Teredo, ISATAP, stateless
/// translation, and the old IPv4-compatible form.
fn is_translated(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let is_nat64 = parts[..2] == [0x64, 0xff9b];
    let is_6to4 = parts[0] == 0x2002;
    let is_teredo = parts[..2] == [0x2001, 0];
    let is_isatap = parts[5] == 0x5efe && matches!(parts[4], 0 | 0x200);
    let is_stateless = parts[..6] == [0, 0, 0, 0, 0xffff, 0];
    let is_compatible = parts[..6] == [0; 6] && address > Ipv6Addr::LOCALHOST;
    is_nat64 || is_6to4 || is_teredo || is_isatap || is_stateless || is_compatible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_or_none() {
        for (written, form) in [
            ("EXAMPLE.com.", Some("example.com")),
            ("169.254.169.254", Some("169.254.169.254")),
            ("[::ffff:169.254.169.254]", Some("169.254.169.254")),
            ("[::FFFF:a9fe:a9fe]", Some("169.254.169.254")),
            ("[0:0::1]", Some("::1")),
            ("2001:DB8::1", Some("2001:db8::1")),
            ("4chan.org", Some("4chan.org")),
            ("0x.org", Some("0x.org")),
            ("2852039166", None),
            ("0xA9FEA9FE", None),
            ("169.254.43518", None),
            ("169.16689662", None),
            ("0251.254.169.254", None),
            ("0xa9.0xfe.0xa9.0xfe", None),
            ("169.254.169.254.", Some("169.254.169.254")),
            ("169.254.169.0254", None),
            ("a.0x", None),
            ("a.1", None),
            ("1.2.3.4.5", None),
            ("[64:ff9b::169.254.169.254]", None),
            ("[2002:a9fe:a9fe::]", None),
            ("[::169.254.169.254]", None),
            ("[::ffff:0:169.254.169.254]", None),
            ("[fe80::5efe:169.254.169.254]", None),
            ("[2001:0:a9fe:a9fe::1]", None),
            ("[fe80::1%eth0]", None),
            ("[::1", None),
            ("a..b", None),
            ("", None),
            ("ex%61mple", None),
            ("exämple", None),
        ] {
            assert_eq!(canonical(written).as_deref(), form, "{written}");
        }
    }
}
