//! What a simple command might amount to, for rules that deny: every way to read it counts.

use crate::invocation::{git_subcommand, interpreter, may_run, push_word, runs_a_file};
use crate::programs::SHELLS;
use crate::shell::{Command, DYNAMIC, Word};
use crate::wildcard::Subject;

/// Every command line that a command might amount to: a rule that matches any of them denies it. `None` where it may
/// run anything.
pub(crate) fn deniable(command: &Command) -> Option<Vec<Vec<u8>>> {
    let mut ways = Vec::new();
    collect(&command.words, &mut ways, 0).then_some(ways)
}

/// All ways to read a command, with those that its words may be if it runs what they say.
fn collect(words: &[Word], ways: &mut Vec<Vec<u8>>, depth: usize) -> bool {
    let Some(first) = words.first() else { return true };
    if !collect_one(words, ways, depth) {
        return false;
    }
    let Some(program) = first.literal().map(base_name) else { return true };
    if !may_run(&program, words) {
        return true;
    }
    // Any of its words may be where the inner command begins.
    (1..words.len()).all(|start| {
        let rest = &words[start..];
        let text = rest[0].literal().unwrap_or_default();
        // `eval "rm x"`, `alias y='rm x'`: a word or a part of it can be a command line of its own.
        let value = text.split_once('=').map(|(_, value)| value);
        let mut lines =
            [Some(text).filter(|text| text.contains([' ', ';', '$'])), value].into_iter().flatten();
        (text.starts_with('-') || collect_one(rest, ways, depth))
            && lines.all(|line| collect_text(line, ways, depth))
            && ways.len() <= MOST_WAYS
    })
}

/// The ways to read a command by its first word.
fn collect_one(words: &[Word], ways: &mut Vec<Vec<u8>>, depth: usize) -> bool {
    let Some(first) = words.first() else { return true };
    ways.push(lowered(words));
    let Some(name) = first.literal().map(base_name) else { return true };
    if name == "git" {
        let at = git_subcommand(words).unwrap_or(1);
        ways.push([b"git ", lowered(words.get(at..).unwrap_or_default()).as_slice()].concat());
    }
    match interpreter(&name) {
        Some(shell) if SHELLS.contains(&shell.name) => collect_code(words, ways, depth),
        Some(other) => runs_a_file(other, &words[1..]) || collect_names(words, ways),
        None => true,
    }
}

/// A program's name without its path, in small letters.
fn base_name(program: &str) -> String {
    program.rsplit('/').next().unwrap_or(program).to_ascii_lowercase()
}

/// More ways than this to read one command are a riddle, not a command.
const MOST_WAYS: usize = 200;
const DEEPEST: usize = 4;

/// What a shell is given as code; without a file or code it reads whatever comes.
fn collect_code(words: &[Word], ways: &mut Vec<Vec<u8>>, depth: usize) -> bool {
    let mut has_operand = false;
    for (index, word) in words.iter().enumerate().skip(1) {
        let Some(text) = word.literal() else { return false };
        if text.starts_with('-') && !text.starts_with("--") && text.contains('c') {
            let Some(code) = words.get(index + 1).and_then(Word::literal) else { return false };
            if !collect_text(code, ways, depth) {
                return false;
            }
            has_operand = true;
        }
        has_operand |= !text.starts_with('-') && !text.starts_with("/dev/");
    }
    has_operand
}

/// The names in code of another language: any of them may be that of a program.
fn collect_names(words: &[Word], ways: &mut Vec<Vec<u8>>) -> bool {
    for word in &words[1..] {
        let Some(text) = word.literal() else { return false };
        let names = text.split(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
        for name in names.filter(|name| !name.is_empty()) {
            ways.push([name.to_ascii_lowercase().as_bytes(), b" ", &[DYNAMIC]].concat());
        }
    }
    ways.len() <= MOST_WAYS
}

fn collect_text(text: &str, ways: &mut Vec<Vec<u8>>, depth: usize) -> bool {
    if depth == DEEPEST {
        return false;
    }
    let Ok(script) = crate::shell::parse(text) else { return false };
    script.commands.iter().all(|command| collect(&command.words, ways, depth + 1))
}

/// The text in small letters, its program without a path; [`DYNAMIC`] where a word can become several.
fn lowered(words: &[Word]) -> Vec<u8> {
    let mut text = Subject::default();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text.push(b" ", false);
        }
        let bytes = match index {
            0 => word.text.rsplit(|byte| *byte == b'/').next().unwrap_or(&word.text),
            _ => &word.text,
        };
        if word.globs && index == 0 {
            text.push(&[DYNAMIC], false);
        } else {
            push_word(bytes, false, &mut text);
        }
    }
    text.bytes.make_ascii_lowercase();
    text.bytes
}
