//! What killed runs of scripts left that other programs obey: moved aside, and reported once.

use std::io;

use metier_host::Environment;
use metier_sandbox::{UnsettledRuns, settle_notes};
use serde_json::{Value, json};

use crate::output::Output;
use crate::table::one_line;

/// Deals with all of it.
pub(super) fn settle(environment: &Environment) -> io::Result<Vec<UnsettledRuns>> {
    environment.run_notes().map_or_else(|| Ok(Vec::new()), |notes| settle_notes(&notes))
}

pub(super) fn as_json(found: &io::Result<Vec<UnsettledRuns>>) -> Value {
    found.as_ref().map_or_else(|error| json!({ "error": error.to_string() }), |found| json!(found))
}

pub(super) fn print(found: &io::Result<Vec<UnsettledRuns>>, output: &mut Output) -> io::Result<()> {
    // What cannot be read is said by the check.
    for planted in found.iter().flatten().flat_map(|one| &one.planted) {
        output.row("planted", &one_line(&format!("a script {planted}")))?;
    }
    Ok(())
}
