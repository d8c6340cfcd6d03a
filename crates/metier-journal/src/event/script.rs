//! Script runs as they are recorded and reported: the outcome, the files and the network connections.

use std::collections::BTreeMap;

use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::privacy::{RecordedContent, Variable};

/// A script run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptExecuted {
    /// The skill.
    pub name: String,
    /// The digest of the whole skill.
    pub tree_digest: Digest,
    /// The path of the script in the skill.
    pub script: String,
    /// The digest of the bytes that ran.
    pub script_digest: Digest,
    /// Its arguments.
    pub arguments: RecordedContent,
    /// Its standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RecordedContent>,
    /// Its environment variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Variable>,
    /// The outcome.
    pub outcome: ScriptOutcome,
    /// Its exit code, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
    /// The code of the refusal, of the limit or of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The rule of the policy that denied it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The duration in microseconds.
    pub duration_us: u64,
    /// The protections that were active.
    pub protections: Vec<String>,
    /// Its standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<RecordedContent>,
    /// Its standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<RecordedContent>,
    /// Where it ran and what it did there, as far as it was observed.
    #[serde(flatten)]
    pub facts: RunFacts,
}

/// Where a run happened and what it did there. Records, the command line and MCP show this same type.
///
/// What was not observed is absent. Lists contain the first entries; counts have the totals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunFacts {
    /// The directory that it could change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_directory: Option<String>,
    /// Its network access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkUse>,
    /// Connections that it requested, each destination once.
    pub connections: Vec<ConnectionRecord>,
    /// The number of destinations that are not in the list.
    #[serde(skip_serializing_if = "is_zero")]
    pub connections_left_out: u64,
    /// Created or changed files that other programs would obey.
    pub planted: Vec<PlantedFile>,
    /// The number of such files that are not in the list.
    #[serde(skip_serializing_if = "is_zero")]
    pub planted_left_out: u64,
    /// Files in the work directory that were created, changed and deleted while it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touched: Option<TouchedPaths>,
    /// Paths that the sandbox refused to write to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_writes: Option<PathList>,
    /// Its resource usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<RunUsage>,
    /// Protections that were not active.
    pub missing_protections: Vec<String>,
    /// Who allowed it, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<RunApproval>,
}

impl RunFacts {
    /// The same with counts only, if the lists do not fit.
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
    /// `policy` if no approval was needed, `stored` or `session` for an earlier answer, otherwise how it was given now:
    /// `terminal`, `flag`, `client`, `host`.
    pub how: String,
    /// The id of the stored answer, as `metier approvals` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The network access of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkUse {
    /// `none`, `loopback`, `proxy` or `host`.
    pub mode: String,
    /// With `proxy`, the allowed destinations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

/// A destination that a run requested a connection to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRecord {
    /// The destination, as `host:port`.
    pub to: String,
    /// Why it was refused; `None` if it was reached.
    #[serde(default)]
    pub refused: Option<String>,
    /// The number of requests.
    #[serde(default)]
    pub times: u64,
}

/// A file that other programs would obey, created or changed during a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlantedFile {
    /// Its path, before it was moved if it was.
    pub path: String,
    /// The program that would obey it.
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
    /// Created files.
    pub created: PathList,
    /// Changed files.
    pub changed: PathList,
    /// Deleted files.
    pub deleted: PathList,
    /// Files and directories that were created and removed again. Older records lack this member.
    pub temporary: PathList,
    /// Whether only a part of the directory was examined.
    pub incomplete: bool,
}

/// A number of paths, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathList {
    /// The number of paths.
    pub count: u64,
    /// The first of them, in order.
    pub first: Vec<String>,
}

/// The resource usage of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunUsage {
    /// Elapsed time in milliseconds.
    pub wall_ms: u64,
    /// CPU time of all its processes, in milliseconds.
    pub cpu_ms: u64,
    /// The highest measured memory use.
    pub memory_bytes: u64,
    /// Bytes written to disks.
    pub written_bytes: u64,
}

/// The outcome of a script run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScriptOutcome {
    /// It exited; `exit` is the exit code.
    Exited,
    /// It was killed by a signal.
    Killed,
    /// It exceeded a limit; `code` names it.
    Limited,
    /// It was cancelled by the caller.
    Cancelled,
    /// It was not started: the policy or a person refused.
    Denied,
    /// It was not started because of an error.
    Failed,
}
