//! The programs that benchmarks and scripts run beside metier: generators, and programs that only read files.
//!
//! `metier-bench` without arguments prints its usage.

#![expect(clippy::print_stdout, reason = "printing is this program's purpose")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use metier_bench::catalog::Catalog;
use metier_bench::generate;
use wait4::Wait4 as _;

mod corpus;
mod quality;
mod readers;
mod scan;

const USAGE: &str = "usage:
  metier-bench generate DIR COUNT          write skills shaped like published ones
  metier-bench generate-catalog DIR COUNT  write skills of similar size, for the catalog
  metier-bench read DIR                    find and read every SKILL.md
  metier-bench read-known DIR|LIST         read every DIR/*/SKILL.md, or every file in a list
  metier-bench stat-known DIR|LIST         stat them without opening them
  metier-bench corpus DIR                  how each profile handles all skills below a directory
  metier-bench scan LABELS DIR HALF        how many labelled skills the scan finds; HALF is all, even or odd
  metier-bench scan-corpus DIR             what the scan finds in all skills below a directory
  metier-bench quality METIER DIR QUERIES [PEERS]
                                           how often searches find the right skill; QUERIES has lines of
                                           query, name and path, separated by tabs
  metier-bench peak FILE PROGRAM ARG...    run a program and write its peak memory to a file";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["generate", directory, count] => generate(Path::new(directory), count.parse()?, 1)?,
        ["generate-catalog", directory, count] => {
            Catalog::new(1).write(Path::new(directory), count.parse()?)?;
        }
        ["read", directory] => println!("{} bytes", readers::read(Path::new(directory))?),
        ["read-known", known] => println!("{} bytes", readers::read_known(Path::new(known))?),
        ["stat-known", known] => println!("{} bytes", readers::stat_known(Path::new(known))?),
        ["corpus", directory] => corpus::report(Path::new(directory))?,
        ["scan", labels, directory, half @ ("all" | "even" | "odd")] => {
            scan::labelled(Path::new(labels), Path::new(directory), half)?;
        }
        ["scan-corpus", directory] => scan::corpus(Path::new(directory))?,
        ["quality", metier, corpus, queries, peers @ ..] if peers.len() < 2 => {
            let peers = fs::canonicalize(peers.first().unwrap_or(&"target/peers"));
            let peers = peers.unwrap_or_else(|_| PathBuf::from("nowhere"));
            quality::report(Path::new(metier), Path::new(corpus), Path::new(queries), &peers)?;
        }
        ["peak", file, program, args @ ..] => {
            let used = Command::new(program).args(args).spawn()?.wait4()?;
            fs::write(file, used.rusage.maxrss.to_string())?;
            if !used.status.success() {
                return Err(format!("{program} failed: {}", used.status).into());
            }
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}
