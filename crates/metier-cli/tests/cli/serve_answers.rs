//! `metier serve --http`: whose an answer to a question is, and how long it holds.

use serde_json::{Value, json};

use crate::serve::{log, place};
use crate::serve_http::Server;
use crate::support::skips_namespaces;

/// Calls a script without a session, as clients of 2026-07-28 do; with an answer to what is asked first, if there is one.
fn run_and_answer(server: &Server, headers: &[(&str, &str)], answer: Option<&str>) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let version = [
        ("Mcp-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "run_skill_script"),
    ];
    let call = |more: Value| {
        let arguments = json!({ "skill_name": "tally", "script_name": "scripts/run.sh", "args": ["a"] });
        let mut params = json!({ "name": "run_skill_script", "arguments": arguments, "_meta": meta });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let body = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params });
        server.post(&[headers, &version].concat(), &body).message()["result"].clone()
    };
    let asked = call(json!({}));
    let Some(answer) = answer else { return asked };
    let content = json!({ "action": "accept", "content": { "answer": answer } });
    call(json!({ "inputResponses": { "approval": content }, "requestState": asked["requestState"] }))
}

/// Also where tokens have no names: an answer counts for the token that gave it, and not for the person at the command line.
#[test]
fn an_answer_over_http_is_the_token_s_that_gave_it() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    place.write("tokens", "the-first-of-two-tokens\nthe-second-of-two-tokens\n");
    let server = Server::start(&place, &["--token-file", "tokens"]);
    let [first, second] = ["first", "second"].map(|name| format!("Bearer the-{name}-of-two-tokens"));
    let first = [("Authorization", first.as_str())];
    let second = [("Authorization", second.as_str())];
    let ran = run_and_answer(&server, &first, Some("always"));
    assert_eq!(ran["_meta"]["io.metier/result"]["ending"], json!({ "exited": 0 }), "{ran}");
    let again = run_and_answer(&server, &first, None);
    assert_eq!(again["isError"], false, "it holds for the same token: {again}");
    let other = run_and_answer(&server, &second, None);
    assert_eq!(other["resultType"], "input_required", "not for another: {other}");
    server.end();
    let own = place.at_home(&["exec", "--root", "skills:user", "tally", "scripts/run.sh"]).output().unwrap();
    assert_eq!(own.status.code(), Some(3), "nor for the person: {}", String::from_utf8_lossy(&own.stderr));
    assert!(log(&place).contains("\"actor\":\"token-"), "{}", log(&place));
}

/// A server without tokens can be reached by scripts that have the machine's network: no answer there outlasts its session.
#[test]
fn without_a_token_no_answer_lasts() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    let server = Server::start(&place, &[]);
    let asked = run_and_answer(&server, &[], None);
    let form = asked["inputRequests"]["approval"]["params"]["requestedSchema"].to_string();
    assert!(form.contains("\"once\"") && !form.contains("\"always\""), "{asked}");
    let ran = run_and_answer(&server, &[], Some("always"));
    assert_eq!(ran["isError"], false, "{ran}");
    let again = run_and_answer(&server, &[], None);
    assert_eq!(again["resultType"], "input_required", "{again}");
    server.end();
}
