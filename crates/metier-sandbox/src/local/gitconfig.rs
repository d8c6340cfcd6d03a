//! Parses git configuration as git does, and knows which settings are harmless.

use std::collections::BTreeSet;

/// A setting, as git parses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    section: String,
    subsection: Option<String>,
    name: String,
    pub(super) value: String,
}

pub(super) fn is_hooks_path(setting: &Setting) -> bool {
    (setting.section.as_str(), setting.name.as_str()) == ("core", "hookspath")
}

pub(super) fn is_include(setting: &Setting) -> bool {
    matches!(setting.section.as_str(), "include" | "includeif") && setting.name == "path"
}

/// What a setting makes git do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing relevant.
    Harmless,
    /// It sets a network address for fetching and pushing.
    Address,
    /// It sets a local path for that: hooks of a repository there are run.
    Local,
    /// It may run something.
    Command,
}

/// Whether a setting is not known to be harmless.
pub(super) fn is_command(setting: &Setting) -> bool {
    !is_harmless(setting)
}

/// What a setting makes git do, with these known remotes.
pub(super) fn role(setting: &Setting, remotes: &BTreeSet<String>) -> Role {
    if !is_harmless(setting) {
        return Role::Command;
    }
    let value = setting.value.as_str();
    let is_address = match (setting.section.as_str(), setting.subsection.is_some(), setting.name.as_str()) {
        ("remote", true, "url" | "pushurl") => true,
        // A value that is not a remote's name is read as an address.
        ("branch", true, "remote" | "pushremote") => value != "." && !remotes.contains(value),
        _ => false,
    };
    match is_address {
        false => Role::Harmless,
        true if is_local(value) => Role::Local,
        true => Role::Address,
    }
}

/// The remotes that have an address in the settings.
pub(super) fn remotes<'a>(settings: impl Iterator<Item = &'a Setting>) -> BTreeSet<String> {
    let of_remote =
        |one: &&Setting| one.section == "remote" && matches!(one.name.as_str(), "url" | "pushurl");
    settings.filter(of_remote).filter_map(|one| one.subsection.clone()).collect()
}

/// Whether git reads an address as a path. With a `:` before the first `/`, it names another machine.
fn is_local(address: &str) -> bool {
    let names_machine = || address.split('/').next().is_some_and(|first| first.contains(':'));
    address.starts_with("file://") || !names_machine()
}

/// Whether a setting is known to run nothing and to refer to nothing else. Settings that git itself writes are among
/// these.
fn is_harmless(setting: &Setting) -> bool {
    // `ext::command` and the like are addresses that run something; a `-` could be an option.
    let is_plain = || !setting.value.contains("::") && !setting.value.starts_with('-');
    let (section, name) = (setting.section.as_str(), setting.name.as_str());
    match (section, setting.subsection.is_some()) {
        ("core", false) => CORE.contains(&name),
        ("extensions", false) => EXTENSIONS.contains(&name),
        ("remote", true) => REMOTE.contains(&name) && is_plain(),
        ("branch", true) => BRANCH.contains(&name) && is_plain(),
        ("submodule", _) => matches!(name, "active" | "url" | "recurse") && is_plain(),
        ("user", false) => matches!(name, "name" | "email"),
        ("init", false) => name == "defaultbranch",
        ("push", false) => matches!(name, "default" | "autosetupremote" | "followtags"),
        ("pull", false) => matches!(name, "rebase" | "ff"),
        ("fetch", false) => matches!(name, "prune" | "prunetags" | "parallel"),
        ("merge", false) => matches!(name, "ff" | "conflictstyle" | "renamelimit" | "renames"),
        ("diff", false) => matches!(name, "algorithm" | "renames" | "renamelimit" | "noprefix"),
        ("rerere", false) => matches!(name, "enabled" | "autoupdate"),
        ("lfs", false) => name == "repositoryformatversion",
        ("gc", false) => matches!(name, "auto" | "autodetach" | "autopacklimit"),
        ("index", false) => name == "version",
        ("color" | "advice" | "feature", false) => true,
        _ => false,
    }
}

const CORE: &[&str] = &[
    "abbrev",
    "autocrlf",
    "bare",
    "bigfilethreshold",
    "commitgraph",
    "compression",
    "eol",
    "filemode",
    "ignorecase",
    "logallrefupdates",
    "longpaths",
    "multipackindex",
    "precomposeunicode",
    "preloadindex",
    "protecthfs",
    "protectntfs",
    "quotepath",
    "repositoryformatversion",
    "safecrlf",
    "sharedrepository",
    "sparsecheckout",
    "sparsecheckoutcone",
    "symlinks",
    "untrackedcache",
];
const EXTENSIONS: &[&str] = &[
    "compatobjectformat",
    "noop",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "worktreeconfig",
];
const REMOTE: &[&str] = &[
    "fetch",
    "followremotehead",
    "mirror",
    "partialclonefilter",
    "promisor",
    "prune",
    "prunetags",
    "push",
    "pushurl",
    "tagopt",
    "url",
];
const BRANCH: &[&str] = &["description", "merge", "pushremote", "rebase", "remote"];

/// Parses settings; `None` if git would reject the file.
pub(super) fn parse(text: &[u8]) -> Option<Vec<Setting>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut rest = text.trim_start_matches('\u{feff}');
    let (mut section, mut subsection): (Option<String>, Option<String>) = (None, None);
    let mut settings = Vec::new();
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Some(settings) };
        if matches!(first, '#' | ';') {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if first == '[' {
            let (head, after) = header(&rest[1..])?;
            (section, subsection, rest) = (Some(head.0), head.1, after);
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
            let name = rest[..end].to_ascii_lowercase();
            if name.is_empty() {
                return None;
            }
            let after = rest[end..].trim_start_matches([' ', '\t']);
            let (value, after) = match after.strip_prefix('=') {
                Some(after) => value(after)?,
                // Without a value it is true.
                None if after.is_empty() || after.starts_with(['\n', '\r', '#', ';']) => {
                    ("true".to_owned(), after)
                }
                None => return None,
            };
            rest = after;
            settings.push(Setting { section: section.clone()?, subsection: subsection.clone(), name, value });
        }
    }
}

/// A section's name and subsection, and the text after its `]`.
fn header(text: &str) -> Option<((String, Option<String>), &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.'))?;
    let (name, rest) = (text[..end].to_ascii_lowercase(), text[end..].trim_start_matches([' ', '\t']));
    if let Some(rest) = rest.strip_prefix(']') {
        // The old syntax of a subsection.
        let (section, subsection) = match name.split_once('.') {
            Some((section, subsection)) => (section.to_owned(), Some(subsection.to_owned())),
            None => (name, None),
        };
        return Some(((section, subsection), rest));
    }
    let mut subsection = String::new();
    let mut letters = rest.strip_prefix('"')?.char_indices();
    loop {
        match letters.next()? {
            (index, '"') => {
                let rest = rest[1 + index + 1..].trim_start_matches([' ', '\t']).strip_prefix(']')?;
                return Some(((name, Some(subsection)), rest));
            }
            (_, '\n') => return None,
            (_, '\\') => subsection.push(letters.next()?.1),
            (_, letter) => subsection.push(letter),
        }
    }
}

/// A value with its quotes and escapes resolved, and the text after its line.
fn value(text: &str) -> Option<(String, &str)> {
    let (mut value, mut is_quoted) = (String::new(), false);
    let mut letters = text.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            '\n' if is_quoted => return None,
            '\n' => return Some((value.trim().to_owned(), &text[index + 1..])),
            '"' => is_quoted = !is_quoted,
            '\\' => match letters.next()?.1 {
                '\n' => {}
                '\r' if text[index..].starts_with("\\\r\n") => {
                    letters.next();
                }
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'b' => value.push('\u{8}'),
                other @ ('"' | '\\') => value.push(other),
                _ => return None,
            },
            '#' | ';' if !is_quoted => {
                let rest = text[index..].split_once('\n').map_or("", |(_, rest)| rest);
                return Some((value.trim().to_owned(), rest));
            }
            other => value.push(other),
        }
    }
    (!is_quoted).then(|| (value.trim().to_owned(), ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harmless(text: &str) -> bool {
        parse(text.as_bytes()).is_some_and(|settings| settings.iter().all(is_harmless))
    }

    #[test]
    fn what_git_itself_writes_is_harmless() {
        assert!(harmless("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"));
        assert!(harmless(
            "[remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
             [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n# done\n[user] name = \"A; B\" ; yes\n"
        ));
        assert!(harmless(""));
    }

    #[test]
    fn what_runs_something_is_not_however_it_is_written() {
        for text in [
            "[core]\nfsmonitor = evil",
            "[CORE] FSMonitor = evil",
            "[core]fsmonitor=evil",
            "[core]\nfsmonitor",
            "[core]\nbare = false \\\n[core] fsmonitor = evil\n[core]\nfsmonitor = evil",
            "[core]\n  sshCommand = evil",
            "[alias]\nst = !evil",
            "[include]\npath = ../x",
            "[includeIf \"gitdir:/\"]\npath = x",
            "[filter \"x\"]\nclean = evil",
            "[remote \"x\"]\nurl = ext::sh -c evil",
            "[remote \"x\"]\nuploadpack = evil",
            "[credential]\nhelper = !evil",
            "[diff.x]\ntextconv = evil",
            "[hook \"x\"]\ncommand = evil",
            // Not what git takes, so that it is not known what it means.
            "[core\nfsmonitor = evil",
            "fsmonitor = evil",
            "[core]\nbare = \"open",
        ] {
            assert!(!harmless(text), "{text}");
        }
    }

    #[test]
    fn addresses_are_told_from_paths() {
        for (text, expected) in [
            ("[remote \"x\"]\nurl = https://example.org/x.git", Role::Address),
            ("[remote \"x\"]\npushurl = git@example.org:x/y.git", Role::Address),
            ("[remote \"x\"]\nurl = ../x", Role::Local),
            ("[remote \"x\"]\nurl = /srv/a:b", Role::Local),
            ("[remote \"x\"]\nurl = file:///srv/x", Role::Local),
            ("[branch \"x\"]\nremote = origin", Role::Harmless),
            ("[branch \"x\"]\nremote = .", Role::Harmless),
            ("[branch \"x\"]\npushRemote = evil", Role::Local),
            ("[branch \"x\"]\npushRemote = https://example.org/x.git", Role::Address),
            ("[remote \"x\"]\nurl = ext::evil", Role::Command),
        ] {
            let settings = parse(text.as_bytes()).unwrap();
            assert_eq!(role(&settings[0], &BTreeSet::from(["origin".to_owned()])), expected, "{text}");
        }
    }

    #[test]
    fn values_are_read_as_git_reads_them() {
        let one = |text: &str| parse(text.as_bytes()).unwrap().pop().unwrap();
        assert_eq!(one("[a \"b\\\"c\"]\nD = x # y").subsection.as_deref(), Some("b\"c"));
        assert_eq!(one("[a]\nd = x # y\n").value, "x");
        assert_eq!(one("[a]\nd = \"x # y\" z\\\n  w\n").value, "x # y z  w");
        assert_eq!(one("[a]\nd = x\\ty").value, "x\ty");
    }
}
