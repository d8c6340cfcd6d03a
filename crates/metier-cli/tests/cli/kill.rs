//! Processes killed while they write the index.

use std::process::Stdio;
use std::time::Duration;

use crate::support::Place;

/// `kill -9` this many times.
const KILLS: u32 = 200;

#[test]
fn whatever_is_killed_the_next_start_is_right() {
    let place = Place::new();
    for number in 0..400 {
        place.skill(&format!("skills/s{number}"), "Use when there is something to do.");
    }
    let args = ["list", "--json", "--root", "skills"];
    let cold = place.json_at_home(&["list", "--json", "--no-index", "--root", "skills"]);
    #[expect(clippy::disallowed_methods, reason = "how long a whole run takes decides when to kill")]
    let began = std::time::Instant::now();
    assert_eq!(place.json_at_home(&args), cold);
    let mut whole = began.elapsed();
    let mut killed = 0;
    for round in 0..KILLS {
        // Something to write each time.
        place.skill(&format!("skills/s{}", round % 400), "Use when there is something to do.");
        let mut child = place.at_home(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Spread over the whole run; a child that has ended by then is no kill.
        std::thread::sleep(whole * (round % 50) / 50 + Duration::from_micros(u64::from(round) * 7 % 300));
        match child.try_wait().unwrap() {
            None => killed += 1,
            // The machine was busy when the first was measured, and is not any more.
            Some(_) => whole = whole * 19 / 20,
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if round % 10 == 9 {
            assert_eq!(place.json_at_home(&args), cold, "after {killed} kills");
        }
    }
    assert!(killed > KILLS / 4, "only {killed} were still running");
    assert_eq!(place.json_at_home(&args), cold);
}
