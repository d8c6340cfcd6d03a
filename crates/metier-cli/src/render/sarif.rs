//! Findings as SARIF 2.1.0, which code-scanning tools read.

use std::io;

use metier_skill::{Code, Profile, Severity};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{Checked, FindingView};
use crate::output::Output;

/// What a path must not have in a relative reference.
const UNUSUAL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_').remove(b'-').remove(b'~');

/// Errors that keep a skill from being checked, which are findings too.
const FAILURES: [(&str, &str); 3] = [
    ("skill-not-found", "there is nothing at the path"),
    ("skill-io", "a file or directory cannot be read"),
    ("skill-limit", "the skill is larger than the limits allow"),
];

pub(crate) fn sarif(checked: &[Checked], output: &mut Output) -> io::Result<()> {
    let rules = Code::ALL.iter().map(|code| rule(*code)).collect();
    log("validate", rules, checked.iter().flat_map(Checked::findings), output)
}

/// A complete log: the rules and their findings. The commands have different `automationDetails`, so that code scanning
/// keeps their results apart; otherwise the findings of one would close those of the other.
pub(super) fn log<'a>(
    command: &str,
    mut rules: Vec<Value>,
    findings: impl Iterator<Item = FindingView<'a>>,
    output: &mut Output,
) -> io::Result<()> {
    let results: Vec<Value> = findings.map(|finding| result(&finding)).collect();
    rules.extend(FAILURES.map(|(id, text)| json!({ "id": id, "shortDescription": { "text": text } })));
    output.json(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "metier", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "automationDetails": { "id": format!("metier/{command}/") },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }))
}

fn rule(code: Code) -> Value {
    let level = code.severity(Profile::Standard).map_or("none", Severity::as_str);
    json!({
        "id": code.as_str(),
        "shortDescription": { "text": code.summary() },
        "defaultConfiguration": { "level": level },
    })
}

fn result(finding: &FindingView<'_>) -> Value {
    let mut region = json!({ "startLine": finding.line, "startColumn": finding.column });
    if let Some(span) = finding.span {
        region["byteOffset"] = span.start.into();
        region["byteLength"] = (span.end - span.start).into();
    }
    let artifact = json!({ "uri": utf8_percent_encode(&finding.file, UNUSUAL).to_string() });
    let mut result = json!({
        "ruleId": finding.code,
        "level": finding.severity.as_str(),
        "message": { "text": finding.message },
        "locations": [{ "physicalLocation": { "artifactLocation": artifact, "region": region } }],
    });
    if let Some(fix) = &finding.fix {
        let replacement = |edit: &metier_skill::Edit| {
            json!({
                "deletedRegion": { "byteOffset": edit.span.start, "byteLength": edit.span.end - edit.span.start },
                "insertedContent": { "text": edit.text },
            })
        };
        let replacements: Vec<Value> = fix.edits.iter().map(replacement).collect();
        let change = json!({ "artifactLocation": artifact, "replacements": replacements });
        result["fixes"] = json!([{ "description": { "text": fix.title }, "artifactChanges": [change] }]);
    }
    result
}
