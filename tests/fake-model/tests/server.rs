//! What the fake model says, over plain sockets: each protocol, and everything that is not one.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use metier_fake_model::{Server, Step};
use serde_json::{Value, json};

fn server() -> Server {
    let call = Step::call("load_skill", json!({ "name": "pdf", "depth": { "of": [1, "ü"] } }));
    Server::start(vec![call, Step::text("ALL-DONE")]).unwrap()
}

/// What comes back for these bytes.
fn send(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

fn post(server: &Server, path: &str, body: &str) -> String {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nX-Kind: a\r\n");
    send(server, format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes())
}

fn ask(server: &Server, path: &str, request: &Value) -> (String, String) {
    let answer = post(server, path, &request.to_string());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("Connection: close"), "{head}");
    (head.to_owned(), body.to_owned())
}

fn plain(server: &Server, path: &str, request: &Value) -> Value {
    let (head, body) = ask(server, path, request);
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    serde_json::from_str(&body).unwrap()
}

/// The events of a stream: what they are called, and what they carry.
fn stream(server: &Server, path: &str, request: &Value) -> Vec<(String, Value)> {
    let (head, body) = ask(server, path, request);
    assert!(head.contains("text/event-stream") && body.ends_with("\n\n"), "{head}");
    let event = |text: &str| {
        let (name, data) = match text.split_once('\n') {
            Some((name, data)) => (name.strip_prefix("event: ").unwrap(), data),
            None => ("", text),
        };
        let data = data.strip_prefix("data: ").unwrap();
        (name.to_owned(), serde_json::from_str(data).unwrap_or_else(|_| json!(data)))
    };
    body.trim_end().split("\n\n").map(event).collect()
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn messages_are_streamed_and_plain() {
    let server = server();
    let mut request = json!({
        "model": "some", "stream": true, "tools": [{}], "messages": [{ "role": "user", "content": "hi" }],
    });
    let events = stream(&server, "/v1/messages?beta=true", &request);
    let all = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(names(&events), all);
    assert_eq!(events[0].1["message"]["model"], "some");
    assert_eq!(events[1].1["content_block"]["input"], json!({}), "it is filled by what follows");
    let arguments = events[2].1["delta"]["partial_json"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(arguments).unwrap()["depth"]["of"][1], "ü");
    assert_eq!(events[4].1["delta"]["stop_reason"], "tool_use");
    request["messages"] = json!([{ "role": "user", "content": [{ "type": "tool_result", "content": "x" }] }]);
    assert_eq!(stream(&server, "/v1/messages", &request)[2].1["delta"]["text"], "ALL-DONE");
    request["stream"] = json!(false);
    let answer = plain(&server, "/v1/messages", &request);
    assert_eq!(
        (&answer["content"][0]["text"], &answer["stop_reason"]),
        (&json!("ALL-DONE"), &json!("end_turn"))
    );
    assert_eq!(plain(&server, "/v1/messages/count_tokens", &request)["input_tokens"], 1000);
    let results: Vec<_> = server.requests().iter().map(|request| request.results).collect();
    assert_eq!(results, [Some(0), Some(1), Some(1), None]);
}

#[test]
fn responses_are_streamed_and_plain() {
    let server = server();
    let mut request = json!({ "model": "some", "stream": true, "tools": [{}], "input": [] });
    let events = stream(&server, "/v1/responses", &request);
    assert_eq!(names(&events).first(), Some(&"response.created"));
    assert_eq!(names(&events).last(), Some(&"response.completed"));
    let item = &events.iter().find(|(name, _)| name == "response.output_item.done").unwrap().1["item"];
    assert_eq!((&item["type"], &item["name"]), (&json!("function_call"), &json!("load_skill")));
    let whole: Value = serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(whole["name"], "pdf");
    assert!(events.iter().enumerate().all(|(number, (_, event))| event["sequence_number"] == number));
    request["input"] = json!([{ "type": "function_call_output", "output": "x" }]);
    let events = stream(&server, "/v1/responses", &request);
    let text = events.iter().find(|(name, _)| name == "response.output_text.delta").unwrap();
    assert_eq!(text.1["delta"], "ALL-DONE");
    request["stream"] = json!(false);
    let answer = plain(&server, "/v1/responses", &request);
    assert_eq!(answer["output"][0]["content"][0]["text"], "ALL-DONE");
}

#[test]
fn chat_is_streamed_and_plain() {
    let server = server();
    let mut request = json!({ "model": "some", "stream": true, "tools": [{}], "messages": [] });
    let events = stream(&server, "/v1/chat/completions", &request);
    assert_eq!(events.last().unwrap().1, "[DONE]");
    let call = &events[0].1["choices"][0]["delta"]["tool_calls"][0]["function"];
    assert_eq!(call["name"], "load_skill");
    assert!(call["arguments"].as_str().unwrap().contains("\"pdf\""));
    assert_eq!(events[1].1["choices"][0]["finish_reason"], "tool_calls");
    request["messages"] = json!([{ "role": "tool", "content": "x" }, { "role": "tool", "content": "y" }]);
    request["stream"] = json!(false);
    let answer = plain(&server, "/v1/chat/completions", &request);
    assert_eq!(answer["choices"][0]["message"]["content"], "That is all.", "there are no more steps");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
}

#[test]
fn gemini_is_streamed_and_plain() {
    let server = server();
    let mut request = json!({ "tools": [{}], "contents": [] });
    let path = "/v1beta/models/gemini-2.5-flash";
    let events = stream(&server, &format!("{path}:streamGenerateContent?alt=sse&key=secret"), &request);
    let part = &events[0].1["candidates"][0]["content"]["parts"][0];
    assert_eq!(part["functionCall"]["args"]["name"], "pdf");
    request["contents"] = json!([{ "role": "user", "parts": [{ "functionResponse": { "name": "x" } }] }]);
    let answer = plain(&server, &format!("{path}:generateContent"), &request);
    assert_eq!(answer["candidates"][0]["content"]["parts"][0]["text"], "ALL-DONE");
    assert_eq!(answer["modelVersion"], "gemini-2.5-flash");
    assert_eq!(plain(&server, &format!("{path}:countTokens"), &request)["totalTokens"], 1000);
    let requests = server.requests();
    assert!(requests[0].path.ends_with(":streamGenerateContent?alt=sse"), "{}", requests[0].path);
    assert_eq!(requests[1].results, Some(1));
}

#[test]
fn a_request_without_tools_is_an_aside() {
    let server = server();
    let answer = plain(&server, "/v1/chat/completions", &json!({ "messages": [], "tools": [] }));
    assert_eq!(answer["choices"][0]["message"]["content"], "A title");
    assert_eq!(server.requests()[0].results, None);
}

#[test]
fn requests_are_remembered_without_secrets() {
    let server = server();
    plain(&server, "/v1/messages", &json!({ "messages": ["CODEWORD"] }));
    let requests = server.requests();
    let request = &requests[0];
    assert_eq!(
        (request.method.as_str(), request.path.as_str(), request.status),
        ("POST", "/v1/messages", 200)
    );
    assert!(request.contains("CODEWORD") && !request.contains("CODEWORT") && !request.contains(""));
    assert!(request.headers.contains(&("authorization".to_owned(), String::new())));
    assert!(request.headers.contains(&("x-kind".to_owned(), "a".to_owned())));
    assert!(!format!("{requests:?}").contains("secret"));
}

#[test]
fn models_are_listed() {
    let server = server();
    let answer = send(&server, b"GET /v1/models HTTP/1.1\r\n\r\n");
    assert!(status(&answer) == 200 && answer.contains("fake-model"));
    let head = send(&server, b"HEAD /v1/models HTTP/1.1\r\n\r\n");
    assert!(status(&head) == 200 && head.ends_with("\r\n\r\n") && head.contains("Content-Length"));
}

#[test]
fn what_is_wrong_is_refused() {
    let server = server();
    for (bytes, wanted) in [
        ("GET / HTTP/1.1\r\n\r\n", 404),
        ("POST /v1/other HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 404),
        ("GET /v1/messages HTTP/1.1\r\n\r\n", 405),
        ("POST /v1/messages HTTP/1.1\r\n\r\n", 400),
        ("POST /v1/messages HTTP/1.1\r\nContent-Length: 2\r\n\r\n[]", 400),
        ("POST /v1/messages HTTP/1.1\r\nContent-Length: 3\r\n\r\n{\"a", 400),
        ("POST /v1/messages HTTP/1.1\r\nContent-Length: -3\r\n\r\n", 400),
        ("POST /v1/messages HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        ("POST /v1/messages HTTP/1.1\r\nContent-Encoding: zstd\r\n\r\n", 415),
        ("POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        ("POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        ("POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFF\r\n", 413),
        ("POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n", 400),
        ("POST /v1/messages HTTP/1.1\r\nno header\r\n\r\n", 400),
        ("nonsense\r\n\r\n", 400),
        ("POST v1/messages HTTP/1.1\r\n\r\n", 400),
        ("POST /v1/messages HTTP/2\r\n\r\n", 400),
    ] {
        let answer = send(&server, bytes.as_bytes());
        assert_eq!(status(&answer), wanted, "{bytes}");
        assert!(answer.contains("\"message\""), "{bytes}");
    }
    assert_eq!(status(&send(&server, b"GET /\xff HTTP/1.1\r\n\r\n")), 400);
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(70_000));
    assert_eq!(status(&send(&server, long.as_bytes())), 431);
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(300));
    assert_eq!(status(&send(&server, many.as_bytes())), 431);
    assert_eq!(plain(&server, "/v1/messages", &json!({}))["type"], "message", "it goes on after all that");
}

#[test]
fn whoever_hangs_up_is_forgotten() {
    let server = server();
    for bytes in ["", "POST /v1/mess", "POST /v1/messages HTTP/1.1\r\nContent-Length: 10\r\n\r\n{"] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "", "{bytes}");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn bodies_come_in_chunks_and_after_being_asked_for() {
    let server = server();
    let head = "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer =
        send(&server, format!("{head}2;a=b\r\n{{\"\r\n6\r\na\": 1}}\r\n0\r\nTrailer: x\r\n\r\n").as_bytes());
    assert_eq!(status(&answer), 200);
    assert_eq!(server.requests()[0].body, b"{\"a\": 1}");
    let head = "POST /v1/messages HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let answer = send(&server, format!("{head}{{}}").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"), "{answer}");
}

#[test]
fn a_large_body_is_read_whole() {
    let server = server();
    let text = format!("{}END-OF-IT", "x".repeat(8 << 20));
    plain(&server, "/v1/messages", &json!({ "messages": [text] }));
    let requests = server.requests();
    assert!(requests[0].body.len() > 8 << 20 && requests[0].contains("END-OF-IT"));
}

#[test]
fn many_ask_at_once() {
    let server = server();
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| plain(&server, "/v1/chat/completions", &json!({ "tools": [{}], "messages": [] })));
        }
    });
    assert_eq!(server.requests().len(), 32);
    let address = server.address();
    drop(server);
    assert!(TcpStream::connect(address).is_err(), "it is gone when it is dropped");
}

#[test]
fn a_model_can_say_what_it_was_told() {
    let server = Server::start(vec![Step::quote("The word is ")]).unwrap();
    let tools = json!([{ "name": "x" }]);
    let said = |messages: Value| {
        let request = json!({ "model": "m", "tools": tools, "messages": messages });
        plain(&server, "/v1/messages", &request)["content"][0]["text"].clone()
    };
    let (first, last) = ("The word is first.", json!([{ "text": "So: The word is last, they say" }]));
    assert_eq!(said(json!([{ "content": first }, { "content": last }, { "content": "Well?" }])), "last");
    assert_eq!(said(json!([{ "content": "Well?" }])), "I was not told.");
}
