//! Reads a skill's other files.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use metier_journal::{ByteRange, Event, Privacy};
use metier_policy::{Action, Request};
use metier_skill::{Digest, ManifestFile, SKILL_FILES, SkillError, VCS_DIRECTORIES, tokens};
use rustix::io::Errno;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::active_skill::ActiveSkill;
use crate::error::{PathProblem, SessionError};
use crate::session::Session;
use crate::source::Source;

/// The tool name under which refused reads are recorded.
const TOOL: &str = "read_skill_resource";

/// No system accepts a longer path.
const LONGEST_PATH: usize = 4_096;

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourcePart {
    /// Lines, counted from 1, including the last one.
    Lines {
        /// The first.
        first: u64,
        /// The last; `None` for all remaining lines.
        last: Option<u64>,
    },
    /// Bytes.
    Bytes {
        /// The first byte.
        offset: u64,
        /// The maximum number of bytes; `None` for all remaining bytes.
        length: Option<u64>,
    },
}

/// A file of a skill, or a part of it. In JSON, `content` is the text or the bytes in base64, according to `encoding`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resource {
    /// The skill's id in the catalog.
    pub skill_id: String,
    /// Its path in the skill.
    pub path: String,
    /// Its media type, by its name.
    pub mime_type: &'static str,
    /// The bytes that were read.
    pub bytes: Vec<u8>,
    /// Whether they are text.
    pub is_text: bool,
    /// The digest of these bytes.
    pub digest: Digest,
    /// The digest of the whole skill.
    pub tree_digest: Digest,
    /// Their position in the file.
    pub range: ByteRange,
    /// The size of the file in bytes.
    pub total_bytes: u64,
    /// The size of the content, in tokens.
    pub tokens: u64,
}

impl Resource {
    /// The text, or the bytes in base64.
    pub fn encoded(&self) -> String {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) if self.is_text => text.to_owned(),
            _ => STANDARD.encode(&self.bytes),
        }
    }

    /// The offset at which to continue, if not everything was returned.
    pub fn next_offset(&self) -> Option<u64> {
        let end = self.range.offset + self.range.length;
        (end < self.total_bytes).then_some(end)
    }

    /// Its record.
    fn event(&self, name: &str, privacy: &Privacy, duration_us: u64) -> Event {
        Event::SkillResourceRead {
            name: name.to_owned(),
            tree_digest: self.tree_digest,
            path: self.path.clone(),
            content: privacy.content(&self.bytes),
            range: (self.range.length != self.total_bytes).then_some(self.range),
            tokens: self.tokens,
            duration_us,
        }
    }
}

impl Serialize for Resource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut resource = serializer.serialize_struct("Resource", 12)?;
        resource.serialize_field("skill_id", &self.skill_id)?;
        resource.serialize_field("path", &self.path)?;
        resource.serialize_field("mime_type", self.mime_type)?;
        resource.serialize_field("encoding", if self.is_text { "utf-8" } else { "base64" })?;
        resource.serialize_field("digest", &self.digest)?;
        resource.serialize_field("tree_digest", &self.tree_digest)?;
        resource.serialize_field("offset", &self.range.offset)?;
        resource.serialize_field("bytes", &self.range.length)?;
        resource.serialize_field("total_bytes", &self.total_bytes)?;
        resource.serialize_field("next_offset", &self.next_offset())?;
        resource.serialize_field("tokens", &self.tokens)?;
        resource.serialize_field("content", &self.encoded())?;
        resource.end()
    }
}

impl Session {
    /// Reads a file of a skill by its path in the skill, at most [`SessionOptions::resource_bytes`](crate::SessionOptions)
    /// of it.
    pub fn read(&mut self, name: &str, path: &str) -> Result<Resource, SessionError> {
        self.read_part(name, path, None)
    }

    /// Reads a part of a file: lines or bytes. `None` reads the complete file, as [`Session::read`] does.
    pub fn read_part(
        &mut self,
        name: &str,
        path: &str,
        part: impl Into<Option<ResourcePart>>,
    ) -> Result<Resource, SessionError> {
        let read = self.try_read(name, path, part.into());
        self.note_failed_check(name, read)
    }

    fn try_read(
        &mut self,
        name: &str,
        path: &str,
        part: Option<ResourcePart>,
    ) -> Result<Resource, SessionError> {
        self.check_budget()?;
        let start = self.options.clock.now();
        let (entry, held) = self.hold(name)?;
        let source = Source::open(&self.catalog, &entry)?;
        let file = self.file_of(&held, &source, path)?;
        let path = file.path.to_string_lossy().into_owned();
        self.may_read(&held, &path)?;
        let bytes = read_as_held(&held, &source, &file, self.options.rules.limits.skill_bytes)?;
        let resource = cut(&held, path, bytes, part, self.options.resource_bytes)?;
        self.record(&resource.event(&held.name, &self.options.privacy, self.since(start)))?;
        Ok(resource)
    }

    /// Whether a file may be read. A refusal is recorded.
    fn may_read(&mut self, held: &ActiveSkill, path: &str) -> Result<(), SessionError> {
        let request = |action| Request::new(held.tier, &held.name, held.tree_digest, action);
        // `SKILL.md` contains the instructions, so reading it needs the same permission as activating the skill.
        let is_activation = !held.is_active && SKILL_FILES.contains(&path);
        let settled = is_activation.then(|| self.settle(&request(Action::Activate))).transpose();
        let settled = settled.and_then(|_| self.settle(&request(Action::Read { path })));
        if let Err(SessionError::Denied { decision }) = &settled {
            let arguments = json!({ "skill_name": held.id, "path": path });
            self.record_decision(
                TOOL,
                &arguments.to_string(),
                decision,
                [(held.name.clone(), held.tree_digest)].into(),
            )?;
        }
        settled.map(drop)
    }

    /// The file of a skill that a path names, or why it names none.
    pub(crate) fn file_of(
        &self,
        held: &ActiveSkill,
        source: &Source,
        path: &str,
    ) -> Result<ManifestFile, SessionError> {
        let problem =
            |problem| SessionError::Path { skill: held.name.clone(), path: path.to_owned(), problem };
        let plain = plain_path(path).map_err(problem)?;
        if !self.options.nested_resources && plain.components().count() > 1 {
            return Err(problem(PathProblem::Nested));
        }
        if let Some(file) = held.manifest.get(&plain) {
            return Ok(file.clone());
        }
        let missing = || problem(PathProblem::NotFound(nearest(held, &plain)));
        // The file may exist, but it is not part of the skill, and will not be after reactivation either.
        if is_in_version_control(&plain) {
            return Err(missing());
        }
        match source.read(&plain, 0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing()),
            Err(error) if is_link(&error, source, &plain) => Err(problem(PathProblem::Link)),
            Err(error) if is_special(&error) => Err(problem(PathProblem::NotAFile)),
            Err(error) if is(&error, Errno::NAMETOOLONG) => Err(problem(PathProblem::TooLong)),
            Ok(_) | Err(_) => {
                let what = format!("`{}` is new", plain.display());
                Err(SessionError::Changed { name: held.name.clone(), what })
            }
        }
    }
}

/// A path that unambiguously names a file of the skill, without empty parts and `.`.
fn plain_path(path: &str) -> Result<PathBuf, PathProblem> {
    if path.len() > LONGEST_PATH {
        return Err(PathProblem::TooLong);
    }
    if path.contains(|c: char| c.is_control() || c == '\\') {
        return Err(PathProblem::Odd);
    }
    if path.starts_with('/') {
        return Err(PathProblem::Absolute);
    }
    if path.split('/').any(|part| part == "..") {
        return Err(PathProblem::LeadsUp);
    }
    let plain: PathBuf = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if plain.as_os_str().is_empty() { Err(PathProblem::NotAFile) } else { Ok(plain) }
}

fn is_in_version_control(path: &Path) -> bool {
    let mut above = path.parent().into_iter().flat_map(Path::iter);
    above.any(|part| VCS_DIRECTORIES.iter().any(|directory| part == *directory))
}

fn is(error: &io::Error, number: Errno) -> bool {
    error.raw_os_error() == Some(number.raw_os_error())
}

/// Whether opening failed because of the file's type: a directory or a pipe, or a socket or a device without a driver.
fn is_special(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotADirectory)
        || is(error, Errno::NXIO)
        || is(error, Errno::NODEV)
}

/// Whether opening failed because of a link. A link in the place of a directory is reported as not a directory.
fn is_link(error: &io::Error, source: &Source, path: &Path) -> bool {
    if is(error, Errno::LOOP) {
        return true;
    }
    let Source::Folder(folder) = source else { return false };
    let above = path.ancestors().skip(1).map(|above| folder.path().join(above));
    error.kind() == io::ErrorKind::NotADirectory && above.into_iter().any(|above| above.is_symlink())
}

/// The bytes of a file, if they match the digest that the session knows.
pub(crate) fn read_as_held(
    held: &ActiveSkill,
    source: &Source,
    file: &ManifestFile,
    most: u64,
) -> Result<Vec<u8>, SessionError> {
    let changed = |what: &str| {
        let what = format!("`{}` {what}", file.path.display());
        SessionError::Changed { name: held.name.clone(), what }
    };
    let bytes = source.read(&file.path, most).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => changed("was removed"),
        io::ErrorKind::PermissionDenied => {
            SessionError::Skill(SkillError::Io { path: held.directory.join(&file.path), source: error })
        }
        _ => changed("is no longer a regular file"),
    })?;
    if Digest::of(&bytes) == file.digest { Ok(bytes) } else { Err(changed("has changed")) }
}

/// The requested part of a file, up to the maximum.
fn cut(
    held: &ActiveSkill,
    path: String,
    mut bytes: Vec<u8>,
    part: Option<ResourcePart>,
    most: u64,
) -> Result<Resource, SessionError> {
    let total = bytes.len() as u64;
    let is_text = !bytes.contains(&0) && std::str::from_utf8(&bytes).is_ok();
    let (mut start, mut end) = match part {
        None => (0, total),
        Some(ResourcePart::Bytes { offset, length }) => {
            (offset, length.map_or(total, |length| offset.saturating_add(length).min(total)))
        }
        Some(ResourcePart::Lines { first, last }) => lines(&bytes, first, last)?,
    };
    if start > total {
        let reason = format!("`{path}` has {total} bytes; offset {start} is past the end");
        return Err(SessionError::Range { reason });
    }
    end = end.min(start.saturating_add(most));
    if is_text {
        (start, end) = between_characters(&bytes, start, end);
    }
    let range = ByteRange { offset: start, length: end - start };
    bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
    bytes.drain(..usize::try_from(start).unwrap_or(usize::MAX));
    let cost = if is_text { tokens(bytes.len()) } else { tokens(bytes.len().div_ceil(3) * 4) };
    Ok(Resource {
        skill_id: held.id.clone(),
        mime_type: mime_type(&path, is_text),
        path,
        digest: Digest::of(&bytes),
        tree_digest: held.tree_digest,
        bytes,
        is_text,
        range,
        total_bytes: total,
        tokens: cost as u64,
    })
}

/// The start and end of lines in bytes.
fn lines(bytes: &[u8], first: u64, last: Option<u64>) -> Result<(u64, u64), SessionError> {
    if first == 0 || last.is_some_and(|last| last < first) {
        let reason = "lines start at 1, and the last line must not be before the first".to_owned();
        return Err(SessionError::Range { reason });
    }
    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at as u64 + 1);
    let total = bytes.len() as u64;
    let skipped = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let start = if skipped == 0 { Some(0) } else { ends.by_ref().nth(skipped - 1) };
    let Some(start) = start.filter(|start| *start < total || *start == 0) else {
        let count = bytes.split_inclusive(|byte| *byte == b'\n').count();
        return Err(SessionError::Range {
            reason: format!("the file has {count} lines; line {first} is past the end"),
        });
    };
    let more = last.map(|last| usize::try_from(last - first).unwrap_or(usize::MAX));
    let end = more.and_then(|more| ends.nth(more)).unwrap_or(total);
    Ok((start, end))
}

/// The same without characters that are cut in two; at least one character, so that a reader that continues at the end
/// makes progress.
fn between_characters(bytes: &[u8], start: u64, end: u64) -> (u64, u64) {
    let is_inside = |at: u64| {
        let byte = usize::try_from(at).ok().and_then(|at| bytes.get(at));
        byte.is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000)
    };
    let next = |from: u64| (from..=from + 3).find(|at| !is_inside(*at)).unwrap_or(from);
    let (first, last) = (next(start), (0..=end).rev().find(|at| !is_inside(*at)).unwrap_or(end));
    let is_empty = last <= first && start < end && first < bytes.len() as u64;
    (first, if is_empty { next(first + 1) } else { last.max(first) })
}

/// The path of the skill that was probably meant.
fn nearest(held: &ActiveSkill, path: &Path) -> Option<String> {
    let wanted = path.to_string_lossy().to_lowercase();
    let last = path.file_name()?.to_string_lossy().to_lowercase();
    let distance = |file: &&ManifestFile| {
        let other = file.path.to_string_lossy().to_lowercase();
        let has_name =
            file.path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase() == last);
        let distance = strsim::levenshtein(&wanted, &other);
        if has_name { distance.min(1) } else { distance }
    };
    // Long paths are not typing errors.
    let files = held.manifest.files().iter().filter(|_| wanted.len() <= 200);
    let found = files.min_by_key(distance).filter(|file| distance(file) <= 3);
    found.map(|file| file.path.to_string_lossy().into_owned())
}

/// Media types by file extension.
const MIME_TYPES: &[(&str, &str)] = &[
    ("bash", "application/x-sh"),
    ("bmp", "image/bmp"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("html", "text/html"),
    ("ico", "image/x-icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("py", "text/x-python"),
    ("sh", "application/x-sh"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("toml", "application/toml"),
    ("tsv", "text/tab-separated-values"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// The media type of a file, by its name, or by whether it is text.
pub fn mime_type(path: &str, is_text: bool) -> &'static str {
    let ending = Path::new(path).extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let known = MIME_TYPES.iter().find(|(known, _)| ending.as_deref() == Some(known));
    known.map_or(if is_text { "text/plain" } else { "application/octet-stream" }, |(_, mime)| mime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found() {
        let text = b"one\ntwo\nthree";
        assert_eq!(lines(text, 1, None).unwrap(), (0, 13));
        assert_eq!(lines(text, 2, Some(2)).unwrap(), (4, 8));
        assert_eq!(lines(text, 3, Some(9)).unwrap(), (8, 13));
        assert_eq!(lines(b"", 1, None).unwrap(), (0, 0));
        assert!(
            lines(text, 4, None).is_err()
                && lines(text, 0, None).is_err()
                && lines(text, 3, Some(2)).is_err()
        );
        assert!(lines(b"one\n", 2, None).is_err(), "what ends a line begins none");
    }

    #[test]
    fn characters_stay_whole() {
        let text = "aéz".as_bytes();
        assert_eq!(between_characters(text, 2, 4), (3, 4));
        assert_eq!(between_characters(text, 0, 2), (0, 1));
        assert_eq!(between_characters(text, 2, 2), (3, 3));
        assert_eq!(between_characters(text, 1, 2), (1, 3), "whoever goes on gets on");
        assert_eq!(between_characters(text, 2, 3), (3, 4));
        assert_eq!(between_characters("é".as_bytes(), 1, 2), (2, 2));
    }
}
