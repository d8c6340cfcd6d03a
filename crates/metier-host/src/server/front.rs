//! What clients are shown first, kept between runs: a client that starts the server waits for its first answers, and for nothing else.
//!
//! It is a cache and nothing more. It is believed only for the same program and settings, and as long as no skill in it can have changed.

use std::borrow::Cow;
use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use metier_catalog::{Evidence, Scanner, ShownSkills};
use metier_mcp::{Greeting, LibraryOptions};
use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::host::Metier;

/// A file that is larger is not ours.
const MOST: u64 = 16 << 20;

/// How many of them there are at the most.
const FILES: usize = 64;

/// Where it is kept, and what it must be for.
#[derive(Debug)]
pub(super) struct Front {
    path: PathBuf,
    purpose: String,
}

#[derive(Serialize, Deserialize)]
struct Kept<'a> {
    purpose: Cow<'a, str>,
    evidence: Evidence,
    shown: Greeting,
}

impl Front {
    /// The place for what a program with these settings shows; `None` where nothing is to be kept.
    pub(super) fn new(metier: &Metier, options: &LibraryOptions) -> Option<Self> {
        let directory = metier.cache("serve")?;
        let how = (options.tool_names, options.skill_list, options.skill_list_tokens, &options.work);
        let what = format!("{how:?} {:?}", metier.catalog_options());
        // A program that is newer takes the place of what an older one kept.
        let name = &Digest::of(what.as_bytes()).hex()[..32];
        let purpose = format!("{} {what}", Environment::program_stamp()?);
        Some(Self { path: directory.join(name).with_extension("json"), purpose })
    }

    /// What was shown last time, if the same would be shown now.
    pub(super) fn read(&self) -> Option<Greeting> {
        let bytes = self.bytes()?;
        let kept: Kept<'_> = serde_json::from_slice(&bytes).ok()?;
        (kept.purpose == self.purpose && kept.evidence.holds()).then_some(kept.shown)
    }

    /// What is in the file, if it is one of ours.
    fn bytes(&self) -> Option<Vec<u8>> {
        let meta = fs::symlink_metadata(&self.path).ok()?;
        // Models read it as our own words: nobody else may have written it.
        let is_ours =
            meta.is_file() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0;
        if !is_ours || meta.len() > MOST {
            return None;
        }
        fs::read(&self.path).ok()
    }

    /// Stores the current skill list for the next start. A failure is ignored.
    pub(super) fn write(&self, shown: &Greeting, scanner: &Scanner) {
        let skills = ShownSkills::new(shown.skills().iter().map(PathBuf::as_path), shown.is_complete());
        let Some(evidence) = scanner.evidence(&skills) else { return self.forget() };
        let kept = Kept { purpose: Cow::Borrowed(&self.purpose), evidence, shown: shown.clone() };
        let Ok(bytes) = serde_json::to_vec(&kept) else { return };
        if self.bytes().is_some_and(|old| old == bytes) {
            return;
        }
        let Some(directory) = self.path.parent() else { return };
        let write = || -> io::Result<()> {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            sweep(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(&bytes)?;
            file.persist(&self.path).map(drop).map_err(|error| error.error)
        };
        let _ = write();
    }

    /// Removes what was kept: the next time it would be shown again, and be wrong again.
    pub(super) fn forget(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes old files: there is one per working directory, and killed processes leave others.
fn sweep(directory: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort_unstable();
    let over = files.len().saturating_sub(FILES - 1);
    files[..over].iter().try_for_each(|(_, path)| fs::remove_file(path))
}
