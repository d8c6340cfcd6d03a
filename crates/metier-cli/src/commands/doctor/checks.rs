//! What must hold for metier to work here: one check each, with what is wrong, where, and what fixes it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use metier_host::{Environment, HostError, Metier, Settings, SystemClock, organisation, organisation_file};
use metier_journal::{Journal, JournalAddress, JournalError, JournalOptions, JournalReader};
use metier_sandbox::{MeasuredProtection, Protections, SandboxError, Strictness, UnsettledRuns};
use metier_session::{ApprovalProblem, ApprovalStore, StoredApproval};
use metier_skill::is_invisible;
use metier_store::Store;
use serde::Serialize;

use crate::output::Output;
use crate::table::{counted, one_line};

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Ok,
    /// Worth knowing; metier works all the same.
    Notice,
    /// metier refuses to work, or to do a part of it.
    Failed,
}

/// One check, as `--json` prints it.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    #[serde(rename = "check")]
    name: &'static str,
    pub(super) status: Status,
    message: String,
    #[serde(rename = "where")]
    place: Option<String>,
    fix: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, status: Status::Ok, message: message.into(), place: None, fix: None }
    }

    pub(super) fn notice(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: Status::Notice, fix: Some(fix.into()), ..Self::ok(name, message) }
    }

    pub(super) fn failed(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: Status::Failed, fix: Some(fix.into()), ..Self::ok(name, message) }
    }

    pub(super) fn at(self, place: impl AsRef<Path>) -> Self {
        Self { place: Some(place.as_ref().to_string_lossy().into_owned()), ..self }
    }

    pub(super) fn print(&self, is_first: bool, output: &mut Output) -> io::Result<()> {
        let status = match self.status {
            Status::Ok => output.colored("ok", true),
            Status::Notice => output.warning("notice"),
            Status::Failed => output.colored("FAILED", false),
        };
        let mut lines = self.message.lines();
        let key = if is_first { self.name } else { "" };
        let first = one_line(lines.next().unwrap_or_default());
        output.styled_row(key, &format!("{status}: {first}"))?;
        for line in lines {
            output.row("", &format!("  | {line}"))?;
        }
        if let Some(place) = self.place.as_ref().filter(|place| !self.message.contains(place.as_str())) {
            output.row("", &format!("  in {place}"))?;
        }
        self.fix.as_ref().map_or(Ok(()), |fix| output.row("", &format!("  fix: {fix}")))
    }

    /// Which check it belongs to.
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }
}

/// Whether the settings can be read; if so, they are.
pub(super) fn settings(settings: Result<&Settings, &HostError>) -> Check {
    match settings {
        Ok(settings) => {
            let read = settings.files.iter().filter(|(_, exists)| *exists).count();
            Check::ok("settings", format!("{} read; `metier config` shows each value", counted(read, "file")))
        }
        Err(error) => Check::failed("settings", chain(error), "correct the file, then run `metier config`"),
    }
}

/// Whether the organisation's policy and everything that settings add to it can be used.
pub(super) fn policies(metier: Option<&Metier>) -> Check {
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
pub(super) fn keys(metier: &Metier) -> Check {
    match metier.trusted_keys() {
        Ok(_) => Check::ok("keys", "the trusted keys can be read"),
        Err(error) => Check::failed("keys", chain(&error), "correct the file, or remove it"),
    }
}

/// Whether something could be recorded now. Nothing is: where there is no journal yet, one is made beside its place and removed.
pub(super) fn journal(metier: &Metier) -> Check {
    let Ok(place) = metier.journal_address() else {
        let message = "there is no home directory to keep a journal in";
        return Check::failed("journal", message, "set HOME, XDG_STATE_HOME or METIER_JOURNAL");
    };
    if let Err(error) = metier.check_journal_directory() {
        return Check::failed("journal", chain(&error), "create the directory, or correct the setting")
            .at(place.to_string());
    }
    let lock = |path: &Path| path.with_file_name(file_name(path) + "-lock");
    let tried = match (JournalReader::open(&place).and_then(|mut reader| reader.size()), place.as_file()) {
        // One that is remembered and is gone: every command refuses to begin another in its place.
        (Err(JournalError::NotFound { .. }), Some(path))
            if !path.exists()
                && !lock(path).exists()
                && metier.remembered_checkpoint(&place).is_some_and(|path| path.exists()) =>
        {
            let message = format!("{} is gone, and a checkpoint of it is remembered", path.display());
            let fix = "restore it from a backup; `metier audit verify` says what is missing";
            return Check::failed("journal", message, fix).at(path);
        }
        (Err(JournalError::NotFound { .. }), Some(path)) if !path.exists() && !lock(path).exists() => {
            begin_beside(path).map(|()| 0)
        }
        (Err(JournalError::NotFound { .. }), None) => Ok(0),
        (Err(JournalError::NotFound { .. }), Some(_)) => can_append(metier).map(|()| 0),
        (Ok(size), _) => can_append(metier).map(|()| size),
        (Err(error), _) => Err(error.into()),
    };
    match tried {
        Ok(size) => {
            let records = counted(usize::try_from(size).unwrap_or(usize::MAX), "record");
            Check::ok("journal", format!("{place} can be appended to ({records})"))
        }
        Err(error) => {
            let fix = if let HostError::Journal(error) = &error { fix_of(error) } else { OTHERWISE };
            Check::failed("journal", chain(&error), fix).at(place.to_string())
        }
    }
}

/// Whether records are older than the settings want to keep them in the journal.
pub(super) fn archives(metier: &Metier) -> Option<Check> {
    let keep = &metier.settings().recording.archive.value.as_ref()?.keep;
    match metier.archiving_due() {
        Ok(Some(oldest)) => {
            let day = oldest.to_string().chars().take(10).collect::<String>();
            let message = format!("the oldest record is from {day}; `keep` in `[archive]` is {keep}");
            Some(Check::notice("archives", message, "`metier audit archive`"))
        }
        Ok(None) => {
            Some(Check::ok("archives", format!("no record is due to be archived (`keep` is {keep})")))
        }
        // The check of the journal reports it.
        Err(_) => None,
    }
}

const OTHERWISE: &str = "set `journal` to another place, or correct the settings: `metier config`";

const fn fix_of(error: &JournalError) -> &'static str {
    match error {
        JournalError::Full { .. } => "free some space, then run `metier doctor` again",
        JournalError::ReadOnly { .. } => "make the directory writable, or set `journal` to another place",
        JournalError::Damaged { .. } | JournalError::NotAJournal { .. } | JournalError::Record { .. } => {
            "see what was changed: `metier audit verify`"
        }
        JournalError::Format { .. } => "update metier",
        _ => OTHERWISE,
    }
}

/// Opens the journal as every command does, and asks whether there is room for a record.
fn can_append(metier: &Metier) -> Result<(), HostError> {
    Ok(metier.recorder()?.journal().ready()?)
}

/// The same for a journal that does not exist yet: in a directory that is removed again.
fn begin_beside(path: &Path) -> Result<(), HostError> {
    let at = |error: &io::Error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            JournalError::Full { path: path.to_owned() }
        }
        _ => JournalError::ReadOnly { path: path.to_owned(), reason: error.to_string() },
    };
    let above = existing(path.parent().unwrap_or(path));
    let directory =
        tempfile::Builder::new().prefix(".metier-doctor-").tempdir_in(above).map_err(|error| at(&error))?;
    let scratch = directory.path().join("journal.db");
    let opened =
        Journal::open(&JournalAddress::file(&scratch), JournalOptions::new(std::sync::Arc::new(SystemClock)));
    let ready = opened.and_then(|journal| journal.ready());
    // What is wrong there is wrong where the journal would be.
    Ok(ready.map_err(|error| match error {
        JournalError::Full { .. } => JournalError::Full { path: path.to_owned() },
        JournalError::ReadOnly { reason, .. } => JournalError::ReadOnly { path: path.to_owned(), reason },
        other => other,
    })?)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// An error with its causes.
fn chain(error: &HostError) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A directory, or the one above it that exists.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"))
}

/// Below this, metier may fail in the middle of what it does.
const SCARCE: u64 = 64 << 20;

/// Whether there is room where metier writes: it is tried, and measured.
pub(super) fn space(environment: &Environment) -> Vec<Check> {
    let places = [
        ("state", environment.state_directory()),
        ("store", environment.store_directory()),
        ("temporary files", Some(environment.temporary.clone())),
    ];
    // By file system: what is free there is free for all of them together.
    let mut free: BTreeMap<u64, (u64, Vec<&str>)> = BTreeMap::new();
    let mut checks = Vec::new();
    for (what, path) in places {
        let Some(path) = path else { continue };
        match write_into(existing(&path)) {
            Ok((device, bytes)) => free.entry(device).or_insert((bytes, Vec::new())).1.push(what),
            Err(error) => {
                let message = format!("nothing can be written for {what}: {error}");
                let fix = if error.kind() == io::ErrorKind::StorageFull {
                    format!("free some space: `df {}`", quoted(existing(&path)))
                } else {
                    format!("make it writable: {}", existing(&path).display())
                };
                checks.push(Check::failed("space", message, fix).at(path));
            }
        }
    }
    for (bytes, places) in free.into_values() {
        let message = format!("{} free for {}", size(bytes), places.join(", "));
        checks.push(match bytes {
            ..SCARCE => Check::notice("space", message, "free some space before it runs out"),
            _ => Check::ok("space", message),
        });
    }
    checks
}

/// Writes a little into a directory, as a file without a name; its file system, and how much more there is room for.
fn write_into(directory: &Path) -> io::Result<(u64, u64)> {
    let mut file = tempfile::tempfile_in(directory).map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(&[0; 16 << 10])?;
    file.sync_all()?;
    let found = rustix::fs::fstatvfs(&file)?;
    Ok((file.metadata()?.dev(), found.f_bavail.saturating_mul(found.f_frsize)))
}

fn size(bytes: u64) -> String {
    let unit = |shift: u32, name: &str| {
        let tenths = bytes.saturating_mul(10) >> shift;
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    };
    match bytes {
        0x4000_0000.. => unit(30, "GiB"),
        0x10_0000.. => unit(20, "MiB"),
        _ => unit(10, "KiB"),
    }
}

/// Whether every installed skill still is what was installed: all files are digested again, as by `metier verify`.
pub(super) fn store(store: Option<&Store>) -> Vec<Check> {
    let Some(store) = store else {
        return vec![Check::ok("store", "there is no home directory to install skills in")];
    };
    let verified = match store.verify_installed(&[]) {
        Ok(verified) => verified,
        Err(error) => {
            let message = format!("{:#}", anyhow::Error::new(error));
            return vec![Check::failed("store", message, "look at it with `metier verify`").at(store.root())];
        }
    };
    let changed: Vec<Check> = verified
        .iter()
        .filter(|skill| !skill.is_fine())
        .map(|skill| {
            let (name, what) = (&skill.name, skill.differences.join(", "));
            let message = match skill.digest {
                Some(_) => format!("`{name}` is not what was installed: {what}"),
                None => format!("`{name}` was not installed by metier: {what}"),
            };
            let fix =
                format!("`metier verify {name}`, then `metier update {name}` or `metier remove {name}`");
            Check::failed("store", message, fix).at(store.root())
        })
        .collect();
    if changed.is_empty() {
        let count = counted(verified.len(), "skill");
        return vec![Check::ok("store", format!("{count} as installed (every file was digested again)"))];
    }
    changed
}

/// Whether a script that was ended early left files that other programs obey.
pub(super) fn planted(found: &io::Result<Vec<UnsettledRuns>>) -> Check {
    match found {
        Ok(found) if found.is_empty() => {
            return Check::ok("planted", "no interrupted script left files that other programs obey");
        }
        Ok(_) => {}
        Err(error) => {
            let message = format!("the notes about runs of scripts cannot be read: {error}");
            return Check::failed("planted", message, "make the state directory readable");
        }
    }
    let fix = "look at the files that are named above before you use their directory";
    Check::failed("planted", "interrupted scripts left files that other programs obey", fix)
}

/// Whether scripts can be run, and of which skills.
pub(super) fn scripts(protections: &Result<Protections, SandboxError>) -> Check {
    let missing: Vec<&MeasuredProtection> = match protections {
        Ok(found) => found.missing().collect(),
        Err(error) => {
            let fix = "look at `metier doctor --json`; scripts are refused until then";
            return Check::failed("scripts", format!("no script can be run: {error}"), fix);
        }
    };
    if missing.is_empty() {
        return Check::ok("scripts", "every protection is available");
    }
    let names: Vec<&str> = missing.iter().map(|one| one.protection.as_str()).collect();
    let remedies: BTreeSet<&str> = missing.iter().map(|one| one.protection.remedy()).collect();
    let fix = remedies.into_iter().collect::<Vec<_>>().join("; ");
    if missing.iter().any(|one| Strictness::Core.needs(one.protection)) {
        let message = format!("no script can be run; missing protections: {}", names.join(", "));
        return Check::failed("scripts", message, fix);
    }
    let message = format!("third-party scripts are refused; missing protections: {}", names.join(", "));
    Check::notice("scripts", message, fix)
}

/// What processes left behind that were killed.
pub(super) fn leftovers(environment: &Environment) -> Check {
    let mut left = metier_sandbox::leftovers();
    left.extend(metier_home::leftovers(&environment.homes()));
    let Some(first) = left.first() else {
        return Check::ok("leftovers", "no temporary directories are left of killed processes");
    };
    let message = format!("{} left of killed processes", counted_directories(left.len()));
    Check::notice("leftovers", message, "`metier doctor --clean` removes them").at(first)
}

fn counted_directories(count: usize) -> String {
    if count == 1 {
        "1 temporary directory is".to_owned()
    } else {
        format!("{count} temporary directories are")
    }
}

/// Whether every answer that a person gave can be read, and is under the name that it was kept under.
pub(super) fn approvals(store: Option<&ApprovalStore>) -> Vec<Check> {
    let Some(store) = store else { return vec![Check::ok("approvals", "none are kept without a home")] };
    let (kept, unread) = match store.list() {
        Ok(listed) => listed,
        Err(error) => {
            let message = format!("{:#}", anyhow::Error::new(error));
            return vec![Check::failed("approvals", message, "make the directory readable")];
        }
    };
    let mut checks: Vec<Check> = unread.iter().map(unreadable).collect();
    checks.extend(open_to_others(store.directory()));
    let refused: Vec<&StoredApproval> = kept.iter().filter(|kept| !kept.approval.granted).collect();
    if checks.is_empty() {
        let yes = kept.len() - refused.len();
        checks.push(Check::ok("approvals", format!("{yes} approved, {} refused", refused.len())));
    }
    checks.extend(refused.iter().map(|StoredApproval { id, approval, .. }| {
        let script = approval.script.as_deref().map(|script| format!(" ({script})")).unwrap_or_default();
        let message = format!("you refused that `{}` may {}{script}", approval.skill, approval.verb());
        Check::notice("approvals", message, format!("to undo it: `metier approvals --revoke {id}`"))
    }));
    checks
}

/// A directory of answers that others may write to, and so approve.
fn open_to_others(directory: &Path) -> Option<Check> {
    let mode = directory.metadata().ok()?.mode();
    let message = format!("others may write to {}, and so could approve scripts", directory.display());
    let fix = format!("`chmod go-w {}`, then look at `metier approvals`", quoted(directory));
    (mode & 0o022 != 0).then(|| Check::failed("approvals", message, fix).at(directory))
}

fn unreadable(ApprovalProblem { path, reason, .. }: &ApprovalProblem) -> Check {
    let message = format!("{} is not an answer that metier kept: {reason}", path.display());
    let fix = format!("look at it, then `rm {}`; what it could be about is refused until then", quoted(path));
    Check::failed("approvals", message, fix).at(path)
}

/// A path as a shell takes it, on one line and with nothing in it unseen.
fn quoted(path: &Path) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-~+:@".contains(c);
    match path.to_str() {
        Some(text) if text.chars().all(is_plain) => text.to_owned(),
        Some(text) if !text.contains(|c: char| is_invisible(c) || matches!(c, '\n' | '\t')) => {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
        _ => escaped(path),
    }
}

/// The same for any bytes, as `$'…'`.
fn escaped(path: &Path) -> String {
    let byte = |byte: u8| match byte {
        b'\n' => r"\n".to_owned(),
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        other => format!("\\x{other:02x}"),
    };
    let bytes: String = path.as_os_str().as_bytes().iter().map(|one| byte(*one)).collect();
    format!("$'{bytes}'")
}
