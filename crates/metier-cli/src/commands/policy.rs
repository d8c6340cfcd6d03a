//! `metier policy`: what the policy decides, and why.

mod lint;

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use metier_host::{Metier, real};
use metier_policy::{
    Action, Allowlist, Anchors, Approvals, CallOddity, Decision, Denylist, GuardMode, GuardedSkill, Policy,
    PolicySettings, Request, ToolCall, Verdict,
};
use metier_session::follow_links;
use metier_skill::{Tier, ToolRules};
use serde_json::Value;

use crate::exit::{Exit, UsageError};
use crate::host::{Flags, find_with, reach};
use crate::output::Output;

/// Show what the policy decides, and check policy files
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    Check(Box<CheckArgs>),
    Lint(lint::Args),
}

/// Show whether a tool call or a skill's script would be allowed, and why
///
/// A call is checked against the `allowed-tools` of every active skill: those given with `--allowed-tools` and those of
/// `--skill`. Without `--tool`, the decision is about the skill: whether it may be loaded, or its `--script` run. Links
/// in paths are followed on this machine. Nothing is run.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
metier policy check --tool <TOOL> [--input <INPUT>] [--allowed-tools <RULES>]... [--skill <NAME>]...
       metier policy check --skill <NAME>                             may the skill be loaded?
       metier policy check --skill <NAME> --script <PATH> [--network] may its script run?",
    after_help = "\
Exits with 0 if it is allowed, with 1 if a person would be asked, with 3 if it is denied.

Examples:
  metier policy check --allowed-tools 'Bash(git log *) Read' --tool Bash --input 'git log -3'
  metier policy check --allowed-tools Read --tool Write --input notes.md --json
  metier policy check --skill my-skill --tool Bash --input 'git push'
  metier policy check --skill my-skill --script scripts/publish.sh --network
  metier policy check --policy new-policy.toml --skill my-skill --script scripts/publish.sh"
)]
pub(crate) struct CheckArgs {
    /// Rules of an active skill: the value from its frontmatter, or a JSON list. Give it once per skill
    #[arg(long, value_name = "RULES", requires = "tool")]
    allowed_tools: Vec<String>,

    /// Deny rules, in the same forms. Can be repeated
    #[arg(long, value_name = "RULES", requires = "tool")]
    deny: Vec<String>,

    /// Active skill: its name, id or directory. Can be repeated
    #[arg(long, value_name = "NAME")]
    skill: Vec<String>,

    /// Tool that would be called, by any agent's name for it
    #[arg(long, required_unless_present = "skill")]
    tool: Option<String>,

    /// Input of the call: a JSON object, or only the command, path or address
    #[arg(long, value_name = "INPUT", requires = "tool", default_value = "", hide_default_value = true)]
    input: String,

    /// Script of the skill that would be run
    #[arg(long, value_name = "PATH", requires = "skill", conflicts_with = "tool")]
    script: Option<String>,

    /// The script needs the network: all hosts, unless `--allow-host` is given
    #[arg(long, requires = "script")]
    network: bool,

    /// The script needs only this host. Can be repeated
    #[arg(long, value_name = "HOST:PORT", requires = "network")]
    allow_host: Vec<String>,

    /// The script does something that cannot be undone
    #[arg(long, requires = "script")]
    destructive: bool,

    /// Session whose approvals apply
    #[arg(long, value_name = "ID", requires = "skill", conflicts_with = "tool", value_parser = NonEmptyStringValueParser::new())]
    session: Option<String>,

    /// Trust tier of the skills of `--allowed-tools`
    #[arg(long, default_value = "user", value_name = "TIER")]
    tier: Tier,

    /// Meaning of `allowed-tools`: allowlist, `pre_approve` or advisory, if the policy lets you choose
    #[arg(long, value_parser = mode)]
    mode: Option<GuardMode>,

    /// Use this file instead of the policies in force: an organisation's `policy.toml`, or a settings file with `[policy]`
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Working directory of the call
    #[arg(long, value_name = "DIR", help_heading = "Places")]
    cwd: Option<PathBuf>,

    /// Directory for `~` in rules and paths
    #[arg(long, value_name = "DIR", help_heading = "Places")]
    home: Option<PathBuf>,

    /// Directory for `${CLAUDE_SKILL_DIR}` in the rules of `--allowed-tools`
    #[arg(long, value_name = "DIR", help_heading = "Places")]
    skill_dir: Option<PathBuf>,

    /// Directory for `${CLAUDE_PLUGIN_ROOT}` in rules
    #[arg(long, value_name = "DIR", help_heading = "Places")]
    plugin_root: Option<PathBuf>,

    #[command(flatten)]
    catalog: Flags,

    /// Print the decision as JSON
    #[arg(long)]
    json: bool,
}

fn mode(text: &str) -> Result<GuardMode, String> {
    let found = GuardMode::ALL.into_iter().find(|mode| mode.as_str() == text.replace('-', "_"));
    found.ok_or_else(|| "use allowlist, pre_approve or advisory".to_owned())
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let args = match &args.command {
        PolicyCommand::Check(args) => args,
        PolicyCommand::Lint(args) => return lint::run(args, output),
    };
    let decision = match &args.tool {
        Some(tool) => check_call(args, tool, output)?,
        None => check_skill(args, output)?,
    };
    if args.json {
        output.json(&decision)?;
    } else {
        print(&decision, output)?;
    }
    Ok(match decision.verdict {
        Verdict::Allow => Exit::Done,
        Verdict::Ask => Exit::Findings,
        Verdict::Deny => Exit::Denied,
    })
}

fn print(decision: &Decision, output: &mut Output) -> anyhow::Result<()> {
    let word = decision.verdict.as_str();
    let word = match decision.verdict {
        Verdict::Allow => output.colored(word, true),
        Verdict::Ask => output.warning(word),
        Verdict::Deny => output.colored(word, false),
    };
    output.styled_row("decision", &word)?;
    output.row("code", decision.code.as_str())?;
    output.row("reason", &decision.reason)?;
    if let Some(rule) = &decision.rule {
        output.row("rule", rule)?;
    }
    for note in &decision.warnings {
        output.row("warning", &format!("`{}`: {}", note.rule, note.message))?;
    }
    Ok(())
}

fn check_call(args: &CheckArgs, tool: &str, output: &mut Output) -> anyhow::Result<Decision> {
    let metier = args.catalog.open(output)?;
    let places = places(args, &metier)?;
    let mut active = given(args, &places)?;
    for name in &args.skill {
        let (skills, id) = find_with(&metier, name, output)?;
        active.push(skills.opened(&id)?.guarded(&places));
    }
    let policy = policy(args, &metier)?;
    let call = follow_links(ToolCall::new(tool, input(&args.input)), &places);
    if let Some(oddity) = call.oddity() {
        let is_missing = matches!(oddity, CallOddity::Missing { .. });
        let hint = if is_missing { "; give it with `--input`" } else { "" };
        output.note(format_args!("note: {oddity}{hint}"))?;
    }
    let mut guard = policy.guard(active, &places);
    for rules in &args.deny {
        guard = guard.denying("the command line", Denylist::new(&tools(rules)?, &places));
    }
    Ok(guard.decide(&call))
}

fn check_skill(args: &CheckArgs, output: &mut Output) -> anyhow::Result<Decision> {
    let [name] = args.skill.as_slice() else {
        return Err(UsageError("without `--tool`, give exactly one `--skill`".to_owned()).into());
    };
    let (skills, id) = args.catalog.find_with(name, output)?;
    let policy = policy(args, skills.metier())?;
    let opened = skills.opened(&id)?;
    let action = match &args.script {
        Some(script) => Action::Run { script: opened.script(script)? },
        None => Action::Activate,
    };
    let reach = reach(args.network, &args.allow_host)?;
    let mut request = Request::new(opened.tier, &opened.skill.name, opened.digest, action);
    (request.network, request.destructive) = (reach.as_ref(), args.destructive);
    let approvals = match skills.metier().approvals() {
        Some(store) => store.about(&opened.digest)?,
        None => {
            output.note("note: no home directory, so stored approvals and refusals are not considered")?;
            Approvals::default()
        }
    };
    Ok(policy.recall(&request, args.session.as_deref(), &approvals))
}

/// The policy in force, or the one of the file that is named, with what the command line says.
fn policy(args: &CheckArgs, metier: &Metier) -> anyhow::Result<Policy> {
    let mut top = PolicySettings::default();
    top.mode = args.mode;
    Ok(match &args.policy {
        Some(path) => metier.policy_of_file(path, &top)?,
        None => metier.policy_with(&top)?,
    })
}

fn places(args: &CheckArgs, metier: &Metier) -> anyhow::Result<Anchors> {
    let environment = metier.environment();
    let mut places = metier.anchors(args.cwd.as_deref(), args.home.as_deref())?;
    places.skill = args.skill_dir.as_deref().map(|path| real(environment.absolute(path)));
    places.plugin = args.plugin_root.as_deref().map(|path| real(environment.absolute(path)));
    Ok(places)
}

/// The skills whose rules stand on the command line.
fn given(args: &CheckArgs, places: &Anchors) -> anyhow::Result<Vec<GuardedSkill>> {
    let count = args.allowed_tools.len();
    let each = args.allowed_tools.iter().enumerate().map(|(index, rules)| {
        let name = if count == 1 { "the list".to_owned() } else { format!("list {}", index + 1) };
        Ok(GuardedSkill::new(name, args.tier).allowing(Allowlist::new(&tools(rules)?, places)))
    });
    each.collect()
}

/// Rules as in the frontmatter, or a JSON list.
fn tools(text: &str) -> anyhow::Result<ToolRules> {
    if text.trim_start().starts_with('[') {
        let rules: Vec<String> = serde_json::from_str(text)
            .map_err(|error| UsageError(format!("`{text}` is not a JSON list of rules: {error}")))?;
        return Ok(ToolRules::from_rules(rules));
    }
    Ok(ToolRules::split(text))
}

/// An object, or the text that it is.
fn input(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => object,
        _ => Value::String(text.to_owned()),
    }
}
