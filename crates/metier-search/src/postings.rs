//! Posting lists: which skills contain a term, and how often. Numbers take one to five bytes, as in the index.
//!
//! A block starts with the number of postings in each of its lists. Postings are sorted by skill. Each is
//! stored as twice the gap to the previous skill, plus one if the term occurs more than once; then the
//! frequency follows. Two bytes for each posting would make the index half as large again.

/// Appends a number, seven bits per byte, lowest bits first.
#[expect(clippy::cast_possible_truncation, reason = "what does not fit into a byte goes into the next")]
pub(crate) fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number from the start, if there is one.
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

/// Reads the numbers of postings of a block's lists from its start; the lists remain.
pub(crate) fn counts<const LISTS: usize>(block: &mut &[u8]) -> [u32; LISTS] {
    [(); LISTS].map(|()| take(block).unwrap_or(0))
}

/// Appends a block. The postings of each list are sorted by skill, each skill once.
pub(crate) fn put_block(bytes: &mut Vec<u8>, lists: &[Vec<Posting>]) {
    for list in lists {
        put(bytes, u32::try_from(list.len()).unwrap_or(u32::MAX));
    }
    for list in lists {
        let mut next = 0;
        for posting in list {
            let between = (posting.skill - next) << 1;
            put(bytes, between | u32::from(posting.times > 1));
            if posting.times > 1 {
                put(bytes, posting.times);
            }
            next = posting.skill + 1;
        }
    }
}

/// One skill that contains a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Posting {
    pub(crate) skill: u32,
    pub(crate) times: u32,
}

/// Reads this many postings from the start, or fewer if the bytes end.
#[inline]
pub(crate) fn each(bytes: &mut &[u8], count: u32, mut each: impl FnMut(Posting)) {
    let mut next = 0_u32;
    for _ in 0..count {
        let Some(number) = take(bytes) else { return };
        let times = if number & 1 == 0 { Some(1) } else { take(bytes) };
        let (Some(skill), Some(times)) = (next.checked_add(number >> 1), times) else { return };
        each(Posting { skill, times });
        next = skill.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(mut block: &[u8]) -> ([Vec<Posting>; 2], &[u8]) {
        let counts = counts::<2>(&mut block);
        let lists = counts.map(|count| {
            let mut found = Vec::new();
            each(&mut block, count, |posting| found.push(posting));
            found
        });
        (lists, block)
    }

    fn list() -> impl Strategy<Value = Vec<Posting>> {
        let skill = prop_oneof![0_u32..200, 0_u32..1 << 30];
        let times = prop_oneof![Just(1), 1_u32..];
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
