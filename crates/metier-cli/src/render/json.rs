//! Findings for programs. The shape is documented in `docs/cli.md`.

use std::io;

use serde::Serialize;

use super::{Checked, FindingView};
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
    diagnostics: Vec<FindingView<'a>>,
}

pub(crate) fn json(checked: &[Checked], output: &mut Output) -> io::Result<()> {
    let skills = checked.iter().map(|skill| SkillReport {
        path: skill.path.display().to_string(),
        name: skill.name.as_deref(),
        valid: skill.is_valid,
        diagnostics: skill.findings().collect(),
    });
    output.json(&Report { skills: skills.collect() })
}
