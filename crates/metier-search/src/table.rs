//! A sorted table of terms, each with a block of bytes: the dictionary of the index.
//!
//! The bytes come from a file and are not trusted: ranges outside the file are empty, and terms out of order
//! are not found.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::SearchError;

/// A table as stored in the index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'a> {
    /// The end of each term in `text`, and of each block in `blocks`.
    term_ends: &'a [[u8; 4]],
    text: &'a [u8],
    block_ends: &'a [[u8; 4]],
    blocks: &'a [u8],
}

impl<'a> Table<'a> {
    pub(crate) fn new([term_ends, text, block_ends, blocks]: [&'a [u8]; 4]) -> Self {
        Self { term_ends: term_ends.as_chunks().0, text, block_ends: block_ends.as_chunks().0, blocks }
    }

    pub(crate) fn len(self) -> usize {
        self.term_ends.len()
    }

    pub(crate) fn term(self, at: usize) -> &'a [u8] {
        piece(self.term_ends, self.text, at)
    }

    pub(crate) fn block(self, at: usize) -> &'a [u8] {
        piece(self.block_ends, self.blocks, at)
    }

    /// The position of a term.
    pub(crate) fn find(self, term: &[u8]) -> Option<usize> {
        self.find_in(0..self.len(), term)
    }

    fn find_in(self, range: Range<usize>, term: &[u8]) -> Option<usize> {
        let at = self.end_of(range.clone(), |other| other < term);
        (range.contains(&at) && self.term(at) == term).then_some(at)
    }

    /// The terms with this prefix.
    pub(crate) fn beginning_with(self, beginning: &[u8]) -> impl Iterator<Item = usize> + use<'a> {
        let from = self.end_of(0..self.len(), |term| term < beginning);
        let to = self.end_of(from..self.len(), |term| term.starts_with(beginning));
        from..to
    }

    /// The terms that differ from a word by at most one character: inserted, removed or changed, or two
    /// characters swapped.
    ///
    /// Up to the difference both are equal. So only terms that share a prefix with the word are checked, with
    /// every next character in the table.
    pub(crate) fn near(self, word: &str) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut alike = 0..self.len();
        for at in word.char_indices().map(|(at, _)| at).chain([word.len()]) {
            let (same, rest) = word.split_at(at);
            let mut characters = rest.chars();
            let (first, after) = (characters.next(), characters.as_str());
            let (second, beyond) = (characters.next(), characters.as_str());
            let mut find = |range: &Range<usize>, parts: [&str; 3]| {
                found.extend(self.find_in(range.clone(), parts.concat().as_bytes()));
            };
            if let (Some(first), Some(second)) = (first, second) {
                find(&alike, [same, &String::from_iter([second, first]), beyond]);
            }
            find(&alike, [same, after, ""]);
            let mut alike_further = 0..0;
            for (other, range) in self.continued(alike, same.len()) {
                find(&range, [same, other, after]);
                find(&range, [same, other, rest]);
                if rest.starts_with(other) {
                    alike_further = range;
                }
            }
            alike = alike_further;
        }
        found
    }

    /// The next characters of terms that have this many bytes in common, each with its terms.
    fn continued(self, terms: Range<usize>, length: usize) -> impl Iterator<Item = (&'a str, Range<usize>)> {
        let mut from = terms.start;
        std::iter::from_fn(move || {
            while from < terms.end {
                let term = self.term(from);
                let next = std::str::from_utf8(term).ok().and_then(|term| term.get(length..)?.chars().next());
                let Some(next) = next else {
                    from += 1;
                    continue;
                };
                let upto = length + next.len_utf8();
                let to = self.end_of_few(from..terms.end, |other| other.get(..upto) == term.get(..upto));
                let range = from..to.max(from + 1);
                from = range.end;
                return Some((std::str::from_utf8(term.get(length..upto)?).ok()?, range));
            }
            None
        })
    }

    /// The end of the prefix of a range for which a condition holds.
    fn end_of(self, range: Range<usize>, holds: impl Fn(&[u8]) -> bool) -> usize {
        let Range { start: mut from, end: mut to } = range;
        while from < to {
            let middle = from.midpoint(to);
            if holds(self.term(middle)) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// The same, faster for short prefixes.
    fn end_of_few(self, range: Range<usize>, holds: impl Fn(&[u8]) -> bool) -> usize {
        let (mut from, mut step) = (range.start, 1);
        while from + step < range.end && holds(self.term(from + step)) {
            from += step;
            step *= 2;
        }
        self.end_of(from..range.end.min(from + step), holds)
    }
}

/// The piece at a position, between the end of the previous one and its own.
fn piece<'a>(ends: &[[u8; 4]], bytes: &'a [u8], at: usize) -> &'a [u8] {
    let end = |at: usize| ends.get(at).map_or(0, |end| u32::from_le_bytes(*end) as usize);
    bytes.get(at.checked_sub(1).map_or(0, end)..end(at)).unwrap_or_default()
}

/// A table while it is being written.
#[derive(Debug, Default)]
pub(crate) struct TableWriter {
    term_ends: Vec<u8>,
    text: Vec<u8>,
    block_ends: Vec<u8>,
    /// The target for the block of the next term.
    pub(crate) blocks: Vec<u8>,
}

impl TableWriter {
    /// Adds the next term in order, with everything written to `blocks` since the last one.
    pub(crate) fn end_block(&mut self, term: &[u8]) -> Result<(), SearchError> {
        self.text.extend_from_slice(term);
        let end = |bytes: &[u8]| u32::try_from(bytes.len()).map_err(|_| SearchError::TooLarge);
        self.term_ends.extend(end(&self.text)?.to_le_bytes());
        self.block_ends.extend(end(&self.blocks)?.to_le_bytes());
        Ok(())
    }

    pub(crate) fn as_table(&self) -> Table<'_> {
        Table::new(self.sections())
    }

    /// The sections that [`Table::new`] reads.
    pub(crate) fn sections(&self) -> [&[u8]; 4] {
        [&self.term_ends, &self.text, &self.block_ends, &self.blocks]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(terms: &BTreeSet<String>) -> TableWriter {
        let mut table = TableWriter::default();
        for term in terms {
            table.blocks.extend(term.bytes().rev());
            table.end_block(term.as_bytes()).unwrap();
        }
        table
    }

    /// Whether two words differ by one character at most, the slow way.
    fn is_near(a: &str, b: &str) -> bool {
        let a: Vec<char> = a.chars().collect();
        let mut near = vec![a.clone()];
        for at in 0..=a.len() {
            let without = |count: usize| [&a[..at], &a[a.len().min(at + count)..]].concat();
            near.push(without(1));
            for c in b.chars() {
                for mut one in [without(0), without(1)] {
                    one.insert(at.min(one.len()), c);
                    near.push(one);
                }
            }
            if at + 1 < a.len() {
                let mut swapped = a.clone();
                swapped.swap(at, at + 1);
                near.push(swapped);
            }
        }
        near.contains(&b.chars().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn what_is_near_and_what_begins_alike_is_found(
            terms in prop::collection::btree_set("[abé猫]{1,5}", 0..60),
            word in "[abé猫]{0,5}",
        ) {
            let written = table(&terms);
            let table = written.as_table();
            let text = |at: usize| str::from_utf8(table.term(at)).unwrap();
            for (at, term) in terms.iter().enumerate() {
                prop_assert_eq!(table.find(term.as_bytes()), Some(at));
                prop_assert!(table.block(at).iter().eq(term.as_bytes().iter().rev()));
            }
            prop_assert_eq!(table.find(word.as_bytes()).is_some(), terms.contains(&word));
            let found: Vec<&str> = table.near(&word).into_iter().map(text).collect();
            let wanted: Vec<&String> = terms.iter().filter(|term| is_near(&word, term)).collect();
            prop_assert_eq!(found, wanted);
            let found: Vec<&str> = table.beginning_with(word.as_bytes()).map(text).collect();
            let wanted: Vec<&String> = terms.iter().filter(|term| term.starts_with(&word)).collect();
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn any_bytes_are_a_table(
            sections: [Vec<u8>; 4],
            ends in prop::collection::vec(0_u32..40, 0..20),
            word in "[ab]{0,4}",
        ) {
            let ends: Vec<u8> = ends.into_iter().flat_map(u32::to_le_bytes).collect();
            for term_ends in [&sections[0], &ends] {
                let table = Table::new([term_ends, &sections[1], &ends, &sections[3]]);
                table.near(&word);
                table.find(word.as_bytes());
                for at in table.beginning_with(word.as_bytes()).chain([table.len(), usize::MAX]) {
                    table.block(at);
                    table.term(at);
                }
            }
        }
    }
}
