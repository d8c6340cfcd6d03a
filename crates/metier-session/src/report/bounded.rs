//! Lists with limits for a record: a maximum number of entries and of JSON bytes. Scripts choose the names in them, so
//! a long text is shortened instead of left out, and takes no space from the entries after it.

use metier_journal::{ConnectionRecord, PlantedFile};
use metier_skill::Digest;
use serde::Serialize;

/// The maximum number of entries of a list, and of their JSON bytes.
const MOST: usize = 100;
pub(super) const MOST_BYTES: usize = 16 << 10;
/// The maximum number of JSON bytes of one text, and the smaller limit when a list has no space for that.
const LONGEST: usize = 512;
const SHORTEST: usize = 128;
/// Digits of the digest in a shortened text.
const DIGITS: usize = 12;

/// An entry of a list.
pub(super) trait Entry: Serialize + Sized {
    /// The same entry, with texts of at most this many JSON bytes.
    fn shortened(&self, most: usize) -> Self;
}

impl Entry for String {
    fn shortened(&self, most: usize) -> Self {
        shorten(self, most)
    }
}

impl Entry for ConnectionRecord {
    fn shortened(&self, most: usize) -> Self {
        let refused = self.refused.as_deref().map(|text| shorten(text, most));
        Self { to: shorten(&self.to, most), refused, times: self.times }
    }
}

impl Entry for PlantedFile {
    fn shortened(&self, most: usize) -> Self {
        Self {
            path: shorten(&self.path, most),
            obeyed_by: shorten(&self.obeyed_by, most),
            moved_to: self.moved_to.as_deref().map(|text| shorten(text, most)),
            ..self.clone()
        }
    }
}

/// As many of these as fit into a list.
pub(super) fn bounded<T: Entry>(all: &[T]) -> Vec<T> {
    let all = &all[..all.len().min(MOST)];
    let kept: Vec<T> = all.iter().map(|one| one.shortened(LONGEST)).collect();
    if kept.iter().map(size).sum::<usize>() <= MOST_BYTES {
        return kept;
    }
    let mut room = MOST_BYTES;
    let fits = |one: &T| {
        let left = room.checked_sub(size(one));
        room = left.unwrap_or(room);
        left.is_some()
    };
    all.iter().map(|one| one.shortened(SHORTEST)).filter(fits).collect()
}

/// The bytes of an entry in a list, including the comma.
fn size<T: Serialize>(one: &T) -> usize {
    serde_json::to_string(one).map_or(MOST_BYTES + 1, |json| json.len() + 1)
}

/// The start and the end of a text that is too long, with the first digits of its SHA-256 between them.
fn shorten(text: &str, most: usize) -> String {
    if 2 + text.chars().map(escaped).sum::<usize>() <= most {
        return text.to_owned();
    }
    let digest = &Digest::of(text.as_bytes()).hex()[..DIGITS];
    let half = most.saturating_sub(2 + 2 * '…'.len_utf8() + DIGITS) / 2;
    let start: String = fitting(text.chars(), half).collect();
    let mut end: Vec<char> = fitting(text.chars().rev(), half).collect();
    end.reverse();
    format!("{start}…{digest}…{}", end.into_iter().collect::<String>())
}

/// As many of these characters as fit.
fn fitting(characters: impl Iterator<Item = char>, mut room: usize) -> impl Iterator<Item = char> {
    characters.take_while(move |character| {
        let left = room.checked_sub(escaped(*character));
        room = left.unwrap_or(0);
        left.is_some()
    })
}

/// The bytes of a character in JSON.
const fn escaped(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_takes_as_many_bytes_as_it_may() {
        for unit in ["a", "é", "\u{1}", "\n", "\"", "🦀", "\u{7f}"] {
            for length in 0..300 {
                let text = unit.repeat(length);
                let json = serde_json::to_string(&text).unwrap();
                let shortened = shorten(&text, SHORTEST);
                assert!(serde_json::to_string(&shortened).unwrap().len() <= SHORTEST, "{unit:?} {length}");
                assert_eq!(shortened == text, json.len() <= SHORTEST, "{unit:?} {length}");
            }
        }
    }
}
