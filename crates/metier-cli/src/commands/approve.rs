//! `metier approve`: a person's yes or no, stored for one content of a skill.

use clap::builder::NonEmptyStringValueParser;
use metier_host::{TerminalApprover, now};
use metier_policy::{Access, Action, Answer, Approval, Approver as _, Lifetime, Question, Request, Verdict};
use serde_json::json;

use crate::exit::{DeniedError, Exit};
use crate::host::{Flags, reach, tell};
use crate::output::Output;
use crate::table::one_line;

/// Approve what a skill may do, for its present content only
///
/// The answer holds for this content of the skill, this script and this kind of access. If the skill changes, you are
/// asked again. What your organisation forbids cannot be approved.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(
    override_usage = "\
metier approve [OPTIONS] <SKILL>                                   load the skill
       metier approve [OPTIONS] <SKILL> --script <PATH>                   run a script
       metier approve [OPTIONS] <SKILL> --script <PATH> --network         network access of a script
       metier approve [OPTIONS] <SKILL> --script <PATH> --destructive     what cannot be undone",
    after_help = "\
Examples:
  metier approve pdf --script scripts/fill.py            until the skill changes
  metier approve pdf --script scripts/fill.py --once     for the next time only
  metier approve pdf --script scripts/get.py --network   its network access (any host)
  metier approve pdf --script scripts/get.py --network --allow-host pypi.org   one host
  metier approve pdf --script scripts/get.py --refuse    store a refusal
  metier approvals                                       list the answers"
)]
pub(crate) struct Args {
    /// Skill: its name, id or directory
    skill: String,

    /// Script, by its path in the skill. Without it, loading the skill is approved
    #[arg(long, value_name = "PATH")]
    script: Option<String>,

    /// Approve network access of the script: all hosts, unless `--allow-host` is given
    #[arg(long, requires = "script", conflicts_with = "destructive")]
    network: bool,

    /// Approve only this host; `*.example.org:443` covers its subdomains. Can be repeated
    #[arg(long, value_name = "HOST:PORT", requires = "network")]
    allow_host: Vec<String>,

    /// Approve actions of the script that cannot be undone
    #[arg(long, requires = "script")]
    destructive: bool,

    /// Store a refusal, which also applies to what needs no approval
    #[arg(long)]
    refuse: bool,

    /// Only for the next time
    #[arg(long, conflicts_with = "session")]
    once: bool,

    /// Only for this session
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    session: Option<String>,

    /// Approve without asking
    #[arg(long, short, conflicts_with = "refuse")]
    yes: bool,

    #[command(flatten)]
    catalog: Flags,

    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let (skills, name) = args.catalog.find_with(&args.skill, output)?;
    let policy = skills.metier().policy()?;
    let opened = skills.opened(&name)?;
    let (action, access) = match &args.script {
        Some(script) => (Action::Run { script: opened.script(script)? }, args.access()),
        None => (Action::Activate, Access::Activate),
    };
    let reach = reach(args.network, &args.allow_host)?;
    let mut request = Request::new(opened.tier, &opened.skill.name, opened.digest, action);
    (request.network, request.destructive) = (reach.as_ref(), args.destructive);
    let whole = policy.decide(&request);
    if whole.verdict == Verdict::Deny && !args.refuse {
        return Err(DeniedError(format!("{}; it cannot be approved", whole.reason)).into());
    }
    let decision = policy.decide_access(&request, access);
    let store = skills.metier().kept_approvals()?;
    let kept = store.about(&opened.digest)?;
    let is_refused = kept.find(&request, access, args.session.as_deref()).is_some_and(|kept| !kept.granted);
    if decision.verdict == Verdict::Allow && !is_refused && !args.refuse {
        output.line(format_args!("no approval is needed: {}", decision.reason))?;
        return Ok(Exit::Done);
    }
    let content = args.script.as_deref().and_then(|script| opened.text(script));
    request.content = content.as_deref();
    let question = Question::new(&request, access, &decision.reason);
    let Some(mut approval) = args.answer(&question, output)? else { return Ok(Exit::Denied) };
    approval.on = Some(now().to_string().chars().take(10).collect());
    let (id, notes) = skills.metier().keep_approval(&approval)?;
    tell(&notes, output)?;
    if args.json {
        output.json(&json!({ "id": id, "approval": approval }))?;
    } else {
        let script =
            approval.script.as_deref().map(|script| format!(" ({})", one_line(script))).unwrap_or_default();
        let (skill, verb, until) = (one_line(&approval.skill), approval.verb(), until(&approval.lifetime));
        let answer = match (approval.granted, approval.access) {
            (true, _) => format!("approved: {skill} may {verb}"),
            (false, Access::Activate) => format!("refused: {skill} will not be loaded"),
            (false, _) => format!("refused: {skill} may not {verb}"),
        };
        output.line(format_args!("{answer}{script}, {until} [{id}]"))?;
    }
    Ok(Exit::Done)
}

impl Args {
    fn access(&self) -> Access {
        match self {
            Self { network: true, .. } => Access::Network,
            Self { destructive: true, .. } => Access::Destructive,
            _ => Access::Scripts,
        }
    }

    fn lifetime(&self) -> Lifetime {
        match &self.session {
            Some(session) => Lifetime::Session(session.clone()),
            None if self.once => Lifetime::Once,
            None => Lifetime::Digest,
        }
    }

    /// The person's answer, typed here or given by an option; `None` for a typed no, which stores nothing.
    fn answer(&self, question: &Question<'_>, output: &mut Output) -> anyhow::Result<Option<Approval>> {
        let lifetime = self.lifetime();
        let answer = |granted: bool, how: &str| {
            let mut approval = Approval::answer(question, granted, lifetime.clone());
            approval.how = Some(how.to_owned());
            Ok(Some(approval))
        };
        if self.refuse || self.yes {
            return answer(!self.refuse, "command");
        }
        let Some(mut person) = TerminalApprover::attached(lifetime.clone(), None) else {
            let message = "approving needs confirmation, and no terminal is attached";
            return Err(DeniedError(format!("{message}; look at the skill, then use `--yes`")).into());
        };
        match person.ask(question) {
            Answer::Approve(_) => answer(true, "terminal"),
            Answer::Refuse(_) => {
                drop(person);
                output.note("cancelled; nothing was stored (`--refuse` stores a refusal)")?;
                Ok(None)
            }
            _ => anyhow::bail!("nothing was stored: the answer was neither yes nor no"),
        }
    }
}

/// How long an answer holds, in words.
pub(crate) fn until(lifetime: &Lifetime) -> String {
    match lifetime {
        Lifetime::Once => "the next time only".to_owned(),
        Lifetime::Session(id) => format!("in session {}", one_line(id)),
        _ => "until the skill changes".to_owned(),
    }
}
