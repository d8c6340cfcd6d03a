//! A path that is swapped before or while a script is launched leads nowhere: the script runs where it should, or not
//! at all.
//!
//! Somebody exchanges the work directory, the skill, what is above or in them with something of theirs, as fast as
//! they can, while scripts are launched there; `METIER_LAUNCHES` says how many, with every protection and without
//! namespaces.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stdout, reason = "the report is for people")]

#[path = "support/common.rs"]
mod common;
#[path = "missing/filter.rs"]
mod filter;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use metier_sandbox::{
    Executor, Job, PinnedPath, Protection, ReservedPaths, RunOutcome, SandboxError, SandboxProfile,
    Strictness, WorkDirectory,
};
use metier_skill::Tier;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use tempfile::TempDir;

use crate::filter::{Lacking, Only};

const SECRET: &str = "the secret that is outside";
const ORIGINAL: &str = "this is the right directory";

/// What is exchanged with something of the outside, and whether a link to that takes its place or that itself.
const SWAPS: [(&str, &str, bool); 8] = [
    ("parent/work", "outside/work", true),
    ("parent/work", "outside/work", false),
    ("parent", "outside", true),
    ("parent", "outside", false),
    ("parent/skill", "outside/skill", true),
    ("parent/skill", "outside/skill", false),
    ("parent/work/.git", "outside/work/.git", true),
    ("parent/work/.git/hooks", "outside/work/.git/hooks", true),
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

/// The right directories and those of the outside, with a handle on each, wherever it may be by now. Everybody may
/// change everything in them, so that nothing but the sandbox keeps a script from it.
struct Ground {
    base: TempDir,
    original: OwnedFd,
    skill: OwnedFd,
    outside: OwnedFd,
}

impl Ground {
    fn new() -> Self {
        let base = common::work();
        let write = |path: PathBuf, text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
        };
        for top in ["parent", "outside"] {
            for directory in ["", "work", "work/.git", "work/.git/hooks", "skill"] {
                let directory = base.path().join(top).join(directory);
                fs::create_dir(&directory).unwrap();
                fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
                write(directory.join("victim"), "untouched");
                if top == "outside" {
                    write(directory.join("secret"), SECRET);
                }
            }
        }
        write(base.path().join("parent/work/original"), ORIGINAL);
        let open = |path: &str| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(base.path().join(path), flags, Mode::empty()).unwrap()
        };
        let (original, skill, outside) = (open("parent/work"), open("parent/skill"), open("outside"));
        Self { base, original, skill, outside }
    }

    fn profile(&self, strictness: Strictness) -> SandboxProfile {
        let parent = self.base.path().join("parent");
        let work = WorkDirectory::open(parent.join("work"), &ReservedPaths::default()).unwrap();
        let mut profile = SandboxProfile::new(Tier::ThirdParty, work);
        profile.add_skill(PinnedPath::pin(parent.join("skill")).unwrap());
        profile.strictness = strictness;
        profile
    }

    /// The two paths to exchange.
    fn swap(&self, (what, with, by_link): (&str, &str, bool)) -> (PathBuf, PathBuf) {
        let (what, with) = (self.base.path().join(what), self.base.path().join(with));
        if !by_link {
            return (what, with);
        }
        let link = what.with_file_name("other");
        symlink(with, &link).unwrap();
        (what, link)
    }

    fn contents(&self) -> [BTreeMap<PathBuf, String>; 3] {
        [&self.original, &self.skill, &self.outside].map(contents)
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

fn exchange((one, other): &(PathBuf, PathBuf)) {
    rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

/// Ends the swapping, also when a test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How launches ended.
#[derive(Debug, Default)]
struct Tally {
    ran: usize,
    refused: usize,
    escapes: Vec<String>,
}

type Run = fn(&Job) -> Result<RunOutcome, SandboxError>;

/// With every protection, and without namespaces.
const MODES: [(&str, Strictness, Run); 2] = [
    ("with every protection", Strictness::Every, |job| common::local().run(job, &mut ())),
    ("without namespaces", Strictness::Core, |job| {
        let lacking = Lacking::new(libc::SYS_unshare, Only::Bit(0, libc::CLONE_NEWNS), libc::EPERM);
        let result = lacking.during(|| common::local().run(job, &mut ()));
        assert!(!result.as_ref().is_ok_and(|outcome| outcome.protections.has(Protection::MountNamespace)));
        result
    }),
];

fn job(profile: &SandboxProfile, number: usize) -> Job {
    let arguments = ["-c", SCRIPT, &number.to_string()].map(OsString::from).to_vec();
    Job::new(profile.clone(), "/bin/sh", arguments)
}

/// Launches some scripts while one thing is swapped.
fn launch(swap: (&str, &str, bool), launches: usize, strictness: Strictness, run: Run, tally: &mut Tally) {
    let ground = Ground::new();
    let profile = ground.profile(strictness);
    let paths = ground.swap(swap);
    let before = ground.contents();
    let (stop, begun) = (AtomicBool::new(false), AtomicUsize::new(0));
    let results: Vec<_> = std::thread::scope(|scope| {
        let at_end = Stop(&stop);
        let swapper = scope.spawn(|| {
            let mut count = 0;
            // Leaves everything as it was.
            while !stop.load(Ordering::Relaxed) || count % 2 == 1 {
                exchange(&paths);
                count += 1;
                begun.store(count, Ordering::Relaxed);
            }
            count
        });
        // Not before it has begun, which can take a while on a loaded machine.
        while begun.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let results = (0..launches).map(|number| run(&job(&profile, number))).collect();
        drop(at_end);
        assert!(swapper.join().unwrap() > 1, "nothing was swapped");
        results
    });
    let after = ground.contents();
    for (number, result) in results.iter().enumerate() {
        match result {
            Ok(outcome) => {
                tally.ran += 1;
                let output = String::from_utf8_lossy(&outcome.output.bytes);
                let is_right = output.contains(ORIGINAL) && !output.contains(SECRET);
                let is_marked = after[0].contains_key(Path::new(&format!("mark-{number}")));
                if !is_right || !is_marked {
                    let errors = String::from_utf8_lossy(&outcome.errors.bytes);
                    tally.escapes.push(format!("{swap:?}: it ran elsewhere: {output}\n{errors}"));
                }
            }
            Err(
                SandboxError::Swapped { .. } | SandboxError::Path { .. } | SandboxError::ProtectedLink { .. },
            ) => tally.refused += 1,
            Err(error) => panic!("{swap:?}: refused for another reason: {error:?}"),
        }
    }
    for (place, (then, now)) in before.iter().zip(&after).enumerate() {
        // The script's work directory is the first. Without a file tree of its own, nothing in it is protected.
        let is_protected = |path: &Path| strictness == Strictness::Every && path.starts_with(".git/hooks");
        let is_written = |path: &Path| path.ends_with("victim") || path.to_string_lossy().contains("/mark-");
        let may_differ = |path: &Path| {
            let path = Path::new("/").join(path);
            place == 0 && is_written(&path) && !is_protected(path.strip_prefix("/").unwrap())
        };
        let but_those = |tree: &BTreeMap<PathBuf, String>| {
            tree.clone().into_iter().filter(|(path, _)| !may_differ(path)).collect::<BTreeMap<_, _>>()
        };
        let (then, now) = (but_those(then), but_those(now));
        if then != now {
            tally.escapes.push(format!("{swap:?}: {now:#?}\nwas {then:#?}"));
        }
    }
}

fn launch_all((name, strictness, run): (&str, Strictness, Run)) {
    #[expect(clippy::disallowed_methods, reason = "a person asks for more launches by a variable")]
    let launches: usize = std::env::var("METIER_LAUNCHES").map_or(60, |text| text.parse().unwrap());
    let mut tally = Tally::default();
    for (index, swap) in SWAPS.into_iter().enumerate() {
        // As many for each, and the rest for the first ones.
        let share = launches / SWAPS.len() + usize::from(index < launches % SWAPS.len());
        launch(swap, share, strictness, run, &mut tally);
    }
    let Tally { ran, refused, escapes } = tally;
    println!(
        "swapping, {name}: {launches} launches, {ran} ran, {refused} refused, {} escapes",
        escapes.len()
    );
    assert!(escapes.is_empty(), "{name}: {} escapes\n{}", escapes.len(), escapes.join("\n"));
    assert!(refused > launches / 20, "{name}: the swapper hardly ever came in time");
    assert!(ran > 0, "{name}: nothing ran, so that nothing is known");
}

#[test]
fn nothing_escapes_by_swapping() {
    launch_all(MODES[0]);
}

#[test]
fn nothing_escapes_by_swapping_without_namespaces() {
    launch_all(MODES[1]);
}

/// What is swapped for good, after it was chosen and before the launch.
#[test]
fn what_was_swapped_is_refused() {
    for (name, strictness, run) in MODES {
        for swap in SWAPS {
            // Without a file tree of its own, what is in the work directory is not looked at.
            if strictness == Strictness::Core && swap.0.contains(".git") {
                continue;
            }
            let ground = Ground::new();
            let profile = ground.profile(strictness);
            exchange(&ground.swap(swap));
            let result = run(&job(&profile, 0));
            let is_refused = matches!(
                result,
                Err(SandboxError::Swapped { .. }
                    | SandboxError::Path { .. }
                    | SandboxError::ProtectedLink { .. })
            );
            assert!(is_refused, "{name}, {swap:?}: {result:?}");
        }
    }
}

/// A link where something is to be protected, or on the way there: what it leads to cannot be.
#[test]
fn protected_links_are_refused() {
    let links =
        [(".git", "elsewhere"), (".git", "/nowhere"), (".claude", "elsewhere"), ("AGENTS.md", "original")];
    for (link, target) in links {
        let work = common::work();
        fs::create_dir_all(work.path().join("elsewhere/hooks")).unwrap();
        fs::write(work.path().join("original"), "").unwrap();
        symlink(target, work.path().join(link)).unwrap();
        let result = common::local().run(&job(&common::profile(work.path()), 0), &mut ());
        assert!(matches!(result, Err(SandboxError::ProtectedLink { .. })), "{link} to {target}: {result:?}");
    }
}

#[test]
fn as_an_ordinary_user() {
    common::again_as_ordinary_user();
}
