//! `metier ask`: one question to an agent, with the skills that it may use, and its answer.

mod shown;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use metier_harness::{PermissionAnswer, PermissionRequest, Permissions, evaluate};
use metier_host::{Approve, HostCatalog, HostSession, confirm, is_terminal_attached};
use metier_policy::Decision;
use metier_prompt::{Prompt, Rendering, Section, SkillMount};
use metier_sandbox::Cancel;
use metier_session::Budget;
use metier_skill::visible;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::shown::Shown;
use crate::asking::{Asked, ModelServer, asked};
use crate::exit::{Exit, UsageError};
use crate::host::{Flags, tell};
use crate::output::Output;
use crate::placing::Placing;

/// Ask an agent one question, with the skills you give it
///
/// An agent runs in a temporary home; a model server gets the skills as tools. Its answer is printed while it arrives; tool calls, skills and what was used go to
/// standard error. Tools that need permission are decided by the policy, then by you, if a terminal is attached.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier ask claude 'What does this project do?'
  metier ask claude --skill release-notes 'Write the notes for 1.4'
  metier ask claude --schema review.json --quiet 'Review src/' | jq .issues
  metier ask goose --json 'Summarise README.md'           one event per line, then the result
  metier ask claude --keep 'Find the bug'                 then: metier ask claude --resume ID 'Fix it'
  metier ask openai --model gpt-5 --skill release-notes 'Write the notes for 1.4'
  metier ask openai --api chat --base-url http://127.0.0.1:4000/v1 --model local 'Hello'")]
pub(crate) struct Args {
    /// Who is asked: claude, codex, opencode, gemini, goose, copilot, or openai for a model server
    #[arg(value_name = "AGENT", value_parser = asked)]
    agent: Asked,

    /// The question; several words are joined with spaces
    #[arg(required = true, value_name = "PROMPT")]
    prompt: Vec<String>,

    /// A skill that the agent can use: its name, its id, its directory or its file. Can be repeated
    #[arg(long, value_name = "SKILL[=NAME]")]
    skill: Vec<String>,

    /// Every skill that `metier list` shows and models may use
    #[arg(long, short, conflicts_with = "skill")]
    all: bool,

    /// Answer with JSON that matches the JSON schema in this file
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// The model, as the agent calls it
    #[arg(long)]
    model: Option<String>,

    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS")]
    deadline: Option<u64>,

    /// Stop after this many tokens, input and output together
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,

    /// Keep the conversation, so that `--resume` can continue it
    #[arg(long)]
    keep: bool,

    /// Continue a conversation that was kept: its id. Claude Code finds it in the same directory only
    #[arg(long, value_name = "ID")]
    resume: Option<String>,

    /// Who decides about tools that need permission and that no rule allows or denies
    #[arg(long, value_name = "WHO", default_value = "ask")]
    permissions: Deciding,

    #[command(flatten)]
    place: Placing,

    #[command(flatten)]
    server: ModelServer,

    #[command(flatten)]
    catalog: Flags,

    /// Print every event as JSON, one per line, and the result last
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Deciding {
    /// You, if a terminal is attached; otherwise they are denied
    Ask,
    /// Deny them
    Deny,
    /// Allow them
    Allow,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let schema = args.schema.as_deref().map(read_schema).transpose()?;
    let skills = args.catalog.find(output)?;
    let mounts = args.mounts(&skills, output)?;
    let keeps = args.keep || args.resume.is_some();
    let harness = args.server.harness(args.agent, &args.place, keeps, skills.metier(), &mounts)?;
    let rendering = args.rendering(mounts)?;
    let mut session = args.session(&skills)?;
    let cancel = Cancel::new()?;
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let ending = signals.handle();
    cancel_at(signals, cancel.clone());
    // Two closures print: events, and questions about permissions.
    let shown = RefCell::new(Shown::new(output, harness.title(), args.json, schema.is_some(), keeps));
    let mut asking = evaluate(&*harness, rendering)
        .cancel(cancel)
        .on_event(|event| shown.borrow_mut().event(event))
        .permissions(Permissions::from_fn(|request, decision| args.permissions.decide(request, decision)));
    if let Some(seconds) = args.deadline {
        asking = asking.deadline(Duration::from_secs(seconds));
    }
    if let Some(model) = &args.model {
        asking = asking.model(model);
    }
    if let Some(id) = &args.resume {
        asking = asking.resume(id);
    }
    let answer = match schema {
        None => asking.run(&mut session).map(|answer| shown.borrow_mut().end(&answer, None)),
        Some(schema) => asking.run_json(schema, &mut session).map(|answer| {
            let value = answer.output.clone();
            shown.borrow_mut().end(&answer, Some(&value))
        }),
    };
    ending.close();
    let output = shown.into_inner().stop();
    tell(&session.close()?, output)?;
    answer??;
    Ok(Exit::Done)
}

impl Args {
    fn mounts(&self, skills: &HostCatalog, output: &mut Output) -> anyhow::Result<Vec<SkillMount>> {
        let named: Vec<String> = self.skill.iter().chain(&self.server.inject).cloned().collect();
        if named.is_empty() && !self.all && !self.catalog.has_roots() {
            return Ok(Vec::new());
        }
        // Where nothing can be told, the rest is done all the same.
        let mut tell = |note: String| drop(output.note(format_args!("note: {note}")));
        Ok(skills.mounts(&named, Approve::ask_terminal(), &mut tell)?)
    }

    fn rendering(&self, mounts: Vec<SkillMount>) -> anyhow::Result<Rendering> {
        // What is typed is text, and not a template.
        let question = self.prompt.join(" ").replace('$', "$$");
        let section = Section::new("question", "Question").body(&question).skills(mounts);
        Ok(Prompt::builder("metier", "ask").section(section).build()?.rendering())
    }

    fn session(&self, skills: &HostCatalog) -> anyhow::Result<HostSession> {
        let mut builder = skills.metier().session().catalog(skills.catalog());
        builder = builder.agent(self.agent.name()).actor("user").approver(Approve::ask_terminal());
        if let Some(total) = self.budget {
            builder = builder.budget(Budget { total: Some(total), ..Budget::default() });
        }
        Ok(builder.open()?)
    }
}

impl Deciding {
    fn decide(self, request: &PermissionRequest, decision: &Decision) -> Option<PermissionAnswer> {
        match self {
            Self::Allow => Some(PermissionAnswer::Allow),
            Self::Deny => {
                Some(PermissionAnswer::Deny { reason: "the person allows no such tools".to_owned() })
            }
            Self::Ask if !is_terminal_attached() => None,
            Self::Ask => {
                let (tool, arguments) = (visible(&request.tool), request.arguments.to_string());
                let arguments = visible(&arguments);
                let why = &decision.reason;
                let question =
                    format!("The agent wants to call {tool} {arguments} ({why}). Allow it, this once?");
                let refused = || PermissionAnswer::Deny { reason: "the person said no".to_owned() };
                Some(if confirm(&question) { PermissionAnswer::Allow } else { refused() })
            }
        }
    }
}

/// Cancels at a signal, so that the agent is ended and its home removed.
fn cancel_at(mut signals: Signals, cancel: Cancel) {
    thread::spawn(move || {
        for _ in signals.forever() {
            cancel.cancel();
        }
    });
}

fn read_schema(path: &Path) -> anyhow::Result<Value> {
    let wrong = |reason: String| UsageError(format!("cannot use the schema {}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let schema: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if !schema.is_object() {
        return Err(wrong("it must be a JSON object".to_owned()).into());
    }
    Ok(schema)
}
