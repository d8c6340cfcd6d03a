//! A temporary working directory with copies of the files that an agent should work on.

use std::fs::{self, DirBuilder};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};
use metier_prompt::HostMount;
use metier_sandbox::Owner;

use crate::error::HomeError;
use crate::staging;

/// A temporary working directory. Dropping this value removes it.
#[derive(Debug)]
pub struct Workspace {
    /// What is removed: it has a mark in it that says whose it is, and the working directory.
    root: PathBuf,
    path: PathBuf,
    bytes: u64,
    is_kept: bool,
}

/// What the names of workspaces begin with.
const PREFIX: &str = "metier-workspace-";

impl Workspace {
    /// Creates a working directory in `base` with copies of these. Files outside the allowed roots are not copied.
    pub fn new(base: &Path, mounts: &[HostMount], allowed_roots: &[PathBuf]) -> Result<Self, HomeError> {
        fs::create_dir_all(base).map_err(HomeError::io("make", base))?;
        crate::home::remove_leftovers(base);
        let root = crate::home::make_directory(base, PREFIX)?;
        // From here on it is removed, whatever goes wrong.
        let mut workspace = Self { path: root.join("work"), root, bytes: 0, is_kept: false };
        let owner = workspace.root.join(crate::home::OWNER);
        fs::write(&owner, format!("{}\n", Owner::own())).map_err(HomeError::io("write", &owner))?;
        let made = DirBuilder::new().mode(0o700).create(&workspace.path);
        made.map_err(HomeError::io("make", &workspace.path))?;
        let roots: Vec<PathBuf> =
            allowed_roots.iter().filter_map(|root| fs::canonicalize(root).ok()).collect();
        for mount in mounts {
            workspace.bytes += Copying::new(mount, &roots, &workspace.path)?.run()?;
        }
        Ok(workspace)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes that were copied.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps the directory and returns its path.
    pub fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        // It is nobody's any more, and so no leftover.
        let _ = fs::remove_file(self.root.join(crate::home::OWNER));
        self.path.clone()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = staging::retire(&self.root);
        }
    }
}

/// Where an agent works.
#[derive(Debug)]
pub enum WorkingDirectory {
    /// A directory that was named.
    Given(PathBuf),
    /// A temporary directory.
    Temporary(Workspace),
}

impl WorkingDirectory {
    /// The named directory, else the given workspace, else a new, empty one in `base`.
    pub fn choose(
        given: Option<PathBuf>,
        workspace: Option<Workspace>,
        base: &Path,
    ) -> Result<Self, HomeError> {
        match (given, workspace) {
            (Some(path), _) => Ok(Self::Given(path)),
            (None, Some(workspace)) => Ok(Self::Temporary(workspace)),
            (None, None) => Workspace::new(base, &[], &[]).map(Self::Temporary),
        }
    }

    /// Marks a temporary directory as used by a process. While that process runs, no other process removes it.
    pub fn lend_to(&self, pid: u32) -> Result<(), HomeError> {
        match self {
            Self::Given(_) => Ok(()),
            Self::Temporary(workspace) => crate::home::lend(&workspace.root, pid),
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Temporary(workspace) => workspace.path(),
        }
    }
}

struct Copying<'a> {
    mount: &'a HostMount,
    roots: &'a [PathBuf],
    source: PathBuf,
    target: PathBuf,
    /// What it is copied into: it may be inside of what is copied.
    workspace: PathBuf,
    include: GlobSet,
    exclude: GlobSet,
    bytes: u64,
}

impl<'a> Copying<'a> {
    fn new(mount: &'a HostMount, roots: &'a [PathBuf], workspace: &Path) -> Result<Self, HomeError> {
        let shown = mount.target().to_owned();
        let wrong = |reason: &str| HomeError::Workspace {
            path: mount.host_path.clone(),
            mount: shown.display().to_string(),
            reason: reason.to_owned(),
        };
        let source = fs::canonicalize(&mount.host_path).map_err(|_| wrong("it does not exist"))?;
        if !roots.iter().any(|root| source.starts_with(root)) {
            return Err(wrong("it is in none of the directories that may be mounted"));
        }
        let is_inside =
            shown.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_inside || shown.as_os_str().is_empty() {
            return Err(wrong("it must be a path inside the workspace: relative, without `..`"));
        }
        let globs = |patterns: &[String]| -> Result<GlobSet, HomeError> {
            let mut set = GlobSetBuilder::new();
            for pattern in patterns {
                set.add(Glob::new(pattern).map_err(|error| wrong(&error.to_string()))?);
            }
            set.build().map_err(|error| wrong(&error.to_string()))
        };
        let is_top = shown.components().all(|part| part == Component::CurDir);
        if !is_top && workspace.join(&shown).exists() {
            return Err(wrong("there is something of that name in the workspace already"));
        }
        let (include, exclude) = (globs(&mount.include)?, globs(&mount.exclude)?);
        let (target, workspace) = (workspace.join(shown), workspace.to_owned());
        let workspace = fs::canonicalize(&workspace).unwrap_or(workspace);
        Ok(Self { mount, roots, source, target, workspace, include, exclude, bytes: 0 })
    }

    fn run(mut self) -> Result<u64, HomeError> {
        self.entry(Path::new(""))?;
        Ok(self.bytes)
    }

    fn entry(&mut self, below: &Path) -> Result<(), HomeError> {
        let path = self.source.join(below);
        let path = if below.as_os_str().is_empty() { self.source.clone() } else { path };
        let mut meta = fs::symlink_metadata(&path).map_err(HomeError::io("read", &path))?;
        if meta.is_symlink() {
            // What leads out, or nowhere, stays behind.
            let target = fs::canonicalize(&path).ok().filter(|_| self.mount.follow_symlinks);
            let is_allowed = |target: &PathBuf| self.roots.iter().any(|root| target.starts_with(root));
            let Some(target) = target.filter(is_allowed) else { return Ok(()) };
            meta = fs::metadata(&target).map_err(HomeError::io("read", &target))?;
            // A linked directory may lead back to where it is.
            if !meta.is_file() {
                return Ok(());
            }
        }
        if meta.is_dir() {
            return self.directory(&path, below);
        }
        let is_wanted = self.mount.include.is_empty() || self.include.is_match(below);
        if !meta.is_file() || !is_wanted || self.exclude.is_match(below) {
            return Ok(());
        }
        self.file(&path, below, &meta)
    }

    fn directory(&mut self, path: &Path, below: &Path) -> Result<(), HomeError> {
        let is_excluded = !below.as_os_str().is_empty() && self.exclude.is_match(below);
        if is_excluded || path == self.workspace {
            return Ok(());
        }
        if self.mount.include.is_empty() {
            let target = self.target.join(below);
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&target);
            made.map_err(HomeError::io("make", &target))?;
        }
        let entries = fs::read_dir(path).map_err(HomeError::io("read", path))?;
        for entry in entries {
            let entry = entry.map_err(HomeError::io("read", path))?;
            self.entry(&below.join(entry.file_name()))?;
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, below: &Path, meta: &fs::Metadata) -> Result<(), HomeError> {
        let target = if below.as_os_str().is_empty() { self.target.clone() } else { self.target.join(below) };
        let parent = target.parent().unwrap_or(&self.target);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.map_err(HomeError::io("make", parent))?;
        let limit = self.mount.max_bytes.unwrap_or(u64::MAX);
        let room = limit - self.bytes;
        let copied = copy(path, &target, meta, room).map_err(HomeError::io("copy", path))?;
        if copied > room {
            return Err(HomeError::Size { what: self.mount.host_path.display().to_string(), limit });
        }
        self.bytes += copied;
        Ok(())
    }
}

/// A copy that can be written to, and run where its source can. Of more bytes than there is room for it is one byte too long.
fn copy(from: &Path, to: &Path, meta: &fs::Metadata, room: u64) -> io::Result<u64> {
    let source = fs::File::open(from)?;
    let mut target = fs::File::create_new(to)?;
    let copied = io::copy(&mut source.take(room.saturating_add(1)), &mut target)?;
    target.set_permissions(fs::Permissions::from_mode(0o600 | (meta.permissions().mode() & 0o111)))?;
    Ok(copied)
}
