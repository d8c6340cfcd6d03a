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

/// Without tokens, too, output belongs to the session whose script printed it.
#[test]
fn without_a_token_output_is_read_by_its_session_alone() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    let script = "#!/bin/sh\nyes | head -c 100000\n";
    place.write("skills/tally/scripts/much.sh", script);
    let approve = ["approve", "--root", "skills:user", "tally", "--script", "scripts/much.sh", "--yes"];
    assert!(place.at_home(&approve).output().unwrap().status.success());
    let server = Server::start(&place, &[]);
    let [first, second] = [server.session(&[]), server.session(&[])];
    let in_session =
        |id: &str, tool: &str, arguments: &Value| server.call(&[("Mcp-Session-Id", id)], tool, arguments);
    let much = json!({ "skill_name": "tally", "script_name": "scripts/much.sh" });
    let ran = in_session(&first, "run_skill_script", &much);
    let address = ran["_meta"]["io.metier/result"]["stdout_uri"].clone();
    assert!(address.is_string(), "{ran}");
    let read = json!({ "skill_name": "tally", "resource_name": address });
    let own = in_session(&first, "read_skill_resource", &read);
    assert_eq!(own["isError"], false, "{own}");
    let other = in_session(&second, "read_skill_resource", &read);
    assert_eq!(other["isError"], true, "{other}");
    let resource =
        json!({ "jsonrpc": "2.0", "id": 6, "method": "resources/read", "params": { "uri": address } });
    for (id, is_read) in [(&first, true), (&second, false)] {
        let answer = server.post(&[("Mcp-Session-Id", id)], &resource).message();
        assert_eq!(answer.get("result").is_some(), is_read, "{answer}");
    }
    let stateless = call_without_session(&server, "read_skill_resource", &read);
    assert_eq!(stateless["isError"], true, "{stateless}");
    // A client without sessions is known by nothing but the address.
    let ran = call_without_session(&server, "run_skill_script", &much);
    let address = ran["_meta"]["io.metier/result"]["stdout_uri"].clone();
    let read = json!({ "skill_name": "tally", "resource_name": address });
    let own = call_without_session(&server, "read_skill_resource", &read);
    assert_eq!(own["isError"], false, "{own}");
    server.end();
}

fn call_without_session(server: &Server, tool: &str, arguments: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers = [("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params });
    server.post(&headers, &body).message()["result"].clone()
}
