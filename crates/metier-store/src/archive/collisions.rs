//! Finds names that are the same file on some system: duplicates, names that differ only in case, and different
//! Unicode normalizations.

use std::collections::HashMap;

use unicode_normalization::{UnicodeNormalization as _, is_nfc};

use super::error::NameProblem;

/// All files and directories so far, each with its parent directory.
///
/// Directories that appear only in paths are included and counted, so an archive cannot create more of them than the
/// entry limit allows.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Keyed by the number of the directory and the folded name in it.
    numbers: HashMap<(usize, Box<str>), usize>,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    /// The name in its directory, as stored.
    name: Box<str>,
    is_folder: bool,
    /// Whether it has an entry of its own.
    is_listed: bool,
}

/// The number of the root directory.
const ROOT: usize = usize::MAX;

impl Names {
    /// The number of files and directories.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a checked path.
    pub(crate) fn add(&mut self, path: &str, is_folder: bool) -> Result<(), NameProblem> {
        let mut above = ROOT;
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let is_last = parts.peek().is_none();
            above = self.step(above, part, is_last, is_folder)?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        above: usize,
        part: &str,
        is_last: bool,
        is_folder: bool,
    ) -> Result<usize, NameProblem> {
        let is_folder = is_folder || !is_last;
        let next = self.nodes.len();
        let number = *self.numbers.entry((above, folded(part))).or_insert(next);
        let Some(node) = self.nodes.get_mut(number) else {
            self.nodes.push(Node { name: part.into(), is_folder, is_listed: is_last });
            return Ok(next);
        };
        if *node.name != *part {
            let other = node.name.to_string();
            let is_case = caseless(part) == caseless(&other);
            return Err(if is_case {
                NameProblem::CaseCollision { other }
            } else {
                NameProblem::UnicodeCollision { other }
            });
        }
        if node.is_folder != is_folder {
            return Err(NameProblem::FileAndFolder);
        }
        if is_last && node.is_listed {
            return Err(NameProblem::Duplicate);
        }
        node.is_listed |= is_last;
        Ok(number)
    }
}

/// The key that names share if they are one file on some system: normalized, then without case.
fn folded(part: &str) -> Box<str> {
    if part.is_ascii() {
        return part.to_ascii_lowercase().into();
    }
    let composed: String = if is_nfc(part) { part.to_owned() } else { part.nfc().collect() };
    caseless(&composed).nfc().collect::<String>().into()
}

/// Uppercase first, so that letters with two lowercase forms, and `ß`, become equal.
fn caseless(part: &str) -> String {
    part.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_one_file_somewhere() {
        let code = |first: &str, second: &str| {
            let mut names = Names::default();
            names.add(first, false).unwrap();
            names.add(second, false).err()
        };
        assert_eq!(code("a/b", "a/b"), Some(NameProblem::Duplicate));
        assert_eq!(code("a", "a/b"), Some(NameProblem::FileAndFolder));
        assert_eq!(code("a/b", "a"), Some(NameProblem::FileAndFolder));
        for (first, second) in [("A/x", "a/y"), ("straße", "STRASSE"), ("σ", "ς"), ("k", "\u{212a}")] {
            assert!(matches!(code(first, second), Some(NameProblem::CaseCollision { .. })), "{first}");
        }
        assert!(matches!(code("\u{e9}", "e\u{301}"), Some(NameProblem::UnicodeCollision { .. })));
        assert!(matches!(code("\u{c9}", "e\u{301}"), Some(NameProblem::UnicodeCollision { .. })));
        assert_eq!(code("a/x", "b/x"), None);
        assert_eq!(code("x", "y"), None);
    }

    #[test]
    fn directories_are_counted_once_whether_listed_or_not() {
        let mut names = Names::default();
        names.add("a/b/c", false).unwrap();
        names.add("a/b", true).unwrap();
        names.add("a/d", false).unwrap();
        assert_eq!(names.len(), 4);
        assert_eq!(names.add("a/b", true), Err(NameProblem::Duplicate));
    }
}
