//! Search: what it finds, in which order, and that what is kept on disk never changes the answer.

use std::fs;

use metier_catalog::{Catalog, CatalogOptions, Hitting, Scanner, Search, Tier};
use proptest::prelude::*;

use crate::support::{Place, later, scan};

fn names(search: &Search, question: &str) -> Vec<String> {
    search.query(question, 5).iter().map(|hit| hit.name().to_owned()).collect()
}

fn library(place: &Place) -> Catalog {
    for (name, description) in [
        ("release-notes", "Turns commits into notes. Use when a version is released."),
        ("pdf-forms", "Fills in forms. Use when the user has a PDF."),
        ("code-review", "Reviews changes for defects. Use when a second pair of eyes is wanted."),
        ("kubernetes", "Deploys to a cluster. Use when pods fail."),
        ("translator", "Translates 文档翻译 documents. Use for Chinese."),
        ("cats", "Cares for a 猫. Use when it is hungry."),
    ] {
        place.skill(&format!("root/{name}"), description);
    }
    scan(vec![place.root("root", Tier::User)])
}

#[test]
fn each_way_to_say_it_finds() {
    let place = Place::new();
    let search = Search::open(&library(&place), None).unwrap();
    for (question, wanted) in [
        ("pdf-forms", "pdf-forms"),
        ("PDF", "pdf-forms"),
        ("reviewing", "code-review"),
        ("kuberntes", "kubernetes"),
        ("kube", "kubernetes"),
        ("k8s", "kubernetes"),
        ("翻译", "translator"),
        ("译", "translator"),
        ("文", "translator"),
        ("翻", "translator"),
        ("猫", "cats"),
        ("the release", "release-notes"),
    ] {
        assert_eq!(names(&search, question).first().map(String::as_str), Some(wanted), "{question}");
    }
    assert!(names(&search, "").is_empty());
    assert!(names(&search, "!?").is_empty());
}

#[test]
fn the_body_is_found_however_its_lines_end() {
    let place = Place::new();
    for (name, end) in [("lf", "\n"), ("crlf", "\r\n"), ("cr", "\r")] {
        let word = format!("zyx{name}");
        let text = ["---", &format!("name: {name}"), "description: Use.", "---", &format!("# {word}"), ""];
        place.write(&format!("root/{name}/SKILL.md"), text.join(end));
    }
    let search = Search::open(&scan(vec![place.root("root", Tier::User)]), None).unwrap();
    for name in ["lf", "crlf", "cr"] {
        assert_eq!(names(&search, &format!("zyx{name}")).first().map(String::as_str), Some(name));
    }
}

#[test]
fn equal_ones_are_in_the_order_of_trust_and_name() {
    let place = Place::new();
    for name in ["zzqb", "zzqa"] {
        place.skill(&format!("theirs/{name}"), "Use for everything alike.");
    }
    place.skill("mine/zzqc", "Use for everything alike.");
    let catalog = scan(vec![place.root("theirs", Tier::ThirdParty), place.root("mine", Tier::User)]);
    let search = Search::open(&catalog, None).unwrap();
    assert_eq!(names(&search, "everything alike"), ["zzqc", "zzqa", "zzqb"]);
}

#[test]
fn only_what_can_be_used_or_mended_is_found() {
    let place = Place::new();
    place.skill("mine/notes", "Use my notes.");
    place.skill("theirs/notes", "Use their notes.");
    place.write("mine/elsewhere/SKILL.md", crate::support::skill_md("diary", "Use my diary."));
    let catalog = scan(vec![place.root("mine", Tier::User), place.root("theirs", Tier::ThirdParty)]);
    let search = Search::open(&catalog, None).unwrap();
    let hits = search.query("notes", 5);
    assert_eq!(hits.iter().filter(|hit| hit.name() == "notes").count(), 1, "the shadowed one is not there");
    let hits = search.query("diary", 5);
    let Hitting::Unusable(unusable) = hits[0].skill else { unreachable!("{hits:?}") };
    assert_eq!(unusable.problem.code.as_str(), "name-mismatch");
}

#[test]
fn what_is_kept_on_disk_answers_like_what_is_made_anew() {
    let place = Place::new();
    library(&place);
    // Fewer are not kept on disk.
    for number in 0..40 {
        place.skill(&format!("root/filler-{number}"), "Zzyzx.");
    }
    let mut scanner = Scanner::new(CatalogOptions::new(vec![place.root("root", Tier::User)]));
    let kept = place.path("search");
    for round in 0..6 {
        match round {
            1 => drop(place.skill("root/knitting", "Knits socks. Use in winter.")),
            2 => drop(place.skill("root/knitting", "Knits scarves. Use in winter.")),
            3 => fs::remove_dir_all(place.path("root/pdf-forms")).unwrap(),
            4 => drop(place.skill("root/pdf-forms", "Fills in forms again. Use when there is one.")),
            _ => {}
        }
        let catalog = scanner.scan(later());
        let fresh = Search::open(&catalog, None).unwrap();
        // Twice: once made from the one before, once found as it is.
        for _ in 0..2 {
            let disk = Search::open(&catalog, Some(&kept)).unwrap();
            for question in ["socks", "scarves", "form", "release notes", "pods"] {
                let answer = |search: &Search| -> Vec<(String, f32)> {
                    search.query(question, 5).iter().map(|hit| (hit.name().to_owned(), hit.score)).collect()
                };
                let (disk, fresh) = (answer(&disk), answer(&fresh));
                let names = |hits: &[(String, f32)]| -> Vec<String> {
                    hits.iter().map(|(name, _)| name.clone()).collect()
                };
                assert_eq!(names(&disk), names(&fresh), "{question} in round {round}");
                // What was removed still counts a little until everything is prepared anew, so scores are only nearly the same.
                for ((name, kept), (_, made)) in disk.iter().zip(&fresh) {
                    let differs = (kept - made).abs();
                    assert!(differs <= 0.2 * made, "{name} for {question} in round {round}: {kept}, {made}");
                }
            }
        }
        assert_eq!(fs::read_dir(&kept).unwrap().count(), 1, "old states go");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_no_matter() {
    let place = Place::new();
    let catalog = library(&place);
    let file = place.write("file", "x");
    let search = Search::open(&catalog, Some(&file.join("below"))).unwrap();
    assert_eq!(names(&search, "pdf").first().map(String::as_str), Some("pdf-forms"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_question_gets_an_answer(question in ".{0,300}") {
        thread_local! {
            static SEARCH: (Place, Search) = {
                let place = Place::new();
                let catalog = library(&place);
                let search = Search::open(&catalog, None).unwrap();
                (place, search)
            };
        }
        SEARCH.with(|(_, search)| {
            let hits = search.query(&question, 3);
            prop_assert!(hits.len() <= 3);
            prop_assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
            prop_assert!(hits.iter().all(|hit| hit.score.is_finite()));
            Ok(())
        })?;
    }
}

#[test]
fn what_is_gone_does_not_push_out_what_is_there() {
    let place = Place::new();
    let kept = place.path("search");
    // The shorter ones fit best, and will be gone: too few for everything to be prepared anew.
    for number in 0..1_100 {
        let description = if number < 210 { "Zzyzx." } else { "Use for zzyzx and more." };
        place.skill(&format!("root/s{number}"), description);
    }
    let mut scanner = Scanner::new(CatalogOptions::new(vec![place.root("root", Tier::User)]));
    Search::open(&scanner.scan(later()), Some(&kept)).unwrap();
    for number in 0..210 {
        place.skill(&format!("root/s{number}"), "Use for something else.");
    }
    let search = Search::open(&scanner.scan(later()), Some(&kept)).unwrap();
    assert_eq!(search.query("zzyzx", 1000).len(), 200, "as many as are looked at");
}

#[test]
fn many_at_once_all_get_an_answer() {
    let place = Place::new();
    library(&place);
    for number in 0..40 {
        place.skill(&format!("root/filler-{number}"), "Zzyzx.");
    }
    let kept = place.path("search");
    for round in 0..5 {
        place.skill("root/changing", &format!("Use in round {round}."));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    let catalog = scan(vec![place.root("root", Tier::User)]);
                    let search = Search::open(&catalog, Some(&kept)).unwrap();
                    assert_eq!(names(&search, "pdf").first().map(String::as_str), Some("pdf-forms"));
                });
            }
        });
    }
}
