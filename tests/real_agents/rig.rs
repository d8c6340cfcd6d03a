//! The environment of an agent test: a network namespace with loopback only, and a separate directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use metier_home::Agent;
use tempfile::TempDir;

use crate::driver;
use crate::skips::skip;

/// Says that we are inside already.
const INSIDE: &str = "METIER_REAL_AGENTS_INSIDE";

/// The agent's working directory.
pub(crate) const WORK: &str = "project/deep/work";

/// A place for one test.
pub(crate) struct Rig {
    pub(crate) agent: Agent,
    /// Where agents are installed.
    pub(crate) agents: PathBuf,
    ground: TempDir,
}

impl Rig {
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.ground.path().join(path)
    }

    /// The working directory.
    pub(crate) fn work(&self) -> PathBuf {
        self.path(WORK)
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A skill whose description begins with a word, and whose body has another; its directory.
    pub(crate) fn skill(&self, path: &str, description: &str, body: &str) -> PathBuf {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        self.write(&format!("{path}/SKILL.md"), &skill_md(name, description, body));
        self.path(path)
    }
}

pub(crate) fn skill_md(name: &str, description: &str, body: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: {description} says how to answer when asked for the codeword.\n---\n\n\
         The codeword is {body}.\n"
    )
}

#[expect(clippy::disallowed_methods, reason = "this is where a test learns where it runs")]
pub(crate) fn var(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Runs a case for an agent where nothing but loopback can be reached.
pub(crate) fn within(agent: Agent, test: &str, case: fn(&Rig)) {
    let agents = var("METIER_AGENTS").map(PathBuf::from);
    let agents =
        agents.unwrap_or_else(|| panic!("METIER_AGENTS says where agents are; scripts/real-agents sets it"));
    assert!(driver::program(agent, &agents).exists(), "{agent} is not installed in {}", agents.display());
    alone(test, || {
        let ground = tempfile::Builder::new().prefix("metier-agent-test-").tempdir().unwrap();
        fs::create_dir_all(ground.path().join(WORK)).unwrap();
        fs::create_dir_all(ground.path().join("tmp")).unwrap();
        case(&Rig { agent, agents, ground });
    });
}

/// Runs a test again, by itself and in a network namespace with nothing but loopback.
pub(crate) fn alone(test: &str, case: impl FnOnce()) {
    if var(INSIDE).is_some() {
        assert_eq!(interfaces(), ["lo"], "there must be nothing but loopback");
        case();
        return;
    }
    let Some(arguments) = unshare() else {
        skip(&format!("{test}: this machine gives processes no network namespaces"));
        return;
    };
    let up = "ip link set lo up 2>/dev/null || ifconfig lo up; exec \"$@\"";
    let output = Command::new("unshare")
        .args(arguments)
        .args(["--", "sh", "-c", up, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
}

/// How to get a network namespace: as root, or with a user namespace. None where neither is given.
fn unshare() -> Option<&'static [&'static str]> {
    static FOUND: OnceLock<Option<&'static [&'static str]>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let ways: [&'static [&'static str]; 2] = [&["--net"], &["--map-root-user", "--net"]];
        ways.into_iter().find(|way| {
            let tried = Command::new("unshare").args(*way).arg("true").output();
            tried.is_ok_and(|output| output.status.success())
        })
    })
}

/// The network interfaces that there are.
fn interfaces() -> Vec<String> {
    let table = fs::read_to_string("/proc/net/dev").unwrap();
    table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}
