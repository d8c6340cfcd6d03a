//! The short way to run a script: a builder that borrows the session until the script has ended.

use std::path::PathBuf;
use std::time::Duration;

use metier_sandbox::{Cancel, Network, RunLimits, Sink};

use crate::error::SessionError;
use crate::report::ScriptReport;
use crate::script::ScriptCall;
use crate::session::Session;

/// A script to run, made by [`Session::script`]. Nothing happens before [`ScriptRun::run`].
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
    /// A script of a skill, by its path in the skill: without arguments, input or network, in an empty work directory.
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

    /// What the script reads from its standard input.
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.call.input = input.into();
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.call.variables.insert(name.into(), value.into());
        self
    }

    /// What of the network the script may reach. More than its own loopback is asked of the policy.
    pub fn network(mut self, network: Network) -> Self {
        self.call.network = network;
        self
    }

    /// The directory that the script starts in and may change. Without it, the script gets an empty one that is removed
    /// afterwards.
    pub fn work_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.work = Some(path.into());
        self
    }

    /// Bounds on time, memory, processes and output.
    pub fn limits(mut self, limits: RunLimits) -> Self {
        self.call.limits = limits;
        self
    }

    /// How long the script may take, if that is less than the limits allow.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.call.timeout = Some(timeout);
        self
    }

    /// Says that the script does what cannot be undone, so that the policy can ask about that.
    pub const fn destructive(mut self) -> Self {
        self.call.is_destructive = true;
        self
    }

    /// Ends the script early when it is cancelled.
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.call.cancel = cancel;
        self
    }

    /// Runs the script to its end: asked of the policy, contained, recorded.
    pub fn run(self) -> Result<ScriptReport, SessionError> {
        self.run_with(&mut ())
    }

    /// [`ScriptRun::run`], and hands on what the script prints while it runs.
    pub fn run_with(self, sink: &mut dyn Sink) -> Result<ScriptReport, SessionError> {
        let Self { session, mut call, work } = self;
        call.work = work.map(|path| session.work_directory(path)).transpose()?;
        session.run_script(call, sink)
    }
}
