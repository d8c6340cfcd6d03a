//! `metier run`: an agent in a home of its own, with the skills that it was given.

use std::path::{Path, PathBuf};
use std::thread;

use metier_home::{
    Agent, Enclosure, Home, HomeError, HomeOptions, HostMount, MountedSkill, WorkingDirectory, Workspace,
    leaks, project_files,
};
use metier_sandbox::{CoveredPath, Local, Program, ProgramEnd, SandboxError, SupervisedProgram};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::environment::Environment;
use crate::exit::{Exit, NotFoundError, UsageError};
use crate::mounting::{Given, agent, note_skipped, record};
use crate::output::Output;
use crate::table::counted;

/// Run an agent in a temporary home with exactly the skills you give it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The agent gets your authentication, and nothing else of your home or your variables. What it reads in
the working directory and above (instructions, commands, hooks, MCP servers, settings) is reported.
The exit code is the agent's. Processes that it leaves running are ended.

Examples:
  metier run claude --skill code-review
  metier run codex --root skills --hermetic -- exec 'review this'
  metier run goose --skill pdf --keep -- run -t 'fill in form.pdf'
  metier run claude --skill pdf --copy form.pdf -- -p 'fill in form.pdf'
  metier run claude --no-skills -- -p 'fill in form.pdf'")]
pub(crate) struct Args {
    /// The agent: claude, codex, opencode, gemini, goose, copilot
    #[arg(value_parser = agent)]
    agent: Agent,

    #[command(flatten)]
    given: Given,

    /// Run without any skill, to compare
    #[arg(long, conflicts_with_all = ["skill", "root"])]
    no_skills: bool,

    /// Keep out everything else that agents read: skills, instructions, commands, hooks, MCP servers, settings;
    /// or do not start
    #[arg(long)]
    hermetic: bool,

    #[command(flatten)]
    place: Place,

    /// Let the agent have your variables, without those that look like secrets
    #[arg(long)]
    host_env: bool,

    /// A variable for the agent
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,

    /// The agent's program, where it is not on the path
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,

    /// What the agent is called with
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// Where the agent works.
#[derive(Debug, clap::Args)]
struct Place {
    /// Work in a fresh, empty directory that is removed afterwards
    #[arg(long)]
    workspace: bool,

    /// Work in a fresh directory with a copy of this file or directory. May be repeated
    #[arg(long, value_name = "PATH")]
    copy: Vec<PathBuf>,

    /// Keep the home and the fresh directory, and say where they are
    #[arg(long)]
    keep: bool,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("wants NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Place {
    /// Here, unless a fresh one is asked for.
    fn working_directory(&self, environment: &Environment) -> anyhow::Result<WorkingDirectory> {
        let base = environment.homes();
        if !self.workspace && self.copy.is_empty() {
            let gone = || UsageError("the current directory is not there any more".to_owned());
            let here = environment.working.clone().ok_or_else(gone)?;
            return Ok(WorkingDirectory::choose(Some(here), None, &base)?);
        }
        let copies: Vec<PathBuf> = self.copy.iter().map(|path| environment.absolute(path)).collect();
        let mount = |path: &PathBuf| {
            let mut mount = HostMount::new(path);
            // A copy of where one is, is where the agent is.
            mount.mount_path = (Some(path) == environment.working.as_ref()).then(|| ".".into());
            mount
        };
        let mounts: Vec<HostMount> = copies.iter().map(mount).collect();
        let workspace = Workspace::new(&base, &mounts, &copies)?;
        Ok(WorkingDirectory::choose(None, Some(workspace), &base)?)
    }
}

impl Args {
    fn home_options(&self, closing: Option<&Enclosure>, working: &Path, base: &Path) -> HomeOptions {
        let mut options = HomeOptions::new(base);
        options.working_directory = Some(working.to_owned());
        options.isolation.include_host_env = self.host_env;
        options.isolation.env = self.env.iter().cloned().collect();
        options.is_hermetic = closing.is_some();
        options.hidden = closing.map(|closing| closing.hidden.clone()).unwrap_or_default();
        options
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let skills = args.given.chosen.skills(output)?;
    let agent = args.agent;
    let name = args.program.as_deref().unwrap_or(Path::new(agent.program()));
    let program = skills.environment.program(name).ok_or_else(|| {
        let (title, name) = (agent.title(), name.display());
        NotFoundError(match args.program {
            Some(_) => format!("there is no program `{name}` to run as {title}"),
            None => format!(
                "{title} is not there: `{name}` was not found; install it, or name it with `--program`"
            ),
        })
    })?;
    let mounts =
        if args.no_skills { Vec::new() } else { args.given.chosen.mounts_or_none(&skills, output)? };
    // From here on there is something to remove, whatever tells metier to end.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])?;
    let working = args.place.working_directory(&skills.environment)?;
    let closing = args.hermetic.then(|| Enclosure::of(agent, &program, working.path(), Path::new("/")));
    let closing = closing.transpose()?;
    let options = args.home_options(closing.as_ref(), working.path(), &skills.environment.homes());
    let mut home = Home::new(agent, &Environment::host(), &options)?;
    let mounted = home.mount(&mounts, &args.given.options(&skills))?;
    record(&mounted, &format!("metier run {agent}"), &skills, output)?;
    note_skipped(&mounted, output)?;
    for warning in home.warnings() {
        let why = std::error::Error::source(warning).map(|why| format!(": {why}")).unwrap_or_default();
        output.note(format_args!("note: {warning}{why}"))?;
    }
    if closing.is_none() {
        note_leaks(agent, working.path(), &mounted, output)?;
        note_project(agent, working.path(), output)?;
    }
    let what = the_program(&program, &home, working.path(), closing.as_ref(), &args.arguments);
    output.flush()?;
    if let Some(signal) = signals.pending().next() {
        return Ok(Exit::Program(u8::try_from(128 + signal).unwrap_or(1)));
    }
    let mut running = Local::new().start(&what).map_err(|error| refusal(agent, error))?;
    // Whatever fails from here on, the agent is ended before its home is removed.
    home.lend_to(running.id())?;
    working.lend_to(running.id())?;
    let ended = wait(&mut running, signals)?;
    if ended.left > 0 {
        let left = counted(ended.left, "process");
        output
            .note(format_args!("note: {left} of the agent could not be ended; it belongs to another user"))?;
    }
    if args.place.keep {
        let kept = home.keep();
        output.note(format_args!("the home is kept: {}", kept.display()))?;
        output
            .note(format_args!("note: it has what the agent authenticates with; its skills cannot be removed before `chmod -R u+w`"))?;
        if let WorkingDirectory::Temporary(workspace) = working {
            output.note(format_args!("the working directory is kept: {}", workspace.keep().display()))?;
        }
    } else if let Err(error) = home.remove() {
        let error = anyhow::Error::new(error);
        output.note(format_args!("note: {error:#}; `metier doctor --clean` removes it later"))?;
    }
    Ok(exit_of(ended))
}

/// The agent, with what it gets and what it does not see.
fn the_program(
    program: &Path,
    home: &Home,
    working: &Path,
    closing: Option<&Enclosure>,
    arguments: &[String],
) -> Program {
    let mut what = Program::new(program, working);
    let own: &[&str] = if closing.is_some() { home.hermetic_arguments() } else { &[] };
    what.arguments =
        own.iter().copied().chain(arguments.iter().map(String::as_str)).map(Into::into).collect();
    what.environment = home.env().iter().map(|(name, value)| (name.into(), value.into())).collect();
    what.covered = closing.map(|closing| closing.covered.iter().map(|path| cover(path)).collect());
    what
}

/// A file of settings must still be one.
fn cover(path: &Path) -> CoveredPath {
    let is_json = path.extension().is_some_and(|end| end == "json" || end == "jsonc");
    CoveredPath { path: path.to_owned(), text: if is_json { "{}\n" } else { "" } }
}

/// Why an agent was not started, with what would help where the machine does not allow to cover files.
fn refusal(agent: Agent, error: SandboxError) -> anyhow::Error {
    let SandboxError::Covering { is_refused: true, source, step, .. } = &error else { return error.into() };
    let reason = format!(
        "keeping out what agents read here needs a mount namespace, and the system refused it ({step}: {source}); run it as root, allow \
         user namespaces, or use a directory without such files (`--workspace`)"
    );
    HomeError::Leaks { agent: agent.title(), reason }.into()
}

/// How many files are named.
const NAMED: usize = 12;

/// Says what else the agent reads in the working directory and around it.
fn note_project(agent: Agent, working: &Path, output: &mut Output) -> anyhow::Result<()> {
    let files = project_files(agent, working);
    let title = agent.title();
    for file in files.iter().take(NAMED) {
        let (path, kind) = (file.path.display(), file.kind);
        output.note(format_args!("note: {title} also reads {path} ({kind}); `--hermetic` keeps that out"))?;
    }
    if let Some(more) = files.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let more = counted(more, "more file");
        output.note(format_args!("note: {title} also reads {more}; `--hermetic` keeps that out"))?;
    }
    Ok(())
}

fn note_leaks(
    agent: Agent,
    working: &Path,
    mounted: &[MountedSkill],
    output: &mut Output,
) -> anyhow::Result<()> {
    for leak in leaks(agent, working, Path::new("/")) {
        let count = counted(leak.skills.len(), "skill");
        let names: Vec<&str> =
            leak.skills.iter().filter_map(|file| file.parent()?.file_name()?.to_str()).collect();
        let same: Vec<&str> =
            names.into_iter().filter(|name| mounted.iter().any(|skill| skill.name == *name)).collect();
        let (title, directory) = (agent.title(), leak.directory.display());
        let instead = match same.as_slice() {
            [] => String::new(),
            names => format!(" and may take `{}` from there instead of yours", names.join("`, `")),
        };
        output.note(format_args!(
            "note: {title} also finds {count} in {directory}{instead}; `--hermetic` keeps that out"
        ))?;
    }
    Ok(())
}

/// Waits for the agent, and passes on the signals that metier gets, because it has a home to remove.
fn wait(running: &mut SupervisedProgram, mut signals: Signals) -> anyhow::Result<ProgramEnd> {
    let handle = signals.handle();
    let agent = running.signals()?;
    // What is typed at a terminal reaches the agent by itself.
    let is_typed = is_in_foreground();
    let passing = thread::spawn(move || {
        for signal in signals.forever() {
            if is_typed && matches!(signal, SIGINT | SIGQUIT) {
                continue;
            }
            let _ = agent.send(u8::try_from(signal).unwrap_or_default());
        }
    });
    let ended = running.wait();
    handle.close();
    let _ = passing.join();
    Ok(ended?)
}

/// Whether this process and its agent are who a terminal listens to.
fn is_in_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    let listens_to = terminal.ok().and_then(|terminal| rustix::termios::tcgetpgrp(&terminal).ok());
    listens_to.is_some_and(|group| group == rustix::process::getpgrp())
}

fn exit_of(ended: ProgramEnd) -> Exit {
    let code = ended.code.or_else(|| ended.signal.map(|signal| 128 + signal));
    Exit::Program(u8::try_from(code.unwrap_or(1)).unwrap_or(1))
}
