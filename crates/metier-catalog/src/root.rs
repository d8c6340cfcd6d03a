//! Directories to scan: given explicitly, or the conventional ones.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{CatalogError, Scope, Tier, TrustStore};

/// A directory to scan for skills.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Root {
    /// The directory.
    pub path: PathBuf,
    /// The trust tier of its skills.
    pub tier: Tier,
    /// The scope in which its skills apply.
    pub scope: Scope,
    /// Whether the directory may be missing.
    pub is_optional: bool,
    /// The directory that links may point into if the tier is not trusted: the root's repository, or the root
    /// itself.
    pub confines: PathBuf,
}

impl Root {
    /// A directory that must exist.
    pub fn new(path: impl Into<PathBuf>, tier: Tier, scope: Scope) -> Self {
        let path = path.into();
        Self { confines: path.clone(), path, tier, scope, is_optional: false }
    }

    /// Parses `DIR` or `DIR:TIER`, as on the command line. The default tier is `user`. A directory with a colon
    /// in its name needs an explicit tier: `a:b:user`.
    ///
    /// ```
    /// use metier_catalog::{Root, Tier};
    ///
    /// assert_eq!(Root::parse("skills:third_party")?.tier, Tier::ThirdParty);
    /// assert_eq!(Root::parse("skills")?.tier, Tier::User);
    /// assert!(Root::parse("skills:trusted").is_err());
    /// # Ok::<(), metier_catalog::CatalogError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, CatalogError> {
        // Existing directories are not considered: a directory called `x:user` could raise its own tier.
        let (path, tier) = match text.rsplit_once(':') {
            Some((path, tier)) => (path, tier.parse()?),
            None => (text, Tier::User),
        };
        if path.is_empty() {
            return Err(CatalogError::EmptyRoot);
        }
        Ok(Self::new(path, tier, Scope::of(tier)))
    }

    fn optional(path: PathBuf, tier: Tier, scope: Scope, confines: &Path) -> Self {
        Self { path, tier, scope, is_optional: true, confines: confines.to_owned() }
    }
}

impl Scope {
    /// The default scope of a root of this tier.
    const fn of(tier: Tier) -> Self {
        match tier {
            Tier::Builtin | Tier::Org => Self::System,
            Tier::User | Tier::ThirdParty => Self::User,
        }
    }
}

/// Where to look for conventional roots.
#[derive(Debug, Clone, Default)]
pub struct RootLocations {
    /// The working directory.
    pub working: Option<PathBuf>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The organisation's directory, usually `/etc/metier`.
    pub system: Option<PathBuf>,
}

/// Where agents keep skills, relative to a project or a home directory.
pub const AGENT_DIRECTORIES: [&str; 2] = [".agents/skills", ".claude/skills"];

/// The lockfile of installed skills, in a project and in the store.
pub const LOCK_FILE: &str = "metier.lock";

/// Where a store keeps installed skills of a tier, by name.
pub fn installed_directory(store: &Path, tier: Tier) -> PathBuf {
    store.join("current/skills").join(tier.as_str())
}

/// The roots of the skills that are installed in a store, one per tier. Their links only point into the store.
pub fn installed_roots(store: &Path) -> Vec<Root> {
    let root = |tier| Root::optional(installed_directory(store, tier), tier, Scope::User, store);
    [Tier::Org, Tier::User, Tier::ThirdParty].map(root).to_vec()
}

impl RootLocations {
    /// The conventional roots: those of the project, from the working directory up to the top of its
    /// repository, then the user's, then the organisation's. They may be missing.
    pub fn roots(&self, trust: &TrustStore) -> Vec<Root> {
        let mut roots: Vec<Root> = Vec::new();
        let home = self.home.as_deref();
        let mine = home.into_iter().flat_map(|home| AGENT_DIRECTORIES.map(|below| home.join(below)));
        let mine: Vec<PathBuf> = mine.collect();
        for folder in self.project_folders() {
            // A mark on a parent folder does not count: scripts may write there and could have created this
            // directory.
            let tier = if trust.is_marked(&folder) { Tier::User } else { Tier::ThirdParty };
            let repository = self.repository().unwrap_or_else(|| folder.clone());
            let below = AGENT_DIRECTORIES.map(|below| folder.join(below));
            // Skills in the user's home are the user's, even if the working directory is there.
            let below = below.into_iter().filter(|path| !mine.contains(path));
            roots.extend(below.map(|path| {
                // Trusting only the directory that contains the skills counts for them.
                let tier = if trust.is_marked_itself(&path) { Tier::User } else { tier };
                Root::optional(path, tier, Scope::Project, &repository)
            }));
        }
        roots.extend(mine.into_iter().map(|path| {
            let confines = path.clone();
            Root::optional(path, Tier::User, Scope::User, &confines)
        }));
        let system = self.system.iter().map(|system| system.join("skills"));
        roots.extend(system.map(|path| {
            let confines = path.clone();
            Root::optional(path, Tier::Org, Scope::System, &confines)
        }));
        roots
    }

    /// The top of the repository that contains the working directory.
    pub fn repository(&self) -> Option<PathBuf> {
        let working = self.working.as_deref()?;
        // In a worktree, `.git` is a file.
        working.ancestors().find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok()).map(Into::into)
    }

    /// The working directory and its parents within the same repository.
    pub fn project_folders(&self) -> Vec<PathBuf> {
        let Some(working) = &self.working else { return Vec::new() };
        let top = self.repository().unwrap_or_else(|| working.clone());
        working.ancestors().take_while(|folder| folder.starts_with(&top)).map(Into::into).collect()
    }
}
