//! Reads the body of a request with a timeout and a size limit. A body that is not JSON-RPC gets the error that the
//! protocol defines.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

/// Reads a body. The error is the response to send.
pub(super) async fn read(body: Body, most: usize, patience: Duration) -> Result<Bytes, Response> {
    match tokio::time::timeout(patience, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(last((StatusCode::PAYLOAD_TOO_LARGE, "the request is too large or incomplete\n"))),
        Err(_) => Err(last((StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time\n"))),
    }
}

/// A response that closes the connection, because the rest of the request is not read.
fn last(answer: (StatusCode, &'static str)) -> Response {
    let mut response = answer.into_response();
    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    response
}

/// Whether a request declares a JSON body.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

/// The response to a body that is declared as JSON but is not a message: a JSON-RPC error, with the id if there is one.
pub(super) fn not_a_message(body: &[u8]) -> Response {
    let (code, words, id) = match serde_json::from_slice::<Value>(body) {
        Err(error) => (-32700, format!("parse error: not valid JSON: {error}"), Value::Null),
        Ok(value) => {
            let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
            (-32600, "invalid request: not a JSON-RPC message".to_owned(), id.unwrap_or(Value::Null))
        }
    };
    let message = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": words } });
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], message.to_string())
        .into_response()
}
