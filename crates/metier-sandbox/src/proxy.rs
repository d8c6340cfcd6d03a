//! The proxy of a sandbox with a separate network: it connects only to destinations on a list.
//!
//! It listens on a socket that was opened inside and passed out. The name is checked before it is resolved. Of its
//! addresses, those of private and local networks are refused unless they are on the list themselves. The connection
//! then goes to exactly the address that was checked.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::executor::Connection;
use crate::profile::Destination;

/// The maximum number of concurrent connections.
const MOST: usize = 64;
/// The maximum number of recorded destinations: of successful connections, and as many of refused ones.
const REMEMBERED: usize = 1000;
/// The maximum size of a request in bytes.
const REQUEST: u64 = 8 << 10;
/// The delay before another try.
const PAUSE: Duration = Duration::from_millis(20);
const TIMEOUT: Duration = Duration::from_secs(15);

/// A proxy that runs until it is finished.
#[derive(Debug)]
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    listener: TcpListener,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    allowed: Vec<Destination>,
    asked: Mutex<Asked>,
    /// Both ends of each connection, by its number.
    open: Mutex<BTreeMap<usize, Vec<TcpStream>>>,
    count: AtomicUsize,
    stopped: AtomicBool,
}

/// The requested destinations. A script can request any number of names that are refused; they must not hide the
/// successful connections.
#[derive(Debug, Default)]
struct Asked {
    made: Vec<Connection>,
    refused: Vec<Connection>,
    left_out: u64,
}

impl Asked {
    fn add(&mut self, to: String, refused: Option<String>) {
        let list = if refused.is_none() { &mut self.made } else { &mut self.refused };
        let has_room = list.len() < REMEMBERED;
        match list.iter_mut().find(|known| known.to == to && known.refused == refused) {
            Some(known) => known.times += 1,
            None if has_room => list.push(Connection { to, refused, times: 1 }),
            None => self.left_out += 1,
        }
    }

    /// All recorded destinations, successful connections first, and the number of other requests.
    fn told(self) -> (Vec<Connection>, u64) {
        (self.made.into_iter().chain(self.refused).collect(), self.left_out)
    }
}

impl Proxy {
    pub(crate) fn start(listener: OwnedFd, allowed: Vec<Destination>) -> io::Result<Self> {
        let listener = TcpListener::from(listener);
        let shared = Arc::new(Shared { allowed, ..Shared::default() });
        let (accepts, state) = (listener.try_clone()?, Arc::clone(&shared));
        let accepting =
            std::thread::Builder::new().name("proxy".into()).spawn(move || accept(&accepts, &state))?;
        Ok(Self { shared, listener, accepting: Some(accepting) })
    }

    /// Closes every connection, and returns the requested ones and the number of others.
    pub(crate) fn finish(mut self) -> (Vec<Connection>, u64) {
        self.stop();
        std::mem::take(&mut *lock(&self.shared.asked)).told()
    }

    fn stop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that waits in `accept`.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        for stream in lock(&self.shared.open).values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut number = 0;
    while !shared.stopped.load(Ordering::SeqCst) {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            // Possibly out of descriptors: others will be closed.
            Err(_) if !shared.stopped.load(Ordering::SeqCst) => {
                std::thread::sleep(PAUSE);
                continue;
            }
            Err(_) => return,
        };
        number += 1;
        if shared.count.fetch_add(1, Ordering::SeqCst) >= MOST {
            shared.count.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let state = Arc::clone(shared);
        let serving = std::thread::Builder::new().name("proxied".into()).spawn(move || {
            // An error ends only this connection.
            let _ = serve(stream, number, &state);
            lock(&state.open).remove(&number);
            state.count.fetch_sub(1, Ordering::SeqCst);
        });
        if serving.is_err() {
            shared.count.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Serves one connection from inside.
fn serve(mut inside: TcpStream, number: usize, shared: &Shared) -> io::Result<()> {
    inside.set_read_timeout(Some(TIMEOUT))?;
    lock(&shared.open).entry(number).or_default().push(inside.try_clone()?);
    let mut reader = BufReader::new(inside.try_clone()?.take(REQUEST));
    let target = match read_request(&mut reader) {
        Ok(target) => target,
        Err(answer) => {
            let refused =
                Some("not a CONNECT request; only https and similar protocols are supported".to_owned());
            lock(&shared.asked).add("unknown".into(), refused);
            return inside.write_all(answer.as_bytes());
        }
    };
    let reached = reach(&target, &shared.allowed);
    let refused = reached.as_ref().err().cloned();
    lock(&shared.asked).add(format!("{}:{}", target.0, target.1), refused);
    let outside = match reached {
        Ok(outside) => outside,
        Err(reason) => {
            let body = format!("{reason}\n");
            return write!(
                inside,
                "HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    };
    lock(&shared.open).entry(number).or_default().push(outside.try_clone()?);
    if shared.stopped.load(Ordering::SeqCst) {
        // The proxy may have been stopped before this connection was registered.
        return outside.shutdown(Shutdown::Both);
    }
    inside.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    // Data after the request already belongs to the connection.
    let early = reader.buffer().to_vec();
    inside.set_read_timeout(None)?;
    relay(inside, outside, &early)
}

fn relay(mut inside: TcpStream, mut outside: TcpStream, early: &[u8]) -> io::Result<()> {
    outside.write_all(early)?;
    let (mut from, mut to) = (outside.try_clone()?, inside.try_clone()?);
    let back = std::thread::Builder::new().name("proxied-back".into()).spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    })?;
    let _ = io::copy(&mut inside, &mut outside);
    let _ = outside.shutdown(Shutdown::Write);
    let _ = back.join();
    Ok(())
}

/// Parses `CONNECT host:port HTTP/1.1` and the lines after it; otherwise returns the error response.
fn read_request(reader: &mut impl BufRead) -> Result<(String, u16), &'static str> {
    const BAD: &str = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    const ONLY: &str =
        "HTTP/1.1 405 Method Not Allowed\r\nAllow: CONNECT\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let mut line = String::new();
    reader.read_line(&mut line).map_err(|_| BAD)?;
    let mut words = line.split_ascii_whitespace();
    let (method, target, version) = (words.next(), words.next(), words.next());
    if method != Some("CONNECT") {
        return Err(if method.is_some() { ONLY } else { BAD });
    }
    if !matches!(version, Some("HTTP/1.1" | "HTTP/1.0")) || words.next().is_some() {
        return Err(BAD);
    }
    let (host, port) = target.and_then(|target| target.rsplit_once(':')).ok_or(BAD)?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
    let port: u16 = port.parse().map_err(|_| BAD)?;
    if host.is_empty() || host.len() > 253 || !host.chars().all(fits) {
        return Err(BAD);
    }
    let host = host.to_owned();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(0) | Err(_) => return Err(BAD),
            Ok(_) if line.trim_end_matches(['\r', '\n']).is_empty() => return Ok((host, port)),
            Ok(_) => {}
        }
    }
}

/// Connects, if the list allows it; otherwise returns the reason.
fn reach(target: &(String, u16), allowed: &[Destination]) -> Result<TcpStream, String> {
    let (host, port) = (target.0.as_str(), target.1);
    if !allowed.iter().any(|one| one.covers(host, port)) {
        return Err(format!("{host}:{port} is not an allowed destination"));
    }
    let addresses =
        (host, port).to_socket_addrs().map_err(|error| format!("cannot resolve {host}: {error}"))?;
    let (fine, private): (Vec<SocketAddr>, Vec<SocketAddr>) = addresses.partition(|address| {
        is_public(address.ip())
            || allowed.iter().any(|one| one.is_address() && one.covers(&address.ip().to_string(), port))
    });
    if fine.is_empty() {
        let shown =
            private.first().map_or_else(|| "no address".to_owned(), |address| address.ip().to_string());
        return Err(format!(
            "{host} resolves to {shown}, which is not a public address; add the address itself to the allowed destinations if you need it"
        ));
    }
    let mut last = String::new();
    for address in fine {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error.to_string(),
        }
    }
    Err(format!("cannot connect to {host}:{port}: {last}"))
}

/// Whether an address is publicly reachable on the internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let protocols = a == 192 && b == 0 && c == 0;
    let benchmarks = a == 198 && (b == 18 || b == 19);
    let relay = a == 192 && b == 88 && c == 99;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || shared
        || protocols
        || benchmarks
        || relay)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let segments = address.segments();
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Other forms of an IPv4 address.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => inner(high, low),
        // Documentation, Teredo and other special uses.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // The range of all addresses that have been assigned.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Stopped after it was decided to connect and before the connection was among the open ones.
    #[test]
    fn a_connection_that_is_made_while_the_proxy_stops_is_closed() {
        let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (outside, between) = (listen(), listen());
        let port = outside.local_addr().unwrap().port();
        let allowed = vec![Destination::parse(&format!("127.0.0.1:{port}")).unwrap()];
        let shared = Arc::new(Shared { allowed, ..Shared::default() });
        shared.stopped.store(true, Ordering::SeqCst);
        let mut script = TcpStream::connect(between.local_addr().unwrap()).unwrap();
        write!(script, "CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n").unwrap();
        let inside = between.accept().unwrap().0;
        let (done, is_done) = channel();
        std::thread::spawn(move || done.send(serve(inside, 1, &shared).is_ok()));
        // The far side never closes it, and neither does the script.
        let mut far = outside.accept().unwrap().0;
        far.set_read_timeout(Some(TIMEOUT)).unwrap();
        assert_eq!(far.read(&mut [0; 8]).unwrap(), 0, "it is still open");
        assert!(is_done.recv_timeout(TIMEOUT).unwrap());
        drop(script);
    }

    #[test]
    fn what_was_connected_to_is_remembered_however_much_was_refused() {
        let mut asked = Asked::default();
        for number in 0..REMEMBERED + 5 {
            asked.add(format!("host{number}:443"), Some("not on the list".to_owned()));
        }
        for to in ["a.test:443", "b.test:443", "a.test:443"] {
            asked.add(to.to_owned(), None);
        }
        let (told, left_out) = asked.told();
        assert_eq!((told.len(), left_out), (REMEMBERED + 2, 5));
        assert_eq!((told[0].to.as_str(), told[0].times, &told[0].refused), ("a.test:443", 2, &None));
        assert_eq!((told[1].to.as_str(), told[1].times, &told[1].refused), ("b.test:443", 1, &None));
    }

    #[test]
    fn only_public_addresses_are_public() {
        for public in ["1.1.1.1", "93.184.216.34", "2606:4700::1", "64:ff9b::101:101", "::ffff:8.8.8.8"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        let private = [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.1.2.3",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd00::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "3fff::1",
            "::7f00:1",
        ];
        for private in private {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    #[test]
    fn requests() {
        let read = |text: &str| read_request(&mut text.as_bytes()).map_err(|answer| answer[9..12].to_owned());
        assert_eq!(read("CONNECT a.test:443 HTTP/1.1\r\nHost: x\r\n\r\n"), Ok(("a.test".into(), 443)));
        assert_eq!(read("CONNECT [::1]:80 HTTP/1.1\r\n\r\n"), Ok(("::1".into(), 80)));
        assert_eq!(read("GET http://a.test/ HTTP/1.1\r\n\r\n"), Err("405".into()));
        for bad in [
            "",
            "\r\n",
            "CONNECT",
            "CONNECT a HTTP/1.1\r\n\r\n",
            "CONNECT a:b HTTP/1.1\r\n\r\n",
            "CONNECT a:1 FTP\r\n\r\n",
            "CONNECT a:1 HTTP/1.1\r\n",
            "CONNECT a@b:1 HTTP/1.1\r\n\r\n",
            "CONNECT :1 HTTP/1.1\r\n\r\n",
            "CONNECT a:1 HTTP/1.1 x\r\n\r\n",
        ] {
            assert_eq!(read(bad), Err("400".into()), "{bad:?}");
        }
    }
}
