//! Asking a person at the terminal.

use std::io::{BufRead, IsTerminal as _, Write};

use metier_policy::{Answer, Approver, Lifetime, Question};

use crate::output::clean;
use crate::table::one_line;

/// How often an unclear answer is asked about again.
const TRIES: usize = 3;

/// Asks on a terminal. Only a clear yes or no is an answer.
pub(crate) struct TerminalApprover<R, W> {
    input: R,
    output: W,
    /// How long an answer holds.
    lifetime: Lifetime,
}

/// Whether there is a person at this terminal.
pub(crate) fn is_somebody_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether the person at this terminal says yes.
pub(crate) fn confirm(question: &str) -> bool {
    let mut line = String::new();
    let mut errors = std::io::stderr().lock();
    let shown = write!(errors, "{question} [yes/no] ").and_then(|()| errors.flush());
    let read = shown.and_then(|()| std::io::stdin().lock().read_line(&mut line));
    read.is_ok() && matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Asks the person at this terminal when there is something to ask.
pub(crate) struct AtTerminal(pub(crate) Lifetime);

impl Approver for AtTerminal {
    fn ask(&mut self, question: &Question<'_>) -> Answer {
        person(self.0.clone()).map_or(Answer::Nobody, |mut person| person.ask(question))
    }
}

/// The person at this terminal, if there is one.
pub(crate) fn person(
    lifetime: Lifetime,
) -> Option<TerminalApprover<std::io::StdinLock<'static>, std::io::StderrLock<'static>>> {
    is_somebody_there().then(|| TerminalApprover {
        input: std::io::stdin().lock(),
        output: std::io::stderr().lock(),
        lifetime,
    })
}

impl<R: BufRead, W: Write> Approver for TerminalApprover<R, W> {
    fn ask(&mut self, question: &Question<'_>) -> Answer {
        let until = match &self.lifetime {
            Lifetime::Once => "the next time only",
            Lifetime::Session(_) => "this session",
            _ => "until the skill changes",
        };
        let request = question.request;
        let text = format!(
            "{}\n  why     {}\n  digest  {}\n  for     {until}\nApprove? [yes/no] ",
            question.text(),
            one_line(question.reason),
            request.digest
        );
        let mut question = clean(&text);
        for _ in 0..TRIES {
            let shown = write!(self.output, "{question}").and_then(|()| self.output.flush());
            let mut line = String::new();
            let read = shown.and_then(|()| self.input.read_line(&mut line));
            match (read, line.trim().to_ascii_lowercase().as_str()) {
                // Nothing came: the terminal is gone, which is no answer.
                (Err(_) | Ok(0), _) => return Answer::Nobody,
                (Ok(_), "y" | "yes") => return Answer::Approve(self.lifetime.clone()),
                (Ok(_), "n" | "no") => return Answer::Refuse(self.lifetime.clone()),
                (Ok(_), _) => "yes or no? ".clone_into(&mut question),
            }
        }
        Answer::Nobody
    }
}
