//! The same through the command `metier run --hermetic`: it keeps foreign skills out, for agents with and
//! without a setting for that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use metier_fake_model::Request;
use metier_home::Agent;

use crate::cases::{BODY, DESCRIPTION, FOREIGN_BODY, codeword, foreign};
use crate::driver::{self, Act};
use crate::hostile::hand_over;
use crate::outcome::Asked;
use crate::rig::{Rig, WORK, var};
use crate::skips::skip;

/// The program `metier`, where it was built: beside this one.
pub(crate) fn metier(rig: &Rig) -> Option<PathBuf> {
    let told = var("METIER_PROGRAM").map(PathBuf::from);
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("metier"));
    let found = told.or_else(beside).filter(|path| path.exists());
    if found.is_none() {
        skip(&format!("{}: metier is not built", rig.agent));
    }
    found
}

/// `metier run` with one skill, as a person would call it.
pub(crate) struct Call<'a> {
    pub(crate) is_hermetic: bool,
    /// What is seen as `/etc`.
    pub(crate) etc: Option<PathBuf>,
    /// The working directory.
    pub(crate) work: &'a str,
    /// Who calls it, if not the user of the test.
    pub(crate) user: Option<u32>,
    /// What else it is called with.
    pub(crate) more: &'a [&'a str],
    pub(crate) acts: &'a [Act<'a>],
}

impl Call<'_> {
    pub(crate) fn start(&self, rig: &Rig, metier: &Path) -> Asked {
        let (requests, output) = self.run(rig, metier);
        Asked::new(requests, output)
    }

    /// What was asked, if anything, and what was said.
    pub(crate) fn run(&self, rig: &Rig, metier: &Path) -> (Vec<Request>, String) {
        let agent = rig.agent;
        let server = driver::server(agent, self.acts);
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", driver::PATIENCE]);
        if let Some(etc) = &self.etc {
            let bind = "mount --bind \"$1\" /etc && shift && exec \"$@\"";
            command.args(["unshare", "--mount", "sh", "-c", bind, "sh"]).arg(etc);
        }
        let mut env = driver::host(rig, &server.url()).env;
        let (mut program, mut own) = (driver::program(agent, &rig.agents), metier.to_owned());
        if let Some(user) = self.user {
            // Where agents and metier are installed, an ordinary user may not be able to look.
            let [agents, bin] = ["agents", "bin"].map(|name| rig.path(name));
            for directory in [&agents, &bin, &rig.path("cache"), &rig.path("host"), &rig.path("tmp")] {
                fs::create_dir_all(directory).unwrap();
            }
            for value in env.values_mut() {
                *value = value.replace(rig.agents.to_str().unwrap(), agents.to_str().unwrap());
            }
            env.insert("XDG_CACHE_HOME".to_owned(), rig.path("cache").to_string_lossy().into_owned());
            program = agents.join(program.strip_prefix(&rig.agents).unwrap());
            own = bin.join(metier.file_name().unwrap());
            hand_over(rig, user);
            let script = "mount --bind \"$1\" \"$2\" && mount --bind \"$3\" \"$4\" && user=$5 && shift 5 && \
                          exec setpriv --reuid \"$user\" --regid \"$user\" --clear-groups --inh-caps=-all --bounding-set=-all \"$@\"";
            command.args(["unshare", "--mount", "sh", "-c", script, "sh"]);
            command.arg(&rig.agents).arg(agents).arg(metier.parent().unwrap()).arg(bin).arg(user.to_string());
        }
        command.arg(own).args(["run", agent.name()]).args(self.is_hermetic.then_some("--hermetic"));
        command.args(self.more).arg("--skill").arg(rig.path("skills/codeword-skill"));
        for (name, value) in driver::wishes(rig, &server.url()) {
            command.arg("--env").arg(format!("{name}={value}"));
        }
        if program.extension().is_some_and(|ending| ending == "js") {
            command.args(["--program", "node", "--"]).arg(program);
        } else {
            command.arg("--program").arg(program).arg("--");
        }
        fs::create_dir_all(rig.path("host")).unwrap();
        let output = command
            .args(driver::arguments(agent, &server.url(), "What is the codeword?", &[], false))
            .current_dir(rig.path(self.work))
            .env_clear()
            .envs(&env)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let names = fs::read_dir(rig.path("tmp")).unwrap().map(|entry| entry.unwrap().file_name());
        let homes: Vec<_> = names.filter(|name| name.to_string_lossy().contains("-agent-")).collect();
        assert!(homes.is_empty(), "the home is gone: {homes:?}");
        (server.requests(), driver::said(agent, &output))
    }
}

/// Neither do the skills of the working directory come in, nor do they take the place of one that is mounted by the same name.
pub(crate) fn hermetic_command(rig: &Rig) {
    let Some(metier) = metier(rig) else { return };
    codeword(rig);
    foreign(rig);
    for place in [".agents/skills", ".claude/skills"] {
        rig.skill(&format!("project/deep/work/{place}/codeword-skill"), "Numbat-same", FOREIGN_BODY);
    }
    let acts = [Act::Activate("foreign-00"), Act::Activate("codeword-skill")];
    let asked = Call { is_hermetic: true, etc: None, work: WORK, user: None, more: &[], acts: &acts }
        .start(rig, &metier);
    assert!(asked.saw_first(DESCRIPTION) && !asked.saw_first(BODY), "{}", asked.story());
    assert!(asked.saw_after(2, BODY), "{}", asked.story());
    assert!(!asked.saw("Numbat") && !asked.saw(FOREIGN_BODY), "{}", asked.story());
}

/// A skill of the machine's comes in and is said, or stays out.
pub(crate) fn system_stays_out(rig: &Rig) {
    let Some(metier) = metier(rig) else { return };
    codeword(rig);
    let etc = rig.path("etc");
    // What cannot be read is not needed.
    Command::new("cp").args(["-a", "/etc"]).arg(&etc).output().unwrap();
    let place = if rig.agent == Agent::ClaudeCode { "claude-code/.claude/skills" } else { "codex/skills" };
    rig.skill(&format!("etc/{place}/managed-skill"), "Numbat-managed", FOREIGN_BODY);
    let open =
        Call { is_hermetic: false, etc: Some(etc.clone()), work: WORK, user: None, more: &[], acts: &[] }
            .start(rig, &metier);
    assert!(open.saw_first("Numbat-managed"), "{}", open.story());
    assert!(open.output.contains(&format!("/etc/{place}; `--hermetic`")), "it is said: {}", open.story());
    let acts = [Act::Activate("managed-skill"), Act::Activate("codeword-skill")];
    let closed = Call { is_hermetic: true, etc: Some(etc), work: WORK, user: None, more: &[], acts: &acts }
        .start(rig, &metier);
    assert!(closed.saw_first(DESCRIPTION) && closed.saw_after(2, BODY), "{}", closed.story());
    assert!(!closed.saw("Numbat") && !closed.saw(FOREIGN_BODY), "{}", closed.story());
}
