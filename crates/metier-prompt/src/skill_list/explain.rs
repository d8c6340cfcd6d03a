//! Where the tokens of a list go, and what became of each skill.

use metier_skill::tokens;

use super::ListedSkill;
use super::write::MORE;

/// What a list costs, part by part. The parts add up to the whole, so one of them may be a token off on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListExplanation<'a> {
    /// Every skill that was given, in that order.
    pub skills: Vec<ExplainedSkill<'a>>,
    /// The tokens of everything else: what the model is told before the list and after it, and what holds it together.
    pub frame: usize,
    /// The tokens of the whole text.
    pub tokens: usize,
    /// The most that there may be.
    pub budget: Option<usize>,
}

/// One skill of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedSkill<'a> {
    /// Its name.
    pub name: &'a str,
    /// The tokens that it takes; none if it is left out.
    pub tokens: usize,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a skill in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fate {
    /// It is there with its description.
    Whole,
    /// It is there, and some of its description.
    Shortened {
        /// The bytes of the description.
        from: usize,
        /// The bytes that are left of it, with the mark that it was cut.
        to: usize,
    },
    /// It was given without a description, and is there without one.
    NameOnly,
    /// It is not there, because of the budget.
    LeftOut,
}

impl Fate {
    /// What becomes of a skill that is there, when its description is cut after so many bytes.
    pub(super) fn of(skill: &ListedSkill<'_>, cut: Option<usize>) -> Self {
        match (skill.description, cut) {
            (None, _) => Self::NameOnly,
            (Some(_), None) => Self::Whole,
            (Some(text), Some(end)) => Self::Shortened { from: text.len(), to: end + MORE.len() },
        }
    }
}

impl<'a> ListExplanation<'a> {
    /// From the bytes that each skill takes that is there, and those of everything else.
    pub(super) fn new(
        skills: &[ListedSkill<'a>],
        budget: Option<usize>,
        shown: Vec<(usize, Fate)>,
        frame: usize,
    ) -> Self {
        let left_out = std::iter::repeat((0, Fate::LeftOut));
        let mut end = frame;
        let explained = skills.iter().zip(shown.into_iter().chain(left_out)).map(|(skill, (bytes, fate))| {
            // Rounded where they end, and not each for itself: so they add up.
            let begin = end;
            end += bytes;
            ExplainedSkill { name: skill.name, tokens: tokens(end) - tokens(begin), fate }
        });
        Self { skills: explained.collect(), frame: tokens(frame), tokens: tokens(end), budget }
    }
}
