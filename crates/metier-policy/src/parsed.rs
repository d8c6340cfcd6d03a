//! A call that is parsed once for every list that it is checked against: its command line, the commands in it, and what
//! they may run.

use std::sync::OnceLock;

use crate::powershell;
use crate::shell::{self, Command, Script, ShellError};
use crate::suspicion::Suspicion;
use crate::wildcard::Subject;

/// The command line of a call, parsed on first use.
#[derive(Debug)]
pub(crate) struct ParsedCall {
    /// The line; `None` if the call has none, or more than one.
    pub(crate) line: Option<String>,
    script: OnceLock<Option<Result<Script, ShellError>>>,
    suspicion: OnceLock<Suspicion>,
    powershell: OnceLock<Option<Vec<Subject>>>,
}

impl ParsedCall {
    pub(crate) fn new(line: Option<String>) -> Self {
        let (script, suspicion, powershell) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { line, script, suspicion, powershell }
    }

    /// The line as a shell parses it. `None` if there is no line.
    pub(crate) fn script(&self) -> Option<Result<&Script, ShellError>> {
        let script = self.script.get_or_init(|| self.line.as_deref().map(shell::parse));
        script.as_ref().map(|script| script.as_ref().map_err(|error| *error))
    }

    /// The commands in the line, as far as it could be parsed.
    pub(crate) fn commands(&self) -> &[Command] {
        self.script().and_then(Result::ok).map_or(&[], |script| &script.commands)
    }

    /// What the line may run, for deny rules.
    pub(crate) fn suspicion(&self) -> &Suspicion {
        self.suspicion.get_or_init(|| match self.script() {
            Some(Ok(script)) => Suspicion::of(script),
            _ => Suspicion::default(),
        })
    }

    /// The line as PowerShell parses it; `None` if it has more than plain commands.
    pub(crate) fn powershell(&self) -> Option<&[Subject]> {
        let commands =
            self.powershell.get_or_init(|| powershell::commands(self.line.as_deref().unwrap_or_default()));
        commands.as_deref()
    }
}
