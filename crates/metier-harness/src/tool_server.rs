//! The prompt's tools as an MCP server on loopback, for agents that reach such servers over HTTP alone.
//!
//! It lasts as long as one conversation. Only who knows its token is answered; the agent gets it over its standard input.

mod request;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use self::request::{Request, Unread};
use crate::mcp::{self, McpReply};
use crate::program::ToolBridge;

/// How many connections there can be at once. An agent uses a few.
const CONNECTIONS: usize = 64;
/// How long a connection may take to send its request or to take its answer.
const PATIENCE: Duration = Duration::from_secs(30);
const PATH: &str = "/mcp";

/// The server. Dropping it closes its socket and all its connections.
pub(crate) struct ToolServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    token: String,
    tools: Vec<Value>,
    bridge: ToolBridge,
    is_over: AtomicBool,
    connections: Mutex<BTreeMap<u64, TcpStream>>,
}

impl ToolServer {
    /// Serves these tools, as MCP declares them. Calls go to the conversation of the bridge.
    pub(crate) fn start(tools: Vec<Value>, bridge: &ToolBridge) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            token: uuid::Uuid::new_v4().simple().to_string(),
            tools,
            bridge: bridge.clone(),
            is_over: AtomicBool::new(false),
            connections: Mutex::default(),
        });
        let accepted = Arc::clone(&shared);
        let accepting = thread::Builder::new()
            .name("agent-tools".to_owned())
            .spawn(move || accepted.accept_all(&listener))?;
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// The value of the header `Authorization`.
    pub(crate) fn authorization(&self) -> String {
        format!("Bearer {}", self.shared.token)
    }
}

impl Drop for ToolServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // So that it notices.
        drop(TcpStream::connect(self.address));
        self.shared.close_all();
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        // What was accepted meanwhile.
        self.shared.close_all();
    }
}

/// Without the token.
impl fmt::Debug for ToolServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Shared {
    fn accept_all(self: &Arc<Self>, listener: &TcpListener) {
        for number in 0u64.. {
            let accepted = listener.accept();
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            match accepted {
                Ok((stream, _)) => self.answer_on_a_thread(number, stream),
                // No descriptors are left, for example: others may be closed soon.
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// What cannot be served is closed.
    fn answer_on_a_thread(self: &Arc<Self>, number: u64, stream: TcpStream) {
        let Ok(kept) = stream.try_clone() else { return };
        {
            let mut connections = self.connections();
            if connections.len() >= CONNECTIONS {
                return;
            }
            connections.insert(number, kept);
        }
        let shared = Arc::clone(self);
        let answer = move || {
            // A client that disconnected needs no answer.
            let _ = shared.answer(&stream);
            let _ = stream.shutdown(Shutdown::Both);
            shared.connections().remove(&number);
        };
        if thread::Builder::new().name("agent-tool-call".to_owned()).spawn(answer).is_err() {
            self.connections().remove(&number);
        }
    }

    fn connections(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, TcpStream>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close_all(&self) {
        for stream in self.connections().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// One request for each connection.
    fn answer(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let (status, body) = match Request::read(stream, |given| self.is_authorization(given)) {
            Ok(request) => self.respond(&request),
            Err(Unread::Refused(status)) => (status, None),
            Err(Unread::Broken(error)) => return Err(error),
        };
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let head =
            format!("HTTP/1.1 {status}\r\n{kind}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        stream.flush()
    }

    fn is_authorization(&self, given: &str) -> bool {
        is_same(given.as_bytes(), format!("Bearer {}", self.token).as_bytes())
    }

    /// The status line and the body of the answer.
    fn respond(&self, request: &Request) -> (&'static str, Option<Value>) {
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", PATH) => {}
            // There are no messages of the server's own, and no sessions to end.
            (_, PATH) => return ("405 Method Not Allowed", None),
            _ => return ("404 Not Found", None),
        }
        let Ok(message @ Value::Object(_)) = serde_json::from_slice::<Value>(&request.body) else {
            return ("400 Bad Request", None);
        };
        if message.get("id").is_none() {
            return ("202 Accepted", None);
        }
        let reply = match mcp::handle(&message, &self.tools) {
            McpReply::Now(reply) => reply,
            McpReply::Call { tool, arguments, call, id } => {
                mcp::answer(&id, &self.bridge.call(&tool, arguments, call))
            }
        };
        ("200 OK", Some(reply))
    }
}

/// Compares in a time that does not depend on how much is the same.
fn is_same(one: &[u8], two: &[u8]) -> bool {
    one.len() == two.len() && one.iter().zip(two).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use serde_json::json;

    use super::*;

    fn ask(server: &ToolServer, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let text = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn server() -> ToolServer {
        ToolServer::start(vec![json!({ "name": "add" })], &ToolBridge::default()).unwrap()
    }

    #[test]
    fn tools_are_listed_for_whoever_has_the_token() {
        let server = server();
        let head = format!("POST /mcp HTTP/1.1\r\nauthorization: {}", server.authorization());
        let list = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" }).to_string();
        let answer = ask(&server, &head, &list);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body, json!({ "jsonrpc": "2.0", "id": 7, "result": { "tools": [{ "name": "add" }] } }));
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        assert!(ask(&server, &head, &told).starts_with("HTTP/1.1 202 "));
        assert!(ask(&server, &head, "[]").starts_with("HTTP/1.1 400 "));
        assert!(ask(&server, &head, "x").starts_with("HTTP/1.1 400 "));
    }

    #[test]
    fn everything_else_is_refused() {
        let server = server();
        let list = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" }).to_string();
        for head in ["POST /mcp HTTP/1.1", "POST /mcp HTTP/1.1\r\nAuthorization: Bearer none"] {
            assert!(ask(&server, head, &list).starts_with("HTTP/1.1 401 "), "{head}");
        }
        let token = server.authorization();
        for (line, status) in
            [("GET /mcp", 405), ("DELETE /mcp", 405), ("POST /", 404), ("POST http://a.test/mcp", 404)]
        {
            let head = format!("{line} HTTP/1.1\r\nAuthorization: {token}");
            let answer = ask(&server, &head, &list);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {answer}");
        }
        assert!(!format!("{server:?}").contains(&server.shared.token));
    }

    #[test]
    fn it_is_gone_with_its_connections_when_it_is_dropped() {
        let server = server();
        let address = server.address;
        let mut open = TcpStream::connect(address).unwrap();
        open.write_all(b"POST /mcp HTTP/1.1\r\n").unwrap();
        drop(server);
        let mut rest = Vec::new();
        // It ends, or was reset.
        let _ = open.read_to_end(&mut rest);
        assert!(rest.is_empty());
        assert!(TcpStream::connect(address).is_err());
    }
}
