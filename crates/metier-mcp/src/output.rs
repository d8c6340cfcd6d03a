//! What scripts print: a model is shown the head and the tail, and the whole is kept on disk for a while, within a budget.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use metier_sandbox::{PrivateDirectory, Purpose};

/// The most bytes of one stream that a model is shown: half of it from the beginning, half from the end.
pub(crate) const SHOWN: usize = 32 << 10;

/// How much is kept of the scripts of one session, and of all together.
const BUDGET: Budget = Budget { session: 64 << 20, total: 256 << 20 };

const SCHEME: &str = "metier-output://";

#[derive(Debug, Clone, Copy)]
struct Budget {
    session: u64,
    total: u64,
}

/// Who reads output: the one whose script printed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// The holder of a token, from one session or call to the next.
    Token(usize),
    /// One session without a token.
    Session(u64),
    /// Clients that have neither: nothing but the address tells them apart.
    Unknown,
}

/// Whose output it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    /// The only client that reads it.
    pub(crate) client: Client,
    /// What shares a budget.
    pub(crate) session: usize,
}

/// Output that is kept, the oldest first.
#[derive(Debug)]
pub(crate) struct Outputs {
    budget: Budget,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Made when it is first needed, where no script can write, and removed with everything in it.
    directory: Option<PrivateDirectory>,
    kept: VecDeque<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// Random, so that it cannot be guessed.
    id: String,
    owner: Owner,
    bytes: u64,
    path: PathBuf,
}

/// A part of output that was kept.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    pub(crate) offset: u64,
    pub(crate) total: u64,
}

impl Default for Outputs {
    fn default() -> Self {
        Self { budget: BUDGET, state: Mutex::default() }
    }
}

/// Whether an address is one of kept output.
pub(crate) fn is_address(text: &str) -> bool {
    text.starts_with(SCHEME)
}

impl Outputs {
    /// Keeps what a script printed to a stream; its address. What was kept first makes room.
    pub(crate) fn keep(&self, owner: Owner, stream: &str, bytes: &[u8]) -> io::Result<String> {
        let id = uuid::Uuid::new_v4().simple().to_string();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let path = state.directory()?.join(format!("{id}-{stream}"));
        let size = bytes.len() as u64;
        state.make_room(self.budget, owner, size);
        let mut file = File::options().create_new(true).write(true).open(&path)?;
        if let Err(error) = file.write_all(bytes) {
            // Half of it is of no use.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        let address = format!("{SCHEME}{id}/{stream}");
        state.kept.push_back(Kept { id: format!("{id}/{stream}"), owner, bytes: size, path });
        Ok(address)
    }

    /// Reads a part of what a client's script printed; `None` where nothing is kept at the address.
    pub(crate) fn read(
        &self,
        client: Client,
        address: &str,
        offset: u64,
        length: u64,
    ) -> io::Result<Option<Piece>> {
        let id = address.strip_prefix(SCHEME).unwrap_or_default();
        let (mut file, total) = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let found = state.kept.iter().find(|kept| kept.owner.client == client && kept.id == id);
            let Some(kept) = found else { return Ok(None) };
            (File::open(&kept.path)?, kept.bytes)
        };
        let offset = offset.min(total);
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(Some(Piece { bytes, offset, total }))
    }

    /// Removes everything that is kept.
    pub(crate) fn clear(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }
}

impl State {
    fn directory(&mut self) -> io::Result<&Path> {
        let made = match self.directory.take() {
            Some(made) => made,
            None => PrivateDirectory::make(Purpose::Output).map_err(io::Error::other)?,
        };
        Ok(self.directory.insert(made).path())
    }

    /// Drops the oldest of a session that has too much, then the oldest of all.
    fn make_room(&mut self, budget: Budget, owner: Owner, size: u64) {
        let is_own = |kept: &Kept| kept.owner.session == owner.session;
        while self.sum(is_own) + size > budget.session {
            let Some(oldest) = self.kept.iter().position(is_own) else { break };
            self.drop_at(oldest);
        }
        while self.sum(|_| true) + size > budget.total && !self.kept.is_empty() {
            self.drop_at(0);
        }
    }

    fn sum(&self, is_meant: impl Fn(&Kept) -> bool) -> u64 {
        self.kept.iter().filter(|kept| is_meant(kept)).map(|kept| kept.bytes).sum()
    }

    fn drop_at(&mut self, index: usize) {
        if let Some(kept) = self.kept.remove(index) {
            // What cannot be removed now goes with the directory.
            let _ = fs::remove_file(kept.path);
        }
    }
}

/// What a model is shown of a stream: all of it, or its head and tail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Excerpt<'a> {
    Whole(Cow<'a, str>),
    Ends { head: Cow<'a, str>, tail: Cow<'a, str>, left_out: usize },
}

impl<'a> Excerpt<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        if bytes.len() <= SHOWN {
            let whole = String::from_utf8_lossy(bytes);
            if whole.len() <= SHOWN {
                return Self::Whole(whole);
            }
        }
        let head = fitting(pieces(bytes), SHOWN / 2);
        let mut from = head.max(bytes.len().saturating_sub(SHOWN / 2));
        if from > head {
            // A character that the cut goes through is left out with the middle.
            from += bytes[from..].iter().take(3).take_while(|byte| is_inside(**byte)).count();
        }
        let last: Vec<(usize, usize)> = pieces(&bytes[from..]).collect();
        from = bytes.len() - fitting(last.into_iter().rev(), SHOWN / 2);
        Self::Ends {
            head: String::from_utf8_lossy(&bytes[..head]),
            tail: String::from_utf8_lossy(&bytes[from..]),
            left_out: from - head,
        }
    }
}

/// As much of the beginning of some bytes as is shown within so many bytes of text.
pub(crate) fn beginning(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[..fitting(pieces(bytes), most)]
}

/// What bytes become as text: for each character how long it is when it is shown, and how long it was. What is not text is shown as U+FFFD,
/// which is longer.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|c| (c.len_utf8(), c.len_utf8()));
        let invalid = chunk.invalid().len();
        valid.chain((invalid > 0).then_some((char::REPLACEMENT_CHARACTER.len_utf8(), invalid)))
    })
}

/// How many bytes the first pieces were that are shown within so many.
fn fitting(pieces: impl Iterator<Item = (usize, usize)>, most: usize) -> usize {
    let (mut shown, mut taken) = (0, 0);
    for (length, bytes) in pieces {
        if shown + length > most {
            break;
        }
        (shown, taken) = (shown + length, taken + bytes);
    }
    taken
}

/// Whether a byte continues a character.
const fn is_inside(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(session: u64, total: u64) -> Outputs {
        Outputs { budget: Budget { session, total }, state: Mutex::default() }
    }

    const fn owner(client: usize) -> Owner {
        Owner { client: Client::Token(client), session: client }
    }

    #[test]
    fn only_the_client_whose_script_printed_it_reads_it() {
        let outputs = outputs(100, 100);
        let address = outputs.keep(owner(1), "stdout", b"0123456789").unwrap();
        let read =
            |client, address: &str, offset| outputs.read(Client::Token(client), address, offset, 9).unwrap();
        let piece = outputs.read(Client::Token(1), &address, 4, 3).unwrap().unwrap();
        assert_eq!((piece.bytes.as_slice(), piece.offset, piece.total), (&b"456"[..], 4, 10));
        assert!(read(2, &address, 0).is_none());
        assert!(read(1, "metier-output://x/stdout", 0).is_none());
        assert!(read(1, &address, 99).unwrap().bytes.is_empty());
        for other in [Client::Session(1), Client::Unknown] {
            assert!(outputs.read(other, &address, 0, 9).unwrap().is_none());
        }
    }

    #[test]
    fn the_oldest_makes_room_within_the_budgets() {
        let outputs = outputs(10, 20);
        let keep = |client| outputs.keep(owner(client), "stdout", &[b'x'; 5]).unwrap();
        let is_kept =
            |client, address: &str| outputs.read(Client::Token(client), address, 0, 1).unwrap().is_some();
        let first = [keep(1), keep(1)];
        let other = keep(2);
        let third = keep(1);
        assert!(!is_kept(1, &first[0]) && is_kept(1, &first[1]), "a session has 10");
        let last = keep(3);
        assert!(is_kept(1, &first[1]) && is_kept(3, &last));
        keep(3);
        assert!(!is_kept(1, &first[1]) && is_kept(2, &other) && is_kept(1, &third), "all have 20");
        let directory = outputs.state.lock().unwrap().directory.as_ref().unwrap().path().to_owned();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 4);
        assert!(outputs.keep(owner(4), "stdout", &[b'x'; 20]).is_ok() && !is_kept(3, &last));
        outputs.clear();
        assert!(!directory.exists());
    }

    #[test]
    fn head_and_tail_end_between_characters() {
        let short = "é".repeat(SHOWN / 2);
        assert_eq!(Excerpt::of(short.as_bytes()), Excerpt::Whole(short.as_str().into()));
        for shift in 0..4 {
            let text = format!("{}{}", "x".repeat(shift), "😀".repeat(SHOWN));
            let Excerpt::Ends { head, tail, left_out } = Excerpt::of(text.as_bytes()) else { panic!() };
            assert_eq!(head.len() + tail.len() + left_out, text.len());
            assert!(text.starts_with(&*head) && text.ends_with(&*tail), "{shift}");
            assert!(head.len() + tail.len() <= SHOWN && head.len() + tail.len() > SHOWN - 8);
        }
    }

    /// A byte that is not text is shown as a character of three bytes.
    #[test]
    fn what_is_shown_of_bytes_that_are_not_text_is_bounded_too() {
        for count in [SHOWN / 3 + 1, SHOWN, SHOWN * 2] {
            let bytes = vec![0x80; count];
            let Excerpt::Ends { head, tail, left_out } = Excerpt::of(&bytes) else { panic!("{count}") };
            assert!(head.len() + tail.len() <= SHOWN && head.len() + tail.len() > SHOWN - 8, "{count}");
            let shown = head.chars().count() + tail.chars().count();
            assert_eq!(shown + left_out, count, "each byte is one character");
        }
        let whole = vec![0x80; SHOWN / 3];
        assert!(matches!(Excerpt::of(&whole), Excerpt::Whole(_)));
    }
}
