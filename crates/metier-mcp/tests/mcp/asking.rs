//! People who are asked through a client: back while it waits, or along with its next call. Nothing waits for them.

use metier_mcp::LibraryOptions;
use serde_json::{Value, json};

use crate::common::{Client, Ground, run, said};

/// More than a runtime has threads for.
const MANY: usize = 600;

async fn asked(client: &mut Client) -> Value {
    let question = client.receive().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    question
}

/// Whoever does not answer keeps no thread and no turn.
#[tokio::test]
async fn questions_without_an_answer_hold_up_nobody() {
    let ground = Ground::new();
    let library = ground.library(LibraryOptions::default());
    let mut waiting = Vec::new();
    for _ in 0..MANY {
        let (mut client, _) = Client::greeted(library.clone(), json!({ "elicitation": {} })).await;
        client.request("tools/call", json!({ "name": "run_skill_script", "arguments": run() })).await;
        asked(&mut client).await;
        waiting.push(client);
    }
    let (mut other, _) = Client::greeted(library, json!({})).await;
    let loaded = other.call("load_skill", json!({ "skill_name": "tally" })).await;
    assert_eq!(loaded["isError"], false, "{loaded}");
    // A client that waits for an answer can go on with something else, in the same session.
    let first = &mut waiting[0];
    let loaded = first.call("load_skill", json!({ "skill_name": "plain" })).await;
    assert_eq!(loaded["isError"], false, "{loaded}");
}

/// A client that declines may have asked a person or not; it is named.
#[tokio::test]
async fn a_no_says_whose_it_is() {
    let ground = Ground::new();
    let library = ground.library(LibraryOptions::default());
    let (mut client, _) = Client::greeted(library, json!({ "elicitation": {} })).await;
    for (answer, word) in [
        (json!({ "action": "decline" }), "the client (tester) was asked and declined"),
        (json!({ "action": "cancel" }), "metier approve tally --script scripts/run.sh"),
        (
            json!({ "action": "accept", "content": { "answer": "no" } }),
            "Do not try to do the same in another way",
        ),
    ] {
        let id =
            client.request("tools/call", json!({ "name": "run_skill_script", "arguments": run() })).await;
        let question = asked(&mut client).await;
        client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer })).await;
        let refused = client.receive().await;
        assert_eq!((&refused["id"], &refused["result"]["isError"]), (&json!(id), &json!(true)), "{refused}");
        assert!(said(&refused["result"]).contains(word), "{refused}");
    }
}

/// A call that is cancelled while a person thinks is over at once.
#[tokio::test]
async fn a_cancelled_call_waits_for_no_answer() {
    let ground = Ground::new();
    let library = ground.library(LibraryOptions::default());
    let (mut client, _) = Client::greeted(library, json!({ "elicitation": {} })).await;
    let id = client.request("tools/call", json!({ "name": "run_skill_script", "arguments": run() })).await;
    let question = asked(&mut client).await;
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    client.send(&cancelled).await;
    // The question is withdrawn, or not; the client goes on.
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } })).await;
    let ping = client.request("ping", json!({})).await;
    loop {
        let message = client.receive().await;
        if message["id"] == ping && message.get("method").is_none() {
            break;
        }
    }
    client.leave().await.unwrap();
}

/// A yes for longer than once is not about the arguments and the directory that the question shows.
#[tokio::test]
async fn each_choice_says_what_it_covers() {
    let ground = Ground::new();
    let library = ground.library(LibraryOptions::default());
    let (mut client, _) = Client::greeted(library, json!({ "elicitation": {} })).await;
    client.request("tools/call", json!({ "name": "run_skill_script", "arguments": run() })).await;
    let question = asked(&mut client).await;
    let choices = &question["params"]["requestedSchema"]["properties"]["answer"]["oneOf"];
    let titles: Vec<_> = choices.as_array().unwrap().iter().map(|choice| choice["title"].as_str()).collect();
    let expected = [
        "Yes, this once",
        "Yes, with any arguments, variables and input, in any directory, until this session ends",
        "Yes, with any arguments, variables and input, in any directory, until the skill changes",
        "No",
    ];
    assert_eq!(titles, expected.map(Some));
}

/// What a script reads and where its arguments end are part of what a person decides.
#[tokio::test]
async fn a_question_shows_the_input_and_both_ends_of_long_arguments() {
    let ground = Ground::new();
    let library = ground.library(LibraryOptions::default());
    let (mut client, _) = Client::greeted(library, json!({ "elicitation": {} })).await;
    let mut arguments = run();
    let long = format!("{} --evil", "a".repeat(600));
    arguments["args"] = json!([long, "--last"]);
    arguments["stdin"] = json!("echo STDIN-CODE-RAN\nrm \u{202e}x");
    client.request("tools/call", json!({ "name": "run_skill_script", "arguments": arguments })).await;
    let question = asked(&mut client).await;
    let message = question["params"]["message"].as_str().unwrap();
    for fact in [
        "input      27 bytes: 'echo STDIN-CODE-RAN\\nrm \u{fffd}x'",
        "… (107 characters left out) …",
        " --evil' --last\n",
        "variables  none",
    ] {
        assert!(message.contains(fact), "{fact}: {message}");
    }
}
