//! Whether metier works here, and what it works with: every check, and what counts as a problem.
//!
//! Nothing is recorded, and nothing is changed except what killed runs of scripts left, which is moved aside.

mod agents;
mod approvals;
mod check;
mod disk;
#[cfg(feature = "guard")]
mod guards;
mod journal;
mod scripts;

use std::path::Path;

use metier_catalog::{Problem, RootReport, Scope};
use metier_sandbox::{Local, UnsettledRuns};
use metier_skill::{Coded, Tier};
use serde::Serialize;

pub use agents::LocalAgent;
#[cfg(feature = "guard")]
pub(crate) use agents::version as agent_version;
pub use check::{Check, CheckStatus};
pub use disk::{Removal, remove_leftovers};
pub use journal::CheckedJournal;
pub use scripts::{CheckedProtection, RunnableTiers};

use crate::catalog::HostCatalog;
use crate::environment::Environment;
use crate::error::HostError;
use crate::host::{Metier, MetierBuilder};
use crate::policy::{organisation, organisation_file};
use crate::settings::chain;

/// The result of [`Metier::doctor`]: each check, and what metier found. Serialises as `metier doctor --json` prints it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Checkup {
    /// Whether no check failed.
    pub ok: bool,
    /// Every check, in the order in which they are reported.
    pub checks: Vec<Check>,
    /// The skill roots. Empty if the settings cannot be read.
    pub roots: Vec<CheckedRoot>,
    /// Where the index is.
    pub index: CheckedIndex,
    /// The journal; `None` without a home directory to keep one in.
    pub journal: Option<CheckedJournal>,
    /// The agents that are installed.
    pub agents: Vec<LocalAgent>,
    /// Skills that can be used here and that other clients refuse.
    pub warnings: Vec<Problem>,
    /// What cannot be used.
    pub problems: Vec<Problem>,
    /// What interrupted scripts left that other programs obey.
    pub planted: Inspection<Vec<UnsettledRuns>>,
    /// The protections that scripts run with.
    pub sandbox: Inspection<Vec<CheckedProtection>>,
    /// What a person should know about how the settings and roots were read.
    #[serde(skip)]
    pub notes: Vec<String>,
}

impl Checkup {
    /// How many checks ended like this.
    pub fn count(&self, status: CheckStatus) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }
}

/// What was found, or why it could not be looked at.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Inspection<T> {
    /// What was found.
    Found(T),
    /// It could not be looked at.
    Failed {
        /// Why.
        error: String,
        /// The stable code of the error, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'static str>,
    },
}

impl<T> Inspection<T> {
    /// What was found, if it could be looked at.
    pub const fn found(&self) -> Option<&T> {
        match self {
            Self::Found(found) => Some(found),
            Self::Failed { .. } => None,
        }
    }
}

/// A skill root and what is in it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CheckedRoot {
    /// The directory.
    pub path: String,
    /// How far its skills are trusted.
    pub tier: Tier,
    /// Whose root it is.
    pub scope: Scope,
    /// Whether the directory exists.
    pub exists: bool,
    /// How many usable skills it has.
    pub skills: usize,
    /// How many problems it has.
    pub problems: usize,
    /// How many `SKILL.md` were read; the index had the others.
    pub read: usize,
    /// The index file, if there is an index.
    pub index: Option<String>,
    /// The size of the index file.
    pub index_bytes: Option<u64>,
}

impl CheckedRoot {
    fn new(report: &RootReport) -> Self {
        let index = report.index.as_ref();
        Self {
            path: report.root.path.to_string_lossy().into_owned(),
            tier: report.root.tier,
            scope: report.root.scope,
            exists: report.exists,
            skills: report.skills,
            problems: report.problems,
            read: report.read,
            index: index.map(|path| path.to_string_lossy().into_owned()),
            index_bytes: index.and_then(|path| path.metadata().ok()).map(|meta| meta.len()),
        }
    }
}

/// Where the index of the catalog is.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CheckedIndex {
    /// Its directory; `None` if every skill is read each time.
    pub directory: Option<String>,
}

impl Metier {
    /// Checks whether metier works here. Takes seconds: installed skills are digested again, the protections of the sandbox
    /// are measured and every agent is asked for its version.
    ///
    /// An error is only a root of the overrides that does not exist; everything else is a failed check.
    pub fn doctor(&self) -> Result<Checkup, HostError> {
        checkup(Ok(self), self)
    }
}

impl MetierBuilder {
    /// The same as [`Metier::doctor`], where settings that cannot be read are a failed check as well.
    pub fn doctor(self) -> Result<Checkup, HostError> {
        let environment = self.environment.clone().unwrap_or_else(Environment::read);
        match self.environment(environment.clone()).build() {
            Ok(metier) => metier.doctor(),
            // Without settings there are still the usual places.
            Err(error) => checkup(Err(&error), &Metier::with_defaults(environment)),
        }
    }
}

/// All checks. `opened` is the host with the settings, if they can be read; `metier` is one in any case.
fn checkup(opened: Result<&Metier, &HostError>, metier: &Metier) -> Result<Checkup, HostError> {
    let environment = metier.environment();
    let mut checks = vec![settings(opened)];
    let ignored = metier.settings().ignored.as_ref();
    checks.extend(ignored.map(|(path, reason)| ignored_settings(path, reason)));
    checks.extend([policies(opened.ok()), keys(metier), journal::check(metier)]);
    checks.extend(journal::archives(metier));
    checks.extend(disk::space(environment));
    checks.extend(disk::store(metier.installed().as_ref()));
    checks.push(disk::leftovers(environment));
    checks.extend(approvals::check(metier.approvals().as_ref()));
    #[cfg(feature = "guard")]
    checks.extend(guards::check(metier));
    let mut notes = metier.settings().notes.clone();
    // A check of its own has it.
    notes.retain(|note| ignored.is_none_or(|(_, reason)| !note.ends_with(reason.as_str())));
    // Without settings it is not known where skills are.
    let skills = opened.ok().map(|metier| skills(metier, &mut notes)).transpose()?;
    let protections = metier_sandbox::probe(&Local::new());
    let planted = scripts::settle(environment);
    checks.push(scripts::planted(&planted));
    checks.push(scripts::runnable(&protections));
    let directory = opened.ok().and_then(|metier| metier.cache("catalog"));
    Ok(Checkup {
        ok: !checks.iter().any(|check| check.status == CheckStatus::Failed),
        checks,
        roots: skills.iter().flat_map(|skills| skills.roots()).map(CheckedRoot::new).collect(),
        index: CheckedIndex { directory: directory.map(|path| path.to_string_lossy().into_owned()) },
        journal: journal::look(metier),
        agents: agents::find(environment),
        warnings: skills.as_ref().map(|skills| skills.warnings().to_vec()).unwrap_or_default(),
        problems: skills.as_ref().map(|skills| skills.problems().to_vec()).unwrap_or_default(),
        planted: match planted {
            Ok(found) => Inspection::Found(found),
            Err(error) => Inspection::Failed { error: error.to_string(), code: None },
        },
        sandbox: match &protections {
            Ok(found) => Inspection::Found(found.iter().map(CheckedProtection::new).collect()),
            Err(error) => Inspection::Failed { error: error.to_string(), code: Some(error.code()) },
        },
        notes,
    })
}

/// Every skill that is found, with what there is to say about that.
fn skills(metier: &Metier, notes: &mut Vec<String>) -> Result<HostCatalog, HostError> {
    let mut skills = metier.catalog()?;
    notes.extend_from_slice(skills.notes());
    if let Err(error) = skills.save() {
        notes.push(format!("the index was not kept: {}", chain(&error)));
    }
    Ok(skills)
}

/// Whether the settings can be read.
fn settings(opened: Result<&Metier, &HostError>) -> Check {
    match opened {
        Ok(metier) => {
            let settings = metier.settings();
            let ignored = settings.ignored.as_ref().map(|(path, _)| path);
            let read =
                settings.files.iter().filter(|(path, exists)| *exists && Some(path) != ignored).count();
            Check::ok("settings", format!("{} read; `metier config` shows each value", counted(read, "file")))
        }
        Err(error) => Check::failed("settings", chain(error), "correct the file, then run `metier config`"),
    }
}

/// The project's settings file, which is not trusted and cannot be used.
fn ignored_settings(path: &Path, reason: &str) -> Check {
    let message = format!("ignored: {reason}");
    Check::notice("settings", message, "correct the file; without `metier trust`, only its `roots` are used")
        .at(path)
}

/// Whether the organisation's policy and the rules of the settings can be used.
fn policies(metier: Option<&Metier>) -> Check {
    let path = organisation_file();
    let organisation = match organisation(&path) {
        Ok(organisation) => organisation,
        Err(error) => {
            let fix = format!("correct {}; everything is refused until then", path.display());
            return Check::failed("policy", chain(&error), fix).at(path);
        }
    };
    if let Some(Err(error)) = metier.map(Metier::policy) {
        return Check::failed("policy", chain(&error), "correct the file; `metier config` names all");
    }
    let files = metier.map_or(0, |metier| metier.settings().policies.len());
    let own = match organisation {
        Some(_) => format!("the organisation's {} is in force", path.display()),
        None => "there is no organisation policy".to_owned(),
    };
    let more = match files {
        0 => "no settings file adds rules".to_owned(),
        files => format!("rules of {} are added", counted(files, "settings file")),
    };
    Check::ok("policy", format!("{own}; {more}"))
}

/// Whether the files with trusted keys can be read.
fn keys(metier: &Metier) -> Check {
    match metier.trusted_keys() {
        Ok(_) => {
            let withdrawn = metier.withdrawn();
            let mut names: Vec<_> = withdrawn.keys().filter_map(|path| path.file_name()).collect();
            names.sort_unstable();
            let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
            if names.is_empty() {
                return Check::ok("keys", "the trusted keys can be read");
            }
            let message =
                format!("signed with a key that is no longer trusted for their tier: {}", names.join(", "));
            let fix = "`metier update` or `metier remove` them, or trust the key again";
            Check::notice("keys", message, fix)
        }
        Err(error) => Check::failed("keys", chain(&error), "correct the file, or remove it"),
    }
}

/// A number with its noun, in the singular or plural.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn environment(home: &std::path::Path) -> Environment {
        Environment::new(home, home)
    }

    fn check<'a>(checkup: &'a Checkup, name: &str) -> &'a Check {
        checkup.checks.iter().find(|check| check.name == name).unwrap()
    }

    #[test]
    fn settings_that_cannot_be_read_are_a_failed_check_and_the_rest_is_still_checked() {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join(".config/metier");
        fs::create_dir_all(&config).unwrap();
        fs::write(config.join("config.toml"), "rots = []\n").unwrap();
        let checkup = Metier::builder().environment(environment(home.path())).doctor().unwrap();
        assert!(!checkup.ok);
        assert_eq!(check(&checkup, "settings").status, CheckStatus::Failed);
        assert!(check(&checkup, "settings").message.contains("rots"), "{checkup:?}");
        assert_eq!(check(&checkup, "journal").status, CheckStatus::Ok);
        assert!(checkup.roots.is_empty() && checkup.index.directory.is_none());
    }

    #[test]
    fn a_checkup_serialises_as_the_command_line_prints_it() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("skills/pdf")).unwrap();
        fs::write(
            home.path().join("skills/pdf/SKILL.md"),
            "---\nname: pdf\ndescription: Fills in forms. Use when there is one.\n---\nText\n",
        )
        .unwrap();
        let metier = Metier::builder().environment(environment(home.path())).root("skills").build().unwrap();
        let checkup = metier.doctor().unwrap();
        assert_eq!((checkup.roots.len(), checkup.roots[0].skills), (1, 1));
        let json = serde_json::to_value(&checkup).unwrap();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        let all = [
            "agents", "checks", "index", "journal", "ok", "planted", "problems", "roots", "sandbox",
            "warnings",
        ];
        let mut sorted = keys.clone();
        sorted.sort();
        assert_eq!(sorted, all);
        assert_eq!(json["journal"]["records"], 0);
        assert_eq!(json["checks"][0]["check"], "settings");
        assert!(json["checks"][0]["where"].is_null());
        assert!(!home.path().join(".local").exists(), "a journal was begun");
    }

    #[test]
    fn a_root_that_is_named_and_does_not_exist_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let builder = Metier::builder().environment(environment(home.path())).root("nosuch");
        assert!(matches!(builder.doctor(), Err(HostError::NoRoot { .. })));
    }
}
