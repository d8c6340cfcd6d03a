//! Files that a body refers to: targets of relative links, and paths below the usual directories.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;

use memchr::{memchr_iter, memmem};
use percent_encoding::percent_decode_str;

use crate::Span;
use crate::tree::Tree;

/// Directories whose files a body usually names outside links too.
const USUAL: [&str; 3] = ["scripts", "references", "assets"];

/// The maximum number of missing files to report.
const LISTED: usize = 50;

/// The files that the body names but the skill does not have, each once. Spans are offsets in `body` plus
/// `base`.
pub(super) fn missing(body: &str, base: usize, tree: &Tree) -> Vec<(Span, String)> {
    // Beyond a limit, the list of files is incomplete.
    if !tree.exceeded.is_empty() {
        return Vec::new();
    }
    let mut seen = HashSet::new();
    links(body)
        .chain(paths(body))
        .filter(|(_, written)| seen.insert(*written))
        .filter_map(|(span, written)| Some((span, relative(written)?)))
        .filter(|(_, target)| !is_there(tree, target))
        .map(|(span, target)| (Span::new(base + span.start, base + span.end), target))
        .take(LISTED)
        .collect()
}

/// Whether the skill has a file or directory. Skipped entries count as existing.
fn is_there(tree: &Tree, path: &str) -> bool {
    let at = tree.files.partition_point(|file| file.path_bytes() < path.as_bytes());
    let is_file = tree.files.get(at).is_some_and(|file| file.path_bytes() == path.as_bytes());
    let below = format!("{path}/");
    let first = tree.files.partition_point(|file| file.path_bytes() < below.as_bytes());
    let is_directory =
        tree.files.get(first).is_some_and(|file| file.path_bytes().starts_with(below.as_bytes()));
    is_file || is_directory || is_skipped(tree, path)
}

/// Whether a path, or a directory that contains it, was skipped.
fn is_skipped(tree: &Tree, path: &str) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let is_left_out = |end: usize| {
        let part = &path.as_bytes()[..end];
        tree.skipped.binary_search_by(|skipped| skipped.path.as_os_str().as_bytes().cmp(part)).is_ok()
    };
    !tree.skipped.is_empty() && ends.into_iter().any(is_left_out)
}

/// Targets of `[text](target)` outside code blocks, as they are written.
fn links(body: &str) -> impl Iterator<Item = (Span, &str)> {
    let mut code = CodeBlocks::new(body);
    memmem::find_iter(body.as_bytes(), "](").filter_map(move |open| {
        let start = open + 2;
        let bytes = &body.as_bytes()[start..];
        // The next link's bracket also ends the search. Otherwise each link that is never closed would be
        // searched to the end of the text.
        let end = bytes.iter().position(|byte| b") \n\r\t]".contains(byte))?;
        (bytes[end] != b']' && !code.contains(open))
            .then(|| (Span::new(start, start + end), &body[start..start + end]))
    })
}

/// The path inside the skill that a link refers to; `None` if it points elsewhere.
fn relative(target: &str) -> Option<String> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let placeholder =
        path.contains(['<', '>', '{', '}', '*', '$', '|', '"', '\\', '`', '…']) || path.contains("...");
    let scheme = path.split('/').next().is_some_and(|first| first.contains(':'));
    // Empty directories are not in the list of files; a parenthesis may continue after the next one.
    let unclear = path.ends_with('/') || path.contains('(') || path.starts_with("www.");
    if path.is_empty() || placeholder || scheme || unclear || path.starts_with(['/', '~', '@']) {
        return None;
    }
    // Plain words in parentheses, as in `[x](optional)`, are not files.
    if !path.contains(['/', '.']) {
        return None;
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // A path outside the skill is not its file.
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    let decoded = |path: String| percent_decode_str(&path).decode_utf8_lossy().into_owned();
    (!parts.is_empty()).then(|| decoded(parts.join("/")))
}

/// Paths such as `scripts/build.sh` anywhere in the text.
fn paths(body: &str) -> impl Iterator<Item = (Span, &str)> {
    let bytes = body.as_bytes();
    let mut done = 0;
    memchr_iter(b'/', bytes).filter_map(move |slash| {
        let directory = USUAL.iter().find(|name| bytes[..slash].ends_with(name.as_bytes()))?;
        let start = slash - directory.len();
        if start < done {
            return None;
        }
        let end = slash
            + bytes[slash..].iter().position(|byte| !is_path_byte(*byte)).unwrap_or(bytes.len() - slash);
        done = end;
        let word = body[start..end].trim_end_matches(['.', '-']);
        let file = word.rsplit('/').next().unwrap_or_default();
        let is_file = file.contains('.') && !file.starts_with('.') && !word.contains("//");
        let is_cut = bytes.get(end).is_some_and(|byte| b"*<>{}[$(".contains(byte));
        let is_path = is_file && !is_cut && stands_alone(&bytes[..start]);
        is_path.then(|| (Span::new(start, start + word.len()), word))
    })
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._-".contains(&byte)
}

/// Whether a path starts here, possibly after `./`, and is not the end of a longer one.
fn stands_alone(before: &[u8]) -> bool {
    let before = before.strip_suffix(b"./").unwrap_or(before);
    before.last().is_none_or(|byte| !is_path_byte(*byte) && !b"}~\\@%:>$".contains(byte))
}

/// Tells, for ascending offsets, whether they are in a fenced code block.
pub(super) struct CodeBlocks<'a> {
    fences: Box<dyn Iterator<Item = usize> + 'a>,
    next: Option<usize>,
    inside: bool,
}

impl<'a> CodeBlocks<'a> {
    pub(super) fn new(body: &'a str) -> Self {
        let bytes = body.as_bytes();
        let begins_line = move |at: &usize| {
            let quote_or_blank = |byte: &&u8| matches!(byte, b' ' | b'>');
            bytes[..*at]
                .iter()
                .rev()
                .find(|byte| !quote_or_blank(byte))
                .is_none_or(|byte| b"\n\r".contains(byte))
        };
        let mut fences = memmem::find_iter(bytes, "```").filter(begins_line);
        let next = fences.next();
        Self { fences: Box::new(fences), next, inside: false }
    }

    pub(super) fn contains(&mut self, offset: usize) -> bool {
        while self.next.is_some_and(|fence| fence < offset) {
            self.inside = !self.inside;
            self.next = self.fences.next();
        }
        self.inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(body: &str) -> Vec<String> {
        let links = links(body).filter_map(|(_, target)| relative(target));
        links.chain(paths(body).map(|(_, path)| path.to_owned())).collect()
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
