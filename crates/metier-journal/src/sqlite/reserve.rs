//! Room on the disk that is kept for recording what was already done when the disk became full.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Enough for the longest event and the pages that change with it.
const ROOM: u64 = 2 << 20;

/// A file that takes up room, shared by all writers of a journal.
#[derive(Debug, Clone)]
pub(super) struct Reserve(Arc<File>);

impl Reserve {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let reserve = Self(Arc::new(super::private(path)?));
        reserve.ensure()?;
        Ok(reserve)
    }

    /// Whether the room is taken up. In blocks of 512 bytes: a length alone takes up none.
    pub(super) fn is_there(&self) -> bool {
        let taken = rustix::fs::fstat(&*self.0).map_or(0, |taken| taken.st_blocks);
        u64::try_from(taken).unwrap_or(0).saturating_mul(512) >= ROOM
    }

    /// Takes up the room again if it was given up; an error if there is none.
    pub(super) fn ensure(&self) -> io::Result<()> {
        if self.is_there() {
            return Ok(());
        }
        let result = match fallocate(&*self.0, FallocateFlags::empty(), 0, ROOM) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.write_out(),
            other => other.map_err(io::Error::from),
        };
        if result.is_err() {
            self.0.set_len(0)?;
        }
        result
    }

    /// For file systems that cannot reserve room.
    fn write_out(&self) -> io::Result<()> {
        rustix::fs::seek(&*self.0, rustix::fs::SeekFrom::Start(0))?;
        let piece = vec![0xa5; 1 << 16];
        for _ in 0..ROOM >> 16 {
            (&*self.0).write_all(&piece)?;
        }
        self.0.sync_data()
    }

    /// Gives the room up; whether there was any.
    pub(super) fn release(&self) -> bool {
        let had_room = rustix::fs::fstat(&*self.0).is_ok_and(|taken| taken.st_blocks > 0);
        had_room && self.0.set_len(0).is_ok()
    }
}
