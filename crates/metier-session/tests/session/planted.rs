//! Tricks with what lies in a skill: links, pipes, sockets, devices, mounts, names that are no text; there from the start, or put there
//! after the skill was first used.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use metier_journal::RecordQuery;
use metier_session::PathProblem::{Link, NotAFile};
use metier_session::{Session, replay};
use metier_skill::{Coded as _, Digest, Tier};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::common::{Ground, asked, is_root};
use crate::paths::Then::{self, Changed, Is, Missing, Refused};
use crate::paths::{Attempt, SECRET, ground, text_of};

/// Waiting for somebody who never comes would take for ever.
fn in_time(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    let is_late = matches!(wait.recv_timeout(Duration::from_mins(1)), Err(mpsc::RecvTimeoutError::Timeout));
    assert!(!is_late, "it waits for somebody");
    thread.join().unwrap();
}

/// A path in a skill in which somebody had planted something before it was found.
fn planted(plant: impl FnOnce(&Ground, &Path) + Send + 'static, asked: &'static str, then: Then) {
    in_time(move || {
        let ground = ground();
        plant(&ground, &ground.path("skills/pdf"));
        let mut attempt = Attempt::on(ground);
        attempt.try_out(asked, &then);
    });
}

/// The same where it is planted after the skill was activated, in place of a file of it.
fn exchanged(plant: impl FnOnce(&Ground, &Path) + Send + 'static, asked: &'static str, then: Then) {
    in_time(move || {
        let mut attempt = Attempt::on(ground());
        attempt.try_out("references/guide.md", &Is("references/guide.md"));
        plant(&attempt.ground, &attempt.ground.path("skills/pdf"));
        attempt.try_out(asked, &then);
    });
}

macro_rules! tests {
    ($how:ident: $($name:ident: $plant:expr, $asked:expr => $then:expr;)*) => {$(
        #[test]
        fn $name() {
            $how($plant, $asked, $then);
        }
    )*};
}

fn link(target: impl AsRef<Path>, at: impl AsRef<Path>) {
    symlink(target, at).unwrap();
}

/// Puts something in the place of a file or directory of the skill, which is kept beside the skill.
fn instead(skill: &Path, path: &str, plant: impl FnOnce(&Path)) {
    fs::rename(skill.join(path), skill.with_file_name("aside")).unwrap();
    plant(&skill.join(path));
}

fn pipe(at: &Path) {
    mknodat(CWD, at, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
}

tests! { planted:
    a_link_to_a_file_outside: |_, skill| link("../../secret.txt", skill.join("link")), "link" => Refused(Link);
    an_absolute_link_outside: |g, skill| link(g.path("secret.txt"), skill.join("link")), "link" => Refused(Link);
    a_link_with_a_trailing_slash: |_, skill| link("../../secret.txt", skill.join("link")), "link/" => Refused(Link);
    a_link_below: |_, skill| link("../../../secret.txt", skill.join("references/link")), "references/link" => Refused(Link);
    a_link_to_a_file_inside: |_, skill| link("references/guide.md", skill.join("link")), "link" => Refused(Link);
    an_absolute_link_to_an_own_file: |_, skill| link(skill.join("SKILL.md"), skill.join("link")), "link" => Refused(Link);
    a_link_to_a_directory_outside: |_, skill| link("../../outside", skill.join("out")), "out/guide.md" => Refused(Link);
    a_link_to_a_directory_inside: |_, skill| link("references", skill.join("in")), "in/guide.md" => Refused(Link);
    a_link_to_a_directory_itself: |_, skill| link("../../outside", skill.join("out")), "out" => Refused(Link);
    a_link_to_the_directory_above: |_, skill| link("..", skill.join("up")), "up/secret.txt" => Refused(Link);
    a_link_to_the_skill: |_, skill| link(".", skill.join("here")), "here/here/SKILL.md" => Refused(Link);
    a_link_to_the_root: |_, skill| link("/", skill.join("root")), "root/etc/passwd" => Refused(Link);
    a_link_to_nothing: |_, skill| link("nowhere", skill.join("link")), "link" => Refused(Link);
    a_way_through_a_link_to_nothing: |_, skill| link("nowhere", skill.join("link")), "link/x" => Refused(Link);
    a_link_to_itself: |_, skill| link("link", skill.join("link")), "link" => Refused(Link);
    a_chain_of_links: |_, skill| {
        link("two", skill.join("one"));
        link("three", skill.join("two"));
        link("../../secret.txt", skill.join("three"));
    }, "one" => Refused(Link);
    a_circle_of_links: |_, skill| {
        link("two", skill.join("one"));
        link("one", skill.join("two"));
    }, "one/guide.md" => Refused(Link);
    a_link_to_proc: |_, skill| link("/proc", skill.join("proc")), "proc/self/environ" => Refused(Link);
    a_link_to_the_standard_input: |_, skill| link("/dev/fd/0", skill.join("in")), "in" => Refused(Link);
    a_link_in_version_control: |_, skill| link("../../../secret.txt", skill.join(".git/link")), ".git/link" => Missing;
    a_link_named_like_version_control: |_, skill| link("../../../outside", skill.join("nested/.hg")), "nested/.hg/guide.md" => Missing;

    a_pipe: |_, skill| pipe(&skill.join("pipe")), "pipe" => Refused(NotAFile);
    a_pipe_taken_for_a_directory: |_, skill| pipe(&skill.join("pipe")), "pipe/x" => Refused(NotAFile);
    a_socket: |_, skill| drop(UnixListener::bind(skill.join("socket")).unwrap()), "socket" => Refused(NotAFile);
    a_socket_taken_for_a_directory: |_, skill| drop(UnixListener::bind(skill.join("socket")).unwrap()), "socket/x" => Refused(NotAFile);
    an_empty_directory: |_, skill| fs::create_dir(skill.join("empty")).unwrap(), "empty" => Refused(NotAFile);
    a_file_named_like_version_control: |_, skill| fs::write(skill.join("references/.git"), text_of(".git")).unwrap(),
        "references/.git" => Is("references/.git");
    a_name_that_is_no_text: |_, skill| fs::write(skill.join(OsStr::from_bytes(b"bad\xff.md")), SECRET).unwrap(),
        "bad\u{fffd}.md" => Missing;
}

tests! { exchanged:
    then_a_link_outside: |_, skill| instead(skill, "references/guide.md", |at| link("../../../outside/guide.md", at)),
        "references/guide.md" => Changed;
    // What it leads to are the very bytes, so that no digest tells.
    then_a_link_to_the_same: |_, skill| instead(skill, "references/guide.md", |at| link("../../aside", at)),
        "references/guide.md" => Changed;
    then_a_directory_linked_outside: |_, skill| instead(skill, "references", |at| link("../../outside", at)),
        "references/guide.md" => Changed;
    then_the_same_directory_linked: |_, skill| instead(skill, "references", |at| link("../aside", at)),
        "references/guide.md" => Changed;
    then_a_link_that_was_not_there: |_, skill| link("../../secret.txt", skill.join("link")), "link" => Refused(Link);
    then_a_hard_link_outside: |g, skill| instead(skill, "references/guide.md", |at| {
        fs::hard_link(g.path("secret.txt"), at).unwrap();
    }), "references/guide.md" => Changed;
    then_a_hard_link_that_was_not_there: |g, skill| fs::hard_link(g.path("secret.txt"), skill.join("hard")).unwrap(),
        "hard" => Changed;
    then_a_pipe: |_, skill| instead(skill, "references/guide.md", pipe), "references/guide.md" => Changed;
    then_a_pipe_for_a_directory: |_, skill| instead(skill, "references", pipe), "references/guide.md" => Changed;
    then_a_socket: |_, skill| instead(skill, "references/guide.md", |at| drop(UnixListener::bind(at).unwrap())),
        "references/guide.md" => Changed;
    then_a_directory: |_, skill| instead(skill, "references/guide.md", |at| fs::create_dir(at).unwrap()),
        "references/guide.md" => Changed;
    then_nothing: |_, skill| instead(skill, "references/guide.md", |_| ()), "references/guide.md" => Changed;
    then_a_secret: |g, skill| assert!(fs::copy(g.path("secret.txt"), skill.join("references/guide.md")).is_ok()),
        "references/guide.md" => Changed;
}

#[test]
fn a_link_to_a_descriptor_of_this_process() {
    let ground = ground();
    let secret = File::open(ground.path("secret.txt")).unwrap();
    link(format!("/proc/self/fd/{}", secret.as_raw_fd()), ground.path("skills/pdf/link"));
    let outside = File::open(ground.path("outside")).unwrap();
    link(format!("/proc/self/fd/{}", outside.as_raw_fd()), ground.path("skills/pdf/out"));
    let mut attempt = Attempt::on(ground);
    attempt.try_out("link", &Refused(Link));
    attempt.try_out("out/guide.md", &Refused(Link));
}

/// Whoever can make one can read the file or has it copied. It is part of the skill as everything else is: known by its digest.
#[test]
fn a_hard_link_from_the_start_is_a_file_of_the_skill() {
    let ground = ground();
    let before = Attempt::on(ground);
    let (tree, ground) = (before.session.active().next().unwrap().tree_digest, &before.ground);
    ground.write("shared.md", "as it was");
    fs::hard_link(ground.path("shared.md"), ground.path("skills/pdf/hard.md")).unwrap();
    let mut session = ground.session(Tier::Org);
    let activation = session.activate("pdf").unwrap();
    assert_ne!(activation.tree_digest, tree, "the digest covers it");
    let held = session.active().next().unwrap();
    let file = held.manifest.get(Path::new("hard.md")).unwrap();
    assert_eq!(file.digest, Digest::of(b"as it was"));
    assert_eq!(session.read("pdf", "hard.md").unwrap().bytes, b"as it was");
    // What is written to the file outside is another skill.
    ground.write("shared.md", SECRET);
    assert_eq!(session.read("pdf", "hard.md").unwrap_err().code(), "skill-changed");
    assert_ne!(session.activate("pdf").unwrap().tree_digest, activation.tree_digest);
}

#[test]
fn then_much_more() {
    let mut attempt = Attempt::on(ground());
    let file =
        File::options().write(true).open(attempt.ground.path("skills/pdf/references/guide.md")).unwrap();
    file.set_len(1 << 40).unwrap();
    assert_eq!(attempt.read("references/guide.md").unwrap_err().code(), "skill-changed");
    assert_eq!(attempt.run("references/guide.md").unwrap_err().code(), "skill-limit");
}

#[test]
fn a_device() {
    if !is_root() {
        println!("SKIPPED: only root makes devices");
        return;
    }
    // The memory of zeros never ends; of the other no driver knows anything.
    for (major, minor) in [(1, 5), (511, 4_242)] {
        let make = move |at: &Path| {
            mknodat(CWD, at, FileType::CharacterDevice, Mode::from_raw_mode(0o666), makedev(major, minor))
                .unwrap();
        };
        planted(move |_, skill| make(&skill.join("device")), "device", Refused(NotAFile));
        exchanged(
            move |_, skill| instead(skill, "references/guide.md", make),
            "references/guide.md",
            Changed,
        );
    }
}

#[test]
fn what_cannot_be_read() {
    if is_root() {
        println!("SKIPPED: root reads everything");
        return;
    }
    let hide = |skill: &Path| {
        fs::set_permissions(skill.join("references/guide.md"), fs::Permissions::from_mode(0o000)).unwrap();
    };
    let mut attempt = Attempt::on(ground());
    hide(&attempt.ground.path("skills/pdf"));
    assert_eq!(attempt.read("references/guide.md").unwrap_err().code(), "skill-io");
    assert_eq!(attempt.run("references/guide.md").unwrap_err().code(), "skill-io");
    let error = attempt.ground.session(Tier::Org).activate("pdf").unwrap_err();
    assert_eq!(error.code(), "skill-io", "and nothing whole can be said of it");
}

/// Two names that look the same where what is no text is replaced. Only one of them can be asked for, and that one is recorded.
#[test]
fn names_that_are_no_text_are_not_taken_for_others() {
    let ground = ground();
    for name in [&b"twin\x80.sh"[..], b"twin\xff.sh", "twin\u{fffd}.sh".as_bytes()] {
        let text = format!("echo {}\n", name.escape_ascii());
        fs::write(ground.path("skills/pdf").join(OsStr::from_bytes(name)), text).unwrap();
    }
    let mut session = ground.session(Tier::Org);
    let read = session.read("pdf", "twin\u{fffd}.sh").unwrap();
    assert_eq!(read.encoded(), "echo twin\\xef\\xbf\\xbd.sh\n");
    let run = session.run_script(ground.call("pdf", "twin\u{fffd}.sh"), &mut ()).unwrap();
    assert_eq!(run.script_digest, read.digest);
    let replayed = replay(&mut ground.reader(), &ground.store(), &RecordQuery::default()).unwrap();
    assert_eq!((replayed.divergence, replayed.reads, replayed.scripts), (None, 1, 1));
}

/// A link in the root is followed when it is found, and not again.
#[test]
fn a_skill_by_a_link_in_the_root_is_where_it_was_found() {
    let ground = Ground::new();
    let text = |body: &str| format!("---\nname: linked\ndescription: Use when linked.\n---\n{body}\n");
    ground.write("elsewhere/linked/SKILL.md", &text("Right."));
    ground.write("outside/linked/SKILL.md", &text(SECRET));
    link("../elsewhere/linked", ground.path("skills/linked"));
    let options = ground.options(Tier::Org);
    fs::remove_file(ground.path("skills/linked")).unwrap();
    link("../outside/linked", ground.path("skills/linked"));
    let activation = Session::start(options.clone()).unwrap().activate("linked").unwrap();
    assert!(activation.content.contains("Right.") && !activation.content.contains(SECRET));
    // Nor is one on the way there.
    fs::rename(ground.path("elsewhere"), ground.path("aside")).unwrap();
    link("outside", ground.path("elsewhere"));
    let error = Session::start(options).unwrap().activate("linked").unwrap_err();
    assert_eq!(error.code(), "skill-io");
}

#[test]
fn mounts() {
    // In namespaces of its own, so that nothing stays mounted, and nobody needs to be root.
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]).args((!is_root()).then_some("--map-root-user"));
    if !command.status().is_ok_and(|status| status.success()) {
        crate::skips::skip("nothing can be mounted here; skills among mounts are not tested");
        return;
    }
    let output = command
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "planted::among_mounts", "--ignored", "--nocapture"])
        .env("METIER_AMONG_MOUNTS", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("all mounted"), "{said}\n{output:?}");
}

/// Not a test by itself: mounts something of the outside over parts of a skill.
#[test]
#[ignore = "started by other tests"]
fn among_mounts() {
    if asked("METIER_AMONG_MOUNTS").is_none() {
        return;
    }
    let mount = |what: &Path, at: &Path| {
        assert!(Command::new("mount").arg("--bind").args([what, at]).status().unwrap().success());
    };
    for (what, at) in
        [("outside", "references"), ("secret.txt", "references/guide.md"), ("work", "references")]
    {
        let mut attempt = Attempt::on(ground());
        mount(&attempt.ground.path(what), &attempt.ground.path("skills/pdf").join(at));
        attempt.try_out("references/guide.md", &Changed);
        assert!(attempt.read("SKILL.md").is_ok());
    }
    // From the start it is part of the skill, as containers have it: what is handed out has the digest that was recorded.
    let ground = ground();
    fs::create_dir(ground.path("skills/pdf/mounted")).unwrap();
    ground.write("shared/notes.sh", &text_of("notes"));
    mount(&ground.path("shared"), &ground.path("skills/pdf/mounted"));
    let mut attempt = Attempt::on(ground);
    attempt.try_out("mounted/notes.sh", &Is("mounted/notes.sh"));
    attempt.ground.write("shared/notes.sh", SECRET);
    attempt.try_out("mounted/notes.sh", &Changed);
    println!("all mounted");
}
