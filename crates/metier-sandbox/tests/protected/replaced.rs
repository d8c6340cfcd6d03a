//! Protected paths that are replaced from outside while a script runs, as editors and git do: the read-only mount goes with the
//! old file, and the script can write to the new one.

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;

use metier_sandbox::{Executor as _, Job, Local, RunOutcome, Sink, Stream};

use crate::{common, repository};

/// Does something as soon as the script has said something.
struct Then<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Sink for Then<F> {
    fn take(&mut self, _: Stream, _: &[u8]) {
        if let Some(then) = self.0.take() {
            then();
        }
    }
}

fn job(work: &Path, script: &str) -> Job {
    Job::new(common::profile(work), "/bin/sh", ["-c", script].map(Into::into).to_vec())
}

/// Tries a command until it works, for some seconds. It says when it begins.
fn until(command: &str) -> String {
    format!(
        "echo ready; for i in $(seq 100); do {{ {command}; }} 2>/dev/null && break; sleep 0.05; done; exit 0"
    )
}

/// What is reported: the path, whether it existed before, whether it was left on purpose, and whether it runs commands.
fn planted(outcome: &RunOutcome, work: &Path) -> Vec<(String, bool, bool, bool)> {
    let base = work.canonicalize().unwrap();
    let of = |one: &metier_sandbox::PlantedItem| {
        let path = one.path.strip_prefix(&base).unwrap().display().to_string();
        (path, one.changed, one.stays && one.moved_to.is_none(), one.runs_commands)
    };
    outcome.planted.iter().map(of).collect()
}

/// Puts a file into the place of another in one step.
fn replace(path: &Path, text: &str) {
    let new = path.with_file_name("new");
    fs::write(&new, text).unwrap();
    // The script is another user where root runs the tests.
    common::open_to_all(&new);
    fs::rename(new, path).unwrap();
}

fn lay_out(work: &Path) {
    repository(work);
    fs::write(work.join("CLAUDE.md"), "mine").unwrap();
    fs::create_dir(work.join(".claude")).unwrap();
    fs::write(work.join(".claude/settings.json"), "{}").unwrap();
}

#[test]
fn a_file_that_was_replaced_while_a_script_ran_is_reported() {
    for (path, runs_commands) in [("CLAUDE.md", false), (".git/config", true)] {
        let work = common::work();
        lay_out(work.path());
        let file = work.path().join(path);
        // While the kernel renames, the old file is there without its mount for a moment: what is written then is gone.
        let script = until(&format!("echo '# evil' >> {path} && grep -q evil {path}"));
        let mut then = Then(Some(|| replace(&file, "# mine\n")));
        let outcome = common::local().run(&job(work.path(), &script), &mut then).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n# evil\n", "the mount is still there");
        assert_eq!(planted(&outcome, work.path()), [(path.to_owned(), true, true, runs_commands)]);
        // It is reported once.
        assert_eq!(common::local().run(&job(work.path(), "true"), &mut ()).unwrap().planted, []);
    }
}

/// As `git checkout` of another branch and back does.
#[test]
fn a_directory_that_was_replaced_while_a_script_ran_is_reported() {
    let work = common::work();
    lay_out(work.path());
    let directory = work.path().join(".claude");
    let script = until("echo evil > .claude/settings.json");
    let again = || {
        fs::remove_dir_all(&directory).unwrap();
        fs::create_dir(&directory).unwrap();
        common::open_to_all(&directory);
    };
    let outcome = common::local().run(&job(work.path(), &script), &mut Then(Some(again))).unwrap();
    assert_eq!(fs::read_to_string(directory.join("settings.json")).unwrap(), "evil\n");
    assert_eq!(planted(&outcome, work.path()), [(".claude".to_owned(), true, true, true)]);
}

/// The directory is still the one that is mounted, so a script can write to nothing in it.
#[test]
fn what_a_person_does_in_a_protected_directory_is_no_news() {
    let work = common::work();
    lay_out(work.path());
    let settings = work.path().join(".claude/settings.json");
    let script = "echo ready; for i in $(seq 10); do echo evil >> .claude/settings.json; sleep 0.05; done 2>/dev/null; exit 0";
    let mut then = Then(Some(|| {
        replace(&settings, "mine");
        fs::write(work.path().join(".claude/more.md"), "mine").unwrap();
        common::open_to_all(&work.path().join(".claude/more.md"));
    }));
    let outcome = common::local().run(&job(work.path(), script), &mut then).unwrap();
    assert_eq!(fs::read_to_string(&settings).unwrap(), "mine");
    assert_eq!(outcome.planted, []);
}

/// Another executor that knows nothing of the first takes what that one's script made for what was there before.
#[test]
fn what_another_state_directory_s_run_made_and_this_one_made_again_is_reported() {
    let (work, notes) = (common::work(), common::work());
    let local = |name: &str| -> Local { common::local().with_notes(notes.path().join(name)) };
    let make = "mkdir .claude && echo evil > .claude/settings.json";
    let (outcome, first) = std::thread::scope(|scope| {
        let (says, ready) = channel();
        let first = scope.spawn(|| {
            let script = format!("{make}; echo ready; until [ -e go ]; do sleep 0.05; done");
            let then = Then(Some(move || says.send(()).unwrap()));
            local("one").run(&job(work.path(), &script), &mut { then }).unwrap()
        });
        ready.recv().unwrap();
        let script = until(make);
        let mut then = Then(Some(|| fs::write(work.path().join("go"), "").unwrap()));
        let outcome = local("two").run(&job(work.path(), &script), &mut then).unwrap();
        (outcome, first.join().unwrap())
    });
    assert!(first.planted.iter().any(|one| one.moved_to.is_some()), "{first:?}");
    assert!(work.path().join(".claude/settings.json").exists(), "{outcome:?}");
    assert_eq!(planted(&outcome, work.path()), [(".claude".to_owned(), true, true, true)]);
}

/// Runs that overlap each have their own mount; once something was replaced, what is in it counts for those that still run.
#[test]
fn what_is_done_to_a_replaced_directory_later_is_reported_as_well() {
    let work = common::work();
    lay_out(work.path());
    let directory = work.path().join(".claude");
    let local = common::local();
    let outcome = std::thread::scope(|scope| {
        let (says, ready) = channel();
        let second = "until [ -e go ]; do sleep 0.05; done; echo evil > .claude/settings.json";
        let goes_on = scope.spawn({
            let (local, work) = (&local, work.path());
            move || {
                let script = format!("echo ready; {second}");
                let then = Then(Some(move || says.send(()).unwrap()));
                local.run(&job(work, &script), &mut { then }).unwrap()
            }
        });
        ready.recv().unwrap();
        fs::remove_dir_all(&directory).unwrap();
        fs::create_dir(&directory).unwrap();
        common::open_to_all(&directory);
        let first = local.run(&job(work.path(), "true"), &mut ()).unwrap();
        fs::write(work.path().join("go"), "").unwrap();
        assert_eq!(planted(&first, work.path()), [(".claude".to_owned(), true, true, true)]);
        goes_on.join().unwrap()
    });
    assert!(directory.join("settings.json").exists(), "{outcome:?}");
    assert_eq!(planted(&outcome, work.path()), [(".claude".to_owned(), true, true, true)]);
}
