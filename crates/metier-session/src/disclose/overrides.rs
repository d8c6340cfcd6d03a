//! Stores prompt overrides: one file for each prompt and tag, replaced atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use metier_prompt::{Prompt, PromptOverrides, SectionKey};
use rustix::fs::OFlags;

use crate::error::SessionError;

/// The maximum size of a prompt's overrides.
const MOST: u64 = 4 << 20;

/// Prompt overrides in a directory: `NAMESPACE/KEY/TAG.json`.
#[derive(Debug, Clone)]
pub struct OverrideStore {
    directory: PathBuf,
}

impl OverrideStore {
    /// The default tag.
    pub const LATEST: &str = "latest";

    /// Opens the overrides in a directory, which need not exist; usually `.metier/prompts/overrides` of a project.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The stored overrides of a prompt, if any. Whether they still apply is checked when the prompt is rendered.
    pub fn load<O>(&self, prompt: &Prompt<O>, tag: &str) -> Result<Option<PromptOverrides>, SessionError> {
        read(&self.file(prompt, tag)?)
    }

    /// Changes the stored overrides of a prompt. Overrides that do not apply to the prompt are not stored. Concurrent
    /// changes are not lost.
    pub fn change<O>(
        &self,
        prompt: &Prompt<O>,
        tag: &str,
        change: impl FnOnce(&mut PromptOverrides),
    ) -> Result<PromptOverrides, SessionError> {
        let path = self.file(prompt, tag)?;
        let wrong = |error: io::Error| error_at(&path, format!("cannot write it ({error})"));
        fs::create_dir_all(path.parent().unwrap_or(&self.directory)).map_err(wrong)?;
        // Locked until the end. The file itself is replaced, so it cannot serve as the lock.
        let mut options = OpenOptions::new();
        let options = plain(options.write(true).create(true).truncate(false));
        let lock = options.open(path.with_extension("lock")).map_err(wrong)?;
        lock.lock().map_err(wrong)?;
        let before = read(&path)?.unwrap_or_default();
        let mut overrides = before.clone();
        change(&mut overrides);
        // Overrides that are already stale do no harm.
        let mut new = overrides.clone();
        new.sections.retain(|path, change| before.sections.get(path) != Some(change));
        new.tools.retain(|name, change| before.tools.get(name) != Some(change));
        prompt.check_overrides(&new)?;
        write(&path, &overrides).map_err(wrong)?;
        Ok(overrides)
    }

    fn file<O>(&self, prompt: &Prompt<O>, tag: &str) -> Result<PathBuf, SessionError> {
        let tag = SectionKey::new(tag)?;
        let directory = self.directory.join(prompt.namespace()).join(prompt.key());
        Ok(directory.join(format!("{tag}.json")))
    }
}

/// Opens without following links and without blocking: the directory may be part of an untrusted project.
fn plain(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed())
}

fn read(path: &Path) -> Result<Option<PromptOverrides>, SessionError> {
    let file = match plain(OpenOptions::new().read(true)).open(path) {
        Ok(file) if file.metadata().is_ok_and(|meta| meta.is_file()) => file,
        Ok(_) => return Err(error_at(path, "is not a file".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error_at(path, format!("cannot be read ({error})"))),
    };
    let mut bytes = Vec::new();
    let read = file.take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| error_at(path, format!("cannot be read ({error})")))?;
    if bytes.len() as u64 > MOST {
        return Err(error_at(path, format!("is larger than {MOST} bytes")));
    }
    let overrides = serde_json::from_slice(&bytes);
    overrides.map(Some).map_err(|error| {
        error_at(path, format!("does not contain valid overrides ({error}); fix or remove it"))
    })
}

fn write(path: &Path, overrides: &PromptOverrides) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let mut bytes = serde_json::to_vec_pretty(overrides)?;
    bytes.push(b'\n');
    if bytes.len() as u64 > MOST {
        // A file that is too large to be read could not be undone.
        let words = format!("it would be larger than {MOST} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(&bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()
}

fn error_at(path: &Path, reason: String) -> SessionError {
    SessionError::Overrides { path: path.to_owned(), reason }
}
