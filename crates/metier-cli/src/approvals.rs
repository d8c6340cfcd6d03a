//! Where a person's answers are kept: one small file each, so that two at once lose neither.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use metier_policy::{Approval, Approvals};
use metier_skill::Digest;

use crate::environment::Environment;
use crate::exit::UsageError;

/// The answers of this person on this machine.
pub(crate) struct ApprovalStore {
    directory: PathBuf,
}

/// An answer and the name that it is kept under.
pub(crate) struct Kept {
    pub(crate) id: String,
    pub(crate) approval: Approval,
}

impl ApprovalStore {
    /// Where they are kept; nowhere without a home.
    pub(crate) fn of(environment: &Environment) -> Option<Self> {
        let state = environment.state_directory()?;
        Some(Self { directory: state.join("approvals") })
    }

    /// The same, where there must be a place.
    pub(crate) fn must(environment: &Environment) -> Result<Self, UsageError> {
        let message = "there is no home directory to keep approvals in; set HOME or XDG_STATE_HOME";
        Self::of(environment).ok_or_else(|| UsageError(message.to_owned()))
    }

    /// All answers, in the order of skills, and what could not be read.
    pub(crate) fn list(&self) -> anyhow::Result<(Vec<Kept>, Vec<PathBuf>)> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", self.directory.display()));
            }
        };
        let (mut kept, mut unread) = (Vec::new(), Vec::new());
        for entry in entries {
            let path = entry.with_context(|| format!("cannot read {}", self.directory.display()))?.path();
            let Some(id) = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_ours(&path)) else {
                continue;
            };
            match read(&path) {
                // What is not under its own name was put there by somebody else.
                Some(approval) if id_of(&approval) == id => kept.push(Kept { id: id.to_owned(), approval }),
                _ => unread.push(path),
            }
        }
        kept.sort_by(|a, b| (&a.approval.skill, &a.id).cmp(&(&b.approval.skill, &b.id)));
        unread.sort();
        Ok((kept, unread))
    }

    /// The answers, for deciding. One that cannot be read might be a no, so that is an error.
    pub(crate) fn read(&self) -> anyhow::Result<Approvals> {
        let (kept, unread) = self.list()?;
        if let Some(path) = unread.first() {
            anyhow::bail!("{} is no approval that can be read; look at it and remove it", path.display());
        }
        Ok(Approvals::new(kept.into_iter().map(|kept| kept.approval).collect()))
    }

    /// Keeps an answer, whole or not at all.
    pub(crate) fn keep(&self, approval: &Approval) -> anyhow::Result<String> {
        let id = id_of(approval);
        let write = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
            let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
            serde_json::to_writer_pretty(&mut file, approval)?;
            writeln!(file)?;
            file.as_file().sync_all()?;
            file.persist(self.directory.join(format!("{id}.json"))).map_err(|error| error.error)
        };
        write().with_context(|| format!("cannot write to {}", self.directory.display()))?;
        Ok(id)
    }

    /// Forgets an answer.
    pub(crate) fn forget(&self, id: &str) -> anyhow::Result<()> {
        let path = self.directory.join(format!("{id}.json"));
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
    }
}

fn is_ours(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn read(path: &Path) -> Option<Approval> {
    serde_json::from_str(&crate::config::read_bounded(path).ok()?).ok()
}

/// The same question for the same time has one answer.
fn id_of(approval: &Approval) -> String {
    let Approval { digest, script, access, lifetime, .. } = approval;
    let key = serde_json::json!([digest, script, access, lifetime]);
    Digest::of(key.to_string().as_bytes()).hex()[..12].to_owned()
}
