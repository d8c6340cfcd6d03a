//! `metier guard log`: what was decided on tool calls.

use crate::commands::audit::decisions;
use crate::exit::Exit;
use crate::output::Output;

/// Show the last decisions on tool calls
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The same as `metier audit log --kind skill.tool_call_decided`, which has more options.

Examples:
  metier guard log
  metier guard log -f             then each new one, until Ctrl-C
  metier guard log --skill pdf")]
pub(super) struct Args {
    /// Only decisions while this skill was active
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,

    /// Decisions of this session: its id, or the beginning or end of the id
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// The most decisions to show, the last ones
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 50)]
    limit: usize,

    /// Wait for new decisions and print each one as it is recorded, until Ctrl-C
    #[arg(long, short)]
    follow: bool,

    /// Print complete records as JSON, one per line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let Args { skill, session, limit, follow, json } = args;
    decisions(skill.clone(), session.clone(), *limit, (*follow, *json), output)
}
