//! Where an attempt is made: a work directory, a skill, and around them all that must not be reached.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::attempt::{Attempt, attempts};

/// An ordinary user whom nobody is.
const ORDINARY: u32 = 61234;

/// What in the work directory must stay as it is.
const PROTECTED: [&str; 3] = [".git", ".claude", ".agents"];

/// Who starts metier.
pub(crate) struct User {
    /// If not the one who runs the tests.
    other: Option<u32>,
}

impl User {
    pub(crate) fn this() -> Self {
        Self { other: None }
    }

    pub(crate) fn ordinary() -> Self {
        Self { other: tests_run_as_root().then_some(ORDINARY) }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.other.is_none() && tests_run_as_root()
    }

    /// A command that this user runs, with nothing in its environment.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = match self.other {
            None => Command::new(program),
            Some(id) => {
                let mut command = Command::new("/usr/bin/setpriv");
                command.args([format!("--reuid={id}"), format!("--regid={id}"), "--clear-groups".to_owned()]);
                command.arg("--").arg(program);
                command
            }
        };
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LANG", "C.UTF-8");
        command
    }

    /// Gives a directory and all that is in it to this user.
    pub(crate) fn own(&self, path: &Path) {
        let Some(id) = self.other else { return };
        lchown(path, Some(id), Some(id)).unwrap();
        if path.symlink_metadata().unwrap().is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                self.own(&entry.unwrap().path());
            }
        }
    }
}

pub(crate) fn tests_run_as_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What all attempts of one user share: programs that this user can read and even overwrite.
pub(crate) struct Base {
    directory: tempfile::TempDir,
    pub(crate) user: User,
}

impl Base {
    pub(crate) fn new(user: User) -> Self {
        let directory = tempfile::Builder::new().prefix("escapes-").tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let base = Self { directory, user };
        for (from, to) in [(env!("CARGO_BIN_EXE_metier"), base.metier()), ("/bin/sh", base.shell())] {
            fs::copy(from, &to).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for tool in ["outside.py", "terminal.py"] {
            fs::copy(attempts().join("tools").join(tool), base.path().join(tool)).unwrap();
        }
        fs::create_dir(base.path().join("logs")).unwrap();
        base.user.own(base.path());
        base
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn metier(&self) -> PathBuf {
        self.path().join("metier")
    }

    pub(crate) fn shell(&self) -> PathBuf {
        self.path().join("sh")
    }
}

/// One run's place.
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    pub(crate) token: String,
    /// Stands in the environment of everything that the attempt starts.
    pub(crate) name: String,
    pub(crate) script: PathBuf,
}

/// Places so far.
static COUNT: AtomicUsize = AtomicUsize::new(0);

impl Place {
    pub(crate) fn new(base: &Base, attempt: &Attempt) -> Self {
        let random = random();
        // Short, since the address of a socket has room for a hundred bytes.
        let directory = base.path().join(format!("{:x}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let place = Self {
            script: directory.join("skill/scripts").join(attempt.path.file_name().unwrap()),
            directory,
            token: format!("token-{random}"),
            name: format!("escapes-{}", &random[20..]),
        };
        place.fill();
        fs::copy(attempts().join("tools/escape.py"), place.directory.join("skill/scripts/escape.py"))
            .unwrap();
        fs::copy(&attempt.path, &place.script).unwrap();
        base.user.own(&place.directory);
        if attempt.needs("set-user-id") && tests_run_as_root() {
            place.plant_set_user_id(&base.user);
        }
        place
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.directory.join("work")
    }

    pub(crate) fn skill(&self) -> PathBuf {
        self.directory.join("skill")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    pub(crate) fn secret(&self) -> PathBuf {
        self.directory.join("secret.txt")
    }

    /// What every attempt is told about its place.
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        BTreeMap::from([
            ("OUTSIDE_DIRECTORY".to_owned(), text(self.directory.clone())),
            ("OUTSIDE_SECRET".to_owned(), text(self.secret())),
            ("OUTSIDE_HOME".to_owned(), text(self.home())),
            ("OUTSIDE_SKILL".to_owned(), text(self.skill())),
            ("OUTSIDE_NAME".to_owned(), self.name.clone()),
        ])
    }

    fn fill(&self) {
        let token = &self.token;
        let skill = "---\nname: skill\ndescription: Use when something should get out.\n---\n# Out\n";
        for (path, text) in [
            ("secret.txt", format!("{token}\n")),
            ("outside/file", "as it was\n".to_owned()),
            ("home/.ssh/id_ed25519", format!("{token}\n")),
            ("home/.aws/credentials", format!("[default]\naws_secret_access_key = {token}\n")),
            ("home/.bash_history", format!("export KEY={token}\n")),
            ("home/.bashrc", "alias ll='ls -l'\n".to_owned()),
            ("skill/SKILL.md", skill.to_owned()),
            ("skill/scripts/other.sh", "echo other\n".to_owned()),
            ("work/readme.txt", "work here\n".to_owned()),
            (
                "work/.git/config",
                "[core]\n\tbare = false\n\thooksPath = tools/hooks\n[include]\n\tpath = ../more.gitconfig\n"
                    .to_owned(),
            ),
            ("work/.git/HEAD", "ref: refs/heads/main\n".to_owned()),
            ("work/.git/hooks/pre-commit", "#!/bin/sh\n".to_owned()),
            ("work/.git/hooks/sample", "#!/bin/sh\n".to_owned()),
            ("work/.claude/settings.json", "{}\n".to_owned()),
            ("work/.agents/skills/one/SKILL.md", skill.replace("name: skill", "name: one")),
        ] {
            let path = self.directory.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for (path, target) in [
            ("work/planted-link", "../secret.txt"),
            ("work/planted-up", ".."),
            ("work/planted-outside", "../outside/file"),
            ("skill/planted-link", "../secret.txt"),
        ] {
            symlink(target, self.directory.join(path)).unwrap();
        }
    }

    /// A program in the skill that runs as somebody else, whoever starts it.
    fn plant_set_user_id(&self, user: &User) {
        let program = self.skill().join("scripts/set-user-id");
        fs::copy("/usr/bin/id", &program).unwrap();
        let owner = if user.is_root() { ORDINARY } else { 0 };
        lchown(&program, Some(owner), Some(owner)).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    }

    /// How everything stands that must not be changed.
    pub(crate) fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut state = BTreeMap::new();
        for part in ["secret.txt", "outside", "home", "skill"] {
            note(&self.directory.join(part), &mut state);
        }
        for part in PROTECTED {
            note(&self.work().join(part), &mut state);
        }
        // In these two directories only what is there counts, since the work directory itself is written to.
        for directory in [self.directory.clone(), self.work()] {
            let inode = directory.symlink_metadata().map_or(0, |about| about.ino());
            state.insert(directory, format!("inode {inode}"));
        }
        for entry in fs::read_dir(&self.directory).unwrap() {
            state.entry(entry.unwrap().path()).or_insert_with(|| "there".to_owned());
        }
        state
    }

    /// What the attempt left in the work directory that nobody should find there.
    pub(crate) fn litter(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.work()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let Ok(about) = entry.path().symlink_metadata() else { continue };
                let kind = about.file_type();
                if !kind.is_symlink() && about.mode() & 0o6000 != 0 {
                    found.push(format!("{} has mode {:o}", entry.path().display(), about.mode()));
                }
                if kind.is_block_device() || kind.is_char_device() {
                    found.push(format!("{} is a device", entry.path().display()));
                }
                if kind.is_dir() {
                    open.push(entry.path());
                }
            }
        }
        found
    }
}

/// Whatever is done to a file shows in its number, mode, size or time of change.
fn note(path: &Path, state: &mut BTreeMap<PathBuf, String>) {
    let Ok(about) = path.symlink_metadata() else { return };
    let (inode, mode, size) = (about.ino(), about.mode(), about.size());
    state.insert(
        path.to_owned(),
        format!(
            "inode {inode}, mode {mode:o}, size {size}, changed {}.{:09}",
            about.ctime(),
            about.ctime_nsec()
        ),
    );
    if about.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            note(&entry.unwrap().path(), state);
        }
    }
}

/// 32 hexadecimal digits that nobody knows.
fn random() -> String {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    format!("{:032x}", u128::from_ne_bytes(bytes))
}
