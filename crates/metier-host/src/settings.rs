//! Settings: files, variables and overrides. Later ones win; each value has its origin.

mod file;
mod list;
mod recording;
mod servers;

use std::fmt;
use std::path::{Path, PathBuf};

use metier_catalog::{
    Bounds, Entry, LOCK_FILE, Precedence, Root, Scope, State, StateRule, StateRules, installed_roots,
};
use metier_policy::PolicySettings;
use metier_prompt::ToolNames;
use metier_skill::{Profile, Tier, did_you_mean, nearest_names};

#[cfg(feature = "session")]
pub(crate) use file::project_roots;
pub(crate) use file::{policy_of_settings, read_bounded, toml_reason};
pub use file::{read_named, read_regular};
#[cfg(feature = "guard")]
pub(crate) use list::variables;
pub use list::{OTHER_VARIABLES, SETTINGS, SettingInfo};
#[cfg(feature = "session")]
pub(crate) use recording::journal;
pub use recording::{ArchivePeriod, ArchiveSetting, RecordingSettings, TelemetryTable};
pub use servers::{ServerNaming, ServerSetting};
#[cfg(feature = "mcp")]
pub(crate) use servers::{foreign_servers, with_variables};

use self::file::{File, RuleTable, roots};
use crate::environment::Environment;
use crate::error::HostError;
use crate::policy::organisation_file;

/// The settings file of a project.
pub const PROJECT_FILE: &str = "metier.toml";

/// The files of a project that metier obeys. No script may change or create one.
pub const OBEYED_FILES: [&str; 2] = [PROJECT_FILE, LOCK_FILE];

/// Where `owner/repository` is, unless a setting says otherwise.
const GIT_HOST: &str = "https://github.com";

/// A layer of the settings. Later ones win, except where the organisation fixes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// `/etc/metier/config.toml`, for all users of the machine.
    System,
    /// The user's file, or the one that `METIER_CONFIG` names.
    Person,
    /// `metier.toml` of the project.
    Project,
    /// `METIER_*` variables.
    Variables,
    /// Values from the host itself: command-line flags, calls of the builder.
    Flags,
}

/// The origin of a value. It is printed as in `metier config`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingOrigin {
    /// The default: nothing sets it.
    Default,
    /// A settings file.
    File {
        /// Whose file.
        layer: Layer,
        /// The file.
        path: PathBuf,
    },
    /// A variable.
    Variable(&'static str),
    /// A flag, or a call of the builder.
    Flag(&'static str),
}

impl SettingOrigin {
    /// The layer that set the value; `None` for a default.
    pub const fn layer(&self) -> Option<Layer> {
        match self {
            Self::Default => None,
            Self::File { layer, .. } => Some(*layer),
            Self::Variable(_) => Some(Layer::Variables),
            Self::Flag(_) => Some(Layer::Flags),
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, .. } => write!(f, "{}", path.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A value and where it came from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// What set it.
    pub origin: SettingOrigin,
}

impl<T> Setting<T> {
    const fn default(value: T) -> Self {
        Self { value, origin: SettingOrigin::Default }
    }

    fn set(&mut self, value: Option<T>, origin: &SettingOrigin) {
        if let Some(value) = value {
            *self = Self { value, origin: origin.clone() };
        }
    }
}

/// One rule about the states of skills, as it was written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StateSetting {
    /// What it is about, such as `name zoom`.
    pub text: String,
    /// The state that it gives.
    pub state: State,
    /// Its origin.
    pub origin: SettingOrigin,
    /// Its line in the file.
    pub line: Option<usize>,
    matcher: StateRule,
}

impl StateSetting {
    /// Its place and its text, for messages: `metier.toml:3 (name zoom)`.
    pub fn place(&self) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line} ({})", self.origin, self.text)
    }
}

/// Values from the host that replace settings: flags of a command line, calls of a builder.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Overrides {
    /// Skill roots, as `DIR` or `DIR:TIER`, instead of the default ones and of the skills inside metier.
    pub roots: Vec<String>,
    /// Which rules the skills of the catalog are checked against.
    pub profile: Option<Profile>,
    /// States of skills, as `GLOB=STATE`.
    pub states: Vec<String>,
    /// Whether to read every skill and leave the index as it is.
    pub no_index: bool,
    /// The journal: a file, or `postgres://user@host/database?stream=name`.
    pub journal: Option<String>,
}

/// All settings that apply in an environment, each with its origin.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The skill roots, in the order of their precedence within a tier and scope.
    pub roots: Vec<Setting<Root>>,
    /// All roots that any layer names, also if a variable or an override replaces them. Scripts cannot change them.
    pub root_paths: Vec<PathBuf>,
    /// Whether the default roots are used.
    pub usual_roots: Setting<bool>,
    /// Whether a skill is refused if its requirements are not met. A project can only switch it on.
    pub require_compatible: Setting<bool>,
    /// Whether the skills inside metier are used.
    pub builtin: Setting<bool>,
    /// Which rules the skills of the catalog are checked against. The default loads every skill that other agents load.
    pub profile: Setting<Profile>,
    /// Which tier wins if two skills have the same name.
    pub precedence: Setting<Precedence>,
    /// Whether an index and other caches are kept.
    pub index: Setting<bool>,
    /// How deep roots are searched.
    pub depth: Setting<usize>,
    /// How many directory entries of a root are read.
    pub entries: Setting<usize>,
    /// The names of the tools for models.
    pub tool_names: Setting<ToolNames>,
    /// The git server of `owner/repository`.
    pub git_host: Setting<String>,
    /// Hosts that may have private addresses when skills are downloaded.
    pub private_hosts: Setting<Vec<String>>,
    /// Rules about states, in layers. Within a layer, the last matching rule decides.
    pub states: Vec<Vec<StateSetting>>,
    /// What is recorded and where.
    pub recording: RecordingSettings,
    /// The MCP servers behind the gateway, by name.
    pub servers: Vec<ServerSetting>,
    /// How their tools are named.
    pub server_tool_names: Setting<ServerNaming>,
    /// The policies of files. Later ones win.
    pub policies: Vec<(PathBuf, PolicySettings)>,
    /// The settings files that were looked for, and whether they exist.
    pub files: Vec<(PathBuf, bool)>,
    /// Messages for the user about reading the settings.
    pub notes: Vec<String>,
    /// A project's settings file that is ignored, and why. One of the notes is about it.
    pub(crate) ignored: Option<(PathBuf, String)>,
}

impl Settings {
    /// The default settings.
    pub fn defaults(environment: &Environment) -> Self {
        let bounds = Bounds::default();
        Self {
            roots: Vec::new(),
            root_paths: Vec::new(),
            usual_roots: Setting::default(true),
            require_compatible: Setting::default(false),
            builtin: Setting::default(true),
            profile: Setting::default(Profile::Lenient),
            precedence: Setting::default(Precedence::default()),
            index: Setting::default(true),
            depth: Setting::default(bounds.depth),
            entries: Setting::default(bounds.entries),
            tool_names: Setting::default(ToolNames::Plain),
            git_host: Setting::default(GIT_HOST.to_owned()),
            private_hosts: Setting::default(Vec::new()),
            states: Vec::new(),
            recording: RecordingSettings::defaults(environment),
            servers: Vec::new(),
            server_tool_names: Setting::default(ServerNaming::Qualified),
            policies: Vec::new(),
            files: Vec::new(),
            notes: Vec::new(),
            ignored: None,
        }
    }

    /// Reads the settings that apply in an environment, with the overrides of the host.
    pub fn read(environment: &Environment, overrides: &Overrides) -> Result<Self, HostError> {
        let mut settings = Self::defaults(environment);
        let organisation = organisation_file();
        let exists = organisation.symlink_metadata().is_ok();
        settings.files.push((organisation, exists));
        let system = Environment::system_directory().join("config.toml");
        settings.apply_file(Layer::System, &system, environment)?;
        let own = match environment.variable("METIER_CONFIG") {
            Some(path) => {
                let path = environment.absolute(Path::new(path));
                if !path.is_file() {
                    return Err(HostError::NoSettingsFile { path });
                }
                Some(path)
            }
            None => environment.config_directory().map(|directory| directory.join("config.toml")),
        };
        if let Some(own) = &own {
            settings.apply_file(Layer::Person, own, environment)?;
        }
        settings.apply_project(own.as_deref(), environment, overrides)?;
        settings.apply_variables(environment)?;
        settings.apply_overrides(overrides, environment)?;
        // A program that only lists skills records nothing, and so has nothing to send.
        if cfg!(feature = "session") {
            settings.notes.extend(settings.recording.unsent(cfg!(feature = "otel")));
        }
        let usual = environment.root_locations().roots(&environment.trust());
        let installed =
            environment.store_directory().map(|store| installed_roots(&store)).unwrap_or_default();
        let usual: Vec<Root> = usual.into_iter().chain(installed).collect();
        settings.root_paths.extend(usual.iter().map(|root| root.path.clone()));
        if settings.usual_roots.value {
            settings.roots.extend(usual.into_iter().map(Setting::default));
        }
        Ok(settings)
    }

    /// Whether an override names this root. Such a root must exist.
    pub fn is_named_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| root.origin.layer() == Some(Layer::Flags) && root.value.path == path)
    }

    /// The same settings with this skill's directory as the only root.
    pub(crate) fn only_root(&self, path: PathBuf, tier: Tier) -> Self {
        let mut settings = self.clone();
        let (origin, scope) = (SettingOrigin::Flag("the command line"), Scope::User);
        settings.replace_roots(vec![Root::new(path, tier, scope)], &origin);
        settings.builtin.set(Some(false), &origin);
        settings
    }

    /// The bounds of a scan.
    pub fn bounds(&self) -> Bounds {
        let mut bounds = Bounds::default();
        (bounds.depth, bounds.entries) = (self.depth.value, self.entries.value);
        bounds
    }

    /// The profile that a skill must satisfy to be mounted: standard, unless another one is set.
    pub fn mount_profile(&self) -> Profile {
        if self.profile.origin == SettingOrigin::Default { Profile::Standard } else { self.profile.value }
    }

    /// The rule that gave a skill its state; `None` if the state comes from the skill itself or is the default.
    pub fn rule_of(&self, entry: &Entry) -> Option<&StateSetting> {
        let paths = [entry.path(), entry.real_path()];
        let matching = |rule: &&StateSetting| rule.matcher.matches(entry.name(), entry.tier(), &paths);
        let mut layers = self.states.iter().filter_map(|layer| layer.iter().rev().find(matching));
        layers.find(|rule| rule.state == entry.state)
    }

    /// The rules about states, for a scan.
    pub fn state_rules(&self) -> StateRules {
        self.states.iter().fold(StateRules::default(), |all, layer| {
            all.layer(layer.iter().map(|rule| rule.matcher.clone()).collect())
        })
    }

    fn apply_file(&mut self, layer: Layer, path: &Path, environment: &Environment) -> Result<(), HostError> {
        let Some(file) = self.load(path)? else { return Ok(()) };
        let roots = roots(&file, path, environment)?;
        self.apply(layer, file, roots, path, environment)
    }

    /// The settings of the project, as far as the person trusts it. `own` is the person's file.
    fn apply_project(
        &mut self,
        own: Option<&Path>,
        environment: &Environment,
        overrides: &Overrides,
    ) -> Result<(), HostError> {
        let folders = environment.root_locations().project_folders();
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
        let loaded = self.load(&path).and_then(|file| {
            let roots = file.as_ref().map(|file| roots(file, &path, environment)).transpose()?;
            Ok(file.zip(roots))
        });
        let (file, mut roots) = match loaded {
            // A stranger's mistakes must not keep the person from working.
            Err(error) if !is_trusted => {
                let reason = chain(&error);
                self.notes.push(format!("ignoring the project's settings: {reason}"));
                self.ignored = Some((path, reason));
                return Ok(());
            }
            other => match other? {
                Some(loaded) => loaded,
                None => return Ok(()),
            },
        };
        let repository = environment.root_locations().repository().unwrap_or_else(|| folder.clone());
        for root in &mut roots {
            root.scope = Scope::Project;
            root.confines.clone_from(&repository);
        }
        if is_trusted {
            if let Some(root) = roots.iter().find(|root| root.tier < Tier::User) {
                return Err(HostError::RaisedTier { path, tier: root.tier });
            }
            // A person who names the project's file as their own means all of it.
            let layer = if own == Some(path.as_path()) { Layer::Person } else { Layer::Project };
            return self.apply(layer, file, roots, &path, environment);
        }
        // Who names the roots need not be told about others.
        if !overrides.roots.is_empty() {
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
        self.add_roots(roots, &SettingOrigin::File { layer: Layer::Project, path });
        Ok(())
    }

    fn add_roots(&mut self, roots: Vec<Root>, origin: &SettingOrigin) {
        self.root_paths.extend(roots.iter().map(|root| root.path.clone()));
        let roots = roots.into_iter().map(|value| Setting { value, origin: origin.clone() });
        self.roots.extend(roots);
    }

    /// These roots and no others.
    fn replace_roots(&mut self, roots: Vec<Root>, origin: &SettingOrigin) {
        self.roots.clear();
        self.add_roots(roots, origin);
        self.usual_roots.set(Some(false), origin);
    }

    fn apply(
        &mut self,
        layer: Layer,
        file: File,
        roots: Vec<Root>,
        path: &Path,
        environment: &Environment,
    ) -> Result<(), HostError> {
        let origin = SettingOrigin::File { layer, path: path.to_owned() };
        let named = |error: metier_catalog::CatalogError| HostError::Settings {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let precedence = file.precedence.as_deref().map(Precedence::new).transpose().map_err(named)?;
        self.add_roots(roots, &origin);
        self.usual_roots.set(file.usual_roots, &origin);
        let required = file.require_compatible.filter(|is_on| *is_on || layer != Layer::Project);
        self.require_compatible.set(required, &origin);
        self.builtin.set(file.builtin, &origin);
        self.profile.set(file.profile, &origin);
        self.precedence.set(precedence, &origin);
        self.index.set(file.index, &origin);
        self.tool_names.set(file.tool_names, &origin);
        self.git_host.set(file.git_host.clone(), &origin);
        if layer == Layer::Project && file.private_hosts.is_some() {
            self.notes.push(format!("{}: a project cannot set `private_hosts`; ignoring it", path.display()));
        } else {
            self.private_hosts.set(file.private_hosts.clone(), &origin);
        }
        self.depth.set(file.scan.depth, &origin);
        self.entries.set(file.scan.entries, &origin);
        self.notes.extend(self.recording.apply(&file, layer, path, environment)?);
        self.server_tool_names.set(file.server_tool_names, &origin);
        let base = path.parent().unwrap_or(Path::new("/"));
        for (name, table) in file.servers {
            let server = table.server(&name, base, environment, &origin, true);
            let server = server.map_err(|reason| HostError::Settings { path: path.to_owned(), reason })?;
            self.servers.retain(|other| other.name != name);
            self.servers.push(server);
        }
        self.policies.extend(file.policy.map(|policy| (path.to_owned(), policy)));
        let rules = file
            .skills
            .into_iter()
            .zip(file.lines)
            .map(|(table, line)| table.into_inner().rule(base, environment, &origin, Some(line)))
            .collect::<Result<Vec<_>, _>>();
        let rules = rules.map_err(named)?;
        if !rules.is_empty() {
            self.states.push(rules);
        }
        Ok(())
    }

    fn load(&mut self, path: &Path) -> Result<Option<File>, HostError> {
        let loaded = File::load(path);
        self.files.push((path.to_owned(), !matches!(loaded, Ok(None))));
        loaded
    }

    fn apply_variables(&mut self, environment: &Environment) -> Result<(), HostError> {
        let known = list::variables();
        let ours = environment.variables().iter().map(|(name, _)| name.as_str());
        for name in ours.filter(|name| name.starts_with("METIER_") && !known.contains(name)) {
            let near = nearest_names(name, known.iter().copied());
            let what = did_you_mean(&near, &format!("supported: {}", known.join(", ")));
            self.notes.push(format!("unknown variable `{name}`{what}"));
        }
        if let Some(roots) = environment.variable("METIER_ROOTS") {
            let roots: Vec<Root> = roots
                .split(',')
                .filter(|root| !root.trim().is_empty())
                .map(|root| given_root(root.trim(), environment))
                .collect::<Result<_, _>>()?;
            self.replace_roots(roots, &SettingOrigin::Variable("METIER_ROOTS"));
        }
        self.notes.extend(self.recording.apply_variables(environment)?);
        let origin = SettingOrigin::Variable;
        self.builtin.set(switch("METIER_BUILTIN", environment)?, &origin("METIER_BUILTIN"));
        self.index.set(switch("METIER_INDEX", environment)?, &origin("METIER_INDEX"));
        if let Some(text) = environment.variable("METIER_PROFILE") {
            let reason = || format!("is `{text}`; use strict, standard or lenient");
            let wrong = || HostError::Variable { name: "METIER_PROFILE", reason: reason() };
            self.profile.set(Some(Profile::named(text).ok_or_else(wrong)?), &origin("METIER_PROFILE"));
        }
        Ok(())
    }

    fn apply_overrides(&mut self, overrides: &Overrides, environment: &Environment) -> Result<(), HostError> {
        if !overrides.roots.is_empty() {
            let roots = overrides.roots.iter().map(|root| given_root(root, environment));
            let origin = SettingOrigin::Flag("--root");
            self.replace_roots(roots.collect::<Result<_, _>>()?, &origin);
            // Who names the roots means these and nothing else.
            self.builtin.set(Some(false), &origin);
        }
        self.profile.set(overrides.profile, &SettingOrigin::Flag("--profile"));
        self.index.set(overrides.no_index.then_some(false), &SettingOrigin::Flag("--no-index"));
        self.notes.extend(self.recording.apply_overrides(overrides, environment)?);
        let rules: Vec<StateSetting> = overrides
            .states
            .iter()
            .map(|text| given_state(text, environment))
            .collect::<Result<_, HostError>>()?;
        if !rules.is_empty() {
            self.states.push(rules);
        }
        Ok(())
    }
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn given_state(text: &str, environment: &Environment) -> Result<StateSetting, HostError> {
    let Some((name, state)) = text.rsplit_once('=') else {
        let reason = format!("`--state {text}` has no `=`; write it like `--state 'pdf-*=off'`");
        return Err(HostError::Override { reason });
    };
    let state: State =
        state.parse().map_err(|error: metier_catalog::CatalogError| HostError::given(error))?;
    let table = RuleTable { name: Some(name.to_owned()), tier: None, path: None, state };
    table.rule(Path::new("/"), environment, &SettingOrigin::Flag("--state"), None).map_err(HostError::given)
}

fn switch(name: &'static str, environment: &Environment) -> Result<Option<bool>, HostError> {
    match environment.variable(name) {
        None => Ok(None),
        Some("1" | "true" | "on" | "yes") => Ok(Some(true)),
        Some("0" | "false" | "off" | "no") => Ok(Some(false)),
        Some(other) => Err(HostError::Variable { name, reason: format!("is `{other}`; use on or off") }),
    }
}

/// A root of an override or a variable.
fn given_root(text: &str, environment: &Environment) -> Result<Root, HostError> {
    let root = Root::parse(text).map_err(|error| HostError::given(format!("`{text}`: {error}")))?;
    let path = environment.absolute(&environment.at_home(&root.path));
    Ok(Root::new(path, root.tier, root.scope))
}

#[cfg(all(test, feature = "store"))]
mod tests {
    #[test]
    fn the_git_host_is_that_of_the_store() {
        assert_eq!(super::GIT_HOST, metier_store::GIT_HOST);
    }
}
