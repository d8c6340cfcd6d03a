//! How to start each agent, point it at the fake model, and call its tools, as one row of data per agent.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use metier_fake_model::{Server, Step};
use metier_home::{Agent, Enclosure, Home, HomeOptions, HostVariables, MountOptions, Variables};
use metier_prompt::SkillMount;
use serde_json::json;

use crate::outcome::{Asked, Outcome};
use crate::rig::{Rig, var};

/// Seconds after which an agent is not waited for any more.
pub(crate) const PATIENCE: &str = "120";

/// What the model does.
pub(crate) enum Act<'a> {
    /// It asks for a skill.
    Activate(&'a str),
    /// It reads a file.
    Read(&'a Path),
    /// It runs a command.
    Shell(&'a str),
    /// It calls a tool of the server `metier`.
    Served(&'a str, serde_json::Value),
    /// It calls a tool of the prompt.
    Prompted(&'a str, serde_json::Value),
    /// It calls one of the agent's own tools by its name.
    Own(&'a str, serde_json::Value),
    /// It answers with the word that comes after these, if it was told.
    Quote(&'a str),
}

/// One run of an agent.
pub(crate) struct Run<'a> {
    pub(crate) mounts: Vec<SkillMount>,
    /// Whether what would leak in is kept out.
    pub(crate) is_hermetic: bool,
    pub(crate) acts: Vec<Act<'a>>,
    pub(crate) prompt: &'a str,
    /// A skill that is added once the model was asked for the first time.
    pub(crate) late: Option<SkillMount>,
    /// What the agent is called with beside the usual.
    pub(crate) more: Vec<String>,
    /// Variables that it gets beside the usual.
    pub(crate) env: Vec<(String, String)>,
}

impl Run<'_> {
    pub(crate) fn new(mounts: Vec<SkillMount>) -> Self {
        Self {
            mounts,
            is_hermetic: false,
            acts: Vec::new(),
            prompt: "What is the codeword?",
            late: None,
            more: Vec::new(),
            env: Vec::new(),
        }
    }
}

impl<'a> Run<'a> {
    pub(crate) fn acts(mut self, acts: Vec<Act<'a>>) -> Self {
        self.acts = acts;
        self
    }

    /// Starts the agent with exactly the home's environment, and waits for it.
    pub(crate) fn start(self, rig: &Rig) -> Outcome {
        let agent = rig.agent;
        let uses_shell = self.acts.iter().any(|act| matches!(act, Act::Shell(_)));
        let server = server(agent, &self.acts);
        let mut options = HomeOptions::new(rig.path("homes"));
        // What an agent's own sandbox needs is not on every machine, and not what is tested.
        options.isolation.sandbox.is_enabled = false;
        options.isolation.env = wishes(rig, &server.url());
        options.isolation.env.extend(self.env.clone());
        if self.is_hermetic {
            options.is_hermetic = true;
            let program = program(agent, &rig.agents);
            options.hidden = Enclosure::of(agent, &program, &rig.work(), Path::new("/")).unwrap().hidden;
        }
        options.working_directory = Some(rig.work());
        let mut home = Home::new(agent, &host(rig, &server.url()), &options).unwrap();
        let mounted = home.mount(&self.mounts, &MountOptions::default()).unwrap();
        let hermetic = if self.is_hermetic { home.hermetic_arguments() } else { &[] };
        let arguments = arguments(agent, &server.url(), self.prompt, hermetic, uses_shell);
        let program = program(agent, &rig.agents);
        let is_script = program.extension().is_some_and(|ending| ending == "js");
        let child = Command::new("timeout")
            .args(["--kill-after=5", PATIENCE])
            .args(is_script.then_some("node"))
            .arg(program)
            .args(arguments)
            .args(self.more)
            .current_dir(rig.work())
            .env_clear()
            .envs(home.env())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(late) = &self.late {
            // Ten seconds is more than any of them takes to start.
            let asked = || server.requests().iter().any(|request| request.results.is_some());
            (0..100).take_while(|_| !asked()).for_each(|_| thread::sleep(Duration::from_millis(100)));
            home.inject(late, &MountOptions::default()).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let output = said(agent, &output);
        Outcome { asked: Asked::new(server.requests(), output), mounted, home }
    }
}

/// A model that does these things.
pub(crate) fn server(agent: Agent, acts: &[Act<'_>]) -> Server {
    let mut steps: Vec<Step> = acts.iter().map(|act| step(agent, act)).collect();
    steps.push(Step::text("ALL-DONE"));
    Server::start(steps).unwrap()
}

/// What an agent said, for people.
pub(crate) fn said(agent: Agent, output: &Output) -> String {
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    format!("{agent} ended with {}\n{out}\n{err}", output.status)
}

/// What an agent is called with.
pub(crate) fn arguments(
    agent: Agent,
    url: &str,
    prompt: &str,
    hermetic: &[&'static str],
    uses_shell: bool,
) -> Vec<String> {
    let mut all = before_prompt(agent, url, uses_shell);
    all.push(prompt.to_owned());
    all.extend(hermetic.iter().copied().chain(after_prompt(agent, uses_shell)).map(str::to_owned));
    all
}

/// The program, or the script, of an agent that npm installed.
pub(crate) fn program(agent: Agent, agents: &Path) -> PathBuf {
    let path = match agent {
        Agent::ClaudeCode => "@anthropic-ai/claude-code-linux-x64/claude",
        Agent::Codex => "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        Agent::OpenCode => "opencode-linux-x64/bin/opencode",
        Agent::Gemini => "@google/gemini-cli/bundle/gemini.js",
        Agent::Goose => "@aaif/goose-binary-linux-x64/bin/goose",
        Agent::Copilot => "@github/copilot-linux-x64/copilot",
        other => panic!("{other} has no row"),
    };
    agents.join("node_modules").join(path)
}

/// What the model calls to do something.
pub(crate) fn step(agent: Agent, act: &Act<'_>) -> Step {
    let (tool, arguments) = match (agent, act) {
        (_, Act::Quote(after)) => return Step::quote(*after),
        (_, Act::Own(tool, arguments)) => return Step::call(*tool, arguments.clone()),
        (Agent::Gemini, Act::Served(tool, arguments) | Act::Prompted(tool, arguments)) => {
            return Step::call(format!("mcp_metier_{tool}"), arguments.clone());
        }
        (Agent::Codex | Agent::OpenCode, Act::Prompted(tool, arguments)) => {
            return Step::call(format!("metier_{tool}"), arguments.clone());
        }
        (Agent::Goose, Act::Prompted(tool, arguments)) => {
            return Step::call(format!("metier__{tool}"), arguments.clone());
        }
        (Agent::Copilot, Act::Prompted(tool, arguments)) => {
            return Step::call(format!("metier-{tool}"), arguments.clone());
        }
        (_, Act::Served(tool, arguments) | Act::Prompted(tool, arguments)) => {
            return Step::call(format!("mcp__metier__{tool}"), arguments.clone());
        }
        (Agent::ClaudeCode, Act::Read(path)) => ("Read", json!({ "file_path": path })),
        (Agent::OpenCode, Act::Read(path)) => ("read", json!({ "filePath": path })),
        (Agent::Gemini, Act::Read(path)) => ("read_file", json!({ "file_path": path })),
        (Agent::Copilot, Act::Read(path)) => ("view", json!({ "path": path })),
        (Agent::Codex, Act::Read(path)) => {
            ("exec_command", json!({ "cmd": format!("cat {}", path.display()) }))
        }
        (_, Act::Read(path)) => ("shell", json!({ "command": format!("cat {}", path.display()) })),
        (Agent::ClaudeCode, Act::Activate(name)) => ("Skill", json!({ "skill": name })),
        (Agent::ClaudeCode, Act::Shell(command)) => {
            ("Bash", json!({ "command": command, "description": "x" }))
        }
        // It has no tool for skills: the model is told to read the file.
        (Agent::Codex, Act::Activate(name)) => {
            ("exec_command", json!({ "cmd": format!("cat \"$HOME/.agents/skills/{name}/SKILL.md\"") }))
        }
        (Agent::Codex, Act::Shell(command)) => ("exec_command", json!({ "cmd": command })),
        (Agent::Goose, Act::Activate(name)) => ("load_skill", json!({ "name": name })),
        (Agent::Goose, Act::Shell(command)) => ("shell", json!({ "command": command })),
        (Agent::OpenCode, Act::Activate(name)) => ("skill", json!({ "name": name })),
        (Agent::Gemini, Act::Activate(name)) => ("activate_skill", json!({ "name": name })),
        (Agent::Gemini, Act::Shell(command)) => ("run_shell_command", json!({ "command": command })),
        (Agent::Copilot, Act::Activate(name)) => ("skill", json!({ "skill": name })),
        (_, Act::Shell(command)) => ("bash", json!({ "command": command, "description": "x" })),
        (other, Act::Activate(_)) => panic!("{other} has no row"),
    };
    Step::call(tool, arguments)
}

/// The host of a user who has nothing but a key for the fake model and its address.
pub(crate) fn host(rig: &Rig, url: &str) -> HostVariables {
    let own: &[(&str, String)] = match rig.agent {
        Agent::ClaudeCode => &[("ANTHROPIC_BASE_URL", url.to_owned()), ("ANTHROPIC_API_KEY", key())],
        Agent::Codex => &[("CODEX_API_KEY", key())],
        Agent::Goose => &[
            ("GOOSE_PROVIDER", "openai".to_owned()),
            ("GOOSE_MODEL", "fake-model".to_owned()),
            ("OPENAI_HOST", url.to_owned()),
            ("OPENAI_API_KEY", key()),
        ],
        Agent::Gemini => &[("GOOGLE_GEMINI_BASE_URL", url.to_owned()), ("GEMINI_API_KEY", key())],
        Agent::Copilot => &[
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
            ("COPILOT_PROVIDER_API_KEY", key()),
            ("COPILOT_MODEL", "fake-model".to_owned()),
            // Where it unpacks itself; shared, or each run takes seconds and hundreds of megabytes.
            ("XDG_CACHE_HOME", rig.agents.join("cache").to_string_lossy().into_owned()),
        ],
        _ => &[],
    };
    let mut env: Variables = own.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    // OpenCode needs ripgrep; Codex has one with it.
    let ripgrep = rig
        .agents
        .join("node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/codex-path")
        .to_string_lossy()
        .into_owned();
    let path = var("PATH").unwrap_or_else(|| "/usr/bin:/bin".to_owned());
    let path = if rig.agent == Agent::OpenCode { format!("{path}:{ripgrep}") } else { path };
    for (name, value) in [
        ("PATH", path),
        ("HOME", rig.path("host").to_string_lossy().into_owned()),
        ("TMPDIR", rig.path("tmp").to_string_lossy().into_owned()),
    ] {
        env.insert(name.to_owned(), value);
    }
    HostVariables::new(env)
}

/// A key that opens nothing.
fn key() -> String {
    "sk-fake".to_owned()
}

/// Variables that an agent needs for the fake model alone.
pub(crate) fn wishes(rig: &Rig, url: &str) -> Variables {
    let pairs = match rig.agent {
        Agent::Goose => vec![("GOOSE_MODE", "auto".to_owned())],
        Agent::OpenCode => {
            let model = json!({ "name": "fake", "limit": { "context": 200_000, "output": 8192 } });
            let settings = json!({
                "model": "fake/fake-model",
                "small_model": "fake/fake-model",
                "enabled_providers": ["fake"],
                "provider": { "fake": {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "fake",
                    "options": { "baseURL": format!("{url}/v1"), "apiKey": key() },
                    "models": { "fake-model": model },
                } },
            });
            // By a name that is not covered in a directory above the working directory.
            let file = rig.write("fake-provider.json", &settings.to_string());
            vec![
                ("OPENCODE_CONFIG", file.to_string_lossy().into_owned()),
                ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1".to_owned()),
                // It would install a plugin for itself; this port refuses faster than a name that is not found.
                ("npm_config_registry", "http://127.0.0.1:9/".to_owned()),
            ]
        }
        _ => Vec::new(),
    };
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The settings with which Codex asks the fake model.
pub(crate) fn codex_provider(url: &str) -> [String; 3] {
    let provider = format!(
        "model_providers.fake={{ name = \"fake\", base_url = \"{url}/v1\", env_key = \"CODEX_API_KEY\", \
         wire_api = \"responses\", supports_websockets = false }}"
    );
    ["model=\"fake-model\"".to_owned(), "model_provider=\"fake\"".to_owned(), provider]
}

fn before_prompt(agent: Agent, url: &str, uses_shell: bool) -> Vec<String> {
    let text: &[&str] = match agent {
        Agent::ClaudeCode => &["-p"],
        Agent::Codex => &["exec", "--skip-git-repo-check", "--json"],
        Agent::Goose => &["run", "-q", "--no-session", "-t"],
        Agent::OpenCode => &["run", "--pure", "--title", "t"],
        Agent::Gemini if uses_shell => &["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p"],
        Agent::Gemini => &["-m", "gemini-2.5-flash", "-p"],
        Agent::Copilot => {
            &["--no-auto-update", "--disable-builtin-mcps", "--no-color", "--allow-all-tools", "-s", "-p"]
        }
        other => panic!("{other} has no row"),
    };
    let mut all: Vec<String> = text.iter().map(|&text| text.to_owned()).collect();
    if agent == Agent::Codex {
        let settings = codex_provider(url);
        let free = ["approval_policy=\"never\"", "sandbox_mode=\"danger-full-access\""];
        let free = free.map(str::to_owned);
        all.extend(settings.into_iter().chain(free).flat_map(|text| ["-c".to_owned(), text]));
    }
    all
}

/// What takes as many words as follow must come last.
fn after_prompt(agent: Agent, uses_shell: bool) -> impl Iterator<Item = &'static str> {
    let text: &[&str] = match agent {
        Agent::ClaudeCode if uses_shell => &["--allowedTools", "Bash"],
        // The skills are outside of its working directory.
        Agent::Copilot if uses_shell => &["--allow-all-paths"],
        _ => &[],
    };
    text.iter().copied()
}
