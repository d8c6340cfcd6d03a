//! Checks a journal against the stored skills: everything that was recorded must match their content.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use metier_journal::{
    ByteRange, Event, JournalError, JournalReader, RecordQuery, RecordRef, RecordedContent, ScriptExecuted,
    ScriptOutcome,
};
use metier_skill::{Digest, Manifest, SKILL_FILES};
use metier_store::{Store, StoreError};
use serde::Serialize;

/// The result of a replay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReplayReport {
    /// The number of checked records.
    pub records: u64,
    /// Activations that match.
    pub activations: u64,
    /// Resource reads that match.
    pub reads: u64,
    /// Script runs that match.
    pub scripts: u64,
    /// Scripts that were prepared and never started.
    pub refused: u64,
    /// The number of skills involved.
    pub skills: u64,
    /// The number of distinct skill contents.
    pub versions: u64,
    /// The first record that does not match.
    pub divergence: Option<Divergence>,
}

/// A record that does not match, or can no longer be proven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Divergence {
    /// The record.
    pub sequence: u64,
    /// Its id.
    pub id: String,
    /// Its time.
    pub time: String,
    /// Its session.
    pub session: Option<String>,
    /// Its kind.
    pub kind: String,
    /// The skill.
    pub skill: String,
    /// The reason as a stable code.
    pub code: &'static str,
    /// The reason as text.
    pub reason: String,
}

/// The kinds of records that are checked.
const PROVEN: [&str; 3] = ["skill.activated", "skill.resource_read", "skill.script_executed"];

/// Checks each activation, read and script run in a journal: the skill with the recorded digest is in the store, and
/// its bytes are those that were handed out or run. Stops at the first mismatch.
pub fn replay(
    journal: &mut JournalReader,
    store: &Store,
    query: &RecordQuery,
) -> Result<ReplayReport, JournalError> {
    let mut replay = Replay {
        store,
        trees: BTreeMap::new(),
        names: BTreeSet::new(),
        proven: BTreeSet::new(),
        found: ReplayReport::default(),
    };
    journal.each_row_matching(query, |row| {
        replay.found.records += 1;
        let event = row.to_event();
        let checked = match &event {
            Some(event) => replay.check(event),
            None if PROVEN.contains(&row.kind().as_str()) => {
                Err(Wrong::new("replay-record", "the record lacks fields of its kind"))
            }
            None => Ok(()),
        };
        match checked {
            Ok(()) => ControlFlow::Continue(()),
            Err(wrong) => {
                let skill = event.as_ref().and_then(Event::skill).unwrap_or_default();
                replay.found.divergence = Some(wrong.at(row, skill));
                ControlFlow::Break(())
            }
        }
    })?;
    replay.found.skills = replay.names.len() as u64;
    replay.found.versions = replay.trees.len() as u64;
    Ok(replay.found)
}

struct Replay<'a> {
    store: &'a Store,
    trees: BTreeMap<Digest, Manifest>,
    names: BTreeSet<String>,
    /// Files that were already checked.
    proven: BTreeSet<Digest>,
    found: ReplayReport,
}

/// What is wrong with a record.
struct Wrong {
    code: &'static str,
    reason: String,
}

impl Wrong {
    fn new(code: &'static str, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }

    fn at(self, row: &RecordRef<'_>, skill: &str) -> Divergence {
        Divergence {
            sequence: row.sequence,
            id: row.id.to_owned(),
            time: row.time.to_owned(),
            session: row.session.map(str::to_owned),
            kind: row.kind(),
            skill: skill.to_owned(),
            code: self.code,
            reason: self.reason,
        }
    }
}

impl From<StoreError> for Wrong {
    fn from(error: StoreError) -> Self {
        let reason = match &error {
            StoreError::Io { source, .. } => format!("{error}: {source}"),
            _ => error.to_string(),
        };
        Self { code: error.code(), reason }
    }
}

impl Replay<'_> {
    fn check(&mut self, event: &Event) -> Result<(), Wrong> {
        match event {
            Event::SkillActivated { tree_digest, skill_md_digest, .. } => {
                self.activation(tree_digest, skill_md_digest)?;
                self.found.activations += 1;
            }
            Event::SkillResourceRead { tree_digest, path, content, range, .. } => {
                self.read(tree_digest, path, content, *range)?;
                self.found.reads += 1;
            }
            Event::SkillScriptExecuted(run) => {
                self.script(run)?;
                match run.outcome {
                    ScriptOutcome::Denied | ScriptOutcome::Failed => self.found.refused += 1,
                    _ => self.found.scripts += 1,
                }
            }
            _ => return Ok(()),
        }
        self.names.extend(event.skill().map(str::to_owned));
        Ok(())
    }

    fn activation(&mut self, tree: &Digest, skill_md: &Digest) -> Result<(), Wrong> {
        let manifest = self.tree(tree)?;
        let file = SKILL_FILES.iter().find_map(|name| manifest.get(Path::new(name)));
        match file {
            Some(file) if file.digest == *skill_md => Ok(()),
            _ => Err(Wrong::new(
                "replay-skill-md",
                format!("skill {tree} has no `SKILL.md` with digest {skill_md}"),
            )),
        }
    }

    fn read(
        &mut self,
        tree: &Digest,
        path: &str,
        content: &RecordedContent,
        range: Option<ByteRange>,
    ) -> Result<(), Wrong> {
        let digest = self.file(tree, path)?;
        let bytes = self.store.read(&digest)?;
        let part = match range {
            None => Some(&*bytes),
            Some(ByteRange { offset, length }) => {
                let end = offset.checked_add(length).and_then(|end| usize::try_from(end).ok());
                let start = usize::try_from(offset).ok();
                start.zip(end).and_then(|(start, end)| bytes.get(start..end))
            }
        };
        let is_same = |part: &[u8]| part.len() as u64 == content.bytes && Digest::of(part) == content.digest;
        if part.is_some_and(is_same) {
            return Ok(());
        }
        Err(Wrong::new(
            "replay-content",
            format!("the recorded content does not match this part of `{path}` in {tree}"),
        ))
    }

    fn script(&mut self, run: &ScriptExecuted) -> Result<(), Wrong> {
        let digest = self.file(&run.tree_digest, &run.script)?;
        if digest == run.script_digest {
            return Ok(());
        }
        let reason =
            format!("`{}` in {} has digest {digest}, not {}", run.script, run.tree_digest, run.script_digest);
        Err(Wrong::new("replay-script", reason))
    }

    /// The digest of a file of a skill.
    fn file(&mut self, tree: &Digest, path: &str) -> Result<Digest, Wrong> {
        let manifest = self.tree(tree)?;
        // Only UTF-8 names can be requested; a name that is equal only after replacing invalid bytes is a different
        // file.
        let file = manifest.get(Path::new(path));
        let missing = || Wrong::new("replay-file", format!("skill {tree} has no file `{path}`"));
        file.map(|file| file.digest).ok_or_else(missing)
    }

    /// A skill whose bytes have all been checked once.
    fn tree(&mut self, digest: &Digest) -> Result<&Manifest, Wrong> {
        if !self.trees.contains_key(digest) {
            let manifest = self.store.manifest(digest)?;
            for file in manifest.files() {
                if !self.proven.contains(&file.digest) {
                    self.store.read(&file.digest)?;
                    self.proven.insert(file.digest);
                }
            }
            self.trees.insert(*digest, manifest);
        }
        self.trees.get(digest).ok_or_else(|| Wrong::new("replay-skill", "it is missing"))
    }
}
