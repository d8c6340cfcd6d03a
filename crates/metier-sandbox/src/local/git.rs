//! Repositories of git as something that git obeys: which commands their configuration, hooks and todo lists would make it run.
//!
//! Nothing here runs git. Configuration is read as git reads it, and what is not known to be harmless counts as a command:
//! git has many settings that are one, and gets new ones.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use metier_skill::Digest;
use rustix::fs::{CWD, Dir, Mode, OFlags};
use rustix::io::Errno;

use super::beneath::{self, open};
use crate::plan::Raw;

/// The longest file that is read. Git's own are far shorter; a longer one counts as a command.
const LONGEST: u64 = 1 << 20;
/// What is noted of what cannot be read. It counts as a command.
const CLOSED: &[u8] = b"it cannot be read";
/// How deep repositories of submodules are looked for: their names can have slashes.
const DEPTH: usize = 4;
/// A repository's files of settings.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];
/// How many files are included by another.
pub(super) const INCLUDED: usize = 10;

/// What lies in a repository and makes git run commands or look elsewhere, for the top of a work directory that is bare.
pub(super) const OF_BARE: &[&str] =
    &["hooks", "config", "config.worktree", "commondir", "info", "modules", "worktrees"];
/// Lists of what git is still to do, which can have commands in them.
pub(super) const TODOS: &[&str] = &["rebase-merge/git-rebase-todo", "sequencer/todo"];

/// A setting, as git reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    section: String,
    subsection: Option<String>,
    name: String,
    pub(super) value: String,
}

/// What git would do because of a repository, each as a digest: empty for one that only keeps versions.
///
/// `path` is the repository's, beneath `work`: a directory `.git`, or a bare one.
pub(super) fn commands(work: &OwnedFd, path: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in SETTINGS {
        let of_file = settings_of(work, &path.join(name), &mut 0);
        let unknown = of_file.into_iter().filter(|setting| !setting.as_ref().is_ok_and(is_harmless));
        for setting in unknown {
            if let Ok(setting) = &setting {
                found.extend(hooks_named_by(work, path, setting));
            }
            found.insert(mark(&path.join(name), format!("{setting:?}").as_bytes()));
        }
    }
    found.extend(hooks(work, &path.join("hooks")));
    // It would have git read everything from elsewhere.
    let elsewhere = path.join("commondir");
    if exists(work, &elsewhere) {
        found.insert(mark(&elsewhere, format!("{:?}", read(work, &elsewhere)).as_bytes()));
    }
    found.extend(modules(work, &path.join("modules"), DEPTH));
    found
}

/// The same for the repositories of submodules, some levels deep.
fn modules(work: &OwnedFd, path: &Path, depth: usize) -> BTreeSet<String> {
    let Ok(below) = modules_in(work, path, depth) else { return BTreeSet::from([mark(path, CLOSED)]) };
    let of_module = |(path, is_read): (PathBuf, bool)| {
        if is_read { commands(work, &path) } else { BTreeSet::from([mark(&path, CLOSED)]) }
    };
    below.into_iter().flat_map(of_module).collect()
}

/// Repositories of submodules, and directories there that cannot be read, which is told with each.
fn modules_in(work: &OwnedFd, path: &Path, depth: usize) -> Result<Vec<(PathBuf, bool)>, Errno> {
    let mut found = Vec::new();
    for name in names(work, path)? {
        let below = path.join(&name);
        if exists(work, &below.join("HEAD")) {
            found.push((below, true));
        } else if depth > 0 {
            found.extend(modules_in(work, &below, depth - 1).unwrap_or_else(|_| vec![(below, false)]));
        }
    }
    Ok(found)
}

/// The files of settings of a repository and of its submodules that there are, whether or not they run anything.
pub(super) fn files(work: &OwnedFd, path: &Path) -> BTreeSet<Raw> {
    let own = SETTINGS.map(|name| path.join(name)).into_iter().filter(|path| exists(work, path));
    let mut found: BTreeSet<Raw> = own.map(Raw::from).collect();
    let modules = modules_in(work, &path.join("modules"), DEPTH).unwrap_or_default();
    found.extend(modules.iter().filter(|(_, is_read)| *is_read).flat_map(|(path, _)| files(work, path)));
    found
}

/// The commands in a list of what git is to do.
pub(super) fn commands_to_do(work: &OwnedFd, path: &Path) -> BTreeSet<String> {
    if !exists(work, path) {
        return BTreeSet::new();
    }
    let Some(text) = read(work, path) else { return BTreeSet::from([mark(path, CLOSED)]) };
    let is_command = |line: &&[u8]| {
        let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        matches!(word, b"exec" | b"x")
    };
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(is_command).map(|line| mark(path, line)).collect()
}

/// A path without `.` and `..`, by its text alone.
pub(super) fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    Some(plain)
}

pub(super) fn is_hooks_path(setting: &Setting) -> bool {
    (setting.section.as_str(), setting.name.as_str()) == ("core", "hookspath")
}

pub(super) fn is_include(setting: &Setting) -> bool {
    matches!(setting.section.as_str(), "include" | "includeif") && setting.name == "path"
}

/// The settings of a file and of those that it includes. What cannot be read as git reads it is an error each.
fn settings_of(work: &OwnedFd, path: &Path, depth: &mut usize) -> Vec<Result<Setting, String>> {
    if !exists(work, path) {
        return Vec::new();
    }
    let Some(text) = read(work, path) else { return vec![Err("it cannot be read".to_owned())] };
    let Some(settings) = parse(&text) else { return vec![Err(Digest::of(&text).hex())] };
    let mut all = Vec::new();
    for setting in settings {
        if is_include(&setting) && *depth < INCLUDED {
            *depth += 1;
            let target = path.parent().unwrap_or(Path::new("")).join(&setting.value);
            all.extend(plain(&target).map(|target| settings_of(work, &target, depth)).unwrap_or_default());
        }
        all.push(Ok(setting));
    }
    all
}

/// The hooks in the directory that a setting names, if it does and that is in the work directory.
fn hooks_named_by(work: &OwnedFd, repository: &Path, setting: &Setting) -> BTreeSet<String> {
    if !is_hooks_path(setting) {
        return BTreeSet::new();
    }
    let top = if repository.ends_with(".git") { repository.parent() } else { Some(repository) };
    let target = plain(&top.unwrap_or(Path::new("")).join(&setting.value));
    target.map(|target| hooks(work, &target)).unwrap_or_default()
}

/// Every hook in a directory; the samples that git puts there are none.
fn hooks(work: &OwnedFd, path: &Path) -> BTreeSet<String> {
    let is_hook = |name: &PathBuf| name.extension() != Some(OsStr::new("sample"));
    let Ok(names) = names(work, path) else { return BTreeSet::from([mark(path, CLOSED)]) };
    let hooks = names.into_iter().filter(is_hook);
    let hook = |name: PathBuf| {
        let path = path.join(name);
        mark(&path, format!("{:?}", read(work, &path)).as_bytes())
    };
    let mut found: BTreeSet<String> = hooks.map(hook).collect();
    if is_link(work, path) {
        found.insert(mark(path, b"elsewhere"));
    }
    found
}

/// Whether a setting is known to run nothing and to lead nowhere. What git itself writes is among these.
fn is_harmless(setting: &Setting) -> bool {
    // `ext::command` and the like are addresses that run something; a `-` could be an option.
    let is_plain = || !setting.value.contains("::") && !setting.value.starts_with('-');
    let (section, name) = (setting.section.as_str(), setting.name.as_str());
    match (section, setting.subsection.is_some()) {
        ("core", false) => CORE.contains(&name),
        ("extensions", false) => EXTENSIONS.contains(&name),
        ("remote", true) => REMOTE.contains(&name) && is_plain(),
        ("branch", true) => BRANCH.contains(&name) && is_plain(),
        ("submodule", _) => matches!(name, "active" | "url" | "recurse") && is_plain(),
        ("user", false) => matches!(name, "name" | "email"),
        ("init", false) => name == "defaultbranch",
        ("push", false) => matches!(name, "default" | "autosetupremote" | "followtags"),
        ("pull", false) => matches!(name, "rebase" | "ff"),
        ("fetch", false) => matches!(name, "prune" | "prunetags" | "parallel"),
        ("merge", false) => matches!(name, "ff" | "conflictstyle" | "renamelimit" | "renames"),
        ("diff", false) => matches!(name, "algorithm" | "renames" | "renamelimit" | "noprefix"),
        ("rerere", false) => matches!(name, "enabled" | "autoupdate"),
        ("lfs", false) => name == "repositoryformatversion",
        ("gc", false) => matches!(name, "auto" | "autodetach" | "autopacklimit"),
        ("index", false) => name == "version",
        ("color" | "advice" | "feature", false) => true,
        _ => false,
    }
}

const CORE: &[&str] = &[
    "abbrev",
    "autocrlf",
    "bare",
    "bigfilethreshold",
    "commitgraph",
    "compression",
    "eol",
    "filemode",
    "ignorecase",
    "logallrefupdates",
    "longpaths",
    "multipackindex",
    "precomposeunicode",
    "preloadindex",
    "protecthfs",
    "protectntfs",
    "quotepath",
    "repositoryformatversion",
    "safecrlf",
    "sharedrepository",
    "sparsecheckout",
    "sparsecheckoutcone",
    "symlinks",
    "untrackedcache",
];
const EXTENSIONS: &[&str] = &[
    "compatobjectformat",
    "noop",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "worktreeconfig",
];
const REMOTE: &[&str] = &[
    "fetch",
    "followremotehead",
    "mirror",
    "partialclonefilter",
    "promisor",
    "prune",
    "prunetags",
    "push",
    "pushurl",
    "tagopt",
    "url",
];
const BRANCH: &[&str] = &["description", "merge", "pushremote", "rebase", "remote"];

/// Reads settings; nothing at all where git would complain.
pub(super) fn parse(text: &[u8]) -> Option<Vec<Setting>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut rest = text.trim_start_matches('\u{feff}');
    let (mut section, mut subsection): (Option<String>, Option<String>) = (None, None);
    let mut settings = Vec::new();
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Some(settings) };
        if matches!(first, '#' | ';') {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if first == '[' {
            let (head, after) = header(&rest[1..])?;
            (section, subsection, rest) = (Some(head.0), head.1, after);
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
            let name = rest[..end].to_ascii_lowercase();
            if name.is_empty() {
                return None;
            }
            let after = rest[end..].trim_start_matches([' ', '\t']);
            let (value, after) = match after.strip_prefix('=') {
                Some(after) => value(after)?,
                // Without a value it is true.
                None if after.is_empty() || after.starts_with(['\n', '\r', '#', ';']) => {
                    ("true".to_owned(), after)
                }
                None => return None,
            };
            rest = after;
            settings.push(Setting { section: section.clone()?, subsection: subsection.clone(), name, value });
        }
    }
}

/// A section's name and subsection, and what comes after its `]`.
fn header(text: &str) -> Option<((String, Option<String>), &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.'))?;
    let (name, rest) = (text[..end].to_ascii_lowercase(), text[end..].trim_start_matches([' ', '\t']));
    if let Some(rest) = rest.strip_prefix(']') {
        // The old way to write a subsection.
        let (section, subsection) = match name.split_once('.') {
            Some((section, subsection)) => (section.to_owned(), Some(subsection.to_owned())),
            None => (name, None),
        };
        return Some(((section, subsection), rest));
    }
    let mut subsection = String::new();
    let mut letters = rest.strip_prefix('"')?.char_indices();
    loop {
        match letters.next()? {
            (index, '"') => {
                let rest = rest[1 + index + 1..].trim_start_matches([' ', '\t']).strip_prefix(']')?;
                return Some(((name, Some(subsection)), rest));
            }
            (_, '\n') => return None,
            (_, '\\') => subsection.push(letters.next()?.1),
            (_, letter) => subsection.push(letter),
        }
    }
}

/// A value with its quotes and escapes resolved, and what comes after its line.
fn value(text: &str) -> Option<(String, &str)> {
    let (mut value, mut is_quoted) = (String::new(), false);
    let mut letters = text.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            '\n' if is_quoted => return None,
            '\n' => return Some((value.trim().to_owned(), &text[index + 1..])),
            '"' => is_quoted = !is_quoted,
            '\\' => match letters.next()?.1 {
                '\n' => {}
                '\r' if text[index..].starts_with("\\\r\n") => {
                    letters.next();
                }
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'b' => value.push('\u{8}'),
                other @ ('"' | '\\') => value.push(other),
                _ => return None,
            },
            '#' | ';' if !is_quoted => {
                let rest = text[index..].split_once('\n').map_or("", |(_, rest)| rest);
                return Some((value.trim().to_owned(), rest));
            }
            other => value.push(other),
        }
    }
    (!is_quoted).then(|| (value.trim().to_owned(), ""))
}

/// A name for something in a file, by which it is known again.
pub(super) fn mark(path: &Path, bytes: &[u8]) -> String {
    format!("{} {}", &Digest::of(bytes).hex()[..32], escaped(path))
}

/// The files that marks are of.
pub(super) fn files_of<'a>(marks: impl Iterator<Item = &'a String>) -> BTreeSet<PathBuf> {
    marks.filter_map(|mark| file_of(mark)).collect()
}

/// The file that a mark is of.
pub(super) fn file_of(mark: &str) -> Option<PathBuf> {
    mark.split_once(' ').map(|(_, path)| unescaped(path))
}

/// A path as text from which its bytes can be had again, since a script chooses them.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        text.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02x}")));
    }
    text
}

fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend(parts.next().unwrap_or_default().bytes());
    for part in parts {
        let byte = part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.extend(byte);
        bytes.extend(part.get(2..).unwrap_or_default().bytes());
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Whether there is anything, a link included.
fn exists(work: &OwnedFd, path: &Path) -> bool {
    !matches!(open(work, path, OFlags::PATH), Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR))
}

pub(super) fn is_link(work: &OwnedFd, path: &Path) -> bool {
    matches!(open(work, path, OFlags::PATH), Err(rustix::io::Errno::LOOP))
}

/// A file beneath the work directory, if it is an ordinary one of ordinary length.
pub(super) fn read(work: &OwnedFd, path: &Path) -> Option<Vec<u8>> {
    contents(open(work, path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).ok()?)
}

/// A file anywhere.
pub(super) fn read_outside(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    contents(rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?)
}

pub(super) fn read_path(path: &Path) -> Option<PathBuf> {
    read_outside(path).map(|text| PathBuf::from(OsStr::from_bytes(text.trim_ascii())))
}

fn contents(file: OwnedFd) -> Option<Vec<u8>> {
    let file = std::fs::File::from(file);
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The names in a directory beneath the work directory; an error if they cannot be read.
fn names(work: &OwnedFd, path: &Path) -> Result<Vec<PathBuf>, Errno> {
    let Some(directory) = beneath::directory(work, path)? else { return Ok(Vec::new()) };
    let entries = Dir::new(directory)?;
    let names = entries.flatten().map(|entry| PathBuf::from(OsStr::from_bytes(entry.file_name().to_bytes())));
    Ok(names.filter(|name| !matches!(name.to_str(), Some("." | ".."))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harmless(text: &str) -> bool {
        parse(text.as_bytes()).is_some_and(|settings| settings.iter().all(is_harmless))
    }

    #[test]
    fn what_git_itself_writes_is_harmless() {
        assert!(harmless("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"));
        assert!(harmless(
            "[remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
             [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n# done\n[user] name = \"A; B\" ; yes\n"
        ));
        assert!(harmless(""));
    }

    #[test]
    fn what_runs_something_is_not_however_it_is_written() {
        for text in [
            "[core]\nfsmonitor = evil",
            "[CORE] FSMonitor = evil",
            "[core]fsmonitor=evil",
            "[core]\nfsmonitor",
            "[core]\nbare = false \\\n[core] fsmonitor = evil\n[core]\nfsmonitor = evil",
            "[core]\n  sshCommand = evil",
            "[alias]\nst = !evil",
            "[include]\npath = ../x",
            "[includeIf \"gitdir:/\"]\npath = x",
            "[filter \"x\"]\nclean = evil",
            "[remote \"x\"]\nurl = ext::sh -c evil",
            "[remote \"x\"]\nuploadpack = evil",
            "[credential]\nhelper = !evil",
            "[diff.x]\ntextconv = evil",
            "[hook \"x\"]\ncommand = evil",
            // Not what git takes, so that it is not known what it means.
            "[core\nfsmonitor = evil",
            "fsmonitor = evil",
            "[core]\nbare = \"open",
        ] {
            assert!(!harmless(text), "{text}");
        }
    }

    /// A script chooses the bytes of names.
    #[test]
    fn a_mark_says_exactly_which_file_it_is_of() {
        for name in [&b"sub/.git/config"[..], b"a b%20c%/d", b"b\xffd\xfe/\xc3\xa4", b"%ff", b"new\nline"] {
            let path = Path::new(OsStr::from_bytes(name));
            assert_eq!(file_of(&mark(path, b"x")).as_deref(), Some(path));
        }
    }

    #[test]
    fn values_are_read_as_git_reads_them() {
        let one = |text: &str| parse(text.as_bytes()).unwrap().pop().unwrap();
        assert_eq!(one("[a \"b\\\"c\"]\nD = x # y").subsection.as_deref(), Some("b\"c"));
        assert_eq!(one("[a]\nd = x # y\n").value, "x");
        assert_eq!(one("[a]\nd = \"x # y\" z\\\n  w\n").value, "x # y z  w");
        assert_eq!(one("[a]\nd = x\\ty").value, "x\ty");
    }
}
