//! The MCP server with the prompt's tools: what it answers, however its messages arrive.

use metier_prompt::Tool;
use serde_json::{Value, json};

use crate::frame::text;
use crate::message::ToolAnswered;

/// The name of the server.
pub(crate) const SERVER: &str = "metier";

/// The revision that is answered where the client asks for none.
const REVISION: &str = "2025-06-18";

/// What is done with a message of the client.
pub(crate) enum McpReply {
    /// It is answered with this.
    Now(Value),
    /// A tool is called; the answer comes later.
    Call {
        /// The tool.
        tool: String,
        /// The arguments.
        arguments: Value,
        /// The agent's id of the call.
        call: Option<String>,
        /// The id of the message.
        id: Value,
    },
}

/// A tool as MCP declares it.
pub(crate) fn declaration(tool: &Tool) -> Value {
    json!({ "name": tool.name(), "description": tool.description(), "inputSchema": tool.parameters() })
}

/// Handles a message of the client.
pub(crate) fn handle(message: &Value, tools: &[Value]) -> McpReply {
    let id = message.get("id").cloned();
    let result = |result: Value| {
        let mut reply = json!({ "jsonrpc": "2.0", "result": result });
        if let (Some(members), Some(id)) = (reply.as_object_mut(), id.clone()) {
            members.insert("id".to_owned(), id);
        }
        McpReply::Now(reply)
    };
    let params = message.get("params").unwrap_or(&Value::Null);
    match text(message, "method").unwrap_or_default() {
        "initialize" => result(json!({
            "protocolVersion": text(params, "protocolVersion").unwrap_or(REVISION),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": SERVER, "version": env!("CARGO_PKG_VERSION") },
        })),
        "tools/list" => result(json!({ "tools": tools })),
        "tools/call" => McpReply::Call {
            tool: text(params, "name").unwrap_or_default().to_owned(),
            arguments: params.get("arguments").filter(|all| !all.is_null()).cloned().unwrap_or(json!({})),
            call: call_id(params),
            id: id.unwrap_or_default(),
        },
        "ping" => result(json!({})),
        // A notification: the control protocol wants an answer all the same.
        _ if id.is_none() => result(json!({})),
        method => McpReply::Now(json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": { "code": -32601, "message": format!("`{method}` is not supported") },
        })),
    }
}

/// The agent's id of a call, where the agent says so: Claude Code and Goose do.
fn call_id(params: &Value) -> Option<String> {
    let mut names = ["claudecode/toolUseId", "agent-tool-call-request-id"].iter();
    let about = params.get("_meta")?;
    names.find_map(|name| text(about, name)).map(str::to_owned)
}

/// The answer to a call.
pub(crate) fn answer(id: &Value, result: &ToolAnswered) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "result": { "content": [{ "type": "text", "text": result.text }], "isError": result.is_error },
    })
}
