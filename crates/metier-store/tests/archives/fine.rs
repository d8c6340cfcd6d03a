//! Archives that are odd, and fine: what real programs write, and what is left out.

use std::fs;
use std::path::Path;
use std::process::Command;

use metier_skill::{Code, Rules, validate_skill};
use metier_store::{ArchiveFormat, ArchiveLayout, SkippedReason};

use crate::common::{Outcome, SKILL_MD, has_program, unpack_beside};
use crate::tar_writer::{self, TarEntry, gzip, other, pax, tar};
use crate::zip_writer::{Zip, ZipEntry, descriptor, extra, extra_64, extra_name, file, zip};

#[track_caller]
fn fine(archive: &[u8]) -> Outcome {
    let outcome = unpack_beside(archive);
    assert_eq!(outcome.code(), "fine", "{:?}", outcome.result);
    outcome
}

#[track_caller]
fn paths(archive: &[u8]) -> Vec<String> {
    let outcome = fine(archive);
    let unpacked = outcome.result.unwrap();
    assert_eq!(unpacked.files, outcome.files.keys().cloned().collect::<Vec<_>>());
    assert_eq!(unpacked.bytes, outcome.handed_out);
    unpacked.files
}

#[test]
fn what_macos_and_version_control_leave_is_left_out() {
    let names = [
        "a/SKILL.md",
        "__MACOSX/a/._SKILL.md",
        "a/.DS_Store",
        "a/._x",
        "a/.git/config",
        "a/.gitignore",
        "a/sub/.hg/x",
    ];
    let outcomes = [
        fine(&zip(names.map(|name| file(name, "x"))).bytes()),
        fine(&tar(names.map(|name| tar_writer::file(name, "x")))),
    ];
    for outcome in outcomes {
        let unpacked = outcome.result.unwrap();
        assert_eq!(unpacked.files, ["a/.gitignore", "a/SKILL.md"]);
        let skipped: Vec<_> =
            unpacked.skipped.iter().map(|entry| (entry.path.as_str(), entry.reason)).collect();
        assert_eq!(
            skipped,
            [
                ("__MACOSX/a/._SKILL.md", SkippedReason::MacOs),
                ("a/.DS_Store", SkippedReason::MacOs),
                ("a/._x", SkippedReason::MacOs),
                ("a/.git/config", SkippedReason::VersionControl),
                ("a/sub/.hg/x", SkippedReason::VersionControl),
            ]
        );
    }
}

#[test]
fn of_all_permissions_only_the_run_bit_is_kept() {
    let entry = |name: &str, mode, system| ZipEntry { mode, system, ..file(name, "x") };
    let archive = zip([
        entry("plain", 0o100_644, None),
        entry("run", 0o100_755, None),
        entry("setuid", 0o106_755, None),
        entry("others", 0o100_077, None),
        entry("windows", 0o100_755, Some(0)),
        entry("mac", 0o100_700, Some(19)),
        entry("nothing", 0, None),
    ]);
    let files = fine(&archive.bytes()).files;
    let run: Vec<_> =
        files.iter().filter(|(_, (is_executable, _))| *is_executable).map(|(name, _)| name).collect();
    assert_eq!(run, ["mac", "run", "setuid"]);
    let entry = |name: &str, mode| TarEntry { mode, ..tar_writer::file(name, "x") };
    let files = fine(&tar([entry("plain", 0o644), entry("setuid", 0o6_755), entry("others", 0o077)])).files;
    assert_eq!(
        files.values().map(|(is_executable, _)| *is_executable).collect::<Vec<_>>(),
        [false, false, true]
    );
}

#[test]
fn zip_as_other_programs_write_it() {
    let content = b"content that is long enough, content that is long enough";
    let packed = miniz_oxide::deflate::compress_to_vec(content, 6).len();
    let after = descriptor(crc32fast::hash(content), packed, content.len());
    let long = [&after[..8], &(packed as u64).to_le_bytes(), &(content.len() as u64).to_le_bytes()].concat();
    let open = |name: &str, after: &[u8]| ZipEntry {
        flags: 8,
        local_checksum: Some(0),
        local_size: Some(0),
        local_packed_size: Some(0),
        after: after.to_vec(),
        ..file(name, content)
    };
    let folder = ZipEntry { mode: 0o040_755, ..file("a/", "") };
    let sizes = [content.len() as u64, packed as u64];
    let in_extra = ZipEntry {
        size: Some(u32::MAX),
        packed_size: Some(u32::MAX),
        extra: extra_64(&sizes),
        local_extra: extra_64(&sizes),
        ..file("a/extra", content)
    };
    let archive = Zip {
        comment: b"0123456789012345678901234567890123456789".to_vec(),
        ..zip([
            open("a/marked", &after),
            open("a/unmarked", &after[4..]),
            open("a/long", &long),
            open("a/long, unmarked", &long[4..]),
            ZipEntry { is_stored: true, ..file("a/stored", content) },
            file("a/empty", ""),
            folder,
            ZipEntry {
                extra: extra_name(b"a/name"),
                local_extra: extra(0x5455, &[0; 9]),
                ..file("a/name", "")
            },
            in_extra,
            file("b/d\u{e9}j\u{e0} vu.md", "no flag for UTF-8"),
        ])
    };
    assert_eq!(paths(&archive.bytes()).len(), 9);
    let large = Zip { zip64: Some(|_| ()), count: Some(u16::MAX), list_offset: Some(u32::MAX), ..archive };
    let files = fine(&large.bytes()).files;
    for (name, (_, bytes)) in files.iter().filter(|(name, _)| *name != "a/empty" && *name != "a/name") {
        assert!(bytes == content || name.starts_with("b/"), "{name}");
    }
}

#[test]
fn archives_in_archives_are_files() {
    let bomb = zip([file("bomb", vec![0; 3 << 20])]).bytes();
    let inner = ZipEntry { is_stored: true, ..file("a/inner.zip", &bomb) };
    // Its end lies where that of the outer one is looked for.
    let outcome = fine(&zip([file("a/SKILL.md", SKILL_MD), inner]).bytes());
    assert_eq!(outcome.files["a/inner.zip"].1, bomb);
}

#[test]
fn tar_as_other_programs_write_it() {
    let long = format!("a/{}/{}", "d".repeat(120), "n".repeat(120));
    let gnu = TarEntry {
        kind: b'L',
        magic: *b"ustar  \0",
        ..tar_writer::file("././@LongLink", format!("{long}\0"))
    };
    let old = TarEntry { magic: [0; 8], kind: 0, ..tar_writer::file("a/old", "x") };
    let archive = tar([
        pax(b'g', &[("comment", "0123456789012345678901234567890123456789")]),
        other("./", b'5'),
        other("./a/", b'5'),
        tar_writer::file("./a/SKILL.md", SKILL_MD),
        gnu,
        TarEntry { magic: *b"ustar  \0", ..tar_writer::file("cut off", "x") },
        pax(b'x', &[("path", "a/caf\u{e9}"), ("mtime", "1.5"), ("size", "1"), ("SCHILY.xattr.user.x", "\0")]),
        tar_writer::file("a/other", "x"),
        TarEntry { prefix: b"a/prefix".to_vec(), ..tar_writer::file("x", "x") },
        TarEntry { size: Some(b"\x80\0\0\0\0\0\0\0\0\0\0\x01".to_vec()), ..tar_writer::file("a/large", "x") },
        old,
        TarEntry { magic: [0; 8], kind: 0, ..tar_writer::file("a/olddir/", "") },
    ]);
    let expected = ["a/SKILL.md", "a/caf\u{e9}", &long, "a/large", "a/old", "a/prefix/x"];
    let mut expected = expected.map(str::to_owned);
    expected.sort();
    let padded = [archive.clone(), vec![0; 10_240]].concat();
    for archive in [&archive, &padded, &gzip(&archive), &gzip(&padded)] {
        assert_eq!(paths(archive), expected);
    }
    let mut named = gzip(&archive);
    named[3] = 0b1_1110;
    let fields = [&[3_u8, 0][..], b"xyz", b"name\0", b"comment\0", &[0, 0]].concat();
    drop(named.splice(10..10, fields));
    assert_eq!(fine(&named).result.unwrap().format, ArchiveFormat::TarGz);
}

#[test]
fn many_files_in_parallel_come_out_as_they_went_in() {
    let mut limits = metier_store::ArchiveLimits::default();
    limits.entries = 20_000;
    let content = |number: usize| format!("{number} ").repeat(number % 300);
    let names: Vec<_> =
        (0..3_000).map(|number| (format!("skill-{}/{number}.md", number / 10), number)).collect();
    let entry = |(name, number): &(String, usize)| file(name, content(*number));
    let tar_entry = |(name, number): &(String, usize)| tar_writer::file(name, content(*number));
    let archives = [zip(names.iter().map(entry)).bytes(), gzip(&tar(names.iter().map(tar_entry)))];
    for archive in archives {
        let seen = std::sync::Mutex::new(0);
        let unpacked = metier_store::unpack(&archive, &limits, &|file| {
            let number: usize = file.path.rsplit(['/', '.']).nth(1).unwrap().parse().unwrap();
            assert_eq!(file.bytes, content(number).as_bytes());
            *seen.lock().unwrap() += 1;
            Ok(())
        });
        assert_eq!(unpacked.unwrap().files.len(), 3_000);
        assert_eq!(seen.into_inner().unwrap(), 3_000);
    }
}

#[test]
fn an_error_of_the_writer_ends_it() {
    let refuse = |_: metier_store::ArchiveFile<'_>| {
        Err(metier_store::StoreError::NotASkill { digest: metier_skill::Digest::of(b"") })
    };
    for archive in [zip([file("a/x", "")]).bytes(), tar([tar_writer::file("a/x", "")])] {
        let error = metier_store::unpack(&archive, &crate::common::limits(), &refuse).unwrap_err();
        assert_eq!(error.code(), "store-not-a-skill");
    }
}

/// A skill on disk, for real programs to pack.
fn skill_directory(place: &Path) {
    fs::create_dir_all(place.join("a/scripts")).unwrap();
    fs::write(place.join("a/SKILL.md"), SKILL_MD).unwrap();
    fs::write(place.join("a/scripts/r\u{e9}sum\u{e9}.py"), "print()\n".repeat(500)).unwrap();
    let deep = place.join("a").join("d".repeat(60));
    fs::create_dir(&deep).unwrap();
    fs::write(deep.join("n".repeat(80)), "").unwrap();
}

#[test]
fn what_real_programs_write_is_read() {
    let commands = [
        ("zip", "zip -qr out a"),
        ("zip", "zip -qr - a >out.zip && mv out.zip out"),
        ("zip", "zip -q0r out a"),
        ("python3", "python3 -m zipfile -c out a"),
        (
            "python3",
            "python3 -c 'import shutil; shutil.make_archive(\"x\", \"gztar\", \".\", \"a\")' && mv x.tar.gz out",
        ),
        ("tar", "tar -cf out a"),
        ("tar", "tar -czf out ./a"),
        ("tar", "tar -czf out --format=pax a"),
        ("tar", "tar -cf out --format=ustar a"),
        ("tar", "tar -cf out -C . ."),
        (
            "git",
            "git init -q . && git add a && git -c user.name=x -c user.email=x commit -qm x && git archive --format=zip -o out HEAD",
        ),
        (
            "git",
            "git init -q . && git add a && git -c user.name=x -c user.email=x commit -qm x && git archive --format=tar.gz -o out HEAD",
        ),
    ];
    for (program, command) in commands {
        if !has_program(program) {
            continue;
        }
        let place = tempfile::tempdir().unwrap();
        skill_directory(place.path());
        let made = Command::new("sh").args(["-c", command]).current_dir(place.path()).output().unwrap();
        assert!(made.status.success(), "{command}: {}", String::from_utf8_lossy(&made.stderr));
        let made = ["out", "out.zip"].iter().find_map(|name| fs::read(place.path().join(name)).ok());
        let outcome = unpack_beside(&made.unwrap());
        // `tar .` packs the archive that it writes.
        let files: Vec<_> = outcome.files.keys().filter(|path| path.starts_with("a/")).collect();
        assert_eq!(files.len(), 3, "{command}: {:?}", outcome.result);
        assert_eq!(outcome.files["a/SKILL.md"].1, SKILL_MD.as_bytes(), "{command}");
    }
}

#[test]
fn skills_are_found_in_what_was_unpacked() {
    let repository = zip(["r-main/README.md", "r-main/skills/x/SKILL.md", "r-main/skills/y/skill.md"]
        .map(|name| file(name, SKILL_MD)));
    let files = paths(&repository.bytes());
    let layout = ArchiveLayout::of(files.iter().map(String::as_str)).unwrap();
    assert_eq!(layout.skills(), ["r-main/skills/x", "r-main/skills/y"]);
    assert_eq!(layout.only().unwrap_err().code(), "archive-several-skills");
    let flat = paths(&zip([file("SKILL.md", SKILL_MD), file("x.py", "")]).bytes());
    assert_eq!(
        ArchiveLayout::of(flat.iter().map(String::as_str)).unwrap_err().code(),
        "archive-skill-at-root"
    );
}

#[test]
fn a_folder_with_another_name_is_found_by_validation() {
    let outcome = fine(&zip([file("other/SKILL.md", SKILL_MD)]).bytes());
    let place = tempfile::tempdir().unwrap();
    for (path, (_, bytes)) in outcome.files {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let reading = validate_skill(&place.path().join("other"), &Rules::standard()).unwrap();
    assert!(
        reading.diagnostics.iter().any(|found| found.code == Code::NameMismatch),
        "{:?}",
        reading.diagnostics
    );
}
