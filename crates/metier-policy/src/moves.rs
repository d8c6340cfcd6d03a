//! Where the commands of a line may run: where the call does, and wherever a `cd` leads from there.

use std::path::{Path, PathBuf};

use crate::paths::{Anchors, normal};
use crate::programs::WRAPPERS;
use crate::shell::{Command, Word};

/// More moves than this in one line, or more directories that they may lead to, are not followed.
const MOST_MOVES: usize = 64;
const MOST_BASES: usize = 64;

/// Whether a word goes to another directory, where it stands for a program.
fn is_move(word: &Word) -> bool {
    matches!(word.text.as_slice(), b"cd" | b"pushd" | b"popd" | b"chdir")
}

/// Whether a command goes to another directory.
pub(crate) fn goes(command: &Command) -> bool {
    let Some(first) = command.words.first() else { return false };
    let wraps = || WRAPPERS.iter().any(|wrapper| first.text == wrapper.name.as_bytes());
    is_move(first) || (wraps() && may_go(command))
}

/// Whether a command may go to another directory, whatever stands before the word that says so.
pub(crate) fn may_go(command: &Command) -> bool {
    command.words.iter().any(is_move)
}

/// Where a command may go.
struct Move<'a> {
    to: &'a str,
    /// Links before a `..` may be followed. A shell's `cd` takes the part before it away instead, unless it is told not to.
    is_physical: bool,
}

impl<'a> Move<'a> {
    fn of(command: &'a Command) -> Option<Self> {
        let at = command.words.iter().position(is_move)?;
        let words = || command.words[at + 1..].iter().filter_map(Word::literal);
        // It leads back to where one was.
        if command.words[at].text == b"popd" {
            return None;
        }
        // What cannot be read may be the home too.
        let to = words().find(|word| !word.starts_with('-')).unwrap_or("~");
        let climbs = to.split('/').any(|part| part == "..");
        let is_below = !to.trim_start_matches("../").trim_end_matches("..").is_empty();
        Some(Self { to, is_physical: climbs && (is_below || words().any(|word| word == "-P")) })
    }
}

/// The directories that the commands of a line may run in.
#[derive(Debug)]
pub(crate) struct Bases {
    /// Absolute, those that are sure first. A `..` stands where a link before it may be followed.
    pub(crate) all: Vec<PathBuf>,
    /// There may be others, too many to follow.
    pub(crate) is_cut: bool,
}

impl Bases {
    /// Those that commands may reach from some directories. A command may fail or stand in a group of its own, so that a
    /// move may begin at each of those found before.
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

    /// The first: where the line begins.
    pub(crate) fn first(&self) -> &Path {
        self.all.first().map_or(Path::new("/"), PathBuf::as_path)
    }
}
