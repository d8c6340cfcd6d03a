//! Calls that wait for other scripts to finish: nothing has begun for them, and they can be cancelled.

use std::sync::{Arc, Condvar, Mutex};

use metier_mcp::Library;
use metier_sandbox::{Ending, Executor, Job, RunOutcome, SandboxError, Sink};
use serde_json::{Value, json};

use crate::common::{Client, Ground, run, said};

const WAITING: &str = "waiting for another script to finish";

/// How many scripts of one client run at the same time; two clients fill all slots.
const OF_ONE: usize = 2;

/// Runs nothing, and ends only when it is told to.
#[derive(Default)]
struct Held {
    /// How many have started, and whether they may end.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Executor for Held {
    fn run(&self, _: &Job, _: &mut dyn Sink) -> Result<RunOutcome, SandboxError> {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| !state.1).unwrap());
        Ok(RunOutcome::new(Ending::Exited(0)))
    }
}

impl Held {
    fn release(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    fn started(&self) -> usize {
        self.state.lock().unwrap().0
    }

    async fn wait_for(self: &Arc<Self>, count: usize) {
        let held = Arc::clone(self);
        let wait = move || drop(held.changed.wait_while(held.state.lock().unwrap(), |state| state.0 < count));
        tokio::task::spawn_blocking(wait).await.unwrap();
    }
}

/// Scripts end also where a test fails: otherwise it would never be over.
struct Releases(Arc<Held>);

impl Drop for Releases {
    fn drop(&mut self) {
        self.0.release();
    }
}

fn call() -> Value {
    json!({ "name": "run_skill_script", "arguments": run(), "_meta": { "progressToken": "p" } })
}

/// Calls, and says yes for this once when it is asked.
async fn approve(client: &mut Client) -> u64 {
    let id = client.request("tools/call", call()).await;
    answer(client).await;
    id
}

async fn answer(client: &mut Client) {
    let asked = next(client, |message| message["method"] == "elicitation/create").await;
    let yes = json!({ "action": "accept", "content": { "answer": "once" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": yes })).await;
}

/// The next message of a kind. Those that come before it are progress and the answers to other calls, but no question.
async fn next(client: &mut Client, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message = client.receive().await;
        if is_it(&message) {
            return message;
        }
        let is_answer = message.get("method").is_none();
        assert!(is_answer || message["method"] == "notifications/progress", "{message}");
    }
}

async fn waits(client: &mut Client) {
    next(client, |message| message["params"]["message"] == WAITING).await;
}

async fn client(library: &Arc<Library>) -> Client {
    Client::greeted(Arc::clone(library), json!({ "elicitation": {} })).await.0
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_it_waits_has_used_nothing() {
    let (ground, held) = (Ground::new(), Arc::<Held>::default());
    let _ends = Releases(Arc::clone(&held));
    let library = ground.library_with(held.clone());
    let (mut first, mut second, mut third) =
        (client(&library).await, client(&library).await, client(&library).await);
    for _ in 0..OF_ONE {
        approve(&mut first).await;
    }
    held.wait_for(OF_ONE).await;
    // A client has half of the slots, and others the rest.
    let waiting = first.request("tools/call", call()).await;
    waits(&mut first).await;
    for _ in 0..OF_ONE {
        approve(&mut second).await;
    }
    held.wait_for(2 * OF_ONE).await;
    let cancelled = third.request("tools/call", call()).await;
    waits(&mut third).await;
    let params = json!({ "requestId": cancelled });
    third.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    let ping = third.request("ping", json!({})).await;
    next(&mut third, |message| message["id"] == ping).await;
    held.release();
    // Nobody was asked for the one that waited; now somebody is.
    answer(&mut first).await;
    next(&mut first, |message| message["id"] == waiting).await;
    let again = approve(&mut third).await;
    let ran = next(&mut third, |message| message["id"] == again).await;
    assert_eq!(ran["result"]["isError"], false, "{ran}");
    assert_eq!(held.started(), 2 * OF_ONE + 2, "the one that was cancelled was not started");
}

#[tokio::test]
async fn too_many_calls_that_wait_are_refused() {
    let (ground, held) = (Ground::new(), Arc::<Held>::default());
    let _ends = Releases(Arc::clone(&held));
    let library = ground.library_with(held.clone());
    let mut client = client(&library).await;
    for _ in 0..OF_ONE {
        approve(&mut client).await;
    }
    held.wait_for(OF_ONE).await;
    for _ in 0..16 {
        client.request("tools/call", json!({ "name": "run_skill_script", "arguments": run() })).await;
    }
    let last = client.request("tools/call", call()).await;
    let refused = next(&mut client, |message| message.get("id").is_some()).await;
    assert!(said(&refused["result"]).contains("16 calls are already waiting"), "{refused}");
    // Which of them comes last is not for the client to say.
    assert!(refused["id"].as_u64().unwrap() <= last, "{refused}");
    // Those that are cancelled leave the queue at once, while the scripts before them still run.
    for id in last - 16..=last {
        let params = json!({ "requestId": id });
        client
            .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
            .await;
    }
    let mut is_queued = false;
    for token in 0..100 {
        let mut call = call();
        call["_meta"]["progressToken"] = json!(token);
        let id = client.request("tools/call", call).await;
        let is_told = |message: &Value| {
            message["params"]["progressToken"] == token && message["params"]["message"] == WAITING
        };
        let told = next(&mut client, |message| message["id"] == id || is_told(message)).await;
        is_queued = is_told(&told);
        if is_queued {
            break;
        }
    }
    assert!(is_queued && held.started() == OF_ONE, "{}", held.started());
}
