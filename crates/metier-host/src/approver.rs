//! Ready-made approvers: who answers if the policy requires approval.

use std::fmt;
use std::io::{BufRead, IsTerminal as _, StderrLock, StdinLock, Write};

use metier_policy::{Answer, Approver, Lifetime, Question};
use metier_skill::visible;

/// After this many unclear answers there is no answer.
const TRIES: usize = 3;

/// The maximum number of lines of a script that are shown.
const LINES: usize = 400;

/// A function that answers.
type Answering = Box<dyn FnMut(&Question<'_>) -> Answer + Send>;

/// A ready-made approver. Implement [`Approver`] only if none of these forms fits.
///
/// ```
/// use metier_host::Approve;
/// use metier_policy::{Access, Answer, Lifetime};
///
/// // Skills may be loaded, and nothing else.
/// let careful = Approve::from_fn(|question| match question.access {
///     Access::Activate => Answer::Approve(Lifetime::Once),
///     _ => Answer::Refuse(Lifetime::Once),
/// });
/// ```
pub struct Approve {
    answering: Answering,
    how: &'static str,
}

impl Approve {
    /// Asks on the terminal (standard input and standard error). Without a terminal there is no answer.
    pub fn ask_terminal() -> Self {
        Self::at_terminal(None)
    }

    /// The same for a session that continues: an approval can apply until the session ends.
    pub fn ask_terminal_in(session: impl Into<String>) -> Self {
        Self::at_terminal(Some(session.into()))
    }

    fn at_terminal(session: Option<String>) -> Self {
        let ask = move |question: &Question<'_>| {
            TerminalApprover::attached(Lifetime::Once, session.clone())
                .map_or(Answer::Nobody, |mut person| person.ask(question))
        };
        Self::from_fn(ask).how("terminal")
    }

    /// Answers with a function.
    pub fn from_fn(answer: impl FnMut(&Question<'_>) -> Answer + Send + 'static) -> Self {
        Self { answering: Box::new(answer), how: "host" }
    }

    /// Refuses everything that needs approval.
    pub fn deny() -> Self {
        Self::from_fn(|_| Answer::Refuse(Lifetime::Once))
    }

    /// Approves everything that needs approval, each time for one use. Only for reviewed skills.
    pub fn once() -> Self {
        Self::from_fn(|_| Answer::Approve(Lifetime::Once))
    }

    /// Sets how answers are given, as it is recorded: `terminal`, `flag`, `client` or `host`.
    #[must_use]
    pub const fn how(mut self, how: &'static str) -> Self {
        self.how = how;
        self
    }
}

impl Approver for Approve {
    fn ask(&mut self, question: &Question<'_>) -> Answer {
        (self.answering)(question)
    }

    fn how(&self) -> &'static str {
        self.how
    }
}

impl fmt::Debug for Approve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approve").field("how", &self.how).finish_non_exhaustive()
    }
}

/// Asks on a terminal. Accepts only a clear yes or no.
#[derive(Debug)]
pub struct TerminalApprover<R, W> {
    input: R,
    output: W,
    /// How long a plain yes holds.
    lifetime: Lifetime,
    /// The session that a yes can hold for as well, where there will be more of it.
    session: Option<String>,
}

/// Whether standard input and standard error are a terminal, so that a question can be asked.
pub fn is_terminal_attached() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question on the terminal; `true` only for a clear yes.
pub fn confirm(question: &str) -> bool {
    let mut line = String::new();
    let mut errors = std::io::stderr().lock();
    let shown = write!(errors, "{question} [yes/no] ").and_then(|()| errors.flush());
    let read = shown.and_then(|()| std::io::stdin().lock().read_line(&mut line));
    read.is_ok() && matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Asks for a line of text on the terminal; `None` if the input ended. Call it only if [`is_terminal_attached`].
pub fn ask_line(question: &str) -> Option<String> {
    let mut line = String::new();
    let mut errors = std::io::stderr().lock();
    write!(errors, "{question}").and_then(|()| errors.flush()).ok()?;
    let read = std::io::stdin().lock().read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim().to_owned())
}

impl TerminalApprover<StdinLock<'static>, StderrLock<'static>> {
    /// An approver for the terminal of this process, if there is one.
    pub fn attached(lifetime: Lifetime, session: Option<String>) -> Option<Self> {
        let (input, output) = (std::io::stdin(), std::io::stderr());
        is_terminal_attached().then(|| Self::new(input.lock(), output.lock(), lifetime, session))
    }
}

impl<R: BufRead, W: Write> TerminalApprover<R, W> {
    /// Asks on these streams. A plain yes applies for `lifetime`; with a session, an approval can also apply for the session.
    pub const fn new(input: R, output: W, lifetime: Lifetime, session: Option<String>) -> Self {
        Self { input, output, lifetime, session }
    }

    /// What can be answered.
    fn choices(&self, question: &Question<'_>) -> String {
        let yes = format!("[y]es, {}", question.covers(&self.lifetime));
        let session = self
            .session
            .as_ref()
            .map(|id| format!("\n[s]ession: yes, {}\n", question.covers(&Lifetime::Session(id.clone()))));
        let view = if question.request.content.is_some() { "  [v]iew the script" } else { "" };
        format!("{yes}{}[n]o{view}: ", session.unwrap_or_else(|| "  ".to_owned()))
    }
}

impl<R: BufRead, W: Write> Approver for TerminalApprover<R, W> {
    fn ask(&mut self, question: &Question<'_>) -> Answer {
        let content = question.request.content;
        let choices = self.choices(question);
        let mut text = visible(&format!("{}\n{choices}", question.text())).into_owned();
        let mut unclear = 0;
        while unclear < TRIES {
            let shown = write!(self.output, "{text}").and_then(|()| self.output.flush());
            let mut line = String::new();
            let read = shown.and_then(|()| self.input.read_line(&mut line));
            text.clone_from(&choices);
            match (read, line.trim().to_ascii_lowercase().as_str(), &self.session, content) {
                // Nothing came: the terminal is gone, which is no answer.
                (Err(_) | Ok(0), ..) => return Answer::Nobody,
                (Ok(_), "y" | "yes", ..) => return Answer::Approve(self.lifetime.clone()),
                (Ok(_), "s" | "session", Some(id), _) => {
                    return Answer::Approve(Lifetime::Session(id.clone()));
                }
                // This once: what is refused for longer is said by `metier approve --refuse`.
                (Ok(_), "n" | "no", ..) => return Answer::Refuse(Lifetime::Once),
                (Ok(_), "v" | "view", _, Some(script)) => text = format!("{}\n{choices}", numbered(script)),
                (Ok(_), ..) => unclear += 1,
            }
        }
        Answer::Nobody
    }

    fn how(&self) -> &'static str {
        "terminal"
    }
}

/// A script with numbers before its lines, the first of them.
fn numbered(script: &str) -> String {
    let lines = script.lines().enumerate().take(LINES);
    let lines = lines.map(|(index, line)| format!("{:>4}  {}\n", index + 1, visible(line)));
    let more = script.lines().count().saturating_sub(LINES);
    let more = (more > 0).then(|| format!("      … {more} more lines\n"));
    lines.chain(more).collect()
}

#[cfg(test)]
mod tests {
    use metier_policy::{Access, Action, Request};
    use metier_skill::{Digest, Tier};

    use super::*;

    /// What a person is shown who types these lines, and what they answer by that.
    fn ask(typed: &str, session: Option<&str>) -> (Answer, String) {
        let arguments = ["--since".to_owned(), "v1\u{202e} x".to_owned()];
        let action = Action::Run { script: "scripts/col\u{200b}lect.sh" };
        let mut request = Request::new(Tier::User, "notes", Digest::of(b""), action);
        request.arguments = Some(&arguments);
        request.input = Some(b"a\nb");
        request.work = Some(std::path::Path::new("/repo"));
        request.content = Some("#!/bin/sh\necho \u{1b}[2Jhi\n");
        let question = Question::new(&request, Access::Scripts, "tier `user` asks");
        let mut output = Vec::new();
        let mut person = TerminalApprover {
            input: typed.as_bytes(),
            output: &mut output,
            lifetime: Lifetime::Once,
            session: session.map(str::to_owned),
        };
        let answer = person.ask(&question);
        (answer, String::from_utf8_lossy(&output).into_owned())
    }

    #[test]
    fn the_question_has_everything_and_shows_the_script() {
        let (answer, text) = ask("maybe\nview\nn\n", None);
        assert_eq!(answer, Answer::Refuse(Lifetime::Once));
        let choices = "[y]es, this once  [n]o  [v]iew the script: ";
        let asked = "Allow `notes` (your own skill) to run `scripts/col\u{fffd}lect.sh`?\n\
            \x20 arguments  --since 'v1\u{fffd} x'\n\
            \x20 variables  any\n\
            \x20 input      3 bytes: 'a\\nb'\n\
            \x20 directory  /repo\n\
            \x20 network    none\n\
            \x20 why        tier `user` asks\n\
            \x20 digest     sha256:e3b0c44298fc…\n";
        let script = "   1  #!/bin/sh\n   2  echo \u{fffd}[2Jhi\n";
        assert_eq!(text, format!("{asked}{choices}{choices}{script}\n{choices}"));
    }

    #[test]
    fn a_yes_for_a_session_says_that_it_covers_other_arguments() {
        let (_, text) = ask("n\n", Some("s1"));
        let choices = "[y]es, this once\n[s]ession: yes, with any arguments, variables and input, in any directory, until this session ends\n[n]o";
        assert!(text.contains(choices), "{text}");
    }

    #[test]
    fn answers_hold_as_long_as_they_say() {
        assert_eq!(ask("y\n", None).0, Answer::Approve(Lifetime::Once));
        assert_eq!(ask("s\n", Some("s1")).0, Answer::Approve(Lifetime::Session("s1".to_owned())));
        // Where the session ends with the command, nothing is for the session.
        assert_eq!(ask("s\ny\n", None).0, Answer::Approve(Lifetime::Once));
        assert_eq!(ask("", None).0, Answer::Nobody);
        assert_eq!(ask(&"?\n".repeat(50), None).0, Answer::Nobody);
    }
}
