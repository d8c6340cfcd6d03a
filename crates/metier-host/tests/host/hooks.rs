//! Hooks of all agents, answered as `metier hook` does: which skill is active when, what is decided, what is kept and recorded.

#[path = "hooks/ground.rs"]
mod ground;
#[path = "hooks/rules.rs"]
mod rules;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use metier_guard::{GuardContext, HOST_TOOLS, HostInput};
use metier_home::Agent;
use metier_host::{HookRequest, answer_hook};
use metier_journal::{JournalReader, RecordQuery};
use metier_skill::Tier;
use serde_json::{Value, json};

use self::ground::{Ground, Words, before, recorded, refused, words};

#[test]
fn a_skill_limits_every_agent_until_the_conversation_ends() {
    for agent in Agent::ALL {
        let ground = Ground::with_history();
        let Words { end, .. } = words(agent);
        let free = ["git push", "rm x", "curl https://example.com"];
        for command in free {
            assert_eq!(ground.shell(agent, command), None, "{agent}: no skill is active");
        }
        assert!(!ground.states().exists() && ground.events().is_empty(), "{agent}: nothing was opened");
        assert_eq!(ground.load(agent, "history"), None, "{agent}");
        assert_eq!(ground.shell(agent, "git log --oneline"), None, "{agent}");
        for command in
            ["git push", "git log; rm x", "git log > x", "git log $(rm x)", "curl https://example.com"]
        {
            let reason = ground.shell(agent, command).unwrap_or_else(|| panic!("{agent}: {command}"));
            assert!(reason.contains("`history`"), "{agent}: {reason}");
        }
        for row in HOST_TOOLS.iter().filter(|row| row.agent == agent) {
            let is_outside = ["Write", "Edit", "NotebookEdit", "WebFetch", "WebSearch", "Agent", "Skill"]
                .contains(&row.rule);
            if is_outside || row.input == HostInput::Hidden {
                let arguments = serde_json::from_str(row.example).unwrap();
                assert!(ground.call(agent, row.name, arguments).is_some(), "{agent} {}", row.name);
            }
        }
        assert_eq!(ground.states().read_dir().unwrap().count(), 1);
        // Each decision is recorded with the digest of the skill.
        let events = ground.events();
        let activated = events.iter().find(|event| event["kind"] == "skill.activated").unwrap();
        let decided: Vec<_> =
            events.iter().filter(|event| event["kind"] == "skill.tool_call_decided").collect();
        assert!(decided.len() > 7);
        for event in decided.iter().skip(1) {
            assert_eq!(event["skills"]["history"], activated["tree_digest"], "{agent}");
        }
        // What happens at the end differs: a session ends, or it is compacted.
        let session = recorded(agent, &before(agent));
        let id = ["/session_id", "/sessionId", "/input/sessionID"]
            .iter()
            .find_map(|place| session.pointer(place))
            .unwrap();
        let input = json!({
            "session_id": id, "sessionId": id, "event": { "properties": { "sessionID": id } },
        });
        ground.raw(agent, end, &input.to_string());
        for command in free {
            assert_eq!(ground.shell(agent, command), None, "{agent}: no skill is active any more");
        }
        assert_eq!(ground.states().read_dir().unwrap().count(), 0, "{agent}");
        let kinds = ground.kinds();
        assert_eq!(kinds.first().map(String::as_str), Some("session.started"), "{agent}");
        assert_eq!(&kinds[kinds.len() - 2..], ["skill.deactivated", "session.ended"], "{agent}");
    }
}

#[test]
fn reading_the_file_of_a_skill_activates_it() {
    let readers = |home: &str| {
        [
            ("Read", json!({ "file_path": format!("{home}/.claude/skills/history/SKILL.md") })),
            ("Read", json!({ "file_path": "~/.claude/skills/history/SKILL.md" })),
            ("Bash", json!({ "command": format!("cat {home}/.claude/skills/history/SKILL.md") })),
            ("Bash", json!({ "command": "head -n 40 ~/.claude/skills/history/SKILL.md | tail -n 5" })),
            ("Bash", json!({ "command": "cd ~/.claude/skills/history && sed -n 1,5p SKILL.md" })),
            ("Bash", json!({ "command": "cat ~/.claude/skills/hist*/SKILL.md # history" })),
            ("Bash", json!({ "command": "cd ~/.claude/skills/history; cat *" })),
            ("Bash", json!({ "command": "F=SKILL.md; cat \"$HOME/.claude/skills/history/$F\"" })),
        ]
    };
    for index in 0..8 {
        let ground = Ground::with_history();
        let (tool, arguments) = readers(ground.base.join("home").to_str().unwrap())[index].clone();
        assert_eq!(ground.call(Agent::ClaudeCode, tool, arguments.clone()), None, "{arguments}");
        assert!(ground.shell(Agent::ClaudeCode, "rm x").is_some(), "{arguments}");
    }
    let ground = Ground::with_history();
    ground.write("repo/docs/SKILL.md", "no skill");
    for command in
        ["cat docs/SKILL.md", "ls ~/.claude/skills", "cat ~/.claude/skills/history/other.txt", "echo history"]
    {
        assert_eq!(ground.shell(Agent::ClaudeCode, command), None);
        assert_eq!(ground.shell(Agent::ClaudeCode, "rm x"), None, "{command}");
    }
}

#[test]
fn a_prompt_that_names_a_skill_activates_it() {
    let cases = [
        (Agent::ClaudeCode, "UserPromptExpansion-mention", "/command_name", "history"),
        (Agent::ClaudeCode, "UserPromptSubmit-mention", "/prompt", "/history of this"),
        (Agent::Codex, "UserPromptSubmit-mention", "/prompt", "look with $history, and tell me $HOME"),
        (Agent::Goose, "UserPromptSubmit-mention", "/message", "/history of this"),
        (Agent::OpenCode, "command.execute.before-mention", "/input/command", "history"),
    ];
    for (agent, file, place, text) in cases {
        let ground = Ground::with_history();
        let mut session = recorded(agent, &before(agent));
        let place_of_id = if agent == Agent::OpenCode { "/input/sessionID" } else { "/session_id" };
        let id = session.pointer_mut(place_of_id).unwrap().take();
        let answer = ground.event(agent, file, &[(place, json!(text)), (place_of_id, id.clone())]);
        assert_eq!(refused(&answer), None, "{agent} {file}");
        assert!(ground.shell(agent, "rm x").is_some(), "{agent} {file}");
        let activated = ground.events().into_iter().find(|event| event["kind"] == "skill.activated").unwrap();
        assert_eq!(activated["trigger"], "user");
        let other = Ground::with_history();
        other.event(agent, file, &[(place, json!("nothing of the kind")), (place_of_id, id)]);
        assert_eq!(other.shell(agent, "rm x"), None, "{agent} {file}");
        assert!(!other.states().exists());
    }
}

#[test]
fn subagents_have_the_skills_of_the_conversation_that_started_them() {
    let ground = Ground::with_history();
    // In Claude Code they have its id. In Copilot they name it, in OpenCode it was told before.
    for agent in [Agent::ClaudeCode, Agent::Copilot, Agent::OpenCode] {
        ground.load(agent, "history");
    }
    let forbidden = |agent, file: &str| {
        let place = if agent == Agent::Copilot { "/toolArgs/command" } else { "/tool_input/command" };
        refused(&ground.event(agent, file, &[(place, json!("rm x"))]))
    };
    assert!(forbidden(Agent::ClaudeCode, "PreToolUse-Bash-in-subagent").is_some());
    assert!(forbidden(Agent::Copilot, "preToolUse-bash-in-subagent").is_some());
    let parent = recorded(Agent::OpenCode, "tool.execute.before-bash")["input"]["sessionID"].clone();
    let info = json!({ "id": "child", "parentID": parent });
    ground.event(
        Agent::OpenCode,
        "event.session.created",
        &[("/event/properties/info", info), ("/event/properties/sessionID", json!("child"))],
    );
    let in_child = |command: &str| {
        let changes = [("/input/sessionID", json!("child")), ("/output/args", json!({ "command": command }))];
        refused(&ground.event(Agent::OpenCode, "tool.execute.before-bash", &changes))
    };
    assert!(in_child("rm x").is_some() && in_child("git log --stat").is_none());
    // It does not end with the subagent.
    assert!(ground.shell(Agent::OpenCode, "rm x").is_some());
}

#[test]
fn several_skills_limit_together_and_one_without_a_list_does_not() {
    let ground = Ground::with_history();
    ground.skill("plain", "");
    ground.skill("build", "allowed-tools: Bash(git *) Bash(make *) Skill\n");
    let agent = Agent::ClaudeCode;
    ground.load(agent, "plain");
    assert_eq!(ground.shell(agent, "rm x"), None);
    ground.load(agent, "build");
    assert_eq!((ground.shell(agent, "make all"), ground.shell(agent, "git log")), (None, None));
    assert_eq!(ground.load(agent, "history"), None);
    assert_eq!(ground.shell(agent, "git log -3"), None);
    assert!(ground.shell(agent, "make all").is_some() && ground.shell(agent, "git push").is_some());
    let active = ground.metier().guarded_conversations().unwrap();
    assert_eq!(active[0].skills.len(), 3);
    // The person ends one, then all.
    let metier = ground.metier();
    assert_eq!(metier.deactivate_guarded(Some("history"), None).unwrap()[0].1, ["history"]);
    assert_eq!(ground.shell(agent, "make all"), None);
    assert!(ground.shell(agent, "rm x").is_some());
    assert!(metier.deactivate_guarded(None, Some("another")).unwrap().is_empty());
    assert_eq!(metier.deactivate_guarded(None, None).unwrap()[0].1, ["build", "plain"]);
    assert_eq!(ground.shell(agent, "rm x"), None);
    assert_eq!(ground.states().read_dir().unwrap().count(), 0);
}

#[test]
fn whatever_fails_is_a_refusal() {
    let agent = Agent::ClaudeCode;
    let ground = Ground::with_history();
    for input in ["", "{", "[]", "{}", r#"{"session_id":"s"}"#, r#"{"session_id":"s","tool_name":""}"#] {
        assert!(refused(&ground.raw(agent, "PreToolUse", input)).is_some(), "{input}");
        assert_eq!(ground.raw(agent, "PostToolUse", input), json!({}), "it has happened: {input}");
    }
    ground.load(agent, "history");
    let state = ground.states().read_dir().unwrap().next().unwrap().unwrap().path();
    // The state is damaged.
    let whole = fs::read(state.join("state")).unwrap();
    fs::write(state.join("state"), &whole[1..]).unwrap();
    assert!(ground.shell(agent, "git log").unwrap().contains("is damaged"));
    assert!(ground.load(agent, "history").is_some());
    fs::write(state.join("state"), &whole).unwrap();
    assert_eq!(ground.shell(agent, "git log"), None);
    // The settings are wrong.
    ground.write("home/.config/metier/config.toml", "policy = 3");
    assert!(ground.shell(agent, "git log").is_some());
    ground.write("home/.config/metier/config.toml", "journal = \"/dev/full/x\"");
    assert!(ground.shell(agent, "git log").unwrap().contains("metier could not decide"), "no journal");
    ground.write("home/.config/metier/config.toml", "");
    assert_eq!(ground.shell(agent, "git log"), None);
    // Another skill that cannot be read any more.
    ground.skill("late", "");
    ground.load(agent, "plain");
    ground.write("home/.claude/skills/late/SKILL.md", "no frontmatter");
    ground.metier().deactivate_guarded(None, None).unwrap();
    assert_eq!(ground.shell(agent, "rm x"), None);
}

#[test]
fn a_state_that_cannot_be_written_is_a_refusal() {
    let ground = Ground::with_history();
    let agent = Agent::ClaudeCode;
    // Root could write to a directory without the permission, so a file is in its place.
    ground.write("home/.local/state/metier/guard", "");
    assert!(ground.shell(agent, "git log").is_some(), "it cannot be said whether a skill is active");
    fs::remove_file(ground.states()).unwrap();
    assert_eq!(ground.load(agent, "history"), None);
    let state = ground.states().read_dir().unwrap().next().unwrap().unwrap().path();
    fs::create_dir(state.join("next")).unwrap();
    assert!(ground.shell(agent, "git log").is_some(), "what was decided cannot be kept");
}

#[test]
fn a_thousand_calls_leave_nothing_behind() {
    let ground = Ground::with_history();
    for number in 0..1_000 {
        let agent = Agent::ALL[number % 6];
        assert_eq!(ground.shell(agent, &format!("echo {number}")), None);
    }
    let left: Vec<_> =
        fs::read_dir(ground.base.join("home")).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(left, [".claude"], "no state, no journal, no index");
}

#[test]
fn a_policy_denies_without_any_skill_and_its_mode_holds() {
    let agent = Agent::ClaudeCode;
    let ground = Ground::with_history();
    ground.write(
        "home/.config/metier/config.toml",
        "[policy]\ndeny = [\"Bash(curl *)\", \"Read(//etc/**)\"]\n",
    );
    assert!(ground.shell(agent, "cd x && curl https://example.com").unwrap().contains("Bash(curl *)"));
    assert!(ground.call(agent, "Read", json!({ "file_path": "/etc/passwd" })).is_some());
    assert!(ground.shell(agent, "cat /etc/passwd").is_some());
    assert_eq!(ground.shell(agent, "ls"), None);
    assert_eq!(ground.kinds(), ["skill.tool_call_decided"; 3], "refusals are recorded");
    assert!(!ground.states().exists());

    ground.write("home/.config/metier/config.toml", "[policy]\nmode = \"advisory\"\n");
    ground.load(agent, "history");
    assert_eq!(ground.shell(agent, "rm x"), None);
    assert_eq!(ground.events().last().unwrap()["code"], "advisory");

    ground.write("home/.config/metier/config.toml", "[policy]\nmode = \"pre_approve\"\n");
    let ask = |event: &str, command: &str| {
        let mut input =
            recorded(agent, if event == "PreToolUse" { "PreToolUse-Bash" } else { "PermissionRequest-Bash" });
        input["session_id"] = recorded(agent, "PreToolUse-Bash")["session_id"].clone();
        input["tool_input"]["command"] = json!(command);
        ground.raw(agent, event, &input.to_string())
    };
    assert_eq!(ask("PreToolUse", "git log -1")["hookSpecificOutput"]["permissionDecision"], "allow");
    assert_eq!(ask("PermissionRequest", "git log -1")["hookSpecificOutput"]["decision"]["behavior"], "allow");
    assert_eq!(
        (ask("PreToolUse", "rm x"), ask("PermissionRequest", "rm x")),
        (json!({}), json!({})),
        "asked as ever"
    );

    ground.write("home/.config/metier/config.toml", "");
    assert_eq!(ask("PermissionRequest", "git log -1"), json!({}), "a limit approves nothing");
    assert_eq!(ask("PermissionRequest", "rm x")["hookSpecificOutput"]["decision"]["behavior"], "deny");
}

#[test]
fn what_switches_the_guard_off_is_refused_without_any_skill() {
    let ground = Ground::with_history();
    for agent in Agent::ALL {
        for command in [
            "metier guard deactivate",
            "/usr/bin/metier guard remove claude",
            "echo '{}' > ~/.claude/settings.json",
            "rm -r ~/.local/state/metier/guard",
            "cd ~/.codex && sed -i d hooks.json",
        ] {
            assert!(ground.shell(agent, command).is_some(), "{agent}: {command}");
        }
        for command in ["metier guard status", "cat ~/.claude/settings.json", "ls ~/.local/state/metier"] {
            assert_eq!(ground.shell(agent, command), None, "{agent}: {command}");
        }
    }
}

#[test]
fn in_a_run_only_its_skills_count_and_they_must_be_unchanged() {
    let agent = Agent::ClaudeCode;
    let mut ground = Ground::with_history();
    ground.skill("other", "allowed-tools: Read\n");
    ground.skill("theirs", "allowed-tools: Bash(git log *) Skill\n");
    ground.run_with(&[("history", Tier::User), ("theirs", Tier::ThirdParty)]);
    ground.load(agent, "other");
    assert_eq!(ground.shell(agent, "rm x"), None, "not a skill of this run");
    assert!(!ground.states().exists(), "the states of a run are its own");
    let session = |ground: &Ground| {
        let mut reader = JournalReader::open(&ground.metier().journal_address().unwrap()).unwrap();
        let records = reader.query(&RecordQuery::default()).unwrap();
        records.into_iter().filter_map(|record| record.session).collect::<BTreeSet<_>>()
    };
    assert_eq!(
        session(&ground),
        BTreeSet::from(["run-1".to_owned()]),
        "recorded under the session of the run"
    );
    ground.load(agent, "theirs");
    assert!(ground.shell(agent, "rm x").is_some());
    let activated = ground.events().into_iter().find(|event| event["kind"] == "skill.activated").unwrap();
    assert_eq!(activated["tier"], "third_party");
    ground.skill("history", "allowed-tools: Bash\n");
    let reason = ground.load(agent, "history").unwrap();
    assert!(reason.contains("history"), "{reason}");
    assert!(!ground.kinds().contains(&"session.started".to_owned()), "the run began it");
}

#[test]
fn results_are_compared_with_what_was_allowed() {
    let mut ground = Ground::with_history();
    ground.run_with(&[("history", Tier::User)]);
    for agent in Agent::ALL {
        let Words { after, shell, .. } = words(agent);
        let result = |command: &str, id: &str| {
            let (input, call) = match agent {
                Agent::OpenCode => ("/input/args", "/input/callID"),
                Agent::Copilot => ("/toolArgs", "/sessionId"),
                Agent::Gemini => ("/tool_input", "/session_id"),
                Agent::Goose => ("/tool_input", "/tool_call_id"),
                _ => ("/tool_input", "/tool_use_id"),
            };
            let mut changes = vec![(input, json!({ "command": command }))];
            if !matches!(agent, Agent::Copilot | Agent::Gemini) {
                changes.push((call, json!(id)));
            }
            ground.event(agent, &format!("{after}-{shell}"), &changes);
        };
        let codes = || -> Vec<String> {
            let events = ground.events().into_iter();
            let failed = events.filter(|event| event["kind"] == "check.failed" && event["check"] == "guard");
            failed.map(|event| event["code"].as_str().unwrap().to_owned()).collect()
        };
        let before = codes().len();
        ground.shell(agent, "git log -2");
        let own = recorded(agent, &format!("{}-{shell}", words(agent).before));
        let id = ["/tool_use_id", "/tool_call_id", "/input/callID"]
            .iter()
            .find_map(|place| own.pointer(place)?.as_str());
        result("git log -2", id.unwrap_or_default());
        assert_eq!(codes().len(), before, "{agent}: as it was allowed");
        ground.shell(agent, "git log -2");
        result("git push", id.unwrap_or_default());
        assert_eq!(codes().last().map(String::as_str), Some("call-changed"), "{agent}");
        result("git push", "never-asked");
        assert_eq!(codes().last().map(String::as_str), Some("call-without-hook"), "{agent}");
        assert_eq!(codes().len(), before + 2, "{agent}");
    }
}

#[test]
fn what_an_agent_asks_nobody_about_is_refused_while_a_skill_is_active() {
    let ground = Ground::new();
    ground.skill("any", "allowed-tools: Bash Agent Read\n");
    for (agent, tool, arguments) in [
        (Agent::Goose, "delegate", json!({ "instructions": "x" })),
        (Agent::Codex, "Bash", json!({ "command": "python3 -i" })),
    ] {
        assert_eq!(ground.call(agent, tool, arguments.clone()), None, "{agent}: no skill is active");
        ground.load(agent, "any");
        assert!(ground.call(agent, tool, arguments).unwrap().contains("calls no hook"), "{agent}");
        assert_eq!(ground.shell(agent, "python3 x.py"), None, "{agent}");
    }
}

#[test]
fn a_skill_whose_rules_cannot_apply_is_not_loaded() {
    let ground = Ground::with_history();
    let rule = "[[policy.rules]]\nskill = \"history\"\nactivate = \"deny\"\n";
    ground.write("home/.config/metier/config.toml", rule);
    for agent in Agent::ALL {
        assert!(ground.load(agent, "history").is_some(), "{agent}");
        assert_eq!(ground.shell(agent, "rm x"), None, "{agent}: it is not active");
    }
    let refuse = |agent, file: &str, place: &str, text: &str| {
        refused(&ground.event(agent, file, &[(place, json!(text))]))
    };
    assert!(refuse(Agent::ClaudeCode, "UserPromptExpansion-mention", "/command_name", "history").is_some());
    assert!(refuse(Agent::Codex, "UserPromptSubmit-mention", "/prompt", "$history").is_some());
    // Goose cannot stop a prompt: the model has the text, and nothing is allowed.
    refuse(Agent::Goose, "UserPromptSubmit-mention", "/message", "/history");
    assert!(ground.shell(Agent::Goose, "git log").is_some());
}

/// The skill's rules apply from that call on, but not to it.
#[test]
fn a_call_that_loads_a_skill_may_ask_for_permission() {
    let ground = Ground::with_history();
    assert_eq!(ground.load(Agent::Codex, "history"), None);
    let skill_md = ground.base.join("home/.claude/skills/history/SKILL.md");
    let ask = |command: String| {
        let answer = ground.event(
            Agent::Codex,
            "PermissionRequest-Bash",
            &[
                ("/session_id", recorded(Agent::Codex, &before(Agent::Codex))["session_id"].clone()),
                ("/tool_input", json!({ "command": command })),
            ],
        );
        answer.pointer("/hookSpecificOutput/decision/behavior").cloned()
    };
    assert_eq!(ask(format!("cat {}", skill_md.display())), None);
    assert_eq!(ask(format!("rm {}", skill_md.display())), Some(json!("deny")));
}

#[test]
fn the_guard_of_a_run_is_put_into_a_home_and_proves_itself() {
    let mut ground = Ground::with_history();
    let metier = ground.metier();
    for agent in Agent::ALL {
        let home = ground.base.join(format!("homes/{agent}"));
        fs::create_dir_all(home.join(".claude")).unwrap();
        fs::write(home.join(".claude/settings.json"), r#"{"env":{"A":"1"},"hooks":{"Stop":[]}}"#).unwrap();
        let guard = metier.guard_run(agent, "run-2", &[], Path::new("/opt/metier")).unwrap();
        guard.install(&home).unwrap();
        let line = guard.program().words(metier_guard::hooks_of(agent).next().unwrap()).join(" ");
        let context = PathBuf::from(line.split(' ').nth(3).unwrap());
        let read = GuardContext::parse(&context, &fs::read_to_string(&context).unwrap()).unwrap();
        assert_eq!(read.variables["HOME"], ground.base.join("home").to_str().unwrap());
        assert_eq!(read.variables["METIER_CONFIG"], "", "variables of the agent's process do not count");
        ground.context = Some(context.clone());
        assert_eq!(ground.shell(agent, "ls"), None);
        let proof = guard.proof().unwrap();
        assert_eq!((proof.calls.len(), proof.failures.len()), (1, 0), "{agent}");
        let call = &proof.calls[0];
        assert!(proof.unasked([(call.id.as_deref(), call.tool.as_str(), false)]).is_empty());
        assert_eq!(proof.unasked([(Some("x"), "write_stdin", false)]), ["write_stdin"]);
        drop(guard);
        assert!(!context.exists(), "{agent}");
    }
    let claude = fs::read_to_string(ground.base.join("homes/claude/.claude/settings.json")).unwrap();
    let claude: Value = serde_json::from_str(&claude).unwrap();
    assert_eq!(claude["env"]["A"], "1");
    assert!(
        claude["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().contains("/opt/metier")
    );
    let left = fs::read_dir(ground.base.join("home/.local/state/metier/guarded-runs")).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn skills_that_fit_are_named_if_that_is_wanted() {
    let ground = Ground::with_history();
    let mut input = recorded(Agent::ClaudeCode, "UserPromptSubmit");
    input["prompt"] = json!("please look into the history of this file");
    let text = input.to_string();
    let request = HookRequest {
        agent: Agent::ClaudeCode,
        event: "UserPromptSubmit",
        input: text.as_bytes(),
        context: None,
        suggests: true,
    };
    let answer: Value = serde_json::from_str(&answer_hook(ground.environment(), &request)).unwrap();
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("- history: Use when"), "{context}");
    let quiet = HookRequest { suggests: false, ..request };
    assert_eq!(answer_hook(ground.environment(), &quiet), "{}");
    assert!(!ground.states().exists());
}
