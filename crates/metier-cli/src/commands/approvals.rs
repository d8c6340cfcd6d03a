//! `metier approvals`: what a person has approved and refused.

use metier_policy::Lifetime;
use serde_json::json;

use crate::approvals::{ApprovalStore, Kept};
use crate::environment::Environment;
use crate::exit::{Exit, NotFoundError};
use crate::output::Output;
use crate::table::{one_line, pad};

/// List what you have approved and refused, or take it back
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier approvals
  metier approvals --revoke 3f2a91c04b7d
  metier approvals --json | jq '.approvals[] | select(.granted)'")]
pub(crate) struct Args {
    /// Forget an answer, by the id that the list shows. Can be repeated
    #[arg(long, value_name = "ID")]
    revoke: Vec<String>,

    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let store = ApprovalStore::must(&Environment::read())?;
    let (mut kept, unread) = store.list()?;
    for path in &unread {
        output.note(format_args!(
            "note: {} is no approval that can be read; nothing is run until it is removed",
            path.display()
        ))?;
    }
    for id in &args.revoke {
        let Some(index) = kept.iter().position(|kept| kept.id == *id) else {
            return Err(NotFoundError(format!("there is no approval `{id}`; see `metier approvals`")).into());
        };
        store.forget(id)?;
        let Kept { approval, .. } = kept.remove(index);
        output.note(format_args!("forgot {} of {}", approval.access, approval.skill))?;
    }
    if args.json {
        let row = |kept: &Kept| {
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
            output.line(row(kept).trim_end())?;
        }
    }
    Ok(Exit::Done)
}

fn row(Kept { id, approval }: &Kept) -> String {
    let until = match &approval.lifetime {
        Lifetime::Once => "once".to_owned(),
        Lifetime::Session(id) => format!("session {id}"),
        _ => "this content".to_owned(),
    };
    let answer = if approval.granted { "yes" } else { "no" };
    let script = approval.script.as_deref().unwrap_or_default();
    let digest = &approval.digest.hex()[..12];
    let (skill, until, script) = (one_line(&approval.skill), one_line(&until), one_line(script));
    format!(
        "{id}  {answer:<3}  {}  {}  {}  {digest}  {script}",
        pad(approval.access.as_str(), 11),
        pad(&until, 12),
        pad(&skill, 24)
    )
}
