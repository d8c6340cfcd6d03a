//! Where everything is printed: results to standard output, the rest to standard error.
//!
//! Text from skills, paths and programs is sanitized here: control characters and line feeds in it are replaced. Only the
//! methods for content ([`Output::text`], [`Output::raw`]) pass them on, and not to a terminal.

mod json;
mod stream;
mod style;

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal as _, Write};

use anstream::AutoStream;
use clap::ValueEnum;
use metier_host::Environment;
use metier_skill::visible;
use serde::Serialize;

use crate::table::{fit, pad, width_of, wrap};
use stream::Stdout;
use style::Mark;
pub(crate) use style::is_mark;

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    Always,
    Never,
}

/// The two streams of the process.
pub(crate) struct Output {
    out: BufWriter<Stdout>,
    err: AutoStream<io::Stderr>,
    is_styled: bool,
    quiet: bool,
    is_terminal: bool,
    /// The width of each stream; `None` if it is not a terminal, so that nothing is cut.
    columns: Option<usize>,
    err_columns: Option<usize>,
}

/// A result as JSON, with the session that it belongs to.
#[derive(Debug, Serialize)]
pub(crate) struct InSession<'a, T> {
    session: &'a str,
    #[serde(flatten)]
    result: &'a T,
}

impl<'a, T> InSession<'a, T> {
    pub(crate) const fn new(session: &'a str, result: &'a T) -> Self {
        Self { session, result }
    }
}

/// The column of the keys in [`Output::row`].
const KEYS: usize = 15;

/// On a narrower terminal, values have no column of their own.
const NARROW: usize = 48;

impl Output {
    pub(crate) fn new(quiet: bool, color: ColorChoice) -> Self {
        let choice = match color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        let is_styled =
            AutoStream::new(io::stdout(), choice).current_choice() != anstream::ColorChoice::Never;
        let err = AutoStream::new(io::stderr(), choice);
        // Listings of many skills are megabytes.
        let out = BufWriter::with_capacity(64 << 10, Stdout::new());
        let is_terminal = io::stdout().is_terminal();
        let set = Environment::columns();
        let columns = |measured: Option<(terminal_size::Width, _)>| {
            set.or_else(|| measured.map(|(width, _)| usize::from(width.0))).unwrap_or(80).max(20)
        };
        Self {
            columns: is_terminal.then(|| columns(terminal_size::terminal_size_of(io::stdout()))),
            err_columns: io::stderr()
                .is_terminal()
                .then(|| columns(terminal_size::terminal_size_of(io::stderr()))),
            out,
            err,
            is_styled,
            quiet,
            is_terminal,
        }
    }

    /// Whether only results and errors are printed (`--quiet`).
    pub(crate) const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether results may have colour.
    pub(crate) const fn is_styled(&self) -> bool {
        self.is_styled
    }

    /// The width of the terminal that results go to; `None` if they go elsewhere, so that nothing is cut or wrapped.
    pub(crate) const fn columns(&self) -> Option<usize> {
        self.columns
    }

    /// The width of the terminal that messages go to.
    pub(crate) fn error_columns(&self) -> usize {
        self.err_columns.unwrap_or(80)
    }

    /// The same; `None` if they do not go to a terminal.
    pub(crate) const fn note_columns(&self) -> Option<usize> {
        self.err_columns
    }

    /// One line of a result. On a terminal a long one is wrapped between words.
    pub(crate) fn line(&mut self, line: impl Display) -> io::Result<()> {
        let line = clean_line(&line.to_string());
        let hang = line.chars().take_while(|c| *c == ' ').count() + 2;
        self.put(&line, hang)
    }

    /// One line of a result that is never cut or wrapped.
    pub(crate) fn whole(&mut self, line: impl Display) -> io::Result<()> {
        writeln!(self.out, "{}", style::applied(&clean_line(&line.to_string()), self.is_styled))
    }

    /// One line of a result whose end may be cut on a terminal.
    pub(crate) fn cut(&mut self, line: impl Display) -> io::Result<()> {
        self.cut_after(line, 0)
    }

    /// One line of a result whose first `kept` columns are never cut.
    pub(crate) fn cut_after(&mut self, line: impl Display, kept: usize) -> io::Result<()> {
        let line = clean_line(&line.to_string());
        // The sign that something is cut off takes a column too.
        let line = self.columns.map_or(line.clone(), |columns| fit(&line, columns.max(kept + 1)));
        writeln!(self.out, "{}", style::applied(&line, self.is_styled))
    }

    fn put(&mut self, line: &str, hang: usize) -> io::Result<()> {
        match self.columns {
            Some(columns) if width_of(line) > columns => {
                writeln!(self.out, "{}", style::applied(&wrap(line, columns, hang), self.is_styled))
            }
            _ => writeln!(self.out, "{}", style::applied(line, self.is_styled)),
        }
    }

    /// Lines that another library laid out and coloured, from sanitized text. Long titles are wrapped on a terminal.
    pub(crate) fn laid_out(&mut self, text: &str) -> io::Result<()> {
        let text = style::without_others(text);
        let Some(columns) = self.columns else { return writeln!(self.out, "{text}") };
        text.lines().try_for_each(|line| writeln!(self.out, "{}", style::wrapped_title(line, columns)))
    }

    /// Content, such as the instructions of a skill: unchanged, but sanitized on a terminal.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.raw().write_all(text.as_bytes())
    }

    /// Content in bytes: see [`Output::text`].
    pub(crate) fn raw(&mut self) -> Raw<'_> {
        Raw(self)
    }

    /// A result for programs.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        json::pretty(&mut self.out, value)?;
        writeln!(self.out)
    }

    /// A large result for programs, on one line.
    pub(crate) fn json_lines(&mut self, value: &impl Serialize) -> io::Result<()> {
        json::compact(&mut self.out, value)?;
        writeln!(self.out)
    }

    /// A text in bold, if results are styled.
    pub(crate) fn bold(&self, text: &str) -> String {
        self.marked(text, Mark::Bold)
    }

    /// A text in green if it is good news, else in red, if results are styled.
    pub(crate) fn colored(&self, text: &str, is_good: bool) -> String {
        self.marked(text, if is_good { Mark::Good } else { Mark::Bad })
    }

    /// A text in yellow, for what a person should look at, if results are styled.
    pub(crate) fn warning(&self, text: &str) -> String {
        self.marked(text, Mark::Warning)
    }

    fn marked(&self, text: &str, mark: Mark) -> String {
        if self.is_styled { style::marked(&clean_line(text), mark) } else { text.to_owned() }
    }

    /// One row of a table with a key and a value. A long value wraps within its column on a terminal.
    pub(crate) fn row(&mut self, key: &str, value: &str) -> io::Result<()> {
        // Marks in untrusted text would become colours.
        self.styled_row(key, &value.replace(is_mark, "\u{fffd}"))
    }

    /// A row whose value has colours.
    pub(crate) fn styled_row(&mut self, key: &str, value: &str) -> io::Result<()> {
        let value =
            value.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        let value = clean_line(&value);
        if self.columns.is_some_and(|columns| columns < NARROW) {
            let key = if key.is_empty() { " ".to_owned() } else { self.bold(key) };
            return self.put(&format!("{key} {}", value.trim_start()), 2);
        }
        let key = self.bold(&pad(key, KEYS));
        // What cannot be broken, such as a digest, gets a line of its own.
        let is_long =
            |columns| value.is_ascii() && !value.contains(' ') && KEYS + 1 + width_of(&value) > columns;
        if self.columns.is_some_and(is_long) {
            self.put(key.trim_end(), 2)?;
            return self.put(&format!("  {value}"), 2);
        }
        self.put(&format!("{key} {value}"), KEYS + 1)
    }

    /// A note to the person, on standard error; `--quiet` leaves it out.
    pub(crate) fn note(&mut self, note: impl Display) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        self.out.flush()?;
        self.tell(&note.to_string());
        Ok(())
    }

    /// An error.
    pub(crate) fn error(&mut self, message: &str) {
        // A failure to flush cannot be reported either.
        let _ = self.out.flush();
        self.tell(&format!("{}: {message}", style::marked("error", Mark::Error)));
    }

    /// A line on standard error without a prefix, also with `--quiet`.
    pub(crate) fn complaint(&mut self, line: &str) {
        let _ = self.out.flush();
        self.tell(line);
    }

    /// Prints a message. Its further lines are indented with `|`, so that a line feed in a path or a name cannot begin a
    /// message or a command in a log.
    fn tell(&mut self, message: &str) {
        for (index, line) in message.split('\n').enumerate() {
            let line = clean_line(&line.replace('\t', " "));
            let line = if index == 0 { line } else { format!("  | {line}") };
            let line = match self.err_columns {
                Some(columns) if width_of(&line) > columns => wrap(&line, columns, 2),
                _ => line,
            };
            // If standard error is closed, there is no other place for it.
            let _ = writeln!(self.err, "{}", style::applied(line.trim_end(), true));
        }
    }

    /// A summary at the end of a result; `--quiet` leaves it out.
    pub(crate) fn summary(&mut self, line: impl Display) -> io::Result<()> {
        if self.quiet { Ok(()) } else { self.line(line) }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A writer for content: unchanged, but sanitized on a terminal.
pub(crate) struct Raw<'a>(&'a mut Output);

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.is_terminal {
            let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
            self.0.out.write_all(clean(&text).as_bytes())?;
        } else {
            self.0.out.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.out.flush()
    }
}

/// Sanitizes text of several lines: invisible characters become U+FFFD. Line feeds and tabs stay.
pub(crate) fn clean(text: &str) -> String {
    visible(text).into_owned()
}

/// Sanitizes text of one line: line feeds and tabs become U+FFFD too. Marks of a style stay.
pub(crate) fn clean_line(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for part in text.split_inclusive(is_mark) {
        let mark = part.chars().next_back().filter(|c| is_mark(*c));
        let plain = mark.map_or(part, |mark| &part[..part.len() - mark.len_utf8()]);
        shown.push_str(&visible(plain).replace(['\n', '\t'], "\u{fffd}"));
        shown.extend(mark);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_models_have_one_list_of_invisible_characters() {
        for c in '\0'..=char::MAX {
            assert_eq!(clean(&format!("a{c}b")).contains(c), !metier_skill::is_invisible(c), "{c:?}");
        }
    }
}
