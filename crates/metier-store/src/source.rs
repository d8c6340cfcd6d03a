//! Where skills come from: directories, archives and git repositories, behind one trait. Registries and sites have their place here.
//!
//! A source puts files into a [`Basket`]; which skills they are, whether these are any good and what becomes of them is decided
//! for all sources alike, elsewhere.

mod archive;
mod directory;
pub(crate) mod git;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use archive::ArchiveSource;
pub use directory::DirectorySource;
pub use git::GitSource;

use crate::StoreError;
use crate::archive::ArchiveLimits;
use crate::install::SkillSelection;
use crate::staging::Basket;

/// Something that skills come from.
pub trait SkillSource: fmt::Debug + Send + Sync {
    /// What it is called in a lock, so that it can be found again.
    fn name(&self) -> String;

    /// Puts every file of its skills into the basket, by paths that begin with the skill's folder. Those that are not wanted may be left
    /// out, and nothing that is wrong with them matters then.
    fn fetch(
        &self,
        wanted: &SkillSelection,
        basket: &Basket<'_>,
        fetching: &FetchContext<'_>,
    ) -> Result<FetchedSource, StoreError>;
}

/// What sources work with.
#[non_exhaustive]
pub struct FetchContext<'a> {
    /// The program `git`.
    pub git: PathBuf,
    /// How much is taken.
    pub limits: ArchiveLimits,
    /// How long git may take.
    pub patience: Duration,
    /// Told what is being done, where that may take a while.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

impl<'a> FetchContext<'a> {
    /// The usual limits, and nobody to tell.
    pub fn new(git: impl Into<PathBuf>) -> Self {
        let (limits, patience) = (ArchiveLimits::default(), Duration::from_mins(10));
        Self { git: git.into(), limits, patience, progress: &|_| {} }
    }

    /// The same with somebody who is told.
    #[must_use]
    pub fn telling(mut self, progress: &'a (dyn Fn(&str) + Sync)) -> Self {
        self.progress = progress;
        self
    }
}

impl fmt::Debug for FetchContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetching").field("git", &self.git).finish_non_exhaustive()
    }
}

/// What a source was when it was fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchedSource {
    /// The branch, tag or commit that was asked for.
    pub reference: Option<String>,
    /// The commit that this was.
    pub commit: Option<String>,
    /// What it was otherwise: the digest of an archive.
    pub resolved: Option<String>,
    /// Where in the source the basket's paths begin.
    pub base: Option<String>,
    /// What the basket has more of than the source: the folder that a skill was put into which has none.
    pub folder: Option<String>,
    /// The folders of all skills that it has, also of those that were not wanted; those in the basket, where it does not say.
    pub skills: Vec<String>,
    /// A signature that came beside it, for the only skill in it.
    pub signature: Option<String>,
    /// Whether there may be only one skill, and nothing beside it.
    pub is_single: bool,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Where `owner/repository` is, unless settings say otherwise.
pub const GIT_HOST: &str = "https://github.com";

/// The source that a person or a lock names. What is on the disk goes first; relative paths begin at `working`.
///
/// ```
/// use metier_store::{GIT_HOST, parse_source};
///
/// let source = parse_source("acme/skills//tools/pdf#v2", "/".as_ref(), GIT_HOST)?;
/// assert_eq!(source.name(), "https://github.com/acme/skills");
/// # Ok::<(), metier_store::StoreError>(())
/// ```
pub fn parse_source(text: &str, working: &Path, git_host: &str) -> Result<Box<dyn SkillSource>, StoreError> {
    let wrong = |problem: &str| StoreError::Source { text: text.to_owned(), problem: problem.to_owned() };
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(wrong("no source: name a directory, an archive or a git repository"));
    }
    // Without the `.` in it, so that one place has one name.
    let path: PathBuf = working.join(text).components().collect();
    let path = match path.file_name() {
        Some(name) if metier_skill::SKILL_FILES.iter().any(|known| name == *known) && path.is_file() => {
            path.parent().map_or_else(|| path.clone(), Path::to_owned)
        }
        _ => path,
    };
    if path.is_dir() {
        return Ok(Box::new(DirectorySource::new(path)));
    }
    if path.is_file() {
        return Ok(Box::new(ArchiveSource::new(path)));
    }
    let is_path = text.starts_with(['.', '/', '~']) || text.contains('\\');
    let is_archive =
        [".zip", ".skill", ".tar", ".tar.gz", ".tgz"].iter().any(|ending| text.ends_with(ending));
    if text.starts_with("oci://") {
        return Err(wrong(
            "in a registry, and registries are not supported yet; pull it, and install the archive",
        ));
    }
    if is_archive && text.contains("://") {
        return Err(wrong(
            "an archive at an address, which is not supported yet; download it, and install the file",
        ));
    }
    if is_path && text.contains('#') {
        return Err(wrong(
            "not there; a repository on this disk, at a reference, is `file:///PATH#REFERENCE`",
        ));
    }
    if is_path || is_archive {
        return Err(wrong("not there"));
    }
    GitSource::parse(text, git_host).map(|source| Box::new(source) as Box<dyn SkillSource>)
}

/// The folder that a skill is in which has none of its own: named like this, as far as a folder can be.
fn folder_name(text: &str) -> String {
    let last = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(text);
    last.strip_suffix(".git").unwrap_or(last).to_owned()
}
