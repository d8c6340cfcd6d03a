//! A path that is swapped while a script is launched leads nowhere: the script runs where it should, or not at all.
//!
//! Somebody exchanges the work directory, the skill, what is above or in them with something of theirs, as fast as
//! they can, while scripts are launched there; `METIER_LAUNCHES` says how many, for each of the two modes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stdout, reason = "the report is for people")]

mod common;
#[path = "missing/filter.rs"]
mod filter;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use metier_sandbox::{Executor, Job, Outcome, Place, Profile, Protection, SandboxError, Strictness};
use metier_skill::Tier;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use tempfile::TempDir;

use crate::filter::{Lacking, Only};

const SECRET: &str = "the secret that is outside";
const ORIGINAL: &str = "this is the right directory";

/// What is exchanged, and with what.
struct Swap {
    what: &'static str,
    with: With,
}

enum With {
    /// A link to this.
    Link(&'static str),
    /// This itself.
    Directory(&'static str),
}

const SWAPS: [Swap; 8] = [
    Swap { what: "parent/work", with: With::Link("outside/work") },
    Swap { what: "parent/work", with: With::Directory("outside/work") },
    Swap { what: "parent", with: With::Link("outside") },
    Swap { what: "parent", with: With::Directory("outside") },
    Swap { what: "parent/skill", with: With::Link("outside/skill") },
    Swap { what: "parent/skill", with: With::Directory("outside/skill") },
    Swap { what: "parent/work/.git", with: With::Link("outside/work/.git") },
    Swap { what: "parent/work/.git/hooks", with: With::Link("outside/work/.git/hooks") },
];

/// Reads and writes wherever something of the outside may be. Its name is the number of the launch.
const SCRIPT: &str = r#"
cat original
for place in . "$METIER_SKILL_DIR" .git .git/hooks; do
  cat "$place/secret"
  echo changed > "$place/mark-$0"
  echo changed > "$place/victim"
done
"#;

/// The right directories and those of the outside, with a handle on each, wherever it may be by now.
struct Ground {
    base: TempDir,
    original: OwnedFd,
    skill: OwnedFd,
    outside: OwnedFd,
}

impl Ground {
    fn new() -> Self {
        let base = common::work();
        for top in ["parent", "outside"] {
            for directory in ["work", "work/.git", "work/.git/hooks", "skill"] {
                let directory = base.path().join(top).join(directory);
                fs::create_dir_all(&directory).unwrap();
                fs::write(directory.join("victim"), "untouched").unwrap();
                if top == "outside" {
                    fs::write(directory.join("secret"), SECRET).unwrap();
                }
            }
        }
        fs::write(base.path().join("parent/work/original"), ORIGINAL).unwrap();
        let open = |path: &str| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(base.path().join(path), flags, Mode::empty()).unwrap()
        };
        let (original, skill, outside) = (open("parent/work"), open("parent/skill"), open("outside"));
        Self { base, original, skill, outside }
    }

    fn profile(&self, strictness: Strictness) -> Profile {
        let pin = |path: &str| Place::pin(self.base.path().join("parent").join(path)).unwrap();
        let mut profile = Profile::new(Tier::ThirdParty, pin("work"));
        profile.add_skill(pin("skill"));
        profile.strictness = strictness;
        profile
    }
}

/// Every file below a directory, with its contents; a link is not followed.
fn contents(directory: &OwnedFd) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let top = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    let mut directories = vec![top.clone()];
    while let Some(next) = directories.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            }
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            found.insert(entry.path().strip_prefix(&top).unwrap().to_owned(), text);
        }
    }
    found
}

/// Exchanges two paths until it is stopped; leaves them as they were.
fn keep_swapping(one: &Path, other: &Path, stop: &AtomicBool) -> u64 {
    let exchange = || rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) || count % 2 == 1 {
        exchange();
        count += 1;
    }
    count
}

/// How launches ended.
#[derive(Debug, Default)]
struct Tally {
    ran: usize,
    refused: usize,
    escapes: Vec<String>,
}

/// Launches some scripts while one thing is swapped.
fn launch(
    swap: &Swap,
    launches: usize,
    strictness: Strictness,
    around: &(impl Around + Sync),
    tally: &mut Tally,
) {
    let ground = Ground::new();
    let base = ground.base.path();
    let other = match swap.with {
        With::Directory(path) => base.join(path),
        With::Link(path) => {
            let link = base.join(swap.what).with_file_name("other");
            symlink(base.join(path), &link).unwrap();
            link
        }
    };
    let profile = ground.profile(strictness);
    let before = [&ground.original, &ground.skill, &ground.outside].map(contents);
    let stop = AtomicBool::new(false);
    let results: Vec<_> = std::thread::scope(|scope| {
        let swapper = scope.spawn(|| keep_swapping(&base.join(swap.what), &other, &stop));
        let one = |number: usize| {
            let arguments = ["-c", SCRIPT, &number.to_string()].map(OsString::from).to_vec();
            let job = Job::new(profile.clone(), "/bin/sh", arguments);
            around.run(&job)
        };
        let results = (0..launches).map(one).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(swapper.join().unwrap() > 100, "nothing was swapped");
        results
    });
    let after = [&ground.original, &ground.skill, &ground.outside].map(contents);
    let escaped = |what: String| format!("{} for {:?}: {what}", swap.what, other.strip_prefix(base).unwrap());
    for (number, result) in results.iter().enumerate() {
        match result {
            Ok(outcome) => {
                tally.ran += 1;
                let output = String::from_utf8_lossy(&outcome.output.bytes);
                let is_right = output.contains(ORIGINAL) && !output.contains(SECRET);
                let is_marked = after[0].contains_key(Path::new(&format!("mark-{number}")));
                if !is_right || !is_marked {
                    tally.escapes.push(escaped(format!("it ran elsewhere: {outcome:?}")));
                }
            }
            Err(
                SandboxError::Swapped { .. } | SandboxError::Path { .. } | SandboxError::ProtectedLink { .. },
            ) => tally.refused += 1,
            Err(error) => panic!("{}", escaped(format!("refused for another reason: {error:?}"))),
        }
    }
    let mut work = after[0].clone();
    // What a script may change is only in the work directory itself, and in `.git` where that is not protected.
    work.retain(|path, _| !path.file_name().unwrap().to_string_lossy().starts_with("mark-"));
    for (path, text) in &mut work {
        let is_allowed = strictness == Strictness::Core || path.parent() != Some(Path::new(".git/hooks"));
        if let (true, true, Some(then)) = (is_allowed, path.ends_with("victim"), before[0].get(path)) {
            text.clone_from(then);
        }
    }
    for (now, then) in [(&work, &before[0]), (&after[1], &before[1]), (&after[2], &before[2])] {
        if now != then {
            tally.escapes.push(escaped(format!("{now:#?} was {then:#?}")));
        }
    }
}

/// How a job is run.
trait Around {
    fn run(&self, job: &Job) -> Result<Outcome, SandboxError>;
}

impl<F: Fn(&Job) -> Result<Outcome, SandboxError>> Around for F {
    fn run(&self, job: &Job) -> Result<Outcome, SandboxError> {
        self(job)
    }
}

fn launch_all(name: &str, strictness: Strictness, run: &(impl Around + Sync)) {
    #[expect(clippy::disallowed_methods, reason = "a person asks for more launches by a variable")]
    let launches: usize = std::env::var("METIER_LAUNCHES").map_or(60, |text| text.parse().unwrap());
    let mut tally = Tally::default();
    for (index, swap) in SWAPS.iter().enumerate() {
        // As many for each, and the rest for the first ones.
        let share = launches / SWAPS.len() + usize::from(index < launches % SWAPS.len());
        launch(swap, share, strictness, run, &mut tally);
    }
    println!(
        "swapping, {name}: {launches} launches, {} ran, {} refused, {} escapes",
        tally.ran,
        tally.refused,
        tally.escapes.len()
    );
    assert!(tally.escapes.is_empty(), "{}", tally.escapes.join("\n"));
    assert!(tally.refused > launches / 20, "the swapper hardly ever came in time");
    assert!(tally.ran > 0, "nothing ran, so that nothing is known");
}

#[test]
fn nothing_escapes_by_swapping() {
    launch_all("every protection", Strictness::Every, &|job: &Job| common::local().run(job, &mut ()));
}

#[test]
fn nothing_escapes_by_swapping_without_namespaces() {
    let lacking = Lacking::new(libc::SYS_unshare, Only::Bit(0, libc::CLONE_NEWNS), libc::EPERM);
    launch_all("without namespaces", Strictness::Core, &|job: &Job| {
        let result = lacking.during(|| common::local().run(job, &mut ()));
        assert!(!result.as_ref().is_ok_and(|outcome| outcome.protections.has(Protection::MountNamespace)));
        result
    });
}

#[test]
fn as_an_ordinary_user() {
    common::again_as_ordinary_user();
}
