//! What is shown while an agent works: its text on standard output, and on standard error one line for each tool, skill and
//! refusal, and what was used at the end.

use std::time::Duration;

use metier_harness::{AgentEvent, AgentEventKind, Evaluation};
use serde::Serialize;
use serde_json::Value;

use crate::output::Output;
use crate::progress::Progress;
use crate::table::{counted, fit, one_line};

/// The arguments that say most about a call, the best first.
const TELLING: [&str; 12] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "skill_name",
    "pattern",
    "query",
    "url",
    "script_name",
    "description",
    "prompt",
];

/// How long a line may be where it does not go to a terminal.
const LONGEST: usize = 120;

/// What is shown while the agent works.
#[expect(clippy::struct_excessive_bools, reason = "each is a choice or a state of its own")]
pub(super) struct Shown<'a> {
    output: &'a mut Output,
    agent: &'a str,
    is_json: bool,
    has_schema: bool,
    /// Whether the conversation can be resumed.
    is_kept: bool,
    /// Whether a text was begun and its line is not ended.
    is_open: bool,
    /// Whether any text was shown.
    is_told: bool,
    /// Whether the agent was just told that it may not do something, which the result of the call repeats.
    is_denied: bool,
    /// The line that shows that the agent works.
    waiting: Option<Progress>,
}

/// The last line of `--json`.
#[derive(Serialize)]
struct Finished<'a, T> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    answer: &'a Evaluation<T>,
}

impl<'a> Shown<'a> {
    /// Begins to show what an agent with this name does.
    pub(super) fn new(
        output: &'a mut Output,
        agent: &'a str,
        is_json: bool,
        has_schema: bool,
        is_kept: bool,
    ) -> Self {
        let (is_open, is_told, is_denied, waiting) = (false, false, false, None);
        let mut shown =
            Self { output, agent, is_json, has_schema, is_kept, is_open, is_told, is_denied, waiting };
        shown.wait(&format!("starting {agent}"));
        shown
    }

    pub(super) fn event(&mut self, event: &AgentEvent) {
        // If nothing can be shown any more, the agent finishes all the same, and what it did is in the journal.
        let _ = self.try_event(event);
    }

    fn try_event(&mut self, event: &AgentEvent) -> std::io::Result<()> {
        if self.is_json {
            self.output.json_lines(event)?;
            return self.output.flush();
        }
        let by = if event.subagent.is_some() { "subagent: " } else { "" };
        match &event.kind {
            // A typed answer is printed as a whole, when it is known to have the type.
            AgentEventKind::Text { text } if !self.has_schema && event.subagent.is_none() => self.text(text),
            AgentEventKind::ToolCall { tool, arguments, skill: None, .. } => {
                self.note(&format!("{by}tool: {}", called(tool, arguments)))?;
                self.wait(&format!("running {}", one_line(tool)));
                Ok(())
            }
            AgentEventKind::ToolResult { text, is_error: true, .. }
                if !std::mem::take(&mut self.is_denied) =>
            {
                let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("without a message");
                self.noted(&format!("{by}failed: {}", one_line(first)))
            }
            AgentEventKind::Started { .. } | AgentEventKind::ToolResult { .. } => {
                self.working();
                Ok(())
            }
            AgentEventKind::SkillActivated { name, digest, .. } => {
                let digest = digest.map(|digest| format!(" ({})", &digest.to_string()[..19]));
                self.noted(&format!("{by}skill: {name}{}", digest.unwrap_or_default()))
            }
            AgentEventKind::PermissionAsked { .. } => {
                // The person may be asked now.
                self.waiting = None;
                self.end_line()
            }
            AgentEventKind::PermissionAnswered { is_allowed: false, reason, .. } => {
                self.is_denied = true;
                self.wrapped(&format!("{by}denied: {}", one_line(reason)))
            }
            AgentEventKind::Repairing { reason } => {
                self.wrapped(&format!("note: the answer does not match the schema ({reason}); asking again"))
            }
            AgentEventKind::Notice { text } => self.wrapped(&format!("note: {}", one_line(text))),
            _ => Ok(()),
        }
    }

    fn text(&mut self, text: &str) -> std::io::Result<()> {
        self.waiting = None;
        (self.is_open, self.is_told) = (!text.ends_with('\n'), true);
        self.output.text(text)?;
        self.output.flush()
    }

    /// One line to standard error, after a text that was begun.
    fn note(&mut self, line: &str) -> std::io::Result<()> {
        let columns = self.output.note_columns().unwrap_or(LONGEST);
        self.wrapped_now(&fit(line, columns))
    }

    /// The same, and then the agent goes on.
    fn noted(&mut self, line: &str) -> std::io::Result<()> {
        self.note(line)?;
        self.working();
        Ok(())
    }

    /// A note that may take several lines.
    fn wrapped(&mut self, line: &str) -> std::io::Result<()> {
        self.wrapped_now(line)?;
        self.working();
        Ok(())
    }

    fn wrapped_now(&mut self, line: &str) -> std::io::Result<()> {
        self.waiting = None;
        self.end_line()?;
        self.output.note(line)
    }

    fn working(&mut self) {
        self.wait(&format!("{} is working", self.agent));
    }

    /// Shows what is waited for, unless a line of text is not ended.
    fn wait(&mut self, what: &str) {
        self.waiting = None;
        if !self.is_json && !self.is_open {
            self.waiting = Some(Progress::begin(self.output, what));
        }
    }

    fn end_line(&mut self) -> std::io::Result<()> {
        if std::mem::take(&mut self.is_open) {
            self.output.text("\n")?;
        }
        Ok(())
    }

    /// The evaluation has ended, with or without an answer.
    pub(super) fn stop(mut self) -> &'a mut Output {
        self.waiting = None;
        // As above.
        let _ = self.end_line();
        self.output
    }

    pub(super) fn end<T: Serialize>(
        &mut self,
        answer: &Evaluation<T>,
        value: Option<&Value>,
    ) -> std::io::Result<()> {
        self.waiting = None;
        if self.is_json {
            return self.output.json_lines(&Finished { kind: "result", answer });
        }
        match value {
            Some(value) => self.output.json(value)?,
            // Some agents say it only at the end.
            None if !self.is_told && !answer.text.is_empty() => self.text(&answer.text)?,
            None => {}
        }
        self.end_line()?;
        self.output.note(summary(answer))?;
        match &answer.session_id {
            Some(id) if self.is_kept => {
                self.output.note(format_args!("continue with --resume {}", one_line(id)))
            }
            _ => Ok(()),
        }
    }
}

/// A call in one line: the tool, and the argument that says most.
fn called(tool: &str, arguments: &Value) -> String {
    let tool = one_line(tool);
    let telling = TELLING.iter().find_map(|name| arguments.get(name).and_then(words));
    let plain = || match arguments {
        Value::Null => String::new(),
        Value::Object(members) if members.is_empty() => String::new(),
        _ => arguments.to_string(),
    };
    format!("{tool} {}", one_line(&telling.unwrap_or_else(plain))).trim_end().to_owned()
}

/// A text, or the words of a command.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    }
}

/// What was used: model, requests, tokens, money, tools, skills, time.
fn summary<T>(answer: &Evaluation<T>) -> String {
    let usage = answer.usage.counted();
    let count = |count: u64, noun: &str| counted(usize::try_from(count).unwrap_or(usize::MAX), noun);
    let mut parts = vec![
        count(answer.turns, "model request"),
        count(usage.input, "input token"),
        count(usage.output, "output token"),
    ];
    parts.extend(answer.cost.map(|cost| cost.to_string()));
    if answer.tool_calls > 0 {
        parts.push(count(answer.tool_calls, "tool call"));
    }
    if !answer.skills.is_empty() {
        parts.push(counted(answer.skills.len(), "skill"));
    }
    parts.push(time(answer.duration));
    format!("{}: {}", one_line(answer.model.as_deref().unwrap_or("unknown model")), parts.join(", "))
}

fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds / 60 {
        0 if seconds < 10 => format!("{:.1} s", duration.as_secs_f64()),
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {} s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_the_tool_and_what_it_is_about() {
        assert_eq!(called("Bash", &json!({ "description": "x", "command": "git\n log" })), "Bash git log");
        assert_eq!(called("shell", &json!({ "command": ["bash", "-lc", "ls"] })), "shell bash -lc ls");
        assert_eq!(called("Read", &json!({ "limit": 3, "file_path": "/a" })), "Read /a");
        assert_eq!(called("lint", &json!({ "paths": ["a"] })), r#"lint {"paths":["a"]}"#);
        assert_eq!(called("tests", &json!({})), "tests");
        assert_eq!(called("a\u{1b}[2J", &Value::Null), "a\u{fffd}[2J");
    }

    #[test]
    fn time_is_short() {
        assert_eq!(time(Duration::from_millis(1_240)), "1.2 s");
        assert_eq!(time(Duration::from_millis(59_900)), "59 s");
        assert_eq!(time(Duration::from_secs(61)), "1 min 1 s");
    }
}
