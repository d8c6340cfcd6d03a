//! Another process exchanges things in a skill as fast as it can, while this one activates it, reads it and runs its scripts;
//! `METIER_RACES` says how often in all, `METIER_RACED_RUNS` how many scripts.
//!
//! Whatever is handed out or run has the digest that is recorded, and never is what lies outside.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use metier_journal::{Durability, Journal, JournalOptions, RecordQuery};
use metier_session::{Recording, Session, SessionError, replay};
use metier_skill::{Coded as _, Digest, Tier};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::common::{Ground, asked};
use crate::paths::SECRET;

/// How many tests share the rounds.
const KINDS: usize = 9;

/// How this process does its harm.
const EXCHANGE: &str = "exchange";
const REWRITE: &str = "rewrite";
const REPLACE: &str = "replace";

/// Another process that exchanges two things, writes one file's content over the other's, or replaces a file by ever new ones, until
/// this is dropped.
struct Swapper {
    child: Child,
    input: Option<ChildStdin>,
}

impl Swapper {
    fn start(how: &str, one: &Path, other: &Path) -> Self {
        let what = format!("{how}\n{}\n{}", one.display(), other.display());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "races::swapper", "--ignored", "--nocapture"])
            .env("METIER_SWAPPER", what)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Not before it has begun, which can take a while on a loaded machine.
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("it has begun")), "it has not begun");
        let input = child.stdin.take();
        Self { child, input }
    }

    /// How often it has.
    fn stop(mut self) -> usize {
        drop(self.input.take());
        let mut said = String::new();
        self.child.stdout.as_mut().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
        let count = said.lines().find_map(|line| line.split_once("swaps: ")).unwrap().1;
        count.parse().unwrap()
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test by itself: the other process. It ends when its input does, so also with whoever started it.
#[test]
#[ignore = "started by other tests"]
fn swapper() {
    let Some(what) = asked("METIER_SWAPPER") else { return };
    let [how, one, other] = what.split('\n').collect::<Vec<_>>()[..] else { return };
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stopped.store(true, Ordering::Relaxed);
    });
    let contents = (how == REWRITE).then(|| [one, other].map(|path| fs::read(path).unwrap()));
    let (mut count, mut pause) = (0_usize, 1_u32);
    // Leaves everything as it was.
    while !stop.load(Ordering::Relaxed) || count % 2 == 1 {
        match &contents {
            None if how == REPLACE => {
                fs::write(other, format!("version {count}")).unwrap();
                fs::rename(other, one).unwrap();
            }
            None => renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap(),
            Some(contents) => fs::write(one, &contents[1 - count % 2]).unwrap(),
        }
        count += 1;
        if count == 2 {
            println!("\nit has begun");
        }
        // Sometimes at once, sometimes later, so that it comes between any two steps of the other.
        pause = pause.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        for _ in 0..(pause >> 16) % (1 << ((pause >> 24) % 9)) {
            std::hint::spin_loop();
        }
    }
    println!("\nswaps: {count}");
}

/// A skill, what lies outside, and what came of it so far.
struct Race {
    ground: Ground,
    journal: Arc<Journal>,
    session: Session,
    seen: BTreeMap<&'static str, usize>,
    activations: u64,
    reads: u64,
}

const BODY: &str = "Fill in forms.\n";
const GUIDE: &str = "# Guide\n";

fn skill_md(body: &str) -> String {
    format!("---\nname: pdf\ndescription: Use when testing pdf.\n---\n{body}")
}

impl Race {
    fn new() -> Self {
        let ground = Ground::new();
        ground.write("skills/pdf/SKILL.md", &skill_md(BODY));
        ground.write("skills/pdf/references/guide.md", GUIDE);
        ground.write("skills/pdf/scripts/hello.sh", "echo A\n");
        // Everything there as well, so that whoever follows a link finds what he looks for.
        ground.write("outside/pdf/SKILL.md", &skill_md(SECRET));
        ground.write("outside/pdf/references/guide.md", SECRET);
        ground.write("outside/pdf/scripts/hello.sh", &format!("echo {SECRET}\n"));
        let mut options = JournalOptions::new(Arc::clone(&ground.clock) as _);
        options.durability = Durability::Batched;
        let journal = Arc::new(Journal::open(&ground.journal_place(), options).unwrap());
        let mut session = ground.options_with(Tier::Org, Recording::Journal(Arc::clone(&journal)));
        session.store = Some(ground.store());
        let session = Session::with_id(session, "s1").unwrap();
        Self { ground, journal, session, seen: BTreeMap::new(), activations: 0, reads: 0 }
    }

    fn skill(&self, path: &str) -> PathBuf {
        self.ground.path("skills/pdf").join(path)
    }

    /// A link beside something of the skill to the same thing outside.
    fn link_outside(&self, path: &str) -> PathBuf {
        let link = self.ground.path("link");
        symlink(self.ground.path("outside/pdf").join(path), &link).unwrap();
        link
    }

    /// Counts how something ended, which must be one of the expected ways.
    fn count<T>(&mut self, result: Result<T, SessionError>, refusals: &[&str]) -> Option<T> {
        match result {
            Ok(done) => {
                *self.seen.entry("ok").or_default() += 1;
                Some(done)
            }
            Err(error) => {
                let is_expected = refusals.contains(&error.code()) && !format!("{error:?}").contains(SECRET);
                assert!(is_expected, "refused for another reason: {error:?}");
                *self.seen.entry(error.code()).or_default() += 1;
                None
            }
        }
    }

    /// Activates the skill, and says what was activated: the body, the digests and the list of files agree.
    fn activate(&mut self, refusals: &[&str]) -> Option<(String, Digest)> {
        let result = self.session.reload("pdf");
        let activation = self.count(result, refusals)?;
        self.activations += 1;
        let held = self.session.active().next().unwrap();
        assert!(!activation.content.contains(SECRET), "{}", activation.content);
        assert_eq!(Digest::of(&held.skill_md), activation.skill_md_digest);
        assert_eq!(held.manifest.get(Path::new("SKILL.md")).unwrap().digest, activation.skill_md_digest);
        assert_eq!(held.manifest.digest(), activation.tree_digest);
        // Nor is it among what the skill is known by, which later reads and copies are compared with.
        let outside =
            [&*skill_md(SECRET), SECRET, &format!("echo {SECRET}\n")].map(|text| Digest::of(text.as_bytes()));
        assert!(held.manifest.files().iter().all(|file| !outside.contains(&file.digest)));
        let text = held.text().into_owned();
        let (_, body) = text.split_once("pdf.\n---\n").unwrap();
        assert!(activation.content.contains(body), "the body is of those very bytes");
        Some((body.to_owned(), activation.tree_digest))
    }

    /// Reads a file: what comes back is what the skill had when it was activated.
    fn read(&mut self, path: &str, refusals: &[&str]) -> Option<Vec<u8>> {
        let result = self.session.read("pdf", path);
        let resource = self.count(result, refusals)?;
        self.reads += 1;
        let held = self.session.active().next().unwrap();
        assert_eq!(Digest::of(&resource.bytes), held.manifest.get(Path::new(path)).unwrap().digest);
        assert_eq!((resource.tree_digest, resource.digest), (held.tree_digest, Digest::of(&resource.bytes)));
        assert!(!resource.encoded().contains(SECRET));
        Some(resource.bytes)
    }

    /// Does something again and again while two things are exchanged; at the end the whole journal is replayed.
    #[expect(clippy::print_stdout, reason = "the counts are for people")]
    fn run(
        mut self,
        name: &str,
        swap: (&str, &Path, &Path),
        rounds: usize,
        mut round: impl FnMut(&mut Self, usize),
    ) {
        self.activate(&[]).unwrap();
        self.seen.clear();
        let swapper = Swapper::start(swap.0, swap.1, swap.2);
        let has_both = |seen: &BTreeMap<_, _>| seen.contains_key("ok") && seen.len() > 1;
        let mut done = 0;
        // On a machine that is busy it may take longer until they have met.
        while done < rounds || (!has_both(&self.seen) && done < rounds * 20) {
            round(&mut self, done);
            done += 1;
        }
        let swaps = swapper.stop();
        println!("races, {name}: {done} rounds, {swaps} swaps, {:?}", self.seen);
        assert!(swaps > 2 && has_both(&self.seen), "{name}: they never met: {:?}", self.seen);
        self.journal.flush().unwrap();
        let found = replay(&mut self.ground.reader(), &self.ground.store(), &RecordQuery::default()).unwrap();
        assert_eq!((found.divergence, found.activations, found.reads), (None, self.activations, self.reads));
    }
}

fn rounds() -> usize {
    asked("METIER_RACES").map_or(20_000, |text| text.parse::<usize>().unwrap()).div_ceil(KINDS)
}

/// What is refused where a file or directory was another than a moment ago.
const MOVED: &[&str] = &["skill-changing", "skill-changed"];

#[test]
fn its_instructions_and_a_link_outside() {
    let race = Race::new();
    let (one, other) = (race.skill("SKILL.md"), race.link_outside("SKILL.md"));
    race.run("SKILL.md and a link", (EXCHANGE, &one, &other), rounds(), |race, round| {
        // Where it is a link when the directory is listed, the skill has none.
        if let Some((body, _)) = race.activate(&["skill-changing", "skill-not-found"]) {
            assert_eq!(body, BODY);
        }
        if round % 4 == 0
            && let Some(bytes) = race.read("SKILL.md", MOVED)
        {
            assert_eq!(bytes, skill_md(BODY).as_bytes());
        }
    });
}

#[test]
fn a_file_and_a_link_outside() {
    let race = Race::new();
    let (one, other) = (race.skill("references/guide.md"), race.link_outside("references/guide.md"));
    race.run("a file and a link", (EXCHANGE, &one, &other), rounds(), |race, round| {
        // Where it was a link when the skill was activated, it is no file of it.
        if let Some(bytes) = race.read("references/guide.md", &["skill-changed", "resource-path"]) {
            assert_eq!(bytes, GUIDE.as_bytes());
        }
        if round % 4 == 0 {
            race.activate(&["skill-changing"]);
        }
    });
}

#[test]
fn a_directory_and_a_link_outside() {
    let race = Race::new();
    let (one, other) = (race.skill("references"), race.link_outside("references"));
    race.run("a directory and a link", (EXCHANGE, &one, &other), rounds(), |race, round| {
        if let Some(bytes) = race.read("references/guide.md", &["skill-changed", "resource-path"]) {
            assert_eq!(bytes, GUIDE.as_bytes());
        }
        if round % 4 == 0 {
            race.activate(&["skill-changing"]);
        }
    });
}

#[test]
fn the_skill_and_a_link_outside() {
    let race = Race::new();
    let (one, other) = (race.skill(""), race.link_outside(""));
    let (one, other) = (one.components().collect::<PathBuf>(), other);
    race.run("the skill and a link", (EXCHANGE, &one, &other), rounds(), |race, round| {
        // A directory on the way that is a link is said to be none.
        if let Some((body, _)) = race.activate(&["skill-io"]) {
            assert_eq!(body, BODY);
        }
        if round % 4 == 0
            && let Some(bytes) = race.read("references/guide.md", &["skill-io"])
        {
            assert_eq!(bytes, GUIDE.as_bytes());
        }
    });
}

/// Both are the skill's. One may be run and the other not, so that the run bit of one with the bytes of the other would be seen.
#[test]
fn two_instructions() {
    let race = Race::new();
    let (one, other) = (race.skill("SKILL.md"), race.ground.path("other.md"));
    let trees = two_versions(&race, "SKILL.md", &other, &skill_md("Other forms.\n"));
    race.run("two versions of SKILL.md", (EXCHANGE, &one, &other), rounds(), |race, round| {
        if let Some((body, tree)) = race.activate(&["skill-changing"]) {
            let expected = if body == BODY { trees[0] } else { trees[1] };
            assert_eq!(tree, expected, "{body}: the run bit is that of the bytes");
        }
        if round % 2 == 0 {
            race.read("SKILL.md", MOVED);
        }
    });
}

/// What is read through one handle is one version, whichever directory has the name by now.
#[test]
fn two_versions_of_the_skill() {
    let race = Race::new();
    for (path, text) in [("SKILL.md", &*skill_md("Other.\n")), ("references/guide.md", "# Other\n")] {
        race.ground.write(&format!("other/{path}"), text);
    }
    let (one, other) = (race.ground.path("skills/pdf"), race.ground.path("other"));
    let trees = [&one, &other].map(|path| tree_of(path));
    race.run("two versions of the skill", (EXCHANGE, &one, &other), rounds(), |race, round| {
        if let Some((body, tree)) = race.activate(&[]) {
            assert_eq!(tree, trees[usize::from(body != BODY)], "never a mixture");
        }
        if round % 2 == 0 {
            race.read("references/guide.md", &["skill-changed"]);
        }
    });
}

/// Written over in place, so that some of the bytes that are read may be of one version and some of the other.
#[test]
fn instructions_that_are_rewritten() {
    let race = Race::new();
    let versions = ["A", "B"].map(|letter| skill_md(&letter.repeat(40_000)));
    race.ground.write("skills/pdf/SKILL.md", &versions[0]);
    race.ground.write("other.md", &versions[1]);
    let (one, other) = (race.skill("SKILL.md"), race.ground.path("other.md"));
    // Cut off, it is no skill at all.
    let refusals = ["skill-changing", "skill-invalid"];
    race.run("SKILL.md rewritten", (REWRITE, &one, &other), rounds(), |race, round| {
        race.activate(&refusals);
        if round % 4 == 0 {
            race.read("SKILL.md", &["skill-changed"]);
        }
    });
}

#[test]
fn a_file_that_is_rewritten() {
    let race = Race::new();
    race.ground.write("skills/pdf/references/guide.md", &"A".repeat(40_000));
    race.ground.write("other.md", &"B".repeat(50_000));
    let (one, other) = (race.skill("references/guide.md"), race.ground.path("other.md"));
    race.run("a file rewritten", (REWRITE, &one, &other), rounds(), |race, round| {
        race.read("references/guide.md", &["skill-changed"]);
        if round % 8 == 0 {
            race.activate(&["skill-changing"]);
        }
    });
}

/// Never the same twice, so that what is kept is not there already: it is read once more for that, and may be another by then.
#[test]
fn a_file_that_is_always_new() {
    let race = Race::new();
    let (one, other) = (race.skill("references/guide.md"), race.ground.path("other.md"));
    race.run("a file always new", (REPLACE, &one, &other), rounds(), |race, round| {
        race.activate(&["skill-changing"]);
        if round % 4 == 0 {
            race.read("references/guide.md", &["skill-changed"]);
        }
    });
}

/// What a script prints tells which one it was.
#[test]
fn a_script_and_another() {
    let race = Race::new();
    let (one, other) = (race.skill("scripts/hello.sh"), race.ground.path("other.sh"));
    let trees = two_versions(&race, "scripts/hello.sh", &other, "echo B\n");
    let runs = asked("METIER_RACED_RUNS").map_or(60, |text| text.parse().unwrap());
    let mut printed = BTreeMap::<String, usize>::new();
    race.run("two scripts", (EXCHANGE, &one, &other), runs, |race, round| {
        // So that what is run is now one of them and now the other.
        if round % 2 == 0 {
            let _ = race.session.reload("pdf").is_ok_and(|_| {
                race.activations += 1;
                true
            });
        }
        let call = race.ground.call("pdf", "scripts/hello.sh");
        let result = race.session.run_script(call, &mut ());
        if let Some(report) = race.count(result, MOVED) {
            let output = String::from_utf8(report.run.stdout.bytes).unwrap();
            let ran = format!("echo {output}");
            assert_eq!(report.script_digest, Digest::of(ran.as_bytes()), "{output}");
            assert_eq!(report.tree_digest, trees[usize::from(output == "B\n")], "{output}");
            *printed.entry(output).or_default() += 1;
        }
    });
    println!("races, two scripts: printed {printed:?}");
}

/// Another version of a file, which may be run where the first may not; the digests of the skill with each.
fn two_versions(race: &Race, path: &str, other: &Path, text: &str) -> [Digest; 2] {
    let first = race.ground.path("skills/pdf");
    fs::write(other, text).unwrap();
    fs::set_permissions(other, fs::Permissions::from_mode(0o755)).unwrap();
    let exchange = || renameat_with(CWD, first.join(path), CWD, other, RenameFlags::EXCHANGE).unwrap();
    let one = tree_of(&first);
    exchange();
    let two = tree_of(&first);
    exchange();
    assert_ne!(one, two);
    [one, two]
}

fn tree_of(path: &Path) -> Digest {
    let limits = metier_skill::Limits::default();
    metier_skill::Folder::open(path).unwrap().capture(&limits, |_, _| Ok(())).unwrap().manifest.digest()
}
