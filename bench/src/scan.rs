//! Measures the scan on labelled skills: how many malicious ones it finds, how many benign ones it blocks, and
//! how long it takes.
//!
//! The labels come from a file with one JSON object per line: `id`, `label` (`malicious` or `benign`),
//! `stratum` and `tree_sha256`. The skills are in a directory, by id. Neither is part of this repository.

#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use metier_scan::{ScanVerdict, SubjectFiles};
use metier_skill::{Digest, Limits, Location};
use serde_json::Value;

use crate::corpus::skills_below;

/// What became of some skills.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    all: usize,
    blocked: usize,
    looked: usize,
}

impl Counts {
    fn add(&mut self, verdict: ScanVerdict) {
        self.all += 1;
        self.blocked += usize::from(verdict == ScanVerdict::Block);
        self.looked += usize::from(verdict != ScanVerdict::Clean);
    }

    fn row(self, title: &str) {
        let share = |part: usize| {
            format!("{part} ({}.{}%)", part * 100 / self.all.max(1), part * 1000 / self.all.max(1) % 10)
        };
        println!("| {title} | {} | {} | {} |", self.all, share(self.blocked), share(self.looked));
    }
}

/// Prints a table for labelled skills. `half` is `all`, or one half selected by the tree digest: `even` for
/// development, `odd` only for measuring.
pub(crate) fn labelled(labels: &Path, skills: &Path, half: &str) -> Result<(), Box<dyn Error>> {
    let (mut strata, mut groups): (BTreeMap<String, Counts>, BTreeMap<&str, Counts>) = <_>::default();
    let (mut seen, mut times, mut missing) = (HashSet::new(), Vec::new(), 0);
    for line in fs::read_to_string(labels)?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let (label, stratum, tree) = (text("label"), text("stratum"), text("tree_sha256"));
        let is_odd = Digest::of(tree.as_bytes()).as_bytes()[31] & 1 == 1;
        let is_wanted = half == "all" || (half == "odd") == is_odd;
        // Copies of one skill count once; otherwise a campaign would count by its size.
        if !is_wanted || !seen.insert((label.clone(), tree)) {
            continue;
        }
        let Some((verdict, time)) = look(&skills.join(text("id"))) else {
            missing += 1;
            continue;
        };
        times.push(time);
        strata.entry(format!("{label} `{stratum}`")).or_default().add(verdict);
        groups
            .entry(if label == "malicious" { "**malicious**" } else { "**benign**" })
            .or_default()
            .add(verdict);
        if label == "benign" && stratum.starts_with("pub-") {
            groups.entry("benign, publishers").or_default().add(verdict);
        } else if label == "benign" && stratum.starts_with("community") {
            groups.entry("benign, community").or_default().add(verdict);
        } else if stratum.starts_with("wild-") {
            groups.entry("malicious, real campaigns").or_default().add(verdict);
        }
    }
    println!("| {half} | skills | blocked | blocked or needs review |\n|---|---|---|---|");
    let strata = strata.iter().map(|(title, counts)| (title.as_str(), counts));
    for (title, counts) in strata.chain(groups.iter().map(|(title, counts)| (*title, counts))) {
        counts.row(title);
    }
    if missing > 0 {
        println!("SKIPPED: {missing} skills are not in {}", skills.display());
    }
    print_times(times);
    Ok(())
}

/// Prints the same for skills without labels.
pub(crate) fn corpus(directory: &Path) -> Result<(), Box<dyn Error>> {
    let skills = skills_below(directory)?;
    let (mut counts, mut times) = (Counts::default(), Vec::new());
    for (verdict, time) in skills.iter().filter_map(|path| look(path)) {
        counts.add(verdict);
        times.push(time);
    }
    println!("| corpus | skills | blocked | blocked or needs review |\n|---|---|---|---|");
    counts.row("all");
    print_times(times);
    Ok(())
}

/// The verdict on one skill, and how long it took after reading.
fn look(path: &Path) -> Option<(ScanVerdict, Duration)> {
    let files = SubjectFiles::read(&Location::directory(path).ok()?, &Limits::default()).ok()?;
    let start = Instant::now();
    let report = files.scan();
    Some((report.verdict(), start.elapsed()))
}

fn print_times(mut times: Vec<Duration>) {
    times.sort_unstable();
    let at =
        |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default().as_secs_f64() * 1e3;
    println!(
        "\nmilliseconds a skill: median {:.2}, 95th percentile {:.2}, 99th {:.2}\n",
        at(50),
        at(95),
        at(99)
    );
}
