//! A request of an agent, as tests see it.

use std::time::Instant;

/// Headers with credentials.
const WITHHELD: &[&str] =
    &["authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"];

/// A complete request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The method, usually `POST`.
    pub method: String,
    /// The path with its query, without keys.
    pub path: String,
    /// Header names in lower case. Credentials have no value.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The number of tool results in it, if it went to a model with tools.
    pub results: Option<usize>,
    /// The status of the answer.
    pub status: u16,
    /// When all of it had arrived, for benchmarks.
    pub received: Instant,
}

impl Request {
    /// Whether the request contains a text anywhere.
    ///
    /// Agents put content in different places, and may move it in later versions. Only its presence counts.
    pub fn contains(&self, text: &str) -> bool {
        !text.is_empty() && self.body.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

/// A header as it is remembered.
pub(crate) fn remembered(name: &str, value: &str) -> (String, String) {
    let name = name.to_ascii_lowercase();
    let value = if WITHHELD.contains(&name.as_str()) { String::new() } else { value.to_owned() };
    (name, value)
}

/// A path as it is remembered: Gemini's may have a key in it.
pub(crate) fn without_key(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("key=")).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}
