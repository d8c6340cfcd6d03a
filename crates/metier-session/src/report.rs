//! The report of a run: one type, built here from the sandbox's [`RunOutcome`], for the command line, MCP and the
//! journal.

mod bounded;

use std::path::Path;
use std::time::Duration;

use metier_journal::{
    ConnectionRecord, NetworkUse, PathList, PlantedFile, Privacy, RunFacts, RunUsage, ScriptExecuted,
    ScriptOutcome, TouchedPaths,
};
use metier_sandbox::{
    Ending, Limit, Network, PathSample, PlantedBy, Protections, RunOutcome, SandboxProfile, WorkDirectory,
};
use metier_skill::Digest;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use self::bounded::bounded;

/// The report of a skill's script. In JSON, the members of [`RunReport`] are beside the others.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ScriptReport {
    /// The skill's id in the catalog.
    pub skill_id: String,
    /// The script's path in the skill.
    pub script: String,
    /// The digest of the script that ran.
    pub script_digest: Digest,
    /// The digest of the whole skill.
    pub tree_digest: Digest,
    /// How it ended, what it printed, what it did.
    #[serde(flatten)]
    pub run: RunReport,
}

/// The report of any run in the sandbox.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RunReport {
    /// How it ended.
    pub ending: Ending,
    /// Its exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The limit that stopped it, if any.
    pub limit: Option<Limit>,
    /// Its standard output.
    pub stdout: ScriptOutput,
    /// Its standard error.
    pub stderr: ScriptOutput,
    /// Every protection, and whether it was active.
    pub protections: Protections,
    /// Where it ran and what it did there.
    #[serde(flatten)]
    pub facts: RunFacts,
}

/// The output of a stream. In JSON: `text` (UTF-8, other bytes replaced) and `truncated`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptOutput {
    /// The bytes, up to the limit.
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub truncated: bool,
}

impl ScriptOutput {
    /// As text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

impl Serialize for ScriptOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut printed = serializer.serialize_struct("Printed", 2)?;
        printed.serialize_field("text", &self.text())?;
        printed.serialize_field("truncated", &self.truncated)?;
        printed.end()
    }
}

impl RunReport {
    /// The report of a job that ran with a profile.
    pub fn new(profile: &SandboxProfile, outcome: RunOutcome) -> Self {
        let facts = RunFacts::of(profile, &outcome);
        let RunOutcome { ending, output, errors, protections, .. } = outcome;
        let (exit_code, limit) = match ending {
            Ending::Exited(code) => (Some(code), None),
            Ending::Limit(limit) => (None, Some(limit)),
            _ => (None, None),
        };
        Self {
            ending,
            exit_code,
            limit,
            stdout: ScriptOutput { bytes: output.bytes, truncated: output.cut },
            stderr: ScriptOutput { bytes: errors.bytes, truncated: errors.cut },
            protections,
            facts,
        }
    }

    /// How long it took.
    pub fn wall(&self) -> Duration {
        Duration::from_millis(self.facts.usage.map_or(0, |usage| usage.wall_ms))
    }

    /// Adds the result to the record of a script that was to run.
    pub(crate) fn describe(&self, privacy: &Privacy, record: &mut ScriptExecuted) {
        (record.outcome, record.exit, record.code) = match self.ending {
            Ending::Exited(code) => (ScriptOutcome::Exited, Some(i64::from(code)), None),
            Ending::Killed(signal) => (ScriptOutcome::Killed, None, Some(format!("signal-{signal}"))),
            Ending::Limit(limit) => (ScriptOutcome::Limited, None, Some(limit.as_str().to_owned())),
            _ => (ScriptOutcome::Cancelled, None, None),
        };
        let active = self.protections.iter().filter(|found| found.active);
        record.protections = active.map(|found| found.protection.as_str().to_owned()).collect();
        record.stdout = Some(privacy.content(&self.stdout.bytes));
        record.stderr = Some(privacy.content(&self.stderr.bytes));
        let approved = record.facts.approved.take();
        record.facts = self.facts.clone();
        record.facts.approved = approved;
    }
}

/// What is known of a run: its surroundings before it starts, the rest once it has ended.
pub(crate) trait OfRun {
    /// What is known before it starts.
    fn before(work: Option<&Path>, allowed: &Network) -> Self;
    /// All of it.
    fn of(profile: &SandboxProfile, outcome: &RunOutcome) -> Self;
}

impl OfRun for RunFacts {
    fn before(work: Option<&Path>, allowed: &Network) -> Self {
        let mut facts = Self::default();
        facts.work_directory = work.map(text);
        facts.network = Some(network(allowed));
        facts
    }

    fn of(profile: &SandboxProfile, outcome: &RunOutcome) -> Self {
        let mut facts = Self::before(profile.writable.first().map(WorkDirectory::path), &profile.network);
        let recorded = |one: &metier_sandbox::Connection| {
            let metier_sandbox::Connection { to, refused, times, .. } = one.clone();
            ConnectionRecord { to, refused, times }
        };
        let (kept, left_out) = connections(outcome.connections.iter().map(recorded).collect());
        facts.connections = kept;
        facts.connections_left_out = left_out.saturating_add(outcome.connections_left_out).min(LARGEST);
        (facts.planted, facts.planted_left_out) = planted(&outcome.planted);
        facts.touched = outcome.touched.as_ref().map(|touched| TouchedPaths {
            created: list(&touched.created),
            changed: list(&touched.changed),
            deleted: list(&touched.deleted),
            temporary: list(&touched.temporary),
            incomplete: touched.incomplete,
        });
        facts.refused_writes = outcome.refused_writes.as_ref().map(list);
        facts.usage = Some(RunUsage {
            wall_ms: milliseconds(outcome.usage.wall),
            cpu_ms: milliseconds(outcome.usage.cpu),
            memory_bytes: outcome.usage.memory.min(LARGEST),
            written_bytes: outcome.usage.written.min(LARGEST),
        });
        let missing = outcome.protections.missing();
        facts.missing_protections = missing.map(|found| found.protection.as_str().to_owned()).collect();
        facts
    }
}

/// The largest number that a record can hold.
const LARGEST: u64 = (1 << 53) - 1;

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(LARGEST).min(LARGEST)
}

/// A path as text; bytes that are not UTF-8 are replaced.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn network(network: &Network) -> NetworkUse {
    let (mode, hosts) = match network {
        Network::None => ("none", Vec::new()),
        Network::Loopback => ("loopback", Vec::new()),
        Network::Proxy(hosts) => ("proxy", hosts.iter().map(ToString::to_string).collect()),
        _ => ("host", Vec::new()),
    };
    NetworkUse { mode: mode.to_owned(), hosts }
}

fn list(paths: &PathSample) -> PathList {
    let first: Vec<String> = paths.first.iter().map(|path| text(path)).collect();
    PathList { count: paths.count, first: bounded(&first) }
}

/// Successful connections come first, so that refused names cannot push them out of the list.
fn connections(mut all: Vec<ConnectionRecord>) -> (Vec<ConnectionRecord>, u64) {
    all.sort_by_key(|one| one.refused.is_some());
    let kept = bounded(&all);
    let left_out = (all.len() - kept.len()) as u64;
    (kept, left_out)
}

/// The most important entries come first, so that a script cannot push them out of the list.
fn planted(found: &[metier_sandbox::PlantedItem]) -> (Vec<PlantedFile>, u64) {
    let mut sorted: Vec<&metier_sandbox::PlantedItem> = found.iter().collect();
    sorted.sort_by(|one, other| one.by_urgency(other));
    let recorded = |one: &metier_sandbox::PlantedItem| PlantedFile {
        path: text(&one.path),
        obeyed_by: one.obeyed_by.clone(),
        changed: one.changed,
        moved_to: one.moved_to.as_deref().map(text),
        stays: one.stays,
        by: match one.by {
            PlantedBy::ThisRun => "this_run",
            PlantedBy::InterruptedRun => "interrupted_run",
            _ => "overlapping_run",
        }
        .to_owned(),
    };
    let kept = bounded(&sorted.into_iter().map(recorded).collect::<Vec<_>>());
    let left_out = (found.len() - kept.len()) as u64;
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::bounded::MOST_BYTES;
    use super::*;

    /// Decoys must not push out of the list what a person has to look at.
    #[test]
    fn what_could_not_be_moved_is_listed_however_much_was() {
        let one = |path: &str, moved_to: Option<&str>, stays: bool, runs_commands: bool, changed: bool| {
            let json = serde_json::json!({
                "path": path, "obeyed_by": "git", "changed": changed, "moved_to": moved_to, "stays": stays,
                "by": "this_run", "runs_commands": runs_commands,
            });
            serde_json::from_value::<metier_sandbox::PlantedItem>(json).unwrap()
        };
        // As an executor of a host may report it, in any order.
        let mut found: Vec<_> = (0..101)
            .map(|number| one(&format!("a/{number:03}/.git"), Some("x"), false, true, false))
            .collect();
        found.extend(
            (0..101).map(|number| one(&format!("a/{number:03}/AGENTS.md"), None, true, false, false)),
        );
        found.push(one("lib/.git/config", None, true, true, true));
        found.push(one("z/.git", None, false, true, false));
        let (kept, left_out) = planted(&found);
        assert_eq!((kept.len(), left_out), (100, 104));
        assert_eq!((kept[0].path.as_str(), kept[1].path.as_str()), ("z/.git", "lib/.git/config"));
        assert!(kept[2..].iter().all(|one| one.moved_to.is_some()));
    }

    #[test]
    fn destinations_are_bounded_and_those_that_were_reached_come_first() {
        let one = |to: String, refused: Option<&str>| {
            let refused = refused.map(str::to_owned);
            ConnectionRecord { to, refused, times: 3 }
        };
        let mut asked: Vec<_> = (0..150).map(|number| one(format!("host{number}:443"), Some("no"))).collect();
        asked.push(one("reached.test:443".to_owned(), None));
        let (kept, left_out) = connections(asked);
        assert_eq!((kept.len(), left_out, kept[0].times), (100, 51, 3));
        assert_eq!((kept[0].to.as_str(), kept[1].to.as_str()), ("reached.test:443", "host0:443"));
        let long = (0..50).map(|number| one(format!("{}{number}:1", "\u{1}".repeat(500)), Some("no")));
        let (kept, left_out) = connections(long.collect());
        assert!(serde_json::to_string(&kept).unwrap().len() <= MOST_BYTES + 2);
        assert_eq!(kept.len() as u64 + left_out, 50);
    }

    /// A script chooses its names. One that takes all the room of a list must not hide the others.
    #[test]
    fn a_path_of_control_characters_pushes_no_other_out_of_a_list() {
        let paths = |all: &[String]| {
            let mut paths = PathSample::default();
            (paths.count, paths.first) =
                (all.len() as u64, all.iter().map(std::path::PathBuf::from).collect());
            paths
        };
        let long = |name: &str| format!("{}/{name}", ["\u{1}".repeat(250).as_str(); 13].join("/"));
        let kept = list(&paths(&[long(".vscode/tasks.json"), ".envrc".to_owned(), "new1".to_owned()]));
        assert_eq!((kept.count, kept.first.len()), (3, 3));
        assert!(kept.first[0].ends_with(".vscode/tasks.json") && kept.first[0].contains('…'), "{kept:?}");
        assert_eq!(kept.first[1..], [".envrc", "new1"]);
        // Two long paths that begin and end alike stay two.
        let other = long(".vscode/tasks.json").replacen("/\u{1}", "/\u{2}", 7);
        let both = list(&paths(&[long(".vscode/tasks.json"), other])).first;
        assert_ne!(both[0], both[1]);
        // However many of them there are, each has its part of the room.
        let many: Vec<String> = (0..100).map(|number| long(&number.to_string())).collect();
        let kept = list(&paths(&many));
        assert_eq!(kept.first.len(), 100);
        assert!(serde_json::to_string(&kept.first).unwrap().len() <= MOST_BYTES + 2);
        let planted_at = |path: &str| {
            let json = serde_json::json!({
                "path": path, "obeyed_by": "VS Code", "changed": false, "moved_to": long("aside"), "stays": false,
                "by": "this_run", "runs_commands": true,
            });
            serde_json::from_value::<metier_sandbox::PlantedItem>(json).unwrap()
        };
        let (kept, left_out) =
            planted(&[planted_at(&long(".vscode/tasks.json")), planted_at("sub/.vscode/tasks.json")]);
        assert_eq!((kept.len(), left_out), (2, 0));
        assert!(kept.iter().any(|one| one.path == "sub/.vscode/tasks.json"), "{kept:?}");
    }
}
