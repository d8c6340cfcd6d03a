//! Redirections and here-documents.

use super::parser::{HereDocument, Parser};
use super::word::Word;
use super::{Command, Redirect, ShellError};

impl Parser<'_> {
    pub(super) fn redirects_of_group(&mut self, before: usize) -> Result<(), ShellError> {
        let mut command = Command::default();
        loop {
            self.blanks();
            if self.peek().is_none() || !self.redirect(&mut command)? {
                break;
            }
        }
        if command.is_fed {
            self.feed_since(before);
        }
        if !command.is_empty() {
            self.script.commands.push(command);
        }
        Ok(())
    }

    /// Parses a redirection, if there is one here.
    pub(super) fn redirect(&mut self, command: &mut Command) -> Result<bool, ShellError> {
        let digits = self.source[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let both = self.peek() == Some(b'&') && self.peek_at(1) == Some(b'>');
        let operator = self.at + if both { 1 } else { digits };
        let rest = self.text.get(operator..).unwrap_or_default();
        // A process substitution is a word.
        if !rest.starts_with(['<', '>']) || (!both && digits == 0 && rest[1..].starts_with('(')) {
            return Ok(false);
        }
        self.at = operator;
        for (text, kind) in OPERATORS {
            if rest.starts_with(text) {
                self.at += text.len();
                self.blanks();
                self.target(*kind, command)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn target(&mut self, kind: Operator, command: &mut Command) -> Result<(), ShellError> {
        let start = self.at;
        let target = self.argument()?;
        command.is_fed |= !matches!(kind, Operator::Write | Operator::Duplicate { writes: true });
        let writes = match kind {
            Operator::Write => true,
            Operator::Read => false,
            Operator::Both => {
                command.redirects.push(Redirect { writes: false, target: target.clone() });
                true
            }
            Operator::Duplicate { .. } if is_descriptor(&target) => return Ok(()),
            Operator::Duplicate { writes } => writes,
            Operator::HereString => {
                command.mentions.push(target);
                return Ok(());
            }
            Operator::HereDocument { strips_tabs } => {
                let expands = !target.quoted;
                if target.literal().is_none() && expands
                    || self.text[start..self.at].contains(['$', '`', '\n'])
                {
                    return Err(ShellError::Unsupported("an unusual here-document delimiter"));
                }
                self.pending.push(HereDocument { delimiter: target.text, expands, strips_tabs });
                return Ok(());
            }
        };
        command.redirects.push(Redirect { writes, target });
        Ok(())
    }

    /// The text of a here-document, from the start of a line to after its delimiter.
    pub(super) fn here_document(&mut self, document: &HereDocument) -> Result<(), ShellError> {
        let rest = self.source.get(self.at..).unwrap_or_default();
        let mut end = 0;
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            let mut bare = line.strip_suffix(b"\n").unwrap_or(line);
            while document.strips_tabs && bare.first() == Some(&b'\t') {
                bare = &bare[1..];
            }
            // In a substitution, bash also ends it at the delimiter followed by the closing parenthesis.
            if self.depth > 0 && bare.starts_with(&document.delimiter) && bare.contains(&b')') {
                return Err(ShellError::Unsupported("an unusual here-document delimiter"));
            }
            if bare == document.delimiter {
                let unclosed = ShellError::Unclosed("a here-document");
                let body = self.text.get(self.at..self.at + end).ok_or(unclosed)?;
                let after = self.at + end + line.len();
                // Some shells also look for the end of a substitution and for matching quotes in here.
                let after_it = self.text.get(after..).unwrap_or_default();
                let count = |sign: char| body.matches(sign).count();
                let pairs = |sign: char| count(sign) % 2 == 1 && after_it.contains(sign);
                if self.substitutions > 0 && (count('(') != count(')') || ['\'', '`'].into_iter().any(pairs))
                {
                    return Err(ShellError::Unsupported(
                        "special characters in a here-document in a substitution",
                    ));
                }
                self.script.documents.push(body.to_owned());
                if document.expands {
                    self.expand(body)?;
                }
                self.at = after;
                return Ok(());
            }
            end += line.len();
        }
        Err(ShellError::Unclosed("a here-document"))
    }

    /// The substitutions in a text that is read as if in double quotes.
    fn expand(&mut self, text: &str) -> Result<(), ShellError> {
        let depth = self.depth;
        let script = self.deeper(|_| {
            let mut parser = Parser::new(text, depth + 1);
            parser.substitutions = 1;
            let mut scratch = Word::default();
            while parser.peek().is_some() {
                parser.in_double_quotes(&mut scratch)?;
            }
            parser.refused.map_or(Ok(parser.script), Err)
        })?;
        self.script.absorb(script);
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Operator {
    Write,
    Read,
    Both,
    Duplicate { writes: bool },
    HereDocument { strips_tabs: bool },
    HereString,
}

/// Longer ones first.
const OPERATORS: &[(&str, Operator)] = &[
    ("<<<", Operator::HereString),
    ("<<-", Operator::HereDocument { strips_tabs: true }),
    ("<<", Operator::HereDocument { strips_tabs: false }),
    ("<>", Operator::Both),
    ("<&", Operator::Duplicate { writes: false }),
    ("<", Operator::Read),
    (">>", Operator::Write),
    (">|", Operator::Write),
    (">&", Operator::Duplicate { writes: true }),
    (">", Operator::Write),
];

/// Whether a word after `>&` names or closes a file descriptor.
fn is_descriptor(word: &Word) -> bool {
    let Some(text) = word.literal() else { return false };
    let digits = text.strip_suffix('-').unwrap_or(text);
    !text.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
