//! Parses the bytes of a skill into a skill and findings. Never fails, never panics and never accesses the
//! disk.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::Findings;
use crate::document::{self, Document};
use crate::value::Value;
use crate::{Body, Code, Diagnostic, Rules, Skill, SkillName, Span, fields, lint};

/// The Markdown after the frontmatter; the whole text if there is no frontmatter. Use it if no other part of
/// the file is needed.
///
/// ```
/// assert_eq!(metier_skill::body_of("---\nname: x\n---\nDo it.\n"), "Do it.\n");
/// ```
pub fn body_of(text: &str) -> &str {
    document::body_start(text).and_then(|start| text.get(start..)).unwrap_or(text)
}

/// Where the bytes of a skill come from, as far as the rules need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The file's name, which findings refer to.
    pub file: &'a str,
    /// The name of the skill's directory, which must match the skill's name; `None` for a single file.
    pub directory: Option<&'a str>,
}

impl<'a> Origin<'a> {
    /// The `SKILL.md` of a directory with this name.
    pub const fn directory(name: &'a str) -> Self {
        Self { file: "SKILL.md", directory: Some(name) }
    }

    /// A single Markdown file.
    pub const fn file(name: &'a str) -> Self {
        Self { file: name, directory: None }
    }

    /// For a single file, its name without the extension.
    pub(crate) fn stem(self) -> Option<&'a str> {
        let stem = Path::new(self.file).file_stem()?.to_str()?;
        self.directory.is_none().then_some(stem)
    }
}

/// The result of reading a skill: the skill, as far as it could be read, and all findings.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reading {
    /// The skill as far as it could be read, even if it is invalid. See [`Reading::is_valid`].
    pub skill: Option<Skill>,
    /// The frontmatter, if it is a mapping.
    pub frontmatter: Option<Value>,
    /// All findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The text of the file. Bytes that are not UTF-8 are replaced.
    pub text: Arc<String>,
    /// The file's name, which findings refer to.
    pub file: String,
}

impl Reading {
    /// Whether there is a skill and no finding is an error.
    pub fn is_valid(&self) -> bool {
        self.skill.is_some() && !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The skill if it is valid, otherwise the findings.
    pub fn into_valid(self) -> Result<Skill, Vec<Diagnostic>> {
        if self.is_valid()
            && let Some(skill) = self.skill
        {
            return Ok(skill);
        }
        Err(self.diagnostics)
    }

    /// A file that could not be read at all.
    pub(crate) fn nothing(file: &str) -> Self {
        let (diagnostics, text) = (Vec::new(), Arc::default());
        Self { skill: None, frontmatter: None, diagnostics, text, file: file.to_owned() }
    }

    /// Adds the collected findings.
    pub(crate) fn with(mut self, findings: Findings<'_>) -> Self {
        self.diagnostics = findings.finish(&self.text);
        self
    }
}

/// Parses the bytes of a `SKILL.md` and checks them against the rules.
///
/// ```
/// use metier_skill::{Origin, Rules, read};
///
/// let bytes = b"---\nname: hello\ndescription: Use when greeting the user.\n---\nSay hello.\n";
/// let reading = read(bytes, Origin::directory("hello"), &Rules::standard());
///
/// assert!(reading.is_valid());
/// assert_eq!(reading.skill.unwrap().body, "Say hello.\n");
/// ```
pub fn read(bytes: impl Into<Vec<u8>>, origin: Origin<'_>, rules: &Rules) -> Reading {
    let mut findings = Findings::new(rules, origin.file);
    parse(bytes.into(), origin, &mut findings).with(findings)
}

/// [`read`] for callers that report more findings. They are not added to the reading yet.
pub(crate) fn parse(bytes: Vec<u8>, origin: Origin<'_>, findings: &mut Findings<'_>) -> Reading {
    let rules = findings.rules();
    let mut reading = Reading::nothing(origin.file);
    if bytes.len() as u64 > rules.limits.skill_md_bytes {
        report_too_large(bytes.len() as u64, findings);
        return reading;
    }
    reading.text = match String::from_utf8(bytes) {
        Ok(text) => Arc::new(text),
        Err(error) => {
            reading.text = not_utf8(&error, findings);
            return reading;
        }
    };
    let text = &reading.text;
    let Document { frontmatter, body, is_bare } = document::take_apart(text, rules, findings);
    reading.skill = frontmatter.as_ref().and_then(|found| fields::check(found, origin, rules, findings));
    if let (Some(skill), Some(body)) = (&mut reading.skill, body) {
        skill.body = Body::rest_of(text, body.start);
    }
    if is_bare
        && rules.synthesize_frontmatter
        && origin.directory.is_none()
        && let Some(skill) = synthesize(text, origin, findings)
    {
        findings.withdraw(Code::FrontmatterMissing);
        reading.skill = Some(skill);
    }
    reading.frontmatter = frontmatter;
    reading
}

pub(crate) fn report_too_large(size: u64, findings: &mut Findings<'_>) {
    let most = findings.rules().limits.skill_md_bytes;
    let message = format!(
        "the file exceeds the size limit of {most} bytes ({size}); move parts of it into other files"
    );
    findings.report(Code::SkillMdTooLarge, Span::default(), message);
}

fn not_utf8(error: &std::string::FromUtf8Error, findings: &mut Findings<'_>) -> Arc<String> {
    let good = error.utf8_error().valid_up_to();
    let message =
        format!("the file is not UTF-8: byte {good} is 0x{:02X}; save it as UTF-8", error.as_bytes()[good]);
    findings.report(Code::NotUtf8, Span::at(good), message);
    // Invalid bytes become U+FFFD, which is longer. Offsets up to the first one stay correct.
    Arc::new(String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Derives a skill from a file's name and its first paragraph.
fn synthesize(text: &Arc<String>, origin: Origin<'_>, findings: &mut Findings<'_>) -> Option<Skill> {
    let id = SkillName::slug(origin.stem()?)?;
    let description = lint::first_paragraph(text.trim_start_matches('\u{feff}'))?;
    let description: String = description.chars().take(fields::DESCRIPTION_MAX).collect();
    let message = format!(
        "there is no frontmatter; the name `{id}` and the description were derived from the file's name and first paragraph"
    );
    findings.report(Code::FrontmatterSynthesized, Span::default(), message);
    let mut skill = Skill::new(id, description);
    let bom = text.len() - text.trim_start_matches('\u{feff}').len();
    skill.body = Body::rest_of(text, bom);
    Some(skill)
}
