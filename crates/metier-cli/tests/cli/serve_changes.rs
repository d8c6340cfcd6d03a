//! What `metier serve` shows when skills come and go, when there are none, and under which names its tools are called.

use std::fs;

use serde_json::json;

use crate::serve::{Client, place, text};
use crate::support::Place;

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
    assert!(text(&listed).starts_with("more-"), "{listed}");
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
        let listed = client.call("list_skills", &json!({}));
        text(&listed).lines().any(|line| line.starts_with(&format!("{name}: ")))
    };
    for (name, command) in [("tally", "install"), ("plain", "install"), ("tally", "remove")] {
        let what = if command == "install" { format!("./skills/{name}") } else { name.to_owned() };
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
