//! metier's own commands: which of them only read, so that a rule with a `*` may allow them.

use crate::shell::Word;

/// One metier command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnCommand {
    /// Its words, such as `audit log`.
    pub name: &'static str,
    /// What it does.
    pub effect: CommandEffect,
}

/// What a metier command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandEffect {
    /// It reads and prints, with any options.
    Reads,
    /// It reads and prints, except with one of these options.
    ReadsUnless(&'static [&'static str]),
    /// It runs, writes or approves something, or returns content that a model must not request by itself.
    Acts,
}

const fn command(name: &'static str, effect: CommandEffect) -> OwnCommand {
    OwnCommand { name, effect }
}

/// Every command and what it does. A command that is not listed here counts as acting.
#[rustfmt::skip]
pub const OWN_COMMANDS: &[OwnCommand] = &[
    command("tour", CommandEffect::Acts),
    command("list", CommandEffect::Reads),
    command("search", CommandEffect::Reads),
    // The body of a skill that only people may call must not go to models.
    command("show", CommandEffect::ReadsUnless(&["--body"])),
    command("prompt", CommandEffect::Reads),
    // Both return skills that only people may call.
    command("activate", CommandEffect::Acts),
    command("read", CommandEffect::Acts),
    command("exec", CommandEffect::Acts),
    command("run", CommandEffect::Acts),
    command("ask", CommandEffect::Acts),
    command("serve", CommandEffect::Acts),
    command("gateway", CommandEffect::Acts),
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
    command("guard install", CommandEffect::Acts),
    command("guard status", CommandEffect::Reads),
    command("guard remove", CommandEffect::Acts),
    command("guard log", CommandEffect::Reads),
    command("guard deactivate", CommandEffect::Acts),
    // A journal can be on a server, which can be any host.
    command("audit log", CommandEffect::ReadsUnless(&["--journal"])),
    command("audit show", CommandEffect::ReadsUnless(&["--journal"])),
    command("audit verify", CommandEffect::ReadsUnless(&["--journal"])),
    command("audit replay", CommandEffect::ReadsUnless(&["--journal"])),
    command("audit export", CommandEffect::ReadsUnless(&["--journal", "--output", "-o", "--force"])),
    command("audit stats", CommandEffect::ReadsUnless(&["--journal"])),
    command("audit checkpoint", CommandEffect::Acts),
    command("audit archive", CommandEffect::Acts),
    command("config", CommandEffect::Reads),
    command("doctor", CommandEffect::ReadsUnless(&["--clean"])),
    command("digest", CommandEffect::Reads),
    command("ref validate", CommandEffect::Reads),
    command("ref read-properties", CommandEffect::Reads),
    command("ref to-prompt", CommandEffect::Reads),
    command("completions", CommandEffect::Reads),
    // The journal whose sessions it lists can be on a server.
    command("complete", CommandEffect::Acts),
    // It writes states and the journal.
    command("hook", CommandEffect::Acts),
    command("man", CommandEffect::ReadsUnless(&["--out"])),
    command("help", CommandEffect::Reads),
];

/// Options before a command that change only how it prints.
const PRINTING: &[&str] = &["-q", "--quiet"];

/// The command that some words name, its name first, and where its arguments start.
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

/// Marks the words of a metier call that only a rule's literal words may match.
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
            // It may expand to an option.
            None => word.may_begin_with(b'-') || word.splits,
        };
    }
}

fn is_option(text: &str, option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(_) => text.split('=').next() == Some(option),
        // One letter, possibly combined with others.
        None => text.starts_with('-') && !text.starts_with("--") && text.contains(&option[1..]),
    }
}

/// Whether a rule with a `*` for these words has no effect.
pub(crate) fn acts(first: &str, second: &str) -> bool {
    let both = format!("{first} {second}");
    let mut named = OWN_COMMANDS.iter().filter(|command| command.name == first || command.name == both);
    named.next().is_some_and(|command| command.effect == CommandEffect::Acts)
}
