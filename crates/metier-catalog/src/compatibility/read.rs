//! Free text to needs: which programs, systems, agents the words of `compatibility` ask for.
//!
//! The text is taken apart into clauses, these into items at commas, `and` and `or`. An item is understood when
//! it names one thing of the table and every other word in it is known to say nothing more. Whatever is not
//! understood is kept as such: guessing would tell people that a skill works when nobody knows.

use super::bounds::Bounds;
use super::programs::Program;
use super::reader::Reader;
use super::table::System;
use super::tokens::{Kind, Token, tokens};

/// What is said of environment variables.
pub(super) const VARIABLES: &str = "metier does not look at environment variables: check it yourself";

/// Something needed, in one of several ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// What the author wrote.
    pub(super) text: String,
    /// One of these is enough.
    pub(super) any_of: Vec<Need>,
}

/// One thing needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) what: What,
    /// It would be good to have, no more.
    pub(super) optional: bool,
    /// It is needed in some cases only.
    pub(super) conditional: bool,
    /// More is asked of it than can be seen from outside.
    pub(super) beyond: bool,
}

/// The thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Program(&'static Program, Bounds),
    /// A program that is not in the table; `sure` where the text leaves no doubt that this is its name.
    Named {
        name: String,
        sure: bool,
    },
    System(System),
    NotSystem(System),
    Agent(&'static str),
    AnyAgent,
    Network,
    /// Understood, but nothing that metier looks at, for this reason.
    Unseen(&'static str),
    /// The text says that this is not needed.
    Nothing,
    Unreadable,
}

impl What {
    pub(super) fn is_agent(&self) -> bool {
        matches!(self, Self::Agent(_) | Self::AnyAgent)
    }

    pub(super) fn is_system(&self) -> bool {
        matches!(self, Self::System(_))
    }
}

impl Group {
    fn is_unreadable(&self) -> bool {
        self.any_of.iter().all(|need| need.what == What::Unreadable && !need.optional)
    }
}

/// Everything that a text asks for. Text of which nothing is understood is one group.
pub(super) fn read(text: &str) -> Vec<Group> {
    let tokens = tokens(text);
    let mut groups = Vec::new();
    for clause in clauses(&tokens) {
        let read = Reader::new(text, clause).groups();
        let (Some(first), Some(last)) = (clause.first(), clause.last()) else { continue };
        if read.iter().all(Group::is_unreadable) && !read.is_empty() {
            groups.push(unreadable(&text[first.start..last.end]));
        } else {
            groups.extend(read);
        }
    }
    if groups.iter().all(Group::is_unreadable) {
        let whole = text.trim();
        return if whole.is_empty() { Vec::new() } else { vec![unreadable(whole)] };
    }
    let groups = merge(groups, What::is_agent);
    merge(groups, What::is_system)
}

fn unreadable(text: &str) -> Group {
    let need = Need { what: What::Unreadable, optional: false, conditional: false, beyond: false };
    Group { text: text.to_owned(), any_of: vec![need] }
}

/// Splits at what ends a sentence, outside of parentheses.
fn clauses(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    let mut depth = 0_usize;
    tokens.split(move |token| {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        token.kind == Kind::Break && depth == 0
    })
}

/// One machine has one system and one agent. However a list of them is joined, one of the list is meant.
fn merge(groups: Vec<Group>, is_one: fn(&What) -> bool) -> Vec<Group> {
    let mut merged: Vec<Group> = Vec::with_capacity(groups.len());
    let mut first = None;
    for group in groups {
        if !group.any_of.iter().all(|need| is_one(&need.what) && !need.optional) {
            merged.push(group);
        } else if let Some(at) = first {
            let into: &mut Group = &mut merged[at];
            into.text = format!("{}, {}", into.text, group.text);
            into.any_of.extend(group.any_of);
        } else {
            first = Some(merged.len());
            merged.push(group);
        }
    }
    merged
}
