//! What a simple command really runs, for rules that allow: one text, in which the words that no `*` may cover are
//! marked.

use std::path::Path;

use crate::paths::{Places, normal};
use crate::programs::{
    self, DESTROYERS, INTERPRETERS, Interpreter, RUNNERS, RUNNING_MODULES, RUNNING_OPTIONS,
    RUNNING_SUBCOMMANDS, RUNNING_TEXTS, SYSTEM_DIRECTORIES, WRAPPERS, Wrapper,
};
use crate::sed;
use crate::shell::{Command, Word};
use crate::wildcard::Subject;

/// A blank inside a word: a rule's blank between words does not stand for it.
pub(crate) const BLANK: u8 = 1;

/// Why no rule at all can allow a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// What is run is only known when it runs.
    Program,
    /// `rm -rf /` and its like.
    Critical(String),
}

/// The ways to write a command for an allow rule: one that matches any of them allows it.
pub(crate) fn allowable(command: &Command, places: &Places) -> Result<Vec<Subject>, Refusal> {
    let mut ways = Vec::new();
    let mut words = command.words.as_slice();
    let mut is_fed = false;
    loop {
        let Some(first) = words.first() else { return Ok(ways) };
        let program = first.program().ok_or(Refusal::Program)?;
        if let Some(what) = critical(program, &words[1..], places) {
            return Err(Refusal::Critical(what));
        }
        let Some(inner) = wrapper(program).and_then(|wrapper| inner(wrapper, words)) else {
            let marks = if is_fed { fed_marks(program, words) } else { marks(program, words) };
            ways.push(subject(words, &marks));
            return Ok(ways);
        };
        // A rule may also spell out all of it, wrapper and all.
        ways.push(subject(words, &vec![true; words.len()]));
        is_fed |= program == "xargs";
        words = &words[inner..];
    }
}

fn wrapper(program: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == program)
}

/// Where the command begins that a wrapper runs, if its options are ones that we know.
fn inner(wrapper: &Wrapper, words: &[Word]) -> Option<usize> {
    let mut at = 1;
    while let Some(option) = words.get(at)?.bare().filter(|word| word.starts_with('-')) {
        let is_valued = |valued: &&&str| {
            let attached = option.strip_prefix(**valued);
            attached.is_some_and(|rest| rest.is_empty() || !valued.starts_with("--") || rest.starts_with('='))
        };
        if wrapper.flags.contains(&option) {
            at += 1;
        } else if let Some(valued) = wrapper.valued.iter().find(is_valued) {
            at += if option == *valued { 2 } else { 1 };
        } else if wrapper.name == "nice" && option[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            at += 1;
        } else {
            return None;
        }
    }
    // What comes between must be plain, or it could be an option after all.
    let skipped = words.get(1..at + wrapper.operands)?;
    let is_plain = |word: &Word| word.is_static();
    (skipped.iter().all(is_plain) && at + wrapper.operands < words.len()).then_some(at + wrapper.operands)
}

/// Which words only a rule's own words may stand for.
fn marks(program: &str, words: &[Word]) -> Vec<bool> {
    let all = || vec![true; words.len()];
    if RUNNERS.contains(&program) || wrapper(program).is_some() || is_loader(program) {
        return all();
    }
    if let Some(interpreter) = interpreter(program) {
        return if runs_a_file(interpreter, &words[1..]) { vec![false; words.len()] } else { all() };
    }
    if program == "git" {
        return git_marks(words);
    }
    if matches!(program, "sed" | "gsed") {
        return if sed::is_plain(&words[1..]) { vec![false; words.len()] } else { all() };
    }
    let mut marks = vec![false; words.len()];
    mark_subcommand(program, words, 1, &mut marks);
    mark_arguments(program, words, &mut marks);
    marks
}

/// The same for a command that is given further words from a pipe: what has special words may get any of them.
fn fed_marks(program: &str, words: &[Word]) -> Vec<bool> {
    let is_special = programs::of(RUNNING_OPTIONS, program).is_some()
        || programs::of(RUNNING_SUBCOMMANDS, program).is_some()
        || programs::of(RUNNING_TEXTS, program).is_some()
        || interpreter(program).is_some()
        || DESTROYERS.contains(&program)
        || matches!(program, "sed" | "gsed" | "tee" | "cp" | "dd" | "ln");
    if is_special { vec![true; words.len()] } else { marks(program, words) }
}

/// Whether a program runs what some of its words say.
pub(crate) fn may_run(program: &str, words: &[Word]) -> bool {
    marks(program, words).contains(&true)
}

/// The dynamic loader runs the program that it is given.
fn is_loader(program: &str) -> bool {
    program.rsplit('/').next().is_some_and(|name| name.starts_with("ld-linux") || name.starts_with("ld-musl"))
}

/// The interpreter of that name, whatever its version.
pub(crate) fn interpreter(program: &str) -> Option<&'static Interpreter> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    INTERPRETERS.iter().find(|interpreter| interpreter.name == base || interpreter.name == name)
}

/// Whether an interpreter is given a file that is named, after nothing but harmless options.
pub(crate) fn runs_a_file(interpreter: &Interpreter, arguments: &[Word]) -> bool {
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        let Some(text) = word.literal().filter(|_| !word.splits && !word.globs) else { return false };
        match text.strip_prefix('-') {
            Some("-version" | "-help" | "V") => return true,
            Some("m") if interpreter.name == "python" => {
                let module = arguments.next().and_then(Word::bare);
                return module
                    .is_some_and(|module| !RUNNING_MODULES.contains(&module) && !module.starts_with('-'));
            }
            Some(letters)
                if !letters.is_empty() && letters.chars().all(|c| interpreter.plain.contains(c)) => {}
            Some(_) => return false,
            None => return !text.is_empty() && !text.starts_with('+') && !text.starts_with("/dev/"),
        }
    }
    false
}

/// `git` takes options before its subcommand that run programs or point it elsewhere.
fn git_marks(words: &[Word]) -> Vec<bool> {
    let mut marks = vec![false; words.len()];
    let Some(subcommand) = git_subcommand(words) else { return vec![true; words.len()] };
    // A rule must name the options; what they are given may vary if it says so.
    for (mark, word) in marks.iter_mut().zip(words).take(subcommand).skip(1) {
        *mark = word.text.first() == Some(&b'-');
    }
    mark_subcommand("git", words, subcommand, &mut marks);
    mark_arguments("git", words, &mut marks);
    if let Some(name) = words[subcommand].literal() {
        mark_arguments(&format!("git {name}"), &words[subcommand..], &mut marks[subcommand..]);
    }
    marks
}

/// Where the subcommand stands, if the words before it are options that we know.
pub(crate) fn git_subcommand(words: &[Word]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.literal().filter(|_| word.is_static()) {
            Some(
                "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--config-env",
            ) => at += 2,
            Some(option) if option.starts_with('-') => at += 1,
            Some(_) => return Some(at),
            None => return None,
        }
    }
    // `git` alone, or `git --version`.
    (at == words.len()).then_some(at.saturating_sub(1).max(1)).filter(|at| *at < words.len())
}

/// Marks all of a command whose subcommand runs something.
fn mark_subcommand(program: &str, words: &[Word], at: usize, marks: &mut [bool]) {
    let Some(names) = programs::of(RUNNING_SUBCOMMANDS, program) else { return };
    // The first word that is no option; what cannot be read might be it.
    let mut rest = words.iter().enumerate().skip(at);
    let found = rest.find(|(_, word)| !word.literal().is_some_and(|word| word.starts_with('-')));
    let Some((place, word)) = found else { return };
    let Some(name) = word.literal().filter(|_| word.is_static()) else { return marks.fill(true) };
    // An option before it may have taken it as its value.
    let unsure = place > at && words[at..].iter().filter_map(Word::literal).any(|word| names.contains(&word));
    if names.contains(&name) || unsure {
        return marks.fill(true);
    }
    if !program.contains(' ') {
        mark_subcommand(&format!("{program} {name}"), words, place + 1, marks);
    }
}

/// Marks the options and texts with which a program runs something.
fn mark_arguments(program: &str, words: &[Word], marks: &mut [bool]) {
    let options = programs::of(RUNNING_OPTIONS, program).unwrap_or_default();
    let texts = programs::of(RUNNING_TEXTS, program).unwrap_or_default();
    if options.is_empty() && texts.is_empty() {
        return;
    }
    for (word, mark) in words.iter().zip(marks).skip(1) {
        *mark |= match word.literal().filter(|_| !word.splits) {
            Some(text) => {
                options.iter().any(|option| is_option(text, option))
                    || texts.iter().any(|running| text.contains(running))
                    || (!options.is_empty() && word.globs && word.may_begin_with(b'-'))
            }
            // It might become one.
            None => word.may_begin_with(b'-') || !texts.is_empty(),
        };
    }
}

/// Whether a word is an option, perhaps shortened, perhaps with its value attached.
fn is_option(word: &str, option: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    if name == option {
        return true;
    }
    if option.starts_with("--") {
        return name.len() > 2 && option.starts_with(name);
    }
    // `-xVALUE`, and `-abx` for several letters in one word; options such as `-exec` are words of their own.
    let Some(letter) = option.strip_prefix('-').filter(|letter| letter.len() == 1) else { return false };
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

/// What a command would destroy that nobody means to, if it is such a command.
fn critical(program: &str, arguments: &[Word], places: &Places) -> Option<String> {
    let program = program.rsplit('/').next().unwrap_or(program);
    if !DESTROYERS.contains(&program) {
        return None;
    }
    let is_option = |word: &&Word| word.text.first() == Some(&b'-');
    let mut recursive = arguments.iter().filter(is_option).filter_map(Word::literal);
    let recursive =
        recursive.any(|word| word == "--recursive" || (!word.starts_with("--") && word.contains(['r', 'R'])));
    if program != "mv" && program != "shred" && !recursive {
        return None;
    }
    let targets = arguments.iter().filter(|word| !is_option(word));
    let mut found = targets.filter_map(|word| critical_target(word, places));
    found.next()
}

fn critical_target(word: &Word, places: &Places) -> Option<String> {
    let Some(text) = word.literal() else {
        // An empty variable before a `/`, or one that nobody knows, can be anything.
        return Some("a path that is only known when it runs".to_owned());
    };
    let at_home = text.strip_prefix('~').filter(|_| word.tilde);
    let path = match at_home {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", places.home.display()),
        Some(_) => return Some(text.to_owned()),
        None => text.to_owned(),
    };
    let path = normal(&places.cwd.join(path));
    // `/*` is as bad as `/`; what a pattern leads to further down is not known either.
    let upper = if word.globs {
        path.ancestors().find(|path| !has_pattern(path)).unwrap_or(Path::new("/"))
    } else {
        &path
    };
    let is_system = SYSTEM_DIRECTORIES.iter().any(|directory| upper == Path::new(directory));
    (is_system || upper == places.home || places.home.starts_with(upper)).then(|| text.to_owned())
}

fn has_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// The text of a command, its words separated by one blank each.
fn subject(words: &[Word], marks: &[bool]) -> Subject {
    let mut subject = Subject::default();
    for (index, (word, mark)) in words.iter().zip(marks).enumerate() {
        if index > 0 {
            subject.push(b" ", *mark);
        }
        push_word(&word.text, *mark, &mut subject);
    }
    subject
}

pub(crate) fn push_word(text: &[u8], mark: bool, subject: &mut Subject) {
    for (index, piece) in text.split(|byte| *byte == b' ').enumerate() {
        if index > 0 {
            subject.push(&[BLANK], mark);
        }
        subject.push(piece, mark);
    }
}
