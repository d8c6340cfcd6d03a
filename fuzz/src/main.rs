//! Makes up inputs and checks what must hold for them: `metier-fuzz [COUNT] [SEED]`.
//!
//! Inputs are random bytes, texts put together from the pieces that frontmatter is made of, and mutations of
//! both and of the reference's vectors. The same seed gives the same inputs on any machine. An input that
//! panics or breaks a promise is written to `fuzz-failure.bin` and ends the run with 1.

#![expect(clippy::print_stdout, reason = "the report is the result")]
#![expect(clippy::disallowed_methods, reason = "the slowest input is part of the report")]

use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use metier_bench::Random;
use metier_fuzz::check_read;

const PIECES: &[&str] = &[
    "---\n",
    "---",
    "---\r\n",
    "--- \n",
    "...\n",
    "\u{feff}",
    "\n",
    "\r\n",
    "\r",
    " ",
    "  ",
    "\t",
    ": ",
    ":",
    "- ",
    "-",
    "name: my-skill\n",
    "name: ",
    "description: Use when fuzzing.\n",
    "description: ",
    "license: MIT\n",
    "compatibility: ",
    "metadata:\n",
    "  author: me\n",
    "  v: 1.0\n",
    "allowed-tools: ",
    "Read, Write",
    "Bash(git *)",
    "disable-model-invocation: yes\n",
    "version: 1\n",
    "Allowed_Tools: x\n",
    "Name: x\n",
    "# c\n",
    " # c",
    "|\n",
    ">-\n",
    "| # | x\n",
    "  text\n",
    "\"",
    "'",
    "\\",
    "\\x41",
    "\\u0000",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a",
    "*a",
    "!!str ",
    "!t ",
    "<<",
    "=",
    "? ",
    "%YAML 1.2\n",
    "@",
    "`",
    "null",
    "~",
    "yes",
    "123",
    "1e3",
    "2024-01-02",
    "0x1f",
    "a: b: c\n",
    "<b>",
    "é",
    "技能",
    "\u{85}",
    "\u{2028}",
    "\0",
    "\u{7f}",
    "```\n",
    "[a](b.md)",
    "scripts/x.sh",
    "name: \"my-skill\"\n",
];

fn main() -> ExitCode {
    let args: Result<Vec<u64>, _> = std::env::args().skip(1).map(|arg| arg.parse()).collect();
    let (count, seed) = match args.as_deref() {
        Ok([]) => (200_000, 1),
        Ok([count]) => (*count, 1),
        Ok([count, seed]) => (*count, *seed),
        _ => {
            println!("usage: metier-fuzz [COUNT [SEED]]");
            return ExitCode::from(2);
        }
    };
    let corpus = corpus();
    if corpus.len() < 100 {
        println!("FAILED: only {} texts among the vectors", corpus.len());
        return ExitCode::FAILURE;
    }
    // Promises that break are reported below, with the input.
    std::panic::set_hook(Box::new(|_| {}));
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let share = count.div_ceil(threads);
    let results: Vec<Result<Slowest, Failure>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let corpus = &corpus;
                scope.spawn(move || work(corpus, share, seed.wrapping_mul(1_000).wrapping_add(worker)))
            })
            .collect();
        let died = || Failure { input: Vec::new(), what: "the runner itself panics".to_owned() };
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(died()))).collect()
    });
    let mut slowest = Slowest::default();
    for result in results {
        match result {
            Ok(other) => slowest = slowest.max(other),
            Err(Failure { input, what }) => {
                let written = std::fs::write("fuzz-failure.bin", &input);
                println!(
                    "FAILED: {what}\n{:?}\nwritten to fuzz-failure.bin: {written:?}",
                    String::from_utf8_lossy(&input)
                );
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{} inputs, no panic, nothing broken; slowest for its size: {slowest}", share * threads);
    ExitCode::SUCCESS
}

struct Failure {
    input: Vec<u8>,
    what: String,
}

/// The input that took longest for its size; small ones say nothing about growth.
#[derive(Default)]
struct Slowest {
    time: Duration,
    size: usize,
}

impl Slowest {
    const SMALL: usize = 2_048;

    fn per_byte(&self) -> f64 {
        self.time.as_secs_f64() * 1e9 / f64::from(u32::try_from(self.size.max(1)).unwrap_or(u32::MAX))
    }

    fn max(self, other: Self) -> Self {
        if other.per_byte() > self.per_byte() { other } else { self }
    }
}

impl std::fmt::Display for Slowest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0} ns a byte ({} bytes, all profiles and fixes)", self.per_byte(), self.size)
    }
}

fn work(corpus: &[Vec<u8>], count: u64, seed: u64) -> Result<Slowest, Failure> {
    let mut random = Random::new(seed);
    let mut slowest = Slowest::default();
    for _ in 0..count {
        let input = input(corpus, &mut random);
        let start = Instant::now();
        let outcome = catch_unwind(|| check_read(&input));
        let time = start.elapsed();
        let what = match outcome {
            Ok(Ok(())) => {
                if input.len() >= Slowest::SMALL {
                    slowest = slowest.max(Slowest { time, size: input.len() });
                }
                continue;
            }
            Ok(Err(what)) => what,
            Err(_) => "it panics".to_owned(),
        };
        return Err(Failure { input, what });
    }
    Ok(slowest)
}

fn input(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = match random.below(8) {
        0 => (0..random.below(200)).map(|_| random.number().to_le_bytes()[0]).collect(),
        1..=3 => pieces(random),
        _ => corpus.get(random.below(corpus.len().max(1))).cloned().unwrap_or_default(),
    };
    for _ in 0..random.below(6) {
        mutate(&mut bytes, corpus, random);
    }
    bytes
}

fn pieces(random: &mut Random) -> Vec<u8> {
    let mut text = String::from(if random.once_in(10) { "" } else { "---\n" });
    for _ in 0..random.below(30) {
        text.push_str(random.pick(PIECES));
    }
    if !random.once_in(4) {
        text.push_str("\n---\nBody\n");
    }
    text.into_bytes()
}

fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let end = (at + random.below(20)).min(bytes.len());
    match random.below(8) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => bytes.insert(at, random.number().to_le_bytes()[0]),
        2 => drop(bytes.drain(at..end)),
        3 => {
            let part = bytes[at..end].to_vec();
            let most = if random.once_in(50) { 300 } else { 3 };
            let times = 1 + random.below(most);
            drop(bytes.splice(at..at, part.repeat(times)));
        }
        4 => {
            let other = &corpus[random.below(corpus.len())];
            let from = random.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend(&other[from..]);
        }
        _ => drop(bytes.splice(at..at, random.pick(PIECES).bytes())),
    }
    bytes.truncate(100_000);
}

/// The texts of the reference's vectors.
fn corpus() -> Vec<Vec<u8>> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/metier-skill/tests/vectors/skills-ref.json");
    let vectors = std::fs::read(path).unwrap_or_default();
    let vectors: serde_json::Value = serde_json::from_slice(&vectors).unwrap_or_default();
    let cases = vectors["cases"].as_array().into_iter().flatten();
    let files = cases.filter_map(|case| case["files"].as_object()).flat_map(|files| files.values());
    let texts = files.filter_map(|text| Some(text.as_str()?.as_bytes().to_vec()));
    texts.chain([b"---\nname: my-skill\ndescription: x\n---\n".to_vec()]).collect()
}
