//! Files that a body names: the targets of relative links, and paths below the usual directories.

use std::collections::HashSet;

use memchr::{memchr_iter, memmem};

use crate::Span;
use crate::tree::Tree;

/// The directories whose files a body usually names outside links too.
const USUAL: [&str; 3] = ["scripts", "references", "assets"];

/// What the body names and the skill does not have, each once. Spans are those in `body`, moved by `base`.
pub(super) fn missing(body: &str, base: usize, tree: &Tree) -> Vec<(Span, String)> {
    let mut named = links(body);
    named.extend(paths(body));
    if named.is_empty() {
        return Vec::new();
    }
    let present = present(tree);
    let mut seen = HashSet::new();
    let mut missing = Vec::new();
    for (span, target) in named {
        if !present.contains(&target) && seen.insert(target.clone()) {
            missing.push((Span::new(base + span.start, base + span.end), target));
        }
    }
    missing
}

/// Every file of the skill, every directory, and what was left out (it is there, after all).
fn present(tree: &Tree) -> HashSet<String> {
    let mut present = HashSet::new();
    let skipped = tree.skipped.iter().map(|skipped| skipped.path.to_string_lossy().into_owned());
    for path in tree.files.iter().map(super::super::tree::TreeFile::path_text).chain(skipped) {
        let mut directory = path.as_str();
        while let Some((parent, _)) = directory.rsplit_once('/') {
            if !present.insert(parent.to_owned()) {
                break;
            }
            directory = parent;
        }
        present.insert(path);
    }
    present
}

/// Targets of `[text](target)` outside code blocks that lie in the skill.
fn links(body: &str) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    let mut code = CodeBlocks::new(body);
    for open in memmem::find_iter(body.as_bytes(), "](") {
        if code.contains(open) {
            continue;
        }
        let start = open + 2;
        let line = &body[start..];
        let Some(end) = line.find([')', ' ', '\n', '\r', '\t']) else {
            continue;
        };
        if let Some(target) = relative(&line[..end]) {
            found.push((Span::new(start, start + end), target));
        }
    }
    found
}

/// The path inside the skill that a link's target stands for; `None` where it leads elsewhere.
fn relative(target: &str) -> Option<String> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let placeholder =
        path.contains(['<', '>', '{', '}', '*', '$', '|', '"', '\\', '`', '…']) || path.contains("...");
    let scheme = path.split('/').next().is_some_and(|first| first.contains(':'));
    if path.is_empty() || placeholder || scheme || path.starts_with(['/', '~', '@']) {
        return None;
    }
    // Words that merely stand in parentheses, as in `[x](optional)`, are no files.
    if !path.contains(['/', '.']) {
        return None;
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // A path out of the skill is somebody else's file.
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| percent_decoded(&parts.join("/")))
}

fn percent_decoded(path: &str) -> String {
    if !path.contains('%') {
        return path.to_owned();
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match hex.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Words like `scripts/build.sh`, anywhere.
fn paths(body: &str) -> Vec<(Span, String)> {
    let bytes = body.as_bytes();
    let mut found = Vec::new();
    for slash in memchr_iter(b'/', bytes) {
        let Some(directory) = USUAL.iter().find(|name| bytes[..slash].ends_with(name.as_bytes())) else {
            continue;
        };
        let start = slash - directory.len();
        let end = slash
            + bytes[slash..].iter().position(|byte| !is_path_byte(*byte)).unwrap_or(bytes.len() - slash);
        let word = body[start..end].trim_end_matches(['.', '-']);
        let file = word.rsplit('/').next().unwrap_or_default();
        let is_file = file.contains('.') && !file.starts_with('.') && !word.contains("//");
        let is_cut = bytes.get(end).is_some_and(|byte| b"*<>{}[$(".contains(byte));
        if is_file && !is_cut && stands_alone(&bytes[..start]) {
            found.push((Span::new(start, start + word.len()), word.to_owned()));
        }
    }
    found
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._-".contains(&byte)
}

/// Whether a path begins here, perhaps with `./`, and is not the rest of a longer one.
fn stands_alone(before: &[u8]) -> bool {
    let before = before.strip_suffix(b"./").unwrap_or(before);
    before.last().is_none_or(|byte| !is_path_byte(*byte) && !b"}~\\@%:>$".contains(byte))
}

/// Tells, for rising offsets, whether they lie in a fenced code block.
struct CodeBlocks<'a> {
    fences: Box<dyn Iterator<Item = usize> + 'a>,
    next: Option<usize>,
    inside: bool,
}

impl<'a> CodeBlocks<'a> {
    fn new(body: &'a str) -> Self {
        let at_line_start =
            move |at: &usize| body[..*at].trim_end_matches([' ', '>']).is_empty_or_ends_line();
        let mut fences = memmem::find_iter(body.as_bytes(), "```").filter(at_line_start);
        let next = fences.next();
        Self { fences: Box::new(fences), next, inside: false }
    }

    fn contains(&mut self, offset: usize) -> bool {
        while self.next.is_some_and(|fence| fence < offset) {
            self.inside = !self.inside;
            self.next = self.fences.next();
        }
        self.inside
    }
}

trait LineStart {
    fn is_empty_or_ends_line(&self) -> bool;
}

impl LineStart for str {
    fn is_empty_or_ends_line(&self) -> bool {
        self.is_empty() || self.ends_with(['\n', '\r'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(body: &str) -> Vec<String> {
        links(body).into_iter().chain(paths(body)).map(|(_, target)| target).collect()
    }

    #[test]
    fn links_into_the_skill_are_found() {
        assert_eq!(named("[a](guide.md#top) ![b](./img/a%20b.png)"), ["guide.md", "img/a b.png"]);
        assert!(
            named("[a](https://x.y/z) [b](#top) [c](/etc/x) [d](../other/x.md) [e](mailto:a@b.c)").is_empty()
        );
        assert!(named("[a]({path}) [b](optional) [c](<x>)").is_empty());
        assert!(named("```\n[a](gone.md)\n```\n").is_empty());
        assert_eq!(named("```\nx\n```\n[a](gone.md)\n"), ["gone.md"]);
    }

    #[test]
    fn paths_below_the_usual_directories_are_found() {
        assert_eq!(
            named("run `python scripts/a.py`, see ./references/b.md."),
            ["scripts/a.py", "references/b.md"]
        );
        assert!(named("my/scripts/a.py ~/scripts/a.py ${X}/scripts/a.py scripts/ scripts/*.py").is_empty());
        assert!(named("https://x.y/assets/logo.png scripts/run references/<name>.md").is_empty());
    }
}
