//! Hosts of addresses, and patterns for them.

/// The host of an address, in small letters and without a dot at the end. `None` where two readers might see two
/// different hosts, or none.
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
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    is_host(&host).then_some(host)
}

/// Letters that no client turns into others.
fn is_host(host: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_v6 = |byte: u8| byte.is_ascii_hexdigit() || b":.".contains(&byte);
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(v6) => !v6.is_empty() && v6.bytes().all(is_v6),
        None => {
            !host.is_empty() && host.bytes().all(is_plain) && host.split('.').all(|label| !label.is_empty())
        }
    }
}

/// A pattern for hosts: `*` for all, `*.` for what is below, elsewhere a `*` for a part of one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DomainPattern {
    Any,
    Below(Vec<String>),
    Labels(Vec<String>),
}

impl DomainPattern {
    /// Reads a pattern. `None` where it cannot match a host.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let text = text.strip_suffix('.').unwrap_or(&text);
        if text == "*" {
            return Some(Self::Any);
        }
        let (is_below, rest) = text.strip_prefix("*.").map_or((false, text), |rest| (true, rest));
        if !is_host(&rest.replace('*', "x")) {
            return None;
        }
        let labels = rest.split('.').map(str::to_owned).collect();
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
        assert_eq!(host("http://[::1]:80/").as_deref(), Some("[::1]"));
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
        assert!(matches("*", "x.y") && !matches("https://example.com", "example.com") && !matches("", "x"));
    }
}
