//! SHA-256 digests: of bytes, and of a whole skill.

use std::fmt;
use std::io::Read;

use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::error::SkillError;
use crate::tree::{SkipReason, Tree};

/// `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest with these 32 bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 digits, without `sha256:`.
    pub fn hex(&self) -> String {
        use fmt::Write as _;
        self.0.iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

/// The digest of a whole skill: every regular file's path, run bit and content, and nothing else.
///
/// SHA-256 over the text `metier-tree-1` and a zero byte, then for each file, in byte order of the paths:
/// the 64 digits of its content's SHA-256, a blank, `x` if its owner may run it or else `-`, a blank, its
/// path with `/` between the parts, and a zero byte. Links, special files and version-control directories
/// are left out; what cannot be read is an error. A single-file skill counts as a directory that holds it as `SKILL.md`.
pub fn tree_digest(tree: &Tree) -> Result<Digest, SkillError> {
    if let Some(skipped) = tree.skipped.iter().find(|skipped| skipped.reason == SkipReason::Unreadable) {
        let source = std::io::ErrorKind::PermissionDenied.into();
        return Err(SkillError::Io { path: tree.root.join(&skipped.path), source });
    }
    let mut hash = Sha256::new_with_prefix(b"metier-tree-1\0");
    let mut buffer = vec![0; 64 << 10];
    for file in &tree.files {
        let content = hash_file(&mut tree.open(file)?, &mut buffer)
            .map_err(|source| SkillError::Io { path: tree.path_of(file), source })?;
        hash.update(content.hex());
        hash.update(if file.executable { b" x " } else { b" - " });
        hash.update(file.path_bytes());
        hash.update([0]);
    }
    Ok(Digest(hash.finalize().into()))
}

fn hash_file(file: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<Digest> {
    let mut hash = Sha256::new();
    loop {
        match file.read(buffer)? {
            0 => return Ok(Digest(hash.finalize().into())),
            count => hash.update(&buffer[..count]),
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
