//! Items of a thread, as events: commands, changes of files, tools.

use serde_json::{Value, json};

use super::command::script_of;
use super::patch;
use crate::event::AgentEventKind;
use crate::frame::{owned, result_text, text};

/// The tool call that an item is, by the name that rules use.
pub(super) fn call(item: &Value) -> Option<AgentEventKind> {
    let (tool, arguments) = match text(item, "type")? {
        "commandExecution" => ("Bash".to_owned(), json!({ "command": script_of(text(item, "command")?) })),
        "fileChange" => ("apply_patch".to_owned(), patch::arguments(item)),
        "mcpToolCall" => {
            let name = format!("mcp__{}__{}", text(item, "server")?, text(item, "tool")?);
            (name, item.get("arguments").cloned().unwrap_or_default())
        }
        "dynamicToolCall" => (owned(item, "tool"), item.get("arguments").cloned().unwrap_or_default()),
        "collabAgentToolCall" => {
            let arguments = json!({ "prompt": item.get("prompt"), "agents": item.get("receiverThreadIds") });
            (owned(item, "tool"), arguments)
        }
        "webSearch" => ("WebSearch".to_owned(), json!({ "query": item.get("query") })),
        "imageView" => ("view_image".to_owned(), json!({ "path": item.get("path") })),
        _ => return None,
    };
    Some(AgentEventKind::ToolCall { id: owned(item, "id"), tool, arguments, skill: None })
}

/// The result of the tool call that an item is.
pub(super) fn result(item: &Value) -> Option<AgentEventKind> {
    let status = text(item, "status").unwrap_or("completed");
    let said = match text(item, "type")? {
        "commandExecution" => owned(item, "aggregatedOutput"),
        "mcpToolCall" => match item.get("error").filter(|error| !error.is_null()) {
            Some(error) => owned(error, "message"),
            None => result_text(item.pointer("/result/content")),
        },
        "dynamicToolCall" => result_text(item.get("contentItems")),
        "fileChange" | "collabAgentToolCall" | "webSearch" | "imageView" => String::new(),
        _ => return None,
    };
    let is_error = status != "completed"
        || item.get("success") == Some(&Value::Bool(false))
        || item.pointer("/result/isError") == Some(&Value::Bool(true));
    let text = if said.is_empty() && status != "completed" { status.to_owned() } else { said };
    Some(AgentEventKind::ToolResult { id: owned(item, "id"), text, is_error })
}
