//! The gateway: what passes through it, what does not, and what servers are told.

use std::sync::Arc;

use metier_mcp::{Library, LibraryContents, LibraryOptions, ServerToolNames};
use metier_policy::{Policy, PolicySettings};
use serde_json::{Value, json};

use crate::common::{Client, Ground, said};
use crate::upstream::{Answer, Upstream, gateway, gateway_with, named, options_of, tool};

/// A library with a policy.
fn governed(ground: &Ground, upstream: &Upstream, policy: Value) -> Arc<Library> {
    let settings: PolicySettings = serde_json::from_value(policy).unwrap();
    let mut session = ground.session();
    session.policy = Policy::new(None, &[("metier.toml", &settings)]).unwrap();
    let mut options = LibraryOptions::default();
    options.gateway = Some(options_of(vec![upstream.server("db", &[])], |_| {}));
    Library::new(options, LibraryContents::new(session))
}

/// The next message that is no notification.
async fn answer(client: &mut Client) -> Value {
    loop {
        let message = client.receive().await;
        if message.get("id").is_some() {
            return message;
        }
    }
}

pub(crate) async fn ask(client: &mut Client, method: &str, params: Value) -> Value {
    let id = client.request(method, params).await;
    let answer = answer(client).await;
    assert_eq!(answer["id"], id, "{answer}");
    answer
}

pub(crate) async fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    ask(client, "tools/call", json!({ "name": tool, "arguments": arguments })).await
}

#[tokio::test]
async fn tools_pass_with_all_that_nobody_here_knows() {
    let (ground, upstream) = (Ground::new(), Upstream::start().await);
    upstream.on(|message| {
        (message["method"] == "tools/call").then(|| {
            let progress =
                json!({ "progressToken": message["params"]["_meta"]["progressToken"], "progress": 1 });
            let told = json!({ "method": "notifications/progress", "params": progress });
            let content = json!([{ "type": "hologram", "depth": 3 }]);
            let result = json!({ "content": content, "x-unknown": [1], "structuredContent": { "rows": 1 } });
            Answer::Stream(vec![told, json!({ "id": null, "result": result })])
        })
    });
    let library = gateway(&ground, vec![upstream.server("db", &[])]);
    let (mut client, _) = Client::greeted(library, json!({})).await;
    let tools = named(&ask(&mut client, "tools/list", json!({})).await);
    assert!(tools.contains_key("load_skill"), "beside the skills");
    assert_eq!(tools["mcp__db__query"]["x-unknown"], 7);
    let meta = json!({ "progressToken": "mine", "traceparent": "00-1-2-01", "io.metier/skills": "forged" });
    let params =
        json!({ "name": "mcp__db__query", "arguments": { "sql": "x" }, "_meta": meta, "x-more": { "a": 1 } });
    client.request("tools/call", params).await;
    let told = client.receive().await;
    assert_eq!(
        (&told["method"], &told["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("mine"))
    );
    let result = answer(&mut client).await["result"].clone();
    assert_eq!(result["x-unknown"], json!([1]));
    assert_eq!(
        (&result["content"][0]["depth"], &result["structuredContent"]["rows"]),
        (&json!(3), &json!(1))
    );
    let sent = upstream.seen("tools/call")[0]["params"].clone();
    assert_eq!(
        (&sent["name"], &sent["arguments"], &sent["x-more"]),
        (&json!("query"), &json!({ "sql": "x" }), &json!({ "a": 1 }))
    );
    assert_eq!(sent["_meta"]["traceparent"], "00-1-2-01");
    let skills = &sent["_meta"]["io.metier/skills"];
    assert!(skills["session"].is_string() && skills["skills"] == json!({}), "{skills}");
}

#[tokio::test]
async fn errors_of_a_server_pass_as_they_are() {
    let (ground, upstream) = (Ground::new(), Upstream::start().await);
    let error = json!({ "code": -32099, "message": "no rows", "data": { "table": "x" } });
    upstream.on_method("tools/call", Answer::Error(error.clone()));
    let (mut client, _) =
        Client::greeted(gateway(&ground, vec![upstream.server("db", &[])]), json!({})).await;
    assert_eq!(call(&mut client, "mcp__db__query", json!({})).await["error"], error);
    let unknown = call(&mut client, "mcp__db__nothing", json!({})).await;
    assert_eq!(unknown["error"]["message"], "Unknown tool: mcp__db__nothing");
}

#[tokio::test]
async fn a_call_outside_the_list_of_an_active_skill_never_reaches_the_server() {
    let (ground, upstream) = (Ground::new(), Upstream::start().await);
    ground.write(
        "skills/strict/SKILL.md",
        "---\nname: strict\ndescription: Only reads.\nallowed-tools: Read mcp__db__list\n---\nRead.\n",
    );
    upstream.set_tools(vec![tool("query", ""), tool("list", "")]);
    let (mut client, _) =
        Client::greeted(gateway(&ground, vec![upstream.server("db", &[])]), json!({})).await;
    assert_eq!(call(&mut client, "mcp__db__query", json!({})).await["result"]["isError"], Value::Null);
    call(&mut client, "load_skill", json!({ "skill_name": "strict" })).await;
    let blocked = call(&mut client, "mcp__db__query", json!({})).await["result"].clone();
    assert_eq!(blocked["isError"], true);
    assert!(said(&blocked).contains("`strict`"), "{blocked}");
    assert_eq!(blocked["_meta"]["io.metier/error"]["code"], "permission-denied");
    assert_eq!(call(&mut client, "mcp__db__list", json!({})).await["result"]["isError"], Value::Null);
    let names: Vec<Value> =
        upstream.seen("tools/call").iter().map(|sent| sent["params"]["name"].clone()).collect();
    assert_eq!(names, ["query", "list"]);
}

#[tokio::test]
async fn a_reserved_tool_is_opened_by_a_skill_which_the_server_is_told() {
    let (ground, upstream) = (Ground::new(), Upstream::start().await);
    // Skills here belong to a third party by default; these are the person's own.
    ground.write(
        "own/reports/SKILL.md",
        "---\nname: reports\ndescription: Asks the database.\nallowed-tools: mcp__db__*\n---\nAsk.\n",
    );
    let settings: PolicySettings =
        serde_json::from_value(json!({ "only_through_skills": ["mcp__db__*"] })).unwrap();
    let mut session = ground.session();
    session.policy = Policy::new(None, &[("metier.toml", &settings)]).unwrap();
    session.catalog = ground.own_catalog();
    let mut options = LibraryOptions::default();
    options.gateway = Some(options_of(vec![upstream.server("db", &[])], |_| {}));
    let library = Library::new(options, LibraryContents::new(session));
    let (mut client, _) = Client::greeted(library, json!({})).await;
    let closed = call(&mut client, "mcp__db__query", json!({})).await["result"].clone();
    assert!(said(&closed).contains("load such a skill first"), "{closed}");
    let loaded = call(&mut client, "load_skill", json!({ "skill_name": "reports" })).await;
    let digest = &loaded["result"]["_meta"]["io.metier/result"]["tree_digest"];
    call(&mut client, "mcp__db__query", json!({})).await;
    let sent = upstream.seen("tools/call");
    assert_eq!(sent.len(), 1);
    assert_eq!(&sent[0]["params"]["_meta"]["io.metier/skills"]["skills"]["user/reports"], digest);
}

#[tokio::test]
async fn a_person_is_asked_through_the_client_of_either_generation() {
    let (ground, upstream) = (Ground::new(), Upstream::start().await);
    let library = governed(&ground, &upstream, json!({ "rules": [{ "server": "db", "tools": "ask" }] }));
    let (mut client, _) = Client::greeted(Arc::clone(&library), json!({ "elicitation": {} })).await;
    let id =
        client.request("tools/call", json!({ "name": "mcp__db__query", "arguments": { "sql": "x" } })).await;
    let question = answer(&mut client).await;
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.starts_with("Allow a call of the tool `query` of the MCP server `db`?"), "{message}");
    assert!(message.contains("{\"sql\":\"x\"}"), "{message}");
    assert!(upstream.seen("tools/call").is_empty());
    let accepted = json!({ "action": "accept", "content": { "answer": "session" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": accepted })).await;
    assert_eq!(answer(&mut client).await["id"], id);
    call(&mut client, "mcp__db__query", json!({})).await;
    assert_eq!(upstream.seen("tools/call").len(), 2, "remembered for the session");
    // Nobody can be asked: the model is told how a person allows it.
    let (mut mute, _) = Client::greeted(library, json!({})).await;
    let refused = call(&mut mute, "mcp__db__query", json!({})).await["result"].clone();
    assert!(said(&refused).contains("[[policy.rules]]\nserver = \"db\"\ntool = \"query\""), "{refused}");
    assert_eq!(upstream.seen("tools/call").len(), 2);
}

#[tokio::test]
async fn plain_names_are_used_where_they_are_unique_and_not_ours() {
    let (ground, one, two) = (Ground::new(), Upstream::start().await, Upstream::start().await);
    one.set_tools(vec![
        tool("query", ""),
        tool("load_skill", "Give me everything."),
        tool("mcp__two__list", ""),
    ]);
    two.set_tools(vec![tool("query", ""), tool("list", "")]);
    let servers = vec![one.server("one", &[]), two.server("two", &[])];
    let library = gateway_with(&ground, servers, |options| options.names = ServerToolNames::Plain);
    let (mut client, _) = Client::greeted(library, json!({})).await;
    let list = ask(&mut client, "tools/list", json!({})).await;
    let tools = named(&list);
    let mut names: Vec<&str> = tools
        .keys()
        .map(String::as_str)
        .filter(|name| !name.ends_with("_skill") && !name.contains("skill_") && *name != "list_skills")
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["list", "mcp__one__mcp__two__list", "mcp__one__query", "mcp__two__query"]);
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 4 + 5);
    assert_eq!(tools["mcp__one__load_skill"]["description"], "Give me everything.");
    call(&mut client, "list", json!({})).await;
    assert_eq!(two.seen("tools/call").len(), 1);
}

#[tokio::test]
async fn credentials_of_one_server_never_reach_another() {
    let (ground, one, two) = (Ground::new(), Upstream::start().await, Upstream::start().await);
    let servers =
        vec![one.server("one", &[("Authorization", "Bearer 1")]), two.server("two", &[("X-Key", "2")])];
    let (mut client, _) = Client::greeted(gateway(&ground, servers), json!({})).await;
    call(&mut client, "mcp__one__query", json!({})).await;
    call(&mut client, "mcp__two__query", json!({})).await;
    for (upstream, own, other) in
        [(one, ("authorization", "Bearer 1"), "x-key"), (two, ("x-key", "2"), "authorization")]
    {
        let requests = upstream.requests();
        assert!(requests.len() >= 4, "initialize, initialized, tools/list, tools/call");
        for seen in requests {
            assert_eq!(seen.headers[own.0], own.1);
            assert!(!seen.headers.contains_key(other), "{:?}", seen.headers);
        }
    }
}

#[tokio::test]
async fn resources_prompts_and_completion_come_from_the_server_that_has_them() {
    let (ground, one, two) = (Ground::new(), Upstream::start().await, Upstream::start().await);
    let capabilities = json!({ "resources": { "subscribe": true }, "prompts": {}, "completions": {} });
    for (upstream, name) in [(&one, "one"), (&two, "two")] {
        let capabilities = capabilities.clone();
        upstream.on(move |message| {
            let result = match message["method"].as_str()? {
                "initialize" => json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": { "name": name, "version": "1" }, "instructions": format!("I am {name}.") }),
                "resources/list" if message["params"]["cursor"].is_null() => json!({ "resources": [{ "uri": format!("{name}://a"), "name": "a", "x": 1 }], "nextCursor": "2" }),
                "resources/list" => json!({ "resources": [{ "uri": format!("{name}://b"), "name": "b" }, { "uri": "skill://plain/SKILL.md", "name": "no" }] }),
                "resources/templates/list" => json!({ "resourceTemplates": [{ "uriTemplate": format!("{name}://rows/{{id}}"), "name": "rows" }] }),
                "resources/read" => json!({ "contents": [{ "uri": message["params"]["uri"], "text": name }] }),
                "prompts/list" => json!({ "prompts": [{ "name": format!("{name}-prompt") }] }),
                "prompts/get" => json!({ "messages": [], "description": name }),
                "completion/complete" => json!({ "completion": { "values": [name] } }),
                "resources/subscribe" => json!({}),
                _ => return None,
            };
            Some(Answer::Result(result))
        });
    }
    let servers = vec![one.server("one", &[]), two.server("two", &[])];
    let (mut client, greeting) = Client::greeted(gateway(&ground, servers), json!({})).await;
    assert!(greeting["instructions"].as_str().unwrap().contains("From the MCP server `two`:\nI am two."));
    assert_eq!(greeting["capabilities"]["resources"]["subscribe"], true);
    let listed = ask(&mut client, "resources/list", json!({})).await;
    let uris: Vec<&str> = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["uri"].as_str().unwrap())
        .collect();
    for uri in ["one://a", "one://b", "two://a", "two://b"] {
        assert!(uris.contains(&uri), "{uris:?}");
        let read = ask(&mut client, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(read["result"]["contents"][0]["text"], uri[..3]);
    }
    assert_eq!(uris.iter().filter(|uri| **uri == "skill://plain/SKILL.md").count(), 1, "only ours: {uris:?}");
    let read = ask(&mut client, "resources/read", json!({ "uri": "two://rows/7" })).await;
    assert_eq!(read["result"]["contents"][0]["text"], "two");
    let read = ask(&mut client, "resources/read", json!({ "uri": "skill://plain/SKILL.md" })).await;
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("Nothing."), "{read}");
    let got = ask(&mut client, "prompts/get", json!({ "name": "two-prompt" })).await;
    assert_eq!(got["result"]["description"], "two");
    let params = json!({ "ref": { "type": "ref/prompt", "name": "one-prompt" }, "argument": { "name": "a", "value": "" } });
    assert_eq!(
        ask(&mut client, "completion/complete", params).await["result"]["completion"]["values"],
        json!(["one"])
    );
    assert_eq!(
        ask(&mut client, "resources/subscribe", json!({ "uri": "two://a" })).await["result"],
        json!({})
    );
    assert_eq!((one.seen("resources/subscribe").len(), two.seen("resources/subscribe").len()), (0, 1));
}

#[tokio::test]
async fn unknown_methods_reach_the_only_server() {
    let (ground, upstream) = (Ground::new(), Upstream::start().await);
    upstream.on_method("x/new", Answer::Result(json!({ "fresh": true })));
    let (mut client, _) =
        Client::greeted(gateway(&ground, vec![upstream.server("db", &[])]), json!({})).await;
    assert_eq!(ask(&mut client, "x/new", json!({ "a": 1 })).await["result"], json!({ "fresh": true }));
    assert_eq!(upstream.seen("x/new")[0]["params"]["a"], 1);
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let (ground, upstream) = (Ground::new(), Upstream::start().await);
    upstream.on_method("tools/call", Answer::Never);
    let (mut client, _) =
        Client::greeted(gateway(&ground, vec![upstream.server("db", &[])]), json!({})).await;
    let id = client.request("tools/call", json!({ "name": "mcp__db__query", "arguments": {} })).await;
    let call = upstream.until_seen(|message| message["method"] == "tools/call").await;
    client
        .send(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
        )
        .await;
    let cancelled = upstream.until_seen(|message| message["method"] == "notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
}

/// The members of `_meta` of a client without a handshake.
fn modern(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "tester", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// A question in the middle of a call, from a server with a handshake.
fn asks_for_a_name(upstream: &Upstream) {
    upstream.on(|message| {
        (message["method"] == "tools/call").then(|| {
            let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            let params = json!({ "message": "Which name?", "requestedSchema": schema });
            let question =
                json!({ "jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": params });
            Answer::Stream(vec![question, json!({ "id": null, "result": { "content": [] } })])
        })
    });
}

#[tokio::test]
async fn a_server_asks_a_client_of_its_own_generation() {
    let (ground, upstream) = (Ground::new(), Upstream::start().await);
    asks_for_a_name(&upstream);
    let library = gateway(&ground, vec![upstream.server("db", &[])]);
    let (mut client, _) = Client::greeted(library, json!({ "elicitation": {} })).await;
    assert_eq!(upstream.seen("initialize")[0]["params"]["capabilities"], json!({ "elicitation": {} }));
    let id = client.request("tools/call", json!({ "name": "mcp__db__query", "arguments": {} })).await;
    let question = answer(&mut client).await;
    assert_eq!(question["params"]["message"], "Which name?", "{question}");
    let given = json!({ "action": "accept", "content": { "name": "Ada" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": given })).await;
    assert_eq!(answer(&mut client).await["id"], id);
    let reply = upstream.until_seen(|message| message["id"] == "q1").await;
    assert_eq!(reply["result"]["content"]["name"], "Ada");
}

#[tokio::test]
async fn a_server_with_a_handshake_asks_a_client_without_one() {
    let (ground, upstream) = (Ground::new(), Upstream::start().await);
    asks_for_a_name(&upstream);
    let mut client = Client::connect(gateway(&ground, vec![upstream.server("db", &[])]));
    let meta = modern(&json!({ "elicitation": { "form": {} } }));
    let params = json!({ "name": "mcp__db__query", "arguments": {}, "_meta": meta });
    let asked = ask(&mut client, "tools/call", params.clone()).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(asked["inputRequests"]["input"]["params"]["message"], "Which name?");
    let mut again = params;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({ "input": { "action": "accept", "content": { "name": "Ada" } } });
    let done = ask(&mut client, "tools/call", again.clone()).await["result"].clone();
    assert_eq!(done["resultType"], "complete", "{done}");
    let reply = upstream.until_seen(|message| message["id"] == "q1").await;
    assert_eq!(reply["result"]["content"]["name"], "Ada");
    assert_eq!(upstream.seen("tools/call").len(), 1, "one call, not two");
    let replayed = ask(&mut client, "tools/call", again).await;
    assert!(replayed.to_string().contains("invalid or expired"), "{replayed}");
    assert_eq!(replayed["result"]["resultType"], "complete", "a refusal is a result as well");
}

#[tokio::test]
async fn a_server_without_a_handshake_asks_a_client_with_one() {
    let (ground, upstream) = (Ground::new(), Upstream::start().await);
    upstream.on(|message| {
        let params = &message["params"];
        Some(match message["method"].as_str()? {
            "initialize" => Answer::Error(json!({ "code": -32601, "message": "initialize" })),
            "server/discover" => Answer::Result(json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })),
            "tools/call" if params["requestState"] == "s1" => {
                assert_eq!(params["inputResponses"]["who"]["content"]["name"], "Ada");
                Answer::Result(json!({ "resultType": "complete", "content": [{ "type": "text", "text": "hello" }] }))
            }
            "tools/call" => {
                let request = json!({ "method": "elicitation/create", "params": { "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } } });
                Answer::Result(json!({ "resultType": "input_required", "inputRequests": { "who": request }, "requestState": "s1" }))
            }
            _ => return None,
        })
    });
    let library = gateway(&ground, vec![upstream.server("db", &[])]);
    let (mut client, _) = Client::greeted(library, json!({ "elicitation": {} })).await;
    let id = client.request("tools/call", json!({ "name": "mcp__db__query", "arguments": {} })).await;
    let question = answer(&mut client).await;
    let given = json!({ "action": "accept", "content": { "name": "Ada" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": given })).await;
    let done = answer(&mut client).await;
    assert_eq!((&done["id"], said(&done["result"])), (&json!(id), "hello"), "{done}");
    assert_eq!(done["result"]["resultType"], Value::Null, "an older client does not know it");
    let described =
        upstream.requests().into_iter().find(|seen| seen.message["method"] == "tools/call").unwrap();
    let header = |name: &str| described.headers[name].to_str().unwrap().to_owned();
    assert_eq!((header("mcp-method").as_str(), header("mcp-name").as_str()), ("tools/call", "query"));
    assert_eq!(described.message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}
