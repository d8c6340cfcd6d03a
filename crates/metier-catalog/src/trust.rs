//! Folders that the user has marked as trusted. Each mark is a small file, so that concurrent marks do not
//! conflict and nothing needs parsing.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use metier_skill::Digest;

use crate::CatalogError;

/// The store of trust marks. Without a directory nothing is trusted.
#[derive(Debug, Clone, Default)]
pub struct TrustStore {
    directory: Option<PathBuf>,
}

impl TrustStore {
    /// The marks in a directory, which need not exist yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()) }
    }

    /// Whether this folder is marked. Marks of its parents do not count.
    pub fn is_marked(&self, folder: &Path) -> bool {
        fs::canonicalize(folder).is_ok_and(|real| self.has_mark(&real))
    }

    /// Whether this folder is marked and is not a link to a marked one.
    pub(crate) fn is_marked_itself(&self, folder: &Path) -> bool {
        fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir())
            && folder
                .parent()
                .is_some_and(|above| fs::symlink_metadata(above).is_ok_and(|meta| meta.is_dir()))
            && self.is_marked(folder)
    }

    /// Marks a folder and returns its real path. Folders below it need their own marks.
    pub fn mark(&self, folder: &Path) -> Result<PathBuf, CatalogError> {
        let real = fs::canonicalize(folder).map_err(CatalogError::read(folder))?;
        if !real.is_dir() {
            return Err(CatalogError::read(folder)(io::ErrorKind::NotADirectory.into()));
        }
        let directory = self.directory.as_deref().ok_or_else(no_directory)?;
        let write = || {
            fs::create_dir_all(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(real.as_os_str().as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(directory.join(mark_name(&real))).map_err(|error| error.error)
        };
        write().map_err(CatalogError::write(directory))?;
        Ok(real)
    }

    /// Removes the mark of a folder. Returns whether there was one.
    pub fn unmark(&self, folder: &Path) -> Result<bool, CatalogError> {
        let Some(directory) = &self.directory else { return Ok(false) };
        // The folder itself may have been removed.
        let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let mark = directory.join(mark_name(&real));
        match fs::remove_file(&mark) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(CatalogError::Write { path: mark, source }),
        }
    }

    /// All marked folders, sorted by path.
    pub fn marked(&self) -> Result<Vec<PathBuf>, CatalogError> {
        let Some(directory) = &self.directory else { return Ok(Vec::new()) };
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(CatalogError::Read { path: directory.clone(), source }),
        };
        let mut folders = Vec::new();
        for entry in entries {
            let entry = entry.map_err(CatalogError::read(directory))?;
            let Ok(content) = fs::read(entry.path()) else { continue };
            let folder = PathBuf::from(std::ffi::OsString::from_vec(content));
            // Other files are not marks.
            if entry.file_name() == *mark_name(&folder) {
                folders.push(folder);
            }
        }
        folders.sort();
        Ok(folders)
    }

    fn has_mark(&self, real: &Path) -> bool {
        let Some(directory) = &self.directory else { return false };
        fs::read(directory.join(mark_name(real))).is_ok_and(|content| content == real.as_os_str().as_bytes())
    }
}

fn mark_name(real: &Path) -> String {
    Digest::of(real.as_os_str().as_bytes()).hex()
}

fn no_directory() -> CatalogError {
    let source = io::Error::new(io::ErrorKind::NotFound, "there is no home directory to store it in");
    CatalogError::Write { path: "the trust mark".into(), source }
}
