//! Permission requests of agents: the policy first, then the handler of the caller, else no.

use metier_harness::{AgentEvent, PermissionAnswer, Permissions, evaluate};
use metier_prompt::{Prompt, Rendering, Section, SkillMount};
use metier_session::Session;

use crate::ground::{Ground, denying, prompt, story};

const ASKS: &str =
    r#"ask 1 Bash '{"command":"make"}'; case $answer in *true*) end allowed;; *) end denied;; esac"#;

fn decisions(ground: &Ground) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let all = ground.recorded("skill.tool_call_decided");
    all.iter().map(|event| (text(&event["decision"]), text(&event["code"]))).collect()
}

#[test]
fn without_anybody_to_ask_it_is_denied() {
    let ground = Ground::new();
    let mut events: Vec<AgentEvent> = Vec::new();
    let agent = ground.answering(ASKS);
    let builder = evaluate(&agent, prompt("Build.")).on_event(|event| events.push(event.clone()));
    assert_eq!(builder.run(&mut ground.session()).unwrap().text, "denied");
    assert_eq!(story(&events), ["started", "permission_asked", "permission_answered"]);
    let answered = serde_json::to_value(&events[2]).unwrap();
    assert_eq!(answered["is_allowed"], false);
    assert_eq!(answered["reason"], "approval is needed, and no person can be asked");
    assert_eq!(decisions(&ground), [("deny".to_owned(), "nobody-to-ask".to_owned())]);
}

#[test]
fn the_caller_decides_what_the_policy_leaves_open() {
    let ground = Ground::new();
    let agent = ground.answering(ASKS);
    let mut seen = Vec::new();
    let answers = Permissions::from_fn(|request, decision| {
        seen.push((request.tool.clone(), request.arguments["command"].clone(), decision.code));
        Some(PermissionAnswer::Allow)
    });
    let answer = evaluate(&agent, prompt("Build.")).permissions(answers).run(&mut ground.session()).unwrap();
    assert_eq!(answer.text, "allowed");
    assert_eq!((seen[0].0.as_str(), &seen[0].1), ("Bash", &serde_json::json!("make")));
    assert_eq!(decisions(&ground), [("allow".to_owned(), "approved".to_owned())]);
    let refuse = Permissions::from_fn(|_, _| Some(PermissionAnswer::Deny { reason: "not now".to_owned() }));
    let mut session = Session::with_id(ground.options(), "s2").unwrap();
    let answer = evaluate(&agent, prompt("Build.")).permissions(refuse).run(&mut session).unwrap();
    assert_eq!(answer.text, "denied");
}

#[test]
fn a_deny_rule_wins_over_the_caller() {
    let ground = Ground::new();
    let agent = ground.answering(ASKS);
    let mut options = ground.options();
    options.policy = denying("Bash(make *)");
    let mut session = Session::with_id(options, "s1").unwrap();
    let builder = evaluate(&agent, prompt("Build.")).permissions(Permissions::allow());
    assert_eq!(builder.run(&mut session).unwrap().text, "denied");
    assert_eq!(decisions(&ground), [("deny".to_owned(), "denied-by-rule".to_owned())]);
}

/// Tools of the prompt are decided about when they are called, so the request itself is no question.
#[test]
fn a_tool_of_the_prompt_needs_no_permission() {
    let ground = Ground::new();
    let agent = ground
        .answering("ask 1 mcp__metier__add '{}'; case $answer in *true*) end allowed;; *) end denied;; esac");
    assert_eq!(evaluate(&agent, prompt("Go.")).run(&mut ground.session()).unwrap().text, "allowed");
    assert!(decisions(&ground).is_empty());
}

/// The prompt's skills are there to be read. Nothing else is, and a deny rule wins.
#[test]
fn reading_a_skill_of_the_prompt_needs_no_permission() {
    let rendering = |ground: &Ground| -> Rendering {
        let section =
            Section::new("task", "Task").body("Go.").skill(SkillMount::new(ground.skill("one", "", "One.")));
        Prompt::builder("tests", "one").section(section).build().unwrap().rendering()
    };
    for (file, expected) in [
        ("$HOME/.claude/skills/one/SKILL.md", "allowed"),
        ("$HOME/.claude/skills/one/../../settings.json", "denied"),
        ("$HOME/.claude/skills/other/SKILL.md", "denied"),
        // The agent has made a link there.
        ("$HOME/.claude/skills/one/link", "denied"),
        ("/etc/hostname", "denied"),
    ] {
        let ground = Ground::new();
        let script = format!(
            r#"chmod u+w "$HOME/.claude/skills/one"; ln -s /etc/hostname "$HOME/.claude/skills/one/link"
ask 1 Read "{{\"file_path\":\"{file}\"}}"; case $answer in *true*) end allowed;; *) end denied;; esac"#
        );
        let agent = ground.answering(&script);
        let answer = evaluate(&agent, rendering(&ground)).run(&mut ground.session()).unwrap();
        assert_eq!(answer.text, expected, "{file}");
        let mut options = ground.options();
        options.policy = denying("Read");
        let mut session = Session::with_id(options, "s2").unwrap();
        assert_eq!(evaluate(&agent, rendering(&ground)).run(&mut session).unwrap().text, "denied", "{file}");
    }
}
