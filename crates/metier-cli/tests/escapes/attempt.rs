//! An attempt as its file says it: what to run, what it needs, and when its control may fail.

use std::fs;
use std::path::{Path, PathBuf};

use crate::place::User;

/// Where the attempts are.
pub(crate) fn attempts() -> PathBuf {
    fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/escapes")).unwrap()
}

/// When it is no wonder that an attempt fails although nothing holds it.
enum Control {
    Always,
    Unsafe(String),
    RootOnly,
    UserOnly,
    Needs(String),
}

pub(crate) struct Attempt {
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Further options for `metier sandbox run`.
    pub(crate) options: Vec<String>,
    /// Paths in the work directory that other programs would obey afterwards.
    pub(crate) obeyed: Vec<String>,
    /// A directory of the work directory in which git is run afterwards.
    pub(crate) git: Option<String>,
    control: Control,
    needs: Vec<String>,
}

impl Attempt {
    fn read(group: &str, path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut attempt = Self {
            group: group.to_owned(),
            name,
            options: Vec::new(),
            obeyed: Vec::new(),
            git: None,
            control: Control::Always,
            needs: Vec::new(),
            path,
        };
        let mut head = text.lines().map_while(|line| line.strip_prefix("# "));
        assert!(
            head.next().is_some_and(|first| first.ends_with('.')),
            "{attempt} does not say what it tries"
        );
        for line in head {
            let words = |rest: &str| {
                rest.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
            };
            match line.split_once(": ") {
                Some(("control", rest)) => attempt.control = Control::read(rest),
                Some(("needs", rest)) => attempt.needs = words(rest),
                Some(("options", rest)) => attempt.options = words(rest),
                Some(("obeyed", rest)) => attempt.obeyed = words(rest),
                Some(("git", rest)) => attempt.git = Some(rest.to_owned()),
                _ => panic!("{attempt}: what is {line:?}?"),
            }
        }
        for need in &attempt.needs {
            assert!(
                ["outside", "terminal", "set-user-id", "overlap", "killing"].contains(&need.as_str()),
                "{attempt}: what is {need:?}?"
            );
        }
        attempt
    }

    pub(crate) fn needs(&self, what: &str) -> bool {
        self.needs.iter().any(|need| need == what)
    }

    /// Why the control must not be run.
    pub(crate) fn unsafe_because(&self) -> Option<&str> {
        match &self.control {
            Control::Unsafe(why) => Some(why),
            _ => None,
        }
    }

    /// Why the control may fail for this user.
    pub(crate) fn excuse(&self, user: &User) -> Option<String> {
        match &self.control {
            Control::Always => None,
            Control::Unsafe(why) => Some(why.clone()),
            Control::RootOnly => (!user.is_root()).then(|| "only root could".to_owned()),
            Control::UserOnly => user.is_root().then(|| "only an ordinary user could".to_owned()),
            Control::Needs(what) => Some(format!("needs {what}")),
        }
    }
}

impl Control {
    fn read(text: &str) -> Self {
        match text.split_once(' ').map_or((text, ""), |(first, rest)| (first.trim_end_matches(','), rest)) {
            ("unsafe", why) if !why.is_empty() => Self::Unsafe(why.to_owned()),
            ("root-only", "") => Self::RootOnly,
            ("user-only", "") => Self::UserOnly,
            ("needs", what) if !what.is_empty() => Self::Needs(what.to_owned()),
            _ => panic!("what is {text:?}?"),
        }
    }
}

impl std::fmt::Display for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.group, self.name)
    }
}

/// All attempts whose name has `part` in it.
pub(crate) fn all(part: &str) -> Vec<Attempt> {
    let mut found = Vec::new();
    for group in sorted(&attempts()) {
        let name = group.file_name().unwrap().to_str().unwrap().to_owned();
        if group.is_dir() && name != "tools" {
            found.extend(sorted(&group).into_iter().map(|path| Attempt::read(&name, path)));
        }
    }
    found.retain(|attempt| attempt.to_string().contains(part));
    found
}

fn sorted(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
