//! Which skills have a term, and how often, as it is in the index: a block of lists.
//!
//! A block begins with a head for each of its lists. A list has two bytes for each posting, in the order of the skills: how
//! many skills are between it and the one before. They take more room than numbers of one to five bytes would, and half
//! the time to read. How often the term stands there follows for all of them, unless it is once everywhere.

/// Appends a number, seven bits a byte, the lowest first.
#[expect(clippy::cast_possible_truncation, reason = "what does not fit into a byte goes into the next")]
pub(crate) fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number off the beginning, if there is one.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u32> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    if first < 0x80 {
        return Some(first.into());
    }
    let mut number = u32::from(first & 0x7f);
    for shift in [7, 14, 21, 28] {
        let (&next, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(next & 0x7f) << shift;
        if next < 0x80 {
            return Some(number);
        }
    }
    None
}

/// One skill that has a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Posting {
    pub(crate) skill: u32,
    pub(crate) times: u32,
}

/// Instead of a posting: so many skills do not have the term.
const SKIP: u16 = u16::MAX;

/// What a block says of one of its lists.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Head {
    /// How many postings it has.
    pub(crate) count: u32,
    /// The same with what is skipped.
    steps: u32,
    has_times: bool,
}

/// Takes the heads off the beginning of a block; its lists remain.
pub(crate) fn heads<const LISTS: usize>(block: &mut &[u8]) -> [Head; LISTS] {
    [(); LISTS].map(|()| {
        let number = take(block).unwrap_or(0);
        let count = number >> 2;
        let steps = if number & 2 == 0 { count } else { take(block).unwrap_or(0) };
        Head { count, steps, has_times: number & 1 != 0 }
    })
}

/// Takes a list off the beginning of what remains of a block. What the bytes do not have is left out.
#[inline]
pub(crate) fn each(lists: &mut &[u8], head: Head, mut each: impl FnMut(Posting)) {
    let (steps, mut rest) = lists.split_at_checked(2 * head.steps as usize).unwrap_or((lists, &[]));
    let mut next = 0_u32;
    for step in steps.as_chunks().0 {
        let step = u16::from_le_bytes(*step);
        next = next.wrapping_add(step.into());
        if step != SKIP {
            let times = if head.has_times { take(&mut rest).unwrap_or(0) } else { 1 };
            each(Posting { skill: next, times });
            next = next.wrapping_add(1);
        }
    }
    *lists = rest;
}

/// Appends a block. The postings of each list are in the order of the skills, each of which stands there once.
pub(crate) fn put_block(bytes: &mut Vec<u8>, lists: &[Vec<Posting>]) {
    let mut steps = Vec::new();
    let mut times = Vec::new();
    let mut written = Vec::new();
    for list in lists {
        let mut next = 0;
        for posting in list {
            let between = posting.skill - next;
            steps.extend(std::iter::repeat_n(SKIP, (between / u32::from(SKIP)) as usize));
            steps.extend(u16::try_from(between % u32::from(SKIP)));
            next = posting.skill + 1;
        }
        let has_times = list.iter().any(|posting| posting.times != 1);
        if has_times {
            for posting in list {
                put(&mut times, posting.times);
            }
        }
        let has_skips = steps.len() != list.len();
        let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        put(bytes, length(list.len()) << 2 | u32::from(has_skips) << 1 | u32::from(has_times));
        if has_skips {
            put(bytes, length(steps.len()));
        }
        written.extend(steps.drain(..).flat_map(u16::to_le_bytes));
        written.append(&mut times);
    }
    bytes.append(&mut written);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(mut block: &[u8]) -> ([Vec<Posting>; 2], &[u8]) {
        let heads = heads::<2>(&mut block);
        let lists = heads.map(|head| {
            let mut found = Vec::new();
            each(&mut block, head, |posting| found.push(posting));
            found
        });
        (lists, block)
    }

    fn list() -> impl Strategy<Value = Vec<Posting>> {
        let skill = prop_oneof![0_u32..200, 0_u32..1 << 20];
        let times = prop_oneof![Just(1), any::<u32>()];
        let all = prop::collection::btree_map(skill, times, 0..50);
        all.prop_map(|all| all.into_iter().map(|(skill, times)| Posting { skill, times }).collect())
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(lists in [list(), list()]) {
            let mut bytes = Vec::new();
            put_block(&mut bytes, &lists);
            bytes.push(7);
            let (found, rest) = all(&bytes);
            prop_assert_eq!(found, lists);
            prop_assert_eq!(rest, &[7]);
        }

        #[test]
        fn any_bytes_are_read_to_an_end(bytes: Vec<u8>) {
            let (found, _) = all(&bytes);
            prop_assert!(found.iter().map(Vec::len).sum::<usize>() <= bytes.len());
        }
    }
}
