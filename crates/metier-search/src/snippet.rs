//! The part of a description that is shown with a hit.

use std::collections::HashSet;

use crate::words::Words;

/// Finds the parts of descriptions that match a query best.
pub(crate) struct Snippets {
    words: Words,
    /// Which stems of `words` are in the query.
    asked: HashSet<u32>,
}

impl Snippets {
    pub(crate) fn new(question: &str) -> Self {
        let (mut words, mut asked) = (Words::new(), HashSet::new());
        Words::split(question, |word| {
            let known = words.know(word).1;
            if !known.is_stop_word {
                asked.insert(known.stem);
            }
        });
        Self { words, asked }
    }

    /// As many sentences as fit, starting with the one that contains most words of the query.
    pub(crate) fn of(&mut self, description: &str) -> String {
        const LONGEST: usize = 200;
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentences: Vec<&str> = description.split_inclusive(". ").collect();
        let Self { words, asked } = self;
        let mut fit = |sentence: &str| {
            let mut count = 0;
            Words::split(sentence, |word| count += usize::from(asked.contains(&words.know(word).1.stem)));
            count
        };
        let best = (0..sentences.len()).rev().max_by_key(|at| fit(sentences[*at])).unwrap_or(0);
        let mut text = String::new();
        for sentence in sentences.iter().skip(best) {
            if !text.is_empty() && text.len() + sentence.len() > LONGEST {
                break;
            }
            text.push_str(sentence);
        }
        if text.len() > LONGEST {
            let end = text.floor_char_boundary(LONGEST);
            let end = text[..end].rfind(' ').unwrap_or(end);
            text.truncate(end);
            text.push('…');
        }
        text.trim().to_owned()
    }
}
