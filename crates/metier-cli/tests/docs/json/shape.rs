//! The shape of JSON values: which members there are, of which types, and which are not always there.

use std::collections::BTreeSet;

use serde_json::Value;

/// A value that was in none of the outputs.
const UNSEEN: &str = "…";

/// What several values have in common.
#[derive(Debug, Default)]
pub(super) struct Shape {
    scalars: BTreeSet<&'static str>,
    items: Option<Box<Shape>>,
    members: Option<Members>,
}

#[derive(Debug, Default)]
struct Members {
    /// How many objects were seen.
    seen: usize,
    is_map: bool,
    /// Each with how often it was there.
    list: Vec<(String, Shape, usize)>,
}

impl Shape {
    /// Adds a value. `path` has the members that lead to it, with dots between; `maps` are those whose keys are data.
    pub(super) fn add(&mut self, value: &Value, path: &str, maps: &[&str]) {
        match value {
            Value::Null => drop(self.scalars.insert("null")),
            Value::Bool(_) => drop(self.scalars.insert("boolean")),
            Value::Number(_) => drop(self.scalars.insert("number")),
            Value::String(_) => drop(self.scalars.insert("text")),
            Value::Array(items) => {
                let shape = self.items.get_or_insert_default();
                for item in items {
                    shape.add(item, path, maps);
                }
            }
            Value::Object(object) => {
                let members = self.members.get_or_insert_default();
                members.seen += 1;
                members.is_map = maps.contains(&path);
                for (key, value) in object {
                    let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    let key = if members.is_map { "NAME" } else { key };
                    let at = members.list.iter().position(|(name, ..)| name == key).unwrap_or_else(|| {
                        members.list.push((key.to_owned(), Self::default(), 0));
                        members.list.len() - 1
                    });
                    members.list[at].1.add(value, &inner, maps);
                    members.list[at].2 += 1;
                }
            }
        }
    }

    /// The shape as it is written, `depth` levels in.
    pub(super) fn text(&self, depth: usize) -> String {
        let mut ways: Vec<String> = Vec::new();
        if let Some(members) = &self.members {
            ways.push(members.text(depth));
        }
        if let Some(items) = &self.items {
            ways.push(match items.text(depth) {
                empty if empty == UNSEEN => "[…]".to_owned(),
                text => format!("[{text}]"),
            });
        }
        // That there may be nothing comes last.
        let (nothing, others): (Vec<&str>, Vec<&str>) =
            self.scalars.iter().copied().partition(|name| *name == "null");
        ways.extend(others.into_iter().chain(nothing).map(str::to_owned));
        match ways.as_slice() {
            [] => UNSEEN.to_owned(),
            // Something else is there at other times.
            [only] if only == "null" => format!("{UNSEEN} or null"),
            ways => ways.join(" or "),
        }
    }
}

impl Members {
    fn text(&self, depth: usize) -> String {
        if self.list.is_empty() {
            return "{}".to_owned();
        }
        let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
        let members = self.list.iter().map(|(name, shape, count)| {
            let key = if self.is_map { name.clone() } else { format!("\"{name}\"") };
            let mark = if *count < self.seen && !self.is_map { "?" } else { "" };
            format!("{inner}{key}{mark}: {}", shape.text(depth + 1))
        });
        format!("{{\n{}\n{outer}}}", members.collect::<Vec<_>>().join(",\n"))
    }
}

#[test]
fn shapes_have_what_some_values_have() {
    let mut shape = Shape::default();
    let values = [
        serde_json::json!({ "a": 1, "b": ["x"], "m": { "one": 1 }, "n": null, "l": [] }),
        serde_json::json!({ "a": null, "b": [], "c": true, "m": { "two": 2, "three": 3 }, "n": null, "l": [] }),
    ];
    for value in &values {
        shape.add(value, "", &["m"]);
    }
    assert_eq!(
        shape.text(0),
        "{\n  \"a\": number or null,\n  \"b\": [text],\n  \"m\": {\n    NAME: number\n  },\n  \"n\": … or null,\n  \"l\": […],\n  \"c\"?: boolean\n}"
    );
}
