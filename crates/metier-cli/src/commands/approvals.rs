//! `metier approvals`: what a person has approved and refused.

use metier_host::{Environment, Metier};
use metier_session::StoredApproval;
use serde_json::json;

use crate::commands::approve::until;
use crate::exit::{Exit, NotFoundError};
use crate::host::tell;
use crate::output::Output;
use crate::table::one_line;

/// List what you have approved and refused, or take it back
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier approvals
  metier approvals --revoke 3f2a91c04b7d
  metier approvals --json | jq '.approvals[] | select(.granted)'")]
pub(crate) struct Args {
    /// Forget an answer, by the id that the list shows or the beginning of it. Can be repeated
    #[arg(long, value_name = "ID")]
    revoke: Vec<String>,

    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let metier = Metier::with_defaults(Environment::read());
    let store = metier.kept_approvals()?;
    let (mut kept, problems) = store.list()?;
    for problem in &problems {
        output.note(format_args!(
            "note: {} does not count as an answer: {}; look at it and remove it",
            problem.path.display(),
            problem.reason
        ))?;
    }
    let revoked: Vec<String> = args.revoke.iter().map(|id| meant(id, &kept)).collect::<Result<_, _>>()?;
    if !args.revoke.is_empty() {
        let revoked: Vec<StoredApproval> = kept.extract_if(.., |kept| revoked.contains(&kept.id)).collect();
        let notes = Metier::open()?.revoke_approvals(&revoked)?;
        for revoked in &revoked {
            output.note(format_args!("forgot {}", revoked.id))?;
        }
        tell(&notes, output)?;
    }
    if args.json {
        let row = |kept: &StoredApproval| {
            let mut row = json!(kept.approval);
            row["id"] = json!(kept.id);
            row
        };
        output.json(&json!({ "approvals": kept.iter().map(row).collect::<Vec<_>>() }))?;
        return Ok(Exit::Done);
    }
    if kept.is_empty() && args.revoke.is_empty() {
        output.summary("nothing was approved or refused yet; `metier approve --help` says how")?;
    }
    if args.revoke.is_empty() {
        for kept in &kept {
            output.line(row(kept))?;
        }
    }
    Ok(Exit::Done)
}

/// The id that begins with this text, if one does: nothing is revoked by half.
fn meant(text: &str, kept: &[StoredApproval]) -> Result<String, NotFoundError> {
    let ids: Vec<&String> = kept.iter().map(|kept| &kept.id).filter(|id| id.starts_with(text)).collect();
    match ids.as_slice() {
        [id] if !text.is_empty() => Ok((*id).clone()),
        [] | [_] => Err(NotFoundError(format!(
            "there is no approval `{text}`, so none was revoked; `metier approvals` lists them"
        ))),
        several => Err(NotFoundError(format!(
            "`{text}` is the beginning of {} ids, so none was revoked; write more of it",
            several.len()
        ))),
    }
}

/// `ID  yes  NAME may run a script (PATH), until the skill changes  [digest]`
fn row(StoredApproval { id, approval, .. }: &StoredApproval) -> String {
    let answer = if approval.granted { "yes" } else { "no" };
    let script =
        approval.script.as_deref().map(|script| format!(" ({})", one_line(script))).unwrap_or_default();
    let (skill, verb, until) = (one_line(&approval.skill), approval.verb(), until(&approval.lifetime));
    let by = approval.by.as_deref().map(|by| format!("  by {}", one_line(by))).unwrap_or_default();
    format!("{id}  {answer:<3}  {skill} may {verb}{script}, {until}  {}{by}", &approval.digest.hex()[..12])
}
