//! The values that an argument can have: names of skills, scripts, sessions and the like, as they are here.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use clap::{Arg, ValueHint};
use metier_catalog::Entry;
use metier_home::Agent;
use metier_host::{Environment, HostCatalog, Metier, Overrides};
use metier_journal::{JournalReader, Record, RecordQuery};
use metier_policy::{Approval, GuardMode};
use metier_skill::{Limits, Location, SymlinkPolicy, Tier};

use super::{Candidate, Paths, Position};

/// How many records are searched for sessions and kinds, the last ones.
const RECORDS: u64 = 2_000;

/// How many sessions are offered, the last ones.
const SESSIONS: usize = 50;

/// The values of an argument, and which paths the shell completes. Errors
/// give no values, because a shell cannot show them.
pub(super) fn of(position: &Position<'_>, argument: &Arg, word: &str) -> (Paths, Vec<Candidate>) {
    let fixed = argument.get_possible_values();
    if !fixed.is_empty() {
        let fixed = fixed.iter().filter(|value| !value.is_hide_set());
        let fixed = fixed.map(|value| Candidate::new(value.get_name(), &super::about(value.get_help())));
        return (Paths::None, fixed.collect());
    }
    let found = match (position.name.as_str(), argument.get_id().as_str()) {
        ("activate" | "read" | "exec", "name")
        | ("show" | "approve", "skill")
        | ("mount" | "link" | "run", "skill" | "skills") => {
            let paths = if is_path(word) { Paths::Directories } else { Paths::None };
            return (paths, skills(position, word).unwrap_or_default());
        }
        ("policy check" | "audit log" | "audit replay" | "audit stats", "skill") => skills(position, word),
        ("exec", "script") => files(position, "name", true),
        ("approve" | "policy check", "script") => files(position, "skill", true),
        ("read", "path") => files(position, "name", false),
        ("update" | "remove" | "verify", "names") => installed(),
        ("link" | "run", "agent") => Some(agents()),
        ("approvals", "revoke") => answers(),
        (_, "session") => sessions(position),
        (_, "kind") => kinds(position),
        ("policy check", "mode") => Some(words(&GuardMode::ALL.map(GuardMode::as_str))),
        ("sandbox run", "profile") | (_, "tier") => Some(words(&Tier::ALL.map(Tier::as_str))),
        (_, "profile" | "catalog_profile") => Some(words(&["strict", "standard", "lenient"])),
        _ => return (paths(argument), Vec::new()),
    };
    (Paths::None, found.unwrap_or_default())
}

/// Whether a word is a path and not a name or an id.
fn is_path(word: &str) -> bool {
    word.starts_with(['.', '/', '~'])
}

/// The paths that an argument takes, by its type or by what its value is called.
fn paths(argument: &Arg) -> Paths {
    let names = argument.get_value_names().unwrap_or_default();
    let is_called = |words: &[&str]| names.iter().any(|name| words.iter().any(|word| name.contains(word)));
    if is_called(&["DIR", "FOLDER"]) {
        return Paths::Directories;
    }
    let is_path = matches!(argument.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath);
    if is_path || argument.is_last_set() || is_called(&["FILE", "PATH", "SOURCE", "PLACE", "CHECKPOINT"]) {
        return Paths::Files;
    }
    Paths::None
}

fn words(words: &[&str]) -> Vec<Candidate> {
    words.iter().map(|word| Candidate::new(*word, "")).collect()
}

/// The catalog with the options that were typed.
fn catalog(position: &Position<'_>) -> Option<HostCatalog> {
    let owned = |argument: &str| position.given(argument).iter().map(|value| (*value).to_owned()).collect();
    let mut overrides = Overrides::default();
    (overrides.roots, overrides.states) = (owned("root"), owned("state"));
    let mut skills = Metier::builder().overrides(overrides).build().ok()?.catalog().ok()?;
    // The next completion is faster with an index, and works without.
    let _ = skills.save();
    Some(skills)
}

/// Skills by their names; by their ids once a tier is typed.
fn skills(position: &Position<'_>, word: &str) -> Option<Vec<Candidate>> {
    let catalog = catalog(position)?;
    let has_tier = word.contains('/');
    let candidate = |entry: &Entry| {
        let name = if has_tier { entry.id.to_string() } else { entry.name().to_owned() };
        Candidate::new(name, entry.description())
    };
    // What is off can be shown, but not used.
    let is_for_show = position.name == "show";
    let entries = catalog.catalog().all().iter();
    let entries = entries
        .filter(|entry| (is_for_show || entry.is_enabled()) && (has_tier || entry.shadowed_by.is_none()));
    Some(entries.map(candidate).collect())
}

/// The files of the skill that was typed before; of scripts, those that can be run.
fn files(position: &Position<'_>, skill: &str, are_scripts: bool) -> Option<Vec<Candidate>> {
    let typed = position.given(skill).last()?;
    let catalog = catalog(position)?;
    let entry = catalog.by_name_or_id(typed);
    if let Some(builtin) = entry.and_then(Entry::builtin) {
        let paths = builtin.files().iter().map(|(path, _)| *path);
        let paths = paths.filter(|path| !are_scripts || path.starts_with("scripts/"));
        return Some(words(&paths.collect::<Vec<_>>()));
    }
    let location = match entry {
        Some(entry) => Location::find(entry.real_path()),
        None => Location::find(std::path::Path::new(typed)),
    };
    let tree = location.ok()?.tree(&Limits::default(), SymlinkPolicy::Skip).ok()?;
    let is_wanted = |path: &str, executable: bool| !are_scripts || executable || path.starts_with("scripts/");
    let paths = tree.files.iter().map(|file| (file.path_text().into_owned(), file.executable));
    let paths = paths.filter(|(path, executable)| is_wanted(path, *executable));
    Some(paths.map(|(path, _)| Candidate::new(path, "")).collect())
}

fn agents() -> Vec<Candidate> {
    Agent::ALL.map(|agent| Candidate::new(agent.name(), agent.title())).into()
}

fn installed() -> Option<Vec<Candidate>> {
    let installed = Metier::open().ok()?.installed()?.installed().ok()?;
    let skills = installed.lock().skills().iter();
    Some(skills.map(|skill| Candidate::new(&skill.name, &skill.origin())).collect())
}

/// The stored answers, by their ids.
fn answers() -> Option<Vec<Candidate>> {
    let (kept, _) = Metier::with_defaults(Environment::read()).kept_approvals().ok()?.list().ok()?;
    let about = |approval: &Approval| {
        let answer = if approval.granted { "may" } else { "may not" };
        format!("{} {answer} {}", approval.skill, approval.verb())
    };
    Some(kept.iter().map(|kept| Candidate::new(&kept.id, &about(&kept.approval))).collect())
}

/// The last records of the journal, the newest first.
fn records(position: &Position<'_>) -> Option<Vec<Record>> {
    let place = match position.given("journal") {
        [place] => Metier::with_defaults(Environment::read()).journal_at(place).ok()?,
        _ => Metier::open().ok()?.journal_address().ok()?,
    };
    // A server may take too long for a person who waits.
    place.as_file()?;
    let mut reader = JournalReader::open(&place).ok()?;
    let from = reader.size().ok()?.saturating_sub(RECORDS);
    let mut records = Vec::new();
    let take = |record| {
        records.push(record);
        ControlFlow::Continue(())
    };
    reader.each_matching_from(from, &RecordQuery::default(), take).ok()?;
    records.reverse();
    Some(records)
}

/// The last sessions, the newest first, with the time of their last record.
fn sessions(position: &Position<'_>) -> Option<Vec<Candidate>> {
    let mut seen = BTreeSet::new();
    let records = records(position)?;
    let newest = records.iter().filter_map(|record| {
        let id = record.session.as_deref().filter(|id| seen.insert(*id))?;
        let time = record.time.get(..19).unwrap_or(&record.time).replace('T', " ");
        Some(Candidate::new(id, &format!("{time}Z")))
    });
    Some(newest.take(SESSIONS).collect())
}

fn kinds(position: &Position<'_>) -> Option<Vec<Candidate>> {
    let records = records(position)?;
    let kinds: BTreeSet<&str> = records.iter().filter_map(|record| record.event["kind"].as_str()).collect();
    Some(words(&kinds.into_iter().collect::<Vec<_>>()))
}
