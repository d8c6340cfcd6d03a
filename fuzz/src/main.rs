//! Generates inputs and checks the properties for each target: `metier-fuzz [COUNT [SEED [TARGET…]]]`, with COUNT
//! inputs per target, for all targets if none is named.
//!
//! Inputs are random bytes, texts made of typical pieces, and mutations of both and of the test vectors. The
//! same seed gives the same inputs on any machine. An input that panics or violates a property is written to
//! `fuzz-failure.bin`, and the exit code is 1.

#![expect(clippy::print_stdout, reason = "the report is the result")]
#![expect(clippy::disallowed_methods, reason = "the slowest input is part of the report")]

mod frames;
mod recorded;
mod sources;
mod targets;

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use metier_bench::Random;
use targets::{TARGETS, Target};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((count, seed, targets)) = chosen(&arguments) else {
        println!("usage: metier-fuzz [COUNT [SEED [TARGET…]]]");
        return ExitCode::from(2);
    };
    // Violations are reported below, together with the input.
    std::panic::set_hook(Box::new(|_| {}));
    let all_hold = targets.iter().all(|target| holds(target, count, seed));
    if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many inputs, from which seed, for which targets.
fn chosen(arguments: &[String]) -> Option<(u64, u64, Vec<&'static Target>)> {
    let number = |index: usize, default| arguments.get(index).map_or(Some(default), |text| text.parse().ok());
    let named = |name: &String| TARGETS.iter().find(|target| target.name == name);
    let targets = match arguments.get(2..) {
        None | Some([]) => TARGETS.iter().collect(),
        Some(names) => names.iter().map(named).collect::<Option<_>>()?,
    };
    Some((number(0, 200_000)?, number(1, 1)?, targets))
}

/// Runs a target and prints the result.
fn holds(target: &Target, count: u64, seed: u64) -> bool {
    let corpus = (target.corpus)();
    if corpus.len() < 100 {
        println!("FAILED: {}: only {} texts in the test vectors", target.name, corpus.len());
        return false;
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let share = count.div_ceil(threads);
    let start = Instant::now();
    let results: Vec<Result<Slowest, Failure>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let corpus = &corpus;
                scope
                    .spawn(move || work(target, corpus, share, seed.wrapping_mul(1_000).wrapping_add(worker)))
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
                    "FAILED: {}: {what}\n{:?}\nwritten to fuzz-failure.bin: {written:?}",
                    target.name,
                    String::from_utf8_lossy(&input)
                );
                return false;
            }
        }
    }
    let inputs = share * threads;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{}: {inputs} inputs, no panics, no violations; {seconds:.1} s; slowest per byte: {slowest}",
        target.name
    );
    true
}

struct Failure {
    input: Vec<u8>,
    what: String,
}

/// The input that took longest for its size. Small inputs say nothing about growth.
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
        write!(f, "{:.0} ns/byte ({} bytes)", self.per_byte(), self.size)
    }
}

fn work(target: &Target, corpus: &[Vec<u8>], count: u64, seed: u64) -> Result<Slowest, Failure> {
    let mut random = Random::new(seed);
    let mut slowest = Slowest::default();
    for _ in 0..count {
        let input = input(target, corpus, &mut random);
        let start = Instant::now();
        let outcome = catch_unwind(|| (target.check)(&input));
        let time = start.elapsed();
        let what = match outcome {
            Ok(Ok(())) => {
                if input.len() >= Slowest::SMALL {
                    slowest = slowest.max(Slowest { time, size: input.len() });
                }
                continue;
            }
            Ok(Err(what)) => what,
            Err(_) => "panicked".to_owned(),
        };
        return Err(Failure { input, what });
    }
    Ok(slowest)
}

fn input(target: &Target, corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = match random.below(8) {
        0 => (0..random.below(200)).map(|_| random.number().to_le_bytes()[0]).collect(),
        1..=3 => pieces(target, random),
        _ => corpus.get(random.below(corpus.len().max(1))).cloned().unwrap_or_default(),
    };
    for _ in 0..random.below(6) {
        mutate(&mut bytes, target, corpus, random);
    }
    bytes
}

fn pieces(target: &Target, random: &mut Random) -> Vec<u8> {
    let mut text = String::from(if random.once_in(10) { "" } else { target.begin });
    for _ in 0..random.below(30) {
        text.push_str(random.pick(target.pieces));
    }
    if !random.once_in(4) {
        text.push_str(target.end);
    }
    text.into_bytes()
}

fn mutate(bytes: &mut Vec<u8>, target: &Target, corpus: &[Vec<u8>], random: &mut Random) {
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
        _ => drop(bytes.splice(at..at, random.pick(target.pieces).bytes())),
    }
    bytes.truncate(100_000);
}
