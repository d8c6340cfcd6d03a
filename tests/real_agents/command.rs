//! The same with the command, `metier run --hermetic`: it keeps everything out, with agents that can be told and with those that cannot.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::cases::{BODY, DESCRIPTION, FOREIGN_BODY, codeword, foreign};
use crate::driver::{self, Act};
use crate::outcome::Asked;
use crate::rig::{Rig, var};

/// The program `metier`, where it was built: beside this one.
fn metier() -> Option<PathBuf> {
    let told = var("METIER_PROGRAM").map(PathBuf::from);
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("metier"));
    told.or_else(beside).filter(|path| path.exists())
}

/// Neither the skills of the working directory come in, nor do those take the place of one that is mounted by the same name.
pub(crate) fn hermetic_command(rig: &Rig) {
    let Some(metier) = metier() else {
        eprintln!("SKIPPED: {}: metier is not built", rig.agent);
        return;
    };
    let agent = rig.agent;
    codeword(rig);
    foreign(rig);
    for place in [".agents/skills", ".claude/skills"] {
        rig.skill(&format!("project/deep/work/{place}/codeword-skill"), "Numbat-same", FOREIGN_BODY);
    }
    let server = driver::server(agent, &[Act::Activate("foreign-00"), Act::Activate("codeword-skill")]);
    let host = driver::host(rig, &server.url());
    fs::create_dir_all(rig.path("host")).unwrap();
    let program = driver::program(agent, &rig.agents);
    let is_script = program.extension().is_some_and(|ending| ending == "js");
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", driver::PATIENCE]).arg(metier).args(["run", agent.name(), "--hermetic"]);
    command.arg("--skill").arg(rig.path("skills/codeword-skill"));
    for (name, value) in driver::wishes(rig, &server.url()) {
        command.arg("--env").arg(format!("{name}={value}"));
    }
    if is_script {
        command.args(["--program", "node", "--"]).arg(program);
    } else {
        command.arg("--program").arg(program).arg("--");
    }
    let output = command
        .args(driver::arguments(agent, &server.url(), "What is the codeword?", &[], false))
        .current_dir(rig.work())
        .env_clear()
        .envs(&host.env)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let asked = Asked::new(server.requests(), driver::said(agent, &output));
    assert!(asked.saw_first(DESCRIPTION) && !asked.saw_first(BODY), "{}", asked.story());
    assert!(asked.saw_after(2, BODY), "{}", asked.story());
    assert!(!asked.saw("Numbat") && !asked.saw(FOREIGN_BODY), "{}", asked.story());
    let names = fs::read_dir(rig.path("tmp")).unwrap().map(|entry| entry.unwrap().file_name());
    let homes: Vec<_> = names.filter(|name| name.to_string_lossy().contains("-agent-")).collect();
    assert!(homes.is_empty(), "the home is gone: {homes:?}");
}
