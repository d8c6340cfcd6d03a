//! Finds invisible characters, and parts of a page that are not shown.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::confusable;
use super::kind::Kind;
use super::text::Char;

/// Invisible content: the rule it breaks, and its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unseen {
    pub(super) rule: &'static str,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The number of consecutive zero-width characters that can encode a text.
const RUN: usize = 6;
/// The number of single zero-width characters between letters that indicates hidden words.
const SCATTERED: usize = 4;

/// Finds suspicious characters.
pub(super) fn characters(chars: &[Char], kind: Kind) -> Vec<Unseen> {
    let mut found = Vec::new();
    let mut scattered: Option<(usize, Unseen)> = None;
    let mut at = 0;
    while let Some(&(place, c)) = chars.get(at) {
        if c.is_ascii() && c != '\u{1b}' {
            at += 1;
            continue;
        }
        let place = place as usize;
        let rule = match c {
            '\u{e0000}'..='\u{e007f}' => Some(("hidden-tag-characters", is_tag as fn(char) -> bool)),
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
                Some(("hidden-variation-selectors", is_selector as _))
            }
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some((
                if kind == Kind::Instructions {
                    "hidden-bidirectional-text"
                } else {
                    "hidden-bidirectional-code"
                },
                is_bidirectional as _,
            )),
            '\u{1b}' => Some(("hidden-terminal-escape", (|c| c == '\u{1b}') as _)),
            _ if is_zero_width(c) => Some(("hidden-zero-width-run", is_zero_width as _)),
            _ => None,
        };
        let Some((rule, is_same)) = rule else {
            if confusable::is_lookalike(c) && is_between_latin(chars, at) {
                found.push(Unseen {
                    rule: "hidden-lookalike-letters",
                    start: place,
                    end: place + c.len_utf8(),
                });
            }
            at += 1;
            continue;
        };
        let length = chars[at..].iter().take_while(|(_, c)| is_same(*c)).count();
        let end = chars.get(at + length).map_or(place + c.len_utf8(), |(end, _)| *end as usize);
        let unseen = Unseen { rule, start: place, end };
        let counts = match rule {
            "hidden-tag-characters" => !is_flag(chars, at),
            "hidden-variation-selectors" => length > 1,
            "hidden-zero-width-run" => length >= RUN,
            _ => true,
        };
        if counts {
            found.push(unseen);
        } else if rule == "hidden-zero-width-run" && is_between_latin(chars, at) {
            let first = scattered.map_or(Unseen { rule: "hidden-scattered", ..unseen }, |(_, first)| first);
            scattered = Some((scattered.map_or(0, |(count, _)| count) + 1, first));
        }
        at += length;
    }
    found.extend(scattered.filter(|(count, _)| *count >= SCATTERED).map(|(_, first)| first));
    found
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}' | '\u{34f}' | '\u{115f}'
        | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{ad}' | '\u{61c}')
}

/// Flags of England, Scotland and Wales consist of a black flag, five or six tag characters and a terminator.
fn is_flag(chars: &[Char], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| chars.get(before));
    let length = chars[at..].iter().take_while(|(_, c)| is_tag(*c)).count();
    before.is_some_and(|(_, c)| *c == '\u{1f3f4}') && length <= 7
}

/// Whether the letters before and after, ignoring invisible characters, are Latin.
fn is_between_latin(chars: &[Char], at: usize) -> bool {
    let is_latin = |c: &&Char| c.1.is_ascii_alphabetic();
    let before = chars[..at].iter().next_back();
    let after = chars[at + 1..].iter().find(|(_, c)| !is_zero_width(*c));
    before.as_ref().is_some_and(is_latin) && after.as_ref().is_some_and(is_latin)
}

/// What hides the following text, and what ends it.
const HIDING: [(&[u8], &[u8]); 16] = [
    (b"<!--", b"-->"),
    (b"[//]: # ", b"\n"),
    (b"[comment]: # ", b"\n"),
    (b"display:none", b"</"),
    (b"display: none", b"</"),
    (b"visibility:hidden", b"</"),
    (b"visibility: hidden", b"</"),
    (b"font-size:0", b"</"),
    (b"font-size: 0", b"</"),
    (b"opacity:0;", b"</"),
    (b"opacity: 0;", b"</"),
    (b"color:white", b"</"),
    (b"color: white", b"</"),
    (b"color:#fff", b"</"),
    (b"color: #fff", b"</"),
    (b"color:transparent", b"</"),
];

static OPENINGS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(HIDING.map(|(open, _)| open)).ok());

/// The parts of a page that are not shown: comments, and elements with a style that hides them.
pub(super) fn parts(text: &[u8]) -> Vec<(usize, usize)> {
    // The limit per kind.
    const MOST: usize = 200;
    let Some(openings) = OPENINGS.as_ref() else { return Vec::new() };
    let mut parts = Vec::new();
    // For each kind, the end of the last part, because parts do not nest, and the number of parts.
    let mut ends = [(0, 0); HIDING.len()];
    for found in openings.find_iter(text) {
        let (kind, start) = (found.pattern().as_usize(), found.end());
        let (last, count) = &mut ends[kind];
        if found.start() < *last || *count == MOST {
            continue;
        }
        let rest = memchr::memmem::find(&text[start..], HIDING[kind].1);
        (*last, *count) = (rest.map_or(text.len(), |length| start + length), *count + 1);
        parts.push((start, *last));
    }
    parts
}

/// Text after so many spaces that it is not visible without scrolling.
pub(super) fn far_right(text: &[u8]) -> Option<usize> {
    const FAR: usize = 160;
    let is_blank = |byte: &&u8| matches!(**byte, b' ' | b'\t');
    // Checks only every n-th position, which finds every run of this length.
    let mut at = FAR;
    while let Some(byte) = text.get(at) {
        if !is_blank(&byte) {
            at += FAR;
            continue;
        }
        let start = at - text[..at].iter().rev().take_while(is_blank).count();
        let end = at + text[at..].iter().take_while(is_blank).count();
        let is_after_text = text[..start].last().is_some_and(|byte| *byte != b'\n');
        // Tables are aligned with spaces.
        let is_before_text = text.get(end).is_some_and(|byte| !matches!(byte, b'\n' | b'|'));
        if end - start >= FAR && is_after_text && is_before_text {
            return Some(end);
        }
        at = end + FAR;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::chars;

    fn rules(text: &str, kind: Kind) -> Vec<&'static str> {
        characters(&chars(text.as_bytes()), kind).iter().map(|unseen| unseen.rule).collect()
    }

    #[test]
    fn unseen_characters_are_found_and_everyday_ones_are_not() {
        let instructions = |text: &str| rules(text, Kind::Instructions);
        assert_eq!(instructions("a\u{e0041}\u{e0042}"), ["hidden-tag-characters"]);
        assert_eq!(instructions("\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}"), [""; 0]);
        assert_eq!(instructions(&"\u{200b}\u{200c}".repeat(3)), ["hidden-zero-width-run"]);
        assert_eq!(instructions("\u{feff}text \u{2764}\u{fe0f} \u{1f469}\u{200d}\u{1f4bb}"), [""; 0]);
        assert_eq!(instructions("x\u{fe00}\u{fe01}"), ["hidden-variation-selectors"]);
        assert_eq!(instructions("i\u{200b}g\u{200b}n\u{200b}o\u{200b}re"), ["hidden-scattered"]);
        assert_eq!(instructions("a\u{202e}b"), ["hidden-bidirectional-text"]);
        assert_eq!(rules("a\u{202e}b", Kind::Code), ["hidden-bidirectional-code"]);
        assert_eq!(instructions("p\u{430}ss"), ["hidden-lookalike-letters"]);
        assert_eq!(instructions("привет, \u{394}t and 5 \u{3bc}m"), [""; 0]);
        assert_eq!(instructions("\u{1b}[8m"), ["hidden-terminal-escape"]);
    }

    #[test]
    fn what_is_not_shown_is_a_part() {
        let text = b"a <!-- one --> b <p style=\"display:none\">two</p> c\n[//]: # (three)\n<!-- four";
        let parts: Vec<&[u8]> = parts(text).iter().map(|(start, end)| &text[*start..*end]).collect();
        assert_eq!(parts, [&b" one "[..], b"\">two", b"(three)", b" four"]);
        let many = format!("{}<!-- x -->", "<b style=\"color:#fff\"></b>".repeat(300));
        assert!(
            super::parts(many.as_bytes()).contains(&(many.len() - 6, many.len() - 3)),
            "many of one kind hide no other"
        );
        let far = format!("text{}more", " ".repeat(200));
        assert_eq!(far_right(far.as_bytes()), Some(204));
        assert_eq!(far_right(format!("{}code\n", " ".repeat(300)).as_bytes()), None);
    }
}
