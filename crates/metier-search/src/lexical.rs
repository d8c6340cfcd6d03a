//! Finds skills by words, and scores them by the rarity and position of the words.

use crate::index::{Index, TEXTS};
use crate::postings;
use crate::question::Question;
use crate::table::Table;

/// The maximum number of similar words to look up: one letter away, or with the same prefix.
const NEAR_MAX: usize = 3;
const BEGINNING_MAX: usize = 5;
/// The maximum number of words to check when looking for the most common ones with a prefix.
const BEGINNING_SEEN: usize = 200;

/// The weights of a word in the name, the description and the rest, and the effect of repetition and length (as
/// in BM25F).
const WEIGHTS: [f32; TEXTS] = [3.0, 1.0, 0.3];
const DAMPING: f32 = 0.8;
const LENGTH: f32 = 0.75;

/// An index with precomputed data that every query needs.
pub(crate) struct Lexical {
    pub(crate) index: Index,
    /// For each text of each skill, the penalty for its length.
    norms: [Vec<f32>; TEXTS],
}

/// A stem in the index.
pub(crate) struct Found {
    place: Option<usize>,
    /// How many names, descriptions and other texts contain it.
    counts: [u32; TEXTS],
    /// A lower bound for the number of skills that contain it.
    pub(crate) count: u32,
    /// Its weight: the fewer skills contain it, the higher.
    pub(crate) rarity: f32,
}

impl Found {
    /// The number of postings to read.
    pub(crate) fn postings(&self) -> usize {
        self.counts.iter().map(|count| *count as usize).sum()
    }
}

impl Lexical {
    pub(crate) fn new(index: Index) -> Self {
        let mut words = [0_u64; TEXTS];
        for lengths in index.lengths() {
            for (sum, length) in words.iter_mut().zip(lengths) {
                *sum += u64::from(length);
            }
        }
        let skills = as_f32(index.len() as u64).max(1.0);
        let per_length = words.map(|words| LENGTH / (as_f32(words) / skills).max(1.0));
        let mut norms = [const { Vec::new() }; TEXTS];
        for lengths in index.lengths() {
            for ((norms, per_length), length) in norms.iter_mut().zip(per_length).zip(lengths) {
                norms.push(1.0 - LENGTH + per_length * as_f32(rounded(length).max(1).into()));
            }
        }
        Self { index, norms }
    }

    /// Looks up a stem.
    pub(crate) fn find(&self, stem: &str) -> Found {
        let stems = self.index.stems();
        let place = stems.find(stem.as_bytes());
        let counts: [u32; TEXTS] = postings::counts(&mut place.map_or(&[], |place| stems.block(place)));
        let count = counts.into_iter().max().unwrap_or(0);
        let (all, having) = (as_f32(self.index.len() as u64), as_f32(count.into()));
        let rarity = (1.0 + (all - having + 0.5).max(0.0) / (having + 0.5)).ln();
        Found { place, counts, count, rarity }
    }

    /// The best skills for a query, each with a score of about one for a perfect match.
    pub(crate) fn query(&self, question: &Question, limit: usize) -> Vec<(usize, f32)> {
        let most: f32 = question.concepts.iter().map(|concept| concept.rarity).sum();
        let mut best = self.score(question);
        if best.len() > limit {
            best.select_nth_unstable_by(limit, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            best.truncate(limit);
        }
        for (_, score) in &mut best {
            *score /= most.max(f32::MIN_POSITIVE);
        }
        best
    }

    /// Scores every skill that contains any of the words. For each concept, the best alternative counts.
    fn score(&self, question: &Question) -> Vec<(usize, f32)> {
        let [mut total, mut of_concept, mut of_term] = [(); 3].map(|()| Sums::new(self.index.len()));
        for concept in &question.concepts {
            for alternative in &concept.alternatives {
                self.frequencies(&alternative.found, &mut of_term);
                let worth = alternative.weight * alternative.found.rarity;
                of_term.drain(|skill, frequency| {
                    of_concept.raise(skill, worth * frequency / (frequency + DAMPING));
                });
            }
            of_concept.drain(|skill, score| total.add(skill, score));
        }
        let mut all = Vec::with_capacity(total.count);
        total.drain(|skill, score| all.push((skill as usize, score)));
        all
    }

    /// The frequency of a stem in each skill, weighted by text and text length.
    fn frequencies(&self, found: &Found, sums: &mut Sums) {
        let Some(place) = found.place else { return };
        let mut block = self.index.stems().block(place);
        let counts: [u32; TEXTS] = postings::counts(&mut block);
        for ((count, norms), weight) in counts.into_iter().zip(&self.norms).zip(WEIGHTS) {
            postings::each(&mut block, count, |posting| {
                if let Some(norm) = norms.get(posting.skill as usize) {
                    sums.add(posting.skill, weight * as_f32(posting.times.into()) / norm);
                }
            });
        }
    }

    /// Words of names and descriptions that differ by one letter, most common first.
    pub(crate) fn near(&self, word: &str) -> Vec<String> {
        let words = self.index.words();
        commonest(words, words.near(word).into_iter(), NEAR_MAX)
    }

    /// Words of names and descriptions with this prefix, most common first.
    pub(crate) fn beginning_with(&self, word: &str) -> Vec<String> {
        let words = self.index.words();
        commonest(words, words.beginning_with(word.as_bytes()).take(BEGINNING_SEEN), BEGINNING_MAX)
    }
}

/// The words that occur in most skills.
fn commonest(words: Table<'_>, places: impl Iterator<Item = usize>, most: usize) -> Vec<String> {
    let counted = |place| {
        let [count] = postings::counts(&mut words.block(place));
        (count, place)
    };
    let mut all: Vec<(u32, usize)> = places.map(counted).collect();
    all.sort_by(|(a, _), (b, _)| b.cmp(a));
    let text = |(_, place)| String::from_utf8_lossy(words.term(place)).into_owned();
    all.into_iter().take(most).map(text).collect()
}

/// A length of 40 or more, rounded to four significant bits. Longer texts need no more precision.
fn rounded(length: u32) -> u32 {
    let beyond = length.saturating_sub(24);
    let dropped = (u32::BITS - beyond.leading_zeros()).saturating_sub(4);
    length.min(24) + (beyond >> dropped << dropped)
}

/// A number for each skill; most are zero.
struct Sums {
    numbers: Vec<f32>,
    /// The skills with a non-zero number. Only the first `count` entries are valid.
    touched: Vec<u32>,
    count: usize,
}

impl Sums {
    fn new(skills: usize) -> Self {
        Self { numbers: vec![0.0; skills], touched: vec![0; skills + 1], count: 0 }
    }

    #[inline]
    fn change(&mut self, skill: u32, change: impl FnOnce(f32) -> f32) {
        let Some(number) = self.numbers.get_mut(skill as usize) else { return };
        // Always written and counted only if new, because a branch here could not be predicted.
        if let Some(place) = self.touched.get_mut(self.count) {
            *place = skill;
        }
        self.count += usize::from(*number == 0.0);
        *number = change(*number);
    }

    #[inline]
    fn add(&mut self, skill: u32, more: f32) {
        self.change(skill, |number| number + more);
    }

    #[inline]
    fn raise(&mut self, skill: u32, to: f32) {
        self.change(skill, |number| number.max(to));
    }

    /// Passes on every non-zero number and resets it.
    #[inline]
    fn drain(&mut self, mut each: impl FnMut(u32, f32)) {
        for skill in self.touched.iter().take(std::mem::take(&mut self.count)) {
            if let Some(number) = self.numbers.get_mut(*skill as usize) {
                each(*skill, std::mem::take(number));
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of skills and words need no more precision")]
fn as_f32(count: u64) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_rounded_down_from_forty_on() {
        assert!((0..=40).all(|length| rounded(length) == length));
        assert_eq!([41, 42, 55, 56, 59, 60, 90, 1000].map(rounded), [40, 42, 54, 56, 56, 60, 88, 984]);
        assert!(rounded(u32::MAX) > u32::MAX / 2);
    }
}
