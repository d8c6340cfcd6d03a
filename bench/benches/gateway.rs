//! Measures the gateway against calling the server directly: latency of a call, calls per second, memory of sessions.
//!
//! `scripts/bench-gateway` prints the table.

#![expect(clippy::print_stdout, reason = "the tables are the result")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock and at its own program")]

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use metier_bench::http::Caller;
use metier_bench::run::build_metier;
use serde_json::{Value, json};

/// How many calls are made one after the other, and by all clients together.
const CALLS: usize = 2_000;
const CLIENTS: usize = 64;
const SESSIONS: usize = 200;

fn main() -> anyhow::Result<()> {
    let metier = build_metier(env!("CARGO"), Path::new(env!("CARGO_BIN_EXE_bare-mcp")))?;
    let place = tempfile::tempdir()?;
    let server = serve()?;
    println!("| | median of a call | calls a second, {CLIENTS} clients |\n|---|---|---|");
    let direct = measure(&server, "query")?;
    println!("| direct | {:?} | {} |", direct.0, direct.1);
    for durability in ["batched", "full"] {
        let gateway = Gateway::start(&metier, place.path(), &server, durability)?;
        let (median, rate) = measure(&gateway.address, "mcp__server__query")?;
        let added = median.saturating_sub(direct.0);
        let kept = rate * 100 / direct.1.max(1);
        println!("| through, journal `{durability}` | {median:?} ({added:?} added) | {rate} ({kept}%) |");
        if durability == "batched" {
            let before = gateway.resident()?;
            let callers: Vec<Caller> =
                (0..SESSIONS).map(|_| Caller::new(&gateway.address)).collect::<Result<_, _>>()?;
            let after = gateway.resident()?;
            println!("| memory, {SESSIONS} sessions more | {before} kB before | {after} kB after |");
            drop(callers);
        }
    }
    Ok(())
}

/// The median duration of a call, and how many calls are made in a second by many clients.
fn measure(address: &str, tool: &str) -> anyhow::Result<(Duration, usize)> {
    let mut caller = Caller::new(address)?;
    call(&mut caller, tool)?;
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let start = Instant::now();
        call(&mut caller, tool)?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let mut callers = (0..CLIENTS).map(|_| Caller::new(address)).collect::<Result<Vec<_>, _>>()?;
    for caller in &mut callers {
        call(caller, tool)?;
    }
    let start = Instant::now();
    thread::scope(|scope| -> anyhow::Result<()> {
        let work = |mut caller: Caller| {
            scope.spawn(move || (0..CALLS / CLIENTS).try_for_each(|_| call(&mut caller, tool)))
        };
        let threads: Vec<_> = callers.into_iter().map(work).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| anyhow::bail!("a client panicked")))
    })?;
    let millis = usize::try_from(start.elapsed().as_millis())?.max(1);
    Ok((times[CALLS / 2], CALLS / CLIENTS * CLIENTS * 1_000 / millis))
}

fn call(caller: &mut Caller, tool: &str) -> anyhow::Result<()> {
    let params = json!({ "name": tool, "arguments": { "sql": "select 1" } });
    let body =
        caller.post(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }))?;
    ensure!(body.contains("one row"), "{body}");
    Ok(())
}

/// A gateway to one server.
struct Gateway {
    child: Child,
    address: String,
}

impl Gateway {
    fn start(metier: &Path, place: &Path, server: &str, durability: &str) -> anyhow::Result<Self> {
        let home = place.join(durability);
        fs::create_dir_all(home.join(".config/metier"))?;
        fs::create_dir_all(place.join("skills"))?;
        let settings = format!(
            "durability = \"{durability}\"\nbuiltin = false\n[servers.server]\nurl = \"http://{server}/mcp\"\n"
        );
        fs::write(home.join(".config/metier/config.toml"), settings)?;
        let mut child = Command::new(metier)
            .args(["gateway", "--http", "127.0.0.1:0", "--rate", "100000000", "--root"])
            .arg(place.join("skills"))
            .env_clear()
            .env("HOME", &home)
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

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The smallest possible server, with one thread for each connection; returns its address.
fn serve() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that has gone ends its thread.
            thread::spawn(move || answer(stream));
        }
    });
    Ok(address)
}

fn answer(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let (mut length, mut is_get) = (0, false);
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            is_get |= line.starts_with("GET ");
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().map_err(io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "server", "version": "1" },
            }),
            "tools/list" => json!({ "tools": [{ "name": "query", "inputSchema": { "type": "object" } }] }),
            _ => json!({ "content": [{ "type": "text", "text": "one row" }] }),
        };
        let (status, text) = match message.get("id") {
            Some(id) => ("200 OK", json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()),
            None if is_get => ("405 Method Not Allowed", String::new()),
            None => ("202 Accepted", String::new()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        stream.get_mut().write_all((head + &text).as_bytes())?;
    }
}
