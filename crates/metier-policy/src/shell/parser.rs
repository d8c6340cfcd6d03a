//! The shell grammar: lists, pipelines, compound and simple commands, assignments.

use super::word::Word;
use super::{Assignment, Command, LONGEST, Oddity, Script, ShellError};

/// The maximum nesting depth of substitutions and groups. Each level needs a few stack frames.
const DEEPEST: usize = 64;

/// Words that end a list when they are in the position of a command.
const CLOSERS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}"];

/// Words that start a compound command or change what follows.
const OPENERS: &[&str] =
    &["if", "while", "until", "for", "select", "case", "{", "[[", "!", "function", "coproc"];

/// Parses a command line.
pub(crate) fn parse(text: &str) -> Result<Script, ShellError> {
    if text.chars().nth(LONGEST).is_some() {
        return Err(ShellError::TooLong);
    }
    let mut parser = Parser::new(text, 0);
    parser.whole()?;
    Ok(parser.script)
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) source: &'a [u8],
    pub(super) at: usize,
    pub(super) script: Script,
    pub(super) depth: usize,
    /// How many substitutions surround this text.
    pub(super) substitutions: usize,
    /// Syntax that was skipped but must not be allowed.
    pub(super) refused: Option<ShellError>,
    /// Here-documents whose text starts after the next line break.
    pub(super) pending: Vec<HereDocument>,
}

pub(super) struct HereDocument {
    pub(super) delimiter: Vec<u8>,
    pub(super) expands: bool,
    pub(super) strips_tabs: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, depth: usize) -> Self {
        Self {
            text,
            source: text.as_bytes(),
            at: 0,
            script: Script::default(),
            depth,
            substitutions: 0,
            refused: None,
            pending: Vec::new(),
        }
    }

    fn whole(&mut self) -> Result<(), ShellError> {
        self.list()?;
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        match self.peek() {
            None if self.pending.is_empty() => Ok(()),
            None => Err(ShellError::Unclosed("a here-document")),
            Some(b')') => Err(ShellError::Misplaced(")")),
            Some(_) => Err(ShellError::Misplaced("a word that closes a group")),
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.source.get(self.at + ahead).copied()
    }

    pub(super) fn oddity(&mut self, what: &'static str) {
        self.script.oddities.push(Oddity(what));
    }

    /// The character here.
    pub(super) fn character(&self) -> Result<char, ShellError> {
        let rest = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        rest.ok_or(ShellError::Unclosed("the command"))
    }

    /// Runs a step one level deeper.
    pub(super) fn deeper<T>(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<T, ShellError>,
    ) -> Result<T, ShellError> {
        if self.depth == DEEPEST {
            return Err(ShellError::TooDeep);
        }
        self.depth += 1;
        let result = step(self);
        self.depth -= 1;
        result
    }

    /// Parses a command line in a separate text.
    pub(super) fn separate(&mut self, inner: &[u8]) -> Result<(), ShellError> {
        let text = std::str::from_utf8(inner).map_err(|_| ShellError::Unsupported("an unusual escape"))?;
        let depth = self.depth;
        let script = self.deeper(|_| {
            let mut parser = Parser::new(text, depth + 1);
            parser.substitutions = 1;
            parser.whole()?;
            Ok(parser.script)
        })?;
        self.script.absorb(script);
        Ok(())
    }

    /// From after `$(` or `<(` to after `)`.
    pub(super) fn substitution(&mut self, what: &'static str) -> Result<(), ShellError> {
        let outer = std::mem::take(&mut self.pending);
        let start = self.at;
        self.substitutions += 1;
        self.nested(what)?;
        self.substitutions -= 1;
        if !self.pending.is_empty() {
            return Err(ShellError::Unclosed("a here-document"));
        }
        // Shells disagree on the line after which the here-document starts.
        if !outer.is_empty() && self.source[start..self.at].contains(&b'\n') {
            return Err(ShellError::Unsupported("a line break in a substitution after a here-document"));
        }
        self.pending = outer;
        Ok(())
    }

    /// A list up to and including a `)`.
    fn nested(&mut self, what: &'static str) -> Result<(), ShellError> {
        self.deeper(Self::list)?;
        if self.peek() != Some(b')') {
            return Err(ShellError::Unclosed(what));
        }
        self.at += 1;
        Ok(())
    }

    /// Skips spaces, line continuations and comments.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => {
                    let before = self.at.checked_sub(1).map(|at| self.source[at]);
                    if !matches!(before, None | Some(b' ' | b'\t' | b'\n')) {
                        let what = "a `\\` at the end of a line without a space before it";
                        self.refused = Some(ShellError::Unsupported(what));
                    }
                    self.at += 2;
                }
                Some(b'#') => {
                    while let Some(byte) = self.peek().filter(|byte| *byte != b'\n') {
                        // Old shells also look for the end of a substitution in its comments.
                        if self.substitutions > 0 && b"()'\"`\\".contains(&byte) {
                            self.refused = Some(ShellError::Unsupported(
                                "special characters in a comment in a substitution",
                            ));
                        }
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips spaces and line breaks.
    fn lines(&mut self) -> Result<(), ShellError> {
        self.blanks();
        while self.peek() == Some(b'\n') {
            self.line_break()?;
            self.blanks();
        }
        Ok(())
    }

    /// Skips a line break and reads the here-documents that start after it.
    fn line_break(&mut self) -> Result<(), ShellError> {
        self.at += 1;
        for document in std::mem::take(&mut self.pending) {
            self.here_document(&document)?;
        }
        Ok(())
    }

    /// Commands up to the end, a `)`, or a word that closes a group.
    fn list(&mut self) -> Result<(), ShellError> {
        loop {
            self.lines()?;
            if self.is_end() {
                return Ok(());
            }
            self.and_or()?;
            self.blanks();
            match self.peek() {
                None | Some(b')') => return Ok(()),
                Some(b'\n') => {}
                Some(b';') if self.peek_at(1) == Some(b';') || self.peek_at(1) == Some(b'&') => return Ok(()),
                Some(b';' | b'&') => self.at += 1,
                Some(_) => return Err(ShellError::Misplaced("a group")),
            }
        }
    }

    fn is_end(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => self.peek_at(1) == Some(b';') || self.peek_at(1) == Some(b'&'),
            Some(_) => self.keyword().is_some_and(|word| CLOSERS.contains(&word)),
        }
    }

    fn and_or(&mut self) -> Result<(), ShellError> {
        loop {
            self.pipeline()?;
            self.blanks();
            match (self.peek(), self.peek_at(1)) {
                (Some(b'&'), Some(b'&')) | (Some(b'|'), Some(b'|')) => self.at += 2,
                _ => return Ok(()),
            }
            self.lines()?;
        }
    }

    fn pipeline(&mut self) -> Result<(), ShellError> {
        let mut is_first = true;
        loop {
            let before = self.script.commands.len();
            while let Some(word) = self.keyword() {
                // `time` before a simple command is handled by the rules about wrappers.
                if word != "!" && !(word == "time" && self.opens_after(word.len())) {
                    break;
                }
                self.at += word.len();
                if word == "!" && self.peek() == Some(b'(') {
                    return Err(ShellError::Unsupported("`!(`, which is a pattern in some shells"));
                }
                self.blanks();
            }
            self.command()?;
            if !is_first {
                self.feed_since(before);
            }
            is_first = false;
            self.blanks();
            match (self.peek(), self.peek_at(1)) {
                (Some(b'|'), Some(b'|')) => return Ok(()),
                (Some(b'|'), next) => self.at += if next == Some(b'&') { 2 } else { 1 },
                _ => return Ok(()),
            }
            self.lines()?;
        }
    }

    /// Marks that all commands since then have redirected standard input.
    pub(super) fn feed_since(&mut self, before: usize) {
        self.script.commands.iter_mut().skip(before).for_each(|command| command.is_fed = true);
    }

    /// Whether a compound command starts after some bytes and spaces.
    fn opens_after(&self, bytes: usize) -> bool {
        let rest = self.text.get(self.at + bytes..).unwrap_or_default().trim_start_matches([' ', '\t']);
        rest.starts_with('(') || OPENERS.contains(&keyword(rest).unwrap_or_default())
    }

    /// The word here, if it is plain.
    fn keyword(&self) -> Option<&'a str> {
        keyword(self.text.get(self.at..)?)
    }

    fn take_keyword(&mut self, word: &'static str) -> Result<(), ShellError> {
        if self.keyword() != Some(word) {
            return Err(ShellError::Misplaced(word));
        }
        self.at += word.len();
        Ok(())
    }

    fn command(&mut self) -> Result<(), ShellError> {
        let before = self.script.commands.len();
        match self.peek() {
            // In a plain sh these are two subshells.
            Some(b'(') if self.peek_at(1) == Some(b'(') => {
                return Err(ShellError::Unsupported("`((`"));
            }
            Some(b'(') => {
                self.at += 1;
                self.nested("a `(`")?;
            }
            _ => match self.keyword() {
                Some("{") => self.group()?,
                Some("if") => self.deeper(Self::conditional)?,
                Some("while" | "until") => self.deeper(Self::repetition)?,
                Some(word @ ("for" | "select")) => self.deeper(|parser| parser.iteration(word.len()))?,
                Some("case") => self.deeper(Self::choice)?,
                Some("[[") => self.test()?,
                Some("function") => self.function()?,
                Some("coproc") => return Err(ShellError::Unsupported("`coproc`")),
                Some(word) if CLOSERS.contains(&word) => {
                    return Err(ShellError::Misplaced("a word that closes a group"));
                }
                _ => return self.simple(),
            },
        }
        self.redirects_of_group(before)
    }

    fn group(&mut self) -> Result<(), ShellError> {
        self.at += 1;
        self.deeper(Self::list)?;
        self.take_keyword("}")
    }

    fn conditional(&mut self) -> Result<(), ShellError> {
        self.at += "if".len();
        loop {
            self.list()?;
            self.take_keyword("then")?;
            self.list()?;
            match self.keyword() {
                Some("elif") => self.at += "elif".len(),
                Some("else") => {
                    self.at += "else".len();
                    self.list()?;
                    return self.take_keyword("fi");
                }
                _ => return self.take_keyword("fi"),
            }
        }
    }

    fn repetition(&mut self) -> Result<(), ShellError> {
        self.at += "while".len();
        self.list()?;
        self.body()
    }

    /// `do … done`.
    fn body(&mut self) -> Result<(), ShellError> {
        self.take_keyword("do")?;
        self.list()?;
        self.take_keyword("done")
    }

    /// `for` and `select`.
    fn iteration(&mut self, opener: usize) -> Result<(), ShellError> {
        self.at += opener;
        self.blanks();
        if self.peek() == Some(b'(') {
            if self.peek_at(1) != Some(b'(') {
                return Err(ShellError::Misplaced("("));
            }
            self.at += 2;
            // All three parts are arithmetic.
            self.oddity("arithmetic as a command");
            self.arithmetic()?;
        } else {
            let start = self.at;
            self.name();
            let name = self.text.get(start..self.at).unwrap_or_default();
            let ends = self.peek().is_none_or(|byte| b" \t\n;".contains(&byte));
            if name.is_empty() || !ends {
                return Err(ShellError::Unsupported("an unusual `for`"));
            }
            let variable = Assignment { name: name.to_owned(), value: Word::default(), is_loop: true };
            let mut command = Command { assignments: vec![variable], ..Command::default() };
            self.lines()?;
            if self.keyword() == Some("in") {
                self.at += 2;
                self.words_of_loop(&mut command.mentions)?;
            }
            self.script.commands.push(command);
        }
        self.blanks();
        if self.peek() == Some(b';') {
            self.at += 1;
        }
        self.lines()?;
        self.body()
    }

    fn words_of_loop(&mut self, words: &mut Vec<Word>) -> Result<(), ShellError> {
        loop {
            self.blanks();
            match self.peek() {
                Some(b';' | b'\n') => return Ok(()),
                None => return Err(ShellError::Unclosed("a `for`")),
                Some(_) => words.push(self.argument()?),
            }
        }
    }

    fn choice(&mut self) -> Result<(), ShellError> {
        self.at += "case".len();
        self.blanks();
        self.argument()?;
        self.lines()?;
        self.take_keyword("in")?;
        loop {
            self.lines()?;
            if self.keyword() == Some("esac") {
                return self.take_keyword("esac");
            }
            if self.peek() == Some(b'(') {
                self.at += 1;
                self.blanks();
            } else if self.substitutions > 0 {
                // Old shells read the `)` after it as the end of the substitution.
                return Err(ShellError::Unsupported("a `case` without `(` in a substitution"));
            }
            self.argument()?;
            self.blanks();
            while self.peek() == Some(b'|') {
                self.at += 1;
                self.blanks();
                self.argument()?;
                self.blanks();
            }
            if self.peek() != Some(b')') {
                return Err(ShellError::Unclosed("a pattern of `case`"));
            }
            self.at += 1;
            self.list()?;
            while matches!(self.peek(), Some(b';' | b'&')) {
                self.at += 1;
            }
        }
    }

    /// `[[ … ]]`: for rules, a command of its own.
    fn test(&mut self) -> Result<(), ShellError> {
        self.at += 2;
        self.oddity("`[[`, which can run code in an index");
        loop {
            self.lines()?;
            match self.peek() {
                None => return Err(ShellError::Unclosed("a `[[`")),
                Some(b'(' | b')' | b'&' | b'|' | b'<' | b'>') if self.peek_at(1) != Some(b'(') => {
                    self.at += 1;
                }
                Some(b';') => return Err(ShellError::Misplaced(";")),
                Some(_) if self.keyword() == Some("]]") => {
                    self.at += 2;
                    return Ok(());
                }
                Some(b'(' | b')' | b'&' | b'|') => self.at += 1,
                Some(_) => {
                    self.argument()?;
                }
            }
        }
    }

    /// `function name …`.
    fn function(&mut self) -> Result<(), ShellError> {
        self.at += "function".len();
        self.blanks();
        self.argument()?;
        self.blanks();
        if self.peek() == Some(b'(') {
            self.parentheses()?;
        }
        self.function_body()
    }

    fn parentheses(&mut self) -> Result<(), ShellError> {
        self.at += 1;
        self.blanks();
        if self.peek() != Some(b')') {
            return Err(ShellError::Misplaced("("));
        }
        self.at += 1;
        Ok(())
    }

    fn function_body(&mut self) -> Result<(), ShellError> {
        self.oddity("a function, which changes what a command name means");
        self.lines()?;
        self.deeper(Self::command)
    }

    /// A word, which is required here.
    pub(super) fn argument(&mut self) -> Result<Word, ShellError> {
        let start = self.at;
        let word = self.deeper(Self::word)?;
        if self.at == start { Err(ShellError::Misplaced("an operator")) } else { Ok(word) }
    }

    fn simple(&mut self) -> Result<(), ShellError> {
        let mut command = Command::default();
        let mut ends_with_both = false;
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b')') => break,
                Some(b'&') if self.peek_at(1) != Some(b'>') => break,
                Some(b'(') if command.words.len() == 1 && command.assignments.is_empty() => {
                    self.parentheses()?;
                    return self.function_body();
                }
                Some(b'(') => return Err(ShellError::Misplaced("(")),
                // In a plain sh, `a &> b c` is `a &` and then `> b c`.
                Some(b'&') => {
                    ends_with_both = true;
                    self.redirect(&mut command)?;
                }
                Some(_) if self.redirect(&mut command)? => {}
                Some(_) if ends_with_both => return Err(ShellError::Unsupported("words after `&>`")),
                Some(_) => self.word_of(&mut command)?,
            }
        }
        if command.is_empty() {
            return Err(ShellError::Misplaced("an operator"));
        }
        self.script.commands.push(command);
        Ok(())
    }

    /// The next word of a command: an assignment if it comes before the program and looks like one.
    fn word_of(&mut self, command: &mut Command) -> Result<(), ShellError> {
        if command.words.is_empty()
            && let Some(assignment) = self.assignment()?
        {
            command.assignments.push(assignment);
            return Ok(());
        }
        let word = self.argument()?;
        // A keyword that was not recognised, because a line continuation follows it directly.
        if command.words.is_empty()
            && word.bare().is_some_and(|word| CLOSERS.contains(&word) || OPENERS.contains(&word))
        {
            return Err(ShellError::Misplaced("a keyword of the shell"));
        }
        // `{name}>file` opens a descriptor and stores its number in a variable.
        if matches!(self.peek(), Some(b'<' | b'>')) && word.text.first() == Some(&b'{') && !word.quoted {
            return Err(ShellError::Unsupported("a named file descriptor"));
        }
        command.words.push(word);
        Ok(())
    }

    /// `name=value`, if it is here.
    fn assignment(&mut self) -> Result<Option<Assignment>, ShellError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = rest.find(|c| !is_name(c)).map_or(rest, |end| &rest[..end]);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        let after = &rest[name.len()..];
        if after.starts_with('[') {
            // `name[index]=`: the index is arithmetic. Without a `=`, it is a word with a pattern.
            return match after.find(']') {
                Some(end) if after[end..].starts_with("]=") || after[end..].starts_with("]+=") => {
                    Err(ShellError::Unsupported("an array element"))
                }
                _ => Ok(None),
            };
        }
        let value = if after.starts_with("+=") { 2 } else { usize::from(after.starts_with('=')) };
        if value == 0 {
            return Ok(None);
        }
        self.at += name.len() + value;
        // Shells disagree on where an array ends.
        let value = self.deeper(Self::word)?;
        if self.peek() == Some(b'(') {
            return Err(ShellError::Unsupported("an array"));
        }
        Ok(Some(Assignment { name: name.to_owned(), value, is_loop: false }))
    }
}

/// The word at the start of a text, if spaces or operators end it and it has no quotes.
fn keyword(text: &str) -> Option<&str> {
    let end = text.find([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')']).unwrap_or(text.len());
    let word = &text[..end];
    let is_plain = !word.is_empty() && word.len() <= 8 && !word.contains(['\'', '"', '\\', '$', '`']);
    is_plain.then_some(word)
}
