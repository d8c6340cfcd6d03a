//! Bold and colours as marks in the text. Marks become escape sequences last, after untrusted ones were removed.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::table::{width_of, wrap};

/// The start of a style. Each mark is a noncharacter code point, which text does not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Bold,
    Good,
    Bad,
    Error,
    Warning,
}

/// Where the last style ends.
const END: char = '\u{fddf}';

impl Mark {
    const ALL: [Self; 5] = [Self::Bold, Self::Good, Self::Bad, Self::Error, Self::Warning];

    const fn begin(self) -> char {
        match self {
            Self::Bold => '\u{fdd0}',
            Self::Good => '\u{fdd1}',
            Self::Bad => '\u{fdd2}',
            Self::Error => '\u{fdd3}',
            Self::Warning => '\u{fdd4}',
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::Bold => Style::new().bold(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Error => AnsiColor::Red.on_default().bold(),
            Self::Warning => AnsiColor::Yellow.on_default(),
        }
    }
}

/// Whether a code point is a mark.
pub(crate) const fn is_mark(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fddf}')
}

/// A text between the marks of a style.
pub(super) fn marked(text: &str, mark: Mark) -> String {
    format!("{}{text}{END}", mark.begin())
}

/// Turns marks into escape sequences. Without colours a mark can only come from untrusted text, and becomes U+FFFD.
pub(super) fn applied(text: &str, is_styled: bool) -> String {
    if !text.contains(is_mark) {
        return text.to_owned();
    }
    let (mut shown, mut is_open) = (String::with_capacity(text.len() + 16), false);
    for c in text.chars() {
        match Mark::ALL.into_iter().find(|mark| mark.begin() == c) {
            _ if !is_mark(c) => shown.push(c),
            _ if !is_styled => shown.push('\u{fffd}'),
            // Writing to a string does not fail.
            Some(mark) => {
                is_open = true;
                let _ = write!(shown, "{}", mark.style());
            }
            None => {
                is_open = false;
                let _ = write!(shown, "{}", anstyle::Reset);
            }
        }
    }
    // Where a line was cut, its style ends with it.
    if is_open {
        let _ = write!(shown, "{}", anstyle::Reset);
    }
    shown
}

/// Keeps escape sequences that set colours, and replaces all other control characters.
pub(super) fn without_others(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (index, part) in text.split('\u{1b}').enumerate() {
        let sets = |c: char| !c.is_ascii_digit() && c != ';';
        let colour = part.strip_prefix('[').and_then(|rest| {
            let end = rest.find(sets).filter(|end| rest[*end..].starts_with('m'))?;
            Some(part.split_at(end + 2))
        });
        match colour.filter(|_| index > 0) {
            Some((colour, rest)) => {
                shown.push('\u{1b}');
                shown.push_str(colour);
                shown.push_str(&super::clean(rest));
            }
            None => {
                shown.extend((index > 0).then_some('\u{fffd}'));
                shown.push_str(&super::clean(part));
            }
        }
    }
    shown
}

/// Wraps a title with colours between words to fit into `columns`. Source lines are not changed.
pub(super) fn wrapped_title(line: &str, columns: usize) -> String {
    let (mut plain, mut colours) = (String::with_capacity(line.len()), Vec::new());
    for (index, part) in line.split('\u{1b}').enumerate() {
        // Each sequence ends with its first `m`; others were removed before.
        let (colour, rest) =
            if index == 0 { ("", part) } else { part.split_at(part.find('m').map_or(0, |at| at + 1)) };
        if index > 0 {
            plain.push(END);
            colours.push(format!("\u{1b}{colour}"));
        }
        plain.push_str(rest);
    }
    let is_title = plain.chars().find(|c| !is_mark(*c)).is_some_and(char::is_alphabetic);
    if !is_title || width_of(&plain) <= columns {
        return line.to_owned();
    }
    let mut colours = colours.into_iter();
    let mut restored = String::with_capacity(line.len() + 16);
    for c in wrap(&plain, columns, 2).chars() {
        match c {
            END => restored.extend(colours.next()),
            _ => restored.push(c),
        }
    }
    restored
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_of_a_laid_out_text_stay() {
        assert_eq!(
            without_others("\u{1b}[1m\u{1b}[91merror\u{1b}[0m: x\n"),
            "\u{1b}[1m\u{1b}[91merror\u{1b}[0m: x\n"
        );
        assert_eq!(
            without_others("a\u{1b}[2Jb\u{1b}]52;c;x\u{7}\u{9b}31m"),
            "a\u{fffd}[2Jb\u{fffd}]52;c;x\u{fffd}\u{fffd}31m"
        );
        assert_eq!(without_others("\u{1b}"), "\u{fffd}");
    }

    #[test]
    fn titles_are_wrapped_with_their_colours() {
        let title = "\u{1b}[1m\u{1b}[91merror[a-code]\u{1b}[0m: one two three";
        assert_eq!(wrapped_title(title, 40), title);
        assert_eq!(wrapped_title(title, 20), "\u{1b}[1m\u{1b}[91merror[a-code]\u{1b}[0m: one\n  two three");
        let source = "3 | name: a very long line of source";
        assert_eq!(wrapped_title(source, 10), source);
    }

    #[test]
    fn marks_become_colours_and_others_are_shown() {
        assert_eq!(applied(&marked("x", Mark::Bold), true), "\u{1b}[1mx\u{1b}[0m");
        let cut = marked("long", Mark::Warning).replace(END, "");
        assert_eq!(applied(&cut, true), "\u{1b}[33mlong\u{1b}[0m");
        assert_eq!(applied("a\u{fdd0}b", false), "a\u{fffd}b");
    }
}
