//! Whether every stored answer of the person can be read, and whether only the person can store answers.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use metier_session::{ApprovalProblem, ApprovalStore, StoredApproval};

use super::check::{Check, shell_path};
use crate::settings::chain;

/// Whether every answer that a person gave can be read, and is under the name that it was kept under.
pub(super) fn check(store: Option<&ApprovalStore>) -> Vec<Check> {
    let Some(store) = store else { return vec![Check::ok("approvals", "none are kept without a home")] };
    let (kept, unread) = match store.list() {
        Ok(listed) => listed,
        Err(error) => {
            return vec![Check::failed("approvals", chain(&error), "make the directory readable")];
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
    let fix = format!("`chmod go-w {}`, then look at `metier approvals`", shell_path(directory));
    (mode & 0o022 != 0).then(|| Check::failed("approvals", message, fix).at(directory))
}

fn unreadable(ApprovalProblem { path, reason, .. }: &ApprovalProblem) -> Check {
    let message = format!("{} is not an answer that metier kept: {reason}", path.display());
    let fix =
        format!("look at it, then `rm {}`; what it could be about is refused until then", shell_path(path));
    Check::failed("approvals", message, fix).at(path)
}
