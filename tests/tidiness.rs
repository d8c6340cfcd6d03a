//! Repository rules that a program can check: file lengths, first lines, and content that must not be
//! committed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod names;
mod sentences;
mod text;
mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use metier_tests::top;

/// Longer files must be split.
const LINES_MAX: usize = 700;

/// All files of the repository: those tracked by git, or without git all files except build output.
fn files() -> Vec<PathBuf> {
    let tracked = Command::new("git").args(["ls-files", "-z"]).current_dir(top()).output();
    if let Ok(output) = tracked
        && output.status.success()
    {
        let names = String::from_utf8(output.stdout).unwrap();
        return names.split('\0').filter(|name| !name.is_empty()).map(|name| top().join(name)).collect();
    }
    let mut files = Vec::new();
    walk(&top(), &mut files);
    files
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with(".git") {
            walk(&path, files);
        } else if path.is_file() {
            files.push(path);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let rust = files().into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let found: Vec<_> =
        rust.filter_map(|path| fs::read_to_string(&path).ok().map(|text| (path, text))).collect();
    assert!(found.len() > 20, "only {} sources found", found.len());
    found
}

#[test]
fn sources_are_short_and_say_what_they_own() {
    for (path, text) in sources() {
        let path = path.display();
        assert!(text.starts_with("//! "), "{path} does not begin with what it owns");
        assert!(text.lines().count() <= LINES_MAX, "{path} has more than {LINES_MAX} lines");
    }
}

#[test]
fn modules_have_names() {
    for path in files() {
        assert!(!path.ends_with("mod.rs"), "{} should be named for what it owns", path.display());
    }
}

#[test]
fn nothing_is_left_to_do() {
    // Put together here, so that this file is not found itself.
    let stubs = [("todo", "!("), ("unimplemented", "!("), ("#[", "ignore")].map(|(a, b)| format!("{a}{b}"));
    for (path, text) in sources() {
        // What only a script of its own can run says which; a helper process says which tests start it.
        let is_explained = |line: &&str| {
            line.contains("ignore = \"needs ") && line.contains("scripts/")
                || line.contains("ignore = \"started by ")
        };
        let text: String = text.lines().filter(|line| !is_explained(line)).collect();
        for stub in &stubs {
            assert!(!text.contains(stub.as_str()), "{} has a {stub}", path.display());
        }
    }
}

/// Ways to read the environment and the clock.
const AMBIENT: &[&str] = &[
    "env::var",
    "env::args",
    "current_dir()",
    "temp_dir()",
    "SystemTime::now",
    "Instant::now",
    "disallowed_methods",
];

/// Files outside of metier-host that may use some of them, and why.
const AMBIENT_EXCEPTIONS: &[(&str, &str)] = &[
    ("metier-catalog/src/watch.rs", "a stopwatch: how long to wait for more changes"),
    ("metier-harness/src/stopwatch.rs", "a stopwatch: deadlines and silence of agents"),
    ("metier-mcp/src/approval.rs", "a stopwatch: which questions are too old"),
    ("metier-mcp/src/http/gate.rs", "a stopwatch: requests per second"),
    ("metier-mcp/src/http/streams.rs", "a stopwatch: which answers are too old to be kept"),
    ("metier-sandbox/src/launcher.rs", "the launcher is told by its name what it is"),
    ("metier-sandbox/src/local.rs", "the launcher is started under a name of its own"),
    ("metier-store/src/http.rs", "a stopwatch: when a download has taken too long"),
    ("metier-store/src/source/git/program.rs", "a stopwatch: when git has taken too long"),
    ("metier-store/src/staging.rs", "dry runs work where temporary files go"),
];

#[test]
fn only_the_host_reads_the_environment_and_the_clock() {
    let crates = top().join("crates");
    let mut excused = Vec::new();
    for (path, text) in sources() {
        let Ok(path) = path.strip_prefix(&crates) else { continue };
        let is_source = path.components().nth(1).is_some_and(|part| part.as_os_str() == "src");
        if !is_source || path == Path::new("metier-host/src/environment.rs") {
            continue;
        }
        // Examples in documentation are programs of their own.
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        let Some(found) = AMBIENT.iter().find(|way| code.contains(**way)) else { continue };
        let exception = AMBIENT_EXCEPTIONS.iter().find(|(file, _)| path == Path::new(file));
        assert!(exception.is_some(), "{} uses {found}; take it from the host's environment", path.display());
        excused.extend(exception.map(|(file, _)| *file));
    }
    for (file, reason) in AMBIENT_EXCEPTIONS {
        assert!(excused.contains(file), "{file} needs no exception any more ({reason})");
    }
}

/// Whether a text has a path that begins like this, and not one that has it further on, such as `/proc/self` before it.
fn names(text: &str, home: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.match_indices(home).any(|(at, _)| !text[..at].ends_with(is_name))
}

#[test]
fn no_machine_is_named() {
    // Homes of people who work on this machine; examples may have homes of their own.
    #[expect(clippy::disallowed_methods, reason = "whose home must not be named is known here only")]
    let own = std::env::var("HOME").ok().filter(|home| home.len() > 1);
    let others = ["/home", "/Users"].into_iter().flat_map(fs::read_dir).flatten().flatten();
    let others = others.filter_map(|entry| entry.path().into_os_string().into_string().ok());
    let homes: Vec<String> = own.into_iter().chain(others).map(|home| format!("{home}/")).collect();
    for path in files() {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let is_data = path.components().any(|part| part.as_os_str() == "vectors");
        for home in homes.iter().filter(|_| !is_data) {
            assert!(!names(&text, home), "{} names {home}", path.display());
        }
    }
}

/// Where suites are listed by hand, one that is not listed would never run.
#[test]
fn every_suite_is_part_of_a_test_program() {
    let mut listed = 0;
    for manifest in files().into_iter().filter(|path| path.ends_with("Cargo.toml")) {
        let text = fs::read_to_string(&manifest).unwrap();
        let suites = manifest.with_file_name("tests");
        if !text.contains("autotests = false") || !suites.is_dir() {
            continue;
        }
        let entries = fs::read_dir(&suites).unwrap().map(|entry| entry.unwrap().path());
        let roots: Vec<_> =
            entries.filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect();
        let sources: String = roots.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        for name in roots.iter().filter_map(|path| path.file_stem()?.to_str()) {
            let is_listed =
                text.contains(&format!("name = \"{name}\"")) || sources.contains(&format!("\nmod {name};\n"));
            assert!(is_listed, "{}: `{name}` is in no test program", manifest.display());
            listed += 1;
        }
    }
    assert!(listed > 8, "only {listed} suites found");
}
