//! Tool rules mean the same in every agent.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use metier_guard::{HOST_TOOLS, HostInput};
use metier_home::Agent;
use metier_skill::Tier;
use serde_json::{Value, json};

use super::ground::{Ground, about, refused};

/// Cases of tool rules: with the rules as those of an active skill, each call in each agent's own form.
#[test]
fn rules_mean_the_same_in_every_agent() {
    let vectors =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../metier-policy/tests/vectors/allowed-tools.json");
    let vectors: Value = serde_json::from_slice(&fs::read(vectors).unwrap()).unwrap();
    let cases: Vec<&Value> = vectors["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| {
            let text = case["rules"].as_str().unwrap_or("${");
            // Those about places of a skill or a plugin have others here.
            case["kind"] == "allowlist"
                && !text.contains("${")
                && !text.is_empty()
                && case["input"].is_string()
        })
        .collect();
    let name = |case: &Value| {
        format!("case-{}", case["id"].as_str().unwrap().to_lowercase().replace(['_', '.'], "-"))
    };
    let mut ground = Ground::new();
    for case in &cases {
        ground.skill(&name(case), &format!("allowed-tools: {}\n", case["rules"]));
    }
    let names: Vec<String> = cases.iter().map(|case| name(case)).collect();
    let skills: Vec<(&str, Tier)> = names.iter().map(|name| (name.as_str(), Tier::User)).collect();
    ground.run_with(&skills);
    let mut count = BTreeSet::new();
    for agent in Agent::ALL {
        for (case, name) in cases.iter().zip(&names) {
            let (tool, text) = (case["tool"].as_str().unwrap(), case["input"].as_str().unwrap());
            let rows = HOST_TOOLS.iter().filter(|row| row.agent == agent && row.rule == tool);
            let is_usable = |input| matches!(input, HostInput::Same | HostInput::Addresses(_));
            let Some(row) = rows.filter(|row| is_usable(row.input)).min_by_key(|row| row.name.len()) else {
                continue;
            };
            let example: Value = serde_json::from_str(row.example).unwrap();
            let member = example.as_object().unwrap().keys().next().unwrap().clone();
            if example[&member].is_array() {
                continue;
            }
            // A conversation of its own for each case.
            let id = json!(format!("{agent}-{name}"));
            let mut changes = about(agent, row.name, json!({ member: text }));
            let place = match agent {
                Agent::OpenCode => "/input/sessionID",
                Agent::Copilot => "/sessionId",
                _ => "/session_id",
            };
            changes.push((place, id.clone()));
            let mut load = match agent {
                Agent::ClaudeCode => about(agent, "Skill", json!({ "skill": name })),
                Agent::OpenCode => about(agent, "skill", json!({ "name": name })),
                Agent::Gemini => about(agent, "activate_skill", json!({ "name": name })),
                Agent::Goose => about(agent, "load_skill", json!({ "name": name })),
                Agent::Codex => {
                    let directory = ground.base.join("home/.claude/skills").join(name);
                    about(
                        agent,
                        "Bash",
                        json!({ "command": format!("cat {}/SKILL.md", directory.display()) }),
                    )
                }
                _ => about(agent, "skill", json!({ "skill": name })),
            };
            load.push((place, id));
            assert_eq!(refused(&ground.event_in(agent, &load)), None, "{agent} {name}");
            let reason = refused(&ground.event_in(agent, &changes));
            // What is typed into a program is seen by nobody in Codex, whatever the rules say.
            if reason.as_ref().is_some_and(|reason| reason.contains("calls no hook")) {
                continue;
            }
            assert_eq!(reason.is_none(), case["expect"] == "allow", "{agent} {case}: {reason:?}");
            count.insert((agent.name(), name.clone()));
        }
        let done = count.iter().filter(|(name, _)| *name == agent.name()).count();
        assert!(done >= 70, "{agent}: {done}");
    }
}
