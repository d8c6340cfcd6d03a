//! The table of what each agent can do, in the documentation.

use metier_harness::{Acp, Capabilities, ClaudeCode, Codex, Harness, OpenAi, OpenAiSettings, SkillTools};

use metier_home::Agent;

use crate::ground::Ground;

#[test]
fn the_table_in_the_documentation_is_what_the_harnesses_say() {
    let document = include_str!("../../../../docs/harness.md");
    let ground = Ground::new();
    let acp = |agent| -> Box<dyn Harness> {
        let mut setup = ground.setup();
        setup.agent = agent;
        Box::new(Acp::new(setup).unwrap())
    };
    let all: Vec<Box<dyn Harness>> = vec![
        Box::new(ClaudeCode::new(ground.setup())),
        Box::new(Codex::new(ground.setup())),
        acp(Agent::OpenCode),
        acp(Agent::Gemini),
        acp(Agent::Goose),
        acp(Agent::Copilot),
        Box::new(OpenAi::new(OpenAiSettings::new(SkillTools::new(ground.path("homes"))))),
    ];
    let word = |is: bool| if is { "yes" } else { "no" };
    for harness in &all {
        let Capabilities { agent, skills, skill_tools, tools, permissions, interrupt, resume, .. } =
            Capabilities::of(&**harness);
        let cells = [skills, skill_tools, tools, permissions, interrupt, resume].map(word).join(" | ");
        let row = format!("| `{agent}` | {cells} |");
        assert!(document.contains(&row), "docs/harness.md lacks {row}");
    }
    let rows = document.lines().filter(|line| line.ends_with(" yes |") || line.ends_with(" no |")).count();
    assert_eq!(rows, all.len());
}
