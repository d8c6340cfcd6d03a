//! Matches patterns with `*` against texts that may be only partly known.
//!
//! There are two matchers on purpose: [`Wildcard::surely`] returns true only without any doubt, [`Wildcard::possibly`]
//! in case of doubt as well.

use crate::shell::DYNAMIC;

/// A text to match: bytes, some of which only a rule's literal words may match.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) bytes: Vec<u8>,
    /// For each byte, whether a `*` must not match it.
    pub(crate) strict: Vec<bool>,
    /// A word contains `..`.
    pub(crate) climbs: bool,
}

impl Subject {
    pub(crate) fn plain(text: &str) -> Self {
        Self { bytes: text.as_bytes().to_vec(), strict: vec![false; text.len()], climbs: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], strict: bool) {
        self.bytes.extend_from_slice(bytes);
        self.strict.resize(self.bytes.len(), strict);
    }
}

/// Literal pieces with a `*` between each two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wildcard {
    pieces: Vec<Vec<u8>>,
    /// The pattern ends with a space and its only `*`, so it also matches the text before them alone.
    bare_too: bool,
    /// A `*` continues a path, so it must not match `..`.
    confines: bool,
}

impl Wildcard {
    /// Parses a pattern in which every `*` is a wildcard.
    pub(crate) fn new(text: &str) -> Self {
        Self::from_pieces(text.split('*').map(|piece| piece.as_bytes().to_vec()).collect())
    }

    pub(crate) fn from_pieces(mut pieces: Vec<Vec<u8>>) -> Self {
        let bare_too = match pieces.as_slice() {
            [first, last] => last.is_empty() && first.len() > 1 && first.ends_with(b" "),
            _ => false,
        };
        if pieces.is_empty() {
            pieces.push(Vec::new());
        }
        let goes_on = |piece: &Vec<u8>| {
            piece.rsplit(|byte| *byte == b' ').next().is_some_and(|word| word.contains(&b'/'))
        };
        let confines = pieces.split_last().is_some_and(|(_, before)| before.iter().any(goes_on));
        Self { pieces, bare_too, confines }
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.pieces.len() == 1
    }

    /// The text before the first `*`.
    pub(crate) fn prefix(&self) -> &[u8] {
        self.pieces.first().map_or(&[], Vec::as_slice)
    }

    /// Whether the pattern is these words followed by anything.
    pub(crate) fn is_any_use_of(&self, words: &str) -> bool {
        self.bare_too && self.prefix().strip_suffix(b" ") == Some(words.as_bytes())
    }

    /// Whether it names a relative path.
    pub(crate) fn names_relative_path(&self) -> bool {
        self.pieces.iter().enumerate().any(|(index, piece)| {
            // Text directly after a `*` continues what the `*` matches.
            let mut words = piece.split(|byte| *byte == b' ').enumerate();
            words
                .any(|(at, word)| word.contains(&b'/') && (!word.starts_with(b"/") || (index > 0 && at == 0)))
        })
    }

    /// Whether the pattern matches in every reading of the text.
    pub(crate) fn surely(&self, text: &Subject) -> bool {
        let prefix = self.prefix();
        if self.confines && text.climbs {
            return false;
        }
        // If even the program is strict, only the exact text matches.
        if text.strict.first() == Some(&true) {
            return self.is_exact() && text.bytes == prefix;
        }
        if self.bare_too && text.bytes == prefix[..prefix.len() - 1] {
            return true;
        }
        if !text.bytes.starts_with(prefix) {
            return false;
        }
        if !text.strict.contains(&true) {
            return leftmost(&self.pieces, &text.bytes);
        }
        let Some((last, middle)) = self.pieces[1..].split_last() else {
            return text.bytes.len() == prefix.len();
        };
        // The positions where the matched text may end; a `*` continues from each up to the next strict byte.
        let mut ends = vec![prefix.len()];
        for piece in middle {
            ends = after(&ends, piece, text);
        }
        let Some(start) = text.bytes.len().checked_sub(last.len()) else { return false };
        text.bytes.ends_with(last)
            && ends.iter().any(|end| *end <= start && !text.strict[*end..start].contains(&true))
    }

    /// Whether the pattern matches in some reading of the text, if unknown parts may be anything.
    pub(crate) fn possibly(&self, text: &[u8]) -> bool {
        let bare = self.bare_too.then(|| &self.prefix()[..self.prefix().len() - 1]);
        if !text.contains(&DYNAMIC) {
            return bare == Some(text) || leftmost(&self.pieces, text);
        }
        bare.is_some_and(|bare| intersects(&[bare.to_vec()], text)) || intersects(&self.pieces, text)
    }
}

/// Whether pieces with `*` between them match a fully known text: each piece at the earliest position.
fn leftmost(pieces: &[Vec<u8>], text: &[u8]) -> bool {
    let [first, others @ ..] = pieces else { return false };
    let Some(mut rest) = text.strip_prefix(first.as_slice()) else { return false };
    let Some((last, middle)) = others.split_last() else { return rest.is_empty() };
    for piece in middle.iter().filter(|piece| !piece.is_empty()) {
        let Some(at) = rest.windows(piece.len()).position(|window| window == piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// The positions where a piece may end after a `*` that starts at one of the given positions.
fn after(starts: &[usize], piece: &[u8], text: &Subject) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut starts = starts.iter().copied().peekable();
    let mut at = starts.peek().copied().unwrap_or(text.bytes.len());
    let mut open = false;
    while at + piece.len() <= text.bytes.len() {
        open |= starts.next_if_eq(&at).is_some();
        if open && text.bytes[at..].starts_with(piece) {
            ends.push(at + piece.len());
        }
        // The next position is reached by matching this byte with the `*`.
        open &= !text.strict.get(at).copied().unwrap_or(true);
        at += 1;
    }
    ends
}

/// Whether pieces with `*` between them may match a text in which [`DYNAMIC`] stands for anything.
fn intersects(pieces: &[Vec<u8>], text: &[u8]) -> bool {
    let first = pieces.first().map_or(&[][..], Vec::as_slice);
    // The usual case: different starts.
    for (wanted, found) in first.iter().zip(text) {
        if *found == DYNAMIC {
            break;
        }
        if wanted != found {
            return false;
        }
    }
    let mut pattern = Vec::with_capacity(text.len());
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 {
            pattern.push(None);
        }
        pattern.extend(piece.iter().copied().map(Some));
    }
    // `reach[j]`: the pattern up to here can match the first `j` bytes of the text.
    let star = |byte: u8| byte == DYNAMIC;
    let mut reach = vec![false; text.len() + 1];
    reach[0] = true;
    for (index, byte) in text.iter().enumerate() {
        reach[index + 1] = reach[index] && star(*byte);
    }
    for wanted in pattern {
        let mut next = vec![false; text.len() + 1];
        match wanted {
            None => {
                let mut open = false;
                for (index, place) in next.iter_mut().enumerate() {
                    open |= reach[index];
                    *place = open;
                }
            }
            Some(wanted) => {
                for index in 0..=text.len() {
                    // The unknown part takes this byte and continues.
                    let stays = index > 0 && star(text[index - 1]) && (reach[index] || reach[index - 1]);
                    let takes = index > 0 && text[index - 1] == wanted && reach[index - 1];
                    // The unknown part ends here, empty.
                    let skips = index > 0 && star(text[index - 1]) && next[index - 1];
                    next[index] = stays || takes || skips;
                }
            }
        }
        reach = next;
    }
    reach[text.len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn surely(pattern: &str, text: &str) -> bool {
        Wildcard::new(pattern).surely(&Subject::plain(text))
    }

    #[test]
    fn stars_and_bare_ends() {
        assert!(surely("ls *", "ls") && surely("ls *", "ls -la") && !surely("ls *", "lsof"));
        assert!(
            surely("ls*", "lsof") && surely("* install", "npm install") && !surely("* install", "install")
        );
        assert!(!surely("* --help *", "npm --help") && surely("* --help *", "npm --help x"));
        assert!(!surely(" *", "") && surely("", "") && !surely("", "x"));
    }

    #[test]
    fn a_star_stops_at_what_is_strict() {
        let mut text = Subject::plain("find . ");
        text.push(b"-delete", true);
        assert!(!Wildcard::new("find *").surely(&text));
        assert!(Wildcard::new("find * -delete").surely(&text));
        text.push(b" -delete", false);
        assert!(Wildcard::new("find * -delete*").surely(&text), "the first one is named");
        assert!(!Wildcard::new("find . *").surely(&text));
    }

    #[test]
    fn what_is_not_known_may_be_anything() {
        assert!(Wildcard::new("git push *").possibly(b"git \0"));
        assert!(Wildcard::new("rm *").possibly(b"\0 x") && Wildcard::new("rm *").possibly(b"\0"));
        assert!(!Wildcard::new("git push *").possibly(b"git s\0"));
        assert!(
            Wildcard::new("git push").possibly(b"git \0h") && !Wildcard::new("git push").possibly(b"git \0x")
        );
    }

    /// The same by trying everything.
    fn naive(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) if naive(rest, text) => true,
            (_, Some((&DYNAMIC, rest))) if naive(pattern, rest) => true,
            (Some((b'*', _)), Some((_, rest))) => naive(pattern, rest),
            (Some((_, more)), Some((&DYNAMIC, _))) => naive(more, text),
            (Some((wanted, more)), Some((found, rest))) => wanted == found && naive(more, rest),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn both_agree_with_trying_everything(pattern in "[ab *]{0,8}", text in "[ab \0]{0,8}") {
            let wildcard = Wildcard::new(&pattern);
            let bare = wildcard.bare_too && pattern.ends_with(" *");
            let expected = |text: &[u8]| naive(pattern.as_bytes(), text)
                || (bare && naive(&pattern.as_bytes()[..pattern.len() - 2], text));
            prop_assert_eq!(wildcard.possibly(text.as_bytes()), expected(text.as_bytes()));
            let known = text.replace('\0', "a");
            prop_assert_eq!(wildcard.surely(&Subject::plain(&known)), expected(known.as_bytes()));
        }
    }
}
