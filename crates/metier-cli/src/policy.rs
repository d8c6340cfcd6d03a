//! The policy that holds here: the organisation's file, and what settings say.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use metier_policy::{Call, Places, Policy, PolicySettings};

use crate::config::{Config, read_bounded};
use crate::environment::Environment;
use crate::exit::UsageError;

/// The name of the organisation's file.
const ORGANISATION_FILE: &str = "policy.toml";

/// Where the organisation's policy is. No setting changes that.
pub(crate) fn organisation_file() -> PathBuf {
    Environment::system_directory().join(ORGANISATION_FILE)
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
    Policy::new(organisation, &others).map_err(|error| UsageError(error.to_string()).into())
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

/// The places that rules are relative to, unless the person names others.
pub(crate) fn places(
    environment: &Environment,
    cwd: Option<&Path>,
    home: Option<&Path>,
) -> anyhow::Result<Places> {
    let cwd = match cwd {
        Some(cwd) => environment.absolute(cwd),
        None => environment
            .working
            .clone()
            .ok_or_else(|| UsageError("the working directory is gone; use --cwd".to_owned()))?,
    };
    let home = home.map(|home| environment.absolute(home)).or_else(|| environment.home.clone());
    Ok(Places::new(cwd, home.unwrap_or_else(|| PathBuf::from("/"))))
}

/// The call with the paths that links on this machine lead to.
pub(crate) fn follow_links(call: Call, places: &Places) -> Call {
    let paths: Vec<PathBuf> = call.paths().iter().map(|path| places.absolute(path)).collect();
    paths.into_iter().fold(call, |call, path| match real(&path) {
        Some(real) if real != path => call.leading_to(real),
        _ => call,
    })
}

/// Where a path leads, as far as it is there.
fn real(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|upper| {
        let real = fs::canonicalize(upper).ok()?;
        Some(path.strip_prefix(upper).map_or_else(|_| real.clone(), |below| real.join(below)))
    })
}
