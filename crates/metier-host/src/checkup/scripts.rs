//! Whether scripts can be run, and what interrupted scripts left.

use std::collections::BTreeSet;
use std::io;

use metier_sandbox::{
    MeasuredProtection, Protections, SandboxError, Strictness, UnsettledRuns, settle_notes,
};
use serde::Serialize;

use super::check::Check;
use crate::environment::Environment;

/// One protection of the sandbox, as measured on this machine.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CheckedProtection {
    /// The measurement.
    #[serde(flatten)]
    pub measured: MeasuredProtection,
    /// What would enable it, if it is not active.
    pub remedy: Option<&'static str>,
}

impl CheckedProtection {
    pub(super) fn new(measured: &MeasuredProtection) -> Self {
        let remedy = (!measured.active).then(|| measured.protection.remedy());
        Self { measured: measured.clone(), remedy }
    }
}

/// The tiers whose scripts can be run with some protections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunnableTiers {
    /// Every protection is active: all of them.
    All,
    /// Those of `builtin` and `org`, of `user` after an approval, of `third_party` not.
    Trusted,
    /// A protection that every script needs is missing.
    None,
}

impl RunnableTiers {
    /// What can be run without the protections that are missing here.
    pub fn without<'a>(missing: impl IntoIterator<Item = &'a MeasuredProtection>) -> Self {
        missing.into_iter().fold(Self::All, |runnable, one| match runnable {
            Self::None => Self::None,
            _ if Strictness::Core.needs(one.protection) => Self::None,
            _ => Self::Trusted,
        })
    }
}

/// Whether scripts can be run, and of which skills.
pub(super) fn runnable(protections: &Result<Protections, SandboxError>) -> Check {
    let missing: Vec<&MeasuredProtection> = match protections {
        Ok(found) => found.missing().collect(),
        Err(error) => {
            let fix = "look at `metier doctor --json`; scripts are refused until then";
            return Check::failed("scripts", format!("no script can be run: {error}"), fix);
        }
    };
    let names: Vec<&str> = missing.iter().map(|one| one.protection.as_str()).collect();
    let remedies: BTreeSet<&str> = missing.iter().map(|one| one.protection.remedy()).collect();
    let (names, fix) = (names.join(", "), remedies.into_iter().collect::<Vec<_>>().join("; "));
    match RunnableTiers::without(missing) {
        RunnableTiers::All => Check::ok("scripts", "every protection is available"),
        RunnableTiers::Trusted => Check::notice(
            "scripts",
            format!("third-party scripts are refused; missing protections: {names}"),
            fix,
        ),
        RunnableTiers::None => {
            Check::failed("scripts", format!("no script can be run; missing protections: {names}"), fix)
        }
    }
}

/// Moves aside what interrupted scripts left that other programs obey. It is returned once.
pub(super) fn settle(environment: &Environment) -> io::Result<Vec<UnsettledRuns>> {
    environment.run_notes().map_or_else(|| Ok(Vec::new()), |notes| settle_notes(&notes))
}

/// Whether an interrupted script left files that other programs obey.
pub(super) fn planted(found: &io::Result<Vec<UnsettledRuns>>) -> Check {
    match found {
        Ok(found) if found.is_empty() => Check::ok(
            "planted",
            "no interrupted script left files that other programs obey, such as git hooks",
        ),
        Ok(_) => {
            let fix = "look at the files that are named above before you use their directory";
            Check::failed("planted", "interrupted scripts left files that other programs obey", fix)
        }
        Err(error) => {
            let message = format!("the notes about runs of scripts cannot be read: {error}");
            Check::failed("planted", message, "make the state directory readable")
        }
    }
}

#[cfg(test)]
mod tests {
    use metier_sandbox::Protection;

    use super::*;

    #[test]
    fn what_is_missing_decides_whose_scripts_run() {
        let missing = |protection| MeasuredProtection::new(protection, false, "");
        let core = Protection::ALL.into_iter().find(|one| Strictness::Core.needs(*one)).unwrap();
        let other = Protection::ALL.into_iter().find(|one| !Strictness::Core.needs(*one)).unwrap();
        assert_eq!(RunnableTiers::without([]), RunnableTiers::All);
        assert_eq!(RunnableTiers::without([&missing(other)]), RunnableTiers::Trusted);
        for both in [[core, other], [other, core]].map(|all| all.map(missing)) {
            assert_eq!(RunnableTiers::without(&both), RunnableTiers::None);
        }
    }
}
