//! What is recorded, where, and what is sent to a collector: the settings alone, without the journal itself.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use metier_journal::{Durability, JournalAddress, JournalError};
use serde::Deserialize;

use super::file::File;
use super::{Layer, Overrides, Setting, SettingOrigin};
use crate::environment::Environment;
use crate::error::HostError;

/// What is recorded and where.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordingSettings {
    /// The journal; `None` without a home to keep it in.
    pub journal: Setting<Option<JournalAddress>>,
    /// When a record is on the disk.
    pub durability: Setting<Durability>,
    /// Whether texts are recorded, or only their digests.
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

/// Where traces and metrics go: the table `telemetry`.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TelemetryTable {
    /// The address of the collector.
    pub endpoint: String,
    /// Additional headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The service name.
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
            journal: Setting::default(file.map(JournalAddress::file)),
            durability: Setting::default(Durability::Full),
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
                "{path}: a project cannot set what is recorded or where; ignoring these settings"
            )));
        }
        let origin = SettingOrigin::File { layer, path: path.to_owned() };
        let base = path.parent().unwrap_or(Path::new("/"));
        let journal = file.journal.as_deref().map(|text| journal(text, base, environment)).transpose();
        let journal = journal.map_err(|reason| HostError::Settings { path: path.to_owned(), reason })?;
        let archive = file.archive.as_ref().map(|table| table.at(base, environment)).transpose();
        let archive = archive.map_err(|reason| HostError::Settings { path: path.to_owned(), reason })?;
        let mut kept = Vec::new();
        set(&mut self.journal, journal.map(Some), &origin, "journal", &mut kept);
        set(&mut self.durability, file.durability, &origin, "durability", &mut kept);
        set(&mut self.texts, file.record_text, &origin, "record_text", &mut kept);
        set(&mut self.keep_skills, file.keep_skills, &origin, "keep_skills", &mut kept);
        set(&mut self.telemetry, file.telemetry.clone().map(Some), &origin, "telemetry", &mut kept);
        set(&mut self.archive, archive.map(Some), &origin, "archive", &mut kept);
        let note = |kept: Vec<&str>| {
            let (path, kept) = (path.display(), kept.join("`, `"));
            format!("{path}: the organisation sets `{kept}`; ignoring it here")
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
        Ok((!kept.is_empty())
            .then(|| format!("{} is ignored: the organisation sets it for this machine", kept.join(", "))))
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
            .then(|| "`--journal` is ignored: the organisation sets the journal for this machine".to_owned()))
    }

    /// What a person should know where telemetry is set and this program cannot send any.
    pub(super) fn unsent(&self, can_send: bool) -> Option<String> {
        let is_set = !can_send && self.telemetry.value.is_some();
        is_set.then(|| {
            format!(
                "`telemetry` is set ({}), but nothing is sent: this program was built without the feature `otel`",
                self.telemetry.origin
            )
        })
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

/// A journal as it was written: a relative file begins where the settings are.
pub(crate) fn journal(text: &str, base: &Path, environment: &Environment) -> Result<JournalAddress, String> {
    let address: JournalAddress = text.parse().map_err(|error: JournalError| error.to_string())?;
    let Some(path) = address.as_file() else { return Ok(address) };
    let path = base.join(environment.at_home(path));
    Ok(JournalAddress::file(path.components().collect::<PathBuf>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telemetry_that_cannot_be_sent_is_reported() {
        let environment = Environment::new("/home/me", "/work");
        let mut settings = RecordingSettings::defaults(&environment);
        assert_eq!(settings.unsent(false), None);
        let environment = environment.with_variable("METIER_OTLP_ENDPOINT", "http://localhost:4318");
        settings.apply_variables(&environment).unwrap();
        assert_eq!(settings.unsent(true), None);
        let note = settings.unsent(false).unwrap();
        assert!(note.contains("METIER_OTLP_ENDPOINT") && note.contains("`otel`"), "{note}");
    }
}
