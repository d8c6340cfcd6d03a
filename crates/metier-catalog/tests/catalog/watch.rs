//! Roots that are watched.

use std::fs;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use metier_catalog::{CatalogOptions, CatalogUpdate, Scanner, Tier, WatchOptions, Watcher};

use crate::support::{Place, names, now, scan, text};

/// Longer than any machine needs; a test that waits this long fails.
const PATIENCE: Duration = Duration::from_secs(30);

fn watch(place: &Place, debounce: Duration) -> (metier_catalog::Catalog, Watcher, Receiver<CatalogUpdate>) {
    let scanner = Scanner::new(CatalogOptions::new(vec![place.root("root", Tier::User)]));
    let (sender, changes) = mpsc::channel();
    let mut options = WatchOptions::new(now);
    options.debounce = debounce;
    let (catalog, watcher) = Watcher::start(scanner, options, move |change| {
        let _ = sender.send(change);
    })
    .unwrap();
    assert!(watcher.unwatched().is_empty());
    (catalog, watcher, changes)
}

#[test]
fn k18_an_edit_makes_a_snapshot_with_the_new_description() {
    let place = Place::new();
    place.skill("root/x", "Use before.");
    let (first, watcher, changes) = watch(&place, Duration::ZERO);
    assert_eq!(first.by_name("x").unwrap().description(), "Use before.");
    place.skill("root/x", "Use after.");
    // With no debounce the file may be seen while it is written.
    let newest = loop {
        let change = changes.recv_timeout(PATIENCE).unwrap();
        if change.catalog.by_name("x").is_some_and(|entry| entry.description() == "Use after.") {
            break change;
        }
    };
    assert_eq!(newest.changes.removed.len(), 0);
    drop(watcher);
    assert!(changes.recv().is_err(), "nothing comes after the watcher is gone");
}

#[test]
fn a_burst_makes_a_handful_of_snapshots_and_the_last_is_right() {
    let place = Place::new();
    fs::create_dir_all(place.path("root")).unwrap();
    let quiet = Duration::from_millis(200);
    let (_, watcher, changes) = watch(&place, quiet);
    #[expect(
        clippy::disallowed_methods,
        reason = "how long it takes decides how many snapshots there may be"
    )]
    let began = std::time::Instant::now();
    for number in 0..1000 {
        match number % 4 {
            0 | 1 => drop(place.skill(&format!("root/group{}/s{number}", number % 7), "Use.")),
            2 => drop(place.skill(&format!("root/group{}/s{}", (number - 2) % 7, number - 2), "Use again.")),
            _ => {
                fs::remove_dir_all(place.path(&format!("root/group{}/s{}", (number - 2) % 7, number - 2)))
                    .unwrap();
            }
        }
    }
    let cold = text(&scan(vec![place.root("root", Tier::User)]));
    let mut snapshots = 0;
    loop {
        let change = changes.recv_timeout(PATIENCE).unwrap();
        snapshots += 1;
        if text(&change.catalog) == cold {
            break;
        }
    }
    // Each comes after a while of quiet, however long a busy machine takes for all of it.
    let most = began.elapsed().div_duration_f64(quiet) + 1.0;
    assert!(f64::from(snapshots) <= most, "{snapshots} snapshots, and there was quiet for {most}");
    // The scanner that watched knows the same.
    let mut scanner = watcher.stop().unwrap();
    assert_eq!(text(&scanner.scan(now())), cold);
}

#[test]
fn a_root_that_appears_and_a_link_s_target_are_watched_too() {
    let place = Place::new();
    place.skill("elsewhere/linked", "Use before.");
    let (first, _watcher, changes) = watch(&place, Duration::ZERO);
    assert_eq!(names(&first).len(), 0);
    place.link("root/linked", place.path("elsewhere/linked"));
    let until = |description: &str| loop {
        let change = changes.recv_timeout(PATIENCE).unwrap();
        if change.catalog.by_name("linked").is_some_and(|entry| entry.description() == description) {
            break;
        }
    };
    until("Use before.");
    place.skill("elsewhere/linked", "Use after.");
    until("Use after.");
}
