//! One open directory, read by several at once.

use std::fs;
use std::thread;

use metier_skill::{Folder, Limits};

#[test]
fn several_who_read_one_folder_at_once_read_all_of_it() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("SKILL.md"), "text").unwrap();
    for number in 0..500 {
        fs::write(place.path().join(format!("{number}")), "x").unwrap();
    }
    let folder = Folder::open(place.path()).unwrap();
    let limits = Limits::default();
    let whole = folder.capture(&limits, |_, _| Ok(())).unwrap().manifest.digest();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let found = folder.capture(&limits, |_, _| Ok(())).unwrap().manifest;
                    assert_eq!((found.files().len(), found.digest()), (501, whole));
                }
            });
        }
    });
}
