//! Where stored changes to prompts are kept: a file for each prompt and tag, replaced whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use metier_prompt::{Prompt, PromptOverrides, SectionKey};
use rustix::fs::OFlags;

use crate::error::SessionError;

/// More than any prompt's changes have.
const MOST: u64 = 4 << 20;

/// Changes to prompts in a directory: `NAMESPACE/KEY/TAG.json`.
#[derive(Debug, Clone)]
pub struct OverrideStore {
    directory: PathBuf,
}

impl OverrideStore {
    /// The tag that is meant where nobody says another.
    pub const LATEST: &str = "latest";

    /// Those in a directory, which need not be there; usually `.metier/prompts/overrides` of a project.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// What is stored for a prompt, if anything. Whether it still fits is seen when the prompt is rendered.
    pub fn load(&self, prompt: &Prompt, tag: &str) -> Result<Option<PromptOverrides>, SessionError> {
        read(&self.file(prompt, tag)?)
    }

    /// Changes what is stored for a prompt. What would not fit the prompt is not stored. Nobody else's change in between is lost.
    pub fn change(
        &self,
        prompt: &Prompt,
        tag: &str,
        change: impl FnOnce(&mut PromptOverrides),
    ) -> Result<PromptOverrides, SessionError> {
        let path = self.file(prompt, tag)?;
        let wrong = |error: io::Error| error_at(&path, format!("cannot be written ({error})"));
        fs::create_dir_all(path.parent().unwrap_or(&self.directory)).map_err(wrong)?;
        // Held until the end; the file itself is replaced, and so is no lock for the next.
        let mut options = OpenOptions::new();
        let options = plain(options.write(true).create(true).truncate(false));
        let lock = options.open(path.with_extension("lock")).map_err(wrong)?;
        lock.lock().map_err(wrong)?;
        let before = read(&path)?.unwrap_or_default();
        let mut overrides = before.clone();
        change(&mut overrides);
        // What is stale already is in nobody's way.
        let mut new = overrides.clone();
        new.sections.retain(|path, change| before.sections.get(path) != Some(change));
        new.tools.retain(|name, change| before.tools.get(name) != Some(change));
        prompt.check_overrides(&new)?;
        write(&path, &overrides).map_err(wrong)?;
        Ok(overrides)
    }

    fn file(&self, prompt: &Prompt, tag: &str) -> Result<PathBuf, SessionError> {
        let tag = SectionKey::new(tag)?;
        let directory = self.directory.join(prompt.namespace()).join(prompt.key());
        Ok(directory.join(format!("{tag}.json")))
    }
}

/// Through no link, and waiting for nobody: the directory may be part of a project that somebody else has written.
fn plain(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed())
}

fn read(path: &Path) -> Result<Option<PromptOverrides>, SessionError> {
    let file = match plain(OpenOptions::new().read(true)).open(path) {
        Ok(file) if file.metadata().is_ok_and(|meta| meta.is_file()) => file,
        Ok(_) => return Err(error_at(path, "is no file".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error_at(path, format!("cannot be read ({error})"))),
    };
    let mut bytes = Vec::new();
    let read = file.take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| error_at(path, format!("cannot be read ({error})")))?;
    if bytes.len() as u64 > MOST {
        return Err(error_at(path, format!("has more than {MOST} bytes")));
    }
    let overrides = serde_json::from_slice(&bytes);
    overrides
        .map(Some)
        .map_err(|error| error_at(path, format!("has no overrides in it ({error}); mend or remove it")))
}

fn write(path: &Path, overrides: &PromptOverrides) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let mut bytes = serde_json::to_vec_pretty(overrides)?;
    bytes.push(b'\n');
    if bytes.len() as u64 > MOST {
        // What could not be read again could not be taken back either.
        let words = format!("it would have more than {MOST} bytes");
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
