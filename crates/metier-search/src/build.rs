//! Builds an index from the skills of a catalog, and reuses the last index for skills that did not change.
//!
//! Skills are read in parallel parts. The parts and the last index are then merged term by term. The result is
//! identical whether a skill was read now or taken from the last index.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::SearchError;
use crate::index::{Described, Index, TEXTS};
use crate::postings::{self, Posting};
use crate::table::{Table, TableWriter};
use crate::target::{Target, Targets};
use crate::text::Texts;

/// The minimum number of skills in a part: enough to benefit from cached words, and few parts to merge.
const PART_MIN: usize = 128;
const PART_MAX: usize = 4096;

/// Some skills, ready to be merged.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) skills: Vec<Described>,
    pub(crate) stems: TableWriter,
    pub(crate) words: TableWriter,
}

/// Marks a skill that is not in the new index.
const GONE: u32 = u32::MAX;

/// The index of these targets.
pub(crate) fn build(targets: &Targets<'_>, last: Option<&Index>) -> Result<Index, SearchError> {
    let mut known: HashMap<u64, usize> = last.map(|last| last.keys().zip(0..).collect()).unwrap_or_default();
    let described = last.map(Index::skills).unwrap_or_default();
    let mut kept = vec![GONE; described.len()];
    let mut missing: Vec<(u32, &Target<'_>)> = Vec::new();
    let mut skills: Vec<Option<Described>> = Vec::with_capacity(targets.all.len());
    for (number, target) in (0..).zip(&targets.all) {
        let skill = known.remove(&target.key).and_then(|place| {
            *kept.get_mut(place)? = number;
            described.get(place).cloned()
        });
        if skill.is_none() {
            missing.push((number, target));
        }
        skills.push(skill);
    }
    let size = (missing.len() / (4 * rayon::current_num_threads())).clamp(PART_MIN, PART_MAX);
    let parts = missing.par_chunks(size).map_init(Texts::new, |texts, chunk| {
        let numbers: Vec<u32> = chunk.iter().map(|(number, _)| *number).collect();
        Ok((numbers, texts.part(chunk.iter().map(|(_, target)| *target))?))
    });
    let parts: Vec<(Vec<u32>, Part)> = parts.collect::<Result<_, SearchError>>()?;
    for (numbers, part) in &parts {
        for (number, skill) in numbers.iter().zip(&part.skills) {
            if let Some(place) = skills.get_mut(*number as usize) {
                *place = Some(skill.clone());
            }
        }
    }
    let skills: Vec<Described> = skills.into_iter().flatten().collect();
    let sources = |of_index: fn(&Index) -> Table<'_>, of_part: fn(&Part) -> &TableWriter| {
        let last = last.map(|last| (of_index(last), kept.as_slice()));
        let parts = parts.iter().map(|(numbers, part)| (of_part(part).as_table(), numbers.as_slice()));
        last.into_iter().chain(parts).collect::<Vec<_>>()
    };
    let (stems, words) = rayon::join(
        || merge::<TEXTS>(&sources(Index::stems, |part| &part.stems)),
        || merge::<1>(&sources(Index::words, |part| &part.words)),
    );
    Index::new(targets.fingerprint(), &skills, &stems?, &words?)
}

/// Merges tables, given the new numbers of the skills of each. Every term has `LISTS` lists.
fn merge<const LISTS: usize>(sources: &[(Table<'_>, &[u32])]) -> Result<TableWriter, SearchError> {
    let mut terms: Vec<(&[u8], &[u8], &[u32])> = Vec::new();
    for (table, numbers) in sources {
        terms.extend((0..table.len()).map(|at| (table.term(at), table.block(at), *numbers)));
    }
    // Each table is already sorted, which makes this fast.
    terms.sort_by_key(|(term, _, _)| *term);
    let mut merged = TableWriter::default();
    let mut lists = [const { Vec::new() }; LISTS];
    for same in terms.chunk_by(|(a, _, _), (b, _, _)| a == b) {
        for (_, block, numbers) in same {
            read_block(block, numbers, &mut lists);
        }
        if let Some((term, _, _)) = same.first().filter(|_| lists.iter().any(|list| !list.is_empty())) {
            write_block(&mut merged, &mut lists);
            merged.end_block(term)?;
        }
    }
    Ok(merged)
}

/// Adds the postings of a block for skills that have a new number.
fn read_block<const LISTS: usize>(mut block: &[u8], numbers: &[u32], lists: &mut [Vec<Posting>; LISTS]) {
    let counts: [u32; LISTS] = postings::counts(&mut block);
    for (list, count) in lists.iter_mut().zip(counts) {
        postings::each(&mut block, count, |posting| {
            let number = numbers.get(posting.skill as usize).filter(|number| **number != GONE);
            list.extend(number.map(|number| Posting { skill: *number, times: posting.times }));
        });
    }
}

/// Writes a block and empties the lists.
pub(crate) fn write_block<const LISTS: usize>(table: &mut TableWriter, lists: &mut [Vec<Posting>; LISTS]) {
    for list in lists.iter_mut() {
        list.sort_unstable();
        list.dedup_by_key(|posting| posting.skill);
    }
    postings::put_block(&mut table.blocks, lists);
    for list in lists {
        list.clear();
    }
}
