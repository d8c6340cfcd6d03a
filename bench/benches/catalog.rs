//! Compares metier with other tools, and with programs that only read or stat, on many skills in one run.
//!
//! `scripts/bench-catalog` installs the tools and prints the tables of `docs/benchmarks.md`. All programs run
//! in turns; each figure is the best of the rounds. `--sizes 100,1000`, `--rounds 3`, `--search-sizes 10000`
//! and `--peers DIR` make a run shorter or set the directory of the tools.

#![expect(clippy::print_stdout, reason = "the tables are the result")]
#![expect(clippy::print_stderr, reason = "a long run says where it is")]
#![expect(clippy::cast_precision_loss, reason = "ratios are printed with three digits")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, bail, ensure};
use metier_bench::catalog::Catalog;
use metier_bench::mcp::Client;
use metier_bench::peers::{Peer, Place, Server, Task, installed};
use metier_bench::run::{LIMIT, Outcome, Program, State, VERY_SLOW, build_metier, in_turns, peak};
use metier_bench::table::{Table, mebibytes, ratio, time};
use metier_catalog::{CatalogOptions, Root, Scanner, Scope, Tier};
use metier_search::Search;

/// What the command line says.
struct Options {
    sizes: Vec<usize>,
    search_sizes: Vec<usize>,
    rounds: usize,
    peers: PathBuf,
}

/// Everything that stays the same from size to size.
struct Bench {
    options: Options,
    catalog: Catalog,
    /// The program `metier-bench`.
    helper: PathBuf,
    metier: PathBuf,
    peers: Vec<&'static Peer>,
    /// Kept from run to run, so that skills are generated once.
    place: PathBuf,
    /// Rows that were very slow, or that failed: not tried with more skills.
    given_up: BTreeSet<String>,
}

/// A row of the tables, and the title of the row that it is compared with.
struct Row {
    program: Program,
    against: Option<String>,
}

/// What is printed in the end.
#[derive(Default)]
struct Tables {
    times: Table,
    memory: Table,
    /// The memory of the newest column, in bytes.
    peaks: BTreeMap<String, f64>,
    /// The first column: how many skills, and the memory with them.
    smallest: Option<(f64, BTreeMap<String, f64>)>,
}

impl Tables {
    fn column(&mut self, count: usize) {
        self.times.column(format!("{count} skills"));
        self.memory.column(format!("{count} skills"));
    }

    /// How many bytes a skill metier takes beyond what the entries hold. Counted from the first column on, so
    /// that the program itself does not count.
    fn memory_beyond(&mut self, count: usize, held: usize) {
        let (count, held) = (count as f64, held as f64);
        let (least, before) = self.smallest.get_or_insert_with(|| (count, self.peaks.clone()));
        for (title, bytes) in self.peaks.iter().filter(|(title, _)| title.starts_with("`metier list")) {
            let Some(before) = before.get(title).filter(|_| count > *least) else { continue };
            let each = (bytes - before) / (count - *least);
            let row = format!("{title}: a skill, of which beyond its name, description and path");
            self.memory.cell(&row, format!("{each:.0} B, {:.0} B", each - held / count));
        }
    }
}

const READ: &str = "only reading every `SKILL.md`, paths known";
const STAT: &str = "only `stat` of every `SKILL.md`, paths known";
const COLD: &str = "`metier list --count`, no index (× reading)";
const WARM: &str = "`metier list --count`, index there (× `stat`)";

fn main() -> anyhow::Result<()> {
    let options = options()?;
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_metier-bench"));
    let metier = build_metier(env!("CARGO"), &helper)?;
    let (peers, missing) = installed(&options.peers);
    for name in missing {
        println!("SKIPPED: {name} is not installed in {}\n", options.peers.display());
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("catalog");
    let mut bench =
        Bench { options, catalog: Catalog::new(1), helper, metier, peers, place, given_up: BTreeSet::new() };
    bench.all_tasks()?;
    bench.search()?;
    let ours: Vec<_> = bench.given_up.iter().filter(|title| title.starts_with("`metier")).collect();
    ensure!(ours.is_empty(), "metier failed: {ours:?}");
    Ok(())
}

fn options() -> anyhow::Result<Options> {
    let mut options = Options {
        sizes: vec![100, 1_000, 10_000, 50_000],
        search_sizes: vec![10_000, 100_000],
        rounds: 15,
        peers: PathBuf::from("target/peers"),
    };
    let numbers = |text: &str| -> anyhow::Result<Vec<usize>> {
        text.split(',').filter(|part| !part.is_empty()).map(|part| Ok(part.parse()?)).collect()
    };
    // Cargo adds `--bench` itself.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(arg) = args.next() {
        let value = args.next().with_context(|| format!("{arg} wants a value"))?;
        match arg.as_str() {
            "--sizes" => options.sizes = numbers(&value)?,
            "--search-sizes" => options.search_sizes = numbers(&value)?,
            "--rounds" => options.rounds = value.parse()?,
            "--peers" => options.peers = fs::canonicalize(value)?,
            _ => bail!("unknown argument {arg}"),
        }
    }
    Ok(options)
}

impl Bench {
    /// Times and memory of everything, for every size.
    fn all_tasks(&mut self) -> anyhow::Result<()> {
        let mut tables = Tables::default();
        for count in self.options.sizes.clone() {
            let project = self.project(count)?;
            tables.column(count);
            let mut rows = self.readers(&project);
            rows.extend(self.metier(&project, count));
            for peer in &self.peers {
                rows.extend(self.peer(peer, &project, count));
            }
            self.measure(rows, self.options.rounds, &mut tables)?;
            let held = self.catalog.held(&project.join(".claude/skills"), count);
            tables.memory_beyond(count, held);
        }
        println!("{}\nThe most memory resident:\n\n{}", tables.times, tables.memory);
        Ok(())
    }

    /// Runs all rows in turns, and fills a column.
    fn measure(&mut self, mut rows: Vec<Row>, rounds: usize, tables: &mut Tables) -> anyhow::Result<()> {
        rows.retain(|row| !self.given_up.contains(&row.program.title));
        let (mut programs, against): (Vec<_>, Vec<_>) =
            rows.into_iter().map(|row| (row.program, row.against)).unzip();
        let outcomes = in_turns(&mut programs, rounds)?;
        let (mut times, mut peaks) = (BTreeMap::new(), BTreeMap::new());
        for ((outcome, program), against) in outcomes.iter().zip(&mut programs).zip(&against) {
            let title = program.title.clone();
            let Some(best) = outcome.time() else {
                println!("SKIPPED from here on: {title}: {}\n", complaint(outcome));
                self.given_up.insert(title);
                continue;
            };
            if best > VERY_SLOW {
                println!("SKIPPED with more skills: {title} took {}\n", time(best));
                self.given_up.insert(title.clone());
            }
            times.insert(title.clone(), best.as_secs_f64());
            tables.times.cell(&title, time(best) + &times_as_much(&times, &title, against.as_ref()));
            if let Some(bytes) = peak(program, &self.helper)? {
                peaks.insert(title.clone(), bytes as f64);
                // Next to what only reads, memory says nothing.
                let against = against.as_ref().filter(|_| !title.starts_with("`metier"));
                let ratio = times_as_much(&peaks, &title, against);
                tables.memory.cell(&title, mebibytes(bytes) + &ratio);
            }
        }
        tables.peaks = peaks;
        Ok(())
    }

    fn readers(&self, project: &Path) -> Vec<Row> {
        let (skills, list) = (project.join(".claude/skills"), project.join("list"));
        let row = |title: &str, task: &str, path: &Path| {
            let mut command = Command::new(&self.helper);
            command.arg(task).arg(path).env("RAYON_NUM_THREADS", "2");
            Row { program: Program::new(title, command), against: None }
        };
        vec![
            row(READ, "read-known", &list),
            row("only reading every `*/SKILL.md`, one directory listed", "read-known", &skills),
            row("only finding and reading every `SKILL.md`", "read", &skills),
            row(STAT, "stat-known", &list),
            row("only `stat` of every `*/SKILL.md`, one directory listed", "stat-known", &skills),
        ]
    }

    fn metier(&self, project: &Path, count: usize) -> Vec<Row> {
        let query = self.catalog.query(count / 2);
        let skills = project.join(".claude/skills");
        let row = |title: &str, args: &[&str], query: Option<&str>, cold: bool, against: Option<&str>| {
            let state = self.place.join("state/metier").join(if cold { "cold" } else { "warm" });
            let mut command = Command::new(&self.metier);
            command.args(args);
            if args != ["--version"] {
                command.arg("--root").arg(&skills).args(query);
            }
            command.env("XDG_CACHE_HOME", &state).env("HOME", &state).current_dir(project);
            let state = if cold { State::Cold(state) } else { State::Warm };
            Row {
                program: Program { title: title.to_owned(), command, state },
                against: against.map(str::to_owned),
            }
        };
        let query = Some(query.as_str());
        let search = &["search", "--json"];
        vec![
            row(&ours(Task::Start, false), &["--version"], None, false, None),
            row(COLD, &["list", "--quiet", "--count"], None, true, Some(READ)),
            row(WARM, &["list", "--quiet", "--count"], None, false, Some(STAT)),
            row(&ours(Task::List, true), &["list", "--json"], None, true, None),
            row(&ours(Task::List, false), &["list", "--json"], None, false, None),
            row(&ours(Task::Prompt, true), &["prompt"], None, true, None),
            row(&ours(Task::Prompt, false), &["prompt"], None, false, None),
            row(
                "`metier prompt --budget 8000`, index there",
                &["prompt", "--budget", "8000"],
                None,
                false,
                None,
            ),
            row(&ours(Task::Search, true), search, query, true, Some(COLD)),
            row(&ours(Task::Search, false), search, query, false, None),
        ]
    }

    /// All that a tool can do, each compared with the same from metier. One that keeps an index is called
    /// without and with it.
    fn peer(&self, peer: &Peer, project: &Path, count: usize) -> Vec<Row> {
        let query = self.catalog.query(count / 2);
        let mut rows = Vec::new();
        for call in peer.calls {
            for cold in if call.has_index { [true, false].as_slice() } else { &[true] } {
                let state = if *cold { "cold" } else { "warm" };
                let home = self.place.join("state").join(peer.name).join(state);
                let place = Place { peers: &self.options.peers, project, home: &home, query: &query };
                let command = place.command(call.program, call.args);
                let suffix = match (call.has_index, *cold) {
                    (false, _) => "",
                    (true, true) => ", no index",
                    (true, false) => ", index there",
                };
                let title = format!("{} {}, {}{suffix}", peer.name, peer.version, what(call.task));
                let state = if *cold { State::Cold(home.clone()) } else { State::Warm };
                rows.push(Row {
                    program: Program { title, command, state },
                    against: Some(ours(call.task, *cold)),
                });
            }
        }
        rows
    }

    /// Search in one process: many queries, one after the other.
    fn search(&mut self) -> anyhow::Result<()> {
        let mut tables = Tables::default();
        for count in self.options.search_sizes.clone() {
            tables.column(count);
            let project = self.project(count)?;
            let mut rows = self.metier(&project, count);
            rows.retain(|row| {
                let title = &row.program.title;
                title == COLD || title.contains("search")
            });
            self.measure(rows, self.options.rounds.min(5), &mut tables)?;
            let title = "`metier`, a query: half, 99 of 100 within";
            tables.times.cell(title, quantiles(&mut self.own_queries(&project, count)?));
            for peer in &self.peers {
                let Some(server) = &peer.server else { continue };
                let title = format!("{} {}, a query: half, 99 of 100 within", peer.name, peer.version);
                if self.given_up.contains(&title) {
                    continue;
                }
                match self.queries(peer.name, server, &project, count) {
                    Ok(mut times) => tables.times.cell(&title, quantiles(&mut times)),
                    Err(error) => {
                        println!("SKIPPED from here on: {title}: {error}\n");
                        self.given_up.insert(title);
                    }
                }
            }
        }
        println!("Search, one process, the same queries:\n\n{}", tables.times);
        Ok(())
    }

    /// How long each query takes in this process, once the first is answered.
    #[expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
    fn own_queries(&self, project: &Path, count: usize) -> anyhow::Result<Vec<Duration>> {
        let root = Root::new(project.join(".claude/skills"), Tier::User, Scope::User);
        let catalog = Scanner::new(CatalogOptions::new(vec![root])).scan(SystemTime::now());
        ensure!(catalog.skills().count() == count, "not all skills were found");
        let search = Search::open(&catalog, Some(&self.place.join("state/own-queries")))?;
        let mut times = Vec::new();
        for number in 0..=OWN_QUERIES {
            let query = self.catalog.query(number * count / (OWN_QUERIES + 1));
            let began = Instant::now();
            let hits = search.query(&query, 10);
            ensure!(!hits.is_empty(), "nothing found for {query}");
            times.push(began.elapsed());
        }
        times.remove(0);
        Ok(times)
    }

    /// How long a server of one of the tools takes for each query, once it has answered the first.
    fn queries(
        &self,
        name: &str,
        server: &Server,
        project: &Path,
        count: usize,
    ) -> anyhow::Result<Vec<Duration>> {
        let home = self.place.join("state").join(name).join("server");
        fs::create_dir_all(&home)?;
        let place = Place { peers: &self.options.peers, project, home: &home, query: "" };
        let mut client = Client::start(place.command(server.program, server.args), LIMIT)?;
        let mut times = Vec::new();
        for number in 0..=QUERIES {
            let query = self.catalog.query(number * count / (QUERIES + 1));
            let (_, time) = client.call(server.tool, &server.arguments(&query))?;
            if number > 0 {
                times.push(time);
            }
            if times.iter().sum::<Duration>() > VERY_SLOW {
                break;
            }
        }
        Ok(times)
    }

    /// A project with so many skills in `.claude/skills`, where all tools find them, and the list of their paths.
    fn project(&self, count: usize) -> anyhow::Result<PathBuf> {
        eprintln!("{count} skills");
        let project = self.place.join(count.to_string());
        let (skills, list) = (project.join(".claude/skills"), project.join("list"));
        if list.exists() {
            return Ok(project);
        }
        if project.exists() {
            fs::remove_dir_all(&project)?;
        }
        self.catalog.write(&skills, count)?;
        let paths = self.catalog.paths(&skills, count);
        let lines: Vec<String> = paths.iter().map(|path| format!("{}\n", path.display())).collect();
        fs::write(&list, lines.concat())?;
        // What is still being written disturbs the first rounds, and what is just written is not yet trusted.
        Command::new("sync").status()?;
        std::thread::sleep(Duration::from_secs(3));
        Ok(project)
    }
}

/// How many queries a process is asked.
const QUERIES: usize = 500;
/// The same for metier itself, which is faster.
const OWN_QUERIES: usize = 1_000;

/// In brackets, how many times as much a row has as the one that it is compared with.
fn times_as_much(figures: &BTreeMap<String, f64>, title: &str, against: Option<&String>) -> String {
    let both = figures.get(title).zip(against.and_then(|other| figures.get(other)));
    both.map_or_else(String::new, |(one, other)| format!(" ({})", ratio(*one, *other)))
}

fn complaint(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(best) => time(*best),
        Outcome::Failed(why) => why.clone(),
        Outcome::TooLong => format!("ended after {} s", LIMIT.as_secs()),
    }
}

fn quantiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |percent: usize| {
        let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        times.get(index).map_or_else(String::new, |found| format!("{:.2} ms", found.as_secs_f64() * 1e3))
    };
    format!("{}, {}", at(50), at(99))
}

const fn what(task: Task) -> &'static str {
    match task {
        Task::Start => "start",
        Task::Count => "count",
        Task::List => "list",
        Task::Prompt => "prompt",
        Task::Search => "search",
    }
}

/// The title of metier's row for a task.
fn ours(task: Task, cold: bool) -> String {
    let index = if cold { "no index" } else { "index there" };
    match task {
        Task::Start => "`metier --version`".to_owned(),
        Task::Count if cold => COLD.to_owned(),
        Task::Count => WARM.to_owned(),
        Task::List => format!("`metier list --json`, {index}"),
        Task::Prompt => format!("`metier prompt`, {index}"),
        Task::Search if cold => format!("`metier search --json`, {index} (× `list --count`)"),
        Task::Search => format!("`metier search --json`, {index}"),
    }
}
