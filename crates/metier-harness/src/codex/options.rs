//! What a conversation with Codex is started with, as parameters of its requests.

use std::path::PathBuf;

use metier_home::Secret;
use metier_prompt::Tool;
use serde_json::{Value, json};

use super::PREFIX;

/// What a conversation with Codex is started with.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CodexOptions {
    /// The working directory.
    pub working: PathBuf,
    /// The home directory, to know which files a command with `$HOME` reads.
    pub home: PathBuf,
    /// The model.
    pub model: Option<String>,
    /// The prompt's tools, as Codex declares dynamic tools.
    pub tools: Vec<Value>,
    /// The JSON schema of the answers, within the limits of structured output.
    pub schema: Option<Value>,
    /// The conversation to resume.
    pub resumed: Option<String>,
    /// The API key to log in with. Without one, the login in the home is used.
    pub api_key: Option<Secret>,
    /// Whether the hooks in the home run, although they were not trusted, whatever a project says.
    pub is_guarded: bool,
    /// Whether commands run in Codex's sandbox.
    pub is_sandboxed: bool,
    /// What is writable in the sandbox in addition to the working directory.
    pub writable: Vec<PathBuf>,
}

impl CodexOptions {
    /// A new conversation in a working directory, with a home directory and a sandbox.
    pub fn new(working: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Self {
        Self {
            working: working.into(),
            home: home.into(),
            model: None,
            tools: Vec::new(),
            schema: None,
            resumed: None,
            api_key: None,
            is_guarded: false,
            is_sandboxed: true,
            writable: Vec::new(),
        }
    }

    /// The request that starts or resumes the conversation.
    pub(super) fn opening(&self) -> (&'static str, Value) {
        let mut params = json!({
            "cwd": self.working,
            // Every command and every change of a file is asked for, and we are asked.
            "approvalPolicy": "untrusted",
            "approvalsReviewer": "user",
            "sandbox": if self.is_sandboxed { "workspace-write" } else { "danger-full-access" },
            "config": {
                "web_search": "disabled",
                // A writable directory is trusted otherwise, and what its files name is started: hooks, MCP servers.
                "projects": { (self.working.to_string_lossy()): { "trust_level": "untrusted" } },
                "sandbox_workspace_write": { "network_access": false, "writable_roots": self.writable },
            },
        });
        if self.is_guarded {
            params["config"]["bypass_hook_trust"] = json!(true);
            params["config"]["features"] = json!({ "hooks": true });
        }
        if let Some(model) = &self.model {
            params["model"] = json!(model);
        }
        match &self.resumed {
            Some(id) => {
                params["threadId"] = json!(id);
                params["excludeTurns"] = json!(true);
                ("thread/resume", params)
            }
            None => {
                if !self.tools.is_empty() {
                    params["dynamicTools"] = json!(self.tools);
                }
                ("thread/start", params)
            }
        }
    }

    /// The request that begins a turn.
    pub(super) fn turn(&self, thread: &str, prompt: &str) -> Value {
        let mut params = json!({ "threadId": thread, "input": [{ "type": "text", "text": prompt }] });
        if let Some(schema) = &self.schema {
            params["outputSchema"] = schema.clone();
        }
        params
    }
}

/// A tool of a prompt as a dynamic tool.
pub(super) fn declaration(tool: &Tool) -> Value {
    json!({
        "type": "function",
        "name": format!("{PREFIX}{}", tool.name()),
        "description": tool.description(),
        "inputSchema": tool.parameters(),
    })
}
