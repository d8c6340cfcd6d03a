//! What would be destroyed by commands that read their targets or code from others: `find / | xargs rm -rf`, `sh <<<
//! 'rm -rf /etc'`.

use super::{UNKNOWN, Whereabouts, at_depth, found, is_recursive, runs_destroyer, target};
use crate::invocation::base_name;
use crate::mentions::runs_input;
use crate::moves::goes;
use crate::programs::DESTROYERS;
use crate::shell::{self, Command, Word};

/// Programs that run a command with arguments from standard input.
const FEEDERS: &[&str] = &["xargs", "gxargs", "parallel"];

/// What the commands of a line would destroy through their input: pipes, here-strings and here-documents.
pub(crate) fn fed(commands: &[Command], documents: &[String], bases: &Whereabouts<'_>) -> Option<String> {
    let is_fed = |(_, command): &(usize, &Command)| command.is_fed;
    commands.iter().enumerate().filter(is_fed).find_map(|(at, command)| {
        let code = runs_input(command).then(|| texts(command, documents));
        let in_code = || code?.find_map(|code| in_code(code, bases));
        let by_words = || {
            let destroys = Destroyer::of(command)?;
            let named = texts(command, documents).find_map(|text| {
                let mut words = text.split_whitespace().filter(|_| destroys == Destroyer::Trees);
                words.find_map(|word| named(word, bases))
            });
            named.or_else(|| commands[..at].iter().find_map(|producer| produced(producer, destroys, bases)))
        };
        in_code().or_else(by_words)
    })
}

/// The texts that may be the input of a command.
fn texts<'a>(command: &'a Command, documents: &'a [String]) -> impl Iterator<Item = &'a str> {
    command.mentions.iter().filter_map(Word::literal).chain(documents.iter().map(String::as_str))
}

fn in_code(code: &str, bases: &Whereabouts<'_>) -> Option<String> {
    let script = shell::parse(code).ok()?;
    script.commands.iter().find_map(|command| at_depth(command, bases, 1))
}

/// How a command destroys what it reads from its input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destroyer {
    Files,
    /// Recursively.
    Trees,
}

impl Destroyer {
    fn of(command: &Command) -> Option<Self> {
        let is_feeder = |word: &Word| word.literal().is_some_and(|name| FEEDERS.contains(&base_name(name)));
        let feeder = command.words.iter().position(is_feeder)?;
        let rest = &command.words[feeder + 1..];
        let at = rest.iter().position(|word| runs_destroyer(word, 0))?;
        let name = base_name(rest[at].literal().unwrap_or_default());
        let options = rest[at + 1..].iter().filter_map(Word::literal).filter(|word| word.starts_with('-'));
        // For code, it is unknown how it destroys.
        let is_code = !DESTROYERS.contains(&name);
        let takes_trees = is_code || matches!(name, "mv" | "shred") || options.into_iter().any(is_recursive);
        Some(if takes_trees { Self::Trees } else { Self::Files })
    }
}

/// A critical path that an earlier command may pass on.
fn produced(producer: &Command, destroys: Destroyer, bases: &Whereabouts<'_>) -> Option<String> {
    let (program, arguments) = producer.words.split_first()?;
    if base_name(program.literal().unwrap_or_default()) == "find" {
        return bases.all.iter().find_map(|places| found(arguments, places, bases.call));
    }
    if destroys == Destroyer::Files || goes(producer) {
        return None;
    }
    let words = arguments.iter().filter_map(Word::literal).flat_map(str::split_whitespace);
    words.filter(|word| !word.starts_with('-')).find_map(|word| named(word, bases))
}

fn named(text: &str, bases: &Whereabouts<'_>) -> Option<String> {
    let word = Word { text: text.as_bytes().to_vec(), tilde: text.starts_with('~'), ..Word::default() };
    let target = |places| target(&word, places, bases.call, true).filter(|what| what != UNKNOWN);
    bases.all.iter().find_map(target)
}
