//! Homes for the other agents, and what a home cannot close: C01 to O07, and leaks.

use std::fs;
use std::path::Path;

use metier_home::{Agent, Closing, Home, leaks};

use crate::common::Ground;

#[test]
fn c01_to_c05_codex_has_a_home_of_its_own_inside() {
    let ground = Ground::new();
    ground.write("host/.codex/auth.json", "{}");
    ground.write("host/.codex/skills/foreign/SKILL.md", "x");
    ground.write("elsewhere/auth.json", "{\"custom\":1}");
    let home = ground.home(Agent::Codex, &[("CODEX_API_KEY", "k")]);
    assert_eq!(home.skills_directory(), home.path().join(".agents/skills"));
    let own = home.path().join(".codex");
    assert_eq!(home.env()["CODEX_HOME"], own.to_str().unwrap());
    assert_eq!(home.env()["CODEX_API_KEY"], "k");
    assert_eq!(fs::read_to_string(own.join("auth.json")).unwrap(), "{}");
    assert!(!own.join("skills").exists(), "the host's skills stay where they are");
    let custom = ground.path("elsewhere");
    let home = ground.home(Agent::Codex, &[("CODEX_HOME", custom.to_str().unwrap())]);
    let auth = fs::read_to_string(home.path().join(".codex/auth.json")).unwrap();
    assert_eq!(auth, "{\"custom\":1}", "C03: that of whoever calls");
    let settings: toml::Table =
        fs::read_to_string(own.join("config.toml")).unwrap_or_default().parse().unwrap();
    assert_eq!(settings["skills"]["bundled"]["enabled"], toml::Value::Boolean(false));
}

#[test]
fn codex_is_told_of_each_skill_that_is_to_stay_out() {
    let ground = Ground::new();
    ground.skill("work/.agents/skills/foreign");
    let found = leaks(Agent::Codex, &ground.path("work"), &ground.path("system"));
    assert!(found[0].can_be_closed);
    let mut options = ground.options();
    options.is_hermetic = true;
    options.hidden = found.into_iter().flat_map(|leak| leak.skills).collect();
    let home = Home::new(Agent::Codex, &ground.host(&[]), &options).unwrap();
    let text = fs::read_to_string(home.path().join(".codex/config.toml")).unwrap();
    let settings: toml::Table = text.parse().unwrap();
    let config = &settings["skills"]["config"][0];
    let path = ground.path("work/.agents/skills/foreign/SKILL.md");
    assert_eq!(config["path"].as_str(), path.to_str());
    assert_eq!(config["enabled"], toml::Value::Boolean(false));
}

#[test]
fn o01_to_o05_opencode_gets_its_authentication_and_nothing_else() {
    let ground = Ground::new();
    ground.write("host/.local/share/opencode/auth.json", "{\"a\":1}");
    ground.write("host/.local/share/opencode/opencode.db", "db");
    ground.write("host/.aws/config", "x");
    std::os::unix::fs::symlink("config", ground.path("host/.aws/link")).unwrap();
    let unused = ground.home(Agent::OpenCode, &[]);
    assert!(!unused.path().join(".aws").exists(), "nobody said that it is used");
    let home = ground.home(Agent::OpenCode, &[("AWS_PROFILE", "work")]);
    assert_eq!(home.env()["AWS_PROFILE"], "work");
    let name = home.path().file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("opencode-agent-") && home.path().join(".claude").is_dir());
    assert!(home.path().join(".local/share/opencode/auth.json").is_file());
    assert!(!home.path().join(".local/share/opencode/opencode.db").exists());
    assert!(fs::symlink_metadata(home.path().join(".aws/link")).unwrap().is_symlink());
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        assert!(Path::new(&home.env()[name]).starts_with(home.path()), "{name}");
    }
    let bare = Ground::new();
    let home = bare.home(Agent::OpenCode, &[]);
    assert!(!home.path().join(".aws").exists() && !home.path().join(".local/share/opencode").exists());
}

/// A home for an agent that is to leave the working directory's skills alone, one of which calls itself something else.
fn closed(ground: &Ground, agent: Agent) -> Home {
    ground.skill("work/.agents/skills/foreign");
    ground.write("work/.agents/skills/other/SKILL.md", "---\nname: own-name\ndescription: Use it.\n---\n");
    ground.write("work/.agents/skills/broken/SKILL.md", "no frontmatter");
    let found = leaks(agent, &ground.path("work"), &ground.path("system"));
    let mut options = ground.options();
    options.is_hermetic = true;
    options.hidden = found.into_iter().flat_map(|leak| leak.skills).collect();
    options.hidden.push(ground.path("work/.agents/skills/gone/SKILL.md"));
    Home::new(agent, &ground.host(&[]), &options).unwrap()
}

fn json(home: &Home, path: &str) -> serde_json::Value {
    serde_json::from_slice(&fs::read(home.path().join(path)).unwrap()).unwrap()
}

#[test]
fn opencode_looks_nowhere_but_in_the_home() {
    let ground = Ground::new();
    let home = closed(&ground, Agent::OpenCode);
    for name in ["OPENCODE_DISABLE_PROJECT_CONFIG", "OPENCODE_DISABLE_EXTERNAL_SKILLS"] {
        assert_eq!(home.env()[name], "1");
        assert!(!ground.home(Agent::OpenCode, &[]).env().contains_key(name), "only when it is asked for");
    }
    let settings: serde_json::Value = serde_json::from_str(&home.env()["OPENCODE_CONFIG_CONTENT"]).unwrap();
    assert_eq!(settings["skills"]["paths"][0].as_str(), home.skills_directory().to_str());
    assert_eq!(settings["permission"]["skill"]["customize-opencode"], "deny");
}

#[test]
fn gemini_and_copilot_leave_what_they_bring_along() {
    let ground = Ground::new();
    let home = closed(&ground, Agent::Gemini);
    let names = json(&home, ".gemini/settings.json")["skills"]["disabled"].clone();
    assert_eq!(names, serde_json::json!(["skill-creator", "antigravity-support"]));
    let policy: toml::Table =
        fs::read_to_string(home.path().join(".gemini/policies/metier.toml")).unwrap().parse().unwrap();
    assert_eq!(policy["rule"][0]["toolName"].as_str(), Some("activate_skill"));
    let home = closed(&ground, Agent::Copilot);
    let names = json(&home, ".copilot/settings.json")["disabledSkills"].clone();
    assert_eq!(names, serde_json::json!(["customize-cloud-agent", "github-pr-media"]));
}

/// Skills deeper than right below a directory are found by those who look there, and a directory without any is covered all the same.
#[test]
fn everything_is_closed_that_an_agent_looks_into() {
    let ground = Ground::new();
    let nested = ground.skill("work/.agents/skills/group/more/nested").join("SKILL.md");
    fs::create_dir_all(ground.path("work/.goose/skills")).unwrap();
    let of = |agent| Closing::of(agent, &ground.path("work"), &ground.path("system"));
    assert_eq!(of(Agent::Codex).hidden, std::slice::from_ref(&nested));
    assert_eq!(
        of(Agent::Goose).covered,
        [".goose/skills", ".agents/skills"].map(|path| ground.path("work").join(path))
    );
    let found = leaks(Agent::Goose, &ground.path("work"), &ground.path("system"));
    assert_eq!((found.len(), found[0].skills.clone()), (1, vec![nested]));
    assert!(
        leaks(Agent::Gemini, &ground.path("work"), &ground.path("system")).is_empty(),
        "it does not look there"
    );
    // More than anybody would look at: not all can be named, so the directory must not be seen.
    let many = ground.path("work/.agents/skills/many");
    fs::create_dir_all(&many).unwrap();
    for number in 0..20_001 {
        fs::write(many.join(number.to_string()), "").unwrap();
    }
    assert_eq!(of(Agent::Codex).covered, [ground.path("work/.agents/skills")]);
}

#[test]
fn claude_code_lists_the_mounted_skills_and_all_of_them() {
    let ground = Ground::new();
    let home = ground.home(Agent::ClaudeCode, &[]);
    assert_eq!(home.env()["CLAUDE_CODE_DISABLE_BUNDLED_SKILLS"], "1");
    assert_eq!(json(&home, ".claude/settings.json")["skillListingBudgetFraction"], 0.5);
}

#[test]
fn what_a_home_cannot_close_is_said() {
    let ground = Ground::new();
    for directory in [".claude/skills", ".agents/skills", ".goose/skills", ".gemini/skills", ".github/skills"]
    {
        ground.skill(&format!("project/{directory}/foreign"));
        ground.skill(&format!("project/sub/{directory}/near"));
    }
    ground.skill("system/etc/claude-code/.claude/skills/managed");
    ground.skill("system/etc/codex/skills/managed");
    fs::create_dir_all(ground.path("project/sub/.codex/skills/empty")).unwrap();
    let count = |agent: Agent, directory: &str| {
        let found = leaks(agent, &ground.path(directory), &ground.path("system"));
        let closed = found.iter().filter(|leak| leak.can_be_closed).count();
        (found.len(), closed)
    };
    assert_eq!(count(Agent::ClaudeCode, "project/sub"), (3, 2), "here, above, and the machine's");
    assert_eq!(count(Agent::Codex, "project/sub"), (3, 3));
    assert_eq!(count(Agent::Goose, "project/sub"), (3, 0), "it does not look above");
    assert_eq!(count(Agent::Gemini, "project/sub").1, 0);
    assert_eq!(count(Agent::ClaudeCode, "elsewhere"), (1, 0));
}
