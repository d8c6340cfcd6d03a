//! The words of one clause to groups of needs.

use super::bounds::{Bounds, is_version};
use super::item::{Item, Join, commas_are_or, spread_no};
use super::machine::is_program_name;
use super::read::{Group, VARIABLES, What};
use super::table::{Known, Role, known, role};
use super::tokens::{Kind, Token};

/// A word that makes a wish of what follows makes one of the whole clause when it is among this many words.
const EARLY: usize = 3;

/// Reads one clause, from left to right.
pub(super) struct Reader<'t> {
    text: &'t str,
    tokens: &'t [Token],
    at: usize,
    /// Whether the clause began with a word that makes all of it a wish.
    early: bool,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, tokens: &'t [Token]) -> Self {
        Self { text, tokens, at: 0, early: false }
    }

    pub(super) fn groups(mut self) -> Vec<Group> {
        let mut items: Vec<(Join, Item)> = Vec::new();
        let mut join = Join::New;
        let mut carried = Item::default();
        while self.at < self.tokens.len() {
            let mut item = self.item();
            item.take_over(&carried, self.text);
            carried = Item::default();
            if item.says_nothing() {
                // `works best with`, `does not run on`: what it says is about the next item.
                carried = item;
            } else {
                items.push((join, item));
                join = Join::And;
            }
            join = self.join(join, items.is_empty());
        }
        self.join_up(items)
    }

    /// Items to groups, by what stands between them.
    fn join_up(&self, mut items: Vec<(Join, Item)>) -> Vec<Group> {
        spread_no(&mut items);
        let commas_are_or = commas_are_or(&items);
        let mut groups: Vec<Group> = Vec::new();
        let mut inside: Vec<Group> = Vec::new();
        let mut before: Option<What> = None;
        let mut start = 0;
        for (at, (join, mut item)) in items.into_iter().enumerate() {
            let (first, end) = item.range.unwrap_or_default();
            let in_parentheses = std::mem::take(&mut item.inside);
            let needs = item.needs(before.as_ref());
            before = needs.first().map(|need| need.what.clone());
            let alternative =
                matches!(join, Join::Or | Join::CommaOr) || (join == Join::Comma && commas_are_or[at]);
            match groups.last_mut() {
                Some(group) if alternative => {
                    group.any_of.extend(needs);
                    self.text[start..end].clone_into(&mut group.text);
                    // What one of several ways needs besides is not needed in the other ways.
                    inside.clear();
                }
                _ => {
                    start = first;
                    groups.append(&mut inside);
                    groups.push(Group { text: self.text[start..end].to_owned(), any_of: needs });
                    inside = in_parentheses;
                }
            }
        }
        groups.append(&mut inside);
        groups
    }

    fn peek(&self, ahead: usize) -> Option<&'t Token> {
        self.tokens.get(self.at + ahead)
    }

    /// What stands between two items.
    fn join(&mut self, mut join: Join, first: bool) -> Join {
        let mut comma = false;
        while let Some(token) = self.peek(0) {
            join = match token.kind {
                Kind::Comma => {
                    comma = true;
                    Join::Comma
                }
                Kind::And => Join::And,
                Kind::Or if comma => Join::CommaOr,
                Kind::Or => Join::Or,
                Kind::With => Join::New,
                Kind::Close | Kind::Break => join,
                Kind::Word | Kind::Operator | Kind::Open => break,
            };
            self.at += 1;
        }
        if first { Join::New } else { join }
    }

    /// The words up to the next comma, `and` or `or`.
    fn item(&mut self) -> Item {
        let mut item = Item::default();
        if self.early {
            item.said.add(Role::Optional);
        }
        while let Some(token) = self.peek(0) {
            match token.kind {
                Kind::Word => {
                    item.reach(token);
                    self.word(token, &mut item);
                }
                Kind::Operator => {
                    item.reach(token);
                    item.unknown_words += 1;
                    self.at += 1;
                }
                Kind::Open => self.parentheses(&mut item),
                _ => break,
            }
            if let Some(token) = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)) {
                item.reach(token);
            }
        }
        item
    }

    fn word(&mut self, token: &'t Token, item: &mut Item) {
        let words = self.tokens[self.at..].iter().map(|token| token.text.as_str());
        if let Some((known, count)) = known(words) {
            self.at += count;
            self.found(known, item);
            return;
        }
        if self.glued(token, item) {
            return;
        }
        self.at += 1;
        let is_late = item.names_something();
        match role(&token.text) {
            Some(Role::Purpose) if is_late => self.skip_item(),
            Some(Role::Filler | Role::Purpose) => {}
            // `compatible with Codex` is about Codex, `and compatible` about others.
            Some(Role::Open) if self.peek(0).is_some_and(|next| next.kind == Kind::With) => {}
            Some(Role::ProgramNoun) if is_late || item.says_nothing() => {}
            Some(Role::ProgramNoun) | None => self.unknown_word(token, item),
            Some(role) => {
                item.said.add(role);
                self.early |= role == Role::Optional && self.at <= EARLY && !is_late;
                if role == Role::Condition {
                    self.skip_item();
                }
            }
        }
    }

    /// A word that is not in the table: the name of a program, where the words around it say so.
    fn unknown_word(&mut self, token: &'t Token, item: &mut Item) {
        let original = &self.text[token.start..token.end];
        let noun = self.peek(0).is_some_and(|next| role(&next.text) == Some(Role::ProgramNoun));
        let can_be = is_program_name(original) && !is_version(original) && item.named.is_none();
        let alone = |near: Option<&Token>| near.is_none_or(|near| !near.quoted);
        let before = self.at.checked_sub(2).and_then(|at| self.tokens.get(at));
        let quoted = token.quoted && alone(before) && alone(self.peek(0));
        let lower = original.bytes().all(|byte| !byte.is_ascii_uppercase());
        if is_variable(original) {
            item.found.push(What::Unseen(VARIABLES));
        } else if can_be && (noun || (lower && (quoted || original.ends_with("-cli")))) {
            item.named = Some((token.text.clone(), quoted && noun));
        } else {
            item.unknown_words += 1;
        }
    }

    fn found(&mut self, known: Known, item: &mut Item) {
        let what = match known {
            Known::Program(program) => What::Program(program, self.bounds()),
            Known::System(system) => {
                self.pass_versions(item);
                What::System(system)
            }
            Known::Agent(agent) => {
                self.pass_versions(item);
                What::Agent(agent)
            }
            Known::Network => What::Network,
            Known::Unseen(why) => {
                self.bounds();
                What::Unseen(why)
            }
            Known::Nothing => What::Nothing,
        };
        item.found.push(what);
    }

    /// Versions of systems and agents are not looked at.
    fn pass_versions(&mut self, item: &mut Item) {
        if !self.bounds().is_any() {
            item.said.add(Role::Beyond);
        }
    }

    /// `python3.11+`, `node18`: a name and a version in one word.
    fn glued(&mut self, token: &Token, item: &mut Item) -> bool {
        let Some(at) = token.text.find(|c: char| c.is_ascii_digit()) else { return false };
        let (name, version) = token.text.split_at(at);
        let mut bounds = Bounds::default();
        match known(std::iter::once(name)) {
            Some((Known::Program(program), _)) if bounds.word(version) => {
                self.at += 1;
                self.more_bounds(&mut bounds);
                item.found.push(What::Program(program, bounds));
                true
            }
            _ => false,
        }
    }

    /// The versions that follow a name, in parentheses or not.
    fn bounds(&mut self) -> Bounds {
        let start = self.at;
        let is_word = |token: &Token| {
            matches!(token.text.as_str(), "version" | "versions" | "v" | "at" | "least" | "minimum")
        };
        let open = self.peek(0).is_some_and(|token| token.kind == Kind::Open);
        self.at += usize::from(open);
        while self.peek(0).is_some_and(is_word) {
            self.at += 1;
        }
        let mut bounds = Bounds::default();
        let found = match (self.peek(0), self.peek(1)) {
            (Some(sign), Some(version)) if sign.kind == Kind::Operator => {
                let fits = bounds.operator(&sign.text, &version.text);
                self.at += if fits { 2 } else { 0 };
                fits
            }
            (Some(version), _) if bounds.word(&version.text) => {
                self.at += 1;
                true
            }
            _ => false,
        };
        if found {
            self.more_bounds(&mut bounds);
        }
        let closes = self.peek(0).is_some_and(|token| token.kind == Kind::Close);
        if !found || (open && !closes) {
            self.at = start;
            return Bounds::default();
        }
        self.at += usize::from(open);
        bounds
    }

    /// What may follow a version: `or newer`, `to 3.14`, `, < 4`, `/ 3.12`.
    fn more_bounds(&mut self, bounds: &mut Bounds) {
        while let Some(token) = self.peek(0) {
            let next = self.peek(1);
            let text = next.map_or("", |next| next.text.as_str());
            let joins = matches!(token.kind, Kind::And | Kind::Or | Kind::Comma);
            if joins
                && matches!(
                    text,
                    "newer"
                        | "later"
                        | "higher"
                        | "above"
                        | "greater"
                        | "up"
                        | "more"
                        | "upwards"
                        | "upward"
                        | "onwards"
                )
            {
                bounds.or_newer();
            } else if matches!(token.text.as_str(), "to" | "through") && bounds.up_to(text) {
            } else if joins && next.is_some_and(|next| next.kind == Kind::Operator) {
                let version = self.peek(2).map_or("", |version| version.text.as_str());
                if !bounds.operator(text, version) {
                    return;
                }
                self.at += 1;
            } else if token.kind == Kind::Operator && bounds.operator(&token.text, text) {
            } else if !(token.kind == Kind::Or && is_version(text)) {
                return;
            }
            self.at += 2;
        }
    }

    /// Leaves out what an item is for.
    fn skip_item(&mut self) {
        while self.peek(0).is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Operator)) {
            self.at += 1;
        }
    }

    /// What is in parentheses explains, as a rule, and is left out; unless it is understood.
    fn parentheses(&mut self, item: &mut Item) {
        let tokens = self.tokens;
        let start = self.at + 1;
        let mut depth = 0_usize;
        while let Some(token) = self.peek(0) {
            self.at += 1;
            match token.kind {
                Kind::Open => depth += 1,
                Kind::Close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let inner = &tokens[start..self.at];
        // One level is enough; it also bounds how deep this calls itself.
        let inner =
            inner.split(|token| matches!(token.kind, Kind::Open | Kind::Close)).next().unwrap_or_default();
        let Some(first) = inner.first() else { return };
        if role(&first.text) == Some(Role::Optional) {
            item.said.add(Role::Optional);
            return;
        }
        let alternative = first.kind == Kind::Or
            || role(inner.get(1).map_or("", |second| &second.text)) == Some(Role::Open);
        let before = item.found.first().cloned();
        let groups = Reader::new(self.text, inner).groups_after(before.as_ref());
        if alternative {
            item.others.extend(groups.into_iter().flat_map(|group| group.any_of));
        } else if groups.iter().flat_map(|group| &group.any_of).all(|need| is_plain(&need.what)) {
            item.inside.extend(groups);
        }
    }

    /// Like [`Reader::groups`], for text that goes on after something.
    fn groups_after(mut self, before: Option<&What>) -> Vec<Group> {
        let joins =
            matches!(self.peek(0), Some(token) if matches!(token.kind, Kind::Or | Kind::And | Kind::Comma));
        self.at += usize::from(joins);
        let mut ahead = Reader { at: self.at, ..Reader::new(self.text, self.tokens) };
        let item = ahead.item();
        if ahead.at == self.tokens.len() && item.said.has(Role::Open) {
            let (start, end) = item.range.unwrap_or_default();
            let text = self.text[start..end].to_owned();
            return vec![Group { text, any_of: item.needs(before) }];
        }
        self.groups()
    }
}

/// `OPENAI_API_KEY`
fn is_variable(word: &str) -> bool {
    let shape = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let word = word.strip_prefix('$').unwrap_or(word);
    word.contains('_') && word.bytes().all(shape)
}

/// Whether something in parentheses can be a need of its own. Systems and agents there say to which case the
/// word before belongs: `bash (Linux) or PowerShell (Windows)`.
fn is_plain(what: &What) -> bool {
    matches!(what, What::Program(..) | What::Network)
}
