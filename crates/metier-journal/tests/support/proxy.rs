//! A connection to a server that breaks exactly where it is told to.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Where a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Before the server is asked to commit.
    BeforeCommit,
    /// When the server has committed, before it can say so.
    AnswerToCommit,
    /// After so many pieces, in whichever direction.
    After(usize),
}

type Done = Box<dyn Fn() + Send + Sync>;

/// Stands between clients and a server.
pub(crate) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: u16,
    /// What is to break next comes first.
    cuts: Mutex<VecDeque<Cut>>,
    /// What is done when something broke, before the client can know.
    done: Mutex<Option<Done>>,
}

impl Proxy {
    pub(crate) fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { server, cuts: Mutex::default(), done: Mutex::default() });
        let its = Arc::clone(&shared);
        // It ends with the test's process.
        std::thread::spawn(move || listener.incoming().for_each(|client| its.serve(client.unwrap())));
        Self { port, shared }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Breaks connections here, one after the other.
    pub(crate) fn cut(&self, cuts: &[Cut]) {
        *self.shared.cuts.lock().unwrap() = cuts.iter().copied().collect();
    }

    /// How many are still to break.
    pub(crate) fn left(&self) -> usize {
        self.shared.cuts.lock().unwrap().len()
    }

    pub(crate) fn when_cut(&self, done: impl Fn() + Send + Sync + 'static) {
        *self.shared.done.lock().unwrap() = Some(Box::new(done));
    }
}

impl Shared {
    fn serve(self: &Arc<Self>, client: TcpStream) {
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.server)) else { return };
        let is_silent = Arc::new(AtomicBool::new(false));
        let ends = [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
        for (to_server, (from, to)) in [true, false].into_iter().zip(ends) {
            let (shared, is_silent) = (Arc::clone(self), Arc::clone(&is_silent));
            std::thread::spawn(move || {
                shared.carry(to_server, &from, &to, &is_silent);
                // One side that is gone is gone for the other.
                let _ = from.shutdown(Shutdown::Both);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
    }

    fn carry(&self, to_server: bool, mut from: &TcpStream, mut to: &TcpStream, is_silent: &AtomicBool) {
        let (mut buffer, mut seen) = (vec![0; 1 << 16], Vec::new());
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            // With the end of what came before: a word may come in two pieces.
            seen.drain(..seen.len().saturating_sub(6));
            seen.extend_from_slice(&buffer[..count]);
            let has_commit = seen.windows(7).any(|window| window == b"COMMIT\0");
            if self.is_cut(to_server, has_commit, is_silent) {
                return;
            }
            let is_kept = !to_server && is_silent.load(Ordering::SeqCst);
            if !is_kept && to.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
    }

    /// Whether the connection breaks before this piece.
    fn is_cut(&self, to_server: bool, has_commit: bool, is_silent: &AtomicBool) -> bool {
        let mut cuts = self.cuts.lock().unwrap();
        let breaks = match cuts.front_mut() {
            Some(Cut::BeforeCommit) => to_server && has_commit,
            Some(Cut::AnswerToCommit) => {
                if to_server && has_commit {
                    is_silent.store(true, Ordering::SeqCst);
                }
                !to_server && has_commit && is_silent.load(Ordering::SeqCst)
            }
            Some(Cut::After(0)) => true,
            Some(Cut::After(pieces)) => {
                *pieces -= 1;
                false
            }
            None => false,
        };
        if breaks {
            cuts.pop_front();
            drop(cuts);
            if let Some(done) = &*self.done.lock().unwrap() {
                done();
            }
        }
        breaks
    }
}
