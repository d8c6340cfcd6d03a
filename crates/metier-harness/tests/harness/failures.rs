//! E51: agents that are not there, do not start, crash, print garbage or too much: each is an error of its own, and leaves nothing.

use std::fs;
use std::time::Duration;

use metier_harness::{AgentEvent, HarnessError, evaluate};
use metier_skill::Coded as _;

use crate::ground::{Ground, is_alive, prompt, story};
use crate::scripted::ScriptedAgent;

fn error(ground: &Ground, agent: &ScriptedAgent) -> HarnessError {
    let error = evaluate(agent, prompt("Go.")).run(&mut ground.session()).unwrap_err();
    assert!(ground.left().is_empty(), "{:?}", ground.left());
    error
}

#[test]
fn not_installed() {
    let ground = Ground::new();
    let mut agent = ground.agent("");
    for program in ["no-such-agent", "/nonexistent/agent"] {
        agent.setup.program = program.into();
        let error = error(&ground, &agent);
        assert_eq!(error.to_string(), format!("Claude Code is not installed (`{program}` not found)"));
        assert_eq!(error.code(), "harness-not-installed");
        assert!(error.hint().unwrap().contains(program));
    }
}

#[test]
fn not_started() {
    let ground = Ground::new();
    let found = error(&ground, &ground.agent("echo 'bad flag --x' >&2; exit 2"));
    assert_eq!(found.to_string(), "Claude Code did not start: exit code 2; its last message: bad flag --x");
    assert_eq!(found.code(), "harness-not-started");
    let mut agent = ground.agent("cat >/dev/null");
    agent.patience = Some(Duration::from_millis(200));
    assert_eq!(
        error(&ground, &agent).to_string(),
        "Claude Code did not start: it was not ready within 0.2 s"
    );
    // What it says meanwhile makes no difference.
    let mut agent = ground.agent("while say x; do :; done");
    agent.patience = Some(Duration::ZERO);
    assert_eq!(error(&ground, &agent).code(), "harness-not-started");
    let file = ground.write("not-a-program", "x");
    agent.setup.program = file;
    assert_eq!(error(&ground, &agent).code(), "harness-not-started");
}

#[test]
fn crashed() {
    let ground = Ground::new();
    let found = error(&ground, &ground.agent("ready; read -r prompt; used 10 5 0; echo oops >&2; exit 3"));
    assert_eq!(
        found.to_string(),
        "Claude Code ended before it answered: exit code 3; its last message: oops"
    );
    assert_eq!((found.code(), found.spent().unwrap().usage.input), ("harness-crashed", 10));
    let found = error(&ground, &ground.agent("ready; read -r prompt; kill -9 $$"));
    assert_eq!(found.to_string(), "Claude Code ended before it answered: killed by signal 9");
}

#[test]
fn an_agent_that_closes_its_output_and_stays_is_stopped() {
    let ground = Ground::new();
    let pids = ground.path("pid").display().to_string();
    let script = format!("ready; read -r prompt; echo $$ >{pids}; exec >&-; sleep 1000");
    assert_eq!(error(&ground, &ground.agent(&script)).code(), "harness-crashed");
    assert!(!is_alive(&fs::read_to_string(ground.path("pid")).unwrap()));
}

#[test]
fn garbage() {
    let ground = Ground::new();
    let found = error(&ground, &ground.agent("echo 'Hello, I am no agent'; exit 0"));
    assert_eq!(
        found.to_string(),
        "Claude Code does not speak its protocol; it sent \"Hello, I am no agent\""
    );
    assert_eq!(found.code(), "harness-garbage");
    // It never stops.
    assert_eq!(error(&ground, &ground.agent("yes garbage")).code(), "harness-garbage");
    assert_eq!(error(&ground, &ground.agent("cat /dev/urandom")).code(), "harness-garbage");
}

/// A line of 100 MB is neither the end nor in memory, and what comes after it is read.
#[test]
fn a_line_of_100_megabytes() {
    let ground = Ground::new();
    let agent = ground.answering("head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; end survived");
    let mut events: Vec<AgentEvent> = Vec::new();
    let builder = evaluate(&agent, prompt("Go.")).on_event(|event| events.push(event.clone()));
    let answer = builder.run(&mut ground.session()).unwrap();
    assert_eq!(answer.text, "survived");
    assert_eq!(story(&events), ["started", "a line was too long"]);
    assert!(peak_memory() < 400 << 20, "{} MiB", peak_memory() >> 20);
}

/// The most memory that this process ever had, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// An agent can stop and kill what supervises it, as a process of the same user. It does not outlive that.
#[test]
fn an_agent_whose_supervisor_is_stopped_or_killed_is_ended() {
    for (signal, code) in [("STOP", "harness-hung"), ("KILL", "harness-crashed")] {
        let ground = Ground::new();
        let pids = ground.path("pid").display().to_string();
        let script = format!("ready; read -r prompt; echo $$ >{pids}; kill -{signal} $PPID; exec sleep 1000");
        let agent = ground.agent(&script);
        let builder = evaluate(&agent, prompt("Go.")).silence(Duration::from_secs(1));
        let error = builder.run(&mut ground.session()).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(!is_alive(&fs::read_to_string(ground.path("pid")).unwrap()), "{signal}");
        assert!(ground.left().is_empty(), "{:?}", ground.left());
    }
}

/// Both sides send more than any pipe or queue holds before they read.
#[test]
fn many_requests_and_events_at_once_do_not_block() {
    let ground = Ground::new();
    let agent = ground.answering(
        "i=0; while [ $i -lt 2000 ]; do\n\
           printf '{\"is\":\"say\",\"text\":\"%01000d\"}\\n{\"is\":\"ask\",\"id\":\"%d\",\"tool\":\"Bash\",\"arguments\":{}}\\n' $i $i; i=$((i+1))\n\
         done\n\
         i=0; while [ $i -lt 2000 ]; do read -r answer; i=$((i+1)); done\n\
         case $answer in *1999*) end all;; *) end some;; esac",
    );
    let answer = evaluate(&agent, prompt("Go.")).run(&mut ground.session()).unwrap();
    assert_eq!(answer.text, "all");
}

#[test]
fn what_an_agent_leaves_running_ends_with_the_answer() {
    let ground = Ground::new();
    let pids = ground.path("pid").display().to_string();
    let agent = ground.answering(&format!(
        "setsid sleep 1000 >/dev/null 2>&1 & echo $! >{pids}; while [ ! -s {pids} ]; do :; done; end done"
    ));
    evaluate(&agent, prompt("Go.")).run(&mut ground.session()).unwrap();
    assert!(!is_alive(&fs::read_to_string(ground.path("pid")).unwrap()));
}
