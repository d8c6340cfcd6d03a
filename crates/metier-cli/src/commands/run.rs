//! `metier run`: an agent in a temporary home with exactly the given skills.

use std::path::Path;
use std::thread;

use metier_harness::AgentPlace;
use metier_home::{Agent, MountedSkill, WorkingDirectory, leaks, project_files};
use metier_prompt::{Prompt, Rendering, Section, SkillMount};
use metier_sandbox::{ProgramEnd, SupervisedProgram};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::Exit;
use crate::host::tell;
use crate::mounting::{Given, agent, note_skipped};
use crate::output::Output;
use crate::placing::Placing;
use crate::table::counted;

/// Run an agent in a temporary home with the skills you give it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The home has exactly these skills and your authentication. The agent still reads skills, instructions,
commands, hooks, MCP servers and settings in the working directory; some agents also read those of the
directories above it. What is found there is reported, and `--hermetic` hides it.
The exit code is the agent's. Processes that it leaves running are ended.

Examples:
  metier run claude code-review
  metier run codex --root skills --hermetic -- exec 'review this'
  metier run goose pdf --keep -- run -t 'fill in form.pdf'
  metier run claude pdf ./ocr --copy form.pdf -- -p 'fill in form.pdf'
  metier run claude --no-skills -- -p 'fill in form.pdf'")]
pub(crate) struct Args {
    /// Agent: claude, codex, opencode, gemini, goose or copilot
    #[arg(value_parser = agent)]
    agent: Agent,

    #[command(flatten)]
    given: Given,

    /// Run without any skills, for comparison
    #[arg(long, conflicts_with_all = ["skills", "skill", "all", "root"])]
    no_skills: bool,

    #[command(flatten)]
    place: Placing,

    /// Keep the home and the new directory, and print where they are
    #[arg(long)]
    keep: bool,

    /// Arguments for the agent
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let skills = args.given.chosen.skills(output)?;
    let (agent, metier) = (args.agent, skills.metier());
    let mut setup = args.place.home(metier, agent)?.setup()?;
    setup.mount = args.given.options(&skills);
    let mounts =
        if args.no_skills { Vec::new() } else { args.given.chosen.mounts_or_none(&skills, output)? };
    // From here on there is something to remove, whatever tells metier to end.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])?;
    let rendering = rendering(mounts)?;
    let session = metier.session().catalog(skills.catalog()).agent(agent.name()).actor("user");
    let mut session = session.open()?;
    let rendered = session.render(&rendering)?;
    let mut place = setup.make(&rendered.workspace)?;
    let installed = place.install(&mut session, rendering.prompt(), &rendered)?;
    let mounted: Vec<MountedSkill> = installed.skills.into_iter().map(|skill| skill.mounted).collect();
    note_skipped(&mounted, output)?;
    for warning in place.home.warnings() {
        let why = std::error::Error::source(warning).map(|why| format!(": {why}")).unwrap_or_default();
        output.note(format_args!("note: {warning}{why}"))?;
    }
    if !place.is_hermetic() {
        note_leaks(agent, place.working.path(), &mounted, output)?;
        note_project(agent, place.working.path(), output)?;
    }
    output.flush()?;
    let exit = match signals.pending().next() {
        Some(signal) => Exit::Program(u8::try_from(128 + signal).unwrap_or(1)),
        None => {
            let mut running = place.run(&args.arguments)?;
            let ended = wait(&mut running, signals)?;
            if ended.left > 0 {
                let left = counted(ended.left, "process");
                output.note(format_args!(
                    "note: {left} of the agent could not be ended: another user owns it"
                ))?;
            }
            exit_of(ended)
        }
    };
    let guarded = place.check_guard();
    args.leave(place, output)?;
    // The agent has ended, so its exit code counts whatever happens to the record of the end.
    match session.close() {
        Ok(notes) => tell(&notes, output)?,
        Err(error) => output.note(format_args!("note: the end of the session is not recorded: {error}"))?,
    }
    guarded?;
    Ok(exit)
}

/// A prompt without text: the person says by other means what the agent is to do. It has the skills.
fn rendering(mounts: Vec<SkillMount>) -> anyhow::Result<Rendering> {
    let section = Section::new("skills", "Skills").skills(mounts);
    Ok(Prompt::builder("metier", "run").section(section).build()?.rendering().install_skills(true))
}

impl Args {
    /// Removes what was made for the agent, or keeps it where that was asked for.
    fn leave(&self, place: AgentPlace, output: &mut Output) -> anyhow::Result<()> {
        let AgentPlace { home, working, .. } = place;
        if !self.keep {
            if let Err(error) = home.remove() {
                let error = anyhow::Error::new(error);
                output.note(format_args!("note: {error:#}; `metier doctor --clean` removes it later"))?;
            }
            return Ok(());
        }
        output.note(format_args!("kept the home: {}", home.keep().display()))?;
        output.note(format_args!(
            "note: it contains the agent's credentials; to remove it, first run `chmod -R u+w` on it"
        ))?;
        if let WorkingDirectory::Temporary(workspace) = working {
            output.note(format_args!("kept the working directory: {}", workspace.keep().display()))?;
        }
        Ok(())
    }
}

/// How many files are named.
const NAMED: usize = 12;

/// Says what else the agent reads in the working directory and around it.
fn note_project(agent: Agent, working: &Path, output: &mut Output) -> anyhow::Result<()> {
    let files = project_files(agent, working);
    let title = agent.title();
    for file in files.iter().take(NAMED) {
        let (path, kind) = (file.path.display(), file.kind);
        output.note(format_args!("note: {title} also reads {path} ({kind}); `--hermetic` hides it"))?;
    }
    if let Some(more) = files.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let more = counted(more, "more file");
        output.note(format_args!("note: {title} also reads {more}; `--hermetic` hides them"))?;
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
            names => format!(" and may use `{}` from there instead of yours", names.join("`, `")),
        };
        output.note(format_args!(
            "note: {title} also finds {count} in {directory}{instead}; `--hermetic` hides them"
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
