//! Commands that would delete or change a critical directory with everything in it. No rule allows them.

use std::path::{Path, PathBuf};

use crate::call::{Leads, ToolCall};
use crate::directories::Directories;
use crate::invocation::base_name;
use crate::moves::Bases;
use crate::paths::{Anchors, normal};
use crate::programs::{DESTROYERS, SYSTEM_DIRECTORIES};
use crate::shell::{self, Command, Word};

mod fed;

pub(crate) use fed::fed;

/// The directories that commands may run in.
#[derive(Debug)]
pub(crate) struct Whereabouts<'a> {
    call: &'a ToolCall,
    all: Vec<Anchors>,
    /// There may be more directories than these.
    is_cut: bool,
}

impl Whereabouts<'_> {
    /// The directories of a command that may also work in others.
    fn within(&self, directories: &Directories) -> Self {
        let mut within =
            Self { call: self.call, all: self.all.clone(), is_cut: self.is_cut | directories.is_cut };
        // An unknown value may also be the home directory.
        let home = directories.is_open.then_some("~");
        for directory in directories.named.iter().map(String::as_str).chain(home) {
            for index in 0..self.all.len() {
                within.add(&self.all[index].written_at(&self.all[index].cwd, directory));
            }
        }
        within
    }

    /// Adds a directory and its real path.
    fn add(&mut self, path: &Path) {
        const MOST: usize = 256;
        let real = match self.call.leads(path) {
            Leads::There => None,
            Leads::To(real) => Some(normal(real)),
            Leads::Anywhere => {
                self.is_cut = true;
                None
            }
        };
        for cwd in std::iter::once(normal(path)).chain(real) {
            let Some(first) = self.all.first().filter(|_| self.all.len() < MOST) else {
                self.is_cut = true;
                return;
            };
            if !self.all.iter().any(|places| places.cwd == cwd) {
                self.all.push(Anchors { cwd, ..first.clone() });
            }
        }
    }
}

/// What a command would destroy, if that is a critical path. Takes the words after the program, and the directories
/// that it may run in.
pub(crate) fn find(program: &str, arguments: &[Word], bases: &Whereabouts<'_>) -> Option<String> {
    let program = base_name(program);
    if program == "find" {
        let is_cut = || bases.is_cut.then(|| UNKNOWN.to_owned());
        return bases
            .all
            .iter()
            .filter(|_| destroys_found(arguments))
            .find_map(|places| found(arguments, places, bases.call).or_else(is_cut));
    }
    if program == "git" && cleans(arguments) {
        let is_here = bases.all.iter().any(|places| is_critical(&places.cwd, places));
        return is_here.then(|| "its working directory".to_owned());
    }
    if !DESTROYERS.contains(&program) {
        return None;
    }
    let is_option = |word: &&Word| word.text.first() == Some(&b'-');
    let recursive = arguments.iter().filter(is_option).filter_map(Word::literal).any(is_recursive);
    if program != "mv" && program != "shred" && !recursive {
        return None;
    }
    let is_unclear =
        |word: &Word| word.literal().is_none_or(|text| bases.is_cut && !text.starts_with(['/', '~']));
    let mut targets = arguments.iter().filter(|word| !is_option(word));
    // These remove a link, not its target.
    let follows = !matches!(program, "rm" | "mv" | "unlink" | "rmdir");
    let at = |word: &Word| bases.all.iter().find_map(|places| target(word, places, bases.call, follows));
    targets.find_map(|word| match at(word) {
        // An empty or unknown variable before a `/` can be any path.
        None if program != "mv" && is_unclear(word) => Some(UNKNOWN.to_owned()),
        found => found,
    })
}

/// A path that is unknown before the command runs.
pub(crate) const UNKNOWN: &str = "a path that is only known at run time";

/// Whether a `git` command deletes all untracked files.
fn cleans(arguments: &[Word]) -> bool {
    let has = |is: fn(&str) -> bool| arguments.iter().filter_map(Word::literal).any(is);
    let is_force = |text: &str| match text.strip_prefix("--") {
        Some(long) => !long.is_empty() && "force".starts_with(long),
        None => text.starts_with('-') && text.contains('f'),
    };
    has(|text| text == "clean") && has(is_force)
}

/// Whether a `find` deletes or changes what it finds.
fn destroys_found(arguments: &[Word]) -> bool {
    let is = |word: &Word, names: &[&str]| word.literal().is_some_and(|text| names.contains(&text));
    let mut run = arguments.iter().skip_while(|word| !is(word, &["-exec", "-execdir", "-ok", "-okdir"]));
    run.any(|word| runs_destroyer(word, 0)) || arguments.iter().any(|word| is(word, &["-delete"]))
}

/// Whether a word is a program that deletes or changes files, or code that runs such a program.
fn runs_destroyer(word: &Word, depth: usize) -> bool {
    let Some(text) = word.literal() else { return false };
    let in_code = || {
        let script = shell::parse(text).ok().filter(|_| depth < DEEPEST && text.contains(' '));
        let commands = script.map(|script| script.commands).unwrap_or_default();
        commands.iter().flat_map(|command| &command.words).any(|word| runs_destroyer(word, depth + 1))
    };
    DESTROYERS.contains(&base_name(text)) || in_code()
}

/// The critical starting point of a `find` that deletes what it finds.
fn found(arguments: &[Word], places: &Anchors, call: &ToolCall) -> Option<String> {
    let starts = starting_points(arguments);
    let unknown = starts.iter().any(|word| word.literal().is_none());
    if unknown || arguments.iter().any(|word| word.literal() == Some("-files0-from")) {
        return Some(UNKNOWN.to_owned());
    }
    // Without a starting point, `find` starts in its working directory.
    if starts.is_empty() && is_critical(&places.cwd, places) {
        return Some("its working directory".to_owned());
    }
    // The starting points and all other words: some versions take a starting point as the value of an option.
    arguments.iter().find_map(|word| target(word, places, call, true))
}

/// The words of a `find` before its expression, without its options.
fn starting_points(arguments: &[Word]) -> Vec<&Word> {
    let is_own = |text: &str| {
        let letters = text.strip_prefix('-').unwrap_or_default();
        letters.starts_with('O') || (!letters.is_empty() && letters.chars().all(|c| "HLPEXdsx".contains(c)))
    };
    let mut starts = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.literal() {
            Some("-D") if starts.is_empty() => drop(words.next()),
            Some("-f" | "--") if starts.is_empty() => starts.extend(words.next()),
            Some(text) if starts.is_empty() && is_own(text) => {}
            Some(text) if text.starts_with('-') || matches!(text, "(" | ")" | "!" | ",") => break,
            _ => starts.push(word),
        }
    }
    starts
}

fn is_recursive(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => !long.is_empty() && "recursive".starts_with(long),
        None => option.contains(['r', 'R']),
    }
}

/// The critical path that a word names, directly or through links. `follows` says whether the last link is followed.
fn target(word: &Word, places: &Anchors, call: &ToolCall, follows: bool) -> Option<String> {
    if !word.alternatives.is_empty() {
        return word.alternatives.iter().find_map(|one| target(one, places, call, follows));
    }
    let text = word.literal()?;
    let at_home = text.strip_prefix('~').filter(|_| word.tilde);
    let path = match at_home {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", places.home.display()),
        Some(_) => return Some(format!("`{text}`")),
        None => text.to_owned(),
    };
    let written = places.cwd.join(path);
    let is_such = |path: &Path| {
        let path = beyond_proc(normal(path), places);
        // `/*` is as dangerous as `/`. What a pattern matches further down is unknown too.
        let upper = if word.globs {
            path.ancestors().find(|path| !has_pattern(path)).unwrap_or(Path::new("/"))
        } else {
            &path
        };
        is_critical(upper, places)
    };
    if is_such(&written) {
        return Some(format!("`{text}`"));
    }
    match call.leads(&written) {
        Leads::There => None,
        // If the name stays the same, the link is an earlier part of the path.
        Leads::To(real) => {
            let is_entered = follows || text.ends_with('/') || real.file_name() == written.file_name();
            (is_entered && is_such(real))
                .then(|| format!("`{text}`, which is a link to `{}`", real.display()))
        }
        Leads::Anywhere => (follows || text.contains('/')).then(|| UNKNOWN.to_owned()),
    }
}

/// The target of a path through the root or the working directory of a process.
fn beyond_proc(mut path: PathBuf, places: &Anchors) -> PathBuf {
    for _ in 0..8 {
        let Ok(below) = path.strip_prefix("/proc") else { break };
        let mut parts = below.iter().skip(1);
        let Some(base) = parts.find_map(|part| match part.to_str() {
            Some("root") => Some(PathBuf::from("/")),
            Some("cwd") => Some(places.cwd.clone()),
            _ => None,
        }) else {
            break;
        };
        path = parts.fold(base, |path, part| path.join(part));
    }
    path
}

/// Whether a path is a system directory, the home directory, or contains the home directory.
fn is_critical(path: &Path, places: &Anchors) -> bool {
    let is_system = SYSTEM_DIRECTORIES.iter().any(|directory| path == Path::new(directory));
    let is_home = |home: &PathBuf| home.starts_with(path);
    is_system || is_home(&places.home) || places.account.as_ref().is_some_and(is_home)
}

/// The directories that the commands of a line may run in: the call's directory, and every target of a `cd`, also
/// through links.
pub(crate) fn bases<'a>(
    call: &'a ToolCall,
    commands: impl Iterator<Item = &'a Command>,
    places: &Anchors,
) -> Whereabouts<'a> {
    let mut start = call.directories(places);
    if start.is_empty() {
        start.push(places.cwd.clone());
    }
    let Bases { mut all, mut is_cut } = Bases::new(start, commands, places);
    for index in 0..if call.has_links() { all.len() } else { 0 } {
        match call.leads(&all[index]) {
            Leads::There => {}
            Leads::To(real) => all.push(real.to_owned()),
            Leads::Anywhere => is_cut = true,
        }
    }
    let at = |cwd: PathBuf| Anchors { cwd: normal(&cwd), ..places.clone() };
    Whereabouts { call, all: all.into_iter().map(at).collect(), is_cut }
}

fn has_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

const DEEPEST: usize = 4;

/// Checks every position in a command: after programs that run others, and in code that a shell is given.
pub(crate) fn anywhere(command: &Command, bases: &Whereabouts<'_>) -> Option<String> {
    at_depth(command, bases, 0)
}

fn at_depth(command: &Command, bases: &Whereabouts<'_>, depth: usize) -> Option<String> {
    let directories = Directories::of(command);
    if directories.is_empty() {
        return within(&command.words, bases, depth);
    }
    within(&command.words, &bases.within(&directories), depth)
}

fn within(words: &[Word], bases: &Whereabouts<'_>, depth: usize) -> Option<String> {
    const MOST: usize = 64;
    const MOST_TARGETS: usize = 100_000;
    // Too many possible commands or targets cannot be checked.
    let is_destroyer =
        |word: &Word| word.literal().is_some_and(|name| DESTROYERS.contains(&name) || name == "find");
    let destroyers = words.iter().filter(|word| is_destroyer(word)).count();
    if destroyers > MOST || destroyers * words.len() * bases.all.len() > MOST_TARGETS {
        return Some("too many paths to check".to_owned());
    }
    (0..words.len()).find_map(|start| {
        let text = words[start].literal()?;
        let nested = || {
            let script = shell::parse(text).ok().filter(|_| depth < DEEPEST && text.contains(' '))?;
            script.commands.iter().find_map(|command| at_depth(command, bases, depth + 1))
        };
        find(text, &words[start + 1..], bases).or_else(nested)
    })
}
