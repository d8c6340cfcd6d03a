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

/// Run a script of a skill in the sandbox, if the policy or a person allows it, and record that
///
/// What runs are the very bytes that were approved: a private copy is made of the skill and digested. The script may change
/// the work directory and nothing else; it reaches no network unless that is asked for and approved as well.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Where a person must decide, they are asked at the terminal; `--approve` answers yes beforehand.
What your organisation forbids stays forbidden.

The exit code is the script's; 124 when a limit ended it, 128 and the signal's number when a
signal did, 130 when metier was told to end. What did not start ends with 1 to 5.

Examples:
  metier exec pdf scripts/fill.py -- form.pdf out.pdf
  metier exec --root skills:third_party pdf scripts/fill.py --approve once -- form.pdf
  metier exec pdf scripts/fetch.py --network proxy --allow-host example.org:443
  metier exec pdf scripts/fill.py --session work --approve session --json")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Args {
    /// The skill: its name, its id or its directory
    #[arg(value_name = "SKILL")]
    name: String,

    /// The script, as a path in the skill
    script: String,

    /// Say yes to what would be asked: for this once, or as long as the session lasts
    #[arg(long, value_name = "once|session", hide_possible_values = true)]
    approve: Option<HowLong>,

    #[command(flatten)]
    work: WorkArgs,

    /// Start it in the skill's directory instead of in the work directory
    #[arg(long)]
    in_skill: bool,

    /// Say that it does what cannot be undone, so that a person is asked about that too
    #[arg(long)]
    destructive: bool,

    /// Do with Landlock and the system call filter where there are no namespaces; not for `third_party`
    #[arg(long)]
    weaker: bool,

    #[command(flatten)]
    session: SessionArgs,

    #[command(flatten)]
    catalog: Flags,

    /// Print how it ended, what it printed and which protections were active as JSON
    #[arg(long)]
    json: bool,

    /// The script's arguments
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
    // Whoever is asked can still end metier at once; from then on the script is ended first.
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
    /// The directory that the script may change. This directory, if none is named and it may be given to scripts.
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
                // Where there is no such skill, nothing works anywhere.
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

/// What to do where nobody could be asked.
fn advised(error: SessionError, skills: &HostCatalog) -> anyhow::Error {
    let is_nobody =
        matches!(&error, SessionError::Denied { decision } if decision.code == DecisionCode::NobodyToAsk);
    if !is_nobody {
        return skills.explained(error).into();
    }
    DeniedError(format!(
        "{error}; look at the script, then say `--approve once`, or `metier approve` for longer than that"
    ))
    .into()
}
