//! The command line that agents run for a hook.

use std::path::{Path, PathBuf};

use metier_home::Agent;

use crate::error::GuardError;
use crate::event::{HookKind, HookRow};

/// How long a hook may take, in seconds. Agents' own limits are longer, so that a hook that hangs is a refusal.
const SECONDS: u32 = 3;

/// The program that hooks call, with its options.
///
/// ```
/// use metier_guard::{HookProgram, hook_row};
/// use metier_home::Agent;
///
/// let program = HookProgram::new("/opt/my tools/metier")?;
/// let row = hook_row(Agent::ClaudeCode, "PreToolUse").unwrap();
/// let line = program.command_line(row);
/// assert!(line.starts_with("o=$(timeout 3 '/opt/my tools/metier' hook claude PreToolUse) && "));
/// # Ok::<(), metier_guard::GuardError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram {
    program: String,
    context: Option<String>,
    suggests: bool,
}

impl HookProgram {
    /// The program at a path, which must be absolute: agents change their working directory.
    pub fn new(program: impl Into<PathBuf>) -> Result<Self, GuardError> {
        Ok(Self { program: text(program.into())?, context: None, suggests: false })
    }

    /// Describes the run that the agent belongs to: the path of a [`GuardContext`](crate::GuardContext).
    pub fn in_context(mut self, context: &Path) -> Result<Self, GuardError> {
        self.context = Some(text(context.to_owned())?);
        Ok(self)
    }

    /// Names skills that fit when a person sends a prompt.
    #[must_use]
    pub const fn suggesting(mut self) -> Self {
        self.suggests = true;
        self
    }

    /// The program and its arguments for an event.
    pub fn words(&self, row: &HookRow) -> Vec<String> {
        let mut words = vec![self.program.clone(), "hook".to_owned()];
        if let Some(context) = &self.context {
            words.extend(["--context".to_owned(), context.clone()]);
        }
        if self.suggests && row.kind == HookKind::Prompt && can_suggest(row.agent) {
            words.push("--suggest".to_owned());
        }
        words.extend([row.agent.name().to_owned(), row.event.to_owned()]);
        words
    }

    /// The command line of a hook, for a POSIX shell. If the program is missing, fails or takes too long, a call is
    /// refused, and what only informs metier is ignored.
    ///
    /// The answer is printed after the program has ended well, because some agents obey an answer of a program that
    /// failed. The refusal has a text, because some agents ignore one without.
    pub fn command_line(&self, row: &HookRow) -> String {
        let words: Vec<String> = self.words(row).iter().map(|word| quoted(word)).collect();
        let run = format!("o=$(timeout {SECONDS} {}) && printf '%s' \"$o\"", words.join(" "));
        if row.kind.refuses_on_failure() {
            format!("{run} || {{ echo 'metier: the guard failed, so this is refused' >&2; exit 2; }}")
        } else {
            format!("{run} || :")
        }
    }
}

/// Whether an agent shows its model what a prompt hook answers.
const fn can_suggest(agent: Agent) -> bool {
    !matches!(agent, Agent::Goose)
}

fn text(path: PathBuf) -> Result<String, GuardError> {
    path.into_os_string().into_string().map_err(|path| GuardError::NotText { path: path.into() })
}

/// A word as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && !word.contains('/') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
