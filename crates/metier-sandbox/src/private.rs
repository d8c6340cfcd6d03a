//! metier's own directories for one run: copies of skills, and empty work directories. They are created where no script
//! can write, whatever `TMPDIR` says, and leftovers of a killed process are removed by the next one.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Once;

use metier_skill::disk::remove_all;

use crate::SandboxError;
use crate::leftovers::{Leftovers, Owner, is_own_directory};

/// The parents of each user's private directory. Both are shared by all programs and so never given to a script.
/// (`/run/user/UID` would belong to this user alone, but it is small and in memory, and work directories below `/run`
/// are refused.)
const SHARED: [&str; 2] = ["/tmp", "/var/tmp"];

/// The purpose of a private directory. Part of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The copy of a skill that a script runs from.
    Skill,
    /// An empty work directory.
    Work,
    /// The output of a run, stored as files for later reading.
    Output,
    /// A script's `/tmp` if there are no namespaces.
    Temporary,
}

impl Purpose {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Work => "work",
            Self::Output => "output",
            Self::Temporary => "tmp",
        }
    }

    /// Who may enter it.
    fn mode(self) -> u32 {
        match self {
            Self::Skill => way_for_scripts(),
            Self::Work | Self::Output | Self::Temporary => 0o700,
        }
    }
}

/// A new directory that no other process writes to. It is removed when this value is dropped.
#[derive(Debug)]
pub struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Creates one. Leftovers of dead processes are removed first, once per process.
    pub fn make(purpose: Purpose) -> Result<Self, SandboxError> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| drop(remove_leftovers()));
        Self::make_among(&shared(), purpose)
    }

    fn make_among(shared: &[PathBuf], purpose: Purpose) -> Result<Self, SandboxError> {
        let made = open_room_among(shared).and_then(|room| Self::make_in(&room, purpose));
        made.map_err(|source| SandboxError::Private { paths: shared.to_vec(), source })
    }

    fn make_in(room: &Path, purpose: Purpose) -> io::Result<Self> {
        let (name, mode, owner) = (purpose.as_str(), purpose.mode(), Owner::own());
        let path = room.join(format!("{name}-{owner}.{}", random()?));
        DirBuilder::new().mode(mode).create(&path)?;
        let made = Self(path);
        // Independent of the process's umask.
        fs::set_permissions(&made.0, Permissions::from_mode(mode))?;
        Ok(made)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // A directory that cannot be removed now is removed as a leftover when this process is gone.
        let _ = remove_all(&self.0);
    }
}

/// If root starts a script, it runs as another user, who must enter the directory but need not list it. Otherwise no
/// other user needs access.
fn way_for_scripts() -> u32 {
    if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 }
}

/// Random hexadecimal digits that cannot be guessed.
fn random() -> io::Result<String> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

fn shared() -> Vec<PathBuf> {
    SHARED.iter().filter_map(|shared| fs::canonicalize(shared).ok()).collect()
}

/// The usual name of this user's private directory.
fn room_name() -> String {
    format!("metier-{}", rustix::process::geteuid().as_raw())
}

/// Where this user's private directories may be. Scripts get no access there.
pub(crate) fn rooms() -> impl Iterator<Item = PathBuf> {
    rooms_among(&shared()).into_iter()
}

/// The usual directories, also those that do not exist, and others that this user had to create.
fn rooms_among(shared: &[PathBuf]) -> Vec<PathBuf> {
    let usual = shared.iter().map(|shared| shared.join(room_name()));
    usual.chain(shared.iter().flat_map(|shared| other_rooms(shared))).collect()
}

/// Directories that were created because another user had taken the usual name.
fn other_rooms(shared: &Path) -> impl Iterator<Item = PathBuf> {
    let start = format!("{}-", room_name());
    let entries = fs::read_dir(shared).into_iter().flatten().flatten();
    let is_one = move |name: &str| {
        let rest = name.strip_prefix(&start);
        rest.is_some_and(|rest| rest.len() == 16 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let named = entries.filter(move |entry| entry.file_name().to_str().is_some_and(&is_one));
    named.map(|entry| entry.path()).filter(|room| is_own_directory(room))
}

/// A directory that belongs to this user alone. Any user may create directories beside it, and take the usual names;
/// then it gets a name that cannot be guessed.
fn open_room_among(shared: &[PathBuf]) -> io::Result<PathBuf> {
    let mut last = io::ErrorKind::NotFound.into();
    let usual = shared.iter().map(|shared| shared.join(room_name()));
    let others = shared.iter().flat_map(|shared| other_rooms(shared));
    let new =
        shared.iter().map(|shared| shared.join(format!("{}-{}", room_name(), random().unwrap_or_default())));
    for room in usual.chain(others).chain(new) {
        match open_room(&room) {
            Ok(()) => return Ok(room),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Creates the directory, or checks that it belongs to this user alone.
fn open_room(room: &Path) -> io::Result<()> {
    let mode = way_for_scripts();
    match DirBuilder::new().mode(mode).create(room) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let meta = fs::symlink_metadata(room)?;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    if meta.mode() & 0o777 != mode {
        fs::set_permissions(room, Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// The private directories of this user whose process is gone.
pub fn leftovers() -> Vec<PathBuf> {
    leftovers_among(&shared())
}

fn leftovers_among(shared: &[PathBuf]) -> Vec<PathBuf> {
    let rooms = rooms_among(shared).into_iter().filter(|room| is_own_directory(room));
    rooms.flat_map(|room| Leftovers::find(&room, Owner::of_name)).collect()
}

/// Removes the private directories of this user whose process is gone.
pub fn remove_leftovers() -> Leftovers {
    Leftovers::remove(leftovers())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_this_user_s_and_go_with_their_process() {
        let made = PrivateDirectory::make(Purpose::Skill).unwrap();
        // Only where root starts scripts do these run as another user.
        let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
        let meta = fs::symlink_metadata(made.path()).unwrap();
        assert_eq!((meta.uid(), meta.mode() & 0o777), (rustix::process::geteuid().as_raw(), mode));
        let room = made.path().parent().unwrap().to_owned();
        assert_eq!(fs::symlink_metadata(&room).unwrap().mode() & 0o777, mode);
        // One whose process began at another time is nobody's.
        let dead = Owner::own().to_string().replacen('-', "-9", 1);
        let left = room.join(format!("skill-{dead}.0"));
        fs::create_dir_all(left.join("deep")).unwrap();
        fs::set_permissions(&left, Permissions::from_mode(0o500)).unwrap();
        assert!(leftovers().contains(&left));
        // Others may do the same at the same time.
        while left.exists() {
            remove_leftovers();
        }
        assert!(made.path().is_dir());
        let path = made.path().to_owned();
        drop(made);
        assert!(!path.exists());
    }

    /// A thread becomes an ordinary user, if root runs this.
    #[test]
    #[cfg(target_os = "linux")]
    fn an_ordinary_user_s_copies_are_closed_to_all_others() {
        let shared = tempfile::tempdir().unwrap();
        fs::set_permissions(shared.path(), Permissions::from_mode(0o1777)).unwrap();
        let shared = [shared.path().to_owned()];
        std::thread::scope(|scope| {
            let ordinary = scope.spawn(|| {
                let user = rustix::process::Uid::from_raw(61_234);
                if rustix::process::geteuid().is_root() {
                    rustix::thread::set_thread_res_uid(user, user, user).unwrap();
                }
                // A room from before this rule is closed as well.
                let uid = rustix::process::geteuid().as_raw();
                let room = shared[0].join(format!("metier-{uid}"));
                DirBuilder::new().mode(0o711).create(&room).unwrap();
                let made = PrivateDirectory::make_among(&shared, Purpose::Skill).unwrap();
                for path in [made.path(), &room] {
                    let mode = fs::symlink_metadata(path).unwrap().mode() & 0o777;
                    assert_eq!(mode, 0o700, "{}", path.display());
                }
            });
            ordinary.join().unwrap();
        });
    }

    #[test]
    fn names_cannot_be_guessed_and_say_whose_they_are() {
        let [one, other] = [(); 2].map(|()| PrivateDirectory::make(Purpose::Output).unwrap());
        let names = [&one, &other].map(|made| made.path().file_name().unwrap().to_str().unwrap().to_owned());
        let endings = names.each_ref().map(|name| name.rsplit_once('.').unwrap().1);
        assert!(endings.iter().all(|ending| ending.len() >= 16), "{names:?}");
        assert_ne!(endings[0], endings[1]);
        assert!(names.iter().all(|name| Owner::of_name(name) == Some(Owner::own())), "{names:?}");
        assert!(names.iter().all(|name| name.starts_with("output-")), "{names:?}");
    }

    /// Another user can take every name that is known before.
    #[test]
    fn a_name_that_is_taken_stops_nobody() {
        let shared = tempfile::tempdir().unwrap();
        let shared = shared.path().canonicalize().unwrap();
        let name = format!("metier-{}", rustix::process::geteuid().as_raw());
        fs::write(shared.join(&name), "taken").unwrap();
        std::os::unix::fs::symlink("/etc", shared.join(format!("{name}-0123456789abcdef"))).unwrap();
        fs::create_dir(shared.join(format!("{name}-not-ours"))).unwrap();
        let all = [shared.clone()];
        let made = PrivateDirectory::make_among(&all, Purpose::Work).unwrap();
        let room = made.path().parent().unwrap().to_owned();
        assert!(
            room.parent() == Some(&shared) && room.file_name().unwrap().len() == name.len() + 17,
            "{room:?}"
        );
        // The next one is made in the same room, and what is left there is found.
        let other = PrivateDirectory::make_among(&all, Purpose::Work).unwrap();
        assert_eq!(other.path().parent(), Some(&*room));
        assert!(rooms_among(&all).contains(&room));
        let left = room.join(format!("work-{}.0", Owner::own().to_string().replacen('-', "-9", 1)));
        fs::create_dir(&left).unwrap();
        assert_eq!(leftovers_among(&all), [left]);
    }

    #[test]
    fn a_room_of_somebody_else_is_not_used() {
        let base = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("elsewhere", base.path().join("link")).unwrap();
        fs::write(base.path().join("file"), "").unwrap();
        for name in ["link", "file"] {
            assert!(open_room(&base.path().join(name)).is_err(), "{name}");
        }
        open_room(&base.path().join("new")).unwrap();
    }
}
