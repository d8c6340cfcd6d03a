//! Packing: the same bytes for the same skill, whoever packs it where and when; and it comes out as it went in.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use metier_skill::{Digest, Folder, Manifest, ManifestFile, Rules};
use metier_store::{
    ArchiveFormat, ArchiveLayout, ArchiveLimits, PackedSkill, SkippedReason, StoreError, pack,
};

use crate::common::{has_program, noise, unpack_beside};

const FORMATS: [ArchiveFormat; 3] = [ArchiveFormat::Zip, ArchiveFormat::Tar, ArchiveFormat::TarGz];

fn pack_at(path: &Path, format: ArchiveFormat) -> Result<PackedSkill, StoreError> {
    pack(&Folder::open(path).unwrap(), &Rules::standard(), format)
}

/// A skill with everything that could be packed in two ways.
fn skill(path: &Path) {
    let file = |name: &str, content: &[u8], mode: u32| {
        let path = path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    };
    let skill_md = "---\nname: tidy-up\ndescription: Tidies up when asked to.\n---\nTidy up.\n";
    file("SKILL.md", skill_md.as_bytes(), 0o644);
    file("scripts/run.sh", b"#!/bin/sh\necho done\n", 0o755);
    file("scripts/data.csv", "1,2,3\n".repeat(5_000).as_bytes(), 0o640);
    file("assets/r\u{e9}sum\u{e9}.txt", b"x", 0o600);
    file("assets/random.bin", &noise(5_000), 0o644);
    file("assets/empty", b"", 0o644);
    file(&format!("{}/{}", "d".repeat(60), "n".repeat(70)), b"split", 0o644);
    file(&"long".repeat(40), b"pax", 0o700);
}

fn digest_of(path: &Path) -> Digest {
    let rules = Rules::standard();
    Folder::open(path).unwrap().manifest(&rules.limits).unwrap().digest()
}

/// The digest of what was unpacked, below a folder.
fn digest_in(files: &BTreeMap<String, (bool, Vec<u8>)>, folder: &str) -> Digest {
    let inside = files.iter().map(|(path, (is_executable, bytes))| {
        let path = path.strip_prefix(folder).unwrap().strip_prefix('/').unwrap();
        ManifestFile::new(path, *is_executable, Digest::of(bytes))
    });
    Manifest::new(inside.collect()).digest()
}

#[test]
fn what_is_packed_comes_out_as_it_went_in() {
    let place = tempfile::tempdir().unwrap();
    skill(place.path());
    for format in FORMATS {
        let packed = pack_at(place.path(), format).unwrap();
        let outcome = unpack_beside(&packed.bytes);
        let unpacked = outcome.result.unwrap();
        assert_eq!(unpacked.format, format);
        let layout = ArchiveLayout::of(unpacked.files.iter().map(String::as_str)).unwrap();
        assert_eq!(layout.only().unwrap(), "tidy-up");
        assert_eq!(packed.name.as_str(), "tidy-up");
        assert_eq!(packed.digest, digest_of(place.path()));
        assert_eq!(digest_in(&outcome.files, "tidy-up"), packed.digest);
        assert!(packed.skipped.is_empty() && unpacked.skipped.is_empty());
    }
}

#[test]
fn the_same_skill_has_the_same_bytes() {
    let place = tempfile::tempdir().unwrap();
    let first = place.path().join("first");
    skill(&first);
    // Copied with other permissions and other times, in another order, to a path of another length.
    let second = place.path().join("a longer path/second");
    fs::create_dir_all(second.parent().unwrap()).unwrap();
    let copy =
        "umask 077 && cp -r first 'a longer path/second' && cp -r first third && chmod -R g+w,o+r third";
    let made = Command::new("sh").args(["-c", copy]).current_dir(place.path()).status().unwrap();
    assert!(made.success());
    let touched = File::options().write(true).open(second.join("SKILL.md")).unwrap();
    touched.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    fs::create_dir(second.join("nothing in it")).unwrap();
    let moved = second.join("assets/empty");
    fs::rename(&moved, second.join("x")).unwrap();
    fs::rename(second.join("x"), &moved).unwrap();
    for format in FORMATS {
        let bytes = pack_at(&first, format).unwrap().bytes;
        assert!(bytes == pack_at(&first, format).unwrap().bytes, "{format:?}: twice");
        assert!(bytes == pack_at(&second, format).unwrap().bytes, "{format:?}: another path, umask and time");
        assert!(
            bytes == pack_at(&place.path().join("third"), format).unwrap().bytes,
            "{format:?}: permissions"
        );
        fs::set_permissions(second.join("SKILL.md"), Permissions::from_mode(0o744)).unwrap();
        assert!(bytes != pack_at(&second, format).unwrap().bytes, "{format:?}: the run bit counts");
        fs::set_permissions(second.join("SKILL.md"), Permissions::from_mode(0o644)).unwrap();
    }
}

/// If these change, archives that were packed and signed before are not made again: say so in the changelog.
#[test]
fn the_bytes_are_those_of_every_other_machine() {
    let place = tempfile::tempdir().unwrap();
    skill(place.path());
    let digests = FORMATS.map(|format| Digest::of(&pack_at(place.path(), format).unwrap().bytes).hex());
    assert_eq!(
        digests,
        [
            "23897c22a09586f07227b8b119009eb26f949cb4700f7883759c5bdbcdd249df",
            "d2cfc7765993d046d2c5576adbd30fd6e1479c14f85e3f24dddb875a5aed2a1a",
            "063b69c17d12540c20975a0b780fce2a38d3ca3876c6674ad0c1973a24ed49ec",
        ]
    );
}

/// What a child runs that is another user, in other surroundings; does nothing without being told what to pack.
#[test]
#[ignore = "started by other tests"]
#[expect(clippy::disallowed_methods, reason = "how the parent tells it what to pack")]
fn packs_what_it_is_told_to() {
    let (Some(from), Some(to)) = (std::env::var_os("PACK_FROM"), std::env::var_os("PACK_TO")) else { return };
    fs::write(to, pack_at(Path::new(&from), ArchiveFormat::Zip).unwrap().bytes).unwrap();
}

#[test]
fn another_user_packs_the_same_bytes() {
    let program = std::env::current_exe().unwrap();
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o777)).unwrap();
    let (from, to) = (place.path().join("skill"), place.path().join("packed"));
    skill(&from);
    let everybody = Command::new("chmod").args(["-R", "a+rX"]).arg(&from).status().unwrap();
    assert!(everybody.success());
    // The build may lie where others cannot look.
    let copy = place.path().join("program");
    fs::copy(program, &copy).unwrap();
    fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let mut command = if is_root && has_program("setpriv") {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&copy);
        command
    } else {
        eprintln!(
            "SKIPPED: only root can be another user; packing as one is not tested, other surroundings are"
        );
        Command::new(&copy)
    };
    let child = command
        .args(["--exact", "packing::packs_what_it_is_told_to", "--ignored"])
        .current_dir("/")
        .env_clear()
        .envs([("LC_ALL", "tr_TR.UTF-8"), ("TZ", "Asia/Tokyo"), ("SOURCE_DATE_EPOCH", "5")])
        .envs([("PACK_FROM", &from), ("PACK_TO", &to)])
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert!(fs::read(&to).unwrap() == pack_at(&from, ArchiveFormat::Zip).unwrap().bytes);
}

#[test]
fn other_programs_accept_what_is_packed() {
    let place = tempfile::tempdir().unwrap();
    skill(&place.path().join("tidy-up"));
    for (format, name) in FORMATS.into_iter().zip(["x.skill", "x.tar", "x.tar.gz"]) {
        let packed = pack_at(&place.path().join("tidy-up"), format).unwrap();
        fs::write(place.path().join(name), packed.bytes).unwrap();
    }
    let commands = [
        ("unzip", "unzip -tq x.skill && mkdir 1 && unzip -q x.skill -d 1"),
        (
            "python3",
            "python3 -m zipfile -t x.skill && python3 -m zipfile -e x.skill 2 && chmod +x 2/tidy-up/scripts/run.sh 2/tidy-up/longlong*",
        ),
        ("tar", "tar -tzf x.tar.gz && mkdir 3 && tar -xzf x.tar.gz -C 3"),
        ("tar", "tar -tf x.tar && mkdir 4 && tar -xf x.tar -C 4"),
        ("python3", "python3 -m tarfile -t x.tar.gz && python3 -m tarfile -e x.tar.gz 5"),
    ];
    let expected = digest_of(&place.path().join("tidy-up"));
    for (number, (program, command)) in (1..).zip(commands) {
        if !has_program(program) {
            continue;
        }
        let run = Command::new("sh")
            .args(["-c", command])
            .env("LC_ALL", "C.UTF-8")
            .current_dir(place.path())
            .output()
            .unwrap();
        let said = [run.stdout, run.stderr].concat();
        assert!(run.status.success(), "{command}: {}", String::from_utf8_lossy(&said));
        let unpacked = place.path().join(number.to_string()).join("tidy-up");
        assert_eq!(digest_of(&unpacked), expected, "{command}");
    }
}

#[test]
fn what_would_not_come_out_is_not_packed() {
    let place = tempfile::tempdir().unwrap();
    skill(place.path());
    let before = pack_at(place.path(), ArchiveFormat::Zip).unwrap();
    for name in [".DS_Store", "assets/._x", ".git"] {
        fs::write(place.path().join(name), "x").unwrap();
    }
    std::os::unix::fs::symlink("/etc/passwd", place.path().join("link")).unwrap();
    let packed = pack_at(place.path(), ArchiveFormat::Zip).unwrap();
    let mut skipped: Vec<_> =
        packed.skipped.iter().map(|entry| (entry.path.as_str(), entry.reason)).collect();
    skipped.sort_by_key(|(path, _)| *path);
    assert_eq!(skipped, [(".DS_Store", SkippedReason::MacOs), ("assets/._x", SkippedReason::MacOs)]);
    assert_ne!(packed.digest, before.digest, "a file called .git is like any other");
    fs::remove_file(place.path().join(".git")).unwrap();
    assert!(pack_at(place.path(), ArchiveFormat::Zip).unwrap().bytes == before.bytes);

    let names = [
        ("nul.txt", "archive-name-windows"),
        ("a:b", "archive-name-windows"),
        ("skill.md", "archive-case-collision"),
        ("a\\b", "archive-name-backslash"),
        ("a\nb", "archive-name-control"),
    ];
    for (name, code) in names {
        let path = place.path().join(name);
        fs::write(&path, "x").unwrap();
        assert_eq!(pack_at(place.path(), ArchiveFormat::TarGz).unwrap_err().code(), code, "{name}");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn only_a_skill_is_packed() {
    let place = tempfile::tempdir().unwrap();
    let code = || pack_at(place.path(), ArchiveFormat::Zip).unwrap_err().code();
    assert_eq!(code(), "skill-not-found");
    fs::write(place.path().join("SKILL.md"), "---\nname: Not A Name\ndescription: x\n---\n").unwrap();
    assert_eq!(code(), "skill-validation");
    fs::write(place.path().join("SKILL.md"), "no frontmatter").unwrap();
    assert_eq!(code(), "skill-validation");
    skill(place.path());
    fs::write(place.path().join("large"), vec![7; 11 << 20]).unwrap();
    assert_eq!(code(), "skill-limit");
}

#[test]
fn what_compresses_best_can_still_be_unpacked() {
    let place = tempfile::tempdir().unwrap();
    skill(place.path());
    fs::write(place.path().join("zeros"), vec![0; 3 << 20]).unwrap();
    for format in FORMATS {
        let packed = pack_at(place.path(), format).unwrap();
        assert!(
            metier_store::unpack(&packed.bytes, &ArchiveLimits::default(), &|_| Ok(())).is_ok(),
            "{format:?}"
        );
    }
}
