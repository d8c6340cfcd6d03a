//! Skills as resources: their list and their files.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use metier_catalog::Entry;
use metier_session::{ResourcePart, Session, SessionError, skill_files};
use metier_skill::{Digest, Limits, SKILL_FILES};
use rmcp::ErrorData;
use rmcp::model::{
    ListResourcesResult, MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

use crate::answer::Refusal;
use crate::output::{Client, Outputs};
use crate::uri;
use crate::view::View;

/// A page of the skills' `SKILL.md` files, as they are now. Unreadable ones are left out.
pub(crate) fn list(
    view: &View,
    limits: &Limits,
    page: usize,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let start = start_of(cursor)?;
    let skills = view.skills.iter().skip(start).take(page);
    let resources = skills.filter_map(|skill| resource(view, skill, limits)).collect();
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor =
        (start.saturating_add(page) < view.skills.len()).then(|| (start.saturating_add(page)).to_string());
    Ok(result)
}

/// The position at which a list continues.
pub(crate) fn start_of(cursor: Option<&str>) -> Result<usize, ErrorData> {
    let wrong = |_| ErrorData::invalid_params("invalid cursor; call again without one", None);
    cursor.map_or(Ok(0), |cursor| cursor.parse().map_err(wrong))
}

fn resource(view: &View, skill: &Entry, limits: &Limits) -> Option<Resource> {
    let uri = uri::of(skill.name(), Path::new(SKILL_FILES[0]))?;
    let skill_md = skill_files(&view.catalog, skill, limits).ok()?.skill_md;
    let resource = Resource::new(uri, skill.name())
        .with_description(skill.description())
        .with_mime_type("text/markdown")
        .with_size(skill_md.len() as u64)
        .with_meta(digest_meta(&Digest::of(&skill_md).to_string()));
    Some(resource)
}

fn digest_meta(digest: &str) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.0.insert("io.metier/digest".to_owned(), json!(digest));
    meta
}

/// The URI template for any file of a skill.
pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new("skill://{skill}/{+path}", "skill-file")
        .with_title("A file of a skill")
        .with_description("Any file of a skill; its instructions are in SKILL.md")
}

/// The error for a URI that names no file here.
pub(crate) fn not_found(uri: &str) -> ErrorData {
    ErrorData::invalid_params(format!("unknown resource {uri}"), Some(json!({ "uri": uri })))
}

/// The full output of a script's stream, as long as it is stored.
pub(crate) fn read_output(
    outputs: &Outputs,
    client: Client,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let broken = |error: std::io::Error| ErrorData::internal_error(error.to_string(), None);
    let piece = outputs.read(client, uri, 0, u64::MAX).map_err(broken)?;
    let piece = piece.ok_or_else(|| not_found(uri))?;
    let contents = match String::from_utf8(piece.bytes) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type("text/plain"),
        Err(error) => ResourceContents::blob(STANDARD.encode(error.as_bytes()), uri)
            .with_mime_type("application/octet-stream"),
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

/// A complete file, as the session sees the skill.
pub(crate) fn read(
    session: &mut Session,
    skill: &str,
    path: &str,
    uri: &str,
) -> Result<ReadResourceResult, Refusal> {
    let mut resource = session.read(skill, path)?;
    let (digest, is_text) = (resource.digest, resource.is_text);
    let is_whole = resource.next_offset().is_none();
    while let Some(offset) = resource.next_offset() {
        let part = session.read_part(skill, path, ResourcePart::Bytes { offset, length: None })?;
        if part.tree_digest != resource.tree_digest {
            return Err(SessionError::Changed { name: skill.to_owned(), what: path.to_owned() }.into());
        }
        resource.bytes.extend(part.bytes);
        resource.range.length += part.range.length;
    }
    resource.is_text = is_text && std::str::from_utf8(&resource.bytes).is_ok();
    let digest = if is_whole { digest } else { Digest::of(&resource.bytes) };
    let content = resource.encoded();
    let contents = if resource.is_text {
        ResourceContents::text(content, uri)
    } else {
        ResourceContents::blob(content, uri)
    };
    let contents = contents.with_mime_type(resource.mime_type).with_meta(digest_meta(&digest.to_string()));
    Ok(ReadResourceResult::new(vec![contents]))
}
