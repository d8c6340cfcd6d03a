//! SHA-256 digests.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::Coded;

/// A SHA-256 digest, written as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of some bytes.
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

    /// The 64 hexadecimal digits, without `sha256:`.
    pub fn hex(&self) -> String {
        let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

/// The text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid digest `{text}`; use `sha256:` and 64 hexadecimal digits")]
pub struct ParseDigestError {
    text: String,
}

impl Coded for ParseDigestError {
    fn code(&self) -> &'static str {
        "skill-digest"
    }
}

impl FromStr for Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let unknown = || ParseDigestError { text: text.to_owned() };
        let digits = text.strip_prefix("sha256:").unwrap_or_default().as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(unknown());
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte =
                pair.iter().try_fold(0, |sum, &next| Some(sum << 4 | digit(next)?)).ok_or_else(unknown)?;
        }
        Ok(Self(bytes))
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

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_digest_are_the_same_thing() {
        let digest = Digest::of(b"x");
        assert_eq!(digest.to_string().parse::<Digest>().ok(), Some(digest));
        for wrong in
            ["", "sha256:", &digest.hex(), &digest.to_string()[1..], &format!("{digest}0"), "sha256:é"]
        {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
        assert!(digest.to_string().replace('1', "g").parse::<Digest>().is_err());
    }
}
