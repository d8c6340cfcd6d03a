//! What an agent asked, as a test gets to see it.

/// Headers whose values say who somebody is.
const WITHHELD: &[&str] =
    &["authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"];

/// A request that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// `POST`, mostly.
    pub method: String,
    /// The path with its query, without keys.
    pub path: String,
    /// Names in lower case; what authenticates has no value.
    pub headers: Vec<(String, String)>,
    /// What was sent.
    pub body: Vec<u8>,
    /// How many results of tools it had, where a model was asked and could have called any.
    pub results: Option<usize>,
    /// What it was answered with.
    pub status: u16,
}

impl Request {
    /// Whether a text is anywhere in what was sent.
    ///
    /// Agents put things in different places, and in other places with the next version: that it is there is what counts.
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
