//! Texts that are nearly a `SKILL.md`, for property tests: fences, keys and values that are right, wrong or odd,
//! put together at random, and then with a few bytes changed.

use std::fmt;

use metier_skill::Origin;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// The directory that most of the generated names match.
pub(crate) const DIRECTORY: &str = "test-skill";

const FENCES: &[&str] =
    &["---", "---", "---", "---", "--- ", "---\t", "----", "---x", " ---", "...", "", "--"];

pub(crate) const KEYS: &[&str] = &[
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "name",
    "description",
    "Name",
    "License",
    "LICENSE",
    "Compatibility",
    "Metadata",
    "allowed_tools",
    "allowedTools",
    "\"license\"",
    "'foo'",
    "foo",
    "version",
    "disable-model-invocation",
    "hooks",
    "paths",
    "? foo",
    "? license",
    "<<",
    "=",
    "1",
    "1.5",
    "~",
    "",
    "2024-01-02",
    "- a",
    "[x]",
    "{a: b}",
    "&a foo",
    "*a",
    "!!str foo",
    "日本",
    "  indented",
    "\"a\\nb\"",
];

pub(crate) const VALUES: &[&str] = &[
    "plain",
    "Use when testing.",
    DIRECTORY,
    "Test-Skill",
    "a_b",
    "123",
    "-1.50",
    "0x1F",
    "1e3",
    ".inf",
    "1:30",
    "true",
    "No",
    "~",
    "null",
    "",
    "\"\"",
    "''",
    "\" \"",
    "\"double \\\" \\x41 \\u00e9\"",
    "'it''s'",
    "a: b",
    "when: x: y",
    "ends:",
    "a: b # why",
    "say \"hi\": now",
    "a\\b: c",
    "|\n  literal\n   more",
    ">\n  folded\n  more",
    "|-\n  stripped",
    "|+\n  kept\n\n",
    "|2\n   wide",
    ">\n\n  after a gap",
    "|",
    "[a, b]",
    "[Read, 1]",
    "[[], {}]",
    "{a: b, c: [d]}",
    "[",
    "{",
    "]",
    "\"open",
    "'open",
    "&a x",
    "*a",
    "!!int 3",
    "!x y",
    "# comment",
    "x # comment",
    "\n  k: v",
    "\n  k: 1\n  2: v",
    "\n  - a\n  - b: c\n    d: e",
    "\n- a\n- b",
    "\n  k: a: b",
    "\n  goes\n  on",
    "| # a | b\n  text",
    "> # a > b\n  text",
    "# why\n  below",
    "\t",
    "x\ty",
    "\n\tk: v",
    "é",
    "日本語",
    "😀",
    "2024-01-02",
    "2024-01-02 10:20:30",
    "\u{0}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "@x",
    "`x`",
    "%x",
    "? x",
    "- x",
    "Bash(git add *) Read",
    "Read, Write",
    "Bash(a, b",
    "a) (b",
    "<b>x</b>",
    "---",
    "...",
    "ｐｄｆ",
    "\u{a0}x\u{a0}",
    "x\n\n\n",
    "\"a\n  b\n\n  c\"",
];

const BODIES: &[&str] = &[
    "",
    "Do it.\n",
    "Do it.",
    "----\n---\n",
    "[a](gone.md) scripts/x.py ```\n[b](c/d.md)\n",
    "é [é](é.md)](x](y.z\r",
    "](",
    "references/é.md assets/a.png/scripts/",
    "[a](%zz%41.md) [b](../../x.md)",
    "\u{feff}\u{0}\t",
];

fn name_line() -> impl Strategy<Value = String> {
    let values = select(
        &[DIRECTORY, DIRECTORY, DIRECTORY, "\"test-skill\"", "|\n  test-skill", "| # a | b\n  test-skill"][..],
    );
    let values = prop_oneof![4 => values, 1 => select(VALUES)];
    values.prop_map(|value| format!("name: {value}"))
}

fn description_line() -> impl Strategy<Value = String> {
    prop_oneof![2 => Just("Use when testing."), 1 => select(VALUES)]
        .prop_map(|value| format!("description: {value}"))
}

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => (select(KEYS), select(VALUES)).prop_map(|(key, value)| format!("{key}: {value}")),
        1 => select(VALUES).prop_map(str::to_owned),
        1 => select(FENCES).prop_map(str::to_owned),
        1 => "[ -~éß\t\"':\\[\\]{}#&*!|>%@`-]{0,12}",
    ]
}

/// Most have both fences, a name and a description, so that the rest of the reader is reached.
pub(crate) fn near_miss() -> impl Strategy<Value = String> {
    let head = prop_oneof![
        5 => (name_line(), description_line()).prop_map(|(name, description)| vec![name, description]),
        1 => Just(Vec::new()),
    ];
    let before =
        prop_oneof![12 => Just(""), 1 => select(&["\u{feff}", "\n", " \n", "\u{feff}\n", "x\n"][..])];
    let fence = || prop_oneof![6 => Just("---"), 1 => select(FENCES)];
    let end = prop_oneof![6 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r")];
    let parts = (before, fence(), head, vec(any_line(), 0..5), fence(), select(BODIES), end, any::<bool>());
    parts.prop_map(|(before, open, head, others, close, body, end, head_first)| {
        let lines = if head_first { [head, others] } else { [others, head] }.concat();
        let lines: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        let text = format!("{before}{open}\n{lines}{close}\n");
        text.replace('\n', end) + body
    })
}

/// Bytes that show as text where a case fails.
#[derive(Clone)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

#[derive(Debug, Clone)]
enum Mutation {
    Set(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    Cut(Index),
    Double(Index, Index),
}

/// A near miss with a few bytes changed; not always UTF-8.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let byte = || prop_oneof![3 => select(&b"-:\n\r\t \"'#[]{}|>&*!?,\\x0"[..]), 1 => any::<u8>()];
    let at = any::<Index>;
    let mutation = prop_oneof![
        4 => (at(), byte()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        4 => (at(), byte()).prop_map(|(at, byte)| Mutation::Insert(at, byte)),
        2 => at().prop_map(Mutation::Remove),
        1 => at().prop_map(Mutation::Cut),
        1 => (at(), at()).prop_map(|(a, b)| Mutation::Double(a, b)),
    ];
    (near_miss(), vec(mutation, 0..4)).prop_map(|(text, mutations)| {
        let mut bytes = text.into_bytes();
        for mutation in mutations {
            if bytes.is_empty() {
                break;
            }
            let length = bytes.len();
            match mutation {
                Mutation::Set(at, byte) => bytes[at.index(length)] = byte,
                Mutation::Insert(at, byte) => bytes.insert(at.index(length), byte),
                Mutation::Remove(at) => drop(bytes.remove(at.index(length))),
                Mutation::Cut(at) => bytes.truncate(at.index(length)),
                Mutation::Double(a, b) => {
                    let (start, end) =
                        (a.index(length).min(b.index(length)), a.index(length).max(b.index(length)));
                    let piece = bytes[start..end].to_vec();
                    bytes.splice(start..start, piece);
                }
            }
        }
        bytes
    })
}

pub(crate) fn any_bytes() -> impl Strategy<Value = Bytes> {
    let bytes = prop_oneof![
        1 => vec(any::<u8>(), 0..200),
        1 => vec(any::<u8>(), 0..100).prop_map(|bytes| [b"---\n".as_slice(), &bytes, b"\n---\n"].concat()),
        6 => mutated(),
    ];
    bytes.prop_map(Bytes)
}

pub(crate) fn any_origin() -> impl Strategy<Value = Origin<'static>> {
    prop_oneof![
        6 => Just(Origin::directory(DIRECTORY)),
        1 => select(&["123", "Other_Name", "日本", ""][..]).prop_map(Origin::directory),
        1 => select(&["file.md", "日本.md", ".md"][..]).prop_map(Origin::file),
    ]
}
