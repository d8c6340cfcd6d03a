//! `metier sandbox run`: one command in the sandbox.

use std::ffi::OsString;
use std::path::PathBuf;

use metier_host::Metier;
use metier_sandbox::{Cancel, Executor as _, Job, PinnedPath, SandboxProfile, Strictness};
use metier_session::RunReport;
use metier_skill::Tier;

use crate::exit::{Exit, UsageError};
use crate::output::Output;
use crate::running::{GivenArgs, Through, cancel_by_signals, exit};
use crate::work::WorkArgs;

/// Run commands in the sandbox that scripts of skills run in
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Run(Box<RunArgs>),
}

/// Run a command in the sandbox
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The command sees the system's programs and the work directory, and nothing else: no home, no other
processes, no network except its own loopback, and only the variables that are given here.

The exit code is the command's, 124 if a limit ended it, 128 plus the signal's number if a signal
did, and 130 if metier was interrupted. If it was not started, the code is 2, 4 or 5.

Examples:
  metier sandbox run -- ls -la
  metier sandbox run --skill skills/pdf --work out -- sh -c 'python3 $METIER_SKILL_DIR/scripts/fill.py'
  metier sandbox run --wall 5 --memory 256M --json -- sh -c 'sleep 60'
  metier sandbox run --network proxy --allow-host example.org:443 -- curl https://example.org")]
struct RunArgs {
    /// Tier whose profile applies: builtin, org, user or `third_party`
    #[arg(long, value_name = "TIER", default_value = "third_party")]
    profile: Tier,

    /// Skill that it can read
    #[arg(long, value_name = "DIR")]
    skill: Option<PathBuf>,

    #[command(flatten)]
    work: WorkArgs,

    /// Another path that it can read. Can be repeated
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,

    /// Another directory that it can change. Can be repeated
    #[arg(long, value_name = "DIR")]
    write: Vec<PathBuf>,

    /// Without namespaces, run it with Landlock and the system call filter alone; not for `third_party`
    #[arg(long)]
    weaker: bool,

    /// Run it without any protection
    #[arg(long, conflicts_with = "weaker")]
    unprotected: bool,

    /// Print the exit code, the output and the active protections as JSON
    #[arg(long)]
    json: bool,

    /// Command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    #[command(flatten)]
    given: GivenArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Run(args) => run_command(args, output),
    }
}

fn run_command(args: &RunArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let metier = Metier::open()?;
    let profile = profile(args, &metier, output)?;
    let mut words = args.command.iter().cloned();
    let mut job = Job::new(profile, words.next().unwrap_or_default(), words.collect());
    job.input = args.given.input()?;
    output.flush()?;
    job.cancel = Cancel::new()?;
    cancel_by_signals(&job.cancel)?;
    let mut through = Through::new(args.json, job.cancel.clone());
    let outcome = metier.executor().run(&job, &mut through)?;
    let run = RunReport::new(&job.profile, outcome);
    if args.json {
        output.json(&run)?;
    } else {
        through.report(&run, output)?;
    }
    Ok(exit(run.ending))
}

fn profile(args: &RunArgs, metier: &Metier, output: &mut Output) -> anyhow::Result<SandboxProfile> {
    let reserved = metier.reserved_paths();
    let work = match args.work.named(metier, &reserved, output)? {
        Some(work) => work,
        None => metier.work_here(&reserved)?,
    };
    let mut profile = SandboxProfile::new(args.profile, work);
    if let Some(skill) = &args.skill {
        profile.add_skill(PinnedPath::pin(skill)?);
    }
    for path in &args.read {
        profile.readable.push(PinnedPath::pin(path)?);
    }
    for path in &args.write {
        profile.writable.push(args.work.open(path, metier, &reserved, output)?);
    }
    let variables = args.given.variables()?;
    profile.environment.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
    profile.network = args.given.network()?;
    if args.weaker {
        if Strictness::floor_of_tier(args.profile) == Strictness::Every {
            let tier = args.profile;
            return Err(UsageError(format!(
                "skills of the tier {tier} run only with every protection; `--weaker` does not apply to them"
            ))
            .into());
        }
        profile.strictness = Strictness::Core;
    }
    if args.unprotected {
        profile.strictness = Strictness::Unprotected;
    }
    profile.limits = args.given.limits();
    Ok(profile)
}
