//! How findings look: for people, for programs, for code scanning, for pull requests.

mod github;
mod json;
mod sarif;
mod text;

use std::path::PathBuf;

use metier_skill::{Diagnostic, Fix, Reading, Rules, Severity, SkillError, Span};

use crate::find::Found;

pub(crate) use github::github;
pub(crate) use json::json;
pub(crate) use sarif::sarif;
pub(crate) use text::text;

/// A skill that was looked at.
#[derive(Debug)]
pub(crate) struct Checked {
    /// As it was given or found.
    pub(crate) path: PathBuf,
    /// What the files of findings are relative to.
    root: PathBuf,
    outcome: Result<Reading, SkillError>,
}

/// A finding as it is shown, with the path from where the user stands.
#[derive(Debug)]
pub(crate) struct Finding<'a> {
    code: &'static str,
    severity: Severity,
    message: String,
    file: PathBuf,
    line: usize,
    column: usize,
    /// The text of the file and the bytes in it, where there is something to show.
    source: Option<(&'a str, Span)>,
    fix: Option<&'a Fix>,
}

impl Checked {
    /// Validates what was found.
    pub(crate) fn new(found: Found, rules: &Rules) -> Self {
        let Found { path, location } = found;
        let root = location.as_ref().map_or(path.clone(), |location| location.root().to_owned());
        let outcome = location.and_then(|location| location.validate(rules));
        Self { path, root, outcome }
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.outcome.as_ref().is_ok_and(Reading::is_valid)
    }

    /// The skill's name, as far as it can be read.
    pub(crate) fn name(&self) -> Option<&str> {
        let reading = self.outcome.as_ref().ok()?;
        let written =
            || reading.frontmatter.as_ref()?.get("name")?.as_scalar().map(metier_skill::Scalar::text);
        reading.skill.as_ref().map(|skill| skill.name.as_str()).or_else(written)
    }

    pub(crate) fn findings(&self) -> Vec<Finding<'_>> {
        match &self.outcome {
            Ok(reading) => reading.diagnostics.iter().map(|found| self.finding(found, reading)).collect(),
            Err(error) => vec![self.failure(error)],
        }
    }

    fn finding<'a>(&self, found: &'a Diagnostic, reading: &'a Reading) -> Finding<'a> {
        // Findings about other files have no text to show; nor have those about a file as a whole.
        let text = reading.text.as_str();
        let source = match found.span {
            span if span.end == 0 => None,
            span if text.get(span.range()).is_some() => Some((text, span)),
            // Bytes that are not UTF-8 stand as something longer in the text.
            span => text.is_char_boundary(span.start).then_some((text, Span::at(span.start))),
        };
        Finding {
            code: found.code.as_str(),
            severity: found.severity,
            message: found.message.clone(),
            file: self.root.join(&found.file),
            line: found.line,
            column: found.column,
            source,
            fix: found.fix.as_ref(),
        }
    }

    fn failure(&self, error: &SkillError) -> Finding<'_> {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Finding {
            code: error.code(),
            severity: Severity::Error,
            message: format!("{error}{cause}"),
            file: self.path.clone(),
            line: 1,
            column: 1,
            source: None,
            fix: None,
        }
    }
}
