//! Roots: what is found in them, what is not, and who wins.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use metier_catalog::{
    CatalogOptions, Root, RootLocations, Scanner, Scope, State, StateRule, StateRules, Tier, TrustStore,
};
use metier_skill::Rules;

use crate::support::{Place, codes, later, names, scan, skill_md, text};

#[test]
fn some_directories_are_not_entered() {
    let place = Place::new();
    place.skill("root/a", "Use.");
    for skipped in [".git", "node_modules", "target", ".venv", "a"] {
        place.skill(&format!("root/{skipped}/hidden"), "Use.");
    }
    place.skill("root/.system/b", "Use.");
    assert_eq!(names(&scan(vec![place.root("root", Tier::User)])), ["a", "b"]);
}

#[test]
fn bounds_are_reported() {
    let place = Place::new();
    place.skill("root/1/2/3/4/5/six", "Use.");
    place.skill("root/1/2/3/4/5/6/seven", "Use.");
    let catalog = scan(vec![place.root("root", Tier::User)]);
    assert_eq!((names(&catalog), codes(&catalog)), (vec!["six"], vec!["bound-depth"]));
    let mut options = CatalogOptions::new(vec![place.root("root", Tier::User)]);
    options.bounds.depth = 7;
    options.index = Some(place.path("index"));
    for _ in 0..2 {
        let mut scanner = Scanner::new(options.clone());
        let catalog = scanner.scan(later());
        assert_eq!((names(&catalog), codes(&catalog).len()), (vec!["seven", "six"], 0));
        scanner.save(later()).unwrap();
    }
    options.bounds.entries = 3;
    assert!(codes(&Scanner::new(options).scan(later())).contains(&"bound-entries"));
}

#[test]
fn links_in_a_root_are_followed_to_skills_and_only_there() {
    let place = Place::new();
    place.skill("elsewhere/linked", "Use.");
    place.skill("elsewhere/deep", "Use.");
    place.link("root/linked", place.path("elsewhere/linked"));
    place.link("root/group/deep", place.path("elsewhere/deep"));
    place.link("root/collection", place.path("elsewhere"));
    place.link("root/nothing", place.path("nowhere"));
    place.link("root/round", place.path("root"));
    let catalog = scan(vec![place.root("root", Tier::User)]);
    assert_eq!(names(&catalog), ["linked"]);
    let entry = catalog.by_name("linked").unwrap();
    assert_eq!(entry.path(), place.path("root/linked"));
    assert_eq!(entry.real_path(), place.path("elsewhere/linked"));
    assert_eq!(codes(&catalog), ["link-not-skill", "link-deep", "link-broken", "link-not-skill"]);
}

#[test]
fn a_link_out_of_an_untrusted_root_is_not_followed() {
    let place = Place::new();
    place.skill("secret/linked", "Use.");
    place.skill("repository/kept/inside", "Use.");
    place.link("repository/skills/linked", place.path("secret/linked"));
    place.link("repository/skills/inside", place.path("repository/kept/inside"));
    let mut root = place.root("repository/skills", Tier::ThirdParty);
    let alone = scan(vec![root.clone()]);
    assert_eq!((names(&alone).len(), codes(&alone)), (0, vec!["link-outside", "link-outside"]));
    root.confines = place.path("repository");
    let catalog = scan(vec![root]);
    assert_eq!((names(&catalog), codes(&catalog)), (vec!["inside"], vec!["link-outside"]));
}

#[test]
fn identical_copies_are_one_entry_with_several_places() {
    let place = Place::new();
    for root in ["a", "b"] {
        place.skill(&format!("{root}/same"), "Use.");
        place.write(&format!("{root}/same/notes.md"), "the same");
        place.skill(&format!("{root}/other"), "Use.");
        place.write(&format!("{root}/other/notes.md"), root);
    }
    place.link("b/linked", place.path("c/linked"));
    place.link("a/linked", place.path("c/linked"));
    place.skill("c/linked", "Use.");
    let roots = ["a", "b", "a"].map(|root| place.root(root, Tier::User));
    let catalog = scan(roots.to_vec());
    let same = catalog.by_name("same").unwrap();
    let places: Vec<_> = same.places().iter().map(|place| place.path.clone()).collect();
    assert_eq!(places, [place.path("a/same"), place.path("b/same")]);
    assert_eq!(catalog.shadowed().map(|entry| entry.id.to_string()).collect::<Vec<_>>(), ["user/other~2"]);
    assert_eq!(catalog.by_id("user/other~2").unwrap().path(), place.path("b/other"));
    assert_eq!(catalog.all().len(), 4);
}

#[test]
fn within_a_tier_the_project_wins_then_the_order_of_roots() {
    let place = Place::new();
    for (root, description) in [("user", "Use user."), ("project", "Use project."), ("second", "Use second.")]
    {
        place.skill(&format!("{root}/x"), description);
    }
    let project = Root::new(place.path("project"), Tier::User, Scope::Project);
    let user = place.root("user", Tier::User);
    let second = place.root("second", Tier::User);
    let catalog = scan(vec![second.clone(), user.clone(), project]);
    assert_eq!(catalog.by_name("x").unwrap().description(), "Use project.");
    assert_eq!(scan(vec![second, user]).by_name("x").unwrap().description(), "Use second.");
}

#[test]
fn what_is_off_shadows_nothing() {
    let place = Place::new();
    place.skill("mine/x", "Use mine.");
    place.skill("theirs/x", "Use theirs.");
    let roots = vec![place.root("mine", Tier::User), place.root("theirs", Tier::ThirdParty)];
    let mut options = CatalogOptions::new(roots);
    let rule = StateRule::new(None, Some(Tier::User), None, State::Off).unwrap();
    options.states = StateRules::default().layer(vec![rule]);
    let catalog = Scanner::new(options).scan(later());
    assert_eq!(catalog.by_name("x").unwrap().id.to_string(), "third_party/x");
    assert_eq!(catalog.shadowed().count(), 0);
}

#[test]
fn the_author_s_wish_to_be_hidden_is_a_state() {
    let place = Place::new();
    let text = "---\nname: x\ndescription: Use.\ndisable-model-invocation: true\n---\nDo it.\n";
    place.write("root/x/SKILL.md", text);
    let catalog = scan(vec![place.root("root", Tier::User)]);
    assert_eq!(catalog.by_name("x").unwrap().state, State::UserOnly);
}

#[test]
fn odd_files_are_problems_each_time() {
    let place = Place::new();
    place.write("root/lower/skill.md", skill_md("lower", "Use."));
    place.write("root/elsewhere.md", "x");
    place.write("root/linked/README.md", "x");
    place.link("root/linked/SKILL.md", place.path("root/elsewhere.md"));
    fs::create_dir_all(place.path("root/directory/SKILL.md")).unwrap();
    place.write("root/large/SKILL.md", vec![b'x'; (1 << 20) + 1]);
    place.write("root/bytes/SKILL.md", [0xff, 0xfe]);
    let mut options = CatalogOptions::new(vec![place.root("root", Tier::User)]);
    options.index = Some(place.path("index"));
    let mut last = None;
    for _ in 0..3 {
        let mut scanner = Scanner::new(options.clone());
        let catalog = scanner.scan(later());
        assert_eq!(names(&catalog), ["lower"]);
        let wanted = ["not-utf8", "skill-md-not-file", "skill-md-too-large", "skill-md-link"];
        assert_eq!(codes(&catalog), wanted);
        scanner.save(later()).unwrap();
        assert_eq!(*last.get_or_insert_with(|| text(&catalog)), text(&catalog));
    }
}

#[test]
fn what_cannot_be_read_is_reported_until_it_can() {
    let place = Place::new();
    place.skill("root/group/x", "Use.");
    let group = place.path("root/group");
    fs::set_permissions(&group, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&group).is_ok() {
        return; // The superuser reads everything.
    }
    let mut options = CatalogOptions::new(vec![place.root("root", Tier::User)]);
    options.index = Some(place.path("index"));
    for _ in 0..2 {
        let mut scanner = Scanner::new(options.clone());
        assert_eq!(codes(&scanner.scan(later())), ["unreadable"]);
        scanner.save(later()).unwrap();
    }
    fs::set_permissions(&group, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(names(&Scanner::new(options).scan(later())), ["x"]);
}

#[test]
fn the_usual_places_are_the_project_s_the_person_s_and_the_organisation_s() {
    let place = Place::new();
    fs::create_dir_all(place.path("me/code/project/.git")).unwrap();
    fs::create_dir_all(place.path("me/code/project/part")).unwrap();
    let places = RootLocations {
        working: Some(place.path("me/code/project/part")),
        home: Some(place.path("me")),
        system: Some(place.path("etc")),
    };
    let trust = TrustStore::new(place.path("trusted"));
    let roots = |trust: &TrustStore| -> Vec<String> {
        let home = place.path("me");
        let short = |root: &Root| root.path.strip_prefix(&home).unwrap_or(&root.path).display().to_string();
        places
            .roots(trust)
            .iter()
            .map(|root| format!("{} {} {}", short(root), root.tier, root.scope))
            .collect()
    };
    let mine = [".agents/skills user user", ".claude/skills user user"];
    let org = format!("{} org system", place.path("etc/skills").display());
    let all = |part: &str, top: &str| -> Vec<String> {
        let project = [("part/.agents", part), ("part/.claude", part), (".agents", top), (".claude", top)]
            .map(|(below, tier)| format!("code/project/{below}/skills {tier} project"));
        project.into_iter().chain(mine.map(str::to_owned)).chain([org.clone()]).collect()
    };
    let untrusted = all("third_party", "third_party");
    assert_eq!(roots(&trust), untrusted);
    trust.mark(&place.path("me/code/project/part")).unwrap();
    assert_eq!(roots(&trust), all("user", "third_party"));
    trust.mark(&place.path("me/code/project")).unwrap();
    assert_eq!(roots(&trust), all("user", "user"));
    trust.unmark(&place.path("me/code/project/part")).unwrap();
    assert_eq!(roots(&trust), all("third_party", "user"), "a script may have made what is further down");
    assert_eq!(trust.marked().unwrap(), [place.path("me/code/project")]);
    assert!(trust.unmark(&place.path("me/code/project")).unwrap());
    assert_eq!(roots(&trust), untrusted);
    trust.mark(&place.path("me/code")).unwrap();
    assert_eq!(roots(&trust), untrusted, "a folder above is not this one");
    trust.mark(&place.path("me/code/project")).unwrap();
    place.link("me/code/project/part/.claude/skills", place.path("me/code/project"));
    assert_eq!(roots(&trust), all("third_party", "user"), "a link to what is trusted is not that");

    let at_home = RootLocations { working: Some(place.path("me")), ..places.clone() };
    let tiers: Vec<_> = at_home.roots(&TrustStore::default()).iter().map(|root| root.tier).collect();
    assert_eq!(tiers, [Tier::User, Tier::User, Tier::Org], "at home the home's skills are one's own");
}

#[test]
fn skills_that_need_others_say_so() {
    let place = Place::new();
    let skill = |name: &str, metadata: &str| {
        let text = format!("---\nname: {name}\ndescription: Use.\nmetadata:\n{metadata}---\nDo it.\n");
        place.write(&format!("root/{name}/SKILL.md"), text);
    };
    skill("a", "  requires: b@^1.2 c\n");
    skill("b", "  version: \"1.3.0\"\n  requires: c\n");
    skill("c", "  version: \"2.0\"\n");
    skill("d", "  requires: missing, c@^1\n");
    let catalog = scan(vec![place.root("root", Tier::User)]);
    assert_eq!(catalog.needs("a"), ["c", "b"]);
    let mut found = codes(&catalog);
    found.sort_unstable();
    assert_eq!(found, ["requires-missing", "requires-version"]);
    assert_eq!(catalog.problems()[0].path, place.path("root/d"));
    assert_eq!(names(&catalog).len(), 4, "they stay in the catalog");
}

#[test]
fn builtin_skills_are_there_when_asked_for_and_win() {
    let place = Place::new();
    place.skill("root/using-metier", "Use mine instead.");
    let mut options = CatalogOptions::new(vec![place.root("root", Tier::User)]);
    options.builtin = true;
    let catalog = Scanner::new(options).scan(later());
    assert_eq!(names(&catalog), ["using-metier", "writing-skills"]);
    let entry = catalog.by_name("using-metier").unwrap();
    assert!(entry.builtin().is_some());
    assert_eq!(entry.path_text(), "builtin:using-metier");
    assert_eq!(catalog.shadowed().count(), 1);
}

#[test]
fn two_snapshots_say_what_changed() {
    let place = Place::new();
    for name in ["kept", "edited", "removed"] {
        place.skill(&format!("root/{name}"), "Use.");
    }
    let mut scanner = Scanner::new(CatalogOptions::new(vec![place.root("root", Tier::User)]));
    let before = scanner.scan(later());
    assert!(scanner.scan(later()).changes_since(&before).is_empty());
    place.skill("root/edited", "Use it otherwise.");
    place.skill("root/added", "Use.");
    fs::remove_dir_all(place.path("root/removed")).unwrap();
    let changes = scanner.scan(later()).changes_since(&before);
    let ids = |ids: &[metier_catalog::SkillId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(ids(&changes.added), ["user/added"]);
    assert_eq!(ids(&changes.changed), ["user/edited"]);
    assert_eq!(ids(&changes.removed), ["user/removed"]);
    assert_eq!(names(&before), ["edited", "kept", "removed"], "a snapshot never changes");
}

#[test]
fn an_untrusted_root_does_not_lead_out_of_its_repository() {
    let place = Place::new();
    place.skill("private/diary", "Use.");
    place.link("project/.claude/skills", place.path("private"));
    fs::create_dir_all(place.path("project/.git")).unwrap();
    let places = RootLocations { working: Some(place.path("project")), ..RootLocations::default() };
    let catalog = scan(places.roots(&TrustStore::default()));
    assert_eq!((names(&catalog).len(), codes(&catalog)), (0, vec!["link-outside"]));
    let trust = TrustStore::new(place.path("trusted"));
    trust.mark(&place.path("project")).unwrap();
    assert_eq!(names(&scan(places.roots(&trust))), ["diary"]);
}

#[test]
fn a_directory_s_name_does_not_say_how_far_it_is_trusted() {
    assert_eq!(Root::parse("vendor:third_party").unwrap().tier, Tier::ThirdParty);
    assert_eq!(Root::parse("a:b:user").unwrap().path, std::path::Path::new("a:b"));
    for wrong in ["", ":user", "a:b"] {
        assert!(Root::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn many_skills_that_differ_in_one_file_are_compared_in_time() {
    let place = Place::new();
    for number in 0..300 {
        place.skill(&format!("root/{number}/same"), "Use.");
        place.write(&format!("root/{number}/same/notes.md"), format!("{}", number / 3));
    }
    let catalog = scan(vec![place.root("root", Tier::User)]);
    assert_eq!(catalog.all().len(), 100);
    assert!(catalog.all().iter().all(|entry| entry.places().len() == 3));
}

/// A catalog of one root by the rules that load what other clients load, cold and from its index.
fn lenient(place: &Place, roots: Vec<Root>) -> metier_catalog::Catalog {
    let mut options = CatalogOptions::new(roots);
    options.rules = Rules::lenient();
    options.index = Some(place.path("index"));
    let mut cold = Scanner::new(options.clone());
    let first = cold.scan(later());
    cold.save(later()).unwrap();
    let warm = Scanner::new(options).scan(later());
    assert_eq!((text(&first), first.warnings().len()), (text(&warm), warm.warnings().len()));
    let refused = |catalog: &metier_catalog::Catalog| -> Vec<_> {
        catalog.warnings().iter().map(|warning| warning.refused_by.clone()).collect()
    };
    assert_eq!(refused(&first), refused(&warm), "the index keeps them");
    warm
}

#[test]
fn a_skill_whose_directory_has_the_name_wins_over_one_that_only_says_so() {
    let place = Place::new();
    // In the order of paths the other one would come first.
    place.write("root/aaa/SKILL.md", skill_md("pdf", "Use the other."));
    place.skill("root/pdf", "Use this.");
    let catalog = lenient(&place, vec![place.root("root", Tier::User)]);
    assert_eq!(catalog.by_name("pdf").unwrap().path(), place.path("root/pdf"));
    let shadowed: Vec<_> = catalog.shadowed().map(|entry| entry.path().to_owned()).collect();
    assert_eq!(shadowed, [place.path("root/aaa")]);
    let warnings: Vec<_> =
        catalog.warnings().iter().map(|found| (&*found.path, &*found.refused_by)).collect();
    assert_eq!(warnings, [(&*place.path("root/aaa"), &["skills-ref"][..])]);
}

#[test]
fn a_trusted_skill_that_breaks_a_rule_wins_over_a_stranger_s_that_does_not() {
    let place = Place::new();
    place.write("mine/elsewhere/SKILL.md", skill_md("PDF", "Use mine."));
    place.skill("theirs/pdf", "Use theirs.");
    let roots = vec![place.root("theirs", Tier::ThirdParty), place.root("mine", Tier::User)];
    let catalog = lenient(&place, roots);
    assert_eq!(catalog.by_name("pdf").unwrap().path(), place.path("mine/elsewhere"));
    assert_eq!(catalog.warnings()[0].refused_by, ["Zed", "skills-ref"]);
}
