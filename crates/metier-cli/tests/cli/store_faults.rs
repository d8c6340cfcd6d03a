//! Installing, updating and removing that is killed, has no room, or is done by many at once: what is installed is what was or what
//! was to be, and never anything between.
//!
//! `scripts/store` does the same more often: `METIER_STORE_KILLS`, `METIER_STORE_FULL`, `METIER_STORE_SECONDS`.

#![expect(
    clippy::disallowed_methods,
    reason = "how long a run takes decides when to kill, and when it is enough"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use metier_skill::Digest;
use serde_json::{Value, json};

use crate::small_disk::in_small_file_system;
use crate::store_server::{Kind, serve};
use crate::store_support::{Random, assert_tidy, count, said, set_mode, text};
use crate::support::Place;

const SKILLS: u64 = 12;

/// A place with skills to install, and where they are installed.
struct Ground {
    place: Place,
    data: PathBuf,
    /// The site that the skills are downloaded from; without it, they come from a directory.
    site: Option<String>,
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
        Self::of(data, false)
    }

    fn of(data: Option<&Path>, is_site: bool) -> Self {
        let place = Place::new();
        let data = data.map_or_else(|| place.path().join("data"), Path::to_owned);
        let site = is_site.then(|| serve(&place.path().join("web"), Kind::Files));
        let mut ground = Self { place, data, site, locks: Default::default() };
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
        if self.site.is_some() {
            self.publish();
        }
    }

    /// Writes an archive of each skill, and the index.
    fn publish(&self) {
        let entry = |number: u64| {
            let path = self.place.write(&format!("web/.well-known/agent-skills/s{number}.tar.gz"), "");
            let mut tar = Command::new("tar");
            tar.arg("-czf").arg(&path).arg("-C").arg(self.place.path().join(format!("skills/s{number}")));
            assert!(tar.args(["SKILL.md", "references", "scripts"]).status().unwrap().success());
            let digest = Digest::of(&fs::read(&path).unwrap());
            let (name, url) = (format!("s{number}"), format!("s{number}.tar.gz"));
            json!({ "name": name, "type": "archive", "description": "x", "url": url, "digest": digest })
        };
        let entries: Vec<Value> = (0..SKILLS).map(entry).collect();
        let schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
        let index = json!({ "$schema": schema, "skills": entries }).to_string();
        self.place.write("web/.well-known/agent-skills/index.json", index);
    }

    fn command(&self, args: &[&str]) -> Command {
        let args = args.iter().map(|arg| match &self.site {
            Some(site) if *arg == "skills" => site,
            _ => *arg,
        });
        let mut command = self.place.with_programs(&args.collect::<Vec<_>>());
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
        self.tidy();
        assert_eq!(self.lock(), lock, "tidying changes nothing");
        is_after
    }

    /// The next command, whatever it is, removes what was left.
    #[track_caller]
    fn tidy(&self) {
        let next = self.run(&["remove", "nothing", "--missing-ok"]);
        assert!(next.status.success(), "{}", said(&next));
        assert_tidy(&self.store());
    }

    /// The skills that are not what was installed.
    fn wrong(&self) -> BTreeSet<String> {
        let found: Value = serde_json::from_slice(&self.run(&["verify", "--json"]).stdout).unwrap();
        let skills = found["skills"].as_array().unwrap().iter();
        let is_wrong = |skill: &&Value| !skill["differences"].as_array().unwrap().is_empty();
        skills.filter(is_wrong).map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Everything that is to be installed is new again: there are no objects, and no trees but those that are installed.
    fn forget(&self) {
        let _ = fs::remove_dir_all(self.store().join("objects"));
        let entries =
            |path: PathBuf| fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path());
        let links = entries(self.store().join("current/skills")).flat_map(entries);
        let installed: BTreeSet<PathBuf> =
            links.map(|link| fs::canonicalize(link).unwrap().parent().unwrap().to_owned()).collect();
        let trees = fs::canonicalize(self.store().join("trees")).unwrap();
        for tree in entries(trees).filter(|tree| !installed.contains(tree)) {
            assert!(Command::new("chmod").args(["-R", "u+w"]).arg(&tree).status().unwrap().success());
            fs::remove_dir_all(tree).unwrap();
        }
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

/// Runs commands and kills them: at any moment, or while what is new is put where it stays.
struct Killer {
    random: Random,
    /// How long a command takes.
    whole: BTreeMap<String, Duration>,
    over: u64,
    in_staging: u64,
    in_planting: u64,
}

impl Killer {
    const fn new(seed: u64) -> Self {
        Self { random: Random(seed), whole: BTreeMap::new(), over: 0, in_staging: 0, in_planting: 0 }
    }

    fn kill(&mut self, ground: &Ground, args: &[&str]) {
        ground.forget();
        let current = || fs::read_link(ground.store().join("current")).ok();
        let (before, began) = (current(), Instant::now());
        let mut child = ground.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let part = f64::from(u32::try_from(self.random.below(1_000)).unwrap()) / 1_000.0;
        match self.whole.get(args[0]) {
            // The first of each runs to its end: how long that takes.
            None => {
                child.wait().unwrap();
                self.whole.insert(args[0].to_owned(), began.elapsed());
            }
            Some(whole) if self.random.below(2) == 0 => thread::sleep(whole.mul_f64(part)),
            Some(_) => {
                // There are no objects before that.
                while !ground.store().join("objects").exists() && child.try_wait().unwrap().is_none() {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(20).mul_f64(part));
            }
        }
        self.over += u64::from(child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        let is_left = fs::read_dir(ground.store().join("staging")).into_iter().flatten().count() > 0;
        let is_planted = ground.store().join("objects").exists() && current() == before;
        self.in_staging += u64::from(is_left);
        self.in_planting += u64::from(is_left && is_planted);
    }
}

#[test]
fn whoever_is_killed_leaves_what_was_or_what_was_to_be() {
    kill_often(&Ground::new(None), 25);
}

#[test]
fn whoever_is_killed_while_downloading_leaves_what_was_or_what_was_to_be() {
    kill_often(&Ground::of(None, true), 12);
}

#[expect(clippy::print_stdout, reason = "how often it happened is for people to read")]
fn kill_often(ground: &Ground, usual: u64) {
    let mut killer = Killer::new(17);
    let (mut before, mut after) = (0, 0);
    for round in 0..count("METIER_STORE_KILLS", usual) {
        let (args, from, to) = STEPS[usize::try_from(round % 3).unwrap()];
        ground.upstream(from);
        killer.kill(ground, args);
        if ground.assert_either(from, to) {
            after += 1;
        } else {
            before += 1;
            ground.complete(args, to);
        }
    }
    let Killer { over, in_staging, in_planting, .. } = killer;
    println!(
        "kills: {before} left what was ({in_staging} of all were in the middle, {in_planting} while planting), {after} what was to be; {over} had ended"
    );
    assert!(before > 0 && after > 0 && in_staging > 0 && in_planting > 0);
}

/// Does something to an installed skill.
fn tamper(ground: &Ground, random: &mut Random, name: &str) {
    let skill = fs::canonicalize(ground.store().join("current/skills/third_party").join(name)).unwrap();
    let references = skill.join("references");
    set_mode(&skill, 0o755);
    set_mode(&references, 0o755);
    match random.below(4) {
        0 => {
            set_mode(skill.join("SKILL.md"), 0o644);
            fs::write(skill.join("SKILL.md"), "Changed.\n").unwrap();
        }
        1 => fs::remove_file(references.join("same.md")).unwrap(),
        2 => fs::write(skill.join("more.md"), "More.\n").unwrap(),
        // It can be written to.
        _ => {}
    }
}

#[test]
fn whoever_is_killed_while_putting_right_takes_no_skill_away() {
    let ground = Ground::new(None);
    let (args, from, to) = STEPS[0];
    ground.upstream(from);
    ground.complete(args, to);
    let (mut killer, mut random) = (Killer::new(19), Random(29));
    let (mut wrong_before, mut right_after) = (0, 0);
    for _ in 0..count("METIER_STORE_KILLS", 25) {
        for number in 0..SKILLS {
            if random.below(3) > 0 {
                tamper(&ground, &mut random, &format!("s{number}"));
            }
        }
        let changed = ground.wrong();
        killer.kill(&ground, args);
        assert_eq!(ground.lock(), ground.locks[to]);
        assert_eq!(ground.visible(), usize::try_from(SKILLS).unwrap(), "one is gone");
        let wrong = ground.wrong();
        assert!(wrong.is_subset(&changed), "{wrong:?}, and only {changed:?} were wrong");
        wrong_before += changed.len();
        right_after += changed.len() - wrong.len();
        ground.tidy();
        ground.complete(args, to);
    }
    let Killer { over, in_staging, in_planting, .. } = killer;
    println!(
        "kills: {right_after} of {wrong_before} skills were right again ({in_staging} of all were in the middle, {in_planting} while planting); {over} had ended"
    );
    assert!(right_after > 0 && right_after < wrong_before && in_planting > 0);
}

#[test]
fn a_full_disk_leaves_what_was_or_what_was_to_be() {
    let test = "store_faults::a_full_disk_leaves_what_was_or_what_was_to_be";
    let Some(small) = in_small_file_system(test, 8) else { return };
    fill_often(&small, &Ground::new(Some(&small)), 8);
}

#[test]
fn a_full_disk_while_downloading_leaves_what_was_or_what_was_to_be() {
    let test = "store_faults::a_full_disk_while_downloading_leaves_what_was_or_what_was_to_be";
    let Some(small) = in_small_file_system(test, 8) else { return };
    fill_often(&small, &Ground::of(Some(&small), true), 4);
}

#[expect(clippy::print_stdout, reason = "how often it happened is for people to read")]
fn fill_often(small: &Path, ground: &Ground, usual: u64) {
    let mut random = Random(23);
    let (mut failed, mut done) = (0, 0);
    let wanted = count("METIER_STORE_FULL", usual);
    // So many times it got full; where there was room enough after all does not count.
    for round in 0.. {
        if failed == wanted && done > 0 {
            break;
        }
        assert!(round < 10 * wanted, "{failed} of {round} got full");
        let (args, from, to) = STEPS[usize::try_from(round % 3).unwrap()];
        ground.upstream(from);
        // Everything is new, and needs room.
        ground.forget();
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
    println!("full disks: {failed}, and {done} that had enough room");
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
