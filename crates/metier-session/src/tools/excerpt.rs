//! Shortens long output for a model to its head and its tail.

use std::borrow::Cow;

/// The maximum number of bytes of one stream that a model sees: half from the start, half from the end.
pub const SHOWN_BYTES: usize = 32 << 10;

/// The visible part of a stream: all of it, or its head and tail.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Excerpt<'a> {
    Whole(Cow<'a, str>),
    Ends { head: Cow<'a, str>, tail: Cow<'a, str>, left_out: usize },
}

impl<'a> Excerpt<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        if bytes.len() <= SHOWN_BYTES {
            let whole = String::from_utf8_lossy(bytes);
            if whole.len() <= SHOWN_BYTES {
                return Self::Whole(whole);
            }
        }
        let head = fitting(pieces(bytes), SHOWN_BYTES / 2);
        let mut from = head.max(bytes.len().saturating_sub(SHOWN_BYTES / 2));
        if from > head {
            // A character that is cut in two is left out with the middle.
            from += bytes[from..].iter().take(3).take_while(|byte| is_inside(**byte)).count();
        }
        let last: Vec<(usize, usize)> = pieces(&bytes[from..]).collect();
        from = bytes.len() - fitting(last.into_iter().rev(), SHOWN_BYTES / 2);
        Self::Ends {
            head: String::from_utf8_lossy(&bytes[..head]),
            tail: String::from_utf8_lossy(&bytes[from..]),
            left_out: from - head,
        }
    }
}

/// The visible part of the start of some bytes.
pub(super) fn beginning(bytes: &[u8]) -> &[u8] {
    &bytes[..fitting(pieces(bytes), SHOWN_BYTES)]
}

/// Bytes as characters: for each, its length when shown, and its original length. Invalid bytes are shown as U+FFFD,
/// which is longer.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|c| (c.len_utf8(), c.len_utf8()));
        let invalid = chunk.invalid().len();
        valid.chain((invalid > 0).then_some((char::REPLACEMENT_CHARACTER.len_utf8(), invalid)))
    })
}

/// How many original bytes can be shown within a number of bytes.
fn fitting(pieces: impl Iterator<Item = (usize, usize)>, most: usize) -> usize {
    let (mut shown, mut taken) = (0, 0);
    for (length, bytes) in pieces {
        if shown + length > most {
            break;
        }
        (shown, taken) = (shown + length, taken + bytes);
    }
    taken
}

/// Whether a byte continues a character.
const fn is_inside(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_end_between_characters() {
        let short = "é".repeat(SHOWN_BYTES / 2);
        assert_eq!(Excerpt::of(short.as_bytes()), Excerpt::Whole(short.as_str().into()));
        for shift in 0..4 {
            let text = format!("{}{}", "x".repeat(shift), "😀".repeat(SHOWN_BYTES));
            let Excerpt::Ends { head, tail, left_out } = Excerpt::of(text.as_bytes()) else { panic!() };
            assert_eq!(head.len() + tail.len() + left_out, text.len());
            assert!(text.starts_with(&*head) && text.ends_with(&*tail), "{shift}");
            assert!(head.len() + tail.len() <= SHOWN_BYTES && head.len() + tail.len() > SHOWN_BYTES - 8);
        }
    }

    /// A byte that is not text is shown as a character of three bytes.
    #[test]
    fn what_is_shown_of_bytes_that_are_not_text_is_bounded_too() {
        for count in [SHOWN_BYTES / 3 + 1, SHOWN_BYTES, SHOWN_BYTES * 2] {
            let bytes = vec![0x80; count];
            let Excerpt::Ends { head, tail, left_out } = Excerpt::of(&bytes) else { panic!("{count}") };
            assert!(
                head.len() + tail.len() <= SHOWN_BYTES && head.len() + tail.len() > SHOWN_BYTES - 8,
                "{count}"
            );
            let shown = head.chars().count() + tail.chars().count();
            assert_eq!(shown + left_out, count, "each byte is one character");
        }
        let whole = vec![0x80; SHOWN_BYTES / 3];
        assert!(matches!(Excerpt::of(&whole), Excerpt::Whole(_)));
    }
}
