//! A question taken apart: what it asks for, in which other words that might be said, and what it means.

use std::collections::HashSet;

use tantivy::Searcher;

use crate::search::lexical::{Lexical, Result};
use crate::search::meaning::{Model, Vector};
use crate::search::synonyms::{PHRASE_MAX, synonyms};
use crate::search::words::{Words, is_stop_word};

/// Words of a question that are looked up.
const WORDS_MAX: usize = 32;

/// What other words are worth beside the one that was asked for.
const TYPING_ERROR: f32 = 0.85;
const BEGINNING: f32 = 0.7;
const JOINED: f32 = 0.8;
const SYNONYM: f32 = 0.8;
/// The same for the meaning.
const SYNONYM_MEANING: f32 = 0.2;

/// Neighbours that are less close than this have another meaning.
const NEIGHBOUR_MIN: f32 = 0.3;

/// One thing that a question asks for.
#[derive(Debug)]
pub(crate) struct Concept {
    /// The stem that stands for it: the one that was asked for, or what was probably meant.
    pub(crate) main: String,
    /// How much that tells.
    pub(crate) rarity: f32,
    /// All stems that would do, and what each is worth.
    pub(crate) alternatives: Vec<(String, f32)>,
}

impl Concept {
    fn add(&mut self, stem: &str, weight: f32) {
        if !self.alternatives.iter().any(|(other, _)| other == stem) {
            self.alternatives.push((stem.to_owned(), weight));
        }
    }

    fn raise(&mut self, stem: &str, weight: f32) {
        match self.alternatives.iter_mut().find(|(other, _)| other == stem) {
            Some((_, old)) => *old = old.max(weight),
            None => self.alternatives.push((stem.to_owned(), weight)),
        }
    }
}

/// A question, ready to be answered.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) concepts: Vec<Concept>,
    pub(crate) meaning: Vector,
}

impl Question {
    pub(crate) fn new(text: &str, lexical: &Lexical, searcher: &Searcher) -> Result<Self> {
        let mut stems = Words::new();
        let words = words(text);
        let mut concepts: Vec<Concept> = Vec::with_capacity(words.len());
        for (at, word) in words.iter().enumerate() {
            let is_last = at + 1 == words.len();
            concepts.push(concept(word, is_last, &mut stems, lexical, searcher)?);
        }
        for (at, pair) in words.windows(2).enumerate() {
            let joined = stems.stem(&pair.concat()).to_owned();
            if joined.len() >= 5 && lexical.count(searcher, &joined)? > 0 {
                concepts[at].add(&joined, JOINED);
            }
        }
        let mut question = Self { concepts, meaning: Vector::ZERO };
        question.add_synonyms();
        question.add_neighbours(lexical, searcher)?;
        question.meaning = question.meaning.unit();
        let mut seen = HashSet::new();
        question
            .concepts
            .retain(|concept| seen.insert(concept.alternatives.first().cloned().map(|(stem, _)| stem)));
        Ok(question)
    }

    /// Other words for what is asked for, by the table; and the direction of all of it.
    fn add_synonyms(&mut self) {
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
                    concept.add(synonym, SYNONYM);
                    if seen.insert(synonym) {
                        model.add(&mut self.meaning, synonym, SYNONYM_MEANING);
                    }
                }
            }
        }
    }

    /// Words that mean nearly the same as what is asked for, by the model.
    fn add_neighbours(&mut self, lexical: &Lexical, searcher: &Searcher) -> Result<()> {
        let mains: HashSet<String> = self.concepts.iter().map(|concept| concept.main.clone()).collect();
        for concept in &mut self.concepts {
            concept.rarity = lexical.rarity(searcher, &concept.main)?;
            let near: Vec<(&str, f32)> = Model::get().neighbours(&concept.main).collect();
            for (stem, closeness) in near {
                if closeness < NEIGHBOUR_MIN || mains.contains(stem) || lexical.count(searcher, stem)? == 0 {
                    continue;
                }
                // A rare word that is only near must not outweigh the common one that was asked for.
                let share = (concept.rarity / lexical.rarity(searcher, stem)?).min(1.0);
                concept.raise(stem, closeness * share);
            }
        }
        Ok(())
    }
}

/// The words of a question that say something; all of them where none does.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    Words::split(text, |word| words.push(word.to_owned()));
    if words.iter().any(|word| !is_stop_word(word)) {
        words.retain(|word| !is_stop_word(word));
    }
    words.truncate(WORDS_MAX);
    words
}

/// What a word asks for. One that no skill has may be mistyped, or not yet typed to its end.
fn concept(
    word: &str,
    is_last: bool,
    stems: &mut Words,
    lexical: &Lexical,
    searcher: &Searcher,
) -> Result<Concept> {
    let stem = stems.stem(word).to_owned();
    let count = lexical.count(searcher, &stem)?;
    let is_doubtful = count == 0 || (count <= 2 && !Model::get().knows(&stem));
    let length = word.chars().count();
    let mut concept = Concept { main: stem.clone(), rarity: 0.0, alternatives: vec![(stem, 1.0)] };
    if length >= 4 && is_doubtful {
        for near in lexical.near(searcher, word)? {
            concept.add(stems.stem(&near), TYPING_ERROR);
        }
    }
    let is_unfinished = (is_doubtful && length >= 4 && (is_last || concept.alternatives.len() == 1))
        || (is_last && count == 0 && length >= 2);
    if is_unfinished {
        for longer in lexical.beginning_with(searcher, word)? {
            concept.add(stems.stem(&longer), BEGINNING);
        }
    }
    if count == 0
        && let Some((meant, _)) = concept.alternatives.get(1)
    {
        concept.main = meant.clone();
    }
    Ok(concept)
}
