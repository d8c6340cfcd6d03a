//! `docs/reference/codes.md`: every code of findings, decisions, the scan and errors. Errors are read from the sources: the arms of
//! `code` and `hint`, and what is written above the variants.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::{decisions, generated, scanned, table, top};

const HEAD: &str = "\
# Reference: codes

```console
$ metier validate --format concise slips | head -n 1
slips/SKILL.md:2:7: error: name-not-lowercase: the name `Slips` must be lower case
```

Codes are stable: compare codes, never messages. This page is made from the code:
`UPDATE_DOCS=1 cargo test -p metier-cli docs` writes it.

";

#[test]
fn the_page_of_codes_is_made_from_the_code() {
    let mut page = HEAD.to_owned();
    let part = |page: &mut String, title: &str, text: &str, table: &str| {
        write!(page, "## {title}\n\n{text}\n\n{table}\n").unwrap();
    };
    let findings = "`metier validate` reports these. The columns are the severities in each [profile](../diagnostics.md); \
                    `–` is not reported.";
    part(&mut page, "Findings", findings, &table());
    let scan = "`metier scan` reports these. A `high` rule blocks alone, others by the sum of their weights: [the scan](../scan.md).";
    part(&mut page, "The scan", scan, &scanned());
    part(&mut page, "Decisions", "`code` of a decision of [the policy](../policy.md).", &decisions());
    let problems = "`code` in `problems` of `metier list --json`, beside the findings above: why a skill or root is not in the catalog.";
    part(&mut page, "Problems of the catalog", problems, &problem_table());
    let errors = "Every error of the libraries has one of these codes (`Coded::code`), and MCP answers have them in `_meta`. Their severity \
                  is always `error`.";
    part(&mut page, "Errors", errors, &error_table());
    generated("docs/reference/codes.md", &format!("{}\n", wrapped(page.trim_end())));
}

/// Text with lines of at most 100 columns; tables and examples stay as they are.
fn wrapped(text: &str) -> String {
    let mut is_example = false;
    let lines = text.lines().map(|line| {
        is_example ^= line.starts_with("```");
        if is_example || line.starts_with('|') {
            return line.to_owned();
        }
        let mut lines = vec![String::new()];
        for word in line.split(' ') {
            let last = lines.last_mut().unwrap();
            if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > 100 {
                lines.push(word.to_owned());
            } else {
                last.push_str(if last.is_empty() { "" } else { " " });
                last.push_str(word);
            }
        }
        lines.join("\n")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What is known about one code.
#[derive(Debug, Default)]
struct ErrorCode {
    meanings: BTreeSet<String>,
    hints: BTreeSet<String>,
    crates: BTreeSet<String>,
}

fn error_table() -> String {
    let mut codes: BTreeMap<String, ErrorCode> = BTreeMap::new();
    for (krate, text) in sources() {
        for (owner, body) in methods(&text, "code(&self) -> &'static str") {
            let hints = methods(&text, "hint(&self) -> Option<String>");
            let hints = hints.iter().find(|(other, _)| *other == owner).map_or("", |(_, body)| body);
            let hints: Vec<(Vec<String>, String)> = arms(hints);
            for (variants, value) in arms(&body) {
                for code in codes_in(&value) {
                    let known = codes.entry(code).or_default();
                    known.crates.insert(krate.clone());
                    known.meanings.extend(variants.iter().map(|variant| meaning(&text, &owner, variant)));
                    let hint = |(of, value): &(Vec<String>, String)| {
                        of.iter()
                            .any(|variant| variants.contains(variant))
                            .then(|| first_text(value))
                            .flatten()
                    };
                    known.hints.extend(hints.iter().filter_map(hint));
                }
            }
        }
    }
    assert!(codes.len() > 150, "only {} codes found", codes.len());
    let mut table = String::from("| code | means | what to do | crate |\n|---|---|---|---|\n");
    for (code, ErrorCode { meanings, hints, crates }) in codes {
        let [meanings, hints, crates] =
            [meanings, hints, crates].map(|texts| texts.into_iter().collect::<Vec<_>>());
        let row =
            [meanings.join("; "), hints.join("; "), crates.join(", ")].map(|text| text.replace('|', "\\|"));
        writeln!(table, "| `{code}` | {} | {} | {} |", row[0], row[1], row[2]).unwrap();
    }
    table
}

fn problem_table() -> String {
    let text = fs::read_to_string(top().join("crates/metier-catalog/src/problem.rs")).unwrap();
    let (owner, body) = methods(&text, "as_str(self) -> &'static str")
        .into_iter()
        .find(|(owner, _)| owner == "ProblemCode")
        .unwrap();
    let mut table = String::from("| code | means |\n|---|---|\n");
    for (variants, value) in arms(&body) {
        for code in codes_in(&value) {
            writeln!(table, "| `{code}` | {} |", meaning(&text, &owner, &variants[0])).unwrap();
        }
    }
    table
}

/// The sources of every library, with the name of its crate.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for krate in fs::read_dir(top().join("crates")).unwrap() {
        let krate = krate.unwrap().path();
        let mut open = vec![krate.join("src")];
        while let Some(directory) = open.pop() {
            let mut paths: Vec<PathBuf> =
                fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            for path in paths {
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    found.push((name(&krate), fs::read_to_string(path).unwrap()));
                }
            }
        }
    }
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The methods of this signature, with the type that each belongs to and its body. Tests have no such methods.
fn methods(text: &str, signature: &str) -> Vec<(String, String)> {
    let owner = Regex::new(r"(?m)^impl(?:<[^>]*>)? (?:\w+ for )?(\w+)(?:<[^>]*>)? \{$").unwrap();
    let head = format!("fn {signature} {{\n");
    let mut found = Vec::new();
    for (at, _) in text.match_indices(&head) {
        let Some(owner) = owner.captures_iter(&text[..at]).last() else { continue };
        let body = &text[at + head.len()..];
        // Methods of a type at the top of a file end where a brace stands four columns in.
        let end = body.find("\n    }\n").unwrap();
        // The name of a feature is not a code.
        let lines =
            body[..=end].split_inclusive('\n').filter(|line| !line.trim_start().starts_with("#[cfg("));
        found.push((owner[1].to_owned(), lines.collect()));
    }
    found
}

/// The arms of the `match` of a method: the variants of each, and what stands behind the arrow. A method without one has one arm
/// without variants.
fn arms(body: &str) -> Vec<(Vec<String>, String)> {
    let pattern =
        Regex::new(r"(?s)((?:Self::\w+(?:\s*\{[^}]*\}|\([^)]*\))?[\s|]*)+)(?:if [^=]*(?:==[^=]*)?)?=>")
            .unwrap();
    let variant = Regex::new(r"Self::(\w+)").unwrap();
    let found: Vec<_> = pattern.captures_iter(body).collect();
    if found.is_empty() {
        return vec![(vec![String::new()], body.to_owned())];
    }
    let ends = found.iter().skip(1).map(|next| next.get(0).unwrap().start()).chain([body.len()]);
    let arm = |(captures, end): (&regex::Captures<'_>, usize)| {
        let variants = variant.captures_iter(&captures[1]).map(|variant| variant[1].to_owned());
        (variants.collect(), body[captures.get(0).unwrap().end()..end].to_owned())
    };
    let arms: Vec<(Vec<String>, String)> = found.iter().zip(ends).map(arm).collect();
    let all = codes_in(body).len();
    assert_eq!(
        arms.iter().map(|(_, value)| codes_in(value).len()).sum::<usize>(),
        all,
        "codes are lost in\n{body}"
    );
    arms
}

fn codes_in(text: &str) -> Vec<String> {
    let code = Regex::new(r#""([a-z][a-z0-9]*(?:-[a-z0-9]+)*)""#).unwrap();
    code.captures_iter(text).map(|code| code[1].to_owned()).collect()
}

/// The first string of a value, with what is put into it as `…`.
fn first_text(value: &str) -> Option<String> {
    let string = Regex::new(r#"(?s)"((?:[^"\\]|\\.)*)""#).unwrap();
    let text = string.captures(value)?[1].to_owned();
    let text = Regex::new(r"\\\n\s*").unwrap().replace_all(&text, "");
    let text = Regex::new(r"\{[^}]*\}").unwrap().replace_all(&text, "…");
    Some(text.replace("\\\"", "\""))
}

/// What is written above a variant, or above the type itself: the first sentence.
fn meaning(text: &str, owner: &str, variant: &str) -> String {
    let item = Regex::new(&format!(r"(?m)^(?:pub(?:\([a-z]+\))? )?(?:enum|struct) {owner}\b")).unwrap();
    let found = item.find(text);
    assert!(found.is_some(), "{owner} is not in the file that has its codes");
    let at = found.unwrap().start();
    let (before, after) = text.split_at(at);
    let mut above: Vec<&str> = Vec::new();
    if variant.is_empty() {
        // Attributes may stand between, over several lines.
        for line in before.lines() {
            match line.strip_prefix("///") {
                Some(line) => above.push(line.trim()),
                None if line.starts_with(['#', ' ', ')', ']']) => {}
                None => above.clear(),
            }
        }
    } else {
        let head = Regex::new("^    ([A-Z][A-Za-z0-9]*)").unwrap();
        let mut is_found = false;
        for line in after.lines().skip(1).take_while(|line| *line != "}") {
            if let Some(line) = line.strip_prefix("    ///") {
                above.push(line.trim());
            } else if let Some(name) = head.captures(line) {
                is_found = &name[1] == variant;
                if is_found {
                    break;
                }
                above.clear();
            }
        }
        assert!(is_found, "{owner} has no {variant}");
    }
    let above = above.join(" ");
    assert!(!above.is_empty(), "nothing is written above {owner}::{variant}");
    let first = above.split_inclusive(". ").next().unwrap_or_default().trim_end().trim_end_matches('.');
    Regex::new(r"\[(`[^`]*`)\](?:\([^)]*\))?").unwrap().replace_all(first, "$1").into_owned()
}

#[test]
fn arms_are_read_with_their_variants_and_texts() {
    let body = "match self {\n    Self::A { .. } | Self::B(_) => \"one-two\",\n    Self::C if self.x == 1 => {\n        \
                Some(format!(\"do {what} \\\n         now\"))\n    }\n}\n";
    let found = arms(body);
    assert_eq!(found[0].0, ["A", "B"]);
    assert_eq!(codes_in(&found[0].1), ["one-two"]);
    assert_eq!(found[1].0, ["C"]);
    assert_eq!(first_text(&found[1].1).unwrap(), "do … now");
}
