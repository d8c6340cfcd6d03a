//! Whether a match is only spoken of: told not to be done, or quoted. That a skill is about security excuses nothing.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

/// What says, before a match and in its sentence, that it is not to be done.
const NEGATION: &str = r"(?:\b(?:never|do not|don't|dont|must not|mustn't|should not|shouldn't|cannot|can't|avoid|avoids|avoiding|refuse|refuses|reject|rejects|forbid|forbidden|prohibit|prohibited|prevent|prevents|preventing|blocks?|blocked|blocking|detects?|detecting|detection of|flags?|flagged|flagging|deny|denies|denied|instead of|rather than|disallow|disallowed|beware of|watch for|scan for|anti-?patterns?)\b|\xe2\x9d\x8c|\xe2\x9b\x94|\xf0\x9f\x9a\xab)";

/// What a heading or a remark says above things that are not to be done.
const HEADING: &str = r"(?:\b(?:never|do not|don't|avoid|anti-?patterns?|bad|wrong|unsafe|insecure|vulnerable|forbidden|prohibited|not to do|red flags?|what not|mistakes?|pitfalls?|rationali[sz]ations)\b|\xe2\x9d\x8c|\xe2\x9b\x94|\xf0\x9f\x9a\xab)";

/// What stands on a line of code that looks for something rather than doing it.
const LOOKS_FOR: &str = r#"(?:\bre\.(?:compile|search|match|findall)|\bregex|\bpatterns?["']?\s*[=:(]|\.test\(|\.match\(|\.includes\(|\bassert|\bexpect\(|\bdeny|\bblocklist|\bdisallow|\bin (?:command|cmd|line)\b)"#;

/// Programs that look for what follows them; behind a pipe they only sift what was found.
const SEARCHES: &str = r"(?:\b(?:e|f)?grep\b|\brg\s|\bsemgrep)";

static SEARCHED: LazyLock<Option<Regex>> = LazyLock::new(|| plain(SEARCHES));
static NEGATED: LazyLock<Option<Regex>> = LazyLock::new(|| plain(NEGATION));
static HEADED: LazyLock<Option<Regex>> = LazyLock::new(|| plain(HEADING));
static LOOKED: LazyLock<Option<Regex>> = LazyLock::new(|| plain(LOOKS_FOR));

fn plain(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}

fn is_in(regex: &LazyLock<Option<Regex>>, text: &[u8]) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// How far back a sentence or a heading is looked for.
const SENTENCE: usize = 160;
const SECTION: usize = 4_000;

/// Whether the sentence, the line above or the heading says not to.
pub(super) fn is_negated(text: &[u8], start: usize) -> bool {
    let before = &text[start.saturating_sub(SENTENCE)..start];
    let sentence =
        before.iter().rposition(|byte| matches!(byte, b'\n' | b'!' | b'?' | b';')).map_or(0, |at| at + 1);
    let sentence = match before[sentence..].windows(2).rposition(|pair| pair == b". ") {
        Some(at) => &before[sentence + at + 2..],
        None => &before[sentence..],
    };
    is_in(&NEGATED, sentence)
        || is_in(&HEADED, remark_above(text, start))
        || is_in(&HEADED, heading_above(text, start))
}

/// The line above, if it is a remark or introduces what follows.
fn remark_above(text: &[u8], start: usize) -> &[u8] {
    let line = line_start(text, start);
    if line == 0 {
        return &[];
    }
    let above = &text[line_start(text, line - 1)..line - 1];
    let trimmed = above.trim_ascii();
    let is_remark = [&b"#"[..], b"//", b"--", b"*", b"<!--"].iter().any(|mark| trimmed.starts_with(mark));
    if is_remark || trimmed.ends_with(b":") || trimmed.ends_with(b":**") { trimmed } else { &[] }
}

/// The nearest heading.
fn heading_above(text: &[u8], start: usize) -> &[u8] {
    let floor = start.saturating_sub(SECTION);
    let mut end = line_start(text, start);
    while end > floor {
        let begin = line_start(text, end - 1);
        let line = &text[begin..end];
        // In code one sign begins a remark; in a text it is the title, which would excuse all of it.
        if line.starts_with(b"##") {
            return line;
        }
        end = begin;
    }
    &[]
}

fn line_start(text: &[u8], at: usize) -> usize {
    // Lines without an end would make this quadratic.
    let floor = at.saturating_sub(SECTION);
    text[floor..at].iter().rposition(|byte| *byte == b'\n').map_or(floor, |found| floor + found + 1)
}

/// Whether words stand in quotation marks or in a table.
pub(super) fn is_quoted(text: &[u8], start: usize, end: usize) -> bool {
    let (begin, stop) = line(text, start, end);
    let is_between = |mark: u8| {
        let count = |part: &[u8]| memchr::memchr_iter(mark, part).count();
        count(&text[begin..start]) % 2 == 1 && count(&text[end..stop]) > 0
    };
    is_between(b'"') || is_between(b'`') || is_table(&text[begin..stop])
}

/// Whether a command stands in a table, or on a line that looks for it. Quotation marks are part of commands.
pub(super) fn is_looked_for(text: &[u8], start: usize, end: usize) -> bool {
    let (begin, stop) = line(text, start, end);
    is_table(&text[begin..stop])
        || is_in(&LOOKED, &text[begin..stop])
        || is_in(&SEARCHED, &text[begin..start])
}

/// The lines of a match.
fn line(text: &[u8], start: usize, end: usize) -> (usize, usize) {
    let rest = text[end..].iter().take(SECTION).position(|byte| *byte == b'\n');
    (line_start(text, start), rest.map_or(text.len().min(end + SECTION), |at| end + at))
}

fn is_table(line: &[u8]) -> bool {
    let trimmed = line.trim_ascii();
    trimmed.len() > 2 && trimmed.starts_with(b"|") && trimmed.ends_with(b"|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, what: &str) -> (usize, usize) {
        let start = text.find(what).unwrap();
        (start, start + what.len())
    }

    #[test]
    fn what_is_told_not_to_be_done_is_negated() {
        for text in [
            "never run x here",
            "all fine. do not, ever, run x",
            "# bad\nx",
            "## anti-patterns\n\nsome text\n\nx",
        ] {
            assert!(is_negated(text.as_bytes(), at(text, "x").0), "{text}");
        }
        for text in ["run x", "do not wait. run x", "never mind!\nrun x", "## setup\n\nx"] {
            assert!(!is_negated(text.as_bytes(), at(text, "x").0), "{text}");
        }
    }

    #[test]
    fn what_is_in_quotation_marks_is_quoted() {
        let quoted = |text: &str| {
            let (start, end) = at(text, "x y");
            is_quoted(text.as_bytes(), start, end)
        };
        assert!(quoted("an attack says \"now x y\" and more") && quoted("| x y | high |"));
        assert!(!quoted("now x y") && !quoted("\"all\" of x y"));
        let text = "if re.search('x y')";
        assert!(is_looked_for(text.as_bytes(), 14, 17) && !is_looked_for(b"run \"x y\"", 5, 8));
        assert!(is_looked_for(b"grep 'x y' a", 6, 9) && !is_looked_for(b"x y | grep a", 0, 3));
    }
}
