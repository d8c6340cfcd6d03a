//! Writes one skill in each format. The same code is used to measure its length.

use metier_skill::{Escape, Replacement};

use super::{ListFormat, ListedSkill};

/// A target for text.
pub(super) trait Text {
    fn add(&mut self, text: &str);
}

impl Text for String {
    fn add(&mut self, text: &str) {
        self.push_str(text);
    }
}

/// Measures the length of a text.
#[derive(Debug, Default)]
pub(super) struct Length(pub(super) usize);

impl Text for Length {
    fn add(&mut self, text: &str) {
        self.0 += text.len();
    }
}

/// Ends a shortened description.
pub(super) const MORE: &str = "…";

static JSON: Escape = Escape::new(b"\"\\", |c| match c {
    '"' => Replacement::Text("\\\""),
    '\\' => Replacement::Text("\\\\"),
    '\n' => Replacement::Text("\\n"),
    '\r' => Replacement::Text("\\r"),
    '\t' => Replacement::Text("\\t"),
    c if metier_skill::is_invisible(c) => Replacement::Units,
    _ => Replacement::Same,
});

/// A word of a name in Markdown. Valid names contain none of these characters.
static WORD: Escape = Escape::new(b"\\`*[]<&", |c| match c {
    '\\' => Replacement::Text("\\\\"),
    '`' => Replacement::Text("\\`"),
    '*' => Replacement::Text("\\*"),
    '[' => Replacement::Text("\\["),
    ']' => Replacement::Text("\\]"),
    '<' => Replacement::Text("\\<"),
    '&' => Replacement::Text("\\&"),
    c => Replacement::shown(c),
});

/// Text in Markdown that may contain markup, but no invisible characters.
static SHOWN: Escape = Escape::new(b"", Replacement::shown);

/// The same on one line, without changing spaces.
static PLACE: Escape = Escape::new(b"", |c| match c {
    '\t' | '\n' => Replacement::VISIBLE,
    c => Replacement::shown(c),
});

/// Writes a skill, with this many bytes of its description if it is cut.
pub(super) fn item(format: ListFormat, skill: &ListedSkill<'_>, cut: Option<usize>, text: &mut impl Text) {
    let begin = skill.description.map(|all| cut.map_or(all, |end| &all[..end]));
    let more = if cut.is_some() { MORE } else { "" };
    match format {
        ListFormat::Xml => {
            text.add("<skill>\n<name>");
            escaped(Escape::XML, skill.name, text);
            text.add("</name>\n");
            if let Some(begin) = begin {
                text.add("<description>");
                description(format, begin, text);
                text.add(more);
                text.add("</description>\n");
            }
            if let Some(location) = skill.location {
                text.add("<location>");
                escaped(Escape::XML, location, text);
                text.add("</location>\n");
            }
            text.add("</skill>\n");
        }
        ListFormat::Markdown => {
            text.add("- **");
            one_line(&WORD, skill.name, text);
            text.add("**");
            if let Some(location) = skill.location {
                place(location, text);
            }
            if let Some(begin) = begin {
                text.add(": ");
                description(format, begin, text);
                text.add(more);
            }
            text.add("\n");
        }
        ListFormat::Json => {
            text.add("{\"name\":\"");
            escaped(&JSON, skill.name, text);
            if let Some(begin) = begin {
                text.add("\",\"description\":\"");
                description(format, begin, text);
                text.add(more);
            }
            if let Some(location) = skill.location {
                text.add("\",\"location\":\"");
                escaped(&JSON, location, text);
            }
            text.add("\"}");
        }
    }
}

/// The text of a description.
pub(super) fn description(format: ListFormat, description: &str, text: &mut impl Text) {
    match format {
        ListFormat::Xml => escaped(Escape::XML, description, text),
        ListFormat::Markdown => one_line(&SHOWN, description, text),
        ListFormat::Json => escaped(&JSON, description, text),
    }
}

fn escaped(escape: &Escape, from: &str, text: &mut impl Text) {
    escape.each(from, |piece| text.add(piece));
}

/// Text with every run of white space replaced by one space.
fn one_line(escape: &Escape, from: &str, text: &mut impl Text) {
    if is_tidy(from) {
        return escaped(escape, from, text);
    }
    for (index, word) in from.split_whitespace().enumerate() {
        if index > 0 {
            text.add(" ");
        }
        escaped(escape, word, text);
    }
}

/// Finds white space other than the space character by making it longer.
static OTHER_BLANK: Escape =
    Escape::new(b"", |c| if c.is_whitespace() { Replacement::VISIBLE } else { Replacement::Same });

/// Whether a text consists of words separated by single spaces, as nearly all are.
pub(super) fn is_tidy(text: &str) -> bool {
    let bytes = text.as_bytes();
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    // As numbers, so that the compiler can vectorize it.
    let both = |(one, next): (&u8, &u8)| u8::from(*one == b' ') & u8::from(*next == b' ');
    let are_apart = pairs.map(both).fold(0, |any, both| any | both) == 0;
    are_apart && !text.starts_with(' ') && !text.ends_with(' ') && OTHER_BLANK.length(text) == text.len()
}

/// A location in backticks, one more than the longest run of them in it.
fn place(location: &str, text: &mut impl Text) {
    let run = || location.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = if location.contains('`') { run() + 1 } else { 1 };
    // A space at both ends is not part of the quoted text.
    let is_edge = |c: char| matches!(c, ' ' | '`');
    let blank = if location.starts_with(is_edge) || location.ends_with(is_edge) { " " } else { "" };
    let quote = |text: &mut _| (0..fence).for_each(|_| Text::add(text, "`"));
    if location.is_empty() {
        return;
    }
    text.add(" (");
    quote(text);
    text.add(blank);
    escaped(&PLACE, location, text);
    text.add(blank);
    quote(text);
    text.add(")");
}
