//! The location of a skill's files, and the only way to read them: beneath a handle, or from inside the binary.

use std::io;
use std::path::Path;

use metier_catalog::{Builtin, Catalog, Entry};
use metier_skill::{CapturedSkill, Digest, Folder, Limits, Manifest, ManifestFile, SkillError, TreeWriter};
use metier_store::{Store, StoreError};

/// How often a skill that changes while it is read is read again.
const TRIES: usize = 3;

/// The current content of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillFiles {
    /// Its files, with their digests.
    pub manifest: Manifest,
    /// The size of each file in bytes, in the order of the manifest.
    pub sizes: Vec<u64>,
    /// The content of its `SKILL.md`.
    pub skill_md: Vec<u8>,
}

/// Reads a skill without using it: nothing is given to a model, and nothing is recorded.
pub fn skill_files(catalog: &Catalog, entry: &Entry, limits: &Limits) -> Result<SkillFiles, SkillError> {
    let mut sizes = Vec::new();
    let captured = Source::open(catalog, entry)?.capture(limits, |file, bytes| {
        sizes.push((file.path.clone(), bytes.len() as u64));
        Ok(())
    })?;
    let size = |path: &Path| sizes.iter().find(|(other, _)| other == path).map_or(0, |(_, size)| *size);
    let sizes = captured.manifest.files().iter().map(|file| size(&file.path)).collect();
    Ok(SkillFiles { manifest: captured.manifest, sizes, skill_md: captured.skill_md })
}

/// The location of a skill's files.
pub(crate) enum Source {
    Folder(Folder),
    Builtin(&'static Builtin),
}

impl Source {
    /// Opens the skill of an entry. Below its root, no part of the path may be a link, except one in the root itself
    /// that the scan followed.
    pub(crate) fn open(catalog: &Catalog, entry: &Entry) -> Result<Self, SkillError> {
        if let Some(builtin) = entry.builtin() {
            return Ok(Self::Builtin(builtin));
        }
        let target = entry.places().first().and_then(|place| place.target.as_deref());
        let roots = catalog.roots().iter().map(|report| report.root.path.as_path());
        let above = |path: &Path| {
            roots.filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len())
        };
        let (path, root) = match target {
            Some(target) => (target, Some(Path::new("/"))),
            None => (entry.path(), above(entry.path())),
        };
        let folder = match root.and_then(|root| Some((root, path.strip_prefix(root).ok()?))) {
            Some((root, below)) => Folder::open_below(root, below)?,
            None => Folder::open(path)?,
        };
        Ok(Self::Folder(folder))
    }

    /// The complete current skill, read once.
    pub(crate) fn capture(
        &self,
        limits: &Limits,
        mut take: impl FnMut(&ManifestFile, &[u8]) -> io::Result<()>,
    ) -> Result<CapturedSkill, SkillError> {
        match self {
            Self::Folder(folder) => folder.capture(limits, take),
            Self::Builtin(builtin) => {
                let manifest = builtin.manifest();
                for file in manifest.files() {
                    let error = |source| SkillError::Io { path: file.path.clone(), source };
                    let bytes = self.read(&file.path, limits.skill_bytes).map_err(error)?;
                    take(file, &bytes).map_err(error)?;
                }
                Ok(CapturedSkill::new(manifest, builtin.skill_md().as_bytes().to_vec()))
            }
        }
    }

    /// The same, repeated a few times if the skill changes meanwhile.
    pub(crate) fn capture_settled(&self, limits: &Limits) -> Result<CapturedSkill, SkillError> {
        let mut result = self.capture(limits, |_, _| Ok(()));
        for _ in 1..TRIES {
            if !matches!(result, Err(SkillError::Changing { .. })) {
                break;
            }
            result = self.capture(limits, |_, _| Ok(()));
        }
        result
    }

    /// The bytes of a file.
    pub(crate) fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Folder(folder) => folder.read(path, most),
            Self::Builtin(builtin) => {
                let found = builtin.files().iter().find(|(name, _)| Path::new(name) == path);
                found
                    .map(|(_, content)| content.as_bytes().to_vec())
                    .ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }

    /// Stores every file of a captured skill, and then its manifest, so that a stored skill is always complete.
    pub(crate) fn keep(
        &self,
        captured: &CapturedSkill,
        limits: &Limits,
        store: &Store,
    ) -> Result<(), KeepError> {
        let whole = captured.manifest.to_bytes();
        let digest = Digest::of(&whole);
        if store.is_whole(&digest) {
            return Ok(());
        }
        for file in captured.manifest.files() {
            // After a power loss, the file can exist with other content, which would prove nothing.
            if store.read(&file.digest).is_ok() {
                continue;
            }
            let changing = || KeepError::Skill(SkillError::Changing { path: file.path.clone() });
            let bytes = self.read(&file.path, limits.skill_bytes).map_err(|_| changing())?;
            if Digest::of(&bytes) != file.digest {
                return Err(changing());
            }
            store.keep_as(&file.digest, &bytes)?;
        }
        store.keep_as(&digest, &whole)?;
        store.set_whole(digest);
        Ok(())
    }

    /// Writes a copy of the skill into a directory, and returns its manifest.
    pub(crate) fn copy_to(&self, directory: &Path, limits: &Limits) -> Result<Manifest, SkillError> {
        // Independent of the umask, because the script runs as another user if root starts it.
        let writer = TreeWriter::open(directory).map(TreeWriter::ignoring_umask);
        let mut writer = writer.map_err(|source| SkillError::Io { path: directory.to_owned(), source })?;
        let write = |file: &ManifestFile, bytes: &[u8]| {
            let above: Vec<&Path> =
                file.path.ancestors().skip(1).filter(|above| *above != Path::new("")).collect();
            above.into_iter().rev().try_for_each(|above| writer.make(above, 0o755))?;
            writer.write(&file.path, file.executable, bytes, if file.executable { 0o555 } else { 0o444 })
        };
        self.capture(limits, write).map(|captured| captured.manifest)
    }
}

/// Why a skill could not be stored.
pub(crate) enum KeepError {
    Skill(SkillError),
    Store(StoreError),
}

impl From<StoreError> for KeepError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
