//! What the tests of the store have in common: skills to install, what is installed, and whether a store is as it should be.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::Place;

/// How often something slow is done: what a variable says, or this.
#[expect(clippy::disallowed_methods, reason = "a test asks itself by a variable")]
pub(crate) fn count(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().map_or(usual, |text| text.parse().unwrap())
}

/// Numbers that look random, the same each time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What ended how: for what is said when it should have ended otherwise.
pub(crate) fn said(output: &Output) -> String {
    format!("{:?}\n{}{}", output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Files with these permissions.
pub(crate) fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

impl Place {
    /// A skill with a version, some files, and a script.
    pub(crate) fn versioned(&self, path: &str, version: &str) {
        let name = path.rsplit('/').next().unwrap();
        let head = format!(
            "---\nname: {name}\ndescription: Use when testing {name}.\nmetadata:\n  version: \"{version}\"\n---\n"
        );
        self.write(&format!("{path}/SKILL.md"), format!("{head}# {name}\n\nDo it.\n"));
        self.write(&format!("{path}/references/guide.md"), format!("The guide of {version}.\n"));
        let script = self.write(&format!("{path}/scripts/run.sh"), format!("#!/bin/sh\necho {version}\n"));
        set_mode(script, 0o755);
    }

    /// Runs a command at home with programs to be found; how it ended.
    pub(crate) fn metier(&self, args: &[&str]) -> Output {
        self.with_programs(args).output().unwrap()
    }

    pub(crate) fn with_programs(&self, args: &[&str]) -> Command {
        let mut command = self.at_home(args);
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
    }

    /// The same, which must end like this; everything that it says.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, args: &[&str]) -> String {
        let output = self.metier(args);
        assert_eq!(output.status.code(), Some(code), "metier {}: {}", args.join(" "), said(&output));
        text(&output.stdout) + &text(&output.stderr)
    }

    #[track_caller]
    pub(crate) fn done(&self, args: &[&str]) -> String {
        self.ends(0, args)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path().join("me/.local/share/metier/store")
    }

    /// One installed skill, as the lock has it.
    pub(crate) fn locked(&self, name: &str) -> Value {
        let lock: Value = serde_json::from_str(&self.done(&["lock", "--json"])).unwrap();
        let skills = lock["skill"].as_array().unwrap();
        skills.iter().find(|skill| skill["name"] == name).unwrap_or(&Value::Null).clone()
    }

    /// What is recorded of an installed skill.
    pub(crate) fn provenance(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.store().join("current/provenance.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()[name].clone()
    }

    /// A file of an installed skill that was made writable, and its directory.
    pub(crate) fn opened(&self, tier: &str, file: &str) -> PathBuf {
        let path = fs::canonicalize(self.store().join("current/skills").join(tier)).unwrap().join(file);
        let skill = fs::canonicalize(path.parent().unwrap()).unwrap();
        set_mode(&skill, 0o755);
        let path = skill.join(path.file_name().unwrap());
        if path.is_file() {
            set_mode(&path, fs::metadata(&path).unwrap().permissions().mode() | 0o200);
        }
        path
    }
}

/// Nothing is left of what was not finished, and no state but the last two.
#[track_caller]
pub(crate) fn assert_tidy(store: &Path) {
    let names = |below: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(store.join(below)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    };
    assert_eq!(names("staging"), BTreeSet::new());
    for tree in names("trees") {
        let beside = names(&format!("trees/{tree}")).into_iter().find(|name| name.starts_with('.'));
        assert_eq!(beside, None, "{tree}");
    }
    let generations = names("generations");
    match fs::read_link(store.join("current")) {
        Ok(current) => {
            assert!(generations.contains(current.file_name().unwrap().to_str().unwrap()), "{generations:?}");
            assert!(generations.len() <= 2, "{generations:?}");
        }
        Err(_) => assert_eq!(generations, BTreeSet::new()),
    }
}

/// Every file and link below a directory: its path, its permissions, what is in it or where it leads.
pub(crate) fn everything(directory: &Path) -> BTreeSet<(PathBuf, u32, Vec<u8>)> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        let content = match entry.file_type().unwrap() {
            kind if kind.is_dir() => {
                all.extend(everything(&path));
                Vec::new()
            }
            kind if kind.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
            _ => fs::read(&path).unwrap(),
        };
        all.insert((path, meta.permissions().mode(), content));
    }
    all
}

/// Whether a program is here; says so where it is not.
pub(crate) fn has_program(name: &str) -> bool {
    let found = Command::new("which").arg(name).output().is_ok_and(|output| output.status.success());
    if !found {
        crate::skips::skip(&format!("{name} is not installed"));
    }
    found
}
