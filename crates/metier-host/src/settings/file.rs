//! What a settings file may say, and how such files are read.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use metier_catalog::{CatalogError, Root, State, StateRule};
use metier_journal::Durability;
use metier_policy::PolicySettings;
use metier_prompt::ToolNames;
use metier_skill::{Profile, Tier, nearest_names};
use serde::Deserialize;
use toml::Spanned;

use super::recording::{ArchiveSetting, TelemetryTable};
use super::servers::{ServerNaming, ServerTable};
use super::{SettingOrigin, StateSetting};
use crate::environment::Environment;
use crate::error::HostError;

/// What a settings file may say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) roots: Vec<String>,
    pub(super) usual_roots: Option<bool>,
    pub(super) require_compatible: Option<bool>,
    pub(super) builtin: Option<bool>,
    pub(super) profile: Option<Profile>,
    pub(super) precedence: Option<Vec<Tier>>,
    pub(super) index: Option<bool>,
    pub(super) tool_names: Option<ToolNames>,
    pub(super) git_host: Option<String>,
    pub(super) private_hosts: Option<Vec<String>>,
    #[serde(default)]
    pub(super) scan: ScanTable,
    #[serde(default)]
    pub(super) skills: Vec<Spanned<RuleTable>>,
    /// The line that each of `skills` begins in.
    #[serde(skip)]
    pub(super) lines: Vec<usize>,
    pub(super) policy: Option<PolicySettings>,
    pub(super) journal: Option<String>,
    pub(super) durability: Option<Durability>,
    pub(super) record_text: Option<bool>,
    pub(super) keep_skills: Option<bool>,
    pub(super) telemetry: Option<TelemetryTable>,
    pub(super) archive: Option<ArchiveSetting>,
    #[serde(default)]
    pub(super) servers: BTreeMap<String, ServerTable>,
    pub(super) server_tool_names: Option<ServerNaming>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScanTable {
    pub(super) depth: Option<usize>,
    pub(super) entries: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleTable {
    pub(super) name: Option<String>,
    pub(super) tier: Option<Tier>,
    pub(super) path: Option<String>,
    pub(super) state: State,
}

impl File {
    /// Reads a file; `None` where it does not exist.
    pub(super) fn load(path: &Path) -> Result<Option<Self>, HostError> {
        let text = match read_bounded(path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(HostError::read(path, error)),
        };
        let wrong = |error: toml::de::Error| HostError::Settings {
            path: path.to_owned(),
            reason: toml_reason(&text, &error),
        };
        let mut file: Self = toml::from_str(&text).map_err(wrong)?;
        let line = |rule: &Spanned<RuleTable>| {
            text.get(..rule.span().start).unwrap_or_default().matches('\n').count() + 1
        };
        file.lines = file.skills.iter().map(line).collect();
        Ok(Some(file))
    }
}

/// The `[policy]` of the text of a settings file.
pub(crate) fn policy_of_settings(text: &str) -> Result<PolicySettings, toml::de::Error> {
    Ok(toml::from_str::<File>(text)?.policy.unwrap_or_default())
}

/// Words that are written for keys of a policy rule, and these keys.
const SYNONYMS: [(&str, &str); 5] = [
    ("run", "scripts"),
    ("exec", "scripts"),
    ("load", "activate"),
    ("read", "resources"),
    ("files", "resources"),
];

/// What is wrong with a file: the place and the reason on one line, then the line of the file with the place underlined. Names the
/// key or value that may have been meant.
pub(crate) fn toml_reason(text: &str, error: &toml::de::Error) -> String {
    let mut words = error.message().split('`').skip(1).step_by(2);
    let unknown = words.next().unwrap_or_default();
    // A word that says the same and looks different.
    let same =
        SYNONYMS.iter().find(|(word, known)| *word == unknown && words.clone().any(|one| one == *known));
    let near = same.map_or_else(|| nearest_names(unknown, words), |(_, known)| vec![*known]);
    let is_unknown = error.message().starts_with("unknown ");
    let message = error.message().trim_end().replace('\n', ", ");
    let message = match near.first().filter(|_| is_unknown) {
        // All that it could be is a long list, in which the meant word is hard to find.
        Some(meant) => {
            let unknown = message.split(", expected").next().unwrap_or_default();
            format!("{unknown}; did you mean `{meant}`?")
        }
        None => message,
    };
    let Some(span) = error.span() else { return message };
    let (before, rest) = text.split_at_checked(span.start).unwrap_or((text, ""));
    let (number, begin) =
        (before.matches('\n').count() + 1, before.rfind('\n').map_or(0, |position| position + 1));
    let column = before[begin..].chars().count();
    let place = format!("line {number}, column {}: {message}", column + 1);
    let line = text[begin..].lines().next().unwrap_or_default();
    if line.chars().count() > SHOWN {
        return place;
    }
    let marked = rest.lines().next().unwrap_or_default().get(..span.len());
    let marks = marked.unwrap_or(rest.lines().next().unwrap_or_default()).chars().count().max(1);
    format!("{place}\n{line}\n{}{}", " ".repeat(column), "^".repeat(marks))
}

/// A longer line is not shown.
const SHOWN: usize = 200;

impl RuleTable {
    pub(super) fn rule(
        self,
        base: &Path,
        environment: &Environment,
        origin: &SettingOrigin,
        line: Option<usize>,
    ) -> Result<StateSetting, CatalogError> {
        let path = self.path.map(|path| path_pattern(&path, base, environment));
        let matcher = StateRule::new(self.name.as_deref(), self.tier, path.as_deref(), self.state)?;
        let tier = self.tier.map(|tier| tier.as_str().to_owned());
        let parts = [("name", self.name), ("tier", tier), ("path", path)];
        let parts = parts.into_iter().filter_map(|(key, value)| Some(format!("{key} {}", value?)));
        let text = parts.collect::<Vec<_>>().join(", ");
        Ok(StateSetting { text, state: self.state, origin: origin.clone(), line, matcher })
    }
}

/// A pattern for paths. A relative pattern starts at the settings file's directory, whose path is taken
/// literally.
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

/// The roots of a settings file; relative ones begin where the file is.
pub(super) fn roots(file: &File, path: &Path, environment: &Environment) -> Result<Vec<Root>, HostError> {
    let base = path.parent().unwrap_or(Path::new("/"));
    let root = |text: &String| {
        let root = Root::parse(text)
            .map_err(|error| HostError::Settings { path: path.to_owned(), reason: error.to_string() })?;
        let path = base.join(environment.at_home(&root.path)).components().collect::<PathBuf>();
        Ok(Root::new(path, root.tier, root.scope))
    };
    file.roots.iter().map(root).collect()
}

/// The roots in a project's settings, for sessions that work in it. Empty if the settings cannot be read.
#[cfg(feature = "session")]
pub(crate) fn project_roots(folder: &Path, environment: &Environment) -> Vec<PathBuf> {
    let path = folder.join(super::PROJECT_FILE);
    let file = read_bounded(&path).ok().and_then(|text| toml::from_str::<File>(&text).ok());
    let roots = file.and_then(|file| roots(&file, &path, environment).ok());
    roots.unwrap_or_default().into_iter().map(|root| root.path).collect()
}

/// A larger file of settings is something else.
const MOST: u64 = 1 << 20;

/// Reads a settings file.
pub(crate) fn read_bounded(path: &Path) -> io::Result<String> {
    read_regular(path, MOST)
}

/// Reads a file of at most `most` bytes that was not named by the user. A pipe in its place is an error, because it may never end.
/// Devices such as `/dev/null` are read.
pub fn read_regular(path: &Path, most: u64) -> io::Result<String> {
    let at_once = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = fs::File::options().read(true).custom_flags(at_once).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_char_device() {
        return read_to(most, file);
    }
    Err(io::Error::other("it is not a regular file"))
}

/// Reads a small file that the user named. It may be a pipe.
pub fn read_named(path: &Path) -> io::Result<String> {
    read_to(MOST, fs::File::open(path)?)
}

fn read_to(most: u64, file: fs::File) -> io::Result<String> {
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}
