//! Signatures over the digest of a skill, in the format of SSH: `ssh-keygen -Y` makes and checks them as well.
//!
//! What is signed is the digest as text and a line feed, `sha256:…` and 64 digits, in the namespace [`NAMESPACE`]. By hand:
//!
//! ```console
//! $ printf 'sha256:…\n' >digest
//! $ ssh-keygen -Y sign -n metier-skill -f ~/.ssh/id_ed25519 digest
//! ```
//!
//! Keys are ed25519, which every SSH of the last ten years has. The key in a signature counts for nothing until a
//! [`TrustFile`] has it.

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

/// What signatures are for, so that none that was made for something else counts.
pub const NAMESPACE: &str = "metier-skill";

/// Bytes of a signature, and of a key; ed25519 needs a few hundred.
const TEXT_MAX: usize = 16 << 10;

/// Whose signature it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signer {
    /// The name that the trust file has for the key.
    pub name: String,
    /// How far skills with this signature are trusted.
    pub tier: Tier,
    /// The key as `ssh-keygen -l` shows it: `SHA256:…`.
    pub fingerprint: String,
}

/// Why a signature does not count, or cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// Something else.
    #[error(
        "this is no SSH signature: it should begin with `-----BEGIN SSH SIGNATURE-----`, as `ssh-keygen -Y sign` writes it"
    )]
    NotASignature,
    /// For something else than skills.
    #[error("the signature is for `{namespace}`, not for `{NAMESPACE}`; sign with `-n {NAMESPACE}`")]
    Namespace {
        /// What it is for.
        namespace: String,
    },
    /// The message was hashed in a way that is not known.
    #[error("the signature's hash algorithm is not supported; use sha512 or sha256")]
    HashAlgorithm,
    /// The key is of another kind.
    #[error("the key is {algorithm}; only ssh-ed25519 is supported")]
    KeyAlgorithm {
        /// Its kind.
        algorithm: String,
    },
    /// Nobody knows the key.
    #[error(
        "the signature is by the key {fingerprint}, which the trust file does not have; add it if you trust it"
    )]
    UnknownKey {
        /// The key.
        fingerprint: String,
    },
    /// It is a signature over something else, or was made without the key.
    #[error(
        "the signature by `{name}` is not over {digest}; the skill was changed after it was signed, or the signature"
    )]
    Changed {
        /// Whose it would be.
        name: String,
        /// What it should be over.
        digest: Digest,
    },
    /// Something else.
    #[error(
        "this is no private key in OpenSSH's format: it should begin with `-----BEGIN OPENSSH PRIVATE KEY-----`"
    )]
    NotAKey,
    /// The key needs a passphrase.
    #[error("the private key is encrypted; give its passphrase with `--passphrase-file`")]
    Encrypted,
    /// The passphrase is another.
    #[error("the private key cannot be decrypted; the passphrase is wrong")]
    Passphrase,
}

impl SignatureError {
    /// The stable code.
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

/// What is signed.
fn message(digest: &Digest) -> String {
    format!("{digest}\n")
}

/// Signs a digest with a private key in OpenSSH's format, which may have a passphrase. One key and one digest have one
/// signature.
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

/// Whose signature over the digest this is.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use metier_skill::Digest;
/// use metier_store::{TrustFile, verify};
///
/// let nobody = TrustFile::default();
/// assert_eq!(verify("no signature", &Digest::of(b"x"), &nobody).unwrap_err().code(), "signature-unreadable");
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
    // By the key of the trust file, never by the one that came with the signature.
    match trusted.key.verify(NAMESPACE, message(digest).as_bytes(), &signature) {
        Ok(()) => Ok(Signer { name: trusted.name.clone(), tier: trusted.tier, fingerprint }),
        Err(_) => Err(SignatureError::Changed { name: trusted.name.clone(), digest: *digest }),
    }
}

/// The text of a signature in a file, if there is one. What is there and cannot be one is an error: whoever damages a signature must not be
/// better off than whoever forges one.
pub(crate) fn read_signature(path: &Path) -> Result<Option<String>, StoreError> {
    let open = || {
        // A pipe would be waited for.
        let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
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
        // Of all that has a name in a signature, the hash algorithm comes after the key's.
        ssh_key::Error::Encoding(ssh_encoding::Error::Label(_)) => SignatureError::HashAlgorithm,
        error => other_kind(&error).unwrap_or(SignatureError::NotASignature),
    })?;
    // The reader takes versions before the first, and lengths that are too long: one signature has one text.
    let again = signature.to_pem(LineEnding::LF).map_err(|_| SignatureError::NotASignature)?;
    let is_same = again.split_ascii_whitespace().eq(text.split_ascii_whitespace());
    if is_same && signature.version() == SshSig::VERSION {
        Ok(signature)
    } else {
        Err(SignatureError::NotASignature)
    }
}

/// Whether reading failed because the key is none that is known here.
fn other_kind(error: &ssh_key::Error) -> Option<SignatureError> {
    let algorithm = match error {
        ssh_key::Error::AlgorithmUnknown => "of another kind".to_owned(),
        ssh_key::Error::AlgorithmUnsupported { algorithm } => algorithm.to_string(),
        _ => return None,
    };
    Some(SignatureError::KeyAlgorithm { algorithm })
}
