//! What archives are unpacked with: limits that are small, and a directory beside which nothing may appear.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use metier_store::{ArchiveLimits, StoreError, UnpackedArchive, unpack};

pub(crate) const SKILL_MD: &str = "---\nname: a\ndescription: Does a thing when asked to.\n---\nDo it.\n";

/// Small enough that archives which pass them are quickly made.
pub(crate) fn limits() -> ArchiveLimits {
    let mut limits = ArchiveLimits::default();
    limits.archive_bytes = 8 << 20;
    limits.entries = 100;
    limits.total_bytes = 6 << 20;
    limits.file_bytes = 4 << 20;
    limits.depth = 8;
    limits
}

/// What came of an archive.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) result: Result<UnpackedArchive, StoreError>,
    /// What was handed out, by path: whether it may be run, and its bytes.
    pub(crate) files: BTreeMap<String, (bool, Vec<u8>)>,
    /// The bytes that were handed out.
    pub(crate) handed_out: u64,
}

impl Outcome {
    pub(crate) fn code(&self) -> &'static str {
        self.result.as_ref().map_or_else(StoreError::code, |_| "fine")
    }
}

/// Unpacks into a directory of its own, as an installer would, and looks at what is around it afterwards.
pub(crate) fn unpack_beside(archive: &[u8]) -> Outcome {
    let place = tempfile::tempdir().unwrap();
    let staging = place.path().join("staging");
    fs::create_dir(&staging).unwrap();
    let (files, handed_out) = (Mutex::new(BTreeMap::new()), AtomicU64::new(0));
    let result = unpack(archive, &limits(), &|file| {
        let path = Path::new(file.path);
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{}", file.path);
        assert!(!file.path.contains(['\\', ':', '\0']) && !file.path.contains("//"), "{}", file.path);
        handed_out.fetch_add(file.bytes.len() as u64, Ordering::Relaxed);
        let path = staging.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::OpenOptions::new().write(true).create_new(true).open(&path).unwrap();
        fs::write(&path, file.bytes).unwrap();
        let file_of = (file.is_executable, file.bytes.to_vec());
        assert!(files.lock().unwrap().insert(file.path.to_owned(), file_of).is_none(), "twice");
        Ok(())
    });
    let around: Vec<_> =
        fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(around, ["staging"], "something was written outside");
    Outcome { result, files: files.into_inner().unwrap(), handed_out: handed_out.into_inner() }
}

/// Bytes that hardly compress.
pub(crate) fn noise(count: usize) -> Vec<u8> {
    (0..count).map(|at| u8::try_from(at * at % 251).unwrap()).collect()
}

/// Whether a program is there; says so aloud if not.
pub(crate) fn has_program(program: &str) -> bool {
    let found = std::process::Command::new(program).arg("--help").output().is_ok();
    if !found {
        crate::skips::skip(&format!("{program} is not installed; what it says about archives is not tested"));
    }
    found
}
