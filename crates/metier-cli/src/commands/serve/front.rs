//! What clients are shown first, kept between runs: a client that starts the server waits for its first answers, and for nothing else.
//!
//! It is a cache and nothing more. It is believed only for the same program and settings, and as long as no skill in it can have changed.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use metier_catalog::{Evidence, Scanner};
use metier_mcp::{LibraryOptions, Shown};
use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::skills::Settings;

/// A file that is larger is not ours.
const MOST: u64 = 16 << 20;

/// Where it is kept, and what it must be for.
pub(super) struct Front {
    path: PathBuf,
    purpose: String,
}

#[derive(Serialize, Deserialize)]
struct Kept<'a> {
    purpose: Cow<'a, str>,
    evidence: Evidence,
    shown: Shown,
}

impl Front {
    /// The place for what a program with these settings shows; `None` where nothing is to be kept.
    pub(super) fn new(settings: &Settings, options: &LibraryOptions) -> Option<Self> {
        let directory = settings.cache("serve")?;
        let how = (options.tool_names, options.catalogue, options.catalogue_tokens);
        let purpose = format!("{} {how:?} {:?}", Environment::program_stamp()?, settings.options());
        let name = &Digest::of(purpose.as_bytes()).hex()[..32];
        Some(Self { path: directory.join(name).with_extension("json"), purpose })
    }

    /// What was shown last time, if the same would be shown now.
    pub(super) fn read(&self) -> Option<Shown> {
        if fs::metadata(&self.path).ok()?.len() > MOST {
            return None;
        }
        let bytes = fs::read(&self.path).ok()?;
        let kept: Kept<'_> = serde_json::from_slice(&bytes).ok()?;
        (kept.purpose == self.purpose && kept.evidence.holds()).then_some(kept.shown)
    }

    /// Keeps what is shown now for the next time. That it cannot be kept is no matter.
    pub(super) fn write(&self, shown: &Shown, scanner: &Scanner) {
        let skills: HashSet<&Path> = shown.skills().iter().map(PathBuf::as_path).collect();
        let Some(evidence) = scanner.evidence(&skills) else { return };
        let kept = Kept { purpose: Cow::Borrowed(&self.purpose), evidence, shown: shown.clone() };
        let Ok(bytes) = serde_json::to_vec(&kept) else { return };
        if fs::read(&self.path).is_ok_and(|old| old == bytes) {
            return;
        }
        let Some(directory) = self.path.parent() else { return };
        let write = || -> io::Result<()> {
            fs::create_dir_all(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(&bytes)?;
            file.persist(&self.path).map(drop).map_err(|error| error.error)
        };
        let _ = write();
    }
}
