//! `list_skills`: the available skills, or those that match a query best.

use std::fmt::Write as _;
use std::time::UNIX_EPOCH;

use metier_catalog::{Catalog, Entry};
use metier_journal::Time;
use metier_skill::{Tier, tokens};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Schema, SkillToolAnswer, SkillToolError, SkillToolOptions, arguments};

/// The default and maximum number of skills in one answer.
const USUAL: usize = 50;
const MOST: usize = 200;

/// How much of a query is repeated in an answer.
const QUERY_SHOWN: usize = 100;

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

pub(super) fn schema() -> Schema {
    let takes = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "What the skill should help with; the best matches come first" },
            "tier": { "type": "string", "enum": ["builtin", "org", "user", "third_party"], "description": "Only skills of this trust tier" },
            "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": "Maximum number of skills" },
            "cursor": { "type": "string", "description": "The cursor from the previous answer" },
            "include_disabled": { "type": "boolean", "description": "Include disabled skills" },
        },
        "additionalProperties": false,
    });
    let description =
        "Lists the available skills with their descriptions. With a query, the best matches come first."
            .to_owned();
    Schema { title: "List skills", description, takes }
}

/// Lists the skills of a catalog, or those that match a query, with the arguments from a model.
pub fn list(
    catalog: &Catalog,
    given: Value,
    options: &SkillToolOptions,
) -> Result<SkillToolAnswer, SkillToolError> {
    let tool = options.names.list();
    let given: Arguments = arguments(tool, given)?;
    let wrong = |reason: String| SkillToolError::Arguments { tool, reason };
    let tier: Option<Tier> = given
        .tier
        .map(|tier| tier.parse())
        .transpose()
        .map_err(|error: metier_skill::ParseTierError| wrong(error.to_string()))?;
    let limit = given.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(wrong(format!("`limit` must be between 1 and {MOST}")));
    }
    let start = match given.cursor.as_deref() {
        None => 0,
        Some(cursor) => cursor
            .parse()
            .map_err(|_| wrong("invalid `cursor`; omit it to start from the beginning".to_owned()))?,
    };
    let all = catalog.for_models().count();
    let is_meant = |entry: &Entry| {
        tier.is_none_or(|tier| entry.tier() == tier)
            && (given.include_disabled || entry.state.is_for_models())
    };
    let mut found: Vec<Entry> = match (&given.query, &options.rank) {
        (None, _) if given.include_disabled => {
            catalog.all().iter().filter(|entry| entry.shadowed_by.is_none()).cloned().collect()
        }
        (None, _) => catalog.for_models().map(|skill| skill.entry.clone()).collect(),
        (Some(query), Some(rank)) => rank(catalog, query, all.max(MOST)).map_err(SkillToolError::Search)?,
        (Some(query), None) => by_words(catalog, query),
    };
    found.retain(is_meant);
    let page: Vec<&Entry> = found.iter().skip(start).take(limit).collect();
    let end = page.len().saturating_add(start);
    let mut facts = json!({ "skills": page.iter().map(|entry| as_json(entry)).collect::<Vec<_>>(), "total": found.len() });
    let lines = page.iter().map(|entry| line(entry));
    let mut text = lines.collect::<String>();
    if found.is_empty() {
        text = nothing(tool, all, given.query.as_deref());
    } else if page.is_empty() {
        text = format!("There are only {} skills; omit `cursor` to start from the beginning.\n", found.len());
    } else if end < found.len() {
        facts["next_cursor"] = json!(end.to_string());
        let _ = writeln!(text, "{} more skills: call again with cursor \"{end}\".", found.len() - end);
    }
    Ok(SkillToolAnswer { text, facts })
}

/// The skills in an answer of [`list`] that models may use, each with its tokens.
pub(crate) fn listed_tokens<'a>(
    catalog: &'a Catalog,
    answer: &SkillToolAnswer,
) -> impl Iterator<Item = (&'a Entry, u64)> {
    let ids = answer.facts.get("skills").and_then(Value::as_array).into_iter().flatten();
    let ids = ids.filter_map(|skill| skill.get("id")?.as_str());
    let entries: Vec<&Entry> = ids.filter_map(|id| catalog.by_id(id)).collect();
    let entries = entries.into_iter().filter(|entry| entry.state.is_for_models());
    entries.map(|entry| (entry, tokens(line(entry).len()) as u64))
}

/// The skills with words of a query in their name or description, those with the most matches first.
fn by_words(catalog: &Catalog, query: &str) -> Vec<Entry> {
    let query = query.to_lowercase();
    let words: Vec<&str> =
        query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let score = |entry: &Entry| {
        let (name, description) = (entry.name().to_lowercase(), entry.description().to_lowercase());
        let points =
            |word: &&str| 2 * usize::from(name.contains(word)) + usize::from(description.contains(word));
        words.iter().map(points).sum::<usize>()
    };
    let entries = catalog.all().iter().filter(|entry| entry.shadowed_by.is_none());
    let mut found: Vec<(usize, &Entry)> =
        entries.map(|entry| (score(entry), entry)).filter(|(score, _)| *score > 0).collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, entry)| entry.clone()).collect()
}

/// What to do if nothing was found.
fn nothing(tool: &str, all: usize, query: Option<&str>) -> String {
    match query {
        Some(query) => {
            let query: String = one_line(query).chars().take(QUERY_SHOWN).collect();
            format!("No skill matches \"{query}\". Call {tool} without a query to see all {all}.\n")
        }
        None => format!("No skill matches. Call {tool} without arguments to see all {all}.\n"),
    }
}

fn line(entry: &Entry) -> String {
    let off = if entry.state.is_for_models() { "" } else { " [disabled]" };
    match entry.listing().and_then(|listing| listing.description) {
        Some(description) => format!("{}{off}: {}\n", entry.name(), one_line(description)),
        None => format!("{}{off}\n", entry.name()),
    }
}

fn as_json(entry: &Entry) -> Value {
    let mut facts =
        json!({ "name": entry.name(), "id": entry.id.to_string(), "enabled": entry.state.is_for_models() });
    if let Value::Object(facts) = &mut facts {
        facts.extend(declared(entry));
    }
    facts
}

/// What programs read of a skill's frontmatter beside its name and description, and when it was last modified.
pub fn declared(entry: &Entry) -> Map<String, Value> {
    let facts = &entry.facts;
    let modified = entry.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.and_then(|since| i64::try_from(since.as_micros()).ok()).map(Time::from_micros);
    let metadata: Map<String, Value> =
        facts.metadata.iter().map(|(key, value)| (key.to_string(), json!(value))).collect();
    let members = [
        ("last_modified", modified.map(|time| json!(time.to_string()))),
        ("license", facts.license.as_ref().map(|text| json!(text))),
        ("compatibility", facts.compatibility.as_ref().map(|text| json!(text))),
        ("metadata", (!metadata.is_empty()).then_some(Value::Object(metadata))),
        ("allowed_tools", facts.allowed_tools.as_ref().map(|rules| json!(rules))),
    ];
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// A description on one line, so that it cannot look like another skill's entry.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
