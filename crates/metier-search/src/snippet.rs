//! The part of a description that is shown with a hit.

use std::collections::HashSet;

use crate::words::{Words, is_stop_word};

/// The part of a description that fits a question best: as many sentences as are short enough, from the one with
/// the most words of the question on.
pub(crate) fn snippet(description: &str, question: &str) -> String {
    const LONGEST: usize = 200;
    let mut words = Words::new();
    let mut asked = HashSet::new();
    Words::split(question, |word| {
        if !is_stop_word(word) {
            asked.insert(words.stem(word).to_owned());
        }
    });
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentences: Vec<&str> = description.split_inclusive(". ").collect();
    let mut fit = |sentence: &str| {
        let mut count = 0;
        Words::split(sentence, |word| count += usize::from(asked.contains(words.stem(word))));
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
