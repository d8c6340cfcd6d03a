//! A script's run, as it is recorded and reported: how it ended, where it ran, what it touched and reached.

use std::collections::BTreeMap;

use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::privacy::{RecordedContent, Variable};

/// A script's run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptExecuted {
    /// The skill.
    pub name: String,
    /// The digest of the whole skill.
    pub tree_digest: Digest,
    /// The script, inside the skill.
    pub script: String,
    /// The digest of the bytes that ran.
    pub script_digest: Digest,
    /// What it was called with.
    pub arguments: RecordedContent,
    /// What it was given to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RecordedContent>,
    /// What it got from its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Variable>,
    /// How it ended.
    pub outcome: ScriptOutcome,
    /// What it ended with, where it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
    /// The code of the refusal, of the limit or of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The rule of the policy that denied it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How long it took.
    pub duration_us: u64,
    /// The protections that were active.
    pub protections: Vec<String>,
    /// What it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<RecordedContent>,
    /// What it complained of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<RecordedContent>,
    /// Where it ran, and what it did there, as far as it was observed.
    #[serde(flatten)]
    pub facts: RunFacts,
}

/// Where a run happened and what it did there. Records, the command line and MCP show this same type.
///
/// What was not observed is absent. Lists have the first entries; counts say how many there were.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunFacts {
    /// The directory that it could change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_directory: Option<String>,
    /// What it could reach of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkUse>,
    /// Connections that it asked for, each destination once.
    pub connections: Vec<ConnectionRecord>,
    /// Destinations that the list has no room for, and attempts at more than the proxy remembers.
    #[serde(skip_serializing_if = "is_zero")]
    pub connections_left_out: u64,
    /// Files that other programs would obey, made or changed.
    pub planted: Vec<PlantedFile>,
    /// Such files that the list has no room for.
    #[serde(skip_serializing_if = "is_zero")]
    pub planted_left_out: u64,
    /// Files in the work directory that were created, changed and deleted while it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touched: Option<TouchedPaths>,
    /// Paths that it tried to write to and was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_writes: Option<PathList>,
    /// What it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<RunUsage>,
    /// Protections that were not active.
    pub missing_protections: Vec<String>,
    /// Who allowed it, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<RunApproval>,
}

impl RunFacts {
    /// The same with counts only, where the lists have no room.
    #[must_use]
    pub fn without_lists(mut self) -> Self {
        self.connections_left_out += self.connections.len() as u64;
        self.planted_left_out += self.planted.len() as u64;
        (self.connections, self.planted) = (Vec::new(), Vec::new());
        let touched = self.touched.iter_mut();
        let lists = touched.flat_map(|all| {
            let TouchedPaths { created, changed, deleted, temporary, incomplete: _ } = all;
            [created, changed, deleted, temporary]
        });
        for list in lists.chain(self.refused_writes.as_mut()) {
            list.first.clear();
        }
        if let Some(network) = &mut self.network {
            network.hosts.clear();
        }
        self
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Who allowed a run, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunApproval {
    /// `policy` where nobody had to be asked, `stored` or `session` for an earlier answer; else who answered just now:
    /// `terminal`, `flag`, `client`.
    pub how: String,
    /// The id of the stored answer, as `metier approvals` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// What a run could reach of the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkUse {
    /// `none`, `loopback`, `proxy` or `host`.
    pub mode: String,
    /// With `proxy`, the destinations that were allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

/// A destination that a run asked to be connected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRecord {
    /// The destination, as `host:port`.
    pub to: String,
    /// Why it was refused; absent where it was reached.
    #[serde(default)]
    pub refused: Option<String>,
    /// How often.
    #[serde(default)]
    pub times: u64,
}

/// A file that other programs would obey, made or changed during a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlantedFile {
    /// Where it is, or was before it was moved.
    pub path: String,
    /// The program that obeys it.
    #[serde(default)]
    pub obeyed_by: String,
    /// Whether it existed before and was changed.
    #[serde(default)]
    pub changed: bool,
    /// Where it was moved, so that no program obeys it.
    #[serde(default)]
    pub moved_to: Option<String>,
    /// Whether it was left in place on purpose.
    #[serde(default)]
    pub stays: bool,
    /// `this_run`, `overlapping_run` or `interrupted_run`: which run left it, as far as that is known.
    #[serde(default)]
    pub by: String,
}

/// Files in the work directory that were created, changed and deleted during a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TouchedPaths {
    /// New ones.
    pub created: PathList,
    /// Those that had been there and are different.
    pub changed: PathList,
    /// Those that are gone.
    pub deleted: PathList,
    /// Files and directories that were made and removed again. Records from before this member have none.
    pub temporary: PathList,
    /// Whether only a part of the directory was looked at.
    pub incomplete: bool,
}

/// How many paths, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathList {
    /// How many there were.
    pub count: u64,
    /// The first of them, in order.
    pub first: Vec<String>,
}

/// What a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunUsage {
    /// How long it took.
    pub wall_ms: u64,
    /// CPU time of all its processes.
    pub cpu_ms: u64,
    /// The most memory that was seen at a time.
    pub memory_bytes: u64,
    /// What it wrote to disks.
    pub written_bytes: u64,
}

/// How a script's run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScriptOutcome {
    /// By itself; `exit` says with what.
    Exited,
    /// By a signal.
    Killed,
    /// By a limit; `code` says which.
    Limited,
    /// By whoever had asked for it.
    Cancelled,
    /// It was never started: the policy or a person said no.
    Denied,
    /// It was never started: something was missing.
    Failed,
}
