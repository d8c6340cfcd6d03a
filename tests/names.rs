//! Public names: each name means one thing in the whole workspace, and the facade stays a selection.

use std::collections::BTreeMap;
use std::fs;

use metier_tests::top;

/// Names that two crates may share, with a reason.
const SHARED: &[(&str, &str)] = &[];

/// The types and traits that a crate's `lib.rs` exports and that are its own, from `pub use` and public modules.
fn exported(package: &str) -> Vec<String> {
    let source = top().join("crates").join(package).join("src");
    let text = fs::read_to_string(source.join("lib.rs")).unwrap();
    let mut names: Vec<String> = uses(&text)
        .into_iter()
        .filter(|tree| !tree.starts_with("metier_"))
        .flat_map(|tree| leaves(&tree))
        .filter(|name| is_type(name))
        .collect();
    let modules = text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    for module in modules {
        let text = fs::read_to_string(source.join(format!("{module}.rs"))).unwrap();
        names.extend(text.lines().filter_map(defined));
    }
    names.sort();
    names.dedup();
    names
}

/// The trees of all `pub use` items at the top of a file, without white space.
fn uses(text: &str) -> Vec<String> {
    let items = text.split("\npub use ").skip(1);
    items.filter_map(|item| item.split_once(';')).map(|(tree, _)| tree.split_whitespace().collect()).collect()
}

/// The names that a use tree brings in.
fn leaves(tree: &str) -> Vec<String> {
    let inner = tree.split_once('{').map_or(tree, |(_, inner)| inner.trim_end_matches('}'));
    assert!(!inner.contains('{'), "`{tree}` is nested; write it flat, so that this test can read it");
    let last = |path: &str| path.rsplit("::").next().unwrap_or(path).to_owned();
    inner.split(',').filter(|path| !path.is_empty()).map(last).collect()
}

/// Types and traits, not functions, modules or constants.
fn is_type(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().any(|c| c.is_ascii_lowercase())
}

fn defined(line: &str) -> Option<String> {
    let kinds = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
    let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    Some(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

#[test]
fn the_facade_is_a_selection_and_says_when_to_use_each_type() {
    let text = fs::read_to_string(top().join("crates/metier/src/lib.rs")).unwrap();
    let selected: Vec<String> =
        uses(&text).iter().flat_map(|tree| leaves(tree)).filter(|name| is_type(name)).collect();
    assert!((30..=60).contains(&selected.len()), "{} types at the top", selected.len());
    for name in selected {
        let row = text.lines().find(|line| line.starts_with(&format!("//! | [`{name}`] | ")));
        assert!(row.is_some_and(|row| row.len() > name.len() + 30), "say in the table when to use {name}");
    }
}

#[test]
fn a_public_name_means_one_thing() {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in fs::read_dir(top().join("crates")).unwrap() {
        let package = entry.unwrap().file_name().into_string().unwrap();
        if !top().join("crates").join(&package).join("src/lib.rs").is_file() {
            continue;
        }
        for name in exported(&package) {
            owners.entry(name).or_default().push(package.clone());
        }
    }
    assert!(owners.len() > 300, "only {} names were found: the test does not see the exports", owners.len());
    let shared: Vec<_> = owners
        .iter()
        .filter(|(name, packages)| packages.len() > 1 && !SHARED.iter().any(|(other, _)| other == name))
        .collect();
    assert!(shared.is_empty(), "rename these, or list them in SHARED with the reason: {shared:#?}");
    for (name, reason) in SHARED {
        assert!(
            owners.get(*name).is_some_and(|packages| packages.len() > 1),
            "{name} is not shared ({reason})"
        );
    }
}
