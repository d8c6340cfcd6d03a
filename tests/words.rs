//! Plain wording: phrases that user-facing text must not contain, each with what to write instead.

use std::fs;
use std::path::Path;

use regex::bytes::{Regex, RegexBuilder};

use super::text::{self, Piece};
use super::{files, top};

/// A phrase that is not plain technical English.
struct Banned {
    /// A regular expression for lower-case text on one line.
    pattern: &'static str,
    /// Longer phrases with a match in them that are fine.
    unless: &'static [&'static str],
    /// What to write instead.
    instead: &'static str,
}

const fn banned(pattern: &'static str, unless: &'static [&'static str], instead: &'static str) -> Banned {
    Banned { pattern, unless, instead }
}

const BANNED: &[Banned] = &[
    banned(r"\b(that|what|which) (is|are) none\b", &[], "a fake …; say what it is instead"),
    banned(r"\bis none (of|that)\b", &[], "is not one of; unknown … 'x'; supported: …"),
    banned(r"\bmade[- ]up\b", &["made up of"], "generated, fake, example"),
    banned(r"\baloud\b", &[], "with a message; reported"),
    banned(
        r"\bvery (bytes|file|same|one|text|skill|copy|content)\b",
        &[],
        "the exact content; the same; or leave `very` out",
    ),
    banned(r"\b(un)?mend(s|ed|ing)?\b", &[], "fix"),
    banned(r"\bblanks?\b", &["blank line", "name-blanks"], "space, white space"),
    banned(
        r"\b(is|are|was|were) no [a-z`]",
        &["there is no", "there are no", "there was no", "there were no", "is no longer", "are no longer"],
        "is not a …; invalid …",
    ),
    banned(r"\bheld to\b", &[], "checked against"),
    banned(r"\bholds? [a-z]+ to (the|its|their) (rules|limits)\b", &[], "checks … against"),
    banned(r"\btold to end\b", &[], "interrupted"),
    banned(
        r"\b(whoever|somebody|nobody|anybody|everybody)\b",
        &["nobody-to-ask"],
        "name the person or program: the user, the owner, the caller, all users, no client",
    ),
    banned(
        r"\bwhat is (off|there|not there|missing|left|wrong|broken) (is|was|may|stays|stands)\b",
        &[],
        "a noun: disabled skills, existing files",
    ),
    banned(r"\b(is|are|was|were) there already\b|\balready there\b", &[], "already exists"),
    banned(r"\b(is|are|was|were) not there\b", &[], "does not exist; is not installed"),
    banned(r"\ba (line|row|column|file|function) (a|an|each) [a-z]+\b", &["in a row a"], "one line per …"),
    banned(r"\b(one|each) (a|an) (line|row|file)\b", &[], "one per line"),
    banned(
        r"\bcatalogue",
        &["--catalogue", "catalogue_tokens", "`catalogue`"],
        "catalog; for what a model sees: skill list",
    ),
    banned(r"\b(go|goes|gone|going) on with\b", &[], "continue, resume"),
    banned(r"\bit ended with [0-9]", &[], "exit code …"),
    banned(r"\bas good as none\b", &[], "ignored"),
    banned(r"\bby a stranger\b", &[], "by an unknown key; third-party"),
    banned(r"\b(is|are|was|were) said\b|, and said\b", &[], "is reported"),
    banned(r"\bwithout a word\b", &[], "silently"),
    banned(r"\bcould have happened\b", &[], "replay matches the journal"),
    banned(r"\bwhole: [0-9]|\bwhole before that\b", &[], "OK: … records intact"),
    banned(r"\bcan(not)? be had\b", &[], "is not available; cannot be installed"),
    banned(r"\bkeeps? (its|their) promises?\b", &[], "say what is tested"),
    banned(r"\bforeign bytes\b", &[], "untrusted input"),
    banned(r"\bat most so (many|much)\b", &[], "maximum number of …"),
    banned(r"\blead(s|ing)? nowhere\b", &[], "broken link"),
    banned(r"\bwhat only you\b", &[], "files that only you can read"),
    banned(r"\bbears? the name\b", &[], "contains; is called"),
    banned(r"\bas it comes\b", &[], "unpinned"),
    banned(r"\brules that hold\b|\bproves itself\b", &[], "enforces a policy; tamper-evident"),
];

/// Files with a banned phrase, the phrase, and why it may stay.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("crates/metier-cli/src/commands/serve.rs", "catalogue", "the name of an option"),
    (
        "crates/metier-cli/tests/cli/snapshots/cli__catalog__show unknown.snap",
        "nobody",
        "the name of a skill",
    ),
    ("crates/metier-cli/tests/cli/snapshots/cli__run__mount nobody.snap", "nobody", "the name of a skill"),
    ("crates/metier-journal/src/telemetry/totals.rs", "catalogue", "the value of an attribute"),
    ("crates/metier-sandbox/src/local/system.rs", "nobody", "the account of that name"),
    ("crates/metier-scan/src/rules/conduct.rs", "anybody", "the text of a skill"),
    ("crates/metier-scan/src/rules/conduct.rs", "nobody", "a pattern for the text of skills"),
    ("crates/metier-scan/src/rules/instructions.rs", "somebody", "a pattern for the text of skills"),
];

/// What to write in the place of a phrase, and a pattern that finds it.
fn rules() -> Vec<(Regex, &'static Banned)> {
    let regex = |banned: &Banned| RegexBuilder::new(banned.pattern).unicode(false).build().unwrap();
    BANNED.iter().map(|banned| (regex(banned), banned)).collect()
}

/// The pieces of a file that users read; none for other files.
fn pieces(path: &Path) -> Vec<Piece> {
    let relative = path.strip_prefix(top()).unwrap();
    let name = relative.to_string_lossy();
    let extension = relative.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    // `docs/reference` is generated from sources that are checked.
    let others = ["/vectors/", "/fixtures/", "/tests/", "tests/mcp/", "examples/skills/", "docs/reference/"];
    let is_data = others.iter().any(|part| name.contains(part));
    let read = || fs::read_to_string(path).unwrap_or_default();
    match extension {
        "snap" => vec![text::whole(&read())],
        "md" | "yml" | "yaml" if !is_data => vec![text::whole(&read())],
        "" if name.starts_with("scripts/") => vec![text::whole(&read())],
        "rs" if name.starts_with("crates/") && name.contains("/src/") && !name.ends_with("tests.rs") => {
            text::of_rust(&read())
        }
        _ => Vec::new(),
    }
}

/// Where a piece has banned phrases, with the phrase and what to write instead.
fn found<'a>(piece: &Piece, rules: &'a [(Regex, &'static Banned)]) -> Vec<(usize, String, &'a str)> {
    let mut all = Vec::new();
    for (regex, banned) in rules {
        for phrase in regex.find_iter(piece.text.as_bytes()) {
            let is_inside = |longer: &&str| {
                piece
                    .text
                    .match_indices(longer)
                    .any(|(at, _)| at <= phrase.start() && phrase.start() < at + longer.len())
            };
            if !banned.unless.iter().any(is_inside) {
                let text = String::from_utf8_lossy(phrase.as_bytes()).into_owned();
                all.push((piece.line(phrase.start()), text, banned.instead));
            }
        }
    }
    all
}

#[test]
fn user_facing_text_has_no_banned_phrase() {
    let rules = rules();
    let mut wrong = Vec::new();
    let mut used = vec![false; EXCEPTIONS.len()];
    let mut texts = 0;
    for path in files() {
        let name = path.strip_prefix(top()).unwrap().to_string_lossy().into_owned();
        for piece in pieces(&path) {
            texts += 1;
            for (line, phrase, instead) in found(&piece, &rules) {
                let is_excepted = |(file, text, _): &(&str, &str, &str)| *file == name && *text == phrase;
                match EXCEPTIONS.iter().position(is_excepted) {
                    Some(exception) => used[exception] = true,
                    None => wrong.push(format!("{name}:{line}: `{phrase}`; write: {instead}")),
                }
            }
        }
    }
    assert!(texts > 10_000, "only {texts} texts found");
    assert!(wrong.is_empty(), "{} banned phrases:\n{}", wrong.len(), wrong.join("\n"));
    let unused: Vec<_> = EXCEPTIONS.iter().zip(used).filter(|(_, is_used)| !is_used).collect();
    assert!(unused.is_empty(), "these need no exception any more: {unused:?}");
}

#[test]
fn banned_phrases_are_told_from_others() {
    let rules = rules();
    let count = |text: &str| found(&text::whole(text), &rules).len();
    for text in [
        "Agents run against a model that is none.",
        "100,000 made-up\n  inputs",
        "What a machine lacks is skipped aloud.",
        "bound to the very bytes",
        "add the file or mend the path",
        "write a blank after the colon",
        "`1h` is no time",
        "Skills are held to the rules.",
        "ended, since metier was told to end",
        "there is nobody to ask",
        "What is off is not listed.",
        "The file is there already.",
        "`x` is not there; add it",
        "prints a line a rule",
        "the catalogue of skills",
        "goes on with a session",
        "[it ended with 128]",
        "drops the skill without a word",
    ] {
        assert_eq!(count(text), 1, "{text}");
    }
    for text in [
        "There is no skill `x`, and the name is no longer valid.",
        "a list made up of names",
        "There is one blank line after it.",
        "metier recommends a mentor",
        "the catalog is a snapshot",
        "This is not a directory.",
    ] {
        assert_eq!(count(text), 0, "{text}");
    }
}
