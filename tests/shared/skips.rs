//! Tests without their prerequisites are skipped with a message, or fail if `METIER_NO_SKIPS` is set.

use std::fs::OpenOptions;
use std::io::Write as _;

#[expect(clippy::disallowed_methods, reason = "scripts/test says by variables how tests skip")]
fn said(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Reports that something is not tested. Call it before a test returns early because a program or permission is
/// missing.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn skip(what: &str) {
    eprintln!("SKIPPED: {what}");
    // Test runners hide the output of tests that pass; scripts/test prints this file.
    if let Some(path) = said("METIER_SKIPS")
        && let Ok(mut file) = OpenOptions::new().append(true).open(path)
    {
        let _ = writeln!(file, "{what}");
    }
    assert!(
        said("METIER_NO_SKIPS").is_none(),
        "METIER_NO_SKIPS is set, and a prerequisite is missing: {what}"
    );
}
