//! Installing, updating and removing that is killed, has no room, or is done by many at once: what is installed is what was or what
//! was to be, and never anything between.
//!
//! `scripts/store` does the same more often: `METIER_STORE_KILLS`, `METIER_STORE_FULL`, `METIER_STORE_SECONDS`.

#![expect(
    clippy::disallowed_methods,
    reason = "how long a run takes decides when to kill, and when it is enough"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::small_disk::in_small_file_system;
use crate::store_support::{Random, assert_tidy, count, said, text};
use crate::support::Place;

const SKILLS: u64 = 12;

/// A place with skills to install, and where they are installed.
struct Ground {
    place: Place,
    data: PathBuf,
    /// The lock with nothing in it, that of the first version and that of the second.
    locks: [String; 3],
}

/// What is done, from which state to which.
const STEPS: [(&[&str], usize, usize); 3] = [
    (&["install", "skills", "--all"], 0, 1),
    (&["update", "--yes"], 1, 2),
    (&["remove", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11"], 2, 0),
];

impl Ground {
    fn new(data: Option<&Path>) -> Self {
        let place = Place::new();
        let data = data.map_or_else(|| place.path().join("data"), Path::to_owned);
        let mut ground = Self { place, data, locks: Default::default() };
        for (args, from, to) in STEPS {
            ground.upstream(from);
            let output = ground.run(args);
            assert!(output.status.success(), "{}", said(&output));
            ground.locks[to] = ground.lock();
        }
        assert_eq!(ground.locks[1].matches("[[skill]]").count(), 12);
        assert_ne!(ground.locks[1], ground.locks[2]);
        ground
    }

    /// What the skills are where they come from, while this is installed.
    fn upstream(&self, installed: usize) {
        let version = if installed == 0 { "1.0.0" } else { "2.0.0" };
        for number in 0..SKILLS {
            self.place.versioned(&format!("skills/s{number}"), version);
            // One changes with the version, one never.
            let body = |text: &str| text.repeat(300 * usize::try_from(number).unwrap());
            self.place.write(&format!("skills/s{number}/references/long.md"), body(version));
            self.place.write(&format!("skills/s{number}/references/same.md"), body("same "));
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.place.with_programs(args);
        command.env("XDG_DATA_HOME", &self.data);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn store(&self) -> PathBuf {
        self.data.join("metier/store")
    }

    fn lock(&self) -> String {
        let output = self.run(&["lock"]);
        assert!(output.status.success(), "{}", said(&output));
        text(&output.stdout)
    }

    /// What somebody who reads the directories sees.
    fn visible(&self) -> usize {
        let skills = fs::read_dir(self.store().join("current/skills/third_party")).into_iter().flatten();
        let is_there = |path: PathBuf| path.join("references/guide.md").is_file();
        skills.filter(|entry| is_there(entry.as_ref().unwrap().path())).count()
    }

    /// It is one of these two states; the next command tidies up; all is as it was installed. Whether it is the second one.
    #[track_caller]
    fn assert_either(&self, from: usize, to: usize) -> bool {
        let lock = self.lock();
        let is_after = lock == self.locks[to];
        assert!(is_after || lock == self.locks[from], "neither {from} nor {to}: {lock}");
        assert_eq!(self.visible(), lock.matches("[[skill]]").count());
        let verified = self.run(&["verify"]);
        assert!(verified.status.success(), "{}", said(&verified));
        let next = self.run(&["remove", "nothing", "--missing-ok"]);
        assert!(next.status.success(), "{}", said(&next));
        assert_tidy(&self.store());
        assert_eq!(self.lock(), lock, "tidying changes nothing");
        is_after
    }

    /// Does it again to the end.
    #[track_caller]
    fn complete(&self, args: &[&str], to: usize) {
        let output = self.run(args);
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(self.lock(), self.locks[to]);
        let verified = self.run(&["verify"]);
        assert!(verified.status.success(), "{}", said(&verified));
    }
}

#[test]
fn whoever_is_killed_leaves_what_was_or_what_was_to_be() {
    let ground = Ground::new(None);
    let mut random = Random(17);
    let mut whole = [Duration::ZERO; 3];
    let (mut before, mut after, mut in_the_middle, mut over) = (0, 0, 0, 0);
    for round in 0..count("METIER_STORE_KILLS", 25) {
        let step = usize::try_from(round % 3).unwrap();
        let (args, from, to) = STEPS[step];
        ground.upstream(from);
        let began = Instant::now();
        let mut child = ground.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if whole[step].is_zero() {
            // The first of each runs to its end: how long that takes.
            child.wait().unwrap();
            whole[step] = began.elapsed();
        } else {
            thread::sleep(
                whole[step].mul_f64(f64::from(u32::try_from(random.below(1_000)).unwrap()) / 1_000.0),
            );
        }
        over += u64::from(child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        let left = fs::read_dir(ground.store().join("staging")).into_iter().flatten().count();
        in_the_middle += u64::from(left > 0);
        if ground.assert_either(from, to) {
            after += 1;
        } else {
            before += 1;
            ground.complete(args, to);
        }
    }
    println!(
        "kills: {before} left what was ({in_the_middle} of all were in the middle), {after} what was to be; {over} had ended"
    );
    assert!(before > 0 && after > 0 && in_the_middle > 0);
}

#[test]
fn a_full_disk_leaves_what_was_or_what_was_to_be() {
    let test = "store_faults::a_full_disk_leaves_what_was_or_what_was_to_be";
    let Some(small) = in_small_file_system(test, 8) else { return };
    let ground = Ground::new(Some(&small));
    let mut random = Random(23);
    let (mut failed, mut done) = (0, 0);
    for round in 0..count("METIER_STORE_FULL", 15) {
        let (args, from, to) = STEPS[usize::try_from(round % 3).unwrap()];
        ground.upstream(from);
        // Everything is new again, and needs room.
        let _ = fs::remove_dir_all(small.join("metier/store/objects"));
        if from == 0 {
            remove_trees(&ground.store());
        }
        let room = if step_needs_little(args) { random.below(40_000) } else { random.below(600_000) };
        fill(&small.join("ballast"), room);
        let output = ground.run(args);
        fs::remove_file(small.join("ballast")).unwrap();
        if output.status.success() {
            done += 1;
        } else {
            assert_eq!(output.status.code(), Some(5), "{}", said(&output));
            assert!(text(&output.stderr).contains("No space left"), "{}", said(&output));
            failed += 1;
        }
        let is_after = ground.assert_either(from, to);
        assert!(is_after || !output.status.success(), "{}", said(&output));
        if !is_after {
            ground.complete(args, to);
        }
    }
    println!("full disks: {failed} failed, {done} had enough room");
    assert!(failed > 0 && done > 0, "{failed} {done}");
}

fn step_needs_little(args: &[&str]) -> bool {
    args[0] == "remove"
}

/// Takes all but so many bytes.
fn fill(path: &Path, room: u64) {
    let free =
        Command::new("df").args(["--output=avail", "-B1"]).arg(path.parent().unwrap()).output().unwrap();
    let free: u64 = text(&free.stdout).lines().nth(1).unwrap().trim().parse().unwrap();
    fs::write(path, vec![1; usize::try_from(free.saturating_sub(room)).unwrap()]).unwrap();
}

fn remove_trees(store: &Path) {
    let trees = store.join("trees");
    assert!(Command::new("chmod").args(["-R", "u+w"]).arg(&trees).status().unwrap().success());
    fs::remove_dir_all(trees).unwrap();
}

/// What one of many does, over and over.
fn busy(ground: &Ground, seed: u64, until: Instant, done: &AtomicU64, waited: &AtomicU64) {
    let mut random = Random(seed);
    while Instant::now() < until {
        let (one, other) = (format!("s{}", random.below(4)), format!("s{}", random.below(4)));
        let output = match random.below(8) {
            0..4 => ground.run(&["install", "skills", "--skill", &one, "--skill", &other]),
            4..7 => ground.run(&["remove", &one, &other, "--missing-ok"]),
            _ => ground.run(&["verify"]),
        };
        let is_locked = text(&output.stderr).contains("another process holds");
        assert!(output.status.success() || is_locked, "{}", said(&output));
        if is_locked { waited } else { done }.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn ten_at_once() {
    let ground = Ground::new(None);
    let until = Instant::now() + Duration::from_secs(count("METIER_STORE_SECONDS", 3));
    let (done, waited) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for number in 0..10 {
            let (ground, done, waited) = (&ground, &done, &waited);
            scope.spawn(move || busy(ground, 31 + number, until, done, waited));
        }
    });
    let verified = ground.run(&["verify"]);
    assert!(verified.status.success(), "{}", said(&verified));
    assert_eq!(ground.visible(), ground.lock().matches("[[skill]]").count());
    assert!(ground.run(&["remove", "nothing", "--missing-ok"]).status.success());
    assert_tidy(&ground.store());
    println!("ten at once: {} done, {} found it locked", done.into_inner(), waited.into_inner());
}
