//! What must hold for any bytes, and for archives that were changed anywhere.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use metier_skill::{Folder, Rules};
use metier_store::{ArchiveFormat, ArchiveLimits, pack, unpack};
use proptest::prelude::*;

use crate::common::SKILL_MD;
use crate::tar_writer::{self, gzip, pax, tar};
use crate::zip_writer::{Zip, file, zip};

type Files = BTreeMap<String, (bool, Vec<u8>)>;

/// What is in an archive, if it is not refused.
fn files_of(archive: &[u8]) -> Option<Files> {
    let files = std::sync::Mutex::new(Files::new());
    let unpacked = unpack(archive, &ArchiveLimits::default(), &|file| {
        files.lock().unwrap().insert(file.path.to_owned(), (file.is_executable, file.bytes.to_vec()));
        Ok(())
    });
    unpacked.ok().map(|_| files.into_inner().unwrap())
}

/// Valid archives, one of each kind.
fn valid() -> Vec<Vec<u8>> {
    let long = "content of some length, content of some length".repeat(3);
    let entries = [("a/SKILL.md", SKILL_MD), ("a/b.txt", &long), ("a/empty", "")];
    let of_tar = tar(entries.map(|(name, content)| tar_writer::file(name, content)));
    let extended =
        tar([pax(b'x', &[("path", "a/long"), ("mtime", "1")]), tar_writer::file("a/x", long.as_bytes())]);
    let plain = zip(entries.map(|(name, content)| file(name, content)));
    let large = Zip { zip64: Some(|_| ()), ..plain.clone() };
    vec![plain.bytes(), large.bytes(), gzip(&of_tar), of_tar, extended]
}

/// What a change may make of an archive and still be a whole one: other names and run bits are not covered by any
/// checksum, the bytes of files are. tar has no checksum over those at all.
fn is_same(before: &Files, after: &Files, has_checksums: bool) -> bool {
    let contents = |files: &Files| {
        let mut contents: Vec<_> = files.values().map(|(_, bytes)| bytes.clone()).collect();
        contents.sort();
        contents
    };
    !has_checksums || contents(before) == contents(after)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..3_000), begin in 0..5_usize) {
        let begins: [&[u8]; 5] = [b"", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08\0", b"\x1f\x8b\x08\x1e"];
        let bytes = [begins[begin], &bytes].concat();
        prop_assert!(files_of(&bytes).is_none());
    }

    #[test]
    fn arbitrary_fields_never_panic(numbers in prop::collection::vec(any::<[u8; 4]>(), 5), entry in any::<[u8; 46]>()) {
        let mut bytes = [b"PK\x03\x04".to_vec(), vec![0; 40], b"PK\x01\x02".to_vec(), entry.to_vec(), b"PK\x05\x06".to_vec()].concat();
        bytes.extend(numbers.concat());
        let _ = files_of(&bytes);
        bytes.truncate(bytes.len() - 20);
        bytes.extend([0, 0, 0, 0, 1, 0, 1, 0, 50, 0, 0, 0, 44, 0, 0, 0, 0, 0]);
        let _ = files_of(&bytes);
    }

    #[test]
    fn a_changed_archive_gives_the_same_files_or_an_error(
        which in 0..5_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>(), how in 0..4_u8,
    ) {
        let archive = valid().swap_remove(which);
        let mut changed = archive.clone();
        for (at, byte) in changes {
            let at = at.index(changed.len());
            match how {
                0 => changed[at] = byte,
                1 => changed[at] ^= 1 << (byte % 8),
                2 => changed.insert(at, byte),
                _ => drop(changed.remove(at)),
            }
        }
        if how == 3 {
            changed.truncate(cut.index(changed.len()));
        }
        if let Some(after) = files_of(&changed) {
            let before = files_of(&archive).unwrap();
            prop_assert!(is_same(&before, &after, which < 3), "{before:?} became {after:?}");
        }
    }
}

/// Names of files below a skill's directory, in any order and depth.
fn names() -> impl Strategy<Value = BTreeMap<String, (bool, Vec<u8>)>> {
    let part = "[a-z0-9_\u{e9}-]{1,12}";
    let path = prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"));
    let content = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..2_000),
        (any::<u8>(), 0..9_000_usize).prop_map(|(byte, count)| vec![byte; count])
    ];
    prop::collection::btree_map(path, (any::<bool>(), content), 0..12)
}

fn write(root: &Path, files: &Files) {
    for (path, (is_executable, bytes)) in files {
        let path = root.join(path);
        // A file where another needs a directory is left out.
        if fs::create_dir_all(path.parent().unwrap()).is_ok() && fs::write(&path, bytes).is_ok() {
            let mode = if *is_executable { 0o755 } else { 0o644 };
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_skills_come_out_as_they_went_in(files in names()) {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("SKILL.md"), SKILL_MD).unwrap();
        write(place.path(), &files);
        let folder = Folder::open(place.path()).unwrap();
        for format in [ArchiveFormat::Zip, ArchiveFormat::Tar, ArchiveFormat::TarGz] {
            let packed = match pack(&folder, &Rules::standard(), format) {
                Ok(packed) => packed,
                // Only names of devices and such can be in the way.
                Err(error) => {
                    prop_assert_eq!(error.code(), "archive-name-windows");
                    continue;
                }
            };
            let manifest = files_of(&packed.bytes).unwrap().into_iter().map(|(path, (is_executable, bytes))| {
                let path = path.strip_prefix("a/").unwrap();
                metier_skill::ManifestFile::new(path, is_executable, metier_skill::Digest::of(&bytes))
            });
            prop_assert_eq!(metier_skill::Manifest::new(manifest.collect()).digest(), packed.digest);
            prop_assert_eq!(folder.capture(&Rules::standard().limits, |_, _| Ok(())).unwrap().manifest.digest(), packed.digest);
        }
    }
}
