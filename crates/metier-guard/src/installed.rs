//! Hooks of the guard, as they are found in the files of agents.

use metier_home::Agent;
use serde_json::Value;

use crate::event::hook_row;

/// A hook of the guard that was found in a file of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledHook {
    /// The program that it calls.
    pub program: String,
    /// The agent that it is for.
    pub agent: Agent,
    /// Its event.
    pub event: String,
    /// Whether it names skills that fit a prompt.
    pub suggests: bool,
    /// Its group in the list of its event, and its place in the group: Codex trusts hooks by that.
    pub place: (usize, usize),
}

impl InstalledHook {
    /// The hook of a command line, if it is one that [`HookProgram`](crate::HookProgram) writes.
    ///
    /// ```
    /// use metier_guard::{HookProgram, InstalledHook, hook_row};
    /// use metier_home::Agent;
    ///
    /// let row = hook_row(Agent::Codex, "PreToolUse").unwrap();
    /// let line = HookProgram::new("/it's/metier")?.command_line(row);
    /// let hook = InstalledHook::parse(&line).unwrap();
    /// assert_eq!((hook.program.as_str(), hook.agent, hook.event.as_str()), ("/it's/metier", Agent::Codex, "PreToolUse"));
    /// assert!(InstalledHook::parse("timeout 3 metier hook codex PreToolUse").is_none());
    /// # Ok::<(), metier_guard::GuardError>(())
    /// ```
    pub fn parse(line: &str) -> Option<Self> {
        let (command, _) = line.strip_prefix("o=$(timeout ")?.split_once(") && printf '%s' \"$o\"")?;
        let (_, command) = command.split_once(' ')?;
        Self::of_words(&words(command)?)
    }

    /// The hook of a program and its arguments.
    fn of_words(words: &[String]) -> Option<Self> {
        let [program, hook, options @ .., agent, event] = words else { return None };
        let agent = Agent::ALL.into_iter().find(|one| one.name() == agent)?;
        if hook != "hook" || hook_row(agent, event).is_none() {
            return None;
        }
        let suggests = options.iter().any(|option| option == "--suggest");
        Some(Self { program: program.clone(), agent, event: event.clone(), suggests, place: (0, 0) })
    }

    /// The hooks in a file that belongs to the guard as a whole; empty if it is another file.
    ///
    /// ```
    /// use metier_guard::{GuardContent, HookProgram, InstalledHook, guard_files};
    /// use metier_home::Agent;
    ///
    /// let program = HookProgram::new("/usr/bin/metier")?;
    /// for agent in [Agent::OpenCode, Agent::Goose, Agent::Copilot] {
    ///     let files = guard_files(agent, &program, "metier-1");
    ///     let Some(GuardContent::Whole(text)) = files.last().map(|file| &file.content) else { panic!() };
    ///     assert!(InstalledHook::all_in(text).iter().all(|hook| hook.agent == agent && hook.program == "/usr/bin/metier"));
    ///     assert!(!InstalledHook::all_in(text).is_empty());
    /// }
    /// # Ok::<(), metier_guard::GuardError>(())
    /// ```
    pub fn all_in(text: &str) -> Vec<Self> {
        if let Ok(settings) = serde_json::from_str::<Value>(text) {
            let mut found = Vec::new();
            each_command(&settings, &mut |line| found.extend(Self::parse(line)));
            return found;
        }
        // The plugin has the programs of all events in one object.
        let object = text.split_once("const COMMANDS = ").and_then(|(_, rest)| rest.split_once("\n}\n"));
        let commands = object.and_then(|(object, _)| {
            serde_json::from_str::<serde_json::Map<String, Value>>(&format!("{object}\n}}")).ok()
        });
        let hook = |words: &Value| {
            let words: Vec<String> = serde_json::from_value(words.clone()).ok()?;
            Self::of_words(&words)
        };
        commands.unwrap_or_default().values().filter_map(hook).collect()
    }
}

/// Every command line in settings.
fn each_command(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match member.as_str().filter(|_| key == "command" || key == "bash") {
                    Some(line) => found(line),
                    None => each_command(member, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|one| each_command(one, found)),
        _ => {}
    }
}

/// The words of a command whose words are plain or in single quotes. `None` for anything else.
fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut rest) = (Vec::new(), None::<String>, command);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            ' ' => words.extend(word.take()),
            '\'' => {
                let (quoted, after) = rest.split_once('\'')?;
                word.get_or_insert_default().push_str(quoted);
                rest = after;
            }
            '\\' => {
                let escaped = rest.chars().next()?;
                word.get_or_insert_default().push(escaped);
                rest = &rest[escaped.len_utf8()..];
            }
            c if "\"$`;&|<>()\n".contains(c) => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}
