//! Requests that servers behind the gateway may answer travel through `rmcp` under names that it does not know. It then
//! leaves their parameters and results as they are: members that it has no types for are kept.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use base64::Engine as _;
use serde_json::{Map, Value};

/// What the names begin with.
const PREFIX: &str = "metier/";

/// The methods that servers may answer.
const METHODS: [&str; 14] = [
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "logging/setLevel",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];

/// The member of a request's parameters that `Mcp-Name` repeats.
const NAMED: [&str; 3] = ["name", "uri", "taskId"];

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The method of a request that was renamed.
pub(crate) fn original(method: &str) -> Option<&str> {
    method.strip_prefix(PREFIX)
}

fn parse(bytes: &[u8]) -> Option<Map<String, Value>> {
    let message: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    let method = message.get("method")?.as_str()?;
    (METHODS.contains(&method) && message.contains_key("id")).then_some(message)
}

fn rename(mut message: Map<String, Value>) -> Option<Vec<u8>> {
    let method = message.get_mut("method")?;
    *method = Value::String(format!("{PREFIX}{}", method.as_str()?));
    serde_json::to_vec(&message).ok()
}

/// A message with its method renamed; `None` if it stays as it is.
pub(crate) fn renamed(bytes: &[u8]) -> Option<Vec<u8>> {
    rename(parse(bytes)?)
}

/// The same over HTTP, where headers may repeat the method. If they contradict the message it stays as it is, and is
/// refused for that.
pub(crate) fn renamed_with(bytes: &[u8], headers: &mut HeaderMap) -> Option<Vec<u8>> {
    let message = parse(bytes)?;
    if let Some(said) = headers.get(METHOD) {
        let method = message.get("method")?.as_str()?;
        let name = NAMED.iter().find_map(|name| message.get("params")?.get(*name)?.as_str());
        let is_same = said.to_str().ok()? == method
            && name.is_none_or(|name| decoded(headers.get(NAME)).as_deref() == Some(name));
        if !is_same {
            return None;
        }
        let renamed: HeaderValue = format!("{PREFIX}{method}").parse().ok()?;
        headers.insert(METHOD, renamed);
    }
    headers.remove(header::CONTENT_LENGTH);
    rename(message)
}

/// The text of a header, which is encoded if it has other characters than those of headers.
fn decoded(value: Option<&HeaderValue>) -> Option<String> {
    let text = value?.to_str().ok()?;
    match text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(coded) => String::from_utf8(base64::engine::general_purpose::STANDARD.decode(coded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_requests_that_servers_may_answer_are_renamed() {
        let name = |message: Value| {
            let renamed: Value = serde_json::from_slice(&renamed(message.to_string().as_bytes())?).unwrap();
            original(renamed["method"].as_str().unwrap()).map(str::to_owned)
        };
        assert_eq!(name(json!({ "id": 1, "method": "tools/call" })).as_deref(), Some("tools/call"));
        for other in [
            json!({ "id": 1, "method": "initialize" }),
            json!({ "method": "tools/call" }),
            json!({ "id": 1, "method": "metier/tools/call" }),
            json!({ "id": 1, "result": {} }),
            json!([{ "id": 1, "method": "tools/call" }]),
        ] {
            assert_eq!(name(other.clone()), None, "{other}");
        }
    }

    #[test]
    fn headers_that_contradict_the_message_are_left_for_the_refusal() {
        let message = json!({ "id": 1, "method": "tools/call", "params": { "name": "ö" } }).to_string();
        let with = |method: &'static str, name: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(METHOD, HeaderValue::from_static(method));
            headers.extend(name.map(|name| (NAME, HeaderValue::from_static(name))));
            let is_renamed = renamed_with(message.as_bytes(), &mut headers).is_some();
            (is_renamed, headers[METHOD].to_str().unwrap().to_owned())
        };
        assert_eq!(with("tools/call", Some("=?base64?w7Y=?=")), (true, "metier/tools/call".to_owned()));
        for (method, name) in
            [("tools/list", Some("=?base64?w7Y=?=")), ("tools/call", Some("o")), ("tools/call", None)]
        {
            assert_eq!(with(method, name), (false, method.to_owned()));
        }
    }
}
