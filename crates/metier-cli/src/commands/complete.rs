//! `metier complete`: what a shell completes. The scripts of `metier completions` call it; people do not.
//!
//! It finds the argument that is being typed by walking over the words before it, as the parser would.

mod values;

use std::collections::BTreeMap;

use clap::{Arg, ArgAction};
use metier_skill::is_invisible;

use crate::exit::Exit;
use crate::output::Output;
use crate::table::{fit, one_line};

/// Print the completions of a word, for the shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The word to complete
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    word: String,

    /// The words before it, without the name of the program
    #[arg(last = true)]
    before: Vec<String>,
}

/// The longest description that is shown beside a completion, in columns.
const ABOUT: usize = 60;

/// What the shell completes by itself, in addition to the given words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paths {
    None,
    Files,
    Directories,
}

impl Paths {
    const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Files => "files",
            Self::Directories => "directories",
        }
    }
}

/// A word that completes another one, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    word: String,
    about: String,
}

impl Candidate {
    fn new(word: impl Into<String>, about: &str) -> Self {
        Self { word: word.into(), about: fit(&one_line(about), ABOUT) }
    }

    /// A shell would run or misread a word with a line feed or an invisible character.
    fn is_plain(&self) -> bool {
        !self.word.is_empty() && !self.word.contains(|c| is_invisible(c) || matches!(c, '\n' | '\t'))
    }
}

/// Prints the kind of paths to complete, then one completion per line, with a tab before its description.
pub(crate) fn run(args: &Args, mut command: clap::Command, output: &mut Output) -> anyhow::Result<Exit> {
    command.build();
    let (paths, candidates) = Position::after(&command, &args.before).complete(&args.word);
    let mut text = format!("{}\n", paths.as_str());
    for Candidate { word, about } in candidates.iter().filter(|candidate| candidate.is_plain()) {
        text.push_str(word);
        if !about.is_empty() {
            text.push('\t');
            text.push_str(about);
        }
        text.push('\n');
    }
    output.text(&text)?;
    Ok(Exit::Done)
}

/// Where in a command line a word stands.
struct Position<'a> {
    command: &'a clap::Command,
    /// The command's words, such as `audit log`.
    name: String,
    /// The values that were given so far, by argument. Flags have none.
    given: BTreeMap<&'a str, Vec<&'a str>>,
    /// The option whose value comes next.
    pending: Option<&'a Arg>,
    /// How many positional arguments were given.
    count: usize,
    /// Whether `--` was given, after which nothing is an option.
    is_escaped: bool,
}

impl<'a> Position<'a> {
    /// The position after these words.
    fn after(command: &'a clap::Command, words: &'a [String]) -> Self {
        let mut position = Self {
            command,
            name: String::new(),
            given: BTreeMap::new(),
            pending: None,
            count: 0,
            is_escaped: false,
        };
        // Some shells pass an empty word for none.
        for word in words.iter().filter(|word| !word.is_empty()) {
            position.step(word);
        }
        position
    }

    fn step(&mut self, word: &'a str) {
        if let Some(option) = self.pending {
            // bash makes `--option=value` three words.
            if word != "=" {
                self.pending = None;
                self.give(option, Some(word));
            }
            return;
        }
        match word.strip_prefix("--") {
            _ if self.is_escaped => self.positional(word),
            Some("") => (self.is_escaped, self.count) = (true, self.after_escape()),
            Some(long) => {
                let (long, value) = long.split_once('=').map_or((long, None), |(l, v)| (l, Some(v)));
                self.option(self.by_long(long), value);
            }
            None => match word.strip_prefix('-').filter(|shorts| !shorts.is_empty()) {
                Some(shorts) => self.shorts(shorts),
                None => self.positional(word),
            },
        }
    }

    fn give(&mut self, argument: &'a Arg, value: Option<&'a str>) {
        self.given.entry(argument.get_id().as_str()).or_default().extend(value);
    }

    fn by_long(&self, long: &str) -> Option<&'a Arg> {
        self.command.get_arguments().find(|argument| argument.get_long() == Some(long))
    }

    fn option(&mut self, option: Option<&'a Arg>, value: Option<&'a str>) {
        let Some(option) = option else { return };
        let needs_value = option.get_num_args().is_none_or(|values| values.min_values() > 0);
        if takes_value(option) && needs_value && value.is_none() {
            self.pending = Some(option);
        } else {
            self.give(option, value);
        }
    }

    /// Short options in one word: the first that takes a value takes the rest of the word.
    fn shorts(&mut self, shorts: &'a str) {
        for (at, short) in shorts.char_indices() {
            let option = self.command.get_arguments().find(|one| one.get_short() == Some(short));
            let rest = &shorts[at + short.len_utf8()..];
            if option.is_some_and(takes_value) {
                return self.option(option, (!rest.is_empty()).then_some(rest));
            }
            self.option(option, None);
        }
    }

    fn positional(&mut self, word: &'a str) {
        if self.count == 0
            && !self.is_escaped
            && let Some(below) = self.command.find_subcommand(word)
        {
            self.command = below;
            if !self.name.is_empty() {
                self.name.push(' ');
            }
            self.name.push_str(below.get_name());
            return;
        }
        if let Some(argument) = self.next_positional() {
            self.give(argument, Some(word));
        }
        self.count += 1;
    }

    /// The positional argument that comes next; the last one again if it takes several values.
    fn next_positional(&self) -> Option<&'a Arg> {
        let all: Vec<&Arg> =
            self.command.get_positionals().filter(|one| self.is_escaped || !one.is_last_set()).collect();
        let several = |argument: &&&Arg| {
            matches!(argument.get_action(), ArgAction::Append)
                || argument.get_num_args().is_some_and(|values| values.max_values() > 1)
        };
        all.get(self.count).or_else(|| all.last().filter(several)).copied()
    }

    /// The number of the positional argument that `--` leads to.
    fn after_escape(&self) -> usize {
        let last = self.command.get_positionals().position(Arg::is_last_set);
        last.unwrap_or(self.count)
    }

    fn complete(&self, word: &str) -> (Paths, Vec<Candidate>) {
        if let Some(option) = self.pending {
            return self.values(option, if word == "=" { "" } else { word }, "");
        }
        if !self.is_escaped && word.starts_with('-') {
            let typed = word.split_once('=');
            if let Some((option, value)) = typed
                && let Some(argument) = option.strip_prefix("--").and_then(|long| self.by_long(long))
            {
                return self.values(argument, value, &format!("{option}="));
            }
            return (Paths::None, matching(self.options(), word));
        }
        let mut candidates = Vec::new();
        if self.count == 0 && !self.is_escaped {
            let below = self.command.get_subcommands().filter(|below| !below.is_hide_set());
            candidates.extend(below.map(|below| Candidate::new(below.get_name(), &about(below.get_about()))));
        }
        let mut candidates = matching(candidates, word);
        let Some(argument) = self.next_positional() else { return (Paths::None, candidates) };
        let (paths, values) = self.values(argument, word, "");
        candidates.extend(values);
        (paths, candidates)
    }

    /// The values of an argument that begin with a word, each after a prefix.
    fn values(&self, argument: &Arg, word: &str, prefix: &str) -> (Paths, Vec<Candidate>) {
        let (paths, all) = values::of(self, argument, word);
        let mut candidates = matching(all, word);
        for candidate in &mut candidates {
            candidate.word.insert_str(0, prefix);
        }
        (paths, candidates)
    }

    /// The options that can still be given.
    fn options(&self) -> Vec<Candidate> {
        let can_follow = |option: &&Arg| {
            let is_repeated = matches!(option.get_action(), ArgAction::Append | ArgAction::Count);
            !option.is_hide_set() && (is_repeated || !self.given.contains_key(option.get_id().as_str()))
        };
        let options = self.command.get_arguments().filter(can_follow);
        let named = options.filter_map(|option| {
            let name = option.get_long().map(|long| format!("--{long}"));
            let name = name.or_else(|| Some(format!("-{}", option.get_short()?)))?;
            Some(Candidate::new(name, &about(option.get_help())))
        });
        named.collect()
    }

    /// The values that were given to an argument.
    fn given(&self, argument: &str) -> &[&'a str] {
        self.given.get(argument).map(Vec::as_slice).unwrap_or_default()
    }
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

fn matching(candidates: Vec<Candidate>, word: &str) -> Vec<Candidate> {
    candidates.into_iter().filter(|candidate| candidate.word.starts_with(word)).collect()
}

fn about(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    /// What a command line is completed with; its last word is the one that is typed.
    fn complete(line: &str) -> (Paths, Vec<String>) {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let word = words.pop().unwrap();
        let mut command = Cli::command();
        command.build();
        let (paths, candidates) = Position::after(&command, &words).complete(&word);
        (paths, candidates.into_iter().map(|candidate| candidate.word).collect())
    }

    #[test]
    fn commands_options_and_fixed_values_are_completed() {
        for (line, expected) in [
            ("vali", &["validate"][..]),
            (" vali", &["validate"]),
            ("audit ver", &["verify"]),
            ("--quiet aud", &["audit"]),
            ("help audit ver", &["verify"]),
            ("validate --strict --fi", &["--fix"]),
            ("validate --format git", &["github"]),
            ("validate --format = git", &["github"]),
            ("validate --format =", &["text", "concise", "json", "sarif", "github"]),
            ("validate --format=git", &["--format=github"]),
            ("list --profile st", &["strict", "standard"]),
            ("run co", &["codex", "copilot"]),
            ("run claude --rename ver", &["verbatim"]),
            ("serve --print-config=cur", &["--print-config=cursor"]),
            ("sandbox run --profile o", &["org"]),
            ("completions zs", &["zsh"]),
            // What was given and can be given only once is not offered again.
            ("validate --fix --fi", &[]),
            ("list --root a --roo", &["--root"]),
            ("nosuch ver", &[]),
            // The helper itself is for shells.
            ("comple", &["completions"]),
        ] {
            assert_eq!(complete(line).1, expected, "{line}");
        }
    }

    #[test]
    fn paths_are_left_to_the_shell() {
        for (line, paths) in [
            ("validate ", Paths::Files),
            ("list --root ", Paths::Directories),
            ("exec a b --work=", Paths::Directories),
            ("exec a b -- ", Paths::Files),
            ("sandbox run -- ", Paths::Files),
            ("mount ", Paths::Directories),
            ("lock -o ", Paths::Files),
            ("activate ./", Paths::Directories),
            ("run claude ~/s", Paths::Directories),
            ("search ", Paths::None),
            ("list --color ", Paths::None),
        ] {
            assert_eq!(complete(line).0, paths, "{line}");
        }
    }

    #[test]
    fn no_completion_can_break_a_command_line() {
        for (word, is_plain) in
            [("pdf", true), ("a b", true), ("a\nb", false), ("a\u{202e}b", false), ("", false)]
        {
            assert_eq!(Candidate::new(word, "").is_plain(), is_plain, "{word:?}");
        }
        assert_eq!(Candidate::new("a", "one\ttwo\nthree").about, "one two three");
    }
}
