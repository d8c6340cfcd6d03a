//! Stores script output that a model saw only in part: all of it is kept on disk for a while, within a budget.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use metier_sandbox::{PrivateDirectory, Purpose};

/// The limits for the stored output of one session, and of all sessions.
const BUDGET: Budget = Budget { session: 64 << 20, total: 256 << 20 };

const SCHEME: &str = "metier-output://";

#[derive(Debug, Clone, Copy)]
struct Budget {
    session: u64,
    total: u64,
}

/// The owner of output: the client whose script printed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// The holder of a token, across sessions and calls.
    Token(usize),
    /// One session without a token.
    Session(u64),
    /// Clients that have neither: they are only distinguished by the address.
    Unknown,
}

/// The owner and the budget of output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    /// The only client that may read it.
    pub(crate) client: Client,
    /// The budget that it counts towards.
    pub(crate) session: usize,
}

/// The stored outputs, the oldest first.
#[derive(Debug)]
pub(crate) struct Outputs {
    budget: Budget,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Created on first use, where no script can write, and removed with its content.
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

/// A part of stored output.
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

/// Whether an address is one of stored output.
pub(crate) fn is_address(text: &str) -> bool {
    text.starts_with(SCHEME)
}

impl Outputs {
    /// Stores the output of a stream and returns its address. The oldest outputs are removed to make room.
    pub(crate) fn keep(&self, owner: Owner, stream: &str, bytes: &[u8]) -> io::Result<String> {
        let id = uuid::Uuid::new_v4().simple().to_string();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let path = state.directory()?.join(format!("{id}-{stream}"));
        let size = bytes.len() as u64;
        state.make_room(self.budget, owner, size);
        let mut file = File::options().create_new(true).write(true).open(&path)?;
        if let Err(error) = file.write_all(bytes) {
            // An incomplete output is useless.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        let address = format!("{SCHEME}{id}/{stream}");
        state.kept.push_back(Kept { id: format!("{id}/{stream}"), owner, bytes: size, path });
        Ok(address)
    }

    /// Reads a part of the output of a client's script; `None` if nothing is stored at the address.
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

    /// Removes all stored output.
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

    /// Removes the oldest outputs of a session that exceeds its limit, then the oldest of all.
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
            // A file that cannot be removed now is removed with the directory.
            let _ = fs::remove_file(kept.path);
        }
    }
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
}
