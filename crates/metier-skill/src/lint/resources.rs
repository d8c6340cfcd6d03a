//! Files that lie around: unnamed, too deep, or scripts that will not start.

use std::collections::{BTreeSet, HashSet};
use std::io::Read as _;

use crate::diagnostic::Findings;
use crate::tree::{Tree, TreeFile};
use crate::{Code, Diagnostic, Rules, Span};

/// How many unnamed files are listed one by one.
const LISTED: usize = 10;

/// Endings of files that are run, not only read.
const SCRIPT_ENDINGS: [&str; 12] =
    ["bash", "fish", "js", "lua", "mjs", "php", "pl", "py", "rb", "sh", "ts", "zsh"];

/// Beginnings of the names of files that are there for people, not for the agent.
const FOR_PEOPLE: [&str; 6] = [".", "license", "readme", "changelog", "notice", "contributing"];

/// Reports on every file but `SKILL.md` itself.
pub(super) fn check(body: &str, skill_md: &str, tree: &Tree, rules: &Rules, list: &mut Vec<Diagnostic>) {
    let resources: Vec<&TreeFile> =
        tree.files.iter().filter(|file| file.path.as_os_str() != skill_md).collect();
    if resources.is_empty() {
        return;
    }
    let mut report = |file: &str, code: Code, message: String| {
        let mut findings = Findings::new(rules, file);
        findings.report(code, Span::default(), message);
        list.extend(findings.finish(""));
    };
    let words = Words::of(body);
    let unnamed: Vec<String> = resources
        .iter()
        .map(|file| file.path_text())
        .filter(|path| !is_for_people(path) && !words.lead_to(path))
        .collect();
    for path in unnamed.iter().take(LISTED) {
        let message =
            "nothing in `SKILL.md` leads here, so no agent will read it; name it there or remove it";
        report(path, Code::ResourceUnnamed, message.to_owned());
    }
    if unnamed.len() > LISTED {
        let message = format!("{} more files are not named in `SKILL.md`", unnamed.len() - LISTED);
        report(skill_md, Code::ResourceUnnamed, message);
    }
    for directory in deep_directories(&resources) {
        let message =
            "files here lie more than one directory below the skill, where agents seldom look; flatten";
        report(&directory, Code::ResourceNested, message.to_owned());
    }
    for file in resources.iter().filter(|file| is_script(file)) {
        let path = file.path_text();
        if !begins_with_shebang(tree, file) {
            let message = "a script should begin with a line like `#!/usr/bin/env bash`, so that it can be run by itself";
            report(&path, Code::ScriptNoShebang, message.to_owned());
        }
        if cfg!(unix) && !file.executable {
            report(&path, Code::ScriptNotExecutable, format!("the script has no run bit; `chmod +x {path}`"));
        }
    }
}

fn is_for_people(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    path.split('/').any(|part| part.starts_with('.'))
        || FOR_PEOPLE.iter().any(|prefix| name.starts_with(prefix))
}

/// Directories two or more levels down that hold files themselves.
fn deep_directories(resources: &[&TreeFile]) -> BTreeSet<String> {
    let paths = resources.iter().map(|file| file.path_text());
    paths
        .filter_map(|path| Some(path.rsplit_once('/')?.0.to_owned()))
        .filter(|directory| directory.contains('/'))
        .collect()
}

/// What `scripts/` holds, by its ending; modules that are only imported are none.
fn is_script(file: &TreeFile) -> bool {
    let path = file.path_text();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    path.starts_with("scripts/")
        && !name.starts_with('_')
        && ending.is_some_and(|ending| SCRIPT_ENDINGS.contains(&ending))
}

/// A script that cannot be opened is not reported here a second time.
fn begins_with_shebang(tree: &Tree, file: &TreeFile) -> bool {
    let mut start = [0; 2];
    match tree.open(file) {
        Ok(mut script) => script.read_exact(&mut start).is_ok() && start == *b"#!",
        Err(_) => true,
    }
}

/// The words of a body that could name a file: paths, and the last part of each.
struct Words<'a> {
    body: &'a str,
    words: HashSet<&'a str>,
}

impl<'a> Words<'a> {
    fn of(body: &'a str) -> Self {
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | '%');
        let mut words = HashSet::new();
        for word in body.split(|c| !is_path(c)) {
            let word = word.trim_start_matches("./").trim_end_matches(['.', '/', '-']);
            words.insert(word);
            words.insert(word.rsplit('/').next().unwrap_or(word));
        }
        Self { body, words }
    }

    /// Whether the text names a file, or a directory that it lies in.
    fn lead_to(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        // A name with blanks is no word; only then is the text searched.
        if self.words.contains(name) || name.contains(' ') && self.body.contains(name) {
            return true;
        }
        let stem = name.split('.').next().unwrap_or(name);
        if stem.len() > 3 && self.words.contains(stem) {
            return true;
        }
        let mut directory = path;
        while let Some((parent, _)) = directory.rsplit_once('/') {
            if self.words.contains(parent) {
                return true;
            }
            directory = parent;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_to_files_and_directories() {
        let words = Words::of(
            "See `references/api.md`, run build.py, and look into ./assets/. Mention 'my notes.txt'.",
        );
        for path in
            ["references/api.md", "scripts/build.py", "assets/logo.png", "assets/a/b.png", "my notes.txt"]
        {
            assert!(words.lead_to(path), "{path}");
        }
        for path in ["references/other.md", "scripts/run.py"] {
            assert!(!words.lead_to(path), "{path}");
        }
    }
}
