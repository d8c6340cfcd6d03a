//! `metier guard deactivate`: the rules of skills end in conversations that go on.

use metier_host::Metier;

use crate::exit::{Exit, NotFoundError};
use crate::output::Output;

/// End the rules of active skills in your agents' conversations
///
/// The text of a skill stays in the conversation; only its rules no longer apply. They apply again when the agent loads the
/// skill again. Without arguments, states that are damaged are removed as well.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier guard deactivate        all skills in all conversations
  metier guard deactivate pdf    one skill")]
pub(super) struct Args {
    /// Only this skill
    #[arg(value_name = "NAME")]
    skill: Option<String>,

    /// Only in this conversation: the agent's id of it
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let metier = Metier::open()?;
    let ended = metier.deactivate_guarded(args.skill.as_deref(), args.conversation.as_deref())?;
    for (state, names) in &ended {
        output.line(format_args!("{} {}: {}", state.agent, state.conversation, names.join(", ")))?;
    }
    if ended.is_empty() {
        if let Some(name) = &args.skill {
            return Err(NotFoundError(format!("`{name}` is not active in any conversation")).into());
        }
        output.note("no skill is active in any conversation")?;
    }
    Ok(Exit::Done)
}
