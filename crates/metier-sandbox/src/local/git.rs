//! Git repositories: which commands their configuration, hooks and todo lists make git run.
//!
//! This module never runs git. Configuration is parsed as git does (`gitconfig.rs`), and every setting that is not
//! known to be harmless counts as a command, because git has many settings that run commands, and gets new ones.

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr, OsString};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use metier_skill::Digest;
use rustix::fs::{CWD, Dir, Mode, OFlags};
use rustix::io::Errno;

use super::beneath::{self, open};
use super::gitconfig::{self, Role, Setting, is_hooks_path, is_include, parse};
use crate::links::{Unreachable, resolve};
use crate::plan::Raw;

/// The maximum length of a file that is read. Git's own files are far shorter; a longer one counts as a command.
const LONGEST: u64 = 1 << 20;
/// The mark of a file that cannot be read. It counts as a command.
const CLOSED: &[u8] = b"it cannot be read";
/// How deep repositories of submodules are searched: their names can have slashes.
const DEPTH: usize = 4;
/// A repository's settings files.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];
/// The maximum number of nested includes.
pub(super) const INCLUDED: usize = 10;

/// Files of a repository that make git run commands or look elsewhere, for a work directory that is a bare repository.
pub(super) const OF_BARE: &[&str] = &[
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "info",
    "modules",
    "worktrees",
    "remotes",
    "branches",
];
/// Directories of a repository with one remote address per file. Git no longer writes them.
const ADDRESSES: [&str; 2] = ["remotes", "branches"];
/// Prefixes of marks of settings: those that may run something, and those that are addresses.
const SETTING: &str = "setting:";
const ADDRESS: &str = "address:";
const LOCAL: &str = "local:";
/// Permissions of which git requires one for a hook.
const EXECUTABLE: Mode = Mode::XUSR.union(Mode::XGRP).union(Mode::XOTH);
/// Todo lists of git, which can contain commands.
pub(super) const TODOS: &[&str] = &["rebase-merge/git-rebase-todo", "sequencer/todo"];

/// A work directory: a handle and its path.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) work: &'a OwnedFd,
    pub(super) base: &'a Path,
}

/// What git would do because of a repository, as a set of marks. A repository that only stores versions has no commands
/// among them ([`is_command`]).
///
/// `path` is the repository's path beneath the work directory: a directory `.git`, or a bare repository.
pub(super) fn commands(at: At<'_>, path: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let files = SETTINGS.map(|name| settings_of(at, &path.join(name), &mut 0));
    let all: Vec<(PathBuf, Result<Setting, String>)> = files.into_iter().flatten().collect();
    let remotes = gitconfig::remotes(all.iter().filter_map(|(_, setting)| setting.as_ref().ok()));
    for (file, setting) in &all {
        let role = setting.as_ref().map_or(Role::Command, |setting| gitconfig::role(setting, &remotes));
        let prefix = match role {
            Role::Harmless => continue,
            Role::Address => ADDRESS,
            Role::Local => LOCAL,
            Role::Command => SETTING,
        };
        if let Ok(setting) = setting {
            found.extend(hooks_named_by(at, path, setting));
        }
        found.insert(format!("{prefix}{}", mark(file, format!("{setting:?}").as_bytes())));
    }
    found.extend(hooks(at, &path.join("hooks")));
    for name in ADDRESSES {
        found.extend(hooks(at, &path.join(name)));
    }
    // It would make git read everything from elsewhere.
    let elsewhere = path.join("commondir");
    if exists(at.work, &elsewhere) {
        found.insert(mark(&elsewhere, format!("{:?}", read(at.work, &elsewhere)).as_bytes()));
    }
    found.extend(modules(at, &path.join("modules"), DEPTH));
    found
}

/// Whether a mark stands for a possible command, and not only for an address.
pub(super) fn is_command(mark: &str) -> bool {
    !mark.starts_with(ADDRESS) && !mark.starts_with(LOCAL)
}

/// Whether a new mark may make git run a command: also hooks of the repository at a local address.
pub(super) fn may_run(mark: &str) -> bool {
    !mark.starts_with(ADDRESS)
}

/// Whether a mark stands for a setting. Removing one can be a change as well: `core.hooksPath = /dev/null`.
pub(super) fn is_setting(mark: &str) -> bool {
    [SETTING, ADDRESS, LOCAL].iter().any(|prefix| mark.starts_with(prefix))
}

/// The same for the repositories of submodules, some levels deep.
fn modules(at: At<'_>, path: &Path, depth: usize) -> BTreeSet<String> {
    let Ok(below) = modules_in(at.work, path, depth) else { return BTreeSet::from([mark(path, CLOSED)]) };
    let of_module = |(path, is_read): (PathBuf, bool)| {
        if is_read { commands(at, &path) } else { BTreeSet::from([mark(&path, CLOSED)]) }
    };
    below.into_iter().flat_map(of_module).collect()
}

/// The repositories of all submodules, which are examined as parts of their repository.
pub(super) fn modules_of(work: &OwnedFd, path: &Path) -> Vec<PathBuf> {
    let modules = modules_in(work, &path.join("modules"), DEPTH).unwrap_or_default();
    let read = modules.into_iter().filter(|(_, is_read)| *is_read);
    read.flat_map(|(path, _)| [modules_of(work, &path), vec![path]].concat()).collect()
}

/// Repositories of submodules, and directories there that cannot be read, each with a flag.
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

/// The existing settings files of a repository and of its submodules, whether or not they run anything.
pub(super) fn files(work: &OwnedFd, path: &Path) -> BTreeSet<Raw> {
    let repositories = [modules_of(work, path), vec![path.to_owned()]].concat();
    let files = repositories.iter().flat_map(|path| SETTINGS.map(|name| path.join(name)));
    files.filter(|path| exists(work, path)).map(Raw::from).collect()
}

/// The commands in a todo list of git.
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

/// A path without `.` and `..`, by text alone.
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

/// What a path in a setting means, if it is in the work directory: by its text, and with links resolved. A relative
/// path is relative to `top`. A home directory that contains it is above.
fn inside(at: At<'_>, top: &Path, said: &str) -> BTreeSet<PathBuf> {
    let targets: Vec<PathBuf> = match said.strip_prefix('~') {
        Some(rest) => {
            let rest = rest.split_once('/').map_or("", |(_, rest)| rest);
            at.base.ancestors().skip(1).map(|home| home.join(rest)).collect()
        }
        None => vec![at.base.join(top).join(said)],
    };
    targets.iter().flat_map(|target| below(at.base, target)).collect()
}

/// `path` relative to `base`: by its text, and with links resolved. A script can replace links on the way.
pub(super) fn below(base: &Path, path: &Path) -> BTreeSet<PathBuf> {
    let real = resolve(path, Unreachable::Kept).ok();
    let both = plain(path).into_iter().chain(real);
    both.filter_map(|path| path.strip_prefix(base).ok().map(Path::to_owned)).collect()
}

/// The settings of a file and of its includes, each with its file. A file that cannot be parsed as git does is an error
/// entry.
fn settings_of(at: At<'_>, path: &Path, depth: &mut usize) -> Vec<(PathBuf, Result<Setting, String>)> {
    if !exists(at.work, path) {
        return Vec::new();
    }
    let unclear = |what: String| vec![(path.to_owned(), Err(what))];
    let Some(text) = read(at.work, path) else { return unclear("it cannot be read".to_owned()) };
    let Some(settings) = parse(&text) else { return unclear(Digest::of(&text).hex()) };
    let mut all = Vec::new();
    for setting in settings {
        if is_include(&setting) && *depth < INCLUDED {
            *depth += 1;
            for target in inside(at, path.parent().unwrap_or(Path::new("")), &setting.value) {
                // A file that is reached through a link is read at its target.
                if !is_link(at.work, &target) {
                    all.extend(settings_of(at, &target, depth));
                }
            }
        }
        all.push((path.to_owned(), Ok(setting)));
    }
    all
}

/// The hooks in the directory that a setting names, if it is in the work directory.
fn hooks_named_by(at: At<'_>, repository: &Path, setting: &Setting) -> BTreeSet<String> {
    if !is_hooks_path(setting) {
        return BTreeSet::new();
    }
    let top = if repository.ends_with(".git") { repository.parent() } else { Some(repository) };
    let targets = inside(at, top.unwrap_or(Path::new("")), &setting.value);
    targets.iter().flat_map(|target| hooks(at, target)).collect()
}

/// Every hook in a directory, without git's samples.
fn hooks(at: At<'_>, path: &Path) -> BTreeSet<String> {
    let is_hook = |name: &PathBuf| name.extension() != Some(OsStr::new("sample"));
    let Ok(names) = names(at.work, path) else { return BTreeSet::from([mark(path, CLOSED)]) };
    let mut found: BTreeSet<String> =
        names.into_iter().filter(is_hook).map(|name| hook(at, &path.join(name))).collect();
    if let Some(target) = link_at(at.work, path) {
        found.insert(mark(path, format!("elsewhere: {target:?}").as_bytes()));
        let real = below(at.base, &at.base.join(path));
        // The target of a link is not a link itself.
        found.extend(real.iter().filter(|real| *real != path).flat_map(|real| hooks(at, real)));
    }
    found
}

/// The mark of a hook: its content, whether git runs it, and its link target.
fn hook(at: At<'_>, path: &Path) -> String {
    let link = link_at(at.work, path);
    let real = below(at.base, &at.base.join(path)).into_iter().find(|real| link.is_none() || real != path);
    let says = real.as_ref().and_then(|real| read(at.work, real)).map(|text| Digest::of(&text).hex());
    let runs = real.as_ref().and_then(|real| mode(at.work, real)).map(|mode| mode.intersects(EXECUTABLE));
    mark(path, format!("{link:?} {says:?} {runs:?}").as_bytes())
}

/// A key for an item in a file.
pub(super) fn mark(path: &Path, bytes: &[u8]) -> String {
    format!("{} {}", &Digest::of(bytes).hex()[..32], escaped(path))
}

/// The files of marks.
pub(super) fn files_of<'a>(marks: impl Iterator<Item = &'a String>) -> BTreeSet<PathBuf> {
    marks.filter_map(|mark| file_of(mark)).collect()
}

/// The file of a mark.
pub(super) fn file_of(mark: &str) -> Option<PathBuf> {
    mark.split_once(' ').map(|(_, path)| unescaped(path))
}

/// A path as text from which its exact bytes can be restored, because a script chooses them.
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

/// Whether something exists at a path, including a link.
fn exists(work: &OwnedFd, path: &Path) -> bool {
    !matches!(open(work, path, OFlags::PATH), Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR))
}

/// The target of a link, if it is one.
fn link_at(work: &OwnedFd, path: &Path) -> Option<CString> {
    let parent = open(work, path.parent()?, OFlags::PATH).ok()?;
    rustix::fs::readlinkat(parent, path.file_name()?, Vec::new()).ok()
}

fn mode(work: &OwnedFd, path: &Path) -> Option<Mode> {
    let file = open(work, path, OFlags::PATH).ok()?;
    Some(Mode::from_raw_mode(rustix::fs::fstat(file).ok()?.st_mode))
}

pub(super) fn is_link(work: &OwnedFd, path: &Path) -> bool {
    matches!(open(work, path, OFlags::PATH), Err(rustix::io::Errno::LOOP))
}

/// A file beneath the work directory, if it is a regular file of acceptable length.
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

    /// A script chooses the bytes of names.
    #[test]
    fn a_mark_says_exactly_which_file_it_is_of() {
        for name in [&b"sub/.git/config"[..], b"a b%20c%/d", b"b\xffd\xfe/\xc3\xa4", b"%ff", b"new\nline"] {
            let path = Path::new(OsStr::from_bytes(name));
            assert_eq!(file_of(&mark(path, b"x")).as_deref(), Some(path));
        }
    }
}
