//! [`Metier`]: an environment and the settings that apply in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_catalog::{CatalogOptions, State};
use metier_policy::{Anchors, Policy, PolicySettings};
use metier_skill::Profile;

use crate::catalog::HostCatalog;
use crate::environment::Environment;
use crate::error::HostError;
use crate::policy;
use crate::settings::{Overrides, Settings};

/// An environment and the settings that apply in it. Catalogs, sessions, stores, homes and servers are created from it. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub struct Metier(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    environment: Environment,
    settings: Settings,
}

impl Metier {
    /// Reads the default settings files and variables, as the command line does.
    pub fn open() -> Result<Self, HostError> {
        Self::builder().build()
    }

    /// Starts with the defaults; the builder's methods change them.
    pub fn builder() -> MetierBuilder {
        MetierBuilder::default()
    }

    /// A host with the given environment and settings.
    pub fn new(environment: Environment, settings: Settings) -> Self {
        Self(Arc::new(Parts { environment, settings }))
    }

    /// A host with default settings: for code that must work even if the settings cannot be read.
    pub fn with_defaults(environment: Environment) -> Self {
        let settings = Settings::defaults(&environment);
        Self::new(environment, settings)
    }

    /// The settings, each with its origin.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The environment in which the settings apply.
    pub fn environment(&self) -> &Environment {
        &self.0.environment
    }

    /// Scans the roots for skills. This reads the disk each time, so keep the catalog.
    pub fn catalog(&self) -> Result<HostCatalog, HostError> {
        HostCatalog::scan(self.clone())
    }

    /// The options for scanning.
    pub fn catalog_options(&self) -> CatalogOptions {
        let settings = self.settings();
        let mut options = CatalogOptions::new(settings.roots.iter().map(|root| root.value.clone()).collect());
        options.builtin = settings.builtin.value;
        options.rules = settings.profile.value.rules();
        options.bounds = settings.bounds();
        options.precedence = settings.precedence.value;
        options.states = settings.state_rules();
        options.index = self.cache("catalog");
        #[cfg(feature = "session")]
        {
            options.lowered = self.withdrawn();
        }
        options
    }

    /// A cache directory with this name; `None` if the settings switch caching off.
    pub fn cache(&self, name: &str) -> Option<PathBuf> {
        let directory = self.environment().cache_directory().filter(|_| self.settings().index.value)?;
        Some(directory.join(name))
    }

    /// The policy of the organisation, the user and the project together.
    pub fn policy(&self) -> Result<Policy, HostError> {
        policy::read(self.settings(), None)
    }

    /// The same with rules of the host added.
    pub fn policy_with(&self, top: &PolicySettings) -> Result<Policy, HostError> {
        policy::read(self.settings(), Some(top))
    }

    /// The policy of one file instead of those in force, with rules of the host added: for trying a policy before it is used.
    pub fn policy_of_file(&self, path: &Path, top: &PolicySettings) -> Result<Policy, HostError> {
        policy::of_file(&self.environment().absolute(path), top)
    }

    /// The directories that rules refer to: the working directory and the home, unless others are named. Symlinks in them are
    /// resolved, as they are in tool calls.
    pub fn anchors(&self, cwd: Option<&Path>, home: Option<&Path>) -> Result<Anchors, HostError> {
        policy::anchors(self.environment(), cwd, home)
    }
}

/// Settings of a host that differ from the defaults: see [`Metier::builder`].
#[derive(Debug, Clone, Default)]
pub struct MetierBuilder {
    pub(crate) environment: Option<Environment>,
    overrides: Overrides,
}

impl MetierBuilder {
    /// Scans this directory instead of the default roots, as `--root` does. Can be repeated.
    #[must_use]
    pub fn root(mut self, root: impl Into<String>) -> Self {
        self.overrides.roots.push(root.into());
        self
    }

    /// Records in this journal: a file, or `postgres://user@host/database?stream=name`.
    #[must_use]
    pub fn journal(mut self, journal: impl Into<String>) -> Self {
        self.overrides.journal = Some(journal.into());
        self
    }

    /// Loads every skill that other agents load, as `--lenient` does.
    #[must_use]
    pub const fn lenient(mut self) -> Self {
        self.overrides.profile = Some(Profile::Lenient);
        self
    }

    /// Sets the state of the skills whose names match a glob, as `--state` does. Can be repeated.
    #[must_use]
    pub fn state(mut self, glob: &str, state: State) -> Self {
        self.overrides.states.push(format!("{glob}={state}"));
        self
    }

    /// Uses this environment instead of that of the process.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Replaces all roots, states and the journal that were set so far.
    #[must_use]
    pub fn overrides(mut self, overrides: Overrides) -> Self {
        self.overrides = overrides;
        self
    }

    /// Reads the settings.
    pub fn build(self) -> Result<Metier, HostError> {
        let environment = self.environment.unwrap_or_else(Environment::read);
        let settings = Settings::read(&environment, &self.overrides)?;
        Ok(Metier::new(environment, settings))
    }
}
