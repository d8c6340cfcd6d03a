//! The searched texts of a skill: its name, description, metadata, headings and first lines, with weighted
//! words, and the direction of all of them.

use metier_catalog::SkillFacts;

use crate::SearchError;
use crate::build::{Part, write_block};
use crate::index::{Described, TEXTS};
use crate::meaning::{Model, Row, Vector};
use crate::postings::Posting;
use crate::table::TableWriter;
use crate::target::Target;
use crate::words::{Known, Words};

/// The number of bytes of a body to search for headings and opening lines.
const BODY_MAX: usize = 20_000;
const HEADINGS_MAX: usize = 1_000;
const OPENING_MAX: usize = 1_500;

/// The weight of the name relative to the description, and of both relative to the body.
const NAME_MEANING: f32 = 2.0;
const BODY_MEANING: f32 = 0.7;

/// The text that a stem is in.
#[derive(Debug, Clone, Copy)]
enum Text {
    Name,
    Description,
    Rest,
}

/// Builds the parts of an index, one after the other.
pub(crate) struct Texts {
    words: Words,
    /// For each word and each row of the model, the last round in which it was seen.
    seen: [Vec<u32>; 2],
    round: u32,
    part: Noted,
}

/// Notes about the skills of one part.
#[derive(Debug, Default)]
struct Noted {
    stems: Vec<Note>,
    words: Vec<Note>,
    lengths: [u32; TEXTS],
    skill: u32,
}

/// A term occurs in a text of a skill: the numbers of the three.
type Note = (u32, u8, u32);

impl Noted {
    fn stem(&mut self, known: &Known, text: Text) {
        let text = text as u8;
        self.stems.push((known.stem, text, self.skill));
        if let Some(length) = self.lengths.get_mut(usize::from(text)) {
            *length += 1;
        }
    }

    fn word(&mut self, place: u32) {
        self.words.push((place, 0, self.skill));
    }
}

impl Texts {
    pub(crate) fn new() -> Self {
        Self { words: Words::new(), seen: [Vec::new(), Vec::new()], round: 0, part: Noted::default() }
    }

    /// A part with these skills.
    pub(crate) fn part<'a>(
        &mut self,
        targets: impl Iterator<Item = &'a Target<'a>>,
    ) -> Result<Part, SearchError> {
        self.words.forget();
        let mut skills = Vec::new();
        for (number, target) in (0..).zip(targets) {
            self.part.skill = number;
            self.part.lengths = [0; TEXTS];
            let meaning = self.note(target.facts, &target.body());
            skills.push(Described { key: target.key, lengths: self.part.lengths, meaning });
        }
        let Noted { stems, words, .. } = std::mem::take(&mut self.part);
        let stems = table::<TEXTS>(stems, |stem| self.words.stem_at(stem))?;
        let words = table::<1>(words, |word| self.words.word_at(word))?;
        Ok(Part { skills, stems, words })
    }

    /// Notes the words of a skill, and computes its direction.
    fn note(&mut self, facts: &SkillFacts, body: &str) -> Row {
        let (mut said, mut done) = (Vector::ZERO, Vector::ZERO);
        let model = Model::get();
        self.next_round();
        self.each(&facts.name, |noted, word| {
            noted.stem(word.known, Text::Name);
            noted.word(word.place);
            model.add_row(&mut said, word.known.row, NAME_MEANING);
        });
        self.next_round();
        self.each(&facts.description, |noted, word| {
            noted.stem(word.known, Text::Description);
            if word.is_new {
                noted.word(word.place);
            }
            model.add_row(&mut said, word.new_row(), 1.0);
        });
        let (headings, opening) = outline(body);
        self.next_round();
        for part in [&headings, &opening] {
            self.each(part, |noted, word| {
                // Each word counts once: how often it occurs in a body says little, and costs time.
                if word.is_new {
                    noted.stem(word.known, Text::Rest);
                }
                model.add_row(&mut done, word.new_row(), 1.0);
            });
        }
        for (key, value) in &facts.metadata {
            self.each(key, |noted, word| noted.stem(word.known, Text::Rest));
            self.each(value, |noted, word| noted.stem(word.known, Text::Rest));
        }
        said.unit().blend(1.0, &done.unit(), BODY_MEANING).quantised()
    }

    /// Passes on every significant word of a text.
    fn each(&mut self, text: &str, mut each: impl FnMut(&mut Noted, Word<'_>)) {
        let Self { words, seen: [seen_words, seen_rows], round, part } = self;
        Words::split_to_find(text, |word| {
            let (place, known) = words.know(word);
            if known.is_stop_word {
                return;
            }
            let is_new = is_first(seen_words, place, *round);
            let is_new_row = known.row.is_some_and(|row| is_first(seen_rows, row, *round));
            each(part, Word { place, known, is_new, is_new_row });
        });
    }

    fn next_round(&mut self) {
        self.round = self.round.wrapping_add(1);
    }
}

/// One word of a text.
struct Word<'a> {
    place: u32,
    known: &'a Known,
    /// Whether it is new in this round, and whether its row is.
    is_new: bool,
    is_new_row: bool,
}

impl Word<'_> {
    fn new_row(&self) -> Option<u32> {
        self.known.row.filter(|_| self.is_new_row)
    }
}

/// Builds a table from the notes. Every term has `LISTS` lists.
fn table<'a, const LISTS: usize>(
    mut noted: Vec<Note>,
    text: impl Fn(u32) -> &'a str,
) -> Result<TableWriter, SearchError> {
    noted.sort_unstable();
    let mut terms: Vec<(&str, &[Note])> =
        noted.chunk_by(|a, b| a.0 == b.0).filter_map(|same| Some((text(same.first()?.0), same))).collect();
    terms.sort_unstable_by_key(|(term, _)| *term);
    let mut table = TableWriter::default();
    let mut lists = [const { Vec::new() }; LISTS];
    for (term, all) in terms {
        for same in all.chunk_by(|a, b| a == b) {
            let Some(&(_, list, skill)) = same.first() else { continue };
            let times = u32::try_from(same.len()).unwrap_or(u32::MAX);
            if let Some(list) = lists.get_mut(usize::from(list)) {
                list.push(Posting { skill, times });
            }
        }
        write_block(&mut table, &mut lists);
        table.end_block(term.as_bytes())?;
    }
    Ok(table)
}

/// Whether a position is seen for the first time in a round.
fn is_first(seen: &mut Vec<u32>, place: u32, round: u32) -> bool {
    let place = place as usize;
    if seen.len() <= place {
        seen.resize(place + 1, 0);
    }
    std::mem::replace(&mut seen[place], round) != round
}

/// The headings and the first lines of a body, without code.
fn outline(body: &str) -> (String, String) {
    let body = &body[..body.floor_char_boundary(BODY_MAX)];
    let (mut headings, mut opening) = (String::new(), String::new());
    let mut is_code = false;
    // As in `SKILL.md`, a carriage return also ends a line.
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
