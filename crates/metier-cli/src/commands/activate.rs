//! `metier activate`: a skill's instructions, as a model is given them.

use metier_journal::Trigger;

use crate::exit::Exit;
use crate::host::{Flags, SessionArgs, close};
use crate::output::{InSession, Output};

/// Hand out a skill's instructions, as a model is given them, and record that
///
/// What is printed is what is on the disk now; its digest is in the journal. In a session that has the very same bytes
/// already, a short note is printed instead.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier activate code-review
  metier activate code-review --session work     and `read` and `exec` go on in it
  metier activate code-review --json")]
pub(crate) struct Args {
    /// The skill: its name, its id or its directory
    #[arg(value_name = "SKILL")]
    name: String,

    /// Hand it out again where the session has it already
    #[arg(long)]
    force: bool,

    /// Who asks for it: user, model or nested (another skill)
    #[arg(long, value_name = "WHO", default_value = "user", hide_possible_values = true)]
    trigger: Asker,

    #[command(flatten)]
    session: SessionArgs,

    #[command(flatten)]
    catalog: Flags,

    /// Print the text with its digests and what it costs as JSON
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
        output.note(format_args!("note: `{}` changed while it was looked for", activation.name))?;
    }
    if args.json {
        output.json(&InSession::new(&id, &activation))?;
    } else {
        output.text(&activation.content)?;
    }
    Ok(Exit::Done)
}
