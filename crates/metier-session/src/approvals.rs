//! Where a person's answers are kept: one small file each, so that two at once lose neither.

use std::fs::{self, DirBuilder};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use metier_policy::{Approval, Approvals};
use metier_skill::Digest;

use crate::error::SessionError;

/// More than any answer has.
const MOST: u64 = 64 << 10;

/// The answers that are kept in a directory.
#[derive(Debug, Clone)]
pub struct ApprovalStore {
    directory: PathBuf,
}

/// An answer and the name that it is kept under.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptApproval {
    /// The name.
    pub id: String,
    /// The answer.
    pub approval: Approval,
}

impl ApprovalStore {
    /// Those in a directory, which need not be there.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// All answers, in the order of skills, and the files that could not be read.
    pub fn list(&self) -> Result<(Vec<KeptApproval>, Vec<PathBuf>), SessionError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
            Err(error) => return Err(self.error("cannot read", &error)),
        };
        let (mut kept, mut unread) = (Vec::new(), Vec::new());
        for entry in entries {
            let path = entry.map_err(|error| self.error("cannot read", &error))?.path();
            let Some(id) = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_ours(&path)) else {
                continue;
            };
            match read(&path) {
                // What is not under its own name was put there by somebody else.
                Some(approval) if id_of(&approval) == id => {
                    kept.push(KeptApproval { id: id.to_owned(), approval });
                }
                // Used up by another process just now.
                _ if fs::symlink_metadata(&path).is_err() => {}
                _ => unread.push(path),
            }
        }
        kept.sort_by(|a, b| (&a.approval.skill, &a.id).cmp(&(&b.approval.skill, &b.id)));
        unread.sort();
        Ok((kept, unread))
    }

    /// The answers, for deciding. One that cannot be read might be a no, so that is an error.
    pub fn read(&self) -> Result<Approvals, SessionError> {
        let (kept, unread) = self.list()?;
        if let Some(path) = unread.into_iter().next() {
            let reason = "this is no approval that can be read; look at it and remove it".to_owned();
            return Err(SessionError::Approvals { path, reason });
        }
        Ok(Approvals::new(kept.into_iter().map(|kept| kept.approval).collect()))
    }

    /// Keeps an answer, whole or not at all; the name that it is kept under.
    pub fn keep(&self, approval: &Approval) -> Result<String, SessionError> {
        let id = id_of(approval);
        let write = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
            let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
            serde_json::to_writer_pretty(&mut file, approval)?;
            writeln!(file)?;
            file.as_file().sync_all()?;
            file.persist(self.directory.join(format!("{id}.json"))).map_err(|error| error.error)
        };
        write().map_err(|error| self.error("cannot write to", &error))?;
        Ok(id)
    }

    /// Forgets an answer. Of several who do, one succeeds.
    pub fn forget(&self, id: &str) -> Result<(), SessionError> {
        let path = self.directory.join(format!("{id}.json"));
        fs::remove_file(&path)
            .map_err(|error| SessionError::Approvals { reason: format!("cannot remove ({error})"), path })
    }

    /// Uses up an answer that held once; whether nobody else was faster.
    pub(crate) fn use_up(&self, approval: &Approval) -> Result<bool, SessionError> {
        match fs::remove_file(self.directory.join(format!("{}.json", id_of(approval)))) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.error("cannot remove from", &error)),
        }
    }

    fn error(&self, doing: &str, error: &io::Error) -> SessionError {
        SessionError::Approvals { path: self.directory.clone(), reason: format!("{doing} ({error})") }
    }
}

fn is_ours(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn read(path: &Path) -> Option<Approval> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(MOST).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The same question for the same time has one answer.
fn id_of(approval: &Approval) -> String {
    let Approval { digest, script, access, lifetime, .. } = approval;
    let key = match approval.reach() {
        Some(reach) if !reach.is_whole() => serde_json::json!([digest, script, access, lifetime, reach]),
        // So that an answer from before there was a choice keeps its name.
        _ => serde_json::json!([digest, script, access, lifetime]),
    };
    Digest::of(key.to_string().as_bytes()).hex()[..12].to_owned()
}
