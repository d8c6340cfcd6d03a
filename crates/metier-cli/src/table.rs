//! Text in columns: complete for programs, laid out to the width of a terminal.

use unicode_width::UnicodeWidthChar as _;

use crate::output::{Output, clean, clean_line, is_mark};

/// The number of columns that a text takes.
pub(crate) fn width_of(text: &str) -> usize {
    text.chars().map(width_of_char).sum()
}

fn width_of_char(c: char) -> usize {
    if is_mark(c) { 0 } else { c.width().unwrap_or(0) }
}

/// A count with its noun, in the singular or plural.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A sanitized text with its line breaks and other white space replaced by single spaces.
pub(crate) fn one_line(text: &str) -> String {
    clean(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Cuts a text to `columns`, with `…` at the end. Not for names and ids: see [`pad`].
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if width_of(text) <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let kept = text.chars().take_while(|c| {
        used += width_of_char(*c);
        used <= columns
    });
    let mut kept: String = kept.collect();
    kept.push('…');
    kept
}

/// Pads a text to `columns`. A longer text is not cut.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width_of(text));
    let mut text = text.to_owned();
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

/// Wraps a line between words to fit into `columns`; further lines are indented. A word that is longer than a line is not
/// broken, so that it can be copied.
pub(crate) fn wrap(line: &str, columns: usize, indent: usize) -> String {
    let indent = indent.min(columns / 2);
    let mut wrapped = String::with_capacity(line.len() + 16);
    let (mut used, mut is_empty) = (0, true);
    for (spaces, word) in words(line) {
        let width = width_of(word);
        // A line that begins like this would be a command to GitHub Actions.
        let may_begin = !word.starts_with("::");
        if !is_empty && may_begin && used + spaces.len() + width > columns {
            wrapped.push('\n');
            wrapped.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        } else {
            wrapped.push_str(spaces);
            used += spaces.len();
        }
        wrapped.push_str(word);
        used += width;
        is_empty = false;
    }
    wrapped
}

/// The pieces of a line between which it can be wrapped, with the spaces before each. Wide characters are pieces without
/// spaces.
fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let begin = rest.find(|c| c != ' ')?;
        let (spaces, from) = rest.split_at(begin);
        let mut chars = from.char_indices();
        let is_wide = chars.next().is_some_and(|(_, c)| width_of_char(c) == 2);
        // Such a mark does not begin a line.
        let begins = |c: char| !"、。，．」』）〉》】！？：；…".contains(c) && width_of_char(c) > 0;
        let ends = |c: char| if is_wide { begins(c) } else { c == ' ' || width_of_char(c) == 2 };
        let end = chars.find(|(_, c)| ends(*c)).map_or(from.len(), |(at, _)| at);
        let (word, after) = from.split_at(end);
        rest = after;
        Some((spaces, word))
    })
}

/// A table with a name, a short value and a description per row. On a terminal the description is cut first, then the
/// value, and the name never.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns {
    name: usize,
    second: usize,
    total: Option<usize>,
}

impl Columns {
    /// The maximum width of the name column. The rest of a row with a longer name begins further right.
    const WIDEST: usize = 64;

    /// The minimum width that is left for the description on a terminal.
    const ABOUT: usize = 24;

    /// Columns for names and values of at most this width.
    pub(crate) fn new(names: usize, second: usize, output: &Output) -> Self {
        Self::within(names, second, output.columns())
    }

    fn within(names: usize, second: usize, total: Option<usize>) -> Self {
        let Some(columns) = total else { return Self { name: names.min(Self::WIDEST), second, total } };
        let second = second.min(columns / 4);
        let room = columns.saturating_sub(second + 4 + Self::ABOUT).max(columns / 3);
        Self { name: names.min(room), second, total }
    }

    /// One row, to be printed by [`Output::line`].
    pub(crate) fn row(&self, name: &str, second: &str, about: &str, output: &Output) -> String {
        let name = clean_line(name);
        let mut used = width_of(&name).max(self.name);
        let mut line = output.bold(&pad(&name, self.name));
        for (text, columns) in [(second, Some(self.second)), (about, None)] {
            if columns == Some(0) || text.is_empty() {
                continue;
            }
            let room = self.total.map_or(usize::MAX, |total| total.saturating_sub(used + 2));
            if room < 4 {
                break;
            }
            let text = match (columns, self.total) {
                (Some(columns), Some(_)) => pad(&fit(text, columns.min(room)), columns.min(room)),
                (Some(columns), None) => pad(text, columns),
                (None, _) => fit(text, room),
            };
            line.push_str("  ");
            line.push_str(&text);
            used += 2 + width_of(&text);
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::ColorChoice;

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(pad("日本", 6), "日本  ");
        assert_eq!(pad("abcdef", 4), "abcdef");
    }

    #[test]
    fn lines_are_broken_between_words_and_between_wide_characters() {
        assert_eq!(wrap("  one two three", 9, 4), "  one two\n    three");
        assert_eq!(wrap("a-word-that-is-longer x", 8, 2), "a-word-that-is-longer\n  x");
        assert_eq!(wrap("日本語のテキスト。終", 10, 2), "日本語のテ\n  キスト。\n  終");
        assert_eq!(wrap("use this ::error::now", 10, 2), "use this ::error::now");
        let long = "請求書の合計を確認し、".repeat(20);
        for columns in 20..140 {
            assert!(wrap(&long, columns, 4).lines().all(|line| width_of(line) <= columns + 2), "{columns}");
        }
    }

    #[test]
    fn names_are_never_cut_and_rows_fit() {
        let output = Output::new(true, ColorChoice::Never);
        let names = ["pdf", "analyzing-linux-audit-logs-for-intrusion", "日本語の名前"];
        for total in 20..=140 {
            let columns = Columns::within(40, 11, Some(total));
            for name in names {
                let row = columns.row(name, "third_party", &"what it is about ".repeat(9), &output);
                assert!(row.starts_with(name), "{row}");
                assert!(width_of(&row) <= total.max(width_of(name)), "{total}: {row}");
            }
        }
        let whole = Columns::within(40, 11, None).row(names[1], "user", &"word ".repeat(90), &output);
        assert!(whole.ends_with(&"word ".repeat(90).trim_end()), "{whole}");
    }
}
