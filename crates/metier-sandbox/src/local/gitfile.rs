//! `.git` files, which point git to a repository elsewhere: those of linked work trees and of submodules.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::{git, named, survey};

/// The content of such a file, as marks to compare. Its change time does not count: `chmod` and `touch` change nothing
/// for git.
pub(super) fn marks(work: &OwnedFd, path: &Path) -> BTreeSet<String> {
    let link = path.file_name().and_then(|name| {
        let parent = survey::parent(work, path).ok()?;
        rustix::fs::readlinkat(parent, name, Vec::new()).ok()
    });
    let says = match link {
        Some(target) => format!("a link to {target:?}"),
        // Git does not accept one that cannot be read or is too long either.
        None => format!("{:?}", git::read(work, path)),
    };
    BTreeSet::from([git::mark(path, says.as_bytes())])
}

/// Whether such a file points to one of these repositories, or to a work tree or submodule of one, and nothing there
/// makes git run commands, including commands that the repository's settings name in its work tree.
pub(super) fn leads_to_one_of(
    work: &OwnedFd,
    base: &Path,
    path: &Path,
    repositories: &BTreeSet<PathBuf>,
) -> bool {
    let Some(text) = git::read(work, path) else { return false };
    let Some(said) = text.strip_prefix(b"gitdir: ") else { return false };
    let top = base.join(path.parent().unwrap_or(Path::new("")));
    let Some(target) = resolve(&top, said) else { return false };
    if repositories.contains(&target) {
        // Git creates none that point there. In a separate work tree, such paths would be files of a script.
        return named::relative_to_tree(&target).is_empty();
    }
    // The outermost repository that contains it.
    let Some(repository) = target.ancestors().filter_map(|above| repositories.get(above)).last() else {
        return false;
    };
    if named::relative_to_tree(repository).iter().any(|said| top.join(said).symlink_metadata().is_ok()) {
        return false;
    }
    // Where no script can write, git itself created it.
    let Ok(inside) = target.strip_prefix(base) else { return true };
    let mut commands = git::commands(git::At { work, base }, inside);
    commands.retain(|mark| git::is_command(mark));
    let commondir = inside.join("commondir");
    let Some(said) = git::read(work, &commondir) else {
        return target.starts_with(repository.join("modules")) && commands.is_empty();
    };
    target.parent() == Some(&repository.join("worktrees"))
        && resolve(&target, &said).is_some_and(|common| common == *repository)
        && git::files_of(commands.iter()).iter().all(|file| *file == commondir)
}

/// What a path relative to `top` means to git. A path with `..` after other parts could go through a link; git writes
/// none.
fn resolve(top: &Path, said: &[u8]) -> Option<PathBuf> {
    let end = said.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    let said = Path::new(OsStr::from_bytes(&said[..=end]));
    let mut parts = said.components().skip_while(|part| matches!(part, Component::ParentDir));
    if parts.any(|part| part == Component::ParentDir) {
        return None;
    }
    git::plain(&top.join(said))
}
