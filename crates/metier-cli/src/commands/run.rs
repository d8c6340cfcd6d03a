//! `metier run`: an agent in a home of its own, with the skills that it was given.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;

use metier_home::{
    Agent, Closing, Home, HomeError, HomeOptions, HostMount, MountedSkill, WorkingDirectory, Workspace, leaks,
};
use rustix::process::{Pid, Signal, kill_process};
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
The agent gets your way to authenticate, and nothing else of your home or your variables.
It exits with what the agent exits with.

Examples:
  metier run claude --skill code-review
  metier run codex --root skills --hermetic -- exec 'review this'
  metier run goose --skill pdf --keep -- run -t 'fill in form.pdf'
  metier run claude --skill pdf --copy form.pdf -- -p 'fill in form.pdf'")]
pub(crate) struct Args {
    /// The agent: claude, codex, opencode, gemini, goose, copilot
    #[arg(value_parser = agent)]
    agent: Agent,

    #[command(flatten)]
    given: Given,

    /// Keep out every other skill, or do not start
    #[arg(long)]
    hermetic: bool,

    #[command(flatten)]
    place: Place,

    /// Keep the home and the fresh directory, and say where they are
    #[arg(long)]
    keep: bool,

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
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("wants NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Place {
    /// Here, unless a fresh one is asked for.
    fn working_directory(&self, environment: &Environment) -> anyhow::Result<WorkingDirectory> {
        let base = Environment::temporary();
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
    fn home_options(&self, closing: Option<&Closing>) -> HomeOptions {
        let mut options = HomeOptions::new(Environment::temporary());
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
    let mounts = args.given.chosen.mounts(&skills, output)?;
    // From here on there is something to remove, whatever tells metier to end.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])?;
    let working = args.place.working_directory(&skills.environment)?;
    let closing = args.hermetic.then(|| Closing::of(agent, working.path(), Path::new("/")));
    let mut home = Home::new(agent, &Environment::host(), &args.home_options(closing.as_ref()))?;
    let mounted = home.mount(&mounts, &args.given.options(&skills))?;
    record(&mounted, &format!("metier run {agent}"), &skills, output)?;
    note_skipped(&mounted, output)?;
    for warning in home.warnings() {
        let why = std::error::Error::source(warning).map(|why| format!(": {why}")).unwrap_or_default();
        output.note(format_args!("note: {warning}{why}"))?;
    }
    let mut arguments: Vec<&str> = Vec::new();
    match &closing {
        Some(_) => arguments.extend(home.hermetic_arguments()),
        None => note_leaks(agent, working.path(), &mounted, output)?,
    }
    let hidden = closing.map(|closing| closing.covered).unwrap_or_default();
    arguments.extend(args.arguments.iter().map(String::as_str));
    let mut command = command(agent, &program, &hidden, &skills.environment)?;
    command.args(arguments).env_clear().envs(home.env()).current_dir(working.path());
    output.flush()?;
    if let Some(signal) = signals.pending().next() {
        return Ok(Exit::Program(u8::try_from(128 + signal).unwrap_or(1)));
    }
    let child = command
        .spawn()
        .map_err(|error| anyhow::Error::new(error).context(format!("cannot start {}", program.display())))?;
    // Where it ended at once there is nobody to lend it to.
    home.lend_to(child.id())?;
    working.lend_to(child.id())?;
    let status = wait(child, signals)?;
    if args.keep {
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
    Ok(exit_of(status))
}

/// The agent, where it does not see directories that are to stay out.
fn command(
    agent: Agent,
    program: &Path,
    hidden: &[PathBuf],
    environment: &Environment,
) -> anyhow::Result<Command> {
    if hidden.is_empty() {
        return Ok(Command::new(program));
    }
    let refused = || HomeError::Leaks { agent: agent.title(), found: hidden.to_vec() };
    let unshare = environment.program(Path::new("unshare")).ok_or_else(refused)?;
    let mut namespace = vec!["--mount".to_owned()];
    if !rustix::process::geteuid().is_root() {
        let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        namespace.extend(["--user", "--keep-caps"].map(str::to_owned));
        namespace.extend([format!("--map-user={user}"), format!("--map-group={group}")]);
    }
    // Tried first: an agent that does not start must not be one that finds more than it was given.
    let can = Command::new(&unshare)
        .args(&namespace)
        .args(["sh", "-c", COVER, "sh"])
        .arg(hidden.len().to_string())
        .args(hidden)
        .arg("true")
        .output();
    if !can.is_ok_and(|output| output.status.success()) {
        return Err(refused().into());
    }
    let mut command = Command::new(unshare);
    command
        .args(namespace)
        .args(["sh", "-c", COVER, "sh"])
        .arg(hidden.len().to_string())
        .args(hidden)
        .arg(program);
    Ok(command)
}

/// Puts something empty over directories, then becomes the program after them.
const COVER: &str = "count=$1; shift; while [ \"$count\" -gt 0 ]; do \
    mount -t tmpfs -o ro,size=4k,mode=755 none \"$1\" || exit 125; shift; count=$((count - 1)); done; exec \"$@\"";

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

/// Waits for the agent, and passes on what tells metier to end: it has a home to remove.
fn wait(mut child: Child, mut signals: Signals) -> anyhow::Result<ExitStatus> {
    let handle = signals.handle();
    let pid = Pid::from_child(&child);
    // What is typed at a terminal reaches the agent by itself.
    let is_typed = is_in_foreground();
    let passing = thread::spawn(move || {
        for signal in signals.forever() {
            let signal = match signal {
                SIGTERM => Signal::TERM,
                SIGHUP => Signal::HUP,
                _ if is_typed => continue,
                SIGQUIT => Signal::QUIT,
                _ => Signal::INT,
            };
            let _ = kill_process(pid, signal);
        }
    });
    let status = child.wait();
    handle.close();
    let _ = passing.join();
    Ok(status?)
}

/// Whether this process and its agent are who a terminal listens to.
fn is_in_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    let listens_to = terminal.ok().and_then(|terminal| rustix::termios::tcgetpgrp(&terminal).ok());
    listens_to.is_some_and(|group| group == rustix::process::getpgrp())
}

fn exit_of(status: ExitStatus) -> Exit {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Exit::Program(u8::try_from(code.unwrap_or(1)).unwrap_or(1))
}
