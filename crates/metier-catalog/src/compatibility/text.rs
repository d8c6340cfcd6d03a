//! Parses the common forms of `compatibility`: `Requires Python 3.11+`, `git`, `docker`, network access,
//! systems and agents, and lists of them.
//!
//! A wrong "unmet" is worse than no result. A sentence with a word that may change its meaning is not parsed,
//! and a list is parsed only up to the first item that is not in the table.

use super::need::{Need, NeedGroup, Versions};
use super::table::{Known, TABLE};

/// Words before a name that do not change the requirement.
const LEAD: &str = "requires require required requirements needs need designed made built intended for works work compatible \
                    with on runs run either also the a an";
/// Words after a name that do not change it.
const TAIL: &str =
    "installed available required needed supported is are must be locally cli tool version only";
/// Words that may change the meaning of a sentence.
const DOUBT: &str = "no not without zero neither nor cannot isn't doesn't don't optional optionally recommended recommends \
                     preferred preferably ideally best suggested if when unless may might can similar other others any all \
                     equivalent alternative alternatives alternatively e.g. i.e. etc etc. including includes such like \
                     tested except excluding some most";
/// Phrases that accept newer versions.
const NEWER: [&str; 8] = [
    " or newer",
    " or higher",
    " or later",
    " or above",
    " or greater",
    " and above",
    " and newer",
    " and up",
];

/// The requirements in a text.
pub(super) fn read(text: &str) -> Vec<NeedGroup> {
    let lines = text.split([';', '\n']);
    let sentences = lines.flat_map(sentences).map(str::trim).filter(|sentence| !sentence.is_empty());
    let groups: Vec<NeedGroup> = sentences.flat_map(read_sentence).collect();
    merge(merge(groups, Need::is_system), Need::is_agent)
}

/// A machine has one system and one agent, so one of those that a text names is enough.
fn merge(groups: Vec<NeedGroup>, is_of_kind: fn(&Need) -> bool) -> Vec<NeedGroup> {
    let mut merged: Vec<NeedGroup> = Vec::with_capacity(groups.len());
    let mut first = None;
    for group in groups {
        if !group.any_of.first().is_some_and(is_of_kind) {
            merged.push(group);
        } else if let Some(at) = first {
            let into: &mut NeedGroup = &mut merged[at];
            into.text = format!("{}, {}", into.text, group.text);
            into.any_of.extend(group.any_of);
        } else {
            first = Some(merged.len());
            merged.push(group);
        }
    }
    merged
}

/// Splits after full stops. A word with two of them, such as `e.g.`, does not end a sentence.
fn sentences(line: &str) -> Vec<&str> {
    let (mut found, mut start) = (Vec::new(), 0);
    for (at, _) in line.match_indices(". ") {
        let word = line[start..at].rsplit(' ').next().unwrap_or_default();
        if !word.contains('.') {
            found.push(&line[start..at]);
            start = at + 1;
        }
    }
    found.push(&line[start..]);
    found
}

fn read_sentence(sentence: &str) -> Vec<NeedGroup> {
    let unread = |text: &str| NeedGroup { text: text.to_owned(), any_of: vec![Need::Unread] };
    let mut words = sentence.split(|c: char| c.is_whitespace() || ",:()".contains(c));
    if words.any(|word| has_word(DOUBT, &word.to_ascii_lowercase())) || sentence.contains("one of") {
        return vec![unread(sentence)];
    }
    let newer = |text: String, newer: &str| text.replace(newer, "+");
    let List { items, joins } =
        List::split(&NEWER.into_iter().fold(sentence.trim_end_matches('.').to_owned(), newer));
    let needs: Vec<Need> = items.iter().map(|item| read_item(&item.to_ascii_lowercase())).collect();
    if needs.is_empty() {
        return vec![unread(sentence)];
    }
    if needs.len() == 1
        || joins == [Join::Or]
        || needs.iter().all(Need::is_system)
        || needs.iter().all(Need::is_agent)
    {
        return vec![NeedGroup { text: sentence.to_owned(), any_of: needs }];
    }
    if joins.contains(&Join::Or) {
        return vec![unread(sentence)];
    }
    let end = needs.iter().position(|need| *need == Need::Unread).unwrap_or(needs.len());
    let mut groups: Vec<NeedGroup> = Vec::with_capacity(end + 1);
    for (item, need) in items.iter().zip(needs).take(end) {
        let is_choice = need.is_system() || need.is_agent();
        let mut any_of = vec![need];
        // The part that was not parsed may name another system or agent.
        any_of.extend((is_choice && end < items.len()).then_some(Need::Unread));
        groups.push(NeedGroup { text: item.clone(), any_of });
    }
    groups.extend(items.get(end..).filter(|rest| !rest.is_empty()).map(|rest| unread(&rest.join(", "))));
    groups
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Join {
    And,
    Or,
}

/// The items of a list, and how they are joined, each way once.
#[derive(Default)]
struct List {
    items: Vec<String>,
    joins: Vec<Join>,
}

impl List {
    /// Splits at commas, `and` and `or`, but not inside parentheses and not before `< 3.13`, which continues a
    /// range.
    fn split(sentence: &str) -> Self {
        let (mut list, mut item, mut depth) = (Self::default(), String::new(), 0_usize);
        for word in sentence.replace(',', " , ").replace('/', " / ").split_whitespace() {
            let join = match word.to_ascii_lowercase().as_str() {
                "," | "and" | "+" | "&" => Some(Join::And),
                "or" | "/" => Some(Join::Or),
                _ => None,
            };
            if let Some(join) = join.filter(|_| depth == 0) {
                list.push(&mut item);
                if !list.joins.contains(&join) {
                    list.joins.push(join);
                }
                continue;
            }
            depth = (depth + word.matches('(').count()).saturating_sub(word.matches(')').count());
            if !item.is_empty() {
                item.push(' ');
            }
            item.push_str(word);
        }
        list.push(&mut item);
        list
    }

    fn push(&mut self, item: &mut String) {
        let item = std::mem::take(item);
        match self.items.last_mut() {
            _ if item.is_empty() => {}
            Some(last) if item.starts_with(['<', '>', '=', '~', '^', '≥', '≤']) => {
                last.push_str(", ");
                last.push_str(&item);
            }
            _ => self.items.push(item),
        }
    }
}

/// A name in the table, with words around it that do not matter, and the required versions.
fn read_item(item: &str) -> Need {
    let mut rest = item;
    while let Some((_, after)) =
        rest.split_once(' ').filter(|(word, _)| has_word(LEAD, word.trim_end_matches(':')))
    {
        rest = after;
    }
    let mut spellings = TABLE.iter().flat_map(|(known, all)| all.iter().map(move |one| (*known, *one)));
    let found = spellings.find_map(|(known, spelling)| read_tail(known, rest.strip_prefix(spelling)?));
    found.unwrap_or(Need::Unread)
}

/// What follows a name: nothing relevant, a purpose, or versions.
fn read_tail(known: Known, after: &str) -> Option<Need> {
    let purpose = [" for ", " to "].iter().filter_map(|word| after.find(word)).min();
    let after = purpose.map_or(after, |at| &after[..at]);
    if after.starts_with(char::is_alphabetic) {
        return None;
    }
    let is_plain = |word: &&str| {
        let inner = word.trim_matches(['(', ')', '`']);
        !has_word(TAIL, inner) && !matches!(known, Known::Program(names) if names.contains(&inner))
    };
    let words: Vec<&str> = after.split_whitespace().filter(is_plain).collect();
    let versions = words.join(" ");
    let versions = versions.trim_matches(['(', ')']);
    match known {
        _ if versions.is_empty() => Some(Need::Known(known, None)),
        Known::Program(_) => Versions::parse(versions).map(|versions| Need::Known(known, Some(versions))),
        _ => None,
    }
}

fn has_word(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|other| other == word)
}
