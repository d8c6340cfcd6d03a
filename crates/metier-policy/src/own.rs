//! metier's own command line: which of its commands only read, so that a rule with a `*` can allow them.

use crate::shell::Word;

/// One command of metier's own command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnCommand {
    /// Its words, such as `audit log`.
    pub name: &'static str,
    /// What it does.
    pub effect: CommandEffect,
}

/// What a command of metier does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandEffect {
    /// It reads and prints, whatever its options.
    Reads,
    /// It reads and prints, except with one of these options.
    ReadsUnless(&'static [&'static str]),
    /// It runs, writes, approves or hands out what a model must not ask for by itself.
    Acts,
}

const fn command(name: &'static str, effect: CommandEffect) -> OwnCommand {
    OwnCommand { name, effect }
}

/// Every command that runs, and what it does. A command that is not listed here acts.
#[rustfmt::skip]
pub const OWN_COMMANDS: &[OwnCommand] = &[
    command("tour", CommandEffect::Acts),
    command("list", CommandEffect::Reads),
    command("search", CommandEffect::Reads),
    // The body of a skill that only people may call is theirs.
    command("show", CommandEffect::ReadsUnless(&["--body"])),
    command("prompt", CommandEffect::Reads),
    // Both hand out skills that only people may call.
    command("activate", CommandEffect::Acts),
    command("read", CommandEffect::Acts),
    command("exec", CommandEffect::Acts),
    command("run", CommandEffect::Acts),
    command("serve", CommandEffect::Acts),
    command("mount", CommandEffect::Acts),
    command("link", CommandEffect::Acts),
    command("install", CommandEffect::Acts),
    command("update", CommandEffect::Acts),
    command("remove", CommandEffect::Acts),
    command("verify", CommandEffect::Reads),
    command("lock", CommandEffect::ReadsUnless(&["--output", "-o"])),
    command("pack", CommandEffect::Acts),
    command("sign", CommandEffect::Acts),
    command("gc", CommandEffect::Acts),
    command("validate", CommandEffect::ReadsUnless(&["--fix"])),
    command("scan", CommandEffect::Reads),
    command("new", CommandEffect::Acts),
    command("trust", CommandEffect::Acts),
    command("approve", CommandEffect::Acts),
    command("approvals", CommandEffect::Acts),
    command("policy check", CommandEffect::Reads),
    command("policy lint", CommandEffect::Reads),
    command("sandbox run", CommandEffect::Acts),
    // A journal can be on a server, which any address could be.
    command("audit log", CommandEffect::ReadsUnless(&["--journal"])),
    command("audit show", CommandEffect::ReadsUnless(&["--journal"])),
    command("audit verify", CommandEffect::ReadsUnless(&["--journal"])),
    command("audit replay", CommandEffect::ReadsUnless(&["--journal"])),
    command("audit export", CommandEffect::ReadsUnless(&["--journal", "--output", "-o", "--force"])),
    command("audit stats", CommandEffect::ReadsUnless(&["--journal"])),
    command("audit checkpoint", CommandEffect::Acts),
    command("config", CommandEffect::Reads),
    command("doctor", CommandEffect::ReadsUnless(&["--clean"])),
    command("digest", CommandEffect::Reads),
    command("ref validate", CommandEffect::Reads),
    command("ref read-properties", CommandEffect::Reads),
    command("ref to-prompt", CommandEffect::Reads),
    command("completions", CommandEffect::Reads),
    command("man", CommandEffect::ReadsUnless(&["--out"])),
    command("help", CommandEffect::Reads),
];

/// Options that stand before a command and change only how it prints.
const PRINTING: &[&str] = &["-q", "--quiet"];

/// The command of some words, its name first, and where its arguments begin.
fn find(words: &[Word]) -> Option<(&'static OwnCommand, usize)> {
    let is_printing = |word: &Word| {
        word.bare().is_some_and(|text| PRINTING.contains(&text) || text.starts_with("--color="))
    };
    let before = words.iter().take_while(|word| is_printing(word)).count();
    let first = words.get(before)?.literal().filter(|_| words[before].is_static())?;
    let second = words.get(before + 1).and_then(Word::literal);
    OWN_COMMANDS.iter().find_map(|command| match command.name.split_once(' ') {
        None => (command.name == first).then_some((command, before + 1)),
        Some((one, two)) => (one == first && second == Some(two)).then_some((command, before + 2)),
    })
}

/// Marks the words of a call to metier that only a rule's own words may stand for.
pub(crate) fn mark(words: &[Word], marks: &mut [bool]) {
    let Some((command, at)) = find(&words[1..]) else { return marks.fill(true) };
    let options = match command.effect {
        CommandEffect::Reads => return,
        CommandEffect::ReadsUnless(options) => options,
        CommandEffect::Acts => return marks.fill(true),
    };
    for (mark, word) in marks.iter_mut().zip(words).skip(at + 1) {
        *mark |= match word.literal().filter(|_| !word.splits && !word.globs) {
            Some(text) => options.iter().any(|option| is_option(text, option)),
            // It might become one.
            None => word.may_begin_with(b'-') || word.splits,
        };
    }
}

fn is_option(text: &str, option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(_) => text.split('=').next() == Some(option),
        // One letter, perhaps among others.
        None => text.starts_with('-') && !text.starts_with("--") && text.contains(&option[1..]),
    }
}

/// Whether a rule with a `*` for these words is of no use.
pub(crate) fn acts(first: &str, second: &str) -> bool {
    let both = format!("{first} {second}");
    let mut named = OWN_COMMANDS.iter().filter(|command| command.name == first || command.name == both);
    named.next().is_some_and(|command| command.effect == CommandEffect::Acts)
}
