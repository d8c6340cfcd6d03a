//! The directories that the commands of a line may run in: the call's directory, and every target of a `cd`.

use std::path::{Path, PathBuf};

use crate::paths::{Anchors, normal};
use crate::programs::WRAPPERS;
use crate::shell::{Command, Word};

/// The maximum number of directory changes in one line, and of directories that they may lead to.
const MOST_MOVES: usize = 64;
const MOST_BASES: usize = 64;

/// Whether a word changes the directory if it is the program.
fn is_move(word: &Word) -> bool {
    matches!(word.text.as_slice(), b"cd" | b"pushd" | b"popd" | b"chdir")
}

/// Whether a command changes the directory.
pub(crate) fn goes(command: &Command) -> bool {
    let Some(first) = command.words.first() else { return false };
    let wraps = || WRAPPERS.iter().any(|wrapper| first.text == wrapper.name.as_bytes());
    is_move(first) || (wraps() && may_go(command))
}

/// Whether a command may change the directory, with any words before the program.
pub(crate) fn may_go(command: &Command) -> bool {
    command.words.iter().any(is_move)
}

/// The directory that a command may change to.
struct Move<'a> {
    to: &'a str,
    /// Whether links before a `..` may be resolved. A shell's `cd` removes the part before it instead, unless an option
    /// says otherwise.
    is_physical: bool,
}

impl<'a> Move<'a> {
    fn of(command: &'a Command) -> Option<Self> {
        let at = command.words.iter().position(is_move)?;
        let words = || command.words[at + 1..].iter().filter_map(Word::literal);
        // It leads back to an earlier directory.
        if command.words[at].text == b"popd" {
            return None;
        }
        // An unknown value may also be the home directory.
        let to = words().find(|word| !word.starts_with('-')).unwrap_or("~");
        let climbs = to.split('/').any(|part| part == "..");
        let is_below = !to.trim_start_matches("../").trim_end_matches("..").is_empty();
        Some(Self { to, is_physical: climbs && (is_below || words().any(|word| word == "-P")) })
    }
}

/// The directories that the commands of a line may run in.
#[derive(Debug)]
pub(crate) struct Bases {
    /// Absolute paths, the certain ones first. A `..` is kept after a link that may be resolved.
    pub(crate) all: Vec<PathBuf>,
    /// There may be others, too many to follow.
    pub(crate) is_cut: bool,
}

impl Bases {
    /// The directories that commands may reach from some directories. A command may fail or be in a group of its own,
    /// so a change may start at each directory found before.
    pub(crate) fn new<'a>(
        start: Vec<PathBuf>,
        commands: impl Iterator<Item = &'a Command>,
        places: &Anchors,
    ) -> Self {
        let mut bases = Self { all: start, is_cut: false };
        for (count, Move { to, is_physical }) in commands.filter_map(Move::of).enumerate() {
            if count == MOST_MOVES || bases.is_cut {
                bases.is_cut = true;
                break;
            }
            let is_fixed = to.starts_with('/') || to == "~" || to.starts_with("~/");
            for index in 0..if is_fixed { 1 } else { bases.all.len() } {
                let found = places.written_at(&bases.all[index], to);
                bases.add(normal(&found));
                if is_physical {
                    bases.add(found);
                }
            }
        }
        bases
    }

    fn add(&mut self, path: PathBuf) {
        if self.all.contains(&path) {
            return;
        }
        if self.all.len() == MOST_BASES {
            self.is_cut = true;
        } else {
            self.all.push(path);
        }
    }

    /// The first directory: where the line starts.
    pub(crate) fn first(&self) -> &Path {
        self.all.first().map_or(Path::new("/"), PathBuf::as_path)
    }
}
