//! A parsed query: its concepts with alternative words, and its meaning.

use std::collections::HashSet;

use crate::lexical::{Found, Lexical};
use crate::meaning::{Model, Vector};
use crate::synonyms::{PHRASE_MAX, synonyms};
use crate::words::{Words, is_stop_word, is_unparted};

/// The maximum number of words of a query to look up.
const WORDS_MAX: usize = 32;

/// The weights of alternative words relative to the word in the query.
const TYPING_ERROR: f32 = 0.85;
const BEGINNING: f32 = 0.7;
const JOINED: f32 = 0.8;
const SYNONYM: f32 = 0.8;
/// The same for the meaning.
const SYNONYM_MEANING: f32 = 0.2;

/// The maximum number of postings to read for a query, about a millisecond. Only libraries with tens of
/// thousands of skills have more.
const POSTINGS_MAX: usize = 150_000;

/// Less similar neighbours have another meaning.
const NEIGHBOUR_MIN: f32 = 0.3;

/// One concept of a query.
pub(crate) struct Concept {
    /// Its main stem: the stem in the query, or the one that was probably meant.
    main: String,
    /// The weight of that stem.
    pub(crate) rarity: f32,
    /// All stems that match.
    pub(crate) alternatives: Vec<Alternative>,
}

/// An alternative stem.
pub(crate) struct Alternative {
    stem: String,
    /// Its weight relative to the word in the query.
    pub(crate) weight: f32,
    pub(crate) found: Found,
}

impl Concept {
    /// Adds an alternative if some skill contains it. If it is added twice, the first weight counts.
    fn add(&mut self, stem: &str, weight: f32, index: &Lexical) {
        if !self.alternatives.iter().any(|other| other.stem == stem) {
            let found = index.find(stem);
            if found.count > 0 {
                self.alternatives.push(Alternative { stem: stem.to_owned(), weight, found });
            }
        }
    }
}

/// A query, ready to be answered.
pub(crate) struct Question {
    pub(crate) concepts: Vec<Concept>,
    pub(crate) meaning: Vector,
}

impl Question {
    pub(crate) fn new(text: &str, index: &Lexical) -> Self {
        let mut stems = Words::new();
        let words = words(text);
        let mut concepts: Vec<Concept> = Vec::with_capacity(words.len());
        for (at, word) in words.iter().enumerate() {
            concepts.push(concept(word, at + 1 == words.len(), &mut stems, index));
        }
        for (concept, pair) in concepts.iter_mut().zip(words.windows(2)) {
            let joined = stems.stem(&pair.concat()).to_owned();
            if joined.len() >= 5 {
                concept.add(&joined, JOINED, index);
            }
        }
        let mut question = Self { concepts, meaning: Vector::ZERO };
        question.add_synonyms(index);
        question.add_neighbours(index);
        question.meaning = question.meaning.unit();
        let mut seen = HashSet::new();
        question.concepts.retain(|concept| seen.insert(concept.main.clone()));
        question.bound();
        question
    }

    /// Drops the most common words if reading all would take too long: they tell least.
    fn bound(&mut self) {
        let all = self.concepts.iter().flat_map(|concept| &concept.alternatives);
        let mut sizes: Vec<usize> = all.map(|alternative| alternative.found.postings()).collect();
        sizes.sort_unstable();
        let mut sum = 0;
        let fitting = sizes.iter().take_while(|size| {
            sum += **size;
            sum <= POSTINGS_MAX
        });
        if let Some(largest) = fitting.last().copied() {
            for concept in &mut self.concepts {
                concept.alternatives.retain(|alternative| alternative.found.postings() <= largest);
            }
        }
    }

    /// Adds synonyms from the table, and computes the direction of the query.
    fn add_synonyms(&mut self, index: &Lexical) {
        let model = Model::get();
        let mains: Vec<String> = self.concepts.iter().map(|concept| concept.main.clone()).collect();
        for main in &mains {
            model.add(&mut self.meaning, main, 1.0);
        }
        let mut seen = HashSet::new();
        for (at, concept) in self.concepts.iter_mut().enumerate() {
            for end in at + 1..=mains.len().min(at + PHRASE_MAX) {
                for synonym in synonyms(&mains[at..end].join(" ")).iter().filter(|stem| !mains.contains(stem))
                {
                    concept.add(synonym, SYNONYM, index);
                    if seen.insert(synonym) {
                        model.add(&mut self.meaning, synonym, SYNONYM_MEANING);
                    }
                }
            }
        }
    }

    /// Adds words with similar meaning from the model.
    fn add_neighbours(&mut self, index: &Lexical) {
        let mains: HashSet<String> = self.concepts.iter().map(|concept| concept.main.clone()).collect();
        for concept in &mut self.concepts {
            let near: Vec<(&str, f32)> = Model::get().neighbours(&concept.main).collect();
            for (stem, nearness) in near {
                if nearness < NEIGHBOUR_MIN || mains.contains(stem) {
                    continue;
                }
                concept.add(stem, 0.0, index);
                let rarity = concept.rarity;
                if let Some(known) = concept.alternatives.iter_mut().find(|other| other.stem == stem) {
                    // A rare word that is only similar must not outweigh the common word in the query.
                    let share = (rarity / known.found.rarity).min(1.0);
                    known.weight = known.weight.max(nearness * share);
                }
            }
        }
    }
}

/// The significant words of a query; all words if none is significant.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    Words::split(text, |word| words.push(word.to_owned()));
    if words.iter().any(|word| !is_stop_word(word)) {
        words.retain(|word| !is_stop_word(word));
    }
    words.truncate(WORDS_MAX);
    words
}

/// The concept of a word. If no skill contains the word, it may be mistyped or incomplete.
fn concept(word: &str, is_last: bool, stems: &mut Words, index: &Lexical) -> Concept {
    let stem = stems.stem(word).to_owned();
    let found = index.find(&stem);
    let (count, rarity) = (found.count, found.rarity);
    let is_doubtful = count == 0 || (count <= 2 && Model::get().row(&stem).is_none());
    let length = word.chars().count();
    let mut concept = Concept { main: stem.clone(), rarity, alternatives: Vec::new() };
    concept.add(&stem, 1.0, index);
    let known = concept.alternatives.len();
    if length >= 4 && is_doubtful {
        for near in index.near(word) {
            concept.add(stems.stem(&near), TYPING_ERROR, index);
        }
    }
    let is_unfinished = (is_doubtful && length >= 4 && (is_last || concept.alternatives.len() == known))
        || (is_last && count == 0 && length >= 2)
        // In scripts without spaces, one character starts the pairs that contain it.
        || (length == 1 && word.chars().all(is_unparted));
    if is_unfinished {
        for longer in index.beginning_with(word) {
            concept.add(stems.stem(&longer), BEGINNING, index);
        }
    }
    if count == 0
        && let Some(meant) = concept.alternatives.first()
    {
        (concept.main, concept.rarity) = (meant.stem.clone(), meant.found.rarity);
    }
    concept
}
