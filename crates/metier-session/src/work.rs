//! The work directory of a script, and the directories that it must never be: the session's own rules, in addition to
//! those of its host.

use std::path::Path;

use metier_sandbox::{ReservedPaths, SandboxError, SandboxProfile, Strictness, WorkDirectory, leads_to};

use crate::active_skill::ActiveSkill;
use crate::error::SessionError;
use crate::script::ScriptCall;
use crate::session::{Recording, Session};

impl Session {
    /// Opens a work directory for scripts, if this session allows it.
    pub fn work_directory(&self, path: impl AsRef<Path>) -> Result<WorkDirectory, SessionError> {
        Ok(WorkDirectory::open(path, &self.reserved())?)
    }

    /// The directories that scripts of this session may never change: the host's, and those of the session itself.
    fn reserved(&self) -> ReservedPaths {
        let options = &self.options;
        let mut all = options.reserved.clone().home(&options.places.home);
        for report in self.catalog.roots() {
            all = all.kept("a skill root", &report.root.path);
        }
        for store in [&options.store, &options.installed].into_iter().flatten() {
            all = all.own("the store", store.root());
        }
        if let Some(approvals) = &options.approvals {
            all = all.own("stored approvals", approvals.directory());
        }
        if let Recording::Journal(journal) = &options.recording
            && let Some(file) = journal.file()
        {
            all = all.own("the journal", file);
        }
        all
    }

    /// The work directory of a script: the one of the call, or an empty one. It is checked against every rule of this
    /// session, even if the caller opened it.
    pub(crate) fn work_of(
        &self,
        call: &ScriptCall,
        held: &ActiveSkill,
    ) -> Result<WorkDirectory, SessionError> {
        let Some(work) = &call.work else { return Ok(WorkDirectory::temporary()?) };
        let mut reserved = self.reserved();
        // Built-in skills have no directory.
        if let Ok(original) = held.directory.canonicalize() {
            reserved = reserved.kept("the skill itself, which its scripts may not change", original);
        }
        Ok(work.clone().checked(&reserved)?)
    }

    /// Protects documents that change only through the gateway, even inside the script's work directory.
    pub(crate) fn protect(&self, profile: &mut SandboxProfile) -> Result<(), SessionError> {
        for document in &self.options.protected {
            let unclear = |source| SandboxError::Path { path: document.clone(), source };
            let absolute = std::path::absolute(document).map_err(unclear)?;
            // Also one that does not exist yet.
            let real =
                leads_to(&absolute).ok_or_else(|| unclear(std::io::ErrorKind::InvalidFilename.into()))?;
            for work in &profile.writable {
                if work.path().starts_with(&real) {
                    let reason = "it is protected and changes only through the gateway";
                    return Err(SandboxError::TooWide { path: work.path().to_owned(), reason }.into());
                }
                if let Ok(below) = real.strip_prefix(work.path()) {
                    profile.protected.push(below.to_owned());
                    // Only namespaces can protect it.
                    profile.strictness = Strictness::Every;
                }
            }
        }
        Ok(())
    }
}
