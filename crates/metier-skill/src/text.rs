//! Text for models: what it costs, roughly, and how it stands inside XML.

use std::borrow::Cow;

/// How many tokens some bytes of text are, roughly: good enough to compare and to keep a budget with.
///
/// ```
/// assert_eq!(metier_skill::tokens("one skill".len()), 3);
/// ```
pub const fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// Text inside an XML element or attribute. Characters that XML cannot have are made visible.
///
/// ```
/// assert_eq!(metier_skill::escape_xml("a < \u{1}b"), "a &lt; \u{fffd}b");
/// ```
pub fn escape_xml(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !matches!(c, '&' | '<' | '>' | '"' | '\'') && is_xml(c);
    if text.chars().all(is_plain) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            c if is_xml(c) => escaped.push(c),
            _ => escaped.push('\u{fffd}'),
        }
    }
    escaped.into()
}

fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
