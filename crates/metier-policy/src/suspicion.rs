//! What a simple command may run, for deny rules: every possible reading counts.

use crate::invocation::{base_name, in_word, interpreter, may_run, reads_code, runs_a_file};
use crate::programs::{CODE, CODE_VARIABLES, FED_COMMANDS, OTHER_SHELLS, SHELLS, WRAPPERS, known};
use crate::shell::{self, Command, DYNAMIC, Script, Word};

/// What a command line may run.
#[derive(Debug, Default)]
pub(crate) struct Suspicion {
    /// The commands it may run, in lower case; `None` if that may be anything.
    pub(crate) ways: Option<Vec<Vec<u8>>>,
    /// Commands in code that it passes to other programs, also nested.
    pub(crate) nested: Vec<Vec<Command>>,
    /// The texts of here-documents in such code.
    pub(crate) documents: Vec<String>,
}

impl Suspicion {
    pub(crate) fn of(script: &Script) -> Self {
        let mut suspects = Suspects::default();
        let mut is_known = script.commands.iter().fold(true, |known, command| known & suspects.add(command));
        let mut nested = Vec::new();
        // Code that is passed to others is examined as well, and code in that, up to a limit.
        for _ in 0..3 {
            let open = std::mem::take(&mut suspects.nested);
            for command in &open {
                is_known &= suspects.add(command);
            }
            nested.push(open);
        }
        is_known &= suspects.add_fed(script, &nested);
        let is_known = is_known && suspects.nested.is_empty();
        Self { ways: is_known.then_some(suspects.ways), nested, documents: suspects.documents }
    }
}

/// Everything that a command line may run: its own commands, and those in code that it passes to others.
#[derive(Debug, Default)]
struct Suspects {
    /// Command lines, in lower case.
    ways: Vec<Vec<u8>>,
    /// Commands found in code, still to be examined.
    nested: Vec<Command>,
    documents: Vec<String>,
}

/// The maximum number of readings of one command.
const MOST_WAYS: usize = 400;
const MOST_NESTED: usize = 200;
const MOST_POSITIONS: usize = 32;

impl Suspects {
    /// Adds what a command may run. Returns false if it may run anything.
    fn add(&mut self, command: &Command) -> bool {
        let words = command.words.as_slice();
        let values = command.assignments.iter().filter_map(|assignment| assignment.value.literal());
        // The value of a variable may be a pager or an editor.
        if !values.filter(|value| !value.is_empty()).all(|value| self.add_text(value)) {
            return false;
        }
        let is_open = |name: &[u8], value: &[u8]| {
            value.contains(&DYNAMIC) && CODE_VARIABLES.iter().any(|known| known.as_bytes() == name)
        };
        let set = command.assignments.iter().map(|one| (one.name.as_bytes(), one.value.text.as_slice()));
        let exported = words.iter().filter_map(|word| {
            let at = word.text.iter().position(|byte| *byte == b'=')?;
            Some(word.text.split_at(at))
        });
        if set.chain(exported).any(|(name, value)| is_open(name, value)) {
            return false;
        }
        let Some(first) = words.first() else { return true };
        if !self.add_one(words, command.is_fed) {
            return false;
        }
        let Some(program) = first.literal().map(|program| base_name(program).to_ascii_lowercase()) else {
            return true;
        };
        let is_runner = known(&program).is_runner || WRAPPERS.iter().any(|wrapper| wrapper.name == program);
        if matches!(program.as_str(), "." | "source") && command.is_fed {
            return false;
        }
        // These run nothing from their words, or were already parsed as code.
        let is_interpreter = interpreter(&program).is_some() && known(&program).subcommands.is_empty();
        let is_read = matches!(program.as_str(), "test" | "[" | "printf" | "wait") || is_interpreter;
        if is_read || !may_run(&program, words) {
            return true;
        }
        // The inner command may start at any of the words, and any word or part of one may be a command line.
        (1..words.len()).all(|start| {
            let rest = &words[start..];
            let Some(text) = rest[0].literal() else {
                return !is_runner || self.add_one(rest, command.is_fed);
            };
            let is_option = text.starts_with('-');
            let attached = text.get(2..).filter(|_| is_option && !text.starts_with("--"));
            let values = text.match_indices('=').take(3).map(|(at, _)| &text[at + 1..]);
            let whole = Some(text).filter(|text| !is_option && text.contains([' ', ';', '$', '!', '(']));
            let mut lines = values.chain(attached).chain(whole).filter(|line| !line.is_empty());
            (is_option || self.add_one(rest, command.is_fed))
                && lines.all(|line| self.add_text(line))
                && self.is_bounded()
        })
    }

    fn is_bounded(&self) -> bool {
        self.ways.len() <= MOST_WAYS && self.nested.len() <= MOST_NESTED
    }

    /// The possible readings of a command by its first word.
    fn add_one(&mut self, words: &[Word], is_fed: bool) -> bool {
        let Some(first) = words.first() else { return true };
        self.ways.push(lowered(words));
        // A rule may name the program with its path.
        if first.text.contains(&b'/') {
            self.ways.push(lowered_rest(words));
        }
        let Some(name) = first.literal().map(|program| base_name(program).to_ascii_lowercase()) else {
            return true;
        };
        // Options before a subcommand, each possibly with a value.
        let positions = after_options(words);
        if positions.len() > MOST_POSITIONS {
            return false;
        }
        for at in positions {
            self.ways.push([name.as_bytes(), b" ", lowered_rest(&words[at..]).as_slice()].concat());
        }
        if let Some(subcommand) = name.strip_prefix("git-") {
            let rest = lowered_rest(&words[1..]);
            self.ways.push([b"git ", subcommand.as_bytes(), b" ", rest.as_slice()].concat());
        }
        let arguments = &words[1..];
        if is_fed && (FED_COMMANDS.contains(&name.as_str()) || makes_what_it_reads(&name, arguments)) {
            return false;
        }
        match interpreter(&name) {
            Some(shell) if OTHER_SHELLS.contains(&shell.name) => {
                self.add_code(words, is_fed) && self.add_names(arguments)
            }
            Some(shell) if SHELLS.contains(&shell.name) => self.add_code(words, is_fed),
            Some(other) if runs_a_file(other, arguments) => true,
            // Without code it runs its input, if it has any.
            Some(_) if arguments.iter().all(|word| word.literal() == Some("-")) => !is_fed,
            Some(_) => self.add_names(arguments),
            None if CODE.contains(&name.as_str()) && may_run(&name, words) => self.add_names(arguments),
            None => true,
        }
    }

    /// The code that a shell is given; without a file or code, it runs its input.
    fn add_code(&mut self, words: &[Word], is_fed: bool) -> bool {
        let mut has_operand = false;
        for (index, word) in words.iter().enumerate().skip(1) {
            let Some(text) = word.literal() else { return false };
            if text.starts_with('-') && !text.starts_with("--") && text.contains('c') {
                let Some(code) = words.get(index + 1).and_then(Word::literal) else { return false };
                if !self.add_text(code) {
                    return false;
                }
                has_operand = true;
            }
            has_operand |= !text.starts_with('-') && !text.contains("/dev/") && !text.contains("/proc/");
        }
        // The value of an option looks like a file, so it is never certain that the input is not run.
        !is_fed || (has_operand && words.iter().all(|word| word.text.first() != Some(&b'-')))
    }

    /// The names in code of another language: each may be a program.
    fn add_names(&mut self, words: &[Word]) -> bool {
        for word in words {
            // An expansion may be a file or code, so nothing is known about it.
            let Some(text) = word.literal() else {
                if word.splits || word.text.len() > 1 {
                    return false;
                }
                continue;
            };
            self.add_names_in(text);
        }
        self.is_bounded()
    }

    fn add_names_in(&mut self, text: &str) {
        let names = text.split(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
        for name in names.filter(|name| !name.is_empty()).take(MOST_WAYS) {
            self.ways.push([name.to_ascii_lowercase().as_bytes(), b" ", &[DYNAMIC]].concat());
        }
    }

    /// The names in the input of programs with a language of their own: here-strings, here-documents, and text printed
    /// in the same line.
    fn add_fed(&mut self, script: &Script, nested: &[Vec<Command>]) -> bool {
        let commands = || script.commands.iter().chain(nested.iter().flatten());
        let is_program = |word: &Word| {
            word.literal().is_some_and(|name| reads_code(&base_name(name).to_ascii_lowercase()))
        };
        if !commands().any(|command| command.is_fed && command.words.iter().any(is_program)) {
            return true;
        }
        let is_print = |command: &&Command| {
            matches!(command.words.first().and_then(Word::literal), Some("echo" | "printf"))
        };
        let printed = commands().filter(is_print).flat_map(|command| command.words.iter().skip(1));
        let given = commands().flat_map(|command| &command.mentions);
        for text in printed.chain(given).filter_map(Word::literal) {
            self.add_names_in(text);
        }
        for text in script.documents.iter().chain(&self.documents.clone()) {
            self.add_names_in(text);
        }
        self.is_bounded()
    }

    /// Commands in a text that a program may run.
    fn add_text(&mut self, text: &str) -> bool {
        // Editors and pagers run the text after a `!`.
        let Ok(script) = shell::parse(text.trim_start_matches(['!', '+', ':'])) else { return false };
        self.nested.extend(script.commands);
        self.documents.extend(script.documents);
        self.is_bounded()
    }
}

/// Whether a `make` reads its Makefile from standard input.
fn makes_what_it_reads(name: &str, arguments: &[Word]) -> bool {
    let is_input = |word: &Word| {
        let text = String::from_utf8_lossy(&word.text);
        let value = text.rsplit('=').next().unwrap_or_default();
        matches!(value, "-" | "-f-") || value.contains("/dev/") || value.contains("/proc/")
    };
    matches!(name, "make" | "gmake") && arguments.iter().any(is_input)
}

/// Where a subcommand may be, if options come before it.
fn after_options(words: &[Word]) -> Vec<usize> {
    let is_option = |at: usize| words.get(at).is_some_and(|word| word.may_begin_with(b'-'));
    if !is_option(1) {
        return Vec::new();
    }
    let mut reached = vec![false; words.len() + 3];
    reached[1] = true;
    for at in 1..words.len() {
        if reached[at] && is_option(at) {
            reached[at + 1] = true;
            reached[at + 2] = true;
        }
    }
    (2..words.len()).filter(|at| reached[*at] && words[*at].text.first() != Some(&b'-')).collect()
}

/// The text in lower case, its program without a path; [`DYNAMIC`] where a word can become several.
fn lowered(words: &[Word]) -> Vec<u8> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let mut text = Vec::with_capacity(length(words));
    if first.globs && first.text != b"[" {
        text.push(DYNAMIC);
    } else {
        let name = first.text.rsplit(|byte| *byte == b'/').next().unwrap_or(&first.text);
        push_lowered(name.strip_suffix(b".exe").unwrap_or(name), &mut text);
    }
    for word in rest {
        text.push(b' ');
        push_lowered(&word.text, &mut text);
    }
    text
}

fn lowered_rest(words: &[Word]) -> Vec<u8> {
    let mut text = Vec::with_capacity(length(words));
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text.push(b' ');
        }
        push_lowered(&word.text, &mut text);
    }
    text
}

fn push_lowered(word: &[u8], text: &mut Vec<u8>) {
    text.extend(word.iter().map(|byte| in_word(byte.to_ascii_lowercase())));
}

/// The maximum length of the text of some words.
fn length(words: &[Word]) -> usize {
    words.iter().map(|word| word.text.len() + 1).sum()
}
