//! A person with skills, and an agent that calls hooks.

use std::fs;
use std::path::{Path, PathBuf};

use metier_guard::{ContextSkill, GuardContext};
use metier_home::Agent;
use metier_host::{Environment, HookRequest, Metier, answer_hook};
use metier_journal::{JournalReader, RecordQuery};
use metier_skill::{Folder, Rules, Tier};
use serde_json::{Value, json};

/// A person with skills, and an agent that calls hooks.
pub(crate) struct Ground {
    _directory: tempfile::TempDir,
    pub(crate) base: PathBuf,
    pub(crate) context: Option<PathBuf>,
}

/// What an agent's hooks are called, and what it calls its tools.
pub(crate) struct Words {
    pub(crate) before: &'static str,
    pub(crate) after: &'static str,
    pub(crate) end: &'static str,
    pub(crate) shell: &'static str,
}

pub(crate) fn words(agent: Agent) -> Words {
    let [before, after, end, shell] = match agent {
        Agent::ClaudeCode => ["PreToolUse", "PostToolUse", "SessionEnd", "Bash"],
        Agent::Codex => ["PreToolUse", "PostToolUse", "PostCompact", "Bash"],
        Agent::OpenCode => ["tool.execute.before", "tool.execute.after", "event.session.compacted", "bash"],
        Agent::Gemini => ["BeforeTool", "AfterTool", "SessionEnd", "run_shell_command"],
        Agent::Goose => ["PreToolUse", "PostToolUse", "SessionEnd", "shell"],
        _ => ["preToolUse", "postToolUse", "sessionEnd", "bash"],
    };
    Words { before, after, end, shell }
}

/// The input of an event as the agent sends it, made from a recorded one.
pub(crate) fn recorded(agent: Agent, file: &str) -> Value {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../metier-guard/tests/vectors");
    let path = vectors.join(agent.name()).join("events").join(format!("{file}.json"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

impl Ground {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let ground = Self { _directory: directory, base, context: None };
        ground.write("repo/.git/HEAD", "");
        ground
    }

    /// The same with the skill that most tests use.
    pub(crate) fn with_history() -> Self {
        let ground = Self::new();
        ground.skill("history", "allowed-tools: Bash(git log *) Read\n");
        ground
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn skill(&self, name: &str, more: &str) {
        let text =
            format!("---\nname: {name}\ndescription: Use when there is {name} to do.\n{more}---\nDo it.\n");
        self.write(&format!("home/.claude/skills/{name}/SKILL.md"), &text);
    }

    pub(crate) fn environment(&self) -> Environment {
        Environment::new(self.base.join("home"), self.base.join("repo"))
    }

    pub(crate) fn raw(&self, agent: Agent, event: &str, input: &str) -> Value {
        let request = HookRequest {
            agent,
            event,
            input: input.as_bytes(),
            context: self.context.as_deref(),
            suggests: false,
        };
        serde_json::from_str(&answer_hook(self.environment(), &request)).unwrap()
    }

    /// Calls a hook with a recorded input in which this is replaced.
    pub(crate) fn event(&self, agent: Agent, file: &str, changes: &[(&str, Value)]) -> Value {
        let mut input = recorded(agent, file);
        if agent == Agent::OpenCode {
            input["directory"] = json!(self.base.join("repo"));
            input["servers"] = json!([]);
        }
        for (place, value) in changes {
            let (parent, last) = place.rsplit_once('/').unwrap();
            input.pointer_mut(parent).unwrap()[last] = value.clone();
        }
        for place in ["cwd", "working_dir"] {
            if input.get(place).is_some() {
                input[place] = json!(self.base.join("repo"));
            }
        }
        let events = metier_guard::HOOKS.iter().filter(|row| row.agent == agent).map(|row| row.event);
        let event = events.filter(|event| file == *event || file.starts_with(&format!("{event}-")));
        self.raw(agent, event.max_by_key(|event| event.len()).unwrap(), &input.to_string())
    }

    /// Asks about a call, in the agent's own form. Returns the reason of a refusal.
    pub(crate) fn call(&self, agent: Agent, tool: &str, arguments: Value) -> Option<String> {
        refused(&self.event(agent, &before(agent), &about(agent, tool, arguments)))
    }

    pub(crate) fn shell(&self, agent: Agent, command: &str) -> Option<String> {
        self.call(agent, words(agent).shell, json!({ "command": command }))
    }

    /// The agent loads a skill with its own tool; Codex reads the file.
    pub(crate) fn load(&self, agent: Agent, name: &str) -> Option<String> {
        match agent {
            Agent::Codex => self.shell(
                agent,
                &format!("cat {}/.claude/skills/{name}/SKILL.md", self.base.join("home").display()),
            ),
            Agent::ClaudeCode => self.call(agent, "Skill", json!({ "skill": name })),
            Agent::OpenCode => self.call(agent, "skill", json!({ "name": name })),
            Agent::Gemini => self.call(agent, "activate_skill", json!({ "name": name })),
            Agent::Goose => self.call(agent, "load_skill", json!({ "name": name })),
            _ => self.call(agent, "skill", json!({ "skill": name })),
        }
    }

    pub(crate) fn metier(&self) -> Metier {
        Metier::builder().environment(self.environment()).build().unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        let address = self.metier().journal_address().unwrap();
        let Ok(mut reader) = JournalReader::open(&address) else { return Vec::new() };
        let records = reader.query(&RecordQuery::default()).unwrap();
        records
            .into_iter()
            .map(|record| record.event)
            .filter(|event| event["kind"] != "journal.created")
            .collect()
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        self.events().iter().map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn states(&self) -> PathBuf {
        self.base.join("home/.local/state/metier/guard")
    }

    /// Makes the home of a run with these skills, as metier would.
    pub(crate) fn run_with(&mut self, skills: &[(&str, Tier)]) {
        let mut context = GuardContext::default();
        context.session = Some("run-1".to_owned());
        context.records_all = true;
        context.working = Some(self.base.join("repo"));
        context.variables.insert("HOME".to_owned(), self.base.join("home").display().to_string());
        for (name, tier) in skills {
            let directory = self.base.join("home/.claude/skills").join(name);
            let limits = Rules::standard().limits;
            let digest = Folder::open(&directory).unwrap().manifest(&limits).unwrap().digest();
            context.skills.push(ContextSkill::new(directory, *tier, digest));
        }
        self.write("run/context.json", &context.to_json());
        self.context = Some(self.base.join("run/context.json"));
    }
}

/// The recorded input that others are made from.
pub(crate) fn before(agent: Agent) -> String {
    let Words { before, shell, .. } = words(agent);
    format!("{before}-{shell}")
}

/// What to replace in a recorded input, so that it is about this call.
pub(crate) fn about(agent: Agent, tool: &str, arguments: Value) -> Vec<(&'static str, Value)> {
    let (name, input) = match agent {
        Agent::OpenCode => ("/input/tool", "/output/args"),
        Agent::Copilot => ("/toolName", "/toolArgs"),
        _ => ("/tool_name", "/tool_input"),
    };
    vec![(name, json!(tool)), (input, arguments)]
}

/// The reason of a refusal, in whichever words.
pub(crate) fn refused(answer: &Value) -> Option<String> {
    let reasons =
        ["/hookSpecificOutput/permissionDecisionReason", "/reason", "/permissionDecisionReason", "/message"];
    let is_refusal = [
        ("/hookSpecificOutput/permissionDecision", "deny"),
        ("/decision", "deny"),
        ("/decision", "block"),
        ("/permissionDecision", "deny"),
    ]
    .iter()
    .any(|(place, word)| answer.pointer(place).is_some_and(|value| value == word));
    let reason = reasons.iter().find_map(|place| answer.pointer(place)?.as_str());
    is_refusal.then(|| reason.unwrap().to_owned())
}

impl Ground {
    /// Asks about a call with the places of the cases: `/repo`, and `/home/u`.
    pub(crate) fn event_in(&self, agent: Agent, changes: &[(&str, Value)]) -> Value {
        let mut input = recorded(agent, &before(agent));
        for (place, value) in changes {
            let (parent, last) = place.rsplit_once('/').unwrap();
            input.pointer_mut(parent).unwrap()[last] = value.clone();
        }
        for place in ["cwd", "working_dir", "directory"] {
            input[place] = json!("/repo");
        }
        let text = input.to_string();
        let request = HookRequest {
            agent,
            event: words(agent).before,
            input: text.as_bytes(),
            context: self.context.as_deref(),
            suggests: false,
        };
        let environment = Environment::new("/home/u", "/repo");
        serde_json::from_str(&answer_hook(environment, &request)).unwrap()
    }
}
