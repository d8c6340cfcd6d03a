//! `metier activate`: a skill's instructions as a model gets them.

use metier_journal::Trigger;

use crate::exit::Exit;
use crate::host::{Flags, SessionArgs, close};
use crate::output::{InSession, Output};

/// Print a skill's instructions as a model gets them, and record it
///
/// The content is read from the disk, and its digest is recorded in the journal. If the session already has the same
/// content, a short note is printed instead.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier activate code-review
  metier activate code-review --session work     then `read` and `exec` with the same --session
  metier activate code-review --json")]
pub(crate) struct Args {
    /// Skill: its name, id or directory
    #[arg(value_name = "SKILL")]
    name: String,

    /// Print the instructions even if the session already has them
    #[arg(long)]
    force: bool,

    /// Who requests it: user, model or nested (another skill)
    #[arg(long, value_name = "WHO", default_value = "user", hide_possible_values = true)]
    trigger: Asker,

    #[command(flatten)]
    session: SessionArgs,

    #[command(flatten)]
    catalog: Flags,

    /// Print the instructions, digests and token counts as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Asker {
    User,
    Model,
    Nested,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let (skills, name) = args.catalog.find_with(&args.name, output)?;
    let mut conversation = args.session.open(&skills, output)?;
    let trigger = match args.trigger {
        Asker::User => Trigger::User,
        Asker::Model => Trigger::Model,
        Asker::Nested => Trigger::Nested,
    };
    let id = conversation.id().to_owned();
    let done = if args.force {
        conversation.reload_as(&name, trigger)
    } else {
        conversation.activate_as(&name, trigger)
    };
    // What was recorded stays recorded, also where it was a failure.
    close(conversation, output)?;
    let activation = done.map_err(|error| skills.explained(error))?;
    for note in &activation.notes {
        output.note(format_args!("note: {note}"))?;
    }
    if activation.changed_since_scan && !activation.already_active {
        output.note(format_args!(
            "note: `{}` changed after the scan; its present content is used",
            activation.name
        ))?;
    }
    if args.json {
        output.json(&InSession::new(&id, &activation))?;
    } else {
        output.text(&activation.content)?;
    }
    Ok(Exit::Done)
}
