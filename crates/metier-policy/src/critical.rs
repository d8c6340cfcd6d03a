//! Commands that would take away or change what nobody means to, with everything below it: no rule allows those.

use std::path::Path;

use crate::paths::{Places, normal};
use crate::programs::{DESTROYERS, SYSTEM_DIRECTORIES};
use crate::shell::{self, Command, Word};

/// What a command would destroy, if it is such a command. The words after the program.
pub(crate) fn find(program: &str, arguments: &[Word], places: &Places) -> Option<String> {
    let program = program.rsplit('/').next().unwrap_or(program);
    if program == "find" && arguments.iter().any(|word| word.literal() == Some("-delete")) {
        return arguments.first().and_then(|word| target(word, places));
    }
    if !DESTROYERS.contains(&program) {
        return None;
    }
    let is_option = |word: &&Word| word.text.first() == Some(&b'-');
    let recursive = arguments.iter().filter(is_option).filter_map(Word::literal).any(is_recursive);
    if program != "mv" && program != "shred" && !recursive {
        return None;
    }
    let mut targets = arguments.iter().filter(|word| !is_option(word));
    targets.find_map(|word| match word.literal() {
        // An empty variable before a `/`, or one that nobody knows, can be anything.
        None if program != "mv" => Some("a path that is only known when it runs".to_owned()),
        _ => target(word, places),
    })
}

fn is_recursive(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => !long.is_empty() && "recursive".starts_with(long),
        None => option.contains(['r', 'R']),
    }
}

fn target(word: &Word, places: &Places) -> Option<String> {
    let text = word.literal()?;
    let at_home = text.strip_prefix('~').filter(|_| word.tilde);
    let path = match at_home {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", places.home.display()),
        Some(_) => return Some(format!("`{text}`")),
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
    (is_system || upper == places.home || places.home.starts_with(upper)).then(|| format!("`{text}`"))
}

fn has_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// The same wherever in a command it may stand: behind others that run it, and in code that a shell is given.
pub(crate) fn anywhere(command: &Command, places: &Places) -> Option<String> {
    within(&command.words, places, 0)
}

fn within(words: &[Word], places: &Places, depth: usize) -> Option<String> {
    const DEEPEST: usize = 4;
    const MOST: usize = 64;
    // So many places where something could begin are a riddle.
    let is_destroyer =
        |word: &Word| word.literal().is_some_and(|name| DESTROYERS.contains(&name) || name == "find");
    if words.iter().filter(|word| is_destroyer(word)).count() > MOST {
        return Some("more than can be looked at".to_owned());
    }
    (0..words.len()).find_map(|start| {
        let text = words[start].literal()?;
        let nested = || {
            let script = shell::parse(text).ok().filter(|_| depth < DEEPEST && text.contains(' '))?;
            script.commands.iter().find_map(|command| within(&command.words, places, depth + 1))
        };
        find(text, &words[start + 1..], places).or_else(nested)
    })
}
