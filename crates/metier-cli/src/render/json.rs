//! Findings for programs. The shape is documented in `docs/cli.md`.

use std::io;

use metier_skill::{Fix, Span};
use serde::Serialize;

use super::{Checked, Finding};
use crate::output::Output;

#[derive(Serialize)]
struct Report<'a> {
    skills: Vec<SkillReport<'a>>,
}

#[derive(Serialize)]
struct SkillReport<'a> {
    path: String,
    name: Option<&'a str>,
    valid: bool,
    diagnostics: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    file: String,
    line: usize,
    column: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a Fix>,
}

pub(crate) fn json(checked: &[Checked], output: &mut Output) -> io::Result<()> {
    let skills = checked.iter().map(|skill| SkillReport {
        path: skill.path.display().to_string(),
        name: skill.name.as_deref(),
        valid: skill.is_valid,
        diagnostics: skill.findings.iter().map(row).collect(),
    });
    output.json(&Report { skills: skills.collect() })
}

fn row(finding: &Finding) -> Row<'_> {
    Row {
        code: finding.code,
        severity: finding.severity.as_str(),
        message: &finding.message,
        file: finding.file.display().to_string(),
        line: finding.line,
        column: finding.column,
        span: finding.span,
        fix: finding.fix.as_ref(),
    }
}
