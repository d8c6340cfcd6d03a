//! The collection: every archive that must be refused, and by which code.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use metier_store::ArchiveLimits;

use crate::common::{limits, noise, unpack_beside};
use crate::zip_writer::ZipEntry;
use crate::{hostile_tar, hostile_zip, tar_writer, zip_writer};

/// A name, the archive, the code.
pub(crate) type Case = (&'static str, Vec<u8>, &'static str);

pub(crate) fn collection() -> Vec<Case> {
    let mut cases = hostile_zip::names();
    cases.extend(hostile_zip::kinds());
    cases.extend(hostile_zip::collisions());
    cases.extend(hostile_zip::limits());
    cases.extend(hostile_zip::headers());
    cases.extend(hostile_zip::large_headers());
    cases.extend(hostile_zip::ends());
    cases.extend(hostile_tar::names());
    cases.extend(hostile_tar::kinds());
    cases.extend(hostile_tar::headers());
    cases.extend(hostile_tar::gzips());
    cases.extend(others());
    cases
}

/// What is no archive.
fn others() -> Vec<Case> {
    let unknown = "archive-unknown-format";
    vec![
        ("nothing", Vec::new(), unknown),
        ("a script", b"#!/bin/sh\necho\n".to_vec(), unknown),
        ("a SKILL.md", b"---\nname: a\n---\n".to_vec(), unknown),
        ("a web page", b"<!DOCTYPE html><title>Log in</title>".to_vec(), unknown),
        ("xz", b"\xfd7zXZ\0\0\0\0\0".to_vec(), unknown),
        ("random bytes", noise(2_000), unknown),
        ("two bytes of ZIP", b"PK".to_vec(), unknown),
    ]
}

#[test]
fn every_hostile_archive_is_refused_by_its_own_code() {
    let (mut names, mut wrong) = (BTreeSet::new(), Vec::new());
    for (name, archive, code) in collection() {
        assert!(names.insert(name), "two are called {name}");
        let outcome = unpack_beside(&archive);
        if outcome.code() != code {
            wrong.push(format!("{name}: {} instead of {code}: {:?}", outcome.code(), outcome.result));
        }
        assert!(outcome.handed_out <= limits().total_bytes, "{name}: {} bytes", outcome.handed_out);
        if let Err(error) = outcome.result {
            let message = error.to_string();
            assert!(
                message.len() < 1_500 && !message.contains(['\n', '\0', '\u{202e}']),
                "{name}: {message}"
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(names.len() >= 60, "only {} archives", names.len());
    println!("{} hostile archives", names.len());
}

#[test]
fn what_a_zip_says_about_itself_is_checked_before_anything_is_handed_out() {
    // All but those whose bytes have to be looked at.
    let in_bytes = ["archive-checksum", "archive-corrupt", "archive-size-differs"];
    for (name, archive, code) in collection() {
        if archive.starts_with(b"PK") && !in_bytes.contains(&code) {
            assert_eq!(unpack_beside(&archive).handed_out, 0, "{name}");
        }
    }
}

#[test]
fn every_code_has_an_archive() {
    let sources = [include_str!("../../src/archive/error.rs")];
    let of_layout =
        ["archive-no-skill", "archive-skill-at-root", "archive-several-skills", "archive-outside-skill"];
    let tested: BTreeSet<&str> = collection().iter().map(|(_, _, code)| *code).chain(of_layout).collect();
    let codes: BTreeSet<&str> =
        sources.iter().flat_map(|text| text.split('"')).filter(|text| text.starts_with("archive-")).collect();
    assert!(codes.len() > 40, "{codes:?}");
    let untested: Vec<_> = codes.difference(&tested).collect();
    assert!(untested.is_empty(), "{untested:?}");
}

#[test]
fn an_archive_that_is_too_large_is_not_looked_at() {
    let mut limits = limits();
    limits.archive_bytes = 10;
    let error = metier_store::unpack(&[0; 11], &limits, &|_| Ok(())).unwrap_err();
    assert_eq!(error.code(), "archive-too-large");
}

/// What a child unpacks by itself, so that its memory is that of unpacking; does nothing without being told what.
#[test]
#[ignore = "started by other tests"]
#[expect(clippy::disallowed_methods, reason = "how the parent tells it what to unpack")]
fn unpacks_what_it_is_told_to() {
    let Some(archive) = std::env::var_os("UNPACK") else { return };
    let archive = fs::read(archive).unwrap();
    let result = metier_store::unpack(&archive, &ArchiveLimits::default(), &|_| Ok(()));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    println!("{} peak {} kB", result.unwrap_err().code(), peak.trim().trim_end_matches(" kB"));
}

#[test]
fn bombs_take_no_memory() {
    // Compressed once: that takes longer than all the rest.
    let zeros = vec![0; 100 << 20];
    let packed = miniz_oxide::deflate::compress_to_vec(&zeros, 1);
    let zip_of = |size: u32| {
        let (size, packed) = (Some(size), Some(packed.clone()));
        zip_writer::zip([ZipEntry { packed, size, ..zip_writer::file("a/x", "") }]).bytes()
    };
    let tar = [tar_writer::file("a/x", vec![0; 20 << 20]).bytes(), vec![0; 1_024]].concat();
    let bombs = [
        ("archive-file-too-large", zip_of(100 << 20)),
        ("archive-size-differs", zip_of(100)),
        ("archive-ratio", tar_writer::gzip_around(&packed, crc32fast::hash(&zeros), zeros.len())),
        ("archive-file-too-large", tar_writer::gzip(&tar)),
    ];
    drop(zeros);
    let place = tempfile::tempdir().unwrap();
    for (code, bomb) in bombs {
        let path = place.path().join("bomb");
        fs::write(&path, bomb).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "hostile::unpacks_what_it_is_told_to", "--ignored", "--nocapture"])
            .env("UNPACK", &path);
        let said = String::from_utf8(child.output().unwrap().stdout).unwrap();
        let line = said.lines().find(|line| line.contains(" peak ")).unwrap();
        assert!(line.contains(code), "{said}");
        // Elsewhere than on Linux there is no such file to ask.
        if let Ok(peak) = line.split(' ').rev().nth(1).unwrap().parse::<u64>() {
            assert!(peak < 64 << 10, "{code}: {peak} kB");
        }
    }
}
