//! What of a skill is searched: its name, description, metadata, headings and first lines, each word as often as it
//! weighs, and the direction that they point to together.

use std::collections::HashSet;

use crate::record::Facts;
use crate::search::meaning::{Model, Row, Vector};
use crate::search::words::{Words, is_stop_word};

/// Bytes of a body that are looked at for headings and opening lines.
const BODY_MAX: usize = 20_000;
const HEADINGS_MAX: usize = 1_000;
const OPENING_MAX: usize = 1_500;

/// How much the name counts beside the description, and both beside the body.
const NAME_MEANING: f32 = 2.0;
const BODY_MEANING: f32 = 0.7;

/// One skill, ready for an index that parts words at blanks.
#[derive(Debug)]
pub(crate) struct SkillText {
    /// Stems of the name.
    pub(crate) name: String,
    /// Stems of the description.
    pub(crate) description: String,
    /// Stems of metadata, headings and the beginning of the body.
    pub(crate) rest: String,
    /// The words of name and description as they are written.
    pub(crate) exact: String,
    /// What it is about.
    pub(crate) meaning: Row,
}

impl SkillText {
    pub(crate) fn of(facts: &Facts, body: &str, words: &mut Words) -> Self {
        let [mut name, mut description, mut rest, mut exact] = [const { String::new() }; 4];
        let mut written = |word: &str| {
            exact.push_str(word);
            exact.push(' ');
        };
        add(&facts.name, &mut name, words, &mut written);
        add(&facts.description, &mut description, words, &mut written);
        let (headings, opening) = outline(body);
        add(&headings, &mut rest, words, |_| ());
        add(&opening, &mut rest, words, |_| ());
        let meaning = meaning(&name, &description, &rest).quantised();
        for (key, value) in &facts.metadata {
            add(key, &mut rest, words, |_| ());
            add(value, &mut rest, words, |_| ());
        }
        Self { name, description, rest, exact, meaning }
    }
}

/// Adds the stems of a text, and hands out its words as they are written.
fn add(text: &str, stems: &mut String, words: &mut Words, mut written: impl FnMut(&str)) {
    Words::split(text, |word| {
        if !is_stop_word(word) {
            written(word);
            stems.push_str(words.stem(word));
            stems.push(' ');
        }
    });
}

/// The direction of a skill: what it calls itself and says of itself, and half as much what its body is about.
fn meaning(name: &str, description: &str, body: &str) -> Vector {
    let model = Model::get();
    let each_once = |sum: &mut Vector, stems: &str| {
        let mut seen = HashSet::new();
        for stem in stems.split(' ').filter(|stem| seen.insert(*stem)) {
            model.add(sum, stem, 1.0);
        }
    };
    let (mut said, mut done) = (Vector::ZERO, Vector::ZERO);
    each_once(&mut said, description);
    for stem in name.split(' ') {
        model.add(&mut said, stem, NAME_MEANING);
    }
    each_once(&mut done, body);
    said.unit().blend(1.0, &done.unit(), BODY_MEANING)
}

/// The headings of a body and how it begins, without code.
fn outline(body: &str) -> (String, String) {
    let body = &body[..body.floor_char_boundary(BODY_MAX)];
    let (mut headings, mut opening) = (String::new(), String::new());
    let mut is_code = false;
    for line in body.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
        } else if line.starts_with('#') && !is_code {
            if headings.len() < HEADINGS_MAX {
                headings.push_str(line.trim_start_matches('#'));
                headings.push('\n');
            }
        } else if !is_code && opening.len() < OPENING_MAX {
            opening.push_str(line);
            opening.push('\n');
        }
    }
    (headings, opening)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_is_headings_and_the_beginning() {
        let body = "# One\n\nFirst lines.\n```sh\n# not a heading\n```\n## Two\n";
        assert_eq!(outline(body), (" One\n Two\n".to_owned(), "\nFirst lines.\n".to_owned()));
    }
}
