//! Real agents that do not come to an end by themselves: killed, stopped, drowned in output, or not there at all. Each is an
//! error of its own, and leaves nothing.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use metier_fake_model::Step;
use metier_harness::{AgentEvent, AgentEventKind, AgentSetup, HarnessError, Permissions};
use metier_home::Agent;
use metier_skill::Coded as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::asking::{Asking, asked, builder, others, rendering};
use crate::driver::{self, Act};
use crate::rig::Rig;

/// A shell that does something and becomes the agent, or does not.
pub(crate) fn behind(script: &str) -> impl FnOnce(&mut AgentSetup) {
    let words = ["-c", script, "sh"].map(OsString::from);
    move |setup| {
        let program = std::mem::replace(&mut setup.program, "/bin/sh".into());
        let leading = std::mem::take(&mut setup.leading);
        setup.leading = words.into_iter().chain([program.into()]).chain(leading).collect();
    }
}

/// Which processes get a signal while a command of the agent runs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Victims {
    /// The agent's own.
    Agent,
    /// Everything of it, and what supervises it.
    All,
}

/// Runs the agent until it runs a command that never ends, and sends a signal. The error that comes of it.
fn signalled(rig: &Rig, victims: Victims, signal: Signal) -> Option<HarnessError> {
    let started = rig.path("started");
    let _ = fs::remove_file(&started);
    let command = format!("echo $$ > {}; sleep 1000", started.display());
    let mut asking = Asking::new(rig, vec![driver::step(rig.agent, &Act::Shell(&command))])?;
    let program = driver::program(rig.agent, &rig.agents).canonicalize().unwrap();
    let sending = thread::spawn(move || {
        while fs::read_to_string(&started).unwrap_or_default().trim().is_empty() {
            thread::sleep(Duration::from_millis(20));
        }
        let mut pids: Vec<u32> = others().into_iter().collect();
        pids.retain(|pid| victims == Victims::All || runs(*pid, &program));
        assert!(!pids.is_empty(), "the agent is not there");
        for pid in pids {
            // Some end when others do.
            let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal);
        }
    });
    let builder = asked(&*asking.harness, rendering(builder("Wait."))).permissions(Permissions::allow());
    // OpenCode sends nothing for longer than that when it starts on a busy machine.
    let silence = Duration::from_secs(if rig.agent == Agent::OpenCode { 30 } else { 8 });
    let error = builder.silence(silence).run(&mut asking.session).unwrap_err();
    sending.join().unwrap();
    asking.assert_nothing_is_left();
    assert!(error.spent().is_some(), "{error:?}");
    assert_eq!(asking.recorded("evaluation.ended")[0]["code"], error.code());
    Some(error)
}

/// Whether a process runs this program, or this script.
fn runs(pid: u32, program: &Path) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0);
    fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|running| running == program)
        || words.any(|word| word == program.as_os_str().as_bytes())
}

/// Killed while it runs a command: itself alone, and with everything around it.
pub(crate) fn ended_by_kill(rig: &Rig) {
    for victims in [Victims::Agent, Victims::All] {
        let Some(error) = signalled(rig, victims, Signal::KILL) else { return };
        assert_eq!(error.code(), "harness-crashed", "{victims:?}: {error}");
        if victims == Victims::Agent {
            assert!(error.to_string().contains("killed by signal 9"), "{error}");
        }
    }
}

/// Stopped while it runs a command: it says nothing more, and is ended.
pub(crate) fn ended_by_silence(rig: &Rig) {
    for victims in [Victims::Agent, Victims::All] {
        let Some(error) = signalled(rig, victims, Signal::STOP) else { return };
        assert_eq!(error.code(), "harness-hung", "{victims:?}: {error}");
    }
}

/// A line of 100 MB, and frames and lines that nobody knows: they are shown, and the agent answers.
pub(crate) fn goes_on_after_a_flood(rig: &Rig) {
    let unknown = json!({ "type": "from-the-future", "method": "from/the/future", "x": [1] });
    let script = format!(
        "head -c 100000000 /dev/zero | tr '\\0' x; echo; printf '%s\\n' noise '{unknown}'; exec \"$@\""
    );
    let Some(mut asking) = Asking::set_up(rig, vec![Step::text("ALL-DONE")], behind(&script)) else {
        return;
    };
    let mut events: Vec<AgentEvent> = Vec::new();
    let builder = asked(&*asking.harness, rendering(builder("Go.")));
    let answer = builder.on_event(|event| events.push(event.clone())).run(&mut asking.session).unwrap();
    assert_eq!(answer.text, "ALL-DONE");
    let notices: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.kind {
            AgentEventKind::Notice { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(notices[0].starts_with("a line of 100000000 bytes was skipped"), "{notices:?}");
    assert_eq!(notices[1], "noise");
    let kept = events.iter().find(|event| event.raw.as_deref() == Some(&unknown)).unwrap();
    assert_eq!(kept.kind, AgentEventKind::Other);
    asking.assert_nothing_is_left();
    assert!(peak_memory() < 400 << 20, "{} MiB", peak_memory() >> 20);
}

/// Programs that are no agent, and one that is not there.
pub(crate) fn is_no_agent(rig: &Rig) {
    for (script, code) in [
        ("yes garbage", "harness-garbage"),
        ("cat /dev/urandom", "harness-garbage"),
        ("echo 'I am no agent'", "harness-garbage"),
        ("echo 'no such flag' >&2; exit 2", "harness-not-started"),
    ] {
        let Some(mut asking) = Asking::set_up(rig, Vec::new(), behind(script)) else { return };
        let error = asked(&*asking.harness, rendering(builder("Go."))).run(&mut asking.session).unwrap_err();
        assert_eq!(error.code(), code, "{script}: {error}");
        asking.assert_nothing_is_left();
    }
    let missing = PathBuf::from("/nonexistent/agent");
    let mut asking = Asking::set_up(rig, Vec::new(), |setup| setup.program = missing).unwrap();
    let error = asked(&*asking.harness, rendering(builder("Go."))).run(&mut asking.session).unwrap_err();
    assert_eq!(error.code(), "harness-not-installed", "{error}");
    asking.assert_nothing_is_left();
}

/// The most memory that this process ever had, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}
