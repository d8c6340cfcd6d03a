//! Tricks with the text of a path: whatever is asked for, what is handed out or run is a file of the skill, to the byte, or nothing.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use metier_sandbox::{Executor, Job, RunOutcome, SandboxError, Sink};
use metier_session::{PathProblem, Session, SessionError};
use metier_skill::{Coded as _, Digest, Manifest, Tier};
use proptest::prelude::*;

use crate::common::Ground;

/// What nobody may see. It lies beside the skill, above it, and in a directory that looks like one of the skill's.
pub(crate) const SECRET: &str = "the secret that is outside";

/// Every file that is asked for says which one it is, and can be run.
pub(crate) fn text_of(path: &str) -> String {
    format!("#!/bin/sh\n# this is {path}\n")
}

/// Names that mean something elsewhere, and here are names.
const ODD_NAMES: &[&str] = &[
    "..foo",
    "...",
    "a..b",
    "..dir/..bar",
    "-rf",
    "con",
    ".hidden",
    " ",
    "~",
    "*",
    "$HOME",
    "C:",
    "%2e%2e/file",
    "file:/etc/passwd",
    "caf\u{e9}.md",
    "re\u{301}sume\u{301}.md",
    "a\u{200b}b.md",
    "\u{202e}dm.txt",
    "\u{ff0e}\u{ff0e}\u{ff0f}file",
    "nested/.gitignore",
];

/// A skill with files of every kind, and secrets around it.
pub(crate) fn ground() -> Ground {
    let ground = Ground::new();
    ground.skill("pdf", "", "Fill in forms.\n");
    ground.write("skills/pdf/nested/SKILL.md", "---\nname: nested\ndescription: Use when nested.\n---\n");
    for path in ODD_NAMES.iter().chain(&["references/guide.md", "scripts/hello.sh"]) {
        ground.write(&format!("skills/pdf/{path}"), &text_of(path));
    }
    let secret = format!("#!/bin/sh\necho {SECRET}\n");
    for outside in ["secret.txt", "skills/secret.txt", "work/secret.txt", "outside/guide.md"] {
        ground.write(outside, &secret);
    }
    for inside in [".git/config", ".hg/hgrc", ".jj/repo", ".svn/entries", "nested/.git/config"] {
        ground.write(&format!("skills/pdf/{inside}"), &secret);
    }
    ground
}

/// Looks at the script that it is given, and runs nothing.
#[derive(Default)]
struct Looks(Mutex<Option<(PathBuf, Vec<u8>)>>);

impl Executor for Looks {
    fn run(&self, job: &Job, _: &mut dyn Sink) -> Result<RunOutcome, SandboxError> {
        let path = PathBuf::from(job.arguments.first().unwrap());
        let bytes = fs::read(&path).unwrap();
        *self.0.lock().unwrap() = Some((path, bytes));
        Err(SandboxError::Unsupported)
    }
}

/// What should come of a path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Then {
    /// The file of the skill with this path.
    Is(&'static str),
    Refused(PathProblem),
    /// There is no such file; what is nearest does not matter.
    Missing,
    /// It is not what it was when it was first used.
    Changed,
}

/// A session that has used nothing yet.
fn begin(ground: &Ground, looks: &Arc<Looks>) -> Session {
    let mut options = ground.options(Tier::Org);
    options.executor = Arc::clone(looks) as _;
    Session::start(options).unwrap()
}

/// What a skill was at first, and who tries to get at more.
pub(crate) struct Attempt {
    pub(crate) ground: Ground,
    pub(crate) session: Session,
    looks: Arc<Looks>,
    manifest: Manifest,
}

impl Attempt {
    /// A session that has the skill as it is now.
    pub(crate) fn on(ground: Ground) -> Self {
        let looks = Arc::new(Looks::default());
        let mut session = begin(&ground, &looks);
        session.activate("pdf").unwrap();
        let manifest = session.active().next().unwrap().manifest.clone();
        Self { ground, session, looks, manifest }
    }

    /// Reads and runs what a path means. `{top}` in it is the directory that everything is in.
    pub(crate) fn try_out(&mut self, path: &str, then: &Then) {
        let path = path.replace("{top}", self.ground.place.path().to_str().unwrap());
        let read = self.read(&path);
        assert!(is_as_expected(&read, then, false), "reading {path:?}: {read:?}, and not {then:?}");
        let run = self.run(&path);
        assert!(is_as_expected(&run, then, true), "running {path:?}: {run:?}, and not {then:?}");
    }

    /// The path and the bytes of what was read: only ever a file of the skill.
    pub(crate) fn read(&mut self, path: &str) -> Result<(String, Vec<u8>), SessionError> {
        let resource = checked(self.session.read("pdf", path))?;
        assert_eq!((resource.digest, resource.next_offset()), (Digest::of(&resource.bytes), None));
        self.is_of_the_skill(Path::new(&resource.path), &resource.bytes);
        Ok((resource.path, resource.bytes))
    }

    /// The same of what was run.
    pub(crate) fn run(&mut self, path: &str) -> Result<(String, Vec<u8>), SessionError> {
        let result = checked(self.session.run_script(self.ground.call("pdf", path), &mut ()));
        let Some((path, bytes)) = self.looks.0.lock().unwrap().take() else {
            return Err(result.unwrap_err());
        };
        assert!(!path.starts_with(self.ground.place.path()), "a copy runs, and not what others can change");
        let mut parts = path.components();
        assert!(parts.by_ref().any(|part| part.as_os_str() == "pdf"));
        let path = parts.as_path();
        self.is_of_the_skill(path, &bytes);
        Ok((path.to_str().unwrap().to_owned(), bytes))
    }

    fn is_of_the_skill(&self, path: &Path, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains(SECRET), "{} has what nobody may see", path.display());
        let file = self.manifest.get(path);
        assert_eq!(file.unwrap().digest, Digest::of(bytes), "{} is another", path.display());
    }
}

impl Drop for Attempt {
    /// Nor does the journal have the secret, whatever was recorded.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let records = self.ground.records();
            assert!(records.iter().all(|record| !record.event.to_string().contains(SECRET)));
        }
    }
}

/// What went wrong does not tell the secret either.
fn checked<T>(result: Result<T, SessionError>) -> Result<T, SessionError> {
    result.inspect_err(|error| assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}"))
}

fn is_as_expected(got: &Result<(String, Vec<u8>), SessionError>, then: &Then, is_run: bool) -> bool {
    match (got, then) {
        (Ok((path, _)), Then::Is(expected)) => path == expected,
        // What is not meant to be run is not.
        (Err(error), Then::Is(expected)) => {
            is_run && expected.ends_with("SKILL.md") && error.code() == "sandbox-not-a-script"
        }
        (Err(SessionError::Path { problem: PathProblem::NotFound(_), .. }), Then::Missing) => true,
        (Err(error @ SessionError::Path { problem, .. }), Then::Refused(expected)) => {
            problem == expected && error.code() == "resource-path"
        }
        (Err(error), Then::Changed) => error.code() == "skill-changed",
        _ => false,
    }
}

/// A test for each path, in a session that has the skill, and in one whose first use of it this is.
macro_rules! tricks {
    ($($name:ident: $path:expr => $then:expr;)*) => {$(
        #[test]
        fn $name() {
            let mut attempt = Attempt::on(ground());
            attempt.try_out(&$path, &$then);
            attempt.session = begin(&attempt.ground, &attempt.looks);
            attempt.try_out(&$path, &$then);
        }
    )*};
}

use PathProblem::{Absolute, LeadsUp, NotAFile, Odd, TooLong};
use Then::{Is, Missing, Refused};

tricks! {
    absolute: "/etc/passwd" => Refused(Absolute);
    absolute_to_the_secret: "{top}/secret.txt" => Refused(Absolute);
    absolute_to_an_own_file: "{top}/skills/pdf/SKILL.md" => Refused(Absolute);
    absolute_with_two_slashes: "//etc/passwd" => Refused(Absolute);
    absolute_and_up: "/../etc/passwd" => Refused(Absolute);
    the_root: "/" => Refused(Absolute);
    proc_root: "/proc/self/root{top}/secret.txt" => Refused(Absolute);
    proc_cwd: "/proc/self/cwd/secret.txt" => Refused(Absolute);
    dev_fd: "/dev/fd/0" => Refused(Absolute);
    dev_stdin: "/dev/stdin" => Refused(Absolute);
    proc_relative: "proc/self/environ" => Missing;

    up: ".." => Refused(LeadsUp);
    up_first: "../secret.txt" => Refused(LeadsUp);
    up_twice: "../../secret.txt" => Refused(LeadsUp);
    up_in_the_middle: "references/../../secret.txt" => Refused(LeadsUp);
    up_and_down_again: "../pdf/SKILL.md" => Refused(LeadsUp);
    up_within_the_skill: "references/../SKILL.md" => Refused(LeadsUp);
    up_last: "references/.." => Refused(LeadsUp);
    up_after_a_dot: "./../secret.txt" => Refused(LeadsUp);
    up_after_a_file: "SKILL.md/../../secret.txt" => Refused(LeadsUp);
    up_after_nothing: "nowhere/../../secret.txt" => Refused(LeadsUp);
    up_with_doubled_slashes: "..//..//secret.txt" => Refused(LeadsUp);
    up_with_a_trailing_slash: "../" => Refused(LeadsUp);
    up_with_a_trailing_dot: "../." => Refused(LeadsUp);
    up_a_hundred_times: format!("{}etc/passwd", "../".repeat(100)) => Refused(LeadsUp);
    up_in_version_control: ".git/../../secret.txt" => Refused(LeadsUp);

    empty: "" => Refused(NotAFile);
    dot: "." => Refused(NotAFile);
    dot_slash: "./" => Refused(NotAFile);
    many_dots: "././././." => Refused(NotAFile);
    a_directory: "references" => Refused(NotAFile);
    a_directory_with_a_slash: "references/" => Refused(NotAFile);
    a_file_taken_for_a_directory: "SKILL.md/guide.md" => Refused(NotAFile);
    dot_first: "./SKILL.md" => Is("SKILL.md");
    dot_in_the_middle: "references/./guide.md" => Is("references/guide.md");
    doubled_slashes: "references//guide.md" => Is("references/guide.md");
    trailing_slash: "references/guide.md/" => Is("references/guide.md");
    trailing_slash_and_dot: "references/guide.md/." => Is("references/guide.md");
    two_thousand_dots: format!("{}SKILL.md", "./".repeat(2_000)) => Is("SKILL.md");
    trailing_dot: "references/guide.md." => Missing;
    trailing_dots: "SKILL.md..." => Missing;
    trailing_blank: "SKILL.md " => Missing;
    leading_blank: " SKILL.md" => Missing;
    a_stream_of_a_file: "SKILL.md::$DATA" => Missing;

    percent_encoded: "%2e%2e%2fsecret.txt" => Missing;
    percent_encoded_slash: "..%2fsecret.txt" => Missing;
    percent_encoded_dots: "%2e%2e/secret.txt" => Missing;
    percent_encoded_twice: "%252e%252e%252fsecret.txt" => Missing;
    percent_encoded_overlong: "%c0%ae%c0%ae%c0%afsecret.txt" => Missing;
    percent_encoded_nul: "SKILL.md%00.png" => Missing;
    percent_encoded_backslash: "..%5csecret.txt" => Missing;
    percent_u: "%u002e%u002e/secret.txt" => Missing;
    an_entity: "&#46;&#46;&#47;secret.txt" => Missing;
    nul: "SKILL.md\0" => Refused(Odd);
    nul_and_an_ending: "../secret.txt\0.png" => Refused(Odd);
    newline: "SKILL.md\n" => Refused(Odd);
    newline_and_up: "x\n../secret.txt" => Refused(Odd);
    carriage_return: "SKILL.md\r" => Refused(Odd);
    tab: "\tSKILL.md" => Refused(Odd);
    escape_sequence: "\u{1b}[2JSKILL.md" => Refused(Odd);
    delete: "SKILL.md\u{7f}" => Refused(Odd);
    next_line: "SKILL.md\u{85}" => Refused(Odd);

    backslash: "references\\guide.md" => Refused(Odd);
    backslash_and_up: "..\\secret.txt" => Refused(Odd);
    a_drive: "C:\\Windows\\win.ini" => Refused(Odd);
    a_drive_with_slashes: "C:/Windows/win.ini" => Refused(NotAFile);
    another_drive: "D:/secret.txt" => Missing;
    unc: "\\\\server\\share\\secret.txt" => Refused(Odd);
    unc_device: "\\\\?\\C:\\secret.txt" => Refused(Odd);
    unc_with_slashes: "//server/share/secret.txt" => Refused(Absolute);
    tilde: "~/secret.txt" => Refused(NotAFile);
    tilde_and_a_user: "~root/secret.txt" => Missing;
    a_variable: "${HOME}/secret.txt" => Missing;
    a_command: "$(cat ..)/secret.txt" => Missing;
    a_pattern: "references/*" => Missing;
    an_option: "--help" => Missing;
    a_file_url: "file:///{top}/secret.txt" => Missing;
    a_skill_url: "skill://pdf/SKILL.md" => Missing;
    a_web_url: "http://localhost/secret.txt" => Missing;

    longer_than_any_path: "a".repeat(5_000) => Refused(TooLong);
    as_long_as_a_path_may_be: "a/".repeat(2_048) => Missing;
    a_thousand_deep: format!("{}secret.txt", "a/".repeat(1_000)) => Missing;
    a_part_longer_than_any_name: "a".repeat(300) => Refused(TooLong);
    a_directory_longer_than_any_name: format!("{}/guide.md", "a".repeat(300)) => Refused(TooLong);
    a_part_as_long_as_a_name_may_be: "a".repeat(255) => Missing;

    another_case: "skill.MD" => Missing;
    another_case_of_a_directory: "References/guide.md" => Missing;
    decomposed_for_composed: "cafe\u{301}.md" => Missing;
    composed_for_decomposed: "r\u{e9}sum\u{e9}.md" => Missing;
    full_width_dots: "\u{ff0e}\u{ff0e}/secret.txt" => Missing;
    full_width_slash: "..\u{ff0f}secret.txt" => Missing;
    two_dot_leader: "\u{2025}/secret.txt" => Missing;
    division_slash: "..\u{2215}secret.txt" => Missing;
    full_width_backslash: "..\u{ff3c}secret.txt" => Missing;
    zero_width: "SKILL\u{200b}.md" => Missing;
    byte_order_mark: "\u{feff}SKILL.md" => Missing;
    right_to_left: "\u{202e}dm.LLIKS" => Missing;
    line_separator: "SKILL.md\u{2028}" => Missing;

    named_with_two_dots_first: "..foo" => Is("..foo");
    named_with_two_dots_twice: "..dir/..bar" => Is("..dir/..bar");
    named_three_dots: "..." => Is("...");
    named_with_two_dots_inside: "a..b" => Is("a..b");
    named_like_options: "-rf" => Is("-rf");
    named_like_a_device: "con" => Is("con");
    named_with_a_dot_first: ".hidden" => Is(".hidden");
    named_blank: " " => Is(" ");
    named_tilde: "~" => Is("~");
    named_like_a_pattern: "*" => Is("*");
    named_like_a_variable: "$HOME" => Is("$HOME");
    named_like_a_drive: "C:" => Is("C:");
    named_percent_encoded: "%2e%2e/file" => Is("%2e%2e/file");
    named_like_a_url: "file:///etc/passwd" => Is("file:/etc/passwd");
    named_composed: "caf\u{e9}.md" => Is("caf\u{e9}.md");
    named_decomposed: "re\u{301}sume\u{301}.md" => Is("re\u{301}sume\u{301}.md");
    named_with_zero_width: "a\u{200b}b.md" => Is("a\u{200b}b.md");
    named_right_to_left: "\u{202e}dm.txt" => Is("\u{202e}dm.txt");
    named_full_width: "\u{ff0e}\u{ff0e}\u{ff0f}file" => Is("\u{ff0e}\u{ff0e}\u{ff0f}file");

    version_control: ".git/config" => Missing;
    version_control_with_a_dot: "./.git//config" => Missing;
    version_control_below: "nested/.git/config" => Missing;
    version_control_of_others: ".hg/hgrc" => Missing;
    version_control_of_yet_others: ".svn/entries" => Missing;
    version_control_itself: ".git" => Refused(NotAFile);
    its_instructions: "SKILL.md" => Is("SKILL.md");
    a_nested_skill: "nested/SKILL.md" => Is("nested/SKILL.md");
}

/// The secret is open here, so that there is a path to it that names only this process.
#[test]
fn a_descriptor_of_this_process() {
    let mut attempt = Attempt::on(ground());
    let secret = File::open(attempt.ground.path("secret.txt")).unwrap();
    let number = secret.as_raw_fd();
    for way in ["proc/self", "dev", "proc/thread-self"] {
        attempt.try_out(&format!("/{way}/fd/{number}"), &Refused(Absolute));
        attempt.try_out(&format!("{way}/fd/{number}"), &Missing);
    }
}

#[test]
fn nested_files_can_be_switched_off() {
    let ground = ground();
    let mut options = ground.options(Tier::Org);
    options.nested_resources = false;
    let mut session = Session::start(options).unwrap();
    for nested in ["references/guide.md", "./references//guide.md", "references/nowhere", ".git/config"] {
        let error = session.read("pdf", nested).unwrap_err();
        let is_said = matches!(error, SessionError::Path { problem: PathProblem::Nested, .. });
        assert!(is_said && error.code() == "resource-path", "{nested}: {error:?}");
    }
    assert!(session.read("pdf", "./SKILL.md/").is_ok());
}

/// Pieces that paths, and tricks with them, are made of.
const PIECES: &str = "(\\.|\\.\\.|/|//|\\\\|SKILL\\.md|references|guide\\.md|scripts|hello\\.sh|secret\\.txt|outside|\\.git|config|inside|link|out|pdf|skills|%2e|%2f|~|\u{0}|\u{200b}|\\PC){0,8}";

#[test]
fn no_path_at_all_leads_out() {
    let ground = ground();
    for (link, target) in [
        ("link", "../../secret.txt"),
        ("out", "../../outside"),
        ("inside", "references"),
        ("references/link", "/"),
    ] {
        std::os::unix::fs::symlink(target, ground.path("skills/pdf").join(link)).unwrap();
    }
    let attempt = Mutex::new(Attempt::on(ground));
    let seen = Mutex::new([0_usize; 2]);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 4_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let paths = prop_oneof![8 => PIECES.prop_map(|path| path), 1 => any::<String>()];
    let result = runner.run(&paths, |path| {
        let mut attempt = attempt.lock().unwrap();
        let (read, run) = (attempt.read(&path), attempt.run(&path));
        let is_read = read.is_ok();
        seen.lock().unwrap()[usize::from(is_read)] += 1;
        // Whoever may read may run, but for what is no script.
        let is_same = match (read, run) {
            (Ok(read), Ok(run)) => read == run,
            (Ok((path, _)), Err(error)) => {
                path.ends_with("SKILL.md") && error.code() == "sandbox-not-a-script"
            }
            (Err(read), Err(run)) => read.code() == run.code() && read.to_string() == run.to_string(),
            (Err(_), Ok(_)) => false,
        };
        prop_assert!(is_same, "{:?}", path);
        Ok(())
    });
    result.unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.iter().all(|count| *count > 10), "some are read and some are not: {seen:?}");
}
