//! The results of a search by any tool.

use serde_json::Value;

/// A skill in a search result. Tools identify it by its name, its directory's name or its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The name that the tool reports.
    pub name: String,
    /// The location that the tool reports, in any form. Can be empty.
    pub place: String,
}

impl Hit {
    /// Whether this is the skill with this name at a path such as `0150/eloquent/SKILL.md`.
    pub fn is(&self, name: &str, path: &str) -> bool {
        let directory = path.trim_end_matches("/SKILL.md");
        let place = self.place.trim_end_matches("/SKILL.md");
        let names_it = |said: &str| said == directory || said.ends_with(&format!("/{directory}"));
        self.name == name || names_it(place) || names_it(&self.name)
    }
}

/// The hits in the output of `metier search --json` or in a structured tool result: the objects of the first
/// list that contains any with a name.
pub fn from_json(value: &Value) -> Vec<Hit> {
    let own = |item: &Value| {
        let text = |key: &str| {
            let found = item.get(key).or_else(|| item.get("skill")?.get(key));
            found.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let first = |keys: &[&str]| keys.iter().map(|key| text(key)).find(|text| !text.is_empty());
        let place = first(&["path", "location", "directory", "id", "uri"]).unwrap_or_default();
        let name = first(&["name", "id"])?;
        Some(Hit { name, place })
    };
    match value {
        Value::Array(items) => items.iter().filter_map(own).collect(),
        Value::Object(fields) => {
            fields.values().map(from_json).find(|hits| !hits.is_empty()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// The hits in the result of a tool call: structured, JSON as text, or one heading `## owner/name (…)` per hit.
pub fn from_call(result: &Value) -> Vec<Hit> {
    let facts = || result.pointer("/_meta/io.metier~1result");
    if let Some(structured) = result.get("structuredContent").or_else(facts) {
        return from_json(structured);
    }
    let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
    if let Ok(value) = serde_json::from_str(text) {
        return from_json(&value);
    }
    let headings = text.lines().filter_map(|line| line.strip_prefix("## ")?.split(" (").next());
    headings.map(|place| Hit { name: last(place), place: place.to_owned() }).collect()
}

fn last(place: &str) -> String {
    place.rsplit('/').next().unwrap_or(place).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hits_are_found_in_every_shape() {
        let structured = json!({"structuredContent": {"total": 1, "skills": [{"id": "0001/a", "score": 1}]}});
        let text = json!({"content": [{"type": "text", "text": "Found 1:\n\n## 0001/a (v1)\nDoes.\n"}]});
        let metier = json!({"hits": [{"name": "a", "path": "/x/0001/a/SKILL.md", "score": 2.0}]});
        for hits in [from_call(&structured), from_call(&text), from_json(&metier)] {
            assert_eq!(hits.len(), 1, "{hits:?}");
            assert!(hits[0].is("another", "0001/a/SKILL.md"), "{hits:?}");
            assert!(!hits[0].is("another", "1/a/SKILL.md"), "{hits:?}");
        }
    }
}
