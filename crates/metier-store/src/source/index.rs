//! The index of a site: `/.well-known/agent-skills/index.json`, version 0.2, and 0.1 without digests. Pure.

use metier_skill::{Digest, SkillName};
use serde_json::{Map, Value};

use crate::archive::{ArchiveLimits, name as path_name};

/// The schema of version 0.2. It is a name, and never fetched.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// The most skills of one index.
const ENTRIES_MAX: usize = 10_000;
/// The most files of one skill in version 0.1.
const FILES_MAX: usize = 1_000;

/// An index of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillIndex {
    /// Whether the index has digests: version 0.2.
    pub has_digests: bool,
    /// Each entry, or why it cannot be used.
    pub entries: Vec<Result<IndexEntry, IndexProblem>>,
}

/// One skill of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexEntry {
    /// Its name.
    pub name: String,
    /// What is downloaded.
    pub artifact: IndexArtifact,
}

/// What is downloaded for a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexArtifact {
    /// A `SKILL.md` at a URL.
    SkillMd(String, Digest),
    /// An archive at a URL, with the `SKILL.md` at its root.
    Archive(String, Digest),
    /// Files below the folder of the skill, without digests (version 0.1).
    Files(Vec<String>),
}

/// Why an entry cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexProblem {
    /// Its name, or its number.
    pub name: String,
    /// The reason.
    pub reason: String,
}

impl SkillIndex {
    /// Parses an index. A bad entry does not spoil the others; the error is about the whole file.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let index: Value =
            serde_json::from_slice(bytes).map_err(|error| format!("it is not valid JSON: {error}"))?;
        let Value::Object(index) = index else { return Err("it is not a JSON object".to_owned()) };
        let has_digests = match index.get("$schema") {
            None => false,
            Some(Value::String(schema)) if schema == SCHEMA => true,
            Some(schema) => return Err(format!("its `$schema` {schema} is unknown; supported: {SCHEMA}")),
        };
        let Some(Value::Array(skills)) = index.get("skills") else {
            return Err("it has no list `skills`".to_owned());
        };
        if skills.len() > ENTRIES_MAX {
            return Err(format!("it has more than {ENTRIES_MAX} skills"));
        }
        let entry = |(at, value): (usize, &Value)| {
            let name = value.get("name").and_then(Value::as_str);
            let name = name.map_or_else(|| format!("entry {}", at + 1), str::to_owned);
            let read = value.as_object().ok_or_else(|| "is not an object".to_owned());
            let artifact = read.and_then(|value| {
                let given = value.get("name").ok_or("has no `name`")?;
                let is_valid = given.as_str().is_some_and(|name| SkillName::new(name).is_ok());
                if !is_valid {
                    return Err(format!("has the name {given}, which is not a valid name of a skill"));
                }
                if has_digests { pinned(value) } else { listed(value) }
            });
            match artifact {
                Ok(artifact) => Ok(IndexEntry { name, artifact }),
                Err(reason) => Err(IndexProblem { name, reason }),
            }
        };
        Ok(Self { has_digests, entries: skills.iter().enumerate().map(entry).collect() })
    }
}

/// An entry of version 0.2.
fn pinned(entry: &Map<String, Value>) -> Result<IndexArtifact, String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).ok_or_else(|| missing(entry, key));
    let (kind, url) = (text("type")?, text("url")?);
    let digest = text("digest").map_err(|reason| match entry.get("sha256") {
        Some(_) => format!("{reason}; it has `sha256`, which is not part of version 0.2"),
        None => reason,
    })?;
    let digest = digest
        .parse()
        .map_err(|_| format!("has the invalid digest `{digest}`; `sha256:` and 64 digits are expected"))?;
    match kind {
        "skill-md" => Ok(IndexArtifact::SkillMd(url.to_owned(), digest)),
        "archive" => Ok(IndexArtifact::Archive(url.to_owned(), digest)),
        kind => Err(format!("has the unknown type `{kind}`; supported: `skill-md`, `archive`")),
    }
}

/// An entry of version 0.1.
fn listed(entry: &Map<String, Value>) -> Result<IndexArtifact, String> {
    let Some(Value::Array(files)) = entry.get("files") else {
        let reason = missing(entry, "files");
        return Err(format!(
            "{reason}; an index without `$schema` is read as version 0.1, which lists files"
        ));
    };
    if files.len() > FILES_MAX {
        return Err(format!("has more than {FILES_MAX} files"));
    }
    let depth = ArchiveLimits::default().depth;
    let file = |file: &Value| {
        let path = file.as_str().ok_or_else(|| format!("lists {file}, which is not a path"))?;
        path_name::check(path.as_bytes(), depth)
            .map_err(|error| format!("lists an invalid path: {error}"))?;
        Ok(path.to_owned())
    };
    let files: Vec<String> = files.iter().map(file).collect::<Result<_, String>>()?;
    if !files.iter().any(|file| metier_skill::SKILL_FILES.contains(&file.as_str())) {
        return Err("lists no `SKILL.md`".to_owned());
    }
    Ok(IndexArtifact::Files(files))
}

fn missing(entry: &Map<String, Value>, key: &str) -> String {
    match entry.get(key) {
        None => format!("has no `{key}`"),
        Some(_) => format!("has a `{key}` of the wrong type"),
    }
}
