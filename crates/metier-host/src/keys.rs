//! The keys whose signatures count, and the skills that lost the trust of one.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use metier_skill::Tier;
use metier_store::TrustFile;

use crate::environment::Environment;
use crate::error::HostError;
use crate::host::Metier;
use crate::settings::read_bounded;

/// The file with the keys whose signatures count, in a directory of settings.
const KEYS: &str = "trusted-keys.toml";

impl Metier {
    /// The trusted keys: the organisation's and the user's.
    pub fn trusted_keys(&self) -> Result<TrustFile, HostError> {
        let own = self.environment().config_directory();
        let directories = [Some(Environment::system_directory().to_owned()), own];
        let mut trust = TrustFile::default();
        for path in directories.into_iter().flatten().map(|directory| directory.join(KEYS)) {
            match read_bounded(&path) {
                Ok(text) => match TrustFile::parse(&text) {
                    Ok(more) => trust = trust.and(more),
                    Err(source) => return Err(HostError::TrustedKeys { path, source }),
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(HostError::read(path, error)),
            }
        }
        Ok(trust)
    }

    /// Installed skills that are trusted less now than when they were installed, by their directories: the key that signed them is
    /// no longer trusted. If the keys cannot be read, none is.
    pub(crate) fn withdrawn(&self) -> BTreeMap<PathBuf, Tier> {
        let trust = || self.trusted_keys().unwrap_or_default();
        self.installed().map(|store| store.withdrawn(&trust())).unwrap_or_default()
    }
}
