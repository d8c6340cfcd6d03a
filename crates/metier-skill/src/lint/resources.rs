//! Findings about the files around `SKILL.md`: unreferenced files, deep directories, and scripts that cannot
//! start.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use memchr::memmem;

use crate::Code;
use crate::diagnostic::Findings;
use crate::tree::{Tree, TreeFile};

/// The maximum number of unreferenced files to report one by one.
const LISTED: usize = 10;

/// The maximum number of bytes to search for names. A hostile skill could have thousands of files.
const SEARCHED: usize = 64 << 20;

/// Extensions of files that are run, not only read.
const SCRIPT_ENDINGS: [&str; 12] =
    ["bash", "fish", "js", "lua", "mjs", "php", "pl", "py", "rb", "sh", "ts", "zsh"];

/// Name prefixes of files that are meant for people, not for the agent.
const FOR_PEOPLE: [&str; 6] = [".", "license", "readme", "changelog", "notice", "contributing"];

/// Reports on every file except `SKILL.md`.
pub(super) fn check(body: &str, skill_md: &str, tree: &Tree, findings: &mut Findings<'_>) {
    let resources: Vec<&TreeFile> =
        tree.files.iter().filter(|file| file.path.as_os_str() != skill_md).collect();
    if resources.is_empty() {
        return;
    }
    let mut naming = Naming::of(body);
    let unnamed: Vec<Cow<'_, str>> = resources
        .iter()
        .take(SEARCHED / body.len().max(1))
        .map(|file| file.path_text())
        .filter(|path| !is_for_people(path) && !naming.leads_to(path))
        .collect();
    for path in unnamed.iter().take(LISTED) {
        let message =
            "`SKILL.md` does not refer to this file, so no agent will read it; mention it there or remove it";
        findings.report_on(path, Code::ResourceUnnamed, message);
    }
    if unnamed.len() > LISTED {
        let message = format!("`SKILL.md` does not refer to {} more files", unnamed.len() - LISTED);
        findings.report_on(skill_md, Code::ResourceUnnamed, message);
    }
    for directory in deep_directories(&resources) {
        let message =
            "files here are more than one directory below the skill, where agents seldom look; move them up";
        findings.report_on(&directory, Code::ResourceNested, message);
    }
    for file in resources.iter().filter(|file| is_script(file)) {
        let path = file.path_text();
        if !begins_with_shebang(tree, file) {
            let message = "a script should start with a `#!` line that names its interpreter, so that it can be run directly";
            findings.report_on(&path, Code::ScriptNoShebang, message);
        }
        if !file.executable {
            let message = "the script is not executable; fix with `chmod +x`";
            findings.report_on(&path, Code::ScriptNotExecutable, message);
        }
    }
}

fn is_for_people(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    path.split('/').any(|part| part.starts_with('.'))
        || FOR_PEOPLE.iter().any(|prefix| name.starts_with(prefix))
}

/// Directories two or more levels down that directly contain files.
fn deep_directories(resources: &[&TreeFile]) -> BTreeSet<String> {
    let paths = resources.iter().map(|file| file.path_text());
    paths
        .filter_map(|path| Some(path.rsplit_once('/')?.0.to_owned()))
        .filter(|directory| directory.contains('/'))
        .collect()
}

/// Whether a file is a script: in `scripts/`, with a script extension, and not a module that is only imported.
fn is_script(file: &TreeFile) -> bool {
    let path = file.path_text();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    path.starts_with("scripts/")
        && !name.starts_with('_')
        && ending.is_some_and(|ending| SCRIPT_ENDINGS.contains(&ending))
}

/// Scripts that cannot be opened are reported elsewhere.
fn begins_with_shebang(tree: &Tree, file: &TreeFile) -> bool {
    let mut start = [0; 2];
    match tree.open(file) {
        Ok(mut script) => script.read_exact(&mut start).is_ok() && start == *b"#!",
        Err(_) => true,
    }
}

/// Finds out whether a body refers to a file.
struct Naming<'a> {
    body: &'a [u8],
    /// Results for directories, which most files share.
    directories: BTreeMap<String, bool>,
}

impl<'a> Naming<'a> {
    fn of(body: &'a str) -> Self {
        Self { body: body.as_bytes(), directories: BTreeMap::new() }
    }

    /// Whether the text contains the file's name, with or without its extension, or names a directory that
    /// contains it.
    fn leads_to(&mut self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.split('.').next().unwrap_or(name);
        let wanted = if stem.len() > 3 { stem } else { name };
        memmem::find(self.body, wanted.as_bytes()).is_some() || self.leads_into(path)
    }

    fn leads_into(&mut self, path: &str) -> bool {
        let Some((directory, _)) = path.rsplit_once('/') else { return false };
        if let Some(known) = self.directories.get(directory) {
            return *known;
        }
        let leads = self.names_directory(directory) || self.leads_into(directory);
        self.directories.insert(directory.to_owned(), leads);
        leads
    }

    /// Whether the text contains a directory's path on its own, not only as the start of another path.
    fn names_directory(&self, directory: &str) -> bool {
        let ends_there = |at: usize| {
            let rest = &self.body[at + directory.len()..];
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            rest.first().is_none_or(|byte| !byte.is_ascii_alphanumeric() && !b"_-./".contains(byte))
        };
        memmem::find_iter(self.body, directory.as_bytes()).any(ends_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_leads_to_files_and_directories() {
        let mut body = Naming::of(
            "See `references/api.md`, run build.py, and look into `./assets/`. Mention 'my notes.txt'.",
        );
        for path in
            ["references/api.md", "scripts/build.py", "assets/logo.png", "assets/a/b.png", "my notes.txt"]
        {
            assert!(body.leads_to(path), "{path}");
        }
        for path in ["references/other.md", "scripts/run.py"] {
            assert!(!body.leads_to(path), "{path}");
        }
    }
}
