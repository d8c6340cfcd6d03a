//! Hosts of URLs, and patterns for them.

use crate::host;

/// The host of a URL, in normalised form. `None` if two parsers may see different hosts, or no host.
pub(crate) fn host(url: &str) -> Option<String> {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if url.contains(is_odd) {
        return None;
    }
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains(['@', '%']) {
        return None;
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !authority.ends_with(']') => {
            if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            host
        }
        _ => authority,
    };
    // An IPv6 address must be in brackets here.
    if host.contains(':') && !host.starts_with('[') {
        return None;
    }
    host::canonical(host)
}

/// A host pattern: `*` for all hosts, `*.` for subdomains, elsewhere a `*` for a part of one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DomainPattern {
    Any,
    Below(Vec<String>),
    Labels(Vec<String>),
}

impl DomainPattern {
    /// Parses a pattern. `None` if it cannot match any host.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let text = text.strip_suffix('.').unwrap_or(&text);
        if text == "*" {
            return Some(Self::Any);
        }
        let (is_below, rest) = text.strip_prefix("*.").map_or((false, text), |rest| (true, rest));
        // With a wildcard, it is not yet known whether the host is an address.
        let rest = if is_below || rest.contains('*') {
            host::is_name(&rest.replace('*', "x")).then(|| rest.to_owned())
        } else {
            host::canonical(rest)
        };
        let labels = rest?.split('.').map(str::to_owned).collect();
        Some(if is_below { Self::Below(labels) } else { Self::Labels(labels) })
    }

    pub(crate) fn matches(&self, host: &str) -> bool {
        let labels: Vec<&str> = host.split('.').collect();
        match self {
            Self::Any => true,
            Self::Labels(pattern) => same(pattern, &labels),
            Self::Below(pattern) => {
                labels.len() > pattern.len() && same(pattern, &labels[labels.len() - pattern.len()..])
            }
        }
    }
}

fn same(pattern: &[String], labels: &[&str]) -> bool {
    let fits = |(pattern, label): (&String, &&str)| {
        crate::wildcard::Wildcard::new(pattern).surely(&crate::wildcard::Subject::plain(label))
    };
    pattern.len() == labels.len() && pattern.iter().zip(labels).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_all_readers_agree_on() {
        assert_eq!(host("https://EXAMPLE.com./a?b#c").as_deref(), Some("example.com"));
        assert_eq!(host("example.com/x").as_deref(), Some("example.com"));
        assert_eq!(host("http://[::1]:80/").as_deref(), Some("::1"));
        for odd in [
            "https://example.com@evil.io/",
            "https://example.com\\@evil.io",
            "ftp://example.com",
            "https://",
            "https://ex%61mple.com",
            "https://exämple.com",
            "https://example.com:x/",
            "file:///etc/passwd",
            "javascript://example.com",
            "https://a..b",
            "https://example.com\n.evil.io",
            "",
            "https:///example.com",
            "https://example.com:",
            "http://2852039166/",
            "http://0xA9FEA9FE/",
            "http://169.254.43518/",
            "http://[::1",
        ] {
            assert_eq!(host(odd), None, "{odd}");
        }
    }

    #[test]
    fn patterns_for_hosts() {
        let matches = |pattern: &str, host: &str| {
            DomainPattern::new(pattern).is_some_and(|pattern| pattern.matches(host))
        };
        assert!(matches("Example.com.", "example.com") && !matches("example.com", "a.example.com"));
        assert!(matches("*.example.com", "a.b.example.com") && !matches("*.example.com", "example.com"));
        assert!(matches("example.*", "example.org") && !matches("example.*", "example.evil.com"));
        assert!(
            !matches("*.example.com", "evilexample.com") && !matches("example.com", "example.com.evil.io")
        );
        assert!(matches("[::ffff:10.0.0.1]", "10.0.0.1") && matches("10.0.*.1", "10.0.7.1"));
        assert!(!matches("0x0a000001", "10.0.0.1") && matches("*.0.0.1", "10.0.0.1"));
        assert!(matches("*", "x.y") && !matches("https://example.com", "example.com") && !matches("", "x"));
    }
}
