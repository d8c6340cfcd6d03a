//! The one thing that a program holds: an environment and the settings that hold there.

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

/// An environment and the settings that hold there: what everything else is made from. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Metier(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    environment: Environment,
    settings: Settings,
}

impl Metier {
    /// The usual places and settings, as the command line has them.
    pub fn open() -> Result<Self, HostError> {
        Self::builder().build()
    }

    /// Says what differs from the usual.
    pub fn builder() -> MetierBuilder {
        MetierBuilder::default()
    }

    /// A host with settings that were read, or made, elsewhere.
    pub fn new(environment: Environment, settings: Settings) -> Self {
        Self(Arc::new(Parts { environment, settings }))
    }

    /// An environment without settings: for what must work where settings cannot be read.
    pub fn with_defaults(environment: Environment) -> Self {
        let settings = Settings::defaults(&environment);
        Self::new(environment, settings)
    }

    /// The settings, each with where it came from.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The surroundings that the settings hold in.
    pub fn environment(&self) -> &Environment {
        &self.0.environment
    }

    /// Looks for every skill that can be used here. Takes as long as looking takes: keep the catalog.
    pub fn catalog(&self) -> Result<HostCatalog, HostError> {
        HostCatalog::scan(self.clone())
    }

    /// What a catalog is made of.
    pub fn catalog_options(&self) -> CatalogOptions {
        let settings = self.settings();
        let mut options = CatalogOptions::new(settings.roots.iter().map(|root| root.value.clone()).collect());
        options.builtin = settings.builtin.value;
        options.rules = settings.profile.value.rules();
        options.bounds = settings.bounds();
        options.precedence = settings.precedence.value;
        options.states = settings.state_rules();
        options.index = self.cache("catalog");
        options
    }

    /// A directory for what can be made again; `None` where the settings want none.
    pub fn cache(&self, name: &str) -> Option<PathBuf> {
        let directory = self.environment().cache_directory().filter(|_| self.settings().index.value)?;
        Some(directory.join(name))
    }

    /// The policy of the organisation, the person and the project.
    pub fn policy(&self) -> Result<Policy, HostError> {
        policy::read(self.settings(), None)
    }

    /// The same with what a host adds to it.
    pub fn policy_with(&self, top: &PolicySettings) -> Result<Policy, HostError> {
        policy::read(self.settings(), Some(top))
    }

    /// The policy of one file instead of those in force, with what a host adds to it: for trying a policy before it is used.
    pub fn policy_of_file(&self, path: &Path, top: &PolicySettings) -> Result<Policy, HostError> {
        policy::of_file(&self.environment().absolute(path), top)
    }

    /// The directories that rules are relative to: the working directory and the home, unless others are named. Links in
    /// them are followed, as they are in what is called.
    pub fn anchors(&self, cwd: Option<&Path>, home: Option<&Path>) -> Result<Anchors, HostError> {
        policy::anchors(self.environment(), cwd, home)
    }
}

/// Says what differs from the usual: see [`Metier::builder`].
#[derive(Debug, Clone, Default)]
pub struct MetierBuilder {
    pub(crate) environment: Option<Environment>,
    overrides: Overrides,
}

impl MetierBuilder {
    /// Looks for skills in this directory and in no usual one, as `--root` does. Can be called again.
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

    /// Loads what other agents load, as `--lenient` does.
    #[must_use]
    pub const fn lenient(mut self) -> Self {
        self.overrides.profile = Some(Profile::Lenient);
        self
    }

    /// Gives the skills whose names match a glob this state, as `--state` does. Can be called again.
    #[must_use]
    pub fn state(mut self, glob: &str, state: State) -> Self {
        self.overrides.states.push(format!("{glob}={state}"));
        self
    }

    /// Works in these surroundings instead of those of the process.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Replaces everything that was said so far about roots, states and the journal.
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
