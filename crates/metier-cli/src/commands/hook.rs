//! `metier hook`: what agents call before and after they use one of their tools.

use std::io::{self, Read as _};
use std::path::PathBuf;

use metier_home::Agent;
use metier_host::{Environment, HookRequest, answer_hook};

use crate::exit::{Exit, UsageError};
use crate::output::Output;

/// More than any agent passes: a file that is written is part of it.
const MOST: u64 = 64 << 20;

/// Answer a hook of an agent: whether its tool may be called
///
/// `metier guard install` and `metier run` write this command into the agent's settings. It reads the agent's JSON from
/// standard input and prints the answer in the agent's own form. If anything fails, the answer is a refusal.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  echo '{\"session_id\": \"1\", \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"ls\"}}' |
    metier hook claude PreToolUse")]
pub(crate) struct Args {
    /// Agent that calls: claude, codex, opencode, gemini, goose or copilot
    #[arg(value_name = "AGENT", value_parser = agent)]
    agent: Agent,

    /// Event, by the agent's name for it
    #[arg(value_name = "EVENT")]
    event: String,

    /// The run that the agent belongs to, where metier started it
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,

    /// Name skills that fit, when a person sends a prompt
    #[arg(long)]
    suggest: bool,
}

fn agent(text: &str) -> Result<Agent, String> {
    Agent::find(text).ok_or_else(|| "use claude, codex, opencode, gemini, goose or copilot".to_owned())
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let mut input = Vec::new();
    io::stdin().lock().take(MOST + 1).read_to_end(&mut input)?;
    if input.len() as u64 > MOST {
        let megabytes = MOST >> 20;
        return Err(UsageError(format!("the input has more than {megabytes} MB, so it is not read")).into());
    }
    let request = HookRequest {
        agent: args.agent,
        event: &args.event,
        input: &input,
        context: args.context.as_deref(),
        suggests: args.suggest,
    };
    output.text(&answer_hook(Environment::read(), &request))?;
    output.text("\n")?;
    Ok(Exit::Done)
}
