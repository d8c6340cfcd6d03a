//! Systems whose kernel we cannot ask to contain anything: the same names, and every script is refused.

use std::path::PathBuf;

use crate::SandboxError;
use crate::executor::{Executor, Job, Outcome, Sink};
use crate::protection::Protections;

/// Runs nothing here; a [`Container`](crate::Container) can.
#[derive(Debug, Clone, Default)]
pub struct Local;

impl Local {
    /// The executor of this machine.
    pub const fn new() -> Self {
        Self
    }

    /// The same.
    pub fn with_launcher(_: impl Into<PathBuf>) -> Self {
        Self
    }
}

impl Executor for Local {
    fn run(&self, _: &Job, _: &mut dyn Sink) -> Result<Outcome, SandboxError> {
        Err(SandboxError::Unsupported)
    }
}

/// There is no launcher here.
pub const fn launch_if_asked() {}

/// Nothing can be had here.
pub const fn probe(_: &Local) -> Result<Protections, SandboxError> {
    Err(SandboxError::Unsupported)
}

/// Nothing of this system is shown to scripts.
pub const fn system_paths() -> Vec<PathBuf> {
    Vec::new()
}
