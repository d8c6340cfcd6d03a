//! Which programs a command line runs, found without our own parser: by another one, and by bash and dash.

use std::fs;
use std::io::BufReader;
use std::process::Command;

use brush_parser::{Parser, ParserOptions, word};
use serde_json::Value;

/// The programs of every simple command, in substitutions too. `None` where the other parser cannot read the line.
pub(crate) fn programs(line: &str) -> Option<Vec<String>> {
    let mut programs = Vec::new();
    collect_line(line, &mut programs)?;
    Some(programs)
}

fn collect_line(line: &str, programs: &mut Vec<String>) -> Option<()> {
    let options = ParserOptions::default();
    let program = Parser::new(BufReader::new(line.as_bytes()), &options).parse_program().ok()?;
    collect(&serde_json::to_value(&program).unwrap(), programs)
}

fn collect(node: &Value, programs: &mut Vec<String>) -> Option<()> {
    match node {
        Value::Array(items) => items.iter().try_for_each(|item| collect(item, programs)),
        // A here-document with a quoted end is plain text.
        Value::Object(fields)
            if fields.contains_key("here_end") && !fields.contains_key("requires_expansion") =>
        {
            Some(())
        }
        Value::Object(fields) => {
            if let Some(name) = fields.get("word_or_name").and_then(|word| word["value"].as_str()) {
                programs.push(name.trim_start_matches('\\').to_owned());
            }
            if let Some(text) = fields.get("value").and_then(Value::as_str) {
                collect_word(text, programs)?;
            }
            fields.values().try_for_each(|field| collect(field, programs))
        }
        _ => Some(()),
    }
}

/// The substitutions in a word.
fn collect_word(text: &str, programs: &mut Vec<String>) -> Option<()> {
    let pieces = word::parse(text, &ParserOptions::default()).ok()?;
    collect_pieces(&serde_json::to_value(&pieces).unwrap(), programs)
}

fn collect_pieces(node: &Value, programs: &mut Vec<String>) -> Option<()> {
    match node {
        Value::Array(items) => items.iter().try_for_each(|item| collect_pieces(item, programs)),
        Value::Object(fields) => fields.iter().try_for_each(|(key, field)| match (key.as_str(), field) {
            ("CommandSubstitution", Value::String(line)) => collect_line(line, programs),
            // It hands these out as they are written.
            ("BackquotedCommandSubstitution", Value::String(line)) => {
                collect_line(&unescaped(line), programs)
            }
            // What stands in `${x:-…}` is a word again.
            ("default_value" | "alternative_value" | "value", Value::String(text)) => {
                collect_word(text, programs)
            }
            _ => collect_pieces(field, programs),
        }),
        _ => Some(()),
    }
}

/// What a shell makes of backslashes between backticks.
fn unescaped(line: &str) -> String {
    let mut text = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next @ ('$' | '`' | '\\')) if c == '\\' => {
                text.push(*next);
                chars.next();
            }
            _ => text.push(c),
        }
    }
    text
}

/// The programs among some that bash or dash runs for a line, in a directory of its own; each ends with a status.
pub(crate) fn run_by_shells(line: &str, names: &[&str], status: u8) -> Vec<String> {
    ["bash", "dash"].into_iter().flat_map(|shell| run_by(shell, line, names, status)).collect()
}

fn run_by(shell: &str, line: &str, names: &[&str], status: u8) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let (log, work) = (place.path().join("log"), place.path().join("work"));
    fs::write(&log, "").unwrap();
    fs::create_dir(&work).unwrap();
    let functions = names.iter().map(|name| format!("{name}() {{ echo {name} >&9; return {status}; }}\n"));
    let functions: String = functions.collect();
    fs::write(place.path().join("functions"), functions).unwrap();
    fs::write(place.path().join("script"), format!("{line}\n")).unwrap();
    // The log is a descriptor, so that nothing in the line can redirect it by accident. A machine without dash has one
    // shell less to ask.
    let _ = Command::new("timeout")
        .args(["5", shell, "-c", "exec 9>>\"$1\"; . ../functions; . ../script", shell])
        .arg(&log)
        .current_dir(&work)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(std::process::Stdio::null())
        .output();
    fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_others_see_what_is_there() {
    let seen = programs("aa | bb && (zz \"$(cc `dd`)\") <<E\n$(ee)\nE\nfor x in $(ff); do gg; done").unwrap();
    for name in ["aa", "bb", "zz", "cc", "dd", "ee", "ff", "gg"] {
        assert!(seen.iter().any(|seen| seen == name), "{name} is not among {seen:?}");
    }
    let run = |line: &str, status| run_by("bash", line, &["aa", "bb", "zz"], status);
    assert_eq!(run("aa && bb; echo \"$(zz)\"", 0), ["aa", "bb", "zz"]);
    assert_eq!(run("aa && bb", 1), ["aa"]);
}
