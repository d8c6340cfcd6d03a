//! The work directory of a script: opened once, checked once, and held until the run ends.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::links::open_without_links;
use crate::private::{PrivateDirectory, Purpose};
use crate::profile::PinnedPath;
use crate::reserved::ReservedPaths;
use crate::{SandboxError, width};

/// A directory that a script may change.
///
/// A path can name another directory a moment later, so callers pass this type instead of a path. It was opened without
/// following links, all rules were checked ([`ReservedPaths`] and the directories that all programs share), and its
/// handle is kept: the directory that the sandbox mounts is compared with it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use metier_sandbox::{ReservedPaths, WorkDirectory};
///
/// # let base = tempfile::tempdir()?;
/// # let base = base.path().canonicalize()?;
/// let reserved = ReservedPaths::default().home(&base);
/// std::fs::create_dir(base.join("project"))?;
/// assert!(WorkDirectory::open(base.join("project"), &reserved).is_ok());
/// assert!(WorkDirectory::open(&base, &reserved).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct WorkDirectory(Arc<Opened>);

#[derive(Debug, Clone)]
struct Opened {
    place: PinnedPath,
    /// Protected paths in it.
    kept: Vec<PathBuf>,
    /// Home directories of the user, whose configuration other programs load there.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing runs there"))]
    homes: Vec<PathBuf>,
    /// Files from which git takes configuration, in addition to those in homes.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing runs there"))]
    git_configs: Vec<PathBuf>,
    /// If it was created for one run: removed with the last value that holds it.
    temporary: Option<Arc<PrivateDirectory>>,
}

impl Opened {
    const fn new(place: PinnedPath, temporary: Option<Arc<PrivateDirectory>>) -> Self {
        Self { place, kept: Vec::new(), homes: Vec::new(), git_configs: Vec::new(), temporary }
    }
}

impl WorkDirectory {
    /// Opens a directory and checks that it may be a work directory.
    ///
    /// A link in the path is an error ([`SandboxError::Link`]), which names its target: a host that has asked the user
    /// opens that path instead. Links directly in `/`, such as `/tmp` on macOS, belong to the system and are followed.
    /// A relative path starts in the current directory of the process, however that was reached.
    pub fn open(path: impl AsRef<Path>, reserved: &ReservedPaths) -> Result<Self, SandboxError> {
        let place = pin(path.as_ref())?;
        Self(Arc::new(Opened::new(place, None))).checked(reserved)
    }

    /// An empty directory that is removed when the last clone of this value is dropped.
    pub fn temporary() -> Result<Self, SandboxError> {
        let made = PrivateDirectory::make(Purpose::Work)?;
        let place = pin(made.path())?;
        let temporary = Some(Arc::new(made));
        Ok(Self(Arc::new(Opened::new(place, temporary))))
    }

    /// The same directory, checked against additional rules. A host that passes on a directory that another component
    /// opened calls this, so that the result does not depend on who opened it.
    pub fn checked(self, reserved: &ReservedPaths) -> Result<Self, SandboxError> {
        width::check_writable(self.place())?;
        // A directory that was just created contains nothing of the user's, wherever it is.
        if self.is_temporary() {
            return Ok(self);
        }
        let mut opened = Arc::unwrap_or_clone(self.0);
        opened.kept.extend(reserved.judge(opened.place.path())?);
        opened.kept.sort();
        opened.kept.dedup();
        opened.homes.extend_from_slice(reserved.homes());
        opened.git_configs.extend_from_slice(reserved.git_configs());
        Ok(Self(Arc::new(opened)))
    }

    /// Its path, with every link resolved, the same inside and outside of the sandbox.
    pub fn path(&self) -> &Path {
        self.0.place.path()
    }

    /// The pinned directory that is mounted.
    pub fn place(&self) -> &PinnedPath {
        &self.0.place
    }

    /// Paths in it that scripts do not change: metier's settings and skill roots.
    pub fn kept(&self) -> &[PathBuf] {
        &self.0.kept
    }

    /// Home directories of the user, as the host has named them.
    #[cfg(target_os = "linux")]
    pub(crate) fn homes(&self) -> &[PathBuf] {
        &self.0.homes
    }

    /// Files from which git takes configuration, as the host has named them.
    #[cfg(target_os = "linux")]
    pub(crate) fn git_configs(&self) -> &[PathBuf] {
        &self.0.git_configs
    }

    /// Whether it was created for one run and is removed afterwards.
    pub fn is_temporary(&self) -> bool {
        self.0.temporary.is_some()
    }
}

/// Opens a directory without following links, and determines its path.
fn pin(said: &Path) -> Result<PinnedPath, SandboxError> {
    let at = |source: io::Error| SandboxError::Path { path: said.to_owned(), source };
    let path = past_the_top(said);
    let handle = open_without_links(&path, OFlags::DIRECTORY).map_err(|error| match error {
        Errno::LOOP => SandboxError::Link { path: said.to_owned(), target: said.canonicalize().ok() },
        other => at(other.into()),
    })?;
    let real = path.canonicalize().map_err(at)?;
    let place = PinnedPath::held(real, handle).map_err(at)?;
    if !place.is(&place.path().symlink_metadata().map_err(at)?) {
        return Err(SandboxError::Swapped { path: said.to_owned() });
    }
    Ok(place)
}

/// The path with a link directly in `/` replaced by its target. Scripts cannot create links there.
fn past_the_top(path: &Path) -> PathBuf {
    let mut parts = path.components();
    let (Some(Component::RootDir), Some(Component::Normal(first))) = (parts.next(), parts.next()) else {
        return path.to_owned();
    };
    let top = Path::new("/").join(first);
    match top.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => {
            top.canonicalize().map_or_else(|_| path.to_owned(), |top| top.join(parts))
        }
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use metier_skill::Coded as _;

    use super::*;

    fn open(path: impl AsRef<Path>) -> Result<WorkDirectory, SandboxError> {
        WorkDirectory::open(path, &ReservedPaths::default())
    }

    #[test]
    fn a_link_anywhere_in_the_path_is_refused_with_where_it_leads() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/below")).unwrap();
        symlink("real", base.join("link")).unwrap();
        for (said, leads) in [("link", "real"), ("link/below", "real/below"), ("real/../link/.", "real")] {
            let error = open(base.join(said)).unwrap_err();
            let SandboxError::Link { target, .. } = &error else { panic!("{said}: {error}") };
            assert_eq!(target.as_deref(), Some(&*base.join(leads)), "{said}");
        }
        assert_eq!(open(base.join("real/../real/below")).unwrap().path(), base.join("real/below"));
    }

    #[test]
    fn files_and_what_everybody_shares_are_refused() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("file"), "").unwrap();
        for path in [Path::new("/"), Path::new("/usr/lib"), Path::new("/tmp"), &base.path().join("file")] {
            assert!(open(path).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn a_temporary_one_goes_with_the_last_that_holds_it() {
        let work = WorkDirectory::temporary().unwrap();
        let (path, other) = (work.path().to_owned(), work.clone());
        drop(work);
        assert!(path.is_dir() && other.is_temporary());
        drop(other);
        assert!(!path.exists());
    }

    #[test]
    fn private_directories_are_given_to_nobody() {
        let copy = PrivateDirectory::make(Purpose::Skill).unwrap();
        let room = copy.path().parent().unwrap();
        for path in [copy.path(), room] {
            assert_eq!(open(path).unwrap_err().code(), "sandbox-path-too-wide", "{}", path.display());
        }
    }
}
