//! The work directory that a command names.

use std::path::{Path, PathBuf};

use metier_host::{HostError, Metier};
use metier_sandbox::{ReservedPaths, SandboxError, WorkDirectory};

use crate::exit::UsageError;
use crate::output::{Output, clean};

/// Which directory a command works in.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkArgs {
    /// The directory it works in and may change [default: this directory]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,

    /// Follow links in the path of that directory; where they lead is shown
    #[arg(long)]
    follow_links: bool,
}

impl WorkArgs {
    /// The directory that was named, if one was.
    pub(crate) fn named(
        &self,
        metier: &Metier,
        reserved: &ReservedPaths,
        output: &mut Output,
    ) -> anyhow::Result<Option<WorkDirectory>> {
        self.work.as_ref().map(|work| self.open(work, metier, reserved, output)).transpose()
    }

    /// Another directory that may be changed, by the same rules.
    pub(crate) fn open(
        &self,
        path: &Path,
        metier: &Metier,
        reserved: &ReservedPaths,
        output: &mut Output,
    ) -> anyhow::Result<WorkDirectory> {
        let work = metier.work_directory(path, self.follow_links, reserved).map_err(advised)?;
        note(&work, path, metier, output)?;
        Ok(work)
    }
}

/// Says which directory it is if that is not what was said.
pub(crate) fn note(
    work: &WorkDirectory,
    said: &Path,
    metier: &Metier,
    output: &mut Output,
) -> anyhow::Result<()> {
    if work.path() != metier.environment().absolute(said) {
        let path = clean(&work.path().display().to_string());
        output.note(format_args!("note: the work directory is {path}"))?;
    }
    Ok(())
}

/// An error about a link, with what to say instead.
pub(crate) fn advised(error: HostError) -> anyhow::Error {
    let HostError::Sandbox(SandboxError::Link { path, target }) = &error else { return error.into() };
    let Some(target) = target else { return UsageError(clean(&error.to_string())).into() };
    let (path, target) = (path.display(), target.display());
    let message = format!(
        "`{path}` leads through a link to `{target}`; if you mean that directory, say `--work {target}` or `--follow-links`"
    );
    UsageError(clean(&message)).into()
}
