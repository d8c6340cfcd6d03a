//! The path of the work directory is exchanged all the time for a link to the home, while commands and a server start scripts in
//! it: each runs in the work directory or not at all. `scripts/work-directory` does it more often.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::support::skips_namespaces;

/// An ordinary user whom nobody is.
const ORDINARY: u32 = 61234;

/// Shows what it finds where it works, and leaves something there.
const SCRIPT: &str = "cat secret 2> /dev/null; touch touched; echo ran";

/// How many calls a server answers before it is started again.
const CALLS: usize = 10;

struct Ground {
    base: tempfile::TempDir,
    /// Who starts metier, if not the one who runs the tests.
    user: Option<u32>,
}

impl Ground {
    fn new(user: Option<u32>) -> Self {
        let base = tempfile::Builder::new().prefix("metier-test-").tempdir().unwrap();
        let path = base.path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(path.join("skills/pdf/scripts")).unwrap();
        fs::create_dir(path.join("home")).unwrap();
        fs::create_dir(path.join("work")).unwrap();
        symlink("home", path.join("other")).unwrap();
        fs::write(path.join("home/secret"), "SECRET\n").unwrap();
        let skill = "---\nname: pdf\ndescription: Use when testing.\n---\nRun it.\n";
        fs::write(path.join("skills/pdf/SKILL.md"), skill).unwrap();
        fs::write(path.join("skills/pdf/scripts/run.sh"), SCRIPT).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_metier"), path.join("metier")).unwrap();
        let ground = Self { base, user };
        ground.own(ground.base.path());
        ground
    }

    fn own(&self, path: &Path) {
        let Some(id) = self.user else { return };
        lchown(path, Some(id), Some(id)).unwrap();
        if path.symlink_metadata().unwrap().is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                self.own(&entry.unwrap().path());
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    fn metier(&self, args: &[&str]) -> Command {
        let mut command = match self.user {
            None => Command::new(self.path("metier")),
            Some(id) => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={id}"), format!("--regid={id}"), "--clear-groups".to_owned()]);
                command.arg("--").arg(self.path("metier"));
                command
            }
        };
        command.args(args).current_dir(self.path("skills")).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("HOME", self.path("home"));
        command
    }

    /// Everything that a command prints.
    fn printed(&self, args: &[&str]) -> String {
        let output = self.metier(args).output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Calls a server until it has answered so many times, or has not started; what it answered.
    fn served(&self, most: usize) -> Vec<String> {
        let mut command = self.metier(&["serve", "--root", "../skills:org", "--work", "../work"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut lines = BufReader::new(output).lines();
        let mut ask = |id: usize, method: &str, params: Value| -> Option<String> {
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            writeln!(input, "{message}").ok()?;
            loop {
                let line = lines.next()?.ok()?;
                let answer: Value = serde_json::from_str(&line).unwrap();
                if answer["id"] == id {
                    return Some(line);
                }
            }
        };
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let mut answers = Vec::new();
        if ask(1, "initialize", hello).is_some() {
            let call = json!({ "name": "run_skill_script", "arguments": { "skill_name": "pdf", "script_name": "scripts/run.sh" } });
            answers.extend((0..most).map_while(|count| ask(count + 2, "tools/call", call.clone())));
        }
        // A server that did not start has refused.
        answers.resize(answers.len().max(1), String::new());
        drop(input);
        child.wait().unwrap();
        answers
    }
}

/// Exchanges the two names until it is told to end.
fn exchange(ground: &Ground, is_over: &AtomicBool, count: &AtomicUsize) {
    while !is_over.load(Ordering::Relaxed) {
        let (one, other) = (ground.path("work"), ground.path("other"));
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
        // Sometimes long enough for a script to be started, sometimes not.
        let count = count.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_micros((count % 8 * 2_500) as u64));
    }
}

#[test]
fn a_home_in_the_place_of_the_work_directory_is_never_given() {
    if skips_namespaces() {
        return;
    }
    let launches = std::env::vars_os().find(|(name, _)| name == "METIER_LAUNCHES");
    let launches: usize = launches.map_or(8, |(_, count)| count.to_str().unwrap().parse().unwrap());
    let ordinary = rustix::process::geteuid().is_root().then_some(Some(ORDINARY));
    for user in [Some(None), ordinary].into_iter().flatten() {
        let ground = Ground::new(user);
        let (is_over, exchanged) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (mut ran, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| exchange(&ground, &is_over, &exchanged));
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                for way in ["exec", "sandbox run", "run_skill_script"] {
                    let (mut here, mut not) = (0, 0);
                    while here + not < launches {
                        let printed =
                            match way {
                                "exec" => {
                                    let script = ["pdf", "scripts/run.sh", "--work", "../work"];
                                    vec![ground.printed(
                                        &[&["exec", "--root", "../skills:org"], &script[..]].concat(),
                                    )]
                                }
                                "sandbox run" => vec![ground.printed(&[
                                    "sandbox", "run", "--work", "../work", "--", "sh", "-c", SCRIPT,
                                ])],
                                _ => ground.served(CALLS.min(launches - here - not)),
                            };
                        for text in printed {
                            assert!(!text.contains("SECRET"), "{way} gave the home: {text}");
                            assert!(!ground.path("home/touched").exists(), "{way} gave the home: {text}");
                            if text.contains("ran") { here += 1 } else { not += 1 }
                        }
                    }
                    println!(
                        "{way}, user {user:?}: {here} ran in the work directory, {not} refused, 0 in the home"
                    );
                    (ran, refused) = (ran + here, refused + not);
                }
            }));
            is_over.store(true, Ordering::Relaxed);
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        let exchanged = exchanged.load(Ordering::Relaxed);
        assert!(exchanged > launches && ran + refused >= 3 * launches, "{exchanged} exchanges");
        assert!(ran > 0 && refused > 0, "{ran} ran, {refused} refused: the exchange was not met");
    }
}
