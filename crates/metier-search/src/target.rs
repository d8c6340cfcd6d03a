//! The skills of a catalog as they are indexed.

use std::hash::Hasher as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use metier_catalog::{Catalog, SkillFacts};
use metier_skill::SKILL_FILES;
use metier_skill::disk::read_named;
use twox_hash::XxHash3_64;

use crate::meaning::Model;

/// The skills of a catalog as they are indexed, each with a key that changes with its content.
pub(crate) struct Targets<'a> {
    pub(crate) all: Vec<Target<'a>>,
}

/// One skill.
pub(crate) struct Target<'a> {
    pub(crate) key: u64,
    pub(crate) facts: &'a SkillFacts,
    source: Source<'a>,
}

/// The source of a skill's text.
enum Source<'a> {
    /// The `SKILL.md` of a directory.
    Directory(&'a Path),
    /// A text inside the binary.
    Text(&'a str),
}

impl<'a> Targets<'a> {
    pub(crate) fn of(catalog: &'a Catalog) -> Self {
        let entries = catalog.all().iter().map(|entry| {
            let source = match entry.builtin() {
                Some(builtin) => Source::Text(builtin.skill_md()),
                None => Source::Directory(entry.real_path()),
            };
            Target { key: key(entry.path(), &entry.facts), facts: &entry.facts, source }
        });
        let unusable = catalog.unusable().iter().map(|unusable| {
            let path = &unusable.problem.path;
            Target {
                key: key(path, &unusable.facts),
                facts: &unusable.facts,
                source: Source::Directory(path),
            }
        });
        Self { all: entries.chain(unusable).collect() }
    }

    /// Changes with any of the skills.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hash = XxHash3_64::with_seed(Model::get().checksum());
        for target in &self.all {
            hash.write_u64(target.key);
        }
        hash.finish()
    }
}

impl Target<'_> {
    /// The text after the frontmatter. Empty if it can no longer be read; the next scan reports that.
    pub(crate) fn body(&self) -> String {
        const MOST: u64 = 1 << 20;
        let text = match self.source {
            Source::Text(text) => text.to_owned(),
            Source::Directory(path) => {
                let mut files = SKILL_FILES.iter();
                let read = files.find_map(|file| read_named(path.join(file), MOST).ok());
                read.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
            }
        };
        metier_skill::body_of(&text).to_owned()
    }
}

/// Changes with the processing of texts, so that older indexes are rebuilt.
const TEXTS_VERSION: u64 = 1;

fn key(path: &Path, facts: &SkillFacts) -> u64 {
    let mut hash = XxHash3_64::with_seed(TEXTS_VERSION);
    hash.write(path.as_os_str().as_bytes());
    hash.write(facts.skill_md_digest.as_bytes());
    hash.finish()
}
