//! Signatures, ours and those of `ssh-keygen`, each checked by the other.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use metier_skill::{Digest, Tier};
use metier_store::{SignatureError, TrustFile, sign, verify};

use crate::common::has_program;

/// A key that `ssh-keygen` made: the private one and the line of the public one.
struct Key {
    private: String,
    public: String,
}

fn keygen(arguments: &[&str], directory: &Path, input: &[u8]) -> (bool, String) {
    let mut command = Command::new("ssh-keygen");
    command.args(arguments).current_dir(directory).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn key(directory: &Path, name: &str, kind: &str, passphrase: &str) -> Key {
    // As few rounds as there can be: the passphrase is no secret.
    let (made, said) =
        keygen(&["-q", "-t", kind, "-a", "1", "-N", passphrase, "-C", "", "-f", name], directory, b"");
    assert!(made, "{said}");
    let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
    Key { private: read(name), public: read(&format!("{name}.pub")).trim().to_owned() }
}

fn trust(keys: &[(&str, &Key, &str)]) -> TrustFile {
    let entry = |(name, key, tier): &(&str, &Key, &str)| {
        format!("[[keys]]\nname = \"{name}\"\nkey = \"{}\"\ntier = \"{tier}\"\n", key.public)
    };
    TrustFile::parse(&keys.iter().map(entry).collect::<String>()).unwrap()
}

fn code(result: Result<metier_store::Signer, SignatureError>) -> &'static str {
    result.map_or_else(|error| error.code(), |_| "fine")
}

/// A signature by `ssh-keygen`.
fn signed_by_ssh(directory: &Path, key: &str, namespace: &str, digest: &Digest, more: &[&str]) -> String {
    fs::write(directory.join("message"), format!("{digest}\n")).unwrap();
    let _ = fs::remove_file(directory.join("message.sig"));
    let arguments = [&["-Y", "sign", "-n", namespace, "-f", key], more, &["message"]].concat();
    let (made, said) = keygen(&arguments, directory, b"");
    assert!(made, "{said}");
    fs::read_to_string(directory.join("message.sig")).unwrap()
}

#[test]
fn ours_and_theirs_are_the_same() {
    if !has_program("ssh-keygen") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (key, other) = (key(place.path(), "key", "ed25519", ""), key(place.path(), "other", "ed25519", ""));
    let digest = Digest::of(b"a skill");
    let trusted = trust(&[("Other", &other, "third_party"), ("Platform team", &key, "org")]);

    let theirs = signed_by_ssh(place.path(), "key", "metier-skill", &digest, &[]);
    let ours = sign(&key.private, None, &digest).unwrap();
    assert_eq!(ours.trim_end(), theirs.trim_end(), "one key and one digest have one signature");
    let sha256 = signed_by_ssh(place.path(), "key", "metier-skill", &digest, &["-O", "hashalg=sha256"]);
    for signature in [&ours, &theirs, &sha256] {
        let signer = verify(signature, &digest, &trusted).unwrap();
        assert_eq!((signer.name.as_str(), signer.tier), ("Platform team", Tier::Org));
        let (_, listed) = keygen(&["-l", "-f", "key.pub"], place.path(), b"");
        assert!(listed.contains(&signer.fingerprint), "{listed}");
    }

    fs::write(place.path().join("ours.sig"), &ours).unwrap();
    fs::write(place.path().join("signers"), format!("me@example.org {}\n", key.public)).unwrap();
    let message = format!("{digest}\n");
    let check = ["-Y", "check-novalidate", "-n", "metier-skill", "-s", "ours.sig"];
    let (is_good, said) = keygen(&check, place.path(), message.as_bytes());
    assert!(is_good, "{said}");
    let known =
        ["-Y", "verify", "-n", "metier-skill", "-f", "signers", "-I", "me@example.org", "-s", "ours.sig"];
    let (is_good, said) = keygen(&known, place.path(), message.as_bytes());
    assert!(is_good, "{said}");
    let (is_good, _) = keygen(&known, place.path(), b"sha256:something else\n");
    assert!(!is_good);
}

#[test]
fn signatures_that_do_not_count() {
    if !has_program("ssh-keygen") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (key, other) = (key(place.path(), "key", "ed25519", ""), key(place.path(), "other", "ed25519", ""));
    let digest = Digest::of(b"a skill");
    let signature = sign(&key.private, None, &digest).unwrap();
    let trusted = trust(&[("Me", &key, "user")]);

    assert_eq!(code(verify(&signature, &digest, &trusted)), "fine");
    assert_eq!(code(verify(&signature, &Digest::of(b"another"), &trusted)), "signature-changed");
    assert_eq!(code(verify(&signature, &digest, &trust(&[("X", &other, "org")]))), "signature-unknown-key");
    assert_eq!(code(verify(&signature, &digest, &TrustFile::default())), "signature-unknown-key");
    let for_files = signed_by_ssh(place.path(), "key", "file", &digest, &[]);
    assert_eq!(code(verify(&for_files, &digest, &trusted)), "signature-namespace");

    for wrong in [
        "",
        "x",
        "-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n",
        &key.public,
        &signature[..99],
    ] {
        assert_eq!(code(verify(wrong, &digest, &trusted)), "signature-unreadable", "{wrong}");
    }
    assert_eq!(code(verify(&"x".repeat(1 << 20), &digest, &trusted)), "signature-unreadable");
    let unknown_hash = changed(&signature, b"sha512", b"sha999");
    assert_eq!(code(verify(&unknown_hash, &digest, &trusted)), "signature-hash-algorithm");
    let md5 = changed(&signature, b"\0\0\0\x06sha512", b"\0\0\0\x03md5");
    assert_eq!(code(verify(&md5, &digest, &trusted)), "signature-hash-algorithm");
    let other_namespace = changed(&signature, b"metier-skill", b"metier-other");
    assert_eq!(code(verify(&other_namespace, &digest, &trusted)), "signature-namespace");
    // The key that is trusted, with a signature by another.
    let forged = sign(&other.private, None, &digest).unwrap();
    let raw = |key: &Key| decoded(key.public.split(' ').nth(1).unwrap());
    let forged = changed(&forged, &raw(&other), &raw(&key));
    assert_eq!(code(verify(&forged, &digest, &trusted)), "signature-changed");
}

#[test]
fn every_bit_of_a_signature_counts() {
    if !has_program("ssh-keygen") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let key = key(place.path(), "key", "ed25519", "");
    let digest = Digest::of(b"a skill");
    let signature = sign(&key.private, None, &digest).unwrap();
    let trusted = trust(&[("Me", &key, "user")]);
    let bytes = decoded(&body(&signature));
    for at in 0..bytes.len() {
        for bit in [0, 3, 7] {
            let mut other = bytes.clone();
            other[at] ^= 1 << bit;
            assert_ne!(code(verify(&armoured(&other), &digest, &trusted)), "fine", "byte {at}, bit {bit}");
        }
    }
    assert_eq!(code(verify(&armoured(&bytes), &digest, &trusted)), "fine");
}

#[test]
fn keys_that_are_not_ours_to_use() {
    if !has_program("ssh-keygen") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let digest = Digest::of(b"a skill");
    let locked = key(place.path(), "locked", "ed25519", "correct horse");
    let sign_code = |key: &str, passphrase: Option<&[u8]>| {
        sign(key, passphrase, &digest).map_or_else(|error| error.code(), |_| "fine")
    };
    assert_eq!(sign_code(&locked.private, None), "signature-key-encrypted");
    assert_eq!(sign_code(&locked.private, Some(b"wrong")), "signature-passphrase");
    let signature = sign(&locked.private, Some(b"correct horse"), &digest).unwrap();
    assert_eq!(code(verify(&signature, &digest, &trust(&[("Me", &locked, "user")]))), "fine");
    for wrong in ["", "x", &locked.public, &locked.private[..100]] {
        assert_eq!(sign_code(wrong, None), "signature-key-unreadable", "{wrong}");
    }
    for kind in ["ecdsa", "rsa"] {
        let other = key(place.path(), kind, kind, "");
        assert_eq!(sign_code(&other.private, None), "signature-key-algorithm", "{kind}");
        let signature = signed_by_ssh(place.path(), kind, "metier-skill", &digest, &[]);
        let nobody = TrustFile::default();
        assert_eq!(code(verify(&signature, &digest, &nobody)), "signature-key-algorithm", "{kind}");
        let entry = format!("[[keys]]\nname = \"x\"\nkey = \"{}\"\ntier = \"user\"\n", other.public);
        assert_eq!(TrustFile::parse(&entry).unwrap_err().code(), "trust-key", "{kind}");
    }
}

fn body(signature: &str) -> String {
    signature.lines().filter(|line| !line.starts_with("---")).collect()
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What base64 is the text of.
fn decoded(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text
        .bytes()
        .filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte))
        .map(|digit| u32::try_from(digit).unwrap())
        .collect();
    let mut bytes = Vec::new();
    for four in digits.chunks(4) {
        let number = four.iter().enumerate().fold(0, |sum, (at, digit)| sum | digit << (18 - 6 * at));
        bytes.extend(&number.to_be_bytes()[1..four.len()]);
    }
    bytes
}

fn armoured(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number =
            three.iter().enumerate().fold(0, |sum, (at, byte)| sum | u32::from(*byte) << (16 - 8 * at));
        for at in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    let lines: Vec<_> = text.as_bytes().chunks(70).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n", lines.join("\n"))
}

/// The signature with some of its bytes replaced.
fn changed(signature: &str, from: &[u8], to: &[u8]) -> String {
    let mut bytes = decoded(&body(signature));
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    drop(bytes.splice(at..at + from.len(), to.iter().copied()));
    armoured(&bytes)
}
