//! What is on the disk: space, installed skills, and what killed processes left.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use metier_store::Store;
use serde::Serialize;

use super::check::{Check, shell_path};
use super::counted;
use crate::environment::Environment;
use crate::settings::chain;

/// With less free space than this, metier may fail in the middle of what it does.
const SCARCE: u64 = 64 << 20;

/// A directory, or the nearest one above it that exists.
pub(super) fn existing(path: &Path) -> &Path {
    path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"))
}

/// Whether there is space where metier writes. A file is written to find out.
pub(super) fn space(environment: &Environment) -> Vec<Check> {
    let places = [
        ("state", environment.state_directory()),
        ("store", environment.store_directory()),
        ("temporary files", Some(environment.temporary.clone())),
    ];
    // By file system: what is free there is free for all of them together.
    let mut free: BTreeMap<u64, (u64, Vec<&str>)> = BTreeMap::new();
    let mut checks = Vec::new();
    for (what, path) in places {
        let Some(path) = path else { continue };
        match write_into(existing(&path)) {
            Ok((device, bytes)) => free.entry(device).or_insert((bytes, Vec::new())).1.push(what),
            Err(error) => {
                let message = format!("nothing can be written for {what}: {error}");
                let fix = if error.kind() == io::ErrorKind::StorageFull {
                    format!("free some space: `df {}`", shell_path(existing(&path)))
                } else {
                    format!("make it writable: {}", existing(&path).display())
                };
                checks.push(Check::failed("space", message, fix).at(path));
            }
        }
    }
    for (bytes, places) in free.into_values() {
        let message = format!("{} free for {}", size(bytes), places.join(", "));
        checks.push(match bytes {
            ..SCARCE => Check::notice("space", message, "free some space before it runs out"),
            _ => Check::ok("space", message),
        });
    }
    checks
}

/// Writes a file without a name into a directory; returns the file system and how much more space it has.
fn write_into(directory: &Path) -> io::Result<(u64, u64)> {
    let mut file = tempfile::tempfile_in(directory).map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(&[0; 16 << 10])?;
    file.sync_all()?;
    let found = rustix::fs::fstatvfs(&file)?;
    Ok((file.metadata()?.dev(), found.f_bavail.saturating_mul(found.f_frsize)))
}

fn size(bytes: u64) -> String {
    let unit = |shift: u32, name: &str| {
        let tenths = bytes.saturating_mul(10) >> shift;
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    };
    match bytes {
        0x4000_0000.. => unit(30, "GiB"),
        0x10_0000.. => unit(20, "MiB"),
        _ => unit(10, "KiB"),
    }
}

/// Whether every installed skill is still what was installed: all files are digested again, as by `metier verify`.
pub(super) fn store(store: Option<&Store>) -> Vec<Check> {
    let Some(store) = store else {
        return vec![Check::ok("store", "there is no home directory to install skills in")];
    };
    let verified = match store.verify_installed(&[]) {
        Ok(verified) => verified,
        Err(error) => {
            return vec![
                Check::failed("store", chain(&error), "look at it with `metier verify`").at(store.root()),
            ];
        }
    };
    let changed: Vec<Check> = verified
        .iter()
        .filter(|skill| !skill.is_fine())
        .map(|skill| {
            let (name, what) = (&skill.name, skill.differences.join(", "));
            let message = match skill.digest {
                Some(_) => format!("`{name}` is not what was installed: {what}"),
                None => format!("`{name}` was not installed by metier: {what}"),
            };
            let fix =
                format!("`metier verify {name}`, then `metier update {name}` or `metier remove {name}`");
            Check::failed("store", message, fix).at(store.root())
        })
        .collect();
    if changed.is_empty() {
        let count = counted(verified.len(), "skill");
        return vec![Check::ok("store", format!("{count} as installed (every file was digested again)"))];
    }
    changed
}

/// What killed processes left behind.
pub(super) fn leftovers(environment: &Environment) -> Check {
    let mut left = metier_sandbox::leftovers();
    left.extend(metier_home::leftovers(&environment.homes()));
    let Some(first) = left.first() else {
        return Check::ok("leftovers", "no temporary directories are left of killed processes");
    };
    let message = match left.len() {
        1 => "1 temporary directory is left of killed processes".to_owned(),
        count => format!("{count} temporary directories are left of killed processes"),
    };
    Check::notice("leftovers", message, "`metier doctor --clean` removes them").at(first)
}

/// The result of [`remove_leftovers`].
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Removal {
    /// How many directories were removed.
    pub removed: usize,
    /// Which could not be removed, and why.
    pub left: Vec<String>,
}

/// Removes the homes of agents, copies of skills and work directories that killed processes left, and nothing else.
pub fn remove_leftovers(environment: &Environment) -> Removal {
    let homes = metier_home::remove_leftovers(&environment.homes());
    let private = metier_sandbox::remove_leftovers();
    let left = homes.left.into_iter().chain(private.left);
    Removal {
        removed: homes.removed + private.removed,
        left: left.map(|(path, error)| format!("cannot remove {}: {error}", path.display())).collect(),
    }
}
