//! The agent of the programs here: the one that is named on the command line.

use std::error::Error;

use metier::Metier;
use metier::harness::Harness;
use metier::home::Agent;

/// Claude Code, unless another agent is named. `openai` is a model server: `OPENAI_BASE_URL` and `OPENAI_API_KEY` say which.
pub(crate) fn chosen(metier: &Metier) -> Result<Box<dyn Harness>, Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "claude".to_owned());
    if name == "openai" {
        return Ok(Box::new(metier.openai().model("gpt-5").harness()?));
    }
    let agent = Agent::find(&name).ok_or("usage: EXAMPLE [claude|codex|openai]")?;
    Ok(metier.home(agent).fresh_directory().harness()?)
}
