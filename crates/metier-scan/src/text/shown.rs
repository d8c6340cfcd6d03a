//! The visible part of a text. Emphasis marks, tags, comments and link addresses can split a word or separate two
//! words without being visible on the rendered page.

use std::ops::Range;

/// Inline elements without any other effect.
const INLINE: &[&[u8]] = &[
    b"abbr", b"acronym", b"b", b"bdi", b"bdo", b"big", b"cite", b"del", b"dfn", b"em", b"font", b"i", b"ins",
    b"kbd", b"mark", b"nobr", b"rp", b"rt", b"ruby", b"s", b"samp", b"small", b"span", b"strike", b"strong",
    b"sub", b"sup", b"tt", b"u", b"wbr",
];

/// Elements that start a new line.
const BLOCKS: &[&[u8]] = &[
    b"blockquote",
    b"br",
    b"dd",
    b"details",
    b"div",
    b"dl",
    b"dt",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"hr",
    b"li",
    b"ol",
    b"p",
    b"pre",
    b"section",
    b"summary",
    b"table",
    b"tbody",
    b"td",
    b"th",
    b"thead",
    b"tr",
    b"ul",
];

/// The longest tag, link text or distance to a closing tag that is searched.
const LONGEST: usize = 400;
/// The longest comment.
const LONGEST_COMMENT: usize = 2_000;

/// The number of bytes here that are not shown: emphasis (`**`, `__`, `~~`), a comment, or an inline tag.
pub(super) fn unshown(text: &[u8], at: usize) -> usize {
    let mark = text[at];
    if mark == b'<' {
        return comment(&text[at..]).max(tag(text, at));
    }
    if !matches!(mark, b'*' | b'_' | b'~') {
        return 0;
    }
    let run = text[at..].iter().take_while(|byte| **byte == mark).count();
    let before = byte_before(text, at);
    let after = text.get(at + run).copied().unwrap_or(b' ');
    // A mark with spaces on both sides is a list item or a multiplication sign.
    let is_alone = before.is_ascii_whitespace() && after.is_ascii_whitespace();
    match mark {
        b'*' if !is_alone => run,
        // Inside a word it is part of a name.
        b'_' if is_word(before) != is_word(after) => run,
        b'~' if run == 2 => run,
        _ => 0,
    }
}

fn byte_before(text: &[u8], at: usize) -> u8 {
    at.checked_sub(1).and_then(|at| text.get(at)).copied().unwrap_or(b' ')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// The length of a comment in bytes.
fn comment(text: &[u8]) -> usize {
    const OPEN: &[u8] = b"<!--";
    if !text.starts_with(OPEN) {
        return 0;
    }
    let rest = &text[OPEN.len()..text.len().min(LONGEST_COMMENT)];
    memchr::memmem::find(rest, b"-->").map_or(0, |end| OPEN.len() + end + 3)
}

/// The length of a tag in bytes.
fn tag(text: &[u8], at: usize) -> usize {
    let inside = &text[at + 1..text.len().min(at + LONGEST)];
    let (is_closing, inside) = inside.strip_prefix(b"/").map_or((false, inside), |rest| (true, rest));
    let name = &inside[..inside.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()];
    if !name.first().is_some_and(u8::is_ascii_alphabetic) || BLOCKS.contains(&name) {
        return 0;
    }
    let Some(end) = tag_end(&inside[name.len()..]) else { return 0 };
    let length = 1 + usize::from(is_closing) + name.len() + end;
    let after = at + length;
    // A page also shows the text of unknown elements. But `<name>` is also used as a placeholder, which is not closed
    // and not inside a word.
    let is_inside = || is_word(byte_before(text, at)) && text.get(after).is_some_and(|byte| is_word(*byte));
    let is_closed = || is_closed(&text[after..text.len().min(after + LONGEST)], name);
    let is_shown = !is_closing && !INLINE.contains(&name) && !is_inside() && !is_closed();
    if is_shown { 0 } else { length }
}

/// The end of a tag whose name was already read. A quoted value can contain anything.
fn tag_end(rest: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in rest.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == *byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'>') => return Some(at + 1),
            (None, b'<' | b'`') => return None,
            // The name ends with a space, a slash or the end of the tag.
            (None, byte) if at == 0 && !byte.is_ascii_whitespace() && *byte != b'/' && *byte != b'-' => {
                return None;
            }
            _ => {}
        }
    }
    None
}

fn is_closed(rest: &[u8], name: &[u8]) -> bool {
    memchr::memmem::find_iter(rest, b"</").any(|at| rest[at + 2..].starts_with(name))
}

/// A link: its visible text, its address, and its end.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) shown: Range<usize>,
    /// An external address with the surrounding marks, which rules need.
    pub(super) address: Option<Range<usize>>,
    pub(super) end: usize,
}

/// The link that starts here: `[text](address)` or `[text][name]`. Images are not links.
pub(super) fn link(text: &[u8], at: usize) -> Option<Link> {
    if text[at] != b'[' {
        return None;
    }
    let before = byte_before(text, at);
    if before == b'!' {
        return None;
    }
    let close = closing(text, at, b'[', b']')?;
    let (open, last) = match text.get(close + 1)? {
        b'(' => (b'(', b')'),
        b'[' => (b'[', b']'),
        _ => return None,
    };
    let end = closing(text, close + 1, open, last)?;
    let target = close + 1..end + 1;
    // Inside a word it would split the word.
    let is_kept = !is_word(before) && memchr::memmem::find(&text[target.clone()], b"://").is_some();
    Some(Link { shown: at + 1..close, address: is_kept.then_some(target), end: end + 1 })
}

/// The position of the matching closing mark, in the same paragraph.
fn closing(text: &[u8], at: usize, open: u8, close: u8) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, byte) in text.iter().enumerate().skip(at).take(LONGEST) {
        if *byte == open {
            depth += 1;
        } else if *byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(index);
            }
        } else if *byte == b'\n' && text.get(index + 1) == Some(&b'\n') {
            return None;
        }
    }
    None
}
