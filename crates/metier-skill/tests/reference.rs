//! The reference validator's verdicts (`vectors/skills-ref.json`) against the `strict` profile.
//!
//! Where the two differ, the difference is listed in [`DEVIATIONS`] with the number that the vectors' head
//! gives it. A case that is listed and agrees fails too: the list is exact.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;

use metier_skill::{Rules, validate_skill};
use serde_json::Value;

/// Cases in which metier's verdict is another on purpose, with the number of the deviation.
const DEVIATIONS: &[(&str, u32)] = &[
    ("delim-open-comment", 1),
    ("delim-content-on-open-line", 1),
    ("delim-close-after-text", 1),
    ("delim-dashes-in-desc-quoted", 1),
    ("delim-table-in-metadata", 1),
    ("yaml-flow-map", 2),
    ("yaml-flow-map-empty", 2),
    ("yaml-flow-seq", 2),
    ("scalar-desc-int", 3),
    ("scalar-desc-neg", 3),
    ("scalar-desc-float", 3),
    ("scalar-desc-exp", 3),
    ("scalar-desc-oct", 3),
    ("scalar-desc-oct-old", 3),
    ("scalar-desc-yes", 3),
    ("scalar-desc-off", 3),
    ("scalar-desc-null", 3),
    ("scalar-desc-inf", 3),
    ("scalar-name-true", 3),
    ("scalar-name-date", 3),
    ("scalar-name-exp", 3),
    ("name-digits", 3),
    ("delim-bom", 5),
    ("desc-folded-1024", 6),
    ("file-trailing-dotdot", 9),
    ("file-cwd-dot", 9),
];

#[test]
fn strict_gives_the_verdict_of_the_reference_validator() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/skills-ref.json"))
            .unwrap();
    let vectors: Value = serde_json::from_str(&text).unwrap();
    let mut wrong = Vec::new();
    let mut deviating = Vec::new();
    for case in vectors["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let Some(expected) = verdict(&case["expect"]) else {
            continue;
        };
        let place = tempfile::tempdir().unwrap();
        lay_out(case, place.path());
        let target = case["target"].as_str().unwrap_or(case["dir_name"].as_str().unwrap());
        let path = match case["cwd"].as_str() {
            Some(cwd) => place.path().join(cwd).join(target),
            None => place.path().join(target),
        };
        let (valid, found) = match validate_skill(&path, &Rules::strict()) {
            Ok(reading) => (reading.is_valid(), format!("{:?}", reading.diagnostics)),
            Err(error) => (false, error.to_string()),
        };
        if valid != expected {
            deviating.push(id);
            if !DEVIATIONS.iter().any(|(listed, _)| *listed == id) {
                wrong.push(format!("{id}: the reference says {expected}, metier {valid}: {found}"));
            }
        }
    }
    for (id, number) in DEVIATIONS {
        if !deviating.contains(id) {
            wrong.push(format!("{id} is listed as deviation {number}, but agrees"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the reference's command answers; a crash counts as "not valid". `None` where it was not asked.
fn verdict(expect: &Value) -> Option<bool> {
    expect["cli"].get("validate").map(|answer| answer["exit"] == 0)
}

/// Makes the files, directories and links of a case.
fn lay_out(case: &Value, root: &Path) {
    for directory in case["dirs"].as_array().into_iter().flatten() {
        fs::create_dir_all(root.join(directory.as_str().unwrap())).unwrap();
    }
    for (path, content) in case["files"].as_object().unwrap() {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match content.as_str() {
            Some(text) => fs::write(path, text).unwrap(),
            None => fs::write(path, base64(content["base64"].as_str().unwrap())).unwrap(),
        }
    }
    #[cfg(unix)]
    for (path, target) in case["symlinks"].as_object().into_iter().flatten() {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target.as_str().unwrap(), path).unwrap();
    }
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.bytes().filter(|byte| *byte != b'=') {
        bits = bits << 6 | u32::try_from(DIGITS.iter().position(|d| *d == digit).unwrap()).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    bytes
}
