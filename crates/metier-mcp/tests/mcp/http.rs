//! Over HTTP: sessions, who they belong to, connections that say nothing, and answers that can be fetched later.

use std::time::Duration;

use metier_mcp::{HttpOptions, HttpServer, LibraryOptions, Token};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::common::{Ground, said};

struct Server {
    address: std::net::SocketAddr,
    until: CancellationToken,
    served: JoinHandle<Result<(), metier_mcp::McpError>>,
    _ground: Ground,
}

impl Server {
    async fn start(change: impl FnOnce(&mut HttpOptions)) -> Self {
        let ground = Ground::new();
        let mut options = HttpOptions::new("127.0.0.1:0".parse().unwrap());
        change(&mut options);
        let server = HttpServer::bind(ground.library(LibraryOptions::default()), options).await.unwrap();
        let (address, until) = (server.address(), CancellationToken::new());
        let served = tokio::spawn(server.serve(until.clone()));
        Self { address, until, served, _ground: ground }
    }

    async fn request(&self, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let more: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let more = more.concat();
        let head = format!(
            "{method} /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             Connection: close\r\nContent-Length: {}\r\n{more}\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut all = String::new();
        timeout(Duration::from_secs(30), stream.read_to_string(&mut all)).await.unwrap().unwrap();
        let status = all.split(' ').nth(1).unwrap().parse().unwrap();
        (status, all)
    }

    async fn post(&self, headers: &[(&str, &str)], message: &Value) -> (u16, String) {
        self.request("POST", headers, &message.to_string()).await
    }

    async fn session(&self, headers: &[(&str, &str)]) -> String {
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let (status, answer) = self.post(headers, &hello).await;
        assert_eq!(status, 200, "{answer}");
        assert!(!answer.contains("retry:"), "it breaks clients of that time: {answer}");
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
        let all = [headers, &[("Mcp-Session-Id", id.as_str())]].concat();
        let (status, _) =
            self.post(&all, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        assert_eq!(status, 202);
        id
    }

    async fn end(self) {
        self.until.cancel();
        timeout(Duration::from_secs(30), self.served).await.unwrap().unwrap().unwrap();
    }
}

/// The last message in an answer.
fn message(answer: &str) -> Value {
    let mut data = answer
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ").unwrap_or(line)).ok());
    data.rfind(Value::is_object).unwrap()
}

fn load() -> Value {
    let params = json!({ "name": "load_skill", "arguments": { "skill_name": "tally" } });
    json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })
}

#[tokio::test]
async fn a_session_lasts_until_it_is_deleted() {
    let server = Server::start(|_| {}).await;
    let id = server.session(&[]).await;
    let session = [("Mcp-Session-Id", id.as_str())];
    for is_active in [false, true] {
        let (_, answer) = server.post(&session, &load()).await;
        let result = &message(&answer)["result"];
        assert_eq!(result["_meta"]["io.metier/result"]["already_active"], is_active, "{answer}");
    }
    assert_eq!(server.request("DELETE", &session, "").await.0, 204);
    assert_eq!(server.post(&session, &load()).await.0, 404);
    server.end().await;
}

#[tokio::test]
async fn a_session_is_its_owner_s() {
    let tokens = Token::parse("one the-first-of-two-tokens\ntwo the-second-of-two-tokens\n").unwrap();
    let server = Server::start(|options| options.tokens = tokens).await;
    let [first, second] = ["first", "second"].map(|name| format!("Bearer the-{name}-of-two-tokens"));
    let id = server.session(&[("Authorization", &first)]).await;
    let with = |token: &'static str| ("Authorization", token);
    assert_eq!(server.post(&[], &load()).await.0, 401);
    assert_eq!(server.post(&[with("Bearer wrong")], &load()).await.0, 401);
    let session = ("Mcp-Session-Id", id.as_str());
    assert_eq!(server.post(&[("Authorization", &second), session], &load()).await.0, 404);
    let (status, answer) = server.post(&[("Authorization", &first), session], &load()).await;
    assert!(status == 200 && said(&message(&answer)["result"]).contains("Run scripts/run.sh."), "{answer}");
    server.end().await;
}

#[tokio::test]
async fn what_is_not_json_rpc_is_a_bad_request() {
    let server = Server::start(|_| {}).await;
    for (body, code, id) in [
        ("", -32700, Value::Null),
        ("{\"jsonrpc\":", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("{\"id\":\"x\",\"method\":1}", -32600, json!("x")),
    ] {
        let (status, answer) = server.request("POST", &[], body).await;
        let error = message(&answer);
        assert_eq!((status, &error["error"]["code"], &error["id"]), (400, &json!(code), &id), "{answer}");
    }
    server.end().await;
}

/// Whoever takes a place and says nothing gives it up; meanwhile others wait, and are served then.
#[tokio::test]
async fn half_a_request_is_dropped_after_a_while() {
    let patience = Duration::from_millis(200);
    let server = Server::start(|options| {
        (options.connections, options.head_patience, options.body_patience) = (3, patience, patience);
    })
    .await;
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\n", server.address);
    let body = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{";
    let mut held = Vec::new();
    for text in ["", head.as_str(), &format!("{head}{body}")] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        held.push(stream);
    }
    for mut stream in held {
        let mut answer = String::new();
        timeout(Duration::from_secs(30), stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
    let id = server.session(&[]).await;
    assert_eq!(server.post(&[("Mcp-Session-Id", &id)], &load()).await.0, 200);
    server.end().await;
}

/// While all places are taken, a further connection waits; it is served as soon as one of the others closes.
#[tokio::test]
async fn no_more_connections_are_served_than_there_are_places() {
    let server = Server::start(|options| options.connections = 2).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\n").await.unwrap();
        held.push(stream);
    }
    {
        let mut third = std::pin::pin!(server.session(&[]));
        let served = timeout(Duration::from_millis(500), third.as_mut()).await;
        assert!(served.is_err(), "a third connection was served");
        held.pop();
        timeout(Duration::from_secs(30), third).await.unwrap();
    }
    drop(held);
    server.end().await;
}

/// The id of an event is good for its own session and stream, and for nothing else.
#[tokio::test]
async fn an_answer_is_fetched_again_by_its_event() {
    let server = Server::start(|_| {}).await;
    let (id, other) = (server.session(&[]).await, server.session(&[]).await);
    let session = ("Mcp-Session-Id", id.as_str());
    let (_, answer) = server.post(&[session], &load()).await;
    let event = answer.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let stream = event.split_once('/').unwrap().1;
    let before = format!("-1/{stream}");
    for (last, is_there) in [(event, false), ("0/999", false), (&before, false), ("x", false)] {
        let (status, again) = server.request("GET", &[session, ("Last-Event-ID", last)], "").await;
        assert_eq!((status, again.contains("skill_content")), (200, is_there), "{last}: {again}");
    }
    let (_, foreign) =
        server.request("GET", &[("Mcp-Session-Id", &other), ("Last-Event-ID", event)], "").await;
    assert!(!foreign.contains("skill_content"), "{foreign}");
    server.end().await;
}
