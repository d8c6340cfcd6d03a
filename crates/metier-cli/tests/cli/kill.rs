//! Processes killed while they write the index.

use std::process::Stdio;
use std::time::Duration;

use crate::support::Place;

/// `kill -9` this many times.
const KILLS: u32 = 100;
/// Each start that ended before it was killed is followed by one that is killed sooner; more than these mean that nothing can be killed.
const STARTS: u32 = 20 * KILLS;

#[test]
fn whatever_is_killed_the_next_start_is_right() {
    let place = Place::new();
    for number in 0..400 {
        place.skill(&format!("skills/s{number}"), "Use when there is something to do.");
    }
    let args = ["list", "--json", "--root", "skills"];
    let cold = || place.json_at_home(&["list", "--json", "--no-index", "--root", "skills"]);
    let truth = cold();
    #[expect(clippy::disallowed_methods, reason = "how long a whole run takes decides when to kill")]
    let began = std::time::Instant::now();
    assert_eq!(place.json_at_home(&args), truth);
    let mut whole = began.elapsed();
    let (mut killed, mut started) = (0, 0);
    while killed < KILLS && started < STARTS {
        started += 1;
        // Something to write each time.
        place.skill(&format!("skills/s{}", started % 400), "Use when there is something to do.");
        let mut child = place.at_home(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Spread over the whole run; a child that has ended by then is no kill.
        std::thread::sleep(whole * (killed % 50) / 50 + Duration::from_micros(u64::from(started) * 7 % 300));
        let is_running = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        if is_running {
            killed += 1;
        } else {
            // The machine was busy when the first was measured, and is not any more.
            whole = whole * 19 / 20;
        }
        if is_running && killed % 10 == 9 {
            assert_eq!(place.json_at_home(&args), cold(), "after {killed} kills");
        }
    }
    assert_eq!(killed, KILLS, "of {started} starts");
    assert_eq!(place.json_at_home(&args), cold());
}
