//! What a conversation over the Agent Client Protocol is started with.

use std::fmt;
use std::path::PathBuf;

use metier_home::Agent;
use serde_json::{Value, json};

use crate::mcp::SERVER;

/// What a conversation is started with.
#[derive(Clone)]
#[non_exhaustive]
pub struct AcpOptions {
    /// The agent.
    pub agent: Agent,
    /// The working directory.
    pub working: PathBuf,
    /// The model, where the agent lets a client choose it.
    pub model: Option<String>,
    /// The names of the prompt's tools.
    pub tools: Vec<String>,
    /// The MCP server with these tools: its URL, and the value of the header `Authorization`.
    pub server: Option<(String, String)>,
    /// The conversation to resume.
    pub resumed: Option<String>,
}

impl AcpOptions {
    /// A new conversation in a working directory.
    pub fn new(agent: Agent, working: impl Into<PathBuf>) -> Self {
        let working = working.into();
        Self { agent, working, model: None, tools: Vec::new(), server: None, resumed: None }
    }

    /// The request that starts or loads the conversation.
    pub(super) fn opening(&self) -> (&'static str, Value) {
        let server = |(url, authorization): &(String, String)| {
            let headers = json!([{ "name": "Authorization", "value": authorization }]);
            json!({ "type": "http", "name": SERVER, "url": url, "headers": headers })
        };
        let servers: Vec<Value> = self.server.iter().map(server).collect();
        let mut params = json!({ "cwd": self.working, "mcpServers": servers });
        match &self.resumed {
            Some(id) => {
                params["sessionId"] = json!(id);
                ("session/load", params)
            }
            None => ("session/new", params),
        }
    }
}

/// Without the token of the server.
impl fmt::Debug for AcpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcpOptions")
            .field("agent", &self.agent)
            .field("working", &self.working)
            .field("model", &self.model)
            .field("tools", &self.tools)
            .field("resumed", &self.resumed)
            .finish_non_exhaustive()
    }
}
