//! `metier exec`: a script of a skill: decided, contained, recorded.

use metier_host::{Approve, HostCatalog, UsualWork};
use metier_policy::{Answer, DecisionCode, Lifetime};
use metier_sandbox::{Cancel, WorkDirectory};
use metier_session::{ScriptCall, SessionError};

use crate::exit::{DeniedError, Exit};
use crate::host::{Flags, SessionArgs, close};
use crate::output::{InSession, Output, clean};
use crate::running::{GivenArgs, Through, cancel_by_signals, exit};
use crate::work::WorkArgs;

/// Run a script of a skill in the sandbox, and record it
///
/// The policy or a person must allow it. The script runs from a private copy of the skill whose digest was checked, so
/// exactly the approved content runs. The script may change the work directory and nothing else. It has no network
/// unless you request it and it is approved as well.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
If approval is needed, you are asked at the terminal; `--approve` answers yes in advance.
What your organisation forbids cannot be approved.

The exit code is the script's, 124 if a limit ended it, 128 plus the signal's number if a
signal did, and 130 if metier was interrupted. If it was not started, the code is 1 to 5.

Examples:
  metier exec pdf scripts/fill.py -- form.pdf out.pdf
  metier exec --root skills:third_party pdf scripts/fill.py --approve once -- form.pdf
  metier exec pdf scripts/fetch.py --network proxy --allow-host example.org:443
  metier exec pdf scripts/fill.py --session work --approve session --json")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Args {
    /// Skill: its name, id or directory
    #[arg(value_name = "SKILL")]
    name: String,

    /// Script: its path in the skill
    script: String,

    /// Approve in advance what would be asked: once, or for the session
    #[arg(long, value_name = "once|session", hide_possible_values = true)]
    approve: Option<HowLong>,

    #[command(flatten)]
    work: WorkArgs,

    /// Start it in the skill's directory instead of the work directory
    #[arg(long)]
    in_skill: bool,

    /// Declare that it does something that cannot be undone, which needs an approval of its own
    #[arg(long)]
    destructive: bool,

    /// Without namespaces, run it with Landlock and the system call filter alone; not for `third_party`
    #[arg(long)]
    weaker: bool,

    #[command(flatten)]
    session: SessionArgs,

    #[command(flatten)]
    catalog: Flags,

    /// Print the exit code, the output and the active protections as JSON
    #[arg(long)]
    json: bool,

    /// Arguments of the script
    #[arg(last = true)]
    arguments: Vec<String>,

    // Last, since what follows it would stand below its headings.
    #[command(flatten)]
    given: GivenArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum HowLong {
    Once,
    Session,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let (skills, name) = args.catalog.find_with(&args.name, output)?;
    let work = args.work(&name, &skills, output)?;
    let mut call = args.call(&name, work)?;
    let mut conversation = args.session.open(&skills, output)?;
    let id = conversation.id().to_owned();
    if let Some(how_long) = args.approve {
        let lifetime = match how_long {
            HowLong::Once => Lifetime::Once,
            HowLong::Session => Lifetime::Session(id.clone()),
        };
        let yes = Approve::from_fn(move |_| Answer::Approve(lifetime.clone()));
        conversation.set_approver(Box::new(yes.how("flag")));
    }
    output.flush()?;
    call.cancel = Cancel::new()?;
    let mut through = Through::new(args.json, call.cancel.clone());
    let cancel = call.cancel.clone();
    // While a question is open, a signal ends metier at once; from then on it ends the script first.
    let done = conversation.prepare_script(call).and_then(|prepared| {
        let finished = match cancel_by_signals(&cancel) {
            Ok(()) => prepared.run(&mut through),
            Err(source) => prepared.give_up(source),
        };
        conversation.finish_script(finished)
    });
    close(conversation, output)?;
    let report = done.map_err(|error| advised(error, &skills))?;
    if args.json {
        output.json(&InSession::new(&id, &report))?;
    } else {
        through.report(&report.run, output)?;
    }
    Ok(exit(report.run.ending))
}

impl Args {
    /// The directory that the script may change: the named one, else the current one if it may be given to scripts.
    fn work(
        &self,
        name: &str,
        skills: &HostCatalog,
        output: &mut Output,
    ) -> anyhow::Result<Option<WorkDirectory>> {
        let (metier, reserved) = (skills.metier(), skills.metier().reserved_paths());
        if let Some(work) = self.work.named(metier, &reserved, output)? {
            return Ok(Some(work));
        }
        match metier.usual_work(&reserved)? {
            UsualWork::Here(here) => Ok(Some(here)),
            UsualWork::Temporary(reason) => {
                // If the skill does not exist, that error follows, and this note would only distract.
                if skills.by_name_or_id(name).is_some() {
                    output.note(format_args!("note: {}", clean(&reason.to_string())))?;
                    output.note(
                        "note: the script runs in an empty temporary directory, which is removed afterwards with \
                         all files in it; `--work DIR` chooses another directory",
                    )?;
                }
                Ok(None)
            }
        }
    }

    fn call(&self, name: &str, work: Option<WorkDirectory>) -> anyhow::Result<ScriptCall> {
        let mut call = ScriptCall::new(name, &self.script, work);
        call.arguments.clone_from(&self.arguments);
        call.input = self.given.input()?;
        call.starts_in_skill = self.in_skill;
        call.limits = self.given.limits();
        call.network = self.given.network()?;
        call.variables = self.given.variables()?;
        call.is_destructive = self.destructive;
        call.allows_weaker = self.weaker;
        Ok(call)
    }
}

/// The error, with the commands that approve if no terminal was attached to ask.
fn advised(error: SessionError, skills: &HostCatalog) -> anyhow::Error {
    let is_nobody =
        matches!(&error, SessionError::Denied { decision } if decision.code == DecisionCode::NobodyToAsk);
    if !is_nobody {
        return skills.explained(error).into();
    }
    DeniedError(format!(
        "{error}; look at the script, then add `--approve once`, or approve it for longer with `metier approve`"
    ))
    .into()
}
