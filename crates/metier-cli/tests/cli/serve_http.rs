//! `metier serve --http`: who is let in, what a session is, and a thousand of them.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::serve::{log, place, runs, soon, text};
use crate::support::{Place, skips_namespaces};

/// A server that listens on a port of its own.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(place: &Place, more: &[&str]) -> Self {
        let args = [&["serve", "--root", "skills:user", "--http", "127.0.0.1:0"], more].concat();
        let mut command = place.at_home(&args);
        fs::create_dir_all(place.path().join("tmp")).unwrap();
        command.env("PATH", "/usr/bin:/bin").env("TMPDIR", place.path().join("tmp"));
        Self::listening(command)
    }

    /// Starts a server by a command that prints its address.
    pub(crate) fn listening(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
        assert!(address.is_some(), "{line}");
        Self { child, address: address.unwrap().to_owned() }
    }

    /// Tells it to end, and waits.
    pub(crate) fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
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

    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &Value) -> Response {
        self.request("POST", "/mcp", headers, &body.to_string())
    }

    /// Begins a session; its id.
    pub(crate) fn session(&self, headers: &[(&str, &str)]) -> String {
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
        // What does not come is a failure, and no reason to wait.
        stream.set_read_timeout(Some(std::time::Duration::from_mins(1))).unwrap();
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        stream
    }

    pub(crate) fn call(&self, headers: &[(&str, &str)], tool: &str, arguments: &Value) -> Value {
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

pub(crate) struct Response {
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
    pub(crate) fn message(&self) -> Value {
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
        server.call(&[("Mcp-Session-Id", id)], "load_skill", &json!({ "skill_name": "tally" }))["_meta"]["io.metier/result"]["already_active"].clone()
    };
    assert_eq!([load(&one), load(&one), load(&other)], [false, true, false]);
    let gone = server.request("DELETE", "/mcp", &[("Mcp-Session-Id", &one)], "");
    assert_eq!(gone.status, 204);
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
            answer.message()["result"]["_meta"]["io.metier/result"]["already_active"],
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
    place.write("tokens", "the-first-of-two-tokens\n\nthe-second-of-two-tokens\n");
    let server = Server::start(&place, &["--token-file", "tokens"]);
    for headers in [
        &[][..],
        &[("Authorization", "Bearer wrong")],
        &[("Authorization", "Basic the-first-of-two-tokens")],
        &[("Authorization", "the-first-of-two-tokens")],
    ] {
        let response = server.post(headers, &initialize());
        assert_eq!(
            (response.status, response.header("www-authenticate")),
            (401, Some("Bearer")),
            "{headers:?}"
        );
        assert_eq!(server.request("GET", "/metrics", headers, "").status, 401);
    }
    let first = [("Authorization", "Bearer the-first-of-two-tokens")];
    let id = server.session(&first);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let with = |token: &'static str| {
        server.post(&[("Authorization", token), ("Mcp-Session-Id", id.as_str())], &list).status
    };
    assert_eq!(
        (with("Bearer the-first-of-two-tokens"), with("Bearer the-second-of-two-tokens")),
        (200, 404),
        "a session is its owner's"
    );
    let other = [("Authorization", "Bearer the-second-of-two-tokens"), ("Mcp-Session-Id", id.as_str())];
    for (method, more) in [("GET", &[][..]), ("GET", &[("Last-Event-ID", "0/0")]), ("DELETE", &[])] {
        assert_eq!(server.request(method, "/mcp", &[&other, more].concat(), "").status, 404, "{method}");
    }
    assert_eq!(server.request("GET", "/healthz", &[], "").body, "ok\n");
    let metrics = server.request("GET", "/metrics", &first, "").body;
    assert!(
        metrics.contains("\nmetier_sessions 1\n") && metrics.contains("\nmetier_http_refused_total 12\n"),
        "{metrics}"
    );

    let open = place.transcript_at_home(&["serve", "--root", "skills", "--http", "0.0.0.0:0"]);
    assert!(open.contains("set tokens with `--token-file`"), "{open}");
    for (text, said) in [
        ("\n# nothing\n", "has no token in it"),
        ("me a-token-of-my-own\nother-server\n", "line 2: invalid token"),
    ] {
        place.write("wrong", text);
        let wrong = ["serve", "--root", "skills", "--http", "127.0.0.1:0", "--token-file", "wrong"];
        let wrong = place.transcript_at_home(&wrong);
        assert!(wrong.contains(said), "{wrong}");
    }
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

/// Clients before 2025-11-25 take an event without a message for a broken one; later ones want it, to know where to come back.
#[test]
fn only_new_clients_are_told_how_to_come_back() {
    let place = place();
    let server = Server::start(&place, &[]);
    for (version, is_primed) in [("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)] {
        let mut hello = initialize();
        hello["params"]["protocolVersion"] = json!(version);
        let greeted = server.post(&[], &hello);
        let id = greeted.header("mcp-session-id").unwrap().to_owned();
        assert_eq!(greeted.message()["result"]["protocolVersion"], version);
        assert!(!greeted.body.contains("retry:"), "{}", greeted.body);
        let session = ("Mcp-Session-Id", id.as_str());
        server.post(&[session], &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let listed = server.post(&[session], &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
        assert_eq!(listed.body.contains("retry:"), is_primed, "{version}: {}", listed.body);
        let stream = server.stream(&[session]);
        if is_primed {
            let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
            let chunks = lines.by_ref().skip_while(|line| !line.is_empty()).skip(1);
            assert!(chunks.take(5).any(|line| line.starts_with("retry:")), "{version}");
        } else {
            // The server has nothing to send, so reading ends with the timeout.
            stream.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
            let mut seen = Vec::new();
            let _ = (&stream).read_to_end(&mut seen);
            let seen = String::from_utf8_lossy(&seen);
            assert!(seen.starts_with("HTTP/1.1 200 ") && !seen.contains("retry:"), "{version}: {seen}");
        }
    }
}

/// Two requests of the same id cannot be told apart; the second is refused, and the first is answered.
#[test]
fn a_second_request_of_the_same_id_is_refused_at_once() {
    if skips_namespaces() {
        return;
    }
    let place = approved();
    let server = Server::start(&place, &[]);
    let id = server.session(&[]);
    let first = server.begin(&id, &["wait", "0.908125"]);
    assert!(soon(|| runs("0.908125")), "it runs");
    let again = server
        .post(&[("Mcp-Session-Id", &id)], &json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list" }));
    assert_eq!(again.message()["error"]["code"], -32600, "{}", again.body);
    let answer = next_message(&mut BufReader::new(&first).lines().map_while(Result::ok)).0;
    assert!(text(&answer["result"]).starts_with("got: wait"), "{answer}");
}

/// People take their time, and nobody else has to wait for them.
#[test]
fn whoever_does_not_answer_holds_up_nobody_else() {
    let place = place();
    let server = Server::start(&place, &["--rate", "1000000"]);
    let mut initialize = initialize();
    initialize["params"]["capabilities"] = json!({ "elicitation": {} });
    // More than there are threads to wait on.
    let waiting: Vec<TcpStream> = (0..600)
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

/// A client that can be asked, and its session.
fn asked(server: &Server, headers: &[(&str, &str)]) -> String {
    let mut hello = initialize();
    hello["params"]["capabilities"] = json!({ "elicitation": {} });
    let id = server.post(headers, &hello).header("mcp-session-id").unwrap().to_owned();
    let headers = [headers, &[("Mcp-Session-Id", id.as_str())]].concat();
    server.post(&headers, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    id
}

/// The next message on a stream, and its id there.
fn next_message(lines: &mut impl Iterator<Item = String>) -> (Value, Option<String>) {
    let (mut message, mut id) = (Value::Null, None);
    loop {
        let line = lines.next().unwrap();
        if line.is_empty() && message.is_object() {
            return (message, id);
        }
        id = line.strip_prefix("id: ").map(str::to_owned).or(id);
        if let Some(Ok(data)) = line.strip_prefix("data: ").map(serde_json::from_str) {
            message = data;
        }
    }
}

/// Over HTTP a person is asked on the stream of the call and answers in a request of its own. A client whose stream broke off goes on where it
/// was, also when everything is over meanwhile.
#[test]
fn a_question_and_an_answer_survive_a_broken_stream() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    place.write("tokens", "build-server the-first-of-two-tokens\n");
    let server = Server::start(&place, &["--token-file", "tokens"]);
    let token = ("Authorization", "Bearer the-first-of-two-tokens");
    for (number, breaks) in [(1, false), (2, true)] {
        let id = asked(&server, &[token]);
        let headers = [token, ("Mcp-Session-Id", id.as_str())];
        let stream = server.begin_with(&[token], &id, &["hello"]);
        let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
        let (question, last) = next_message(&mut lines);
        assert_eq!(question["method"], "elicitation/create");
        let answer = json!({ "action": "accept", "content": { "answer": "once" } });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
        let result = if breaks {
            drop(lines);
            drop(stream);
            assert_eq!(server.post(&headers, &answer).status, 202);
            assert!(soon(|| log(&place).matches("\"outcome\":\"exited\"").count() == number), "it is over");
            let last = last.unwrap();
            let resumed = || server.stream(&[token, ("Mcp-Session-Id", &id), ("Last-Event-ID", &last)]);
            let mut again = BufReader::new(resumed()).lines().map_while(Result::ok);
            let first = next_message(&mut again).0;
            // Whoever did not get it once more may come once more.
            assert_eq!(next_message(&mut BufReader::new(resumed()).lines().map_while(Result::ok)).0, first);
            first
        } else {
            assert_eq!(server.post(&headers, &answer).status, 202);
            next_message(&mut lines).0
        };
        assert_eq!(result["id"], 5, "the answer comes next: {result}");
        assert!(text(&result["result"]).starts_with("got: hello\n"), "{result}");
    }
    server.end();
    let log = log(&place);
    assert!(log.contains("\"actor\":\"build-server\""), "{log}");
    let shown = place.transcript_at_home(&["audit", "log"]);
    let begun = shown.lines().filter(|line| line.contains("session.started"));
    assert!(
        begun.clone().count() == 2 && begun.clone().all(|line| line.contains("  build-server (")),
        "{shown}"
    );
}

#[test]
fn over_http_a_no_and_nobody_are_a_no() {
    let place = place();
    let server = Server::start(&place, &[]);
    let id = asked(&server, &[]);
    let stream = server.begin(&id, &["hello"]);
    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
    let question = next_message(&mut lines).0;
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    server.post(&[("Mcp-Session-Id", &id)], &answer);
    let declined = next_message(&mut lines).0;
    let nobody = server.begin(&server.session(&[]), &["hello"]);
    let nobody = next_message(&mut BufReader::new(&nobody).lines().map_while(Result::ok)).0;
    for (refused, why) in [(declined, "Do not try"), (nobody, "no terminal or client to ask")] {
        let text = refused["result"]["content"][0]["text"].as_str().unwrap();
        assert!(refused["result"]["isError"] == true && text.contains(why), "{refused}");
    }
    assert!(!log(&place).contains("\"outcome\":\"exited\""));
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
    for (garbage, code) in
        [("", -32700), ("{", -32700), ("[]", -32600), ("\u{0}", -32700), ("{\"jsonrpc\":\"2.0\"}", -32600)]
    {
        for headers in [&[][..], &[("MCP-Protocol-Version", "2026-07-28")]] {
            let answer = server.request("POST", "/mcp", headers, garbage);
            let said = (answer.status, answer.message()["error"]["code"].as_i64());
            assert_eq!(said, (400, Some(code)), "{garbage:?}: {}", answer.body);
        }
    }
    assert_eq!(server.request("POST", "/mcp", &[("Content-Type", "text/plain")], "{}").status, 415);
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

/// A place where the script may be run without a question.
fn approved() -> Place {
    let place = place();
    let approve = ["approve", "--root", "skills:user", "tally", "--script", "scripts/run.sh", "--yes"];
    let approved = place.at_home(&approve).output().unwrap();
    assert!(approved.status.success(), "{}", String::from_utf8_lossy(&approved.stderr));
    place
}

/// A script ends when its call is cancelled, when the session of a client that is gone does, and when a client goes whose request was all there
/// was of it.
#[test]
fn over_http_a_script_ends_when_nobody_wants_it() {
    if skips_namespaces() {
        return;
    }
    let place = approved();
    let server = Server::start(&place, &[]);
    let id = server.session(&[]);
    let stream = server.begin(&id, &["wait", "903.125"]);
    assert!(soon(|| runs("903.125")));
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 } });
    assert_eq!(server.post(&[("Mcp-Session-Id", &id)], &cancelled).status, 202);
    assert!(soon(|| !runs("903.125")), "it was cancelled");
    drop(stream);

    let id = server.session(&[]);
    let stream = server.begin(&id, &["wait", "904.125"]);
    assert!(soon(|| runs("904.125")));
    drop(stream);
    server.request("DELETE", "/mcp", &[("Mcp-Session-Id", &id)], "");
    assert!(soon(|| !runs("904.125")), "the session is over");

    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let arguments =
        json!({ "skill_name": "tally", "script_name": "scripts/run.sh", "args": ["wait", "905.125"] });
    let params = json!({ "name": "run_skill_script", "arguments": arguments, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params }).to_string();
    let length = body.len().to_string();
    let headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", length.as_str()),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "run_skill_script"),
    ];
    let stream = server.open("POST", &headers, &body);
    assert!(soon(|| runs("905.125")));
    drop(stream);
    assert!(soon(|| !runs("905.125")), "nobody can come back for it");
    let idle = || server.request("GET", "/metrics", &[], "").body.contains("\nmetier_calls_running 0\n");
    assert!(soon(idle), "nothing goes on");
    server.end();
    assert_eq!(log(&place).matches("\"outcome\":\"cancelled\"").count(), 3);
    assert_eq!(fs::read_dir(place.path().join("tmp")).unwrap().count(), 0, "nothing is left");
}

/// A server that ends waits for calls, but not for ever: neither for a script nor for a person who does not answer.
#[test]
fn a_server_that_ends_ends_what_it_runs() {
    if skips_namespaces() {
        return;
    }
    let place = approved();
    place.write("me/.config/metier/config.toml", "[[policy.rules]]\nskill = \"plain\"\nactivate = \"ask\"\n");
    let mut server = Server::start(&place, &[]);
    let script = server.begin(&server.session(&[]), &["wait", "906.125"]);
    assert!(soon(|| runs("906.125")));
    let id = asked(&server, &[]);
    let params = json!({ "name": "load_skill", "arguments": { "skill_name": "plain" } });
    let body = json!({ "jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": params }).to_string();
    let length = body.len().to_string();
    let headers =
        [("Content-Type", "application/json"), ("Mcp-Session-Id", &id), ("Content-Length", &length)];
    let question = server.open("POST", &headers, &body);
    let asks = next_message(&mut BufReader::new(&question).lines().map_while(Result::ok)).0;
    assert_eq!(asks["method"], "elicitation/create", "{asks}");
    let pid = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let child = std::cell::RefCell::new(&mut server.child);
    // Ten seconds for what is under way, and some for what is left of it.
    let is_over = || child.borrow_mut().try_wait().unwrap().is_some();
    assert!(soon(is_over) || soon(is_over), "it has not ended");
    assert!(!runs("906.125"));
    drop((script, question));
    let log = log(&place);
    assert_eq!(
        (log.matches("session.started").count(), log.matches("session.ended").count()),
        (2, 2),
        "{log}"
    );
    assert_eq!(fs::read_dir(place.path().join("tmp")).unwrap().count(), 0, "nothing is left");
}

/// Whoever says twice that it is enough does not wait for anything.
#[test]
fn a_second_signal_ends_a_server_at_once() {
    if skips_namespaces() {
        return;
    }
    let place = approved();
    let mut server = Server::start(&place, &[]);
    let script = server.begin(&server.session(&[]), &["wait", "907.125"]);
    assert!(soon(|| runs("907.125")));
    let pid = rustix::process::Pid::from_child(&server.child);
    let tell = || rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    tell();
    assert!(soon(|| server.request("POST", "/mcp", &[], "").status == 503), "it was told");
    assert!(server.child.try_wait().unwrap().is_none() && runs("907.125"), "what is under way has some time");
    tell();
    assert_eq!(server.child.wait().unwrap().signal(), Some(15));
    assert!(soon(|| !runs("907.125")), "what ends metier ends the script");
    drop(script);
}
