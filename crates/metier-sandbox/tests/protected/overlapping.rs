//! Runs that overlap in one work directory, and runs whose metier was killed.
//!
//! `METIER_ROUNDS` says how many rounds of overlapping runs there are.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use metier_sandbox::{
    Ending, Executor as _, Job, Local, PlantedBy, RunOutcome, SandboxProfile, Sink, Stream, WorkDirectory,
    settle_notes,
};
use metier_skill::Tier;

use crate::common;

/// Runs at a time in one work directory.
const RUNS: usize = 10;
/// What each of them makes.
const NAMES: [&str; 7] = [".claude", "CLAUDE.md", ".git", "HEAD", ".vscode", "sub/.git", "mise.local.toml"];
/// Makes all of it anew, whatever the others do to it meanwhile, and says when it did so for the first time. Then a few times more,
/// until there is a file `go`.
const PLANTS: &str = r#"
make() {
    mkdir -p .claude .git/hooks .git/objects .git/refs objects refs .vscode sub/.git/objects sub/.git/refs
    echo '{}' > .claude/settings.json; echo x > CLAUDE.md; echo x > .vscode/tasks.json; echo x > mise.local.toml
    for git in .git sub/.git .; do
        echo 'ref: refs/heads/main' > $git/HEAD
        printf '[core]\n\tfsmonitor = touch /tmp/obeyed\n' > $git/config
    done
}
make 2>/dev/null; echo ready
until [ -e "go$0" ]; do make 2>/dev/null; done
make 2>/dev/null; rm "go$0"; exit 0
"#;

/// Says when the script is ready.
struct Ready(Option<Sender<()>>);

impl Sink for Ready {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        if stream == Stream::Output && bytes.contains(&b'r') {
            // Whoever waited for it may have given up.
            let _ = self.0.take().map(|ready| ready.send(()));
        }
    }
}

fn job(work: &Path, number: usize) -> Job {
    let arguments = ["-c", PLANTS, &number.to_string()].map(Into::into).to_vec();
    Job::new(common::profile(work), "/bin/sh", arguments)
}

/// What other programs would obey in a work directory.
fn obeyed(work: &Path) -> Vec<&'static str> {
    NAMES.into_iter().filter(|name| work.join(name).symlink_metadata().is_ok()).collect()
}

/// The names that an outcome reports and that were moved.
fn moved(outcomes: &[RunOutcome], work: &Path) -> BTreeSet<PathBuf> {
    let planted = outcomes.iter().flat_map(|outcome| &outcome.planted).filter(|one| one.moved_to.is_some());
    planted.map(|one| one.path.strip_prefix(work).unwrap().to_owned()).collect()
}

/// Starts runs one after the other, each when the one before has planted what it plants; ends them in the order in which they
/// began. Every name is planted when each of them begins, and again after each of them ended.
fn overlap(local: &Local, work: &Path) -> Vec<RunOutcome> {
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let mut all = Vec::new();
        for number in 0..RUNS {
            let (when_ready, ready): (_, Receiver<()>) = channel();
            let (outcomes, local) = (&outcomes, local.clone());
            let run = scope.spawn(move || {
                let outcome = local.run(&job(work, number), &mut Ready(Some(when_ready))).unwrap();
                outcomes.lock().unwrap().push(outcome);
            });
            ready.recv().unwrap();
            all.push((number, run));
        }
        for (number, run) in all {
            fs::write(work.join(format!("go{number}")), "").unwrap();
            run.join().unwrap();
        }
    });
    outcomes.into_inner().unwrap()
}

fn rounds() -> usize {
    asked("METIER_ROUNDS").map_or(2, |text| text.parse().unwrap())
}

#[expect(clippy::disallowed_methods, reason = "a person asks for rounds by a variable, a test for a host")]
fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs in one work directory, of one process or of two by turns.
fn assert_nothing_stays(locals: &[Local]) {
    for round in 0..rounds() {
        let work = common::work();
        let base = work.path().canonicalize().unwrap();
        let outcomes = overlap(&locals[round % locals.len()], &base);
        assert!(outcomes.iter().all(|one| one.ending == Ending::Exited(0)), "{outcomes:?}");
        assert_eq!(obeyed(&base), Vec::<&str>::new(), "round {round}: still there");
        let reported = moved(&outcomes, &base);
        for name in NAMES {
            assert!(reported.contains(Path::new(name)), "round {round}: {name} is not in {reported:?}");
        }
        assert!(outcomes.iter().flat_map(|one| &one.planted).any(|one| one.by == PlantedBy::OverlappingRun));
        // The same names before a run of its own: it is alone again, and there is nothing to report.
        let alone = common::local().run(&Job::new(common::profile(&base), "true", Vec::new()), &mut ());
        assert_eq!(alone.unwrap().planted, []);
    }
    println!("planted: {} rounds of {RUNS} overlapping runs, nothing stayed", rounds());
}

#[test]
fn nothing_that_overlapping_runs_plant_stays() {
    assert_nothing_stays(&[common::local()]);
}

#[test]
fn nothing_that_overlapping_runs_plant_stays_with_notes_on_disk() {
    let notes = common::work();
    assert_nothing_stays(&[common::local().with_notes(notes.path().join("notes"))]);
    let left: Vec<_> = fs::read_dir(notes.path().join("notes")).unwrap().collect();
    assert!(left.is_empty(), "notes are left: {left:?}");
}

/// What was there before all of them stays, and is the same.
#[test]
fn what_was_there_before_all_runs_stays() {
    let work = common::work();
    let base = work.path().canonicalize().unwrap();
    fs::create_dir(base.join(".claude")).unwrap();
    fs::write(base.join(".claude/settings.json"), "mine").unwrap();
    fs::write(base.join("CLAUDE.md"), "mine").unwrap();
    let outcomes = overlap(&common::local(), &base);
    assert_eq!(obeyed(&base), [".claude", "CLAUDE.md"]);
    assert_eq!(fs::read_to_string(base.join(".claude/settings.json")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(base.join("CLAUDE.md")).unwrap(), "mine");
    let reported = moved(&outcomes, &base);
    assert!(!reported.contains(Path::new(".claude")) && reported.contains(Path::new(".git")), "{reported:?}");
}

/// Not a test: a process of its own that runs a script and is killed.
#[test]
#[ignore = "started by other tests"]
fn host() {
    let Some(what) = asked("METIER_HOST") else { return };
    let [work, notes] = what.split('\n').collect::<Vec<_>>()[..] else { return };
    let mut sink = Says;
    common::local().with_notes(notes).run(&job(Path::new(work), 0), &mut sink).unwrap();
}

/// Says on standard output when the script is ready.
struct Says;

impl Sink for Says {
    fn take(&mut self, _: Stream, _: &[u8]) {
        println!("is ready");
        std::io::stdout().flush().unwrap();
    }
}

/// A run in a process of its own, which is killed once the script has planted everything.
fn killed(work: &Path, notes: &Path) {
    let mut host = start_host(work, notes);
    host.kill().unwrap();
    host.wait().unwrap();
}

fn start_host(work: &Path, notes: &Path) -> Child {
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "overlapping::host", "--ignored", "--nocapture", "--test-threads=1"])
        .env("METIER_HOST", format!("{}\n{}", work.display(), notes.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(host.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("is ready")), "it never began");
    host
}

#[test]
fn the_next_run_deals_with_what_a_killed_one_left() {
    let (work, notes) = (common::work(), common::work());
    let (base, notes) = (work.path().canonicalize().unwrap(), notes.path().join("notes"));
    killed(&base, &notes);
    assert!(base.join(".claude").exists(), "nothing was planted");
    let local = common::local().with_notes(&notes);
    let outcome = local.run(&Job::new(common::profile(&base), "true", Vec::new()), &mut ()).unwrap();
    assert_eq!(obeyed(&base), Vec::<&str>::new());
    // Its launcher may still have been alive: then it overlapped.
    assert!(outcome.planted.iter().all(|one| one.by != PlantedBy::ThisRun), "{outcome:?}");
    let reported = moved(&[outcome], &base);
    for name in NAMES {
        assert!(reported.contains(Path::new(name)), "{name} is not in {reported:?}");
    }
    assert_eq!(settle_notes(&notes).unwrap(), []);
}

/// A run that cannot start has no outcome to report anything in, so the next run reports what it found.
#[test]
fn what_a_run_that_does_not_start_finds_is_reported_by_the_next() {
    let (work, notes) = (common::work(), common::work());
    let (base, notes) = (work.path().canonicalize().unwrap(), notes.path().join("notes"));
    killed(&base, &notes);
    let local = common::local().with_notes(&notes);
    let run = |program: &str| local.run(&Job::new(common::profile(&base), program, Vec::new()), &mut ());
    run("/nonexistent/program").unwrap_err();
    assert_eq!(obeyed(&base), Vec::<&str>::new());
    let reported = moved(&[run("true").unwrap()], &base);
    for name in NAMES {
        assert!(reported.contains(Path::new(name)), "{name} is not in {reported:?}");
    }
    assert_eq!(run("true").unwrap().planted, [], "it is reported once");
}

#[test]
fn what_a_killed_run_left_can_be_settled_without_another() {
    let (work, notes) = (common::work(), common::work());
    let (base, notes) = (work.path().canonicalize().unwrap(), notes.path().join("notes"));
    assert_eq!(settle_notes(&notes).unwrap(), [], "there are no notes yet");
    // While it runs it is left alone.
    let mut host = start_host(&base, &notes);
    assert_eq!(settle_notes(&notes).unwrap(), []);
    assert!(base.join(".claude").exists());
    host.kill().unwrap();
    host.wait().unwrap();
    // The launcher may take a moment to end what it started.
    let mut settled = Vec::new();
    assert!(crate::processes::soon(|| {
        settled.extend(settle_notes(&notes).unwrap());
        !settled.is_empty()
    }));
    assert_eq!(settled[0].work, base);
    assert!(settled[0].planted.iter().all(|one| one.by == PlantedBy::InterruptedRun), "{settled:?}");
    assert_eq!(obeyed(&base), Vec::<&str>::new());
    assert_eq!(settle_notes(&notes).unwrap(), [], "it is reported once");
}

/// The kernel gives the inode of a directory that is gone to another one.
#[test]
fn a_note_is_not_taken_for_one_of_another_directory() {
    let (work, mut other, notes) = (common::work(), common::work(), common::work());
    // The clock of a file system takes small steps.
    let made = |path: &Path| fs::metadata(path).unwrap().created().ok();
    while made(other.path()).is_some() && made(other.path()) == made(work.path()) {
        other = common::work();
    }
    let (base, notes) = (work.path().canonicalize().unwrap(), notes.path().join("notes"));
    fs::write(other.path().join("AGENTS.md"), "mine").unwrap();
    fs::create_dir(other.path().join(".claude")).unwrap();
    killed(&base, &notes);
    let name = |path: &Path| {
        let metadata = fs::metadata(path).unwrap();
        notes.join(format!("{:x}-{:x}", metadata.dev(), metadata.ino()))
    };
    fs::rename(name(&base), name(other.path())).unwrap();
    let local = common::local().with_notes(&notes);
    let job = Job::new(common::profile(other.path()), "true", Vec::new());
    assert_eq!(local.run(&job, &mut ()).unwrap().planted, []);
    assert_eq!(fs::read_to_string(other.path().join("AGENTS.md")).unwrap(), "mine");
    assert!(other.path().join(".claude").exists());
}

#[test]
fn what_was_changed_after_a_run_was_killed_is_reported_and_left() {
    let (work, notes) = (common::work(), common::work());
    let (base, notes) = (work.path().canonicalize().unwrap(), notes.path().join("notes"));
    killed(&base, &notes);
    // As if the run had been killed a day ago, and all that is there had come since.
    let is_run = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("run-");
    let run = fs::read_dir(&notes).unwrap().map(|entry| entry.unwrap().path()).find(is_run).unwrap();
    let run = fs::File::options().write(true).open(run).unwrap();
    let earlier = run.metadata().unwrap().modified().unwrap() - std::time::Duration::from_hours(24);
    run.set_modified(earlier).unwrap();
    drop(run);
    let mut settled = Vec::new();
    assert!(crate::processes::soon(|| {
        settled.extend(settle_notes(&notes).unwrap());
        !settled.is_empty()
    }));
    assert_eq!(obeyed(&base), NAMES);
    assert!(settled[0].planted.iter().all(|one| one.stays && one.moved_to.is_none()), "{settled:?}");
    assert!(settled[0].planted.iter().any(|one| one.path == base.join(".claude")), "{settled:?}");
}

#[test]
fn a_temporary_directory_has_no_note_that_lasts() {
    /// Looks while the script runs.
    struct Looks<'a>(&'a Path, Vec<usize>);
    impl Sink for Looks<'_> {
        fn take(&mut self, _: Stream, _: &[u8]) {
            self.1.push(fs::read_dir(self.0).map_or(0, Iterator::count));
        }
    }
    let notes = common::work();
    let work = WorkDirectory::temporary().unwrap();
    let job = Job::new(
        SandboxProfile::new(Tier::ThirdParty, work),
        "/bin/sh",
        ["-c", "echo x; echo y > AGENTS.md"].map(Into::into).to_vec(),
    );
    let mut looks = Looks(notes.path(), Vec::new());
    let outcome = common::local().with_notes(notes.path()).run(&job, &mut looks).unwrap();
    assert_eq!(looks.1, [0]);
    assert_eq!(outcome.planted.len(), 1, "{outcome:?}");
}
