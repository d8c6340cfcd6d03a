//! The policy that holds here: the organisation's file, and what settings say.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use metier_policy::{Anchors, Policy, PolicySettings, Reach};

use crate::config::{Config, read_bounded};
use crate::environment::Environment;
use crate::exit::UsageError;

/// The name of the organisation's file.
const ORGANISATION_FILE: &str = "policy.toml";

/// Where the organisation's policy is. No setting changes that.
pub(crate) fn organisation_file() -> PathBuf {
    Environment::system_directory().join(ORGANISATION_FILE)
}

/// What of the network is meant on a command line: all of it, unless hosts are named.
pub(crate) fn reach(network: bool, hosts: &[String]) -> Result<Option<Reach>, UsageError> {
    match (network, hosts) {
        (false, _) => Ok(None),
        (true, []) => Ok(Some(Reach::WHOLE)),
        (true, hosts) => Reach::hosts(hosts).map(Some).map_err(|error| UsageError(error.to_string())),
    }
}

/// The policy of this machine, person and project. `top` comes after all files.
///
/// A file of the organisation that cannot be read is an error: nothing is decided as if it were not there.
pub(crate) fn read(config: &Config, top: Option<&PolicySettings>) -> anyhow::Result<Policy> {
    let path = organisation_file();
    let organisation = organisation(&path)?;
    let name = path.display().to_string();
    let named: Vec<(String, &PolicySettings)> =
        config.policies.iter().map(|(path, settings)| (path.display().to_string(), settings)).collect();
    let others: Vec<(&str, &PolicySettings)> =
        named.iter().map(|(name, settings)| (name.as_str(), *settings)).collect();
    let others: Vec<_> = others.into_iter().chain(top.map(|top| ("the command line", top))).collect();
    let organisation = organisation.as_ref().map(|settings| (name.as_str(), settings));
    // What is wrong with the organisation's file is not for the person to mend.
    Policy::new(organisation, &[]).context("the organisation's policy cannot be used")?;
    Policy::new(organisation, &others)
        .map_err(|error| UsageError(format!("{:#}", anyhow::Error::new(error))).into())
}

/// The organisation's file, if there is one.
pub(crate) fn organisation(path: &Path) -> anyhow::Result<Option<PolicySettings>> {
    let text = match read_bounded(path) {
        Ok(text) => text,
        // A link that leads nowhere is a policy that is missing, not none.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
                && fs::symlink_metadata(path).is_err() =>
        {
            return Ok(None);
        }
        Err(error) => {
            return Err(error)
                .with_context(|| format!("cannot read the organisation's policy {}", path.display()));
        }
    };
    let wrong = |error: toml::de::Error| {
        anyhow::anyhow!(
            "the organisation's policy {} is wrong: {}",
            path.display(),
            error.to_string().trim_end()
        )
    };
    toml::from_str(&text).map(Some).map_err(wrong)
}

/// The places that rules are relative to, unless the person names others. Links in them are followed, as they are
/// in what is called.
pub(crate) fn places(
    environment: &Environment,
    cwd: Option<&Path>,
    home: Option<&Path>,
) -> anyhow::Result<Anchors> {
    let missing = |what: &str| UsageError(format!("no {what} directory is known; name one with --{what}"));
    let cwd = match cwd {
        Some(cwd) => environment.absolute(cwd),
        None => environment.working.clone().ok_or_else(|| missing("cwd"))?,
    };
    let given = home.map(|home| environment.absolute(home)).or_else(|| environment.home.clone());
    let home = given.or_else(|| environment.account_home.clone()).ok_or_else(|| missing("home"))?;
    let mut places = Anchors::new(real(cwd), real(home));
    places.account = environment.account_home.clone().map(real).filter(|home| *home != places.home);
    Ok(places)
}

/// A directory without links, if it is there.
pub(crate) fn real(path: PathBuf) -> PathBuf {
    fs::canonicalize(&path).unwrap_or(path)
}
