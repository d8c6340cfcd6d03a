//! Finds out which protections are available on this machine for this user, by setting up a sandbox.

use metier_skill::Tier;

use crate::SandboxError;
use crate::error::MissingProtection;
use crate::executor::Job;
use crate::local::{Failed, Local};
use crate::plan::Mode;
use crate::profile::SandboxProfile;
use crate::protection::{Protection, Protections, Strictness};
use crate::work::WorkDirectory;

/// The protections that `local` can provide here: a real, small sandbox is set up and measured, and if that fails, the
/// weaker one.
///
/// Checking for kernel features is not enough: on some systems namespaces can be created but ids cannot be mapped.
pub fn probe(local: &Local) -> Result<Protections, SandboxError> {
    let mut profile = SandboxProfile::new(Tier::ThirdParty, WorkDirectory::temporary()?);
    // So that missing protections are reported and not refused.
    profile.strictness = Strictness::Unprotected;
    let job = Job::new(profile, "true", Vec::new());
    let mut refused: Vec<MissingProtection> = Vec::new();
    let mut found = Protections::default();
    for mode in [Mode::Full, Mode::Core, Mode::Unprotected] {
        match local.attempt(&job, mode, &mut ()) {
            Ok(outcome) => {
                found = outcome.protections;
                break;
            }
            Err(Failed::Missing(missing)) => refused.extend(missing),
            Err(Failed::Error(error)) => return Err(error),
        }
    }
    for one in refused {
        found.replace(one.protection, false, one.reason);
    }
    for protection in Protection::ALL {
        if found.iter().all(|one| one.protection != protection) {
            found.replace(protection, false, "could not be measured");
        }
    }
    Ok(found)
}
