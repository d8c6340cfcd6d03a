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
    pub(crate) meta: Option<Value>,
    /// What a person says who is asked.
    answer: Value,
    /// The directories that the client works in.
    roots: Vec<Value>,
    /// What came in between.
    pub(crate) notices: Vec<Value>,
}

impl Client {
    pub(crate) fn start(place: &Place, more: &[&str]) -> Self {
        Self::serve(place, &[&["serve", "--root", "skills:user"], more].concat())
    }

    pub(crate) fn serve(place: &Place, args: &[&str]) -> Self {
        Self::serve_in(place, ".", args)
    }

    fn serve_in(place: &Place, directory: &str, args: &[&str]) -> Self {
        let mut command = place.at_home(args);
        command.current_dir(place.path().join(directory));
        fs::create_dir_all(place.path().join("tmp")).unwrap();
        command.env("PATH", "/usr/bin:/bin").env("TMPDIR", place.path().join("tmp"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self {
            child,
            input,
            output,
            id: 0,
            meta: None,
            answer: Value::Null,
            roots: Vec::new(),
            notices: Vec::new(),
        }
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
            if message["method"] == "roots/list" {
                let result = json!({ "roots": self.roots });
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
                continue;
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

/// What a result says to programs.
pub(crate) fn facts(result: &Value) -> &Value {
    assert_eq!(result.get("structuredContent"), None, "agents would show their model nothing else");
    &result["_meta"]["io.metier/result"]
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
    let mut dotted = Client::start(&place, &["--tool-names", "dotted", "--skill-list", "description"]);
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
        assert_eq!(facts(&all)["total"], 2);
        assert_eq!(text(&all), "plain: Does nothing much.\ntally: Counts words when asked to tally.\n");
        let first = client.call("list_skills", &json!({ "limit": 1 }));
        let next = json!({ "limit": 1, "cursor": facts(&first)["next_cursor"] });
        assert!(text(&client.call("list_skills", &next)).starts_with("tally: "));
        let best = client.call("list_skills", &json!({ "query": "count the words" }));
        assert_eq!(facts(&best)["skills"][0]["id"], "user/tally");
        for name in ["skill_name", "name", "skill_id"] {
            let loaded = client.call("load_skill", &json!({ name: "tally", "force": true }));
            assert!(text(&loaded).contains("Run scripts/run.sh."), "{loaded}");
            assert_eq!(facts(&loaded)["skill_id"], "user/tally");
        }
        let again = client.call("load_skill", &json!({ "skill_name": "tally" }));
        assert_eq!(facts(&again)["already_active"], true, "the process is the session");
        let guide = json!({ "skill_name": "tally", "resource_name": "references/guide.md", "range": { "first_line": 2, "last_line": 2 } });
        assert!(text(&client.call("read_skill_resource", &guide)).starts_with("two\n"));
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
    let real = fs::canonicalize(place.path()).unwrap();
    insta::assert_snapshot!("serve errors", errors.replace(real.to_str().unwrap(), "PLACE"));
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
    assert_eq!(facts(&far)["skills"], json!([]));
    assert!(text(&far).starts_with("There are only 2 skills"), "{far}");
}

#[test]
fn what_is_switched_off_is_named_only_where_that_is_wanted() {
    let place = place();
    let mut client = Client::start(&place, &["--state", "plain=off"]);
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    client.ask("initialize", params);
    let count = |result: &Value| facts(result)["total"].clone();
    assert_eq!(count(&client.call("list_skills", &json!({}))), 1);
    let all = client.call("list_skills", &json!({ "include_disabled": true }));
    assert_eq!((count(&all), &facts(&all)["skills"][0]["enabled"]), (json!(2), &json!(false)));
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
            assert!(text(&result).starts_with("got: a\nin\n[ran in "), "{result}");
        } else {
            assert!(text(&result).contains("Do not try to do the same in another way"), "{result}");
        }
        let is_declined = text(&result).contains("the client (t) was asked and declined");
        assert_eq!(is_declined, answer["action"] == "decline", "{result}");
    }
    let asked = client.notices.len();
    assert!(client.call("run_skill_script", &run(&["b"]))["isError"] != true);
    assert_eq!(client.notices.len(), asked, "it was a yes for the session");
    client.leave();
    let log = log(&place);
    assert_eq!(log.matches("\"answer\":\"granted\"").count(), 2, "{log}");
    assert!(log.contains("\"agent\":\"mcp: t\""), "{log}");
}

/// Some clients end when they are asked, and are not.
#[test]
fn a_client_is_not_asked_where_that_is_switched_off() {
    let place = place();
    let mut client = Client::start(&place, &["--ask", "never"]);
    client.greet(&json!({ "elicitation": {} }));
    let result = client.call("run_skill_script", &run(&[]));
    assert_eq!((&result["isError"], client.notices.len()), (&json!(true), 0), "{result}");
    assert!(text(&result).contains("tally --script scripts/run.sh`"), "{result}");
}

/// The directory that a script works in: the one that was named, the client's root, the project that the server was started in.
#[test]
fn scripts_work_where_the_client_does() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    let approve = ["approve", "--root", "skills:user", "tally", "--script", "scripts/run.sh", "--yes"];
    assert!(place.at_home(&approve).output().unwrap().status.success());
    let real = fs::canonicalize(place.path()).unwrap();
    let ran = |client: &mut Client| {
        let result = client.call("run_skill_script", &run(&[]));
        text(&result).lines().last().unwrap().to_owned()
    };
    let said = |path: &str| format!("[ran in {}]", real.join(path).display());

    let mut plain = Client::old(&place, &json!({}));
    assert!(ran(&mut plain).starts_with("[ran in an empty temporary directory"));
    for name in ["app", "root", "named"] {
        fs::create_dir(real.join(name)).unwrap();
    }
    place.write("app/package.json", "{}");
    let skills = format!("{}:user", real.join("skills").display());
    let start = |more: &[&str], roots: &[&str]| {
        let mut client = Client::serve_in(&place, "app", &[&["serve", "--root", &skills], more].concat());
        client.roots = roots.iter().map(|root| json!({ "uri": root })).collect();
        client.greet(&json!({ "roots": {} }));
        client
    };
    let root = format!("file://{}", real.join("root").display());
    let home = format!("file://{}", real.join("me").display());
    assert_eq!(ran(&mut start(&[], &[])), said("app"));
    assert_eq!(ran(&mut start(&[], &[&root])), said("root"));
    assert_eq!(ran(&mut start(&[], &[&root, "file:///srv"])), said("app"), "two roots are none");
    assert_eq!(ran(&mut start(&[], &[&home])), said("app"), "a home is not given");
    let named = real.join("named").to_string_lossy().into_owned();
    let mut client = start(&["--work", &named], &[&root]);
    assert_eq!(ran(&mut client), said("named"));
    let loaded = client.call("load_skill", &json!({ "skill_name": "tally" }));
    let words = "Run this skill's scripts with the tool `run_skill_script`, not with a shell";
    assert!(text(&loaded).contains(words) && text(&loaded).contains(&named), "{loaded}");
}

/// A model is shown the head and the tail of what a script printed, and can read the rest.
#[test]
fn output_is_capped_and_the_rest_can_be_read() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    let script = place.write(
        "skills/tally/scripts/much.sh",
        "#!/bin/sh\necho FIRST\nyes | head -c 200000\necho LAST\necho oops >&2\nexit 3\n",
    );
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut client = Client::old(&place, &json!({ "elicitation": {} }));
    client.answer = says("once");
    let call = json!({ "skill_name": "tally", "script_name": "scripts/much.sh" });
    let result = client.call("run_skill_script", &call);
    let shown = text(&result);
    assert!(shown.len() < 34 << 10 && shown.starts_with("FIRST\n"), "{}", shown.len());
    let end = "LAST\n[stderr]\noops\n[exit code 3]\n[ran in an empty temporary directory";
    assert!(shown.contains(end), "{}", &shown[shown.len() - 400..]);
    assert!(
        shown.contains("[167243 of 200011 bytes of stdout omitted; read the rest with `read_skill_resource`")
    );
    let uri = facts(&result)["stdout_uri"].clone();
    let read = client.ask("resources/read", json!({ "uri": uri }));
    let whole = read["contents"][0]["text"].as_str().unwrap();
    assert!(whole.len() == 200_011 && whole.ends_with("LAST\n"));
    let part = json!({ "skill_name": "tally", "resource_name": uri, "range": { "offset": 199_990 } });
    assert!(text(&client.call("read_skill_resource", &part)).ends_with("y\nLAST\n"));
    let part = json!({ "skill_name": "tally", "resource_name": uri });
    let part = client.call("read_skill_resource", &part);
    assert!(text(&part).ends_with("continue with range {\"offset\": 32768}]\n"), "{part}");
    client.leave();
    assert_eq!(fs::read_dir(place.path().join("tmp")).unwrap().count(), 0, "nothing is left");
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
    assert!(message.starts_with("Allow `tally` (your own skill) to run `scripts/run.sh`?"), "{message}");
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
    assert_eq!(facts(&done)["ending"], json!({ "exited": 0 }), "{done}");
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
        let root = fs::canonicalize(place.path()).unwrap().join("skills:user");
        let command = format!("`metier approve --root {} tally --script scripts/run.sh`", root.display());
        assert!(text(&result).contains(&command), "{result}");
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
    for (garbage, code, id) in [
        (&b"{\"jsonrpc\": \n"[..], -32700, Value::Null),
        (b"[]\n", -32600, Value::Null),
        (b"{\"jsonrpc\":\"1.0\",\"id\":905,\"method\":\"ping\"}\n", -32600, json!(905)),
    ] {
        client.write(garbage);
        let answer = client.receive();
        let said = (answer["error"]["code"].as_i64(), answer.get("id").cloned().unwrap_or_default());
        assert_eq!(said, (Some(code), id), "{answer}");
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
