//! An answer, with what was used, recorded and left behind.

use metier_harness::{AgentEvent, Cost, HarnessError, StopReason, evaluate};
use metier_prompt::{HostMount, Prompt, Section, WorkspaceSection};
use metier_skill::Coded as _;
use serde_json::json;

use crate::ground::{Ground, prompt, story};

#[test]
fn text_usage_and_events_of_an_answer() {
    let ground = Ground::new();
    let agent =
        ground.answering("say 'Hello '; used 10 5 0.0001; say world; used 30 15 0.00042; end 'Hello world'");
    let mut session = ground.session();
    let mut events: Vec<AgentEvent> = Vec::new();
    let answer = evaluate(&agent, prompt("Greet."))
        .on_event(|event| events.push(event.clone()))
        .run(&mut session)
        .unwrap();
    assert_eq!((answer.text.as_str(), answer.output.as_str()), ("Hello world", "Hello world"));
    assert_eq!((answer.usage.input, answer.usage.output, answer.turns), (30, 15, 2));
    assert_eq!(answer.cost, Some(Cost { microdollars: 420 }));
    assert_eq!((answer.stop, answer.session_id.as_deref()), (StopReason::EndTurn, Some("conversation-1")));
    assert_eq!((answer.version.as_deref(), answer.model.as_deref()), (Some("1.2"), Some("fake-model")));
    assert_eq!(answer.walls.names(), ["permissions"]);
    assert_eq!(story(&events), ["started", "Hello ", "usage", "world", "usage"]);
    assert!(events[0].raw.is_some() && !events[0].synthetic, "{:?}", events[0]);
    assert!(events[2].synthetic);
    assert_eq!((session.usage().input, session.usage().output), (30, 15));
    assert!(ground.left().is_empty(), "{:?}", ground.left());

    session.end().unwrap();
    let started = &ground.recorded("evaluation.started")[0];
    assert_eq!((&started["agent"], &started["prompt"]), (&json!("scripted"), &json!("tests/one")));
    let ended = &ground.recorded("evaluation.ended")[0];
    assert_eq!(ended["evaluation"], started["evaluation"]);
    let expected = json!(["scripted", "1.2", "fake-model", 30, 15, 420, 2, "end_turn", ["permissions"]]);
    let members =
        ["agent", "version", "model", "input", "output", "cost_microdollars", "turns", "stop", "walls"];
    assert_eq!(json!(members.map(|member| ended[member].clone())), expected);
    assert!(ended.get("code").is_none());
}

/// E50, E52: what the agent finds when it starts.
#[test]
fn the_agent_starts_in_a_home_and_an_empty_workspace_of_its_own() {
    let ground = Ground::new();
    let agent = ground.answering("say \"$HOME\"; say \"$(pwd)\"; say \"$(ls -A | wc -l)\"; end done");
    let mut events = Vec::new();
    let builder = evaluate(&agent, prompt("Look.")).on_event(|event| events.push(event.clone()));
    builder.run(&mut ground.session()).unwrap();
    let [_, home, working, files] = &story(&events)[..] else { panic!("{events:?}") };
    assert!(
        home.contains("claude-agent-") && home.starts_with(ground.path("homes").to_str().unwrap()),
        "{home}"
    );
    assert!(working.contains("metier-workspace-"), "{working}");
    assert_eq!(files, "0");
    assert!(ground.left().is_empty(), "{:?}", ground.left());
}

/// E52: an explicit working directory wins, and stays.
#[test]
fn a_given_working_directory_is_used_and_kept() {
    let ground = Ground::new();
    let mut agent = ground.answering("echo made > file; end \"$(pwd)\"");
    let work = ground.write("project/README.md", "x").parent().unwrap().canonicalize().unwrap();
    agent.setup.working = Some(work.clone());
    let answer = evaluate(&agent, prompt("Work.")).run(&mut ground.session()).unwrap();
    assert_eq!(answer.text, work.to_str().unwrap());
    assert!(work.join("file").exists());
    assert!(ground.left().is_empty());
}

/// E52: the files of the prompt's workspace are where the agent works, and the model is told which.
#[test]
fn the_workspace_of_the_prompt_is_where_the_agent_works() {
    let ground = Ground::new();
    ground.write("host/app/src/main.rs", "fn main() {}");
    ground.write("host/app/target/big", "x");
    ground.write("host/secret", "x");
    let workspace = |path: &str| {
        let mut repo = HostMount::new(ground.path(path)).mounted_at("repo");
        repo.exclude = vec!["target".to_owned()];
        let files = WorkspaceSection::new([repo]).allowed_roots([ground.path("host/app")]);
        let task = Section::new("task", "Task").body("Review repo/.");
        Prompt::builder("tests", "files").section(task).section(files).build().unwrap().rendering()
    };
    let script = "case $prompt in *'- `repo`, without'*) told=told;; esac\n\
                  echo changed >repo/src/main.rs; end \"$told $(find . -type f)\"";
    let agent = ground.answering(script);
    let answer = evaluate(&agent, workspace("host/app")).run(&mut ground.session()).unwrap();
    assert_eq!(answer.text, "told ./repo/src/main.rs");
    let kept = std::fs::read_to_string(ground.path("host/app/src/main.rs")).unwrap();
    assert_eq!(kept, "fn main() {}", "it is a copy");
    assert!(ground.left().is_empty(), "{:?}", ground.left());

    let error = evaluate(&agent, workspace("host/secret")).run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "home-workspace", "{error}");
    // A person's own directory is not written to.
    let mut agent = ground.answering(script);
    agent.setup.working = Some(ground.path("host"));
    let error = evaluate(&agent, workspace("host/app")).run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "home-no-workspace", "{error}");
    assert!(!ground.path("host/repo").exists() && ground.left().is_empty());
}

#[test]
fn what_an_agent_says_that_has_no_meaning_is_kept() {
    let ground = Ground::new();
    let agent = ground.answering("echo '{\"is\":\"new\",\"x\":[1]}'; echo noise; end done");
    let mut events = Vec::new();
    let builder = evaluate(&agent, prompt("Go.")).on_event(|event| events.push(event.clone()));
    builder.run(&mut ground.session()).unwrap();
    assert_eq!(story(&events), ["started", "other", "noise"]);
    assert_eq!(**events[1].raw.as_ref().unwrap(), json!({ "is": "new", "x": [1] }));
    let text = serde_json::to_value(&events[1]).unwrap();
    assert_eq!(text, json!({ "type": "other", "raw": { "is": "new", "x": [1] } }));
}

#[test]
fn an_error_that_the_agent_reports_is_no_answer() {
    let ground = Ground::new();
    let agent = ground.answering("used 3 0 0; printf '{\"is\":\"end\",\"error\":\"overloaded\"}\\n'");
    let mut session = ground.session();
    let error = evaluate(&agent, prompt("Go.")).run(&mut session).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("harness-agent", "Scripted reported an error: overloaded")
    );
    assert_eq!(error.spent().unwrap().usage.input, 3);
    session.end().unwrap();
    let ended = &ground.recorded("evaluation.ended")[0];
    assert_eq!((&ended["code"], &ended["input"]), (&json!("harness-agent"), &json!(3)));
}

#[test]
fn what_an_agent_lacks_is_an_error_before_the_start() {
    let ground = Ground::new();
    let agent = ground.agent("touch started; exit 1");
    let error = evaluate(&agent, prompt("Go.")).resume("earlier").run(&mut ground.session()).unwrap_err();
    assert!(matches!(error, HarnessError::Unsupported { what: "resuming a conversation", .. }), "{error}");
    assert!(ground.recorded("evaluation.started").is_empty());
}
