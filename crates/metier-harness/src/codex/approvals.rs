//! Requests of Codex: permissions and calls of the prompt's tools, and their answers.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::command::{files_read, script_of};
use super::{PREFIX, patch};
use crate::frame::{owned, text};
use crate::message::{AgentMessage, PromptToolCall, ToolAnswered};
use crate::permission::{PermissionAnswer, PermissionRequest};
use crate::protocol::Outbox;

/// The maximum number of requests that wait for an answer. More than that are not real.
const WAITING: usize = 10_000;

/// What it is called when Codex asks for more than its sandbox permits.
const MORE: &str = "request_permissions";

/// The requests that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    waiting: BTreeMap<String, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    id: Value,
    form: Form,
}

/// The form of an answer.
#[derive(Debug)]
enum Form {
    /// A decision about a command or a change.
    Decision,
    /// The permissions that are granted; these were asked for.
    Permissions(Value),
    /// The answer to a question about a tool of an MCP server.
    Elicitation,
    /// The result of a tool of the prompt.
    Tool,
}

impl Approvals {
    /// A request of Codex. `change` is the change of files that it is about, if that is known. Nothing if it is a request
    /// that metier cannot answer; an error has been sent then.
    pub(super) fn asked(
        &mut self,
        frame: &Value,
        change: Option<&Value>,
        home: &Path,
        out: &mut Outbox,
    ) -> Option<AgentMessage> {
        let id = frame.get("id").cloned().unwrap_or_default();
        let key = id.to_string();
        let (method, params) = (owned(frame, "method"), frame.get("params").unwrap_or(&Value::Null));
        let understood = match method.as_str() {
            _ if self.waiting.len() >= WAITING || self.waiting.contains_key(&key) => None,
            "item/commandExecution/requestApproval" => Some((Form::Decision, command(&key, params, home))),
            "item/fileChange/requestApproval" => {
                let change = change.cloned().unwrap_or_else(|| patch::arguments(&Value::Null));
                Some((Form::Decision, changing(&key, params, change)))
            }
            "item/permissions/requestApproval" => {
                let wanted = params.get("permissions").cloned().unwrap_or(json!({}));
                let arguments = json!({ "permissions": wanted, "cwd": params.get("cwd") });
                let asked = PermissionRequest::new(&key, MORE, arguments);
                Some((Form::Permissions(wanted), asked))
            }
            "mcpServer/elicitation/request" => {
                tool_of_server(&key, params).map(|asked| (Form::Elicitation, asked))
            }
            "item/tool/call" => return self.called(key, id, params, out),
            _ => None,
        };
        let Some((form, mut asked)) = understood else {
            refuse(&id, &method, out);
            return None;
        };
        asked.call = text(params, "itemId").map(str::to_owned);
        asked.description = asked.description.or_else(|| text(params, "reason").map(str::to_owned));
        self.waiting.insert(key, Waiting { id, form });
        Some(AgentMessage::Permission(asked))
    }

    fn called(&mut self, key: String, id: Value, params: &Value, out: &mut Outbox) -> Option<AgentMessage> {
        let Some(tool) = text(params, "tool").and_then(|tool| tool.strip_prefix(PREFIX)) else {
            refuse(&id, "item/tool/call", out);
            return None;
        };
        let arguments = params.get("arguments").filter(|all| !all.is_null()).cloned().unwrap_or(json!({}));
        let call = text(params, "callId").map(str::to_owned);
        self.waiting.insert(key.clone(), Waiting { id, form: Form::Tool });
        Some(AgentMessage::ToolCall(PromptToolCall { id: key, tool: tool.to_owned(), arguments, call }))
    }

    /// Sends the answer to a permission request.
    pub(super) fn decide(&mut self, key: &str, answer: &PermissionAnswer, out: &mut Outbox) {
        let Some(Waiting { id, form }) = self.waiting.remove(key) else { return };
        let is_allowed = answer.is_allowed();
        let result = match form {
            Form::Decision => json!({ "decision": if is_allowed { "accept" } else { "decline" } }),
            Form::Permissions(wanted) => {
                json!({ "permissions": if is_allowed { wanted } else { json!({}) }, "scope": "turn" })
            }
            Form::Elicitation if is_allowed => json!({ "action": "accept", "content": {} }),
            Form::Elicitation => json!({ "action": "decline" }),
            // The answer is of another kind; the request is not left open.
            Form::Tool => json!({ "contentItems": [], "success": false }),
        };
        out.json(&json!({ "id": id, "result": result }));
    }

    /// Sends the result of a tool of the prompt.
    pub(super) fn result(&mut self, key: &str, result: &ToolAnswered, out: &mut Outbox) {
        let Some(Waiting { id, .. }) = self.waiting.remove(key) else { return };
        let items = json!([{ "type": "inputText", "text": result.text }]);
        out.json(&json!({ "id": id, "result": { "contentItems": items, "success": !result.is_error } }));
    }

    /// A request needs no answer any more.
    pub(super) fn resolved(&mut self, params: &Value) {
        if let Some(id) = params.get("requestId") {
            self.waiting.remove(&id.to_string());
        }
    }

    /// No request needs an answer any more.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}

/// A permission request about a change of files.
fn changing(key: &str, params: &Value, change: Value) -> PermissionRequest {
    match params.get("grantRoot").filter(|root| !root.is_null()) {
        // It would apply to the whole session, so a rule for this change does not allow it.
        Some(root) => {
            let arguments = json!({ "grantRoot": root, "change": change });
            PermissionRequest::new(key, MORE, arguments)
        }
        None => PermissionRequest::new(key, "apply_patch", change),
    }
}

/// A permission request about a command, by the names that rules use.
fn command(key: &str, params: &Value, home: &Path) -> PermissionRequest {
    let script = script_of(text(params, "command").unwrap_or_default());
    if let Some(network) = params.get("networkApprovalContext").filter(|context| context.is_object()) {
        let arguments = json!({ "network": network, "command": script });
        return PermissionRequest::new(key, "network_access", arguments);
    }
    if let Some(more) = params.get("additionalPermissions").filter(|more| !more.is_null()) {
        // A rule for the command does not say that it may leave the sandbox.
        return PermissionRequest::new(key, MORE, json!({ "permissions": more, "command": script }));
    }
    match text(params, "kind") {
        None | Some("command") => {
            let mut asked = PermissionRequest::new(key, "Bash", json!({ "command": script }));
            let working = text(params, "cwd").map(Path::new).filter(|path| path.is_absolute());
            asked.reads = files_read(&script, home, working).unwrap_or_default();
            asked
        }
        Some(kind) => {
            let name = if kind == "writeStdin" { "write_stdin" } else { kind };
            PermissionRequest::new(key, name, params.clone())
        }
    }
}

/// Codex's own question whether a tool of an MCP server may be called. Questions of the servers are asked with the same
/// method.
fn tool_of_server(key: &str, params: &Value) -> Option<PermissionRequest> {
    let about =
        params.get("_meta").filter(|about| text(about, "codex_approval_kind") == Some("mcp_tool_call"))?;
    let tool = format!("mcp__{}__{}", text(params, "serverName")?, text(about, "tool_name")?);
    let mut asked = PermissionRequest::new(key, tool, about.get("tool_params").cloned().unwrap_or(json!({})));
    asked.description = text(about, "tool_title").map(str::to_owned);
    Some(asked)
}

/// Without an answer it would wait for ever.
fn refuse(id: &Value, method: &str, out: &mut Outbox) {
    let message = format!("metier does not support `{method}`");
    out.json(&json!({ "id": id, "error": { "code": -32601, "message": message } }));
}
