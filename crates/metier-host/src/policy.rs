//! The policy in force: the organisation's file and the settings.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use metier_policy::{Anchors, Policy, PolicySettings};

use crate::environment::Environment;
use crate::error::HostError;
use crate::settings::{PROJECT_FILE, Settings, policy_of_settings, read_bounded, toml_reason};

/// The name of the organisation's file.
const ORGANISATION_FILE: &str = "policy.toml";

/// The path of the organisation's policy. No setting changes it.
pub fn organisation_file() -> PathBuf {
    Environment::system_directory().join(ORGANISATION_FILE)
}

/// The policy of this machine, person and project. `top` comes after all files.
///
/// A file of the organisation that cannot be read is an error: nothing is decided as if it did not exist.
pub(crate) fn read(settings: &Settings, top: Option<&PolicySettings>) -> Result<Policy, HostError> {
    let path = organisation_file();
    let organisation = organisation(&path)?;
    let name = path.display().to_string();
    let named: Vec<(String, &PolicySettings)> =
        settings.policies.iter().map(|(path, settings)| (path.display().to_string(), settings)).collect();
    let others = named.iter().map(|(name, settings)| (name.as_str(), *settings));
    let others: Vec<_> = others.chain(top.map(|top| ("the command line", top))).collect();
    let organisation = organisation.as_ref().map(|settings| (name.as_str(), settings));
    // What is wrong with the organisation's file is not for the person to correct.
    Policy::new(organisation, &[]).map_err(|source| HostError::OrganisationPolicy { source })?;
    Policy::new(organisation, &others).map_err(HostError::Policy)
}

/// What a file says about the policy: an organisation's `policy.toml`, or the `[policy]` of a settings file. With whether it is an
/// organisation's.
pub fn policy_file(path: &Path) -> Result<(PolicySettings, bool), HostError> {
    let text = read_bounded(path).map_err(|error| HostError::read(path, error))?;
    let wrong = |error: toml::de::Error| HostError::Settings {
        path: path.to_owned(),
        reason: toml_reason(&text, &error),
    };
    let table: toml::Table = toml::from_str(&text).map_err(wrong)?;
    let is_settings =
        table.contains_key("policy") || path.file_name().is_some_and(|name| name == PROJECT_FILE);
    if is_settings {
        return Ok((policy_of_settings(&text).map_err(wrong)?, false));
    }
    Ok((toml::from_str(&text).map_err(wrong)?, true))
}

/// The policy of one file alone, as if there were no other. `top` comes after it.
pub(crate) fn of_file(path: &Path, top: &PolicySettings) -> Result<Policy, HostError> {
    let (settings, is_organisation) = policy_file(path)?;
    let name = path.display().to_string();
    let (file, last) = ((name.as_str(), &settings), ("the command line", top));
    if is_organisation { Policy::new(Some(file), &[last]) } else { Policy::new(None, &[file, last]) }
        .map_err(HostError::Policy)
}

/// The organisation's file, if there is one.
pub fn organisation(path: &Path) -> Result<Option<PolicySettings>, HostError> {
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
            return Err(HostError::OrganisationFile { path: path.to_owned(), source: error });
        }
    };
    let wrong = |error: toml::de::Error| HostError::OrganisationSyntax {
        path: path.to_owned(),
        reason: toml_reason(&text, &error),
    };
    toml::from_str(&text).map(Some).map_err(wrong)
}

/// The places that rules are relative to, unless the person names others. Links in them are followed, as they are
/// in what is called.
pub(crate) fn anchors(
    environment: &Environment,
    cwd: Option<&Path>,
    home: Option<&Path>,
) -> Result<Anchors, HostError> {
    let missing = |what: &'static str| HostError::NoDirectory { what };
    let cwd = match cwd {
        Some(cwd) => environment.absolute(cwd),
        None => environment.working.clone().ok_or_else(|| missing("cwd"))?,
    };
    let given = home.map(|home| environment.absolute(home)).or_else(|| environment.home.clone());
    let home = given.or_else(|| environment.account_home.clone()).ok_or_else(|| missing("home"))?;
    let mut anchors = Anchors::new(real(cwd), real(home));
    anchors.account = environment.account_home.clone().map(real).filter(|home| *home != anchors.home);
    Ok(anchors)
}

/// A directory with all symlinks resolved, if it exists.
pub fn real(path: PathBuf) -> PathBuf {
    fs::canonicalize(&path).unwrap_or(path)
}
