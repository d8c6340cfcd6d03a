//! Settings: files, variables and flags, the later ones winning, each value with where it came from.

use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use metier_catalog::{Bounds, Entry, Precedence, Root, Scope, State, StateRule, StateRules, Tier};
use metier_journal::Durability;
use metier_policy::PolicySettings;
use metier_prompt::ToolNames;
use metier_skill::Profile;
use metier_store::{GIT_HOST, LOCK_FILE};
use serde::Deserialize;
use toml::Spanned;

use crate::environment::Environment;
use crate::exit::UsageError;
use crate::recording::{Recording, RecordingTable, TelemetryTable};

/// The settings file of a project.
pub(crate) const PROJECT_FILE: &str = "metier.toml";

/// Every file that metier obeys in a project. No script may change or make one.
pub(crate) const OBEYED: [&str; 2] = [PROJECT_FILE, LOCK_FILE];

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    File(PathBuf),
    Variable(&'static str),
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A value and where it came from.
#[derive(Debug, Clone)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) source: Source,
}

impl<T> Setting<T> {
    pub(crate) const fn default(value: T) -> Self {
        Self { value, source: Source::Default }
    }

    fn set(&mut self, value: Option<T>, source: &Source) {
        if let Some(value) = value {
            *self = Self { value, source: source.clone() };
        }
    }
}

/// One rule about states as it was written.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) text: String,
    pub(crate) state: State,
    pub(crate) source: Source,
    /// Where it begins in its file.
    pub(crate) line: Option<usize>,
    matcher: StateRule,
}

impl Rule {
    /// Where a person finds it, and what it says: `metier.toml:3 (name zoom)`.
    pub(crate) fn origin(&self) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line} ({})", self.source, self.text)
    }
}

/// All settings.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// In the order of their precedence within a tier and scope.
    pub(crate) roots: Vec<Setting<Root>>,
    /// Every root that is named anywhere, also if a variable or a flag took its place for now: scripts change none of them.
    pub(crate) root_paths: Vec<PathBuf>,
    pub(crate) usual_roots: Setting<bool>,
    pub(crate) builtin: Setting<bool>,
    pub(crate) profile: Setting<Profile>,
    pub(crate) precedence: Setting<Precedence>,
    pub(crate) index: Setting<bool>,
    pub(crate) depth: Setting<usize>,
    pub(crate) entries: Setting<usize>,
    pub(crate) tool_names: Setting<ToolNames>,
    /// Where `owner/repository` is.
    pub(crate) git_host: Setting<String>,
    /// In layers: within one the last that matches decides.
    pub(crate) rules: Vec<Vec<Rule>>,
    pub(crate) recording: Recording,
    /// What files say about the policy, the later ones winning.
    pub(crate) policies: Vec<(PathBuf, PolicySettings)>,
    /// The files that were looked for, and whether they were there.
    pub(crate) files: Vec<(PathBuf, bool)>,
    /// What a person should know about how the settings were read.
    pub(crate) notes: Vec<String>,
}

/// What a settings file may say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    roots: Vec<String>,
    usual_roots: Option<bool>,
    builtin: Option<bool>,
    profile: Option<Profile>,
    precedence: Option<Vec<Tier>>,
    index: Option<bool>,
    tool_names: Option<ToolNames>,
    git_host: Option<String>,
    #[serde(default)]
    scan: ScanTable,
    #[serde(default)]
    skills: Vec<Spanned<RuleTable>>,
    /// The line that each of `skills` begins in.
    #[serde(skip)]
    lines: Vec<usize>,
    policy: Option<PolicySettings>,
    journal: Option<String>,
    durability: Option<Durability>,
    record_text: Option<bool>,
    keep_skills: Option<bool>,
    telemetry: Option<TelemetryTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScanTable {
    depth: Option<usize>,
    entries: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    name: Option<String>,
    tier: Option<Tier>,
    path: Option<String>,
    state: State,
}

/// What the command line says about the catalog.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Flags {
    /// Search DIR instead of the usual roots; TIER is builtin, org, user (if not given) or `third_party`.
    /// Can be repeated
    #[arg(long, value_name = "DIR[:TIER]", help_heading = "Catalog")]
    root: Vec<String>,

    /// Load what other agents load, with what breaks the rules mended or passed over
    #[arg(long, help_heading = "Catalog")]
    lenient: bool,

    /// Set the state of the skills whose name matches a glob: on, name-only, user-only or off. Can be repeated
    #[arg(long, value_name = "GLOB=STATE", help_heading = "Catalog")]
    state: Vec<String>,

    /// Read every skill, and leave the index as it is
    #[arg(long, help_heading = "Catalog")]
    no_index: bool,
}

impl Flags {
    /// Whether directories are named.
    pub(crate) fn has_roots(&self) -> bool {
        !self.root.is_empty()
    }
}

impl Config {
    /// All settings that hold here.
    pub(crate) fn read(environment: &Environment, flags: &Flags) -> anyhow::Result<Self> {
        let bounds = Bounds::default();
        let mut config = Self {
            roots: Vec::new(),
            root_paths: Vec::new(),
            usual_roots: Setting::default(true),
            builtin: Setting::default(true),
            profile: Setting::default(Profile::Standard),
            precedence: Setting::default(Precedence::default()),
            index: Setting::default(true),
            depth: Setting::default(bounds.depth),
            entries: Setting::default(bounds.entries),
            tool_names: Setting::default(ToolNames::Plain),
            git_host: Setting::default(GIT_HOST.to_owned()),
            rules: Vec::new(),
            recording: Recording::usual(environment),
            policies: Vec::new(),
            files: Vec::new(),
            notes: Vec::new(),
        };
        let organisation = crate::policy::organisation_file();
        let exists = organisation.symlink_metadata().is_ok();
        config.files.push((organisation, exists));
        config.apply_file(&Environment::system_directory().join("config.toml"), environment)?;
        match environment.variable("METIER_CONFIG") {
            Some(path) => {
                let path = environment.absolute(Path::new(path));
                if !path.is_file() {
                    let message =
                        format!("METIER_CONFIG names {}, and there is no such file", path.display());
                    return Err(UsageError(message).into());
                }
                config.apply_file(&path, environment)?;
            }
            None => {
                if let Some(directory) = environment.config_directory() {
                    config.apply_file(&directory.join("config.toml"), environment)?;
                }
            }
        }
        config.apply_project(environment, flags)?;
        config.apply_variables(environment)?;
        config.apply_flags(flags, environment)?;
        let usual = environment.places().roots(&environment.trust());
        let usual: Vec<Root> = usual.into_iter().chain(environment.installed_roots()).collect();
        config.root_paths.extend(usual.iter().map(|root| root.path.clone()));
        if config.usual_roots.value {
            config.roots.extend(usual.into_iter().map(Setting::default));
        }
        Ok(config)
    }

    /// Whether a root was named on the command line.
    pub(crate) fn is_named_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| root.source == Source::Flag("--root") && root.value.path == path)
    }

    /// The bounds of a scan.
    pub(crate) fn bounds(&self) -> Bounds {
        let mut bounds = Bounds::default();
        (bounds.depth, bounds.entries) = (self.depth.value, self.entries.value);
        bounds
    }

    /// The rule that gave a skill its state; none where the skill itself asks for it, or nothing does.
    pub(crate) fn rule_of(&self, entry: &Entry) -> Option<&Rule> {
        let paths = [entry.path(), entry.real_path()];
        let matching = |rule: &&Rule| rule.matcher.matches(entry.name(), entry.tier(), &paths);
        let mut layers = self.rules.iter().filter_map(|layer| layer.iter().rev().find(matching));
        layers.find(|rule| rule.state == entry.state)
    }

    /// The rules about states.
    pub(crate) fn states(&self) -> StateRules {
        self.rules.iter().fold(StateRules::default(), |all, layer| {
            all.layer(layer.iter().map(|rule| rule.matcher.clone()).collect())
        })
    }

    fn apply_file(&mut self, path: &Path, environment: &Environment) -> anyhow::Result<()> {
        let Some(file) = self.load(path)? else { return Ok(()) };
        let roots = roots(&file, path, environment)?;
        self.apply(file, roots, path, environment)
    }

    /// The settings of the project, as far as the person trusts it.
    fn apply_project(&mut self, environment: &Environment, flags: &Flags) -> anyhow::Result<()> {
        let folders = environment.places().project_folders();
        let trust = environment.trust();
        let mut with_settings = folders.iter().filter(|folder| folder.join(PROJECT_FILE).is_file());
        // A file further down, where scripts may work, does not take the place of one that the person trusts.
        let trusted = with_settings.clone().find(|folder| trust.is_marked(folder));
        let Some(folder) = trusted.or_else(|| with_settings.next()) else {
            self.files.extend(folders.first().map(|folder| (folder.join(PROJECT_FILE), false)));
            return Ok(());
        };
        let path = folder.join(PROJECT_FILE);
        let is_trusted = trusted.is_some();
        let loaded = self.load(&path);
        // A stranger's mistakes must not keep the person from working.
        let file = match loaded {
            Err(error) if !is_trusted => {
                self.notes.push(format!("passing over {}: {error:#}", path.display()));
                return Ok(());
            }
            other => other?,
        };
        let Some(file) = file else { return Ok(()) };
        let roots = roots(&file, &path, environment);
        let mut roots = match roots {
            Err(error) if !is_trusted => {
                self.notes.push(format!("passing over {}: {error:#}", path.display()));
                return Ok(());
            }
            other => other?,
        };
        let repository = environment.places().repository().unwrap_or_else(|| folder.clone());
        for root in &mut roots {
            root.scope = Scope::Project;
            root.confines.clone_from(&repository);
        }
        if is_trusted {
            let raised = roots.iter().find(|root| root.tier < Tier::User);
            if let Some(root) = raised {
                let (path, tier) = (path.display(), root.tier);
                let message =
                    format!("{path}: a project cannot give its roots the tier `{tier}`; use `user`");
                return Err(UsageError(message).into());
            }
            return self.apply(file, roots, &path, environment);
        }
        // Who names the roots need not be told about others.
        if !flags.root.is_empty() {
            self.root_paths.extend(roots.into_iter().map(|root| root.path));
            return Ok(());
        }
        self.notes.push(format!(
            "{} is not trusted: only `roots` of its {PROJECT_FILE} are used, as third_party (`metier trust {0}` \
             changes that)",
            folder.display(),
        ));
        for root in &mut roots {
            root.tier = Tier::ThirdParty;
        }
        self.add_roots(roots, &Source::File(path));
        Ok(())
    }

    fn add_roots(&mut self, roots: Vec<Root>, source: &Source) {
        self.root_paths.extend(roots.iter().map(|root| root.path.clone()));
        let roots = roots.into_iter().map(|value| Setting { value, source: source.clone() });
        self.roots.extend(roots);
    }

    /// These roots and no others, and nothing from inside the binary.
    fn replace_roots(&mut self, roots: Vec<Root>, source: &Source) {
        self.roots.clear();
        self.add_roots(roots, source);
        self.usual_roots.set(Some(false), source);
    }

    fn apply(
        &mut self,
        file: File,
        roots: Vec<Root>,
        path: &Path,
        environment: &Environment,
    ) -> anyhow::Result<()> {
        let source = Source::File(path.to_owned());
        let named = |error| UsageError(format!("{}: {error}", path.display()));
        let precedence = file.precedence.map(|tiers| Precedence::new(&tiers)).transpose().map_err(named)?;
        self.add_roots(roots, &source);
        self.usual_roots.set(file.usual_roots, &source);
        self.builtin.set(file.builtin, &source);
        self.profile.set(file.profile, &source);
        self.precedence.set(precedence, &source);
        self.index.set(file.index, &source);
        self.tool_names.set(file.tool_names, &source);
        self.git_host.set(file.git_host, &source);
        self.depth.set(file.scan.depth, &source);
        self.entries.set(file.scan.entries, &source);
        let recording = RecordingTable {
            journal: file.journal,
            durability: file.durability,
            texts: file.record_text,
            keep_skills: file.keep_skills,
            telemetry: file.telemetry,
        };
        let is_project =
            environment.places().project_folders().iter().any(|folder| folder.join(PROJECT_FILE) == path)
                && environment
                    .variable("METIER_CONFIG")
                    .is_none_or(|named| environment.absolute(Path::new(named)) != path);
        self.notes.extend(self.recording.apply(recording, path, environment, is_project)?);
        self.policies.extend(file.policy.map(|policy| (path.to_owned(), policy)));
        let base = path.parent().unwrap_or(Path::new("/"));
        let rules = file
            .skills
            .into_iter()
            .zip(file.lines)
            .map(|(table, line)| table.into_inner().rule(base, environment, &source, Some(line)))
            .collect::<Result<Vec<_>, _>>();
        let rules = rules.map_err(named)?;
        if !rules.is_empty() {
            self.rules.push(rules);
        }
        Ok(())
    }

    fn load(&mut self, path: &Path) -> anyhow::Result<Option<File>> {
        let text = match read_bounded(path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                self.files.push((path.to_owned(), false));
                return Ok(None);
            }
            Err(error) => {
                return Err(anyhow::Error::new(error).context(format!("cannot read {}", path.display())));
            }
        };
        self.files.push((path.to_owned(), true));
        let wrong = |error: toml::de::Error| {
            UsageError(format!("{}: {}", path.display(), error.to_string().trim_end()))
        };
        let mut file: File = toml::from_str(&text).map_err(wrong)?;
        let line = |rule: &Spanned<RuleTable>| {
            text.get(..rule.span().start).unwrap_or_default().matches('\n').count() + 1
        };
        file.lines = file.skills.iter().map(line).collect();
        Ok(Some(file))
    }

    fn apply_variables(&mut self, environment: &Environment) -> anyhow::Result<()> {
        const KNOWN: [&str; 8] = [
            "METIER_ROOTS",
            "METIER_BUILTIN",
            "METIER_PROFILE",
            "METIER_INDEX",
            "METIER_CONFIG",
            "METIER_JOURNAL",
            "METIER_OTLP_ENDPOINT",
            "METIER_OTLP_HEADERS",
        ];
        for name in environment.metier_variables().filter(|name| !KNOWN.contains(name)) {
            self.notes.push(format!(
                "the variable `{name}` means nothing to metier; it knows {}",
                KNOWN.join(", ")
            ));
        }
        if let Some(roots) = environment.variable("METIER_ROOTS") {
            let roots: Vec<Root> = roots
                .split(',')
                .filter(|root| !root.trim().is_empty())
                .map(|root| given_root(root.trim(), environment))
                .collect::<anyhow::Result<_>>()?;
            self.replace_roots(roots, &Source::Variable("METIER_ROOTS"));
        }
        self.notes.extend(self.recording.apply_variables(environment)?);
        self.builtin.set(switch("METIER_BUILTIN", environment)?, &Source::Variable("METIER_BUILTIN"));
        self.index.set(switch("METIER_INDEX", environment)?, &Source::Variable("METIER_INDEX"));
        if let Some(text) = environment.variable("METIER_PROFILE") {
            let wrong = || UsageError(format!("METIER_PROFILE is `{text}`; use strict, standard or lenient"));
            self.profile
                .set(Some(Profile::named(text).ok_or_else(wrong)?), &Source::Variable("METIER_PROFILE"));
        }
        Ok(())
    }

    fn apply_flags(&mut self, flags: &Flags, environment: &Environment) -> anyhow::Result<()> {
        if !flags.root.is_empty() {
            let roots = flags.root.iter().map(|root| given_root(root, environment));
            let source = Source::Flag("--root");
            self.replace_roots(roots.collect::<anyhow::Result<_>>()?, &source);
            // Who names the roots means these and nothing else.
            self.builtin.set(Some(false), &source);
        }
        self.profile.set(flags.lenient.then_some(Profile::Lenient), &Source::Flag("--lenient"));
        self.index.set(flags.no_index.then_some(false), &Source::Flag("--no-index"));
        let rules: Vec<Rule> =
            flags.state.iter().map(|text| flag_rule(text, environment)).collect::<anyhow::Result<_>>()?;
        if !rules.is_empty() {
            self.rules.push(rules);
        }
        Ok(())
    }
}

impl RuleTable {
    fn rule(
        self,
        base: &Path,
        environment: &Environment,
        source: &Source,
        line: Option<usize>,
    ) -> Result<Rule, metier_catalog::CatalogError> {
        let path = self.path.map(|path| path_pattern(&path, base, environment));
        let matcher = StateRule::new(self.name.as_deref(), self.tier, path.as_deref(), self.state)?;
        let tier = self.tier.map(|tier| tier.as_str().to_owned());
        let parts = [("name", self.name), ("tier", tier), ("path", path)];
        let parts = parts.into_iter().filter_map(|(key, value)| Some(format!("{key} {}", value?)));
        let text = parts.collect::<Vec<_>>().join(", ");
        Ok(Rule { text, state: self.state, source: source.clone(), line, matcher })
    }
}

/// A pattern for paths: one that does not begin at the top begins where the file is, whose own path is no pattern.
fn path_pattern(pattern: &str, base: &Path, environment: &Environment) -> String {
    let at_home = environment.at_home(Path::new(pattern));
    if at_home.is_absolute() {
        return at_home.to_string_lossy().trim_end_matches('/').to_owned();
    }
    let below: PathBuf = Path::new(pattern).components().filter(|part| *part != Component::CurDir).collect();
    format!("{}/{}", escaped(&base.to_string_lossy()).trim_end_matches('/'), below.to_string_lossy())
}

/// A text that stands for itself in a pattern.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // A backslash escapes, in a class as well.
            '?' | '*' | '[' | ']' | '{' | '}' | '\\' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

fn flag_rule(text: &str, environment: &Environment) -> anyhow::Result<Rule> {
    let Some((name, state)) = text.rsplit_once('=') else {
        return Err(
            UsageError(format!("`--state {text}` has no `=`; write it like `--state 'pdf-*=off'`")).into()
        );
    };
    let state: State = state.parse().map_err(|error| UsageError(format!("{error}")))?;
    let table = RuleTable { name: Some(name.to_owned()), tier: None, path: None, state };
    let rule = table.rule(Path::new("/"), environment, &Source::Flag("--state"), None);
    Ok(rule.map_err(|error| UsageError(error.to_string()))?)
}

fn switch(name: &'static str, environment: &Environment) -> Result<Option<bool>, UsageError> {
    match environment.variable(name) {
        None => Ok(None),
        Some("1" | "true" | "on" | "yes") => Ok(Some(true)),
        Some("0" | "false" | "off" | "no") => Ok(Some(false)),
        Some(other) => Err(UsageError(format!("{name} is `{other}`; use on or off"))),
    }
}

/// A larger file of settings is something else.
const MOST: u64 = 1 << 20;

/// Reads a settings file.
pub(crate) fn read_bounded(path: &Path) -> io::Result<String> {
    read_regular(path, MOST)
}

/// Reads a file of at most so many bytes that metier finds by itself. A pipe in its place is an error: it may never end. Devices such as
/// `/dev/null` are read.
pub(crate) fn read_regular(path: &Path, most: u64) -> io::Result<String> {
    let at_once = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = fs::File::options().read(true).custom_flags(at_once).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_char_device() {
        return read_to(most, file);
    }
    Err(io::Error::other("it is not a regular file"))
}

/// Reads a small file that the person names, which may be a pipe.
pub(crate) fn read_named(path: &Path) -> io::Result<String> {
    read_to(MOST, fs::File::open(path)?)
}

fn read_to(most: u64, file: fs::File) -> io::Result<String> {
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

/// A root of the command line or a variable.
fn given_root(text: &str, environment: &Environment) -> anyhow::Result<Root> {
    let root = Root::parse(text).map_err(|error| UsageError(format!("`{text}`: {error}")))?;
    let path = environment.absolute(&environment.at_home(&root.path));
    Ok(Root::new(path, root.tier, root.scope))
}

/// The roots of a settings file; relative ones begin where the file is.
/// The roots that the settings of a project name, for when somebody works there. What cannot be read names none.
pub(crate) fn project_roots(folder: &Path, environment: &Environment) -> Vec<PathBuf> {
    let path = folder.join(PROJECT_FILE);
    let file = read_bounded(&path).ok().and_then(|text| toml::from_str::<File>(&text).ok());
    let roots = file.and_then(|file| roots(&file, &path, environment).ok());
    roots.unwrap_or_default().into_iter().map(|root| root.path).collect()
}

fn roots(file: &File, path: &Path, environment: &Environment) -> anyhow::Result<Vec<Root>> {
    let base = path.parent().unwrap_or(Path::new("/"));
    let root = |text: &String| {
        let root = Root::parse(text).map_err(|error| UsageError(format!("{}: {error}", path.display())))?;
        let path = base.join(environment.at_home(&root.path)).components().collect::<PathBuf>();
        Ok(Root::new(path, root.tier, root.scope))
    };
    file.roots.iter().map(root).collect()
}
