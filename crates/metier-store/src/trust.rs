//! The trust file: which public keys are trusted, under which name and for which tier (TOML).
//!
//! ```toml
//! [[keys]]
//! name = "Platform team"
//! key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI… comment"
//! tier = "org"
//! ```

use metier_skill::{Tier, is_invisible};
use serde::Deserialize;
use ssh_key::{HashAlg, PublicKey, public::KeyData};

/// The most bytes of a trust file, and the most keys in it.
const BYTES_MAX: usize = 1 << 20;
const KEYS_MAX: usize = 1_000;
/// The longest name of a key, in bytes.
const NAME_MAX: usize = 128;

/// The trusted keys.
///
/// ```
/// use metier_store::TrustFile;
///
/// let trust = TrustFile::parse(r#"
///     [[keys]]
///     name = "Platform team"
///     key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti"
///     tier = "org"
/// "#)?;
/// assert_eq!(trust.names().collect::<Vec<_>>(), ["Platform team"]);
/// # Ok::<(), metier_store::TrustError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct TrustFile {
    keys: Vec<TrustedKey>,
}

#[derive(Debug, Clone)]
pub(crate) struct TrustedKey {
    pub(crate) name: String,
    pub(crate) tier: Tier,
    pub(crate) key: PublicKey,
}

/// Why a trust file cannot be used. None of its keys are trusted then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The file is not valid TOML, or has unknown fields.
    #[error("the trust file is invalid: {message}")]
    Syntax {
        /// The error with its position.
        message: String,
    },
    /// The file is too large.
    #[error("the trust file has more than {limit} {what}")]
    TooLarge {
        /// The unit of the limit.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A key has no name, or an invalid one.
    #[error(
        "key {number} of the trust file has no name, or one that is too long or contains invisible characters"
    )]
    Name {
        /// The number of the key, from 1.
        number: usize,
    },
    /// A value that is not a public key.
    #[error(
        "the key of `{name}` in the trust file is not an `ssh-ed25519 AAAA…` line; use the text of the `.pub` file"
    )]
    Key {
        /// The name of the key.
        name: String,
    },
    /// The tier `builtin` cannot be given to a key.
    #[error("`{name}` in the trust file has the tier `{tier}`; use org, user or third_party")]
    Tier {
        /// The name of the key.
        name: String,
        /// The tier.
        tier: Tier,
    },
    /// The same key has two names.
    #[error("`{first}` and `{second}` have the same key in the trust file; remove one of them")]
    Duplicate {
        /// The first name.
        first: String,
        /// The second name.
        second: String,
    },
}

impl TrustError {
    /// The stable code of the error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "trust-syntax",
            Self::TooLarge { .. } => "trust-too-large",
            Self::Name { .. } => "trust-name",
            Self::Key { .. } => "trust-key",
            Self::Tier { .. } => "trust-tier",
            Self::Duplicate { .. } => "trust-duplicate",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    keys: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    key: String,
    tier: Tier,
}

impl TrustFile {
    /// Parses the text of a trust file.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        if text.len() > BYTES_MAX {
            return Err(TrustError::TooLarge { what: "bytes", limit: BYTES_MAX });
        }
        let file: File =
            toml::from_str(text).map_err(|error| TrustError::Syntax { message: error.to_string() })?;
        if file.keys.len() > KEYS_MAX {
            return Err(TrustError::TooLarge { what: "keys", limit: KEYS_MAX });
        }
        let mut trust = Self::default();
        for (number, entry) in (1..).zip(file.keys) {
            let trusted = entry.check(number)?;
            if let Some(first) = trust.find(trusted.key.key_data()) {
                return Err(TrustError::Duplicate { first: first.name.clone(), second: trusted.name });
            }
            trust.keys.push(trusted);
        }
        Ok(trust)
    }

    /// Combines two trust files. If both have a key, the entry of `self` counts.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for key in other.keys {
            if self.find(key.key.key_data()).is_none() {
                self.keys.push(key);
            }
        }
        self
    }

    /// The names of the keys, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.name.as_str())
    }

    /// The tier that the key with this fingerprint gives; `None` if it is not trusted.
    pub(crate) fn tier_of(&self, wanted: &str) -> Option<Tier> {
        let key = self.keys.iter().find(|trusted| fingerprint(trusted.key.key_data()) == wanted)?;
        Some(key.tier)
    }

    pub(crate) fn find(&self, key: &KeyData) -> Option<&TrustedKey> {
        self.keys.iter().find(|trusted| trusted.key.key_data() == key)
    }
}

impl Entry {
    fn check(self, number: usize) -> Result<TrustedKey, TrustError> {
        let Self { name, key, tier } = self;
        let is_shown = |c: char| !is_invisible(c) && !c.is_control();
        if name.trim().is_empty() || name.len() > NAME_MAX || !name.chars().all(is_shown) {
            return Err(TrustError::Name { number });
        }
        if tier == Tier::Builtin {
            return Err(TrustError::Tier { name, tier });
        }
        match PublicKey::from_openssh(key.trim()) {
            Ok(key) if key.key_data().ed25519().is_some() => Ok(TrustedKey { name, tier, key }),
            _ => Err(TrustError::Key { name }),
        }
    }
}

/// A key's fingerprint: `SHA256:` and 43 characters, as `ssh-keygen -l` shows it.
pub(crate) fn fingerprint(key: &KeyData) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    fn code(text: &str) -> &'static str {
        TrustFile::parse(text).map_or_else(|error| error.code(), |_| "fine")
    }

    fn entry(name: &str, key: &str, tier: &str) -> String {
        format!("[[keys]]\nname = \"{name}\"\nkey = \"{key}\"\ntier = \"{tier}\"\n")
    }

    #[test]
    fn what_a_trust_file_may_say() {
        assert_eq!(code(""), "fine");
        assert_eq!(code(&entry("A", KEY, "user")), "fine");
        assert_eq!(code(&entry("A", &format!("{KEY} a comment"), "third_party")), "fine");
        assert_eq!(code(&entry("A", KEY, "builtin")), "trust-tier");
        assert_eq!(code(&entry("A", KEY, "friend")), "trust-syntax");
        assert_eq!(code(&(entry("A", KEY, "user") + "expires = 1\n")), "trust-syntax");
        assert_eq!(code("key = 1"), "trust-syntax");
        assert_eq!(code(&(entry("A", KEY, "user") + &entry("B", KEY, "org"))), "trust-duplicate");
        for name in ["", " ", "a\\u202eb", "a\\nb", &"a".repeat(129)] {
            assert_eq!(code(&entry(name, KEY, "user")), "trust-name", "{name}");
        }
        for key in ["", "ssh-ed25519", "ssh-rsa AAAA", &KEY[12..], &KEY[..40], "ssh-ed25519 AAAA"] {
            assert_eq!(code(&entry("A", key, "user")), "trust-key", "{key}");
        }
    }

    #[test]
    fn a_trust_file_has_an_end() {
        assert_eq!(code(&format!("# {}", "x".repeat(BYTES_MAX))), "trust-too-large");
        assert_eq!(code(&entry("A", "x", "user").repeat(KEYS_MAX + 1)), "trust-too-large");
    }
}
