//! A place with skills in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use metier_catalog::{Catalog, CatalogOptions, Root, Scanner, Scope, Tier};

/// A directory that goes when it is dropped.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(below)
    }

    pub(crate) fn write(&self, below: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// A skill whose name is the last part of the path.
    pub(crate) fn skill(&self, below: &str, description: &str) {
        let name = Path::new(below).file_name().unwrap().to_str().unwrap();
        self.write(&format!("{below}/SKILL.md"), skill_md(name, description));
    }

    pub(crate) fn root(&self, below: &str, tier: Tier) -> Root {
        Root::new(self.path(below), tier, Scope::User)
    }
}

pub(crate) fn skill_md(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n\nDo it.\n")
}

/// A time at which everything that was written so far is no longer fresh.
#[expect(clippy::disallowed_methods, reason = "files are stamped with this clock")]
pub(crate) fn later() -> SystemTime {
    SystemTime::now() + Duration::from_mins(1)
}

pub(crate) fn scan(roots: Vec<Root>) -> Catalog {
    Scanner::new(CatalogOptions::new(roots)).scan(later())
}
