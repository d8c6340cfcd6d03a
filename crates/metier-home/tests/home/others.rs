//! Homes for the other agents, and what a home cannot close: C01 to O07, and leaks.

use std::fs;
use std::path::Path;

use metier_home::{Agent, Enclosure, Home, MountOptions, ProjectFile, leaks, project_files};
use metier_prompt::SkillMount;
use metier_skill::Coded as _;

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
fn conversations_outlive_a_home() {
    let ground = Ground::new();
    let mut options = ground.options();
    options.conversations = Some(ground.path("kept"));
    for (agent, place, kept) in [
        (Agent::ClaudeCode, ".claude/projects", "kept/claude"),
        (Agent::Codex, ".codex/sessions", "kept/codex"),
        (Agent::Copilot, ".copilot/session-state", "kept/copilot"),
    ] {
        let host = ground.host(&[("ANTHROPIC_API_KEY", "k")]);
        for number in [1, 2] {
            let home = Home::new(agent, &host, &options).unwrap();
            fs::write(home.path().join(place).join(format!("{number}.jsonl")), "x").unwrap();
        }
        assert_eq!(ground.listing(kept), ["1.jsonl", "2.jsonl"]);
        assert_eq!(ground.mode(kept), 0o700);
    }
    let error = Home::new(Agent::Goose, &ground.host(&[]), &options).unwrap_err();
    assert_eq!((error.code(), ground.homes()), ("home-conversations", 0));
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

/// The paths that are covered for an agent whose program is this one, below the ground.
fn covered(ground: &Ground, agent: Agent, program: &str, work: &str) -> Vec<String> {
    let closing =
        Enclosure::of(agent, &ground.path(program), &ground.path(work), &ground.path("system")).unwrap();
    let below =
        |path: &Path| path.strip_prefix(ground.0.path()).ok().map(|path| path.to_str().unwrap().to_owned());
    closing.covered.iter().filter_map(|path| below(path)).collect()
}

/// Skills deeper than right below a directory are found by those who look there, and a directory without any is covered all the same.
#[test]
fn everything_is_closed_that_an_agent_looks_into() {
    let ground = Ground::new();
    let nested = ground.skill("work/.agents/skills/group/more/nested").join("SKILL.md");
    fs::create_dir_all(ground.path("work/.goose/skills")).unwrap();
    let program = ground.path("bin/agent");
    let of = |agent| Enclosure::of(agent, &program, &ground.path("work"), &ground.path("system")).unwrap();
    assert_eq!(of(Agent::Codex).hidden, std::slice::from_ref(&nested));
    assert_eq!(covered(&ground, Agent::Goose, "bin/agent", "work"), ["work/.agents", "work/.goose"]);
    let found = leaks(Agent::Goose, &ground.path("work"), &ground.path("system"));
    assert_eq!((found.len(), found[0].skills.clone()), (1, vec![nested]));
    assert!(
        leaks(Agent::Gemini, &ground.path("work"), &ground.path("system")).is_empty(),
        "it does not look there"
    );
}

/// Files that agents read, in the working directory, above and below it, in any case; whatever the agent.
const READ: &[&str] = &[
    ".claude/commands/x.md",
    ".claude/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".github/copilot-instructions.md",
    ".github/hooks/x.json",
    ".goosehints",
    ".mcp.json",
    ".opencode/plugin/x.js",
    ".vscode/mcp.json",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "agents.md",
    "opencode.json",
];

#[test]
fn what_agents_read_is_covered_here_above_and_below() {
    let ground = Ground::new();
    for directory in ["me", "me/project", "me/project/work", "me/project/work/sub/deep"] {
        for file in READ {
            ground.write(&format!("{directory}/{file}"), "x");
        }
        for kept in ["README.md", ".github/workflows/ci.yml", ".vscode/settings.json", ".env", "CONTEXT.md"] {
            ground.write(&format!("{directory}/{kept}"), "x");
        }
    }
    std::os::unix::fs::symlink("README.md", ground.path("me/project/CLAUDE.local.md")).unwrap();
    for agent in Agent::ALL {
        let found = covered(&ground, agent, "bin/agent", "me/project/work");
        let is_covered = |path: &str| found.iter().any(|covered| Path::new(path).starts_with(covered));
        for directory in ["me", "me/project", "me/project/work", "me/project/work/sub/deep"] {
            for file in READ {
                assert!(is_covered(&format!("{directory}/{file}")), "{agent}: {directory}/{file}: {found:?}");
            }
            for kept in ["README.md", ".github/workflows/ci.yml", ".vscode/settings.json", ".env"] {
                assert!(!is_covered(&format!("{directory}/{kept}")), "{agent}: {directory}/{kept}");
            }
            let is_read = agent == Agent::OpenCode;
            assert_eq!(is_covered(&format!("{directory}/CONTEXT.md")), is_read, "{agent}");
        }
        assert!(is_covered("me/project/CLAUDE.local.md"), "a link");
    }
}

/// A directory that can be entered, but not listed, hides nothing from those who know the names.
#[test]
fn what_is_in_a_directory_that_cannot_be_listed_is_covered() {
    let ground = Ground::new();
    ground.write("closed/CLAUDE.md", "x");
    ground.write("closed/.github/hooks/x.json", "x");
    fs::create_dir_all(ground.path("closed/work")).unwrap();
    ground.set_mode("closed/.github", 0o311);
    ground.set_mode("closed", 0o311);
    let found = covered(&ground, Agent::Codex, "bin/agent", "closed/work");
    ground.set_mode("closed", 0o755);
    ground.set_mode("closed/.github", 0o755);
    assert_eq!(found, ["closed/.github/hooks", "closed/CLAUDE.md"]);
}

#[test]
fn what_the_program_needs_is_not_covered() {
    let ground = Ground::new();
    ground.write("me/.opencode/bin/opencode", "x");
    ground.write("me/.opencode/plugin/x.js", "x");
    ground.write("me/.opencode/opencode.json", "x");
    fs::create_dir_all(ground.path("me/work")).unwrap();
    let mut found = covered(&ground, Agent::OpenCode, "me/.opencode/bin/opencode", "me/work");
    found.sort();
    assert_eq!(found, ["me/.opencode/opencode.json", "me/.opencode/plugin"]);
}

#[test]
fn an_agent_is_not_started_inside_of_what_would_be_covered() {
    let ground = Ground::new();
    ground.skill("me/.claude/skills/mine");
    let work = ground.path("me/.claude/skills/mine");
    let error = Enclosure::of(Agent::Codex, Path::new("/bin/sh"), &work, &ground.path("system")).unwrap_err();
    assert_eq!(error.code(), "home-leaks");
    assert!(error.to_string().contains("me/.claude"), "{error}");
}

#[test]
fn what_an_agent_reads_of_a_project_is_reported() {
    let ground = Ground::new();
    for directory in ["me", "me/project/work", "me/project/work/sub"] {
        for file in READ {
            ground.write(&format!("{directory}/{file}"), "x");
        }
    }
    let of = |agent| -> Vec<String> {
        let files = project_files(agent, &ground.path("me/project/work"));
        let below =
            |file: ProjectFile| file.path.strip_prefix(ground.0.path()).ok()?.to_str().map(str::to_owned);
        files.into_iter().filter_map(below).collect()
    };
    let claude = of(Agent::ClaudeCode);
    for file in [
        "me/project/work/CLAUDE.md",
        "me/project/work/.claude/settings.json",
        "me/project/work/.claude/commands",
        "me/project/work/.mcp.json",
        "me/CLAUDE.md",
        "me/project/work/sub/CLAUDE.md",
    ] {
        assert!(claude.contains(&file.to_owned()), "{file}: {claude:?}");
    }
    assert!(!claude.contains(&"me/.claude/settings.json".to_owned()), "it is no project's: {claude:?}");
    assert!(of(Agent::OpenCode).contains(&"me/AGENTS.md".to_owned()));
    let codex = of(Agent::Codex);
    assert!(codex.contains(&"me/project/work/AGENTS.md".to_owned()), "{codex:?}");
    assert!(!codex.contains(&"me/AGENTS.md".to_owned()), "it stops at the repository: {codex:?}");
    let copilot = of(Agent::Copilot);
    assert!(copilot.contains(&"me/project/work/.claude/commands".to_owned()), "{copilot:?}");
    assert!(of(Agent::Gemini).contains(&"me/project/work/.gemini/settings.json".to_owned()));
    assert!(of(Agent::Goose).contains(&"me/project/work/.goosehints".to_owned()));
}

/// A home does not answer for a person whether a repository may start programs.
#[test]
fn gemini_is_not_told_to_trust_what_starts_programs() {
    const TRUST: &str = "GEMINI_CLI_TRUST_WORKSPACE";
    let ground = Ground::new();
    ground.skill("plain/.gemini/skills/one");
    ground.write("hostile/.gemini/settings.json", "{}");
    let home = |work: &str, is_hermetic: bool| {
        let mut options = ground.options();
        options.working_directory = Some(ground.path(work));
        options.is_hermetic = is_hermetic;
        Home::new(Agent::Gemini, &ground.host(&[]), &options).unwrap()
    };
    let plain = home("plain", false);
    assert!(plain.env().contains_key(TRUST) && plain.warnings().is_empty());
    let hostile = home("hostile", false);
    assert!(!hostile.env().contains_key(TRUST));
    assert_eq!(hostile.warnings()[0].code(), "home-untrusted");
    assert_eq!(json(&hostile, ".gemini/settings.json")["security"]["folderTrust"]["enabled"], true);
    // What the person has above the project is their own, and told.
    ground.write(".gemini/.env", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1\n");
    assert!(home("plain", false).env().contains_key(TRUST));
    let told = project_files(Agent::Gemini, &ground.path("plain"));
    assert!(told.iter().any(|file| file.path == ground.path(".gemini/.env")), "{told:?}");
    let unknown = ground.home(Agent::Gemini, &[]);
    assert!(!unknown.env().contains_key(TRUST), "it may be any directory");
    assert_eq!(unknown.warnings()[0].code(), "home-unknown-directory");
    let covered = home("hostile", true);
    assert!(covered.env().contains_key(TRUST) && covered.warnings().is_empty());
    assert_eq!(json(&covered, ".gemini/settings.json")["advanced"]["ignoreLocalEnv"], true);
}

/// Copilot counts UTF-16 code units, and drops what has too many without a word.
#[test]
fn a_description_that_copilot_drops_is_reported() {
    let ground = Ground::new();
    let skill = |name: &str, description: String| {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nText.\n");
        SkillMount::from_text(name, text)
    };
    let mounts = [skill("exact", "😀".repeat(512)), skill("over", "😀".repeat(513))];
    let warned = |agent: Agent| {
        let mut home = ground.home(agent, &[]);
        home.mount(&mounts, &MountOptions::default()).unwrap();
        home.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let warnings = warned(Agent::Copilot);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`over`") && warnings[0].contains("1026"), "{warnings:?}");
    assert!(warned(Agent::Goose).is_empty());
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

/// For a program that answers permission requests: all tools are asked for, but those that load the home's skills or change
/// nothing but what the agent shows.
#[test]
fn agents_can_be_told_to_ask() {
    let ground = Ground::new();
    let asking = |agent: Agent| {
        let mut options = ground.options();
        options.asks_permission = true;
        Home::new(agent, &ground.host(&[]), &options).unwrap()
    };
    let permission = |home: &Home| {
        let text = &home.env()["OPENCODE_CONFIG_CONTENT"];
        serde_json::from_str::<serde_json::Value>(text).unwrap()["permission"].clone()
    };
    let found = permission(&asking(Agent::OpenCode));
    let skill = serde_json::json!({ "*": "allow", "customize-opencode": "deny" });
    let expected =
        serde_json::json!({ "*": "ask", "todoread": "allow", "todowrite": "allow", "skill": skill });
    assert_eq!(found, expected);
    // The last rule that matches counts.
    assert_eq!(found.as_object().unwrap().keys().next().unwrap(), "*");
    assert_eq!(permission(&ground.home(Agent::OpenCode, &[]))["*"], serde_json::Value::Null);
    // A project's own rules would come after it.
    let variables = asking(Agent::OpenCode);
    assert_eq!(variables.env()["OPENCODE_DISABLE_PROJECT_CONFIG"], "1");
    assert!(!variables.env().contains_key("OPENCODE_DISABLE_EXTERNAL_SKILLS"), "skills are not settings");
    let policy = |home: &Home| -> toml::Table {
        fs::read_to_string(home.path().join(".gemini/policies/metier.toml")).unwrap().parse().unwrap()
    };
    let rules = policy(&asking(Agent::Gemini))["rule"].as_array().unwrap().clone();
    assert_eq!((rules[2]["toolName"].as_str(), rules[2]["decision"].as_str()), (Some("*"), Some("ask_user")));
    assert!(rules[..2].iter().all(|rule| rule["priority"].as_integer() > rules[2]["priority"].as_integer()));
    assert_eq!(policy(&ground.home(Agent::Gemini, &[]))["rule"].as_array().unwrap().len(), 1);
}
