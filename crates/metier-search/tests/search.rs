//! Search: what it finds, in which order, and that what is kept on disk never changes the answer.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "search/support.rs"]
mod support;

use std::fs;
use std::time::Duration;

use metier_catalog::{Catalog, CatalogOptions, Entry, Scanner, Tier};
use metier_search::{Search, SearchHit, SearchMatch};
use metier_skill::Coded as _;
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
    let SearchMatch::Unusable(unusable) = hits[0].skill else { unreachable!("{hits:?}") };
    assert_eq!(unusable.problem.code.as_str(), "name-mismatch");
}

#[test]
fn a_ranking_is_the_answer_without_what_cannot_be_used() {
    let place = Place::new();
    place.skill("mine/notes", "Use my notes of a day.");
    place.skill("mine/letters", "Use my notes for letters.");
    place.write("mine/elsewhere/SKILL.md", crate::support::skill_md("diary", "Use my notes as a diary."));
    let catalog = scan(vec![place.root("mine", Tier::User)]);
    let search = Search::open(&catalog, None).unwrap();
    let hits = search.query("notes", 5);
    assert_eq!(hits.len(), 3, "{hits:?}");
    let usable: Vec<&str> = hits.iter().map(SearchHit::name).filter(|name| *name != "diary").collect();
    let ranked = |most| search.ranked("notes", most).into_iter().map(Entry::name).collect::<Vec<_>>();
    assert_eq!(ranked(5), usable);
    assert_eq!(ranked(1), usable[..1]);
}

/// The names and scores that a search answers with, to the last bit.
fn answer(search: &Search, question: &str) -> Vec<(String, u32)> {
    let hits = search.query(question, 200);
    hits.iter().map(|hit| (hit.name().to_owned(), hit.score.to_bits())).collect()
}

/// Questions of every kind: single words, pairs, beginnings, typing errors, and some that find nothing.
fn questions() -> Vec<String> {
    let words = [
        "socks",
        "scarves",
        "winter",
        "form",
        "release",
        "notes",
        "pods",
        "pdf",
        "review",
        "defects",
        "cluster",
        "zzyzx",
        "filler",
        "changes",
        "chinese",
        "documents",
        "hungry",
        "猫",
        "翻译",
        "文",
        "k8s",
        "deploy",
        "fix",
    ];
    let pairs = words.windows(2).map(|pair| pair.join(" "));
    let beginnings = words.iter().map(|word| word.chars().take(3).collect());
    let mistyped = words.iter().map(|word| word.chars().chain(['x']).collect());
    let swapped = words.iter().map(|word| {
        let mut letters: Vec<char> = word.chars().collect();
        if letters.len() > 2 {
            letters.swap(1, 2);
        }
        letters.into_iter().collect()
    });
    let others = ["", "!?", "qqqqqq", "what went wrong last night"].map(str::to_owned);
    let single = words.iter().map(|word| (*word).to_owned());
    single.chain(pairs).chain(beginnings).chain(mistyped).chain(swapped).chain(others).collect()
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
    for round in 0..7 {
        match round {
            1 => place.skill("root/knitting", "Knits socks. Use in winter."),
            2 => place.skill("root/knitting", "Knits scarves. Use in winter."),
            3 => fs::remove_dir_all(place.path("root/pdf-forms")).unwrap(),
            4 => place.skill("root/pdf-forms", "Fills in forms again. Use when there is one."),
            // Found before all others and after them, so that every skill has another number.
            5 => place.skill("root/a-first", "Use for pods in winter."),
            6 => (0..30).for_each(|number| place.skill(&format!("root/filler-{number}"), "Use for pods.")),
            _ => {}
        }
        let catalog = scanner.scan(later());
        let fresh = Search::open(&catalog, None).unwrap();
        // Twice: once made from the one before, once found as it is.
        for _ in 0..2 {
            let disk = Search::open(&catalog, Some(&kept)).unwrap();
            assert!(disk.not_kept().is_none());
            for question in questions() {
                assert_eq!(
                    answer(&disk, &question),
                    answer(&fresh, &question),
                    "{question} in round {round}"
                );
            }
        }
        let files: Vec<_> = fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "old states go");
        // What was made from the one before is what would have been made from nothing.
        let made_from_last = fs::read(&files[0]).unwrap();
        fs::remove_dir_all(&kept).unwrap();
        Search::open(&catalog, Some(&kept)).unwrap();
        assert!(fs::read(&files[0]).unwrap() == made_from_last, "round {round}");
    }
}

#[test]
fn every_flipped_bit_and_every_cut_of_the_index_is_noticed() {
    let place = Place::new();
    for number in 0..33 {
        place.skill(&format!("root/s{number}"), "Zzyzx.");
    }
    let catalog = scan(vec![place.root("root", Tier::User)]);
    let kept = place.path("search");
    let fresh = Search::open(&catalog, Some(&kept)).unwrap();
    let index = fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&index).unwrap();
    let check = |changed: &[u8], what: &str| {
        fs::write(&index, changed).unwrap();
        let search = Search::open(&catalog, Some(&kept)).unwrap();
        assert_eq!(answer(&search, "zzyzx"), answer(&fresh, "zzyzx"), "{what}");
        assert!(fs::read(&index).unwrap() == bytes, "{what} was believed");
    };
    // All of what comes before the first section, and samples of the rest, which one checksum covers.
    for at in (0..bytes.len()).filter(|at| *at < 200 || at % 37 == 0) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        check(&changed, &format!("bit {} of byte {at}", at % 8));
        check(&bytes[..at], &format!("cut at {at}"));
    }
    check(&[&bytes[..], b"x"].concat(), "one byte more");
}

#[test]
fn an_index_for_other_skills_is_not_believed() {
    let place = Place::new();
    for number in 0..33 {
        place.skill(&format!("mine/m{number}"), "Use for mine.");
        place.skill(&format!("theirs/t{number}"), "Use for theirs.");
    }
    let kept = place.path("search");
    let index = || fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    let [mine, theirs] = ["mine", "theirs"].map(|root| scan(vec![place.root(root, Tier::User)]));
    Search::open(&theirs, Some(&kept)).unwrap();
    let others = fs::read(index()).unwrap();
    let search = Search::open(&mine, Some(&kept)).unwrap();
    let wanted = answer(&search, "mine");
    fs::write(index(), others).unwrap();
    assert_eq!(answer(&Search::open(&mine, Some(&kept)).unwrap(), "mine"), wanted);
}

#[test]
fn a_place_that_cannot_be_written_is_said_and_does_not_matter() {
    let place = Place::new();
    library(&place);
    for number in 0..40 {
        place.skill(&format!("root/filler-{number}"), "Zzyzx.");
    }
    let catalog = scan(vec![place.root("root", Tier::User)]);
    let file = place.write("file", "x");
    let search = Search::open(&catalog, Some(&file.join("below"))).unwrap();
    assert_eq!(names(&search, "pdf").first().map(String::as_str), Some("pdf-forms"));
    let error = search.not_kept().unwrap();
    assert_eq!(error.code(), "search-write");
    assert!(error.hint().is_some());
}

#[test]
fn what_older_versions_and_killed_processes_left_goes() {
    let place = Place::new();
    for number in 0..40 {
        place.skill(&format!("root/s{number}"), "Zzyzx.");
    }
    place.write("search/0123456789abcdef/meanings", "a directory, as it was once");
    place.write("search/fedcba9876543210.index", "of other skills");
    let left = place.write("search/new-left", "half");
    let old = later() - Duration::from_hours(3);
    fs::File::options().write(true).open(&left).unwrap().set_modified(old).unwrap();
    let young = place.write("search/new-young", "another process is writing");
    let kept = place.path("search");
    Search::open(&scan(vec![place.root("root", Tier::User)]), Some(&kept)).unwrap();
    assert_eq!(fs::read_dir(&kept).unwrap().count(), 2);
    assert!(young.exists());
}

#[test]
fn files_that_are_not_the_search_s_own_stay() {
    let place = Place::new();
    for number in 0..40 {
        place.skill(&format!("root/s{number}"), "Zzyzx.");
    }
    let others =
        ["notes.txt", "photos/one.jpg", "0123456789abcdef0123456789abcdef.index", "book.index", "new-plan/a"];
    let others = others.map(|name| place.write(&format!("search/{name}"), "of another program"));
    for old in [&others[4], &place.path("search/new-plan")] {
        fs::File::open(old).unwrap().set_modified(later() - Duration::from_hours(3)).unwrap();
    }
    Search::open(&scan(vec![place.root("root", Tier::User)]), Some(&place.path("search"))).unwrap();
    for other in &others {
        assert!(other.exists(), "{} was removed", other.display());
    }
    assert_eq!(fs::read_dir(place.path("search")).unwrap().count(), others.len() + 1);
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
