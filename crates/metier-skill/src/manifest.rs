//! The list of a skill's files. The digest of its text form is the digest of the skill.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::Digest;

/// The start of the text form.
const HEADER: &[u8] = b"metier-tree-1\0";

/// All files of one skill with path, executable bit and digest. Its own digest is the skill's `tree_digest`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// In byte order of the paths.
    files: Vec<ManifestFile>,
}

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestFile {
    /// Relative to the skill's directory.
    pub path: PathBuf,
    /// Whether the owner may execute it.
    pub executable: bool,
    /// The digest of its content.
    pub digest: Digest,
}

impl ManifestFile {
    /// An entry for one file.
    pub fn new(path: impl Into<PathBuf>, executable: bool, digest: Digest) -> Self {
        Self { path: path.into(), executable, digest }
    }

    fn path_bytes(&self) -> &[u8] {
        self.path.as_os_str().as_bytes()
    }
}

impl Manifest {
    /// A manifest of these files, in any order.
    pub fn new(mut files: Vec<ManifestFile>) -> Self {
        files.sort_by(|a, b| a.path_bytes().cmp(b.path_bytes()));
        Self { files }
    }

    /// The files, in byte order of their paths.
    pub fn files(&self) -> &[ManifestFile] {
        &self.files
    }

    /// The file at a path, which must be written as in the manifest.
    pub fn get(&self, path: &Path) -> Option<&ManifestFile> {
        let bytes = path.as_os_str().as_bytes();
        let at = self.files.binary_search_by(|file| file.path_bytes().cmp(bytes)).ok()?;
        self.files.get(at)
    }

    /// The digest of the whole skill.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.to_bytes())
    }

    /// The text that the digest covers: a header, then for each file the 64 digits of its digest, a space, `x`
    /// or `-`, a space, its path and a zero byte.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER.len() + self.files.len() * 100);
        bytes.extend_from_slice(HEADER);
        for file in &self.files {
            bytes.extend_from_slice(file.digest.hex().as_bytes());
            bytes.extend_from_slice(if file.executable { b" x " } else { b" - " });
            bytes.extend_from_slice(file.path_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// Parses the text form; `None` if it is not exactly in that form.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(HEADER)?;
        let mut files = Vec::new();
        while !rest.is_empty() {
            let end = memchr::memchr(0, rest)?;
            let (line, after) = (rest.get(..end)?, rest.get(end + 1..)?);
            let (digits, mode, path) = (line.get(..64)?, line.get(64..67)?, line.get(67..)?);
            let executable = match mode {
                b" x " => true,
                b" - " => false,
                _ => return None,
            };
            let digest = format!("sha256:{}", std::str::from_utf8(digits).ok()?).parse().ok()?;
            files.push(ManifestFile::new(OsStr::from_bytes(path), executable, digest));
            rest = after;
        }
        // Each skill has exactly one text form: sorted, without duplicate paths, with lower-case digits.
        let manifest = Self { files };
        let is_ordered = manifest.files.is_sorted_by(|a, b| a.path_bytes() < b.path_bytes())
            && manifest.to_bytes() == bytes;
        is_ordered.then_some(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_it_was_written() {
        let file = |path: &str, executable| ManifestFile::new(path, executable, Digest::of(path.as_bytes()));
        let manifest =
            Manifest::new(vec![file("scripts/run.sh", true), file("SKILL.md", false), file("a b", false)]);
        let bytes = manifest.to_bytes();
        assert_eq!(Manifest::parse(&bytes).unwrap(), manifest);
        assert_eq!(manifest.get(Path::new("a b")).unwrap().digest, Digest::of(b"a b"));
        assert!(manifest.get(Path::new("./a b")).is_none() && manifest.get(Path::new("")).is_none());
        assert!(Manifest::parse(&bytes[..bytes.len() - 1]).is_none());
        assert!(Manifest::parse(b"metier-tree-2\0").is_none());
        let mut swapped = Manifest { files: manifest.files.iter().rev().cloned().collect() }.to_bytes();
        assert!(Manifest::parse(&swapped).is_none(), "another order is another text");
        swapped = bytes.to_ascii_uppercase();
        assert!(Manifest::parse(&swapped).is_none());
        assert_eq!(Manifest::parse(b"metier-tree-1\0").unwrap(), Manifest::default());
    }
}
