//! A builder that runs a script and borrows the session until the script has ended.

use std::path::PathBuf;
use std::time::Duration;

use metier_sandbox::{Cancel, Network, RunLimits, Sink};

use crate::error::SessionError;
use crate::report::ScriptReport;
use crate::script::ScriptCall;
use crate::session::Session;

/// A script to run, created by [`Session::script`]. Nothing happens before [`ScriptRun::run`].
///
/// A host that needs the session while the script runs uses [`ScriptCall`] with [`Session::prepare_script`] and
/// [`Session::finish_script`] instead.
#[derive(Debug)]
#[must_use = "nothing runs before `run` is called"]
pub struct ScriptRun<'a> {
    session: &'a mut Session,
    call: ScriptCall,
    work: Option<PathBuf>,
}

impl Session {
    /// A script of a skill, by its path in the skill: without arguments, input or network access, in an empty work
    /// directory.
    ///
    /// ```no_run
    /// # fn run(session: &mut metier_session::Session) -> Result<(), metier_session::SessionError> {
    /// let report = session.script("pdf", "scripts/fill.py").arg("form.pdf").work_directory("/repo").run()?;
    /// println!("{}", report.run.stdout.text());
    /// # Ok(())
    /// # }
    /// ```
    pub fn script(&mut self, skill: impl Into<String>, script: impl Into<String>) -> ScriptRun<'_> {
        ScriptRun { session: self, call: ScriptCall::new(skill, script, None), work: None }
    }
}

impl ScriptRun<'_> {
    /// Adds an argument.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.call.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.call.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets the script's standard input.
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.call.input = input.into();
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.call.variables.insert(name.into(), value.into());
        self
    }

    /// Sets the script's network access. More than its own loopback is checked against the policy.
    pub fn network(mut self, network: Network) -> Self {
        self.call.network = network;
        self
    }

    /// Sets the directory that the script starts in and may change. Without it, the script gets an empty one that is
    /// removed afterwards.
    pub fn work_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.work = Some(path.into());
        self
    }

    /// Sets the limits on time, memory, processes and output.
    pub fn limits(mut self, limits: RunLimits) -> Self {
        self.call.limits = limits;
        self
    }

    /// Sets how long the script may take, if shorter than the limits.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.call.timeout = Some(timeout);
        self
    }

    /// Marks the script as destructive, so that the policy can require approval.
    pub const fn destructive(mut self) -> Self {
        self.call.is_destructive = true;
        self
    }

    /// Stops the script early when it is cancelled.
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.call.cancel = cancel;
        self
    }

    /// Runs the script to its end: checked against the policy, sandboxed and recorded.
    pub fn run(self) -> Result<ScriptReport, SessionError> {
        self.run_with(&mut ())
    }

    /// [`ScriptRun::run`] with a callback for output while the script runs.
    pub fn run_with(self, sink: &mut dyn Sink) -> Result<ScriptReport, SessionError> {
        let Self { session, mut call, work } = self;
        call.work = work.map(|path| session.work_directory(path)).transpose()?;
        session.run_script(call, sink)
    }
}
