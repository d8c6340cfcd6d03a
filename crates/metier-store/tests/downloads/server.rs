//! A server on the loopback address that answers as a test wants, and remembers what it was asked.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What the server does with a request.
#[derive(Clone)]
pub(crate) enum Reply {
    Body(Vec<u8>),
    Status(u16, Vec<(&'static str, String)>),
    /// Each answer once, the last one from then on.
    Then(Vec<Reply>),
    /// Less than it declares.
    Cut(Vec<u8>),
    /// Nothing, on an open connection.
    Silent,
    /// A byte now and then, which never ends.
    Dripping,
    /// A body without end.
    Endless,
}

/// The paths of a server.
type Routes = Arc<Mutex<BTreeMap<String, Reply>>>;

pub(crate) struct Server {
    pub(crate) base: String,
    routes: Routes,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::at("127.0.0.1")
    }

    pub(crate) fn at(host: &str) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let base = format!("http://{host}:{}", listener.local_addr().unwrap().port());
        let (routes, asked) = (Routes::default(), Arc::<Mutex<Vec<String>>>::default());
        let server = Self { base, routes: Arc::clone(&routes), asked: Arc::clone(&asked) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (routes, asked) = (Arc::clone(&routes), Arc::clone(&asked));
                // One that hangs up early is no matter.
                thread::spawn(move || answer(stream, &routes, &asked));
            }
        });
        server
    }

    pub(crate) fn put(&self, path: &str, reply: Reply) -> String {
        self.routes.lock().unwrap().insert(path.to_owned(), reply);
        format!("{}{path}", self.base)
    }

    pub(crate) fn body(&self, path: &str, body: impl Into<Vec<u8>>) -> String {
        self.put(path, Reply::Body(body.into()))
    }

    /// The requests so far: the path, and the value of `Authorization`.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, routes: &Routes, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let target = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut key = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => value.clone_into(&mut key),
            Some(_) => {}
        }
    }
    asked.lock().unwrap().push(format!("{target}{key}"));
    let path = target.split('?').next().unwrap();
    let reply = match routes.lock().unwrap().get_mut(path) {
        None => Reply::Status(404, Vec::new()),
        Some(Reply::Then(replies)) if replies.len() > 1 => replies.remove(0),
        Some(Reply::Then(replies)) => replies[0].clone(),
        Some(reply) => reply.clone(),
    };
    let head = |stream: &mut TcpStream, length: usize| {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
    };
    match reply {
        Reply::Body(body) => {
            head(&mut stream, body.len())?;
            stream.write_all(&body)
        }
        Reply::Status(status, headers) => {
            write!(stream, "HTTP/1.1 {status} It\r\nContent-Length: 0\r\nConnection: close\r\n")?;
            headers.iter().try_for_each(|(name, value)| write!(stream, "{name}: {value}\r\n"))?;
            write!(stream, "\r\n")
        }
        Reply::Cut(body) => {
            head(&mut stream, body.len() + 1_000)?;
            stream.write_all(&body)
        }
        Reply::Endless => {
            write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            loop {
                stream.write_all(&[b'x'; 4_096])?;
            }
        }
        Reply::Dripping => {
            write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            loop {
                stream.write_all(b"x")?;
                thread::sleep(std::time::Duration::from_millis(20));
            }
        }
        // Until the client hangs up.
        Reply::Silent => reader.read_line(&mut line).map(drop),
        Reply::Then(_) => Ok(()),
    }
}
