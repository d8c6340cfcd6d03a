//! Explains a list: the tokens of each part, and what happened to each skill.

use metier_skill::tokens;

use super::ListedSkill;
use super::write::MORE;

/// The token cost of a list, part by part. The parts add up to the total, so a single part may be off by one
/// token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListExplanation<'a> {
    /// All given skills, in the given order.
    pub skills: Vec<ExplainedSkill<'a>>,
    /// The tokens of everything else: the text before and after the list, and its syntax.
    pub frame: usize,
    /// The tokens of the whole text.
    pub tokens: usize,
    /// The maximum number of tokens.
    pub budget: Option<usize>,
}

/// One skill of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedSkill<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its tokens; 0 if it was left out.
    pub tokens: usize,
    /// What happened to it.
    pub fate: Fate,
}

/// What happened to a skill in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fate {
    /// Included with its full description.
    Whole,
    /// Included with a shortened description.
    Shortened {
        /// The length of the description in bytes.
        from: usize,
        /// The length of what is left of it in bytes, including the ellipsis.
        to: usize,
    },
    /// Given without a description, and included without one.
    NameOnly,
    /// Left out because of the budget.
    LeftOut,
}

impl Fate {
    /// What happens to an included skill if its description is cut after this many bytes.
    pub(super) fn of(skill: &ListedSkill<'_>, cut: Option<usize>) -> Self {
        match (skill.description, cut) {
            (None, _) => Self::NameOnly,
            (Some(_), None) => Self::Whole,
            (Some(text), Some(end)) => Self::Shortened { from: text.len(), to: end + MORE.len() },
        }
    }
}

impl<'a> ListExplanation<'a> {
    /// Computes the explanation from the bytes of each included skill and of everything else.
    pub(super) fn new(
        skills: &[ListedSkill<'a>],
        budget: Option<usize>,
        shown: Vec<(usize, Fate)>,
        frame: usize,
    ) -> Self {
        let left_out = std::iter::repeat((0, Fate::LeftOut));
        let mut end = frame;
        let explained = skills.iter().zip(shown.into_iter().chain(left_out)).map(|(skill, (bytes, fate))| {
            // Running totals are rounded instead of each part, so that the parts add up.
            let begin = end;
            end += bytes;
            ExplainedSkill { name: skill.name, tokens: tokens(end) - tokens(begin), fate }
        });
        Self { skills: explained.collect(), frame: tokens(frame), tokens: tokens(end), budget }
    }
}
