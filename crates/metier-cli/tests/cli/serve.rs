//! `metier serve` at standard input and output: what clients of each revision ask, what they are answered, and what is left when they go.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::{Place, skips_namespaces};

/// A place with a skill that has a script, and one without.
pub(crate) fn place() -> Place {
    let place = Place::new();
    place.write(
        "skills/tally/SKILL.md",
        "---\nname: tally\ndescription: Counts words when asked to tally.\nlicense: MIT\n---\n# Tally\nRun scripts/run.sh.\n",
    );
    place.write("skills/tally/references/guide.md", "one\ntwo\nthree\n");
    let script = place.write(
        "skills/tally/scripts/run.sh",
        "#!/bin/sh\necho \"got: $*\"\ncat\n[ \"$1\" != wait ] || exec sleep \"$2\"\n",
    );
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    place.skill("skills/plain", "Does nothing much.");
    place
}

/// A client that speaks the protocol line by line.
pub(crate) struct Client {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
    /// Sent with every request from 2026-07-28 on.
    meta: Option<Value>,
    /// What a person says who is asked.
    answer: Value,
    /// What came in between.
    pub(crate) notices: Vec<Value>,
}

impl Client {
    pub(crate) fn start(place: &Place, more: &[&str]) -> Self {
        Self::serve(place, &[&["serve", "--root", "skills:user"], more].concat())
    }

    pub(crate) fn serve(place: &Place, args: &[&str]) -> Self {
        let mut command = place.at_home(args);
        fs::create_dir_all(place.path().join("tmp")).unwrap();
        command.env("PATH", "/usr/bin:/bin").env("TMPDIR", place.path().join("tmp"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, id: 0, meta: None, answer: Value::Null, notices: Vec::new() }
    }

    /// One that has shaken hands, as clients did up to 2025-11-25.
    pub(crate) fn old(place: &Place, capabilities: &Value) -> Self {
        let mut client = Self::start(place, &[]);
        client.greet(capabilities);
        client
    }

    /// Shakes hands; what the server tells about itself.
    pub(crate) fn greet(&mut self, capabilities: &Value) -> Value {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "t", "version": "1" } });
        let result = self.ask("initialize", params);
        assert_eq!(result["protocolVersion"], "2025-11-25");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        result
    }

    /// One that says with each request who it is.
    pub(crate) fn new(place: &Place, capabilities: &Value) -> Self {
        let mut client = Self::start(place, &[]);
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let message = serde_json::from_str(&line);
        assert!(message.is_ok(), "{line:?}");
        message.unwrap()
    }

    /// Sends a request; its number.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.id += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }));
        self.id
    }

    /// Waits for an answer, and answers what it is asked meanwhile.
    pub(crate) fn wait(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            if message["method"] == "elicitation/create" {
                let (id, answer) = (message["id"].clone(), self.answer.clone());
                self.notices.push(message);
                self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": answer }));
                continue;
            }
            self.notices.push(message);
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.wait(id);
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Says no more, and waits until metier has ended.
    pub(crate) fn leave(mut self) {
        self.input = None;
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

pub(crate) fn run(args: &[&str]) -> Value {
    json!({ "skill_name": "tally", "script_name": "scripts/run.sh", "args": args, "stdin": "in\n" })
}

pub(crate) fn says(answer: &str) -> Value {
    json!({ "action": "accept", "content": { "answer": answer } })
}

pub(crate) fn log(place: &Place) -> String {
    String::from_utf8(place.at_home(&["audit", "log", "--json"]).output().unwrap().stdout).unwrap()
}

/// Whether a program with this among its arguments runs anywhere.
pub(crate) fn runs(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .map(|process| fs::read(process.path().join("cmdline")).unwrap_or_default())
        .any(|line| line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes()))
}

/// Waits for something that takes a moment.
pub(crate) fn soon(is_so: impl Fn() -> bool) -> bool {
    (0..1_000).any(|_| {
        is_so() || {
            std::thread::sleep(std::time::Duration::from_millis(10));
            false
        }
    })
}

#[test]
fn tools_are_as_shown() {
    let place = place();
    let mut client = Client::old(&place, &json!({}));
    let tools = client.ask("tools/list", json!({}));
    insta::assert_snapshot!("serve tools", format!("{:#}", tools["tools"]));
    let mut dotted = Client::start(&place, &["--tool-names", "dotted", "--catalogue", "description"]);
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let info = dotted.ask("initialize", params);
    assert_eq!((info["protocolVersion"].as_str(), info.get("instructions")), (Some("2025-06-18"), None));
    let tools = dotted.ask("tools/list", json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["skills.list", "skills.read", "skills.read_resource", "skills.run_script"]);
    assert!(tools["tools"][1]["description"].as_str().unwrap().contains("<name>tally</name>"));
}

#[test]
fn skills_are_listed_loaded_and_read() {
    let place = place();
    for mut client in [Client::old(&place, &json!({})), Client::new(&place, &json!({}))] {
        let all = client.call("list_skills", &json!({}));
        assert_eq!(all["structuredContent"]["total"], 2);
        assert_eq!(text(&all), "plain: Does nothing much.\ntally: Counts words when asked to tally.\n");
        let first = client.call("list_skills", &json!({ "limit": 1 }));
        let next = json!({ "limit": 1, "cursor": first["structuredContent"]["next_cursor"] });
        assert_eq!(client.call("list_skills", &next)["structuredContent"]["skills"][0]["name"], "tally");
        let best = client.call("list_skills", &json!({ "query": "count the words" }));
        assert_eq!(best["structuredContent"]["skills"][0]["id"], "user/tally");
        for name in ["skill_name", "name", "skill_id"] {
            let loaded = client.call("load_skill", &json!({ name: "tally", "force": true }));
            assert!(text(&loaded).contains("Run scripts/run.sh."), "{loaded}");
            assert_eq!(loaded["structuredContent"]["skill_id"], "user/tally");
        }
        let again = client.call("load_skill", &json!({ "skill_name": "tally" }));
        assert_eq!(again["structuredContent"]["already_active"], true, "the process is the session");
        let guide = json!({ "skill_name": "tally", "resource_name": "references/guide.md", "range": { "first_line": 2, "last_line": 2 } });
        assert_eq!(client.call("read_skill_resource", &guide)["structuredContent"]["content"], "two\n");
        client.leave();
    }
    let log = log(&place);
    assert_eq!(
        (log.matches("session.started").count(), log.matches("session.ended").count()),
        (2, 2),
        "{log}"
    );
}

#[test]
fn errors_say_what_to_do_next() {
    let place = place();
    let mut client = Client::old(&place, &json!({}));
    let mut errors = String::new();
    for (tool, arguments) in [
        ("load_skill", json!({ "skill_name": "taly" })),
        ("load_skill", json!({})),
        ("load_skill", json!({ "skill_name": "tally", "more": 1 })),
        ("list_skills", json!({ "limit": 0 })),
        ("list_skills", json!({ "cursor": "x" })),
        ("list_skills", json!({ "tier": "x" })),
        ("read_skill_resource", json!({ "skill_name": "tally", "resource_name": "../../etc/passwd" })),
        ("read_skill_resource", json!({ "skill_name": "tally", "resource_name": "references/guid.md" })),
        (
            "read_skill_resource",
            json!({ "skill_name": "tally", "resource_name": "references/guide.md", "range": { "first_line": 1, "offset": 1 } }),
        ),
        ("run_skill_script", run(&[])),
        (
            "run_skill_script",
            json!({ "skill_name": "tally", "script_name": "scripts/run.sh", "args": "a b" }),
        ),
    ] {
        let result = client.call(tool, &arguments);
        assert_eq!(result["isError"], true, "{result}");
        errors.extend([tool, " ", &arguments.to_string(), "\n", text(&result), "\n\n"]);
    }
    insta::assert_snapshot!("serve errors", errors);
    for (method, params, code) in [
        ("tools/call", json!({ "name": "nothing" }), -32602),
        ("tools/call", json!({}), -32602),
        ("resources/read", json!({ "uri": "skill://tally/../plain/SKILL.md" }), -32602),
        ("resources/read", json!({ "uri": "skill://tally/nothing" }), -32602),
        ("resources/read", json!({ "uri": "file:///etc/passwd" }), -32602),
        ("resources/list", json!({ "cursor": "x" }), -32602),
        ("skills/list", json!({ "cursor": "-1" }), -32602),
        ("prompts/get", json!({ "name": "nothing" }), -32602),
        ("skills/get", json!({ "uri": "skill://nothing/SKILL.md" }), -32602),
        ("skills/get", json!({}), -32602),
        ("resources/directory/read", json!({ "uri": "skill://tally/SKILL.md" }), -32602),
        ("nothing/at/all", json!({}), -32601),
    ] {
        let id = client.request(method, params);
        assert_eq!(client.wait(id)["error"]["code"], code, "{method}");
    }
}

#[test]
fn a_list_ends_wherever_it_is_asked_to_go_on() {
    let place = place();
    let mut client = Client::old(&place, &json!({}));
    for (method, list) in
        [("resources/list", "resources"), ("prompts/list", "prompts"), ("skills/list", "skills")]
    {
        let result = client.ask(method, json!({ "cursor": u64::MAX.to_string() }));
        assert_eq!((&result[list], result.get("nextCursor")), (&json!([]), None), "{method}");
    }
    let far = client.call("list_skills", &json!({ "cursor": u64::MAX.to_string() }));
    assert_eq!(far["structuredContent"]["skills"], json!([]));
}

#[test]
fn what_is_switched_off_is_named_only_where_that_is_wanted() {
    let place = place();
    let mut client = Client::start(&place, &["--state", "plain=off"]);
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    client.ask("initialize", params);
    let count = |result: &Value| result["structuredContent"]["total"].clone();
    assert_eq!(count(&client.call("list_skills", &json!({}))), 1);
    let all = client.call("list_skills", &json!({ "include_disabled": true }));
    assert_eq!((count(&all), &all["structuredContent"]["skills"][0]["enabled"]), (json!(2), &json!(false)));
    assert_eq!(client.call("load_skill", &json!({ "skill_name": "plain" }))["isError"], true);
    let id = client.request("resources/read", json!({ "uri": "skill://plain/SKILL.md" }));
    assert_eq!(client.wait(id)["error"]["code"], -32602);
}

#[test]
fn skills_are_resources_and_prompts() {
    let place = place();
    let mut client = Client::new(&place, &json!({}));
    let discovered = client.ask("server/discover", json!({}));
    assert_eq!(
        discovered["capabilities"]["extensions"]["io.modelcontextprotocol/skills"],
        json!({ "directoryRead": true })
    );
    let list = client.ask("skills/list", json!({}));
    assert_eq!(
        (list["resultType"].as_str(), list["cacheScope"].as_str()),
        (Some("complete"), Some("private"))
    );
    let tally = &list["skills"][1];
    assert_eq!(
        tally["frontmatter"],
        json!({ "name": "tally", "description": "Counts words when asked to tally.", "license": "MIT" })
    );
    for file in tally["resources"].as_array().unwrap() {
        let read = client.ask("resources/read", json!({ "uri": file["uri"] }));
        let bytes = read["contents"][0]["text"].as_str().unwrap().len() as u64;
        assert_eq!(
            (file["size"].as_u64(), &file["digest"]),
            (Some(bytes), &read["contents"][0]["_meta"]["io.metier/digest"])
        );
    }
    let got = client.ask("skills/get", json!({ "uri": "skill://tally/SKILL.md" }));
    assert_eq!(got["skill"], *tally);
    let below = client.ask("resources/directory/read", json!({ "uri": "skill://tally" }));
    let names: Vec<&str> =
        below["resources"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tally", "references", "scripts"]);
    let prompt =
        client.ask("prompts/get", json!({ "name": "tally", "arguments": { "request": "Count this." } }));
    let said = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.contains("Run scripts/run.sh.") && said.ends_with("Count this.\n"), "{said}");
    let complete = json!({ "ref": { "type": "ref/resource", "uri": "skill://{skill}/{+path}" }, "argument": { "name": "skill", "value": "ta" } });
    assert_eq!(client.ask("completion/complete", complete)["completion"]["values"], json!(["tally"]));
}

#[test]
fn a_person_is_asked_back() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    let mut client = Client::old(&place, &json!({ "elicitation": {} }));
    for (answer, is_run) in [
        (says("once"), true),
        (json!({ "action": "decline" }), false),
        (says("no"), false),
        (json!({ "action": "cancel" }), false),
        (says("session"), true),
    ] {
        client.answer = answer.clone();
        let asked = client.notices.len();
        let result = client.call("run_skill_script", &run(&["a"]));
        assert_eq!(result["isError"] != true, is_run, "{answer}: {result}");
        assert_eq!(client.notices.len(), asked + 1, "{answer}");
        if is_run {
            assert_eq!(result["structuredContent"]["stdout"]["text"], "got: a\nin\n");
        } else {
            assert!(text(&result).contains("Do not try to do the same in another way"), "{result}");
        }
    }
    let asked = client.notices.len();
    assert!(client.call("run_skill_script", &run(&["b"]))["isError"] != true);
    assert_eq!(client.notices.len(), asked, "it was a yes for the session");
    client.leave();
    let log = log(&place);
    assert_eq!(log.matches("\"answer\":\"granted\"").count(), 2, "{log}");
}

#[test]
fn a_person_is_asked_along_with_the_next_call() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    let mut client = Client::new(&place, &json!({ "elicitation": { "form": {} } }));
    let call = |more: Value| {
        let mut params = json!({ "name": "run_skill_script", "arguments": run(&["a"]) });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let asked = client.ask("tools/call", call(json!({})));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let message = asked["inputRequests"]["approval"]["params"]["message"].as_str().unwrap();
    assert_eq!(message, "May `tally`, a skill of yours, run `scripts/run.sh`?");
    let with = |answer: Value, state: &Value| json!({ "inputResponses": { "approval": answer }, "requestState": state });
    let state = &asked["requestState"];
    let mut forged = state.as_str().unwrap().to_owned();
    let last = forged.pop().unwrap();
    forged.push(if last == 'A' { 'B' } else { 'A' });
    let forged = client.ask("tools/call", call(with(says("once"), &json!(forged))));
    assert_eq!(forged["isError"], true, "{forged}");
    let mut other = call(with(says("once"), state));
    other["arguments"]["args"] = json!(["other"]);
    assert_eq!(client.ask("tools/call", other)["isError"], true, "an answer is good for one call");
    let done = client.ask("tools/call", call(with(says("once"), state)));
    assert_eq!(done["structuredContent"]["exit_code"], 0, "{done}");
    let again = client.ask("tools/call", call(with(says("once"), state)));
    assert_eq!(again["isError"], true, "and once");
    let asked = client.ask("tools/call", call(json!({})));
    let no = client.ask("tools/call", call(with(json!({ "action": "decline" }), &asked["requestState"])));
    assert!(text(&no).contains("Do not try"), "{no}");
    client.leave();
    let log = log(&place);
    assert_eq!(
        (log.matches("\"answer\":\"granted\"").count(), log.matches("\"answer\":\"refused\"").count()),
        (1, 1),
        "{log}"
    );
}

/// What the policy denies is not asked about.
#[test]
fn what_the_policy_denies_is_refused_without_a_question() {
    let place = place();
    place.write("me/.config/metier/config.toml", "[[policy.rules]]\nskill = \"tally\"\nscripts = \"deny\"\n");
    let can = json!({ "elicitation": { "form": {} } });
    for mut client in [Client::old(&place, &can), Client::new(&place, &can)] {
        let result = client.call("run_skill_script", &run(&[]));
        assert_eq!((&result["isError"], client.notices.len()), (&json!(true), 0), "{result}");
        assert!(text(&result).contains("Do not try to do the same in another way"), "{result}");
        assert_eq!(client.call("load_skill", &json!({ "skill_name": "tally" }))["isError"], false);
        client.leave();
    }
    let log = log(&place);
    assert_eq!(log.matches("\"code\":\"policy-denies\"").count(), 2, "{log}");
    assert!(!log.contains("\"outcome\":\"exited\""), "{log}");
}

#[test]
fn without_anybody_to_ask_it_is_refused() {
    let place = place();
    for mut client in [Client::old(&place, &json!({})), Client::new(&place, &json!({}))] {
        let result = client.call("run_skill_script", &run(&[]));
        assert!(text(&result).contains("there is nobody to ask"), "{result}");
        client.leave();
    }
    assert!(!log(&place).contains("\"outcome\":\"exited\""));
}

/// The number of seconds is one that nobody else sleeps.
#[test]
fn a_script_ends_when_nobody_wants_it_any_more() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    let mut client = Client::old(&place, &json!({ "elicitation": {} }));
    client.answer = says("session");
    let params = |seconds: &str| json!({ "name": "run_skill_script", "arguments": run(&["wait", seconds]), "_meta": { "progressToken": 7 } });
    let id = client.request("tools/call", params("901.125"));
    let asked = client.receive();
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": says("session") }));
    assert!(soon(|| runs("901.125")));
    let progress = client.receive();
    assert_eq!(
        (progress["method"].as_str(), &progress["params"]["progressToken"]),
        (Some("notifications/progress"), &json!(7))
    );
    client.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
    );
    assert!(soon(|| !runs("901.125")), "it was cancelled");
    assert!(client.call("list_skills", &json!({}))["isError"] != true, "the client is still served");
    // A client that is gone in the middle of a call.
    client.request("tools/call", params("902.125"));
    assert!(soon(|| runs("902.125")));
    client.leave();
    assert!(!runs("902.125"), "it ended before metier did");
    let log = log(&place);
    assert_eq!(log.matches("\"outcome\":\"cancelled\"").count(), 2, "{log}");
    assert_eq!(fs::read_dir(place.path().join("tmp")).unwrap().count(), 0, "nothing is left");
}

#[test]
fn garbage_is_answered_or_ignored_and_harms_nobody() {
    let place = place();
    let mut client = Client::old(&place, &json!({}));
    for garbage in [
        &b"\n"[..],
        b"hello\n",
        b"{\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b"[{\"jsonrpc\":\"2.0\",\"id\":900,\"method\":\"ping\"}]\n",
        b"{\"jsonrpc\":\"1.0\",\"id\":901,\"method\":\"ping\"}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":902,\"result\":{}}\n",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nothing\"}\n",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":12345}}\n",
    ] {
        client.write(garbage);
        assert_eq!(
            client.call("list_skills", &json!({}))["isError"],
            false,
            "{}",
            String::from_utf8_lossy(garbage)
        );
    }
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":903,\"method\":{}1{}}}\n",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    client.write(deep.as_bytes());
    assert_eq!(client.call("list_skills", &json!({}))["isError"], false);
    client.leave();
}

#[test]
fn a_hundred_megabytes_are_too_much_and_no_harm() {
    let place = place();
    let mut client = Client::old(&place, &json!({}));
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":900,\"method\":\"tools/call\",\"params\":{\"name\":\"");
    for _ in 0..100 {
        client.write(&vec![b'x'; 1 << 20]);
    }
    client.write(b"\"}}\n");
    assert_eq!(client.call("list_skills", &json!({}))["isError"], false);
    let status = fs::read_to_string(format!("/proc/{}/status", client.child.id())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    assert!(peak.unwrap() < 128 << 10, "it took {peak:?} kB");
    client.leave();
}

#[test]
fn clients_are_told_when_skills_change() {
    let place = place();
    let mut old = Client::old(&place, &json!({}));
    let mut new = Client::new(&place, &json!({}));
    let id = new.request("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    assert_eq!(new.receive()["method"], "notifications/subscriptions/acknowledged");
    // Watching begins beside everything else.
    old.call("list_skills", &json!({}));
    let told = |client: &mut Client| {
        let message = client.receive();
        (message["method"] == "notifications/tools/list_changed").then_some(message)
    };
    let mut number = 0;
    let changed = loop {
        number += 1;
        place.skill(&format!("skills/more-{number}"), "Comes later.");
        if let Some(message) = told(&mut new) {
            break message;
        }
    };
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], json!(id));
    assert!(told(&mut old).is_some());
    let listed = old.call("list_skills", &json!({ "query": "comes later" }));
    assert!(
        listed["structuredContent"]["skills"][0]["name"].as_str().unwrap().starts_with("more-"),
        "{listed}"
    );
}

/// A skill that is installed while a server runs is served, also the first one.
#[test]
fn what_is_installed_is_served_at_once() {
    let place = place();
    let mut client = Client::serve(&place, &["serve"]);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    client.ask("initialize", hello);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let has = |client: &mut Client, name: &str| {
        let listed = client.call("list_skills", &json!({}))["structuredContent"]["skills"].clone();
        listed.as_array().unwrap().iter().any(|skill| skill["name"] == name)
    };
    for (name, command) in [("tally", "install"), ("plain", "install"), ("tally", "remove")] {
        let what = if command == "install" { format!("skills/{name}") } else { name.to_owned() };
        let done = place.at_home(&[command, &what]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let is_there = || command == "install";
        assert!(
            (0..1_000).any(|_| has(&mut client, name) == is_there() || {
                std::thread::sleep(std::time::Duration::from_millis(10));
                false
            }),
            "{command} {name}"
        );
    }
}

#[test]
fn tools_are_called_as_the_settings_say() {
    let place = place();
    place.write("me/.config/metier/config.toml", "tool_names = \"dotted\"\n");
    let names = |more: &[&str]| {
        let mut client = Client::start(&place, more);
        client.meta = Some(
            json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} }),
        );
        let tools = client.ask("tools/list", json!({}))["tools"].clone();
        tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["skills.list", "skills.read", "skills.read_resource", "skills.run_script"]);
    assert_eq!(names(&["--tool-names", "plain"])[1], "load_skill");
}

#[test]
fn without_skills_there_are_no_tools() {
    let place = Place::new();
    fs::create_dir(place.path().join("skills")).unwrap();
    let mut client = Client::start(&place, &[]);
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    assert_eq!(client.ask("initialize", params).get("instructions"), None);
    assert_eq!(client.ask("tools/list", json!({}))["tools"], json!([]));
    let id = client.request("tools/call", json!({ "name": "list_skills", "arguments": {} }));
    assert_eq!(client.wait(id)["error"]["code"], -32602);
}
