//! Files that a person names: reading them, and writing them atomically. A file that does not exist is [`Exit::NotFound`] in every
//! command, a place that cannot be written to is [`Exit::Environment`].
//!
//! [`Exit::NotFound`]: crate::exit::Exit::NotFound
//! [`Exit::Environment`]: crate::exit::Exit::Environment

use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use anyhow::anyhow;
use metier_skill::{Code, Location, Rules};

use crate::exit::NotFoundError;
use crate::output::Output;

/// Whether an error says that a file or a directory on the way to it does not exist.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The error for a file that cannot be read.
pub(crate) fn cannot_read(path: &Path) -> impl Fn(io::Error) -> anyhow::Error {
    move |error| {
        if is_missing(&error) {
            return missing(path).into();
        }
        anyhow::Error::new(error).context(format!("cannot read {}", path.display()))
    }
}

/// An error if one of these files does not exist.
pub(crate) fn must_exist<'a>(
    paths: impl IntoIterator<Item = &'a (impl AsRef<Path> + 'a + ?Sized)>,
) -> Result<(), NotFoundError> {
    let gone = |path: &&Path| path.metadata().is_err_and(|error| is_missing(&error));
    let first = paths.into_iter().map(AsRef::as_ref).find(gone);
    first.map_or(Ok(()), |path| Err(missing(path)))
}

fn missing(path: &Path) -> NotFoundError {
    NotFoundError(format!("{} does not exist", path.display()))
}

/// The error for a file that cannot be written.
pub(crate) fn cannot_write(path: &Path) -> impl Fn(io::Error) -> anyhow::Error {
    move |error| {
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        match directory.filter(|directory| !directory.exists()) {
            Some(directory) => anyhow!(
                "cannot write {}: its directory does not exist; create it with `mkdir -p {}`",
                path.display(),
                directory.display()
            ),
            None => anyhow::Error::new(error).context(format!("cannot write {}", path.display())),
        }
    }
}

/// Writes a file atomically.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let written = || {
        let directory = path.parent().unwrap_or(Path::new("."));
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        // The name of the temporary file would only be in the way in an error.
        let mut file = tempfile::Builder::new()
            .permissions(permissions)
            .tempfile_in(directory)
            .map_err(|error| io::Error::from(error.kind()))?;
        file.write_all(bytes.as_ref())?;
        file.persist(path).map(drop).map_err(|error| error.error)
    };
    written().map_err(cannot_write(path))
}

/// Notes that text of the template is left in a skill which is about to be given to others.
pub(crate) fn note_placeholders(location: &Location, output: &mut Output) -> anyhow::Result<()> {
    let Ok(reading) = location.load(&Rules::lenient()) else { return Ok(()) };
    let left: Vec<_> = reading.diagnostics.iter().filter(|found| Code::is_placeholder(found.code)).collect();
    for found in &left {
        output.note(format_args!("note: {}", found.message))?;
    }
    if !left.is_empty() {
        output.note(format_args!("note: `metier validate {}` shows where", location.root().display()))?;
    }
    Ok(())
}
