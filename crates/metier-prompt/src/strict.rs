//! Schemas that reject unknown members, and checking arguments against them.
//!
//! Types that are parsed leniently (flattened, tagged or untagged) ignore unknown members. So arguments are
//! checked against the schema, not the type: what a model is told is exactly what is checked.

use std::collections::HashSet;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// Keywords that combine schemas.
const COMBINED: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// The schema for parsing a type. It rejects unknown members.
pub(crate) fn schema_to_read<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::default().for_deserialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(close).transform(&mut schema);
    RecursiveTransform(close_as_a_whole).transform(&mut schema);
    // The tool has its own name and description; those of the type are for programmers.
    for noise in ["$schema", "title", "description"] {
        schema.remove(noise);
    }
    schema.to_value()
}

/// The schema of a type's serialized form.
pub(crate) fn schema_to_write<T: JsonSchema>() -> Value {
    SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

fn close(schema: &mut Schema) {
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

/// If members come from several parts, no part may reject those of the others.
fn close_as_a_whole(schema: &mut Schema) {
    let is_closed = |part: &Map<String, Value>| part.get("additionalProperties") == Some(&Value::Bool(false));
    let Some(whole) = schema.as_object_mut().filter(|whole| is_closed(whole)) else { return };
    if !COMBINED.iter().any(|parts| whole.contains_key(*parts)) {
        return;
    }
    for parts in COMBINED {
        let parts = whole.get_mut(parts).and_then(Value::as_array_mut).into_iter().flatten();
        for part in parts.filter_map(Value::as_object_mut).filter(|part| is_closed(part)) {
            part.shift_remove("additionalProperties");
        }
    }
    whole.shift_remove("additionalProperties");
    whole.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
}

/// Finds problems in a value that its type accepted: members that the schema does not know, and lists instead
/// of objects.
pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let mut strict = Strict { root: schema, seen: HashSet::new(), unknown: Vec::new(), lists: Vec::new() };
    strict.look(schema, value, "");
    let named = |mut places: Vec<String>| {
        places.truncate(5);
        places.join("`, `")
    };
    match (strict.lists.is_empty(), strict.unknown.is_empty()) {
        (true, true) => Ok(()),
        (true, false) => Err(format!("unknown argument `{}`", named(strict.unknown))),
        (false, _) if strict.lists[0].is_empty() => Err("expected an object, not a list".to_owned()),
        (false, _) => Err(format!("expected an object, not a list, for `{}`", named(strict.lists))),
    }
}

/// Which alternatives of a schema apply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alternatives {
    Fitting,
    None,
}

struct Strict<'a> {
    root: &'a Value,
    /// Which values were checked against which schemas. Alternatives that share a part lead to it many times.
    seen: HashSet<(usize, usize)>,
    unknown: Vec<String>,
    lists: Vec<String>,
}

impl<'a> Strict<'a> {
    fn look(&mut self, schema: &'a Value, value: &Value, place: &str) {
        let address = |value: &Value| std::ptr::from_ref(value).addr();
        if !self.seen.insert((address(schema), address(value))) {
            return;
        }
        let mut parts = Vec::new();
        self.parts(schema, value, Alternatives::Fitting, &mut parts);
        match value {
            Value::Object(members) => self.members(&parts, members, place),
            Value::Array(items) => {
                let takes_lists =
                    parts.iter().any(|part| part.contains_key("items") || part.contains_key("prefixItems"));
                if !takes_lists && parts.iter().any(|part| part.contains_key("properties")) {
                    self.lists.push(place.to_owned());
                }
                for (number, item) in items.iter().enumerate() {
                    for schema in parts.iter().filter_map(|part| item_schema(part, number)) {
                        self.look(schema, item, &below(place, &number.to_string()));
                    }
                }
            }
            _ => {}
        }
    }

    fn members(&mut self, parts: &[&'a Map<String, Value>], members: &Map<String, Value>, place: &str) {
        let further =
            || parts.iter().filter_map(|part| part.get("additionalProperties")).filter(|all| **all != false);
        let is_closed =
            parts.iter().any(|part| part.contains_key("properties")) && further().next().is_none();
        for (name, value) in members {
            let place = below(place, name);
            let known = parts.iter().filter_map(|part| part.get("properties")?.get(name));
            let known: Vec<&Value> = known.collect();
            if known.is_empty() && is_closed {
                self.unknown.push(place);
                continue;
            }
            let further = further().filter(|_| known.is_empty());
            for schema in known.iter().copied().chain(further) {
                self.look(schema, value, &place);
            }
        }
    }

    /// All schemas that apply to this value. If several alternatives fit, a member that any of them knows is
    /// known.
    fn parts(
        &self,
        schema: &'a Value,
        value: &Value,
        alternatives: Alternatives,
        out: &mut Vec<&'a Map<String, Value>>,
    ) {
        // A schema that refers to itself adds nothing.
        let is_new = |part: &&Map<String, Value>| !out.iter().any(|known| std::ptr::eq(*known, *part));
        let Some(part) = schema.as_object().filter(is_new) else { return };
        out.push(part);
        let target = part.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
        if let Some(target) = target.and_then(|target| self.root.pointer(target)) {
            self.parts(target, value, alternatives, out);
        }
        for name in COMBINED {
            let all = part.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            if name == "allOf" {
                for one in all {
                    self.parts(one, value, alternatives, out);
                }
            } else if alternatives == Alternatives::Fitting {
                let fitting: Vec<&Value> = all.iter().filter(|one| self.fits(one, value)).collect();
                // Its type accepted the value, so one of them must apply.
                let all = if fitting.is_empty() { all.iter().collect() } else { fitting };
                for one in all {
                    self.parts(one, value, alternatives, out);
                }
            }
        }
    }

    /// Whether this alternative may apply, judged by its own keywords.
    fn fits(&self, schema: &'a Value, value: &Value) -> bool {
        let mut parts = Vec::new();
        self.parts(schema, value, Alternatives::None, &mut parts);
        parts.iter().all(|part| {
            let is_type = match part.get("type") {
                Some(Value::String(name)) => is_of_type(value, name),
                Some(Value::Array(names)) => {
                    names.iter().filter_map(Value::as_str).any(|name| is_of_type(value, name))
                }
                _ => true,
            };
            let required = part.get("required").and_then(Value::as_array).into_iter().flatten();
            let mut required = required.filter_map(Value::as_str);
            let properties = part.get("properties").and_then(Value::as_object).into_iter().flatten();
            let mut tags =
                properties.filter_map(|(name, schema)| Some((schema.get("const")?, value.get(name)?)));
            is_type
                && part.get("const").is_none_or(|only| only == value)
                && required.all(|name| value.get(name).is_some())
                && tags.all(|(wanted, given)| wanted == given)
        })
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" | "number" => value.is_number(),
        _ => true,
    }
}

fn item_schema(part: &Map<String, Value>, number: usize) -> Option<&Value> {
    let first = part.get("prefixItems").and_then(Value::as_array);
    first.and_then(|first| first.get(number)).or_else(|| part.get("items"))
}

fn below(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}
