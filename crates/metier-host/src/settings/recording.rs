//! What is recorded, where, and what is sent to a collector: the settings alone, without the journal itself.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::file::File;
use super::{Layer, Overrides, Setting, SettingOrigin};
use crate::environment::Environment;
use crate::error::HostError;

/// What is recorded, and where.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordingSettings {
    /// The journal; `None` without a home to keep it in.
    pub journal: Setting<Option<JournalSetting>>,
    /// Whether records are written about a second later, instead of before what they are about is answered.
    pub is_batched: Setting<bool>,
    /// Whether texts are recorded, or their digests only.
    pub texts: Setting<bool>,
    /// Whether every skill that is used is kept by its digest.
    pub keep_skills: Setting<bool>,
    /// Where traces and metrics go.
    pub telemetry: Setting<Option<TelemetryTable>>,
    /// How old records are archived; `None` if nothing is set.
    pub archive: Setting<Option<ArchiveSetting>>,
}

/// When and where old records are archived: the table `archive`. Nothing is archived without `metier audit archive`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ArchiveSetting {
    /// How long records stay in the journal, such as `90d`.
    pub keep: String,
    /// The directory for archives; beside the journal if it is not set.
    pub directory: Option<PathBuf>,
    /// Whether there is one archive for each month.
    pub by: Option<ArchivePeriod>,
}

/// What period one archive is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ArchivePeriod {
    /// A calendar month in UTC.
    Month,
}

impl ArchiveSetting {
    /// The same with an absolute directory, if the duration can be understood.
    fn at(&self, base: &Path, environment: &Environment) -> Result<Self, String> {
        let count = self.keep.strip_suffix(['h', 'd', 'w']).and_then(|count| count.parse::<u32>().ok());
        if count.is_none() {
            return Err(format!(
                "invalid `keep` {:?} in `[archive]`; use a duration such as 90d, 12w or 36h",
                self.keep
            ));
        }
        let directory = self.directory.as_ref();
        let directory = directory.map(|path| base.join(environment.at_home(path)).components().collect());
        Ok(Self { directory, ..self.clone() })
    }
}

/// Where the journal is, as settings have it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalSetting {
    /// A file.
    File(PathBuf),
    /// A server, by its address, in which there may be a password.
    Server(String),
}

impl fmt::Debug for JournalSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Server(_) => f.debug_tuple("Server").finish_non_exhaustive(),
        }
    }
}

/// The words for when records are on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Durability {
    Full,
    Batched,
}

/// Where traces and metrics go: the table `telemetry`.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TelemetryTable {
    /// The address of the collector.
    pub endpoint: String,
    /// Headers that are sent along.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What metier is called there.
    pub service: Option<String>,
}

/// Without the values of headers: secrets are among them.
impl fmt::Debug for TelemetryTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { endpoint, headers, service } = self;
        let names: Vec<&String> = headers.keys().collect();
        f.debug_struct("TelemetryTable")
            .field("endpoint", endpoint)
            .field("headers", &names)
            .field("service", service)
            .finish()
    }
}

impl RecordingSettings {
    /// In a file in the state directory, and nowhere else.
    pub(super) fn defaults(environment: &Environment) -> Self {
        let file = environment.state_directory().map(|state| state.join("journal.db"));
        Self {
            journal: Setting::default(file.map(JournalSetting::File)),
            is_batched: Setting::default(false),
            texts: Setting::default(false),
            keep_skills: Setting::default(true),
            telemetry: Setting::default(None),
            archive: Setting::default(None),
        }
    }

    /// What a file says. What the organisation's says, others do not change; what a project says about it counts for
    /// nothing.
    pub(super) fn apply(
        &mut self,
        file: &File,
        layer: Layer,
        path: &Path,
        environment: &Environment,
    ) -> Result<Option<String>, HostError> {
        let says_nothing = file.journal.is_none()
            && file.durability.is_none()
            && file.record_text.is_none()
            && file.keep_skills.is_none()
            && file.telemetry.is_none()
            && file.archive.is_none();
        if says_nothing {
            return Ok(None);
        }
        if layer == Layer::Project {
            let path = path.display();
            return Ok(Some(format!(
                "{path}: a project cannot say what is recorded where; passing over that"
            )));
        }
        let origin = SettingOrigin::File { layer, path: path.to_owned() };
        let base = path.parent().unwrap_or(Path::new("/"));
        let journal = file.journal.as_deref().map(|text| journal(text, base, environment)).transpose();
        let journal = journal.map_err(|reason| HostError::Settings { path: path.to_owned(), reason })?;
        let archive = file.archive.as_ref().map(|table| table.at(base, environment)).transpose();
        let archive = archive.map_err(|reason| HostError::Settings { path: path.to_owned(), reason })?;
        let is_batched = file.durability.map(|durability| durability == Durability::Batched);
        let mut kept = Vec::new();
        set(&mut self.journal, journal.map(Some), &origin, "journal", &mut kept);
        set(&mut self.is_batched, is_batched, &origin, "durability", &mut kept);
        set(&mut self.texts, file.record_text, &origin, "record_text", &mut kept);
        set(&mut self.keep_skills, file.keep_skills, &origin, "keep_skills", &mut kept);
        set(&mut self.telemetry, file.telemetry.clone().map(Some), &origin, "telemetry", &mut kept);
        set(&mut self.archive, archive.map(Some), &origin, "archive", &mut kept);
        let note = |kept: Vec<&str>| {
            let (path, kept) = (path.display(), kept.join("`, `"));
            format!("{path}: `{kept}` is set for everybody on this machine; passing over that")
        };
        Ok((!kept.is_empty()).then(|| note(kept)))
    }

    /// What variables say.
    pub(super) fn apply_variables(&mut self, environment: &Environment) -> Result<Option<String>, HostError> {
        let base = environment.working.as_deref().unwrap_or(Path::new("/"));
        let mut kept = Vec::new();
        let name = "METIER_JOURNAL";
        if let Some(text) = environment.variable(name) {
            let journal = journal(text, base, environment).map_err(HostError::given)?;
            set(&mut self.journal, Some(Some(journal)), &SettingOrigin::Variable(name), name, &mut kept);
        }
        let name = "METIER_OTLP_ENDPOINT";
        if let Some(endpoint) = environment.variable(name) {
            let headers = environment.variable("METIER_OTLP_HEADERS").unwrap_or_default();
            let header = |pair: &str| {
                let reason = "must be like `name=value,name=value`".to_owned();
                let wrong = HostError::Variable { name: "METIER_OTLP_HEADERS", reason };
                let (name, value) = pair.split_once('=').ok_or(wrong)?;
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            };
            let headers = headers.split(',').filter(|pair| !pair.trim().is_empty()).map(header);
            let table = TelemetryTable {
                endpoint: endpoint.to_owned(),
                headers: headers.collect::<Result<_, HostError>>()?,
                service: None,
            };
            set(&mut self.telemetry, Some(Some(table)), &SettingOrigin::Variable(name), name, &mut kept);
        }
        Ok((!kept.is_empty()).then(|| {
            format!("{} is set for everybody on this machine; the variable is passed over", kept.join(", "))
        }))
    }

    /// What the host says.
    pub(super) fn apply_overrides(
        &mut self,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<Option<String>, HostError> {
        let Some(text) = &overrides.journal else { return Ok(None) };
        let base = environment.working.as_deref().unwrap_or(Path::new("/"));
        let journal = journal(text, base, environment).map_err(HostError::given)?;
        let mut kept = Vec::new();
        set(&mut self.journal, Some(Some(journal)), &SettingOrigin::Flag("--journal"), "journal", &mut kept);
        Ok((!kept.is_empty())
            .then(|| "`journal` is set for everybody on this machine; the host's is passed over".to_owned()))
    }

    /// The word for when records are on the disk, as settings files have it.
    pub const fn durability(&self) -> &'static str {
        if self.is_batched.value { "batched" } else { "full" }
    }
}

/// A value that is set, unless the organisation has.
fn set<T>(
    setting: &mut Setting<T>,
    value: Option<T>,
    origin: &SettingOrigin,
    name: &'static str,
    kept: &mut Vec<&str>,
) {
    let Some(value) = value else { return };
    if setting.origin.layer() == Some(Layer::System) {
        kept.push(name);
    } else {
        *setting = Setting { value, origin: origin.clone() };
    }
}

/// A journal as it was written: a file begins where the settings are.
pub(crate) fn journal(text: &str, base: &Path, environment: &Environment) -> Result<JournalSetting, String> {
    #[cfg(feature = "session")]
    crate::recording::check(text)?;
    if text.contains("://") {
        return Ok(JournalSetting::Server(text.to_owned()));
    }
    let path = base.join(environment.at_home(Path::new(text)));
    Ok(JournalSetting::File(path.components().collect()))
}
