//! The catalog that a command works on.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use metier_catalog::{Catalog, CatalogOptions, Entry, Scanner, Search};
use metier_skill::Digest;

use crate::config::{Config, Flags};
use crate::environment::Environment;
use crate::output::Output;

/// A catalog, and what it was made with.
pub(crate) struct Skills {
    pub(crate) catalog: Catalog,
    pub(crate) config: Config,
    pub(crate) environment: Environment,
    scanner: Scanner,
}

impl Skills {
    /// Every skill there is here.
    pub(crate) fn find(flags: &Flags, output: &mut Output) -> anyhow::Result<Self> {
        let environment = Environment::read();
        let config = Config::read(&environment, flags)?;
        for note in &config.notes {
            output.note(format_args!("note: {note}"))?;
        }
        let options = Self::options(&environment, &config);
        let mut scanner = Scanner::new(options);
        let catalog = scanner.scan(environment.now);
        Ok(Self { catalog, config, environment, scanner })
    }

    fn options(environment: &Environment, config: &Config) -> CatalogOptions {
        let mut options = CatalogOptions::new(config.roots.value.clone());
        options.builtin = config.builtin.value;
        options.rules = config.profile.value.rules();
        options.bounds = config.bounds();
        options.precedence = config.precedence.value;
        options.states = config.states();
        options.index = cache(environment, config, "catalog");
        options
    }

    /// Keeps what was learned for the next time. That it cannot be kept is not worth an error.
    pub(crate) fn save(&mut self, output: &mut Output) -> anyhow::Result<()> {
        output.flush()?;
        if let Err(error) = self.scanner.save(self.environment.now) {
            let error = anyhow::Error::new(error);
            output.note(format_args!("note: the index was not kept: {error:#}"))?;
        }
        Ok(())
    }

    /// The same when nothing else is left to do.
    pub(crate) fn finish(mut self, output: &mut Output) -> anyhow::Result<()> {
        self.save(output)?;
        // The process ends here, and the system takes memory back faster than piece by piece.
        std::mem::forget(self);
        Ok(())
    }

    /// The catalog made ready to be asked, which for many new skills takes a while.
    pub(crate) fn search(&self, output: &mut Output) -> anyhow::Result<Search> {
        let roots: Vec<u8> = self
            .config
            .roots
            .value
            .iter()
            .flat_map(|root| root.path.as_os_str().as_bytes())
            .copied()
            .collect();
        let name = &Digest::of(&roots).hex()[..32];
        let directory = self.cache("search").map(|directory| directory.join(name));
        output.flush()?;
        Ok(Search::open(&self.catalog, directory.as_deref())?)
    }

    /// The skill with a name or an id.
    pub(crate) fn by_name_or_id(&self, text: &str) -> Option<&Entry> {
        self.catalog.find(text).or_else(|| self.catalog.get(text))
    }

    /// A directory for what can be made again, unless the person wants none.
    pub(crate) fn cache(&self, name: &str) -> Option<PathBuf> {
        cache(&self.environment, &self.config, name)
    }
}

fn cache(environment: &Environment, config: &Config, name: &str) -> Option<PathBuf> {
    let directory = environment.cache_directory().filter(|_| config.index.value)?;
    Some(directory.join(name))
}
