//! JSON as people commit it, with reasons that help where it is not JSON.

use serde_json::{Map, Value};

use crate::archive::{ArchiveLimits, name as path_name};

/// The object in a file. The error is what is wrong with the file.
pub(super) fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
        format!("is not UTF-8 (line {line})")
    })?;
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err("is empty".to_owned());
    }
    if let Some(target) = link(trimmed) {
        return Err(format!("is a link to `{target}` that was checked in as text; read that file instead"));
    }
    if text.lines().any(|line| line.starts_with("<<<<<<< ")) {
        return Err("has conflict markers of git".to_owned());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("is not a JSON object".to_owned()),
        Err(error) => Err(format!("is not valid JSON: {error}")),
    }
}

/// The target of a symbolic link that a system without links wrote as a file.
fn link(text: &str) -> Option<&str> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    (text.len() < 256 && text.contains('/') && text.chars().all(is_path)).then_some(text)
}

/// A text field. `None` if it is missing, an error if it is something else.
pub(super) fn text<'v>(object: &'v Map<String, Value>, key: &str) -> Result<Option<&'v str>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("has a `{key}` that is not text")),
    }
}

/// A path below the place of the file, without `./` and a slash at the end; empty for that place itself.
pub(super) fn path(text: &str) -> Result<String, String> {
    let mut path = text;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    let path = path.trim_end_matches('/');
    if path.is_empty() || path == "." {
        return if text.starts_with('/') {
            Err(format!("has the absolute path `{text}`"))
        } else {
            Ok(String::new())
        };
    }
    let is_odd = |c: char| c.is_control() || metier_skill::is_invisible(c);
    if text.contains(is_odd) {
        return Err("has a path with invisible characters".to_owned());
    }
    match path_name::check(path.as_bytes(), ArchiveLimits::default().depth) {
        Ok(path) => Ok(path.to_owned()),
        Err(_) if path.split(['/', '\\']).any(|part| part == "..") => {
            Err(format!("has the path `{text}`, which leads out of its directory"))
        }
        Err(_) => Err(format!("has the invalid path `{text}`")),
    }
}

/// A field with one path or a list of them.
pub(super) fn paths(object: &Map<String, Value>, key: &str) -> Result<Option<Vec<String>>, String> {
    let wrong = || format!("has a `{key}` that is neither a path nor a list of paths");
    let one = |value: &Value| path(value.as_str().ok_or_else(wrong)?);
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(values)) => values.iter().map(one).collect::<Result<_, _>>().map(Some),
        Some(value) => Ok(Some(vec![one(value)?])),
    }
}

/// The folders of skills that a field names; `x/SKILL.md` means `x`.
pub(super) fn skill_folders(object: &Map<String, Value>) -> Result<Option<Vec<String>>, String> {
    let folder = |path: String| {
        let file = metier_skill::SKILL_FILES.iter().find(|file| path.rsplit('/').next() == Some(file));
        file.map_or_else(
            || path.clone(),
            |file| path[..path.len() - file.len()].trim_end_matches('/').to_owned(),
        )
    };
    Ok(paths(object, "skills")?.map(|paths| paths.into_iter().map(folder).collect()))
}

/// The names in a field that has an object, or else that it is there: `hooks` and `mcpServers` may be a path as well.
pub(super) fn names(object: &Map<String, Value>, key: &str) -> Vec<String> {
    match object.get(key) {
        Some(Value::Object(inner)) => match inner.get(key) {
            Some(Value::Object(inner)) => inner.keys().cloned().collect(),
            _ => inner.keys().cloned().collect(),
        },
        Some(Value::String(path)) => vec![path.clone()],
        Some(Value::Array(values)) => values
            .iter()
            .map(|value| value.as_str().map_or_else(|| "inline".to_owned(), str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}
