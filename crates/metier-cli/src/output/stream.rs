//! Standard output of a process whose reader may go away.

use std::io::{self, Write};

/// Standard output. When its reader closes the pipe, the rest is dropped without an error, so that the exit code still says how
/// the command ended: `metier list | head -1` is 0, `metier validate | head -1` is 1 when there are findings.
#[derive(Debug)]
pub(super) struct Stdout {
    inner: io::Stdout,
    is_closed: bool,
}

impl Stdout {
    pub(super) fn new() -> Self {
        Self { inner: io::stdout(), is_closed: false }
    }

    fn unless_closed<T>(
        &mut self,
        instead: T,
        write: impl FnOnce(&mut io::Stdout) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.is_closed {
            return Ok(instead);
        }
        match write(&mut self.inner) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(instead)
            }
            other => other,
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_closed(bytes.len(), |stdout| stdout.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_closed((), Write::flush)
    }
}
