//! Where everything is printed: results to standard output, the rest to standard error.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use serde::Serialize;

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
    /// Results go out as they are, byte for byte; whoever makes them asks [`Output::is_styled`] first.
    out: BufWriter<io::Stdout>,
    err: AutoStream<io::Stderr>,
    is_styled: bool,
    quiet: bool,
}

const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const ERROR: Style = AnsiColor::Red.on_default().bold();

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
        let out = BufWriter::with_capacity(64 << 10, io::stdout());
        Self { out, err, is_styled, quiet }
    }

    /// One for what is done beside something else: it says nothing.
    pub(crate) fn silent() -> Self {
        Self::new(true, ColorChoice::Never)
    }

    /// Whether only results are wanted.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether results may have colour.
    pub(crate) fn is_styled(&self) -> bool {
        self.is_styled
    }

    /// A line of a result.
    pub(crate) fn line(&mut self, line: impl Display) -> io::Result<()> {
        writeln!(self.out, "{line}")
    }

    /// Text of a result as it is.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// A result for programs.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut self.out, value)?;
        writeln!(self.out)
    }

    /// A large result for programs, without the blanks.
    pub(crate) fn json_lines(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        writeln!(self.out)
    }

    /// Where bytes of a result go as they are.
    pub(crate) fn raw(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// A text in bold, where there may be colour.
    pub(crate) fn bold(&self, text: &str) -> String {
        if self.is_styled { format!("{BOLD}{text}{BOLD:#}") } else { text.to_owned() }
    }

    /// A text in the colour of what went well, or of what did not, where there may be colour.
    pub(crate) fn colored(&self, text: &str, is_good: bool) -> String {
        let style = if is_good { GOOD } else { BAD };
        if self.is_styled { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// One row of a table of two columns; a value of several lines stays in its column.
    pub(crate) fn row(&mut self, key: &str, value: &str) -> io::Result<()> {
        let style = if self.is_styled { BOLD } else { Style::new() };
        for (index, line) in value.lines().enumerate() {
            let key = if index == 0 { key } else { "" };
            writeln!(self.out, "{style}{key:<15}{style:#} {}", clean(line))?;
        }
        Ok(())
    }

    /// What a person may want to know beside the result.
    pub(crate) fn note(&mut self, note: impl Display) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        self.out.flush()?;
        writeln!(self.err, "{}", clean(&note.to_string()))
    }

    /// An error.
    pub(crate) fn error(&mut self, message: &str) {
        // If standard error is gone too, there is nobody left to tell.
        let _ = self.out.flush();
        let _ = writeln!(self.err, "{ERROR}error{ERROR:#}: {}", clean(message));
    }

    /// A line to standard error as it is, for commands whose messages have another tool's form.
    pub(crate) fn complaint(&mut self, line: &str) {
        let _ = self.out.flush();
        let _ = writeln!(self.err, "{}", clean(line));
    }

    /// A sum at the end of a result, which `--quiet` leaves out.
    pub(crate) fn summary(&mut self, line: impl Display) -> io::Result<()> {
        if self.quiet { Ok(()) } else { self.line(line) }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Text from a skill or a path that is safe on a terminal: no control characters but line breaks and tabs.
pub(crate) fn clean(text: &str) -> String {
    let is_harmful = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_bidirectional(c);
    text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// Whether a character turns the direction of the text around it, so that it reads as something else.
fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The columns to lay text out in: the terminal's, within reason.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0).clamp(40, 140))
}
