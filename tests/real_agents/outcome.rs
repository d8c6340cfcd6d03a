//! The result of a run: the requests to the model and the agent's output.

use std::ops::Deref;

use metier_fake_model::Request;
use metier_home::{Home, MountedSkill};
use serde_json::Value;

/// What came of a run in a home of ours.
pub(crate) struct Outcome {
    pub(crate) asked: Asked,
    pub(crate) mounted: Vec<MountedSkill>,
    pub(crate) home: Home,
}

impl Deref for Outcome {
    type Target = Asked;

    fn deref(&self) -> &Asked {
        &self.asked
    }
}

/// What the model was asked.
pub(crate) struct Asked {
    pub(crate) requests: Vec<Request>,
    pub(crate) output: String,
}

impl Asked {
    /// Some model must have been asked, or nothing is shown by anything that was not said.
    pub(crate) fn new(requests: Vec<Request>, output: String) -> Self {
        assert!(requests.iter().any(|request| request.results.is_some()), "no model was asked: {output}");
        Self { requests, output }
    }

    /// Whether a word was in a request to the model.
    pub(crate) fn saw(&self, word: &str) -> bool {
        self.requests.iter().any(|request| request.contains(word))
    }

    /// Whether it was in one that had so many results of tools, or more.
    pub(crate) fn saw_after(&self, results: usize, word: &str) -> bool {
        let late =
            self.requests.iter().filter(|request| request.results.is_some_and(|count| count >= results));
        late.into_iter().any(|request| request.contains(word))
    }

    /// Whether it was in the very first request that could have called tools.
    pub(crate) fn saw_first(&self, word: &str) -> bool {
        self.requests
            .iter()
            .find(|request| request.results.is_some())
            .is_some_and(|request| request.contains(word))
    }

    /// What is shown when something does not hold.
    pub(crate) fn story(&self) -> String {
        let line = |request: &Request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let said =
                ["messages", "input", "contents"].into_iter().find_map(|name| body[name].as_array()?.last());
            let said: String = said.map(Value::to_string).unwrap_or_default().chars().take(800).collect();
            let Request { method, path, status, results, .. } = request;
            format!("{method} {path} → {status}, results {results:?}, at last: {said}")
        };
        let lines: Vec<String> = self.requests.iter().map(line).collect();
        format!("{}\n{}", self.output, lines.join("\n"))
    }
}
