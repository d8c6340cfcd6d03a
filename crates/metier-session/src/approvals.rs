//! Stores approval answers: one small file for each, so that concurrent answers do not overwrite each other.
//!
//! A file's name starts with the digest of its skill, so that a decision reads only relevant files.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use metier_policy::{Approval, Approvals};
use metier_skill::Digest;

use crate::error::SessionError;

/// The maximum size of an answer.
const MOST: u64 = 64 << 10;

/// How many digits of a skill's digest are in a file's name.
const DIGITS: usize = 16;

/// The stored answers in a directory.
#[derive(Debug, Clone)]
pub struct ApprovalStore {
    directory: PathBuf,
}

/// An answer with its id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredApproval {
    /// The id.
    pub id: String,
    /// The answer.
    pub approval: Approval,
}

/// A file in the directory that is not a valid answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalProblem {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl ApprovalStore {
    /// Opens the answers in a directory, which need not exist.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// All answers, sorted by skill, and the files that are not valid: damaged, with a name that does not match their
    /// content, or with an owner or permissions that let others write them.
    pub fn list(&self) -> Result<(Vec<StoredApproval>, Vec<ApprovalProblem>), SessionError> {
        self.look(|_| true)
    }

    /// The answers for one content of a skill. A file that may be about it and cannot be read is an error, because it
    /// might be a refusal. Files about other skills are not opened.
    pub fn about(&self, digest: &Digest) -> Result<Approvals, SessionError> {
        let prefix = &digest.hex()[..DIGITS];
        // A file without a digest in its name could be about any skill.
        let concerns = |name: &str| name.split_once('-').is_none_or(|(digest, _)| digest == prefix);
        let (kept, problems) = self.look(concerns)?;
        if let Some(ApprovalProblem { path, reason }) = problems.into_iter().next() {
            let reason =
                format!("{reason}; check it and remove it; `metier approvals` lists the other answers");
            return Err(SessionError::Approvals { path, reason });
        }
        Ok(Approvals::new(kept.into_iter().map(|kept| kept.approval).collect()))
    }

    /// The stored refusals.
    pub fn refusals(&self) -> Result<Vec<StoredApproval>, SessionError> {
        let mut kept = self.list()?.0;
        kept.retain(|kept| !kept.approval.granted);
        Ok(kept)
    }

    /// The answers in files whose names, without the extension, match.
    fn look(
        &self,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<(Vec<StoredApproval>, Vec<ApprovalProblem>), SessionError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
            Err(error) => return Err(self.error("cannot read", &error)),
        };
        let (mut kept, mut problems) = (Vec::new(), Vec::new());
        for entry in entries {
            let path = entry.map_err(|error| self.error("cannot read", &error))?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            if !is_wanted(&stem) {
                continue;
            }
            match read(&path, &stem) {
                Ok(approval) => kept.push(StoredApproval { id: approval.id(), approval }),
                // Another process has just used it.
                Err(_) if fs::symlink_metadata(&path).is_err() => {}
                Err(reason) => problems.push(ApprovalProblem { path, reason }),
            }
        }
        kept.sort_by(|a, b| (&a.approval.skill, &a.id).cmp(&(&b.approval.skill, &b.id)));
        problems.sort_by(|a, b| a.path.cmp(&b.path));
        Ok((kept, problems))
    }

    /// Stores an answer atomically, in place of an earlier answer to the same question; returns its id.
    pub fn keep(&self, approval: &Approval) -> Result<String, SessionError> {
        let _held = self.hold()?;
        self.write(approval)?;
        // The old answer is removed last: a process that is killed in between leaves both, and a refusal then wins.
        for other in self.same_question(approval)? {
            if other.id() != approval.id() {
                self.use_up(&other)?;
            }
        }
        Ok(approval.id())
    }

    /// Stores a one-time answer again that was used up without effect, unless the same question was answered since
    /// then.
    pub(crate) fn give_back(&self, approval: &Approval) -> Result<(), SessionError> {
        let _held = self.hold()?;
        if self.same_question(approval)?.is_empty() { self.write(approval) } else { Ok(()) }
    }

    /// Creates the directory if needed, and locks it against other writers while the file is held.
    fn hold(&self) -> Result<File, SessionError> {
        let hold = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
            let directory = File::open(&self.directory)?;
            rustix::fs::flock(&directory, rustix::fs::FlockOperation::LockExclusive)?;
            Ok(directory)
        };
        hold().map_err(|error: io::Error| self.error("cannot write to", &error))
    }

    fn write(&self, approval: &Approval) -> Result<(), SessionError> {
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
            serde_json::to_writer_pretty(&mut file, approval)?;
            writeln!(file)?;
            file.as_file().sync_all()?;
            file.persist(self.directory.join(file_name(approval))).map_err(|error| error.error)?;
            self.sync()
        };
        write().map_err(|error: io::Error| self.error("cannot write to", &error))
    }

    /// The answers to the same question with the same lifetime.
    fn same_question(&self, approval: &Approval) -> Result<Vec<Approval>, SessionError> {
        let prefix = format!("{}-", &approval.digest.hex()[..DIGITS]);
        let (kept, _) = self.look(|name| name.starts_with(&prefix))?;
        let all = kept.into_iter().map(|kept| kept.approval);
        Ok(all.filter(|other| other.is_same_question(approval)).collect())
    }

    /// Removes an answer. If several processes try, one succeeds.
    pub fn forget(&self, approval: &Approval) -> Result<(), SessionError> {
        if self.use_up(approval)? {
            return Ok(());
        }
        let path = self.directory.join(file_name(approval));
        Err(SessionError::Approvals { path, reason: "it no longer exists".to_owned() })
    }

    /// Uses up a one-time answer; returns whether no other process was faster. The removal survives a power loss.
    pub(crate) fn use_up(&self, approval: &Approval) -> Result<bool, SessionError> {
        match fs::remove_file(self.directory.join(file_name(approval))) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(self.error("cannot remove from", &error)),
        }
        self.sync().map_err(|error| self.error("cannot write to", &error))?;
        Ok(true)
    }

    /// Syncs a rename or removal to the disk.
    fn sync(&self) -> io::Result<()> {
        File::open(&self.directory)?.sync_all()
    }

    fn error(&self, doing: &str, error: &io::Error) -> SessionError {
        SessionError::Approvals { path: self.directory.clone(), reason: format!("{doing} ({error})") }
    }
}

/// `DIGEST-ID.json`
fn file_name(approval: &Approval) -> String {
    format!("{}-{}.json", &approval.digest.hex()[..DIGITS], approval.id())
}

/// Reads the answer in a file, or returns why it is invalid.
fn read(path: &Path, stem: &str) -> Result<Approval, String> {
    let said = |error: io::Error| format!("it cannot be read ({error})");
    let file = File::options().read(true).custom_flags(NO_LINKS).open(path).map_err(said)?;
    let meta = file.metadata().map_err(said)?;
    let own = rustix::process::geteuid().as_raw();
    if !meta.is_file() {
        return Err("it is not a file".to_owned());
    }
    if meta.uid() != own && meta.uid() != 0 {
        return Err(format!("it belongs to another user (uid {})", meta.uid()));
    }
    if meta.mode() & 0o022 != 0 {
        return Err("others may write to it".to_owned());
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(said)?;
    let approval: Approval =
        serde_json::from_str(&text).map_err(|error| format!("it is not an approval ({error})"))?;
    // A file with another name was edited, was written by another program, or is from another version of metier.
    let is_named = file_name(&approval).strip_suffix(".json") == Some(stem);
    if is_named { Ok(approval) } else { Err("its name does not match its content".to_owned()) }
}

/// Opens a file without following links and without blocking on a pipe.
const NO_LINKS: i32 = rustix::fs::OFlags::NOFOLLOW.union(rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
