//! Dependencies point one way, pure crates stay pure, and licences are compatible.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use metier_tests::top;
use serde_json::Value;

/// Our crates in the order of a skill's life. Each may depend on those before it.
const LIFE: &[&str] = &[
    "metier-skill",
    "metier-scan",
    "metier-catalog",
    "metier-search",
    "metier-prompt",
    "metier-policy",
    "metier-sandbox",
    "metier-journal",
    "metier-store",
    "metier-session",
    "metier-home",
    "metier-guard",
    "metier-mcp",
    "metier-harness",
    "metier-host",
    "metier",
    "metier-cli",
    "metier-bench",
    "metier-fuzz",
    "metier-fake-model",
    "metier-tests",
];

/// Crates that must work anywhere, with packages that they must not depend on, even indirectly.
const PURE: &[&str] = &["metier-skill", "metier-scan", "metier-policy", "metier-prompt"];
const IMPURE: &[&str] = &["tokio", "clap", "rmcp", "rusqlite", "reqwest", "ureq", "rayon"];

/// Licences whose terms are compatible with MIT and Apache-2.0.
const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Unlicense",
    "Unicode-3.0",
    "BSD-3-Clause",
    "Zlib",
    "ISC",
    "CC0-1.0",
    "Apache-2.0 WITH LLVM-exception",
];

fn metadata() -> Value {
    let manifest = top().join("Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--all-features", "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// For each package, the names of its dependencies, without dev-dependencies.
fn dependencies(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let packages = metadata["packages"].as_array().unwrap();
    let name_of = |id: &Value| {
        packages.iter().find(|package| package["id"] == *id).unwrap()["name"].as_str().unwrap().to_owned()
    };
    let mut all = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().unwrap() {
        let normal = node["deps"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|dep| dep["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null()));
        all.insert(name_of(&node["id"]), normal.map(|dep| name_of(&dep["pkg"])).collect());
    }
    all
}

#[test]
fn arrows_point_one_way() {
    let dependencies = dependencies(&metadata());
    let position = |name: &str| LIFE.iter().position(|other| *other == name);
    for (package, needs) in dependencies.iter().filter(|(name, _)| name.starts_with("metier")) {
        let own = position(package).unwrap_or_else(|| panic!("{package} has no place in LIFE"));
        for need in needs.iter().filter(|name| name.starts_with("metier")) {
            assert!(position(need).is_some_and(|other| other < own), "{package} must not depend on {need}");
        }
    }
}

#[test]
fn pure_crates_stay_pure() {
    let dependencies = dependencies(&metadata());
    for pure in PURE {
        let mut seen = BTreeSet::new();
        let mut open = vec![(*pure).to_owned()];
        while let Some(package) = open.pop() {
            assert!(!IMPURE.contains(&package.as_str()), "{pure} reaches {package}");
            if seen.insert(package.clone()) {
                let needs = dependencies
                    .get(&package)
                    .unwrap_or_else(|| panic!("{pure} needs {package}, which is not there"));
                open.extend(needs.iter().cloned());
            }
        }
        assert!(seen.len() > 3, "{pure} seems to have no dependencies at all");
    }
}

/// Packages that listing skills must not depend on.
const HEAVY: &[&str] = &["rusqlite", "tokio", "tantivy", "rustls"];

#[test]
fn listing_skills_is_light() {
    for package in ["metier-host", "metier"] {
        is_light(package);
    }
}

fn is_light(package: &str) {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", package, "--edges=normal", "--no-default-features"])
        .args(["--prefix=none", "--locked", "--offline", "--manifest-path"])
        .arg(top().join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let names: BTreeSet<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains("metier-catalog"), "{names:?}");
    for heavy in HEAVY {
        assert!(!names.contains(heavy), "{package} brings {heavy} without any feature");
    }
}

#[test]
fn licences_are_compatible() {
    for package in metadata()["packages"].as_array().unwrap() {
        let licence = package["license"].as_str().unwrap_or("none");
        // `A OR B` needs one of them, `A AND B` both; `/` is the old way to write OR.
        let is_fine = |part: &str| LICENCES.contains(&part.trim().trim_matches(['(', ')']));
        let fine = licence.replace('/', " OR ").split(" AND ").all(|all| all.split(" OR ").any(is_fine));
        assert!(fine, "{} is licensed under {licence}", package["name"]);
    }
}

#[test]
fn decisions_prompts_and_scans_do_no_io() {
    // Neither by the standard library nor by what else they may use, which is only good for reading text.
    let doors = [
        "std::fs",
        "std::io",
        "std::net",
        "std::env",
        "std::process",
        "std::thread",
        "std::time",
        "print!",
        "println!",
    ];
    let lists = ["Location", "load_skill", "validate_skill", "Folder", "Tree"];
    for name in ["metier-policy", "metier-prompt", "metier-scan"] {
        let sources = sources(&top().join("crates").join(name).join("src"));
        assert!(!sources.is_empty(), "{name} has no sources");
        for (path, text) in sources {
            // Examples in comments may write what they read.
            let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            for door in doors {
                assert!(!code.contains(door), "{} has {door}", path.display());
            }
            // The scan has its files from there, and nowhere else.
            let is_file_reader = path.ends_with("metier-scan/src/subject_files.rs");
            let text = if is_file_reader { "" } else { &text };
            let imports = text.lines().filter(|line| line.starts_with("use metier_skill::"));
            for (import, list) in imports.flat_map(|import| lists.map(|list| (import, list))) {
                assert!(!import.contains(list), "{} uses {list}, which reads disks", path.display());
            }
        }
    }
}

fn sources(directory: &std::path::Path) -> Vec<(std::path::PathBuf, String)> {
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources.extend(self::sources(&path));
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            sources.push((path, text));
        }
    }
    sources
}
