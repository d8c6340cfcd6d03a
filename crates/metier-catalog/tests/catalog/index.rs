//! The index is never trusted wrongly: whatever happens to files and index, a warm catalog is the cold one.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use metier_catalog::{CatalogOptions, Evidence, Scanner, Tier};
use proptest::prelude::*;

use crate::evidence::{evidence, shown_text};
use crate::support::{Place, later, now, skill_md, text, tick};

pub(crate) fn options(place: &Place) -> CatalogOptions {
    let mut options = CatalogOptions::new(vec![place.root("root", Tier::User)]);
    options.index = Some(place.path("index"));
    options
}

fn index_file(place: &Place) -> PathBuf {
    let mut files = fs::read_dir(place.path("index")).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|ending| ending == "index")).unwrap()
}

/// How many `SKILL.md` a new process would read.
fn reads(place: &Place) -> usize {
    let mut scanner = Scanner::new(options(place));
    let catalog = scanner.scan(later());
    scanner.save(later()).unwrap();
    catalog.roots()[0].read
}

#[test]
fn what_did_not_change_is_not_read_again() {
    let place = Place::new();
    for name in ["a", "b", "group/c"] {
        place.skill(&format!("root/{name}"), "Use.");
    }
    place.write("root/broken/SKILL.md", "nothing");
    assert_eq!(reads(&place), 4);
    assert_eq!(reads(&place), 0);
    place.skill("root/group/d", "Use.");
    assert_eq!(reads(&place), 1);
    fs::rename(place.path("root/group"), place.path("root/team")).unwrap();
    assert_eq!(reads(&place), 2, "moved ones are read at their new place");
    assert_eq!(reads(&place), 0);
}

/// How many skills a new process would read whole, and how many there are then.
fn digests(place: &Place, now: SystemTime) -> (usize, usize) {
    let roots = ["root", "other"].map(|root| place.root(root, Tier::User)).to_vec();
    let mut options = CatalogOptions::new(roots);
    options.index = Some(place.path("index"));
    let mut scanner = Scanner::new(options);
    let catalog = scanner.scan(now);
    scanner.save(now).unwrap();
    (catalog.digested(), catalog.all().len())
}

#[test]
fn copies_that_did_not_change_are_not_read_again() {
    let place = Place::new();
    for root in ["root", "other"] {
        place.skill(&format!("{root}/a"), "Use.");
        place.write(&format!("{root}/a/scripts/deep/run.sh"), "echo");
        place.skill(&format!("{root}/{root}-alone"), "Use.");
    }
    assert_eq!(digests(&place, later()), (2, 3), "the copies, and nothing else");
    assert_eq!(digests(&place, later()), (0, 3));
    // A file deep inside, of the same length.
    place.write("other/a/scripts/deep/run.sh", "exit");
    assert_eq!(digests(&place, later()), (1, 4), "no longer a copy");
    assert_eq!(digests(&place, later()), (0, 4));
    place.write("other/a/scripts/deep/run.sh", "echo");
    place.write("other/a/more.md", "x");
    assert_eq!(digests(&place, later()), (1, 4));
    fs::remove_file(place.path("other/a/more.md")).unwrap();
    assert_eq!(digests(&place, later()), (1, 3), "a copy again");
    let script = place.path("root/a/scripts/deep/run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(digests(&place, later()), (1, 4), "whether it may be run is part of it");
    // What was written a moment ago might change again without another stamp.
    let cache = place.path("index/trees.cache");
    fs::remove_file(&cache).unwrap();
    place.write("root/a/SKILL.md", skill_md("a", "Use."));
    let fresh = fs::metadata(place.path("root/a/SKILL.md")).unwrap().modified().unwrap();
    assert_eq!(digests(&place, fresh), (2, 4));
    assert_eq!(digests(&place, fresh), (2, 4));
    digests(&place, later());
    // A damaged one is as good as none.
    let bytes = fs::read(&cache).unwrap();
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        fs::write(&cache, damaged).unwrap();
        assert_eq!(digests(&place, later()), (2, 4), "byte {at}");
    }
    fs::write(&cache, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(digests(&place, later()), (2, 4));
}

#[test]
fn what_changed_a_moment_before_the_scan_is_read_again() {
    let place = Place::new();
    place.skill("root/a", "Use.");
    let mut scanner = Scanner::new(options(&place));
    // By the clock that stamped the file: a change right now might get the same stamp.
    scanner.scan(now());
    scanner.save(now()).unwrap();
    assert_eq!(reads(&place), 1);
    assert_eq!(reads(&place), 0, "and is settled then");
}

#[test]
fn other_rules_and_bounds_need_another_reading() {
    let place = Place::new();
    place.write("root/x/SKILL.md", skill_md("Other", "Use."));
    assert_eq!(reads(&place), 1);
    let mut lenient = options(&place);
    lenient.rules = metier_skill::Rules::lenient();
    assert_eq!(Scanner::new(lenient).scan(later()).skills().count(), 1);
    assert_eq!(Scanner::new(options(&place)).scan(later()).skills().count(), 0);
}

#[test]
fn every_flipped_bit_and_every_cut_of_the_index_is_noticed() {
    let place = Place::new();
    for name in ["a", "b", "group/c"] {
        place.skill(&format!("root/{name}"), "Use it.");
    }
    reads(&place);
    let index = index_file(&place);
    let bytes = fs::read(&index).unwrap();
    let cold = text(&Scanner::new(CatalogOptions::new(vec![place.root("root", Tier::User)])).scan(later()));
    let check = |changed: &[u8], what: &str| {
        fs::write(&index, changed).unwrap();
        let catalog = Scanner::new(options(&place)).scan(later());
        assert_eq!(text(&catalog), cold, "{what}");
        assert_eq!(catalog.roots()[0].read, 3, "{what} was believed");
    };
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        check(&changed, &format!("bit {} of byte {at}", at % 8));
        check(&bytes[..at], &format!("cut at {at}"));
    }
    check(&[&bytes[..], b"x"].concat(), "one byte more");
    fs::write(&index, &bytes).unwrap();
    assert_eq!(reads(&place), 0, "the right one is believed");
}

#[test]
fn an_index_that_cannot_be_written_is_no_matter() {
    let place = Place::new();
    place.skill("root/a", "Use.");
    place.write("index", "a file where the directory should be");
    let mut scanner = Scanner::new(options(&place));
    assert_eq!(scanner.scan(later()).skills().count(), 1);
    assert!(scanner.save(later()).is_err());
}

#[test]
fn processes_that_write_at_once_leave_a_whole_index() {
    let place = Place::new();
    for number in 0..40 {
        place.skill(&format!("root/s{number}"), "Use.");
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for writer in 0..3 {
            let (place, stop) = (&place, &stop);
            threads.spawn(move || {
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    place.skill(&format!("root/w{writer}"), &format!("Use in round {round}."));
                    let mut scanner = Scanner::new(options(place));
                    scanner.scan(now());
                    scanner.save(now()).unwrap();
                }
            });
        }
        for _ in 0..200 {
            // Whatever stands in the index now, forty skills never changed.
            let catalog = Scanner::new(options(&place)).scan(now());
            assert!(catalog.skills().filter(|entry| entry.name().starts_with('s')).count() == 40);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let cold = Scanner::new(CatalogOptions::new(vec![place.root("root", Tier::User)])).scan(now());
    assert_eq!(text(&Scanner::new(options(&place)).scan(now())), text(&cold));
}

/// One thing that happens to files or index.
#[derive(Debug, Clone)]
enum Event {
    Write(usize, usize),
    TouchBack(usize, usize),
    Replace(usize, usize),
    Truncate(usize),
    Break(usize),
    Rename(usize, usize),
    Remove(usize),
    Lowercase(usize),
    IntoLink(usize),
    OutOfLink(usize),
    Swap(usize, usize),
    Touch(usize),
    CorruptIndex(usize),
    RestoreIndex,
    KeepIndex,
    Scan,
}

fn event() -> impl Strategy<Value = Event> {
    let slot = 0..SLOTS.len();
    prop_oneof![
        4 => (slot.clone(), 0..4_usize).prop_map(|(slot, text)| Event::Write(slot, text)),
        2 => (slot.clone(), 0..4_usize).prop_map(|(slot, text)| Event::TouchBack(slot, text)),
        2 => (slot.clone(), 0..4_usize).prop_map(|(slot, text)| Event::Replace(slot, text)),
        1 => slot.clone().prop_map(Event::Truncate),
        1 => slot.clone().prop_map(Event::Break),
        2 => (slot.clone(), slot.clone()).prop_map(|(from, to)| Event::Rename(from, to)),
        2 => slot.clone().prop_map(Event::Remove),
        1 => slot.clone().prop_map(Event::Lowercase),
        2 => slot.clone().prop_map(Event::IntoLink),
        2 => slot.clone().prop_map(Event::OutOfLink),
        1 => (slot.clone(), slot.clone()).prop_map(|(a, b)| Event::Swap(a, b)),
        1 => slot.prop_map(Event::Touch),
        1 => any::<usize>().prop_map(Event::CorruptIndex),
        1 => Just(Event::RestoreIndex),
        1 => Just(Event::KeepIndex),
        3 => Just(Event::Scan),
    ]
}

/// Where skills come and go; some lie inside others, so that folders become skills and back.
const SLOTS: [&str; 8] = ["a", "b", "group", "group/c", "group/d", "group/deep/e", "a/inner", "."];

/// Texts of one length, so that sizes tell nothing.
const TEXTS: [&str; 4] = ["Use when one.", "Use when two.", "Use when six.", "Use when ten."];

fn apply(event: &Event, place: &Place, kept: &mut Option<Vec<u8>>) {
    let directory = |slot: usize| place.path("root").join(SLOTS[slot]);
    let file = |slot: usize| directory(slot).join("SKILL.md");
    let name = |slot: usize| {
        let name = Path::new(SLOTS[slot]).file_name();
        name.map_or("root".to_owned(), |name| name.to_string_lossy().into_owned())
    };
    let content = |slot: usize, text: usize| skill_md(&name(slot), TEXTS[text]);
    // Whether an operation is possible depends on those before it; where it is not, nothing happens.
    match *event {
        Event::Write(slot, text) => {
            let _ = fs::create_dir_all(directory(slot));
            let _ = fs::write(file(slot), content(slot, text));
        }
        Event::TouchBack(slot, text) => {
            let Ok(modified) = fs::metadata(file(slot)).and_then(|meta| meta.modified()) else { return };
            let _ = fs::write(file(slot), content(slot, text));
            let opened = File::options().write(true).open(file(slot));
            let _ = opened.and_then(|file| file.set_times(FileTimes::new().set_modified(modified)));
        }
        Event::Replace(slot, text) => {
            let other = place.write("spare", content(slot, text));
            let _ = fs::rename(other, file(slot));
        }
        Event::Truncate(slot) => {
            let _ = File::options().write(true).open(file(slot)).map(|file| file.set_len(20));
        }
        Event::Break(slot) => {
            let _ = fs::create_dir_all(directory(slot));
            let _ = fs::write(file(slot), "no frontmatter");
        }
        Event::Rename(from, to) => {
            let _ = fs::rename(directory(from), directory(to));
        }
        Event::Remove(slot) if SLOTS[slot] == "." => {
            let _ = fs::remove_file(file(slot));
        }
        Event::Remove(slot) => {
            let _ = fs::remove_dir_all(directory(slot)).or_else(|_| fs::remove_file(directory(slot)));
        }
        Event::Lowercase(slot) => {
            let _ = fs::rename(file(slot), directory(slot).join("skill.md"));
        }
        Event::IntoLink(slot) => {
            let elsewhere = place.path("elsewhere").join(name(slot));
            let _ = fs::create_dir_all(place.path("elsewhere"));
            let _ = fs::remove_dir_all(&elsewhere);
            if SLOTS[slot] != "." && fs::rename(directory(slot), &elsewhere).is_ok() {
                let _ = std::os::unix::fs::symlink(&elsewhere, directory(slot));
            }
        }
        Event::OutOfLink(slot) => {
            let elsewhere = place.path("elsewhere").join(name(slot));
            if fs::read_link(directory(slot)).is_ok_and(|target| target == elsewhere) {
                let _ = fs::remove_file(directory(slot));
                let _ = fs::rename(&elsewhere, directory(slot));
            }
        }
        Event::Swap(a, b) => {
            let spare = place.path("spare-directory");
            let _ = fs::rename(directory(a), &spare)
                .and_then(|()| fs::rename(directory(b), directory(a)))
                .and_then(|()| fs::rename(&spare, directory(b)));
            let _ = fs::remove_dir_all(&spare);
        }
        Event::Touch(slot) => {
            let opened = File::options().write(true).open(file(slot));
            let _ = opened.and_then(|file| file.set_times(FileTimes::new().set_modified(now())));
        }
        Event::CorruptIndex(at) => {
            let Some(index) = existing_index(place) else { return };
            let mut bytes = fs::read(&index).unwrap();
            if let Some(byte) = (!bytes.is_empty()).then(|| at % bytes.len()).and_then(|at| bytes.get_mut(at))
            {
                *byte ^= 0x55;
            }
            fs::write(index, bytes).unwrap();
        }
        Event::KeepIndex => *kept = existing_index(place).map(|index| fs::read(index).unwrap()),
        Event::RestoreIndex => {
            // An index of long ago, as a slow process might still write it.
            if let (Some(index), Some(bytes)) = (existing_index(place), &*kept) {
                fs::write(index, bytes).unwrap();
            }
        }
        Event::Scan => {}
    }
}

fn existing_index(place: &Place) -> Option<PathBuf> {
    place.path("index").is_dir().then(|| index_file(place))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_warm_catalog_is_the_cold_one(events in prop::collection::vec(event(), 1..40)) {
        let place = Place::new();
        fs::create_dir_all(place.path("root")).unwrap();
        let mut kept = None;
        // Stays alive through everything, as a server does.
        let mut resident = Scanner::new(options(&place));
        for event in &events {
            apply(event, &place, &mut kept);
            let cold = text(&Scanner::new(CatalogOptions::new(vec![place.root("root", Tier::User)])).scan(now()));
            let mut warm = Scanner::new(options(&place));
            prop_assert_eq!(&text(&warm.scan(now())), &cold, "after {:?}", event);
            warm.save(now()).unwrap();
            prop_assert_eq!(&text(&resident.scan(now())), &cold, "resident, after {:?}", event);
        }
    }

    /// The same where everything counts as settled, so that stamps alone decide. Such a clock is an hour ahead of
    /// the files'; what happens to a file then always gives it another stamp, or the test does it again.
    #[test]
    fn stamps_alone_tell_what_changed(events in prop::collection::vec(event(), 1..40)) {
        let place = Place::new();
        fs::create_dir_all(place.path("root")).unwrap();
        let mut kept = None;
        let mut known = None;
        for event in &events {
            tick(&place);
            apply(event, &place, &mut kept);
            let cold = Scanner::new(CatalogOptions::new(vec![place.root("root", Tier::User)])).scan(later());
            let (shown, cold) = (shown_text(&cold), text(&cold));
            if let Some((evidence, before)) = &known && Evidence::holds(evidence) {
                prop_assert_eq!(before, &shown, "after {:?}", event);
            }
            let mut warm = Scanner::new(options(&place));
            let catalog = warm.scan(later());
            prop_assert_eq!(&text(&catalog), &cold, "after {:?}", event);
            warm.save(later()).unwrap();
            known = evidence(&warm, &catalog).map(|evidence| (evidence, shown));
        }
    }
}

#[test]
fn a_directory_in_place_of_a_link_to_it_stays_in_the_index() {
    let place = Place::new();
    place.skill("elsewhere/pdf", "Use.");
    place.link("root/pdf", place.path("elsewhere/pdf"));
    assert_eq!(reads(&place), 1);
    tick(&place);
    fs::remove_file(place.path("root/pdf")).unwrap();
    fs::rename(place.path("elsewhere/pdf"), place.path("root/pdf")).unwrap();
    for _ in 0..3 {
        reads(&place);
        let catalog = Scanner::new(options(&place)).scan(later());
        assert_eq!(catalog.by_name("pdf").unwrap().real_path(), place.path("root/pdf"));
    }
}

#[test]
fn a_scan_that_was_cut_off_says_so_each_time() {
    let place = Place::new();
    for number in 0..20 {
        place.skill(&format!("root/s{number}"), "Use.");
    }
    let mut options = options(&place);
    options.bounds.entries = 5;
    let mut scanner = Scanner::new(options);
    for _ in 0..3 {
        let catalog = scanner.scan(later());
        assert_eq!(crate::support::codes(&catalog), ["bound-entries"]);
        scanner.save(later()).unwrap();
    }
}
