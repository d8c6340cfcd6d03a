//! Sources of skills: directories, archives and git repositories, behind one trait. Registries can be added here.
//!
//! A source puts files into a [`Basket`]. Finding, validating and installing the skills in it is the same for all
//! sources, and is done elsewhere.

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

/// A source of skills.
pub trait SkillSource: fmt::Debug + Send + Sync {
    /// The name of the source in a lockfile; [`parse_source`] accepts it.
    fn name(&self) -> String;

    /// Puts all files of the source's skills into the basket. Paths start with the skill's folder. Unrequested skills
    /// may be left out, and problems with them are then ignored.
    fn fetch(
        &self,
        wanted: &SkillSelection,
        basket: &Basket<'_>,
        fetching: &FetchContext<'_>,
    ) -> Result<FetchedSource, StoreError>;
}

/// The context for fetching a source.
#[non_exhaustive]
pub struct FetchContext<'a> {
    /// The `git` program.
    pub git: PathBuf,
    /// Limits for what is fetched.
    pub limits: ArchiveLimits,
    /// The time limit for git.
    pub patience: Duration,
    /// Called with the current step, for progress messages.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

impl<'a> FetchContext<'a> {
    /// Default limits, without progress messages.
    pub fn new(git: impl Into<PathBuf>) -> Self {
        let (limits, patience) = (ArchiveLimits::default(), Duration::from_mins(10));
        Self { git: git.into(), limits, patience, progress: &|_| {} }
    }

    /// The same with a callback for progress messages.
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

/// The result of fetching a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchedSource {
    /// The requested branch, tag or commit.
    pub reference: Option<String>,
    /// The commit that the reference resolved to.
    pub commit: Option<String>,
    /// The digest of the source if it is an archive.
    pub resolved: Option<String>,
    /// The path in the source at which the basket's paths start.
    pub base: Option<String>,
    /// The folder that was added because a skill has no folder of its own in the source.
    pub folder: Option<String>,
    /// The folders of all skills in the source, including unrequested ones. Empty if the basket contains all of them.
    pub skills: Vec<String>,
    /// A signature next to the source, for its only skill.
    pub signature: Option<String>,
    /// Whether the source must contain exactly one skill and nothing else.
    pub is_single: bool,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The default host for `owner/repository`.
pub const GIT_HOST: &str = "https://github.com";

/// Parses a source as given by a user or a lockfile. Existing files and directories come first; relative paths start
/// at `working`.
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
        return Err(wrong("is not a source; use a directory, an archive or a git repository"));
    }
    // Remove `.` parts, so that one directory has one name.
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
            "is in a registry, which is not supported yet; download it and install the archive",
        ));
    }
    if is_archive && text.contains("://") {
        return Err(wrong(
            "is a remote archive, which is not supported yet; download it and install the file",
        ));
    }
    if is_path || is_archive {
        return Err(StoreError::NoSource { text: text.to_owned() });
    }
    GitSource::parse(text, git_host).map(|source| Box::new(source) as Box<dyn SkillSource>)
}

/// The name of the folder for a skill that has none of its own.
fn folder_name(text: &str) -> String {
    let last = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(text);
    last.strip_suffix(".git").unwrap_or(last).to_owned()
}
