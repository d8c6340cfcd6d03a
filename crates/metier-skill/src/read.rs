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

    /// A file of which nothing could be read.
    pub(crate) fn nothing(file: &str) -> Self {
        let (diagnostics, text) = (Vec::new(), Arc::default());
        Self { skill: None, frontmatter: None, diagnostics, text, file: file.to_owned() }
    }

    /// The reading with everything that was found about it.
    pub(crate) fn with(mut self, findings: Findings<'_>) -> Self {
        self.diagnostics = findings.finish(&self.text);
        self
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
    let mut findings = Findings::new(rules, origin.file);
    parse(bytes.into(), origin, &mut findings).with(findings)
}

/// What [`read`] does, for callers that have more to report: the findings are not in the reading yet.
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
    let message =
        format!("the file exceeds the size limit of {most} bytes ({size}); move parts into resources");
    findings.report(Code::SkillMdTooLarge, Span::default(), message);
}

fn not_utf8(error: &std::string::FromUtf8Error, findings: &mut Findings<'_>) -> Arc<String> {
    let good = error.utf8_error().valid_up_to();
    let message =
        format!("the file is not UTF-8: byte {good} is 0x{:02X}; save it as UTF-8", error.as_bytes()[good]);
    findings.report(Code::NotUtf8, Span::at(good), message);
    // Invalid bytes become U+FFFD, which is longer; up to the first of them offsets stay true.
    Arc::new(String::from_utf8_lossy(error.as_bytes()).into_owned())
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
