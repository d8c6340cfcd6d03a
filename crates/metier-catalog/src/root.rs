//! Directories that are scanned: given, or the conventional ones.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{CatalogError, Scope, Tier, TrustStore};

/// A directory that is scanned for skills.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Root {
    /// The directory.
    pub path: PathBuf,
    /// How far its skills are trusted.
    pub tier: Tier,
    /// Where its skills apply.
    pub scope: Scope,
    /// Whether it is all right that there is no such directory.
    pub is_optional: bool,
    /// The directory that links may lead into where the tier is not trusted: the root's repository, or the
    /// root itself.
    pub confines: PathBuf,
}

impl Root {
    /// A directory that must be there.
    pub fn new(path: impl Into<PathBuf>, tier: Tier, scope: Scope) -> Self {
        let path = path.into();
        Self { confines: path.clone(), path, tier, scope, is_optional: false }
    }

    /// `DIR` or `DIR:TIER`, as on the command line. Without a tier it is the person's own. A directory with a colon
    /// in its name needs the tier: `a:b:user`.
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
        // What is on the disk has no say in this: a directory called `x:user` would raise its own tier.
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
    /// The scope of a root of this tier of which nobody said more.
    const fn of(tier: Tier) -> Self {
        match tier {
            Tier::Builtin | Tier::Org => Self::System,
            Tier::User | Tier::ThirdParty => Self::User,
        }
    }
}

/// Where conventional roots are looked for.
#[derive(Debug, Clone, Default)]
pub struct RootLocations {
    /// The working directory.
    pub working: Option<PathBuf>,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// What the organisation set up; `/etc/metier`.
    pub system: Option<PathBuf>,
}

/// Where agents keep skills below a project and below a home.
pub const AGENT_DIRECTORIES: [&str; 2] = [".agents/skills", ".claude/skills"];

/// The file that pins installed skills, in a project and in the store.
pub const LOCK_FILE: &str = "metier.lock";

/// Where installed skills of a tier are found in a store, by their names.
pub fn installed_directory(store: &Path, tier: Tier) -> PathBuf {
    store.join("current/skills").join(tier.as_str())
}

/// The roots of the skills that are installed in a store, one for each tier that installed skills can have. Links there
/// lead into the store, and nowhere else.
pub fn installed_roots(store: &Path) -> Vec<Root> {
    let root = |tier| Root::optional(installed_directory(store, tier), tier, Scope::User, store);
    [Tier::Org, Tier::User, Tier::ThirdParty].map(root).to_vec()
}

impl RootLocations {
    /// The conventional roots: those of the project from the working directory up to the top of its
    /// repository, then the person's, then the organisation's. They need not be there.
    pub fn roots(&self, trust: &TrustStore) -> Vec<Root> {
        let mut roots: Vec<Root> = Vec::new();
        let home = self.home.as_deref();
        let mine = home.into_iter().flat_map(|home| AGENT_DIRECTORIES.map(|below| home.join(below)));
        let mine: Vec<PathBuf> = mine.collect();
        for folder in self.project_folders() {
            // A mark further up does not count: scripts may work there, and could have made this directory.
            let tier = if trust.is_marked(&folder) { Tier::User } else { Tier::ThirdParty };
            let repository = self.repository().unwrap_or_else(|| folder.clone());
            let below = AGENT_DIRECTORIES.map(|below| folder.join(below));
            // What is in the person's home is theirs, also when they work there.
            let below = below.into_iter().filter(|path| !mine.contains(path));
            roots.extend(below.map(|path| {
                // Who trusts only the directory with the skills means those.
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

    /// The top of the repository that the working directory is in.
    pub fn repository(&self) -> Option<PathBuf> {
        let working = self.working.as_deref()?;
        // In a worktree `.git` is a file.
        working.ancestors().find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok()).map(Into::into)
    }

    /// The working directory and those above it that belong to the same repository.
    pub fn project_folders(&self) -> Vec<PathBuf> {
        let Some(working) = &self.working else { return Vec::new() };
        let top = self.repository().unwrap_or_else(|| working.clone());
        working.ancestors().take_while(|folder| folder.starts_with(&top)).map(Into::into).collect()
    }
}
