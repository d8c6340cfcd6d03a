//! Parses a command line as a POSIX shell or bash would: every simple command in it, at any depth, with its words,
//! assignments and redirections.
//!
//! The structure between commands is dropped, because rules check each command in the same way. A line that cannot be
//! parsed is an error; a line that can be parsed but must not be pre-approved has an [`Oddity`]. The parser never
//! guesses.

mod braces;
mod expansion;
mod parser;
mod redirect;
mod word;

use thiserror::Error;

pub(crate) use parser::parse;
pub(crate) use word::{DYNAMIC, Start, Word};

/// The maximum length of a command line.
pub(crate) const LONGEST: usize = 10_000;

/// Why a command line could not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum ShellError {
    #[error("it is longer than {LONGEST} characters")]
    TooLong,
    #[error("it is nested too deeply")]
    TooDeep,
    #[error("it has a character that shells do not treat as a space or a letter (U+{:04X})", u32::from(*.0))]
    Character(char),
    #[error("{0} is not closed")]
    Unclosed(&'static str),
    #[error("there is nothing before or after `{0}`")]
    Misplaced(&'static str),
    #[error("it uses {0}, which cannot be checked")]
    Unsupported(&'static str),
}

/// Syntax that changes what other commands mean, so that no rule about those can allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Oddity(pub(crate) &'static str);

/// Everything in a command line that would run.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) commands: Vec<Command>,
    pub(crate) oddities: Vec<Oddity>,
    /// The texts of here-documents.
    pub(crate) documents: Vec<String>,
}

impl Script {
    /// Adds the content of a part.
    fn absorb(&mut self, part: Self) {
        self.commands.extend(part.commands);
        self.oddities.extend(part.oddities);
        self.documents.extend(part.documents);
    }
}

/// A simple command. Without words, it is assignments or the redirections of a group.
#[derive(Debug, Default)]
pub(crate) struct Command {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
    /// Words that are not arguments: those of a loop, and here-strings.
    pub(crate) mentions: Vec<Word>,
    /// Whether its standard input differs from the caller's.
    pub(crate) is_fed: bool,
}

impl Command {
    pub(crate) fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.words.is_empty() && self.redirects.is_empty() && !self.is_fed
    }
}

/// A variable assignment.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) value: Word,
    /// Set by a `for`, so it stays in the shell and belongs to no command.
    pub(crate) is_loop: bool,
}

/// A redirection that opens a file.
#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) writes: bool,
    pub(crate) target: Word,
}
