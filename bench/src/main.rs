//! What benchmarks and scripts run beside metier: the generator, and the program that only reads.
//!
//! `generate DIR COUNT` writes skills; `read DIR` reads every `DIR/*/SKILL.md` on all cores and does nothing
//! with it; `corpus DIR` reports how the profiles take all skills below a directory.

#![expect(clippy::print_stdout, reason = "printing is this program's purpose")]

use std::error::Error;
use std::fs;
use std::path::Path;

use metier_bench::generate;
use rayon::prelude::*;

mod corpus;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["generate", directory, count] => generate(Path::new(directory), count.parse()?, 1)?,
        ["read", directory] => println!("{} bytes", read(Path::new(directory))?),
        ["read-known", directory] => println!("{} bytes", read_known(Path::new(directory))?),
        ["corpus", directory] => corpus::report(Path::new(directory))?,
        _ => return Err("usage: metier-bench generate DIR COUNT | read DIR | corpus DIR".into()),
    }
    Ok(())
}

/// The limit that validation is measured against: every `SKILL.md` found and read, and nothing done with it.
fn read(directory: &Path) -> std::io::Result<u64> {
    let entries: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    let one = |entry: fs::DirEntry| {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read(&entry.path())
        } else if entry.file_name() == "SKILL.md" {
            Ok(fs::read(entry.path())?.len() as u64)
        } else {
            Ok(0)
        }
    };
    entries.into_par_iter().map(one).sum()
}

/// The same with the paths known beforehand: one read a skill and no directory but the first.
fn read_known(directory: &Path) -> std::io::Result<u64> {
    let skills: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    skills.into_par_iter().map(|skill| Ok(fs::read(skill.path().join("SKILL.md"))?.len() as u64)).sum()
}
