//! The cases of `vectors/behaviour.md`, section 15, that are about the catalog, by their numbers.

use std::fs::{self, File, FileTimes};

use metier_catalog::{CatalogOptions, Precedence, Scanner, State, StateRule, StateRules, Tier};

use crate::support::{Place, codes, later, names, scan, skill_md, tick};

#[test]
fn k01_one_bad_skill_stops_nothing_and_is_reported() {
    let place = Place::new();
    place.skill("root/good", "Use when good.");
    place.write("root/bad/SKILL.md", skill_md("BadName", "Use when bad."));
    let catalog = scan(vec![place.root("root", Tier::User)]);
    assert_eq!(names(&catalog), ["good"]);
    let [problem] = catalog.problems() else { unreachable!("{:?}", catalog.problems()) };
    assert_eq!((problem.path.clone(), problem.code.as_str()), (place.path("root/bad"), "name-not-lowercase"));
    assert!(problem.message.contains("BadName"), "{}", problem.message);
}

#[test]
fn k02_the_trusted_tier_wins_and_the_other_is_reported() {
    let place = Place::new();
    place.skill("ours/pdf", "Use the builtin one.");
    place.skill("mine/pdf", "Use mine.");
    let roots = vec![place.root("mine", Tier::User), place.root("ours", Tier::Builtin)];
    let catalog = scan(roots.clone());
    assert_eq!(catalog.by_name("pdf").unwrap().id.to_string(), "builtin/pdf");
    let shadowed: Vec<_> = catalog.shadowed().collect();
    assert_eq!(shadowed.len(), 1);
    assert_eq!(shadowed[0].id.to_string(), "user/pdf");
    assert_eq!(shadowed[0].shadowed_by.as_ref().unwrap().to_string(), "builtin/pdf");
    assert_eq!(catalog.by_id("user/pdf").unwrap().description(), "Use mine.", "an id is that very one");

    let mut options = CatalogOptions::new(roots);
    options.precedence = Precedence::new(&[Tier::User]).unwrap();
    let catalog = Scanner::new(options).scan(later());
    assert_eq!(catalog.by_name("pdf").unwrap().id.to_string(), "user/pdf", "the order can be set");
}

#[test]
fn k03_content_that_changed_under_an_unchanged_time_is_read_again() {
    let place = Place::new();
    let file = place.skill("root/pdf", "Use when one.").join("SKILL.md");
    let mut options = CatalogOptions::new(vec![place.root("root", Tier::User)]);
    options.index = Some(place.path("index"));
    let mut scanner = Scanner::new(options.clone());
    let before = scanner.scan(later());
    scanner.save(later()).unwrap();
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    tick(&place);
    // The same length, and the time put back.
    fs::write(&file, skill_md("pdf", "Use when two.")).unwrap();
    File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_times(FileTimes::new().set_modified(modified))
        .unwrap();
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), modified);
    for catalog in [scanner.scan(later()), Scanner::new(options).scan(later())] {
        let entry = catalog.by_name("pdf").unwrap();
        assert_eq!(entry.description(), "Use when two.");
        let old = before.by_name("pdf").unwrap();
        assert_ne!(entry.facts.skill_md_digest, old.facts.skill_md_digest);
        assert_eq!(entry.facts.skill_md_digest, metier_skill::Digest::of(&fs::read(&file).unwrap()));
    }
}

#[test]
fn k04_a_root_that_is_a_skill_is_that_one_skill() {
    let place = Place::new();
    place.skill("alone", "Use when alone.");
    place.skill("alone/inner", "Use when inside.");
    assert_eq!(names(&scan(vec![place.root("alone", Tier::User)])), ["alone"]);
    place.skill("group/direct", "Use when direct.");
    place.skill("group/deeper/nested", "Use when nested.");
    assert_eq!(names(&scan(vec![place.root("group", Tier::User)])), ["direct", "nested"]);
    let missing = scan(vec![place.root("nowhere", Tier::User)]);
    assert_eq!((names(&missing).len(), codes(&missing)), (0, vec!["root-missing"]), "empty, and it says so");
}

#[test]
fn k13_what_is_off_is_left_out_unless_asked_for() {
    let place = Place::new();
    place.skill("root/pdf", "Use when pdf.");
    place.skill("root/docx", "Use when docx.");
    let mut options = CatalogOptions::new(vec![place.root("root", Tier::User)]);
    let rule = StateRule::new(Some("pdf"), None, None, State::Off).unwrap();
    options.states = StateRules::default().layer(vec![rule]);
    let catalog = Scanner::new(options).scan(later());
    assert_eq!(names(&catalog), ["docx"]);
    assert_eq!(catalog.all().len(), 2);
    assert!(!catalog.by_name("pdf").unwrap().is_enabled());
}

#[test]
fn models_are_shown_as_much_as_the_state_of_a_skill_allows() {
    let place = Place::new();
    for name in ["brief", "gone", "plain"] {
        place.skill(&format!("root/{name}"), "Use it.");
    }
    place.write(
        "root/mine/SKILL.md",
        "---\nname: mine\ndescription: Use it.\ndisable-model-invocation: true\n---\nDo it.\n",
    );
    let mut options = CatalogOptions::new(vec![place.root("root", Tier::User)]);
    let rule = |name, state| StateRule::new(Some(name), None, None, state).unwrap();
    options.states =
        StateRules::default().layer(vec![rule("brief", State::NameOnly), rule("gone", State::Off)]);
    let catalog = Scanner::new(options).scan(later());
    assert_eq!(names(&catalog), ["brief", "mine", "plain"]);
    let shown: Vec<_> = catalog.for_models().map(|skill| (skill.entry.name(), skill.description)).collect();
    assert_eq!(shown, [("brief", None), ("plain", Some("Use it."))]);
}

#[test]
fn a_skill_that_needs_another_one_can_be_used_without() {
    let place = Place::new();
    place.write(
        "root/needy/SKILL.md",
        "---\nname: needy\ndescription: Use it.\nmetadata:\n  requires: absent\n---\nDo it.\n",
    );
    place.write("root/bad/SKILL.md", skill_md("BadName", "Use when bad."));
    let catalog = scan(vec![place.root("root", Tier::User)]);
    assert_eq!(names(&catalog), ["needy"]);
    let usable: Vec<_> = catalog
        .problems()
        .iter()
        .map(|problem| (problem.code.as_str(), problem.code.leaves_usable()))
        .collect();
    assert_eq!(usable, [("name-not-lowercase", false), ("requires-missing", true)]);
}
