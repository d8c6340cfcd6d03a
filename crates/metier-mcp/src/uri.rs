//! The URIs of skills and their files: `skill://NAME/PATH`.

use std::fmt::Write as _;
use std::path::Path;

/// The common prefix.
const SCHEME: &str = "skill://";

/// The URI of a file or a directory of a skill; of the skill's own directory if the path is empty.
pub(crate) fn of(skill: &str, path: &Path) -> Option<String> {
    let mut uri = format!("{SCHEME}{skill}");
    for part in path {
        uri.push('/');
        encode(part.to_str()?, &mut uri);
    }
    Some(uri)
}

/// The skill and the path in a URI; `None` if it is not in the form that [`of`] writes.
pub(crate) fn parse(uri: &str) -> Option<(&str, String)> {
    let rest = uri.strip_prefix(SCHEME)?;
    let (skill, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = decode(path)?;
    // Only one form of each URI is accepted.
    let is_ours = of(skill, Path::new(&path)).as_deref() == Some(uri);
    is_ours.then_some((skill, path))
}

fn encode(text: &str, uri: &mut String) {
    for byte in text.bytes() {
        // Characters that RFC 3986 allows in a segment.
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
}

pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_written_and_no_other() {
        for path in ["SKILL.md", "references/a b.md", "scripts/ü%.sh", "a#b?c", ""] {
            let uri = of("pdf", Path::new(path)).unwrap();
            assert!(uri.is_ascii(), "{uri}");
            assert_eq!(parse(&uri), Some(("pdf", path.to_owned())), "{uri}");
        }
        for uri in [
            "skill:/pdf",
            "file:///etc/passwd",
            "skill://pdf/a%2fb",
            "skill://pdf//a",
            "skill://pdf/a/",
            "skill://pdf/%zz",
            "skill://pdf/%",
        ] {
            assert_eq!(parse(uri), None, "{uri}");
        }
    }
}
