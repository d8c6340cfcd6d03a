//! What real agents passed to hooks, and the pieces of such inputs.

use std::path::{Path, PathBuf};

/// The pieces of what agents pass to hooks.
pub(crate) const HOOK_INPUTS: &[&str] = &[
    "\"session_id\":",
    "\"sessionId\":",
    "\"parentAgentId\":",
    "\"tool_name\":",
    "\"toolName\":",
    "\"tool_input\":",
    "\"toolArgs\":",
    "\"tool_use_id\":",
    "\"prompt\":",
    "\"message\":",
    "\"command_name\":",
    "\"input\":{\"sessionID\":\"s\",\"tool\":\"bash\"}",
    "\"output\":{\"args\":",
    "\"event\":{\"properties\":",
    "\"servers\":[\"a\"]",
    "\"mcp_context\":",
    "\"s\"",
    "\"Bash\"",
    "\"apply_patch\"",
    "\"web_fetch\"",
    "\"a-b-c\"",
    "\"a__b\"",
    "{\"command\":\"",
    "*** Add File: ",
    "\\n",
    "$pdf ",
    "/pdf ",
    "python3 -i",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "0",
    "\u{1f}",
];

/// The recorded inputs of every agent.
pub(crate) fn hook_inputs() -> Vec<Vec<u8>> {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/metier-guard/tests/vectors");
    let files = |directory: PathBuf| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let events = files(vectors).into_iter().flat_map(|agent| files(agent.join("events")));
    events.filter_map(|path| std::fs::read(path).ok()).collect()
}
