//! Measures serving skills: from the start to the answer to `tools/list`, compared with a minimal server and
//! with other servers; calls over HTTP; memory of idle sessions.
//!
//! `scripts/bench-serve` prints the tables of `docs/benchmarks.md`.

#![expect(clippy::print_stdout, reason = "the tables are the result")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock and at its own program")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use metier_bench::generate;
use metier_bench::http::Caller;
use metier_bench::mcp::Client;
use metier_bench::run::build_metier;
use metier_bench::table::{Table, ratio, time};
use serde_json::json;

const SIZES: [usize; 3] = [100, 1_000, 10_000];
const ROUNDS: usize = 15;
/// A server that takes longer is not waited for, nor asked again.
const PATIENCE: Duration = Duration::from_mins(1);
const CALLS: usize = 1_280;
const SESSIONS: u64 = 1_000;

fn main() -> anyhow::Result<()> {
    let own = std::env::current_exe()?;
    let metier = build_metier(env!("CARGO"), Path::new(env!("CARGO_BIN_EXE_bare-mcp")))?;
    ensure!(metier.exists(), "{} is not there; this is {}", metier.display(), own.display());
    let place = tempfile::tempdir()?;
    starts(&metier, place.path())?;
    calls(&metier, place.path())?;
    memory(&metier, place.path())
}

/// Servers that people use, where `METIER_PEERS` has them: their programs, and how they are started.
const PEERS: &[(&str, &str, &[&str])] = &[
    ("skrills 0.8.2", "cargo/bin/skrills", &["serve", "--skill-dir", "{skills}"]),
    (
        "skillet-mcp 0.6.0",
        "cargo/bin/skillet",
        &["serve", "--repo", "{skills}", "--no-suggest", "--refresh-interval", "0"],
    ),
    (
        "skillport-mcp 1.1.2",
        "py/bin/skillport-mcp",
        &["--skills-dir", "{skills}", "--db-path", "{home}/index", "--embedding-provider", "none"],
    ),
    ("skillz 0.1.14", "skillz/bin/skillz", &["{skills}"]),
];

/// From the start of the process to the answer to `tools/list`, in turns, with what an earlier run has left.
fn starts(metier: &Path, place: &Path) -> anyhow::Result<()> {
    let peers = std::env::var_os("METIER_PEERS").map(PathBuf::from);
    let mut table = Table::default();
    for size in SIZES {
        let skills = place.join(format!("skills-{size}"));
        generate(&skills, size, 7)?;
        let home = place.join(format!("home-{size}"));
        fs::create_dir_all(&home)?;
        // What was written a moment ago is read each time: its times vouch for nothing yet.
        thread::sleep(Duration::from_millis(2_100));
        let bare = Path::new(env!("CARGO_BIN_EXE_bare-mcp"));
        let serve = ["serve", "--root", &skills.to_string_lossy()].map(str::to_owned).to_vec();
        let standard = [&serve[..], &["--profile", "standard"].map(str::to_owned)].concat();
        let mut servers = vec![
            ("the smallest `rmcp` server", bare.to_owned(), Vec::new()),
            ("the same on one thread", bare.to_owned(), vec!["one".to_owned()]),
            ("metier serve", metier.to_owned(), serve),
            ("metier serve, profile `standard`", metier.to_owned(), standard),
        ];
        let fast = servers.len();
        for (title, program, args) in PEERS {
            let Some(program) = peers.as_ref().map(|peers| peers.join(program)).filter(|path| path.exists())
            else {
                continue;
            };
            let args = args.iter().map(|arg| {
                arg.replace("{skills}", &skills.to_string_lossy()).replace("{home}", &home.to_string_lossy())
            });
            servers.push((title, program, args.collect()));
        }
        let mut best = vec![Duration::MAX; servers.len()];
        let mut is_silent = vec![false; servers.len()];
        // The others take seconds.
        let rounds = |index: usize| if index < fast { ROUNDS } else { 3 };
        for round in 0..=ROUNDS {
            for (index, (_, program, args)) in servers.iter().enumerate() {
                if round > rounds(index) || is_silent[index] {
                    continue;
                }
                let mut command = Command::new(program);
                command
                    .args(args)
                    .env_clear()
                    .env("HOME", &home)
                    .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                    .current_dir(place);
                let start = Instant::now();
                let answered = Client::start(command, PATIENCE).and_then(|mut client| client.list());
                let took = start.elapsed();
                is_silent[index] = answered.is_err();
                // The first round is there to leave something behind.
                if round > 0 && answered.is_ok() {
                    best[index] = best[index].min(took);
                }
            }
        }
        table.column(format!("{size} skills"));
        for ((title, _, _), took) in servers.iter().zip(&best) {
            let ratio = || ratio(took.as_secs_f64(), best[0].as_secs_f64());
            let is_answered = *took < Duration::MAX;
            table.cell(
                title,
                if is_answered { format!("{} ({})", time(*took), ratio()) } else { "no answer".to_owned() },
            );
        }
    }
    println!("{table}");
    Ok(())
}

/// A server that listens.
struct Http {
    child: Child,
    address: String,
}

impl Http {
    fn start(metier: &Path, place: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(metier)
            .args(["serve", "--http", "127.0.0.1:0", "--rate", "100000000", "--root"])
            .arg(place.join("skills-1000"))
            .env_clear()
            .env("HOME", place.join("home-1000"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().context("no messages")?).read_line(&mut line)?;
        let address =
            line.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.with_context(|| line.clone())?.to_owned();
        Ok(Self { child, address })
    }

    fn resident(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no memory")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn load(caller: &mut Caller, name: &str) -> anyhow::Result<()> {
    let params = json!({ "name": "load_skill", "arguments": { "skill_name": name, "force": true } });
    let body =
        caller.post(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }))?;
    ensure!(body.contains("\"already_active\":false"), "{body}");
    Ok(())
}

/// How many skills are loaded in a second, each recorded.
fn calls(metier: &Path, place: &Path) -> anyhow::Result<()> {
    let server = Http::start(metier, place)?;
    let names: Vec<String> = fs::read_dir(place.join("skills-1000"))?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    println!("| clients | `load_skill` a second |\n|---|---|");
    for clients in [1, 64] {
        let each = CALLS / clients;
        let callers =
            (0..clients).map(|_| Caller::new(&server.address)).collect::<std::io::Result<Vec<_>>>()?;
        let start = Instant::now();
        thread::scope(|scope| -> anyhow::Result<()> {
            let names = &names;
            let work = |(number, mut caller): (usize, Caller)| {
                scope.spawn(move || {
                    (0..each)
                        .try_for_each(|call| load(&mut caller, &names[(number * each + call) % names.len()]))
                })
            };
            let threads: Vec<_> = callers.into_iter().enumerate().map(work).collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(|_| anyhow::bail!("a client panicked")))
        })?;
        let micros = start.elapsed().as_micros().max(1);
        println!("| {clients} | {} |", (each * clients) as u128 * 1_000_000 / micros);
    }
    println!();
    Ok(())
}

fn memory(metier: &Path, place: &Path) -> anyhow::Result<()> {
    let server = Http::start(metier, place)?;
    Caller::new(&server.address)?;
    let before = server.resident()?;
    for _ in 0..SESSIONS {
        Caller::new(&server.address)?;
    }
    let after = server.resident()?;
    println!("| | resident memory |\n|---|---|\n| 1,000 skills, one session | {} MB |", before / 1_000);
    println!(
        "| {SESSIONS} idle sessions more | {} MB, {} kB each |",
        after / 1_000,
        (after - before) / SESSIONS
    );
    Ok(())
}
