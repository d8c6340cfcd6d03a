//! Archives and the journal that they came from, verified together: each part must continue the one before it.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use metier_skill::Digest;
use sha2::{Digest as _, Sha256};

use crate::address::JournalAddress;
use crate::checkpoint::Checkpoint;
use crate::error::JournalError;
use crate::event::ArchivedRecords;
use crate::gzip::MAGIC;
use crate::lines::Lines;
use crate::start::Start;
use crate::store::{Found, Inspection, Store};
use crate::verify::{DamageKind, Verification, Verifier};

/// Verifies archives and exports together, and with them the journal that they came from, if it is given: each is intact,
/// each continues the one before it, none between them is missing, and together they extend each of these checkpoints.
///
/// The order in which archives are given does not matter. Records that are in two of them must be the same.
pub fn verify_archives(
    archives: &[PathBuf],
    journal: Option<&JournalAddress>,
    since: &[Checkpoint],
) -> Result<Verification, JournalError> {
    let mut verifier = Verifier::new(since);
    let mut parts = Vec::new();
    for path in archives {
        let mut store = Lines::open(path);
        let first = store.start()?.map_or(0, |start| start.size());
        parts.push((first, path, store));
    }
    parts.sort_by_key(|(first, ..)| *first);
    let mut files = Vec::new();
    for (first, path, store) in &mut parts {
        let end = join(&mut verifier, &format!("`{}`", path.display()), store)?;
        files.push((path.as_path(), *first, end));
    }
    let Some(address) = journal else {
        check_files(&mut verifier, &files)?;
        return Ok(verifier.finish());
    };
    let noted = address.noted();
    verifier.expect(noted);
    let mut store = match address.open_to_read() {
        // An empty journal is not a new one where there were records.
        Err(JournalError::NotFound { .. }) if !since.is_empty() || noted.is_some() => {
            return Ok(verifier.finish());
        }
        Err(JournalError::NotAJournal { path, reason }) => {
            let detail = format!("`{}` cannot be read: {reason}", path.display());
            let _ = verifier.damage(DamageKind::Unreadable, Some(0), detail);
            return Ok(verifier.finish());
        }
        other => other?,
    };
    join(&mut verifier, "the journal", &mut *store)?;
    check_files(&mut verifier, &files)?;
    if store.is_live() && verifier.damage.is_none() {
        verifier.check_link();
    }
    let Inspection { damage, skipped } = store.inspect()?;
    verifier.skipped.extend(skipped);
    if let Some(detail) = damage {
        let _ = verifier.damage(DamageKind::File, None, detail);
    }
    Ok(verifier.finish())
}

/// Verifies one part, which must continue what was verified before: the sequence after its last intact record.
fn join(verifier: &mut Verifier<'_>, name: &str, store: &mut dyn Store) -> Result<u64, JournalError> {
    if verifier.damage.is_some() {
        return Ok(0);
    }
    let is_first = verifier.state().is_none();
    let joining = RefCell::new(Joining { verifier, repeated: None, end: 0 });
    let mut begin = |start: Option<&Start>| joining.borrow_mut().begin(start, is_first);
    store.read(0, &mut begin, &mut |found| joining.borrow_mut().take(found))?;
    let Joining { verifier, end, .. } = joining.into_inner();
    if let Some(damage) = verifier.damage.as_mut().filter(|_| !(is_first && store.is_live())) {
        damage.detail = format!("{name}: {}", damage.detail);
    }
    Ok(end)
}

/// A part that is being verified, with those records of it that were in another part as well.
struct Joining<'a, 'b> {
    verifier: &'a mut Verifier<'b>,
    repeated: Option<Verifier<'static>>,
    /// The sequence after the last record.
    end: u64,
}

impl Joining<'_, '_> {
    fn begin(&mut self, start: Option<&Start>, is_first: bool) {
        if is_first {
            return self.verifier.begin(start);
        }
        let (first, next) = (start.map_or(0, Start::size), self.verifier.next());
        let is_same = || start.zip(self.verifier.state()).is_some_and(|(start, state)| start.is_same(&state));
        if first > next {
            let detail =
                format!("records {next} to {} are missing before it; no given archive has them", first - 1);
            let _ = self.verifier.damage(DamageKind::Missing, Some(next), detail);
        } else if first == next && !is_same() {
            let detail = format!("it does not continue record {}", next.saturating_sub(1));
            let _ = self.verifier.damage(DamageKind::OtherJournal, Some(next), detail);
        } else if first < next {
            let mut repeated = Verifier::new(&[]);
            repeated.begin(start);
            self.repeated = Some(repeated);
        }
    }

    fn take(&mut self, found: Found<'_>) -> ControlFlow<()> {
        self.end = found.as_ref().map_or(self.end, |row| row.sequence.saturating_add(1));
        let Some(repeated) = &mut self.repeated else { return self.verifier.take(found) };
        let flow = repeated.take(found);
        if let Some(damage) = repeated.damage.take() {
            return self.verifier.damage(damage.kind, damage.sequence, damage.detail);
        }
        if repeated.next() == self.verifier.next() {
            let is_same =
                repeated.state().zip(self.verifier.state()).is_some_and(|(one, other)| one.is_same(&other));
            self.repeated = None;
            if !is_same {
                let detail = "its first records are not those of the other archives".to_owned();
                return self.verifier.damage(DamageKind::OtherJournal, None, detail);
            }
        }
        flow
    }
}

/// Compares each archive with what a record says about it. Decompressed copies are not compared.
fn check_files(verifier: &mut Verifier<'_>, files: &[(&Path, u64, u64)]) -> Result<(), JournalError> {
    for (path, first, end) in files {
        let is_it =
            |one: &&ArchivedRecords| one.first == *first && one.first.checked_add(one.records) == Some(*end);
        let Some(recorded) = verifier.archives.iter().find(is_it).map(|one| one.digest) else { continue };
        let failed = |error: io::Error| JournalError::of_file(*path, "read", &error);
        if let Some(digest) = digest_of_compressed(path).map_err(failed)?
            && digest != recorded
        {
            let detail = format!(
                "`{}`: its records are intact, but the file has digest {digest}; {recorded} was archived",
                path.display()
            );
            let _ = verifier.damage(DamageKind::File, None, detail);
        }
    }
    Ok(())
}

/// The digest of a compressed file; `None` if it is not compressed.
pub(crate) fn digest_of_compressed(path: &Path) -> io::Result<Option<Digest>> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let (mut piece, mut is_first) = (vec![0; 64 << 10], true);
    loop {
        let count = file.read(&mut piece)?;
        let piece = piece.get(..count).unwrap_or_default();
        if std::mem::take(&mut is_first) && !piece.starts_with(&MAGIC) {
            return Ok(None);
        }
        if piece.is_empty() {
            return Ok(Some(Digest::from_bytes(hash.finalize().into())));
        }
        hash.update(piece);
    }
}
