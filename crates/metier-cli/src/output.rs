//! Where everything is printed: results to standard output, the rest to standard error.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal as _, Write};

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
    out: BufWriter<AutoStream<io::Stdout>>,
    err: AutoStream<io::Stderr>,
    quiet: bool,
}

const BOLD: Style = Style::new().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();

impl Output {
    pub(crate) fn new(quiet: bool, color: ColorChoice) -> Self {
        let choice = match color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        let out = BufWriter::new(AutoStream::new(io::stdout(), choice));
        Self { out, err: AutoStream::new(io::stderr(), choice), quiet }
    }

    /// A line of a result. Colour in it is dropped where nobody sees it.
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

    /// One row of a table of two columns; a value of several lines stays in its column.
    pub(crate) fn row(&mut self, key: &str, value: &str) -> io::Result<()> {
        for (index, line) in value.lines().enumerate() {
            let key = if index == 0 { key } else { "" };
            writeln!(self.out, "{BOLD}{key:<15}{BOLD:#} {line}")?;
        }
        Ok(())
    }

    /// What a person may want to know beside the result.
    pub(crate) fn note(&mut self, note: impl Display) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        self.out.flush()?;
        writeln!(self.err, "{note}")
    }

    /// An error.
    pub(crate) fn error(&mut self, message: &str) {
        // If standard error is gone too, there is nobody left to tell.
        let _ = self.out.flush();
        let _ = writeln!(self.err, "{ERROR}error{ERROR:#}: {message}");
    }

    /// A line to standard error as it is, for commands whose messages have another tool's form.
    pub(crate) fn complaint(&mut self, line: &str) {
        let _ = self.out.flush();
        let _ = writeln!(self.err, "{line}");
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The columns to lay text out in.
pub(crate) fn width() -> usize {
    const WIDTH: usize = 100;
    if io::stdout().is_terminal() { terminal_columns().unwrap_or(WIDTH) } else { WIDTH }
}

/// The terminal's width, as the shell hands it on.
#[expect(clippy::disallowed_methods, reason = "the binary is where the environment comes in")]
fn terminal_columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns >= 40)
}
