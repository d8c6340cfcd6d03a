//! Findings with one line each, for editors and `grep`.

use std::io;

use super::{Checked, FindingView};
use crate::output::Output;

pub(crate) fn concise(checked: &[Checked], output: &mut Output) -> io::Result<()> {
    lines(checked.iter().flat_map(Checked::findings), output)?;
    // Standard output has findings and nothing else.
    if checked.is_empty() { Ok(()) } else { output.note(super::text::sum(checked)) }
}

pub(super) fn lines<'a>(
    findings: impl Iterator<Item = FindingView<'a>>,
    output: &mut Output,
) -> io::Result<()> {
    for finding in findings {
        let FindingView { code, severity, message, file, line, column, .. } = finding;
        // A line that begins with `::` is a command to GitHub Actions.
        let here = if file.starts_with(':') { "./" } else { "" };
        output
            .whole(format_args!("{here}{file}:{line}:{column}: {}: {code}: {message}", severity.as_str()))?;
    }
    Ok(())
}
