//! What agents and model servers really send, and the pieces of it.

use serde_json::{Value, json};

/// What opens a conversation of Codex: its answers to the first requests.
macro_rules! opened {
    () => {
        "{\"id\":1,\"result\":{\"userAgent\":\"metier/0.169.0 (x)\"}}\n{\"id\":2,\"result\":{\"thread\":{\"id\":\"t1\"},\"model\":\"m\"}}\n"
    };
}

/// What Claude Code sent: each line alone, and some after one another.
pub(crate) fn claude() -> Vec<Vec<u8>> {
    conversations(&[
        include_str!("../../crates/metier-harness/tests/frames/claude-session.jsonl"),
        include_str!("../../crates/metier-harness/tests/frames/claude-resume.jsonl"),
        include_str!("../../crates/metier-harness/tests/frames/claude-no-permission-tool.jsonl"),
    ])
}

/// What Codex sent, each after its conversation was opened.
pub(crate) fn codex() -> Vec<Vec<u8>> {
    let mut sent = conversations(&[
        include_str!("../../crates/metier-harness/tests/frames/codex-session.jsonl"),
        include_str!("../../crates/metier-harness/tests/frames/codex-resume.jsonl"),
        include_str!("../../crates/metier-harness/tests/frames/codex-tools.jsonl"),
    ]);
    let opened: Vec<Vec<u8>> =
        sent.iter().map(|text| [opened!().as_bytes(), text.as_slice(), b"\n"].concat()).collect();
    sent.extend(opened);
    sent
}

/// What agents sent that speak the Agent Client Protocol.
pub(crate) fn acp() -> Vec<Vec<u8>> {
    conversations(&[
        include_str!("../../crates/metier-harness/tests/frames/opencode-asked.jsonl"),
        include_str!("../../crates/metier-harness/tests/frames/gemini-asked.jsonl"),
        include_str!("../../crates/metier-harness/tests/frames/goose-asked.jsonl"),
        include_str!("../../crates/metier-harness/tests/frames/copilot-session.jsonl"),
    ])
}

fn conversations(recorded: &[&str]) -> Vec<Vec<u8>> {
    let frame = |line: &str| Some(serde_json::from_str::<Value>(line).ok()?.get("msg")?.to_string());
    let frames: Vec<String> =
        recorded.iter().flat_map(|recorded| recorded.lines()).filter_map(frame).collect();
    let together = frames.chunks(5).map(|some| some.join("\n"));
    frames.iter().cloned().chain(together).map(String::into_bytes).collect()
}

/// An open conversation, and the beginning of a frame.
pub(crate) const CODEX_BEGIN: &str = concat!(opened!(), "{\"method\":\"");

/// The same for the Agent Client Protocol.
pub(crate) const ACP_BEGIN: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}\n{\"id\":2,\"result\":{\"sessionId\":\"s\"}}\n{\"method\":\"";

/// Frames of both APIs: some after one another, from every frame on.
pub(crate) fn openai() -> Vec<Vec<u8>> {
    let delta = |delta: Value| json!({ "id": "c", "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let call = |call: Value| delta(json!({ "tool_calls": [call] }));
    let item = |item: Value| json!({ "type": "response.output_item.done", "output_index": 0, "item": item });
    let whole = |status: &str, output: Value| json!({ "type": format!("response.{status}"), "response": { "id": "r", "model": "m", "status": status, "output": output, "usage": { "input_tokens": 9, "input_tokens_details": { "cached_tokens": 4 }, "output_tokens": 4 } } });
    let message = json!({ "type": "message", "id": "m1", "role": "assistant", "content": [{ "type": "output_text", "text": "Hé", "annotations": [] }] });
    let frames = [
        delta(json!({ "role": "assistant", "content": "" })),
        delta(json!({ "reasoning_content": "Hm." })),
        delta(json!({ "content": "Hé" })),
        delta(json!({ "content": [{ "type": "text", "text": "you." }] })),
        call(json!({ "index": 0, "id": "a", "function": { "name": "one", "arguments": "{\"x\":" } })),
        call(json!({ "index": 0, "function": { "arguments": "[1]}" } })),
        call(
            json!({ "index": 9, "id": "b", "type": "function", "function": { "name": "two", "arguments": "" } }),
        ),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
        json!({ "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Hé" }, "finish_reason": "stop" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 4, "cost": 0.1 } }),
        json!({ "error": { "message": "no", "code": 429, "type": "rate_limit_exceeded" } }),
        json!({ "type": "response.created", "response": { "model": "m", "status": "in_progress", "output": [] } }),
        json!({ "type": "response.reasoning_summary_text.delta", "delta": "Hm." }),
        json!({ "type": "response.output_text.delta", "item_id": "m1", "delta": "Hé" }),
        json!({ "type": "response.function_call_arguments.delta", "delta": "{\"x\":1}" }),
        item(json!({ "type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "abc" })),
        item(message.clone()),
        item(
            json!({ "type": "function_call", "id": "f1", "call_id": "a", "name": "one", "arguments": "{\"x\":[1]}" }),
        ),
        whole("completed", json!([message])),
        whole("incomplete", json!([])),
        whole("failed", json!([])),
        json!({ "type": "error", "message": "no", "code": "server_error" }),
    ];
    let stream = |some: &[Value]| -> Vec<u8> {
        some.iter().flat_map(|frame| format!("data: {frame}\n\n").into_bytes()).collect()
    };
    let from = |size: usize| frames.windows(size).map(stream).collect::<Vec<_>>();
    [1, 2, 3, 4, 7, 11].into_iter().flat_map(from).collect()
}

pub(crate) const CLAUDE: &[&str] = &[
    "control_request\"",
    "control_response\"",
    "control_cancel_request\"",
    "assistant\"",
    "user\"",
    "result\"",
    "stream_event\"",
    "system\"",
    ",\"request_id\":\"r1\"",
    ",\"request\":{",
    ",\"response\":{",
    "\"subtype\":\"can_use_tool\"",
    "\"subtype\":\"mcp_message\",\"server_name\":\"metier\",\"message\":{",
    "\"method\":\"tools/call\"",
    "\"method\":\"initialize\"",
    ",\"params\":{\"name\":\"echo\"",
    ",\"input\":{}",
    ",\"tool_name\":\"Bash\"",
    ",\"message\":{\"id\":\"m1\",\"content\":[",
    "{\"type\":\"text\",\"text\":\"a\"}",
    "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Skill\"",
    "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":",
    ",\"usage\":{\"input_tokens\":18446744073709551615}",
    ",\"modelUsage\":{\"a\":{\"costUSD\":-1e999}}",
    "}\n{\"type\":\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\n",
    "\r\n",
    "null",
    "1e5",
    "\u{fffd}",
];

pub(crate) const CODEX: &[&str] = &[
    "turn/started\",\"params\":{",
    "turn/completed\",\"params\":{",
    "item/started\",\"params\":{",
    "item/completed\",\"params\":{",
    "item/agentMessage/delta\",\"params\":{",
    "item/reasoning/textDelta\",\"params\":{",
    "thread/tokenUsage/updated\",\"params\":{",
    "serverRequest/resolved\",\"params\":{",
    "error\",\"params\":{",
    "item/commandExecution/requestApproval\",\"id\":3,\"params\":{",
    "item/fileChange/requestApproval\",\"id\":4,\"params\":{",
    "item/permissions/requestApproval\",\"id\":\"p\",\"params\":{",
    "item/tool/call\",\"id\":5,\"params\":{",
    "mcpServer/elicitation/request\",\"id\":6,\"params\":{",
    "\"threadId\":\"t1\"",
    "\"threadId\":\"t2\"",
    ",\"turnId\":\"u1\"",
    ",\"turn\":{\"id\":\"u1\",\"status\":\"",
    "completed\"}",
    "failed\",\"error\":{\"message\":\"no\"}}",
    ",\"itemId\":\"i1\"",
    ",\"item\":{\"id\":\"i1\",\"type\":\"",
    "agentMessage\",\"text\":\"a\"}",
    "commandExecution\",\"command\":\"bash -lc 'cat x'\",\"aggregatedOutput\":\"a\",\"exitCode\":0}",
    "fileChange\",\"changes\":[{\"path\":\"/work/a\",\"kind\":{\"type\":\"update\",\"move_path\":\"b\"},\"diff\":\"@@\"}]}",
    "collabAgentToolCall\",\"receiverThreadIds\":[\"t2\"]}",
    "dynamicToolCall\",\"tool\":\"metier_echo\",\"arguments\":{}}",
    ",\"command\":\"",
    ",\"delta\":\"a\"",
    ",\"tool\":\"metier_echo\",\"callId\":\"c\",\"arguments\":{}",
    ",\"tokenUsage\":{\"total\":{\"inputTokens\":18446744073709551615,\"outputTokens\":-1}}",
    "{\"id\":3,\"error\":{\"code\":-32001,\"message\":\"later\"}}\n",
    "{\"id\":3,\"result\":{\"turn\":{\"id\":\"u1\"}}}\n",
    "}}\n{\"method\":\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\n",
    "null",
    "1e5",
    "\u{fffd}",
];

pub(crate) const OPENAI: &[&str] = &[
    "data: {\"",
    "data:",
    "data",
    "event: x\n",
    ": ping\n",
    "id: 1\n",
    "}\n\ndata: {\"",
    "\n\n",
    "\r\n\r\n",
    "\r",
    "\n",
    "data: [DONE]\n\n",
    "\u{feff}",
    "choices\":[{\"index\":0,\"delta\":{\"",
    "content\":\"é\"",
    "reasoning_content\":\"a\"",
    "tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"one\",\"arguments\":\"{\\\"x\\\":\"}}]",
    "tool_calls\":[{\"index\":18446744073709551615,\"function\":{\"arguments\":\"1}\"}}]",
    "},\"finish_reason\":\"stop\"}]",
    "},\"finish_reason\":\"length\"}]",
    "},\"finish_reason\":\"tool_calls\"}]",
    ",\"usage\":{\"prompt_tokens\":18446744073709551615,\"completion_tokens\":-1,\"cost\":1e999}",
    "error\":{\"message\":\"no\",\"code\":429}",
    "type\":\"response.created\",\"response\":{}",
    "type\":\"response.output_text.delta\",\"delta\":\"a\"",
    "type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"one\",\"arguments\":\"{}\"}",
    "type\":\"response.output_item.done\",\"item\":{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"}]}",
    "type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}",
    "type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}",
    "type\":\"response.failed\",\"response\":{\"error\":{\"message\":\"no\",\"code\":\"server_error\"}}",
    "{",
    "}",
    "[",
    "]",
    ",\"",
    ":",
    "\"",
    "\\",
    "null",
    "1e5",
    "\u{fffd}",
];

pub(crate) const ACP: &[&str] = &[
    "session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"",
    "session/request_permission\",\"id\":5,\"params\":{\"sessionId\":\"s\",\"toolCall\":{\"toolCallId\":\"t\"",
    "fs/read_text_file\",\"id\":\"x\",\"params\":{",
    "agent_message_chunk\"",
    "agent_thought_chunk\"",
    "tool_call\",\"toolCallId\":\"t\"",
    "tool_call_update\",\"toolCallId\":\"t\"",
    "usage_update\"",
    "plan\"",
    ",\"status\":\"completed\"",
    ",\"status\":\"failed\"",
    ",\"title\":\"Bash\"",
    ",\"kind\":\"execute\"",
    ",\"rawInput\":{\"command\":\"ls\"}",
    ",\"content\":{\"type\":\"text\",\"text\":\"a\"}",
    ",\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"a\"}}]",
    ",\"options\":[{\"optionId\":\"o\",\"kind\":\"allow_once\"},{\"optionId\":\"r\",\"kind\":\"reject_once\"}]",
    ",\"usage\":{\"inputTokens\":18446744073709551615}",
    ",\"_meta\":{",
    "}}\n{\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}\n{\"method\":\"",
    "}}\n{\"id\":3,\"error\":{\"code\":-32603,\"message\":\"no\"}}\n{\"method\":\"",
    "}}\n{\"method\":\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\n",
    "null",
    "1e5",
    "\u{fffd}",
];
