//! What the tests of the repository share: where it is.

use std::path::{Path, PathBuf};

/// The top of the repository.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
