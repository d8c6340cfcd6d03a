//! Signatures through the binary: made by `ssh-keygen` and checked by us, made by us and checked by `ssh-keygen`.

use std::fs;
use std::process::{Command, Stdio};

use crate::store_server::Repository;
use crate::store_support::{has_program, said, text};
use crate::support::Place;

/// A place with a skill, a key that is trusted as the organisation's and one that nobody knows.
fn place() -> Option<Place> {
    if !has_program("ssh-keygen") {
        return None;
    }
    let place = Place::new();
    place.versioned("pdf", "1.0.0");
    for key in ["known", "stranger"] {
        keygen(&place, &["-q", "-t", "ed25519", "-N", "", "-C", key, "-f", key], "");
    }
    let key = place.read("known.pub");
    let file = format!("[[keys]]\nname = \"Platform team\"\nkey = \"{}\"\ntier = \"org\"\n", key.trim());
    place.write("me/.config/metier/trusted-keys.toml", file);
    Some(place)
}

pub(crate) fn keygen(place: &Place, args: &[&str], input: &str) -> String {
    use std::io::Write as _;
    let mut command = Command::new("ssh-keygen");
    command
        .args(args)
        .current_dir(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Signs what `metier digest` begins with.
fn sign(place: &Place, key: &str, namespace: &str, path: &str) {
    let digest = place.done(&["digest", "pdf"]);
    let signed = format!("{}\n", digest.split_whitespace().next().unwrap());
    let signature = keygen(place, &["-Y", "sign", "-q", "-n", namespace, "-f", key], &signed);
    place.write(&format!("{path}.sig"), signature);
}

#[test]
fn one_by_ssh_keygen_gives_the_tier_of_its_key() {
    let Some(place) = place() else { return };
    place.done(&["pack", "pdf"]);
    for source in ["pdf", "pdf.skill"] {
        sign(&place, "known", "metier-skill", source);
        place.done(&["install", source]);
        assert_eq!(place.locked("pdf")["tier"], "org");
        assert!(place.locked("pdf")["signer"].as_str().unwrap().starts_with("SHA256:"));
        let provenance = place.provenance("pdf");
        assert_eq!(provenance["tier_from"], "signature");
        assert_eq!(provenance["signature"]["name"], "Platform team");
        place.done(&["verify"]);
        place.done(&["remove", "pdf"]);
    }
    // A person may trust it less.
    place.done(&["install", "pdf", "--tier", "third_party"]);
    assert_eq!(place.locked("pdf")["tier"], "third_party");
}

#[test]
fn one_by_us_is_fine_for_ssh_keygen() {
    let Some(place) = place() else { return };
    place.done(&["sign", "pdf", "--key", "known"]);
    place.write("allowed", format!("team@example.org {}", place.read("known.pub")));
    let digest = place.done(&["digest", "pdf"]);
    let signed = format!("{}\n", digest.split_whitespace().next().unwrap());
    let args =
        ["-Y", "verify", "-f", "allowed", "-I", "team@example.org", "-n", "metier-skill", "-s", "pdf.sig"];
    assert!(keygen(&place, &args, &signed).contains("Good \"metier-skill\" signature"));
    place.done(&["install", "pdf"]);
    assert_eq!(place.locked("pdf")["tier"], "org");
}

#[test]
fn a_strangers_is_no_signature_and_a_wrong_one_is_worse() {
    let Some(place) = place() else { return };
    sign(&place, "stranger", "metier-skill", "pdf");
    let told = place.done(&["install", "pdf"]);
    assert!(
        told.contains("`pdf` is signed by an unknown key, so the signature is ignored: SHA256:"),
        "{told}"
    );
    assert_eq!(place.locked("pdf")["tier"], "third_party");
    assert!(place.locked("pdf")["signer"].is_null());
    place.done(&["remove", "pdf"]);
    // For something else, over something else, or no signature at all.
    sign(&place, "known", "file", "pdf");
    place.ends(1, &["install", "pdf"]);
    sign(&place, "known", "metier-skill", "pdf");
    place.write("pdf/references/guide.md", "Another.\n");
    let told = place.ends(1, &["install", "pdf"]);
    assert!(told.contains("Platform team"), "{told}");
    place.write("pdf.sig", "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n");
    place.ends(1, &["install", "pdf"]);
    assert!(place.locked("pdf").is_null());
    fs::remove_file(place.path().join("pdf.sig")).unwrap();
    place.done(&["install", "pdf"]);
}

#[test]
fn losing_a_signature_is_shown_and_lowers_trust() {
    let Some(place) = place() else { return };
    sign(&place, "known", "metier-skill", "pdf");
    place.done(&["install", "pdf"]);
    place.versioned("pdf", "2.0.0");
    fs::remove_file(place.path().join("pdf.sig")).unwrap();
    let told = place.done(&["update", "--dry-run"]);
    assert!(told.contains("unsigned (before: signed by SHA256:"), "{told}");
    assert!(told.contains("tier third_party (before: org)"), "{told}");
    place.done(&["update", "--yes"]);
    assert_eq!(place.locked("pdf")["tier"], "third_party");
    // A lock of a signed skill does not stand for the signature.
    let told =
        place.done(&["lock"]).replace("tier = \"third_party\"", "tier = \"org\"\nsigner = \"SHA256:x\"");
    place.write("metier.lock", told);
    let told = place.ends(1, &["install", "--locked"]);
    assert!(told.contains("it is signed by no key instead of SHA256:x"), "{told}");
    assert_eq!(place.locked("pdf")["tier"], "third_party");
    assert!(place.locked("pdf")["signer"].is_null());
}

/// Who made a signature is one question, whether anybody here trusts them another.
#[test]
fn a_lock_says_whose_signature_and_not_how_far_it_is_trusted() {
    let Some(place) = place() else { return };
    sign(&place, "known", "metier-skill", "pdf");
    place.done(&["install", "pdf"]);
    place.done(&["lock", "-o", "metier.lock"]);
    place.done(&["remove", "pdf"]);
    let trusted = place.read("me/.config/metier/trusted-keys.toml");
    place.write("me/.config/metier/trusted-keys.toml", "");
    let told = place.done(&["install", "--locked"]);
    assert!(
        told.contains("an unknown key") && told.contains("installed with the tier `third_party`"),
        "{told}"
    );
    place.write("me/.config/metier/trusted-keys.toml", trusted);
    sign(&place, "stranger", "metier-skill", "pdf");
    let told = place.ends(1, &["install", "--locked"]);
    assert!(told.contains("it is signed by SHA256:") && told.contains(" instead of SHA256:"), "{told}");
}

/// A signature lies where `metier install` looks, by whatever name the skill was called.
#[test]
fn a_link_to_a_skill_is_signed_where_the_skill_is() {
    let Some(place) = place() else { return };
    std::os::unix::fs::symlink("pdf", place.path().join("link")).unwrap();
    place.done(&["sign", "link", "--key", "known"]);
    place.done(&["install", "link"]);
    assert_eq!(place.locked("pdf")["tier"], "org");
}

/// In a repository a signature lies beside the skill's folder, and is found in each way to get there.
#[test]
fn a_repository_keeps_its_signatures() {
    let Some(place) = place() else { return };
    let repository = Repository::new(place.path().join("host"));
    place.versioned("host/skills/pdf", "1.0.0");
    place.versioned("host/skills/ocr", "1.0.0");
    place.done(&["sign", "host/skills/pdf", "--key", "known"]);
    repository.commit("one");
    let url = repository.url();
    for (source, more) in [
        (url.clone(), &["--skill", "pdf"][..]),
        (format!("{url}//skills/pdf"), &[]),
        (format!("{url}//skills"), &["--all"]),
    ] {
        place.done(&[&["install", source.as_str()], more].concat());
        assert_eq!(place.locked("pdf")["tier"], "org", "{source}");
        let before = place.locked("pdf");
        assert!(place.done(&["update", "--yes"]).contains("unchanged"), "{source}");
        place.done(&["lock", "-o", "metier.lock"]);
        place.done(&["remove", "pdf"]);
        place.done(&["install", "--locked"]);
        assert_eq!(place.locked("pdf"), before, "{source}");
        place.done(&["remove", "pdf"]);
        place.done(&["remove", "ocr", "--missing-ok"]);
    }
}

#[test]
fn a_list_of_keys_that_is_wrong_trusts_nobody() {
    let Some(place) = place() else { return };
    sign(&place, "known", "metier-skill", "pdf");
    let file = place.read("me/.config/metier/trusted-keys.toml");
    for wrong in [file.replace("\"org\"", "\"builtin\""), file.clone() + &file, "what = 1\n".to_owned()] {
        place.write("me/.config/metier/trusted-keys.toml", wrong);
        let output = place.metier(&["install", "pdf"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("trusted-keys.toml"), "{}", text(&output.stderr));
    }
    assert!(place.locked("pdf").is_null());
}

/// Removing a key takes away the trust that it gave, also of what is installed already.
#[test]
fn the_tier_of_a_key_ends_with_the_trust_in_it() {
    let Some(place) = place() else { return };
    let keys = "me/.config/metier/trusted-keys.toml";
    let trusted = place.read(keys);
    sign(&place, "known", "metier-skill", "pdf");
    place.done(&["install", "pdf"]);
    let tier = |place: &Place| place.json_at_home(&["show", "pdf", "--json"])["catalog"]["tier"].clone();
    assert_eq!(tier(&place), "org");
    for (file, now) in [
        (trusted.replace("\"org\"", "\"user\""), "user"),
        (trusted.replace("\"org\"", "\"third_party\""), "third_party"),
        ("keys = 1\n".to_owned(), "third_party"),
        (String::new(), "third_party"),
    ] {
        place.write(keys, file);
        assert_eq!(tier(&place), now);
        assert!(place.done(&["list"]).contains(now));
    }
    let told = said(&place.metier(&["list"]));
    assert!(
        told.contains("`pdf` has the tier third_party: the key that signed it is no longer trusted"),
        "{told}"
    );
    let doctor = said(&place.metier(&["doctor"]));
    assert!(doctor.contains("signed with a key that is no longer trusted for their tier: pdf"), "{doctor}");
    // A higher tier of the key has no effect before an update.
    place.done(&["update", "pdf", "--yes"]);
    assert_eq!(
        (place.locked("pdf")["tier"].as_str(), tier(&place).as_str()),
        (Some("third_party"), Some("third_party"))
    );
    place.write(keys, trusted);
    place.done(&["update", "pdf", "--yes"]);
    assert_eq!(tier(&place), "org");
    place.write(keys, "");
    let run = place.metier(&["policy", "check", "--skill", "pdf", "--script", "scripts/x.sh", "--json"]);
    assert!(!text(&run.stdout).contains("\"allow\""), "{}", said(&run));
    fs::remove_file(place.path().join(keys)).unwrap();
    assert_eq!(tier(&place), "third_party");
}
