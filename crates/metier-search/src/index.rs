//! The index: all data that a search needs, in one file that is read at once.
//!
//! The index is only a cache. A file that is missing, truncated, damaged, of another version or for other
//! skills is ignored. It is never modified, only replaced by renaming.
//!
//! ```text
//! magic, 16 bytes ┊ checksum of what follows ┊ fingerprint ┊ lengths of the sections ┊ section ┊ section ┊ …
//! ```
//!
//! Skills are numbered in the order of the catalog. For each skill there are its key, the lengths of its texts
//! and the two halves of its vector, followed by the table of stems and the table of words.

use std::ops::Range;

use twox_hash::XxHash3_64;

use crate::SearchError;
use crate::meaning::{COARSE, FINE, Meanings, Row};
use crate::table::{Table, TableWriter};

/// Changes with the layout of anything below.
const MAGIC: &[u8; 16] = b"metier-search-1\n";

const SECTIONS: usize = 12;
const HEAD: usize = MAGIC.len() + 8 * (2 + SECTIONS);

/// The number of searched texts per skill: name, description, and the rest.
pub(crate) const TEXTS: usize = 3;

/// An index in memory.
pub(crate) struct Index {
    bytes: Vec<u8>,
    sections: [Range<usize>; SECTIONS],
}

/// The data of each skill besides its words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Described {
    /// Changes when the skill changes.
    pub(crate) key: u64,
    /// The number of words in each of its texts.
    pub(crate) lengths: [u32; TEXTS],
    pub(crate) meaning: Row,
}

impl Index {
    /// Builds an index. The fingerprint identifies its skills.
    pub(crate) fn new(
        fingerprint: u64,
        skills: &[Described],
        stems: &TableWriter,
        words: &TableWriter,
    ) -> Result<Self, SearchError> {
        let [mut keys, mut lengths, mut coarse, mut fine] = [const { Vec::new() }; 4];
        for skill in skills {
            keys.extend(skill.key.to_le_bytes());
            lengths.extend(skill.lengths.iter().flat_map(|length| length.to_le_bytes()));
            let (first, second) = skill.meaning.split_at(COARSE);
            coarse.extend_from_slice(first);
            fine.extend_from_slice(second);
        }
        let of_skills: [&[u8]; 4] = [&keys, &lengths, &coarse, &fine];
        let sections = [of_skills, stems.sections(), words.sections()];
        let sections = sections.as_flattened();
        let mut bytes =
            Vec::with_capacity(HEAD + sections.iter().map(|section| section.len()).sum::<usize>());
        bytes.extend(MAGIC);
        bytes.extend([0; 8]);
        bytes.extend(fingerprint.to_le_bytes());
        bytes.extend(sections.iter().flat_map(|section| (section.len() as u64).to_le_bytes()));
        for section in sections {
            bytes.extend_from_slice(section);
        }
        if let Some((head, rest)) = bytes.split_at_mut_checked(MAGIC.len() + 8)
            && let Some(checksum) = head.last_chunk_mut()
        {
            *checksum = XxHash3_64::oneshot(rest).to_le_bytes();
        }
        Self::read(bytes).ok_or(SearchError::TooLarge)
    }

    /// Reads an index; `None` if the bytes are not a complete and intact one.
    pub(crate) fn read(bytes: Vec<u8>) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (checksum, rest) = rest.split_first_chunk()?;
        if XxHash3_64::oneshot(rest) != u64::from_le_bytes(*checksum) {
            return None;
        }
        let (lengths, _) = rest.get(8..)?.split_first_chunk::<{ 8 * SECTIONS }>()?;
        let mut sections = [const { 0..0 }; SECTIONS];
        let mut end = HEAD;
        for (section, length) in sections.iter_mut().zip(lengths.as_chunks().0) {
            let start = end;
            end = start.checked_add(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            *section = start..end;
        }
        let index = Self { bytes, sections };
        let skills = index.keys().len();
        let is_whole = end == index.bytes.len()
            && index.lengths().len() == skills
            && index.meanings().len() == Some(skills)
            && u32::try_from(skills).is_ok_and(|skills| skills <= SKILLS_MAX);
        is_whole.then_some(index)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Identifies the skills of the index.
    pub(crate) fn fingerprint(&self) -> u64 {
        let bytes = self.bytes.get(MAGIC.len() + 8..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// The number of skills.
    pub(crate) fn len(&self) -> usize {
        self.keys().len()
    }

    fn section(&self, at: usize) -> &[u8] {
        self.sections.get(at).and_then(|range| self.bytes.get(range.clone())).unwrap_or_default()
    }

    /// The key of each skill.
    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = u64> {
        self.section(0).as_chunks().0.iter().map(|key| u64::from_le_bytes(*key))
    }

    /// The number of words in the texts of each skill.
    pub(crate) fn lengths(&self) -> impl ExactSizeIterator<Item = [u32; TEXTS]> {
        let all = self.section(1).as_chunks::<4>().0.as_chunks::<TEXTS>().0;
        all.iter().map(|lengths| lengths.map(u32::from_le_bytes))
    }

    /// The vectors of the skills.
    pub(crate) fn meanings(&self) -> Meanings<'_> {
        Meanings {
            coarse: self.section(2).as_chunks::<COARSE>().0,
            fine: self.section(3).as_chunks::<FINE>().0,
        }
    }

    /// The data of each skill besides its words.
    pub(crate) fn skills(&self) -> Vec<Described> {
        let rows = self.meanings().rows();
        let all = self.keys().zip(self.lengths()).zip(rows);
        all.map(|((key, lengths), meaning)| Described { key, lengths, meaning }).collect()
    }

    /// The table of stems, with one list per text.
    pub(crate) fn stems(&self) -> Table<'_> {
        Table::new([4, 5, 6, 7].map(|at| self.section(at)))
    }

    /// The table of unstemmed words in names and descriptions, with one list.
    pub(crate) fn words(&self) -> Table<'_> {
        Table::new([8, 9, 10, 11].map(|at| self.section(at)))
    }
}

/// The maximum number of skills that the numbers in a list can represent.
const SKILLS_MAX: u32 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::Lexical;
    use crate::postings::{self, Posting};
    use crate::question::Question;
    use proptest::prelude::*;

    fn index() -> Index {
        let [mut stems, mut words] = [(); 2].map(|()| TableWriter::default());
        for term in ["commit", "form", "pdf"] {
            let list = |skill, times| vec![Posting { skill, times }];
            postings::put_block(&mut stems.blocks, &[list(0, 1), list(1, 2), list(2, 1)]);
            stems.end_block(term.as_bytes()).unwrap();
            postings::put_block(&mut words.blocks, &[list(1, 1)]);
            words.end_block(term.as_bytes()).unwrap();
        }
        let skill = |key| Described { key, lengths: [1, 10, 100], meaning: [1; COARSE + FINE] };
        Index::new(7, &[0, 1, 2].map(skill), &stems, &words).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// The checksum keeps accidents out; bytes that were made to pass it must do no harm either.
        #[test]
        fn any_bytes_with_a_right_checksum_can_be_asked(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        ) {
            let mut bytes = index().bytes;
            let after = MAGIC.len() + 8;
            for (at, byte) in changes {
                let at = after + at.index(bytes.len() - after);
                bytes[at] = byte;
            }
            let checksum = XxHash3_64::oneshot(&bytes[after..]).to_le_bytes();
            bytes[MAGIC.len()..after].copy_from_slice(&checksum);
            if let Some(index) = Index::read(bytes) {
                let lexical = Lexical::new(index);
                for question in ["pdf", "fill in the pdff form", "comm"] {
                    let asked = Question::new(question, &lexical);
                    let found = lexical.query(&asked, 2);
                    prop_assert!(found.iter().all(|(number, _)| *number < lexical.index.len()));
                    lexical.index.meanings().closest(&asked.meaning, 2);
                }
                lexical.index.skills();
            }
        }
    }

    #[test]
    fn what_was_put_together_is_read() {
        let index = index();
        let read = Index::read(index.bytes.clone()).unwrap();
        assert_eq!((read.fingerprint(), read.len()), (7, 3));
        assert_eq!(read.skills(), index.skills());
        assert_eq!(Lexical::new(read).find("pdf").postings(), 3);
    }
}
