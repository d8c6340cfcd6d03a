//! A skill on disk as a subject: read once, within limits, through no link.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use metier_skill::{Limits, Location, SkillError, SkipReason, SymlinkPolicy, Tree};

use super::{Report, Subject, SubjectEntry, scan};
use crate::StoreError;
use crate::archive::{ArchiveFile, ArchiveLayout, ArchiveLimits, unpack};

/// Bytes that an archive may unpack to: they are all in memory.
const PACKED_MAX: u64 = 512 << 20;

/// The files of a skill, read.
///
/// ```no_run
/// use metier_skill::{Limits, Location};
/// use metier_store::scan::Files;
///
/// let skill = Location::find("skills/code-review".as_ref())?;
/// let report = Files::read(&skill, &Limits::default())?.scan();
/// println!("{}", report.verdict().as_str());
/// # Ok::<(), metier_skill::SkillError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Files {
    name: String,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    path: String,
    what: Read,
}

#[derive(Debug, Clone)]
enum Read {
    File { bytes: Vec<u8>, is_executable: bool },
    Link { target: String },
    Unreadable { why: String },
}

impl Files {
    /// Reads a skill. What passes the limits or cannot be read is in it as such, and will be found.
    pub fn read(location: &Location, limits: &Limits) -> Result<Self, SkillError> {
        let tree = location.tree(limits, SymlinkPolicy::Skip)?;
        let name = location.name().map_or_else(|| stem(location.path()), ToOwned::to_owned);
        Ok(Self { name, entries: entries(&tree, limits) })
    }

    /// The skills in an archive, each with its folder there. What is not in a skill's folder is not looked at.
    pub fn unpack(archive: &[u8]) -> Result<Vec<(String, Self)>, StoreError> {
        let files: Mutex<BTreeMap<String, Read>> = Mutex::default();
        let take = |file: ArchiveFile<'_>| {
            let read = Read::File { bytes: file.bytes.to_vec(), is_executable: file.is_executable };
            files.lock().unwrap_or_else(PoisonError::into_inner).insert(file.path.to_owned(), read);
            Ok(())
        };
        let limits = ArchiveLimits { total_bytes: PACKED_MAX, ..ArchiveLimits::default() };
        let unpacked = unpack(archive, &limits, &take)?;
        let layout = ArchiveLayout::of(unpacked.files.iter().map(String::as_str))?;
        let mut files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
        let skill = |folder: &String| {
            let below = format!("{folder}/");
            let own = files.extract_if(.., |path, _| path.starts_with(&below));
            let entries =
                own.map(|(path, what)| Entry { path: path[below.len()..].to_owned(), what }).collect();
            let name = folder.rsplit('/').next().unwrap_or(folder).to_owned();
            (folder.clone(), Self { name, entries })
        };
        Ok(layout.skills().iter().map(skill).collect())
    }

    /// The name of the skill's folder, or of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What [`scan`] takes.
    pub fn subject(&self) -> Subject<'_> {
        let entries = self.entries.iter().map(|Entry { path, what }| match what {
            Read::File { bytes, is_executable } => {
                SubjectEntry::File { path, bytes, is_executable: *is_executable }
            }
            Read::Link { target } => SubjectEntry::Link { path, target },
            Read::Unreadable { why } => SubjectEntry::Unreadable { path, why },
        });
        Subject::new(&self.name, entries.collect())
    }

    /// Looks at it.
    pub fn scan(&self) -> Report {
        scan(&self.subject())
    }

    /// The bytes of a file of it, to show what a finding is about.
    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.entries.iter().find(|entry| entry.path == path).and_then(|entry| match &entry.what {
            Read::File { bytes, .. } => Some(bytes.as_slice()),
            _ => None,
        })
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn entries(tree: &Tree, limits: &Limits) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut left = limits.skill_bytes;
    for file in &tree.files {
        let path = file.path_text().into_owned();
        let read = tree.open(file).and_then(|opened| {
            let mut bytes = Vec::new();
            // A file may grow while it is read.
            let got = opened.take(left.saturating_add(1)).read_to_end(&mut bytes);
            got.map(|_| bytes).map_err(|source| SkillError::Io { path: tree.path_of(file), source })
        });
        let what = match read {
            Ok(bytes) if bytes.len() as u64 <= left => {
                left -= bytes.len() as u64;
                Read::File { bytes, is_executable: file.executable }
            }
            Ok(_) => {
                Read::Unreadable { why: format!("the skill has more than {} bytes", limits.skill_bytes) }
            }
            Err(error) => Read::Unreadable { why: error.to_string() },
        };
        entries.push(Entry { path, what });
    }
    for skipped in &tree.skipped {
        let path = skipped.path.to_string_lossy().into_owned();
        let why = match skipped.reason {
            SkipReason::Link | SkipReason::LinkOutside => {
                let target = fs::read_link(tree.root.join(&skipped.path)).unwrap_or_default();
                let target = target.to_string_lossy().into_owned();
                entries.push(Entry { path, what: Read::Link { target } });
                continue;
            }
            // It is never installed with the skill.
            SkipReason::VersionControl => continue,
            SkipReason::Special => "it is a socket, a pipe or a device",
            SkipReason::Changing => "it was changed while it was read",
            _ => "it cannot be read",
        };
        entries.push(Entry { path, what: Read::Unreadable { why: why.to_owned() } });
    }
    if tree.within(limits).is_err() {
        let why =
            "there are more or deeper files than the limits allow, and some were not looked at".to_owned();
        entries.push(Entry { path: "SKILL.md".to_owned(), what: Read::Unreadable { why } });
    }
    entries
}
