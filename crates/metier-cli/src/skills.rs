//! The catalog that a command works on.

use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use metier_catalog::{Catalog, CatalogOptions, Entry, Problem, Scanner, Search};
use metier_policy::{Allowlist, Anchors, Denylist, GuardedSkill};
use metier_session::SessionError;
use metier_skill::{
    Digest, Location, Reading, Rules, SKILL_FILES, Skill, SkillError, SymlinkPolicy, Tier, Tree,
};

use crate::config::{Config, Flags};
use crate::environment::Environment;
use crate::exit::{DeniedError, NotFoundError};
use crate::output::Output;

/// A catalog, and what it was made with.
pub(crate) struct Skills {
    pub(crate) catalog: Catalog,
    pub(crate) config: Config,
    pub(crate) environment: Environment,
    scanner: Scanner,
}

/// What a catalog is made with.
pub(crate) struct Settings {
    pub(crate) config: Config,
    pub(crate) environment: Environment,
}

impl Settings {
    /// Those that hold here.
    pub(crate) fn read(flags: &Flags, output: &mut Output) -> anyhow::Result<Self> {
        let environment = Environment::read();
        let config = Config::read(&environment, flags)?;
        for note in &config.notes {
            output.note(format_args!("note: {note}"))?;
        }
        Ok(Self { config, environment })
    }

    /// What a catalog is made of.
    pub(crate) fn options(&self) -> CatalogOptions {
        Skills::options(&self.environment, &self.config)
    }

    /// A directory for what can be made again, unless the person wants none.
    pub(crate) fn cache(&self, name: &str) -> Option<PathBuf> {
        cache(&self.environment, &self.config, name)
    }
}

impl Skills {
    /// Every skill there is here.
    pub(crate) fn find(flags: &Flags, output: &mut Output) -> anyhow::Result<Self> {
        Self::scan(Settings::read(flags, output)?, output)
    }

    /// Every skill that there is with these settings.
    pub(crate) fn scan(settings: Settings, output: &mut Output) -> anyhow::Result<Self> {
        let Settings { config, environment } = settings;
        let options = Self::options(&environment, &config);
        let mut scanner = Scanner::new(options);
        let catalog = scanner.scan(environment.now);
        for report in catalog.roots().iter().filter(|report| !report.exists) {
            if config.is_named_root(&report.root.path) {
                let message =
                    format!("there is no directory {}; correct `--root`", report.root.path.display());
                return Err(NotFoundError(message).into());
            }
            if let Some(problem) = catalog.problems().iter().find(|problem| problem.path == report.root.path)
            {
                output.note(format_args!("note: {}: {}", report.root.path.display(), problem.message))?;
            }
        }
        Ok(Self { catalog, config, environment, scanner })
    }

    fn options(environment: &Environment, config: &Config) -> CatalogOptions {
        let mut options = CatalogOptions::new(config.roots.iter().map(|root| root.value.clone()).collect());
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

    /// What has learned everything about these skills, to go on looking.
    pub(crate) fn into_scanner(self) -> Scanner {
        self.scanner
    }

    /// Where what searching needs is kept, if anywhere.
    pub(crate) fn search_directory(&self) -> Option<PathBuf> {
        // Roots that are not there make no difference, and would make one for every directory one works in.
        let roots = self.catalog.roots().iter().filter(|report| report.exists);
        let roots = roots.flat_map(|report| report.root.path.as_os_str().as_bytes());
        let roots: Vec<u8> = roots.copied().collect();
        let name = &Digest::of(&roots).hex()[..32];
        self.cache("search").map(|directory| directory.join(name))
    }

    /// The catalog made ready to be asked, which for many new skills takes a while.
    pub(crate) fn search(&self, output: &mut Output) -> anyhow::Result<Search> {
        output.flush()?;
        Ok(Search::open(&self.catalog, self.search_directory().as_deref())?)
    }

    /// The skill with a name or an id.
    pub(crate) fn by_name_or_id(&self, text: &str) -> Option<&Entry> {
        self.catalog.by_name(text).or_else(|| self.catalog.by_id(text))
    }

    /// What is wrong with the skill that somebody calls by this name, id or directory and that cannot be used.
    pub(crate) fn unusable(&self, text: &str) -> Option<&Problem> {
        let readable = self.catalog.unusable().iter().find(|skill| {
            let name = &*skill.facts.name;
            name == text || text.strip_suffix(name) == Some(&format!("{}/", skill.tier))
        });
        let is_there = |problem: &&Problem| problem.path.file_name().is_some_and(|last| last == text);
        readable.map(|skill| &skill.problem).or_else(|| self.catalog.problems().iter().find(is_there))
    }

    /// Why a skill cannot be used that somebody calls by this name, id or path; with what they may have meant.
    pub(crate) fn not_found(&self, text: &str) -> NotFoundError {
        if let Some(problem) = self.unusable(text) {
            let (path, message) = (problem.path.display(), &problem.message);
            return NotFoundError(format!(
                "`{text}` cannot be used: {}: {message}; `metier validate {path}` says more",
                problem.code
            ));
        }
        let path = Path::new(text);
        if let (true, Some(name), Some(above)) = (text.contains('/'), path.file_name(), path.parent())
            && path.is_dir()
        {
            let (name, above) =
                (name.to_string_lossy(), if above == Path::new("") { Path::new(".") } else { above });
            return NotFoundError(format!(
                "there is no skill `{text}`: this command takes a name; use `{name} --root {}`",
                above.display()
            ));
        }
        let near = self.nearest(text);
        let meant = match near.as_slice() {
            [] => String::new(),
            names => format!("; did you mean `{}`?", names.join("`, `")),
        };
        NotFoundError(format!("there is no skill `{text}`{meant}; `metier list --all` shows every skill"))
    }

    /// Names that differ from this one by two letters at most.
    fn nearest(&self, text: &str) -> Vec<&str> {
        if text.len() > 64 {
            return Vec::new();
        }
        let names = self.catalog.skills().map(Entry::name);
        let mut near: Vec<(usize, &str)> =
            names.map(|name| (strsim::levenshtein(text, name), name)).filter(|(far, _)| *far <= 2).collect();
        near.sort_unstable();
        near.into_iter().take(3).map(|(_, name)| name).collect()
    }

    /// Why a skill cannot be used that is switched off, and what did that.
    pub(crate) fn off(&self, entry: &Entry) -> DeniedError {
        let by = self.config.rule_of(entry).map(|rule| format!(" by {}", rule.origin())).unwrap_or_default();
        DeniedError(format!("`{}` is switched off{by}; change that rule to use the skill", entry.name()))
    }

    /// What a session says about a skill, with what is known here.
    pub(crate) fn explained(&self, error: SessionError) -> anyhow::Error {
        match &error {
            SessionError::Disabled { name } => match self.by_name_or_id(name) {
                Some(entry) => self.off(entry).into(),
                None => error.into(),
            },
            SessionError::NotFound { name, .. } => self.not_found(name).into(),
            _ => error.into(),
        }
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

/// A skill of the catalog as it is on disk now.
pub(crate) struct Opened {
    pub(crate) skill: Skill,
    pub(crate) tier: Tier,
    pub(crate) digest: Digest,
    tree: Tree,
    directory: PathBuf,
    /// Skills inside the binary are written out to be looked at.
    _unpacked: Option<tempfile::TempDir>,
}

impl Skills {
    /// Reads the skill with a name or id, whole.
    pub(crate) fn opened(&self, name: &str) -> anyhow::Result<Opened> {
        let Some(entry) = self.by_name_or_id(name) else { return Err(self.not_found(name).into()) };
        if !entry.is_enabled() {
            return Err(self.off(entry).into());
        }
        let unpacked = entry.builtin().map(|_| tempfile::tempdir()).transpose()?;
        let directory = match (entry.builtin(), &unpacked) {
            (Some(builtin), Some(place)) => builtin.unpack(place.path())?,
            _ => entry.real_path().to_owned(),
        };
        let rules = Rules::lenient();
        let location = Location::find(&directory)?;
        let reading = location.load(&rules)?;
        let tree = location.tree(&rules.limits, SymlinkPolicy::Skip)?;
        tree.within(&rules.limits)?;
        let digest = digest_of(&reading, &location)?;
        let diagnostics = reading.diagnostics;
        let invalid = || SkillError::Validation { path: directory.clone(), diagnostics };
        Ok(Opened {
            skill: reading.skill.ok_or_else(invalid)?,
            tier: entry.tier(),
            digest,
            tree,
            directory,
            _unpacked: unpacked,
        })
    }
}

/// The digest of a skill whose `SKILL.md` was read before: what a person is shown and what is digested must be the same.
pub(crate) fn digest_of(reading: &Reading, location: &Location) -> Result<Digest, SkillError> {
    let manifest = location.manifest(&Rules::lenient().limits)?;
    let shown = Digest::of(reading.text.as_bytes());
    let is_own = |name: &str| manifest.get(Path::new(name)).is_some();
    let is_shown = |name: &str| manifest.get(Path::new(name)).is_some_and(|file| file.digest == shown);
    // A `SKILL.md` that is a link is not among the files.
    if SKILL_FILES.iter().any(|name| is_shown(name)) || !SKILL_FILES.iter().any(|name| is_own(name)) {
        Ok(manifest.digest())
    } else {
        Err(SkillError::Changing { path: location.root().to_owned() })
    }
}

impl Opened {
    /// The skill with what it says about tools.
    pub(crate) fn active(&self, places: &Anchors) -> GuardedSkill {
        let mut places = places.clone();
        places.skill = Some(self.directory.clone());
        let mut active = GuardedSkill::new(&self.skill.name, self.tier);
        active.allowed = self.skill.allowed_tools.as_ref().map(|tools| Allowlist::new(tools, &places));
        active.denied = self.skill.disallowed_tools().map(|tools| Denylist::new(&tools, &places));
        active
    }

    /// The text of one of its files, if that is not too long to be shown.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        const MOST: u64 = 256 << 10;
        let path = path.strip_prefix("./").unwrap_or(path);
        let file = self.tree.files.iter().find(|file| file.path_text() == path)?;
        let mut bytes = Vec::new();
        self.tree.open(file).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
        (file.size < MOST).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A file of the skill, as an approval names it.
    pub(crate) fn script<'a>(&self, path: &'a str) -> anyhow::Result<&'a str> {
        let path = path.strip_prefix("./").unwrap_or(path);
        if self.tree.files.iter().any(|file| file.path_text() == path) {
            return Ok(path);
        }
        Err(NotFoundError(format!("`{}` has no file `{path}`; see `metier show {0}`", self.skill.name))
            .into())
    }
}
