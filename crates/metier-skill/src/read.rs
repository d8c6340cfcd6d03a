//! Bytes in, a skill and findings out. Never fails, never panics, never touches the disk.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::Findings;
use crate::document::{self, Document};
use crate::value::Value;
use crate::{Body, Code, Diagnostic, Rules, Skill, SkillName, Span, fields, lint};

/// The markdown after the frontmatter, where nothing else of the file is wanted; all of it where there is none.
///
/// ```
/// assert_eq!(metier_skill::body_of("---\nname: x\n---\nDo it.\n"), "Do it.\n");
/// ```
pub fn body_of(text: &str) -> &str {
    document::body_start(text).and_then(|start| text.get(start..)).unwrap_or(text)
}

/// Where the bytes of a skill come from, as far as the rules care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The file's name, for findings.
    pub file: &'a str,
    /// The name of the skill's directory, which the skill's name must match; `None` for a single file.
    pub directory: Option<&'a str>,
}

impl<'a> Origin<'a> {
    /// The `SKILL.md` of a directory with this name.
    pub const fn directory(name: &'a str) -> Self {
        Self { file: "SKILL.md", directory: Some(name) }
    }

    /// A markdown file that is a skill by itself.
    pub const fn file(name: &'a str) -> Self {
        Self { file: name, directory: None }
    }

    /// The file's name without its extension, for a single file.
    pub(crate) fn stem(self) -> Option<&'a str> {
        let stem = Path::new(self.file).file_stem()?.to_str()?;
        self.directory.is_none().then_some(stem)
    }
}

/// What was read: the skill, as far as there is one, and everything there is to say about it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reading {
    /// What could be read, even if it is not valid; see [`Reading::is_valid`].
    pub skill: Option<Skill>,
    /// The frontmatter as it stands, if it is a mapping.
    pub frontmatter: Option<Value>,
    /// All findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The text of the file; what is not UTF-8 is replaced.
    pub text: Arc<String>,
    /// The file's name, as findings have it.
    pub file: String,
}

impl Reading {
    /// Whether the skill keeps the rules: there is one, and no finding is an error.
    pub fn is_valid(&self) -> bool {
        self.skill.is_some() && !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The skill, if it is valid.
    pub fn into_valid(self) -> Result<Skill, Vec<Diagnostic>> {
        if self.is_valid()
            && let Some(skill) = self.skill
        {
            return Ok(skill);
        }
        Err(self.diagnostics)
    }

    /// Nothing to read, for this one reason.
    pub(crate) fn nothing(rules: &Rules, file: &str, code: Code, message: impl Into<String>) -> Self {
        let mut findings = Findings::new(rules, file);
        findings.report(code, Span::default(), message);
        let diagnostics = findings.finish("");
        Self { skill: None, frontmatter: None, diagnostics, text: Arc::default(), file: file.to_owned() }
    }
}

/// Reads the bytes of a `SKILL.md` and holds them to the rules.
///
/// ```
/// use metier_skill::{Origin, Rules, read};
///
/// let bytes = b"---\nname: hello\ndescription: Use when greeting somebody.\n---\nSay hello.\n";
/// let reading = read(bytes, Origin::directory("hello"), &Rules::standard());
///
/// assert!(reading.is_valid());
/// assert_eq!(reading.skill.unwrap().body, "Say hello.\n");
/// ```
pub fn read(bytes: impl Into<Vec<u8>>, origin: Origin<'_>, rules: &Rules) -> Reading {
    let bytes = bytes.into();
    let mut findings = Findings::new(rules, origin.file);
    if bytes.len() as u64 > rules.limits.skill_md_bytes {
        return Reading::nothing(
            rules,
            origin.file,
            Code::SkillMdTooLarge,
            too_large(bytes.len() as u64, rules),
        );
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => Arc::new(text),
        Err(error) => return not_utf8(&error, origin.file, findings),
    };
    let document = document::take_apart(&text, rules, &mut findings);
    let mut skill = match &document.frontmatter {
        Some(frontmatter) => fields::check(frontmatter, origin, rules, &mut findings),
        None => None,
    };
    if let (Some(skill), Some(body)) = (&mut skill, document.body) {
        skill.body = Body::rest_of(&text, body.start);
    }
    let may_synthesize = document.is_bare && rules.synthesize_frontmatter && origin.directory.is_none();
    if may_synthesize && let Some(skill) = synthesize(&text, origin, &mut findings) {
        let mut diagnostics = findings.finish(&text);
        diagnostics.retain(|found| found.code != Code::FrontmatterMissing);
        let file = origin.file.to_owned();
        return Reading { skill: Some(skill), frontmatter: None, diagnostics, text, file };
    }
    let Document { frontmatter, .. } = document;
    let file = origin.file.to_owned();
    Reading { skill, frontmatter, diagnostics: findings.finish(&text), text, file }
}

pub(crate) fn too_large(size: u64, rules: &Rules) -> String {
    let most = rules.limits.skill_md_bytes;
    format!("the file exceeds the size limit of {most} bytes ({size}); move parts into resources")
}

fn not_utf8(error: &std::string::FromUtf8Error, file: &str, mut findings: Findings<'_>) -> Reading {
    let good = error.utf8_error().valid_up_to();
    // Invalid bytes become U+FFFD, which is longer; up to the first of them offsets stay true.
    let text = Arc::new(String::from_utf8_lossy(error.as_bytes()).into_owned());
    let message =
        format!("the file is not UTF-8: byte {good} is 0x{:02X}; save it as UTF-8", error.as_bytes()[good]);
    findings.report(Code::NotUtf8, Span::at(good), message);
    let file = file.to_owned();
    Reading { skill: None, frontmatter: None, diagnostics: findings.finish(&text), text, file }
}

/// A skill out of a file's name and its first paragraph.
fn synthesize(text: &Arc<String>, origin: Origin<'_>, findings: &mut Findings<'_>) -> Option<Skill> {
    let id = SkillName::slug(origin.stem()?)?;
    let description = lint::first_paragraph(text.trim_start_matches('\u{feff}'))?;
    let description: String = description.chars().take(fields::DESCRIPTION_MAX).collect();
    let message = format!(
        "there is no frontmatter; the name `{id}` and the description come from the file's name and first paragraph"
    );
    findings.report(Code::FrontmatterSynthesized, Span::default(), message);
    let mut skill = Skill::new(id, description);
    let bom = text.len() - text.trim_start_matches('\u{feff}').len();
    skill.body = Body::rest_of(text, bom);
    Some(skill)
}
