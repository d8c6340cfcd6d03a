//! The files of a skill in memory. `metier-skill` reads each file once, within limits and without following links.

use std::path::Path;

use metier_skill::{Limits, Location, SkillError, SkipReason, SymlinkPolicy, Tree};

use super::{ScanReport, Subject, SubjectEntry, scan};

/// The files of a skill in memory, ready to be scanned. Use [`SubjectFiles::read`] for a skill on disk, and
/// [`SubjectFiles::new`] with [`SubjectFiles::add`] for files from elsewhere, such as an archive.
///
/// ```no_run
/// use metier_scan::SubjectFiles;
/// use metier_skill::{Limits, Location};
///
/// let skill = Location::find("skills/code-review".as_ref())?;
/// let report = SubjectFiles::read(&skill, &Limits::default())?.scan();
/// assert_eq!(report.verdict().as_str(), "clean");
/// # Ok::<(), metier_skill::SkillError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SubjectFiles {
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

impl SubjectFiles {
    /// Creates a skill without files; `name` is the name of its folder.
    pub const fn new(name: String) -> Self {
        Self { name, entries: Vec::new() }
    }

    /// Adds a file. The path is relative to the skill's folder, with `/` between its parts.
    pub fn add(&mut self, path: String, bytes: Vec<u8>, is_executable: bool) {
        self.entries.push(Entry { path, what: Read::File { bytes, is_executable } });
    }

    /// Reads a skill. Entries that exceed the limits or cannot be read are included as such and reported by the scan.
    pub fn read(location: &Location, limits: &Limits) -> Result<Self, SkillError> {
        let tree = location.tree(limits, SymlinkPolicy::Skip)?;
        let name = location.name().map_or_else(|| stem(location.path()), ToOwned::to_owned);
        Ok(Self { name, entries: entries(&tree, limits) })
    }

    /// The name of the skill's folder, or of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The subject to pass to [`scan`].
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

    /// Scans the files.
    pub fn scan(&self) -> ScanReport {
        scan(&self.subject())
    }

    /// The content of a file, to show the context of a finding.
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
        let what = match tree.read(file, left) {
            Ok(Some(bytes)) => {
                left -= bytes.len() as u64;
                Read::File { bytes, is_executable: file.executable }
            }
            Ok(None) => {
                Read::Unreadable { why: format!("the skill is larger than {} bytes", limits.skill_bytes) }
            }
            Err(error) => Read::Unreadable { why: error.to_string() },
        };
        entries.push(Entry { path, what });
    }
    for skipped in &tree.skipped {
        let path = skipped.path.to_string_lossy().into_owned();
        let why = match skipped.reason {
            SkipReason::Link | SkipReason::LinkOutside => {
                let target = tree.link_target(skipped).unwrap_or_default();
                let target = target.to_string_lossy().into_owned();
                entries.push(Entry { path, what: Read::Link { target } });
                continue;
            }
            // Version-control directories are never installed with a skill.
            SkipReason::VersionControl => continue,
            SkipReason::Special => "it is a socket, a FIFO or a device",
            SkipReason::Changing => "it changed while it was read",
            _ => "it cannot be read",
        };
        entries.push(Entry { path, what: Read::Unreadable { why: why.to_owned() } });
    }
    if tree.within(limits).is_err() {
        let why =
            "the skill has more or deeper files than the limits allow; some were not scanned".to_owned();
        entries.push(Entry { path: "SKILL.md".to_owned(), what: Read::Unreadable { why } });
    }
    entries
}
