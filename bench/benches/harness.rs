//! Measures what metier adds between the call of `evaluate` and the agent's first request to the model, compared with
//! starting the same agent by hand; and 50 evaluations at once.
//!
//! `scripts/bench-harness` prints the tables of `docs/benchmarks.md`. By hand means: in a home that was prepared before
//! with the same skill, with the same arguments and the same messages on its standard input. Both run in turns.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the tables are the result")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock and the environment")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, bail, ensure};
use metier_catalog::{CatalogOptions, Scanner};
use metier_fake_model::{Server, Step};
use metier_harness::{
    AgentEventKind, AgentLine, AgentMessage, AgentSetup, ClaudeCode, ClaudeProtocol, Codex, CodexOptions,
    CodexProtocol, Harness, Outbox, Protocol, evaluate,
};
use metier_home::{Agent, HostVariables, Secret};
use metier_journal::{Clock, Journal, JournalAddress, JournalOptions, Time};
use metier_policy::Anchors;
use metier_prompt::{Prompt, Section, SessionView, SkillMount};
use metier_sandbox::Local;
use metier_session::{Recording, Session, SessionOptions};

const ROUNDS: usize = 41;
const AT_ONCE: usize = 50;
const KEY: &str = "sk-fake";

/// Speaks as Claude Code does, and asks the model once.
const SPEAKS: &str = r#"
read -r hello
echo '{"type":"control_response","response":{"subtype":"success","request_id":"metier-1","response":{}}}'
read -r prompt
host=${ANTHROPIC_BASE_URL#http://}
exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
body='{"tools":[{}],"messages":[]}'
printf 'POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %s\r\n\r\n%s' ${#body} "$body" >&3
cat <&3 >/dev/null
echo '{"type":"result","subtype":"success","result":"done","is_error":false}'
exec cat >/dev/null
"#;

/// The same without a model; it says that it works.
const WORKS: &str = r#"
read -r hello
echo '{"type":"control_response","response":{"subtype":"success","request_id":"metier-1","response":{}}}'
read -r prompt
echo '{"type":"system","subtype":"init","session_id":"s"}'
echo '{"type":"result","subtype":"success","result":"done","is_error":false}'
exec cat >/dev/null
"#;

fn main() -> anyhow::Result<()> {
    // This program supervises the agents that it starts.
    metier_sandbox::launch_if_asked();
    let place = tempfile::tempdir()?;
    let ground = Ground { place: place.path().to_owned() };
    let agents = std::env::var_os("METIER_AGENTS").map(PathBuf::from);
    let installed = |path: &str| {
        let program = agents.as_ref()?.join("node_modules").join(path);
        program.exists().then_some(program)
    };
    println!("| agent | by hand | `evaluate` | added, median | added, quartiles |\n|---|---|---|---|---|");
    let script = Subject::script("a shell script", SPEAKS);
    overhead(&ground, &script)?;
    let claude = installed("@anthropic-ai/claude-code-linux-x64/claude");
    let codex = installed("@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex");
    for (title, agent, program) in
        [("Claude Code", Agent::ClaudeCode, claude), ("Codex", Agent::Codex, codex)]
    {
        match program {
            Some(program) => overhead(&ground, &Subject { title, agent, program, leading: Vec::new() })?,
            None => eprintln!("SKIPPED: {title} is not installed; scripts/real-agents installs it"),
        }
    }
    println!();
    at_once(&ground)
}

/// An agent that is measured.
struct Subject {
    title: &'static str,
    agent: Agent,
    program: PathBuf,
    leading: Vec<OsString>,
}

impl Subject {
    fn script(title: &'static str, script: &str) -> Self {
        let leading = ["-c", script, "bash"].map(OsString::from).to_vec();
        Self { title, agent: Agent::ClaudeCode, program: "/bin/bash".into(), leading }
    }
}

struct Ground {
    place: PathBuf,
}

/// The machine's clock, and ids that are counted.
struct BenchClock;

static COUNT: AtomicU64 = AtomicU64::new(0);

impl Clock for BenchClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn id(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(u128::from(COUNT.fetch_add(1, Ordering::Relaxed)))
    }
}

impl Ground {
    fn session(&self, journal: &Arc<Journal>, name: &str) -> anyhow::Result<Session> {
        let catalog = Scanner::new(CatalogOptions::new(Vec::new())).scan(SystemTime::UNIX_EPOCH);
        let anchors = Anchors::new(self.place.join("work"), self.place.join("host"));
        let recording = Recording::Journal(Arc::clone(journal));
        let options = SessionOptions::new(catalog, anchors, recording, Arc::new(BenchClock));
        Ok(Session::with_id(options, name)?)
    }

    fn journal(&self, name: &str) -> anyhow::Result<Arc<Journal>> {
        let address = JournalAddress::file(self.place.join(name));
        Ok(Arc::new(Journal::open(&address, JournalOptions::new(Arc::new(BenchClock)))?))
    }

    fn setup(&self, subject: &Subject, url: &str) -> AgentSetup {
        let own: &[(&str, &str)] = match subject.agent {
            Agent::Codex => &[("CODEX_API_KEY", KEY)],
            _ => &[("ANTHROPIC_BASE_URL", url), ("ANTHROPIC_API_KEY", KEY)],
        };
        let host = self.place.join("host").to_string_lossy().into_owned();
        let all = own.iter().copied().chain([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", &host)]);
        let env = all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let homes = self.place.join("homes");
        let mut setup = AgentSetup::new(subject.agent, HostVariables::new(env), homes, Local::new());
        setup.program.clone_from(&subject.program);
        setup.leading.clone_from(&subject.leading);
        setup.home.isolation.sandbox.is_enabled = false;
        setup
    }
}

fn harness(setup: AgentSetup, url: &str) -> Box<dyn Harness> {
    if setup.agent != Agent::Codex {
        return Box::new(ClaudeCode::new(setup));
    }
    let provider = format!(
        "model_providers.fake={{ name = \"fake\", base_url = \"{url}/v1\", env_key = \"CODEX_API_KEY\", \
         wire_api = \"responses\", supports_websockets = false }}"
    );
    let settings = ["model=\"fake-model\"".to_owned(), "model_provider=\"fake\"".to_owned(), provider];
    let codex = settings
        .iter()
        .fold(Codex::new(setup), |codex, setting| codex.argument(format!("--config={setting}")));
    Box::new(codex)
}

fn prompt() -> anyhow::Result<Prompt> {
    let text = "---\nname: notes\ndescription: Use when writing notes.\n---\n\nWrite them.\n";
    let section = Section::new("task", "Task").body("Say done.").skill(SkillMount::from_text("notes", text));
    Ok(Prompt::builder("bench", "harness").section(section).build()?)
}

/// What metier calls the agent with: a shell takes its place and writes it down.
fn arguments(ground: &Ground, subject: &Subject, url: &str) -> anyhow::Result<Vec<String>> {
    let file = ground.place.join("arguments");
    let script = format!("printf '%s\\0' \"$@\" >{}", file.display());
    let writer = Subject { agent: subject.agent, ..Subject::script("", &script) };
    let harness = harness(ground.setup(&writer, url), url);
    let mut session = ground.session(&ground.journal("arguments.db")?, "arguments")?;
    ensure!(evaluate(&*harness, prompt()?.rendering()).run(&mut session).is_err(), "a shell is no agent");
    let words = fs::read(file)?;
    let words = words.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec()).into_string());
    let mut words: Vec<String> = words.collect::<Result<_, _>>().ok().context("arguments are text")?;
    // After the last one.
    words.pop();
    Ok(words)
}

/// Until the first request that could call tools.
fn first_request(model: &Server, start: Instant) -> anyhow::Result<Duration> {
    let requests = model.requests();
    let first = requests.iter().find(|request| request.results.is_some());
    Ok(first.context("no model was asked")?.received - start)
}

/// Ended with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// In a home that already exists.
fn by_hand(ground: &Ground, subject: &Subject, session: &mut Session) -> anyhow::Result<Duration> {
    let model = Server::start(vec![Step::text("done")])?;
    let url = model.url();
    let (prompt, words) = (prompt()?, arguments(ground, subject, &url)?);
    let rendered = prompt.rendering().render(&SessionView::default())?;
    let mut place = ground.setup(subject, &url).make(&rendered.workspace)?;
    place.install(session, &prompt, &rendered)?;
    let (home, working) = (place.home.path().to_owned(), place.working.path().to_owned());
    let mut protocol: Box<dyn Protocol> = if subject.agent == Agent::Codex {
        let mut options = CodexOptions::new(&working, &home);
        (options.api_key, options.is_sandboxed) = (Some(Secret::new(KEY)), false);
        Box::new(CodexProtocol::new(options))
    } else {
        Box::new(ClaudeProtocol::new(Vec::new()))
    };
    let mut command = Command::new(&subject.program);
    command.args(&subject.leading).args(&words).current_dir(&working).env_clear().envs(place.home.env());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());

    let start = Instant::now();
    let mut running = Running(command.spawn()?);
    let mut input = running.0.stdin.take().context("no input")?;
    let output = BufReader::new(running.0.stdout.take().context("no output")?);
    let mut out = Outbox::default();
    protocol.begin(&mut out);
    let mut text = Some(rendered.text.as_str());
    let mut lines = output.lines();
    loop {
        for line in out.take() {
            input.write_all(&line)?;
        }
        let line = lines.next().context("it ended")??;
        let messages = protocol.receive(&AgentLine::Whole(line), &mut out);
        if protocol.is_ready()
            && let Some(text) = text.take()
        {
            protocol.prompt(text, &mut out);
        }
        if messages.iter().any(|message| matches!(message, AgentMessage::TurnEnded(_))) {
            return first_request(&model, start);
        }
    }
}

fn by_metier(ground: &Ground, subject: &Subject, session: &mut Session) -> anyhow::Result<Duration> {
    let model = Server::start(vec![Step::text("done")])?;
    let harness = harness(ground.setup(subject, &model.url()), &model.url());
    let rendering = prompt()?.rendering();
    let start = Instant::now();
    let answer = evaluate(&*harness, rendering).run(session)?;
    ensure!(answer.text == "done", "{}", answer.text);
    first_request(&model, start)
}

fn overhead(ground: &Ground, subject: &Subject) -> anyhow::Result<()> {
    let mut session = ground.session(&ground.journal(subject.title)?, subject.title)?;
    let mut times: Vec<(f64, f64)> = Vec::new();
    for round in 0..=ROUNDS {
        // Neither always has what the other has warmed.
        let (hand, metier);
        if round % 2 == 0 {
            hand = by_hand(ground, subject, &mut session)?;
            metier = by_metier(ground, subject, &mut session)?;
        } else {
            metier = by_metier(ground, subject, &mut session)?;
            hand = by_hand(ground, subject, &mut session)?;
        }
        // The first round reads programs from the disk.
        if round > 0 {
            times.push((hand.as_secs_f64() * 1e3, metier.as_secs_f64() * 1e3));
        }
    }
    let sorted = |value: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = times.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let [hand, metier, added] =
        [sorted(|pair| pair.0), sorted(|pair| pair.1), sorted(|pair| pair.1 - pair.0)];
    let (half, quarter) = (ROUNDS / 2, ROUNDS / 4);
    println!(
        "| {} | {:.1} ms | {:.1} ms | {:.1} ms | {:.1} to {:.1} ms |",
        subject.title,
        hand[half],
        metier[half],
        added[half],
        added[quarter],
        added[ROUNDS - 1 - quarter]
    );
    Ok(())
}

/// What a process can leak.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    threads: usize,
    descriptors: usize,
    processes: usize,
    homes: usize,
}

impl Held {
    fn now(place: &Path) -> anyhow::Result<Self> {
        let count = |path: &Path| anyhow::Ok(fs::read_dir(path)?.count());
        Ok(Self {
            threads: count(Path::new("/proc/self/task"))?,
            descriptors: count(Path::new("/proc/self/fd"))?,
            processes: agents(place)?.len(),
            homes: count(&place.join("homes"))?,
        })
    }
}

/// The processes with a home below this place, and those that supervise them: id, and name.
fn agents(place: &Path) -> anyhow::Result<BTreeMap<u32, String>> {
    let mut found = BTreeMap::new();
    let own = std::process::id().to_string();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let status = String::from_utf8_lossy(&read("status")).into_owned();
        let member = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.trim().to_owned()
        };
        let is_child = member("PPid:") == own;
        let needle = place.to_string_lossy();
        if is_child || String::from_utf8_lossy(&read("environ")).contains(&*needle) {
            let name = if is_child { "supervisor".to_owned() } else { member("Name:") };
            found.insert(pid, name);
        }
    }
    Ok(found)
}

/// Kilobytes of memory, from a file of a process.
fn kilobytes(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap_or_default()
}

/// What there is while all of them run.
struct Peak {
    held: Held,
    resident: u64,
    supervisors: u64,
    is_counted: bool,
}

fn peak(place: &Path) -> anyhow::Result<Peak> {
    let held = Held::now(place)?;
    let all = agents(place)?;
    let supervisors = all.iter().filter(|(_, name)| *name == "supervisor");
    let supervisors: Vec<u64> =
        supervisors.map(|(pid, _)| kilobytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:")).collect();
    Ok(Peak {
        held,
        resident: kilobytes("/proc/self/status", "VmRSS:"),
        supervisors: supervisors.iter().sum(),
        is_counted: supervisors.len() == AT_ONCE,
    })
}

/// As many sessions, each with an agent that is running at the same time as all others.
fn at_once(ground: &Ground) -> anyhow::Result<()> {
    let subject = Subject::script("", WORKS);
    let journal = ground.journal("at-once.db")?;
    let run = |name: &str, together: Option<(&Barrier, &Mutex<Option<Peak>>)>| -> anyhow::Result<()> {
        let mut session = ground.session(&journal, name)?;
        let harness = harness(ground.setup(&subject, "http://127.0.0.1:9"), "");
        let answer = evaluate(&*harness, prompt()?.rendering()).on_event(|event| {
            if let (AgentEventKind::Started { .. }, Some((barrier, found))) = (&event.kind, together) {
                // The last one to arrive looks around while all others wait.
                if barrier.wait().is_leader() {
                    *found.lock().unwrap_or_else(PoisonError::into_inner) = peak(&ground.place).ok();
                }
                barrier.wait();
            }
        });
        let answer = answer.run(&mut session)?;
        ensure!(answer.text == "done", "{}", answer.text);
        session.end()?;
        Ok(())
    };
    run("first", None)?;
    let before = settled(&ground.place, None)?;
    let idle = kilobytes("/proc/self/status", "VmRSS:");
    let (barrier, found) = (Barrier::new(AT_ONCE), Mutex::new(None));
    let start = Instant::now();
    thread::scope(|scope| -> anyhow::Result<()> {
        let (run, together) = (&run, (&barrier, &found));
        let threads: Vec<_> = (0..AT_ONCE)
            .map(|number| scope.spawn(move || run(&format!("s{number}"), Some(together))))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| bail!("an evaluation panicked")))
    })?;
    let took = start.elapsed();
    let peak = found.into_inner().unwrap_or_else(PoisonError::into_inner).context("nobody looked")?;
    ensure!(peak.is_counted, "not every supervisor was seen");
    let after = settled(&ground.place, Some(&before))?;
    ensure!(after == before, "something is left: {before:?}, then {after:?}");
    let own = peak.resident.saturating_sub(idle);
    let each = |kilobytes: u64| kilobytes / AT_ONCE as u64;
    println!(
        "| {AT_ONCE} evaluations at once | before | while all run | each | after |\n|---|---|---|---|---|"
    );
    println!(
        "| resident memory of metier | {idle} kB | {} kB | {} kB | {} kB |",
        peak.resident,
        each(own),
        kilobytes("/proc/self/status", "VmRSS:")
    );
    println!(
        "| memory of supervisors, their share of it | – | {} kB | {} kB | – |",
        peak.supervisors,
        each(peak.supervisors)
    );
    for (title, count) in [
        ("threads", (|held: &Held| held.threads) as fn(&Held) -> usize),
        ("file descriptors", |held| held.descriptors),
        ("processes", |held| held.processes),
        ("homes and workspaces", |held| held.homes),
    ] {
        let more = count(&peak.held).saturating_sub(count(&before)) / AT_ONCE;
        println!("| {title} | {} | {} | {more} | {} |", count(&before), count(&peak.held), count(&after));
    }
    println!("\nAll {AT_ONCE} took {:.1} s.", took.as_secs_f64());
    Ok(())
}

/// What is held once the threads of ended agents have ended, which nobody waits for.
fn settled(place: &Path, wanted: Option<&Held>) -> anyhow::Result<Held> {
    let mut last = Held::now(place)?;
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(50));
        let now = Held::now(place)?;
        if wanted.map_or(now == last, |wanted| now == *wanted) {
            return Ok(now);
        }
        last = now;
    }
    Ok(last)
}
