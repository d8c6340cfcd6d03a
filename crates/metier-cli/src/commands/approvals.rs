//! `metier approvals`: the stored approvals and refusals of a person.

use metier_host::{Environment, Metier};
use metier_session::StoredApproval;
use serde_json::json;

use crate::commands::approve::until;
use crate::exit::{Exit, NotFoundError};
use crate::host::tell;
use crate::output::Output;
use crate::table::{one_line, pad};

/// List your approvals and refusals, or revoke them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier approvals
  metier approvals --revoke 3f2a91c04b7d
  metier approvals --json | jq '.approvals[] | select(.granted)'")]
pub(crate) struct Args {
    /// Remove the answer with this id, or the beginning of one. Can be repeated
    #[arg(long, value_name = "ID")]
    revoke: Vec<String>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let metier = Metier::with_defaults(Environment::read());
    let store = metier.kept_approvals()?;
    let (mut kept, problems) = store.list()?;
    for problem in &problems {
        output.note(format_args!(
            "note: {} is not a valid answer and is ignored: {}; look at it, then remove it",
            problem.path.display(),
            problem.reason
        ))?;
    }
    let revoked: Vec<String> = args.revoke.iter().map(|id| meant(id, &kept)).collect::<Result<_, _>>()?;
    if !args.revoke.is_empty() {
        let revoked: Vec<StoredApproval> = kept.extract_if(.., |kept| revoked.contains(&kept.id)).collect();
        let notes = Metier::open()?.revoke_approvals(&revoked)?;
        for revoked in &revoked {
            output.note(format_args!("revoked {}", revoked.id))?;
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
        output.summary("nothing was approved or refused yet; `metier approve --help` shows how")?;
    }
    if args.revoke.is_empty() {
        for kept in &kept {
            output.line(row(kept, output))?;
        }
    }
    Ok(Exit::Done)
}

/// The one id that begins with this text. Nothing is revoked unless all are found.
fn meant(text: &str, kept: &[StoredApproval]) -> Result<String, NotFoundError> {
    let ids: Vec<&String> = kept.iter().map(|kept| &kept.id).filter(|id| id.starts_with(text)).collect();
    match ids.as_slice() {
        [id] if !text.is_empty() => Ok((*id).clone()),
        [] | [_] => Err(NotFoundError(format!(
            "no stored answer has the id `{text}`, so none was revoked; `metier approvals` lists them"
        ))),
        several => Err(NotFoundError(format!(
            "{} ids begin with `{text}`, so none was revoked; give more of the id",
            several.len()
        ))),
    }
}

/// `ID  yes  NAME may run a script (PATH), until the skill changes  [digest]`
fn row(StoredApproval { id, approval, .. }: &StoredApproval, output: &Output) -> String {
    let (answer, may) = if approval.granted { ("yes", "may") } else { ("no", "may not") };
    let script =
        approval.script.as_deref().map(|script| format!(" ({})", one_line(script))).unwrap_or_default();
    let (skill, verb, until) = (one_line(&approval.skill), approval.verb(), until(&approval.lifetime));
    let by = approval.by.as_deref().map(|by| format!("  by {}", one_line(by))).unwrap_or_default();
    let answer = output.colored(&pad(answer, 3), approval.granted);
    format!("{id}  {answer}  {skill} {may} {verb}{script}, {until}  {}{by}", &approval.digest.hex()[..12])
}
