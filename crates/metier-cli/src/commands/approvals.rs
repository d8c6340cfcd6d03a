//! `metier approvals`: what a person has approved and refused.

use metier_journal::{Answer, Context};
use metier_session::{KeptApproval, approval_event};
use serde_json::json;

use crate::commands::approve::until;
use crate::config::{Config, Flags};
use crate::environment::Environment;
use crate::exit::{Exit, NotFoundError};
use crate::output::Output;
use crate::sessions;
use crate::table::one_line;

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
    let environment = Environment::read();
    let store = sessions::must_keep_approvals(&environment)?;
    let (mut kept, unread) = store.list()?;
    for path in &unread {
        output.note(format_args!(
            "note: {} is no approval that can be read; nothing is run until it is removed",
            path.display()
        ))?;
    }
    let is_kept = |id: &&String| kept.iter().any(|kept| kept.id == **id);
    if let Some(id) = args.revoke.iter().find(|id| !is_kept(id)) {
        let message =
            format!("there is no approval `{id}`, so that none was revoked; see `metier approvals`");
        return Err(NotFoundError(message).into());
    }
    if !args.revoke.is_empty() {
        let config = Config::read(&environment, &Flags::default())?;
        let recorder = config.recording.open(&environment)?;
        for revoked in kept.extract_if(.., |kept| args.revoke.contains(&kept.id)) {
            recorder.record(&Context::default(), &approval_event(&revoked.approval, Answer::Revoked))?;
            store.forget(&revoked.id)?;
            output.note(format_args!("forgot {}", revoked.id))?;
        }
        recorder.close(output)?;
    }
    if args.json {
        let row = |kept: &KeptApproval| {
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

/// `ID  yes  NAME may run a script (PATH), until the skill changes  [digest]`
fn row(KeptApproval { id, approval, .. }: &KeptApproval) -> String {
    let answer = if approval.granted { "yes" } else { "no" };
    let script =
        approval.script.as_deref().map(|script| format!(" ({})", one_line(script))).unwrap_or_default();
    let (skill, verb, until) = (one_line(&approval.skill), approval.verb(), until(&approval.lifetime));
    format!("{id}  {answer:<3}  {skill} may {verb}{script}, {until}  {}", &approval.digest.hex()[..12])
}
