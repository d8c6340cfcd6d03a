//! Normalized text for matching rules, with the positions in the original file.
//!
//! Attackers write text that people and agents read differently than a pattern does. Here patterns read the same
//! text: compatibility forms are folded (NFKC), invisible characters removed, letters that look Latin replaced,
//! continued lines and split quotes joined, character references resolved, and capitals lowered.

mod shown;

use std::ops::Range;

use metier_skill::is_invisible;
use unicode_normalization::UnicodeNormalization as _;

use super::confusable;

/// Lower-case text, and for each byte its position in the file.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) text: Vec<u8>,
    /// Offsets in the file; one for each byte and one for the end.
    places: Vec<u32>,
    /// The places where the normalized text differs from the file.
    changed: Vec<usize>,
}

impl View {
    /// The original bytes in lower case, limited to some lines around each difference. Elsewhere both are equal.
    pub(super) fn raw(&self, bytes: &[u8]) -> Self {
        const AROUND: usize = 600;
        let mut raw = Self::default();
        let mut end = 0;
        for place in &self.changed {
            let start = place.saturating_sub(AROUND).max(end);
            end = bytes.len().min(place + AROUND).max(end);
            raw.text.extend(bytes[start..end].iter().map(u8::to_ascii_lowercase));
            raw.places.extend((start..end).map(offset));
        }
        raw.places.push(offset(end));
        raw
    }

    /// The normalized text.
    pub(super) fn read(bytes: &[u8]) -> Self {
        Self::read_chars(&chars(bytes), bytes.len())
    }

    /// The normalized text of characters that are already decoded.
    pub(super) fn read_chars(chars: &[Char], length: usize) -> Self {
        let (text, places) = (Vec::with_capacity(length), Vec::with_capacity(length + 1));
        let mut view = Self { text, places, changed: Vec::new() };
        let mut at = 0;
        while let Some(&(place, c)) = chars.get(at) {
            // Nearly all characters are letters.
            if c.is_ascii_alphanumeric() || c == ' ' {
                view.text.push(c.to_ascii_lowercase() as u8);
                view.places.push(place);
                at += 1;
                continue;
            }
            let skipped = joined(chars, at);
            if skipped > 0 {
                view.changed.push(place as usize);
                at += skipped;
                continue;
            }
            if let Some((c, length)) = reference(&chars[at..]) {
                view.changed.push(place as usize);
                view.push(c, place);
                at += length;
                continue;
            }
            view.push(c, place);
            at += 1;
        }
        view.places.push(offset(length));
        view
    }

    /// The text as a rendered page shows it: without emphasis, inline tags, comments and link syntax. `None` if it
    /// has none of these. Code marks stay, because they show what is quoted. Link addresses stay, before their text,
    /// because many rules need them.
    pub(super) fn as_shown(&self) -> Option<Self> {
        let (text, places) = (Vec::with_capacity(self.text.len()), Vec::with_capacity(self.places.len()));
        let mut shown = Self { text, places, changed: Vec::new() };
        let mut link: Option<shown::Link> = None;
        let (mut at, mut has_links) = (0, false);
        while let Some(byte) = self.text.get(at) {
            if let Some(ended) = link.take_if(|link| link.shown.end == at) {
                at = ended.end;
                continue;
            }
            if link.is_none()
                && let Some(found) = shown::link(&self.text, at)
            {
                if let Some(address) = &found.address {
                    shown.copy(self, address.clone());
                }
                (at, has_links) = (found.shown.start, true);
                link = Some(found);
                continue;
            }
            match shown::unshown(&self.text, at) {
                0 => {
                    shown.text.push(*byte);
                    shown.places.push(self.places[at]);
                    at += 1;
                }
                length => at += length,
            }
        }
        shown.places.extend(self.places.last());
        (has_links || shown.text.len() < self.text.len()).then_some(shown)
    }

    fn copy(&mut self, other: &Self, range: Range<usize>) {
        self.text.extend_from_slice(&other.text[range.clone()]);
        self.places.extend_from_slice(&other.places[range]);
    }

    /// The position in the file of a byte of the text.
    pub(super) fn place(&self, at: usize) -> usize {
        self.places.get(at).or(self.places.last()).map_or(0, |place| *place as usize)
    }

    fn push(&mut self, c: char, place: u32) {
        if c.is_ascii() {
            if c == '\n' || c == '\t' || !c.is_ascii_control() {
                self.text.push(c.to_ascii_lowercase() as u8);
                self.places.push(place);
            }
            return;
        }
        let mut buffer = [0; 4];
        for c in std::iter::once(c).nfkc() {
            let folded = if c.is_ascii() { c } else { confusable::folded(c) };
            if is_invisible(c) || (folded != c && c.is_alphabetic()) {
                self.changed.push(place as usize);
            }
            if is_invisible(c) {
                continue;
            }
            let c = folded;
            for c in c.to_lowercase() {
                let bytes = c.encode_utf8(&mut buffer).as_bytes();
                self.text.extend_from_slice(bytes);
                self.places.extend(bytes.iter().map(|_| place));
            }
        }
    }
}

/// A character and its position.
pub(super) type Char = (u32, char);

/// Files larger than four gigabytes are never scanned.
fn offset(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// The characters of a file with their positions: UTF-8, or UTF-16 with a byte order mark. Invalid bytes become
/// U+FFFD.
pub(super) fn chars(bytes: &[u8]) -> Vec<Char> {
    let wide: Option<fn([u8; 2]) -> u16> = match bytes {
        [0xff, 0xfe, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] => Some(u16::from_be_bytes),
        _ => None,
    };
    if let Some(unit) = wide {
        let units = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let mut at = 2;
        return char::decode_utf16(units)
            .map(|c| {
                let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
                let place = at;
                at += 2 * c.len_utf16();
                (offset(place), c)
            })
            .collect();
    }
    let mut chars = Vec::with_capacity(bytes.len());
    let mut start = 0;
    for chunk in bytes.utf8_chunks() {
        chars.extend(chunk.valid().char_indices().map(|(at, c)| (offset(start + at), c)));
        start += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            chars.push((offset(start), char::REPLACEMENT_CHARACTER));
            start += chunk.invalid().len();
        }
    }
    chars
}

/// The number of characters here that only split what a shell or an interpreter joins: a backslash at the end of a
/// line, an empty pair of quotes, two quotes with a plus sign between them, or a backslash before punctuation.
fn joined(chars: &[Char], here: usize) -> usize {
    let at = |index: usize| chars.get(here + index).map(|(_, c)| *c);
    match (at(0), at(1), at(2)) {
        // A fence, not a continued line.
        (Some('`'), Some('\n'), _) if here > 0 && chars[here - 1].1 == '`' => 0,
        (Some('\\' | '`' | '^'), Some('\n'), _) => 2,
        (Some('\\'), Some('\r'), Some('\n')) => 3,
        (Some('\\'), Some('&' | '|' | '*' | '[' | ']' | '(' | ')' | '_' | '<' | '>' | '-' | '.'), _) => 1,
        // Three are a multi-line string, or a fence.
        (Some(quote @ ('"' | '\'')), Some(same), third) if quote == same && third != Some(quote) => {
            let is_inside_word = third.is_some_and(char::is_alphanumeric);
            if is_inside_word { 2 } else { 0 }
        }
        (Some(quote @ ('"' | '\'')), Some(' ' | '+'), _) => {
            let rest = chars.iter().skip(here + 1).take(6).take_while(|(_, c)| matches!(c, ' ' | '+'));
            let (blanks, pluses) =
                rest.fold((0, 0), |(all, pluses), (_, c)| (all + 1, pluses + usize::from(*c == '+')));
            if pluses == 1 && at(1 + blanks) == Some(quote) { blanks + 2 } else { 0 }
        }
        _ => 0,
    }
}

/// A numeric character reference, and its length in characters.
fn reference(chars: &[Char]) -> Option<(char, usize)> {
    if chars.first()?.1 != '&' || chars.get(1)?.1 != '#' {
        return None;
    }
    let is_hex = matches!(chars.get(2)?.1, 'x' | 'X');
    let (start, radix) = if is_hex { (3, 16) } else { (2, 10) };
    let digits: String =
        chars.iter().skip(start).take(8).map(|(_, c)| *c).take_while(char::is_ascii_hexdigit).collect();
    let end = start + digits.len();
    let ends = chars.get(end).is_some_and(|(_, c)| *c == ';');
    let c = char::from_u32(u32::from_str_radix(&digits, radix).ok()?)?;
    Some((c, end + usize::from(ends)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        String::from_utf8(View::read(text.as_bytes()).text).unwrap()
    }

    #[test]
    fn what_is_read_the_same_is_the_same() {
        assert_eq!(read("I\u{200b}gn\u{ad}ore ｔｈｉｓ"), "ignore this");
        assert_eq!(read("\u{456}gn\u{43e}re"), "ignore", "Cyrillic letters");
        assert_eq!(read("cu''rl \\\n x"), "curl  x");
        assert_eq!(read("'ba' + 'sh'"), "'bash'");
        assert_eq!(read("&#105;gnor&#x65;"), "ignore");
        assert_eq!(read("a \\| b \\&\\& c"), "a | b && c");
        assert_eq!(read("x = ''\ny"), "x = ''\ny");
        assert_eq!(read("iwr `\n-uri x"), "iwr -uri x");
        assert_eq!(read("```\ncode\n```\ntext"), "```\ncode\n```\ntext", "fences are the ends of lines");
    }

    #[test]
    fn what_a_page_does_not_show_is_not_read() {
        let shown = |text: &str| {
            View::read(text.as_bytes()).as_shown().map(|view| String::from_utf8(view.text).unwrap())
        };
        for (text, wanted) in [
            ("**Password**: x", "password: x"),
            ("__pass__: _x_", "pass: x"),
            ("pass<b>word</b>: x", "password: x"),
            ("<span style=\"a\">pass</span>: x", "pass: x"),
            ("<span title=\"<>\">pass</span>: x", "pass: x"),
            ("ig**nore** all", "ignore all"),
            ("~~old~~ ***new***", "old new"),
            ("<code>password</code>: x", "password: x"),
            ("pass<wbr>word<wbr/>: x", "password: x"),
            ("pass<!-- a\nb -->word: x", "password: x"),
            ("****password****: ____x____", "password: x"),
            ("pass<x-a b='c'>word</x-a>: x", "password: x"),
            ("pass<x></x>word: x", "password: x"),
            ("pass<data>word: x", "password: x"),
            ("[password](#a): x", "password: x"),
            ("[pass](#a)[word](<#b> \"c\"): x", "password: x"),
            ("[**pass**word][a]: x", "password: x"),
            ("pass[word](https://a.test/(b)): x", "password: x"),
            ("the [tool](https://a.test/b.zip) x", "the (https://a.test/b.zip)tool x"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(wanted), "{text}");
        }
        for text in [
            "* a list",
            "2 * 3",
            "snake_case_name",
            "a < b > c",
            "<div>a</div>",
            "~/x",
            "-----",
            "rm -rf /<dir>",
            "rm -rf /<data>",
            "<!-- not closed",
            "- [ ] a (b)",
            "![a](https://a.test)",
            "[a]",
            "[a\n\nb](c)",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn a_place_leads_back_from_what_is_shown() {
        let view = View::read(b"a **b** c").as_shown().unwrap();
        assert_eq!((view.text.as_slice(), view.place(2), view.place(4)), (&b"a b c"[..], 4, 8));
        let view = View::read(b"a [b](#c) d").as_shown().unwrap();
        assert_eq!((view.text.as_slice(), view.place(2), view.place(4)), (&b"a b d"[..], 3, 10));
    }

    #[test]
    fn a_place_leads_back_to_the_file() {
        let bytes = "é\u{200b}\u{200b}x".as_bytes();
        let view = View::read(bytes);
        assert_eq!(view.place(2), 8);
        assert_eq!(view.place(3), bytes.len());
        let wide: Vec<u8> = [0xfeff_u16, 0x41, 0x42].iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let view = View::read(&wide);
        assert_eq!((view.text.as_slice(), view.place(1)), (&b"ab"[..], 4));
        assert_eq!(View::read(b"a\xffb").place(4), 2);
    }
}
