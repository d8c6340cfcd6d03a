//! What a simple command really runs, as a text for allow rules. Words that a `*` must not match are marked.

use crate::awk;
use crate::critical::Whereabouts;
use crate::own;
use crate::programs::{
    DESTROYERS, FED_LANGUAGES, Interpreter, Known, NO_CLUSTERS, PLAIN_GIT, PROGRAM_VARIABLES,
    RUNNING_MODULES, SHELLS, WRAPPERS, Wrapper, family, known,
};
use crate::sed;
use crate::shell::{Command, DYNAMIC, Word};
use crate::wildcard::Subject;

/// A space inside a word: a rule's space between words does not match it.
pub(crate) const BLANK: u8 = 1;

/// Why no rule can allow a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// What runs is only known at run time.
    Program,
    /// `rm -rf /` and similar commands.
    Critical(String),
}

/// One form of a command that allow rules are matched against.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) subject: Subject,
    /// The first word that a rule must name.
    pub(crate) marked: Option<String>,
    /// Words after which a `*` in a rule allows everything: a rule for every use of an interpreter that is not a shell
    /// allows code from files and from arguments.
    pub(crate) uses: Vec<String>,
}

const MOST_WRAPPERS: usize = 8;

/// The forms of a command for allow rules: a rule that matches any of them allows the command.
pub(crate) fn allowable(command: &Command, bases: &Whereabouts<'_>) -> Result<Vec<Way>, Refusal> {
    let mut ways = Vec::new();
    let mut words = command.words.as_slice();
    let mut by_xargs = false;
    loop {
        let Some(first) = words.first() else { return Ok(ways) };
        let program = first.program().ok_or(Refusal::Program)?;
        if let Some(what) = crate::critical::find(program, &words[1..], bases) {
            return Err(Refusal::Critical(what));
        }
        let Some(inner) = wrapper(program).and_then(|wrapper| inner(wrapper, words)) else {
            let name = base_name(program);
            let has_file = words[1..].iter().any(|word| word.text.first() != Some(&b'-'));
            let is_read = reads_code(name) || (interpreter(name).is_some() && !has_file);
            let is_strict = (by_xargs && is_special(name)) || (command.is_fed && is_read);
            let marks = if is_strict { vec![true; words.len()] } else { marks(program, words) };
            let uses = if by_xargs { Vec::new() } else { uses(program, &words[1..]) };
            ways.push(Way { uses, ..way(words, &marks) });
            return Ok(ways);
        };
        // More nested wrappers are not accepted.
        if ways.len() == MOST_WRAPPERS {
            return Err(Refusal::Program);
        }
        // A rule may also spell out the full command, including the wrapper.
        ways.push(way(words, &vec![true; words.len()]));
        by_xargs |= program == "xargs";
        words = &words[inner..];
    }
}

fn way(words: &[Word], marks: &[bool]) -> Way {
    let marked = words.iter().zip(marks).find(|(_, mark)| **mark);
    let marked = marked.map(|(word, _)| String::from_utf8_lossy(&word.text).replace('\0', "…"));
    Way { subject: subject(words, marks), marked, uses: Vec::new() }
}

/// Options that pass code or a module to an interpreter.
const CODE_OPTIONS: &[&str] = &["-c", "-e", "-E", "-m", "-p", "-pe", "-ne", "-r", "--eval", "--print"];

/// What a rule must name before its `*` to allow every use of an interpreter: its name, or also the option that passes
/// code. Shells are excluded, because their code is parsed and checked.
fn uses(program: &str, arguments: &[Word]) -> Vec<String> {
    if interpreter(program).is_none_or(|found| SHELLS.contains(&found.name)) {
        return Vec::new();
    }
    let option = arguments.first().and_then(Word::bare).filter(|option| CODE_OPTIONS.contains(option));
    let module = arguments.get(1).and_then(Word::bare).filter(|_| option == Some("-m"));
    let module = module.filter(|module| !is_program(module));
    let with_option = option.map(|option| format!("{program} {option}"));
    let with_module = with_option.as_ref().zip(module).map(|(words, module)| format!("{words} {module}"));
    [Some(program.to_owned()), with_option, with_module].into_iter().flatten().collect()
}

/// Whether a Python module is also a program with subcommands that run others. It is then checked as that program.
fn is_program(module: &str) -> bool {
    !known(module.split('.').next().unwrap_or(module)).subcommands.is_empty()
}

/// A program's name without its path.
pub(crate) fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name)
}

fn wrapper(program: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == program)
}

/// Where the command starts that a wrapper runs, if all of the wrapper's options are known.
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
    // The words in between must be plain, or they could be options.
    let skipped = words.get(1..at + wrapper.operands)?;
    (skipped.iter().all(Word::is_static) && at + wrapper.operands < words.len())
        .then_some(at + wrapper.operands)
}

/// Marks the words that only a rule's literal words may match.
fn marks(program: &str, words: &[Word]) -> Vec<bool> {
    let all = || vec![true; words.len()];
    let name = base_name(program);
    let is_loader = name.starts_with("ld-linux") || name.starts_with("ld-musl");
    let is_editor = name.starts_with("vim") || name.ends_with("vim");
    if known(name).is_runner || wrapper(name).is_some() || is_loader || is_editor {
        return all();
    }
    let arguments = &words[1..];
    let is_plain = match name {
        "sed" | "gsed" => sed::is_plain(arguments),
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => awk::is_plain(arguments),
        "sqlite3" => arguments.iter().all(is_plain_for_sqlite),
        "make" | "gmake" => arguments.iter().all(is_plain_for_make),
        "printf" => is_plain_printf(arguments),
        _ => interpreter(name).is_none_or(|interpreter| runs_a_file(interpreter, arguments)),
    };
    if !is_plain {
        return all();
    }
    let mut marks = vec![false; words.len()];
    // A module is not the file that a rule with a `*` in this position means.
    if interpreter(name).is_some_and(|interpreter| interpreter.name == "python")
        && let Some(at) =
            words.iter().skip(1).position(|word| word.text.first() != Some(&b'-') || word.text == b"-m")
    {
        marks[at + 1] = words[at + 1].text == b"-m";
    }
    // Without arguments, or asked for help, a program only prints text.
    let asks = matches!(arguments.first().and_then(Word::bare), Some("--help" | "--version"));
    let has_options = arguments.iter().skip(1).any(|word| word.may_begin_with(b'-'));
    if interpreter(name).is_none() && (arguments.is_empty() || (asks && !has_options)) {
        return marks;
    }
    let subcommand = if name == "git" {
        let Some(at) = git_subcommand(words) else { return all() };
        // A rule must name the options; their values may vary if the rule allows it.
        for (mark, word) in marks.iter_mut().zip(words).take(at).skip(1) {
            *mark = word.text.first() == Some(&b'-')
                && !HARMLESS_GIT.contains(&word.literal().unwrap_or_default());
        }
        at
    } else {
        1
    };
    if name == "metier" {
        own::mark(words, &mut marks);
        return marks;
    }
    mark_subcommand(name, words, subcommand, &mut marks);
    mark_script(name, words, &mut marks);
    mark_arguments(name, words, &mut marks);
    if let Some(sub) = words.get(subcommand).and_then(Word::literal) {
        let key = format!("{name} {sub}");
        mark_arguments(&key, &words[subcommand..], &mut marks[subcommand..]);
    }
    marks
}

/// Options before a `git` subcommand that change nothing.
const HARMLESS_GIT: &[&str] =
    &["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version"];

/// Whether a program runs what some of its words name.
pub(crate) fn may_run(program: &str, words: &[Word]) -> bool {
    marks(program, words).contains(&true)
}

/// Whether a program has special words, so that it must not get words from expansions.
fn is_special(name: &str) -> bool {
    let known = known(name);
    !known.options.is_empty()
        || !known.subcommands.is_empty()
        || !known.texts.is_empty()
        || known.interpreter.is_some()
        || DESTROYERS.contains(&name)
        || matches!(
            name,
            "sed" | "gsed" | "awk" | "gawk" | "mawk" | "sqlite3" | "tee" | "cp" | "dd" | "ln" | "metier"
        )
}

/// Whether a program reads commands from its input, some of which run others.
pub(crate) fn reads_code(name: &str) -> bool {
    FED_LANGUAGES.contains(&family(name)) || FED_LANGUAGES.contains(&name)
}

/// The interpreter of that name, in any version.
pub(crate) fn interpreter(program: &str) -> Option<&'static Interpreter> {
    known(base_name(program)).interpreter
}

/// Whether an interpreter gets a named file, after harmless options only.
pub(crate) fn runs_a_file(interpreter: &Interpreter, arguments: &[Word]) -> bool {
    if let [only] = arguments
        && matches!(only.bare(), Some("--version" | "--help" | "-V" | "-v"))
    {
        return true;
    }
    for (index, word) in arguments.iter().enumerate() {
        let Some(text) = word.literal().filter(|_| !word.splits && !word.globs) else { return false };
        match text.strip_prefix('-') {
            Some("m") if interpreter.name == "python" => return runs_a_module(&arguments[index + 1..]),
            Some(letters)
                if !letters.is_empty() && letters.chars().all(|c| interpreter.plain.contains(c)) => {}
            Some(_) => return false,
            None => return !text.is_empty() && !text.starts_with('+') && !is_device(text),
        }
    }
    false
}

/// Whether a Python module runs nothing that its arguments name.
fn runs_a_module(words: &[Word]) -> bool {
    let Some(module) = words.first().and_then(Word::bare).and_then(|name| name.split('.').next()) else {
        return false;
    };
    let runs = RUNNING_MODULES.contains(&module) || module.starts_with('-');
    if is_program(module) { !may_run(module, words) } else { !runs }
}

/// Whether a path may lead to a device or a file descriptor, also through `..`.
fn is_device(path: &str) -> bool {
    let climbs = path.starts_with('/') || path.split('/').any(|part| part == "..");
    let path = crate::paths::normal(&std::path::Path::new("/").join(path));
    climbs && (path.starts_with("/dev") || path.starts_with("/proc"))
}

/// The position of the subcommand, if all words before it are known options.
pub(crate) fn git_subcommand(words: &[Word]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.literal().filter(|_| word.is_static()) {
            Some(
                "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--config-env"
                | "--attr-source" | "--super-prefix" | "--shallow-file",
            ) => at += 2,
            Some(option) if option.starts_with('-') => at += 1,
            Some(_) => return Some(at),
            None => return None,
        }
    }
    // `git` alone, or `git --version`.
    (at == words.len()).then_some(at.saturating_sub(1).max(1)).filter(|at| *at < words.len())
}

/// Marks the entire command if its subcommand runs something.
fn mark_subcommand(program: &str, words: &[Word], at: usize, marks: &mut [bool]) {
    let names = known(program).subcommands;
    if names.is_empty() {
        return;
    }
    // The first word that is not an option; an unknown word might be it.
    let mut rest = words.iter().enumerate().skip(at);
    let found = rest.find(|(_, word)| !word.literal().is_some_and(|word| word.starts_with('-')));
    let Some((place, word)) = found else { return };
    let Some(name) = word.literal().filter(|_| word.is_static()) else { return marks.fill(true) };
    // `npm` accepts abbreviated names.
    let is_beginning = |long: &&&str| program == "npm" && name.len() > 2 && long.starts_with(name);
    // An option before it may have taken it as its value.
    let unsure = place > at && words[at..].iter().filter_map(Word::literal).any(|word| names.contains(&word));
    let key = format!("{program} {name}");
    // `git submodule--helper` and similar commands are internal to git, and do the same as the others.
    let is_internal = program == "git" && name.contains("--");
    if names.contains(&name) || unsure || is_internal || names.iter().any(|long| is_beginning(&long)) {
        let only_reads = known(&key).reads;
        let next = words.get(place + 1).and_then(Word::bare);
        if unsure || !next.is_some_and(|next| only_reads.contains(&next)) {
            return marks.fill(true);
        }
    }
    if !program.contains(' ') {
        mark_subcommand(&key, words, place + 1, marks);
    }
}

/// Marks the entire command if a package manager would run a program by its name.
fn mark_script(program: &str, words: &[Word], marks: &mut [bool]) {
    let Some(known) = known(program).scripts else { return };
    let mut operands = words[1..].iter().filter(|word| word.text.first() != Some(&b'-'));
    let Some(mut first) = operands.next() else { return };
    // `bun run` runs programs as well as scripts.
    if program == "bun" && first.literal() == Some("run") {
        let Some(next) = operands.next() else { return };
        first = next;
    }
    let is_known = first.literal().is_some_and(|name| known.contains(&name));
    if !is_known && operands.next().is_some() {
        marks.fill(true);
    }
}

/// Marks the options and texts that make a program run something.
fn mark_arguments(program: &str, words: &[Word], marks: &mut [bool]) {
    let Known { options, texts, .. } = known(program);
    if options.is_empty() && texts.is_empty() {
        return;
    }
    let subcommand = git_subcommand(words).and_then(|at| words[at].literal());
    let is_plain_git = program == "git" && subcommand.is_some_and(|name| PLAIN_GIT.contains(&name));
    for (index, word) in words.iter().enumerate().skip(1) {
        marks[index] |= match word.literal().filter(|_| !word.splits) {
            Some(text) => {
                let name = text.split_once('=').map_or(text, |(name, _)| name);
                options.iter().any(|option| is_option(program, text, name, index, option))
                    || texts.iter().any(|running| text.contains(running))
                    || (!options.is_empty() && !is_plain_git && word.globs && word.may_begin_with(b'-'))
            }
            // It may expand to an option.
            None => {
                !is_plain_git
                    && (word.splits || program != "gh")
                    && (word.may_begin_with(b'-') || !texts.is_empty())
            }
        };
    }
}

/// Whether a word is an option, possibly abbreviated, possibly with its value attached. Its name ends at a `=`.
fn is_option(program: &str, word: &str, name: &str, index: usize, option: &str) -> bool {
    if name == option {
        return true;
    }
    if let Some(long) = option.strip_prefix("--") {
        return name.strip_prefix("--").is_some_and(|name| !name.is_empty() && long.starts_with(name));
    }
    let Some(letters) = option.strip_prefix('-').filter(|letters| !letters.is_empty()) else { return false };
    // `tar cfI` is `tar -cfI`.
    let is_old_style = index == 1 && program.ends_with("tar") && !word.contains(['/', '.']);
    let Some(given) = word.strip_prefix('-').or(Some(word).filter(|_| is_old_style)) else { return false };
    if letters.len() > 1 {
        // Some programs take `--exec` for `-exec`; a value may be attached.
        return given.strip_prefix('-').unwrap_or(given).starts_with(letters);
    }
    // `-xVALUE`, and `-abx` for several letters in one word.
    let clusters = !NO_CLUSTERS.contains(&program) && !given.starts_with('-');
    given.starts_with(letters) || (clusters && given.contains(letters))
}

/// Whether a word of `make` is a target, an option, or a variable that does not name a program.
fn is_plain_for_make(word: &Word) -> bool {
    let Some(text) = word.literal().filter(|_| !word.splits) else {
        return !word.may_begin_with(b'-') && !word.splits;
    };
    let Some((name, value)) = text.split_once('=') else { return !text.contains('$') };
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "_-./,".contains(c);
    let names_program =
        PROGRAM_VARIABLES.iter().any(|variable| name.trim_end_matches([':', '?', '+']).ends_with(variable));
    !names_program
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-:?+".contains(c))
        && value.chars().all(is_letter)
}

/// Whether a `printf` sets no variable: `-v` and `%n` in its format do. The words after the format are only printed.
fn is_plain_printf(arguments: &[Word]) -> bool {
    let is_end = |word: &Word| word.literal() == Some("--");
    if arguments.first().is_some_and(|word| word.text.first() == Some(&b'-') && !is_end(word)) {
        return false;
    }
    let format = arguments.iter().find(|word| !is_end(word));
    let Some(text) = format.map_or(Some(""), Word::literal) else { return false };
    let conversion = |part: &str| {
        let is_modifier = |c: char| !c.is_alphabetic() || "hlqjztL".contains(c);
        part.trim_start_matches(is_modifier).chars().next()
    };
    !text.split('%').skip(1).any(|part| conversion(part) == Some('n'))
}

/// Whether a word of `sqlite3` cannot run a program or write a file.
fn is_plain_for_sqlite(word: &Word) -> bool {
    const READING: &[&str] = &[
        ".schema",
        ".tables",
        ".dump",
        ".headers",
        ".mode",
        ".databases",
        ".indexes",
        ".indices",
        ".width",
        ".nullvalue",
    ];
    let Some(text) = word.literal() else { return !word.may_begin_with(b'.') && !word.may_begin_with(b'-') };
    let names = ["writefile", "load_extension", "edit", "fts3_tokenizer"];
    let command = text.split_whitespace().next().unwrap_or_default();
    let is_command = command.starts_with('.') && command.len() > 1 && !command.contains('/');
    let has_command = text.contains("\n.") || (is_command && !READING.contains(&command));
    !has_command
        && !text.contains('|')
        && !names.iter().any(|name| text.to_ascii_lowercase().contains(name))
        && !matches!(text, "-cmd" | "-init" | "--cmd" | "--init")
}

/// The text of a command, its words separated by one space each.
fn subject(words: &[Word], marks: &[bool]) -> Subject {
    let length = words.iter().map(|word| word.text.len() + 1).sum();
    let mut subject =
        Subject { bytes: Vec::with_capacity(length), strict: Vec::with_capacity(length), climbs: false };
    for (index, (word, mark)) in words.iter().zip(marks).enumerate() {
        if index > 0 {
            subject.push(b" ", *mark);
        }
        // An expansion may contain `..`, and so may a pattern that starts with a dot.
        let may_climb = |part: &[u8]| {
            part == b".."
                || part.contains(&DYNAMIC)
                || (word.globs && (part.starts_with(b".") || part.contains(&b'[')))
        };
        subject.climbs |= word.text.split(|byte| *byte == b'/').any(may_climb);
        let start = subject.bytes.len();
        subject.push(&word.text, *mark);
        subject.bytes[start..].iter_mut().for_each(|byte| *byte = in_word(*byte));
    }
    subject
}

/// A byte inside a word, where a space does not separate words.
pub(crate) const fn in_word(byte: u8) -> u8 {
    if byte == b' ' { BLANK } else { byte }
}

/// The same for words that another shell's parser returned.
pub(crate) fn subject_of(words: &[String]) -> Subject {
    let words: Vec<Word> =
        words.iter().map(|word| Word { text: word.clone().into_bytes(), ..Word::default() }).collect();
    let marks =
        words.first().and_then(Word::literal).map(|program| marks(program, &words)).unwrap_or_default();
    subject(&words, &marks)
}
