//! Compares what a skill does with what it declares. The severity is low unless the skill claims the opposite.

use std::sync::LazyLock;

use metier_skill::{Origin, Rules, SKILL_FILES, read};
use regex::bytes::{Regex, RegexBuilder};

use super::kind::{self, Kind};
use super::rules::expand;
use super::{Subject, SubjectEntry};

/// An action that the skill does not declare.
#[derive(Debug)]
pub(super) struct Undeclared<'a> {
    pub(super) rule: &'static str,
    pub(super) file: &'a str,
    pub(super) detail: String,
}

/// Claims that a skill stays offline.
const OFFLINE: &str = r"(?:without (?:any )?(?:network|internet)|no (?:network|internet)(?: access| calls?| connection| requests?)?\b|(?:fully|completely|entirely|works|runs) offline|no data leaves|never leaves (?:your|the) (?:machine|computer|device)|no external (?:api )?(?:calls|requests|services))";

/// Code that uses the network.
const NETWORK: &str = r"(?:\brequests\.(?:post|put|get|request)\(|\bhttpx\.|urlopen\(|\bfetch\(\s*[\x22'`]https?:|\baxios\b|\bcurl\s+[^\n]{0,80}https?://|\bwget\s|invoke-(?:webrequest|restmethod))";

static SENDS: LazyLock<Option<Regex>> = LazyLock::new(|| plain(NETWORK));
static STAYS: LazyLock<Option<Regex>> = LazyLock::new(|| plain(OFFLINE));
static COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    plain(
        r"(?:https?://|\b(?:curl|wget|bash|powershell|python3?|chmod|eval|exec|import os|subprocess|nc -|iex|invoke-)\b|/bin/(?:ba)?sh)",
    )
});

fn plain(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(&expand(pattern)).unicode(false).build().ok()
}

fn is_in(regex: &LazyLock<Option<Regex>>, text: &[u8]) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Whether a text in lower case is an address, or a command for a shell or an interpreter.
pub(super) fn is_command(text: &[u8]) -> bool {
    is_in(&COMMAND, text)
}

/// Compares the skill's code with its `SKILL.md`.
pub(super) fn check<'a>(subject: &Subject<'a>) -> Vec<Undeclared<'a>> {
    let files = || {
        subject.entries.iter().filter_map(|entry| match entry {
            SubjectEntry::File { path, bytes, .. } => Some((*path, *bytes)),
            _ => None,
        })
    };
    let Some((skill_md, bytes)) = files().find(|(path, _)| SKILL_FILES.contains(path)) else {
        return Vec::new();
    };
    let code = |path: &str, bytes: &[u8]| kind::of(path, bytes) == Kind::Code;
    let sends = files().find(|(path, bytes)| code(path, bytes) && is_in(&SENDS, &bytes.to_ascii_lowercase()));
    let mut found = Vec::new();
    let Some((sender, _)) = sends else { return found };
    if is_in(&STAYS, &bytes.to_ascii_lowercase()) {
        let detail = format!("`{skill_md}` says that it works offline");
        found.push(Undeclared { rule: "undeclared-opposite", file: sender, detail });
    }
    let reading = read(bytes, Origin::directory(subject.name), &Rules::lenient());
    let tools = reading.skill.and_then(|skill| skill.allowed_tools);
    let may_send = |rule: &String| {
        ["Bash", "Web", "Fetch", "mcp", "*", "Shell", "Python"].iter().any(|tool| rule.contains(tool))
    };
    if tools.is_some_and(|tools| !tools.rules().iter().any(may_send)) {
        let detail = "`allowed-tools` lists no tool with network access".to_owned();
        found.push(Undeclared { rule: "undeclared-network", file: sender, detail });
    }
    found
}
