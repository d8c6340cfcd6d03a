//! The words of a command line that may be files, for deny rules and for resolving links: arguments, parts of them,
//! redirections, words of loops, values of variables, and code for interpreters.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::path::{Path, PathBuf};

use crate::call::ToolCall;
use crate::directories::Directories;
use crate::glob::Segment;
use crate::invocation::{base_name, interpreter, reads_code, runs_a_file};
use crate::moves::{Bases, goes, may_go};
use crate::paths::{Anchors, normal};
use crate::programs::{CODE, SHELLS};
use crate::readers::only_reads;
use crate::shell::{self, Command, Start, Word};
use crate::suspicion::Suspicion;

/// The maximum number of files whose links a host resolves; other files are assumed to be links to any path.
pub(crate) const MOST_FOLLOWED: usize = 2_048;

/// The maximum number of interpreters in one command that are told apart; all words after that count as code.
const MOST_PROGRAMS: usize = 16;

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Reads,
    Writes,
    /// Unknown.
    Either,
}

/// A text that may be the path of a file. A NUL in it stands for a part that is only known at run time.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub(crate) path: Cow<'a, str>,
    pub(crate) purpose: Use,
    /// It is a pattern that the shell matches against files.
    pub(crate) globs: bool,
}

impl Text<'_> {
    pub(crate) fn is_relative(&self) -> bool {
        !self.path.starts_with('/')
    }

    /// Whether a part of it is only known at run time.
    pub(crate) fn is_open(&self) -> bool {
        self.path.contains('\0')
    }

    /// Whether the text is exactly the path.
    pub(crate) fn is_sure(&self) -> bool {
        !self.globs && !self.is_open()
    }

    /// Its parts.
    pub(crate) fn tail(&self) -> Vec<Segment> {
        segments(&self.path, self.globs)
    }

    /// The paths that it may stand for, relative to a directory, as written.
    pub(crate) fn paths(&self, base: &Path, places: &Anchors) -> impl Iterator<Item = PathBuf> {
        let written = places.written_at(base, &self.path);
        // In quotes, a `~` is an ordinary name; otherwise it may also be the home of the account.
        let quoted = self.path.starts_with('~').then(|| base.join(&*self.path));
        let account = places.account.as_ref().filter(|_| self.path.starts_with('~'));
        let account = account.map(|home| Anchors { home: home.clone(), ..places.clone() });
        let account = account.map(|places| places.written_at(base, &self.path));
        [Some(written), quoted, account].into_iter().flatten()
    }
}

/// What is known of a file that is only known at run time.
#[derive(Debug)]
pub(crate) enum Partial {
    Nothing,
    /// Its last parts.
    Tail(Vec<Segment>),
}

/// The files that a command line may name.
#[derive(Debug)]
pub(crate) struct Mentions<'a> {
    pub(crate) texts: Vec<Text<'a>>,
    pub(crate) partial: Vec<(Partial, Use)>,
    /// The directories that texts may be relative to, the working directory first.
    pub(crate) bases: Bases,
    /// Whether there may be more such directories.
    pub(crate) moves: bool,
}

impl<'a> Mentions<'a> {
    /// The files of a call. Empty if the command line could not be parsed.
    pub(crate) fn of(call: &'a ToolCall, places: &Anchors) -> Option<Self> {
        let parsed = call.parsed();
        let script = parsed.script()?.ok()?;
        let Suspicion { nested, documents, .. } = parsed.suspicion();
        let sets = || std::iter::once(&script.commands).chain(nested);
        let commands = || sets().flatten();
        let mut start = vec![places.cwd.clone()];
        for directory in call.directories(places).into_iter().flat_map(|path| [normal(&path), path]) {
            if !start.contains(&directory) {
                start.push(directory);
            }
        }
        let moves = start.len() > 1 || commands().any(may_go);
        let bases = Bases::new(start, commands(), places);
        let mut mentions = Self { texts: Vec::new(), partial: Vec::new(), bases, moves };
        // If wildcards are extended, what they match is unknown.
        if commands().any(sets_patterns)
            && commands().flat_map(|command| &command.words).any(|word| word.globs)
        {
            mentions.partial.push((Partial::Nothing, Use::Either));
        }
        let is_fed = commands().any(runs_input);
        let mut outer = Directories::default();
        for (depth, commands) in sets().enumerate() {
            // If all commands only read, so does every use of these files.
            let all_read = commands.iter().all(only_reads);
            for command in commands {
                let files = command.redirects.iter();
                files.for_each(|redirect| mentions.add_redirect(&redirect.target, redirect.writes));
                let first = mentions.texts.len();
                mentions.add(command, all_read, is_fed);
                let mut directories = Directories::of(command);
                // Code runs in the directory of the command that it is passed to.
                if depth > 0 {
                    directories.extend(&outer);
                }
                mentions.add_elsewhere(first, &directories);
                outer.extend(&directories);
            }
        }
        for document in script.documents.iter().chain(documents).filter(|_| is_fed) {
            mentions.add_code(document, Use::Either);
        }
        Some(mentions)
    }

    /// Each text with each directory that it may be relative to, the working directory first.
    pub(crate) fn located(&self) -> impl Iterator<Item = (&Text<'a>, &Path)> {
        let first = self.bases.first();
        let here = self.texts.iter().map(move |text| (text, first));
        let elsewhere = self.bases.all.iter().skip(1).flat_map(|base| {
            let relative = self.texts.iter().filter(|text| text.is_relative());
            relative.map(move |text| (text, base.as_path()))
        });
        here.chain(elsewhere)
    }

    fn add_redirect(&mut self, target: &'a Word, writes: bool) {
        let purpose = if writes { Use::Writes } else { Use::Reads };
        match target.literal() {
            None => self.partial.push((Partial::Nothing, purpose)),
            Some(_) => self.add_word(target, purpose),
        }
    }

    /// Adds the texts of a command again, relative to the directories that it may work in.
    fn add_elsewhere(&mut self, first: usize, directories: &Directories) {
        self.moves |= directories.is_open;
        self.bases.is_cut |= directories.is_cut;
        let texts = first..self.texts.len();
        for directory in &directories.named {
            for at in texts.clone() {
                // Anything beyond the maximum is not examined, and may be any file.
                if self.texts.len() > MOST_FOLLOWED {
                    return;
                }
                let Text { path, purpose, globs } = &self.texts[at];
                if !path.starts_with(['/', '~']) {
                    let path = format!("{directory}/{path}").into();
                    let text = Text { path, purpose: *purpose, globs: *globs };
                    self.texts.push(text);
                }
            }
        }
    }

    fn add(&mut self, command: &'a Command, all_read: bool, is_fed: bool) {
        // The target of a `cd` affects what later commands do.
        let is_read = all_read || (!goes(command) && !command.words.is_empty() && only_reads(command));
        let purpose = if is_read { Use::Reads } else { Use::Either };
        let values = command.assignments.iter().map(|assignment| &assignment.value);
        // In `{cat,.env}`, the first word is the program.
        let given = command.words.first().into_iter().flat_map(|word| word.alternatives.iter().skip(1));
        for word in given.chain(command.words.iter().skip(1)).chain(&command.mentions).chain(values) {
            self.add_word(word, purpose);
        }
        if command.words.iter().any(|word| word.text == b"git") {
            command.words.iter().for_each(|word| self.add_pathspec(word, purpose));
        }
        // The input of another command counts as code, as do its arguments.
        let code = if is_fed { command.words.as_slice() } else { code(&command.words) };
        let fed = command.mentions.iter().filter(|_| is_fed);
        for text in code.iter().chain(fed).filter_map(|word| std::str::from_utf8(&word.text).ok()) {
            self.add_code(text, purpose);
        }
    }

    /// The paths that a word may stand for: all of it, a part, or the words that braces expand to.
    fn add_word(&mut self, word: &'a Word, purpose: Use) {
        if word.is_riddle {
            self.partial.push((Partial::Nothing, purpose));
        }
        if !word.alternatives.is_empty() {
            return word.alternatives.iter().for_each(|one| self.add_word(one, purpose));
        }
        let text = String::from_utf8_lossy(&word.text);
        // `$HOME/x` is `~/x`, and `$PWD/x` is `./x`, unless these variables are set.
        let rest = text.strip_prefix('\0').filter(|rest| rest.is_empty() || rest.starts_with(['/', ':']));
        if let (Some(start), Some(rest)) = (word.start, rest) {
            let start = if start == Start::Home { "~" } else { "." };
            let text = format!("{start}{rest}");
            pieces(&text).for_each(|piece| self.add_path(piece.to_owned().into(), word.globs, purpose));
        }
        if let Some(path) = in_address(&text) {
            self.add_path(path.to_owned().into(), word.globs, purpose);
        }
        match text {
            Cow::Borrowed(text) => {
                pieces(text).for_each(|piece| self.add_path(piece.into(), word.globs, purpose));
            }
            Cow::Owned(text) => {
                pieces(&text).for_each(|piece| self.add_path(piece.to_owned().into(), word.globs, purpose));
            }
        }
    }

    /// The paths that a word of `git` may stand for, if git reads it as a pattern or relative to the repository's top.
    fn add_pathspec(&mut self, word: &'a Word, purpose: Use) {
        let Some(text) =
            word.literal().filter(|text| text.starts_with(':') || text.contains(['*', '?', '[']))
        else {
            return;
        };
        let (magic, path) = match text.strip_prefix(":(").and_then(|rest| rest.split_once(')')) {
            Some((magic, path)) => (magic, path),
            None => ("", text.strip_prefix(":/").unwrap_or(text)),
        };
        if magic.contains("exclude") {
            return;
        }
        // In git, a `*` also matches slashes, so only the end is known.
        self.partial.push((Partial::Tail(segments(path, true)), purpose));
        self.add_path(path.into(), true, purpose);
    }

    /// A path that may be only partly known.
    fn add_path(&mut self, path: Cow<'a, str>, globs: bool, purpose: Use) {
        if let Some(decoded) = decoded(&path) {
            self.add_path(decoded.into(), globs, purpose);
        }
        let mut end = |end: &str| {
            let parts = segments(end, globs);
            if !parts.is_empty() {
                self.partial.push((Partial::Tail(parts), purpose));
            }
        };
        if let Some((begin, rest)) = path.split_once('\0') {
            // `"$d/.env"`: the end is known; `src/$f`: the start is known.
            end(rest);
            if begin.is_empty() {
                return;
            }
            if let Some((above, _)) = begin.rsplit_once('/') {
                let above = if above.is_empty() { "/" } else { above };
                self.texts.push(Text { path: above.to_owned().into(), purpose, globs });
            }
        } else if let Some((name, rest)) = path.strip_prefix('~').and_then(|path| path.split_once('/')) {
            // The home of another account, the previous directory, or this one (`~+`).
            if !name.is_empty() {
                end(rest);
            }
            if name == "+" {
                self.texts.push(Text { path: format!("./{rest}").into(), purpose, globs });
            }
        }
        if globs {
            let parts: Vec<&str> = path.split('/').collect();
            let segment = |at: usize| Segment::new(parts[at], true);
            // After a pattern, `..` is relative to an unknown directory, and some patterns match `..` themselves.
            let is_way_up = |at: &usize| {
                (*at > 0 && parts[*at] == ".." && !matches!(segment(at - 1), Segment::Name(_)))
                    || segment(*at).may_climb()
            };
            if let Some(at) = (0..parts.len()).rev().find(is_way_up) {
                end(&parts[at + 1..].join("/"));
            }
        }
        self.texts.push(Text { path, purpose, globs });
    }

    /// The paths in code of another language: everything between quotes, brackets and spaces.
    fn add_code(&mut self, code: &'a str, purpose: Use) {
        if !code.contains(is_separator) {
            return;
        }
        let texts = code.split(is_separator).flat_map(pieces);
        self.texts.extend(texts.map(|piece| Text { path: piece.into(), purpose, globs: false }));
    }
}

/// The parts of a path, without empty parts and `.`.
fn segments(path: &str, globs: bool) -> Vec<Segment> {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
    parts.map(|part| Segment::new(part, globs)).collect()
}

/// Whether a character separates paths in code, or an expansion is there.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || "\0'\"`()[]{}<>;|&".contains(c)
}

/// The words of a command that an interpreter may get as code and that no other parser reads.
fn code(words: &[Word]) -> &[Word] {
    let has_code = |word: &Word| word.text.iter().any(|byte| is_separator(char::from(*byte)));
    if !words.iter().any(has_code) {
        return &[];
    }
    let is_program = |at: &usize| {
        program_name(&words[*at]).is_some_and(|name| interpreter(&name).is_some() || CODE.contains(&&*name))
    };
    // The commands in a shell's code are already examined, if it could be parsed.
    let is_unreadable =
        LazyCell::new(|| words.iter().filter_map(Word::literal).any(|text| shell::parse(text).is_err()));
    for (count, at) in (0..words.len()).filter(is_program).enumerate() {
        let arguments = &words[at + 1..];
        let is_code = match program_name(&words[at]).and_then(|name| interpreter(&name)) {
            None => true,
            Some(shell) if SHELLS.contains(&shell.name) => *is_unreadable,
            Some(other) => !runs_a_file(other, arguments),
        };
        if is_code || count == MOST_PROGRAMS {
            return arguments;
        }
    }
    &[]
}

/// Whether a command runs its input.
pub(crate) fn runs_input(command: &Command) -> bool {
    let is_such = |at: usize| {
        let Some(name) = program_name(&command.words[at]) else { return false };
        let is_interpreter =
            interpreter(&name).is_some_and(|found| !runs_a_file(found, &command.words[at + 1..]));
        is_interpreter || reads_code(&name) || matches!(&*name, "." | "source")
    };
    command.is_fed && (0..command.words.len()).any(is_such)
}

/// Whether a command may change what wildcards match: hidden files, or more than one part.
fn sets_patterns(command: &Command) -> bool {
    let is_setting = |word: &Word| matches!(word.literal(), Some("shopt" | "setopt"));
    command.words.iter().any(is_setting) || command.assignments.iter().any(|one| one.name == "GLOBIGNORE")
}

/// The program that a word may be, in lower case.
fn program_name(word: &Word) -> Option<Cow<'_, str>> {
    let name = base_name(word.literal().filter(|text| !text.starts_with('-'))?);
    let is_small = !name.bytes().any(|byte| byte.is_ascii_uppercase());
    Some(if is_small { name.into() } else { name.to_ascii_lowercase().into() })
}

/// The path in a file URL: `file:///x`, `file://localhost/x`, `file:/x`.
fn in_address(text: &str) -> Option<&str> {
    let is_file =
        |at: usize| text.get(at.checked_sub(4)?..at).filter(|name| name.eq_ignore_ascii_case("file"));
    let (at, _) = text.match_indices(':').find(|(at, _)| is_file(*at).is_some())?;
    let rest = &text[at + 1..];
    match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').map(|at| &rest[at..]),
        None => Some(rest),
    }
}

/// A text with `%2e` and the like decoded, if it has any.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    let mut is_changed = false;
    text.contains('%').then_some(())?;
    while let Some((byte, after)) = rest.split_first() {
        let digits =
            after.get(..2).filter(|_| *byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|code| *code != 0);
        bytes.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[2..] } else { after };
        is_changed |= code.is_some();
    }
    // Repeated encoding is decoded repeatedly; the text gets shorter each time.
    is_changed.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The part of a word that may be a path: `--file=.env`, `-f.env`, `@.env`, `if=.env`, `HEAD:.env`, `f=<.env`.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let is_option = text.starts_with('-');
    let attached = text.get(2..).filter(|_| is_option && !text.starts_with("--"));
    let separators = ['=', '@', ':', ',', '<', ';'];
    let parts =
        text.split(separators).filter(move |piece| !piece.starts_with('-') && piece.len() < text.len());
    let whole = Some(text).filter(|_| !is_option);
    whole.into_iter().chain(attached).chain(parts).filter(|piece| !piece.is_empty())
}
