//! `metier ref` against what the reference tool printed for every case of its vectors.

use std::fs;
use std::path::Path;

use metier_skill::visible;
use serde_json::Value;

use crate::support::Place;

/// Cases whose output differs on purpose, with the number that the vectors' head gives the deviation. Two
/// have none: `uni-unicode16-garay` gets the same verdict for another reason, since the letter is newer than
/// the reference's Unicode; `enc-nel-in-desc` is a line break in YAML 1.1 and a character in YAML 1.2.
const DEVIATIONS: &[(&str, u32)] = &[
    ("delim-open-comment", 1),
    ("delim-content-on-open-line", 1),
    ("delim-close-after-text", 1),
    ("delim-dashes-in-desc", 1),
    ("delim-dashes-in-desc-quoted", 1),
    ("delim-dashes-in-name", 1),
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
    ("scalar-name-float", 3),
    ("scalar-name-tilde", 3),
    ("scalar-name-true", 3),
    ("scalar-name-date", 3),
    ("scalar-name-exp", 3),
    ("name-digits", 3),
    ("delim-bom", 5),
    ("desc-folded-1024", 6),
    ("file-trailing-dotdot", 9),
    ("uni-unicode16-garay", 0),
    ("enc-nel-in-desc", 0),
];

#[test]
fn output_is_that_of_the_reference_tool() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../metier-skill/tests/vectors/skills-ref.json");
    let vectors: Value = serde_json::from_str(&fs::read_to_string(vectors).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for case in vectors["cases"].as_array().unwrap() {
        // Bytes that are not UTF-8 and links: the verdict on them is tested where the rules are.
        let plain = case["files"].as_object().unwrap().values().all(Value::is_string)
            && case.get("symlinks").is_none();
        if !plain || case.get("cwd").is_some() {
            continue;
        }
        let place = Place::new();
        for (path, content) in case["files"].as_object().unwrap() {
            place.write(path, content.as_str().unwrap());
        }
        for directory in case["dirs"].as_array().into_iter().flatten() {
            fs::create_dir_all(place.path().join(directory.as_str().unwrap())).unwrap();
        }
        for (command, expected) in case["expect"]["cli"].as_object().unwrap() {
            if let Some(difference) = compare(&place, command, expected) {
                wrong.push(format!("{} {difference}", case["id"].as_str().unwrap()));
            }
        }
    }
    let id_of = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let differing: Vec<String> = wrong.iter().map(|line| id_of(line)).collect();
    wrong.retain(|line| !DEVIATIONS.iter().any(|(id, _)| id_of(line) == *id));
    let agreeing = DEVIATIONS.iter().filter(|(id, _)| !differing.iter().any(|other| other == id));
    wrong.extend(agreeing.map(|(id, number)| format!("{id} is listed as deviation {number}, but agrees")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// How the run of one command differs from the reference's.
fn compare(place: &Place, command: &str, expected: &Value) -> Option<String> {
    if expected["crashed"] == true {
        return None;
    }
    let given = expected["argv"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
    let args: Vec<&str> = ["ref", command].into_iter().chain(given).collect();
    let output = place.run(&args);
    let root = fs::canonicalize(place.path()).unwrap();
    let root = root.to_str().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap().replace(root, "{ROOT}");
    let stderr = String::from_utf8(output.stderr).unwrap().replace(root, "{ROOT}");
    let (exit, expected_exit) = (output.status.code().unwrap(), expected["exit"].as_i64().unwrap());
    if i64::from(exit) != expected_exit {
        return Some(format!("{command} exits with {exit}, not {expected_exit}: {stderr}"));
    }
    // A text that JSON cannot carry is in the vectors as bytes; the verdict is enough there.
    // People are shown that there is something which they cannot see; the reference prints it.
    let shown = |text: &str| if command == "validate" { visible(text).into_owned() } else { text.to_owned() };
    if expected["stdout"].as_str().is_some_and(|expected| shown(expected) != stdout) {
        return Some(format!("{command} prints {stdout:?}, not {}", expected["stdout"]));
    }
    // Usage errors have each tool's own form, and YAML errors each parser's own words.
    let expected_stderr = shown(expected["stderr"].as_str()?);
    if exit == 2 || expected_stderr.contains("Invalid YAML") && stderr.contains("Invalid YAML") {
        return None;
    }
    // A line feed in a name begins no line of its own here.
    let stderr = stderr.replace("\n  | ", "\n");
    (stderr != expected_stderr).then(|| format!("{command} complains {stderr:?}, not {expected_stderr:?}"))
}
