//! Parses the inside of words: quotes, variables, substitutions, arithmetic.

use metier_skill::is_invisible;

use super::ShellError;
use super::braces::{Alternative, Braces};
use super::parser::Parser;
use super::word::{DYNAMIC, Start, Word};

const GOES_ON: ShellError = ShellError::Unsupported("a `\\` at the end of a line without a space before it");

/// Characters that arithmetic may contain without reading or setting a variable.
fn is_plain_arithmetic(byte: u8) -> bool {
    byte.is_ascii_digit() || b" \t\n+-*/%()<>&|^~!?:,".contains(&byte)
}

impl Parser<'_> {
    /// A word from here to the next space or operator. It must not be empty.
    pub(super) fn word(&mut self) -> Result<Word, ShellError> {
        let mut word = Word::default();
        let start = self.at;
        let mut braces = Braces::default();
        let (mut strings, mut others) = (0_usize, 0_usize);
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => {
                    let before = self.script.commands.len();
                    self.at += 2;
                    self.substitution("a process substitution")?;
                    if byte == b'>' {
                        self.feed_since(before);
                    }
                    word.text.push(DYNAMIC);
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' | b'<' | b'>' | b'(' => break,
                b'\'' => {
                    self.at += 1;
                    self.single_quotes(&mut word)?;
                }
                b'"' => {
                    self.at += 1;
                    word.quoted = true;
                    self.double_quotes(&mut word)?;
                }
                b'\\' => self.backslash(&mut word, start)?,
                b'$' => self.dollar(&mut word, false)?,
                b'`' => {
                    self.backticks()?;
                    word.text.push(DYNAMIC);
                    word.splits = true;
                }
                _ => self.plain(byte, &mut word, start, &mut braces)?,
            }
            *if matches!(byte, b'\'' | b'"') { &mut strings } else { &mut others } += 1;
        }
        if let (true, Some(prefix)) = (braces.expands, braces.first()) {
            match braces.alternatives(&word.text) {
                Some(all) => word.alternatives = all.into_iter().map(|one| alternative(&word, one)).collect(),
                None => word.is_riddle = true,
            }
            word.text.truncate(prefix);
            word.text.push(DYNAMIC);
            word.splits = true;
        }
        word.wholly_quoted = (strings, others) == (1, 0);
        Ok(word)
    }

    /// One character outside quotes without a meaning for the shell.
    fn plain(
        &mut self,
        byte: u8,
        word: &mut Word,
        start: usize,
        braces: &mut Braces,
    ) -> Result<(), ShellError> {
        let rest = &self.source[self.at..];
        let c = self.character()?;
        if (c.is_control() || c.is_whitespace() || is_invisible(c)) && c != '\t' {
            return Err(ShellError::Character(c));
        }
        match byte {
            b'*' | b'?' | b'[' => word.globs = true,
            b'~' if self.at == start || rest_begins_value(&word.text) => word.tilde = true,
            _ => {}
        }
        braces.see(rest, word.text.len());
        word.text.extend_from_slice(&rest[..c.len_utf8()]);
        self.at += c.len_utf8();
        Ok(())
    }

    fn backslash(&mut self, word: &mut Word, start: usize) -> Result<(), ShellError> {
        self.at += 1;
        match self.peek() {
            None => return Err(ShellError::Unclosed("a `\\`")),
            // Shells join lines before anything else, so only a `\` after a space is read the same by all of them;
            // those are skipped between words.
            Some(b'\n') => return Err(GOES_ON),
            Some(_) => {}
        }
        let c = self.character()?;
        if is_refused_in_quotes(c) {
            return Err(ShellError::Character(c));
        }
        word.backslash_first = self.at == start + 1 && !word.quoted;
        word.quoted = true;
        word.text.extend_from_slice(&self.source[self.at..self.at + c.len_utf8()]);
        self.at += c.len_utf8();
        Ok(())
    }

    /// Starts after the opening quote.
    fn single_quotes(&mut self, word: &mut Word) -> Result<(), ShellError> {
        word.quoted = true;
        word.backslash_first = false;
        loop {
            match self.peek() {
                None => return Err(ShellError::Unclosed("a `'`")),
                Some(b'\'') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) => self.quoted_character(word)?,
            }
        }
    }

    /// Starts after the opening quote.
    pub(super) fn double_quotes(&mut self, word: &mut Word) -> Result<(), ShellError> {
        word.backslash_first = false;
        loop {
            match self.peek() {
                None => return Err(ShellError::Unclosed("a `\"`")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) => self.in_double_quotes(word)?,
            }
        }
    }

    /// One piece inside double quotes or a here-document.
    pub(super) fn in_double_quotes(&mut self, word: &mut Word) -> Result<(), ShellError> {
        match self.peek() {
            Some(b'$') => self.dollar(word, true),
            Some(b'`') => {
                self.backticks()?;
                word.text.push(DYNAMIC);
                Ok(())
            }
            Some(b'\\') => match self.peek_at(1) {
                Some(b'\n') => Err(GOES_ON),
                Some(b'$' | b'`' | b'"' | b'\\') => {
                    self.at += 1;
                    self.quoted_character(word)
                }
                _ => self.quoted_character(word),
            },
            _ => self.quoted_character(word),
        }
    }

    fn quoted_character(&mut self, word: &mut Word) -> Result<(), ShellError> {
        let c = self.character()?;
        if is_refused_in_quotes(c) {
            return Err(ShellError::Character(c));
        }
        word.text.extend_from_slice(&self.source[self.at..self.at + c.len_utf8()]);
        self.at += c.len_utf8();
        Ok(())
    }

    /// Starts at a `$`.
    fn dollar(&mut self, word: &mut Word, in_quotes: bool) -> Result<(), ShellError> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.peek_at(1) == Some(b'(') => {
                self.at += 2;
                self.arithmetic()?;
            }
            Some(b'(') => {
                self.at += 1;
                self.substitution("a `$(`")?;
            }
            Some(b'{') => {
                self.at += 1;
                self.deeper(Self::parameter)?;
            }
            Some(b'[') => return Err(ShellError::Unsupported("`$[`")),
            Some(b'\'') if !in_quotes => {
                self.at += 1;
                return self.ansi_quotes(word);
            }
            Some(b'"') if !in_quotes => {
                self.oddity("a translated string (`$\"`)");
                self.at += 1;
                word.quoted = true;
                return self.double_quotes(word);
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                self.name();
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?-$!".contains(&byte) => self.at += 1,
            _ => {
                word.text.push(b'$');
                return Ok(());
            }
        }
        if word.text.is_empty() {
            word.start = match &self.source[start..self.at] {
                b"$HOME" | b"${HOME}" => Some(Start::Home),
                b"$PWD" | b"${PWD}" => Some(Start::Here),
                _ => None,
            };
        }
        word.text.push(DYNAMIC);
        word.splits |= !in_quotes;
        Ok(())
    }

    /// From after `$((` to after `))`.
    pub(super) fn arithmetic(&mut self) -> Result<(), ShellError> {
        let mut depth = 0_usize;
        let mut scratch = Word::default();
        let mut is_plain = true;
        loop {
            match self.peek() {
                None => return Err(ShellError::Unclosed("a `((`")),
                Some(b'(') => depth += 1,
                Some(b')') if depth == 0 => {
                    if self.peek_at(1) != Some(b')') {
                        return Err(ShellError::Unsupported("`((` for two nested subshells"));
                    }
                    self.at += 2;
                    if !is_plain {
                        self.oddity("arithmetic with variables");
                    }
                    return Ok(());
                }
                Some(b')') => depth -= 1,
                Some(b'$') => {
                    is_plain = false;
                    self.dollar(&mut scratch, true)?;
                    continue;
                }
                Some(b'`') => {
                    is_plain = false;
                    self.backticks()?;
                    continue;
                }
                Some(b'\'' | b'"' | b'\\') => return Err(ShellError::Unsupported("quotes in arithmetic")),
                Some(byte) => is_plain &= is_plain_arithmetic(byte),
            }
            self.at += 1;
        }
    }

    /// From after `${` to after `}`.
    fn parameter(&mut self) -> Result<(), ShellError> {
        if self.peek() == Some(b'!') {
            self.oddity("an indirect variable (`${!`)");
            self.at += 1;
        } else if self.peek() == Some(b'#') && self.peek_at(1) != Some(b'}') {
            self.at += 1;
        }
        match self.peek() {
            Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_' => {
                self.name();
            }
            Some(byte) if b"@*#?-$!".contains(&byte) => self.at += 1,
            _ => return Err(ShellError::Unsupported("an unusual `${`")),
        }
        match self.peek() {
            Some(b'[') => self.oddity("an array"),
            Some(b'@') => self.oddity("a variable transformation (`${…@…}`)"),
            Some(b'=') => self.oddity("an assignment in an expansion (`${…=…}`)"),
            Some(b':') if self.peek_at(1) == Some(b'=') => {
                self.oddity("an assignment in an expansion (`${…:=…}`)");
            }
            // An offset is arithmetic, which can set variables and run code in an index.
            Some(b':') if !matches!(self.peek_at(1), Some(b'-' | b'+' | b'?')) => {
                self.oddity("a substring of a variable (`${…:…}`)");
            }
            _ => {}
        }
        // Shells disagree on quotes and substitutions here, so they are not accepted.
        let mut scratch = Word::default();
        loop {
            match self.peek() {
                None => return Err(ShellError::Unclosed("a `${`")),
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'$') if self.peek_at(1) != Some(b'(') => self.dollar(&mut scratch, true)?,
                Some(b'\'' | b'"' | b'\\' | b'$' | b'`' | b'(' | b')') => {
                    return Err(ShellError::Unsupported("quotes or substitutions in a `${`"));
                }
                Some(_) => self.quoted_character(&mut scratch)?,
            }
        }
    }

    /// A variable's name or a number.
    pub(super) fn name(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
    }

    /// At a backtick: the text up to the next one is a command line of its own.
    pub(super) fn backticks(&mut self) -> Result<(), ShellError> {
        self.at += 1;
        let mut inner = Vec::new();
        loop {
            match self.peek() {
                None => return Err(ShellError::Unclosed("a backtick")),
                Some(b'`') => break,
                Some(b'\\') => {
                    let next = self.peek_at(1);
                    if next == Some(b'\n') {
                        return Err(GOES_ON);
                    }
                    // In some places this is a quote, in others a quote with a backslash.
                    if next == Some(b'"') {
                        return Err(ShellError::Unsupported("an escaped quote between backticks"));
                    }
                    if !matches!(next, Some(b'$' | b'`' | b'\\')) {
                        inner.push(b'\\');
                    }
                    inner.extend(next);
                    self.at += 2;
                }
                Some(byte) => {
                    inner.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        self.separate(&inner)
    }

    /// After `$'`: escapes as in C.
    fn ansi_quotes(&mut self, word: &mut Word) -> Result<(), ShellError> {
        word.quoted = true;
        word.backslash_first = false;
        loop {
            match self.peek() {
                None => return Err(ShellError::Unclosed("a `$'`")),
                Some(b'\'') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.ansi_escape(word)?,
                Some(_) => self.quoted_character(word)?,
            }
        }
    }

    fn ansi_escape(&mut self, word: &mut Word) -> Result<(), ShellError> {
        self.at += 1;
        let byte = self.peek().ok_or(ShellError::Unclosed("a `$'`"))?;
        self.at += 1;
        let (radix, most) = match byte {
            b'n' => return push_escaped(word, u32::from(b'\n')),
            b't' => return push_escaped(word, u32::from(b'\t')),
            // In a plain sh, `\'` ends the string.
            b'\\' | b'"' | b'?' => return push_escaped(word, u32::from(byte)),
            b'x' => (16, 2),
            b'u' => (16, 4),
            b'0'..=b'7' => {
                self.at -= 1;
                (8, 3)
            }
            _ => return Err(ShellError::Unsupported("an unusual escape in `$'`")),
        };
        let mut code = 0;
        let mut count = 0;
        while let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(radix)) {
            if count == most {
                break;
            }
            code = code * radix + digit;
            count += 1;
            self.at += 1;
        }
        if count == 0 || (byte != b'u' && code > 0x7f) {
            return Err(ShellError::Unsupported("an unusual escape in `$'`"));
        }
        push_escaped(word, code)
    }
}

fn push_escaped(word: &mut Word, code: u32) -> Result<(), ShellError> {
    let c = char::from_u32(code).ok_or(ShellError::Unsupported("an unusual escape in `$'`"))?;
    if is_refused_in_quotes(c) {
        return Err(ShellError::Character(c));
    }
    word.text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(())
}

/// Whether a character is rejected even in quotes.
fn is_refused_in_quotes(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r')
}

/// After `name=` or a colon, a `~` is expanded as well.
fn rest_begins_value(text: &[u8]) -> bool {
    matches!(text.last(), Some(b'=' | b':'))
}

/// One of the words that braces expand to.
fn alternative(word: &Word, one: Alternative) -> Word {
    Word {
        quoted: true,
        globs: word.globs || one.has_range,
        tilde: one.text.first() == Some(&b'~'),
        text: one.text,
        ..Word::default()
    }
}
