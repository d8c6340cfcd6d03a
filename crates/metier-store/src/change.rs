//! The planned change of an installed skill: which files are added, removed or changed.

use metier_skill::Manifest;
use serde::Serialize;

use crate::candidate::Candidate;
use crate::lock::LockedSkill;
use crate::provenance::ScanSummary;

/// How many files a difference lists.
const FILES_SHOWN: usize = 5;

/// What happens to a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ChangeKind {
    /// The skill is not installed yet.
    Installed,
    /// The content of the skill changes.
    Changed,
    /// The skill stays the same.
    Unchanged,
    /// The files of the installed skill were modified; they are restored.
    Repaired,
    /// The skill is removed.
    Removed,
}

/// A planned change of one skill.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PlannedChange {
    /// The skill's name.
    pub name: String,
    /// What happens to it.
    pub kind: ChangeKind,
    /// The skill before the change; `None` if it is new.
    pub before: Option<LockedSkill>,
    /// The skill after the change; `None` if it is removed.
    pub after: Option<LockedSkill>,
    /// The report of the scan.
    pub scan: Option<ScanSummary>,
    /// Files that are added (`+`), removed (`-`) or changed (`~`), with their paths, and a note if a file becomes
    /// executable.
    pub files: Vec<String>,
}

impl PlannedChange {
    pub(crate) fn new(before: Option<&LockedSkill>, candidate: &Candidate) -> Self {
        let after = &candidate.locked;
        let kind = match before {
            None => ChangeKind::Installed,
            Some(before)
                if before.digest == after.digest
                    && before.tier == after.tier
                    && before.signer == after.signer
                    && before.commit == after.commit
                    && before.source == after.source =>
            {
                ChangeKind::Unchanged
            }
            Some(_) => ChangeKind::Changed,
        };
        let files =
            before.and_then(LockedSkill::manifest).map(|old| differences(&old, &candidate.staged.manifest));
        Self {
            name: after.name.clone(),
            kind,
            before: before.cloned(),
            after: Some(after.clone()),
            scan: Some(candidate.provenance.scan.clone()),
            files: files.unwrap_or_default(),
        }
    }

    pub(crate) fn removed(before: &LockedSkill) -> Self {
        let (name, before) = (before.name.clone(), Some(before.clone()));
        Self { name, kind: ChangeKind::Removed, before, after: None, scan: None, files: Vec::new() }
    }

    /// Whether the content stays the same, whatever its source.
    pub(crate) fn is_same_bytes(&self) -> bool {
        let what = |skill: &LockedSkill| (skill.digest, skill.tier, skill.signer.clone());
        self.before
            .as_ref()
            .zip(self.after.as_ref())
            .is_some_and(|(before, after)| what(before) == what(after))
    }

    /// The differences, on one line.
    pub fn difference(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        if let (Some(before), Some(after)) = (&self.before, &self.after) {
            if before.name != after.name {
                parts.push(format!("its name is `{}`", after.name));
            }
            if before.digest != after.digest {
                parts.push(format!("its digest is {}, not {}", after.digest, before.digest));
            }
        }
        let more = self.files.len().saturating_sub(FILES_SHOWN);
        parts.extend(self.files.iter().take(FILES_SHOWN).cloned());
        if more > 0 {
            parts.push(format!("and {more} more"));
        }
        parts.join(", ")
    }
}

/// The files that differ between two manifests.
pub(crate) fn differences(old: &Manifest, new: &Manifest) -> Vec<String> {
    let mut lines = Vec::new();
    let runs = |executable: bool| if executable { " (executable)" } else { "" };
    for file in new.files() {
        let path = file.path.display();
        match old.get(&file.path) {
            None => lines.push(format!("+ {path}{}", runs(file.executable))),
            Some(before) if before.digest != file.digest => {
                lines.push(format!("~ {path}{}", runs(file.executable)));
            }
            Some(before) if before.executable != file.executable => {
                lines.push(format!(
                    "~ {path}{}",
                    if file.executable { " (executable)" } else { " (no longer executable)" }
                ));
            }
            Some(_) => {}
        }
    }
    lines.extend(
        old.files()
            .iter()
            .filter(|file| new.get(&file.path).is_none())
            .map(|file| format!("- {}", file.path.display())),
    );
    lines
}
