//! The list of discovered skills as part of a prompt.

use std::fmt::Write as _;

use crate::node::{Found, FoundSkill};
use crate::skill_list::{ActivationHint, ListedSkill, RenderedList, SkillList};

/// The full list, with all skills in its order. If it does not fit completely, the skills that fit the task best come
/// first.
pub(crate) fn full<'a>(found: &'a Found, task: Option<&str>) -> (RenderedList, Vec<&'a FoundSkill>) {
    let order = ordered(found, task);
    let listed: Vec<ListedSkill<'_>> = order.iter().copied().map(as_listed).collect();
    let activation = found.options.activation_tool.as_deref().map(ActivationHint::Tool);
    let list = SkillList::new(&listed)
        .format(found.options.format)
        .budget(found.options.budget)
        .activation(activation);
    // Only the host knows the agent's search tool.
    (list.search(found.options.search.as_deref()).render(), order)
}

/// Replaces a list of which nothing fits, if it fits itself.
pub(crate) fn left_out(found: &Found) -> String {
    let count = found.skills.len();
    let text = match count {
        1 => "1 skill is left out to save room.".to_owned(),
        _ => format!("{count} skills are left out to save room."),
    };
    let fits = found.options.budget.is_none_or(|tokens| metier_skill::tokens(text.len()) <= tokens);
    if fits { text } else { String::new() }
}

/// Only the names, within the budget.
pub(crate) fn names(found: &Found) -> String {
    let most = found.options.budget.map_or(usize::MAX, |tokens| tokens.saturating_mul(4));
    let mut text = String::from("Skills:");
    for (place, skill) in found.skills.iter().enumerate() {
        let rest = found.skills.len() - place;
        // Names that are not mounted can be any text; they are kept on this line.
        let words: Vec<&str> = skill.name.split(|c: char| c.is_whitespace() || c.is_control()).collect();
        let name = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        let name: String = name.chars().map(visible).collect();
        // Reserves room for the number of missing names.
        if text.len() + name.len() + 40 > most {
            if place == 0 {
                return format!("{rest} skills");
            }
            let _ = write!(text, " and {rest} more");
            return text;
        }
        text.push(' ');
        text.push_str(&name);
        if rest > 1 {
            text.push(',');
        }
    }
    text
}

/// Replaces an invisible character with a visible one.
fn visible(c: char) -> char {
    if metier_skill::is_invisible(c) { '\u{fffd}' } else { c }
}

fn ordered<'a>(found: &'a Found, task: Option<&str>) -> Vec<&'a FoundSkill> {
    let (Some(ranking), Some(task), Some(_)) = (&found.options.ranking, task, found.options.budget) else {
        return found.skills.iter().collect();
    };
    let mut is_taken = vec![false; found.skills.len()];
    let mut order = Vec::with_capacity(found.skills.len());
    for name in (ranking.0)(task) {
        if let Some(place) = found.places.get(name.as_str()).copied()
            && !std::mem::replace(&mut is_taken[place], true)
        {
            order.push(&found.skills[place]);
        }
    }
    let rest = found.skills.iter().zip(&is_taken).filter(|(_, is_taken)| !**is_taken);
    order.extend(rest.map(|(skill, _)| skill));
    order
}

fn as_listed(skill: &FoundSkill) -> ListedSkill<'_> {
    ListedSkill {
        name: &skill.name,
        description: skill.description.as_deref(),
        location: skill.location.as_deref(),
    }
}
