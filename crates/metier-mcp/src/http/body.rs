//! The body of a request, read whole: within a time, up to a size, and as the protocol wants it refused where it is not JSON-RPC.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

/// Reads a body; what to answer where it cannot be.
pub(super) async fn read(body: Body, most: usize, patience: Duration) -> Result<Bytes, Response> {
    match tokio::time::timeout(patience, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => {
            Err(last((StatusCode::PAYLOAD_TOO_LARGE, "the request is too large, or was cut off\n")))
        }
        Err(_) => Err(last((StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time\n"))),
    }
}

/// An answer after which the connection is closed: what is still to come of the request is not read.
fn last(answer: (StatusCode, &'static str)) -> Response {
    let mut response = answer.into_response();
    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    response
}

/// Whether a request says that its body is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

/// The answer to a body that is said to be JSON and is not a message: an error of JSON-RPC, with the id where there is one.
pub(super) fn not_a_message(body: &[u8]) -> Response {
    let (code, words, id) = match serde_json::from_slice::<Value>(body) {
        Err(error) => (-32700, format!("parse error: this is not JSON: {error}"), Value::Null),
        Ok(value) => {
            let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
            (-32600, "invalid request: this is not a JSON-RPC message".to_owned(), id.unwrap_or(Value::Null))
        }
    };
    let message = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": words } });
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], message.to_string())
        .into_response()
}
