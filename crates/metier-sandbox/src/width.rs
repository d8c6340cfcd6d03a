//! Checks for directories that are too broad for a script, or that would cover others.

use std::io;
use std::path::{Component, Path};

use crate::SandboxError;
use crate::profile::{PinnedPath, SandboxProfile};
use crate::work::WorkDirectory;

/// Directories that are shared by the system: access to one is access to the machine.
const SHARED: &[&str] = &[
    "/bin", "/boot", "/dev", "/dev/shm", "/etc", "/home", "/lib", "/lib32", "/lib64", "/media", "/mnt",
    "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var", "/var/tmp",
];

/// Directories below which nothing can be a work directory.
const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/gnu/store",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
];

/// Whether a profile gives no more access than allowed.
#[cfg(target_os = "linux")]
pub(crate) fn check(profile: &SandboxProfile) -> Result<(), SandboxError> {
    for place in &profile.readable {
        let path = place.path();
        let wide = |reason| SandboxError::TooWide { path: path.to_owned(), reason };
        if path == Path::new("/")
            || path.starts_with("/proc")
            || path.starts_with("/dev")
            || path.starts_with("/sys")
        {
            return Err(wide("it is not only files"));
        }
        if profile.writable.iter().any(|other| other.path() == path) {
            return Err(wide("it cannot be both protected and writable"));
        }
    }
    check_aliases(profile)?;
    profile.writable.iter().try_for_each(|work| check_writable(work.place()))
}

/// Whether a directory may be a work directory.
pub(crate) fn check_writable(place: &PinnedPath) -> Result<(), SandboxError> {
    let path = place.path();
    let wide = |reason| SandboxError::TooWide { path: path.to_owned(), reason };
    if path == Path::new("/") {
        return Err(wide("it is the root directory"));
    }
    if SHARED.iter().any(|shared| path == Path::new(shared)) {
        return Err(wide("it is shared by all programs"));
    }
    if SYSTEM.iter().any(|system| path.starts_with(system)) && !path.starts_with("/dev/shm") {
        return Err(wide("it is part of the system"));
    }
    if !path.is_dir() {
        return Err(SandboxError::Path {
            path: path.to_owned(),
            source: io::ErrorKind::NotADirectory.into(),
        });
    }
    Ok(())
}

/// The only path below these at which something may be mounted: an organisation's skills are there.
const ORGANISATION: &str = "/etc/metier";

/// Whether an alias path covers nothing that is needed.
pub(crate) fn check_aliases(profile: &SandboxProfile) -> Result<(), SandboxError> {
    let shown =
        profile.readable.iter().flat_map(|place| place.aliases().iter().map(move |path| (place, path)));
    let shown: Vec<(&PinnedPath, &Path)> = shown.map(|(place, path)| (place, path.as_path())).collect();
    for (index, (place, path)) in shown.iter().enumerate() {
        let others =
            shown.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, (_, path))| *path);
        let writable = profile.writable.iter().map(WorkDirectory::place);
        let places = profile.readable.iter().chain(writable).map(PinnedPath::path);
        check_alias(path, place.path(), places.chain(others))?;
    }
    Ok(())
}

fn check_alias<'a>(
    path: &Path,
    itself: &Path,
    mut others: impl Iterator<Item = &'a Path>,
) -> Result<(), SandboxError> {
    let wide = |reason| Err(SandboxError::TooWide { path: path.to_owned(), reason });
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(is_plain) {
        let source = io::ErrorKind::InvalidInput.into();
        return Err(SandboxError::Path { path: path.to_owned(), source });
    }
    if SHARED.iter().any(|shared| path == Path::new(shared)) {
        return wide("it is shared by all programs");
    }
    let of_system = |system: &&str| path.starts_with(system) || Path::new(system).starts_with(path);
    let is_organisations = path.starts_with(ORGANISATION) && path != Path::new(ORGANISATION);
    if SYSTEM.iter().any(of_system) && !is_organisations {
        return wide("it would cover part of the system");
    }
    if path.starts_with(itself) {
        return wide("it is inside the directory that would be mounted there");
    }
    if others.any(|other| other.starts_with(path)) {
        return wide("it would cover other paths of the script");
    }
    Ok(())
}
