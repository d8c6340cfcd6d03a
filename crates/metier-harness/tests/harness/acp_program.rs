//! Agents of the Agent Client Protocol as programs, which are scripts here: each ends as it should, whatever it does.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use metier_harness::{Acp, AgentEvent, AgentSetup, Evaluation, HarnessError, StopReason, evaluate};
use metier_home::Agent;
use metier_prompt::{Prompt, Section, Tool, ToolAnswer, ToolContext, ToolResult};
use metier_session::Session;
use metier_skill::Coded as _;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::ground::{Ground, denying, is_alive, prompt, story};

const AGENTS: [Agent; 4] = [Agent::OpenCode, Agent::Gemini, Agent::Goose, Agent::Copilot];

/// Opens a conversation and reads the prompt; the requests must come in this order.
const OPENS: &str = r#"
frame() { printf '%s\n' "$1"; }
next() { read -r line; case $line in *"$1"*) ;; *) echo "$1 was expected, not $line" >&2; exit 1;; esac; }
say() { frame '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
end() { frame '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":5}}}'; }
next '"method":"initialize"'
frame '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"x","version":"9.9"}}}'
next '"method":"session/new"'
frame '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1","modes":{"currentModeId":"MODE"},"configOptions":[{"id":"model","currentValue":"fake-model"}]}}'
next '"method":"session/prompt"'
"#;

fn setup(ground: &Ground, agent: Agent, script: &str) -> AgentSetup {
    let mode = if agent == Agent::Goose { "approve" } else { "default" };
    let path = ground.write(agent.program(), &script.replace("MODE", mode));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut setup = ground.setup();
    (setup.agent, setup.program) = (agent, path);
    setup
}

fn agent(ground: &Ground, agent: Agent, script: &str) -> Acp {
    Acp::new(setup(ground, agent, script)).unwrap()
}

fn opened(script: &str) -> String {
    format!("#!/bin/sh\n{OPENS}{script}\ncat >/dev/null\n")
}

/// An agent that opens a conversation, does this, and stays until its input ends.
fn answering(ground: &Ground, kind: Agent, script: &str) -> Acp {
    agent(ground, kind, &opened(script))
}

fn run(ground: &Ground, acp: &Acp) -> Result<Evaluation, HarnessError> {
    let result = evaluate(acp, prompt("Go.")).run(&mut ground.session());
    assert!(ground.left().is_empty(), "{:?}", ground.left());
    result
}

#[test]
fn an_answer_is_what_was_said_last() {
    for kind in AGENTS {
        let ground = Ground::new();
        let acp = answering(&ground, kind, "say Hello; say ' there.'; end");
        let answer = run(&ground, &acp).unwrap();
        assert_eq!((answer.text.as_str(), &answer.stop), ("Hello there.", &StopReason::EndTurn));
        assert_eq!((answer.version.as_deref(), answer.session_id.as_deref()), (Some("9.9"), Some("s1")));
        assert_eq!((answer.model.as_deref(), answer.turns), (Some("fake-model"), 1));
        assert!(answer.walls.permissions, "{kind}");
    }
}

#[test]
fn it_does_not_start() {
    for kind in AGENTS {
        let ground = Ground::new();
        let error =
            run(&ground, &agent(&ground, kind, "#!/bin/sh\necho 'no key' >&2; exit 2\n")).unwrap_err();
        let text = format!("{} did not start: exit code 2; its last message: no key", kind.title());
        assert_eq!(error.to_string(), text);
        let mut setup = ground.setup();
        (setup.agent, setup.program) = (kind, ground.path("no-such-agent"));
        let error = run(&ground, &Acp::new(setup).unwrap()).unwrap_err();
        assert_eq!(error.code(), "harness-not-installed");
        let refusing = r#"#!/bin/sh
read -r line
printf '%s\n' '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Authentication required","data":{"details":"log in first"}}}'
cat >/dev/null
"#;
        let error = run(&ground, &agent(&ground, kind, refusing)).unwrap_err();
        let text = format!("{} reported an error: Authentication required: log in first", kind.title());
        assert_eq!((error.code(), error.to_string()), ("harness-agent", text));
    }
}

#[test]
fn it_crashes_or_writes_garbage() {
    for kind in AGENTS {
        let ground = Ground::new();
        let crash = answering(&ground, kind, "say Hel; echo oops >&2; exit 3");
        let error = run(&ground, &crash).unwrap_err();
        let text = format!("{} ended before it answered: exit code 3; its last message: oops", kind.title());
        assert_eq!((error.code(), error.to_string()), ("harness-crashed", text));
        for script in ["echo 'Hello, I am no agent'; exit 0", "yes garbage"] {
            let error = run(&ground, &agent(&ground, kind, &format!("#!/bin/sh\n{script}\n"))).unwrap_err();
            assert_eq!(error.code(), "harness-garbage", "{kind}: {error}");
        }
        // Garbage between frames is shown and skipped.
        let acp = answering(&ground, kind, "echo '{not json'; echo plain; say survived; end");
        assert_eq!(run(&ground, &acp).unwrap().text, "survived");
    }
}

#[test]
fn it_floods() {
    for kind in AGENTS {
        let ground = Ground::new();
        let flood = "head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; say survived; end";
        let acp = answering(&ground, kind, flood);
        let mut events: Vec<AgentEvent> = Vec::new();
        let builder = evaluate(&acp, prompt("Go.")).on_event(|event| events.push(event.clone()));
        assert_eq!(builder.run(&mut ground.session()).unwrap().text, "survived");
        let story = story(&events);
        assert!(
            story.iter().any(|line| line.starts_with("a line of 100000000 bytes was skipped")),
            "{story:?}"
        );
    }
}

#[test]
fn it_hangs() {
    let ground = Ground::new();
    let pids = ground.path("pid").display().to_string();
    let acp = answering(&ground, Agent::Gemini, &format!("echo $$ >{pids}; say Hel; exec sleep 1000"));
    let builder = evaluate(&acp, prompt("Go.")).silence(Duration::from_millis(300));
    let error = builder.run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "harness-hung", "{error}");
    assert!(!is_alive(&fs::read_to_string(ground.path("pid")).unwrap_or_default()));
    assert!(ground.left().is_empty(), "{:?}", ground.left());
}

/// An agent whose turn ends after a denied call.
#[test]
fn a_turn_that_ends_with_a_denied_call_says_so() {
    let ground = Ground::new();
    let denied = r#"
frame '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"bash","kind":"execute","status":"in_progress","rawInput":{"command":"touch x"}}}}'
frame '{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c1","rawInput":{"command":"touch x"}},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}}'
next '"optionId":"n"'
end
"#;
    let answer = run(&ground, &answering(&ground, Agent::OpenCode, denied)).unwrap();
    assert_eq!((answer.text.as_str(), answer.stop), ("", StopReason::Denied));
    assert_eq!(ground.recorded("skill.tool_call_decided")[0]["code"], "nobody-to-ask");
}

/// Copilot runs the hooks of a project without asking. The other agents do not.
#[test]
fn a_project_with_hooks_is_refused() {
    let ground = Ground::new();
    let hooks = ground.write("work/.github/hooks/start.json", "{}");
    for (kind, refused) in [(Agent::Copilot, true), (Agent::Goose, false)] {
        let mut setup = setup(&ground, kind, &opened("say done; end"));
        setup.working = Some(ground.path("work"));
        match run(&ground, &Acp::new(setup).unwrap()) {
            Ok(answer) => assert!(!refused && answer.text == "done", "{kind:?}"),
            Err(error) => {
                assert!(refused && error.code() == "harness-not-started", "{kind:?}: {error}");
                assert!(
                    error.to_string().contains(&hooks.parent().unwrap().display().to_string()),
                    "{error}"
                );
            }
        }
    }
}

/// Loading a mounted skill and reading the working directory need no rule. Links out of it do.
#[test]
fn reading_the_working_directory_needs_no_rule() {
    let ground = Ground::new();
    ground.write("work/plain.txt", "plain");
    ground.write("elsewhere/secret.txt", "secret");
    std::os::unix::fs::symlink(ground.path("elsewhere"), ground.path("work/link")).unwrap();
    let work = ground.path("work").display().to_string();
    for (path, option) in [
        ("plain.txt", "y"),
        ("new.txt", "y"),
        ("link/secret.txt", "n"),
        ("link/new.txt", "n"),
        ("../elsewhere/secret.txt", "n"),
        ("/etc/passwd", "n"),
    ] {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("{work}/{path}") };
        let reads = format!(
            r#"
frame '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"tool_call","toolCallId":"c1","title":"read","kind":"read","status":"in_progress","rawInput":{{"filePath":"{path}"}}}}}}}}'
frame '{{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{{"sessionId":"s1","toolCall":{{"toolCallId":"c1","rawInput":{{}}}},"options":[{{"optionId":"y","kind":"allow_once"}},{{"optionId":"n","kind":"reject_once"}}]}}}}'
next '"optionId":"{option}"'
say done; end
"#
        );
        let mut setup = setup(&ground, Agent::OpenCode, &opened(&reads));
        setup.working = Some(ground.path("work"));
        let answer = run(&ground, &Acp::new(setup.clone()).unwrap());
        assert_eq!(answer.unwrap().text, "done", "{path}");
        // A rule still denies it; then the script ends with another answer than the expected one.
        let mut options = ground.options();
        options.policy = denying("Read");
        let mut session = Session::with_id(options, "s2").unwrap();
        let denied = evaluate(&Acp::new(setup).unwrap(), prompt("Go.")).run(&mut session);
        assert_eq!(denied.is_ok(), option == "n", "{path}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

/// Calls the tool at the server that it was told of, with the token and without.
const CALLING: &str = r#"#!/usr/bin/python3
import json, sys, urllib.error, urllib.request

def send(frame):
    print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)

def update(update):
    send({"method": "session/update", "params": {"sessionId": "s1", "update": update}})

def post(message, headers):
    body = json.dumps(message).encode()
    request = urllib.request.Request(server["url"], body, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

json.loads(sys.stdin.readline())
send({"id": 1, "result": {"protocolVersion": 1, "agentInfo": {"name": "x", "version": "9.9"}}})
[server] = json.loads(sys.stdin.readline())["params"]["mcpServers"]
send({"id": 2, "result": {"sessionId": "s1"}})
sys.stdin.readline()
call = {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 20, "b": 22}}}
try:
    post(call, {})
except urllib.error.HTTPError as error:
    refused = error.code
headers = {header["name"]: header["value"] for header in server["headers"]}
listed = post({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}, headers)["result"]["tools"][0]["name"]
update({"sessionUpdate": "tool_call", "toolCallId": "call-9", "title": "metier_add", "kind": "other", "rawInput": {"a": 20, "b": 22}})
options = [{"optionId": "y", "kind": "allow_once"}]
asked = {"sessionId": "s1", "toolCall": {"toolCallId": "call-9"}, "options": options}
send({"id": 0, "method": "session/request_permission", "params": asked})
assert json.loads(sys.stdin.readline())["result"]["outcome"]["optionId"] == "y"
result = post(call, headers)["result"]
update({"sessionUpdate": "tool_call_update", "toolCallId": "call-9", "status": "completed"})
text = "%s %s %s %s" % (refused, listed, result["content"][0]["text"], server["url"])
update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
send({"id": 3, "result": {"stopReason": "end_turn"}})
sys.stdin.read()
"#;

#[test]
fn a_tool_of_the_prompt_is_called_with_the_token_alone() {
    let ground = Ground::new();
    let acp = agent(&ground, Agent::OpenCode, CALLING);
    let add = Tool::new("add", "Adds two numbers", |add: Add, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message(format!("the sum is {}", add.a + add.b)))
    });
    let section = Section::new("task", "Task").body("Add.").tool(add);
    let prompt = Prompt::builder("tests", "one").section(section).build().unwrap();
    let answer = evaluate(&acp, prompt.rendering()).run(&mut ground.session()).unwrap();
    let (said, url) = answer.text.rsplit_once(' ').unwrap();
    assert_eq!(said, "401 add the sum is 42");
    let calls = ground.recorded("tool.invoked");
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (calls[0]["tool"].as_str(), calls[0]["call_id"].as_str()),
        (Some("mcp__metier__add"), Some("call-9"))
    );
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    assert!(TcpStream::connect(address).is_err(), "the server is gone");
}
