//! Text in columns that fit the terminal.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::output::clean;

/// The columns that a text takes.
pub(crate) fn width_of(text: &str) -> usize {
    text.width()
}

/// So many of something, in the right number.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A text on one line, made of what may be several.
pub(crate) fn one_line(text: &str) -> String {
    clean(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A text in at most so many columns, with `…` where it was cut.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let kept = text.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= columns
    });
    let mut kept: String = kept.collect();
    kept.push('…');
    kept
}

/// A text in exactly so many columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let mut text = fit(text, columns);
    let missing = columns.saturating_sub(text.width());
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(pad("日本", 6), "日本  ");
        assert_eq!(pad("abcdef", 4), "abc…");
    }
}
