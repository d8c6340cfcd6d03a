//! A place with skills in it, and a catalog in a form that two can be compared in.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use metier_catalog::{Catalog, CatalogOptions, Entry, Root, Scanner, Scope, Tier};

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
    pub(crate) fn skill(&self, below: &str, description: &str) -> PathBuf {
        let name = Path::new(below).file_name().unwrap().to_str().unwrap();
        self.write(&format!("{below}/SKILL.md"), skill_md(name, description));
        self.path(below)
    }

    pub(crate) fn link(&self, below: &str, target: impl AsRef<Path>) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    pub(crate) fn root(&self, below: &str, tier: Tier) -> Root {
        Root::new(self.path(below), tier, Scope::User)
    }
}

pub(crate) fn skill_md(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n\nDo it.\n")
}

/// The time by the clock that stamps files.
#[expect(clippy::disallowed_methods, reason = "files are stamped with this very clock")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// A time at which everything that was written so far is no longer fresh.
pub(crate) fn later() -> SystemTime {
    now() + Duration::from_mins(1)
}

pub(crate) fn scan(roots: Vec<Root>) -> Catalog {
    Scanner::new(CatalogOptions::new(roots)).scan(now())
}

/// Everything that a catalog says, one line a thing.
pub(crate) fn text(catalog: &Catalog) -> Vec<String> {
    let entries = catalog.all().iter().map(|entry| {
        let places: Vec<&PathBuf> = entry.places().iter().map(|place| &place.path).collect();
        format!("{} {:?} {} {:?} {:?}", entry.id, entry.facts, entry.state, entry.shadowed_by, places)
    });
    let problems = catalog.problems().iter();
    let problems =
        problems.map(|problem| format!("{} {} {}", problem.path.display(), problem.code, problem.message));
    entries.chain(problems).collect()
}

pub(crate) fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.skills().map(Entry::name).collect()
}

/// The codes of the problems.
pub(crate) fn codes(catalog: &Catalog) -> Vec<&'static str> {
    catalog.problems().iter().map(|problem| problem.code.as_str()).collect()
}

/// Waits until the clock that stamps files has moved on.
pub(crate) fn tick(place: &Place) {
    let stamp = || {
        let path = place.write("tick", "x");
        fs::metadata(path).unwrap().modified().unwrap()
    };
    let first = stamp();
    while stamp() == first {}
}
