//! Shared by the tests of the repository: where the repository is.

use std::path::{Path, PathBuf};

/// The top directory of the repository.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
