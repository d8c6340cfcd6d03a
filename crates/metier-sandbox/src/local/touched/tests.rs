//! What is found of changes to a work directory, with the kernel's help and without.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use rustix::fs::FileType;

use super::tree::DEEPEST;
use super::*;

fn names(paths: &PathSample) -> Vec<String> {
    assert_eq!(paths.count, paths.first.len() as u64);
    paths.first.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// A directory with files and directories in it.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for path in ["a/one", "a/b/two", "c/three", "c/d/four", "top", "kept", "moved/x", "moved/y"] {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "before").unwrap();
    }
    symlink("top", place.path().join("link")).unwrap();
    place
}

/// What scripts do: each with what is found of it.
fn change(at: &Path) {
    // Clocks of file systems tick slowly.
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(at.join("top"), "after").unwrap();
    fs::write(at.join("a/new"), "new").unwrap();
    fs::remove_file(at.join("a/one")).unwrap();
    fs::write(at.join("a/b/passing"), "").unwrap();
    fs::remove_file(at.join("a/b/passing")).unwrap();
    // Written beside and put in its place, as editors do.
    fs::write(at.join("a/b/.two.tmp"), "after").unwrap();
    fs::rename(at.join("a/b/.two.tmp"), at.join("a/b/two")).unwrap();
    fs::remove_dir_all(at.join("c")).unwrap();
    fs::create_dir_all(at.join("deep/er")).unwrap();
    fs::write(at.join("deep/er/file"), "").unwrap();
    symlink("/", at.join("deep/root")).unwrap();
    fs::rename(at.join("moved"), at.join("there")).unwrap();
    fs::set_permissions(at.join("kept"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(at.join("link")).unwrap();
    symlink("/etc/passwd", at.join("link")).unwrap();
    let odd = OsStr::from_bytes(b"not-\xff-text");
    fs::write(at.join(odd), "").unwrap();
    rustix::fs::mknodat(CWD, at.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
}

/// What is found, and what was there only meanwhile.
fn check(touched: &TouchedFiles, temporary: &[&str]) {
    assert_eq!(
        names(&touched.created),
        ["a/new", "deep/er/file", "deep/root", "not-\u{fffd}-text", "pipe", "there/x", "there/y"]
    );
    assert_eq!(names(&touched.changed), ["a/b/two", "kept", "link", "top"]);
    assert_eq!(names(&touched.deleted), ["a/one", "c/d/four", "c/three", "moved/x", "moved/y"]);
    assert_eq!(names(&touched.temporary), temporary);
    assert!(!touched.incomplete);
}

#[test]
fn what_a_job_does_is_found() {
    let directory = place();
    let watch = Touches::start(&PinnedPath::pin(directory.path()).unwrap()).unwrap();
    watch.is_ready();
    change(directory.path());
    check(&watch.finish().unwrap(), &["a/b/.two.tmp", "a/b/passing"]);
}

#[test]
fn without_the_kernels_help_the_same_is_found() {
    let directory = place();
    let mut seen = Seen::look(&PinnedPath::pin(directory.path()).unwrap()).unwrap();
    assert!(seen.queue.take().is_some(), "inotify works here");
    change(directory.path());
    check(&seen.touched(), &[]);
}

#[test]
fn only_what_was_written_to_has_changed() {
    let directory = place();
    // What was made in the same tick of the file system's clock cannot be told from what came after it.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let watch = Touches::start(&PinnedPath::pin(directory.path()).unwrap()).unwrap();
    watch.is_ready();
    drop(File::options().write(true).open(directory.path().join("top")).unwrap());
    fs::read(directory.path().join("kept")).unwrap();
    assert_eq!(watch.finish().unwrap(), TouchedFiles::default());
}

#[test]
fn deep_and_full_directories_are_looked_at_in_part() {
    let directory = tempfile::tempdir().unwrap();
    let mut deep = directory.path().to_owned();
    for _ in 0..DEEPEST + 5 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    let watch = Touches::start(&PinnedPath::pin(directory.path()).unwrap()).unwrap();
    watch.is_ready();
    fs::write(deep.join("below"), "").unwrap();
    let many = directory.path().join("many");
    fs::create_dir(&many).unwrap();
    for number in 0..300 {
        fs::write(many.join(format!("{number:03}")), "").unwrap();
    }
    let touched = watch.finish().unwrap();
    assert!(touched.incomplete);
    assert_eq!((touched.created.count, touched.created.first.len()), (300, MOST_TOLD));
    assert_eq!(touched.created.first[0], Path::new("many/000"));
}

/// Other programs could have obeyed it meanwhile.
#[test]
fn what_is_made_and_removed_again_is_found() {
    let directory = place();
    let at = |path: &str| directory.path().join(path);
    let watch = Touches::start(&PinnedPath::pin(directory.path()).unwrap()).unwrap();
    watch.is_ready();
    fs::write(at(".envrc"), "").unwrap();
    fs::create_dir(at(".claude")).unwrap();
    fs::write(at(".claude/settings.json"), "").unwrap();
    fs::remove_dir_all(at(".claude")).unwrap();
    fs::remove_file(at(".envrc")).unwrap();
    // The directory that it was in is compared as a whole.
    fs::write(at("moved/.envrc"), "").unwrap();
    fs::remove_file(at("moved/.envrc")).unwrap();
    fs::rename(at("moved"), at("other")).unwrap();
    fs::rename(at("other"), at("moved")).unwrap();
    // Not made by the job, and not there only meanwhile.
    fs::remove_file(at("top")).unwrap();
    fs::write(at("top"), "").unwrap();
    fs::remove_file(at("kept")).unwrap();
    let touched = watch.finish().unwrap();
    assert_eq!(names(&touched.temporary), [".claude", ".envrc", "moved/.envrc", "other"]);
    assert_eq!((names(&touched.deleted), touched.created.count), (vec!["kept".to_owned()], 0));
    // What the kernel told before it told too much is not lost.
    let mut seen = Seen::look(&PinnedPath::pin(directory.path()).unwrap()).unwrap();
    fs::write(at(".envrc"), "").unwrap();
    fs::remove_file(at(".envrc")).unwrap();
    seen.count = MOST_NAMES;
    seen.take_in();
    assert!(seen.queue.is_none());
    assert_eq!(names(&seen.touched().temporary), [".envrc"]);
}
