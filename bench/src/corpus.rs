//! Reports how each profile handles the skills below a directory: which are valid, and why the others are not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use metier_skill::{Code, Location, Rules, is_skill_directory};
use rayon::prelude::*;

/// The counts of one profile.
#[derive(Debug, Default)]
struct Counts {
    all: usize,
    with_frontmatter: usize,
    with_matching_name: usize,
    valid: usize,
    valid_with_matching_name: usize,
    /// Invalid without any finding; this must not occur.
    silent: usize,
    errors: BTreeMap<Code, usize>,
}

/// A percentage with two decimals.
fn percent(part: usize, whole: usize) -> String {
    let hundredths = part * 10_000 / whole.max(1);
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// Prints a table for each profile.
pub(crate) fn report(directory: &Path) -> std::io::Result<()> {
    let skills = skills_below(directory)?;
    for (profile, rules) in
        [("strict", Rules::strict()), ("standard", Rules::standard()), ("lenient", Rules::lenient())]
    {
        let readings: Vec<_> = skills
            .par_iter()
            .filter_map(|path| Some((path, Location::directory(path).ok()?.validate(&rules).ok()?)))
            .collect();
        let mut counts = Counts { all: skills.len(), ..Counts::default() };
        for (path, reading) in &readings {
            let codes: Vec<Code> = reading.diagnostics.iter().map(|found| found.code).collect();
            let bare = [Code::FrontmatterMissing, Code::FrontmatterUnclosed, Code::FrontmatterEmpty];
            let name = reading.frontmatter.as_ref().and_then(|fields| fields.get("name")?.as_scalar());
            let matches = name.is_some_and(|name| path.file_name().is_some_and(|dir| dir == name.text()));
            counts.with_frontmatter += usize::from(!codes.iter().any(|code| bare.contains(code)));
            counts.with_matching_name += usize::from(matches);
            counts.valid += usize::from(reading.is_valid());
            counts.valid_with_matching_name += usize::from(reading.is_valid() && matches);
            let errors = reading.diagnostics.iter().filter(|found| found.is_error());
            counts.silent += usize::from(!reading.is_valid() && errors.clone().count() == 0);
            for found in errors {
                *counts.errors.entry(found.code).or_default() += 1;
            }
        }
        print(profile, &counts, readings.len());
    }
    Ok(())
}

fn print(profile: &str, counts: &Counts, read: usize) {
    println!(
        "{profile}: {read} of {} read, {} valid, {} dropped without a finding",
        counts.all, counts.valid, counts.silent
    );
    println!(
        "  {} of the {} whose directory matches their name, {} of the {} with frontmatter",
        percent(counts.valid_with_matching_name, counts.with_matching_name),
        counts.with_matching_name,
        percent(counts.valid, counts.with_frontmatter),
        counts.with_frontmatter,
    );
    for (code, count) in &counts.errors {
        println!("  {count:6} {code}");
    }
}

/// Every skill below a directory, in no particular order. Skills inside other skills are not searched for.
pub(crate) fn skills_below(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut skills = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_symlink() || !path.is_dir() {
                continue;
            }
            if is_skill_directory(&path) { skills.push(path) } else { open.push(path) }
        }
    }
    Ok(skills)
}
