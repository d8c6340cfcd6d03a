//! The server: one thread listens, and each connection has its own thread.

use std::io::{self, BufReader, Read as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::http::{Answer, Refusal, read_body, read_head};
use crate::protocol;
use crate::request::{Request, remembered, without_key};
use crate::step::Step;

/// How long a client may be silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// A fake model that listens on loopback until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    steps: Vec<Step>,
    has_asides: bool,
    requests: Mutex<Vec<Request>>,
    is_over: AtomicBool,
}

impl Server {
    /// Starts a server with these steps on a free port.
    pub fn start(steps: Vec<Step>) -> io::Result<Self> {
        Self::listening(steps, true)
    }

    /// The same for clients that offer no tools: their requests get the steps as well. By default these get a title, because
    /// agents ask for such things beside their work.
    pub fn start_without_tools(steps: Vec<Step>) -> io::Result<Self> {
        Self::listening(steps, false)
    }

    fn listening(steps: Vec<Step>, has_asides: bool) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            steps,
            has_asides,
            requests: Mutex::default(),
            is_over: AtomicBool::default(),
        });
        let own = Arc::clone(&shared);
        let listening = Some(thread::spawn(move || listen(&listener, &own)));
        Ok(Self { address, shared, listening })
    }

    /// Its address: `http://127.0.0.1:` and a port.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its socket address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // The listening thread notices with the next connection.
        drop(TcpStream::connect_timeout(&self.address, PATIENCE));
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // A client that disconnected needs no answer.
            let _ = serve(&stream, &shared);
        });
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut writer = stream;
    let mut reader = BufReader::new(stream);
    let (is_head, answer) = match answer(&mut reader, &mut writer, shared) {
        Ok(answered) => answered,
        Err(Refusal::Gone) => return Ok(()),
        Err(Refusal::Status(status, why)) => (false, Answer::error(status, why)),
    };
    answer.write(&mut writer, !is_head)?;
    stream.shutdown(Shutdown::Write)?;
    // What was not read would take the answer with it when the connection is closed.
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    io::copy(&mut reader.take(1 << 20), &mut io::sink()).map(drop)
}

/// The answer, and whether only its headers are wanted. The request is remembered before anything is sent.
fn answer(
    reader: &mut BufReader<&TcpStream>,
    writer: &mut &TcpStream,
    shared: &Shared,
) -> Result<(bool, Answer), Refusal> {
    let head = read_head(reader)?;
    let body = read_body(&head, reader, writer)?;
    #[expect(clippy::disallowed_methods, reason = "benchmarks compare it with their own clock")]
    let received = Instant::now();
    let (results, answer) = protocol::answer(&head, &body, &shared.steps, shared.has_asides);
    let request = Request {
        path: without_key(&head.path),
        headers: head.headers.iter().map(|(name, value)| remembered(name, value)).collect(),
        body,
        results,
        status: answer.status(),
        received,
        method: head.method,
    };
    let is_head = request.method == "HEAD";
    shared.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    Ok((is_head, answer))
}
