//! Which skills have a term, and how often: numbers of one to five bytes, as they are in the index.
//!
//! A list has a posting for each skill, in their order: the distance from the skill before, doubled, and one more
//! where the term stands there more than once; then how often follows.

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

/// Appends the postings of one list. They are in the order of the skills, each of which stands there once.
pub(crate) fn put_list(bytes: &mut Vec<u8>, postings: &[Posting]) {
    let mut next = 0;
    for posting in postings {
        let distance = (posting.skill - next) << 1;
        put(bytes, distance | u32::from(posting.times > 1));
        if posting.times > 1 {
            put(bytes, posting.times);
        }
        next = posting.skill + 1;
    }
}

/// One skill that has a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Posting {
    pub(crate) skill: u32,
    pub(crate) times: u32,
}

/// Takes so many postings off the beginning; fewer where the bytes do not have them.
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

    fn all(mut bytes: &[u8], count: u32) -> (Vec<Posting>, &[u8]) {
        let mut found = Vec::new();
        each(&mut bytes, count, |posting| found.push(posting));
        (found, bytes)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(skills in prop::collection::btree_map(0_u32..1 << 30, 1_u32.., 0..50)) {
            let postings: Vec<Posting> =
                skills.into_iter().map(|(skill, times)| Posting { skill, times }).collect();
            let mut bytes = Vec::new();
            put_list(&mut bytes, &postings);
            bytes.push(7);
            let (found, rest) = all(&bytes, u32::try_from(postings.len()).unwrap());
            prop_assert_eq!(found, postings);
            prop_assert_eq!(rest, &[7]);
        }

        #[test]
        fn any_bytes_are_read_to_an_end(bytes: Vec<u8>, count: u32) {
            let (found, _) = all(&bytes, count);
            prop_assert!(found.len() <= bytes.len());
            prop_assert!(found.windows(2).all(|pair| pair[0].skill < pair[1].skill || pair[1].skill == u32::MAX));
        }
    }
}
