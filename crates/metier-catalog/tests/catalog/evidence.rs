//! Evidence holds only while each skill on a list that was shown is what a scan would show.

use std::fs;

use metier_catalog::{Catalog, CatalogOptions, Entry, Evidence, Scanner, ShownSkills, Tier};
use metier_skill::Rules;
use proptest::prelude::*;

use crate::index::options;
use crate::support::{Place, later, now, skill_md, tick};

/// What somebody sees who is shown every skill.
pub(crate) fn shown_text(catalog: &Catalog) -> Vec<String> {
    catalog.skills().map(|entry| format!("{} {}", entry.id, entry.description())).collect()
}

/// What a list of all skills is based on.
pub(crate) fn evidence(scanner: &Scanner, catalog: &Catalog) -> Option<Evidence> {
    scanner.evidence(&ShownSkills::new(catalog.skills().map(Entry::path), true))
}

#[test]
fn evidence_holds_until_something_that_was_shown_may_have_changed() {
    let place = Place::new();
    for name in ["a", "group/b"] {
        place.skill(&format!("root/{name}"), "Use.");
    }
    place.skill("elsewhere/linked", "Use.");
    place.link("root/linked", place.path("elsewhere/linked"));
    let mut options = options(&place);
    let mut later_root = place.root("later", Tier::User);
    later_root.is_optional = true;
    options.roots.push(later_root);
    let taken = || {
        let mut scanner = Scanner::new(options.clone());
        let catalog = scanner.scan(later());
        let all = evidence(&scanner, &catalog).unwrap();
        assert!(all.holds());
        (all, scanner.evidence(&ShownSkills::new([&*place.path("root/a")], false)).unwrap())
    };
    let changes: [(&str, &dyn Fn(), bool); 5] = [
        ("a file beside SKILL.md", &|| drop(place.write("root/a/more.md", "x")), true),
        ("a description that was not shown", &|| drop(place.skill("root/group/b", "Use it.")), true),
        ("a description that was", &|| drop(place.skill("root/a", "Use it.")), false),
        ("a new skill in a group", &|| drop(place.skill("root/group/c", "Use.")), false),
        ("a root that was not there", &|| drop(place.skill("later/d", "Use.")), false),
    ];
    for (what, change, holds) in changes {
        let (_, some) = taken();
        tick(&place);
        change();
        assert_eq!(some.holds(), holds, "{what}");
    }
    let (all, _) = taken();
    tick(&place);
    place.skill("elsewhere/linked", "Use it.");
    assert!(!all.holds(), "what a link leads to");
    let mut scanner = Scanner::new(options.clone());
    let catalog = scanner.scan(now());
    assert!(evidence(&scanner, &catalog).is_none(), "what is fresh proves nothing");
}

/// Directories below two roots, the first of which takes precedence. `A` cannot be the name of a skill.
const DIRECTORIES: [&str; 7] =
    ["first/a", "first/d", "first/A", "second/b", "second/c", "second/e", "second/z/b"];

/// Names that skills declare in turn.
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn lenient(place: &Place) -> Scanner {
    let roots = vec![place.root("first", Tier::Org), place.root("second", Tier::User)];
    let mut options = CatalogOptions::new(roots);
    options.rules = Rules::lenient();
    Scanner::new(options)
}

/// What is shown of some skills: which one has the name, and its text.
fn lines<'a>(catalog: &'a Catalog, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let line = |name| {
        let entry = catalog.by_name(name)?;
        Some(format!("{name} {} {}", entry.path().display(), entry.description()))
    };
    names.into_iter().map(|name| line(name).unwrap_or_default()).collect()
}

/// What a list of the first skills is based on, and what it shows.
fn first(place: &Place, count: usize) -> (Evidence, Vec<String>, Vec<String>) {
    let mut scanner = lenient(place);
    let catalog = scanner.scan(later());
    let listed: Vec<&Entry> = catalog.skills().take(count).collect();
    let is_complete = listed.len() == catalog.skills().count();
    let shown = ShownSkills::new(listed.iter().map(|entry| entry.path()), is_complete);
    let names: Vec<String> = listed.iter().map(|entry| entry.name().to_owned()).collect();
    let lines = lines(&catalog, names.iter().map(String::as_str));
    (scanner.evidence(&shown).unwrap(), names, lines)
}

fn declare(place: &Place, directory: &str, name: &str, description: &str) {
    place.write(&format!("{directory}/SKILL.md"), skill_md(name, description));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every file is changed in place, so that only its own times tell. The skill gets any name.
    #[test]
    fn no_skill_takes_a_shown_name_unnoticed(
        before in prop::collection::vec(0..NAMES.len(), DIRECTORIES.len()),
        count in 0..=DIRECTORIES.len(),
        (changed, name) in (0..DIRECTORIES.len(), 0..NAMES.len()),
    ) {
        let place = Place::new();
        for (directory, name) in DIRECTORIES.iter().zip(before) {
            declare(&place, directory, NAMES[name], "Use it before.");
        }
        let (evidence, names, lines_before) = first(&place, count);
        prop_assert!(evidence.holds());
        tick(&place);
        declare(&place, DIRECTORIES[changed], NAMES[name], "Use it after.");
        let catalog = lenient(&place).scan(later());
        if evidence.holds() {
            let lines_after = lines(&catalog, names.iter().map(String::as_str));
            prop_assert_eq!(lines_before, lines_after, "{} became {}", DIRECTORIES[changed], NAMES[name]);
        }
    }
}

#[test]
fn only_files_that_can_change_what_was_shown_are_checked() {
    let place = Place::new();
    let begin = || {
        for directory in ["first/m", "second/a", "second/b", "second/y"] {
            declare(&place, directory, directory.rsplit('/').next().unwrap(), "Use it.");
        }
    };
    let changes: [(&str, usize, &str, &str, bool); 5] = [
        ("one that is shown", 2, "second/b", "b", false),
        ("one that cannot take precedence over a directory's name", 2, "second/y", "a", true),
        ("one that is not shown and gets a name that nothing has", 2, "second/y", "c", true),
        ("one of a root that takes precedence", 2, "first/m", "a", false),
        ("any, on a list of all skills", 4, "second/y", "c", false),
    ];
    for (what, count, directory, name, holds) in changes {
        begin();
        let (evidence, ..) = first(&place, count);
        tick(&place);
        declare(&place, directory, name, "Use it in another way.");
        assert_eq!(evidence.holds(), holds, "{what}");
    }
    // A shown skill that only declares its name can lose it to the directory of that name, or to an earlier path.
    begin();
    declare(&place, "second/x", "a", "Use it.");
    fs::remove_dir_all(place.path("second/a")).unwrap();
    for (directory, name, holds) in [("second/b", "a", false), ("second/y", "a", true)] {
        declare(&place, "second/b", "b", "Use it.");
        let (evidence, ..) = first(&place, 1);
        tick(&place);
        declare(&place, directory, name, "Use it in another way.");
        assert_eq!(evidence.holds(), holds, "{directory}");
    }
}

#[test]
fn a_built_in_skill_that_was_shown_can_be_replaced_by_any() {
    let place = Place::new();
    declare(&place, "second/x", "x", "Use it.");
    let make = |first: &[Tier]| {
        let mut options = CatalogOptions::new(vec![place.root("second", Tier::User)]);
        options.rules = Rules::lenient();
        options.builtin = true;
        options.precedence = metier_catalog::Precedence::new(first).unwrap();
        let mut scanner = Scanner::new(options);
        let catalog = scanner.scan(later());
        let shown = ShownSkills::new(catalog.by_name("using-metier").map(Entry::path), false);
        scanner.evidence(&shown).unwrap()
    };
    let (builtin_first, user_first) = (make(&[]), make(&[Tier::User]));
    tick(&place);
    declare(&place, "second/x", "using-metier", "Use mine.");
    assert!(builtin_first.holds() && !user_first.holds());
}
