//! The working directories that options of a command set: `env -C DIR`, `git --work-tree=DIR`, `sudo -D DIR`.
//!
//! Which options do so depends on the program. In case of doubt, a word counts as such a directory: a wrong guess only
//! adds paths that do not exist.

use crate::invocation::base_name;
use crate::shell::{Command, Start, Word};

/// The maximum number of directories of one command.
const MOST: usize = 32;

/// Short options that name a directory, beside `-C`, by program.
const LETTERS: &[(&str, char)] = &[
    ("sudo", 'D'),
    ("cpio", 'D'),
    ("patch", 'd'),
    ("start-stop-daemon", 'd'),
    ("just", 'd'),
    ("composer", 'd'),
    ("nsenter", 'w'),
    ("docker", 'w'),
    ("podman", 'w'),
    ("tmux", 'c'),
    ("gradle", 'p'),
];

/// Long options that name a directory without `dir` in their names.
const NAMES: &[&str] =
    &["cwd", "wd", "work-tree", "worktree", "prefix", "root", "chroot", "base", "project", "pwd"];

/// The directories that a command may work in according to its options.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    /// As written.
    pub(crate) named: Vec<String>,
    /// There are others that are only known at run time.
    pub(crate) is_open: bool,
    /// There are more than the maximum.
    pub(crate) is_cut: bool,
}

impl Directories {
    /// The directories of a command.
    pub(crate) fn of(command: &Command) -> Self {
        let mut found = Self::default();
        let words = command.words.as_slice();
        // Each directory may be relative to the one before.
        let mut chain = String::new();
        for (at, word) in words.iter().enumerate().skip(1) {
            let is_tar = || words[at - 1].literal().is_some_and(|name| base_name(name).ends_with("tar"));
            if word.text.first() != Some(&b'-') {
                // `tar xfC a.tar DIR`
                if at == 1 && word.text.contains(&b'C') && !word.text.contains(&b'/') && is_tar() {
                    words[2..].iter().take(3).for_each(|word| found.add(word));
                }
                continue;
            }
            let text = String::from_utf8_lossy(&word.text);
            if matches!(&*text, "-execdir" | "-okdir") {
                found.add_starts(&words[1..at]);
                continue;
            }
            let next = words.get(at + 1).filter(|next| next.text.first() != Some(&b'-'));
            let (name, value) =
                text.split_once('=').map_or((&*text, None), |(name, value)| (name, Some(value)));
            if is_name(name.trim_start_matches('-')) {
                match (value, next) {
                    (Some(value), _) => found.add_text(value, None),
                    (None, Some(next)) => found.add(next),
                    (None, None) => {}
                }
            } else if let Some(attached) = letter(&text, &words[..at]) {
                let before = found.named.len();
                match next.filter(|_| attached.is_empty()) {
                    Some(next) => found.add(next),
                    None => found.add_text(attached, None),
                }
                let Some(last) = found.named.get(before).cloned() else { continue };
                if !chain.is_empty() && !last.starts_with(['/', '~']) {
                    chain = format!("{chain}/{last}");
                    found.push(chain.clone());
                } else {
                    chain = last;
                }
            }
        }
        found
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.is_open && !self.is_cut
    }

    /// Adds the directories of a command that this one runs in.
    pub(crate) fn extend(&mut self, other: &Self) {
        other.named.iter().for_each(|named| self.push(named.clone()));
        self.is_open |= other.is_open;
        self.is_cut |= other.is_cut;
    }

    fn add(&mut self, word: &Word) {
        self.add_text(&String::from_utf8_lossy(&word.text), word.start);
    }

    fn add_text(&mut self, text: &str, start: Option<Start>) {
        match (text.strip_prefix('\0'), start) {
            (Some(rest), Some(start)) if !rest.contains('\0') => {
                let start = if start == Start::Home { "~" } else { "." };
                self.push(format!("{start}{rest}"));
            }
            _ if text.contains('\0') => self.is_open = true,
            _ => self.push(text.to_owned()),
        }
    }

    /// Where `find` starts: it runs commands there, above it and anywhere below.
    fn add_starts(&mut self, words: &[Word]) {
        self.is_open = true;
        for start in words.iter().filter_map(Word::literal).take_while(|word| !word.starts_with('-')) {
            self.push(start.to_owned());
            if let Some((above, _)) = start.trim_end_matches('/').rsplit_once('/') {
                self.push(if above.is_empty() { "/".to_owned() } else { above.to_owned() });
            }
        }
    }

    fn push(&mut self, named: String) {
        if named.is_empty() || self.named.contains(&named) {
            return;
        }
        if self.named.len() == MOST {
            self.is_cut = true;
        } else {
            self.named.push(named);
        }
    }
}

/// Whether a long option may name a directory. Some programs accept abbreviated names.
fn is_name(name: &str) -> bool {
    let is_beginning = |long: &str| name.len() > 1 && long.starts_with(name);
    name.contains("dir") || NAMES.contains(&name) || is_beginning("chdir") || is_beginning("directory")
}

/// The value that is attached to a short option that names a directory. The words before it determine the program.
fn letter<'a>(text: &'a str, before: &[Word]) -> Option<&'a str> {
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    let is_before =
        |program: &str| before.iter().filter_map(Word::literal).any(|word| base_name(word) == program);
    let is_such =
        |c: char| c == 'C' || LETTERS.iter().any(|(program, letter)| *letter == c && is_before(program));
    let (at, found) = letters.char_indices().find(|(_, c)| is_such(*c))?;
    let is_cluster = letters[..at].bytes().all(|byte| byte.is_ascii_alphabetic());
    is_cluster.then(|| &letters[at + found.len_utf8()..])
}
