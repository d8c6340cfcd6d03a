//! Where an agent works, and with what: options of the commands that start one.

use std::path::PathBuf;

use metier_home::Agent;
use metier_host::{HomeBuilder, Metier};

/// Where an agent works, and with what.
#[derive(Debug, clap::Args)]
pub(crate) struct Placing {
    /// Work in a new, empty directory that is removed afterwards, instead of the current directory
    #[arg(long)]
    workspace: bool,

    /// Work in a new directory with a copy of this file or directory. Can be repeated
    #[arg(long, value_name = "PATH")]
    copy: Vec<PathBuf>,

    /// Hide everything else that agents read: skills, instructions, commands, hooks, MCP servers and settings. If
    /// that is not possible, the agent is not started
    #[arg(long)]
    hermetic: bool,

    /// Set a variable for the agent. Can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,

    /// Program of the agent, if it is not in PATH
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("use NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Placing {
    /// What the agent runs with.
    pub(crate) fn home<'a>(&self, metier: &'a Metier, agent: Agent) -> HomeBuilder<'a> {
        let mut home = metier.home(agent);
        if let Some(program) = &self.program {
            home = home.program(program);
        }
        if self.workspace {
            home = home.fresh_directory();
        }
        if self.hermetic {
            home = home.hermetic();
        }
        home = self.copy.iter().fold(home, |home, path| home.copy(path));
        self.env.iter().fold(home, |home, (name, value)| home.variable(name, value))
    }
}
