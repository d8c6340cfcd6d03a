//! Whether an agent still speaks the protocol that `metier-harness` knows, by the schema that its program prints.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::driver;
use crate::rig::Rig;

/// What is sent: the file of each schema, and the members that are sent. Every required member must be among them.
const SENT: &[(&str, &[&str])] = &[
    ("v1/InitializeParams", &["clientInfo", "capabilities"]),
    (
        "v2/ThreadStartParams",
        &["cwd", "approvalPolicy", "approvalsReviewer", "sandbox", "config", "model", "dynamicTools"],
    ),
    (
        "v2/ThreadResumeParams",
        &[
            "cwd",
            "approvalPolicy",
            "approvalsReviewer",
            "sandbox",
            "config",
            "model",
            "threadId",
            "excludeTurns",
        ],
    ),
    ("v2/TurnStartParams", &["threadId", "input", "outputSchema"]),
    ("v2/TurnInterruptParams", &["threadId", "turnId"]),
    ("CommandExecutionRequestApprovalResponse", &["decision"]),
    ("FileChangeRequestApprovalResponse", &["decision"]),
    ("PermissionsRequestApprovalResponse", &["permissions", "scope"]),
    ("McpServerElicitationRequestResponse", &["action", "content"]),
    ("DynamicToolCallResponse", &["contentItems", "success"]),
];

/// What is read: the file of each schema, and the members that are looked for.
const READ: &[(&str, &[&str])] = &[
    ("v1/InitializeResponse", &["userAgent"]),
    ("v2/ThreadStartResponse", &["thread", "model"]),
    ("v2/ThreadResumeResponse", &["thread", "model"]),
    ("v2/TurnStartResponse", &["turn"]),
    ("v2/TurnStartedNotification", &["threadId", "turn"]),
    ("v2/TurnCompletedNotification", &["threadId", "turn"]),
    ("v2/ItemStartedNotification", &["threadId", "item"]),
    ("v2/ItemCompletedNotification", &["threadId", "item"]),
    ("v2/AgentMessageDeltaNotification", &["threadId", "itemId", "delta"]),
    ("v2/ReasoningTextDeltaNotification", &["delta"]),
    ("v2/ThreadTokenUsageUpdatedNotification", &["threadId", "turnId", "tokenUsage"]),
    ("v2/ErrorNotification", &["error"]),
    ("v2/ServerRequestResolvedNotification", &["requestId"]),
    (
        "CommandExecutionRequestApprovalParams",
        &["threadId", "itemId", "command", "kind", "reason", "networkApprovalContext"],
    ),
    ("FileChangeRequestApprovalParams", &["threadId", "itemId", "reason"]),
    ("PermissionsRequestApprovalParams", &["threadId", "itemId", "permissions", "cwd", "reason"]),
    ("DynamicToolCallParams", &["callId", "tool", "arguments"]),
];

/// The requests of the program. The last five are refused.
const REQUESTS: &[&str] = &[
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
    "item/permissions/requestApproval",
    "item/tool/call",
    "mcpServer/elicitation/request",
    "account/chatgptAuthTokens/refresh",
    "applyPatchApproval",
    "attestation/generate",
    "currentTime/read",
    "execCommandApproval",
    "item/tool/requestUserInput",
];

/// Every member, request, item and word that the harness of Codex uses is in the schema, and there are no new requests.
pub(crate) fn schema_is_known(rig: &Rig) {
    let directory = rig.path("schema");
    let program = driver::program(rig.agent, &rig.agents);
    let made = Command::new(program)
        .args(["app-server", "generate-json-schema", "--experimental", "--out"])
        .arg(&directory)
        .env_clear()
        .env("HOME", rig.path("home"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for (file, members) in SENT.iter().chain(READ) {
        let known = members_of(&schema(&directory, file));
        assert!(!known.is_empty(), "{file}");
        for member in *members {
            assert!(known.iter().any(|known| known == member), "{file} has no `{member}`: {known:?}");
        }
    }
    for (file, members) in SENT {
        let required = schema(&directory, file)["required"].as_array().cloned().unwrap_or_default();
        let missing = required.iter().find(|name| !members.contains(&name.as_str().unwrap()));
        assert_eq!(missing, None, "{file} requires more");
    }
    let mut requests = methods(&schema(&directory, "ServerRequest"));
    requests.sort();
    let mut known = REQUESTS.to_vec();
    known.sort_unstable();
    assert_eq!(requests, known);
    let asked = methods(&schema(&directory, "ClientRequest"));
    for method in
        ["initialize", "account/login/start", "thread/start", "thread/resume", "turn/start", "turn/interrupt"]
    {
        assert!(asked.iter().any(|known| known == method), "{method}");
    }
    let told = methods(&schema(&directory, "ServerNotification"));
    for method in
        ["turn/completed", "item/reasoning/summaryTextDelta", "warning", "guardianWarning", "configWarning"]
    {
        assert!(told.iter().any(|known| known == method), "{method}");
    }
    let notified = schema(&directory, "ServerNotification").to_string();
    for word in [
        "agentMessage",
        "commandExecution",
        "fileChange",
        "mcpToolCall",
        "dynamicToolCall",
        "collabAgentToolCall",
        "webSearch",
        "imageView",
        "commentary",
        "declined",
        "interrupted",
        "cacheWriteInputTokens",
        "cachedInputTokens",
        "aggregatedOutput",
        "receiverThreadIds",
        "move_path",
    ] {
        assert!(notified.contains(&format!("\"{word}\"")), "{word}");
    }
    for (file, word) in [
        ("v2/ThreadStartParams", "untrusted"),
        ("v2/ThreadStartParams", "workspace-write"),
        ("v2/ThreadStartParams", "danger-full-access"),
        ("v2/LoginAccountParams", "apiKey"),
        ("CommandExecutionRequestApprovalParams", "writeStdin"),
        ("CommandExecutionRequestApprovalResponse", "decline"),
        ("FileChangeRequestApprovalResponse", "decline"),
    ] {
        assert!(
            schema(&directory, file).to_string().contains(&format!("\"{word}\"")),
            "{file} has no `{word}`"
        );
    }
}

fn schema(directory: &Path, file: &str) -> Value {
    let path = directory.join(format!("{file}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn members_of(schema: &Value) -> Vec<String> {
    let members = schema["properties"].as_object().into_iter().flatten();
    members.map(|(name, _)| name.clone()).collect()
}

/// The methods of a list of messages.
fn methods(schema: &Value) -> Vec<String> {
    let each = schema["oneOf"].as_array().into_iter().flatten();
    each.filter_map(|one| Some(one.pointer("/properties/method/enum/0")?.as_str()?.to_owned())).collect()
}
