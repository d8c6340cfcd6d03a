//! Decides whether a match is only mentioned: prohibited or quoted. A skill about security gets no special treatment.
//!
//! A word such as "avoid" near a match is not enough: "do not forget to run …" asks for it. What the word governs
//! decides. A prohibition excuses a match in three cases: the match is its object in the same clause; the line above
//! leads to the match ("Never run this:"); or the heading is a prohibition ("Anti-patterns"). Lines and headings must
//! consist entirely of known words, because any other word can change the meaning ("Do not run this twice:").
//!
//! In code files, only text that code searches for, and words in comments, are excused. In fenced code, a comment on
//! the line itself or on the line above counts as well.

mod sought;
mod words;

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::matching::Reads;
use super::rule::RuleScope;
pub(super) use sought::{is_looked_for, is_quoted};
use words::{
    ADVERBS, AGAINST, CONDITIONS, DOING, FILL, LABEL, LED, LIMITS, NOT, REASONS, SUBJECTS, TURNS, WAYS,
    is_one_of, words,
};

static NOTS: LazyLock<Option<Regex>> = LazyLock::new(|| plain(NOT));
static AGAINSTS: LazyLock<Option<Regex>> = LazyLock::new(|| plain(AGAINST));
static LABELS: LazyLock<Option<Regex>> = LazyLock::new(|| plain(LABEL));

fn plain(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}

fn is_in(regex: &LazyLock<Option<Regex>>, text: &[u8]) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// How far back a sentence or a heading is searched.
const SENTENCE: usize = 160;
const SECTION: usize = 4_000;

/// The most words between a prohibition and its object.
const APART: usize = 12;

/// Whether the clause, the line above or the heading prohibits a match.
pub(super) fn is_negated(text: &[u8], start: usize, end: usize, reads: Reads, scope: RuleScope) -> bool {
    let line = line_start(text, start);
    let before = &text[line.max(start.saturating_sub(SENTENCE))..start];
    let is_told_here = || is_governed(before, rest_of_clause(text, line, start, end), scope);
    if reads == Reads::Code {
        // Words in a comment are not executed; only their own clause counts.
        return scope == RuleScope::Instructions && is_told_here();
    }
    let is_told = match fence(text, line) {
        // A line of code is executed unless it is a comment.
        Some(opening) => {
            (is_remark(before) && is_told_here())
                || is_remark(line_above(text, line)) && is_prohibition(line_above(text, line))
                || is_prohibition(introduction(text, opening))
        }
        None => is_told_here() || is_prohibition(introduction(text, line)),
    };
    is_told || is_prohibition(heading_above(text, line))
}

/// What a clause says about what follows it.
struct Clause<'a> {
    /// The words before the prohibition, since the last comma.
    ahead: &'a [u8],
    /// The words between the prohibition and what follows.
    between: &'a [u8],
    /// Whether it says "not"; otherwise it avoids or reports something.
    is_not: bool,
    /// Whether it avoids something, so that a limited form allows the rest.
    is_limitable: bool,
}

/// The last prohibition of a clause. Two prohibitions cancel each other, and a conditional one does not count.
fn prohibition(clause: &[u8]) -> Option<Clause<'_>> {
    let last = |regex: &LazyLock<Option<Regex>>| {
        let regex = regex.as_ref()?;
        regex.find_iter(clause).last().map(|found| (found.start(), found.end()))
    };
    let (not, against) = (last(&NOTS), last(&AGAINSTS));
    let (start, end) = not.max(against)?;
    let ahead = &clause[..start];
    let ahead = &ahead[ahead.iter().rposition(|byte| *byte == b',').map_or(0, |at| at + 1)..];
    if is_in(&NOTS, ahead) || words(ahead).any(|word| is_one_of(word, CONDITIONS)) {
        return None;
    }
    let is_not = not == Some((start, end));
    let is_limitable = is_not || clause[start..end].starts_with(b"avoid");
    Some(Clause { ahead, between: &clause[end..], is_not, is_limitable })
}

/// Whether a clause that ends here prohibits what follows, and nothing after it limits the prohibition.
fn is_governed(before: &[u8], after: &[u8], scope: RuleScope) -> bool {
    let (clause, leads) = last_clause(before);
    // Text before a colon or a dash is treated as a line of its own.
    if leads {
        return is_prohibition(clause);
    }
    prohibition(clause).is_some_and(|found| {
        let is_told =
            if found.is_not { is_prohibited(found.between, scope) } else { is_object(found.between) };
        is_told && !(found.is_limitable && words(after).any(|word| is_limit(word, scope)))
    })
}

/// Whether a word limits a prohibition.
fn is_limit(word: &[u8], scope: RuleScope) -> bool {
    is_one_of(word, LIMITS) || (scope != RuleScope::Instructions && is_one_of(word, WAYS))
}

/// Whether a prohibition is followed by its object: directly, or after a verb.
fn is_prohibited(between: &[u8], scope: RuleScope) -> bool {
    let is_adverb = |word: &&[u8]| is_one_of(word, ADVERBS);
    let Some(verb) = words(between).find(|word| !is_adverb(word)) else { return true };
    // A comma before the verb ends an adverb; a comma after it starts something else.
    let from = memchr::memmem::find(between, verb).unwrap_or_default();
    let rest = &between[from + verb.len()..];
    if rest.contains(&b',') || words(between).count() > APART || !is_one_of(verb, DOING) {
        return false;
    }
    let mut previous = verb;
    for word in words(rest) {
        let joins_another = word == b"and" && !is_one_of(previous, DOING);
        let is_such_as = word == b"as" && previous == b"such";
        if joins_another || is_one_of(word, TURNS) || (is_limit(word, scope) && !is_such_as) {
            return false;
        }
        previous = word;
    }
    true
}

/// Whether only connecting words precede an object.
fn is_object(between: &[u8]) -> bool {
    !between.contains(&b',')
        && words(between).count() <= APART
        && words(between).all(|word| is_one_of(word, FILL))
}

/// The text after the last clause boundary, and whether it ends with a colon and so leads to what follows.
fn last_clause(before: &[u8]) -> (&[u8], bool) {
    let whole = trim_end(before.trim_ascii_end(), b"`\"'*_([{$>");
    let trimmed = trim_end(whole, b":*_");
    let leads = whole[trimmed.len()..].contains(&b':');
    let is_end = |at: &usize| {
        let next = trimmed.get(at + 1);
        match trimmed[*at] {
            b'\n' | b'!' | b'?' | b';' | b'|' => true,
            b'.' | b':' => next.is_none_or(u8::is_ascii_whitespace),
            b'-' => next.is_none_or(|next| *next == b' ' || *next == b'-') && *at > 2,
            // Typographic dashes.
            0xe2 => {
                trimmed[*at..].starts_with(b"\xe2\x80\x93") || trimmed[*at..].starts_with(b"\xe2\x80\x94")
            }
            _ => false,
        }
    };
    let from = (0..trimmed.len()).rev().find(is_end).map_or(0, |at| at + 1);
    (&trimmed[from..], leads)
}

/// The rest of the clause after a match, starting after the closing quotation mark if the match is quoted.
fn rest_of_clause(text: &[u8], line: usize, start: usize, end: usize) -> &[u8] {
    let rest = &text[end..text.len().min(end + SENTENCE)];
    let rest = &rest[..rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())];
    let is_code = memchr::memchr_iter(b'`', &text[line..start]).count() % 2 == 1;
    let from = if is_code { memchr::memchr(b'`', rest).unwrap_or_default() } else { 0 };
    let rest = &rest[from..];
    let is_end = |at: &usize| match rest[*at] {
        b'!' | b'?' | b';' => true,
        b'.' | b':' => rest.get(at + 1).is_none_or(u8::is_ascii_whitespace),
        _ => false,
    };
    &rest[..(0..rest.len()).find(is_end).unwrap_or(rest.len())]
}

fn trim_end<'a>(mut text: &'a [u8], marks: &[u8]) -> &'a [u8] {
    while let Some((_, rest)) = text.split_last().filter(|(last, _)| marks.contains(last)) {
        text = rest.trim_ascii_end();
    }
    text
}

/// Whether a line as a whole prohibits what follows it.
fn is_prohibition(line: &[u8]) -> bool {
    let is_mark = |byte: &u8| b"#*_/<>!-+.) \t`0123456789".contains(byte);
    let from = line.iter().position(|byte| !is_mark(byte)).unwrap_or(line.len());
    let title = trim_end(line[from..].trim_ascii_end(), b":*_`#-> ");
    !title.is_empty() && (is_label(title) || is_order(title))
}

/// Whether a title names bad examples ("Anti-patterns", "❌", "Bad: runs a download"), followed by nothing but a
/// reason.
fn is_label(title: &[u8]) -> bool {
    let Some(found) = LABELS.as_ref().and_then(|regex| regex.find(title)) else { return false };
    let rest = title[found.end()..].trim_ascii();
    let is_apart = |byte: u8| b":(,-".contains(&byte) || byte == 0xe2;
    let has_end = rest.iter().any(|byte| b"?!;".contains(byte));
    match rest.first() {
        None => true,
        Some(first) => {
            is_apart(*first)
                && !has_end
                && words(rest).all(|word| is_one_of(word, FILL) || is_one_of(word, REASONS))
        }
    }
}

/// Whether a title prohibits what follows, without asking for anything else and without a limit.
fn is_order(title: &[u8]) -> bool {
    let (clause, _) = last_clause(title);
    let Some(found) = prohibition(clause) else { return false };
    if !words(found.ahead).all(|word| is_one_of(word, SUBJECTS)) {
        return false;
    }
    if found.is_not {
        let is_led = |word: &[u8]| [ADVERBS, DOING, FILL, LED].iter().any(|list| is_one_of(word, list));
        is_prohibited(found.between, RuleScope::Code) && words(found.between).all(is_led)
    } else {
        words(found.between).next().is_some() && is_object(found.between)
    }
}

/// The line above a fence or a line, if it leads to what follows: it ends with a colon, or is a comment.
fn introduction(text: &[u8], line: usize) -> &[u8] {
    let mut above = line_above(text, line);
    let mut at = line;
    // One empty line may be between.
    if above.is_empty() && at > 0 {
        at = line_start(text, at - 1);
        above = line_above(text, at);
    }
    let trimmed = above.trim_ascii();
    let leads = [&b":"[..], b":**", b":*"].iter().any(|end| trimmed.ends_with(end));
    let is_aside = [&b"//"[..], b"--", b"<!--"].iter().any(|mark| trimmed.starts_with(mark));
    if leads || is_aside { trimmed } else { &[] }
}

/// The line before the one that starts here, trimmed.
fn line_above(text: &[u8], line: usize) -> &[u8] {
    if line == 0 { &[] } else { text[line_start(text, line - 1)..line - 1].trim_ascii() }
}

/// Whether a line of code is a comment.
fn is_remark(line: &[u8]) -> bool {
    let trimmed = line.trim_ascii_start();
    [&b"#"[..], b"//", b"--", b"* ", b"/*", b"<!--", b"rem "].iter().any(|mark| trimmed.starts_with(mark))
}

/// The start of the line of the fence that encloses a line.
fn fence(text: &[u8], line: usize) -> Option<usize> {
    ["```", "~~~"].into_iter().find_map(|mark| {
        let mut opening = None;
        let mut last = None;
        for at in memchr::memmem::find_iter(&text[..line], mark) {
            let begin = line_start(text, at);
            // More than three marks are one fence, and marks inside a line do not count.
            if last != Some(begin) && text[begin..at].trim_ascii().is_empty() {
                (opening, last) = (if opening.is_some() { None } else { Some(begin) }, Some(begin));
            }
        }
        opening
    })
}

/// The nearest heading.
fn heading_above(text: &[u8], start: usize) -> &[u8] {
    let floor = start.saturating_sub(SECTION);
    let mut end = line_start(text, start);
    while end > floor {
        let begin = line_start(text, end - 1);
        let line = &text[begin..end];
        // In code, a single `#` starts a comment. In text it is the page's title, which would excuse everything.
        if line.starts_with(b"##") {
            return line;
        }
        end = begin;
    }
    &[]
}

fn line_start(text: &[u8], at: usize) -> usize {
    // Very long lines would make this quadratic.
    let floor = at.saturating_sub(SECTION);
    text[floor..at].iter().rposition(|byte| *byte == b'\n').map_or(floor, |found| floor + found + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn negated_in(text: &str, reads: Reads, scope: RuleScope) -> bool {
        let start = text.find("<>").unwrap();
        is_negated(text.as_bytes(), start, start + 2, reads, scope)
    }

    /// Whether `<>` is excused in a text.
    fn negated(text: &str) -> bool {
        negated_in(text, Reads::Instructions, RuleScope::Code)
    }

    #[test]
    fn what_is_told_not_to_be_done_is_negated() {
        for text in [
            "never run <> here",
            "never <>",
            "- **never** run `<>`",
            "all fine. do not, ever, run <>",
            "you must not download and run <>",
            "do not ask the user to run <>",
            "when in doubt, don't use <>",
            "avoid <>",
            "avoid using commands like `<>`",
            "use pip instead of <>",
            "this hook blocks dangerous commands such as <>",
            "- never: <>",
            "- \u{274c} <>",
            "never run this:\n<>",
            "never run this:\n\n```sh\n<>\n```",
            "```sh\n# bad\n<>\n```",
            "```sh\n# wrong: runs a download\n<>\n```",
            "## anti-patterns\n\nsome text\n\n<>",
            "## common mistakes\n\n<>",
            "### \u{274c} don't\n<>",
            "## what not to do\n<>",
            "**bad:**\n<>",
            "## forbidden commands\n<>",
            "- avoid: <>",
            "- **avoid:** `<>`",
            "**\u{274c} never do this:**\n\n```sh\n<>\n```",
            "do not use commands such as <>",
            "you must never ask the user to run the following commands:\n<>",
            "```sh\n# \u{274c} bad: hardcoded secret\n<>\n```",
            "avoid running commands like this:\n<>",
            "```sh\n# never run <>\n```",
            "never run `<>` from untrusted sites",
            "the hook blocks `<>` before it runs",
        ] {
            assert!(negated(text), "{text}");
        }
    }

    #[test]
    fn a_word_that_governs_something_else_excuses_nothing() {
        for text in [
            "run <>",
            "do not wait. run <>",
            "never mind!\nrun <>",
            "## setup\n\n<>",
            "do not forget to run <> first",
            "do not skip <>",
            "don't hesitate to run <>",
            "never start without running <>",
            "do not proceed until you run <>",
            "if you do not run <>, nothing works",
            "do not worry and run <>",
            "do not wait, run <>",
            "do not do anything but run <>",
            "never fail to send <>",
            "avoid a stale cache: <>",
            "to avoid errors run <>",
            "this detects your system: <>",
            "it detects your platform using <>",
            "this prevents errors with <>",
            "blocked? run <>",
            "## do not skip: setup\n\n<>",
            "## avoid mistakes\n\n<>",
            "## never forget\n<>",
            "## mistakes are avoided by this\n<>",
            "do not skip this:\n```sh\n<>\n```",
            "```sh\n# avoid a stale cache\n<>\n```",
            "```sh\n# do not forget\n<>\n```",
            "```sh\necho never run; <>\n```",
            "this detects your system:\n```sh\n<>\n```",
            "## flags\n<>",
            "## code blocks\n<>",
            "## blocked\n<>",
            "run the following code blocks:\n<>",
            "run code blocks such as <>",
            "use these flags: <>",
            "use these flags <>",
            "do not run this twice:\n<>",
            "do not run this twice: <>",
            "do not run `<>` twice.",
            "do not run <> more than once",
            "do not run `<> -s -- a` without a backup",
            "do not ask, just run <>",
            "do not again run <>",
            "do not install with pip:\n<>",
            "do not install with pip: <>",
            "do not do anything else:\n<>",
            "run this so that you do not run malicious commands:\n<>",
            "use this to avoid dangerous commands:\n<>",
            "to prevent malicious commands:\n<>",
            "run this instead of the script:\n<>",
            "avoid `<>` unless it is urgent",
            "wrong version: <>",
            "## unsafe, but needed: setup\n<>",
            "## bad (run this first)\n<>",
            "## \u{274c} errors? set up first\n<>",
            "## \u{274c} errors\n<>",
            "```sh\n# bad - cache? refresh it\n<>\n```",
            "```sh\n# bad: refresh the cache\n<>\n```",
        ] {
            assert!(!negated(text), "{text}");
        }
    }

    #[test]
    fn in_code_no_word_excuses() {
        for text in ["# never run <>", "# bad\n<>", "// do not use:\n<>"] {
            assert!(!negated_in(text, Reads::Code, RuleScope::Code), "{text}");
        }
        let words = |text: &str| negated_in(text, Reads::Code, RuleScope::Instructions);
        assert!(words("# never <>") && !words("# never forget to <>") && !words("## anti-patterns\n# <>"));
    }
}
