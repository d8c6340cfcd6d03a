//! Sources of skills: directories, archives and git repositories, behind one trait. Registries can be added here.
//!
//! A source puts files into a [`Basket`]. Finding, validating and installing the skills in it is the same for all
//! sources, and is done elsewhere.

mod address;
mod archive;
mod directory;
mod download;
pub(crate) mod git;
mod index;
mod site;
mod tree;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use address::{GitAddress, OciAddress, SourceAddress, SourcePlace};
pub use archive::ArchiveSource;
pub use directory::DirectorySource;
pub use download::DownloadSource;
pub use git::GitSource;
pub use index::{IndexArtifact, IndexEntry, IndexProblem, SkillIndex};
pub use site::SiteSource;

pub(crate) use address::{host_of, is_plugin_name, is_this_machine};

use crate::StoreError;
use crate::archive::ArchiveLimits;
use crate::http::DownloadAccess;
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
    /// What downloads may reach.
    pub network: DownloadAccess,
    /// Called with the current step, for progress messages.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

impl<'a> FetchContext<'a> {
    /// Default limits, without progress messages.
    pub fn new(git: impl Into<PathBuf>) -> Self {
        let (limits, patience) = (ArchiveLimits::default(), Duration::from_mins(10));
        Self { git: git.into(), limits, patience, network: DownloadAccess::default(), progress: &|_| {} }
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
    /// Notes for the user about the source as a whole.
    pub source_notes: Vec<String>,
}

/// The default host for `owner/repository`.
pub const GIT_HOST: &str = "https://github.com";

/// A source that text names.
#[derive(Debug)]
#[non_exhaustive]
pub struct ParsedSource {
    /// The source.
    pub source: Box<dyn SkillSource>,
    /// The skill that the text chooses, as in `owner/repo@skill`.
    pub skill: Option<String>,
}

/// Parses a source as given by a user or a lockfile; relative paths start at `working`. What could be both a path and
/// something else is an error if the path exists.
///
/// ```
/// use metier_store::{GIT_HOST, parse_source};
///
/// let parsed = parse_source("acme/skills/tools/pdf#v2", "/".as_ref(), GIT_HOST)?;
/// assert_eq!(parsed.source.name(), "https://github.com/acme/skills");
/// # Ok::<(), metier_store::StoreError>(())
/// ```
pub fn parse_source(text: &str, working: &Path, git_host: &str) -> Result<ParsedSource, StoreError> {
    parse_source_of(text, working, git_host, true)
}

/// [`parse_source`], for text that the user typed, or that a lockfile contains.
pub(crate) fn parse_source_of(
    text: &str,
    working: &Path,
    git_host: &str,
    is_typed: bool,
) -> Result<ParsedSource, StoreError> {
    let parsed = SourceAddress::parse(text, git_host);
    if SourceAddress::is_like_path(text)
        && let Some(source) = local(text, working)
    {
        let other = match &parsed {
            Ok(SourceAddress { place: SourcePlace::Git(_), .. }) => "the repository",
            Ok(SourceAddress { place: SourcePlace::Plugin { .. }, .. }) => "the plugin",
            _ => return Ok(ParsedSource { source, skill: None }),
        };
        let second = parsed.map(|address| format!("`{address}` for {other}"))?;
        let first = format!("`./{text}` for the path");
        return Err(StoreError::Ambiguous { text: text.to_owned(), first, second });
    }
    let SourceAddress { place, skill } = parsed?;
    let source: Box<dyn SkillSource> = match place {
        SourcePlace::Path(_) if SourceAddress::is_like_path(text) => {
            let problem = "is not an existing path, `owner/repository` or a URL".to_owned();
            return Err(StoreError::Source { text: text.to_owned(), problem });
        }
        SourcePlace::Path(path) => {
            local(&path, working).ok_or_else(|| StoreError::NoSource { text: text.to_owned() })?
        }
        SourcePlace::Git(git) => Box::new(GitSource::new(git)),
        SourcePlace::Download { url, digest } => Box::new(DownloadSource::new(url, digest, is_typed)),
        SourcePlace::Site { url } => Box::new(SiteSource::new(url, is_typed)),
        other => {
            let problem = format!("is {}, which is not supported yet", kind(&other));
            return Err(StoreError::Source { text: text.to_owned(), problem });
        }
    };
    Ok(ParsedSource { source, skill })
}

/// What a place is called in messages.
const fn kind(place: &SourcePlace) -> &'static str {
    match place {
        SourcePlace::Path(_) => "a path",
        SourcePlace::Git(_) => "a git repository",
        SourcePlace::Download { .. } => "a download",
        SourcePlace::Site { .. } => "a site",
        SourcePlace::Npm { .. } => "an npm package",
        SourcePlace::Oci(_) => "an artifact in an OCI registry",
        SourcePlace::ClawHub { .. } => "a skill of a ClawHub registry",
        SourcePlace::Plugin { .. } => "a plugin of a marketplace",
    }
}

/// The directory or archive at a path, if it exists.
fn local(text: &str, working: &Path) -> Option<Box<dyn SkillSource>> {
    // Remove `.` parts, so that one directory has one name.
    let path: PathBuf = working.join(text).components().collect();
    let path = match path.file_name() {
        Some(name) if metier_skill::SKILL_FILES.iter().any(|known| name == *known) && path.is_file() => {
            path.parent().map_or_else(|| path.clone(), Path::to_owned)
        }
        _ => path,
    };
    if path.is_dir() {
        return Some(Box::new(DirectorySource::new(path)));
    }
    path.is_file().then(|| Box::new(ArchiveSource::new(path)) as Box<dyn SkillSource>)
}

/// The name of the folder for a skill that has none of its own.
fn folder_name(text: &str) -> String {
    let last = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(text);
    last.strip_suffix(".git").unwrap_or(last).to_owned()
}
