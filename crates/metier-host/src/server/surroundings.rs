//! What a server finds around it: whether its directory is a project, whether others use the machine, how many files it may open.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, getrlimit, getuid};

/// What a directory has that people work in.
const MARKS: [&str; 20] = [
    ".git",
    ".hg",
    ".jj",
    ".svn",
    "metier.toml",
    "metier.lock",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "requirements.txt",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile",
    "composer.json",
    "CMakeLists.txt",
    "Makefile",
    "deno.json",
];

/// The ids of accounts that people have.
const PEOPLE: std::ops::Range<u32> = 1_000..60_000;

/// Descriptors that are left for everything but connections: journal, skills, scripts.
const RESERVED: u64 = 160;

/// Whether people work in a directory.
pub(super) fn is_project(directory: &Path) -> bool {
    MARKS.iter().any(|mark| directory.join(mark).exists())
}

/// How many connections there are descriptors for.
pub(super) fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit.saturating_sub(RESERVED).max(limit / 4).max(1)).unwrap_or(usize::MAX)
}

/// Whether other people have an account on this machine.
pub(super) fn has_other_users() -> bool {
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    others(&accounts, getuid().as_raw())
}

fn others(accounts: &str, own: u32) -> bool {
    accounts.lines().any(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let id = fields.get(2).and_then(|id| id.parse::<u32>().ok());
        let shell = fields.get(6).copied().unwrap_or_default();
        let is_person = id.is_some_and(|id| id != own && PEOPLE.contains(&id));
        is_person && !shell.ends_with("nologin") && !shell.ends_with("false")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_people_are_accounts_that_can_log_in() {
        let system = "root:x:0:0:root:/root:/bin/bash\nwww:x:33:33::/var/www:/usr/sbin/nologin\nnobody:x:65534:65534::/:/bin/sh\n";
        let me = "me:x:1000:1000::/home/me:/bin/bash\n";
        let you = "you:x:1001:1001::/home/you:/bin/zsh\n";
        let gone = "gone:x:1002:1002::/home/gone:/bin/false\n";
        assert!(!others(&format!("{system}{me}{gone}"), 1000));
        assert!(others(&format!("{system}{me}{you}"), 1000));
        assert!(others(me, 0) && !others("", 0) && !others("broken\n:::", 0));
    }

    #[test]
    fn a_project_has_one_of_the_marks() {
        let place = tempfile::tempdir().unwrap();
        assert!(!is_project(place.path()));
        fs::create_dir(place.path().join(".git")).unwrap();
        assert!(is_project(place.path()));
    }
}
