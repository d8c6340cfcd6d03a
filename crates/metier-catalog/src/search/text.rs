//! What of a skill is searched: its name, description, metadata, headings and first lines, each word as often as it
//! weighs, and the direction that they point to together.

use crate::record::SkillFacts;
use crate::search::meaning::{Model, Row, Vector};
use crate::search::words::{Known, Words};

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

/// Makes texts of skills, one after the other.
pub(crate) struct Texts {
    words: Words,
    /// For each word and each row of the model, the last round that it was seen in.
    seen: [Vec<u32>; 2],
    round: u32,
}

impl Texts {
    pub(crate) fn new() -> Self {
        Self { words: Words::new(), seen: [Vec::new(), Vec::new()], round: 0 }
    }

    pub(crate) fn of(&mut self, facts: &SkillFacts, body: &str) -> SkillText {
        self.words.forget();
        let [mut name, mut description, mut rest, mut exact] = [const { String::new() }; 4];
        let (mut said, mut done) = (Vector::ZERO, Vector::ZERO);
        let model = Model::get();
        self.next_round();
        self.each(&facts.name, |word, known, _, _| {
            add(&mut name, &known.stem);
            add(&mut exact, word);
            model.add_row(&mut said, known.row, NAME_MEANING);
        });
        self.next_round();
        self.each(&facts.description, |word, known, is_new_word, is_new_row| {
            add(&mut description, &known.stem);
            if is_new_word {
                add(&mut exact, word);
            }
            model.add_row(&mut said, known.row.filter(|_| is_new_row), 1.0);
        });
        let (headings, opening) = outline(body);
        self.next_round();
        for part in [&headings, &opening] {
            self.each(part, |_, known, is_new_word, is_new_row| {
                // Once: how often a word stands in a body says little, and costs as much each time.
                if is_new_word {
                    add(&mut rest, &known.stem);
                }
                model.add_row(&mut done, known.row.filter(|_| is_new_row), 1.0);
            });
        }
        for (key, value) in &facts.metadata {
            self.each(key, |_, known, _, _| add(&mut rest, &known.stem));
            self.each(value, |_, known, _, _| add(&mut rest, &known.stem));
        }
        let meaning = said.unit().blend(1.0, &done.unit(), BODY_MEANING).quantised();
        SkillText { name, description, rest, exact, meaning }
    }

    /// Hands out every word of a text that says something, with whether it and its row are new in this round.
    fn each(&mut self, text: &str, mut each: impl FnMut(&str, &Known, bool, bool)) {
        let Self { words, seen: [seen_words, seen_rows], round } = self;
        Words::split_to_find(text, |word| {
            let (place, known) = words.know(word);
            if known.is_stop_word {
                return;
            }
            let is_new_word = is_first(seen_words, place, *round);
            let is_new_row = known.row.is_some_and(|row| is_first(seen_rows, row as usize, *round));
            each(word, known, is_new_word, is_new_row);
        });
    }

    fn next_round(&mut self) {
        self.round = self.round.wrapping_add(1);
    }
}

/// Whether a place is seen for the first time in a round.
fn is_first(seen: &mut Vec<u32>, place: usize, round: u32) -> bool {
    if seen.len() <= place {
        seen.resize(place + 1, 0);
    }
    std::mem::replace(&mut seen[place], round) != round
}

fn add(text: &mut String, word: &str) {
    text.push_str(word);
    text.push(' ');
}

/// The headings of a body and how it begins, without code.
fn outline(body: &str) -> (String, String) {
    let body = &body[..body.floor_char_boundary(BODY_MAX)];
    let (mut headings, mut opening) = (String::new(), String::new());
    let mut is_code = false;
    // As `SKILL.md` is read, a carriage return ends a line too.
    for line in body.trim_end().split(['\n', '\r']) {
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
