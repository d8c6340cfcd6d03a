//! `list_skills`: which skills there are, or which fit a question best.

use std::fmt::Write as _;

use metier_catalog::{Entry, Hitting};
use metier_skill::Tier;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use crate::answer::{Answer, Refusal};
use crate::view::View;

/// How many are named at once, unless the model says otherwise, and at most.
const USUAL: usize = 50;
const MOST: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: Option<String>,
    tier: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
    #[serde(default)]
    include_disabled: bool,
}

pub(super) fn schema() -> (&'static str, &'static str, Value, Value) {
    let takes = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "What the skill should be good for; the best come first" },
            "tier": { "type": "string", "enum": ["builtin", "org", "user", "third_party"], "description": "Only skills that are trusted so far" },
            "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": "At most so many" },
            "cursor": { "type": "string", "description": "Where the last answer ended" },
            "include_disabled": { "type": "boolean", "description": "Name those that are switched off as well" },
        },
        "additionalProperties": false,
    });
    let skill = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" }, "description": { "type": "string" }, "id": { "type": "string" },
            "tier": { "type": "string" }, "enabled": { "type": "boolean" },
        },
        "required": ["name", "description", "id", "tier", "enabled"],
    });
    let gives = json!({
        "type": "object",
        "properties": {
            "skills": { "type": "array", "items": skill },
            "total": { "type": "integer" },
            "next_cursor": { "type": "string" },
        },
        "required": ["skills", "total"],
    });
    (
        "List skills",
        "Names the skills that there are, with what each is good for. With a query, the best for it come first.",
        takes,
        gives,
    )
}

pub(crate) fn list(tool: &'static str, given: Option<JsonObject>, view: &View) -> Result<Answer, Refusal> {
    let given: Arguments = arguments(tool, given)?;
    let wrong = |reason: String| Refusal::Arguments { tool, reason };
    let tier: Option<Tier> = given
        .tier
        .map(|tier| tier.parse())
        .transpose()
        .map_err(|error: metier_skill::SkillError| wrong(error.to_string()))?;
    let limit = given.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(wrong(format!("`limit` must be between 1 and {MOST}")));
    }
    let start = match given.cursor.as_deref() {
        None => 0,
        Some(cursor) => cursor
            .parse()
            .map_err(|_| wrong("this is no `cursor` of an answer; leave it out to begin anew".to_owned()))?,
    };
    let is_meant = |entry: &&Entry| {
        tier.is_none_or(|tier| entry.tier() == tier)
            && (given.include_disabled || entry.state.is_for_models())
    };
    let found: Vec<&Entry> = match &given.query {
        None if given.include_disabled => {
            view.catalog.all().iter().filter(|entry| entry.shadowed_by.is_none()).filter(is_meant).collect()
        }
        None => view.skills.iter().filter(is_meant).collect(),
        Some(query) => {
            let search = view.search().map_err(|error| Refusal::Broken(error.to_string()))?;
            let hits = search.query(query, view.skills.len().max(MOST));
            let entries = hits.into_iter().filter_map(|hit| match hit.skill {
                Hitting::Entry(entry) => Some(entry),
                Hitting::Unusable(_) => None,
            });
            entries.filter(is_meant).collect()
        }
    };
    let page: Vec<&&Entry> = found.iter().skip(start).take(limit).collect();
    let end = page.len().saturating_add(start);
    let mut data = json!({ "skills": page.iter().map(|entry| as_json(entry)).collect::<Vec<_>>(), "total": found.len() });
    let lines = page.iter().map(|entry| format!("{}: {}", entry.name(), one_line(entry.description())));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    text.push_str(if page.is_empty() { "There are none.\n" } else { "\n" });
    if end < found.len() && !page.is_empty() {
        data["next_cursor"] = json!(end.to_string());
        let _ = writeln!(text, "{} more: call again with cursor \"{end}\".", found.len() - end);
    }
    Ok(Answer { text, data })
}

fn as_json(entry: &Entry) -> Value {
    json!({
        "name": entry.name(),
        "description": entry.description(),
        "id": entry.id.to_string(),
        "tier": entry.tier().to_string(),
        "enabled": entry.state.is_for_models(),
    })
}

/// A description that cannot pass for another skill's line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
