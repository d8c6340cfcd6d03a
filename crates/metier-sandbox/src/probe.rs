//! Which protections this machine gives this user, found out by setting a sandbox up.

use std::io;

use metier_skill::Tier;

use crate::SandboxError;
use crate::executor::{Executor, Job};
use crate::local::Local;
use crate::profile::{Place, Profile};
use crate::protection::{Protection, Protections, Strictness};

/// What `local` can do here: a real, small sandbox is set up and measured, and if that fails, the weaker one.
///
/// Asking for a feature is not enough: on some systems namespaces can be made and ids not be mapped.
pub fn probe(local: &Local) -> Result<Protections, SandboxError> {
    let work = tempfile::Builder::new().prefix("metier-probe-").tempdir();
    let work = work.map_err(|source| SandboxError::Launch { step: "making a directory".into(), source })?;
    let mut profile = Profile::new(Tier::ThirdParty, Place::pin(work.path())?);
    let run = |profile: &Profile| local.run(&Job::new(profile.clone(), "true", Vec::new()), &mut ());
    let refused = match run(&profile) {
        Ok(outcome) => return Ok(outcome.protections),
        Err(SandboxError::Missing { missing }) => missing,
        Err(error) => return Err(error),
    };
    profile.strictness = Strictness::Core;
    let mut found = match run(&profile) {
        Ok(outcome) => outcome.protections,
        Err(SandboxError::Missing { .. }) => Protections::default(),
        Err(error) => return Err(error),
    };
    for one in refused {
        found.replace(one.protection, false, one.reason);
    }
    for protection in Protection::ALL {
        if found.iter().all(|one| one.protection != protection) {
            let reason = io::Error::from(io::ErrorKind::Unsupported).to_string();
            found.replace(protection, false, reason);
        }
    }
    Ok(found)
}
