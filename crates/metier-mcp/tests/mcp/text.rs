//! What a model is given: text, once, that says what to do next.

use metier_mcp::{AskMode, Greeting, Library, LibraryOptions, McpError, SkillListPlacement};
use serde_json::{Value, json};

use crate::common::{Client, Ground, run, said};

fn options(change: impl FnOnce(&mut LibraryOptions)) -> LibraryOptions {
    let mut options = LibraryOptions::default();
    change(&mut options);
    options
}

/// Agents that find structured content show their model nothing else.
#[tokio::test]
async fn every_result_is_text_alone() {
    let ground = Ground::new();
    let (mut client, greeting) = Client::greeted(ground.library(LibraryOptions::default()), json!({})).await;
    let tools = client.ask("tools/list", json!({})).await;
    for tool in tools["result"]["tools"].as_array().unwrap() {
        assert_eq!(tool.get("outputSchema"), None, "{tool}");
    }
    for (tool, arguments, begins) in [
        ("list_skills", json!({}), "plain: Does nothing.\ntally: Counts words.\n"),
        ("load_skill", json!({ "skill_name": "tally" }), "<skill_content name=\"tally\""),
        (
            "read_skill_resource",
            json!({ "skill_name": "tally", "resource_name": "references/guide.md" }),
            "one\ntwo\n",
        ),
    ] {
        let result = client.call(tool, arguments).await;
        assert_eq!((result.get("structuredContent"), &result["isError"]), (None, &json!(false)), "{result}");
        assert_eq!(result["content"].as_array().unwrap().len(), 1);
        assert!(said(&result).starts_with(begins), "{result}");
        assert!(result["_meta"]["io.metier/result"].is_object(), "{result}");
    }
    let instructions = greeting["instructions"].as_str().unwrap();
    assert!(instructions.contains("with the tool `run_skill_script`, never with a shell"), "{instructions}");
    assert!(instructions.contains("an empty temporary directory"), "{instructions}");
    client.leave().await.unwrap();
}

#[tokio::test]
async fn where_scripts_work_is_said_beforehand() {
    let ground = Ground::new();
    let work = ground.work();
    let app = format!("the directory {}", work.path().display());
    let library = ground.library(options(|options| options.work.project = Some(work)));
    let (mut client, greeting) = Client::greeted(library, json!({})).await;
    assert!(greeting["instructions"].as_str().unwrap().contains(&app), "{greeting}");
    let loaded = client.call("load_skill", json!({ "skill_name": "tally" })).await;
    assert!(
        said(&loaded).contains("with the tool `run_skill_script`") && said(&loaded).contains(&app),
        "{loaded}"
    );
    let plain = client.call("load_skill", json!({ "skill_name": "plain" })).await;
    assert!(!said(&plain).contains("run_skill_script"), "it has no scripts: {plain}");
    let tools = client.ask("tools/list", json!({})).await["result"]["tools"].clone();
    assert!(tools[3]["description"].as_str().unwrap().contains(&format!("It works in {app}")), "{tools}");
}

#[tokio::test]
async fn each_skill_is_in_a_schema_once() {
    let ground = Ground::new();
    let (mut client, _) = Client::greeted(ground.library(LibraryOptions::default()), json!({})).await;
    let tools = client.ask("tools/list", json!({})).await["result"]["tools"].clone();
    for tool in &tools.as_array().unwrap()[1..] {
        let names = &tool["inputSchema"]["properties"]["skill_name"]["enum"];
        assert_eq!(*names, json!(["plain", "tally"]), "{tool}");
    }
    // An id still works.
    let loaded = client.call("load_skill", json!({ "skill_name": "third_party/tally" })).await;
    assert_eq!(loaded["isError"], false, "{loaded}");
}

#[tokio::test]
async fn an_empty_list_says_how_to_see_all() {
    let ground = Ground::new();
    let (mut client, _) = Client::greeted(ground.library(LibraryOptions::default()), json!({})).await;
    let none = client.call("list_skills", json!({ "query": "zzqq\nxxyy" })).await;
    assert_eq!(
        said(&none),
        "No skill matches \"zzqq xxyy\". Call list_skills without a query to see all 2.\n"
    );
    let none = client.call("list_skills", json!({ "tier": "org" })).await;
    assert_eq!(said(&none), "No skill matches. Call list_skills without arguments to see all 2.\n");
}

#[tokio::test]
async fn what_nobody_can_be_asked_about_names_the_command() {
    let ground = Ground::new();
    let quiet = options(|options| {
        options.ask = AskMode::Never;
        options.approve = "metier approve --root skills".to_owned();
    });
    let library = ground.library(quiet);
    // Whether the client can ask or not.
    for capabilities in [json!({}), json!({ "elicitation": {} })] {
        let (mut client, _) = Client::greeted(library.clone(), capabilities).await;
        let refused = client.call("run_skill_script", run()).await;
        assert_eq!(refused["isError"], true);
        let command = "`metier approve --root skills tally --script scripts/run.sh`";
        assert!(said(&refused).contains(command), "{refused}");
    }
}

#[tokio::test]
async fn what_is_not_mcp_is_answered_and_reported() {
    let ground = Ground::new();
    let library = ground.library(LibraryOptions::default());
    let mut client = Client::connect(library.clone());
    for (line, code, id) in [
        ("{\"jsonrpc\":", -32700, Value::Null),
        ("hello", -32700, Value::Null),
        ("[1]", -32600, Value::Null),
        ("{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}", -32600, json!(7)),
    ] {
        client.write(line).await;
        let answer = client.receive().await;
        let said = (answer["error"]["code"].as_i64(), answer.get("id").cloned().unwrap_or_default());
        assert_eq!(said, (Some(code), id), "{answer}");
    }
    let left = client.leave().await;
    assert!(matches!(&left, Err(McpError::NotMcp { line }) if line == "{\"jsonrpc\":"), "{left:?}");

    let (mut client, _) = Client::greeted(library.clone(), json!({})).await;
    client.write("hello").await;
    assert_eq!(client.receive().await["error"]["code"], -32700);
    client.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nothing\"}").await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}), "a notification is not answered");
    assert!(client.leave().await.is_ok(), "it was a client");
    assert!(Client::connect(library).leave().await.is_ok(), "nothing at all is no error");
}

/// What is shown first is known before the skills are; everything else waits for them, or learns that they never come.
#[tokio::test]
async fn a_library_that_is_closed_shows_what_it_knows() {
    let ground = Ground::new();
    let nowhere = || options(|options| options.skill_list = SkillListPlacement::Nowhere);
    let library = Library::closed(nowhere(), Greeting::default());
    let (mut client, greeting) = Client::greeted(library.clone(), json!({})).await;
    assert_eq!(greeting.get("instructions"), None);
    assert_eq!(client.ask("tools/list", json!({})).await["result"]["tools"], json!([]));
    let id = client.request("prompts/list", json!({})).await;
    library.wait_until_wanted(std::time::Duration::from_secs(30)).await;
    library.give_up("the disk is gone");
    let answer = client.receive().await;
    assert_eq!((&answer["id"], &answer["error"]["message"]), (&json!(id), &json!("the disk is gone")));
    drop(ground);
}

#[tokio::test]
async fn other_skills_are_announced_and_served() {
    let ground = Ground::new();
    let library = ground.library(LibraryOptions::default());
    let (mut client, _) = Client::greeted(library.clone(), json!({})).await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    library.update(ground.catalog());
    ground.write("skills/more/SKILL.md", "---\nname: more\ndescription: Comes later.\n---\nMore.\n");
    library.update(ground.catalog());
    for what in ["tools", "prompts", "resources"] {
        assert_eq!(client.receive().await["method"], format!("notifications/{what}/list_changed"), "once");
    }
    let listed = client.call("list_skills", json!({})).await;
    assert!(said(&listed).contains("more: Comes later."), "{listed}");
}

/// A client that uses an id twice gets an answer to both; the second says what is wrong.
#[tokio::test]
async fn a_second_request_of_the_same_id_is_refused() {
    let ground = Ground::new();
    let (mut client, _) =
        Client::greeted(ground.library(LibraryOptions::default()), json!({ "elicitation": {} })).await;
    let params = json!({ "name": "run_skill_script", "arguments": run() });
    let call = json!({ "jsonrpc": "2.0", "id": "dup", "method": "tools/call", "params": params });
    let asked = |question: &Value| {
        assert_eq!(question["method"], "elicitation/create", "{question}");
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } })
    };
    let refused = |answer: &Value| {
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("dup"), &json!(-32600)), "{answer}");
        let words = answer["error"]["message"].as_str().unwrap();
        assert!(words.contains("a request with the id dup is already in progress"), "{words}");
    };
    // An id is free again when its request was answered.
    for is_cancelled in [false, true] {
        client.send(&call).await;
        let answer = asked(&client.receive().await);
        client.send(&call).await;
        refused(&client.receive().await);
        if is_cancelled {
            let params = json!({ "requestId": "dup" });
            let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            client.send(&cancel).await;
            // What is done for it may still go on.
            client.send(&call).await;
            refused(&client.receive().await);
        } else {
            client.send(&answer).await;
            let done = client.receive().await;
            assert_eq!((&done["id"], &done["result"]["isError"]), (&json!("dup"), &json!(true)), "{done}");
        }
    }
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}
