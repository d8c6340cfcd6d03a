//! Downloads through the binary: an archive with its digest, and the skills of a site.

use std::fs;

use metier_skill::Digest;
use serde_json::json;

use crate::store_server::{Kind, serve};
use crate::support::Place;

/// A site with two skills, and its address.
fn site(place: &Place, version: &str) {
    let mut entries = Vec::new();
    for name in ["ocr", "pdf"] {
        place.versioned(&format!("source/{name}"), version);
        let text = place.read(&format!("source/{name}/SKILL.md"));
        place.write(&format!("web/.well-known/agent-skills/{name}/SKILL.md"), text.clone());
        let digest = Digest::of(text.as_bytes());
        let url = format!("{name}/SKILL.md");
        entries.push(
            json!({ "name": name, "type": "skill-md", "description": "x", "url": url, "digest": digest }),
        );
    }
    let schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
    let index = json!({ "$schema": schema, "skills": entries }).to_string();
    place.write("web/.well-known/agent-skills/index.json", index);
}

#[test]
fn a_site_is_installed_locked_restored_and_updated() {
    let place = Place::new();
    site(&place, "1.0.0");
    let url = serve(&place.path().join("web"), Kind::Files);
    let told = place.ends(2, &["install", &url]);
    assert!(told.contains("has 2 skills: `ocr`, `pdf`"), "{told}");
    place.done(&["install", &url, "--all"]);
    let locked = place.locked("pdf");
    assert_eq!(locked["source"], format!("{url}/.well-known/agent-skills"));
    place.done(&["verify"]);
    place.done(&["lock", "-o", "metier.lock"]);
    place.done(&["remove", "pdf", "ocr"]);
    // A lockfile alone does not lead to this machine.
    let told = place.ends(5, &["install", "--locked"]);
    assert!(told.contains("has the private address 127.0.0.1") && told.contains("`private_hosts`"), "{told}");
    place.write("me/.config/metier/config.toml", "private_hosts = [\"127.0.0.1\"]\n");
    place.done(&["install", "--locked"]);
    assert_eq!(place.locked("pdf"), locked);
    site(&place, "2.0.0");
    let told = place.ends(1, &["install", "--locked"]);
    assert!(told.contains("`ocr` does not match the lockfile"), "{told}");
    let told = place.done(&["update", "--yes"]);
    assert!(told.contains("~ SKILL.md"), "{told}");
    assert_eq!(place.locked("pdf")["version"], "2.0.0");
    // What is not what the index says is refused.
    place.write("web/.well-known/agent-skills/pdf/SKILL.md", place.read("source/pdf/SKILL.md") + "More.\n");
    let told = place.ends(1, &["update", "--yes"]);
    assert!(told.contains("store-wrong-digest") || told.contains("has changed or was damaged"), "{told}");
    let told = place.done(&["verify"]);
    assert!(told.contains("2 skills unchanged"), "{told}");
}

#[test]
fn an_archive_has_the_digest_that_is_given() {
    let place = Place::new();
    place.versioned("source/pdf", "1.0.0");
    place.write("web/index.html", "");
    place.done(&["pack", "source/pdf", "--output", "web/pdf.skill"]);
    let digest = Digest::of(&fs::read(place.path().join("web/pdf.skill")).unwrap());
    let url = format!("{}/pdf.skill", serve(&place.path().join("web"), Kind::Files));
    let told = place.ends(1, &["install", &format!("{url}#{}", Digest::of(b"other"))]);
    assert!(told.contains(&format!("its digest is {digest}")), "{told}");
    let told = place.done(&["install", &format!("{url}#{digest}")]);
    assert!(!told.contains("was not verified"), "{told}");
    assert_eq!(place.locked("pdf")["source"], format!("{url}#{digest}"));
    place.done(&["remove", "pdf"]);
    let told = place.done(&["install", &url, "--dry-run"]);
    assert!(told.contains(&format!("write `#{digest}` after the URL")), "{told}");
}

#[test]
fn a_project_cannot_allow_private_addresses() {
    let place = Place::new();
    place.write("metier.toml", "private_hosts = [\"127.0.0.1\"]\n");
    let told = place.done(&["trust", "."]) + &place.done(&["config"]);
    assert!(told.contains("a project cannot set `private_hosts`"), "{told}");
}
