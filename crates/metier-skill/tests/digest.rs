//! The digest of a skill: what changes it and what does not, that `docs/digests.md` tells how to compute it,
//! and the limits and odd files on the way there.
//!
//! Run bits, links and pipes are Unix's, and so is this file.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use metier_skill::Coded as _;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use metier_skill::{
    Code, Digest, Limits, Location, Reading, Rules, SkillError, SkipReason, SymlinkPolicy, validate_skill,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

/// A file of a skill: path, mode, content.
type Spec<'a> = (&'a str, u32, &'a str);

const SKILL_MD: &str = "---\nname: test-skill\ndescription: Use when testing.\n---\nDo it.\n";

/// What most tests here begin with.
const BASE: &[Spec<'_>] =
    &[("SKILL.md", 0o644, SKILL_MD), ("scripts/run.sh", 0o755, "#!/bin/sh\n"), ("scripts/a.txt", 0o644, "a")];

fn write(root: &Path, path: impl AsRef<Path>, mode: u32, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
}

fn skill<'a>(files: impl IntoIterator<Item = &'a Spec<'a>>) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    for (path, mode, content) in files {
        write(place.path(), path, *mode, content);
    }
    place
}

fn digest(path: &Path) -> Digest {
    Location::find(path).unwrap().tree_digest(&Limits::default()).unwrap()
}

fn digest_of(files: &[Spec<'_>]) -> Digest {
    digest(skill(files).path())
}

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/digests.md")).unwrap()
}

/// The one block of the page with this word after its fence.
fn block(page: &str, language: &str) -> String {
    let start = format!("```{language}\n");
    let mut blocks = page.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap());
    let block = blocks.next().unwrap().to_owned();
    assert_eq!(blocks.next(), None, "the page has one block of {language}");
    block
}

/// What the script of the page prints for a directory.
fn by_hand(directory: &Path) -> String {
    let script = block(&page(), "sh");
    assert!(script.lines().count() <= 10, "the script is short");
    let output = Command::new("sh").args(["-c", &script, "sh"]).arg(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

// What it is

#[test]
fn the_golden_value_is_the_one_of_the_page() {
    let one = [("SKILL.md", 0o644, "hello\n")];
    let golden = "sha256:a26205184aab9838c0de3cf12272a3b485c6ded96df38598da5e8bf68b077acc";
    assert_eq!(digest_of(&one).to_string(), golden);
    assert_eq!(block(&page(), "text").trim_end(), golden);
}

#[test]
fn the_bytes_are_those_of_the_page() {
    let mut bytes = b"metier-tree-1\0".to_vec();
    for (path, run, content) in
        [("SKILL.md", "-", SKILL_MD), ("scripts/a.txt", "-", "a"), ("scripts/run.sh", "x", "#!/bin/sh\n")]
    {
        let content = Digest::of(content.as_bytes()).hex();
        bytes.extend(format!("{content} {run} {path}\0").bytes());
    }
    assert_eq!(digest_of(BASE), Digest::of(&bytes));
    assert_eq!(digest_of(&[]), Digest::of(b"metier-tree-1\0"), "nothing in it");
}

#[test]
fn the_script_of_the_page_agrees_on_odd_names() {
    let place = skill(BASE);
    let root = place.path();
    for (path, mode) in [
        ("a b", 0o644),
        (" leading and trailing ", 0o755),
        ("new\nline", 0o644),
        ("ends\n", 0o755),
        ("back\\slash", 0o644),
        ("-dash", 0o755),
        ("-n", 0o644),
        ("%s$HOME`x`'\"*?[a]", 0o644),
        ("é.md", 0o644),
        ("日本/語.md", 0o755),
        (".hidden/.file", 0o644),
        ("a/b/c/d/e.txt", 0o600),
        // Byte order of whole paths: `a-b` and `a.b` come before `a/b`, capitals before small letters.
        ("a-b", 0o644),
        ("a.b", 0o644),
        ("Z", 0o644),
        ("group-run", 0o654),
        ("deep/.gitignore", 0o644),
        ("deep/git/config", 0o644),
    ] {
        write(root, path, mode, path);
    }
    write(root, "empty", 0o644, "");
    if cfg!(target_os = "linux") {
        write(root, OsString::from_vec(b"not-utf8-\xff".to_vec()), 0o755, "x");
    }
    let before = by_hand(root);
    assert_eq!(digest(root).to_string(), before);
    assert_eq!(
        Location::find(root).unwrap().tree(&Limits::default(), SymlinkPolicy::Skip).unwrap().skipped,
        []
    );

    // What is left out changes neither.
    write(root, ".git/config", 0o644, "left out");
    write(root, "deep/.svn/entries", 0o644, "left out");
    write(root, "deep/.hg/x/y", 0o644, "left out");
    write(root, ".jj/z", 0o644, "left out");
    symlink("SKILL.md", root.join("link")).unwrap();
    symlink("scripts", root.join("linked-directory")).unwrap();
    symlink("gone", root.join("broken")).unwrap();
    fs::create_dir(root.join("empty-directory")).unwrap();
    assert_eq!(by_hand(root), before);
    assert_eq!(digest(root).to_string(), before);

    // A file with such a name is one like any other.
    write(root, "other/.git", 0o644, "gitdir: elsewhere");
    assert_ne!(by_hand(root), before);
    assert_eq!(digest(root).to_string(), by_hand(root));
}

#[test]
fn a_digest_of_bytes_is_their_sha256() {
    let digits = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    let digest = Digest::of(b"hello\n");
    assert_eq!((digest.hex(), digest.to_string()), (digits.to_owned(), format!("sha256:{digits}")));
}

// What changes it, and what does not

#[test]
fn every_path_run_bit_and_content_counts() {
    let base = digest_of(BASE);
    for (index, (path, mode, content)) in BASE.iter().enumerate() {
        let renamed = format!("{path}2");
        let longer = format!("{content} ");
        for (what, changed) in [
            ("path", (renamed.as_str(), *mode, *content)),
            ("run bit", (path, mode ^ 0o100, content)),
            ("content", (path, *mode, &longer)),
            ("nothing left", (path, *mode, "")),
        ] {
            let mut files = BASE.to_vec();
            files[index] = changed;
            assert_ne!(digest_of(&files), base, "{path}: {what}");
        }
        let fewer: Vec<_> = BASE.iter().filter(|file| file.0 != *path).copied().collect();
        assert_ne!(digest_of(&fewer), base, "without {path}");
        assert_ne!(digest_of(&[BASE, &[("more", 0o644, "")]].concat()), base, "one more");
    }
}

#[test]
fn order_times_and_other_modes_do_not_count() {
    let base = digest_of(BASE);
    assert_eq!(digest(skill(BASE.iter().rev()).path()), base, "made in another order");

    let place = skill(BASE);
    for (path, ..) in BASE {
        let file = File::options().write(true).open(place.path().join(path)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_hours(1)).unwrap();
    }
    assert_eq!(digest(place.path()), base, "other times");

    for (plain, run) in [(0o400, 0o500), (0o600, 0o700), (0o666, 0o777), (0o655, 0o744), (0o611, 0o711)] {
        let mode = |mode: u32| if mode & 0o100 == 0 { plain } else { run };
        let files: Vec<_> = BASE.iter().map(|(path, bits, content)| (*path, mode(*bits), *content)).collect();
        assert_eq!(digest_of(&files), base, "{plain:o} and {run:o}");
    }
}

#[test]
fn a_single_file_counts_as_a_directory_with_skill_md() {
    for mode in [0o644, 0o755] {
        let directory = skill(&[("SKILL.md", mode, SKILL_MD)]);
        let single = skill(&[("other-name.md", mode, SKILL_MD), ("neighbour.md", 0o644, "not part of it")]);
        let expected = digest(directory.path());
        assert_eq!(digest(&single.path().join("other-name.md")), expected, "{mode:o}");
        assert_eq!(digest(&directory.path().join("SKILL.md")), expected, "{mode:o}");
    }
}

#[test]
fn a_link_that_is_given_as_the_skill_is_meant() {
    let place = skill(&[("real/SKILL.md", 0o644, SKILL_MD), ("real.md", 0o644, SKILL_MD)]);
    let root = place.path();
    symlink("real", root.join("alias")).unwrap();
    symlink("real.md", root.join("alias.md")).unwrap();
    let expected = digest(&root.join("real"));
    assert_eq!(digest(&root.join("alias")), expected);
    assert!(validate_skill(&root.join("alias.md"), &Rules::standard()).unwrap().is_valid());
    assert_eq!(digest(&root.join("alias.md")), expected);
}

#[test]
fn followed_links_are_listed_as_the_files_they_lead_to_and_are_not_digested() {
    let place = skill(BASE);
    let root = place.path().join("scripts");
    symlink("a.txt", root.join("link.txt")).unwrap();
    symlink("../../outside", root.join("out")).unwrap();
    let location = Location::find(place.path()).unwrap();
    let followed = location.tree(&Limits::default(), SymlinkPolicy::FollowWithinRoot).unwrap();
    let paths: Vec<_> = followed.files.iter().map(|file| file.path_text()).collect();
    let linked = followed.files.iter().find(|file| file.path_text() == "scripts/link.txt").unwrap();
    assert_eq!(paths.len(), BASE.len() + 1, "{paths:?}");
    assert_eq!(std::io::read_to_string(followed.open(linked).unwrap()).unwrap(), "a");
    assert_eq!(location.tree_digest(&Limits::default()).unwrap(), digest_of(BASE));
}

// Limits

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

/// The limits are kept or passed alike by the digest and by validation.
fn check_limit(path: &Path, limits: Limits, keeps: bool, code: Code) {
    let result = Location::find(path).unwrap().tree_digest(&limits);
    let passed = matches!(&result, Err(SkillError::Limit { path: named, .. }) if named == path);
    assert_eq!((result.is_ok(), passed), (keeps, !keeps), "{limits:?}: {result:?}");
    let mut rules = Rules::standard();
    rules.limits = limits;
    let reading = validate_skill(path, &rules).unwrap();
    let found = reading.diagnostics.iter().any(|found| found.code == code && found.is_error());
    assert_eq!(found, !keeps, "{limits:?}: {:?}", reading.diagnostics);
}

#[test]
fn bounds_are_inclusive() {
    // Two directories deep, six entries: SKILL.md, a, a/b, a/b/c, .git, link.
    let place =
        skill(&[("SKILL.md", 0o644, SKILL_MD), ("a/b/c", 0o644, "12345"), (".git/x/y/z/big", 0o644, "123")]);
    let path = place.path();
    symlink("SKILL.md", path.join("link")).unwrap();
    let bytes = SKILL_MD.len() as u64 + 5;
    for (most, keeps) in [(5, false), (6, true), (7, true)] {
        check_limit(path, limits(|limits| limits.entries = most), keeps, Code::TooManyEntries);
    }
    for (most, keeps) in [(0, false), (1, false), (2, true), (3, true)] {
        check_limit(path, limits(|limits| limits.depth = most), keeps, Code::TooDeep);
    }
    for (most, keeps) in [(bytes - 1, false), (bytes, true), (bytes + 1, true)] {
        check_limit(path, limits(|limits| limits.skill_bytes = most), keeps, Code::SkillTooLarge);
    }
}

#[test]
fn a_single_file_keeps_the_limits_too() {
    let place = skill(&[("single.md", 0o644, SKILL_MD)]);
    let location = Location::find(&place.path().join("single.md")).unwrap();
    let size = SKILL_MD.len() as u64;
    for (most, keeps) in [(size - 1, false), (size, true)] {
        let result = location.tree_digest(&limits(|limits| limits.skill_bytes = most));
        assert_eq!(result.is_ok(), keeps, "{most} of {size} bytes");
    }
}

#[test]
fn the_default_limits_are_those_of_the_page() {
    let limits = Limits::default();
    assert_eq!((limits.skill_bytes, limits.entries, limits.depth), (10 << 20, 2_000, 16));
    assert!(page().contains("A skill may have at most 10 MiB, 2,000 files and directories, and 16 levels"));
}

// What would wait for ever

/// Runs `task` on a thread of its own, so that a hang is a failure.
fn within_a_minute<T: Send + 'static>(task: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || send.send(task()));
    receive.recv_timeout(Duration::from_mins(1)).unwrap()
}

fn make_pipe(path: impl AsRef<Path>) {
    mknodat(CWD, path.as_ref(), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

fn validated(path: &Path) -> Result<Reading, SkillError> {
    let path = path.to_owned();
    within_a_minute(move || validate_skill(&path, &Rules::standard()))
}

#[test]
fn a_pipe_among_the_files_is_left_out() {
    let place = skill(BASE);
    let path = place.path().join("scripts/pipe.sh");
    make_pipe(&path);
    let root = place.path().to_owned();
    assert_eq!(within_a_minute(move || digest(&root)), digest_of(BASE));
    let reading = validated(place.path()).unwrap();
    let found = reading.diagnostics.iter().find(|found| found.code == Code::FileSkipped).unwrap();
    assert_eq!(found.file, "scripts/pipe.sh");
    let location = Location::find(place.path()).unwrap();
    let tree = location.tree(&Limits::default(), SymlinkPolicy::FollowWithinRoot).unwrap();
    assert_eq!(tree.skipped.iter().map(|skipped| skipped.reason).collect::<Vec<_>>(), [SkipReason::Special]);
}

#[test]
fn skill_md_that_is_no_regular_file_is_reported() {
    let directory = skill(&[("SKILL.md/inside.md", 0o644, SKILL_MD)]);
    let mut places = vec![directory];
    let piped = skill(&[]);
    make_pipe(piped.path().join("SKILL.md"));
    places.push(piped);
    for place in &places {
        let reading = validated(place.path()).unwrap();
        let codes: Vec<Code> = reading.diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(codes, [Code::SkillMdNotFile]);
        assert!(!reading.is_valid());
    }
}

#[test]
fn a_single_file_that_is_a_pipe_is_an_error() {
    let place = skill(&[]);
    let path = place.path().join("single.md");
    make_pipe(&path);
    assert_eq!(validated(&path).unwrap_err().code(), "skill-io");
    let root = path.clone();
    let result = within_a_minute(move || Location::find(&root).unwrap().tree_digest(&Limits::default()));
    assert_eq!(result.unwrap_err().code(), "skill-io");
}
