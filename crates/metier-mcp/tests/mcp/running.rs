//! Scripts that are run by a fake executor: their answers, their approvals, their output and their end.

use std::fs::File;
use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use metier_sandbox::{Ending, Executor, Job, RunOutcome, SandboxError, Sink};
use serde_json::{Value, json};

use crate::common::{Client, Ground, run, said};

/// Prints what its arguments ask for: so many bytes, and what it reads; ends with exit code 3. Counts how often it ran.
#[derive(Default)]
struct Printing(AtomicUsize);

impl Executor for Printing {
    fn run(&self, job: &Job, _: &mut dyn Sink) -> Result<RunOutcome, SandboxError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let count = job.arguments.last().and_then(|last| last.to_str()?.parse().ok()).unwrap_or(0);
        let mut outcome = RunOutcome::new(Ending::Exited(3));
        outcome.output.bytes = "0123456789".bytes().cycle().take(count).collect();
        outcome.errors.bytes.clone_from(&job.input);
        Ok(outcome)
    }
}

/// Says that it has begun, and runs until it is cancelled.
struct Endless(mpsc::Sender<()>);

impl Executor for Endless {
    fn run(&self, job: &Job, _: &mut dyn Sink) -> Result<RunOutcome, SandboxError> {
        let event = job.cancel.event().unwrap().try_clone_to_owned().unwrap();
        self.0.send(()).unwrap();
        File::from(event).read_exact(&mut [0]).unwrap();
        Ok(RunOutcome::new(Ending::Cancelled))
    }
}

fn call(count: usize) -> Value {
    let mut arguments = run();
    (arguments["args"], arguments["stdin"]) = (json!([count]), json!("oops"));
    json!({ "name": "run_skill_script", "arguments": arguments })
}

/// Calls, and answers the question that must come.
async fn approved(client: &mut Client, call: Value, answer: &str) -> Value {
    let id = client.request("tools/call", call).await;
    let asked = client.receive().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let yes = json!({ "action": "accept", "content": { "answer": answer } });
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": yes })).await;
    let done = client.receive().await;
    assert_eq!(done["id"], id, "{done}");
    done["result"].clone()
}

async fn client(ground: &Ground, executor: Arc<dyn Executor + Send + Sync>) -> Client {
    Client::greeted(ground.library_with(executor), json!({ "elicitation": {} })).await.0
}

#[tokio::test]
async fn a_script_is_answered_with_what_it_printed_and_how_it_ended() {
    let ground = Ground::new();
    let mut client = client(&ground, Arc::<Printing>::default()).await;
    let ran = approved(&mut client, call(10), "once").await;
    let begins =
        "0123456789\n[stderr]\noops\n[exit code 3]\n[ran in an empty temporary directory, now removed; ";
    assert!(said(&ran).starts_with(begins) && ran["isError"] == false, "{ran}");
    let facts = &ran["_meta"]["io.metier/result"];
    assert_eq!((&facts["ending"], &facts["exit_code"]), (&json!({ "exited": 3 }), &json!(3)), "{facts}");
    assert_eq!((&facts["stdout_bytes"], &facts["stderr_bytes"]), (&json!(10), &json!(4)));
    assert_eq!(
        (&facts["skill_id"], &facts["script"]),
        (&json!("third_party/tally"), &json!("scripts/run.sh"))
    );
    assert!(facts["stdout_uri"].is_null() && facts.get("stdout").is_none(), "{facts}");
}

#[tokio::test]
async fn long_output_is_kept_for_the_client_whose_script_printed_it() {
    let ground = Ground::new();
    let library = ground.library_with(Arc::<Printing>::default());
    let (mut client, _) = Client::greeted(library.clone(), json!({ "elicitation": {} })).await;
    let ran = approved(&mut client, call(100_000), "once").await;
    assert!(said(&ran).len() < 34 << 10, "{}", said(&ran).len());
    let uri = ran["_meta"]["io.metier/result"]["stdout_uri"].clone();
    let read = |more: Value| {
        let mut arguments = json!({ "skill_name": "tally", "resource_name": uri });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let first = client.call("read_skill_resource", read(json!({}))).await;
    let rest = "\n[32768 of 100000 bytes; continue with range {\"offset\": 32768}]\n";
    assert!(said(&first).starts_with("0123456789") && said(&first).ends_with(rest), "{first}");
    let last = client.call("read_skill_resource", read(json!({ "range": { "offset": 99_995 } }))).await;
    assert_eq!(said(&last), "56789");
    let lines = client.call("read_skill_resource", read(json!({ "range": { "first_line": 1 } }))).await;
    assert!(said(&lines).contains("output is read by bytes") && lines["isError"] == true, "{lines}");
    let whole = client.ask("resources/read", json!({ "uri": uri })).await;
    assert_eq!(whole["result"]["contents"][0]["text"].as_str().unwrap().len(), 100_000);
    let (mut other, _) = Client::greeted(library, json!({})).await;
    let refused = other.call("read_skill_resource", read(json!({}))).await;
    assert!(said(&refused).contains("no longer stored"), "{refused}");
}

#[tokio::test]
async fn a_yes_lasts_as_long_as_it_says() {
    let ground = Ground::new();
    let ran = Arc::<Printing>::default();
    let mut client = client(&ground, ran.clone()).await;
    approved(&mut client, call(1), "once").await;
    approved(&mut client, call(1), "session").await;
    // Nobody is asked any more, with whatever arguments.
    let again = client.ask("tools/call", call(2)).await;
    assert!(said(&again["result"]).starts_with("01\n"), "{again}");
    assert_eq!(ran.0.load(Ordering::Relaxed), 3);
}

/// From 2026-07-28 on a client takes the question along and calls again with the answer.
#[tokio::test]
async fn a_question_can_be_taken_along() {
    let ground = Ground::new();
    let ran = Arc::<Printing>::default();
    let mut client = Client::connect(ground.library_with(ran.clone()));
    let call = |more: Value| {
        let mut params = call(1);
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let asked = client.ask("tools/call", call(json!({}))).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let yes = json!({ "action": "accept", "content": { "answer": "once" } });
    let with = json!({ "inputResponses": { "approval": yes }, "requestState": asked["requestState"] });
    let done = client.ask("tools/call", call(with.clone())).await["result"].clone();
    assert!(said(&done).starts_with("0\n"), "{done}");
    let again = client.ask("tools/call", call(with)).await["result"].clone();
    assert!(said(&again).contains("invalid or expired"), "{again}");
    assert_eq!(ran.0.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_cancelled_call_ends_its_script() {
    let ground = Ground::new();
    let (begun, begins) = mpsc::channel();
    let mut client = client(&ground, Arc::new(Endless(begun))).await;
    let mut endless = call(0);
    endless["_meta"] = json!({ "progressToken": "p" });
    let id = client.request("tools/call", endless).await;
    let asked = client.receive().await;
    let yes = json!({ "action": "accept", "content": { "answer": "once" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": yes })).await;
    tokio::task::spawn_blocking(move || begins.recv().unwrap()).await.unwrap();
    let progress = client.receive().await;
    assert_eq!(progress["params"]["message"], "running, 0 bytes of output", "{progress}");
    let params = json!({ "requestId": id });
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    // It would never end otherwise; the server waits for it, and records it.
    client.leave().await.unwrap();
}
