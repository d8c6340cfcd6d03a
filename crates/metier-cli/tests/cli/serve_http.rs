//! `metier serve --http`: who is let in, what a session is, and a thousand of them.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::serve::{log, place, runs, soon};
use crate::support::{Place, skips_namespaces};

/// A server that listens on a port of its own.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(place: &Place, more: &[&str]) -> Self {
        let args = [&["serve", "--root", "skills:user", "--http", "127.0.0.1:0"], more].concat();
        let mut command = place.at_home(&args);
        fs::create_dir_all(place.path().join("tmp")).unwrap();
        command.env("PATH", "/usr/bin:/bin").env("TMPDIR", place.path().join("tmp"));
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
        assert!(address.is_some(), "{line}");
        Self { child, address: address.unwrap().to_owned() }
    }

    /// Tells it to end, and waits.
    fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let mut all = vec![
            ("Host", self.address.as_str()),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
            ("Connection", "close"),
        ];
        all.retain(|(name, _)| !headers.iter().any(|(other, _)| other == name));
        all.extend(headers);
        let head: Vec<String> = all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = head.concat();
        let length = body.len();
        // One that refuses early does not read all of it.
        let _ = stream.write_all(
            format!("{method} {path} HTTP/1.1\r\n{head}Content-Length: {length}\r\n\r\n").as_bytes(),
        );
        let _ = stream.write_all(body.as_bytes());
        Response::read(stream)
    }

    fn post(&self, headers: &[(&str, &str)], body: &Value) -> Response {
        self.request("POST", "/mcp", headers, &body.to_string())
    }

    /// Begins a session; its id.
    fn session(&self, headers: &[(&str, &str)]) -> String {
        let response = self.post(headers, &initialize());
        assert_eq!(response.status, 200, "{}", response.body);
        let id = response.header("mcp-session-id").unwrap().to_owned();
        let with = [headers, &[("Mcp-Session-Id", id.as_str())]].concat();
        let initialized =
            self.post(&with, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(initialized.status, 202);
        id
    }

    /// Begins to run a script in a session, and does not wait for what comes of it.
    fn begin(&self, session: &str, args: &[&str]) -> TcpStream {
        self.begin_with(&[], session, args)
    }

    fn begin_with(&self, headers: &[(&str, &str)], session: &str, args: &[&str]) -> TcpStream {
        let arguments = json!({ "skill_name": "tally", "script_name": "scripts/run.sh", "args": args });
        let params = json!({ "name": "run_skill_script", "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params }).to_string();
        let length = body.len().to_string();
        let more =
            [("Content-Type", "application/json"), ("Mcp-Session-Id", session), ("Content-Length", &length)];
        self.open("POST", &[headers, &more].concat(), &body)
    }

    /// Opens the stream of what the server says by itself, or goes on with one that broke off.
    fn stream(&self, headers: &[(&str, &str)]) -> TcpStream {
        self.open("GET", headers, "")
    }

    fn open(&self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let own = [("Host", self.address.as_str()), ("Accept", "application/json, text/event-stream")];
        let lines = own.iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = format!("{method} /mcp HTTP/1.1\r\n{}", lines.collect::<String>());
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        stream
    }

    fn call(&self, headers: &[(&str, &str)], tool: &str, arguments: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.post(headers, &json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params }))
            .message()["result"]
            .clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Response {
    fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        // Whoever refuses may close before everything is sent.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let line = self
            .head
            .lines()
            .find_map(|line| line.split_once(": ").filter(|(other, _)| other.eq_ignore_ascii_case(name)));
        line.map(|(_, value)| value)
    }

    /// The last message in it, plain or as an event.
    fn message(&self) -> Value {
        let lines = self.body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
        let mut messages =
            lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(Value::is_object);
        {
            let last = messages.next_back();
            assert!(last.is_some(), "{} {}", self.head, self.body);
            last.unwrap()
        }
    }
}

fn initialize() -> Value {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

#[test]
fn a_session_of_the_protocol_is_a_session() {
    let place = place();
    let server = Server::start(&place, &[]);
    let (one, other) = (server.session(&[]), server.session(&[]));
    let load = |id: &str| {
        server.call(&[("Mcp-Session-Id", id)], "load_skill", &json!({ "skill_name": "tally" }))["structuredContent"]["already_active"].clone()
    };
    assert_eq!([load(&one), load(&one), load(&other)], [false, true, false]);
    let gone = server.request("DELETE", "/mcp", &[("Mcp-Session-Id", &one)], "");
    assert_eq!(gone.status, 202);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_eq!(server.post(&[("Mcp-Session-Id", &one)], &list).status, 404);
    // Without one, from 2026-07-28 on, each request is its own.
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let params = json!({ "name": "load_skill", "arguments": { "skill_name": "tally" }, "_meta": meta });
    let headers =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "load_skill")];
    for _ in 0..2 {
        let answer = server
            .post(&headers, &json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params }));
        assert_eq!(
            answer.message()["result"]["structuredContent"]["already_active"],
            false,
            "{}",
            answer.body
        );
    }
    // Those that are still open are ended with the server.
    for _ in 0..6 {
        load(&server.session(&[]));
    }
    server.end();
    let log = String::from_utf8(place.at_home(&["audit", "log", "--json"]).output().unwrap().stdout).unwrap();
    assert_eq!(
        (log.matches("session.started").count(), log.matches("session.ended").count()),
        (10, 10),
        "{log}"
    );
}

#[test]
fn nobody_gets_in_without_a_token() {
    let place = place();
    place.write("tokens", "first-token\n\nsecond-token\n");
    let server = Server::start(&place, &["--token-file", "tokens"]);
    for headers in [
        &[][..],
        &[("Authorization", "Bearer wrong")],
        &[("Authorization", "Basic first-token")],
        &[("Authorization", "first-token")],
    ] {
        let response = server.post(headers, &initialize());
        assert_eq!(
            (response.status, response.header("www-authenticate")),
            (401, Some("Bearer")),
            "{headers:?}"
        );
        assert_eq!(server.request("GET", "/metrics", headers, "").status, 401);
    }
    let first = [("Authorization", "Bearer first-token")];
    let id = server.session(&first);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let with = |token: &'static str| {
        server.post(&[("Authorization", token), ("Mcp-Session-Id", id.as_str())], &list).status
    };
    assert_eq!(
        (with("Bearer first-token"), with("Bearer second-token")),
        (200, 404),
        "a session is its owner's"
    );
    assert_eq!(server.request("GET", "/healthz", &[], "").body, "ok\n");
    let metrics = server.request("GET", "/metrics", &first, "").body;
    assert!(
        metrics.contains("\nmetier_sessions 1\n") && metrics.contains("\nmetier_http_refused_total 9\n"),
        "{metrics}"
    );

    let open = place.transcript_at_home(&["serve", "--root", "skills", "--http", "0.0.0.0:0"]);
    assert!(open.contains("name tokens with `--token-file`"), "{open}");
    place.write("none", "\n");
    let none = place.transcript_at_home(&[
        "serve",
        "--root",
        "skills",
        "--http",
        "127.0.0.1:0",
        "--token-file",
        "none",
    ]);
    assert!(none.contains("has no token in it"), "{none}");
}

#[test]
fn no_web_page_gets_in() {
    let place = place();
    let server = Server::start(
        &place,
        &["--allow-host", "skills.example.org", "--allow-origin", "https://app.example.org"],
    );
    let own = format!("http://{}", server.address);
    for (headers, status) in [
        (vec![("Host", "evil.example.com")], 403),
        (vec![("Origin", "https://evil.example.com")], 403),
        (vec![("Origin", "null")], 403),
        (vec![("Host", "evil.example.com"), ("Origin", "http://evil.example.com")], 403),
        (vec![("Origin", own.as_str())], 200),
        (vec![("Host", "skills.example.org"), ("Origin", "https://app.example.org")], 200),
    ] {
        assert_eq!(server.post(&headers, &initialize()).status, status, "{headers:?}");
    }
    for headers in [[("Host", "evil.example.com")], [("Origin", own.as_str())]] {
        assert_eq!(server.request("GET", "/metrics", &headers, "").status, 403, "{headers:?}");
    }
}

/// People take their time, and nobody else has to wait for them.
#[test]
fn whoever_does_not_answer_holds_up_nobody_else() {
    let place = place();
    let server = Server::start(&place, &[]);
    let mut initialize = initialize();
    initialize["params"]["capabilities"] = json!({ "elicitation": {} });
    let waiting: Vec<TcpStream> = (0..70)
        .map(|_| {
            let id = server.post(&[], &initialize).header("mcp-session-id").unwrap().to_owned();
            server.post(
                &[("Mcp-Session-Id", &id)],
                &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            );
            let stream = server.begin(&id, &[]);
            // It has been asked when the question is there.
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            assert!(lines.any(|line| line.contains("elicitation/create")));
            stream
        })
        .collect();
    let loaded = server.call(
        &[("Mcp-Session-Id", server.session(&[]).as_str())],
        "load_skill",
        &json!({ "skill_name": "tally" }),
    );
    assert_eq!(loaded["isError"], false, "{loaded}");
    drop(waiting);
}

/// Over HTTP a person is asked on the stream of the call and answers in a request of its own. A client whose stream broke off goes on where it was.
#[test]
fn a_question_and_an_answer_survive_a_broken_stream() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    place.write("tokens", "build-server first-token\n");
    let server = Server::start(&place, &["--token-file", "tokens"]);
    let token = ("Authorization", "Bearer first-token");
    for breaks in [false, true] {
        let mut hello = initialize();
        hello["params"]["capabilities"] = json!({ "elicitation": {} });
        let id = server.post(&[token], &hello).header("mcp-session-id").unwrap().to_owned();
        let headers = [token, ("Mcp-Session-Id", id.as_str())];
        server.post(&headers, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let stream = server.begin_with(&[token], &id, &["hello"]);
        let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
        let mut last = None;
        let question: Value = loop {
            let line = lines.next().unwrap();
            last = line.strip_prefix("id: ").map(str::to_owned).or(last);
            let data = line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok());
            if let Some(Value::Object(message)) = data {
                break Value::Object(message);
            }
        };
        assert_eq!(question["method"], "elicitation/create");
        let answer = json!({ "action": "accept", "content": { "answer": "once" } });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
        let rest = if breaks {
            drop(lines);
            drop(stream);
            assert_eq!(server.post(&headers, &answer).status, 202);
            let last = last.unwrap();
            let resumed = server.stream(&[token, ("Mcp-Session-Id", &id), ("Last-Event-ID", &last)]);
            BufReader::new(resumed).lines().map_while(Result::ok).find(|line| line.contains("got: hello"))
        } else {
            assert_eq!(server.post(&headers, &answer).status, 202);
            lines.find(|line| line.contains("got: hello"))
        };
        assert!(rest.is_some_and(|line| line.contains("\"id\":5")), "breaks: {breaks}");
    }
    server.end();
    let log = log(&place);
    assert!(log.contains("\"actor\":\"build-server\""), "{log}");
}

/// A connection on which nobody says what they want does not keep the server from ending.
#[test]
fn nobody_keeps_a_server_from_ending() {
    let place = place();
    let server = Server::start(&place, &[]);
    let mut half = TcpStream::connect(&server.address).unwrap();
    half.write_all(
        format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Length: 100\r\n\r\n{{", server.address).as_bytes(),
    )
    .unwrap();
    let mut less = TcpStream::connect(&server.address).unwrap();
    less.write_all(b"POST /m").unwrap();
    server.session(&[]);
    server.end();
}

#[test]
fn there_is_a_limit_to_everything() {
    let place = place();
    let server = Server::start(&place, &["--max-sessions", "3"]);
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(5 << 20));
    assert_eq!(server.request("POST", "/mcp", &[], &large).status, 413);
    for garbage in ["", "{", "[]", "\u{0}", "{\"jsonrpc\":\"2.0\"}"] {
        let status = server.request("POST", "/mcp", &[], garbage).status;
        assert!((400..500).contains(&status), "{garbage:?}: {status}");
    }
    assert_eq!(server.request("PUT", "/mcp", &[], "").status, 405);
    assert_eq!(server.request("GET", "/nothing", &[], "").status, 404);
    let ids: Vec<String> = (0..3).map(|_| server.session(&[])).collect();
    let full = server.post(&[], &initialize());
    assert_eq!((full.status, full.header("retry-after")), (503, Some("1")));
    let claims = server.post(&[("MCP-Protocol-Version", "2026-07-28")], &initialize());
    assert!(claims.header("mcp-session-id").is_none(), "{}", claims.head);
    assert!(server.request("GET", "/metrics", &[], "").body.contains("\nmetier_sessions 3\n"));
    server.request("DELETE", "/mcp", &[("Mcp-Session-Id", &ids[0])], "");
    assert!(soon(|| server.post(&[], &initialize()).status == 200), "there is room again");
    let slow = Server::start(&place, &["--rate", "2"]);
    let statuses: Vec<u16> = (0..5).map(|_| slow.request("GET", "/metrics", &[], "").status).collect();
    assert!(statuses.starts_with(&[200, 200]) && statuses.contains(&429), "{statuses:?}");
}

#[test]
fn a_hundred_megabytes_are_refused_and_not_kept() {
    let place = place();
    let server = Server::start(&place, &[]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n",
        server.address
    );
    stream.write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).unwrap();
    let chunk = [format!("{:x}\r\n", 1 << 20).as_bytes(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
    // It is closed long before all of it is sent.
    let sent = (0..100).take_while(|_| stream.write_all(&chunk).is_ok()).count();
    drop(stream);
    assert!(sent < 100, "{sent} MB were taken");
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    assert!(peak.unwrap() < 128 << 10, "it took {peak:?} kB");
    server.session(&[]);
}

/// Every session works, and when all are gone nothing of them is left.
#[test]
fn a_thousand_sessions_at_once() {
    let place = place();
    let server = Server::start(&place, &["--rate", "1000000"]);
    let open = || fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap().count();
    server.session(&[]);
    let before = open();
    let work = |from: usize| -> Vec<String> {
        (from..from + 125)
            .map(|_| {
                let id = server.session(&[]);
                let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
                let answer = server.post(&[("Mcp-Session-Id", id.as_str())], &list);
                assert_eq!(answer.message()["result"]["tools"].as_array().unwrap().len(), 4);
                id
            })
            .collect()
    };
    let ids: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|part| scope.spawn(move || work(part * 125))).collect();
        all.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    let count = || server.request("GET", "/metrics", &[], "").body.contains("\nmetier_sessions 1001\n");
    assert_eq!((ids.len(), count()), (1_000, true));
    let loaded = server.call(
        &[("Mcp-Session-Id", ids[999].as_str())],
        "load_skill",
        &json!({ "skill_name": "tally" }),
    );
    assert_eq!(loaded["isError"], false, "{loaded}");
    for id in &ids {
        server.request("DELETE", "/mcp", &[("Mcp-Session-Id", id)], "");
    }
    assert!(soon(|| server.request("GET", "/metrics", &[], "").body.contains("\nmetier_sessions 1\n")));
    assert!(soon(|| open() <= before + 4), "{} files were open before, {} are now", before, open());
    server.end();
}

/// A client that is gone leaves its session, and the session what it ran; when the server ends, so does that.
#[test]
fn a_server_that_ends_ends_what_it_runs() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    let approved = place
        .at_home(&["approve", "--root", "skills:user", "tally", "--script", "scripts/run.sh", "--yes"])
        .output()
        .unwrap();
    assert!(approved.status.success(), "{}", String::from_utf8_lossy(&approved.stderr));
    let server = Server::start(&place, &[]);
    let id = server.session(&[]);
    let stream = server.begin(&id, &["wait", "903.125"]);
    assert!(soon(|| runs("903.125")));
    drop(stream);
    server.request("DELETE", "/mcp", &[("Mcp-Session-Id", &id)], "");
    assert!(soon(|| !runs("903.125")), "the session is over");
    server.end();
    assert_eq!(fs::read_dir(place.path().join("tmp")).unwrap().count(), 0, "nothing is left");
}
