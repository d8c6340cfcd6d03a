//! Guards in the person's own agents that do not work.

use super::check::Check;
use crate::guarding::{GuardScope, GuardState, InstalledGuard};
use crate::host::Metier;
use crate::settings::chain;

/// A check for each guard that is installed, or was.
pub(super) fn check(metier: &Metier) -> Vec<Check> {
    match metier.guards(None) {
        Ok(guards) => guards.iter().filter_map(one).collect(),
        Err(error) => vec![Check::failed("guard", chain(&error), "look at it with `metier guard status`")],
    }
}

fn one(guard: &InstalledGuard) -> Option<Check> {
    let agent = guard.agent;
    let title = agent.title();
    let option = if guard.scope == GuardScope::Project { " --project" } else { "" };
    let check = match guard.state {
        GuardState::NotInstalled => return None,
        GuardState::Installed => Check::ok("guard", format!("the guard is installed in {title}")),
        _ => Check::failed(
            "guard",
            format!("the guard of {title} does not work: {}", guard.problems.join("; ")),
            format!("`metier guard install {agent}{option}`, or `metier guard remove {agent}{option}`"),
        ),
    };
    Some(check.at(guard.files.first().unwrap_or(&guard.place)))
}
