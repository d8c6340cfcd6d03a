//! Paths as text for serde: a path that is not UTF-8 must not prevent the rest from being serialised.

use std::path::{Path, PathBuf};

use serde::Serializer;

/// Serialises a path as text; bytes that are not UTF-8 become U+FFFD. For `#[serde(serialize_with = "…")]`.
pub fn lossy_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// The same for a list of paths.
pub fn lossy_paths<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}
