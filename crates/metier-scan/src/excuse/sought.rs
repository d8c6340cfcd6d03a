//! Decides whether a match is quoted, or a text that code searches for. Only the text directly before the opening
//! quotation mark counts; a word elsewhere on the line, such as in a comment, does not.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{SECTION, is_in, line_start, plain};

/// Calls and names that search for the strings after them, including preceding strings of a list. A call accepts any
/// quotation mark; an assigned string can be a shell command if its quotation marks allow expansion.
const CALLS: &str = r#"(?:\bre\.(?:compile|search|match|fullmatch|findall|finditer|sub)|\bregexp?(?:\.\w+)?|\.(?:test|match|matchall|includes|search))\(\s*[\[(]?\s*(?:[rbu]{0,2}(?:"[^"]*"|'[^']*')\s*,\s*)*[rbu]{0,2}$"#;
const ASSIGNED: &str = r#"\b(?:regex(?:es|p)?|patterns?|blocklist|denylist|deny|disallow(?:ed)?)["']?(?:\s*[=:]\s*[\[({]\s*(?:[rbu]{0,2}(?:"[^"]*"|'[^']*')\s*,\s*)*|\s*[=:]\s+|\s*[=:])[rbu]{0,2}$"#;

/// Programs that search for their arguments. A pipe, another command, or a substitution ends the arguments.
const SEARCHES: &str = r"(?:\b(?:e|f)?grep\b|\brg\s|\bsemgrep\b)[^;&|($`<>]*$";

/// What a shell or a template expands inside quotation marks.
const EVALUATED: &str = r"[$#<>]\(|[$#]\{|`";

static CALLED: LazyLock<Option<Regex>> = LazyLock::new(|| plain(CALLS));
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| plain(ASSIGNED));
static SEARCHED: LazyLock<Option<Regex>> = LazyLock::new(|| plain(SEARCHES));
static RUN: LazyLock<Option<Regex>> = LazyLock::new(|| plain(EVALUATED));

/// Whether words are in quotation marks or in a table.
pub(crate) fn is_quoted(text: &[u8], start: usize, end: usize) -> bool {
    let (begin, stop) = line(text, start, end);
    b"\"`".iter().any(|mark| opening(text, (begin, stop), (start, end), *mark).is_some())
        || is_table(&text[begin..stop])
}

/// Whether code searches for a command, or the command is in a table of instructions.
pub(crate) fn is_looked_for(text: &[u8], start: usize, end: usize, is_code: bool) -> bool {
    let (begin, stop) = line(text, start, end);
    let before = &text[begin..start];
    if is_in(&SEARCHED, before) || (!is_code && is_table(&text[begin..stop])) {
        return true;
    }
    b"\"'`/".iter().any(|mark| {
        opening(text, (begin, stop), (start, end), *mark)
            .is_some_and(|at| is_sought(*mark, &text[begin..at], &text[at + 1..start]))
    })
}

/// Whether the text before a quotation mark searches for the quoted text, and nothing in it is expanded.
fn is_sought(mark: u8, before: &[u8], quoted: &[u8]) -> bool {
    // A quotation mark inside other quotation marks does not open anything.
    let is_inside = b"\"'".iter().any(|other| memchr::memchr_iter(*other, before).count() % 2 == 1);
    let is_evaluated = is_inside || (mark != b'\'' && is_in(&RUN, quoted));
    let is_named = || is_in(&NAMED, before);
    match mark {
        _ if is_evaluated => false,
        b'`' => is_in(&CALLED, before),
        // A shell takes the delimiter of a pattern as a path and continues after it.
        b'/' => {
            let is_apart = before.last().is_some_and(u8::is_ascii_whitespace);
            !quoted.iter().any(|byte| b";&|".contains(byte))
                && (is_in(&CALLED, before) || (is_apart && is_named()))
        }
        _ => is_in(&CALLED, before) || is_in(&SEARCHED, before) || is_named(),
    }
}

/// The position of the quotation mark that opens the quotation around a match, on its line.
fn opening(
    text: &[u8],
    (begin, stop): (usize, usize),
    (start, end): (usize, usize),
    mark: u8,
) -> Option<usize> {
    let is_open = memchr::memchr_iter(mark, &text[begin..start]).count() % 2 == 1;
    let is_closed = memchr::memchr(mark, &text[end..stop]).is_some();
    if !is_open || !is_closed {
        return None;
    }
    memchr::memrchr(mark, &text[begin..start]).map(|at| begin + at)
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

    fn at(text: &str) -> (usize, usize) {
        let start = text.find("x y").unwrap();
        (start, start + "x y".len())
    }

    #[test]
    fn what_is_in_quotation_marks_is_quoted() {
        let quoted = |text: &str| {
            let (start, end) = at(text);
            is_quoted(text.as_bytes(), start, end)
        };
        assert!(quoted("an attack says \"now x y\" and more") && quoted("| x y | high |"));
        assert!(!quoted("now x y") && !quoted("\"all\" of x y"));
    }

    fn looked(text: &str, is_code: bool) -> bool {
        let (start, end) = at(text);
        is_looked_for(text.as_bytes(), start, end, is_code)
    }

    #[test]
    fn what_code_looks_for_is_looked_for() {
        for text in [
            "if re.search('x y')",
            "re.compile(r\"a (x y|b)\")",
            "regexp.mustcompile(`x y`)",
            "if s.includes(\"x y\")",
            "pattern = 'x y'",
            "const pattern = /a x y/",
            "\"patterns\": [\"a\", \"x y\"]",
            "\"deny\": [\"x y\"]",
            "grep 'x y' a",
            "grep x y",
            "grep -E '(a|x y)' b",
        ] {
            assert!(looked(text, false) && looked(text, true), "{text}");
        }
        assert!(looked("| x y |", false) && !looked("| x y |", true));
    }

    #[test]
    fn a_word_elsewhere_on_the_line_looks_for_nothing() {
        for text in [
            "run \"x y\"",
            "x y | grep a",
            "grep -q a; x y",
            "grep a <(x y)",
            "grep $(x y) a",
            "grep `x y` a",
            "grep \"$(x y)\" a",
            "x y # regex",
            "x y # deny nothing",
            "pattern = 1; x y",
            "assert os.system(\"x y\") == 0",
            "assert \"x y\"",
            "deny = 1; os.system(\"x y\")",
            "expect(run(\"x y\"))",
            "pattern = run(\"x y\")",
            "pattern = f\"{run('x y')}\"",
            "patterns = [\"a\", run(\"x y\")]",
            "pattern=\"$(x y)\"",
            "pattern=`x y`",
            "regex=/a x y /b",
            "regex = /a; x y /b",
            "re.search('a', run('x y'))",
            "grep '\"' a; x y; echo \"",
        ] {
            assert!(!looked(text, false) && !looked(text, true), "{text}");
        }
    }
}
