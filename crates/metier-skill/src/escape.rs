//! Escapes text from a skill for use inside other text, so that it contains no markup and no invisible
//! characters.

use std::borrow::Cow;

use crate::visible::is_invisible;

/// Escapes text for the content of an XML element or attribute.
///
/// A parser gets back exactly the original text. Markup is written as `&lt;` and so on. Invisible characters
/// ([`is_invisible`]) and characters that a parser would change are written as references, such as `&#x202E;`.
/// Characters that XML does not allow at all (most control characters, U+FFFE and U+FFFF) are written as
/// visible text: `\u{1}`. Tabs and line breaks stay.
///
/// ```
/// use metier_skill::escape_xml;
///
/// assert_eq!(escape_xml("a < b\r\n"), "a &lt; b&#xD;\n");
/// assert_eq!(escape_xml("right\u{202e}left \u{1}"), "right&#x202E;left \\u{1}");
/// ```
pub fn escape_xml(text: &str) -> Cow<'_, str> {
    Escape::XML.apply(text)
}

/// A set of rules for escaping text.
///
/// ```
/// use metier_skill::{Escape, Replacement};
///
/// static SHOWN: Escape = Escape::new(b"*", |c| if c == '*' { Replacement::Text("\\*") } else { Replacement::shown(c) });
/// assert_eq!(SHOWN.apply("2 * 3\u{7}"), "2 \\* 3\\u{7}");
/// ```
#[derive(Debug)]
pub struct Escape {
    /// The first bytes of characters that may need to be replaced.
    looks: [bool; 256],
    /// Whether [`is_quiet`] alone is enough to find plain text.
    is_quick: bool,
    instead: fn(char) -> Replacement,
}

/// What a character is replaced with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replacement {
    /// The character stays as it is.
    Same,
    /// This text.
    Text(&'static str),
    /// Its code point in hexadecimal, between these two texts.
    Number(&'static str, &'static str),
    /// Its UTF-16 code units, each written as `\u` and four digits.
    Units,
}

impl Replacement {
    /// The visible form of characters that cannot be written otherwise: `\u{202E}`.
    pub const VISIBLE: Self = Self::Number("\\u{", "}");

    /// Replaces invisible characters by their visible form and keeps all others.
    pub const fn shown(c: char) -> Self {
        if is_invisible(c) { Self::VISIBLE } else { Self::Same }
    }
}

/// The number of bytes that are checked together.
const STRIDE: usize = 32;

impl Escape {
    /// The rules of [`escape_xml`].
    pub const XML: &'static Self = &Self::new(b"&<>\"'", in_xml);

    /// Rules for text in which these ASCII characters and all invisible characters ([`is_invisible`]) may need
    /// to be replaced. `instead` is also called for tabs and line feeds.
    pub const fn new(special: &[u8], instead: fn(char) -> Replacement) -> Self {
        let (mut looks, mut is_quick, mut at) = ([false; 256], true, 0);
        while at < looks.len() {
            // The second line has the first UTF-8 bytes of all invisible characters. A test checks that it is
            // complete.
            looks[at] = at < 0x20
                || matches!(at, 0x7f | 0xc2 | 0xcd | 0xd8 | 0xdb | 0xdc | 0xe0..=0xe3 | 0xef | 0xf0..);
            at += 1;
        }
        at = 0;
        while at < special.len() {
            looks[special[at] as usize] = true;
            is_quick = is_quick && !is_quiet(special[at]);
            at += 1;
        }
        Self { looks, is_quick, instead }
    }

    /// Passes the escaped text to `piece`, part by part, without allocating.
    pub fn each(&self, text: &str, mut piece: impl FnMut(&str)) {
        let (mut done, mut at) = (0, 0);
        while let Some((found, c)) = self.next(text, at) {
            at = found + c.len_utf8();
            let instead = (self.instead)(c);
            if instead == Replacement::Same {
                continue;
            }
            if done < found {
                piece(&text[done..found]);
            }
            done = at;
            match instead {
                Replacement::Same => {}
                Replacement::Text(text) => piece(text),
                Replacement::Number(before, after) => {
                    piece(before);
                    piece(digits(u32::from(c), 1, &mut [0; 8]));
                    piece(after);
                }
                Replacement::Units => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        piece("\\u");
                        piece(digits(u32::from(*unit), 4, &mut [0; 8]));
                    }
                }
            }
        }
        if done < text.len() {
            piece(&text[done..]);
        }
    }

    /// The escaped text.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut whole = String::new();
        let mut is_same = true;
        self.each(text, |piece| {
            // If nothing needs escaping, the text is its only piece.
            if !std::ptr::eq(piece, text) {
                is_same = false;
                whole.push_str(piece);
            }
        });
        if is_same { text.into() } else { whole.into() }
    }

    /// The length of the escaped text in bytes.
    pub fn length(&self, text: &str) -> usize {
        let mut length = 0;
        self.each(text, |piece| length += piece.len());
        length
    }

    /// Finds the next character that may need to be replaced, and its offset.
    fn next(&self, text: &str, from: usize) -> Option<(usize, char)> {
        let bytes = text.as_bytes();
        let mut at = from;
        // Nearly all text is plain. Many bytes are checked at a time without branches, so that the compiler can
        // vectorize it.
        while self.is_quick
            && let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<STRIDE>)
        {
            if !are_quiet(chunk)
                && let Some(found) = self.position(chunk)
            {
                return Some((at + found, text.get(at + found..)?.chars().next()?));
            }
            at += STRIDE;
        }
        let rest = bytes.get(at..)?;
        // The rest is shorter than a stride; the last stride of the text covers it and starts earlier.
        if self.is_quick && !rest.is_empty() && bytes.last_chunk::<STRIDE>().is_some_and(are_quiet) {
            return None;
        }
        let found = at + self.position(rest)?;
        Some((found, text.get(found..)?.chars().next()?))
    }

    fn position(&self, bytes: &[u8]) -> Option<usize> {
        bytes.iter().position(|byte| self.looks[usize::from(*byte)])
    }
}

fn are_quiet(chunk: &[u8; STRIDE]) -> bool {
    chunk.iter().fold(0, |loud, byte| loud | u8::from(!is_quiet(*byte))) == 0
}

/// Bytes of plain text that no `Escape` with `is_quick` replaces.
#[expect(clippy::needless_bitwise_bool, reason = "branches would keep the compiler from vectorizing it")]
const fn is_quiet(byte: u8) -> bool {
    (byte >= 0x20)
        & (byte < 0x7f)
        & (byte != b'"')
        & (byte != b'&')
        & (byte != b'\'')
        & (byte != b'<')
        & (byte != b'>')
        & (byte != b'\\')
}

/// Writes a number with at least this many hexadecimal digits.
fn digits(number: u32, least: usize, buffer: &mut [u8; 8]) -> &str {
    let (mut rest, mut at) = (number, buffer.len());
    while at > 0 && (rest > 0 || buffer.len() - at < least) {
        at -= 1;
        buffer[at] = b"0123456789ABCDEF"[(rest % 16) as usize];
        rest /= 16;
    }
    std::str::from_utf8(&buffer[at..]).unwrap_or_default()
}

const fn in_xml(c: char) -> Replacement {
    match c {
        '&' => Replacement::Text("&amp;"),
        '<' => Replacement::Text("&lt;"),
        '>' => Replacement::Text("&gt;"),
        '"' => Replacement::Text("&quot;"),
        '\'' => Replacement::Text("&apos;"),
        '\t' | '\n' => Replacement::Same,
        '\r' => Replacement::Number("&#x", ";"),
        '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => Replacement::VISIBLE,
        c if is_invisible(c) => Replacement::Number("&#x", ";"),
        _ => Replacement::Same,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

    use super::*;

    #[test]
    fn what_unicode_calls_control_or_format_is_invisible_and_looked_at() {
        for c in '\0'..=char::MAX {
            let is_format = matches!(
                c.general_category(),
                GeneralCategory::Control
                    | GeneralCategory::Format
                    | GeneralCategory::LineSeparator
                    | GeneralCategory::ParagraphSeparator
            );
            let stays = matches!(c, '\t' | '\n');
            assert!(!is_format || stays || is_invisible(c), "{:x}", u32::from(c));
            let first = c.encode_utf8(&mut [0; 4]).as_bytes()[0];
            assert!(!is_invisible(c) || Escape::XML.looks[usize::from(first)], "{:x}", u32::from(c));
        }
        for stays in
            ['\t', '\n', ' ', '\u{a0}', '\u{3000}', 'ا', '日', '😀', '\u{301}', '\u{fffd}', '\u{fffc}']
        {
            assert!(!is_invisible(stays), "{stays:?}");
        }
    }

    #[test]
    fn plain_text_is_not_copied() {
        for text in ["", "Use when.", "日本語\t\n", "longer than what is looked at together — and more of it"]
        {
            assert!(matches!(escape_xml(text), Cow::Borrowed(same) if same == text));
        }
    }

    /// What the escape does, one character at a time.
    fn slowly(text: &str) -> String {
        let write = |c: char| match in_xml(c) {
            Replacement::Same => c.to_string(),
            Replacement::Text(text) => text.to_owned(),
            Replacement::Number(before, after) => format!("{before}{:X}{after}", u32::from(c)),
            // XML has no use for them.
            Replacement::Units => unreachable!("{c:?}"),
        };
        text.chars().map(write).collect()
    }

    proptest! {
        #[test]
        fn many_bytes_at_a_time_are_as_one_at_a_time(
            pieces in prop::collection::vec(prop_oneof!["[ -~]{0,70}", ".{0,8}", prop::char::any().prop_map(String::from)], 0..8),
        ) {
            let text = pieces.concat();
            prop_assert_eq!(escape_xml(&text), slowly(&text));
            prop_assert_eq!(Escape::XML.length(&text), escape_xml(&text).len());
        }
    }
}
