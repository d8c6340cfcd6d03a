//! What a result of Claude Code means.

use serde_json::Value;

use crate::evaluation::StopReason;
use crate::frame::{owned, text};

/// Why a turn ended, and the error that is reported instead of an answer.
pub(super) fn ending(result: &Value) -> (StopReason, Option<String>) {
    let is_error = result.get("is_error") == Some(&Value::Bool(true));
    let subtype = text(result, "subtype").unwrap_or_default();
    let is_aborted = text(result, "terminal_reason").is_some_and(|reason| reason.starts_with("aborted"));
    match subtype {
        "error_during_execution" if is_aborted => (StopReason::Interrupted, None),
        "error_max_turns" => (StopReason::MaxTurns, None),
        // A failure of the model's API is a success with an error.
        "success" if is_error => (StopReason::Other("error".to_owned()), Some(message(result))),
        "success" => (stop_reason(result), None),
        other => (StopReason::Other(other.to_owned()), Some(message(result))),
    }
}

fn stop_reason(result: &Value) -> StopReason {
    match text(result, "stop_reason") {
        None | Some("end_turn" | "stop_sequence") => StopReason::EndTurn,
        Some("max_tokens") => StopReason::MaxTokens,
        Some("refusal") => StopReason::Refusal,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

/// What a result says of its error.
fn message(result: &Value) -> String {
    let said = owned(result, "result");
    if !said.trim().is_empty() {
        return said;
    }
    let errors = result.get("errors").and_then(Value::as_array).into_iter().flatten();
    let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
    if errors.is_empty() { owned(result, "subtype") } else { errors.join("; ") }
}
