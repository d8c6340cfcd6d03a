//! Fits a list into a budget. Every description is measured once, without writing it.

use super::write::{self, Length, MORE};
use super::{ListFormat, ListedSkill, SkillList};

/// Descriptions are not cut below this many bytes; skills are left out instead.
const SHORTEST: usize = 80;

/// What to write.
#[derive(Debug)]
pub(super) struct Plan {
    /// The number of included skills, counted from the first.
    pub(super) count: usize,
    /// Their length in bytes, if known.
    bytes: Option<usize>,
    /// Where each description is cut. Descriptions without an entry are not cut.
    cuts: Vec<Cut>,
}

impl Plan {
    /// Where the description of a skill is cut, or `None`.
    pub(super) fn cut(&self, index: usize, skill: &ListedSkill<'_>) -> Option<usize> {
        let end = self.cuts.get(index)?.end;
        skill.description.filter(|text| end < text.len()).map(|_| end)
    }

    /// Enough capacity for the whole text, or an estimate if it was not measured.
    pub(super) fn capacity(&self, skill_list: &SkillList<'_>, frame: usize) -> usize {
        const TAGS: usize = 90;
        let about = |skill: &ListedSkill<'_>| {
            let description = skill.description.unwrap_or_default().len();
            TAGS + skill.name.len() + description + description / 32 + skill.location.map_or(0, str::len)
        };
        frame + self.bytes.unwrap_or_else(|| skill_list.skills[..self.count].iter().map(about).sum())
    }
}

/// A prefix of a description.
#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    /// The end of the prefix.
    end: usize,
    /// The bytes written for it, including [`MORE`] if it was cut.
    bytes: usize,
}

/// The measurements of a skill in a format.
#[derive(Debug, Clone, Copy)]
struct Measured {
    /// Everything except the text of its description.
    rest: usize,
    /// Its whole description.
    whole: Cut,
    /// Whether the description is written unchanged, byte for byte.
    is_plain: bool,
}

impl Measured {
    fn new(format: ListFormat, skill: &ListedSkill<'_>) -> Self {
        let empty = ListedSkill { description: skill.description.map(|_| ""), ..*skill };
        let mut rest = Length::default();
        write::item(format, &empty, None, &mut rest);
        // The separator between two skills.
        let between = if format == ListFormat::Json { 2 } else { 0 };
        let text = skill.description.unwrap_or_default();
        let mut whole = Length::default();
        write::description(format, text, &mut whole);
        let is_plain = whole.0 == text.len() && (format != ListFormat::Markdown || write::is_tidy(text));
        Self { rest: rest.0 + between, whole: Cut { end: text.len(), bytes: whole.0 }, is_plain }
    }

    /// Cuts the text to at most this many bytes, given a shorter cut. Returns all of it if cutting would save
    /// nothing.
    fn cut(&self, format: ListFormat, text: &str, longest: usize, shorter: Cut) -> Cut {
        if text.len() <= longest || shorter.end == text.len() {
            return self.whole;
        }
        let end = word_end(text, longest);
        let bytes = if self.is_plain {
            end + MORE.len()
        } else if shorter.end == 0 {
            written(format, "", &text[..end]) + MORE.len()
        } else {
            // Only the new part is measured, so that all halvings together read a text once.
            shorter.bytes + written(format, &text[..shorter.end], &text[shorter.end..end])
        };
        if bytes < self.whole.bytes { Cut { end, bytes } } else { self.whole }
    }
}

/// The bytes that a text needs after a text that is already written.
fn written(format: ListFormat, before: &str, text: &str) -> usize {
    let mut length = Length::default();
    write::description(format, text, &mut length);
    // In Markdown any run of white space becomes one space, and none at the start and end.
    let is_apart = format == ListFormat::Markdown
        && text.starts_with(char::is_whitespace)
        && length.0 > 0
        && !before.trim_start().is_empty();
    length.0 + usize::from(is_apart)
}

/// Where to cut a text between two words, so that it has at most this many bytes including [`MORE`].
fn word_end(text: &str, longest: usize) -> usize {
    let end = text.floor_char_boundary(longest.saturating_sub(MORE.len()));
    let kept = &text[..end];
    let words = kept.rfind(char::is_whitespace).map_or("", |at| kept[..at].trim_end());
    // A single long word is cut anywhere.
    if words.is_empty() { end } else { words.len() }
}

impl SkillList<'_> {
    /// What to write; `None` if nothing is written.
    pub(super) fn plan(&self) -> Option<Plan> {
        let all = self.skills.len();
        if all == 0 && self.format != ListFormat::Json {
            return None;
        }
        let Some(budget) = self.budget else {
            return Some(Plan { count: all, bytes: None, cuts: Vec::new() });
        };
        let most = budget.saturating_mul(4);
        let plan = self.fitting(most);
        // A frame without skills is useless if the model cannot search for the rest, or if the frame alone
        // exceeds the budget.
        let is_useless = self.search.is_none() || self.frame(all) > most;
        if plan.count == 0 && all > 0 && is_useless { None } else { Some(plan) }
    }

    /// The cost of everything except the skills, if this many are left out.
    fn frame(&self, omitted: usize) -> usize {
        let (before, after) = self.around(omitted);
        before.len() + after.len()
    }

    fn fitting(&self, most: usize) -> Plan {
        let all = self.skills.len();
        let mut fitting = Fitting { skill_list: *self, measured: Vec::new(), shorter: Vec::new() };
        if let Some(room) = most.checked_sub(self.frame(0)) {
            let whole = fitting.fill(room, usize::MAX);
            if whole.count == all {
                return whole;
            }
            let shortest = fitting.fill(room, SHORTEST);
            if shortest.count == all {
                return fitting.widen(shortest, room);
            }
        }
        // Reserves room for the longest form of the line that tells how many are missing.
        fitting.fill(most.saturating_sub(self.frame(all)), SHORTEST)
    }
}

/// The skills of a list, measured as far as needed.
struct Fitting<'a> {
    skill_list: SkillList<'a>,
    measured: Vec<Measured>,
    /// Their descriptions as far as they are known to fit.
    shorter: Vec<Cut>,
}

impl Fitting<'_> {
    /// As many skills as fit into the room, with descriptions of at most this many bytes.
    fn fill(&mut self, room: usize, longest: usize) -> Plan {
        let (format, skills) = (self.skill_list.format, self.skill_list.skills);
        // The last skill of a JSON list has no comma after it.
        let room = room + usize::from(format == ListFormat::Json);
        let mut used = 0;
        let mut cuts = Vec::with_capacity(skills.len().min(room / 32));
        for (index, skill) in skills.iter().enumerate() {
            if self.measured.len() == index {
                self.measured.push(Measured::new(format, skill));
            }
            let shorter = self.shorter.get(index).copied().unwrap_or_default();
            let measured = &self.measured[index];
            let cut = measured.cut(format, skill.description.unwrap_or_default(), longest, shorter);
            let bytes = used + measured.rest + cut.bytes;
            if bytes > room {
                break;
            }
            used = bytes;
            cuts.push(cut);
        }
        Plan { count: cuts.len(), bytes: Some(used), cuts }
    }

    /// The longest descriptions with which all skills fit, given that the shortest do.
    fn widen(mut self, shortest: Plan, room: usize) -> Plan {
        let skills = self.skill_list.skills;
        let longest = skills.iter().filter_map(|skill| skill.description).map(str::len).max();
        let mut used = shortest.bytes;
        self.shorter = shortest.cuts;
        // A longer limit never shows less, so a binary search works.
        let (mut good, mut bad) = (SHORTEST, longest.unwrap_or(SHORTEST).max(SHORTEST + 1));
        while bad - good > 1 {
            let middle = usize::midpoint(good, bad);
            let filled = self.fill(room, middle);
            if filled.count == skills.len() {
                (good, used, self.shorter) = (middle, filled.bytes, filled.cuts);
            } else {
                bad = middle;
            }
        }
        Plan { count: skills.len(), bytes: used, cuts: self.shorter }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMATS: [ListFormat; 3] = [ListFormat::Xml, ListFormat::Markdown, ListFormat::Json];

    /// Descriptions with everything that is written longer or shorter than it is.
    const WORDS: &str = "(([a-z]{1,9}|&|\"|\u{202e}|é|…|日本) {1,3}|\n|\u{3000}){0,70}";

    /// The same without measuring: every bound is tried, the largest first, and everything is written.
    fn slowly(skill_list: &SkillList<'_>, most: usize) -> Option<String> {
        let written = |text: &str| {
            let mut written = String::new();
            write::description(skill_list.format, text, &mut written);
            written
        };
        let at_most = |longest: usize| {
            let shorten = |skill: &ListedSkill<'_>| {
                let text = skill.description.unwrap_or_default();
                let cut = format!("{}{MORE}", &text[..word_end(text, longest)]);
                let saves = text.len() > longest && written(&cut).len() < written(text).len();
                if saves { cut } else { text.to_owned() }
            };
            let texts: Vec<String> = skill_list.skills.iter().map(shorten).collect();
            let pairs = skill_list.skills.iter().zip(&texts);
            let skills: Vec<ListedSkill<'_>> =
                pairs.map(|(skill, text)| ListedSkill { description: Some(text), ..*skill }).collect();
            SkillList { skills: &skills, budget: None, ..*skill_list }.render().text
        };
        let longest = skill_list.skills.iter().map(|skill| skill.description.unwrap_or_default().len()).max();
        let bounds = SHORTEST..=longest.unwrap_or_default().max(SHORTEST);
        bounds.rev().map(at_most).find(|text| text.len() <= most)
    }

    proptest! {
        #[test]
        fn what_is_measured_is_what_is_written(
            texts in prop::collection::vec(WORDS, 1..8),
            budget in 0_usize..600,
            format in prop::sample::select(&FORMATS[..]),
        ) {
            let listed = |text| ListedSkill { name: "a", description: Some(text), location: Some("/s`") };
            let skills: Vec<ListedSkill<'_>> = texts.iter().map(|text| listed(text.as_str())).collect();
            let skill_list = SkillList::new(&skills).format(format).budget(Some(budget));
            let rendered = skill_list.render();
            if let Some(plan) = skill_list.plan() {
                let comma = usize::from(format == ListFormat::Json && plan.count > 0);
                prop_assert_eq!(skill_list.frame(rendered.omitted) + plan.bytes.unwrap() - comma, rendered.text.len());
            }
            match slowly(&skill_list, budget * 4) {
                Some(text) => prop_assert_eq!(text, rendered.text),
                None => prop_assert!(rendered.omitted > 0),
            }
        }
    }

    #[test]
    fn texts_are_cut_between_words() {
        assert_eq!(word_end("one two three", 10), 3);
        assert_eq!(word_end("one two three", 11), 7);
        assert_eq!(word_end("one  two three", 12), 8);
        assert_eq!(word_end("onetwothree", 10), 7);
        assert_eq!(word_end(" onetwothree", 10), 7);
        assert_eq!(word_end("日本語日本語", 10), 6);
    }
}
