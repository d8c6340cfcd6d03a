//! The work directory that a command names.

use std::path::{Path, PathBuf};

use metier_host::{HostError, Metier};
use metier_sandbox::{ReservedPaths, SandboxError, WorkDirectory};

use crate::exit::UsageError;
use crate::output::{Output, clean};

/// Which directory a command works in.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkArgs {
    /// Directory that it works in and may change [default: the current directory]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,

    /// Follow links in the path of that directory, and print where they lead
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

/// Prints the work directory if it is not the path that was given.
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

/// An error about a link, with the options that avoid it.
pub(crate) fn advised(error: HostError) -> anyhow::Error {
    let HostError::Sandbox(SandboxError::Link { path, target }) = &error else { return error.into() };
    let Some(target) = target else { return UsageError(clean(&error.to_string())).into() };
    let (path, target) = (path.display(), target.display());
    let message = format!(
        "`{path}` goes through a link to `{target}`; to use that directory, give `--work {target}` or `--follow-links`"
    );
    UsageError(clean(&message)).into()
}
