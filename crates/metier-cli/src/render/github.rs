//! Findings as commands of GitHub Actions, which shows them on the lines of a pull request.

use std::io;

use metier_skill::Severity;

use super::{Checked, FindingView};
use crate::output::{Output, clean};

pub(crate) fn github(checked: &[Checked], output: &mut Output) -> io::Result<()> {
    commands(checked.iter().flat_map(Checked::findings), output)
}

pub(super) fn commands<'a>(
    findings: impl Iterator<Item = FindingView<'a>>,
    output: &mut Output,
) -> io::Result<()> {
    for finding in findings {
        let command = match finding.severity {
            Severity::Note => "notice",
            other => other.as_str(),
        };
        output.whole(format_args!(
            "::{} file={},line={},col={},title={}::{}",
            command,
            property(&finding.file),
            finding.line,
            finding.column,
            finding.code,
            data(finding.message),
        ))?;
    }
    Ok(())
}

/// Without this, a line break in untrusted text would begin a command of its own.
fn data(text: &str) -> String {
    clean(&text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A"))
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
