//! Signatures over the digest of a skill, in the SSH signature format; compatible with `ssh-keygen -Y`.
//!
//! The signed message is the digest as text (`sha256:` and 64 hexadecimal digits) followed by a line feed, in the
//! namespace [`NAMESPACE`]. With `ssh-keygen`:
//!
//! ```console
//! $ printf 'sha256:…\n' >digest
//! $ ssh-keygen -Y sign -n metier-skill -f ~/.ssh/id_ed25519 digest
//! ```
//!
//! Only ed25519 keys are supported. The public key inside a signature has no effect unless a [`TrustFile`] contains
//! it.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use metier_skill::{Digest, Tier};
use rustix::fs::OFlags;
use ssh_key::{HashAlg, LineEnding, PrivateKey, SshSig};

use crate::StoreError;
use crate::error::io_error;
use crate::trust::{TrustFile, fingerprint};

/// The namespace of the signatures. Signatures with another namespace are refused.
pub const NAMESPACE: &str = "metier-skill";

/// The largest signature or key file in bytes; ed25519 needs a few hundred.
const TEXT_MAX: usize = 16 << 10;

/// Who made a valid signature.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signer {
    /// The name of the key in the trust file.
    pub name: String,
    /// The trust tier for skills with this signature.
    pub tier: Tier,
    /// The fingerprint of the key, in the form of `ssh-keygen -l`: `SHA256:…`.
    pub fingerprint: String,
}

/// Why a signature is not valid, or cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The file is not an SSH signature.
    #[error(
        "not an SSH signature: the file must start with `-----BEGIN SSH SIGNATURE-----`, as written by `ssh-keygen -Y sign`"
    )]
    NotASignature,
    /// The signature has another namespace.
    #[error("the signature is for `{namespace}`, not for `{NAMESPACE}`; sign with `-n {NAMESPACE}`")]
    Namespace {
        /// Its namespace.
        namespace: String,
    },
    /// The hash algorithm of the signature is not supported.
    #[error("the signature's hash algorithm is not supported; use sha512 or sha256")]
    HashAlgorithm,
    /// The type of the key is not supported.
    #[error("unsupported key type {algorithm}; supported: ssh-ed25519")]
    KeyAlgorithm {
        /// The type of the key.
        algorithm: String,
    },
    /// The trust file does not contain the key.
    #[error("the signature is by the unknown key {fingerprint}; add it to the trust file if you trust it")]
    UnknownKey {
        /// The fingerprint of the key.
        fingerprint: String,
    },
    /// The signature does not match the digest.
    #[error(
        "the signature by `{name}` does not match {digest}; the skill or the signature was changed after signing"
    )]
    Changed {
        /// The name of the key in the trust file.
        name: String,
        /// The digest that was expected.
        digest: Digest,
    },
    /// The file is not a private key.
    #[error(
        "not a private key in OpenSSH format: the file must start with `-----BEGIN OPENSSH PRIVATE KEY-----`"
    )]
    NotAKey,
    /// The private key is encrypted and no passphrase was given.
    #[error("the private key is encrypted; give its passphrase with `--passphrase-file`")]
    Encrypted,
    /// The passphrase is wrong.
    #[error("cannot decrypt the private key: wrong passphrase")]
    Passphrase,
}

impl SignatureError {
    /// The stable code of the error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotASignature => "signature-unreadable",
            Self::Namespace { .. } => "signature-namespace",
            Self::HashAlgorithm => "signature-hash-algorithm",
            Self::KeyAlgorithm { .. } => "signature-key-algorithm",
            Self::UnknownKey { .. } => "signature-unknown-key",
            Self::Changed { .. } => "signature-changed",
            Self::NotAKey => "signature-key-unreadable",
            Self::Encrypted => "signature-key-encrypted",
            Self::Passphrase => "signature-passphrase",
        }
    }
}

/// The signed message.
fn message(digest: &Digest) -> String {
    format!("{digest}\n")
}

/// Signs a digest with a private key in OpenSSH format, which may have a passphrase. The signature is deterministic.
pub fn sign(private_key: &str, passphrase: Option<&[u8]>, digest: &Digest) -> Result<String, SignatureError> {
    if private_key.len() > TEXT_MAX {
        return Err(SignatureError::NotAKey);
    }
    let mut key = PrivateKey::from_openssh(private_key)
        .map_err(|error| other_kind(&error).unwrap_or(SignatureError::NotAKey))?;
    if key.is_encrypted() {
        let passphrase = passphrase.ok_or(SignatureError::Encrypted)?;
        key = key.decrypt(passphrase).map_err(|_| SignatureError::Passphrase)?;
    }
    let algorithm = key.algorithm();
    let unsupported = |_| SignatureError::KeyAlgorithm { algorithm: algorithm.to_string() };
    let signature = key.sign(NAMESPACE, HashAlg::Sha512, message(digest).as_bytes()).map_err(unsupported)?;
    signature.to_pem(LineEnding::LF).map_err(unsupported)
}

/// Verifies a signature over a digest, and returns the signer.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use metier_skill::Digest;
/// use metier_store::{TrustFile, verify};
///
/// let no_keys = TrustFile::default();
/// assert_eq!(verify("no signature", &Digest::of(b"x"), &no_keys).unwrap_err().code(), "signature-unreadable");
/// # Ok(())
/// # }
/// ```
pub fn verify(signature: &str, digest: &Digest, trust: &TrustFile) -> Result<Signer, SignatureError> {
    let signature = parse(signature)?;
    if signature.namespace() != NAMESPACE {
        let shown = signature.namespace().chars().take(100).flat_map(char::escape_debug);
        return Err(SignatureError::Namespace { namespace: shown.collect() });
    }
    let key = signature.public_key();
    if key.ed25519().is_none() {
        return Err(SignatureError::KeyAlgorithm { algorithm: key.algorithm().to_string() });
    }
    let fingerprint = fingerprint(key);
    let Some(trusted) = trust.find(key) else { return Err(SignatureError::UnknownKey { fingerprint }) };
    // Verify with the key of the trust file, never with the one inside the signature.
    match trusted.key.verify(NAMESPACE, message(digest).as_bytes(), &signature) {
        Ok(()) => Ok(Signer { name: trusted.name.clone(), tier: trusted.tier, fingerprint }),
        Err(_) => Err(SignatureError::Changed { name: trusted.name.clone(), digest: *digest }),
    }
}

/// The text of a signature file, `None` if there is no file. A file that cannot be a signature is an error, so that
/// damaging a signature is not the same as removing it.
pub(crate) fn read_signature(path: &Path) -> Result<Option<String>, StoreError> {
    let open = || {
        // Opening a FIFO would block.
        let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(TEXT_MAX as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match open() {
        Ok(bytes) if bytes.len() > TEXT_MAX => Err(SignatureError::NotASignature.into()),
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(SignatureError::NotASignature.into()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path)(error)),
    }
}

fn parse(text: &str) -> Result<SshSig, SignatureError> {
    let text = text.trim_ascii();
    if text.len() > TEXT_MAX {
        return Err(SignatureError::NotASignature);
    }
    let signature = SshSig::from_pem(text).map_err(|error| match error {
        // In the encoding of a signature, the hash algorithm comes after the key's algorithm.
        ssh_key::Error::Encoding(ssh_encoding::Error::Label(_)) => SignatureError::HashAlgorithm,
        error => other_kind(&error).unwrap_or(SignatureError::NotASignature),
    })?;
    // The parser accepts version 0 and overlong lengths; requiring the canonical text gives each signature one form.
    let again = signature.to_pem(LineEnding::LF).map_err(|_| SignatureError::NotASignature)?;
    let is_same = again.split_ascii_whitespace().eq(text.split_ascii_whitespace());
    if is_same && signature.version() == SshSig::VERSION {
        Ok(signature)
    } else {
        Err(SignatureError::NotASignature)
    }
}

/// Whether reading failed because the type of the key is not supported.
fn other_kind(error: &ssh_key::Error) -> Option<SignatureError> {
    let algorithm = match error {
        ssh_key::Error::AlgorithmUnknown => "(unknown)".to_owned(),
        ssh_key::Error::AlgorithmUnsupported { algorithm } => algorithm.to_string(),
        _ => return None,
    };
    Some(SignatureError::KeyAlgorithm { algorithm })
}
