//! Paths that scripts must never change: the user's home and everything that metier itself loads. Plain data, built by
//! the host from its configuration; [`WorkDirectory`](crate::WorkDirectory) is checked against it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use crate::SandboxError;
use crate::links::{Resolved, Unreachable, resolve_links};
#[cfg(target_os = "linux")]
use crate::mounts::{self, Mount, OnDevice};
use crate::obeyed::OBEYED;

/// Paths that no script may change, and what happens if a work directory contains one.
///
/// A work directory is never one of these paths and never inside one. If it contains one, there are two cases:
///
/// - It contains a home or a place of metier's own ([`home`](Self::home), [`own`](Self::own)): it is refused.
/// - It contains something a project has, such as its settings or a skill root ([`kept`](Self::kept), [`name`](Self::name)):
///   that stays as it is. It is read-only inside, and a new one that a script makes is set aside afterwards.
///
/// A link on the way to such a path counts like the path: a script that replaces it would control what is loaded.
///
/// ```
/// use metier_sandbox::ReservedPaths;
///
/// let reserved = ReservedPaths::default()
///     .home("/home/ada")
///     .own("metier's state", "/home/ada/.local/state/metier")
///     .kept("a skill root", "/home/ada/project/skills")
///     .name("metier.toml");
/// # let _ = reserved;
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReservedPaths {
    homes: Vec<PathBuf>,
    places: Vec<Reservation>,
    names: Vec<PathBuf>,
    git_configs: Vec<PathBuf>,
}

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reservation {
    /// What it is, for messages: `a skill root`.
    what: &'static str,
    path: PathBuf,
    within: Within,
}

/// What happens if a work directory contains a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Refused,
    Kept,
}

impl ReservedPaths {
    /// Adds a home directory. It cannot be a work directory, nor can a directory that contains it, nor anything in its
    /// hidden directories, except git work trees below `.NAME/worktrees`, where agents create them.
    #[must_use]
    pub fn home(mut self, path: impl Into<PathBuf>) -> Self {
        self.homes.push(path.into());
        self
    }

    /// Adds a file or directory of metier's own, for example its state, journal, store, cache or settings. It need not
    /// exist yet.
    #[must_use]
    pub fn own(self, what: &'static str, path: impl Into<PathBuf>) -> Self {
        self.place(what, path.into(), Within::Refused)
    }

    /// Adds a file or directory that may be inside a work directory and is protected there, for example a skill root.
    /// It need not exist yet.
    #[must_use]
    pub fn kept(self, what: &'static str, path: impl Into<PathBuf>) -> Self {
        self.place(what, path.into(), Within::Kept)
    }

    /// Adds the name of a file that is loaded in any directory, for example a project's settings. It is protected at
    /// the top of every work directory.
    #[must_use]
    pub fn name(mut self, name: impl Into<PathBuf>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Adds a file from which git takes configuration, in addition to those in homes and `/etc/gitconfig`, as set by
    /// `GIT_CONFIG_GLOBAL` and `XDG_CONFIG_HOME`. Paths that it names in a work directory are protected there. It need
    /// not exist.
    #[must_use]
    pub fn git_config(mut self, path: impl Into<PathBuf>) -> Self {
        self.git_configs.push(path.into());
        self
    }

    /// Combines these paths with those of another.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.homes.extend_from_slice(&other.homes);
        self.places.extend_from_slice(&other.places);
        self.names.extend_from_slice(&other.names);
        self.git_configs.extend_from_slice(&other.git_configs);
        self
    }

    fn place(mut self, what: &'static str, path: PathBuf, within: Within) -> Self {
        self.places.push(Reservation { what, path, within });
        self
    }

    /// The home directories.
    pub(crate) fn homes(&self) -> &[PathBuf] {
        &self.homes
    }

    /// The additional files from which git takes configuration.
    pub(crate) fn git_configs(&self) -> &[PathBuf] {
        &self.git_configs
    }

    /// Whether a directory may be a work directory, and if so which paths in it are protected.
    pub(crate) fn judge(&self, work: &Path) -> Result<Vec<PathBuf>, SandboxError> {
        let here = Position::of(work);
        for home in &self.homes {
            here.outside_home(home)?;
        }
        let mut kept = self.names.clone();
        let private = crate::private::rooms().map(|path| Reservation {
            what: "a directory for metier's private copies",
            path,
            within: Within::Refused,
        });
        let private: Vec<Reservation> = private.collect();
        for place in self.places.iter().chain(&private) {
            kept.extend(here.outside_place(place)?);
        }
        if let Some(place) = obeyed_above(work) {
            let how = if place == work { "is" } else { "is in" };
            return Err(here.refused(how, "a directory with settings or hooks of other programs", place));
        }
        kept.sort();
        kept.dedup();
        Ok(kept)
    }
}

/// The directory at or above this one that programs load, for example `.git` or `.claude` of a project. A directory
/// that is a project of its own, for example a work tree that an agent created in there, does not count.
fn obeyed_above(work: &Path) -> Option<PathBuf> {
    let parts: Vec<&std::ffi::OsStr> = work.iter().collect();
    let is_obeyed = |at: usize| {
        let from: PathBuf = parts[at..].iter().collect();
        // A directory with a common name, such as `mise`, can be anything.
        parts[at] == ".git"
            || OBEYED.iter().any(|row| row.path.starts_with('.') && from.starts_with(row.path))
    };
    let first = (0..parts.len()).find(|at| is_obeyed(*at))?;
    let place: PathBuf = parts[..=first].iter().collect();
    let is_project = |path: &Path| fs::symlink_metadata(path.join(".git")).is_ok();
    let inside = work.ancestors().take_while(|above| above.starts_with(&place));
    (parts[first] == ".git" || !inside.into_iter().any(is_project)).then_some(place)
}

/// Whether a path in a work directory is inside a directory of the table, and not that directory itself.
fn is_in_obeyed(inside: &Path) -> bool {
    OBEYED.iter().any(|row| inside.starts_with(row.path) && inside != Path::new(row.path))
}

/// The target of a reserved path, even if it does not exist yet.
fn real(path: &Path) -> Result<Resolved, SandboxError> {
    let unclear = |source| SandboxError::Path { path: path.to_owned(), source };
    let absolute = std::path::absolute(path).map_err(unclear)?;
    // One unreachable path must not make all directories unusable.
    resolve_links(&absolute, Unreachable::Kept).map_err(unclear)
}

/// Whether a directory of a home is a git work tree below `.NAME/worktrees`, or in one: agents create them there, for
/// example `.cursor/worktrees/app/x1`.
fn is_in_worktree(home: &Path, below: &Path) -> bool {
    let is_repository = |tree: &Path| {
        fs::symlink_metadata(home.join(tree).join(".git")).is_ok_and(|meta| meta.is_file() || meta.is_dir())
    };
    below.iter().nth(1).is_some_and(|second| second == "worktrees")
        && below.ancestors().take_while(|tree| tree.components().count() > 2).any(is_repository)
}

/// A directory and its parents, with their identities: a directory that is mounted at a second path is recognised
/// there.
struct Position<'a> {
    path: &'a Path,
    above: Vec<(&'a Path, Option<(u64, u64)>)>,
    devices: Devices,
}

impl<'a> Position<'a> {
    fn of(path: &'a Path) -> Self {
        let above = path.ancestors().map(|path| (path, identity(path))).collect();
        Self { path, above, devices: Devices::read() }
    }

    fn refused(&self, how: &'static str, what: &'static str, place: PathBuf) -> SandboxError {
        SandboxError::Reserved { path: self.path.to_owned(), how, what, place }
    }

    /// Fails if this is a home, contains one or a link to one, or is in a hidden directory of one.
    fn outside_home(&self, home: &Path) -> Result<(), SandboxError> {
        let Resolved { path: home, links } = real(home)?;
        if links.iter().any(|link| self.is_or_contains(link)) {
            return Err(self.refused("contains a link to", "a home directory", home));
        }
        let below = self.below(&home);
        if self.is_or_contains(&home) {
            let how = if below.is_some() { "is" } else { "contains" };
            return Err(self.refused(how, "a home directory", home));
        }
        let Some(below) = below else { return Ok(()) };
        let Some(first) = below.components().next() else { return Ok(()) };
        if !first.as_os_str().as_encoded_bytes().starts_with(b".") || is_in_worktree(&home, &below) {
            return Ok(());
        }
        let place = home.join(first);
        let how = if place == self.path { "is" } else { "is in" };
        let what = "a hidden directory of a home, where programs store settings and secrets";
        Err(self.refused(how, what, place))
    }

    /// Fails if this is a reserved path, is inside it, or contains it or a link to it where that is refused. Returns
    /// the paths of this directory that must be protected.
    fn outside_place(&self, reservation: &Reservation) -> Result<Vec<PathBuf>, SandboxError> {
        let Reservation { what, path, within } = reservation;
        let Resolved { path: place, links } = real(path)?;
        let mut kept = Vec::new();
        for link in links.iter().filter(|link| self.is_or_contains(link)) {
            match link.strip_prefix(self.path) {
                // In a directory that is entirely read-only, such as `.claude`, it cannot be replaced.
                Ok(inside) if *within == Within::Kept && is_in_obeyed(inside) => {}
                Ok(inside) if *within == Within::Kept => kept.push(inside.to_owned()),
                // Also one that is inside through another path: there it could not be protected.
                _ => return Err(self.refused("contains a link to", what, place)),
            }
        }
        let how = match self.below(&place) {
            Some(below) if below.as_os_str().is_empty() => "is",
            Some(_) => "is in",
            None if !self.is_or_contains(&place) => return Ok(kept),
            None => match place.strip_prefix(self.path) {
                Ok(inside) if *within == Within::Kept => {
                    kept.push(inside.to_owned());
                    return Ok(kept);
                }
                _ => "contains",
            },
        };
        Err(self.refused(how, what, place))
    }

    /// The path from another directory down to this one, if this is the same or inside it.
    fn below(&self, other: &Path) -> Option<PathBuf> {
        if let Ok(below) = self.path.strip_prefix(other) {
            return Some(below.to_owned());
        }
        let by_identity = || {
            let other = identity(other)?;
            let (same, _) = self.above.iter().find(|(_, one)| *one == Some(other))?;
            self.path.strip_prefix(same).ok().map(Path::to_owned)
        };
        by_identity().or_else(|| self.devices.below(self.path, other))
    }

    fn is_or_contains(&self, other: &Path) -> bool {
        let own = self.above.first().and_then(|(_, own)| *own);
        other.starts_with(self.path)
            || own.is_some_and(|own| other.ancestors().any(|above| identity(above) == Some(own)))
            || self.devices.below(other, self.path).is_some()
    }
}

/// The mount table, to recognise parts of a file system that are mounted at a second path.
struct Devices {
    #[cfg(target_os = "linux")]
    mounts: Vec<Mount>,
}

#[cfg(target_os = "linux")]
impl Devices {
    fn read() -> Self {
        // Without it, directories are still recognised by their paths and identities.
        Self { mounts: mounts::all().unwrap_or_default() }
    }

    /// The path from one location down to another, on their file system.
    fn below(&self, path: &Path, above: &Path) -> Option<PathBuf> {
        let (path, above) = (OnDevice::of(path, &self.mounts)?, OnDevice::of(above, &self.mounts)?);
        path.below(&above).map(Path::to_owned)
    }
}

#[cfg(not(target_os = "linux"))]
impl Devices {
    const fn read() -> Self {
        Self {}
    }

    #[expect(clippy::unused_self, reason = "as on Linux")]
    const fn below(&self, _: &Path, _: &Path) -> Option<PathBuf> {
        None
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    // The root directory is above everything, so it is ignored.
    if path.components().all(|part| part == Component::RootDir) {
        return None;
    }
    fs::symlink_metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_trees_that_agents_make_in_hidden_directories_are_given() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        for directory in [
            ".cursor/worktrees/app/x1/src",
            ".cursor/worktrees/app/plain",
            ".cursor/worktrees/.git",
            ".cursor/other/x1/.git",
            ".codex/worktrees/one/.git",
            ".codex/worktrees/own/.git",
            ".codex/worktrees/linked",
        ] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        fs::write(base.join(".cursor/worktrees/app/x1/.git"), "gitdir: /elsewhere\n").unwrap();
        std::os::unix::fs::symlink("../one/.git", base.join(".codex/worktrees/linked/.git")).unwrap();
        let reserved = ReservedPaths::default()
            .home(&base)
            .own("metier's state", base.join(".codex/worktrees/own/state"))
            .kept("a skill root", base.join(".codex/worktrees/one/skills"));
        let judge = |path: &str| reserved.judge(&base.join(path)).map_err(|error| error.to_string());
        for path in [".cursor/worktrees/app/x1", ".cursor/worktrees/app/x1/src"] {
            assert_eq!(judge(path), Ok(Vec::new()), "{path}");
        }
        assert_eq!(judge(".codex/worktrees/one"), Ok(vec!["skills".into()]));
        for (path, reason) in [
            (".cursor", "is a hidden directory"),
            (".cursor/worktrees", "is in a hidden directory"),
            (".cursor/worktrees/app", "is in a hidden directory"),
            (".cursor/worktrees/app/plain", "is in a hidden directory"),
            (".cursor/other/x1", "is in a hidden directory"),
            (".codex/worktrees/linked", "is in a hidden directory"),
            (".codex/worktrees/own", "contains metier's state"),
            (".codex/worktrees/one/skills", "is a skill root"),
        ] {
            let error = judge(path).unwrap_err();
            assert!(error.contains(reason), "{path}: {error}");
        }
    }

    /// Root reaches everything, so that this thread becomes an ordinary user.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_place_that_cannot_be_reached_is_kept_as_written() {
        use std::os::unix::fs::PermissionsExt as _;

        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("locked/deep")).unwrap();
        fs::create_dir_all(base.join("work")).unwrap();
        let allow = |path: &str, mode| {
            fs::set_permissions(base.join(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        allow("", 0o755);
        allow("locked", 0o000);
        let judge = |place: &str, work: &str| {
            ReservedPaths::default().own("metier's cache", base.join(place)).judge(&base.join(work))
        };
        std::thread::scope(|scope| {
            let ordinary = scope.spawn(|| {
                let nobody = rustix::process::Uid::from_raw(65534);
                if rustix::process::geteuid().is_root() {
                    rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
                }
                assert_eq!(judge("locked/deep/metier", "work").unwrap(), Vec::<PathBuf>::new());
                assert!(judge("locked/deep/metier", "locked").unwrap_err().to_string().contains("contains"));
                let Err(SandboxError::Path { path, source }) = judge("locked/deep/../metier", "work") else {
                    panic!("a `..` after an unreachable part is unclear");
                };
                assert_eq!(path, base.join("locked/deep/../metier"));
                assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied);
            });
            ordinary.join().unwrap();
        });
        allow("locked", 0o700);
    }

    #[test]
    fn what_is_refused_and_what_is_kept() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        for directory in ["me/.ssh/deep", "me/project/sub", "me/.cache/metier", "other/state", "skills/pdf"] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        std::os::unix::fs::symlink("skills", base.join("linked")).unwrap();
        let reserved = ReservedPaths::default()
            .home(base.join("me"))
            .own("metier's state", base.join("other/state/metier"))
            .kept("a skill root", base.join("linked"))
            .kept("a skill root", base.join("me/project/skills"))
            .kept("a settings file", base.join("me/project/sub/metier.toml"))
            .name("metier.toml");
        let judge = |path: &str| reserved.judge(&base.join(path)).map_err(|error| error.to_string());
        let refused = [
            ("me", "is a home directory"),
            ("", "contains a home directory"),
            ("me/.ssh", "is a hidden directory"),
            ("me/.ssh/deep", "is in a hidden directory"),
            ("me/.cache/metier", "is in a hidden directory"),
            ("other", "contains metier's state"),
            ("other/state", "contains metier's state"),
            ("other/state/metier", "is metier's state"),
            ("other/state/metier/x", "is in metier's state"),
            ("skills", "is a skill root"),
            ("skills/pdf", "is in a skill root"),
            ("me/project/skills", "is a skill root"),
        ];
        for (path, reason) in refused {
            let error = judge(path).unwrap_err();
            assert!(error.contains(reason), "{path}: {error}");
        }
        assert_eq!(
            judge("me/project").unwrap(),
            ["metier.toml", "skills", "sub/metier.toml"].map(PathBuf::from)
        );
        assert_eq!(judge("me/project/sub").unwrap(), [PathBuf::from("metier.toml")]);
    }

    #[test]
    fn a_link_on_the_way_to_a_place_counts_like_the_place() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        for directory in ["work/sub", "work/.claude", "shared/skills", "real/state", "people/ada"] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, base.join(at)).unwrap();
        link("../shared/skills", "work/skills");
        link("../../shared", "work/sub/far");
        link("../real", "work/state");
        link("../../shared/skills", "work/.claude/skills");
        link("../people/ada", "work/home");
        let judge =
            |reserved: ReservedPaths| reserved.judge(&base.join("work")).map_err(|error| error.to_string());
        let kept = |path: &str| judge(ReservedPaths::default().kept("a skill root", base.join(path)));
        assert_eq!(kept("work/skills"), Ok(vec!["skills".into()]));
        assert_eq!(kept("work/sub/far/skills/new"), Ok(vec!["sub/far".into()]));
        assert_eq!(kept("shared/skills"), Ok(Vec::new()));
        assert_eq!(kept("work/.claude/skills"), Ok(Vec::new()), "`.claude` is read-only");
        let own = judge(ReservedPaths::default().own("metier's state", base.join("work/state/metier")));
        assert!(own.unwrap_err().contains("contains a link to metier's state"));
        let home = judge(ReservedPaths::default().home(base.join("work/home")));
        assert!(home.unwrap_err().contains("contains a link to a home directory"));
    }

    #[test]
    fn directories_that_programs_obey_are_not_given() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        for directory in [
            "app/.git/hooks",
            "app/.claude/hooks",
            "app/.claude/worktrees/one/.git",
            "app/.claude/worktrees/one/src",
            ".github/.git",
            "mise/app",
        ] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        let judge =
            |path: &str| ReservedPaths::default().judge(&base.join(path)).map_err(|error| error.to_string());
        for path in
            ["app/.git", "app/.git/hooks", "app/.claude", "app/.claude/hooks", "app/.claude/worktrees"]
        {
            assert!(
                judge(path).unwrap_err().contains("a directory with settings or hooks of other programs"),
                "{path}"
            );
        }
        for path in ["app", "app/.claude/worktrees/one/src", ".github", "mise/app"] {
            assert_eq!(judge(path), Ok(Vec::new()), "{path}");
        }
    }
}
