//! What a catalog is based on. It shows later, without a scan, whether a new catalog would be the same.

use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use metier_skill::disk::open_directory;
use rustix::fs::{AtFlags, CWD, statat};
use serde::{Deserialize, Serialize};

use crate::scan::Survey;
use crate::shown::Basis;
use crate::stamp::Stamp;

/// The state of the disk when a catalog was built: the roots, every folder in which skills can be added or
/// removed, and the `SKILL.md` files that a list of skills depends on.
///
/// While it holds, each skill that was shown is still the one of its name, with the same text. If the list had
/// all skills, it is still the same list. If some were left out to save room, only the locations of those are
/// checked: a scan finds out whether one of them was broken, or got a name that belongs on the list. A check
/// reads metadata only, no files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    roots: Vec<RootEvidence>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RootEvidence {
    path: PathBuf,
    /// The link's target; `None` if the root did not exist.
    real: Option<PathBuf>,
    folders: Vec<(String, Stamp)>,
    skills: Vec<(String, Stamp)>,
    /// Skills that links in the root point to: the link, its target, and the file there.
    linked: Vec<(String, PathBuf, Stamp)>,
}

impl Evidence {
    pub(crate) const fn new(roots: Vec<RootEvidence>) -> Self {
        Self { roots }
    }

    /// Whether nothing has changed.
    pub fn holds(&self) -> bool {
        self.roots.iter().all(RootEvidence::holds)
    }
}

impl RootEvidence {
    /// A root that did not exist.
    pub(crate) fn absent(path: &Path) -> Self {
        let path = path.to_owned();
        Self { path, real: None, folders: Vec::new(), skills: Vec::new(), linked: Vec::new() }
    }

    /// What a survey of a root is based on; `None` if file times cannot prove that nothing changed.
    pub(crate) fn of(path: &Path, real: &Path, survey: &Survey, basis: &Basis<'_>) -> Option<Self> {
        let text = |below: &[u8]| std::str::from_utf8(below).ok().map(str::to_owned);
        let settled = |stamp: Option<Stamp>| stamp.filter(|stamp| stamp.is_settled_at(survey.when));
        let mut evidence = Self { real: Some(real.to_owned()), ..Self::absent(path) };
        for folder in &survey.folders {
            // A link that does not point to a skill now may do so later, and this check would not notice.
            let leads =
                |link: &[u8]| survey.records.binary_search_by(|record| (*record.below).cmp(link)).is_ok();
            if folder.links.iter().any(|link| !folder.below.is_empty() || !leads(link)) {
                return None;
            }
            evidence.folders.push((text(&folder.below)?, settled(folder.stamp)?));
        }
        for record in &survey.records {
            if basis.has(record, path) {
                let (below, stamp) = (text(&record.below)?, settled(record.stamp)?);
                match &record.target {
                    Some(target) => evidence.linked.push((below, target.clone(), stamp)),
                    None => evidence.skills.push((below, stamp)),
                }
            }
        }
        Some(evidence)
    }

    fn holds(&self) -> bool {
        let Some(real) = &self.real else { return fs::symlink_metadata(&self.path).is_err() };
        if fs::canonicalize(&self.path).ok().as_ref() != Some(real) {
            return false;
        }
        let Ok(root) = open_directory(CWD, real.as_path()) else { return false };
        let is_same = |at: BorrowedFd<'_>, path: &[u8], stamp: Stamp| {
            statat(at, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| Stamp::of(&stat) == stamp)
        };
        let root = root.as_fd();
        let folder = |below: &'_ str| if below.is_empty() { ".".to_owned() } else { below.to_owned() };
        self.folders.iter().all(|(below, stamp)| is_same(root, folder(below).as_bytes(), *stamp))
            && self.skills.iter().all(|(below, stamp)| is_same(root, skill_md(below).as_bytes(), *stamp))
            && self.linked.iter().all(|(below, target, stamp)| {
                fs::canonicalize(real.join(below)).is_ok_and(|leads| leads == *target)
                    && is_same(CWD, target.join("SKILL.md").as_os_str().as_bytes(), *stamp)
            })
    }
}

fn skill_md(below: &str) -> String {
    if below.is_empty() { "SKILL.md".to_owned() } else { format!("{below}/SKILL.md") }
}
