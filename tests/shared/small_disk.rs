//! A small file system for tests: in memory, and in its own mount namespace.

use std::path::PathBuf;
use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "a test asks itself by a variable")]
fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs a test of this binary again with `METIER_SMALL` set to a file system of this many MiB. Returns its path
/// inside, and `None` outside.
pub(crate) fn in_small_file_system(test: &str, size: u32) -> Option<PathBuf> {
    if let Some(place) = asked("METIER_SMALL") {
        return Some(place.into());
    }
    if asked("SKIP_NAMESPACES").is_some() {
        crate::skips::skip(&format!("{test}: this machine gives processes no namespaces"));
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o \"size=$2m,mode=700\" none \"$METIER_SMALL\" && exec \"$0\" --exact \"$1\" --nocapture";
    let status = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .args([test, &size.to_string()])
        .env("METIER_SMALL", directory.path())
        .status()
        .unwrap();
    assert!(status.success());
    None
}
