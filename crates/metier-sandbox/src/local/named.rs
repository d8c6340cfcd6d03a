//! Paths in a work directory from which git takes hooks, configuration or programs: named by the repository there, by
//! one above, and by the configuration of the user and the system.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::git::{INCLUDED, below, plain, read_outside, read_path};
use super::gitconfig::{is_command, is_hooks_path, is_include, parse};
use super::led::leads;
use crate::obeyed::HOOKS;

/// The system configuration.
const SYSTEM: &str = "/etc/gitconfig";
/// The user's configuration, in their home directory.
const OF_PERSON: [&str; 2] = [".gitconfig", ".config/git/config"];

/// Paths in a work directory, and paths in the work tree of every repository.
///
/// The user's homes and other configuration files of git are known.
pub(super) fn named(
    base: &Path,
    homes: &[PathBuf],
    configs: &[PathBuf],
) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
    named_with(base, homes, &[configs, &[SYSTEM.into()]].concat())
}

fn named_with(base: &Path, homes: &[PathBuf], configs: &[PathBuf]) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
    let mut all = Named { base, homes, paths: BTreeSet::new(), of_each: BTreeSet::new() };
    let of_persons = homes.iter().flat_map(|home| OF_PERSON.map(|file| home.join(file)));
    let general: Vec<PathBuf> = of_persons.chain(configs.iter().cloned()).collect();
    // A script can make the work directory a repository.
    for file in &general {
        all.paths.extend(below(base, file).into_iter().filter(|path| !path.as_os_str().is_empty()));
        all.read(file, Tree::Each(base), 0);
    }
    for top in base.ancestors() {
        let Some((repository, common)) = repository_at(top) else { continue };
        for file in [common.join("config"), repository.join("config.worktree")] {
            all.read(&file, Tree::One(top), 0);
        }
        for file in &general {
            all.read(file, Tree::One(top), 0);
        }
    }
    (all.paths, all.of_each)
}

/// Repositories of work trees in parent directories, and with `own` of the directory itself, where no script can write.
pub(super) fn around(base: &Path, own: bool) -> BTreeSet<PathBuf> {
    let repositories = base.ancestors().skip(usize::from(!own)).filter_map(repository_at);
    let all = repositories.filter_map(|(_, common)| plain(&common));
    all.filter(|path| !path.starts_with(base)).collect()
}

/// Paths from which a repository makes git take hooks and programs, relative to any of its work trees.
pub(super) fn relative_to_tree(repository: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut left: Vec<(PathBuf, usize)> =
        ["config", "config.worktree"].map(|name| (repository.join(name), 0)).into();
    while let Some((file, depth)) = left.pop() {
        let settings = read_outside(&file).and_then(|text| parse(&text)).unwrap_or_default();
        for setting in settings {
            let value = setting.value.as_str();
            let is_relative = |path: &str| !path.starts_with(['/', '~']);
            if is_include(&setting) {
                let target = file.parent().unwrap_or(repository).join(value);
                left.extend((depth < INCLUDED).then_some((target, depth + 1)));
            } else if is_hooks_path(&setting) {
                found.extend(Some(value).filter(|path| is_relative(path)).map(PathBuf::from));
            } else if is_command(&setting) {
                found.extend(programs(value).filter(|path| is_relative(path)).map(PathBuf::from));
            }
        }
    }
    found
}

/// The repository whose work tree starts at `top`, and the directory that all its work trees share, for example for
/// configuration.
pub(super) fn repository_at(top: &Path) -> Option<(PathBuf, PathBuf)> {
    let path = top.join(".git");
    let repository = if path.is_dir() {
        path
    } else {
        let text = read_outside(&path)?;
        let target = text.trim_ascii().strip_prefix(b"gitdir:")?.trim_ascii();
        top.join(OsStr::from_bytes(target))
    };
    let common = read_path(&repository.join("commondir"));
    let common = common.map_or_else(|| repository.clone(), |common| repository.join(common));
    Some((repository, common))
}

/// Whose hooks a configuration names.
#[derive(Debug, Clone, Copy)]
enum Tree<'a> {
    /// Those of the repository with this work tree.
    One(&'a Path),
    /// Those of every repository, and of one in this directory.
    Each(&'a Path),
}

impl<'a> Tree<'a> {
    const fn top(self) -> &'a Path {
        match self {
            Self::One(top) | Self::Each(top) => top,
        }
    }
}

struct Named<'a> {
    base: &'a Path,
    homes: &'a [PathBuf],
    paths: BTreeSet<PathBuf>,
    of_each: BTreeSet<PathBuf>,
}

impl Named<'_> {
    fn read(&mut self, file: &Path, tree: Tree<'_>, depth: usize) {
        let Some(text) = read_outside(file) else { return };
        for setting in parse(&text).into_iter().flatten() {
            if is_hooks_path(&setting) {
                let value = Path::new(&setting.value);
                if let (Tree::Each(_), true) = (tree, value.is_relative() && !setting.value.starts_with('~'))
                {
                    let is_tree = plain(value).is_some_and(|path| path.as_os_str().is_empty());
                    let names = if is_tree { HOOKS } else { &[setting.value.as_str()][..] };
                    self.of_each.extend(names.iter().map(PathBuf::from));
                }
                for target in self.expanded(&setting.value) {
                    self.add_hooks(&tree.top().join(target));
                }
            } else if is_include(&setting) {
                for target in self.expanded(&setting.value) {
                    let target = file.parent().unwrap_or(tree.top()).join(target);
                    self.paths.extend(
                        below(self.base, &target).into_iter().filter(|path| !path.as_os_str().is_empty()),
                    );
                    if depth < INCLUDED {
                        self.read(&target, tree, depth + 1);
                    }
                }
            } else if is_command(&setting) {
                self.add_program(&setting.value, tree.top());
            }
        }
    }

    /// The program that a setting makes git run, if it is in the work directory.
    fn add_program(&mut self, value: &str, top: &Path) {
        for word in programs(value) {
            for target in self.expanded(word) {
                let target = top.join(target);
                if target.is_file()
                    && let Ok(inside) = target.strip_prefix(self.base)
                {
                    self.paths.extend(leads(self.base, inside));
                }
            }
        }
    }

    fn add_hooks(&mut self, path: &Path) {
        for target in below(self.base, path) {
            if target.as_os_str().is_empty() {
                self.paths.extend(HOOKS.iter().map(PathBuf::from));
            } else {
                self.paths.insert(target);
            }
        }
    }

    /// A value with `~` replaced by each home directory.
    fn expanded(&self, value: &str) -> Vec<PathBuf> {
        match value.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                self.homes.iter().map(|home| home.join(rest.trim_start_matches('/'))).collect()
            }
            _ => vec![value.into()],
        }
    }
}

/// Words of a command that name a program by its path: the first word, or the argument of an interpreter.
fn programs(command: &str) -> impl Iterator<Item = &str> {
    const INTERPRETERS: [&str; 9] = ["sh", "bash", "dash", "zsh", "env", "python", "python3", "node", "perl"];
    let words = command.trim_start_matches('!').split_whitespace();
    let words = words.map(|word| word.trim_matches(|c| matches!(c, '"' | '\'' | ';')));
    let is_interpreter = |word: &str| {
        let name = Path::new(word).file_name().and_then(OsStr::to_str).unwrap_or_default();
        INTERPRETERS.contains(&name)
    };
    let mut goes_on = true;
    let first = words.filter(|word| !word.starts_with('-')).take_while(move |word| {
        let is_taken = goes_on;
        goes_on = is_interpreter(word);
        is_taken
    });
    first.filter(|word| word.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_their_path() {
        for (command, expected) in [
            ("./clean.sh %f", vec!["./clean.sh"]),
            ("!tools/x --y", vec!["tools/x"]),
            ("python3 -I 'tools/clean.py' %f", vec!["tools/clean.py"]),
            ("/usr/bin/env python3 tools/x", vec!["/usr/bin/env", "tools/x"]),
            ("git-lfs clean -- src/main.rs", vec![]),
            ("log --oneline docs/x", vec![]),
        ] {
            assert_eq!(programs(command).collect::<Vec<_>>(), expected, "{command}");
        }
    }

    fn of_repositories(base: &Path) -> BTreeSet<PathBuf> {
        named_with(base, &[], &[]).0
    }

    #[test]
    fn paths_in_the_work_directory_that_configuration_names() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join(".git")).unwrap();
        std::fs::create_dir_all(base.join("sub")).unwrap();
        let config = "[core]\nhooksPath = tools/hooks\n[include]\npath = ../shared.gitconfig\n[include]\npath = /etc/x\n";
        std::fs::write(base.join(".git/config"), config).unwrap();
        std::fs::write(base.join("shared.gitconfig"), "[includeIf \"gitdir:/\"]\npath = sub/more\n").unwrap();
        let expected = ["shared.gitconfig", "sub/more", "tools/hooks"].map(PathBuf::from);
        assert_eq!(of_repositories(&base), BTreeSet::from(expected));
        // From a directory below, only what is there.
        assert_eq!(of_repositories(&base.join("sub")), BTreeSet::from([PathBuf::from("more")]));
        // And from a linked work tree, by way of the repository that it belongs to.
        let tree = base.join("tree");
        std::fs::create_dir_all(base.join(".git/worktrees/tree")).unwrap();
        std::fs::write(base.join(".git/worktrees/tree/commondir"), "../..\n").unwrap();
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::write(
            tree.join(".git"),
            format!("gitdir: {}\n", base.join(".git/worktrees/tree").display()),
        )
        .unwrap();
        assert!(of_repositories(&tree).contains(Path::new("tools/hooks")));
    }
}
