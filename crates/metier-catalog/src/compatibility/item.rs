//! One item of a list in free text, and how the items of a list hang together.

use super::read::{Group, Need, What};
use super::table::Role;
use super::tokens::Token;

/// Words of praise that may stand beside the claim to need nothing.
const FEW: usize = 3;

/// What joins an item to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Comma,
    Or,
    /// `, or`
    CommaOr,
    /// A list of its own begins.
    New,
}

/// The roles that words have played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Said(u16);

impl Said {
    pub(super) fn add(&mut self, role: Role) {
        self.0 |= 1 << role as u16;
    }

    pub(super) fn has(self, role: Role) -> bool {
        self.0 & 1 << role as u16 != 0
    }

    /// Takes over those of `roles` that `other` has.
    fn take(&mut self, other: Self, roles: &[Role]) {
        roles.iter().filter(|role| other.has(**role)).for_each(|role| self.add(*role));
    }
}

/// What the words of one item amount to.
#[derive(Debug, Default)]
pub(super) struct Item {
    /// Bytes of the text; `None` before the first word.
    pub(super) range: Option<(usize, usize)>,
    pub(super) found: Vec<What>,
    /// A word in backticks or before `CLI`, and whether that leaves no doubt.
    pub(super) named: Option<(String, bool)>,
    /// Groups in parentheses that are needed too.
    pub(super) inside: Vec<Group>,
    /// Others in parentheses that would do as well.
    pub(super) others: Vec<Need>,
    pub(super) unknown_words: usize,
    /// What its words do.
    pub(super) said: Said,
}

impl Item {
    pub(super) fn reach(&mut self, token: &Token) {
        let start = self.range.map_or(token.start, |(start, _)| start);
        self.range = Some((start, token.end));
    }

    /// Nothing but words that are about something else.
    pub(super) fn says_nothing(&self) -> bool {
        self.found.is_empty()
            && self.named.is_none()
            && self.others.is_empty()
            && self.inside.is_empty()
            && self.unknown_words == 0
            && !self.said.has(Role::Beyond)
            && !self.said.has(Role::Open)
            && !self.said.has(Role::AgentNoun)
    }

    /// Whether something has been named already, so that what follows is about it.
    pub(super) fn names_something(&self) -> bool {
        !self.found.is_empty()
            || self.named.is_some()
            || (self.said.has(Role::Open) && self.said.has(Role::AgentNoun))
    }

    /// Takes over what was said before in words that name nothing.
    pub(super) fn take_over(&mut self, before: &Self, text: &str) {
        self.said.take(before.said, &[Role::Optional, Role::No, Role::Not, Role::Need, Role::Condition]);
        if let (Some((start, middle)), Some((next, end))) = (before.range, self.range)
            && !text[middle..next].contains(',')
        {
            self.range = Some((start, end));
        }
    }

    /// What the item asks for. `before` is what the item before it asks for: `or similar` is about that.
    pub(super) fn needs(self, before: Option<&What>) -> Vec<Need> {
        let what = self.what(before);
        let need = Need {
            beyond: self.said.has(Role::Beyond) && !matches!(what, What::Unreadable | What::Nothing),
            what,
            optional: self.said.has(Role::Optional),
            conditional: self.said.has(Role::Condition),
        };
        let mut needs = vec![need];
        needs.extend(self.others);
        needs
    }

    fn what(&self, before: Option<&What>) -> What {
        if self.said.has(Role::No) || self.said.has(Role::Not) {
            return self.what_not();
        }
        let found = match (self.found.as_slice(), &self.named) {
            ([what, more @ ..], None) if more.iter().all(|other| is_same(what, other)) => what.clone(),
            ([], Some((name, sure))) => What::Named { name: name.clone(), sure: *sure },
            ([], None) => return self.what_in_general(before),
            _ => return What::Unreadable,
        };
        let fits = match found {
            // Whose account or which server it is makes no difference to metier.
            What::Unseen(_) => true,
            What::Nothing => self.unknown_words <= FEW,
            _ => {
                self.unknown_words == 0
                    && (!self.said.has(Role::AgentNoun) || found.is_agent() || self.said.has(Role::Open))
            }
        };
        if fits { found } else { What::Unreadable }
    }

    /// `similar products`, `any agent that …`: says nothing about this machine where agents are meant.
    fn what_in_general(&self, before: Option<&What>) -> What {
        let agents = self.said.has(Role::AgentNoun) || before.is_some_and(What::is_agent);
        if self.said.has(Role::Open) && agents && self.unknown_words == 0 {
            What::AnyAgent
        } else {
            What::Unreadable
        }
    }

    /// `no keys`, `does not need git`, `not on Windows`. `not without` and `paths are not read` are something else.
    fn what_not(&self) -> What {
        let doubt = self.said.has(Role::No) && self.said.has(Role::Not);
        match self.found.as_slice() {
            [What::System(system)] if !doubt && self.unknown_words == 0 => What::NotSystem(*system),
            found if found.iter().any(|what| what.is_agent() || what.is_system()) => What::Unreadable,
            _ if !doubt && (self.said.has(Role::No) || self.said.has(Role::Need)) => What::Nothing,
            _ => What::Unreadable,
        }
    }
}

fn is_same(one: &What, other: &What) -> bool {
    match (one, other) {
        (What::Program(one, _), What::Program(other, bounds)) => one == other && bounds.is_any(),
        _ => one == other,
    }
}

/// `no network access, scripts or keys`: the `no` is about the whole list.
pub(super) fn spread_no(items: &mut [(Join, Item)]) {
    let mut start = None;
    for at in 0..items.len() {
        let (join, item) = &items[at];
        if matches!(join, Join::And | Join::New) {
            start = None;
        }
        start = start.or((item.said.has(Role::No) || item.said.has(Role::Not)).then_some(at));
        if let (Join::Or | Join::CommaOr, Some(from)) = (join, start) {
            let said = items[from].1.said;
            for (_, item) in &mut items[from..=at] {
                item.said.take(said, &[Role::No, Role::Not, Role::Need]);
            }
            // Never twice over the same items, however long the list is.
            start = Some(at);
        }
    }
}

/// For each item whether the comma before it means `or`: in `a, b or c` it does; in `a, b or c, and d` not.
pub(super) fn commas_are_or(items: &[(Join, Item)]) -> Vec<bool> {
    let mut result = vec![false; items.len()];
    let mut start = 0;
    for end in 1..=items.len() {
        if end < items.len() && items[end].0 != Join::New {
            continue;
        }
        let list = &items[start..end];
        let has_and = list.iter().any(|(join, _)| *join == Join::And);
        let versions = list.iter().any(|(_, item)| item.has_versions());
        let or = match list.last() {
            Some((Join::CommaOr, _)) => true,
            // `Python 3.10+, Docker or Podman` is more likely one thing and a choice.
            Some((Join::Or, _)) => !versions && list.iter().all(|(_, item)| item.is_like(&list[0].1)),
            _ => false,
        };
        result[start..end].fill(or && !has_and);
        start = end;
    }
    result
}

impl Item {
    fn has_versions(&self) -> bool {
        self.found.iter().any(|what| matches!(what, What::Program(_, bounds) if !bounds.is_any()))
    }

    fn is_like(&self, other: &Self) -> bool {
        let kind = |item: &Self| item.found.first().map(std::mem::discriminant);
        kind(self) == kind(other)
    }
}
