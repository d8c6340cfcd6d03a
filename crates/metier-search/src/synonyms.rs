//! A table of synonyms.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::words::{Words, is_stop_word};

/// `a = b = c`: each is a synonym of the others. `a, b > c, d`: those before `>` can be replaced by those after
/// it.
static TABLE: &str = include_str!("../data/synonyms.txt");

/// The number of words in the longest phrase that has synonyms.
pub(crate) const PHRASE_MAX: usize = 4;

/// The stems that a phrase of stems, joined by spaces, can stand for.
pub(crate) fn synonyms(phrase: &str) -> &'static [String] {
    static ALL: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(read);
    ALL.get(phrase).map(Vec::as_slice).unwrap_or_default()
}

fn read() -> HashMap<String, Vec<String>> {
    let mut all: HashMap<String, Vec<String>> = HashMap::new();
    let mut words = Words::new();
    let mut stems = |text: &str| {
        let mut stems = Vec::new();
        Words::split(text, |word| {
            if !is_stop_word(word) {
                stems.push(words.stem(word).to_owned());
            }
        });
        stems
    };
    let mut add = |from: &[String], to: &[String]| {
        let known = all.entry(from.join(" ")).or_default();
        for stem in to {
            if !from.contains(stem) && !known.contains(stem) {
                known.push(stem.clone());
            }
        }
    };
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        if let Some((from, to)) = line.split_once('>') {
            let to: Vec<Vec<String>> = to.split(',').map(&mut stems).collect();
            for from in from.split(',').map(&mut stems).collect::<Vec<_>>() {
                for to in &to {
                    add(&from, to);
                }
            }
        } else {
            let group: Vec<Vec<String>> = line.split('=').map(&mut stems).collect();
            for (at, from) in group.iter().enumerate() {
                for (_, to) in group.iter().enumerate().filter(|(other, _)| *other != at) {
                    add(from, to);
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            assert!(line.contains('=') || line.contains('>'), "{line}");
            assert!(line.matches('>').count() <= 1, "{line}");
        }
        assert!(read().len() > 100);
    }
}
