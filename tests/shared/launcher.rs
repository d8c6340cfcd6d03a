//! The sandbox's launcher, for test programs of other crates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The sandbox's launcher, built anew where its sources are newer: testing this crate alone does not build it.
pub(crate) fn launcher() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let built = own.parent().and_then(Path::parent).unwrap().join("metier-launcher");
    let modified = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../metier-sandbox/src");
    if modified(&built) < newest(&sources) {
        let cargo = Command::new(env!("CARGO"))
            .args(["build", "-p", "metier-sandbox", "--bin", "metier-launcher"])
            .args(own.to_str().is_some_and(|own| own.contains("/release/")).then_some("--release"))
            .status();
        assert!(cargo.unwrap().success() && built.exists(), "{} cannot be built", built.display());
    }
    built
}

/// When something below a directory was last changed.
fn newest(directory: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let times = entries.map(|entry| {
        if entry.file_type().unwrap().is_dir() {
            newest(&entry.path())
        } else {
            entry.metadata().unwrap().modified().ok()
        }
    });
    times.max().flatten()
}
