//! Commands that would take away or change what nobody means to, with everything below it: no rule allows those.

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

/// The places that commands may run in.
#[derive(Debug)]
pub(crate) struct Whereabouts<'a> {
    call: &'a ToolCall,
    all: Vec<Anchors>,
    /// There may be others.
    is_cut: bool,
}

impl Whereabouts<'_> {
    /// Those of a command that may work in further directories.
    fn within(&self, directories: &Directories) -> Self {
        let mut within =
            Self { call: self.call, all: self.all.clone(), is_cut: self.is_cut | directories.is_cut };
        // What cannot be read may be the home too.
        let home = directories.is_open.then_some("~");
        for directory in directories.named.iter().map(String::as_str).chain(home) {
            for index in 0..self.all.len() {
                within.add(&self.all[index].written_at(&self.all[index].cwd, directory));
            }
        }
        within
    }

    /// Adds a directory, and where it leads.
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

/// What a command would destroy, if it is such a command. The words after the program, and the places that it may run in.
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
        return is_here.then(|| "the directory that it runs in".to_owned());
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
    // These take away a link, not where it leads.
    let follows = !matches!(program, "rm" | "mv" | "unlink" | "rmdir");
    let at = |word: &Word| bases.all.iter().find_map(|places| target(word, places, bases.call, follows));
    targets.find_map(|word| match at(word) {
        // An empty variable before a `/`, or one that nobody knows, can be anything.
        None if program != "mv" && is_unclear(word) => Some(UNKNOWN.to_owned()),
        found => found,
    })
}

/// A path that nobody knows before it is used.
pub(crate) const UNKNOWN: &str = "a path that is only known when it runs";

/// Whether a `git` takes away all files that it does not know.
fn cleans(arguments: &[Word]) -> bool {
    let has = |is: fn(&str) -> bool| arguments.iter().filter_map(Word::literal).any(is);
    let is_force = |text: &str| match text.strip_prefix("--") {
        Some(long) => !long.is_empty() && "force".starts_with(long),
        None => text.starts_with('-') && text.contains('f'),
    };
    has(|text| text == "clean") && has(is_force)
}

/// Whether a `find` takes away or changes what it finds.
fn destroys_found(arguments: &[Word]) -> bool {
    let is = |word: &Word, names: &[&str]| word.literal().is_some_and(|text| names.contains(&text));
    let mut run = arguments.iter().skip_while(|word| !is(word, &["-exec", "-execdir", "-ok", "-okdir"]));
    run.any(|word| runs_destroyer(word, 0)) || arguments.iter().any(|word| is(word, &["-delete"]))
}

/// Whether a word is a program that takes away or changes files, or code in which one is run.
fn runs_destroyer(word: &Word, depth: usize) -> bool {
    let Some(text) = word.literal() else { return false };
    let in_code = || {
        let script = shell::parse(text).ok().filter(|_| depth < DEEPEST && text.contains(' '));
        let commands = script.map(|script| script.commands).unwrap_or_default();
        commands.iter().flat_map(|command| &command.words).any(|word| runs_destroyer(word, depth + 1))
    };
    DESTROYERS.contains(&base_name(text)) || in_code()
}

/// What a `find` would begin with that takes away what it finds.
fn found(arguments: &[Word], places: &Anchors, call: &ToolCall) -> Option<String> {
    let starts = starting_points(arguments);
    let unknown = starts.iter().any(|word| word.literal().is_none());
    if unknown || arguments.iter().any(|word| word.literal() == Some("-files0-from")) {
        return Some(UNKNOWN.to_owned());
    }
    // Without one it begins where it runs.
    if starts.is_empty() && is_critical(&places.cwd, places) {
        return Some("the directory that it runs in".to_owned());
    }
    // Where it begins, and whatever else stands in it: some take a starting point as an option's value.
    arguments.iter().find_map(|word| target(word, places, call, true))
}

/// The words of a `find` before its expression that are none of its own options.
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

/// What a word names that must not be destroyed, by itself or by links; `follows` says whether a link that it is counts.
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
        // `/*` is as bad as `/`; what a pattern leads to further down is not known either.
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
        // Where the name stays the same, the link is one before it.
        Leads::To(real) => {
            let is_entered = follows || text.ends_with('/') || real.file_name() == written.file_name();
            (is_entered && is_such(real)).then(|| format!("`{text}`, which leads to `{}`", real.display()))
        }
        Leads::Anywhere => (follows || text.contains('/')).then(|| UNKNOWN.to_owned()),
    }
}

/// Where a path leads that passes the root or the working directory of a process.
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

/// Whether a path is a system directory, the home, or holds the home.
fn is_critical(path: &Path, places: &Anchors) -> bool {
    let is_system = SYSTEM_DIRECTORIES.iter().any(|directory| path == Path::new(directory));
    let is_home = |home: &PathBuf| home.starts_with(path);
    is_system || is_home(&places.home) || places.account.as_ref().is_some_and(is_home)
}

/// The places that the commands of a line may run in: where the call runs, and wherever a `cd` leads, by links too.
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

/// The same wherever in a command it may stand: behind others that run it, and in code that a shell is given.
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
    // So many places where something could begin are a riddle, and so are so many that it could be about.
    let is_destroyer =
        |word: &Word| word.literal().is_some_and(|name| DESTROYERS.contains(&name) || name == "find");
    let destroyers = words.iter().filter(|word| is_destroyer(word)).count();
    if destroyers > MOST || destroyers * words.len() * bases.all.len() > MOST_TARGETS {
        return Some("more than can be looked at".to_owned());
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
