//! ZIP archives that lie.

use crate::common::{SKILL_MD, noise};
use crate::hostile::Case;
use crate::zip_writer::{Zip, ZipEntry, descriptor, extra, extra_64, extra_name, file, zip};

/// A good file, and then this one.
fn with(entry: ZipEntry) -> Vec<u8> {
    zip([file("a/SKILL.md", SKILL_MD), entry]).bytes()
}

fn named(name: impl AsRef<[u8]>) -> Vec<u8> {
    with(file(name, "x"))
}

fn of_mode(name: &str, mode: u32) -> Vec<u8> {
    with(ZipEntry { mode, is_stored: true, ..file(name, "/etc/passwd") })
}

pub(crate) fn names() -> Vec<Case> {
    vec![
        ("zip: ..", named("../evil"), "archive-name-parent"),
        ("zip: .. inside", named("a/../../evil"), "archive-name-parent"),
        (
            "zip: .. as a folder",
            with(ZipEntry { mode: 0o040_755, ..file("a/../", "") }),
            "archive-name-parent",
        ),
        ("zip: .. with backslashes", named("a\\..\\..\\evil"), "archive-name-parent"),
        ("zip: absolute", named("/tmp/evil"), "archive-name-absolute"),
        ("zip: drive", named("C:\\evil"), "archive-name-absolute"),
        ("zip: drive without a root", named("c:evil"), "archive-name-absolute"),
        ("zip: server", named("\\\\server\\share\\evil"), "archive-name-absolute"),
        ("zip: backslash", named("a\\b"), "archive-name-backslash"),
        ("zip: empty name", named(""), "archive-name-component"),
        ("zip: empty part", named("a//b"), "archive-name-component"),
        ("zip: dot part", named("a/./b"), "archive-name-component"),
        ("zip: leading dot part", named("./b"), "archive-name-component"),
        ("zip: only a slash", with(ZipEntry { mode: 0o040_755, ..file("/", "") }), "archive-name-component"),
        ("zip: zero byte", named("a/b\0.md"), "archive-name-control"),
        ("zip: line feed", named("a/b\n.md"), "archive-name-control"),
        ("zip: escape", named("a/\u{1b}[2J"), "archive-name-control"),
        ("zip: C1 control", named("a/\u{9b}2J"), "archive-name-control"),
        ("zip: turned round", named("a/\u{202e}dm.exe"), "archive-name-invisible"),
        ("zip: zero-width", named("a/SKILL\u{200b}.md"), "archive-name-invisible"),
        ("zip: not UTF-8", named(b"a/\xff\xfe"), "archive-name-not-utf8"),
        ("zip: overlong UTF-8", named(b"a/\xc0\xae\xc0\xae/x"), "archive-name-not-utf8"),
        ("zip: long part", named("x".repeat(256)), "archive-name-too-long"),
        ("zip: long name", named(["x".repeat(200).as_str(); 6].join("/")), "archive-name-too-long"),
        ("zip: device", named("a/CON"), "archive-name-windows"),
        ("zip: device with an ending", named("a/nul.txt"), "archive-name-windows"),
        ("zip: device as a folder", named("aux/x"), "archive-name-windows"),
        ("zip: short name of .git", named("a/git~1/hooks/x"), "archive-name-windows"),
        ("zip: trailing dot", named("a/b."), "archive-name-windows"),
        ("zip: trailing blank", named("a/b "), "archive-name-windows"),
        ("zip: stream", named("a/SKILL.md:evil"), "archive-name-windows"),
        ("zip: question mark", named("a/b?"), "archive-name-windows"),
        ("zip: deep", named(["d"; 10].join("/")), "archive-too-deep"),
        (
            "zip: another name in the extra field",
            with(ZipEntry { extra: extra_name(b"../evil"), ..file("a/b", "x") }),
            "archive-name-differs",
        ),
        (
            "zip: another name in the second extra field",
            with(ZipEntry { local_extra: extra_name(b"../evil"), ..file("a/b", "x") }),
            "archive-name-differs",
        ),
        (
            "zip: another name in the second header",
            with(ZipEntry { local_name: Some(b"../x".to_vec()), ..file("a/bc", "x") }),
            "archive-name-differs",
        ),
    ]
}

pub(crate) fn kinds() -> Vec<Case> {
    let from_dos = ZipEntry { system: Some(0), mode: 0o120_777, ..file("a/l", "/etc/passwd") };
    vec![
        ("zip: symbolic link", of_mode("a/link", 0o120_777), "archive-symbolic-link"),
        ("zip: symbolic link from DOS", with(from_dos), "archive-symbolic-link"),
        ("zip: symbolic link as a folder", of_mode("a/link/", 0o120_777), "archive-symbolic-link"),
        ("zip: FIFO", of_mode("a/fifo", 0o010_644), "archive-special-file"),
        ("zip: socket", of_mode("a/socket", 0o140_644), "archive-special-file"),
        ("zip: character device", of_mode("a/null", 0o020_666), "archive-special-file"),
        ("zip: block device", of_mode("a/disk", 0o060_666), "archive-special-file"),
        ("zip: unknown type", of_mode("a/what", 0o170_644), "archive-unknown-type"),
        ("zip: folder by type only", of_mode("a/b", 0o040_755), "archive-type-differs"),
        ("zip: folder by name only", of_mode("a/b/", 0o100_644), "archive-type-differs"),
        ("zip: folder with content", of_mode("a/b/", 0o040_755), "archive-folder-with-data"),
        ("zip: encrypted", with(ZipEntry { flags: 1, ..file("a/b", "x") }), "archive-encrypted"),
        (
            "zip: encrypted with AES",
            with(ZipEntry { method: Some(99), ..file("a/b", "x") }),
            "archive-encrypted",
        ),
        ("zip: encrypted list", with(ZipEntry { flags: 1 << 13, ..file("a/b", "x") }), "archive-encrypted"),
        (
            "zip: encrypted in the second header",
            with(ZipEntry { local_flags: Some(1), ..file("a/b", "x") }),
            "archive-encrypted",
        ),
        ("zip: bzip2", with(ZipEntry { method: Some(12), ..file("a/b", "x") }), "archive-method"),
        ("zip: zstd", with(ZipEntry { method: Some(93), ..file("a/b", "x") }), "archive-method"),
        ("zip: deflate64", with(ZipEntry { method: Some(9), ..file("a/b", "x") }), "archive-method"),
    ]
}

pub(crate) fn collisions() -> Vec<Case> {
    let folder = |name: &str| ZipEntry { mode: 0o040_755, is_stored: true, ..file(name, "") };
    let two = |first: &str, second: &str| zip([file(first, "1"), file(second, "2")]).bytes();
    vec![
        ("zip: duplicate", two("a/x", "a/x"), "archive-duplicate"),
        (
            "zip: duplicate folder",
            zip([folder("a/"), folder("a/"), file("a/x", "")]).bytes(),
            "archive-duplicate",
        ),
        ("zip: case", two("a/Readme", "a/README"), "archive-case-collision"),
        ("zip: case of a folder", two("A/x", "a/y"), "archive-case-collision"),
        ("zip: case beyond ASCII", two("a/straße", "a/STRASSE"), "archive-case-collision"),
        ("zip: SKILL.md twice", two("a/SKILL.md", "a/skill.md"), "archive-case-collision"),
        ("zip: composed", two("a/caf\u{e9}", "a/cafe\u{301}"), "archive-unicode-collision"),
        ("zip: composed folder", two("\u{e9}/x", "e\u{301}/y"), "archive-unicode-collision"),
        ("zip: composed, other case", two("a/\u{c9}", "a/e\u{301}"), "archive-unicode-collision"),
        ("zip: file, then folder", two("a/x", "a/x/y"), "archive-file-and-folder"),
        ("zip: folder, then file", two("a/x/y", "a/x"), "archive-file-and-folder"),
        (
            "zip: file and listed folder",
            zip([file("a/x", ""), folder("a/x/")]).bytes(),
            "archive-file-and-folder",
        ),
    ]
}

pub(crate) fn limits() -> Vec<Case> {
    let many = |count: u32| zip((0..count).map(|number| file(format!("a/{number}"), ""))).bytes();
    let mib = |count: usize| noise(count << 20);
    let stored = |name: &str, content: Vec<u8>| ZipEntry { is_stored: true, ..file(name, content) };
    let deep = zip((0..20).map(|number| file(format!("a/{number}/b/c/d/e/x"), ""))).bytes();
    vec![
        ("zip: too many files", many(200), "archive-too-many-entries"),
        ("zip: too many folders", deep, "archive-too-many-entries"),
        ("zip: too large", vec![b'P'; 9 << 20], "archive-too-large"),
        ("zip: large file", with(stored("a/x", mib(5))), "archive-file-too-large"),
        (
            "zip: large in all",
            zip([stored("a/x", mib(3)), stored("a/y", mib(4))]).bytes(),
            "archive-unpacks-too-large",
        ),
        (
            "zip: said to be 4 GiB",
            with(ZipEntry { size: Some(u32::MAX - 1), ..file("a/x", "x") }),
            "archive-file-too-large",
        ),
        ("zip: bomb", with(file("a/x", vec![0; 3 << 20])), "archive-ratio"),
        // Each is small enough to pass.
        (
            "zip: many small bombs",
            zip((0..5).map(|n| file(format!("{n}"), vec![0; 1 << 20]))).bytes(),
            "archive-ratio",
        ),
        (
            "zip: bomb that says it is small",
            with(ZipEntry { size: Some(100), ..file("a/x", vec![0; 3 << 20]) }),
            "archive-size-differs",
        ),
        ("zip: overlapping bomb", overlapping(), "archive-overlap"),
    ]
}

/// The content of one entry is that of twenty.
fn overlapping() -> Vec<u8> {
    let kernel = file("0", vec![7; 10_000]);
    let rest = (1..20).map(|number| ZipEntry {
        offset: Some(0),
        is_only_listed: true,
        ..file(number.to_string(), vec![7; 10_000])
    });
    zip([kernel].into_iter().chain(rest)).bytes()
}

pub(crate) fn headers() -> Vec<Case> {
    let entry = || file("a/b", "content that is long enough to be worth it, long enough to be worth it");
    let stored = || ZipEntry { is_stored: true, ..entry() };
    let packed = with(entry()).len();
    let crc = crc32fast::hash(&entry().content);
    let wrong_descriptor = descriptor(crc, 1, 2);
    let broken = [b"\xff\xff\xff\xff".to_vec(), vec![0; 40]].concat();
    let differs = "archive-header-differs";
    vec![
        ("zip: wrong checksum", with(ZipEntry { checksum: Some(1), ..entry() }), "archive-checksum"),
        ("zip: wrong checksum, stored", with(ZipEntry { checksum: Some(1), ..stored() }), "archive-checksum"),
        (
            "zip: another checksum in the second header",
            with(ZipEntry { local_checksum: Some(1), ..entry() }),
            differs,
        ),
        (
            "zip: another method in the second header",
            with(ZipEntry { local_method: Some(0), ..entry() }),
            differs,
        ),
        ("zip: another place of sizes", with(ZipEntry { local_flags: Some(8), ..entry() }), differs),
        ("zip: said to be larger", with(ZipEntry { size: Some(1_000), ..entry() }), "archive-size-differs"),
        ("zip: said to be smaller", with(ZipEntry { size: Some(10), ..entry() }), "archive-size-differs"),
        ("zip: said to be empty", with(ZipEntry { size: Some(0), ..entry() }), "archive-size-differs"),
        (
            "zip: another size in the second header",
            with(ZipEntry { local_size: Some(9), ..entry() }),
            "archive-size-differs",
        ),
        (
            "zip: another packed size in the second header",
            with(ZipEntry { local_packed_size: Some(9), ..entry() }),
            "archive-size-differs",
        ),
        ("zip: stored with two sizes", with(ZipEntry { size: Some(9), ..stored() }), "archive-size-differs"),
        (
            "zip: packed size too large",
            with(ZipEntry { packed_size: Some(100_000), ..entry() }),
            "archive-overlap",
        ),
        ("zip: packed size too small", with(ZipEntry { packed_size: Some(5), ..entry() }), "archive-gap"),
        (
            "zip: data after the compressed data",
            with(ZipEntry {
                packed: Some([miniz_oxide::deflate::compress_to_vec(b"x", 6), b"hidden".to_vec()].concat()),
                ..file("a/b", "x")
            }),
            "archive-size-differs",
        ),
        ("zip: no compressed data", with(ZipEntry { packed: Some(broken), ..entry() }), "archive-corrupt"),
        (
            "zip: half of the compressed data",
            with(ZipEntry { packed: Some(b"\x4b".to_vec()), ..entry() }),
            "archive-corrupt",
        ),
        (
            "zip: wrong sizes after the file",
            with(ZipEntry { flags: 8, after: wrong_descriptor, ..entry() }),
            "archive-size-differs",
        ),
        (
            "zip: wrong checksum after the file",
            with(ZipEntry { flags: 8, after: descriptor(1, 1, 2), ..entry() }),
            differs,
        ),
        ("zip: nothing after the file", with(ZipEntry { flags: 8, ..entry() }), "archive-gap"),
        ("zip: data between entries", with(ZipEntry { after: b"hidden".to_vec(), ..entry() }), "archive-gap"),
        ("zip: entry that is not listed", hidden_entry(), "archive-gap"),
        ("zip: entry inside of another", with(ZipEntry { offset: Some(3), ..entry() }), "archive-overlap"),
        (
            "zip: entry behind the end",
            with(ZipEntry { offset: Some(u32::try_from(packed).unwrap() + 9), ..entry() }),
            "archive-malformed",
        ),
        ("zip: broken extra field", with(ZipEntry { extra: vec![1, 0, 99, 0, 1], ..entry() }), differs),
    ]
}

pub(crate) fn large_headers() -> Vec<Case> {
    let entry = || file("a/b", "content that is long enough to be worth it, long enough to be worth it");
    vec![
        (
            "zip: 64-bit sizes that are missing",
            with(ZipEntry { size: Some(u32::MAX), ..entry() }),
            "archive-zip64",
        ),
        (
            "zip: 64-bit sizes that are not needed",
            with(ZipEntry { extra: extra_64(&[5]), ..entry() }),
            "archive-zip64",
        ),
        (
            "zip: 64-bit sizes twice",
            with(ZipEntry {
                size: Some(u32::MAX),
                extra: [extra_64(&[5]), extra_64(&[6])].concat(),
                ..entry()
            }),
            "archive-zip64",
        ),
        (
            "zip: 64-bit size that is a lie",
            with(ZipEntry {
                size: Some(u32::MAX),
                local_size: Some(72),
                extra: extra_64(&[1 << 40]),
                ..entry()
            }),
            "archive-file-too-large",
        ),
        (
            "zip: 64-bit offset",
            with(ZipEntry { offset: Some(u32::MAX), extra: extra_64(&[u64::MAX]), ..entry() }),
            "archive-malformed",
        ),
        (
            "zip: 64-bit sizes that are too short",
            with(ZipEntry { size: Some(u32::MAX), extra: extra(1, &[1, 2, 3]), ..entry() }),
            "archive-zip64",
        ),
    ]
}

/// A whole entry, which the list does not have, between two that it has.
fn hidden_entry() -> Vec<u8> {
    let hidden = zip([file("evil", "x")]).bytes();
    let end = hidden.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    zip([ZipEntry { after: hidden[..end].to_vec(), ..file("a/x", "x") }, file("a/y", "y")]).bytes()
}

pub(crate) fn ends() -> Vec<Case> {
    let good = || zip([file("a/SKILL.md", SKILL_MD), file("a/b", "x")]);
    let bytes = good().bytes();
    let end = |comment: &[u8]| [b"PK\x05\x06".to_vec(), vec![0; 16], comment.to_vec()].concat();
    let large = |change| Zip { zip64: Some(change), ..good() }.bytes();
    let huge = |end: &mut crate::zip_writer::Zip64| end.count = u64::MAX;
    let comment_with_locator = [b"PK\x06\x07".to_vec(), vec![0; 16]].concat();
    vec![
        ("zip: cut off in the middle", bytes[..bytes.len() / 2].to_vec(), "archive-truncated"),
        ("zip: cut off at the end", bytes[..bytes.len() - 1].to_vec(), "archive-truncated"),
        ("zip: data after the end", [bytes.clone(), b"evil".to_vec()].concat(), "archive-trailing-data"),
        ("zip: zeros after the end", [bytes.clone(), vec![0; 10]].concat(), "archive-trailing-data"),
        ("zip: archive after the archive", [bytes.clone(), bytes.clone()].concat(), "archive-leading-data"),
        ("zip: script before it", [b"#!/bin/sh\n".to_vec(), bytes.clone()].concat(), "archive-leading-data"),
        (
            "zip: script before it, with right offsets",
            Zip { before: b"#!/bin/sh\n".to_vec(), ..good() }.bytes(),
            "archive-leading-data",
        ),
        ("zip: image before it", [b"GIF89a".to_vec(), bytes.clone()].concat(), "archive-leading-data"),
        (
            "zip: entry before the first",
            Zip { before: bytes[..30].to_vec(), ..good() }.bytes(),
            "archive-leading-data",
        ),
        (
            "zip: data before the list",
            Zip { before_list: b"hidden".to_vec(), ..good() }.bytes(),
            "archive-gap",
        ),
        (
            "zip: data after the list",
            Zip { after_list: b"hidden".to_vec(), ..good() }.bytes(),
            "archive-leading-data",
        ),
        ("zip: end in the comment", Zip { comment: end(&[0, 0]), ..good() }.bytes(), "archive-two-ends"),
        (
            "zip: end in the comment that is not the last",
            Zip { comment: end(&[9, 9, 0]), ..good() }.bytes(),
            "archive-two-ends",
        ),
        ("zip: more entries than said", Zip { count: Some(1), ..good() }.bytes(), "archive-entry-count"),
        ("zip: fewer entries than said", Zip { count: Some(3), ..good() }.bytes(), "archive-entry-count"),
        ("zip: list too long", Zip { list_size: Some(99_999), ..good() }.bytes(), "archive-truncated"),
        ("zip: list too short", Zip { list_size: Some(50), ..good() }.bytes(), "archive-leading-data"),
        ("zip: list elsewhere", Zip { list_offset: Some(0), ..good() }.bytes(), "archive-leading-data"),
        ("zip: list that is none", list_of_junk(), "archive-malformed"),
        ("zip: part of several", Zip { disk: 1, ..good() }.bytes(), "archive-multi-disk"),
        ("zip: first part of several", [b"PK\x07\x08".to_vec(), bytes].concat(), "archive-multi-disk"),
        ("zip: entry on another disk", with(ZipEntry { disk: 1, ..file("a/x", "") }), "archive-multi-disk"),
        ("zip: no entries", Zip::default().bytes(), "archive-empty"),
        ("zip: only folders", zip([ZipEntry { mode: 0o040_755, ..file("a/", "") }]).bytes(), "archive-empty"),
        (
            "zip: only what macOS adds",
            zip([file("__MACOSX/a/._b", "x"), file(".DS_Store", "x")]).bytes(),
            "archive-empty",
        ),
        ("zip: 64-bit end that is missing", Zip { count: Some(u16::MAX), ..good() }.bytes(), "archive-zip64"),
        ("zip: 64-bit end with another count", large(|end| end.count = 1), "archive-zip64"),
        ("zip: 64-bit end with another offset", large(|end| end.list_offset = 0), "archive-zip64"),
        ("zip: 64-bit end elsewhere", large(|end| end.offset = 0), "archive-zip64"),
        ("zip: 64-bit end with more in it", large(|end| end.size = 100), "archive-zip64"),
        ("zip: 64-bit end with the largest size", large(|end| end.size = u64::MAX), "archive-zip64"),
        ("zip: 64-bit end with several disks", large(|end| end.disks = 2), "archive-multi-disk"),
        (
            "zip: 64-bit end with a huge count",
            Zip { count: Some(u16::MAX), zip64: Some(huge), ..good() }.bytes(),
            "archive-too-many-entries",
        ),
        (
            "zip: 64-bit end in a comment",
            with(ZipEntry { comment: comment_with_locator, ..file("a/x", "") }),
            "archive-zip64",
        ),
    ]
}

/// As long as a list of one would be.
fn list_of_junk() -> Vec<u8> {
    let mut bytes = zip([file("a/SKILL.md", SKILL_MD)]).bytes();
    let at = bytes.windows(4).rposition(|four| four == b"PK\x01\x02").unwrap();
    bytes[at + 2] = 9;
    bytes
}
