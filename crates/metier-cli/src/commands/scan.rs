//! `metier scan`: looks for signs of an attack in skills, without running anything.

use metier_catalog::{WalkItem, walk_skills};
use metier_skill::Coded as _;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use metier_scan::{ScanVerdict, SubjectFiles};
use metier_skill::{Limits, Location, SkillError, is_skill_directory};
use metier_store::{StoreError, unpack_subjects};
use rayon::prelude::*;

use crate::exit::{Exit, UsageError};
use crate::output::Output;
use crate::progress::Progress;
use crate::render::{Scanned, Shape, from_here};

/// Scan skills for signs of an attack
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A PATH is a skill's directory, its SKILL.md, a single Markdown file, an archive, or a
directory that is searched for skills; a directory without any is scanned as one skill.
Nothing is run, and the network is not used. Exits with 1 if a skill is blocked, else 0.

A clean report does not prove that a skill is harmless: read what you install.

Examples:
  metier scan downloaded-skill          before you use it
  metier scan --deny-warnings skills/   also fail for findings that need a look
  metier scan --format github           annotations on a pull request
  metier scan --json | jq '.skills[] | select(.verdict == \"block\") | .path, .because'")]
pub(crate) struct Args {
    /// Paths to scan
    #[arg(default_value = ".", value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Also exit with 1 if a skill needs a look
    #[arg(long)]
    deny_warnings: bool,

    /// Format of the findings
    #[arg(long, value_enum, default_value_t = Shape::Text)]
    format: Shape,

    /// Same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    if let Some(path) = args.paths.iter().find(|path| path.symlink_metadata().is_err()) {
        let text = path.to_string_lossy();
        if text.contains("://") {
            return Err(UsageError(format!(
                "`{text}` is a URL; `metier install {text} --dry-run` scans a repository without installing it"
            ))
            .into());
        }
        return Err(SkillError::NotFound { path: path.clone() }.into());
    }
    let shape = if args.json { Shape::Json } else { args.format };
    let given = |path: &PathBuf| if shape == Shape::Json { path.clone() } else { from_here(path) };
    let progress = Progress::begin(output, "scanning skills");
    let all: Vec<Scanned> = args.paths.iter().flat_map(|path| below(&given(path), &progress)).collect();
    drop(progress);
    Scanned::print(&all, shape, output)?;
    let worst = if args.deny_warnings { ScanVerdict::Look } else { ScanVerdict::Block };
    let is_bad = all.iter().any(|skill| skill.verdict() >= worst);
    Ok(if is_bad { Exit::Findings } else { Exit::Done })
}

/// The skill at a path, or those below it.
fn below(path: &Path, progress: &Progress) -> Vec<Scanned> {
    if path.is_file() && is_archive(path) {
        return packed(path);
    }
    if !path.is_dir() {
        return vec![look(path, Location::find(path))];
    }
    let probe = |path: &Path| is_skill_directory(path).then(|| path.to_owned());
    let found = walk_skills(path, &probe);
    if found.is_empty() {
        return vec![look(path, Location::directory(path))];
    }
    let scanned = |found: &WalkItem<PathBuf>| match found {
        WalkItem::Skill(path) => look(path, Location::directory(path)),
        WalkItem::NotSearched(path, error) => Scanned::failed(path, error, error.code()),
    };
    found.par_iter().map(scanned).inspect(|_| progress.count()).collect()
}

/// Whether a file is called like an archive.
fn is_archive(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    [".skill", ".zip", ".tar", ".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending))
}

/// The skills in an archive, as they would be installed.
fn packed(path: &Path) -> Vec<Scanned> {
    let read = |source| StoreError::Skill(SkillError::Io { path: path.to_owned(), source });
    let unpacked = fs::read(path).map_err(read).and_then(|bytes| unpack_subjects(&bytes));
    let skills = match unpacked {
        Ok(skills) => skills,
        Err(error) => return vec![Scanned::failed(path, &error, error.code())],
    };
    let scanned = |(folder, files): &(String, SubjectFiles)| {
        let path = path.join(folder);
        Scanned::new(&path, &path, Some(files.name()), files.scan(), |file| files.bytes(file))
    };
    skills.par_iter().map(scanned).collect()
}

fn look(path: &Path, location: Result<Location, SkillError>) -> Scanned {
    let read = location.and_then(|location| {
        let files = SubjectFiles::read(&location, &Limits::default())?;
        Ok((location, files))
    });
    match read {
        Ok((location, files)) => {
            Scanned::new(path, location.root(), Some(files.name()), files.scan(), |file| files.bytes(file))
        }
        Err(error) => Scanned::failed(path, &error, error.code()),
    }
}
