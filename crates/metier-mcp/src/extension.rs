//! The Skills extension of the protocol (`io.modelcontextprotocol/skills`): skills as resources, with all their files.
//!
//! `rmcp` has no types for it yet, so they are defined here according to the specification.

use std::collections::BTreeSet;
use std::path::Path;

use metier_catalog::Entry;
use metier_session::{SkillFiles, mime_type, skill_files};
use metier_skill::{Data, Limits, Origin, Rules, SKILL_FILES, Scalar, ScalarKind, SkillName, Value, read};
use rmcp::ErrorData;
use rmcp::model::{ExtensionCapabilities, JsonObject};
use serde_json::{Map, json};

use crate::resources::start_of;
use crate::uri;
use crate::view::View;

/// The name of the extension.
const NAME: &str = "io.modelcontextprotocol/skills";

/// The maximum size of one skill that a server should serve.
const FILES_MAX: usize = 512;

/// The number of skills on one page; each is read completely for it.
const PAGE: usize = 50;

/// How long a client may cache a list.
const TTL_MS: u64 = 5_000;

/// The capabilities that the server declares.
pub(crate) fn capability() -> ExtensionCapabilities {
    let settings = JsonObject::from_iter([("directoryRead".to_owned(), json!(true))]);
    ExtensionCapabilities::from([(NAME.to_owned(), settings)])
}

/// Fields that the protocol requires in every result from 2026-07-28 on.
pub(crate) fn complete(mut result: serde_json::Value, is_modern: bool) -> serde_json::Value {
    if let Some(result) = result.as_object_mut().filter(|_| is_modern) {
        result.insert("resultType".to_owned(), json!("complete"));
        result.insert("ttlMs".to_owned(), json!(TTL_MS));
        result.insert("cacheScope".to_owned(), json!("private"));
    }
    result
}

/// `skills/list`: a page of skills. Skills that cannot be served this way are left out.
pub(crate) fn list(
    view: &View,
    limits: &Limits,
    cursor: Option<&str>,
) -> Result<serde_json::Value, ErrorData> {
    let start = start_of(cursor)?;
    let page = view.skills.iter().skip(start).take(PAGE);
    let skills: Vec<_> = page.filter_map(|skill| entry(view, skill, limits)).collect();
    let mut result = json!({ "skills": skills });
    if start.saturating_add(PAGE) < view.skills.len() {
        result["nextCursor"] = json!(start.saturating_add(PAGE).to_string());
    }
    Ok(result)
}

/// `skills/get`: the skill with this `SKILL.md`.
pub(crate) fn get(view: &View, limits: &Limits, uri: &str) -> Result<serde_json::Value, ErrorData> {
    let skill =
        uri::parse(uri).filter(|(_, path)| path == SKILL_FILES[0]).and_then(|(name, _)| view.skill(name));
    let skill = skill.and_then(|skill| entry(view, skill, limits));
    let skill =
        skill.ok_or_else(|| ErrorData::invalid_params(format!("no skill is served at {uri}"), None))?;
    Ok(json!({ "skill": skill }))
}

/// `resources/directory/read`: the direct entries of a directory in a skill.
pub(crate) fn directory(
    view: &View,
    limits: &Limits,
    uri: &str,
    cursor: Option<&str>,
) -> Result<serde_json::Value, ErrorData> {
    let start = start_of(cursor)?;
    let wrong = || {
        ErrorData::invalid_params(format!("{uri} is not a directory resource"), Some(json!({ "uri": uri })))
    };
    let (name, path) = uri::parse(uri).ok_or_else(wrong)?;
    let skill = view.skill(name).ok_or_else(wrong)?;
    let files = skill_files(&view.catalog, skill, limits).map_err(|_| wrong())?;
    let children = children(&files, skill, Path::new(&path));
    if children.is_empty() {
        return Err(wrong());
    }
    let page: Vec<_> = children.iter().skip(start).take(FILES_MAX).collect();
    let mut result = json!({ "resources": page });
    if start.saturating_add(FILES_MAX) < children.len() {
        result["nextCursor"] = json!((start.saturating_add(FILES_MAX)).to_string());
    }
    Ok(result)
}

fn children(files: &SkillFiles, skill: &Entry, directory: &Path) -> Vec<serde_json::Value> {
    let mut directories = BTreeSet::new();
    let mut children = Vec::new();
    for (file, size) in files.manifest.files().iter().zip(&files.sizes) {
        let Ok(below) = file.path.strip_prefix(directory) else { continue };
        let mut parts = below.components();
        let Some(first) = parts.next() else { continue };
        let path = directory.join(first);
        let (Some(uri), Some(name)) = (uri::of(skill.name(), &path), path.file_name()) else { continue };
        let name = name.to_string_lossy();
        if parts.next().is_none() {
            // `SKILL.md` gets the name of the skill.
            let is_skill_md = file.path == Path::new(SKILL_FILES[0]);
            let mut child = json!({
                "uri": uri, "name": name, "mimeType": mime_type(&name, true), "size": size,
                "_meta": { "io.metier/digest": file.digest },
            });
            if is_skill_md {
                (child["name"], child["description"]) = (json!(skill.name()), json!(skill.description()));
            }
            children.push(child);
        } else if directories.insert(path.clone()) {
            children.push(json!({ "uri": uri, "name": name, "mimeType": "inode/directory" }));
        }
    }
    children
}

/// A skill with all its files; `None` if it is not a skill as the extension defines it.
fn entry(view: &View, skill: &Entry, limits: &Limits) -> Option<serde_json::Value> {
    let files = skill_files(&view.catalog, skill, limits).ok()?;
    let origin = Origin { file: SKILL_FILES[0], directory: None };
    let frontmatter = read(files.skill_md.as_slice(), origin, &Rules::standard()).frontmatter?;
    let name = frontmatter.get("name").and_then(Value::as_str)?;
    let is_served = SkillName::new(name).is_ok() && name == skill.name() && files.sizes.len() <= FILES_MAX;
    if !is_served || files.manifest.get(Path::new(SKILL_FILES[0])).is_none() {
        return None;
    }
    let resource = |(file, size): (&metier_skill::ManifestFile, &u64)| {
        Some(json!({ "uri": uri::of(name, &file.path)?, "digest": file.digest, "size": size }))
    };
    let resources: Option<Vec<_>> = files.manifest.files().iter().zip(&files.sizes).map(resource).collect();
    Some(json!({
        "uri": uri::of(name, Path::new(SKILL_FILES[0]))?,
        "frontmatter": as_json(&frontmatter),
        "resources": resources?,
    }))
}

/// Frontmatter as JSON, with values typed as in YAML 1.2.
fn as_json(value: &Value) -> serde_json::Value {
    match &value.data {
        Data::Scalar(scalar) => scalar_json(scalar),
        Data::List(items) => items.iter().map(as_json).collect(),
        Data::Map(entries) => {
            let pair = |entry: &metier_skill::Field| (entry.key.text().to_owned(), as_json(&entry.value));
            serde_json::Value::Object(entries.iter().map(pair).collect::<Map<_, _>>())
        }
    }
}

fn scalar_json(scalar: &Scalar) -> serde_json::Value {
    let text = scalar.text();
    let as_text = || json!(text);
    match scalar.kind() {
        ScalarKind::Null => serde_json::Value::Null,
        ScalarKind::Bool => match text {
            "true" | "True" | "TRUE" => json!(true),
            "false" | "False" | "FALSE" => json!(false),
            // Older YAML versions had more words for booleans.
            _ => as_text(),
        },
        ScalarKind::Integer => whole_number(text).map_or_else(as_text, |number| json!(number)),
        ScalarKind::Float => {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
            match text.parse::<f64>().ok().filter(|number| is_plain && number.is_finite()) {
                // A number without a fraction becomes an integer.
                #[expect(clippy::cast_possible_truncation, reason = "it is small enough, and an integer")]
                Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => json!(number as i64),
                Some(number) => json!(number),
                None => as_text(),
            }
        }
        _ => as_text(),
    }
}

fn whole_number(text: &str) -> Option<i64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return i64::from_str_radix(hex, 16).ok();
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return i64::from_str_radix(octal, 8).ok();
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frontmatter_is_what_yaml_says() {
        let text = "---\nname: a\ndescription: \"1\"\nn: 1\nf: 1.50\nw: 1.0\ny: yes\nt: true\nd: 2024-01-31\nx: 0x1F\nz: ~\nl: [1, a]\nm:\n  k: v\nv: 1.2.3\n---\n";
        let origin = Origin { file: "SKILL.md", directory: None };
        let frontmatter = read(text.as_bytes(), origin, &Rules::standard()).frontmatter.unwrap();
        assert_eq!(
            as_json(&frontmatter),
            json!({
                "name": "a", "description": "1", "n": 1, "f": 1.5, "w": 1, "y": "yes", "t": true, "d": "2024-01-31",
                "x": 31, "z": null, "l": [1, "a"], "m": { "k": "v" }, "v": "1.2.3",
            })
        );
    }
}
